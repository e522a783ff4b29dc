"""Workloads, and the conversation of a question: it states its needs, and is answered with unbiased counts."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar, cast

from ..arguments import WrongArgumentType
from ..arrays import FloatArray
from ..data import Axis, Categories, Grid
from ..queries import CoverageQuery, Hint, Query
from . import Evidence, Release, Setting, Step

Answer = TypeVar("Answer", covariant=True)
Curve = TypeVar("Curve")

Strategy: TypeAlias = Generator[Step, Release, Answer]
"""Conversation of a trust model for a workload: steps, and in the end the answer.

Formal guarantees: a pure function of the workload, of public facts and of the releases that it is sent. It ends
whatever is sent, and the shares of its steps, of those that pay for different things, add up to 1.
"""
HALF = 2**39
"""Distances from the middle of a group are summed in steps, so many of which are half of the group's width."""


class Workload(Generic[Answer]):
    """Counts or sums that a question needs, with their columns and public cells. No attribute depends on a record.

    A trust model turns it into queries (`TrustModel.plan`), and `Answer` is what a question gets for it, whatever
    those were. What is new to be needed is a kind of this and a strategy in `strategies`; a new trust model takes these
    strategies, or its own.
    """

    __slots__ = ()


class Need(NamedTuple):
    """A workload, and its share of the question's budget. Both are public."""

    workload: Workload[Any]
    budget_fraction: Fraction


Needs: TypeAlias = Generator[Need, Any, Curve]
"""A conversation as a question holds it: it says what it needs, is sent the answer, and in the end returns a curve."""


def ask_workload(workload: Workload[Answer], budget_fraction: Fraction) -> Needs[Answer]:
    """Say what is needed, and return the answer: ``counts = yield from needed(Cells(axes), ALL)``."""
    return cast("Answer", (yield Need(workload, budget_fraction)))


@dataclass(frozen=True, slots=True)
class TableCounts:
    """Counts of the cells of a table.

    Attributes:
        releases: All that was asked. The last one counts the cells, and tells how many records are missing.
        evidence: The counts that are read, in their order: of all turns, or of the last one alone, if the others chose
            what it counts.
        grid: The cells along the last axis that were counted: those that were needed, or others.
        pilot_queries: So many of the counts that are read chose the cells: each cuts the intervals of those before.
        uses_all_rounds: Whether the intervals of all counts that are read say how cells are halved, not those of looks alone.
        step: The number of whose multiples values are, as looks told; 0: of none, or that was not clear.
    """

    releases: tuple[Release, ...]
    evidence: tuple[Evidence, ...]
    grid: Grid | None = None
    pilot_queries: int = 0
    uses_all_rounds: bool = False
    step: float = 0.0

    @classmethod
    def from_last_release(cls, releases: Sequence[Release], grid: Grid | None = None) -> TableCounts:
        """Counts of which the last release alone is read."""
        return cls(tuple(releases), (Evidence.from_release(releases[-1]),), grid)

    @property
    def chosen_grid(self) -> Grid:
        """The cells along the last axis, where the strategy chose them.

        Raises:
            TypeError: it names none.
        """
        if self.grid is None:
            raise WrongArgumentType("grid", "this strategy chooses no cells")
        return self.grid

    @property
    def is_paid(self) -> bool:
        """Tell whether these are answers; else they are blank, and of a rehearsal."""
        return self.releases[-1].allotment is not None

    @property
    def counts(self) -> Evidence:
        """The counts of the last turn: unbiased, whatever the turns before chose."""
        return self.evidence[-1]


@dataclass(frozen=True, slots=True)
class ScoreGroupReleases:
    """Counts of both classes in groups of similar scores.

    Attributes:
        releases: All that was asked.
        grid: The groups as cells; or all cells, from whose counts groups are to be read.
        counts: The release of the counts of both classes.
        sums: The release of the sums of distances from the middle of each group; None: all cells were counted instead.
    """

    releases: tuple[Release, ...]
    grid: Grid
    counts: Release
    sums: Release | None


