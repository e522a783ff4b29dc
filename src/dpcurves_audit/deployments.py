"""Samplers to what stands beside the core: streams, local reports, pairs of people, two servers, a verification server.

Noise is looked at through the cheapest sampler that has it, as in the core, and public faces with fewer samples. What
needs a package that is not installed is left out.
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
from dpcurves.conversation import ALL, Plan
from dpcurves.curves.result import CurveWarning
from dpcurves.data import Axis, Categories
from dpcurves.ledger import Account, Ledger, QuestionBudget
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss
from dpcurves.queries import CountQuery, PrefixQuery, Read
from dpcurves_parties.serving.noise_key import NoiseKey

from . import family as families
from .family import Family
from .samplers import KilledSampler, OneSampler, Publish, Sampler, as_csv

ADD_REMOVE, REPLACE_ONE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
ONE, HALF_RHO = PrivacyLoss.pure(1), PrivacyLoss.zcdp(Fraction(1, 2))
STEPS = 4
PATIENT = 120.0
"""Seconds after which a call of this package is cut off: the first one may compile, on a busy machine."""
PASSWORD = "correct horse battery"


@dataclass(frozen=True)
class Audited:
    """A release of this package, and what it is said to lose.

    Attributes:
        name: Its name.
        sampler: A sampler to it.
        family: Its neighbours.
        loss: Its loss.
        kind: The sampler, in a word: noise, mechanism, turns, face or ledger.
    """

    name: str
    sampler: Sampler
    family: Family
    loss: PrivacyLoss
    kind: str


def deployments() -> Iterator[Audited]:
    """The releases, the cheapest samplers first."""
    yield from _streams()
    yield from _reports()
    yield from _pairs()
    yield from _two_servers()
    yield from _sites()
    yield from _faces()


@dataclass(frozen=True)
class StreamSampler:
    """Steps of a stream, by its mechanism, with whatever it shows of each of them.

    Attributes:
        name: The release, in words.
        mechanism: The mechanism.
        query: What is counted at each step; tuples are in the first state.
        loss: The loss of the whole stream.
        reasons: How many reasons the table has behind the states. If there are any, tuples of odd steps have the first
            one, and those of even steps are counted.
    """

    name: str
    mechanism: Any
    query: Any
    loss: PrivacyLoss
    reasons: int = 0

    @cached_property
    def _plan(self) -> Plan:
        made: Plan = self.mechanism.plan(self.query, self.loss, ADD_REMOVE.among(EACH_RECORD, None))
        return made

    def draw(self, data: Any, number: int) -> NDArray[np.float64]:
        tables = np.zeros((len(data), self.query.keys + self.reasons), dtype=np.int64)
        tables[:, 0] = data
        if self.reasons:
            tables[::2, [0, self.query.keys]] = tables[::2, [self.query.keys, 0]]
        randomness = Randomness.system().expanded()
        return np.array([self._once(tables, randomness) for _ in range(number)], dtype=np.float64)

    def _once(self, tables: NDArray[np.int64], randomness: Randomness) -> list[int]:
        state, shown = self.mechanism.begin(self._plan), list[int]()
        for tick, table in enumerate(tables, start=1):
            values, state = self.mechanism.step(table, tick, state, self._plan, randomness)
            shown += values
        return shown


def _streams() -> Iterator[Audited]:
    from dpcurves_streams import mechanisms as own
    from dpcurves_streams.queries import (
        TUPLE_REASONS,
        Forest,
        GroupedTickQuery,
        HierarchyQuery,
        PrunedQuery,
        TickQuery,
    )

    one, forest = (Categories("state", ("a",)),), Forest.from_json({"all": {"left": ["a", "b"], "right": ["c"]}})
    ticks = TickQuery(one, STEPS)
    found: list[tuple[str, Any, Any, tuple[PrivacyLoss, ...]]] = [
        ("stream, each step", own.Perturber(), ticks, (ONE, HALF_RHO)),
        ("stream, totals by a tree", own.TreeCounter(), ticks, (ONE, HALF_RHO)),
        ("stream, totals by buffers", own.BufferedCounter(), ticks, (HALF_RHO,)),
        ("stream, groups", own.Pegasus(), GroupedTickQuery(one, STEPS, deviation=Fraction(2)), (ONE, HALF_RHO)),
        ("stream, hierarchy", own.Hierarchy(), HierarchyQuery.of("state", forest, STEPS), (ONE, HALF_RHO)),
        ("stream, pruned hierarchy", own.Pruned(), PrunedQuery.of("state", forest, STEPS), (ONE, HALF_RHO)),
    ]
    family = families.streams(STEPS, adjacency=ADD_REMOVE)
    for name, mechanism, query, losses in found:
        for loss in losses:
            yield Audited(f"{name}: {loss}", StreamSampler(name, mechanism, query, loss), family, loss, "mechanism")
    name, reasons = "stream, each step and what is not counted", len(TUPLE_REASONS)
    for loss in (ONE, HALF_RHO):
        sampler = StreamSampler(name, own.WithUncounted(own.Perturber()), ticks, loss, reasons)
        yield Audited(f"{name}: {loss}", sampler, family, loss, "mechanism")


def _readings(data: Any, counts: Any, loss: PrivacyLoss, store: str) -> list[Any]:
    """The public face of a stream: tuples in, readings out."""
    from dpcurves_streams.feed import follow

    tuples = [{"time": step, "state": "a"} for step, number in enumerate(data) for _ in range(int(number))]
    told = follow(tuples, counts, loss=loss, store=store, start=0, every=1, end=len(data))
    return [[list(reading.values), np.asarray(reading.counts).ravel().tolist()] for reading in told]


def _followed(counts: Any, loss: PrivacyLoss, times: int = 1) -> Sampler:
    """A stream with a ledger of its own, followed so many times: together for the price of one."""

    def stream(data: Any) -> list[Any]:
        if times == 1:
            return _readings(data, counts, loss, "sqlite://")
        with tempfile.TemporaryDirectory() as folder:
            return [_readings(data, counts, loss, f"sqlite:///{folder}/stream.db") for _ in range(times)]

    return OneSampler(stream, PATIENT)


def _killed_stream(counts: Any, loss: PrivacyLoss) -> Sampler:
    """A stream that is killed when its readings are there, and followed again with what its ledger has."""

    def stream(data: Any, folder: Path, publish: Publish) -> None:
        publish(_readings(data, counts, loss, f"sqlite:///{folder}/stream.db"))

    return KilledSampler(stream)


@dataclass(frozen=True)
class ReportSampler:
    """Messages of one person, of whom the aggregator knows the name: octets of the randomised response.

    Attributes:
        name: The release, in words.
        task: The task of a survey.
    """

    name: str
    task: Any

    def draw(self, data: Any, number: int) -> NDArray[np.uint8]:
        from dpcurves_local.device import slot_of

        value, person = data
        slots = np.full(number, slot_of(self.task.axes, value), dtype=np.int64)
        named = np.tile(np.frombuffer(self.task.name_of(person), dtype=np.uint8), (number, 1))
        said: NDArray[np.uint8] = self.task.said(named, slots, Randomness.system())
        return said


@dataclass(frozen=True)
class ResponseSampler:
    """Reports of a randomiser.

    Attributes:
        name: The release, in words.
        way: The randomiser.
    """

    name: str
    way: Any

    def draw(self, data: Any, number: int) -> NDArray[np.uint8]:
        drawn: NDArray[np.uint8] = self.way.draw(np.full(number, data, dtype=np.int64), Randomness.system())
        return drawn


def _surveys() -> Iterator[tuple[str, Any, Family]]:
    from dpcurves_local import Coins, Rounding, Task

    cells = dp.Grid(0, 1, cells=8)
    curve, shares = dp.CdfQuestion("x", cells), dp.HistogramQuestion("x", cells)
    told = [(0.05, 0.95), (0.95, 0.05), (0.3, 0.35), (0.5, None), (float("nan"), 1.0), (0.45, 0.55)]
    named = [((one, name), (other, name)) for one, other in told for name in ("anna", "bert", "cleo", "dora")]
    family = families.pairs(named, adjacency=REPLACE_ONE, name="values of a person")
    yield "report for a curve", Task(curve, ONE, 1000), family
    yield "report with public coins", Task(curve, ONE, 1000, coins=Coins.PUBLIC), family
    yield "report rounded by chance", Task(shares, ONE, 1000, rounding=Rounding.CHANCE), family
    yield "report for a curve", Task(curve, HALF_RHO, 1000), family


def _reports() -> Iterator[Audited]:
    from dpcurves_local.responses.randomiser import RANDOMISERS

    for answers in (2, 5):
        pairs = [(0, answers - 1), (answers - 1, 0), (0, 1)]
        family = families.pairs(pairs, adjacency=REPLACE_ONE, name=f"{answers} answers")
        for each in RANDOMISERS:
            way = each(answers, Fraction(1))
            yield Audited(f"{way.NAME} of {answers} answers", ResponseSampler(way.NAME, way), family, ONE, "noise")
    for name, task, family in _surveys():
        yield Audited(f"{name}: {task.loss}", ReportSampler(name, task), family, task.loss, "noise")


def _handed_in(task: Any) -> Sampler:
    """The public face of a person's device: the octets that are sent."""

    def report(data: Any) -> list[int]:
        value, person = data
        return list(task.randomize(value, person=person))

    return OneSampler(report, PATIENT)


