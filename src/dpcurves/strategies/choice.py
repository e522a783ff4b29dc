"""Strategy selection: a table from each type of workload to the strategy, a sequence of noisy queries, that answers it.

A *workload* states the counts or sums that a question needs. A *strategy* is a generator of queries with fractions of
the loss, which receives the noisy answers and returns the counts. The tables `ONE_ROUND_STRATEGIES` (trust models that
answer once) and `ADAPTIVE_STRATEGIES` (several rounds) map each type of workload to its strategy; `choose_strategy`
looks it up.

Two smaller strategies, which need no file, are here as well:

- *Coverage.* The first interval around the middle of a grid that covers a share p of n records. It is found by noisy
  comparisons of ``inside - p * n`` with 0 (`compare_intervals`), or read from noisy counts (`count_intervals`).
- *Unlisted categories.* Partition selection spends `SELECTION_FRACTION` of the loss to find the categories
  (`build_category_query`); the question spends the rest on them. A category gets a note if its count is far below the
  selected number of its units.

Formal guarantees: the choice depends on the workload and the setting (loss and adjacency), that is on public facts
alone. Fractions of all rounds add up to 1, so the rounds lose the granted loss (basic composition). With selected
categories composition is adaptive, because the categories are released before the question is asked by them.

>>> from dpcurves.data import Axis, Grid
>>> from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
>>> workload = CellWorkload((Axis("age", Grid(0, 100, cells=10)),))
>>> strategy = choose_strategy(ONE_ROUND_STRATEGIES, workload, Setting(PrivacyLoss.pure(1), AddRemove(EACH_RECORD)))
>>> next(strategy).budget_fraction  # the whole loss in one round
Fraction(1, 1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, TypeVar, cast

import numpy as np

from ..arguments import InvalidArgument, WrongArgumentType
from ..arrays import BoolArray, FloatArray
from ..conversation import (
    WHOLE_BUDGET,
    AutomaticGridWorkload,
    AutomaticRangeWorkload,
    CellWorkload,
    CountsBelowWorkload,
    CoverageInterval,
    CoverageWorkload,
    EstimatedTable,
    Evidence,
    PrefixWorkload,
    QuantileSearchWorkload,
    RankingWorkload,
    Release,
    ScoreGroupWorkload,
    Setting,
    SingleQueryWorkload,
    Step,
    Strategy,
    TableCounts,
    TableWorkload,
    Workload,
)
from ..conversation.notes import REST_MARK
from ..data import FALSE_NAMES, Categories, SelectedCategories, UnlistedCategories
from ..distributions.output_distribution import round_error
from ..histograms import Extent, RefinedGridEstimator
from ..queries import CountQuery, CountUse, CoverageQuery, PartitionSelectionQuery, Query, UniverseSelectionQuery
from . import prefixes, range_search, ranks


def compare_intervals(workload: CoverageWorkload, setting: Setting) -> Strategy[CoverageInterval]:
    """Yield one query with the whole loss for the first interval that covers the share; return the interval.

    The sparse vector technique finds it by noisy comparisons: it costs the same for any number of intervals.

    Args:
        workload: The intervals around the middle of a grid, and the share of the records to cover.
        setting: Loss and adjacency; not read, because the query is fixed.
    """
    release = yield Step(workload.query, WHOLE_BUDGET)
    (interval,) = release.values
    return CoverageInterval(release, interval, release.plan.distribution.alpha)


def count_intervals(workload: CoverageWorkload, setting: Setting) -> Strategy[CoverageInterval]:
    """Yield one query that counts all cells; return the first interval whose noisy count covers the share.

    For trust models that can add up but not compare privately. Noise may choose another interval than the exact counts:
    `comparison_error` bounds how many records it lacks. If no interval covers the share, the last one is returned,
    which holds all cells.

    Formal guarantees: a record lies in one cell, so the counts lose the whole loss. The interval is a function of the
    released counts (post-processing).

    Args:
        workload: The intervals around the middle of a grid, and the share of the records to cover.
        setting: Loss and adjacency; not read, because the query is fixed.
    """
    query = workload.query
    release = yield Step(CountQuery(query.axes, CountUse.PREFIXES), WHOLE_BUDGET)
    excess = excess_weights(query) @ np.asarray(Evidence.from_release(release).unbiased_cells[0])
    covers_share = [*(excess + query.spare >= 0).tolist(), True]

    def alpha(beta: float) -> float:
        """Return the accuracy of the interval: the error, in records, that the deciding comparison exceeds with
        probability at most `beta`.

        Args:
            beta: Probability, strictly between 0 and 1.
        """
        return comparison_error(release, query, beta)

    return CoverageInterval(release, covers_share.index(True), alpha)


def mark_inside(query: CoverageQuery) -> BoolArray:
    """Return a mask of the cells inside each interval, of shape ``(intervals - 1, cells)``.

    The last interval holds all cells and is never compared, so it is left out.

    Args:
        query: Nested intervals of cells, all around the middle cell.
    """
    slots = query.grid.slots
    distance = np.abs(np.arange(slots) - slots // 2)
    is_inside: BoolArray = distance <= np.arange(query.intervals - 1)[:, None]
    return is_inside


def excess_weights(query: CoverageQuery) -> FloatArray:
    """Return the matrix that turns counts of cells into each interval's excess over the requested share of the records,
    (intervals - 1, cells).

    The excess is the number of records inside the interval minus coverage times all records. The last interval holds
    all cells and is left out.

    Args:
        query: Nested intervals of cells, all around the middle cell, and the coverage (a share of the records).
    """
    return np.subtract(mark_inside(query), float(query.coverage), dtype=np.float64)


def comparison_error(release: Release, query: CoverageQuery, beta: float) -> float:
    """Return an error bound, in records, of the comparison that decided the interval, with probability ``1 - beta``.

    Let e be the returned error. With at least this probability the chosen interval lacks at most e records of the
    share, and the interval before it exceeds the share by at most e records.

    *Proof.* Each comparison can be wrong by more than e on one side only, and the side depends on the records. Errors
    are symmetric, and each exceeds e with probability ``beta`` over the number of comparisons.

    Args:
        release: The noisy counts.
        query: The intervals and the share.
        beta: Probability that the bound fails, strictly between 0 and 1.

    Raises:
        ValueError: `beta` is not strictly between 0 and 1.
    """
    if not 0 < beta < 1:
        raise InvalidArgument("beta", f"must be a probability strictly between 0 and 1, as in 0.05, got {beta}")
    weights = excess_weights(query)
    distribution = Evidence.from_release(release).sums
    total = None if release.plan.adjacency.public_record_count is None else 0
    responses = distribution.reconstruct(np.eye(distribution.size), total)[0][:, 0]
    return round_error(float(distribution.bound_combined_noise(weights @ responses.T, beta / len(weights)).max()))


# Questions by unlisted categories: partition selection finds the categories of many units, and the question uses them.


Question = TypeVar("Question")

SELECTION_FRACTION = Fraction(1, 4)
"""Fraction of the loss that partition selection spends, together with the whole delta; the question gets the other
3/4, because its counts are the result."""


EXAMPLE_LETTERS = 8
"""Letters of an example name: plans of a text universe say how many units must have a name of this length for it to be
selected. Longer names need more units."""


def build_category_query(unlisted: UnlistedCategories) -> Query:
    """Return the query that selects the categories of a column privately (partition selection), because nobody listed
    them.

    With a public universe, the set of all possible names, it selects among these under pure DP. Without one it needs a
    loss with a delta.

    Args:
        unlisted: The column, and the universe of possible names, if it is public.
    """
    return (
        PartitionSelectionQuery.from_column(unlisted.column)
        if unlisted.universe is None
        else UniverseSelectionQuery((unlisted,))
    )


def find_unlisted(question: object) -> UnlistedCategories | None:
    """Return the unlisted categories among the columns `by` of a question; None if there are none.

    Args:
        question: Any question.

    Raises:
        ValueError: there are several columns of unlisted categories.
    """
    unlisted = [column for column in _by_columns(question) if isinstance(column, UnlistedCategories)]
    if len(unlisted) > 1:
        raise InvalidArgument(
            "by",
            "only the groups of one column can be found; list those of the other columns, as in"
            " Categories('ward', ('a', 'b'))",
        )
    return unlisted[0] if unlisted else None


def replace_unlisted(question: Question, unlisted: UnlistedCategories, names: tuple[str, ...]) -> Question:
    """Return the question with the selected categories in place of the unlisted ones.

    Args:
        question: A question whose `by` has the unlisted categories.
        unlisted: The unlisted categories.
        names: Names of the selected categories.
    """
    return replace_categories(question, unlisted, unlisted.to_selected_categories(names))


def replace_categories(question: Question, unlisted: UnlistedCategories, categories: Categories) -> Question:
    """Return the question with listed categories in place of the unlisted ones.

    Args:
        question: A question whose `by` has the unlisted categories.
        unlisted: The unlisted categories.
        categories: The listed categories.
    """
    by = tuple(categories if column is unlisted else column for column in _by_columns(question))
    as_dataclass: Any = question
    changed: Question = replace(as_dataclass, by=by if isinstance(as_dataclass.by, tuple) else by[0])
    return changed


def _by_columns(question: object) -> tuple[object, ...]:
    """Return the grouping columns of a question as a tuple, whether its field `by` holds one or several; ``(None,)`` if
    it has none.

    Args:
        question: Any question.
    """
    by = getattr(question, "by", None) if is_dataclass(question) else None
    return by if isinstance(by, tuple) else (by,)


def parse_names(release: Release) -> tuple[str, ...]:
    """Return the names of the categories that a partition selection released, in the order of the release.

    Released values come in pairs: a name as an integer (its UTF-8 bytes after a leading byte), and its noisy number of
    units.

    Args:
        release: Release of the partition selection.
    """
    numbers = release.values[::2]
    return tuple(number.to_bytes((number.bit_length() + 7) // 8)[1:].decode() for number in numbers)


def describe_found_categories(release: Release, unlisted: UnlistedCategories, names: tuple[str, ...]) -> str:
    """Return a note on the selected categories, for the result.

    It states how many categories were selected and what happens to the records of all others; in a universe also that a
    released name may have no records.

    Args:
        release: The release that selected the categories.
        unlisted: The column of the categories.
        names: Names of the selected categories.
    """
    other = unlisted.to_selected_categories(names).values[-1]
    if not names:
        return (
            f"groups of {unlisted.column} were found with {release.plan.loss}: none is released, and all "
            f"{REST_MARK}{other!r}"
        )
    note = (
        f"groups of {unlisted.column} were found with {release.plan.loss}: {len(names)} are released, and all groups "
        f"of few units {REST_MARK}{other!r}"
    )
    if unlisted.universe is None:
        return note
    # `FALSE_NAMES` on average, hence in at most one release of ten
    return f"{note}; noise adds a name without records to about one release in ten"


@dataclass(frozen=True, slots=True)
class Tuning:
    """Threshold of the notes on uncounted categories."""

    certain_z: float = 8.0
    """Standard deviations of the noise of a count. Laplace noise, the widest here, exceeds 8 of them with probability
    6e-6."""


TUNING = Tuning()
"""The threshold that notes on uncounted categories use."""


def describe_uncounted_categories(
    release: Release, unlisted: UnlistedCategories, unit_counts: Mapping[str, int]
) -> str | None:
    """Return a note on selected categories whose records the question does not count; None if there are none.

    A category is listed if its count lies within `Tuning.certain_z` standard deviations of 0, and more than `certain_z`
    of them below the number of its units. So if all records of a category are counted, it is listed with a probability
    of at most 6e-6; in a universe, at most 1e-5 more for all categories together.

    Args:
        release: Counts of a table, one axis of which is the categories.
        unlisted: The column of the categories.
        unit_counts: A lower limit of the number of units of each category, by name.
    """
    query = release.plan.query
    group_axes = [index for index, axis in enumerate(query.axes) if isinstance(axis, SelectedCategories)]
    if not isinstance(query, CountQuery) or len(group_axes) != 1 or group_axes[0] == len(query.axes) - 1:
        return None
    evidence, (group_axis,) = Evidence.from_release(release), group_axes
    try:
        sums = evidence.sums
    except TypeError:  # counts of another trust model, which are not noisy sums
        return None

    # The last axis is the value: its sum is the number of counted records of a category.
    shape = [axis.slots for axis in query.axes[:-1]]
    cells, _ = sums.reconstruct(np.asarray(release.values, dtype=np.float64), evidence.total)
    variances = sums.prefix_variances(evidence.total is not None)[:, -1]
    if len(cells) != np.prod(shape):
        return None
    other_axes = tuple(index for index in range(len(shape)) if index != group_axis)
    counts = cells.sum(axis=-1).reshape(shape).sum(axis=other_axes)
    margins = TUNING.certain_z * np.sqrt(np.broadcast_to(variances, len(cells))).reshape(shape).sum(axis=other_axes)

    # A category of many units and about no counted records has values elsewhere, or no values.
    groups = query.axes[group_axis]
    names = groups.values[:-1] if isinstance(groups, SelectedCategories) else ()
    uncounted = [
        f"{name!r} (of at least {unit_counts[str(name)]} units)"
        for name, count, margin in zip(names, counts.tolist(), margins.tolist(), strict=False)
        if count <= margin and unit_counts.get(str(name), 0) > count + margin
    ]
    if not uncounted:
        return None
    most_named_groups = 5  # categories: largest number of categories that a note lists by name
    omitted = f" and {len(uncounted) - most_named_groups} more" if len(uncounted) > most_named_groups else ""
    return (
        f"groups of {unlisted.column} that were found, of which about no record is counted: "
        f"{', '.join(uncounted[:most_named_groups])}{omitted}; their records have no value that this question counts"
    )


def describe_category_price(loss: str, unlisted: UnlistedCategories, fewest: int) -> tuple[str, ...]:
    """Return a note on the loss that partition selection will spend, for a preview before anything is charged.

    Args:
        loss: Text of the loss that selects the categories.
        unlisted: The unlisted categories.
        fewest: Number of units from which a name of `EXAMPLE_LETTERS` letters is released with probability above 1/2.
    """
    if unlisted.universe is not None:
        letters = f" of {EXAMPLE_LETTERS} letters" if len(unlisted.universe.sizes) >= EXAMPLE_LETTERS else ""
        return (
            f"no groups of {unlisted.column} are listed: {loss} finds those of many units among {unlisted.universe}, "
            f"mostly from {fewest:,} units on for a name{letters}, "
            f"and the rest of the loss asks by them; on average {FALSE_NAMES} of a name without units is released",
        )
    return (
        f"no groups of {unlisted.column} are listed: {loss} finds those of many units, mostly from {fewest:,} on, and "
        "the rest of the loss asks by them; "
        "a group of a single unit is released with a probability of at most that delta",
    )


def count_cells(workload: TableWorkload, setting: Setting) -> Strategy[EstimatedTable]:
    """Count the cells of a table with the workload's estimator; without one, each cell in a single round.

    Args:
        workload: Axes of the table, and the estimator, if one was chosen.
        setting: Loss and adjacency.

    Returns:
        Generator of steps, which returns the estimated counts inside and outside the grids and the missing count.
    """
    if workload.estimator is not None:
        return (yield from workload.estimator.estimate_table(workload.axes, setting, WHOLE_BUDGET))
    release = yield Step(CountQuery(workload.axes, CountUse.CELLS), WHOLE_BUDGET)
    evidence = Evidence.from_release(release)
    extent = Extent.from_axes(workload.axes)
    cells, missing = evidence.sums.reconstruct(np.asarray(release.values, dtype=np.float64), evidence.total)
    table = cells.ravel()
    inside_counts = table[extent.inside].reshape(extent.shape)
    outside_count = float(table[extent.outside].sum())
    return EstimatedTable(inside_counts, outside_count, float(missing), (release,), has_shared_estimates=False)


def count_refined_cells(workload: TableWorkload, setting: Setting) -> Strategy[EstimatedTable]:
    """Count the cells of a table with the estimator that the workload names; without one, with `RefinedGridEstimator`.

    That estimator counts blocks of cells, which are small where this reduces the error.

    Args:
        workload: Axes of the table, and the estimator, if one was chosen.
        setting: Loss and adjacency.

    Returns:
        Generator of steps, which returns the estimated counts inside and outside the grids and the missing count.
    """
    estimator = workload.estimator or RefinedGridEstimator()
    return (yield from estimator.estimate_table(workload.axes, setting, WHOLE_BUDGET))


# Choice of a workload's strategy: for holders that count once, and for holders that can count again on chosen cells.


Answer = TypeVar("Answer")
StrategyFactory = Callable[[Any, Setting], Strategy[Any]]


def choose_strategy(
    strategies: Mapping[type[Workload[Any]], StrategyFactory], workload: Workload[Answer], setting: Setting
) -> Strategy[Answer]:
    """Return the strategy of a workload by its type: a generator that yields steps, receives their releases, and
    returns the answer of the workload.

    Args:
        strategies: `ONE_ROUND_STRATEGIES` for a trust model that answers once; `ADAPTIVE_STRATEGIES` for one that can
            answer several rounds, of which public facts decide how many are used.
        workload: What a question needs.
        setting: Loss and adjacency.

    Raises:
        TypeError: the workload is not one of dpcurves.
    """
    if type(workload) not in strategies:
        raise WrongArgumentType(
            "question",
            f"a workload is needed, as CellWorkload(axes), not a {type(workload).__name__}",
        )
    return cast("Strategy[Answer]", strategies[type(workload)](workload, setting))


def _ask_cells(workload: CellWorkload, setting: Setting) -> Strategy[TableCounts]:
    """Ask for the count of every cell in one round, with the whole loss; return the counts.

    Args:
        workload: Axes of the table.
        setting: Loss and adjacency; without effect.

    Returns:
        Generator of one step, which returns the counts.
    """
    return TableCounts.from_last_release([(yield Step(CountQuery(workload.axes, CountUse.CELLS), WHOLE_BUDGET))])


def _ask_query(workload: SingleQueryWorkload, setting: Setting) -> Strategy[Release]:
    """Ask a workload that consists of one given query, in one round with the whole loss; return its release.

    Args:
        workload: The query.
        setting: Loss and adjacency; without effect.

    Returns:
        Generator of one step, which returns the release.
    """
    return (yield Step(workload.query, WHOLE_BUDGET))


ONE_ROUND_STRATEGIES: Mapping[type[Workload[Any]], StrategyFactory] = MappingProxyType(
    {
        CellWorkload: _ask_cells,
        PrefixWorkload: prefixes.count_once,
        CountsBelowWorkload: prefixes.count_below,
        QuantileSearchWorkload: prefixes.search_brackets,
        RankingWorkload: ranks.count_fixed_thresholds,
        ScoreGroupWorkload: ranks.ask_all_cells,
        TableWorkload: count_cells,
        CoverageWorkload: compare_intervals,
        SingleQueryWorkload: _ask_query,
        AutomaticRangeWorkload: range_search.refuse_range_search,
        AutomaticGridWorkload: range_search.refuse_range_search,
    }
)
"""Strategies by type of workload, under a trust model whose data holders answer a question once."""
ADAPTIVE_STRATEGIES: Mapping[type[Workload[Any]], StrategyFactory] = MappingProxyType(
    {
        **ONE_ROUND_STRATEGIES,
        PrefixWorkload: prefixes.count_adaptively,
        RankingWorkload: ranks.count_chosen_thresholds,
        ScoreGroupWorkload: ranks.ask_groups,
        TableWorkload: count_refined_cells,
        AutomaticRangeWorkload: range_search.search_and_count,
        AutomaticGridWorkload: range_search.search_range,
    }
)
"""Strategies by type of workload, under a trust model that can answer several rounds, of which later ones depend on
released counts."""
