"""Audit targets in the core: noise, mechanisms, rounds of questions, and public functions.

    list_targets           every target, with its claim, its sampler and its neighbouring data sets
    NoiseSampler, ...      samplers, from drawn noise up to a public function
    run_target_checks      further checks: repeated noise, lattices and run times

A call of a public function costs some 100 ms of processor time, the rounds of a question some milliseconds, a mechanism
less, and drawn noise a fraction of a microsecond per count. So each target is audited with the cheapest sampler that
contains its noise, and public functions with fewer samples. `deployments` has the other targets.
"""

from __future__ import annotations

import json
import os
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from warnings import catch_warnings

import numpy as np
from numpy.typing import NDArray

import dpcurves as dp
from dpcurves import mechanisms, queries
from dpcurves.arguments import InvalidArgument
from dpcurves.conversation import Release, Step
from dpcurves.curves.result import CurveWarning
from dpcurves.data import Axis, Grid, UnlistedCategories, Weights, doubling_grid
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves.mechanisms import FlatHistogram
from dpcurves.mechanisms.linear import PartitionSums, compute_exact_sums, sample_noise
from dpcurves.mechanisms.partition_selection import ThresholdedCategories, UniverseCategories
from dpcurves.noise.randomness import InProcessMemory, Randomness
from dpcurves.privacy import Adjacency, Neighbours, PrivacyLoss, Unit
from dpcurves.queries import CountQuery, CountUse, ThresholdComparison
from dpcurves.records import Records, open_records, tabulate
from dpcurves.session import ask_with_partition_selection
from dpcurves.trust import Central, Curator

from . import neighbouring_datasets as families
from .auditor import (
    COMPARED_CALLS,
    FEW_COMPARED_CALLS,
    check_forked_workers,
    check_lattice,
    check_new_processes,
    check_noise_reuse,
    check_timing,
    has_repeated_noise,
)
from .deployments import (
    ADD_REMOVE,
    CALL_SECONDS,
    EPSILON_ONE,
    REPLACE_ONE,
    RHO_HALF,
    SITES,
    AuditTarget,
    list_deployment_targets,
)
from .neighbouring_datasets import NeighbouringDatasets, NeighbourPair
from .outcome_scores import OutcomeParser
from .questions import (
    COLUMN,
    FURTHER_QUESTIONS,
    LABEL,
    PLANE_RECORDS,
    QUESTIONS,
    SCORE,
    UNIT,
    UNLISTED_COUNTS,
    WEIGHT_CAP,
    WEIGHTED_RECORDS,
    AuditQuestion,
    make_name_datasets,
)
from .report import Finding
from .samplers import CallableSampler, KilledSampler, Publish, Sampler


def as_columns(data: Any) -> Mapping[str, Any]:
    """Return data of a family as columns by name: a single array becomes the column `COLUMN`.

    Args:
        data: Columns by name, or one array.
    """
    return data if isinstance(data, Mapping) else {COLUMN: data}


@contextmanager
def open_dataset(data: Any, unit: Unit) -> Iterator[Records]:
    """Open a tiny data set of an audit as records, with a new key that decides which rows of a unit are used.

    Args:
        data: Columns by name, or one array.
        unit: Privacy unit with its contribution bound.

    Yields:
        The records, which are closed when the context ends.
    """
    records = open_records(as_columns(data), unit=unit, key=os.urandom(32))
    try:
        yield records
    finally:
        records.close()


def make_adjacency(neighbours: Neighbours, unit: Unit, records: Records | CachedRecords) -> Adjacency:
    """Return the adjacency for this unit; if the relation makes the number of units public, it is counted here.

    Args:
        neighbours: Add-remove or replace-one.
        unit: The privacy unit.
        records: The records, whose units are counted if their number is public.
    """
    return neighbours.to_adjacency(unit, records.units() if neighbours.has_public_units else None)


COUNTING_METHODS = (
    "check", "count_confirming_subsets", "counts", "names", "places", "prefixes", "sized_units", "squares", "sums",
    "unit_sizes", "units", "weighted_sums",
)  # fmt: skip
"""Names of the methods of `Records` that count: pure functions of their arguments, so equal calls are answered from a
cache."""


class CachedRecords:
    """A table with cached exact counts, which are the same at each call.

    Records are opened at the first count, and closed after each draw. (The choice of records of a unit would then be
    made anew, so these tables have one record per unit.)
    """

    def __init__(self, data: Any, unit: Unit) -> None:
        self._data = data
        self._unit = unit
        self._counts: dict[Any, Any] = {}
        self._open = ExitStack()
        self._records: Records | None = None

    def __getattr__(self, name: str) -> Any:
        if name not in COUNTING_METHODS:
            raise AttributeError(name)
        return partial(self._count_once, name)

    def _count_once(self, name: str, *arguments: Any) -> Any:
        """Return the result of a counting method, counted at the first call with these arguments.

        Args:
            name: Name of a method of `Records`.
            arguments: Arguments of the method.
        """
        key = name, *(tuple(argument) if isinstance(argument, Iterable) else argument for argument in arguments)
        if key not in self._counts:
            if self._records is None:
                self._records = self._open.enter_context(open_dataset(self._data, self._unit))
            if len(self._counts) > 1000:  # exact counts kept for a table
                self._counts.clear()
            self._counts[key] = getattr(self._records, name)(*arguments)
        return self._counts[key]

    def close(self) -> None:
        """Close the records; cached counts stay available."""
        self._open.close()
        self._records = None