@dataclass(frozen=True)
class AnswersSampler:
    """Randomised answers of all pairs, by the circuit that two parties garble, in the clear.

    Attributes:
        name: The release, in words.
        kernel: The kernel.
        plan: The plan.
        seed: The public seed of the pairs.
    """

    name: str
    kernel: Any
    plan: Plan
    seed: bytes

    def draw(self, data: Any, number: int) -> NDArray[np.float64]:
        from dpcurves_parties.pairs.mechanisms import response_of
        from dpcurves_parties.pairs.queries import PairQuery
        from dpcurves_parties.pairs.release import answered

        query: Any = self.plan.query.narrowed(PairQuery)
        pairs = np.tile(query.pairing.pairs(len(data), self.seed), (number, 1))
        both = [{name: np.asarray(data)[pairs[:, place]] for name in self.kernel.columns} for place in (0, 1)]
        response = response_of(query, self.plan.loss)
        told = answered(response, self.kernel, (both[0], both[1]), Randomness.system().expanded())
        return told.reshape(number, -1).astype(np.float64)


@dataclass(frozen=True)
class GarbledSampler(AnswersSampler):
    """Answers of all pairs by the protocol: both parties run their sides here, with wire labels and transfers."""

    def draw(self, data: Any, number: int) -> NDArray[np.float64]:
        from dpcurves_parties.crypto.garbling import opened
        from dpcurves_parties.crypto.two_party import evaluate, garble, together
        from dpcurves_parties.pairs import answers_of_pairs, given_to_answers, response_to
        from dpcurves_parties.pairs.mechanisms import response_of
        from dpcurves_parties.pairs.queries import PairQuery

        query: Any = self.plan.query.narrowed(PairQuery)
        pairs = np.tile(query.pairing.pairs(len(data), self.seed), (number, 1))
        response, source = response_of(query, self.plan.loss), Randomness.system()
        values = [{name: np.asarray(data)[pairs[:, place]] for name in self.kernel.columns} for place in (0, 1)]
        given = [given_to_answers(self.kernel, response, values[party], party, source) for party in (0, 1)]
        job = answers_of_pairs(os.urandom(16), self.kernel, response, len(pairs))
        shares = together(garble(job, given[0], source), evaluate(job, given[1], source))
        return response_to(response, opened(*shares)).reshape(number, -1).astype(np.float64)


