"""Workloads: what a question needs to know, and the conversation in which it gets unbiased counts.

A workload states the needed counts (cells, prefixes, rankings, groups), not how to count them. The same question can so
run in one round or in several, with one curator or with none. Three parties talk through Python generators:

    question        yields a Need (workload, fraction of its budget)      receives an answer
    strategy        yields a Step (query, fraction of the workload)       receives a release
    trust model     plans and runs the query after it was charged

No party sees more than it needs: only the trust model opens records, and only the ledger charges.

Formal guarantees: needs, workloads and steps are functions of public facts and of earlier answers. Fractions of needs
add up to 1, and so do the fractions of the steps of one workload.

>>> from dpcurves.data import Grid
>>> CellWorkload((Axis("age", Grid(0, 100, cells=10)),)).axes[0].slots
10
"""

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
"""Conversation that answers a workload: it yields steps, receives releases, and returns the answer.

Formal guarantees: it is a pure function of the workload, of public facts and of the releases that it receives. It ends
for all releases, and the budget fractions of steps with different charged queries add up to 1.
"""
HALF_WIDTH_STEPS = 2**39
"""Steps in half the width of a score group. Distances of scores from the middle of their group are summed in these
steps; 2**39 keeps the sums of 2**22 records within 62 bits."""


class Workload(Generic[Answer]):
    """Counts or sums that a question needs, with their columns and public cells. No attribute depends on a record.

    A trust model turns a workload into queries (`TrustModel.plan`) and returns an `Answer` that does not depend on the
    queries it chose. A new need is a subclass with a strategy in `strategies`; a new trust model reuses these
    strategies or brings others.
    """

    __slots__ = ()


class Need(NamedTuple):
    """A workload and its fraction of the question's budget. Both are public."""

    workload: Workload[Any]
    budget_fraction: Fraction


Needs: TypeAlias = Generator[Need, Any, Curve]
"""Conversation of a question: it yields needs, receives their answers, and returns a curve."""


def ask_workload(workload: Workload[Answer], budget_fraction: Fraction) -> Needs[Answer]:
    """Yield a workload and return its answer: ``counts = yield from ask_workload(CellWorkload(axes), ALL)``.

    Args:
        workload: Counts or other numbers that the trust model releases.
        budget_fraction: Fraction of the question's loss that the workload may spend.

    Returns:
        The answer to the workload, which the caller of the generator sends in.
    """
    return cast("Answer", (yield Need(workload, budget_fraction)))


@dataclass(frozen=True, slots=True)
class TableCounts:
    """Counts of the cells of a table.

    Attributes:
        releases: All releases. The last one counts the cells and the missing records.
        evidence: The counts to read, in order: of all rounds, or of the last round alone if the others chose its cells.
        grid: The cells along the last axis that were counted: the requested cells, or the cells that the strategy
            chose.
        pilot_queries: Number of leading counts that chose the cells; each refines the intervals of the earlier ones.
        uses_all_rounds: Whether cells are halved by the intervals of all counts in `evidence`, not of the pilot queries
            alone.
        step: The number of which all values seem to be multiples, from the pilot queries; 0 if none is clear.
        lattice_counts: Counts of the records on the points of a lattice, and of the others, whose order inside a cell
            is unknown. The points are the values of `grid`, or else the edges of the requested cells. None: no lattice
            was found.
    """

    releases: tuple[Release, ...]
    evidence: tuple[Evidence, ...]
    grid: Grid | None = None
    pilot_queries: int = 0
    uses_all_rounds: bool = False
    step: float = 0.0
    lattice_counts: Evidence | None = None

    @classmethod
    def from_last_release(cls, releases: Sequence[Release], grid: Grid | None = None) -> TableCounts:
        """Return table counts that use the last release alone; the earlier ones only chose its cells.

        Args:
            releases: All releases of the rounds, in order.
            grid: Cells that were counted along the last axis; None: they are not stated.
        """
        return cls(tuple(releases), (Evidence.from_release(releases[-1]),), grid)

    @property
    def chosen_grid(self) -> Grid:
        """Grid of the last axis that the strategy chose in earlier rounds.

        Raises:
            TypeError: the strategy chose no cells.
        """
        if self.grid is None:
            raise WrongArgumentType(
                "grid", "this strategy chooses no cells; declare them with grid=Grid(lower, upper, cells=...)"
            )
        return self.grid

    @property
    def is_paid(self) -> bool:
        """Whether these counts were released; False if they are placeholders of a question that was only planned."""
        return self.releases[-1].allotment is not None

    @property
    def counts(self) -> Evidence:
        """Released counts of the last round, which are unbiased for any choice of the earlier rounds."""
        return self.evidence[-1]