@lru_cache(maxsize=400)
def cache_records(data: bytes, unit: Unit) -> CachedRecords:
    """Return a pickled table that all samplers share: opening one takes as long as a thousand draws of noise.

    Args:
        data: Columns by name, or one array, pickled.
        unit: Privacy unit with its contribution bound.
    """
    return CachedRecords(pickle.loads(data), unit)


@dataclass(frozen=True)
class NoiseSampler:
    """Noise of a plan of sums, drawn for many releases at once and added to the exact sums.

    Attributes:
        name: Name of the release.
        query: The query.
        mechanism: The mechanism that plans it.
        loss: The loss.
        neighbours: The neighbouring relation.
        unit: The privacy unit.
        cache: Plans and exact tables by data set.
    """

    name: str
    query: Any
    mechanism: Any
    loss: PrivacyLoss
    neighbours: Neighbours
    unit: Unit = dp.EACH_RECORD
    cache: dict[bytes, Any] = field(default_factory=dict, compare=False)

    @contextmanager
    def open_cached_records(self, data: Any) -> Iterator[Any]:
        """Open a data set as records whose counts are cached between draws, so that only noise is drawn anew.

        Args:
            data: Columns by name, or one array.

        Yields:
            The records, which are closed when the context ends.
        """
        records = cache_records(pickle.dumps(data), self.unit)
        try:
            yield records
        finally:
            records.close()

    def plan_and_tabulate(self, data: Any) -> Any:
        """Return the plan and the exact table; cached, since neither is random.

        Args:
            data: Columns by name, or one array.

        Returns:
            Plan of the mechanism, and table of its query.
        """
        key = pickle.dumps(data)
        if key not in self.cache:
            with self.open_cached_records(data) as records:
                adjacency = make_adjacency(self.neighbours, self.unit, records)
                plan = self.mechanism.plan(self.query, self.loss, adjacency)
                self.cache[key] = plan, tabulate(records, self.query)
        return self.cache[key]

    def draw(self, data: Any, number: int) -> NDArray[np.int64]:
        """Return exact sums plus fresh noise, for `number` releases, one release a row.

        Args:
            data: Columns by name, or one array.
            number: Number of releases.

        Returns:
            Array of shape ``(number, sums)``.
        """
        plan, table = self.plan_and_tabulate(data)
        randomness = Randomness.from_system().expand()
        outcomes = [
            np.asarray(sums, dtype=np.int64) + sample_noise(noise, number * sums.size, randomness).reshape(number, -1)
            for sums, noise in compute_exact_sums(self.query.reorder_table(table), plan.distribution)
        ]
        return np.concatenate(outcomes, axis=1)


@dataclass(frozen=True)
class MechanismSampler(NoiseSampler):
    """Runs of a mechanism on the exact table of a query."""

    def draw(self, data: Any, number: int) -> Any:
        """Run the mechanism `number` times on a data set, and return the released values of each run.

        Args:
            data: Columns by name, or one array.
            number: Number of runs.

        Returns:
            List of the values of each run.
        """
        plan, table = self.plan_and_tabulate(data)
        randomness = Randomness.from_system()
        return [self.mechanism.run(table, plan, randomness) for _ in range(number)]


@dataclass(frozen=True)
class SitesSampler(NoiseSampler):
    """Noisy sums of sites: exact sums, and the noise shares of the fewest honest sites.

    Attributes:
        model: The trust model, whose plans equal the plans of the mechanism.
    """

    model: Any = None

    def draw(self, data: Any, number: int) -> NDArray[np.int64]:
        """Return exact sums plus the noise shares of the honest sites, for `number` releases, one release a row.

        Args:
            data: Columns by name, or one array.
            number: Number of releases.

        Returns:
            Array of shape ``(number, sums)``.
        """
        plan, table = self.plan_and_tabulate(data)
        randomness = Randomness.from_system().expand()
        outcomes = []
        for sums, noise in compute_exact_sums(self.query.reorder_table(table), plan.distribution):
            shares = [
                self.model.sample_noise_share(noise, number * sums.size, randomness)
                for _ in range(self.model.honest_sites)
            ]
            outcomes.append(np.asarray(sums, dtype=np.int64) + np.sum(shares, axis=0).reshape(number, -1))
        return np.concatenate(outcomes, axis=1)