def _pairs() -> Iterator[Audited]:
    from dpcurves_parties import pairs

    gini, collision = (kernel.on(value=pairs.Unsigned(3)) for kernel in (pairs.GINI, pairs.COLLISION))
    people, seed = 4, bytes(range(32))
    moved = [([0, 7, 7, 7], [7, 7, 7, 7]), ([0, 0, 0, 0], [7, 0, 0, 0]), ([1, 2, 3, 4], [6, 2, 3, 4])]
    family = families.pairs(moved, adjacency=REPLACE_ONE, name=f"{people} people")
    for name, kernel in (("collisions", collision), ("distances", gini)):
        plan = pairs.plan(kernel, people=people, pairs_per_person=2, loss=ONE)
        yield Audited(f"pairs, answers on {name}", AnswersSampler(name, kernel, plan, seed), family, ONE, "noise")
        if find_spec("rbcl"):
            sampler = GarbledSampler(name, kernel, plan, seed)
            yield Audited(f"pairs, garbled answers on {name}", sampler, family, ONE, "turns")
        yield Audited(f"pairs, noisy sum of {name}", _summed(kernel, people, seed), family, ONE, "mechanism")


def _summed(kernel: Any, people: int, seed: bytes) -> Sampler:
    from dpcurves_parties import pairs

    plan = pairs.plan(kernel, people=people, pairs_per_person=2, loss=ONE, noise=pairs.Noise.ON_SUM)

    def noisy_sum(data: Any) -> Any:
        table = {name: np.asarray(data) for name in kernel.columns}
        found = pairs.simulate(kernel, table, plan, seed=seed)
        return [found.value, *found.interval(0.9)]

    return OneSampler(noisy_sum, PATIENT)