@dataclass(frozen=True, slots=True)
class ScoreGroupReleases:
    """Counts of both classes in groups of similar scores.

    Attributes:
        releases: All releases.
        grid: The groups as cells; or all cells, from whose counts groups are formed.
        counts: The counts of both classes.
        sums: The sums of distances from the middle of each group; None if all cells were counted instead.
    """

    releases: tuple[Release, ...]
    grid: Grid
    counts: Release
    sums: Release | None


@dataclass(frozen=True, slots=True, eq=False)
class CoverageInterval:
    """The first interval around the middle of a grid that appears to cover a share of the records.

    Attributes:
        release: The release.
        interval: Index of the interval: the number of cells on each side of the middle cell.
        alpha: Function from a failure probability to a number of records: the interval covers the share but for this
            number of records, and the interval before it exceeds the share by at most this number.
    """

    release: Release
    interval: int
    alpha: Callable[[float], float]


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedTable:
    """Estimated counts: not integers, and perhaps negative.

    Attributes:
        cells: The counts of the cells of the grids, of shape ``(cells of the first axis, ...)``.
        outside: The count of values outside a grid, summed over all cells outside; 0 if these are not counted.
        missing: Number of records that are missing on some axis.
        releases: All releases.
        has_shared_estimates: Whether similar cells share an estimate, whose bias is then unknown.
    """

    cells: FloatArray
    outside: float
    missing: float
    releases: tuple[Release, ...]
    has_shared_estimates: bool = True


# Types of workloads. Each states the type of its answer, and leaves queries and rounds to the strategy.


Axes: TypeAlias = tuple[Axis | Categories, ...]


@dataclass(frozen=True, slots=True)
class CellWorkload(Workload[TableCounts]):
    """Counts of records in each cell, for reading single cells.

    Attributes:
        axes: The axes of the table: categories and grids.
    """

    axes: Axes


class CountingMethod(Protocol):
    """Counting method for one column along its grid, if a question names one instead of leaving the choice to the trust
    model.

    Formal guarantees: `ask_rounds` is a pure function of the fields, of public facts and of the releases that it
    receives.
    """

    def ask_rounds(self, axes: Axes, setting: Setting) -> Strategy[TableCounts]:
        """Yield the steps of all rounds; all rows are counted on the same cells.

        Args:
            axes: Category axes of the rows, if any, and last the axis of the grid.
            setting: Loss and adjacency of the question.

        Returns:
            A generator that yields the steps of the rounds and returns the counts.
        """
        ...


@dataclass(frozen=True, slots=True)
class PrefixWorkload(Workload[TableCounts]):
    """Counts of records below edges of the last axis, in each row of the other axes.

    Attributes:
        axes: The axes of the table; the last one is cumulated.
        hint: Public knowledge of the distribution along the last axis.
        method: The counting method; None leaves it to the trust model.
        quantile_levels: Levels, if only these quantiles are read; empty if all edges are.
        has_separate_round_numbers: Whether round numbers get cells for themselves where the strategy may change the
            cells.
        has_separate_zero: Whether zero gets a cell for itself there, if the grid has enough cells and records are not
            known to be few.
        searches_lattice: Whether a strategy of several rounds may look if nearly all values are edges of the last axis.
    """

    axes: Axes
    hint: Hint | None = None
    method: CountingMethod | None = None
    quantile_levels: tuple[float, ...] = ()
    has_separate_round_numbers: bool = False
    has_separate_zero: bool = False
    searches_lattice: bool = False


@dataclass(frozen=True, slots=True)
class CountsBelowWorkload(Workload[TableCounts]):
    """Counts of records below a few edges of a grid of any fineness, and of all records.

    Other edges of the same axes are free under the same request.

    Attributes:
        axis: A column of numbers on its grid.
        edges: Indices of edges of the grid.
        classes: Categories that are counted separately; None counts all records together.
    """

    axis: Axis
    edges: tuple[int, ...]
    classes: Categories | None = None

    @property
    def axes(self) -> Axes:
        """The axes of the table: the classes, if there are any, then the column."""
        return (self.axis,) if self.classes is None else (self.classes, self.axis)