@dataclass(frozen=True, slots=True, eq=False)
class CoverageInterval:
    """The first of the intervals around the middle of a grid that seems to cover a share of the records.

    Attributes:
        release: All that was asked.
        interval: Its number: as many cells as this lie in it on each side of the middle one.
        alpha: The number of records by which it may cover fewer than the share, and the interval before it more, but
            for a given chance.
    """

    release: Release
    interval: int
    alpha: Callable[[float], float]


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedTable:
    """Estimated counts: no whole numbers, and some may be below zero.

    Attributes:
        cells: The counts of the cells of the grids, of shape ``(cells of the first axis, ...)``.
        outside: The count of all cells for values outside of a grid together; 0 where there are none.
        missing: How many records are missing on some axis.
        releases: What they were read from.
        has_shared_estimates: Whether like cells share an estimate, which has then a bias that nobody knows.
    """

    cells: FloatArray
    outside: float
    missing: float
    releases: tuple[Release, ...]
    has_shared_estimates: bool = True


# Kinds of workloads. Each names the type of its answer; none says which queries are asked, or how often.


Axes: TypeAlias = tuple[Axis | Categories, ...]


@dataclass(frozen=True, slots=True)
class CellWorkload(Workload[TableCounts]):
    """Counts of records in each cell, each to be read on its own.

    Attributes:
        axes: The sides of the table: categories and grids.
    """

    axes: Axes


class CountingMethod(Protocol):
    """A counting method for one column along its grid that a question names instead of leaving the choice to the model.

    Formal guarantees: `ask_rounds` is a pure function of the fields, of public facts and of the releases that it is sent.
    """

    def ask_rounds(self, axes: Axes, setting: Setting) -> Strategy[TableCounts]:
        """Ask turn by turn; all rows are counted on the same cells."""
        ...


@dataclass(frozen=True, slots=True)
class PrefixWorkload(Workload[TableCounts]):
    """Counts of records below edges of the last axis, in each row of the others.

    Attributes:
        axes: The sides of the table; the last one is along what is counted.
        hint: What is known in public about how records lie along it.
        method: How it is counted; None: as the trust model chooses.
        quantile_levels: Shares, if only the quantiles at these are to be read; empty: all edges are.
        has_separate_round_numbers: Whether round numbers get cells of their own, where cells may be others than those of the last axis.
    """

    axes: Axes
    hint: Hint | None = None
    method: CountingMethod | None = None
    quantile_levels: tuple[float, ...] = ()
    has_separate_round_numbers: bool = False


@dataclass(frozen=True, slots=True)
class CountsBelowWorkload(Workload[TableCounts]):
    """Counts of records below a few edges of a grid that may be far too fine to be counted out, and of all.

    Other edges of the same axes are free under the same request.

    Attributes:
        axis: A column of numbers on its grid.
        edges: Numbers of edges of that grid.
        classes: Categories, each of which is counted; None: all records together.
    """

    axis: Axis
    edges: tuple[int, ...]
    classes: Categories | None = None

    @property
    def axes(self) -> Axes:
        """The sides of the table."""
        return (self.axis,) if self.classes is None else (self.classes, self.axis)


@dataclass(frozen=True, slots=True)
class QuantileSearchWorkload(Workload[TableCounts]):
    """Between which edges of a grid, however fine, quantiles lie, with ends of their intervals.

    Attributes:
        axis: A column of numbers on its grid.
        quantile_levels: Which quantiles.
        level: The chance of all their intervals together.
    """

    axis: Axis
    quantile_levels: tuple[float, ...]
    level: float