@dataclass(frozen=True)
class ServersSampler:
    """Two servers' answers from fresh shares of all records, each server with a new key of its noise.

    Attributes:
        name: The release, in words.
        query: What they count, on one axis.
        loss: The loss.
    """

    name: str
    query: Any
    loss: PrivacyLoss

    def draw(self, data: Any, number: int) -> NDArray[np.float64]:
        from dpcurves_parties.crypto import engine_of_task
        from dpcurves_parties.shares.function_shares import FunctionShares
        from dpcurves_parties.shares.shared_records import Encoding, Reports

        (axis,), trust = self.query.axes, FunctionShares()
        engine = engine_of_task(b"an audit of two servers")
        encoding, places = Encoding(axis.slots, engine), axis.grid.cell_of(np.asarray(data, dtype=np.float64))
        plan = trust.turn(self.query, self.loss, REPLACE_ONE.among(EACH_RECORD, len(data)))
        allotment = QuestionBudget.rehearsing(self.loss.of_one_release()).pay("audit", ALL)
        found = []
        for _ in range(number):
            shares = encoding.shared(places, Randomness.system())
            keys = [encoding.keys(party, [share[party] for share in shares]) for party in (0, 1)]
            servers = [Reports(key, engine, NoiseKey(os.urandom(32))) for key in keys]
            found.append(trust.run(plan, servers, allotment, Randomness.system()).values)
        return np.array(found, dtype=np.float64)


def _two_servers() -> Iterator[Audited]:
    axes = (Axis("x", dp.Grid(0, 1, cells=STEPS)),)
    family = families.values(np.linspace(0, 1, STEPS + 1), adjacency=REPLACE_ONE)
    for name, query in (
        ("two servers, thresholds", PrefixQuery(axes, at=(1, 2, 3))),
        ("two servers, all cells", CountQuery(axes, Read.PREFIXES)),
    ):
        for loss in (ONE, HALF_RHO):
            yield Audited(f"{name}: {loss}", ServersSampler(name, query, loss), family, loss, "turns")


