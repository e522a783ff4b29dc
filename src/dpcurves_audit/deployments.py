"""Audit targets beside the core: streams, local reports, pairs of people, two servers, sites, a verification server.

`list_deployment_targets` lists them. Noise is audited through the cheapest sampler that contains it, and public
functions with fewer samples. Targets whose packages are not installed are left out.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from warnings import catch_warnings

import numpy as np
from numpy.typing import NDArray

import dpcurves as dp
from dpcurves.conversation import WHOLE_BUDGET, Plan
from dpcurves.curves.result import CurveWarning
from dpcurves.data import Axis, Categories
from dpcurves.ledger import Account, Ledger, QuestionBudget
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss
from dpcurves.queries import CountQuery, CountUse, PrefixQuery
from dpcurves_parties.serving.noise_key import NoiseKey

from . import neighbouring_datasets as families
from .neighbouring_datasets import NeighbouringDatasets
from .samplers import CallableSampler, KilledSampler, Publish, Sampler, as_csv

ADD_REMOVE, REPLACE_ONE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
EPSILON_ONE = PrivacyLoss.pure(1)
"""Claimed loss of many audited targets: epsilon 1, without delta."""
RHO_HALF = PrivacyLoss.zcdp(Fraction(1, 2))
"""Claimed loss of targets with Gaussian noise: zero-concentrated, rho 1/2."""
STREAM_STEPS = 4
"""Time steps of the audited streams, and cells of the audited grids: few, so that all outcomes occur often."""
CALL_SECONDS = 120.0
"""Seconds: timeout of a call of this package, which then counts as the outcome "hangs". The first call may compile, on
a busy machine."""
PASSWORD = "correct horse battery"
"""Password of the made-up people of an audited server, whose database is deleted afterwards; it protects nothing."""


@dataclass(frozen=True)
class AuditTarget:
    """A release of this package, and its loss.

    Attributes:
        name: Name of the release.
        sampler: A sampler of it.
        family: Neighbouring data sets.
        loss: Its loss.
        kind: Type of the sampler: noise, mechanism, transcript, json or ledger.
    """

    name: str
    sampler: Sampler
    family: NeighbouringDatasets
    loss: PrivacyLoss
    kind: str


def list_deployment_targets() -> Iterator[AuditTarget]:
    """Yield audits of the other packages: streams, local reports, pairs, two servers, sites and public functions."""
    yield from _list_stream_targets()
    yield from _list_report_targets()
    yield from _list_pair_targets()
    yield from _list_two_server_targets()
    yield from _list_site_targets()
    yield from _list_public_targets()


@dataclass(frozen=True)
class StreamSampler:
    """Time steps of a stream by its mechanism, with everything that it releases at each of them.

    Attributes:
        name: Name of the release.
        mechanism: The mechanism.
        query: The query at each step; tuples are in the first state.
        loss: The loss of the whole stream.
        reasons: Number of missing reasons behind the states in the table. If positive, tuples of odd steps have the
            first reason, and tuples of even steps are counted.
    """

    name: str
    mechanism: Any
    query: Any
    loss: PrivacyLoss
    reasons: int = 0

    @cached_property
    def _plan(self) -> Plan:
        """Plan of the stream mechanism for the claimed loss, computed once."""
        plan: Plan = self.mechanism.plan(self.query, self.loss, ADD_REMOVE.to_adjacency(EACH_RECORD, None))
        return plan

    def draw(self, data: Any, number: int) -> NDArray[np.float64]:
        """Return the released values of `number` runs of the stream on `data`, one run a row.

        Args:
            data: Number of tuples in each step.
            number: Number of runs.

        Returns:
            Array of shape ``(number, values)``.
        """
        tables = np.zeros((len(data), self.query.keys + self.reasons), dtype=np.int64)
        tables[:, 0] = data
        if self.reasons:
            tables[::2, [0, self.query.keys]] = tables[::2, [self.query.keys, 0]]
        randomness = Randomness.from_system().expand()
        return np.array([self._run_stream(tables, randomness) for _ in range(number)], dtype=np.float64)

    def _run_stream(self, tables: NDArray[np.int64], randomness: Randomness) -> list[int]:
        """Return all released values of one run of the mechanism on these tables, step by step.

        Args:
            tables: Exact table of each step, one step a row.
            randomness: Source of random bits.
        """
        state = self.mechanism.begin(self._plan)
        outcome = list[int]()
        for time_step, table in enumerate(tables, start=1):
            values, state = self.mechanism.step(table, time_step, state, self._plan, randomness)
            outcome += values
        return outcome


def _list_stream_targets() -> Iterator[AuditTarget]:
    """Yield one target for each mechanism of streams and each kind of loss."""
    from dpcurves_streams import mechanisms
    from dpcurves_streams.queries import (
        TUPLE_REASONS,
        Forest,
        GroupedTimeStepQuery,
        HierarchyQuery,
        PrunedQuery,
        TimeStepQuery,
    )

    states = (Categories("state", ("a",)),)
    forest = Forest.from_json({"all": {"left": ["a", "b"], "right": ["c"]}})
    time_steps = TimeStepQuery(states, STREAM_STEPS)
    streams: list[tuple[str, Any, Any, tuple[PrivacyLoss, ...]]] = [
        ("stream, each step", mechanisms.Perturber(), time_steps, (EPSILON_ONE, RHO_HALF)),
        ("stream, totals by a tree", mechanisms.TreeCounter(), time_steps, (EPSILON_ONE, RHO_HALF)),
        ("stream, totals by buffers", mechanisms.BufferedCounter(), time_steps, (RHO_HALF,)),
        (
            "stream, groups",
            mechanisms.Pegasus(),
            GroupedTimeStepQuery(states, STREAM_STEPS, deviation=Fraction(2)),
            (EPSILON_ONE, RHO_HALF),
        ),
        (
            "stream, hierarchy",
            mechanisms.Hierarchy(),
            HierarchyQuery.from_forest("state", forest, STREAM_STEPS),
            (EPSILON_ONE, RHO_HALF),
        ),
        (
            "stream, pruned hierarchy",
            mechanisms.PrunedHierarchy(),
            PrunedQuery.from_forest("state", forest, STREAM_STEPS),
            (EPSILON_ONE, RHO_HALF),
        ),
    ]
    family = families.streams(STREAM_STEPS, adjacency=ADD_REMOVE)
    for name, mechanism, query, losses in streams:
        for loss in losses:
            yield AuditTarget(f"{name}: {loss}", StreamSampler(name, mechanism, query, loss), family, loss, "mechanism")
    weighted = StreamSampler(
        "stream, weighted totals", mechanisms.PIdentityCounter(), TimeStepQuery(states, 32), EPSILON_ONE
    )
    steps = families.streams(32, adjacency=ADD_REMOVE)  # the shortest stream that has a stored strategy
    yield AuditTarget(f"{weighted.name}: {EPSILON_ONE}", weighted, steps, EPSILON_ONE, "mechanism")
    name = "stream, each step and what is not counted"
    reasons = len(TUPLE_REASONS)
    for loss in (EPSILON_ONE, RHO_HALF):
        sampler = StreamSampler(name, mechanisms.WithUncountedTotals(mechanisms.Perturber()), time_steps, loss, reasons)
        yield AuditTarget(f"{name}: {loss}", sampler, family, loss, "mechanism")


def _follow_stream(data: Any, counts: Any, loss: PrivacyLoss, store: str) -> list[Any]:
    """Follow a stream by the public `follow` function, and return the released values and counts of each reading.

    Args:
        data: Number of tuples in each step.
        counts: Question of the stream.
        loss: Privacy loss of the stream.
        store: URL of its ledger.

    Returns:
        Released values and counts of each reading.
    """
    from dpcurves_streams.feed import follow

    tuples = [{"time": step, "state": "a"} for step, number in enumerate(data) for _ in range(int(number))]
    readings = follow(tuples, counts, loss=loss, store=store, start=0, every=1, end=len(data))
    return [[list(reading.values), np.asarray(reading.counts).ravel().tolist()] for reading in readings]


def _make_stream_sampler(counts: Any, loss: PrivacyLoss, times: int = 1) -> Sampler:
    """Return a sampler of a stream with a ledger, followed `times` times for one charge.

    Args:
        counts: Question of the stream.
        loss: Loss of the whole stream.
        times: Number of times that the stream is followed.
    """

    def follow_stream(data: Any) -> list[Any]:
        """Return the readings of a stream, or of several followers of it that share one ledger, one after another.

        Args:
            data: Number of tuples in each step.

        Returns:
            Readings of all steps; if the stream is followed several times, a list of these for each time.
        """
        if times == 1:
            return _follow_stream(data, counts, loss, "sqlite://")
        with tempfile.TemporaryDirectory() as folder:
            return [_follow_stream(data, counts, loss, f"sqlite:///{folder}/stream.db") for _ in range(times)]

    return CallableSampler(follow_stream, CALL_SECONDS)


def _make_killed_stream_sampler(counts: Any, loss: PrivacyLoss) -> Sampler:
    """Return a sampler of a stream that is killed after its readings, and followed again with its ledger.

    Args:
        counts: Question of the stream.
        loss: Privacy loss of the stream.
    """

    def follow_stream(data: Any, folder: Path, publish: Publish) -> None:
        """Follow the stream with a ledger in `folder`, and publish its readings.

        Args:
            data: Number of tuples in each step.
            folder: Folder of the ledger's file.
            publish: Function that shows the readings to the observer.
        """
        publish(_follow_stream(data, counts, loss, f"sqlite:///{folder}/stream.db"))

    return KilledSampler(follow_stream)


@dataclass(frozen=True)
class ReportSampler:
    """Messages of one person whose name the aggregator knows: bytes of the randomised response.

    Attributes:
        name: Name of the release.
        task: The task of a survey.
    """

    name: str
    task: Any

    def draw(self, data: Any, number: int) -> NDArray[np.uint8]:
        """Return `number` reports of the person in `data`, one report a row of bytes.

        Args:
            data: Value and name of the person.
            number: Number of reports.

        Returns:
            Array of shape ``(number, bytes)``.
        """
        from dpcurves_local.device import find_slot

        value, person = data
        slots = np.full(number, find_slot(self.task.axes, value), dtype=np.int64)
        name_hashes = np.tile(np.frombuffer(self.task.hash_name(person), dtype=np.uint8), (number, 1))
        responses: NDArray[np.uint8] = self.task.randomize_slots(name_hashes, slots, Randomness.from_system())
        return responses


@dataclass(frozen=True)
class ResponseSampler:
    """Reports of a randomiser.

    Attributes:
        name: Name of the release.
        randomiser: The randomiser.
    """

    name: str
    randomiser: Any

    def draw(self, data: Any, number: int) -> NDArray[np.uint8]:
        """Return `number` randomised reports of the answer `data`, one report a row of bytes.

        Args:
            data: Index of the answer, from 0.
            number: Number of reports.

        Returns:
            Array of shape ``(number, bytes)``.
        """
        reports: NDArray[np.uint8] = self.randomiser.draw(
            np.full(number, data, dtype=np.int64), Randomness.from_system()
        )
        return reports


def _list_surveys() -> Iterator[tuple[str, Any, NeighbouringDatasets]]:
    """Yield the name, task and neighbouring data sets of each survey."""
    from dpcurves_local import Coins, Rounding, Task

    cells = dp.Grid(0, 1, cells=8)
    curve = dp.CdfQuestion("x", cells)
    shares = dp.HistogramQuestion("x", cells)
    values = [(0.05, 0.95), (0.95, 0.05), (0.3, 0.35), (0.5, None), (float("nan"), 1.0), (0.45, 0.55)]
    names = "anna", "bert", "cleo", "dora", "emil", "fred"  # public coins distinguish two values for half of the names
    datasets = []
    for value, other_value in values:
        datasets += [((value, name), (other_value, name)) for name in names]
    family = families.pairs(datasets, adjacency=REPLACE_ONE, name="values of a person")
    yield "report for a curve", Task(curve, EPSILON_ONE, 1000), family
    yield "report with public coins", Task(curve, EPSILON_ONE, 1000, coins=Coins.PUBLIC), family
    yield "report rounded by chance", Task(shares, EPSILON_ONE, 1000, rounding=Rounding.RANDOMIZED), family
    yield "report for a curve", Task(curve, RHO_HALF, 1000), family


def _list_report_targets() -> Iterator[AuditTarget]:
    """Yield the randomisers of local reports, and messages of persons in surveys."""
    from dpcurves_local.responses.randomiser import RANDOMISERS

    for answers in (2, 5):
        pairs = [(0, answers - 1), (answers - 1, 0), (0, 1)]
        family = families.pairs(pairs, adjacency=REPLACE_ONE, name=f"{answers} answers")
        for randomiser_class in RANDOMISERS:
            randomiser = randomiser_class(answers, Fraction(1))
            yield AuditTarget(
                f"{randomiser.NAME} of {answers} answers",
                ResponseSampler(randomiser.NAME, randomiser),
                family,
                EPSILON_ONE,
                "noise",
            )
    for name, task, family in _list_surveys():
        yield AuditTarget(f"{name}: {task.loss}", ReportSampler(name, task), family, task.loss, "noise")


def _make_device_sampler(task: Any) -> Sampler:
    """Return a sampler of a person's device: the bytes that it sends.

    Args:
        task: Task of a survey.
    """

    def randomize_value(data: Any) -> list[int]:
        """Return the bytes of the report that a person's device sends about the person's value.

        Args:
            data: Value and name of the person.
        """
        value, person = data
        return list(task.randomize(value, person=person))

    return CallableSampler(randomize_value, CALL_SECONDS)


@dataclass(frozen=True)
class PairAnswersSampler:
    """Randomised answers of all pairs, by the circuit that two parties garble, evaluated in the clear.

    Attributes:
        name: Name of the release.
        kernel: The kernel.
        plan: The plan.
        seed: The public seed of the pairs.
    """

    name: str
    kernel: Any
    plan: Plan
    seed: bytes

    def draw(self, data: Any, number: int) -> NDArray[np.float64]:
        """Return the answers of all pairs in `number` runs on `data`, one run a row.

        Args:
            data: Value of each person; every column of the kernel has the same values.
            number: Number of runs.

        Returns:
            Array of shape ``(number, pairs)``.
        """
        from dpcurves_parties.pairs.mechanisms import plan_response
        from dpcurves_parties.pairs.queries import PairQuery
        from dpcurves_parties.pairs.release import simulate_answers

        query: Any = self.plan.query.as_kind(PairQuery)
        pairs = np.tile(query.pairing.draw_pairs(len(data), self.seed), (number, 1))
        columns = [{name: np.asarray(data)[pairs[:, party]] for name in self.kernel.columns} for party in (0, 1)]
        response = plan_response(query, self.plan.loss)
        answers = simulate_answers(response, self.kernel, (columns[0], columns[1]), Randomness.from_system().expand())
        return answers.reshape(number, -1).astype(np.float64)


@dataclass(frozen=True)
class GarbledAnswersSampler(PairAnswersSampler):
    """Answers of all pairs by the protocol: both parties run in this process, with wire labels and transfers."""

    def draw(self, data: Any, number: int) -> NDArray[np.float64]:
        """Run the two-party protocol in which pairs of people compute noisy answers, and return all answers.

        Args:
            data: Values of the people.
            number: Number of runs.

        Returns:
            Answers, (runs, pairs).
        """
        from dpcurves_parties.crypto.garbling import reconstruct_bits
        from dpcurves_parties.crypto.two_party import evaluate, garble, run_both_parties
        from dpcurves_parties.pairs import build_answers_job, decode_answers, prepare_answer_inputs
        from dpcurves_parties.pairs.mechanisms import plan_response
        from dpcurves_parties.pairs.queries import PairQuery

        query: Any = self.plan.query.as_kind(PairQuery)
        pairs = np.tile(query.pairing.draw_pairs(len(data), self.seed), (number, 1))
        response = plan_response(query, self.plan.loss)
        source = Randomness.from_system()
        values = [{name: np.asarray(data)[pairs[:, party]] for name in self.kernel.columns} for party in (0, 1)]
        inputs = [prepare_answer_inputs(self.kernel, response, values[party], party, source) for party in (0, 1)]
        job = build_answers_job(os.urandom(16), self.kernel, response, len(pairs))
        shares = run_both_parties(garble(job, inputs[0], source), evaluate(job, inputs[1], source))
        return decode_answers(response, reconstruct_bits(*shares)).reshape(number, -1).astype(np.float64)


def _list_pair_targets() -> Iterator[AuditTarget]:
    """Yield an audit of each way to release answers about pairs of people: of each pair, by garbled circuits, and as
    one noisy sum.
    """
    from dpcurves_parties import pairs

    gini, collision = (kernel.with_columns(value=pairs.Unsigned(3)) for kernel in (pairs.GINI, pairs.COLLISION))
    people = 4
    seed = bytes(range(32))
    datasets = [([0, 7, 7, 7], [7, 7, 7, 7]), ([0, 0, 0, 0], [7, 0, 0, 0]), ([1, 2, 3, 4], [6, 2, 3, 4])]
    family = families.pairs(datasets, adjacency=REPLACE_ONE, name=f"{people} people")
    for name, kernel in (("collisions", collision), ("distances", gini)):
        plan = pairs.plan(kernel, people=people, pairs_per_person=2, loss=EPSILON_ONE)
        yield AuditTarget(
            f"pairs, answers on {name}", PairAnswersSampler(name, kernel, plan, seed), family, EPSILON_ONE, "noise"
        )
        if find_spec("rbcl"):
            sampler = GarbledAnswersSampler(name, kernel, plan, seed)
            yield AuditTarget(f"pairs, garbled answers on {name}", sampler, family, EPSILON_ONE, "transcript")
        yield AuditTarget(
            f"pairs, noisy sum of {name}",
            _make_pair_sum_sampler(kernel, people, seed),
            family,
            EPSILON_ONE,
            "mechanism",
        )


def _make_pair_sum_sampler(kernel: Any, people: int, seed: bytes) -> Sampler:
    """Return a sampler of a noisy pairwise statistic (U-statistic), with its interval, for the auditor.

    Args:
        kernel: Named function of the values of two people.
        people: Number of people; each is in two pairs, which are drawn by the seed.
        seed: Public seed of the drawn pairs, and of the noise of this simulation.
    """
    from dpcurves_parties import pairs

    plan = pairs.plan(kernel, people=people, pairs_per_person=2, loss=EPSILON_ONE, noise=pairs.NoisePlacement.ON_SUM)

    def sum_pairs(data: Any) -> Any:
        """Return a simulated statistic of all pairs and its 90 % interval, as the audited outcome.

        Args:
            data: Value of each person; every column of the kernel has the same values.

        Returns:
            Three numbers: the statistic, and the lower and upper end of the interval.
        """
        table = {name: np.asarray(data) for name in kernel.columns}
        statistic = pairs.simulate(kernel, table, plan, seed=seed)
        return [statistic.value, *statistic.interval(0.9)]

    return CallableSampler(sum_pairs, CALL_SECONDS)


@dataclass(frozen=True)
class TwoServersSampler:
    """Answers of two servers from fresh shares of all records, with a new noise key of each server.

    Attributes:
        name: Name of the release.
        query: The query on one axis.
        loss: The loss.
    """

    name: str
    query: Any
    loss: PrivacyLoss

    def draw(self, data: Any, number: int) -> NDArray[np.float64]:
        """Return the values that two servers release, for `number` runs, one run a row.

        Args:
            data: Values of the records.
            number: Number of runs.

        Returns:
            Released values, (runs, values).
        """
        from dpcurves_parties.crypto import select_engine
        from dpcurves_parties.shares.function_shares import FunctionShares
        from dpcurves_parties.shares.shared_records import SharedReports, TreeEncoding

        (axis,), trust = self.query.axes, FunctionShares()
        engine = select_engine(b"an audit of two servers")
        encoding = TreeEncoding(axis.slots, engine)
        places = axis.grid.cell_of(np.asarray(data, dtype=np.float64))
        plan = trust.plan_query(self.query, self.loss, REPLACE_ONE.to_adjacency(EACH_RECORD, len(data)))
        allotment = QuestionBudget.for_planning(self.loss.as_single_release()).pay("audit", WHOLE_BUDGET)
        found = []
        for _ in range(number):
            shares = encoding.share_records(places, Randomness.from_system())
            keys = [encoding.parse_keys(party, [share[party] for share in shares]) for party in (0, 1)]
            servers = [SharedReports(key, engine, NoiseKey(os.urandom(32))) for key in keys]
            found.append(trust.run(plan, servers, allotment, Randomness.from_system()).values)
        return np.array(found, dtype=np.float64)


def _list_two_server_targets() -> Iterator[AuditTarget]:
    """Yield an audit of each kind of query that two servers answer from secret shares, under pure epsilon and under
    rho.
    """
    axes = (Axis("x", dp.Grid(0, 1, cells=STREAM_STEPS)),)
    family = families.values(np.linspace(0, 1, STREAM_STEPS + 1), adjacency=REPLACE_ONE)
    for name, query in (
        ("two servers, thresholds", PrefixQuery(axes, prefix_lengths=(1, 2, 3))),
        ("two servers, all cells", CountQuery(axes, CountUse.PREFIXES)),
    ):
        for loss in (EPSILON_ONE, RHO_HALF):
            yield AuditTarget(f"{name}: {loss}", TwoServersSampler(name, query, loss), family, loss, "transcript")


def ask_federation(data: Any) -> Mapping[str, Any]:
    """Run the whole protocol of secure sums among new sites, each with a ledger and some of the records.

    Args:
        data: The records, which are divided among the sites.

    Returns:
        The released histogram as a JSON object.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from dpcurves_sites.secure_sum import Signer
    from dpcurves_sites.site import Federation, FederationTerms, Site
    from dpcurves_sites.trust import SecureSum

    model = SecureSum(SITES, 1)
    keys = [Ed25519PrivateKey.generate() for _ in range(SITES)]
    roster = model.build_roster(os.urandom(32), [key.public_key().public_bytes_raw() for key in keys])
    terms = FederationTerms(model, roster, ADD_REMOVE, EACH_RECORD, (), EPSILON_ONE)
    sites = [
        Site(terms, Signer(site, key), {"value": data[site::SITES]}, Ledger.open("sqlite://"), "audit")
        for site, key in enumerate(keys)
    ]
    with catch_warnings(action="ignore", category=CurveWarning):
        curve = Federation.from_sites(terms, sites).ask(
            dp.HistogramQuestion("value", dp.Grid(0, 1, cells=STREAM_STEPS)), EPSILON_ONE
        )
    answer: Mapping[str, Any] = json.loads(curve.to_json())
    return answer