@dataclass(frozen=True, slots=True)
class QuantileSearchWorkload(Workload[TableCounts]):
    """Grid edges between which quantiles lie, with the bounds of their intervals. The grid may be of any fineness.

    Attributes:
        axis: A column of numbers on its grid.
        quantile_levels: Levels of the quantiles.
        level: Simultaneous confidence level of all intervals.
    """

    axis: Axis
    quantile_levels: tuple[float, ...]
    level: float


@dataclass(frozen=True, slots=True)
class AutomaticRangeWorkload(Workload[TableCounts]):
    """Counts below edges of a column without a declared range; the strategy also finds the range.

    Attributes:
        column: A column of numbers, dates, times or durations, as declared in its schema.
    """

    column: str

    @property
    def axes(self) -> Axes:
        """Empty: the cells are unknown before the first round chooses them."""
        return ()


@dataclass(frozen=True, slots=True)
class AutomaticGridWorkload(AutomaticRangeWorkload):
    """A grid of cells that spans the records of a column without a declared range. The pilot queries give its counts.

    Attributes:
        cells: Approximate number of cells.
    """

    cells: int


class RocThresholds(Enum):
    """The method that chooses the thresholds of a ROC curve.

    - `FIXED`: the edges of the grid; the whole budget is spent on counts.
    - `QUANTILES`: recursive quantiles of all scores, by the exponential mechanism.
    - `MEDIANS`: recursive medians, with noise by smooth sensitivity. For comparison; it is far less accurate.
    """

    FIXED = "fixed"
    QUANTILES = "quantiles"
    MEDIANS = "medians"


@dataclass(frozen=True, slots=True)
class RankingWorkload(Workload[TableCounts]):
    """Counts of each class above thresholds, on cells as fine as a ranking needs.

    Attributes:
        classes: The negatives and the positives, in this order.
        score: The scores on their grid.
        thresholds: How thresholds are chosen.
    """

    classes: Categories
    score: Axis
    thresholds: RocThresholds


class GroupBudgetFractions(NamedTuple):
    """Fractions of the workload's budget for its rounds; they add up to 1."""

    cuts: Fraction
    counts: Fraction
    sums: Fraction
    merges: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class ScoreGroupWorkload(Workload[ScoreGroupReleases]):
    """Counts of each class in groups of similar scores of about equal size, and the mean score of each group.

    Attributes:
        classes: The negatives and the positives, in this order.
        score: The scores on the grid of possible group edges.
        max_groups: The largest number of groups; ties may leave fewer.
        budget_fractions: Budget fractions for group edges, counts and sums.
        min_records: Neighbouring groups are merged until each holds about this many records; None merges none.
        approximate_records: Approximate number of records, if groups may be narrower than equally large ones where
            records are few: a pilot query of even intervals may then choose their edges. None: groups of about equal
            size.
    """

    classes: Categories
    score: Axis
    max_groups: int
    budget_fractions: GroupBudgetFractions
    min_records: int | None = None
    approximate_records: float | None = None


class TableEstimator(Protocol):
    """Estimator of the cells of a table in one or more rounds of a question. Fields are public.

    Formal guarantees: `estimate_table` is a pure function of the fields, the arguments and the releases that it
    receives, so it lies outside the trusted boundary. Its steps have public budget fractions that add up to
    `budget_fraction`, and it ends for all releases. So its privacy loss is at most this fraction of the loss, by the
    guarantees of its queries.
    """

    def estimate_table(self, axes: Axes, setting: Setting, budget_fraction: Fraction) -> Strategy[EstimatedTable]:
        """Yield the steps of all rounds; return an estimate of the table with these axes.

        Args:
            axes: Axes of the table.
            setting: Loss and adjacency of the question.
            budget_fraction: Fraction of the loss, above 0 and at most 1.
        """
        ...


@dataclass(frozen=True, slots=True)
class TableWorkload(Workload[EstimatedTable]):
    """Estimated counts of all cells of a table, perhaps smoothed over neighbours.

    Attributes:
        axes: The axes of the table.
        estimator: The estimator; None leaves it to the trust model.
    """

    axes: Axes
    estimator: TableEstimator | None = None


@dataclass(frozen=True, slots=True)
class CoverageWorkload(Workload[CoverageInterval]):
    """The first interval around the middle of a grid that covers a share of the records.

    Attributes:
        query: The query, with grid, share and spare records.
    """

    query: CoverageQuery


@dataclass(frozen=True, slots=True)
class SingleQueryWorkload(Workload[Release]):
    """One query whose release is the answer, such as sums or the area under a curve.

    Attributes:
        query: The query.
    """

    query: Query