def federation(data: Any) -> Mapping[str, Any]:
    """New sites, each with a part of these records and a ledger, are asked for a histogram by the whole protocol."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from dpcurves_sites.secure_sum import Signer
    from dpcurves_sites.site import Federation, Site, Terms
    from dpcurves_sites.trust import SecureSum

    model, keys = SecureSum(SITES, 1), [Ed25519PrivateKey.generate() for _ in range(SITES)]
    roster = model.roster(os.urandom(32), [key.public_key().public_bytes_raw() for key in keys])
    terms = Terms(model, roster, ADD_REMOVE, EACH_RECORD, (), ONE)
    sites = [
        Site(terms, Signer(place, key), {"value": data[place::SITES]}, Ledger.open("sqlite://"), "audit")
        for place, key in enumerate(keys)
    ]
    with catch_warnings(action="ignore", category=CurveWarning):
        curve = Federation.here(terms, sites).ask(dp.HistogramQuestion("value", dp.Grid(0, 1, cells=STEPS)), ONE)
    shown: Mapping[str, Any] = json.loads(curve.to_json())
    return shown


SITES = 3


def _sites() -> Iterator[Audited]:
    edges = np.linspace(0, 1, STEPS + 1)
    family = families.values(edges, adjacency=ADD_REMOVE)
    yield Audited("federation of sites, histogram", OneSampler(federation, PATIENT), family, ONE, "face")


def _faces() -> Iterator[Audited]:
    from dpcurves_streams.readings import Counts, Groups, Totals

    states = (dp.Categories("state", ("a",)),)
    told = families.streams(STEPS, adjacency=ADD_REMOVE)
    for word, counts in (("counts", Counts(states)), ("totals", Totals(states)), ("groups", Groups(states))):
        yield Audited(f"followed stream of {word}", _followed(counts, ONE), told, ONE, "face")
    yield Audited("followed stream, twice over one store", _followed(Counts(states), ONE, 2), told, ONE, "ledger")
    yield Audited("followed stream, killed and resumed", _killed_stream(Counts(states), ONE), told, ONE, "ledger")
    for name, task, family in _surveys():
        yield Audited(f"{name}, handed in: {task.loss}", _handed_in(task), family, task.loss, "face")
    if all(map(find_spec, ("argon2", "pyarrow"))):
        values = families.values(np.linspace(0, 1, STEPS + 1), adjacency=REPLACE_ONE)
        yield Audited("verification server, histogram", OneSampler(verification_server, PATIENT), values, ONE, "face")


def verification_server(data: Any) -> Mapping[str, Any]:
    """A new verification server with these records is asked for a histogram, and shows it when its clock strikes.

    Its gate, ledger, queue and worker are in this process; no page and no network.
    """
    from dpcurves_server import MACHINE, Gate, Role
    from dpcurves_server.datasets import Relation, Source
    from dpcurves_server.queue import Queue
    from dpcurves_server.worker import Counting

    with tempfile.TemporaryDirectory() as name, catch_warnings(action="ignore", category=CurveWarning):
        folder = Path(name)
        records, url = folder / "records.csv", f"sqlite:///{folder / 'server.db'}"
        records.write_text(as_csv(data), encoding="utf-8")
        gate = Gate(url)
        for person in ("analyst", "steward"):
            gate.people.add(MACHINE, person, PASSWORD)
        gate.datasets.add(
            MACHINE, Account("values", REPLACE_ONE, EACH_RECORD, ONE), Source(str(records)),
            (dp.Ranged("value", 0, 1),), name="values", relation=Relation.FIRST, units=len(data),
        )  # fmt: skip
        gate.people.give_role(MACHINE, "steward", Role.STEWARD, "values")
        steward = gate.sessions.begin("steward").visitor
        gate.projects.make(steward, "study", "values")
        gate.projects.allow(steward, "study", ONE)
        gate.projects.admit(steward, "study", "analyst")
        gate.projects.allow(steward, "study", ONE, "analyst")
        analyst = gate.sessions.begin("analyst").visitor
        asked = gate.questions.ask(
            analyst, "study", {"ask": "histogram", "column": "value", "grid": f"0:1:{STEPS}"}, ONE
        )
        Counting(url, "auditor").step()
        Queue(gate.archive).strike()
        shown: Mapping[str, Any] = json.loads(gate.releases.get(analyst, asked.id).json)
        return shown