SITES = 3
"""Number of sites of the federation that is audited."""


def _list_site_targets() -> Iterator[AuditTarget]:
    """Yield the audit target of secure sums: a histogram by a federation of sites."""
    edges = np.linspace(0, 1, STREAM_STEPS + 1)
    family = families.values(edges, adjacency=ADD_REMOVE)
    yield AuditTarget(
        "federation of sites, histogram", CallableSampler(ask_federation, CALL_SECONDS), family, EPSILON_ONE, "json"
    )


def _list_public_targets() -> Iterator[AuditTarget]:
    """Yield audits of public functions: followed streams, reports, and the verification server if it is installed."""
    from dpcurves_streams.readings import Counts, Groups, Totals

    states = (dp.Categories("state", ("a",)),)
    stream_family = families.streams(STREAM_STEPS, adjacency=ADD_REMOVE)
    for reading, counts in (("counts", Counts(states)), ("totals", Totals(states)), ("groups", Groups(states))):
        yield AuditTarget(
            f"followed stream of {reading}",
            _make_stream_sampler(counts, EPSILON_ONE),
            stream_family,
            EPSILON_ONE,
            "json",
        )
    yield AuditTarget(
        "followed stream, twice over one store",
        _make_stream_sampler(Counts(states), EPSILON_ONE, 2),
        stream_family,
        EPSILON_ONE,
        "ledger",
    )
    yield AuditTarget(
        "followed stream, killed and resumed",
        _make_killed_stream_sampler(Counts(states), EPSILON_ONE),
        stream_family,
        EPSILON_ONE,
        "ledger",
    )
    for name, task, family in _list_surveys():
        yield AuditTarget(f"{name}, handed in: {task.loss}", _make_device_sampler(task), family, task.loss, "json")
    if all(map(find_spec, ("argon2", "pyarrow"))):
        values = families.values(np.linspace(0, 1, STREAM_STEPS + 1), adjacency=REPLACE_ONE)
        yield AuditTarget(
            "verification server, histogram",
            CallableSampler(ask_verification_server, CALL_SECONDS),
            values,
            EPSILON_ONE,
            "json",
        )


