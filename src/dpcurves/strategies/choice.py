"""Choice of the strategy of a workload; covers of a share of a grid; and questions by groups that nobody listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, TypeVar, cast

import numpy as np

from ..arguments import InvalidArgument, WrongArgumentType
from ..arrays import BoolArray, FloatArray
from ..conversation import (
    ALL,
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
from ..data import FAKES, Categories, SelectedCategories, UnlistedCategories
from ..histograms import Extent, RefinedGridEstimator
from ..laws.law import round_error
from ..queries import CountQuery, CountUse, CoverageQuery, PartitionSelectionQuery, Query, UniverseSelectionQuery
from . import prefixes, range_search, ranks


def compare_intervals(workload: CoverageWorkload, setting: Setting) -> Strategy[CoverageInterval]:
    """Ask for the interval itself, which is found by noisy comparisons."""
    release = yield Step(workload.query, ALL)
    (interval,) = release.values
    return CoverageInterval(release, interval, release.plan.law.alpha)


def count_intervals(workload: CoverageWorkload, setting: Setting) -> Strategy[CoverageInterval]:
    """Count the cells, and take the first interval whose unbiased count seems to cover the share.

    For who can add up, but not compare in private.

    Formal guarantees: those of the counts; the interval is read from released numbers, and from nothing else.
    """
    query = workload.query
    release = yield Step(CountQuery(query.axes, CountUse.PREFIXES), ALL)
    beyond = excess_weights(query) @ np.asarray(Evidence.from_release(release).unbiased_cells[0])
    reaches = [*(beyond + query.spare >= 0).tolist(), True]

    def alpha(beta: float) -> float:
        return comparison_error(release, query, beta)

    return CoverageInterval(release, reaches.index(True), alpha)


def mark_inside(query: CoverageQuery) -> BoolArray:
    """Mark the cells that lie in each interval but the last one, which is not compared."""
    slots = query.grid.slots
    farness = np.abs(np.arange(slots) - slots // 2)
    found: BoolArray = farness <= np.arange(query.intervals - 1)[:, None]
    return found


def excess_weights(query: CoverageQuery) -> FloatArray:
    """Weights of cells, (intervals, cells): by how many records each interval has more than the share of all."""
    return np.subtract(mark_inside(query), float(query.coverage), dtype=np.float64)


def comparison_error(release: Release, query: CoverageQuery, beta: float) -> float:
    """The largest error of a comparison that decided, in records, but for a chance of `beta`.

    With chance ``1 - beta`` at least the interval that is taken has no more than so many records too few, and the one
    before it not so many too many. *Proof.* Each comparison can be wrong by so much on one side alone, on which side
    depends on the records; errors are symmetric, and each is exceeded with a chance of ``beta`` over their number.

    Raises:
        ValueError: `beta` is not strictly between 0 and 1.
    """
    if not 0 < beta < 1:
        raise InvalidArgument("beta", f"a chance between 0 and 1 is needed, got {beta}")
    weights = excess_weights(query)
    law = Evidence.from_release(release).sums
    total = None if release.plan.adjacency.public_record_count is None else 0
    moved = law.reconstruct(np.eye(law.size), total)[0][:, 0]
    return round_error(float(law.bound_combined_noise(weights @ moved.T, beta / len(weights)).max()))


# Questions by groups that nobody listed: names of many units are found first, and the question is asked by them.


Question = TypeVar("Question")

FIND = Fraction(1, 4)
"""The share of the loss that finds the names; it has all of the delta."""


def build_category_query(unlisted: UnlistedCategories) -> Query:
    """The query that finds the names: under a delta, or in a universe."""
    return (
        PartitionSelectionQuery.from_column(unlisted.column)
        if unlisted.universe is None
        else UniverseSelectionQuery((unlisted,))
    )


def find_unlisted(question: object) -> UnlistedCategories | None:
    """The column of groups of a question that nobody listed, if there is one.

    Raises:
        ValueError: there are several.
    """
    found = [each for each in _by_columns(question) if isinstance(each, UnlistedCategories)]
    if len(found) > 1:
        raise InvalidArgument("by", "groups of one column can be found; list those of the others")
    return found[0] if found else None


def replace_unlisted(question: Question, unlisted: UnlistedCategories, names: tuple[str, ...]) -> Question:
    """Return a question by the groups that were found."""
    return replace_categories(question, unlisted, unlisted.to_selected_categories(names))


def replace_categories(question: Question, unlisted: UnlistedCategories, listed: Categories) -> Question:
    """Return a question by these groups of a column, in the place of groups that nobody listed."""
    by = tuple(listed if each is unlisted else each for each in _by_columns(question))
    asked: Any = question
    found: Question = replace(asked, by=by if isinstance(asked.by, tuple) else by[0])
    return found


def _by_columns(question: object) -> tuple[object, ...]:
    by = getattr(question, "by", None) if is_dataclass(question) else None
    return by if isinstance(by, tuple) else (by,)


def parse_names(release: Release) -> tuple[str, ...]:
    """The names that were told, in their order."""
    numbers = release.values[::2]
    return tuple(each.to_bytes((each.bit_length() + 7) // 8)[1:].decode() for each in numbers)


def describe_found_categories(release: Release, unlisted: UnlistedCategories, names: tuple[str, ...]) -> str:
    """Note on the number of groups that were found, and on the others."""
    return (
        f"groups of {unlisted.column} were found with {release.plan.loss}: {len(names)} are told, and all that few "
        f"have are together in {unlisted.to_selected_categories(names).values[-1]!r}"
    )


CERTAIN_Z = 8.0
"""Standard deviations of noise. Of Laplace noise, the widest of ours, it exceeds them with a probability of 6e-6."""


def describe_uncounted_categories(
    release: Release, unlisted: UnlistedCategories, least: Mapping[str, int]
) -> str | None:
    """Return a note on groups whose counts are 0 though units were found that have their names; None: there are none.

    A group is named if its count lies within `CERTAIN_Z` deviations of 0 and more than `CERTAIN_Z` of them below the
    number of units that have it at least. So if all records of a group are counted, it is named with a probability of
    at most 6e-6; in a universe, of at most 1e-5 more for all groups together.

    Args:
        release: Counts of a table of which one axis has the groups.
        unlisted: The column of the groups.
        least: The number of units that each of the groups has at least.
    """
    query = release.plan.query
    places = [at for at, axis in enumerate(query.axes) if isinstance(axis, SelectedCategories)]
    if not isinstance(query, CountQuery) or len(places) != 1 or places[0] == len(query.axes) - 1:
        return None
    evidence, (place,) = Evidence.from_release(release), places
    try:
        sums = evidence.sums
    except TypeError:  # counts of another trust model, which are no noisy sums
        return None
    shape = [axis.slots for axis in query.axes[:-1]]
    cells, _ = sums.reconstruct(np.asarray(release.values, dtype=np.float64), evidence.total)
    variances = sums.prefix_variances(evidence.total is not None)[:, -1]
    if len(cells) != np.prod(shape):
        return None
    others = tuple(at for at in range(len(shape)) if at != place)
    counts = cells.sum(axis=-1).reshape(shape).sum(axis=others)
    spread = CERTAIN_Z * np.sqrt(np.broadcast_to(variances, len(cells))).reshape(shape).sum(axis=others)
    groups = query.axes[place]
    names = groups.values[:-1] if isinstance(groups, SelectedCategories) else ()
    empty = [
        f"{name!r} (of at least {least[str(name)]} units)"
        for name, count, width in zip(names, counts.tolist(), spread.tolist(), strict=False)
        if count <= width and least.get(str(name), 0) > count + width
    ]
    if not empty:
        return None
    more = f" and {len(empty) - MOST_NAMED} more" if len(empty) > MOST_NAMED else ""
    return (
        f"groups of {unlisted.column} that were found, of which about no record is counted: "
        f"{', '.join(empty[:MOST_NAMED])}{more}; their records have no value that this question counts"
    )


MOST_NAMED = 5
"""Groups that a note names."""


def describe_category_price(loss: str, unlisted: UnlistedCategories) -> tuple[str, ...]:
    """The price of the names, before anything is charged."""
    if unlisted.universe is not None:
        return (
            f"no groups of {unlisted.column} are listed: {loss} finds those of many units among {unlisted.universe}, "
            f"and the rest of the loss asks by them; on average {FAKES} of a name that nobody has is told",
        )
    return (
        f"no groups of {unlisted.column} are listed: {loss} finds those of many units, and the rest of the loss asks "
        "by them; a group that nobody listed is told with at most the chance of that delta where one unit alone has it",
    )


def count_cells(workload: TableWorkload, setting: Setting) -> Strategy[EstimatedTable]:
    """Ask as the named estimator does; where none is named, once for the count of each cell, as it is."""
    if workload.estimator is not None:
        return (yield from workload.estimator.estimate_table(workload.axes, setting, ALL))
    release = yield Step(CountQuery(workload.axes, CountUse.CELLS), ALL)
    found, extent = Evidence.from_release(release), Extent.from_axes(workload.axes)
    cells, missing = found.sums.reconstruct(np.asarray(release.values, dtype=np.float64), found.total)
    table = cells.ravel()
    inside, outside = table[extent.inside].reshape(extent.shape), float(table[extent.outside].sum())
    return EstimatedTable(inside, outside, float(missing), (release,), has_shared_estimates=False)


def count_refined_cells(workload: TableWorkload, setting: Setting) -> Strategy[EstimatedTable]:
    """Ask as the named estimator does; where none is named, on blocks that are small where that tells more."""
    estimator = workload.estimator or RefinedGridEstimator()
    return (yield from estimator.estimate_table(workload.axes, setting, ALL))


# Choice of the strategy of a workload, for who can count once, and for who can count again on chosen cells.


Answer = TypeVar("Answer")
Made = Callable[[Any, Setting], Strategy[Any]]


def choose_one_round(workload: Workload[Answer], setting: Setting) -> Strategy[Answer]:
    """The strategy of a holder that counts once, on cells that are known beforehand: one turn, or threshold by
    threshold.

    Raises:
        TypeError: it is no workload of ours.
    """
    return _choose_strategy(AT_ONCE, workload, setting)


def choose_adaptive(workload: Workload[Answer], setting: Setting) -> Strategy[Answer]:
    """The strategy of a holder that keeps the records after an answer: several turns, where public facts say that they
    pay.

    Raises:
        TypeError: it is no workload of ours.
    """
    return _choose_strategy(ADAPTIVELY, workload, setting)


def _choose_strategy(
    ways: Mapping[type[Workload[Any]], Made], workload: Workload[Answer], setting: Setting
) -> Strategy[Answer]:
    if type(workload) not in ways:
        raise WrongArgumentType(
            "question", f"one of the workloads of dpcurves is needed, not a {type(workload).__name__}"
        )
    return cast("Strategy[Answer]", ways[type(workload)](workload, setting))


def _ask_cells(workload: CellWorkload, setting: Setting) -> Strategy[TableCounts]:
    return TableCounts.from_last_release([(yield Step(CountQuery(workload.axes, CountUse.CELLS), ALL))])


def _ask_query(workload: SingleQueryWorkload, setting: Setting) -> Strategy[Release]:
    return (yield Step(workload.query, ALL))


AT_ONCE: Mapping[type[Workload[Any]], Made] = MappingProxyType({
    CellWorkload: _ask_cells, PrefixWorkload: prefixes.count_once, CountsBelowWorkload: prefixes.count_below, QuantileSearchWorkload: prefixes.search_brackets, RankingWorkload: ranks.count_fixed_thresholds,
    ScoreGroupWorkload: ranks.ask_all_cells, TableWorkload: count_cells, CoverageWorkload: compare_intervals, SingleQueryWorkload: _ask_query,
    AutomaticRangeWorkload: range_search.refuse_range_search, AutomaticGridWorkload: range_search.refuse_range_search,
})  # fmt: skip
ADAPTIVELY: Mapping[type[Workload[Any]], Made] = MappingProxyType({
    **AT_ONCE, PrefixWorkload: prefixes.count_adaptively, RankingWorkload: ranks.count_chosen_thresholds, ScoreGroupWorkload: ranks.ask_groups, TableWorkload: count_refined_cells,
    AutomaticRangeWorkload: range_search.search_and_count, AutomaticGridWorkload: range_search.search_range,
})  # fmt: skip
