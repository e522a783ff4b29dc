"""Targets in the core: its noise, mechanisms, rounds of questions and public functions; `deployments` has the others.

A call of a public function costs some 100 ms of processor time, the rounds of a question some milliseconds, a mechanism
less, and drawn noise a fraction of a microsecond a count. `everything` audits each target with the cheapest sampler
that contains its noise, and public functions with fewer samples.
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
from dpcurves import mechanisms as own
from dpcurves import queries as asking
from dpcurves.arguments import Refused
from dpcurves.conversation import Release, Step
from dpcurves.curves.result import CurveWarning
from dpcurves.data import Axis, Grid, Unlisted, Weights, doubling_grid
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves.mechanisms import Flat
from dpcurves.mechanisms.linear import Partition, draws, exact_sums
from dpcurves.mechanisms.partition_selection import FoundNames, RankedNames
from dpcurves.noise.randomness import FleetingMemory, Randomness
from dpcurves.privacy import Adjacency, Neighbours, PrivacyLoss, Unit
from dpcurves.queries import CountQuery, Read, ThresholdComparison
from dpcurves.records import Records, open_records, tabulate
from dpcurves.session import found_and_converse
from dpcurves.trust import Central, Curator

from . import family as families
from .auditing import CALLS, FEW_CALLS, forked, lattice, new_processes, repeats, timed
from .auditing import beside as fresh_calls
from .deployments import ADD_REMOVE, HALF_RHO, ONE, PATIENT, REPLACE_ONE, SITES, Audited, deployments
from .family import Family, Pair
from .feature import Reader
from .questions import CAP, COLUMN, LABEL, OTHERS, PLANE, QUESTIONS, SCORE, UNIT, UNLISTED, WEIGHED, Asked, named
from .report import Finding
from .samplers import KilledSampler, OneSampler, Publish, Sampler


def table_of(data: Any) -> Mapping[str, Any]:
    """Data of a family as columns."""
    return data if isinstance(data, Mapping) else {COLUMN: data}


@contextmanager
def opened(data: Any, unit: Unit) -> Iterator[Records]:
    """Records of tiny data, and a new key for the choice of records of a unit."""
    records = open_records(table_of(data), unit=unit, key=os.urandom(32))
    try:
        yield records
    finally:
        records.close()


def adjacency_of(neighbours: Neighbours, unit: Unit, records: Records | CountedOnce) -> Adjacency:
    """The neighbours among so many units, where their number is public."""
    return neighbours.among(unit, records.units() if neighbours.knows_units else None)


COUNTED = (
    "check", "confirmed", "counts", "names", "places", "prefixes", "sized_units", "squares", "sums", "unit_sizes",
    "units", "weighed",
)  # fmt: skip
"""Methods of records that count: all are functions of what is asked."""
MOST_KEPT = 1000


class CountedOnce:
    """A table of which what was counted is kept: exact counts are the same at each call.

    Records are opened when something is counted for the first time, and closed after each draw. (Which records of a
    unit are used would be chosen anew then: these are tables of records on their own.)
    """

    def __init__(self, data: Any, unit: Unit) -> None:
        self._data, self._unit = data, unit
        self._kept: dict[Any, Any] = {}
        self._open = ExitStack()
        self._records: Records | None = None

    def __getattr__(self, name: str) -> Any:
        if name not in COUNTED:
            raise AttributeError(name)
        return partial(self._of, name)

    def _of(self, name: str, *asked: Any) -> Any:
        key = name, *(tuple(each) if isinstance(each, Iterable) else each for each in asked)
        if key not in self._kept:
            if self._records is None:
                self._records = self._open.enter_context(opened(self._data, self._unit))
            if len(self._kept) > MOST_KEPT:
                self._kept.clear()
            self._kept[key] = getattr(self._records, name)(*asked)
        return self._kept[key]

    def close(self) -> None:
        """Close the records, and keep what was counted."""
        self._open.close()
        self._records = None


@lru_cache(maxsize=400)
def counted_once(data: bytes, unit: Unit) -> CountedOnce:
    """A pickled table, which all samplers have in common: to open one takes as long as a thousand draws of noise."""
    return CountedOnce(pickle.loads(data), unit)


@dataclass(frozen=True)
class NoiseSampler:
    """Noise of a plan of sums, drawn for many releases at once and added to the exact sums.

    Attributes:
        name: The release, in words.
        query: Its query.
        mechanism: The mechanism that plans it.
        loss: The loss.
        neighbours: The neighbours.
        unit: The unit.
        kept: Plans and exact tables of data that were seen.
    """

    name: str
    query: Any
    mechanism: Any
    loss: PrivacyLoss
    neighbours: Neighbours
    unit: Unit = dp.EACH_RECORD
    kept: dict[bytes, Any] = field(default_factory=dict, compare=False)

    @contextmanager
    def counted(self, data: Any) -> Iterator[Any]:
        """The records, whose counts are kept from one draw to the next."""
        records = counted_once(pickle.dumps(data), self.unit)
        try:
            yield records
        finally:
            records.close()

    def planned(self, data: Any) -> Any:
        """The plan and the exact table of each record on its own; counted once, for it has no choice in it."""
        key = pickle.dumps(data)
        if key not in self.kept:
            with self.counted(data) as records:
                adjacency = adjacency_of(self.neighbours, self.unit, records)
                plan = self.mechanism.plan(self.query, self.loss, adjacency)
                self.kept[key] = plan, tabulate(records, self.query)
        return self.kept[key]

    def draw(self, data: Any, number: int) -> NDArray[np.int64]:
        plan, table = self.planned(data)
        randomness = Randomness.system().expanded()
        parts = [
            np.asarray(sums, dtype=np.int64) + draws(noise, number * sums.size, randomness).reshape(number, -1)
            for sums, noise in exact_sums(self.query.arranged(table), plan.law)
        ]
        return np.concatenate(parts, axis=1)


@dataclass(frozen=True)
class MechanismSampler(NoiseSampler):
    """Runs of a mechanism on the exact table of a query."""

    def draw(self, data: Any, number: int) -> Any:
        plan, table = self.planned(data)
        randomness = Randomness.system()
        return [self.mechanism.run(table, plan, randomness) for _ in range(number)]


@dataclass(frozen=True)
class SitesSampler(NoiseSampler):
    """Noisy sums of sites: exact sums, and the shares of noise of those that may be the only honest ones.

    Attributes:
        model: The sites, whose plans are those of the mechanism.
    """

    model: Any = None

    def draw(self, data: Any, number: int) -> NDArray[np.int64]:
        plan, table = self.planned(data)
        randomness, parts = Randomness.system().expanded(), []
        for sums, noise in exact_sums(self.query.arranged(table), plan.law):
            shares = [self.model.share(noise, number * sums.size, randomness) for _ in range(self.model.honest)]
            parts.append(np.asarray(sums, dtype=np.int64) + np.sum(shares, axis=0).reshape(number, -1))
        return np.concatenate(parts, axis=1)


@dataclass(frozen=True)
class LazySampler(NoiseSampler):
    """Counts of prefixes that are asked for one after the other under one payment, all of them one outcome."""

    def draw(self, data: Any, number: int) -> Any:
        with self.counted(data) as counted:
            adjacency, randomness = adjacency_of(self.neighbours, self.unit, counted), Randomness.system()
            plans = [self.mechanism.plan(replace(self.query, at=(at,)), self.loss, adjacency) for at in self.query.at]
            return [self._once(counted, plans, randomness) for _ in range(number)]

    def _once(self, records: Any, plans: list[Any], randomness: Randomness) -> list[int]:
        memory, axes = FleetingMemory(), self.query.axes
        return [
            told
            for plan in plans
            for told in self.mechanism.answer(partial(records.prefixes, axes), plan, memory, randomness)
        ]


class AllIsTold(Exception):
    """The last turn of a question was answered. The curve takes the most time, and follows from what was released."""


@dataclass(frozen=True)
class TurnsSampler:
    """All turns of a question, as a session has them, but without a ledger: all that is released, and no curve.

    No curve is read once all of the loss is paid, unless more is free then: counts of prefixes of one payment.

    Attributes:
        name: The release, in words.
        question: The question.
        loss: The loss.
        neighbours: The neighbours.
        unit: The unit.
        apart: Each run opens the data anew, with a key of its own: where what is chosen by the key shows.
    """

    name: str
    question: Any
    loss: PrivacyLoss
    neighbours: Neighbours
    apart: bool = False

    def draw(self, data: Any, number: int) -> list[Any]:
        if self.apart and number > 1:
            return [each for _ in range(number) for each in self.draw(data, 1)]
        unit = dp.EACH_RECORD
        records = CountedOnce(data, unit) if self.apart else counted_once(pickle.dumps(data), unit)
        with catch_warnings(action="ignore", category=CurveWarning):
            try:
                adjacency = adjacency_of(self.neighbours, dp.EACH_RECORD, records)
                return [self._once(records, adjacency) for _ in range(number)]
            finally:
                records.close()

    def _once(self, records: Any, adjacency: Adjacency) -> list[Any]:
        trust, randomness = Central(), Randomness.system()
        memories: dict[int, FleetingMemory] = {}
        paid: dict[int, Release] = {}
        shown: list[Any] = []

        def run(query: Any, allotment: Allotment) -> Release:
            plan = trust.turn(query, allotment.loss, adjacency)
            release = trust.run(plan, [Curator(records, memories[allotment.part])], allotment, randomness)
            shown.append(list(release.values))
            return release

        def reply(step: Step, allotment: Allotment) -> Release:
            if allotment.part not in paid:
                memories[allotment.part] = FleetingMemory()
                paid[allotment.part] = run(step.query.paid_as, allotment)
            release = paid[allotment.part] if step.query == step.query.paid_as else run(step.query, allotment)
            if budget.left == 0 and step.query == step.query.paid_as:
                raise AllIsTold
            return release

        budget = QuestionBudget.rehearsing(self.loss.of_one_release())
        with suppress(AllIsTold):
            found_and_converse(self.question, adjacency, trust, budget, reply)
        return shown


@dataclass(frozen=True)
class PublicFunctionSampler:
    """The public face: a session with a ledger in memory, a question, and the JSON of its curve.

    Attributes:
        name: The release, in words.
        question: The question.
        loss: The loss.
        neighbours: The neighbours.
        unit: The column of units; empty: each record.
        rows: Records of a unit that are used; None: noisy counts choose it.
        times: Times that it is asked: under one request for the price of one, all answers together being the outcome.
    """

    name: str
    question: Any
    loss: PrivacyLoss
    neighbours: Neighbours
    unit: str = ""
    rows: int | None = 1
    times: int = 1

    @cached_property
    def _one(self) -> Sampler:
        return OneSampler(self._asked, PATIENT)

    def _asked(self, data: Any) -> Any:
        units = {"unit": self.unit, "rows_per_unit": self.rows} if self.unit else {}
        with (
            catch_warnings(action="ignore", category=CurveWarning),
            dp.Session(table_of(data), budget=self.loss, adjacency=self.neighbours, **units) as session,  # type: ignore[arg-type]
        ):
            found = [json.loads(session.ask(self.question, self.loss, "asked").to_json()) for _ in range(self.times)]
        return found[0] if self.times == 1 else found

    def draw(self, data: Any, number: int) -> Any:
        return self._one.draw(data, number)


def together(questions: Mapping[Any, PrivacyLoss], neighbours: Neighbours) -> Sampler:
    """One session that is asked several questions: its answers together cost the sum that is charged."""
    losses = list(questions.values())
    whole = sum(losses[1:], start=losses[0])

    def session(data: Any) -> Any:
        with (
            catch_warnings(action="ignore", category=CurveWarning),
            dp.Session(table_of(data), budget=whole, adjacency=neighbours) as asked,
        ):
            return [json.loads(asked.ask(question, loss).to_json()) for question, loss in questions.items()]

    return OneSampler(session, PATIENT)


def killed(question: Any, loss: PrivacyLoss, neighbours: Neighbours, lives: int = 3) -> KilledSampler:
    """A session with a ledger on disk that is killed when its answer is there, and asked again under its request."""

    def session(data: Any, folder: Path, publish: Publish) -> None:
        with (
            catch_warnings(action="ignore", category=CurveWarning),
            dp.Session(table_of(data), budget=loss, adjacency=neighbours, ledger=f"sqlite:///{folder}/l.db") as asked,
        ):
            publish(json.loads(asked.ask(question, loss, "one").to_json()))

    return KilledSampler(session, lives)


def asked(name: str) -> Asked:
    """The question of a command.

    Raises:
        ValueError: there is none.
    """
    if name not in QUESTIONS:
        raise Refused("question", f"one of {', '.join(QUESTIONS)} is needed")
    return QUESTIONS[name]


EDGES = np.linspace(0, 1, 5)
GRID_CELLS = 4
WITH_DELTA = PrivacyLoss.pure(1, Fraction(1, 100))


def everything() -> Iterator[Audited]:
    """Mechanisms, questions, faces and ledgers of this version, the cheapest samplers of each part first."""
    yield from _mechanisms()
    yield from _questions()
    yield from _faces()
    yield from _sites()
    yield from deployments()


def _sums() -> Iterator[tuple[str, Any, Any, Any]]:
    """Sums with noise: their names, queries, mechanisms and makers of families."""
    axis = (Axis(COLUMN, Grid(0, 1, cells=GRID_CELLS)),)
    cells, prefixes = asking.CountQuery(axis, Read.CELLS), asking.CountQuery(axis, Read.PREFIXES)
    weights, places = Weights("weight", CAP), tuple(range(GRID_CELLS))
    values, weighed, plane = families.values, WEIGHED, Grid(0, 1, cells=2)
    yield "flat histogram", cells, own.Flat(), values
    yield "tree of sums", prefixes, own.TreeSums(), values
    yield "sums of values", asking.SumQuery(axis, 8), own.Flat(), values
    yield "counts of two classes", asking.CountQuery(_labelled(), Read.PREFIXES), own.TreeSums(), families.scores
    yield "Haar wavelets", prefixes, own.Haar(), values
    yield "nested intervals", asking.PartitionQuery(axis, ((0, 2), places)), Partition(), values
    regions = (Axis("x", plane), Axis("y", plane))
    yield "regions", asking.RegionQuery(regions, (0, 2, 1, 3), ((0, 2), places), Read.CELLS), own.Regions(), PLANE
    yield "squares of values", asking.SquareQuery(axis, 8), own.Flat(), values
    yield "weights", asking.WeightQuery(axis, weights, Read.CELLS), own.Flat(), weighed
    yield "tree of weights", asking.WeightQuery(axis, weights, Read.PREFIXES), own.TreeSums(), weighed
    yield "squares of weights", asking.SquaredWeightQuery(axis, weights), own.Flat(), weighed
    yield "sums of weighted values", asking.WeighedSumQuery(axis, weights, 8), own.Flat(), weighed
    yield "weighted squares", asking.WeighedSpreadQuery(axis, weights, 8, 2), own.Flat(), weighed
    yield "square root", prefixes, own.SquareRoot(), values


def _choices() -> Iterator[tuple[str, Any, Any, Any]]:
    """Choices, and what else is no sum: their names, queries, mechanisms and makers of families."""
    axis, values = (Axis(COLUMN, Grid(0, 1, cells=GRID_CELLS)),), families.values
    bounds = asking.CoverageQuery((Axis(COLUMN, doubling_grid(0.125, 2)),), Fraction(9, 10))
    boxes = asking.WorstBoxQuery(axis, (((0, 1),), ((1, 4),), ((0, 4),)), (0, 1, 1))
    places = tuple(range(GRID_CELLS))
    yield "quantile cuts", asking.QuantileCutsQuery(axis, 4), own.ExponentialQuantiles(), values
    yield "noisy medians", asking.MedianQuery(axis, 3), own.NoisyMedians(), values
    yield "buckets", asking.IntervalPartitionQuery(axis, range(GRID_CELLS)), own.ExponentialPartition(), values
    yield "worst box", boxes, own.ExponentialWorstBox(), values
    yield "PrivTree", asking.TreePartitionQuery(axis, (2,), 0), own.PrivTree(), values
    yield "merged cells", asking.MergePartitionQuery(axis, 2), own.MergedCells(), values
    yield "sparse vector", asking.ThresholdQuery(axis, _compared(), 1), own.SparseVector(), values
    yield "found bounds", bounds, own.SparseVector(), values
    yield "wavelets of boxes", asking.WaveletQuery(axis, places, (2, 2)), own.Privelet(), values
    yield "noisy area", asking.AucQuery(_labelled()), own.NoisyAuc(), families.scores


def _labelled() -> tuple[Any, Any]:
    return dp.Categories(LABEL, (0, 1)), Axis(SCORE, Grid(0, 1, cells=GRID_CELLS))


def _mechanisms() -> Iterator[Audited]:
    axis = (Axis(COLUMN, Grid(0, 1, cells=GRID_CELLS)),)
    for neighbours in (ADD_REMOVE, REPLACE_ONE):
        for loss in (ONE, HALF_RHO):
            told = f"{loss}, {neighbours.value}"
            for name, query, mechanism, family in _sums():
                if loss is HALF_RHO or name != "square root":
                    sampler: Sampler = NoiseSampler(f"noise of {name}", query, mechanism, loss, neighbours)
                    yield Audited(f"{name}: {told}", sampler, family(EDGES, adjacency=neighbours), loss, "noise")
            for name, query, mechanism, family in _choices():
                sampler = MechanismSampler(name, query, mechanism, loss, neighbours)
                yield Audited(f"{name}: {told}", sampler, family(EDGES, adjacency=neighbours), loss, "mechanism")
            lazy = LazySampler("tree on demand", asking.PrefixQuery(axis, (3, 1, 2)), own.LazyTree(), loss, neighbours)
            values = families.values(EDGES, adjacency=neighbours)
            yield Audited(f"tree on demand: {told}", lazy, values, loss, "mechanism")
        sizes = NoiseSampler(
            "units by their records", asking.UnitSizesQuery.of(UNIT), own.Flat(), ONE, neighbours, dp.Unit(UNIT, 1)
        )
        units = families.units(EDGES, 2, adjacency=neighbours)
        yield Audited(f"units by their records: {neighbours.value}", sizes, units, ONE, "noise")
        valued = asking.SizedUnitsQuery.of(UNIT, axis[0])
        beside = NoiseSampler("units by records and a value", valued, own.Flat(), ONE, neighbours, dp.Unit(UNIT, 1))
        yield Audited(f"units by their records and a value: {neighbours.value}", beside, units, ONE, "noise")
        found = MechanismSampler("found names", asking.NamesQuery.of("name"), FoundNames(), WITH_DELTA, neighbours)
        listed = named(EDGES, adjacency=neighbours)
        yield Audited(f"found names: {neighbours.value}", found, listed, WITH_DELTA, "mechanism")
        letters = asking.RankedNamesQuery((Unlisted("name", universe=dp.Texts("a-z", 5)),))
        ranked = MechanismSampler("names of a universe", letters, RankedNames(), ONE, neighbours)
        yield Audited(f"names of a universe: {neighbours.value}", ranked, listed, ONE, "mechanism")


def _sites() -> Iterator[Audited]:
    from dpcurves_sites.trust import SecureSum

    model, axis = SecureSum(SITES, 1), Axis(COLUMN, Grid(0, 1, cells=GRID_CELLS))
    query, made = CountQuery((axis,), Read.CELLS), SimpleNamespace(plan=model.turn)
    for neighbours in (ADD_REMOVE, REPLACE_ONE):
        for loss in (ONE, PrivacyLoss.zcdp("0.1")):  # two shares of less noise are no discrete Gaussian
            sampler = SitesSampler("sites, cells", query, made, loss, neighbours, model=model)
            family = families.values(EDGES, adjacency=neighbours)
            yield Audited(f"sites, cells: {loss}, {neighbours.value}", sampler, family, loss, "noise")


def _compared() -> tuple[Any, ...]:
    """Comparisons of counts with thresholds: of one cell, of halves, and of two cells with each other."""
    weights = (((1, 0, 0, 0), 0), ((0, 0, 0, 1), 1), ((1, 1, -1, -1), 0), ((0, 0, 1, 1), 0), ((0, 0, 0, 1), 0))
    return tuple(ThresholdComparison(row, threshold) for row, threshold in weights)


def _questions() -> Iterator[Audited]:
    grid = Grid(0, 1, cells=GRID_CELLS)
    for neighbours in (ADD_REMOVE, REPLACE_ONE):
        for loss in (ONE, HALF_RHO):
            told = f"{loss}, {neighbours.value}"
            asked = QUESTIONS if (loss is ONE) is (neighbours is REPLACE_ONE) else {**QUESTIONS, **OTHERS}
            for name, each in asked.items():
                sampler = TurnsSampler(f"turns of {name}", each.question(grid), loss, neighbours)
                yield Audited(f"{name}: {told}", sampler, each.family(EDGES, adjacency=neighbours), loss, "turns")
            sampler = TurnsSampler("turns of verification", _claim(), loss, neighbours, apart=True)
            yield Audited(f"verification: {told}", sampler, _lines(neighbours), loss, "turns")
        sampler = TurnsSampler("turns of found groups", UNLISTED, WITH_DELTA, neighbours)
        listed = named(EDGES, adjacency=neighbours)
        yield Audited(f"found groups: {WITH_DELTA}, {neighbours.value}", sampler, listed, WITH_DELTA, "turns")


def _claim() -> Any:
    """A slope is positive, in two subsets."""
    return dp.VerifyQuestion(dp.Ranged("y", 0, 1), (dp.Ranged("x", 0, 1),), "x", above=0.0, subsets=2)


def _lines(neighbours: Neighbours) -> Family:
    """Points on a rising line, of which one comes, or is replaced, that turns it."""

    def table(*points: tuple[float, float]) -> Mapping[str, Any]:
        return {"x": np.array([x for x, _ in points]), "y": np.array([y for _, y in points])}

    few, more = ((0.0, 0.0), (1.0, 0.2)), tuple((place / 7, place / 28) for place in range(8))
    if neighbours is ADD_REMOVE:
        made = [(table(*base), table(*base, (1.0, 0.0))) for base in (few, more)]
        made += [(table(*base[:2]), table(*base)) for base in (more[:3], (*few, (0.5, 0.2)))]
    else:
        made = [(table(*base, (1.0, 1.0)), table(*base, (1.0, 0.0))) for base in (few, more)]
    return families.pairs(made, adjacency=neighbours, name="points of a line")


def _faces() -> Iterator[Audited]:
    grid = Grid(0, 1, cells=GRID_CELLS)
    for neighbours in (ADD_REMOVE, REPLACE_ONE):
        for name, each in {**QUESTIONS, **(OTHERS if neighbours is REPLACE_ONE else {})}.items():
            sampler: Sampler = PublicFunctionSampler(f"face of {name}", each.question(grid), ONE, neighbours)
            yield Audited(f"{name}: {neighbours.value}", sampler, each.family(EDGES, adjacency=neighbours), ONE, "face")
        sampler = PublicFunctionSampler("face of found groups", UNLISTED, WITH_DELTA, neighbours)
        listed = named(EDGES, adjacency=neighbours)
        yield Audited(f"found groups: {neighbours.value}", sampler, listed, WITH_DELTA, "face")
        sampler = PublicFunctionSampler(
            "face of a bound that is found", QUESTIONS["histogram"].question(grid), ONE, neighbours, UNIT, None
        )
        yield Audited(
            f"histogram of units without a bound: {neighbours.value}", sampler,
            families.units(EDGES, 2, adjacency=neighbours), ONE, "face",
        )  # fmt: skip
        sampler = PublicFunctionSampler("face of verification", _claim(), ONE, neighbours)
        yield Audited(f"verification: {neighbours.value}", sampler, _lines(neighbours), ONE, "face")
    cdf, count = QUESTIONS["cdf"].question(grid), QUESTIONS["count"].question(grid)
    values = families.values(EDGES, adjacency=ADD_REMOVE)
    units = families.units(EDGES, 2, adjacency=ADD_REMOVE)
    sampler = PublicFunctionSampler(
        "face of histogram by unit", dp.HistogramQuestion(COLUMN, grid), ONE, ADD_REMOVE, UNIT, 2
    )
    yield Audited("histogram of units", sampler, units, ONE, "face")
    half = PrivacyLoss.pure(Fraction(1, 2))
    yield Audited("two questions of a session", together({cdf: half, count: half}, ADD_REMOVE), values, ONE, "ledger")
    yield Audited(
        "a request asked twice", PublicFunctionSampler("twice", count, ONE, ADD_REMOVE, times=2), values, ONE, "ledger"
    )
    yield Audited("a request killed and resumed", killed(count, ONE, ADD_REMOVE), values, ONE, "ledger")


def one_count(data: Any) -> Any:
    """The public face of a count, in a session of its own: for new processes, which import it by its name."""
    return _count_face().draw(data, 1)[0]


def _count_face() -> Sampler:
    return PublicFunctionSampler("face of a count", dp.CountQuestion(COLUMN), ONE, ADD_REMOVE)


def beside_bounds(*, quick: bool = False) -> Iterator[tuple[str, list[Finding]]]:
    """Repeated noise, numbers on no lattice, and times, of a count, drawn noise, a stream and a report."""
    calls = FEW_CALLS if quick else CALLS
    pair = families.values(EDGES, adjacency=ADD_REMOVE).pairs[0]
    query = CountQuery((Axis(COLUMN, Grid(0, 1, cells=GRID_CELLS)),), Read.CELLS)
    samplers: dict[str, tuple[Sampler, Pair]] = {
        "face of a count": (_count_face(), pair),
        "noise of a histogram": (NoiseSampler("noise", query, Flat(), ONE, ADD_REMOVE), pair),
    }
    samplers |= {each.name: (each.sampler, each.family.pairs[0]) for each in deployments() if each.name in FRESH}
    for name, (sampler, its) in samplers.items():
        shared = forked(sampler, its, calls)
        found = [*confirmed(partial(fresh_calls, sampler, its, calls)), *timed(sampler, its, calls)]
        found += [] if shared is None else [shared]
        yield name, found if name == "face of a count" else [*found, *lattice(sampler, its, 100)]
    repeated = partial(new_processes, f"{__name__}:{one_count.__name__}", pair, calls)
    yield "a count in new processes", confirmed(lambda: [each for each in [repeated()] if each is not None])
    yield "a ledger that is opened again", confirmed(partial(reopened, pair))


def confirmed(look: Callable[[], list[Finding]]) -> list[Finding]:
    """Findings of which those that are flagged were found on other calls once more: two calls may agree by chance."""
    found = look()
    again = {each.name for each in look()} if any(each.flagged for each in found) else set[str]()
    return [each for each in found if not each.flagged or each.name in again]


def reopened(pair: Pair, calls: int = 12) -> list[Finding]:
    """Findings on another request for the same count, after the ledger was closed and opened again: other noise."""
    reader = Reader()
    rows: tuple[list[Any], list[Any]] = [], []
    for _ in range(calls):
        with tempfile.TemporaryDirectory() as folder, catch_warnings(action="ignore", category=CurveWarning):
            for place, row in enumerate(rows):
                with dp.Session(
                    table_of(pair.left), budget=ONE + ONE, adjacency=ADD_REMOVE, ledger=f"sqlite:///{folder}/l.db"
                ) as session:
                    curve = session.ask(dp.CountQuestion(COLUMN), ONE, f"request {place}")
                    row.append([release.values for release in curve.evidence])
    if repeats(*(reader.read(row) for row in rows)):
        return [Finding("reopened ledger", "two requests have the same noise, before and after it.", flagged=True)]
    return []


FRESH = "followed stream of totals", "report with public coins, handed in: epsilon 1"
"""Faces beside the core whose fresh noise is looked at."""
