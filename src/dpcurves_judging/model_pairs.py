"""Two models on the same records: differences of areas, average precision, Brier scores and net benefit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import hypot, prod, sqrt
from typing import Any

import numpy as np

from dpcurves.arguments import (
    InvalidArgument,
    parse_choice,
    require_integer,
    require_number,
    require_sequence,
    require_type,
)
from dpcurves.arrays import FloatArray
from dpcurves.conversation import ALL, CellWorkload, Needs, Setting, ask_workload
from dpcurves.conversation.workload import TableCounts
from dpcurves.curves.by_category import collect_by_category, describe_grouping, split_rows
from dpcurves.curves.class_table import Metric, find_discretization_error
from dpcurves.curves.outside import count_outside
from dpcurves.curves.question import (
    By,
    build_privacy_statement,
    parse_class_labels,
    parse_grouping,
    prepend_category_axes,
)
from dpcurves.curves.scores import Scores
from dpcurves.data import Axis, Grid, Values
from dpcurves.data.axis import Category, Predictor
from dpcurves.data.grid import middles_of, require_clamped
from dpcurves.inference.moments import IntervalEstimate
from dpcurves.summaries.two_classes import average_precision, brier_score

from .counted_numbers import (
    CountedNumbers,
    Statistic,
    Tables,
    compute_auc,
    divide_counts,
    find_slot_shapes,
    mask_empty,
    require_few_counts,
)

UNIT = Grid(0, 1, cells=100)
LEAST_CELLS, MOST_CELLS = 4, 128
ROUNDED, SPREAD, USUAL, PAIRED, APART = 0.2, 1.155, 5000, 0.4, 1.2
"""How far rounding to c even cells moves a difference of areas, times the square of c, as measured; the noise of the
difference, in units of cells times that of a count over records; records that are taken where their number is private;
and the sampling error of a difference, and of two areas at their worst, times the root of the number of records."""


@dataclass(frozen=True, eq=False, repr=False)
class ModelPair(CountedNumbers):
    """Two models of the same labels: numbers of each, and their differences, first less second.

    Where both scores of a record were counted together sampling errors of both are known together, as in the test of
    DeLong, DeLong and Clarke-Pearson (1988); of two releases they are taken to add up at their worst. Scores are
    rounded to their cells, and tied there; intervals are for such scores. `resolution` bounds how far rounding moves
    the difference of areas.
    """

    KIND = "model-pair"
    TITLE = "Two models: {question.first} less {question.second}"
    REPR_FACTS = "AUC difference {difference:.3f}"
    LABEL = "number, or first less second"
    CLIPS_OUTSIDE = False

    @property
    def difference(self) -> float:
        """The area of the first model less that of the second."""
        return self.value("auc difference")

    @property
    def resolution(self) -> float:
        """At most so far the difference of areas of exact scores lies from that of rounded ones: half of tied pairs."""
        grids = self.question.grid, self.question.grid_of_second
        tied = [
            0.0
            if isinstance(grid, Values)
            else float(divide_counts((side[0] * side[1]).sum(), np.prod(side.sum(axis=-1)))) / 2
            for side, grid in zip(_sum_to_margins(self._likely_tables), grids, strict=True)
        ]
        return sum(tied)


@dataclass(frozen=True, slots=True)
class ModelPairQuestion:
    """How two models of the same labels differ: areas, average precision, Brier scores, net benefit. One turn.

    One table counts both scores of each record. Where noise is large beside the number of records its cells are joined
    to fewer ones: to as many as make the forecast error of the difference of areas least, of noise and of rounding. Two
    releases of one score each, of half the loss, leave open how sampling errors of both are related. They are chosen
    where noise hides that: where the forecast interval for the population is narrower, as of a million records at
    epsilon 0.01 (`benchmarks/judging_models.py ways`); where a unit has several records, that for these records.

    Formal guarantees: a record lies in one cell of each table, whatever its label and scores; of two tables each has
    half of the loss. Cells and releases are chosen by public facts alone.

    Attributes:
        label: The column of true labels.
        first: The column of the first model's scores, or a `Scorecard` or `Trees`; high scores are positive.
        second: That of the second model.
        grid: Public cells of the scores of the first. Records with a score outside are left out, and a note says how
            many these are.
        second_grid: Those of the second; None: the same.
        cells: How many cells each score is joined to; None: as the forecast says. Declared values stay apart.
        releases: 1: both scores together, which two servers and people at home need; 2: one after the other; None: as
            the forecast says, 1 if `cells` are given.
        at: Threshold probabilities of net benefit.
        by: Categories that were declared in public: one result for each, all together at the privacy loss of one.
        pos_label, neg_label: The two classes; records with another label are missing.
        model: What is stated about the models; it is printed with the result.

    Raises:
        ValueError: a class stands twice, there are over 32,768 counts, or a threshold is not between 0 and 1.
        TypeError: a grid is none.
    """

    label: str
    first: str | Predictor
    second: str | Predictor
    grid: Grid = UNIT
    second_grid: Grid | None = None
    cells: int | None = None
    at: tuple[float, ...] = ()
    by: By = None
    pos_label: Category = 1
    neg_label: Category | None = None
    model: str = "the models are taken as public"
    releases: int | None = None

    def __post_init__(self) -> None:
        for name, each, score in (("grid", self.grid, self.first), ("second_grid", self.grid_of_second, self.second)):
            Axis(score, require_clamped(name, each))
        parse_grouping(self.by)
        negative, positive = parse_class_labels(self.label, self.pos_label, self.neg_label).values
        object.__setattr__(self, "pos_label", positive)
        object.__setattr__(self, "neg_label", negative if self.neg_label is not None else None)
        if str(self.first) == str(self.second):
            raise InvalidArgument("second", "another score than the first is needed")
        if self.cells is not None:
            object.__setattr__(self, "cells", require_integer("cells", self.cells))
            if self.cells < 2:
                raise InvalidArgument("cells", "at least 2 are needed")
        if self.releases is not None:
            object.__setattr__(self, "releases", require_integer("releases", self.releases))
            if self.releases not in (1, 2):
                raise InvalidArgument("releases", f"1 or 2 is needed, got {self.releases}")
        given = require_sequence("at", self.at, "threshold probabilities, as in (0.2,)")
        object.__setattr__(self, "at", tuple(require_number("at", each) for each in given))
        if not all(0 < each < 1 for each in self.at):
            raise InvalidArgument("at", "threshold probabilities between 0 and 1 are needed, as in 0.2")
        if self.cells is not None or isinstance(self.grid, Values):
            require_few_counts(self.shapes(), "grid")

    @property
    def grid_of_second(self) -> Grid:
        """The cells of the second score."""
        return self.grid if self.second_grid is None else self.second_grid

    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Classes, and cells of both scores, or of one after the other."""
        first, second = (each.cells for each in self._coarsen_grids())
        return ((2, first, second),) if self.releases != 2 else ((2, first), (2, second))

    def grids(self) -> tuple[int, ...]:
        """How many of the last axes of each table are on grids, whose values outside are counted apart."""
        return (2,) if self.releases != 2 else (1, 1)

    def statistics(self) -> Mapping[str, Statistic]:
        """Numbers of each model, and differences."""
        found, grids = dict[str, Statistic](), self._coarsen_grids()
        for name, read in _make_readings(grids, self.at).items():

            def compute_for_side(tables: Tables, side: int, read: Any = read) -> FloatArray:
                return np.asarray(read(_sum_to_margins(tables)[side], side))

            def compute_difference(tables: Tables, of: Any = compute_for_side) -> FloatArray:
                return np.asarray(of(tables, 0) - of(tables, 1))

            least = -np.inf if name.startswith("net") else 0.0
            found[f"{name} difference"] = Statistic(compute_difference, least - 1, 1.0, 0.0)
            for side, words in enumerate(("first", "second")):
                found[f"{name}, {words}"] = Statistic(partial(compute_for_side, side=side), least)
        return found

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for one table of both scores, or for one after the other."""
        asked = choose_design(self, setting)
        require_few_counts(asked.shapes(), "grid")
        scores = [
            Axis(column, count_outside(grid))
            for column, grid in zip((self.first, self.second), asked._coarsen_grids(), strict=True)
        ]
        classes, counted = parse_class_labels(self.label, self.pos_label, self.neg_label), list[TableCounts]()
        for axes in [[each] for each in scores] if asked.releases == 2 else [scores]:
            share = ALL / (asked.releases or 1)
            counted.append(
                (yield from ask_workload(CellWorkload(prepend_category_axes(self.by, classes, *axes)), share))
            )
        privacy = build_privacy_statement([release for each in counted for release in each.releases], self.model)
        if any(
            each.cells < grid.cells
            for each, grid in zip(asked._coarsen_grids(), (self.grid, self.grid_of_second), strict=True)
        ):
            privacy = privacy.with_notes(f"scores are rounded to {asked.cells} cells, and intervals are of such scores")
        privacy = privacy.with_notes(*_describe_thresholds(asked))
        rows: Any = [each.counts for each in counted]
        if self.by is not None:
            sizes = (prod(shape[:-1]) for shape in find_slot_shapes(asked))
            rows = [split_rows(each, size) for each, size in zip(rows, sizes, strict=True)]
        parts = [tuple(rows)] if self.by is None else zip(*rows, strict=True)
        return collect_by_category(self.by, (ModelPair(asked, each, privacy) for each in parts))

    def _coarsen_grids(self) -> tuple[Grid, Grid]:
        return coarsen_grid(self.grid, self.cells), coarsen_grid(self.grid_of_second, self.cells)

    def __str__(self) -> str:
        return f"models {self.first} and {self.second} for {self.label}{describe_grouping(self.by)}"


def _describe_thresholds(question: ModelPairQuestion) -> tuple[str, ...]:
    """A note on each threshold of net benefit at which no cell begins: the next one decides who is acted on."""
    notes = list[str]()
    for side, grid in zip(("first", "second"), question._coarsen_grids(), strict=True):
        begins = grid.edges[:-1]
        if grid.values is not None or len(begins) == 0:
            continue
        for threshold in question.at:
            start = int(np.searchsorted(begins, threshold - 1e-12))
            begin = float(begins[start]) if start < len(begins) else float(grid.edges[-1])
            if abs(begin - threshold) > 1e-9:
                notes.append(
                    f"net benefit at {threshold:g}: of the {side} model scores from {begin:.10g} on are acted on, "
                    "where the next cell begins"
                )
    return tuple(notes)


def choose_design(question: ModelPairQuestion, setting: Setting) -> ModelPairQuestion:
    """The question with the releases and cells that are forecast to err least, by public facts: noise, and records.

    Noise of a difference of areas grows with the number of cells of one table of both scores, and with its root of two
    tables of one score each, whose noise is that of half the loss. Sampling errors of both models, which are related,
    are smaller together than their sum.
    """
    if question.cells is not None:
        return question
    records = max(setting.adjacency.public_record_count or USUAL, 1)
    most = min(max(question.grid.cells, question.grid_of_second.cells, LEAST_CELLS), MOST_CELLS)
    tried = np.arange(LEAST_CELLS, most + 1)
    sampled = (PAIRED, APART) if setting.adjacency.unit.records == 1 else (0.0, 0.0)
    ways = list[tuple[float, int, int]]()
    for releases, scatter in zip((1, 2), sampled, strict=True):
        noise = SPREAD * sqrt(float(setting.count_noise(ALL / releases).variance)) / records
        errors = np.hypot(noise * tried ** (1 / releases), ROUNDED / tried**2)
        ways.append((hypot(float(errors.min()), scatter / sqrt(records)), releases, int(tried[np.argmin(errors)])))
    _, releases, cells = min(each for each in ways if question.releases in (None, each[1]))
    return replace(question, cells=cells, releases=2 if releases == 2 else question.releases)


def coarsen_grid(grid: Grid, cells: int | None) -> Grid:
    """Neighbouring cells of a grid joined evenly; declared values stay apart."""
    if cells is None or isinstance(grid, Values) or cells >= grid.cells:
        return grid
    at = np.linspace(0, grid.cells, cells + 1).round().astype(np.int64)
    return Grid.from_edges(np.asarray(grid.edge(at)).tolist())


def _sum_to_margins(tables: Tables) -> tuple[FloatArray, FloatArray]:
    """Counts of both classes along each score: (..., 2, cells)."""
    if len(tables) == 2:
        return tables[0], tables[1]
    return tables[0].sum(axis=-1), tables[0].sum(axis=-2)


def _make_readings(
    grids: tuple[Grid, Grid], at: tuple[float, ...]
) -> dict[str, Callable[[FloatArray, int], FloatArray]]:
    middles, firsts = [middles_of(each) for each in grids], [each.edges[:-1] for each in grids]
    firsts = [first if grid.values is None else grid.values for first, grid in zip(firsts, grids, strict=True)]
    found: dict[str, Callable[[FloatArray, int], FloatArray]] = {
        "auc": lambda cells, side: compute_auc(cells[..., 0, :], cells[..., 1, :]),
        "average precision": lambda cells, side: mask_empty(average_precision(cells), cells[..., 1, :].sum(axis=-1)),
    }
    if all(grid.endpoints[0] >= 0 and grid.endpoints[1] <= 1 for grid in grids):
        found["brier score"] = lambda cells, side: mask_empty(
            brier_score(cells, middles[side]), cells.sum(axis=(-2, -1))
        )
        for threshold in at:
            found[f"net benefit at {threshold:g}"] = partial(_compute_net_benefit, threshold=threshold, firsts=firsts)
    return found


def _compute_net_benefit(cells: FloatArray, side: int, *, threshold: float, firsts: list[FloatArray]) -> FloatArray:
    """Net benefit of acting from the first cell on that begins at the threshold or above."""
    first = firsts[side]
    start = int(np.searchsorted(first, threshold - 1e-12)) if len(first) else 0
    called = cells[..., start:].sum(axis=-1)
    return divide_counts(called[..., 1] - called[..., 0] * threshold / (1 - threshold), cells.sum(axis=(-2, -1)))


def difference_of_models(
    first: Scores, second: Scores, reading: Metric | str, level: float, *, population: bool = False
) -> IntervalEstimate:
    """A number of one model less that of another, from two releases of scores of the same records.

    Noises are independent. Sampling errors are not, and no release tells how they are related: they are taken to add
    up at their worst, so the interval for the population holds at least as often as it says. A `ModelPairQuestion`
    counts both scores together, and is narrower.

    Args:
        first: Released scores of one model.
        second: Those of another, of the same records and labels.
        reading: Which number: see `Metric`.
        level: The confidence level.
        population: Whether it is for the population, not for these records.

    Returns:
        The difference, its lower and its upper end.

    Raises:
        TypeError: one of them is no `Scores`.
        ValueError: there is no such number; `level` is not between 0 and 1; or, with `population`, units have several
            records.

    >>> import dpcurves as dp
    >>> spent = {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
    >>> one, other = (dp.scores([0, 0, 1, 1] * 500, [0.1, high, 0.6, 0.9] * 500, **spent) for high in (0.2, 0.7))
    >>> dp.difference_of_models(one, other, "auc", 0.9).upper > 0
    True
    """
    told, drift = parse_choice("reading", reading, Metric), list[tuple[IntervalEstimate, float, float]]()
    for name, each in (("first", first), ("second", second)):
        require_type(name, each, Scores, "scores, as dp.scores gives them,")
        value, open_ = each.value(told), find_discretization_error(each.table, told)
        own = IntervalEstimate(value, *each.interval(told, level), *open_)
        of_all = IntervalEstimate(value, *each.interval(told, level, population=True), *open_) if population else own
        drift.append(
            (
                own,
                sqrt(max(of_all.error_below**2 - own.error_below**2, 0.0)),
                sqrt(max(of_all.error_above**2 - own.error_above**2, 0.0)),
            )
        )
    (one, one_down, one_up), (other, other_down, other_up) = drift
    value, below, above = one.value - other.value, one.gap_below + other.gap_above, one.gap_above + other.gap_below
    lower = value - below - hypot(one.error_below, other.error_above, one_down + other_up)
    return IntervalEstimate(
        value, lower, value + above + hypot(one.error_above, other.error_below, one_up + other_down), below, above
    )