def ask_verification_server(data: Any) -> Mapping[str, Any]:
    """Return a histogram from a new verification server with these records, after its scheduled publication.

    Services, ledger, queue and worker run in this process; there are no pages and no network.

    Args:
        data: One array, a value of each record.

    Returns:
        Plain objects of the JSON of the histogram.
    """
    from dpcurves_server import MACHINE, Role, Services
    from dpcurves_server.datasets import Relation, Source
    from dpcurves_server.queue import Queue
    from dpcurves_server.worker import Worker

    with tempfile.TemporaryDirectory() as folder_name, catch_warnings(action="ignore", category=CurveWarning):
        folder = Path(folder_name)
        records = folder / "records.csv"
        url = f"sqlite:///{folder / 'server.db'}"
        records.write_text(as_csv(data), encoding="utf-8")
        services = Services(url)
        for person in ("analyst", "steward"):
            services.people.add(MACHINE, person, PASSWORD)
        services.datasets.add(
            MACHINE, Account("values", REPLACE_ONE, EACH_RECORD, EPSILON_ONE), Source(str(records)),
            (dp.NumericColumn("value", 0, 1),), name="values", relation=Relation.FIRST, units=len(data),
        )  # fmt: skip
        services.people.give_role(MACHINE, "steward", Role.STEWARD, "values")
        steward = services.sessions.begin_session("steward").principal
        services.projects.make(steward, "study", "values")
        services.projects.set_allowance(steward, "study", EPSILON_ONE)
        services.projects.add_member(steward, "study", "analyst")
        services.projects.set_allowance(steward, "study", EPSILON_ONE, "analyst")
        analyst = services.sessions.begin_session("analyst").principal
        question = services.questions.ask(
            analyst, "study", {"ask": "histogram", "column": "value", "grid": f"0:1:{STREAM_STEPS}"}, EPSILON_ONE
        )
        Worker(url, "auditor").work_once()
        Queue(services.archive).publish_states()
        answer: Mapping[str, Any] = json.loads(services.releases.get(analyst, question.id).json)
        return answer