@dataclass(frozen=True)
class LazyTreeSampler(NoiseSampler):
    """Prefix counts that are asked one after the other under one charge, all of them one outcome."""

    def draw(self, data: Any, number: int) -> Any:
        """Return the outcomes of `number` runs on `data`: each is the list of noisy prefix counts of one charge.

        Args:
            data: Columns by name, or one array.
            number: Number of runs.
        """
        with self.open_cached_records(data) as records:
            adjacency = make_adjacency(self.neighbours, self.unit, records)
            randomness = Randomness.from_system()
            plans = [
                self.mechanism.plan(replace(self.query, prefix_lengths=(length,)), self.loss, adjacency)
                for length in self.query.prefix_lengths
            ]
            return [self._run_once(records, plans, randomness) for _ in range(number)]

    def _run_once(self, records: Any, plans: list[Any], randomness: Randomness) -> list[int]:
        """Return all prefix counts of one charge; the plans share one memory of noisy blocks, so that their answers
        agree.

        Args:
            records: One of the two data sets.
            plans: Plans of the charge, in order.
            randomness: Source of the noise.
        """
        memory = InProcessMemory()
        axes = self.query.axes
        counts: list[int] = []
        for plan in plans:
            counts.extend(self.mechanism.answer(partial(records.prefixes, axes), plan, memory, randomness))
        return counts


class AllRoundsAnswered(Exception):
    """The last round of a question was answered; the curve is post-processing and takes most of the time."""


@dataclass(frozen=True)
class RoundsSampler:
    """All rounds of a question, as in a session, but without a ledger and without the curve.

    The curve is skipped once the whole loss is spent, unless further answers are free: prefix counts under one charge.

    Attributes:
        name: Name of the release.
        question: The question.
        loss: The loss.
        neighbours: The neighbouring relation.
        reopen_data: Whether each run opens the data with a new key, for choices that depend on the key.
    """

    name: str
    question: Any
    loss: PrivacyLoss
    neighbours: Neighbours
    reopen_data: bool = False

    def draw(self, data: Any, number: int) -> list[Any]:
        """Return the values of all rounds, for `number` runs of the question.

        Args:
            data: Columns by name, or one array.
            number: Number of runs.

        Returns:
            List with an entry for each run: the released values of its rounds.
        """
        if self.reopen_data and number > 1:
            return [outcome for _ in range(number) for outcome in self.draw(data, 1)]
        unit = dp.EACH_RECORD
        records = CachedRecords(data, unit) if self.reopen_data else cache_records(pickle.dumps(data), unit)
        with catch_warnings(action="ignore", category=CurveWarning):
            try:
                adjacency = make_adjacency(self.neighbours, dp.EACH_RECORD, records)
                return [self._run_rounds(records, adjacency) for _ in range(number)]
            finally:
                records.close()

    def _run_rounds(self, records: Any, adjacency: Adjacency) -> list[Any]:
        """Return the released values of all rounds of one run, as a list.

        Args:
            records: Opened records of one data set.
            adjacency: Adjacency of the question.

        Returns:
            One list of released integers per query, in order.
        """
        trust = Central()
        randomness = Randomness.from_system()
        memories: dict[int, InProcessMemory] = {}
        charged_releases: dict[int, Release] = {}
        outcome: list[Any] = []

        def run_query(query: Any, allotment: Allotment) -> Release:
            """Answer one query of a round under its allotment, and append its released values to the outcome.

            Args:
                query: Query of a round.
                allotment: Loss that the query spends, and the index of this part of the question's charge.
            """
            plan = trust.plan_query(query, allotment.loss, adjacency)
            release = trust.run(plan, [Curator(records, memories[allotment.part])], allotment, randomness)
            outcome.append(list(release.values))
            return release

        def answer_step(step: Step, allotment: Allotment) -> Release:
            """Answer one round of the question; a charged query is answered once, and its release is reused.

            Args:
                step: Round of the question, with its query.
                allotment: Loss that the round spends, and the index of this part of the question's charge.

            Raises:
                AllRoundsAnswered: this was the last charged query.
            """
            if allotment.part not in charged_releases:
                memories[allotment.part] = InProcessMemory()
                charged_releases[allotment.part] = run_query(step.query.charged_query, allotment)
            if step.query == step.query.charged_query:
                release = charged_releases[allotment.part]
            else:
                release = run_query(step.query, allotment)
            if budget.remaining == 0 and step.query == step.query.charged_query:
                raise AllRoundsAnswered
            return release

        budget = QuestionBudget.for_planning(self.loss.as_single_release())
        with suppress(AllRoundsAnswered):
            ask_with_partition_selection(self.question, adjacency, trust, budget, answer_step)
        return outcome