@dataclass(frozen=True, slots=True)
class AutomaticRangeWorkload(Workload[TableCounts]):
    """Counts below edges of a column of which no range is known: where it is counted is part of what is asked.

    Attributes:
        column: A column of numbers, dates, times or durations, as its schema declares.
    """

    column: str

    @property
    def axes(self) -> Axes:
        """The sides of the table: none is known before the first turn."""
        return ()


@dataclass(frozen=True, slots=True)
class AutomaticGridWorkload(AutomaticRangeWorkload):
    """A grid of cells where records lie, along a column of which no range is known. Its counts are those of the looks.

    Attributes:
        cells: About how many cells are wanted.
    """

    cells: int


class Cuts(Enum):
    """The method that finds the thresholds of a ROC curve.

    - `FIXED`: each cell of the grid ends with one; everything is spent on counting.
    - `QUANTILES`: at quantiles of quantiles of all scores, by the exponential mechanism.
    - `MEDIANS`: at medians of medians, with noise by smooth sensitivity. For comparison: it is far less accurate.
    """

    FIXED = "fixed"
    QUANTILES = "quantiles"
    MEDIANS = "medians"


@dataclass(frozen=True, slots=True)
class RankingWorkload(Workload[TableCounts]):
    """Counts of each class above thresholds: on cells as fine as ranking needs.

    Attributes:
        classes: The negatives and the positives, in this order.
        score: The scores on their grid.
        cuts: How thresholds are found where that can depend on answers.
    """

    classes: Categories
    score: Axis
    cuts: Cuts


class GroupBudgetFractions(NamedTuple):
    """The parts of the share for its turns, where groups take several: they add up to 1."""

    cuts: Fraction
    counts: Fraction
    sums: Fraction
    merges: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class ScoreGroupWorkload(Workload[ScoreGroupReleases]):
    """Counts of each class in groups of similar scores of about equal size, and the mean score of each.

    Attributes:
        classes: The negatives and the positives, in this order.
        score: The scores on the grid that groups end at.
        max_groups: How many groups, at most; fewer where scores are tied.
        budget_fractions: What is spent on finding groups, on counts and on sums.
        min_records: Groups are joined with their neighbours until about so many records lie in each; None: they are not.
        approximate_records: About how many records there are, if groups may be narrower where records are few than equal ones would
            be: then a look at even intervals may say where they end. None: they have about equal size.
    """

    classes: Categories
    score: Axis
    max_groups: int
    budget_fractions: GroupBudgetFractions
    min_records: int | None = None
    approximate_records: float | None = None


class TableEstimator(Protocol):
    """An estimator of the cells of a table, in one or more turns of a question. Fields are public.

    Formal guarantees: `estimate_table` is a pure function of the fields, the arguments and the releases that it is sent (it
    stands behind the privacy wall). It asks for `share` of the budget in all, in shares that are public, and ends in
    estimates whatever is sent. So an estimator loses what its share of the loss says, by the promises of what it asks.
    """

    def estimate_table(self, axes: Axes, setting: Setting, budget_fraction: Fraction) -> Strategy[EstimatedTable]:
        """Ask turn by turn; return an estimate of the table with these axes."""
        ...


@dataclass(frozen=True, slots=True)
class TableWorkload(Workload[EstimatedTable]):
    """About how many records lie in each cell of a whole table: estimates that may be smoothed over neighbours.

    Attributes:
        axes: The sides of the table.
        estimator: How the cells are estimated; None: as the trust model chooses.
    """

    axes: Axes
    estimator: TableEstimator | None = None


@dataclass(frozen=True, slots=True)
class CoverageWorkload(Workload[CoverageInterval]):
    """The first interval around the middle of a grid that covers a share of the records.

    Attributes:
        query: The grid, the share, and how many records are to spare.
    """

    query: CoverageQuery


@dataclass(frozen=True, slots=True)
class SingleQueryWorkload(Workload[Release]):
    """Numbers that one query stands for, and of which nothing is left to choose: sums, the area under a curve.

    Attributes:
        query: What is asked.
    """

    query: Query