@dataclass(frozen=True)
class PublicFunctionSampler:
    """A public function: a session with a ledger in memory, a question, and the JSON of its curve.

    Attributes:
        name: Name of the release.
        question: The question.
        loss: The loss.
        neighbours: The neighbouring relation.
        unit: The column of units; empty if the unit is a record.
        rows_per_unit: The contribution bound; None if noisy counts choose it.
        repeats: Number of times that it is asked under one request for one charge; all answers together are the
            outcome.
    """

    name: str
    question: Any
    loss: PrivacyLoss
    neighbours: Neighbours
    unit: str = ""
    rows_per_unit: int | None = 1
    repeats: int = 1

    @cached_property
    def _callable_sampler(self) -> Sampler:
        """Sampler that calls the question's public function in this process."""
        return CallableSampler(self._ask_question, CALL_SECONDS)

    def _ask_question(self, data: Any) -> Any:
        """Return the curve as plain objects, from a new session with a ledger in memory.

        Args:
            data: Columns by name, or one array.

        Returns:
            Plain objects of the curve's JSON; a list of them if the question is asked several times.
        """
        units = {"unit": self.unit, "rows_per_unit": self.rows_per_unit} if self.unit else {}
        with (
            catch_warnings(action="ignore", category=CurveWarning),
            dp.Session(as_columns(data), budget=self.loss, adjacency=self.neighbours, **units) as session,  # type: ignore[arg-type]
        ):
            answers = [
                json.loads(session.ask(self.question, self.loss, "asked").to_json()) for _ in range(self.repeats)
            ]
        return answers[0] if self.repeats == 1 else answers

    def draw(self, data: Any, number: int) -> Any:
        """Ask the question in `number` new sessions by its public function, and return the curves.

        Args:
            data: Columns by name, or one array.
            number: Number of sessions.

        Returns:
            An outcome for each session: plain objects of the curve's JSON, or a `Failure`.
        """
        return self._callable_sampler.draw(data, number)


def make_session_sampler(questions: Mapping[Any, PrivacyLoss], neighbours: Neighbours) -> Sampler:
    """Return a sampler of a session with several questions, whose answers together cost the charged sum.

    Args:
        questions: Privacy loss that each question is charged, by question.
        neighbours: Add-remove or replace-one.
    """
    losses = list(questions.values())
    total = sum(losses[1:], start=losses[0])

    def ask_questions(data: Any) -> Any:
        """Ask all questions in one session with a new ledger, and return their curves.

        Args:
            data: Columns by name, or one array.

        Returns:
            Plain objects of each curve's JSON, in the order of the questions.
        """
        with (
            catch_warnings(action="ignore", category=CurveWarning),
            dp.Session(as_columns(data), budget=total, adjacency=neighbours) as session,
        ):
            return [json.loads(session.ask(question, loss).to_json()) for question, loss in questions.items()]

    return CallableSampler(ask_questions, CALL_SECONDS)


def make_killed_sampler(question: Any, loss: PrivacyLoss, neighbours: Neighbours, lives: int = 3) -> KilledSampler:
    """Return a sampler of a session with a ledger on disk that is killed after its answer, and asked again under its
    request.

    Args:
        question: The question.
        loss: Loss of the question, and budget of the ledger.
        neighbours: The claimed relation.
        lives: Number of starts of the process.
    """

    def ask_question(data: Any, folder: Path, publish: Publish) -> None:
        """Ask under a fixed request with a ledger in `folder`, and publish the curve.

        Args:
            data: Columns by name, or one array.
            folder: Folder of the ledger's file.
            publish: Function that shows the curve to the observer.
        """
        with (
            catch_warnings(action="ignore", category=CurveWarning),
            dp.Session(
                as_columns(data), budget=loss, adjacency=neighbours, ledger=f"sqlite:///{folder}/l.db"
            ) as session,
        ):
            publish(json.loads(session.ask(question, loss, "one").to_json()))

    return KilledSampler(ask_question, lives)


def find_question(name: str) -> AuditQuestion:
    """Return the audited question that a command of the command line asks, such as ``cdf``.

    Raises:
        ValueError: no question has this name.
    """
    if name not in QUESTIONS:
        raise InvalidArgument("question", f"must be one of {', '.join(QUESTIONS)}")
    return QUESTIONS[name]


EDGES = np.linspace(0, 1, 5)
"""Edges of the four cells of the audited histograms, on [0, 1]."""
GRID_CELLS = 4
"""Cells of the grid in each audited target: few, so that all outcomes occur often."""
EPSILON_AND_DELTA = PrivacyLoss.pure(1, Fraction(1, 100))
"""Claimed loss of the audited partition selections: epsilon 1 and delta 1/100."""


def list_targets() -> Iterator[AuditTarget]:
    """Yield an audit of each mechanism, question, public function and ledger of this version, the cheapest first."""
    yield from _list_mechanism_targets()
    yield from _list_question_targets()
    yield from _list_public_targets()
    yield from _list_site_targets()
    yield from list_deployment_targets()


def _list_noisy_sums() -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield the mechanisms that release sums plus independent noise, with a query and neighbouring data sets for each.

    Yields:
        Name, query, mechanism, and the function that makes neighbouring data sets for it.
    """
    axis = (Axis(COLUMN, Grid(0, 1, cells=GRID_CELLS)),)
    cells = queries.CountQuery(axis, CountUse.CELLS)
    prefixes = queries.CountQuery(axis, CountUse.PREFIXES)
    weights = Weights("weight", WEIGHT_CAP)
    order = tuple(range(GRID_CELLS))
    values = families.values
    weighed = WEIGHTED_RECORDS
    plane = Grid(0, 1, cells=2)
    yield "flat histogram", cells, mechanisms.FlatHistogram(), values
    yield "tree of sums", prefixes, mechanisms.TreeSums(), values
    yield "sums of values", queries.SumQuery(axis, 8), mechanisms.FlatHistogram(), values
    yield (
        "counts of two classes",
        queries.CountQuery(_make_label_axes(), CountUse.PREFIXES),
        mechanisms.TreeSums(),
        families.scores,
    )
    yield "Haar wavelets", prefixes, mechanisms.Haar(), values
    yield "nested intervals", queries.PartitionQuery(axis, ((0, 2), order)), PartitionSums(), values
    regions = (Axis("x", plane), Axis("y", plane))
    yield (
        "regions",
        queries.RegionQuery(regions, (0, 2, 1, 3), ((0, 2), order), CountUse.CELLS),
        mechanisms.RegionSums(),
        PLANE_RECORDS,
    )
    yield "squares of values", queries.SquareQuery(axis, 8), mechanisms.FlatHistogram(), values
    yield "weights", queries.WeightQuery(axis, weights, CountUse.CELLS), mechanisms.FlatHistogram(), weighed
    yield "tree of weights", queries.WeightQuery(axis, weights, CountUse.PREFIXES), mechanisms.TreeSums(), weighed
    yield "squares of weights", queries.SquaredWeightQuery(axis, weights), mechanisms.FlatHistogram(), weighed
    yield "sums of weighted values", queries.WeightedSumQuery(axis, weights, 8), mechanisms.FlatHistogram(), weighed
    yield "weighted squares", queries.WeightedSpreadQuery(axis, weights, 8, (2,)), mechanisms.FlatHistogram(), weighed
    yield "square root", prefixes, mechanisms.SquareRoot(), values


def _list_selection_mechanisms() -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield the audited mechanisms that select cuts, boxes, partitions or bounds, and others that release no noisy
    sums.

    Yields:
        Name, query, mechanism, and the function that makes neighbouring data sets for it.
    """
    axis = (Axis(COLUMN, Grid(0, 1, cells=GRID_CELLS)),)
    values = families.values
    bounds = queries.CoverageQuery((Axis(COLUMN, doubling_grid(0.125, 2)),), Fraction(9, 10))
    boxes = queries.WorstBoxQuery(axis, (((0, 1),), ((1, 4),), ((0, 4),)), (0, 1, 1))
    order = tuple(range(GRID_CELLS))
    yield "quantile cuts", queries.QuantileCutsQuery(axis, 4), mechanisms.ExponentialQuantiles(), values
    yield "noisy medians", queries.MedianQuery(axis, 3), mechanisms.NoisyMedians(), values
    yield "buckets", queries.IntervalPartitionQuery(axis, range(GRID_CELLS)), mechanisms.ExponentialPartition(), values
    yield "worst box", boxes, mechanisms.ExponentialWorstBox(), values
    yield "PrivTree", queries.TreePartitionQuery(axis, (2,), 0), mechanisms.PrivTree(), values
    yield "merged cells", queries.MergePartitionQuery(axis, 2), mechanisms.MergedCells(), values
    yield "sparse vector", queries.ThresholdQuery(axis, _make_comparisons(), 1), mechanisms.SparseVector(), values
    yield "private bounds", bounds, mechanisms.SparseVector(), values
    yield "wavelets of boxes", queries.WaveletQuery(axis, order, (2, 2)), mechanisms.Privelet(), values
    yield "noisy area", queries.AucQuery(_make_label_axes()), mechanisms.NoisyAuc(), families.scores


def _make_label_axes() -> tuple[Any, Any]:
    """Return the axes of labels (0 and 1) and of scores."""
    return dp.Categories(LABEL, (0, 1)), Axis(SCORE, Grid(0, 1, cells=GRID_CELLS))


def _list_mechanism_targets() -> Iterator[AuditTarget]:
    """Yield an audit of each mechanism, by its noise or by complete runs, for both adjacencies and for epsilon and
    rho.
    """
    axis = (Axis(COLUMN, Grid(0, 1, cells=GRID_CELLS)),)
    for neighbours in (ADD_REMOVE, REPLACE_ONE):
        for loss in (EPSILON_ONE, RHO_HALF):
            setting = f"{loss}, {neighbours.value}"
            for name, query, mechanism, family in _list_noisy_sums():
                if loss is RHO_HALF or name != "square root":
                    sampler: Sampler = NoiseSampler(f"noise of {name}", query, mechanism, loss, neighbours)
                    yield AuditTarget(f"{name}: {setting}", sampler, family(EDGES, adjacency=neighbours), loss, "noise")
            for name, query, mechanism, family in _list_selection_mechanisms():
                sampler = MechanismSampler(name, query, mechanism, loss, neighbours)
                yield AuditTarget(f"{name}: {setting}", sampler, family(EDGES, adjacency=neighbours), loss, "mechanism")
            lazy = LazyTreeSampler(
                "tree on demand", queries.PrefixQuery(axis, (3, 1, 2)), mechanisms.LazyTree(), loss, neighbours
            )
            values = families.values(EDGES, adjacency=neighbours)
            yield AuditTarget(f"tree on demand: {setting}", lazy, values, loss, "mechanism")

        # Units of several records need families of neighbours that differ in all records of a unit.
        sizes = NoiseSampler(
            "units by their records",
            queries.UnitSizesQuery.from_column(UNIT),
            mechanisms.FlatHistogram(),
            EPSILON_ONE,
            neighbours,
            dp.Unit(UNIT, 1),
        )
        units = families.units(EDGES, 2, adjacency=neighbours)
        yield AuditTarget(f"units by their records: {neighbours.value}", sizes, units, EPSILON_ONE, "noise")
        valued = queries.SizedUnitsQuery.from_column(UNIT, axis[0])
        valued_sizes = NoiseSampler(
            "units by records and a value",
            valued,
            mechanisms.FlatHistogram(),
            EPSILON_ONE,
            neighbours,
            dp.Unit(UNIT, 1),
        )
        yield AuditTarget(
            f"units by their records and a value: {neighbours.value}", valued_sizes, units, EPSILON_ONE, "noise"
        )

        # Partition selection is attacked with names that one data set lacks.
        selection = MechanismSampler(
            "name search",
            queries.PartitionSelectionQuery.from_column("name"),
            ThresholdedCategories(),
            EPSILON_AND_DELTA,
            neighbours,
        )
        name_family = make_name_datasets(EDGES, adjacency=neighbours)
        yield AuditTarget(f"name search: {neighbours.value}", selection, name_family, EPSILON_AND_DELTA, "mechanism")
        # two names: among many, thresholds are so high that few samples contain a name of one unit
        letters = queries.UniverseSelectionQuery((UnlistedCategories("name", universe=dp.TextUniverse("xy", 1)),))
        ranked = MechanismSampler("names of a universe", letters, UniverseCategories(), EPSILON_ONE, neighbours)
        yield AuditTarget(f"names of a universe: {neighbours.value}", ranked, name_family, EPSILON_ONE, "mechanism")


def _list_site_targets() -> Iterator[AuditTarget]:
    """Yield audit targets for noisy sums of sites, for both adjacencies and both kinds of losses."""
    from dpcurves_sites.trust import SecureSum

    model = SecureSum(SITES, 1)
    axis = Axis(COLUMN, Grid(0, 1, cells=GRID_CELLS))
    query = CountQuery((axis,), CountUse.CELLS)
    mechanism = SimpleNamespace(plan=model.plan_query)
    for neighbours in (ADD_REMOVE, REPLACE_ONE):
        for loss in (EPSILON_ONE, PrivacyLoss.zcdp("0.1")):  # two shares of less noise are not discrete Gaussian
            sampler = SitesSampler("sites, cells", query, mechanism, loss, neighbours, model=model)
            family = families.values(EDGES, adjacency=neighbours)
            yield AuditTarget(f"sites, cells: {loss}, {neighbours.value}", sampler, family, loss, "noise")


def _make_comparisons() -> tuple[Any, ...]:
    """Return the comparisons of counts with thresholds that an audit asks for: of one cell, of halves, and of two
    cells.
    """
    weights = (((1, 0, 0, 0), 0), ((0, 0, 0, 1), 1), ((1, 1, -1, -1), 0), ((0, 0, 1, 1), 0), ((0, 0, 0, 1), 0))
    return tuple(ThresholdComparison(row, threshold) for row, threshold in weights)


def _list_question_targets() -> Iterator[AuditTarget]:
    """Yield an audit of the released values of all rounds, for every question, adjacency and kind of loss."""
    grid = Grid(0, 1, cells=GRID_CELLS)
    for neighbours in (ADD_REMOVE, REPLACE_ONE):
        for loss in (EPSILON_ONE, RHO_HALF):
            setting = f"{loss}, {neighbours.value}"
            questions = (
                QUESTIONS
                if (loss is EPSILON_ONE) is (neighbours is REPLACE_ONE)
                else {**QUESTIONS, **FURTHER_QUESTIONS}
            )
            for name, audited in questions.items():
                sampler = RoundsSampler(f"rounds of {name}", audited.question(grid), loss, neighbours)
                yield AuditTarget(
                    f"{name}: {setting}", sampler, audited.family(EDGES, adjacency=neighbours), loss, "transcript"
                )
            sampler = RoundsSampler(
                "rounds of verification", _make_verify_question(), loss, neighbours, reopen_data=True
            )
            yield AuditTarget(f"verification: {setting}", sampler, _make_line_datasets(neighbours), loss, "transcript")
        sampler = RoundsSampler("rounds of partition selection", UNLISTED_COUNTS, EPSILON_AND_DELTA, neighbours)
        listed = make_name_datasets(EDGES, adjacency=neighbours)
        yield AuditTarget(
            f"partition selection: {EPSILON_AND_DELTA}, {neighbours.value}",
            sampler,
            listed,
            EPSILON_AND_DELTA,
            "transcript",
        )


def _make_verify_question() -> Any:
    """Return the audited verification question: whether a regression slope is positive, in two random subsets."""
    return dp.VerifyQuestion(dp.NumericColumn("y", 0, 1), (dp.NumericColumn("x", 0, 1),), "x", above=0.0, subsets=2)


def _make_line_datasets(neighbours: Neighbours) -> NeighbouringDatasets:
    """Return neighbouring data sets for a regression: points on a rising line, and a point that reverses the slope.

    Args:
        neighbours: Add-remove or replace-one.
    """

    def make_table(*points: tuple[float, float]) -> Mapping[str, Any]:
        """Convert points to a table with the columns ``x`` and ``y``.

        Args:
            points: Pairs of x and y.
        """
        return {"x": np.array([x for x, _ in points]), "y": np.array([y for _, y in points])}

    two_points = ((0.0, 0.0), (1.0, 0.2))
    line = tuple((index / 7, index / 28) for index in range(8))
    if neighbours is ADD_REMOVE:
        datasets = [(make_table(*base), make_table(*base, (1.0, 0.0))) for base in (two_points, line)]
        datasets += [(make_table(*base[:2]), make_table(*base)) for base in (line[:3], (*two_points, (0.5, 0.2)))]
    else:
        datasets = [(make_table(*base, (1.0, 1.0)), make_table(*base, (1.0, 0.0))) for base in (two_points, line)]
    return families.pairs(datasets, adjacency=neighbours, name="points of a line")


def _list_public_targets() -> Iterator[AuditTarget]:
    """Yield audits of public functions of questions, of sessions with several questions, and of repeated or killed
    requests.
    """
    grid = Grid(0, 1, cells=GRID_CELLS)
    for neighbours in (ADD_REMOVE, REPLACE_ONE):
        for name, each in {**QUESTIONS, **(FURTHER_QUESTIONS if neighbours is REPLACE_ONE else {})}.items():
            sampler: Sampler = PublicFunctionSampler(
                f"public call of {name}", each.question(grid), EPSILON_ONE, neighbours
            )
            yield AuditTarget(
                f"{name}: {neighbours.value}", sampler, each.family(EDGES, adjacency=neighbours), EPSILON_ONE, "json"
            )
        sampler = PublicFunctionSampler(
            "public call with partition selection", UNLISTED_COUNTS, EPSILON_AND_DELTA, neighbours
        )
        listed = make_name_datasets(EDGES, adjacency=neighbours)
        yield AuditTarget(f"partition selection: {neighbours.value}", sampler, listed, EPSILON_AND_DELTA, "json")
        sampler = PublicFunctionSampler(
            "public call with a private contribution bound",
            QUESTIONS["histogram"].question(grid),
            EPSILON_ONE,
            neighbours,
            UNIT,
            None,
        )
        yield AuditTarget(
            f"histogram of units without a bound: {neighbours.value}", sampler,
            families.units(EDGES, 2, adjacency=neighbours), EPSILON_ONE, "json",
        )  # fmt: skip
        sampler = PublicFunctionSampler("public call of verification", _make_verify_question(), EPSILON_ONE, neighbours)
        yield AuditTarget(
            f"verification: {neighbours.value}", sampler, _make_line_datasets(neighbours), EPSILON_ONE, "json"
        )
    cdf = QUESTIONS["cdf"].question(grid)
    count = QUESTIONS["count"].question(grid)
    values = families.values(EDGES, adjacency=ADD_REMOVE)
    units = families.units(EDGES, 2, adjacency=ADD_REMOVE)
    sampler = PublicFunctionSampler(
        "public call of histogram by unit", dp.HistogramQuestion(COLUMN, grid), EPSILON_ONE, ADD_REMOVE, UNIT, 2
    )
    yield AuditTarget("histogram of units", sampler, units, EPSILON_ONE, "json")
    half = PrivacyLoss.pure(Fraction(1, 2))
    yield AuditTarget(
        "two questions of a session",
        make_session_sampler({cdf: half, count: half}, ADD_REMOVE),
        values,
        EPSILON_ONE,
        "ledger",
    )
    yield AuditTarget(
        "a request asked twice",
        PublicFunctionSampler("twice", count, EPSILON_ONE, ADD_REMOVE, repeats=2),
        values,
        EPSILON_ONE,
        "ledger",
    )
    yield AuditTarget(
        "a request killed and resumed",
        make_killed_sampler(count, EPSILON_ONE, ADD_REMOVE),
        values,
        EPSILON_ONE,
        "ledger",
    )


def ask_count(data: Any) -> Any:
    """Return a count from a separate session: for new processes, which import this function by name.

    Args:
        data: Columns by name, or one array.

    Returns:
        The outcome of one call.
    """
    return _make_count_sampler().draw(data, 1)[0]


def _make_count_sampler() -> Sampler:
    """Return a sampler of a count by its public function."""
    return PublicFunctionSampler("public call of a count", dp.CountQuestion(COLUMN), EPSILON_ONE, ADD_REMOVE)


FRESH_NOISE_TARGETS = "followed stream of totals", "report with public coins, handed in: epsilon 1"
"""Names of audited targets outside of the core which are checked for fresh noise at each call, too."""


def run_target_checks(*, quick: bool = False) -> Iterator[tuple[str, list[Finding]]]:
    """Run the checks that compare no probabilities: whether noise repeats in forked or new processes, whether values
    lie on a lattice, and whether the time of a call depends on the data.

    Args:
        quick: Whether fewer calls are made.

    Yields:
        Name of each check, and its findings, flagged or not.
    """
    calls = FEW_COMPARED_CALLS if quick else COMPARED_CALLS
    pair = families.values(EDGES, adjacency=ADD_REMOVE).pairs[0]
    query = CountQuery((Axis(COLUMN, Grid(0, 1, cells=GRID_CELLS)),), CountUse.CELLS)
    samplers: dict[str, tuple[Sampler, NeighbourPair]] = {
        "public call of a count": (_make_count_sampler(), pair),
        "noise of a histogram": (NoiseSampler("noise", query, FlatHistogram(), EPSILON_ONE, ADD_REMOVE), pair),
    }
    samplers |= {
        item.name: (item.sampler, item.family.pairs[0])
        for item in list_deployment_targets()
        if item.name in FRESH_NOISE_TARGETS
    }

    # Findings that chance can cause are confirmed by a second run.
    for name, (sampler, neighbours) in samplers.items():
        fork_finding = check_forked_workers(sampler, neighbours, calls)
        findings = [
            *confirm_findings(partial(check_noise_reuse, sampler, neighbours, calls)),
            *check_timing(sampler, neighbours, calls),
        ]
        findings += [] if fork_finding is None else [fork_finding]
        if name != "public call of a count":
            findings += check_lattice(sampler, neighbours, 100)
        yield name, findings

    check_processes = partial(check_new_processes, f"{__name__}:{ask_count.__name__}", pair, calls)
    yield (
        "a count in new processes",
        confirm_findings(lambda: [item for item in [check_processes()] if item is not None]),
    )
    yield "a ledger that is opened again", confirm_findings(partial(check_reopened_ledger, pair))


def confirm_findings(check: Callable[[], list[Finding]]) -> list[Finding]:
    """Run a check, and again if it flagged something; return its findings without flagged ones that do not recur.

    Two calls of a release may agree by chance, so one flagged finding proves little.

    Args:
        check: Function that returns findings.
    """
    findings = check()
    confirmed = {finding.name for finding in check()} if any(finding.is_flagged for finding in findings) else set[str]()
    return [finding for finding in findings if not finding.is_flagged or finding.name in confirmed]


def check_reopened_ledger(pair: NeighbourPair, calls: int = 12) -> list[Finding]:
    """Return findings on another request for the same count, after the ledger was closed and opened again: its noise
    must differ.

    Args:
        pair: Neighbouring data sets.
        calls: Number of ledgers for each data set.
    """
    reader = OutcomeParser()
    rows: tuple[list[Any], list[Any]] = [], []
    for _ in range(calls):
        with tempfile.TemporaryDirectory() as folder, catch_warnings(action="ignore", category=CurveWarning):
            for place, row in enumerate(rows):
                with dp.Session(
                    as_columns(pair.left),
                    budget=EPSILON_ONE + EPSILON_ONE,
                    adjacency=ADD_REMOVE,
                    ledger=f"sqlite:///{folder}/l.db",
                ) as session:
                    curve = session.ask(dp.CountQuestion(COLUMN), EPSILON_ONE, f"request {place}")
                    row.append([release.values for release in curve.evidence])
    if has_repeated_noise(*(reader.parse_outcomes(row) for row in rows)):
        return [Finding("reopened ledger", "two requests have the same noise, before and after it.", is_flagged=True)]
    return []
