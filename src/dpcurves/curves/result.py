"""Base classes of results: repr, notes, HTML summary, plot, data frame, CSV, JSON, intervals; and notes as warnings.

A result is computed from releases, and keeps them: JSON contains the released numbers with the distribution of their
noise, and `from_json` computes the result again. A new result states its attributes, `_plot` and `_columns`; the base
classes derive everything else:

    `Result`           repr, notes
    `ReleasedResult`   + plot, to_frame, to_csv, to_excel, to_json, from_json, HTML
    `IntervalResult`   + intervals or bands, for these records and for the population, in all of these
    `CompositeResult`  a result made of other results

*Notes* state what a reader must know (clipped, missing or crowded values, wide bands), from released numbers alone, and
are also issued as a `CurveWarning`. A number is shown as unknown where noise alone may explain it.

Formal guarantees: post-processing of released numbers. Intervals are simulated with a fixed public seed, so the same
result shows the same interval each time.

>>> import dpcurves as dp
>>> ages = dp.histogram([20, 30, 40, 70] * 500, grid=dp.Grid(0, 100, cells=4), epsilon=100, adjacency=dp.ADD_REMOVE)
>>> result_from_json(ages.to_json()).count.tolist() == ages.count.tolist()
True
"""

from __future__ import annotations

import json
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, cached_property
from hashlib import sha256
from inspect import cleandoc, isabstract, isfunction, unwrap
from math import inf, isnan, sqrt
from pathlib import Path
from string import Formatter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypedDict, TypeVar, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import display
from ..arguments import InvalidArgument, check_public_methods, describe_value, require_probability, require_type
from ..arrays import FloatArray
from ..codec import JsonSchema, parse_attribute_docs
from ..conversation import Evidence, PrivacyStatement, Release
from ..conversation.notes import add_advice, find_rest_names, select_reader_notes
from ..data import Categories, Grid, MissingReason, OrderedAxis, Outside
from ..display import POPULATION, RECORDS, Shade, describe_interval, format_number
from ..drafts import write_whole
from ..extensions import load_results
from ..inference.known_numbers import ALL_POINTS, KNOWN_LEVEL, known_curve, known_values
from ..privacy import ReplaceOne
from ..summaries.two_classes import LEAST_MASS
from ..translation import current_reader, keep_names, translate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import CurveDocument


# What the notes warn about, from released counts: missing records, crowded end cells, rows that may be empty.


@dataclass(frozen=True)
class Tuning:
    """Thresholds of the notes on a curve."""

    reason_z: int = 5
    """Standard deviations of noise: the records that are missing for one reason are noted from this count on."""
    row_z: int = 3
    """Standard deviations of the noise of the sum of a row: below this, the row may be noise alone and its curve is
    unknown."""
    end_z: float = 8.0
    """Standard deviations of noise by which an end cell must exceed its expected count before a note warns that values
    may be clipped."""
    end_ratio: float = 3.0
    """Ratio to the expected count that an end cell must exceed as well, so that a smooth density that rises towards the
    end gives no note."""
    end_neighbours: int = 4
    """Cells next to an end cell, from which its expected count is extrapolated."""
    neighbour_z: float = 4.0
    """Standard deviations of noise: a smaller count of a neighbour counts as this much when it is divided by."""
    nearly_all: float = 0.95
    """Share of the records that counts as nearly all of them."""
    many_cells: int = 32
    """Cells: grids with at least this many are checked for records that lie in few cells."""
    few_cells: int = 5
    """Cells: a note warns that the grid is too wide if nearly all records lie in at most this many."""
    few_cells_z: float = 100.0
    """Records, in standard deviations of the noise of a count: with fewer, there is no note that records lie in few
    cells."""
    missing_z: int = 8
    """Least z-score of a count of missing records that is noted."""
    noted_share: float = 0.01
    """Share of the records: as many missing records, or records in an end cell, are noted; fewer hardly move a
    curve."""
    unknown_width: float = 0.5
    """Width of an interval of a share from which it is no information: without records each end is at most 1/2
    away."""
    most_simulated_points: int = 2**16 + 1
    """Points of a curve: bands and intervals of more are not simulated for plots and files, since that takes too
    long."""


TUNING = Tuning()
"""Thresholds from which results get notes, such as the width from which an interval tells nothing. Units and effects
stand at the fields of `Tuning`."""


def find_missing_share(evidence: Evidence) -> float:
    """Return the share of records without a value; 0 if they were not counted, or if noise alone may explain their
    count.

    Args:
        evidence: Released counts with the distribution of their noise.

    >>> from fractions import Fraction
    >>> from dpcurves.distributions import Family, Tier, IntervalSums, Noise
    >>> noise = Noise(Family.LAPLACE, Fraction(1))
    >>> distribution = IntervalSums(1, 2, (Tier(range(0, 2), noise),), missing=noise)
    >>> releases = [Evidence(distribution, values, total=None) for values in ((1, 2, 97), (90, 2, 8))]
    >>> [round(find_missing_share(evidence), 2) for evidence in releases]
    [0.97, 0.0]
    """
    counted = evidence.distribution.count_missing_and_present(evidence.values, evidence.total)
    noise = evidence.distribution.missing
    if counted is None or noise is None or counted[0] <= max(TUNING.missing_z * sqrt(noise.variance), 0.5):
        return 0.0
    missing, present = counted
    return missing / (missing + max(present, 0.0))


def find_empty_rows(evidence: Evidence) -> tuple[bool, ...]:
    """Return for each row of counts True if noise alone may explain the counts, so that the row may be empty.

    Args:
        evidence: Released counts with the distribution of their noise.

    >>> from fractions import Fraction
    >>> from dpcurves.distributions import Family, Tier, IntervalSums, Noise
    >>> distribution = IntervalSums(2, 2, (Tier(range(2), Noise(Family.LAPLACE, Fraction(1))),), missing=None)
    >>> find_empty_rows(Evidence(distribution, (40, 30, 2, -1), total=None))
    (False, True)
    """
    counts = evidence.unbiased_cells.sum(axis=1)
    noise = np.sqrt(evidence.sums.prefix_variances(evidence.total is not None)[:, -1])
    return tuple((counts < LEAST_MASS + TUNING.row_z * noise).tolist())


def find_crowded_end_cells(edges: FloatArray, below: FloatArray, noise: tuple[float, float]) -> tuple[float, float]:
    """Return the shares of the records in the first and the last cell; 0 for a cell that is not crowded.

    The expected count of an end cell comes from its four nearest neighbours: their largest density, times the ratio of
    the first two neighbours if counts fall from the first to the second, because they may have fallen as steeply
    before.

    Args:
        edges: Edges of the counted cells, shape ``(cells + 1,)``, increasing.
        below: Unbiased counts of records below each edge, shape ``(cells + 1,)``.
        noise: Standard deviations of the noise of the first and of the last cell.

    >>> edges = np.arange(7.0)
    >>> find_crowded_end_cells(edges, np.array([0.0, 10, 20, 30, 40, 50, 90]), (0.0, 0.0))
    (0.0, 0.4444444444444444)
    >>> find_crowded_end_cells(edges, np.array([0.0, 810, 900, 910, 911, 912, 913]), (0.0, 0.0))
    (0.0, 0.0)
    """
    total = float(below[-1] - below[0])
    if len(edges) < 4 or total <= 0:
        return 0.0, 0.0
    first = _find_excess(edges, below, noise[0])
    last = _find_excess(-edges[::-1], -below[::-1], noise[1])
    return (
        first / total if first >= TUNING.noted_share * total else 0.0,
        last / total if last >= TUNING.noted_share * total else 0.0,
    )


def _find_excess(edges: FloatArray, below: FloatArray, noise: float) -> float:
    """Return the count of the first cell if it significantly exceeds what its neighbours predict, else 0.

    Args:
        edges: Edges of the counted cells, shape ``(cells + 1,)``, increasing.
        below: Unbiased counts of records below each edge, up to a constant, shape ``(cells + 1,)``.
        noise: Standard deviation of the noise of the count.
    """
    count = np.diff(below[: TUNING.end_neighbours + 2])
    width = np.diff(edges[: TUNING.end_neighbours + 2])
    inner = (count / width)[1 : len(edges) - 2]  # not the cell at the other end
    expected = max(float(inner.max()), 0.0) * width[0]
    # 1e-300 replaces a divisor of 0
    smallest = max(float(inner[-1 if len(inner) < 2 else 1]), TUNING.neighbour_z * noise / width[1], 1e-300)
    expected *= max(inner[0] / smallest, 1.0)
    return float(count[0]) if count[0] > TUNING.end_ratio * expected + TUNING.end_z * noise else 0.0


def require_label_mappings(columns: object, categories: object) -> None:
    """Raise `WrongArgumentType` unless new names of columns, and of categories by column, are given as mappings.

    Args:
        columns: New names by column.
        categories: New labels by category, by column; None: labels stay.
    """
    require_type("columns", columns, Mapping, "a mapping of columns to names, as in {'sex': 'Sex'},")
    if categories is not None:
        nested = "a mapping of columns to labels, as in {'sex': {'F': 'women'}},"
        require_type("categories", categories, Mapping, nested)
        for labels in categories.values():  # type: ignore[attr-defined]
            require_type("categories", labels, Mapping, nested)


@contextmanager
def refuse_damaged() -> Iterator[None]:
    """Context manager around code that reads a stored curve: errors of arithmetic, attributes, look-ups and types in
    the block become `InvalidArgument`, with the message that the text is damaged.

    Raises:
        ValueError: the code inside failed to read the text.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError):
        raise InvalidArgument(
            "curve",
            "the stored releases are damaged, or do not fit together: use the text that to_json wrote",
        ) from None


# Bands and intervals, for these records and for the population that they were drawn from.


RECORDS_ONLY_NOTE = "all intervals are for these records, not for the population: a unit may have several records"
"""Note, or error message, if intervals for the population are asked for where a unit may have several records, which
are not an independent sample."""
SUMMARY_LEVEL = 0.95
"""Probability of the intervals in HTML summaries, and of the band whose width decides whether a note calls a curve
unknown."""
INDIVIDUAL_INTERVAL = "individual interval"
"""Label of intervals each of which holds with the stated probability, but not all at once."""
SCOPES: Mapping[str, bool] = MappingProxyType({RECORDS: False, POPULATION: True})
"""Both scopes of intervals by their words in legends; true for the population."""
ONLY_RECORDS: Mapping[str, bool] = MappingProxyType({RECORDS: False})
"""Scopes if no intervals for the population are asked for or possible."""


def name_ends(name: str, limits: Mapping[bool, Sequence[Any]]) -> dict[str, Any]:
    """Return the ends of an interval by the column that they have in a table of key numbers
    (`ReleasedResult.key_columns`).

    Args:
        name: The column of the number.
        limits: Lower and upper end, for these records (False) and for the population (True).

    >>> name_ends("median", {False: (3, 5), True: (2, 6)})
    {'median_lower': 3, 'median_upper': 5, 'median_lower_population': 2, 'median_upper_population': 6}
    """
    columns = {}
    for of_population, (lower, upper) in limits.items():
        scope = "_population" if of_population else ""
        columns[f"{name}_lower{scope}"] = lower
        columns[f"{name}_upper{scope}"] = upper
    return columns


class IntervalLimits(Protocol):
    """A function that returns the lower and upper ends of a band or of intervals."""

    def __call__(self, level: float, /, *, population: bool) -> tuple[ArrayLike, ArrayLike] | NDArray[np.float64]:
        """Return the ends at this level, for these records or for the population."""
        ...


def limits_from_intervals(intervals: Callable[..., NDArray[np.float64]], **always: Any) -> IntervalLimits:
    """Return a function of level and population that gives interval ends as two rows, (2, points).

    Args:
        intervals: Function that gives the same ends as pairs, (points, 2).
        always: Further arguments of `intervals`.
    """

    def compute_limits(level: float, /, *, population: bool) -> NDArray[np.float64]:
        """Return the ends of the intervals at this confidence level as two rows, lower ends first.

        Args:
            level: Confidence level, between 0 and 1.
            population: Whether the limits are for the population, not for these records.

        Returns:
            Array of shape (2, points), lower ends first.
        """
        return intervals(level, population=population, **always).T

    return compute_limits


def interval_scopes(privacy: PrivacyStatement, *, population: bool = True) -> Mapping[str, bool]:
    """Return for whom a curve has intervals: these records, and, if requested and each unit is one record, the
    population.

    Args:
        privacy: Privacy statement, which has the number of records of a unit.
        population: Whether intervals for the population are requested.

    Returns:
        Whether a scope is the population, by the name of the scope in legends; these records come first.
    """
    return SCOPES if population and privacy.rows_per_unit == 1 else ONLY_RECORDS


# Notes that warn the reader of a curve, from released numbers alone.


PACKAGE_FOLDER = str(Path(__file__).parents[1])
"""Folder of this package. A warning names the first caller outside of it, which is the user's line."""
UNINFORMATIVE_RELEASE = "this release says next to nothing"
"""Part of the notes that say that a release tells almost nothing; a result with one gets no second one."""
NO_CATEGORY = f"no category has more records than noise alone may give: {UNINFORMATIVE_RELEASE} of them"
"""Note on counts by category of which neither a single one nor the sum stands out from the noise."""
ALL_UNKNOWN_NOTE = f"every interval holds all possible values: {UNINFORMATIVE_RELEASE}"
"""Note on a picture if noise leaves every number of it open, so that all intervals are as wide as possible."""
WIDE_INTERVAL_NOTE = f"is wider than {TUNING.unknown_width:g}"
"""Part of the notes on bands and intervals that are wider than `Tuning.unknown_width`."""
NARROWER_GRID_ADVICE = (
    'ask with outside="apart" (--outside apart), which counts these by themselves; if there are many, the grid is too '
    "narrow"
)
"""End of the notes on many records in an end cell, which also holds all values beyond the grid."""


class CurveWarning(UserWarning):
    """A note on a curve: clipped, missing, synthetic or simulated values, as far as released numbers show them.

    `curve.notes`, plots and JSON have all notes. To silence these warnings, use ``warnings.simplefilter("ignore",
    dpcurves.CurveWarning)``.
    """


def notes_on_missing(releases: Iterable[Release]) -> tuple[str, ...]:
    """Return a note on the share of missing records if it is at least `Tuning.noted_share`.

    Args:
        releases: Releases of a question. If several count missing records of the same columns, the release with the
            least noise decides; rehearsals are skipped.

    Returns:
        One note, and reasons if they are released; () if few records are missing.
    """
    # Several queries may count missing records of the same columns: the count with the least noise decides.
    best_releases: dict[tuple[str, ...], tuple[float, Release]] = {}
    for release in releases:
        query = release.plan.query
        noise = release.plan.distribution.missing
        if release.allotment is None or not query.tells_missing or noise is None:
            continue
        columns = tuple(str(getattr(axis, "column", axis)) for axis in query.axes)
        if columns not in best_releases or noise.variance <= best_releases[columns][0]:
            best_releases[columns] = noise.variance, release
    if not best_releases:
        return ()

    # One note is enough: it is about the columns with the largest share.
    shares = [
        (find_missing_share(Evidence.from_release(candidate)), candidate) for _, candidate in best_releases.values()
    ]
    share, release = max(shares, key=lambda share_and_release: share_and_release[0])

    # Records that fail a filter are counted as missing if the number of records is public, so a large number is
    # expected.
    has_filtered_rows = bool(release.plan.query.where) and isinstance(release.plan.adjacency, ReplaceOne)
    if share < (TUNING.nearly_all if has_filtered_rows else TUNING.noted_share):
        return ()
    if has_filtered_rows:
        return (
            f"nearly all records (about {share:.0%}, by the released count) fail the filter, or are missing in the "
            "columns of the question",
        )
    order = notes_on_order(release)
    reasons = notes_on_reasons(release) or order
    if share < TUNING.nearly_all or order:
        return (
            f"about {share:.0%} of the records are missing, by the released count; numbers leave them out",
            *reasons,
        )
    return (
        f"nearly all records are missing (about {share:.0%}, by the released count): their values in the columns of "
        "the question are no numbers, or none of the declared labels",
        *reasons,
    )


def notes_on_reasons(release: Release) -> tuple[str, ...]:
    """Return a note with the reasons why records are missing, most frequent first, each with its share of the missing
    records.

    Args:
        release: A release, which may have counts of reasons.

    Returns:
        One note; () if the release has no counts of reasons, or none exceeds its noise.
    """
    noise = release.plan.reasons
    if noise is None or not release.reasons:
        return ()
    counts = dict(zip(MissingReason, release.reasons, strict=True))
    smallest = max(TUNING.reason_z * sqrt(noise.variance), 0.5)
    missing = max(float(release.values[-1]), *release.reasons, 1.0)
    reasons = [
        f"about {min(count / missing, 1.0):.0%} {reason.description}"
        for reason, count in sorted(counts.items(), key=lambda item: -item[1])
        if count > smallest and count >= TUNING.noted_share * missing
    ]
    if not reasons:
        return ()
    fact = f"of the missing records, by released counts: {'; '.join(reasons)}"
    has_text = any(MissingReason.NO_NUMBER.description in reason for reason in reasons)
    advice = (
        "of text instead of a number see --decimal and --dates; 34% or 5 kg is text: write the number alone; "
        "labels are counted, by declared categories, with dp.bar_chart (dpcurves bars; dp_bar_chart in SQL)"
    )
    return (add_advice(fact, advice) if has_text else fact,)


def notes_on_order(release: Release) -> tuple[str, ...]:
    """Return a note that records whose two times are out of order are among the missing ones, for a release of two
    times.

    Args:
        release: A release, which may be about two columns of times.

    Returns:
        One note; () if the release compares no two times.
    """
    axis = next((axis for axis in release.plan.query.axes if isinstance(axis, OrderedAxis)), None)
    if axis is None:
        return ()
    fact = f"records whose '{axis.earlier}' is not before '{axis.later}' count as missing"
    if axis.allows_equal:
        fact = f"records whose '{axis.earlier}' is after '{axis.later}' count as missing"
    advice = "check whether both columns are swapped, or count from different days or in different units"
    return (add_advice(fact, advice),)


def notes_on_dependence(privacy: PrivacyStatement) -> tuple[str, ...]:
    """Return a note if intervals for the population assume independent records, though a unit may have several.

    Args:
        privacy: Privacy statement, which has the number of records of a unit.

    Returns:
        One note; () if each unit has one record.
    """
    if privacy.rows_per_unit == 1:
        return ()
    return (
        f"sampling errors assume independent records, though each {privacy.unit} may have {privacy.rows_per_unit}: if "
        "these are alike, sampling errors are larger, and p-values smaller, than they should be",
    )


def notes_on_end_cells(
    grid: Grid, known: NDArray[np.int64], below: FloatArray, evidence: Evidence, scale: float = 1.0
) -> tuple[str, ...]:
    """Return a note for each end cell that holds more records than its neighbours predict.

    Args:
        grid: The grid of the cells.
        known: Indices of the edges whose counts were released, not interpolated.
        below: Unbiased counts of records below each of these edges.
        evidence: The release.
        scale: The number of released units that make one record.
    """
    if grid.outside is Outside.APART or len(known) < 4:
        return ()
    first, last = evidence.sums.end_cell_deviations(evidence.total is not None)
    return notes_on_crowded_ends(grid, known, below, (first / scale, last / scale))


def notes_on_crowded_ends(
    grid: Grid, known: NDArray[np.int64], below: FloatArray, noise: tuple[float, float]
) -> tuple[str, ...]:
    """Return notes on a first or last cell that holds more records than its neighbours predict, which suggests a grid
    too narrow.

    Args:
        grid: Grid of the curve.
        known: Indices of the counted edges, ascending.
        below: Unbiased counts below these edges, (known edges,).
        noise: Standard deviations of the noise of the first and of the last cell.

    Returns:
        At most a few sentences, first cell first; () if values outside are counted apart or fewer than four edges are
        known.
    """
    if grid.outside is Outside.APART or len(known) < 4:
        return ()
    edges = grid.edges
    # An end cell that was not counted apart from its neighbours cannot be compared with them.
    counted_alone = known[1] == 1, known[-2] == grid.cells - 1
    notes = []
    if grid.values is not None:
        end_noise = noise[0] if counted_alone[0] else inf, noise[1] if counted_alone[1] else inf
        return _notes_on_end_values(grid.values, *find_crowded_end_cells(edges[known], below, end_noise))
    is_single = edges[1:] == np.nextafter(edges[:-1], np.inf)
    if is_single.any():  # cells of one value cannot be crowded or too narrow: the other cells show the density
        return _notes_on_split_cells(grid, known, below, (noise[0], noise[1]), is_single)
    first, last = find_crowded_end_cells(
        edges[known], below, (noise[0] if counted_alone[0] else inf, noise[1] if counted_alone[1] else inf)
    )
    notes += _notes_on_few_cells(grid, known, below, max(noise))
    if first:
        cell = f"below {format_number(edges[1])}), which also holds all values below {format_number(edges[0])}"
        notes.append(add_advice(f"{first:.0%} of the records lie in the first cell ({cell}", NARROWER_GRID_ADVICE))
    if last:
        cell = f"{format_number(edges[-2])} and above), which also holds all values above {format_number(edges[-1])}"
        notes.append(add_advice(f"{last:.0%} of the records lie in the last cell ({cell}", NARROWER_GRID_ADVICE))
    return tuple(notes)


def _notes_on_split_cells(
    grid: Grid, known: NDArray[np.int64], below: FloatArray, noise: tuple[float, float], is_single: NDArray[np.bool_]
) -> tuple[str, ...]:
    """Return notes on the ends of a grid in which single values have cells.

    Where an end of the grid is such a value, the outermost cell holds only values beyond the grid.

    Args:
        grid: The grid of the cells.
        known: Indices of the counted edges, ascending, shape ``(edges,)``.
        below: Counts of records below these edges, shape ``(edges,)``.
        noise: Standard deviations of the counts of the first and of the last cell.
        is_single: True for cells that hold a single value, shape ``(cells,)``.
    """
    edges = grid.edges
    below = np.maximum.accumulate(below)
    counts = np.diff(below)
    wide = np.diff(np.append(0, np.cumsum(~is_single))[known]) > 0
    total = float(below[-1] - below[0])

    # Crowding is judged on the cells that span a range: a cell of a single value is full on heaped data anywhere.
    ends = np.append(edges[known[:-1]][wide], edges[known[-1]])
    wide_below = np.append(0.0, np.cumsum(counts[wide]))
    crowded = (0.0, 0.0)
    if wide_below[-1] > 0 and total > 0:
        shares = find_crowded_end_cells(ends, wide_below, noise)
        crowded = shares[0] * wide_below[-1] / total, shares[1] * wide_below[-1] / total

    notes = []
    for side, crowding in enumerate(crowded):
        is_single_value = bool(is_single[-side])
        is_counted_alone = known[-2] == grid.cells - 1 if side else known[1] == 1
        outermost = float(counts[-side])
        is_clear = total > 0 and outermost > TUNING.end_z * noise[side]
        share = crowding
        if is_single_value:
            share = outermost / total if is_clear else 0.0
        if not is_counted_alone or share < TUNING.noted_share:
            continue
        inner_edge, outer_edge = (edges[-2], edges[-1]) if side else (edges[1], edges[0])
        inner = format_number(inner_edge)
        outer = format_number(outer_edge)
        beyond = "above" if side else "below"
        if is_single_value:
            notes.append(add_advice(f"{share:.0%} of the records lie {beyond} {inner}", NARROWER_GRID_ADVICE))
        else:
            cell = f"{inner} and above" if side else f"below {inner}"
            end_cell = f"{'last' if side else 'first'} cell ({cell}), which also holds all values {beyond} {outer}"
            notes.append(add_advice(f"{share:.0%} of the records lie in the {end_cell}", NARROWER_GRID_ADVICE))
    of_wide = np.append(0, np.cumsum(~is_single))
    return (*_notes_on_few_cells(grid, known, below, max(noise), of_wide), *notes)


def _notes_on_few_cells(
    grid: Grid, known: NDArray[np.int64], below: FloatArray, noise: float, wide: NDArray[np.int64] | None = None
) -> list[str]:
    """Return a note if nearly all records lie in a few neighbouring cells of many.

    Args:
        grid: Grid of the curve.
        known: Indices of the counted edges.
        below: Unbiased counts below these edges.
        noise: Standard deviation of the noise of a count.
        wide: Number of cells with more than one value below each edge. Then only these cells count, because one value
            may hold nearly all records on a good grid. None: all cells count.
    """
    below = np.maximum.accumulate(below)  # noise may make it fall; counts of records never do
    total = float(below[-1] - below[0])
    cells = grid.cells if wide is None else int(wide[-1])
    number = known if wide is None else wide[known]
    if cells < TUNING.many_cells or total < TUNING.few_cells_z * max(noise, 1.0):
        return []
    ends = np.searchsorted(below, below + TUNING.nearly_all * total)
    widths = np.where(ends < len(known), number[np.minimum(ends, len(known) - 1)] - number, cells)
    first = int(np.argmin(widths))
    if not 0 < widths[first] <= TUNING.few_cells:
        return []
    low, high = grid.edges[known[first]], grid.edges[known[ends[first]]]
    fact = (
        f"nearly all records lie in {widths[first]} of {cells} cells, from {format_number(low)} to "
        f"{format_number(high)}"
    )
    return [add_advice(fact, "choose a grid with small cells there, as Grid.geometric(...) (--grid geometric:L:U:N)")]


def _notes_on_end_values(values: FloatArray, first: float, last: float) -> tuple[str, ...]:
    """Return a note for each end of declared values that has more records than its neighbours predict.

    Args:
        values: The declared values.
        first: Share of the records at the first value; 0 without excess.
        last: Share of the records at the last value; 0 without excess.
    """
    ends = (
        (first, f"the first value, {format_number(values[0])}", "below"),
        (last, f"the last, {format_number(values[-1])}", "above"),
    )
    return tuple(
        add_advice(
            f"{share:.0%} of the records are read as {name}, with any that lie {side} it",
            "outside=Outside.APART (--outside apart) counts these by themselves",
        )
        for share, name, side in ends
        if share
    )


def notes_on_width(widths: FloatArray, where: str, mostly: str = "") -> tuple[str, ...]:
    """Return a note if a curve of shares is unknown: all its intervals, or its band everywhere, exceed
    `Tuning.unknown_width`.

    Without any records every share lies between 0 and 1, and the middle of that is off by a half at most.

    Args:
        widths: Widths of the intervals, or of the band at each point.
        where: Subject of the note, such as "the band at every time".
        mostly: Subject of the note if only most of the widths exceed `Tuning.unknown_width`; empty: no note then.

    >>> notes_on_width(np.array([0.2, 0.9]), "the band at every time")
    ()
    """
    if mostly and len(widths) and float(widths.min()) <= TUNING.unknown_width < float(np.median(widths)):
        return (f"{mostly} {WIDE_INTERVAL_NOTE}: there are too few records for this loss to show much of the curve",)
    if not len(widths) or float(widths.min()) <= TUNING.unknown_width:
        return ()
    return (f"{where} {WIDE_INTERVAL_NOTE}: {UNINFORMATIVE_RELEASE} about the curve",)


def notes_on_classes(release: Release, labels: Categories) -> tuple[str, ...]:
    """Return a note that names the classes whose released count noise alone may explain; none for rehearsals.

    Args:
        release: Release of counts by class.
        labels: The two or more classes, in the order of the counts.

    Returns:
        One note; () if all classes are significant or the release is a rehearsal.
    """
    if release.allotment is None:
        return ()
    empty = find_empty_rows(Evidence.from_release(release).as_cell_counts(len(labels.values)))
    names = [
        f"{argument} {describe_value(value)}"
        for argument, value in zip(labels.argument_names, labels.values, strict=True)
    ]
    empty_classes = " and of ".join(name for name, is_empty in zip(names, empty, strict=True) if is_empty)
    if not empty_classes:
        return ()
    advice = (
        f'does {labels.column!r} use other labels? If so, name both, as in pos_label="yes", neg_label="no" '
        "(--pos-label yes --neg-label no); if not, noise hides these records at this loss"
    )
    return (add_advice(f"records of {empty_classes} cannot be told from none, by the released counts", advice),)


def warn_about_notes(curve: Any, already_shown: Sequence[str] = ()) -> None:
    """Issue a `CurveWarning` for each note of a result, attributed to the user's line that called this package.

    Args:
        curve: Result with `notes`.
        already_shown: Notes that were issued before, which are skipped.
    """
    notes: Sequence[str] = getattr(curve, "notes", ())
    for note in notes:
        if note not in already_shown:
            warnings.warn(note, CurveWarning, stacklevel=_count_package_frames() + 1)


def _count_package_frames() -> int:
    """Return the number of stack frames within the package, beginning with the caller of this function."""
    levels = 0
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE_FOLDER):
        levels, frame = levels + 1, frame.f_back  # type: ignore[assignment]
    return levels


Made = TypeVar("Made")


class Result:
    """A curve, or a number, computed from releases: it prints as one line, and has notes."""

    remaining_budget: ClassVar[str] = ""
    """Budget that was left when a session answered, for the HTML summary; empty: unknown."""

    if TYPE_CHECKING:

        @property
        def privacy(self) -> PrivacyStatement:
            """The privacy statement of the result."""
            ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the numbers of the result, one line each, written from released numbers alone."""
        return self.privacy.notes

    def __repr__(self) -> str:
        short = (display.format_label(fact, 120) for fact in self._repr_facts())  # characters of a fact
        facts = (*short, self.privacy.loss, self.privacy.adjacency)
        return f"{type(self).__name__}({', '.join(facts)})"

    def _repr_facts(self) -> tuple[str, ...]:
        """Return the texts between the name and the loss in the one-line repr."""
        return ()


RULES_BY_ANNOTATION = {
    "FloatArray": display.COLUMN, "IntArray": display.COLUMN, "float": display.NUMBER, "int": display.NUMBER,
    "str": display.TEXT, "dict[str, float]": display.BY_NAME,
}  # fmt: skip
"""JSON Schema rules of a result's attributes by their type annotations, for attributes without a rule of their own."""


def _describe_attribute(kind: type[Any], name: str) -> tuple[str, str]:
    """Return the type annotation of an attribute, and the first paragraph of its documentation, for the JSON schema.

    Args:
        kind: Class that has the attribute.
        name: Name of the attribute, property or field.

    Returns:
        The annotation and the description; an empty text for each that is missing.
    """
    annotation, description = "", ""
    for base in kind.__mro__:
        attribute = vars(base).get(name)
        getter = getattr(attribute, "fget", None) or getattr(attribute, "func", None)
        annotation = annotation or vars(base).get("__annotations__", {}).get(name, "")
        description = description or parse_attribute_docs(base).get(name, "")
        if getter is not None:
            description = description or cleandoc(getter.__doc__ or "").partition("\n\n")[0].replace("`", "")
            return getter.__annotations__["return"], description
    return annotation, description


class _ResultFormatter(Formatter):
    """Format templates whose fields are attributes of a result; ``!n`` writes a number as `format_number` does."""

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Look up the attribute of the result that a field of the template names.

        Args:
            key: Name of the attribute.
            args: Tuple of the result alone.
            kwargs: Not used.
        """
        return getattr(args[0], str(key))

    def convert_field(self, value: Any, conversion: Any) -> Any:
        """Return a number as text for the conversion ``!n``.

        Args:
            value: Attribute of the result.
            conversion: Letter after ``!`` in the template; other letters have Python's meaning, None leaves the value
                as it is.
        """
        return format_number(value) if conversion == "n" else super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> Any:
        """Return the value of a field as text in the template's format; NaN becomes "not known" in every format.

        Args:
            value: Attribute of the result.
            format_spec: Format after ``:`` in the template, as in Python.
        """
        is_unknown = isinstance(value, float) and isnan(value)
        return format_number(value) if is_unknown else super().format_field(value, format_spec)


class PlotArguments(TypedDict):
    """Arguments of every plot: privacy statement below it, axes, and name in the legend."""

    privacy: PrivacyStatement
    ax: Axes | None
    name: str | None


class ReleasedResult(Result, ABC):
    """Base of results: derives repr, summary, data frame, JSON and plot from class attributes.

    Attributes:
        KIND: The name of its form in the published schema, which consists of `COLUMNS` or `ARRAYS`, and `JSON_SCHEMAS`.
        SIZE: Size of the picture in the HTML summary, in inches.
        TITLE: Title of the HTML summary: a template, as all texts here, whose fields are attributes of the result.
        REPR_FACTS: Middle of the one-line repr: the column, and numbers of cells, points or records.
        SUMMARY: Rows of the HTML summary.
        COLUMNS: Attributes that are columns of the data frame; ``column=attribute`` if the names differ.
        ARRAYS: Attributes that its JSON has; empty: the columns.
        JSON_SCHEMAS: JSON Schema rules of attributes that are no numbers, or no arrays of one length; and of further
            parts of its JSON.
        OPTIONAL_ARRAYS: Attributes that some documents lack.
        IS_ADDITIVE: True if results of disjoint records add up: see `ByCategory.sum_over`.
        SUPPRESSIBLE_COLUMNS: Columns of counts or sums that may be suppressed; the intervals belong to the first.
        AXIS_COLUMNS: Columns of edges along the axis of its `label`: files write dates there if the axis has dates.
        DISTINGUISHING_FACT: A fact of the question that only its documents have, among documents of its kind; empty: no
            fact distinguishes them.
        COLUMN_WORDS: Title (a template) and format of each column except columns of the user's labels and of interval
        ends. KEY_WORDS: Title and format of the `key_columns`.
        ROW_WORDS: Words for the short names of numbers in the rows of a list.

    >>> import dpcurves as dp
    >>> curve = dp.cdf([3, 5, 8] * 1000, grid=dp.Grid(0, 10, cells=64), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> dp.CDF.from_json(curve.to_json()).to_frame().equals(curve.to_frame())
    True
    """

    KIND: ClassVar[str]
    SIZE: ClassVar[tuple[float, float]] = display.LANDSCAPE
    TITLE: ClassVar[str]
    REPR_FACTS: ClassVar[str] = ""
    SUMMARY: ClassVar[tuple[tuple[str, str], ...]] = ()
    COLUMNS: ClassVar[tuple[str, ...]] = ()
    ARRAYS: ClassVar[tuple[str, ...]] = ()
    JSON_SCHEMAS: ClassVar[Mapping[str, JsonSchema]] = MappingProxyType({})
    OPTIONAL_ARRAYS: ClassVar[tuple[str, ...]] = ()
    IS_ADDITIVE: ClassVar[bool] = False
    SUPPRESSIBLE_COLUMNS: ClassVar[tuple[str, ...]] = ()
    AXIS_COLUMNS: ClassVar[tuple[str, ...]] = ()
    DISTINGUISHING_FACT: ClassVar[str] = ""
    COLUMN_WORDS: ClassVar[Mapping[str, display.ColumnWords]] = MappingProxyType({})
    KEY_WORDS: ClassVar[Mapping[str, display.ColumnWords]] = MappingProxyType({})
    ROW_WORDS: ClassVar[Mapping[str, str]] = MappingProxyType({})

    if TYPE_CHECKING:

        @property
        def evidence(self) -> Any:
            """The release, or a tuple of releases, that the result was computed from."""
            ...

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        check_public_methods(cls)
        if vars(cls).get("KIND", display.CURVES_FIELD) != display.CURVES_FIELD:
            display.CURVE_SCHEMAS[cls.KIND] = cache(cls.json_schema)

    @classmethod
    def json_schema(cls) -> JsonSchema:
        """Return the JSON Schema of the numbers in a result of this class; descriptions are taken from docstrings."""
        properties = {}
        for name in dict.fromkeys((*(cls.ARRAYS or cls.COLUMNS), *cls.JSON_SCHEMAS)):
            kind, description = _describe_attribute(cls, name)
            properties[name] = {"description": description, **(cls.JSON_SCHEMAS.get(name) or RULES_BY_ANNOTATION[kind])}
        required = [name for name in properties if name not in cls.OPTIONAL_ARRAYS]
        return {"description": parse_attribute_docs(cls).get("", ""), "required": required, "properties": properties}

    def plot(self, ax: Axes | None = None, *, name: str | None = None, style: str | None = None) -> Axes:
        """Plot the result; return the axes. A new figure has a title. Costs no budget.

        Args:
            ax: The axes to plot on; None: a new figure.
            name: Name in the legend.
            style: ``"paper"``, ``"slides"`` or ``"dark"``; None: matplotlib's settings.

        Raises:
            ValueError: the style is unknown.
        """
        with display.use_style(style, ax), self._keep_user_words([name] if name else []):
            axes = self._plot((), privacy=self.privacy, ax=ax, name=name)
            return self._finish_plot(axes, self._title(), ax, name)

    def with_source(self, source: str) -> Self:
        """Return this result with the name and version of its data, which plots and files then show.

        A hash of the releases is appended, so that a plot and a file of one release can be matched. The hash does not
        include the data: a hash of a table that is known up to one record would reveal that record.

        Args:
            source: A public text such as ``"Flights, version 2"``: up to 200 printable characters.

        Raises:
            ValueError: the source is empty, too long, or has characters that do not print.
        """
        return self._with_source(f"{check_source(source)} (release {self.release_hash[:16]})")

    @property
    def release_hash(self) -> str:
        """SHA-256 of the releases as canonical JSON: 64 hexadecimal digits, equal for equal releases."""
        releases = [evidence.to_json() for evidence in self._all_evidence()]
        return sha256(json.dumps(releases, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def _all_evidence(self) -> Iterator[Evidence]:
        """Yield all releases of the result, and of results inside it."""
        yield from self.rounds

    def with_labels(
        self, columns: Mapping[str, str], categories: Mapping[str, Mapping[str, str]] | None = None
    ) -> Self:
        """Return this result with readable labels in the place of names of columns and categories.

        Plots, tables, files and JSON show the labels. A category without a label keeps its name. Costs no budget.

        Args:
            columns: Labels by the names of columns.
            categories: Labels of categories by their columns; numbers are named as they print.

        Raises:
            ValueError: two categories have one label.
        """
        require_label_mappings(columns, categories)
        label = getattr(self, "label", None)
        if not isinstance(label, str) or not is_dataclass(self):
            return self
        name = next((column for column in columns if label == column or label.startswith(f"{column} (")), None)
        if name is None:
            return self
        new_label = columns[name] + label.removeprefix(name)
        return cast("Self", replace(cast("Any", self), label=new_label))

    def _with_source(self, source: str) -> Self:
        """Return this result with `source` in its privacy statement."""
        return cast("Self", _set_source(self, source))

    def to_frame(self) -> Any:
        """Return the numbers as a data frame, of pandas or of the data frame library that is installed."""
        return display.to_frame(dict(self._columns()))

    def to_csv(
        self,
        path: str | Path,
        *,
        level: float = 0.95,
        population: bool = True,
        suppress: float | None = None,
        raw: bool = False,
    ) -> None:
        """Write the numbers of `to_frame` and the ends of their intervals as CSV with a header line.

        Columns ``lower`` and ``upper`` are for these records, ``lower_population`` and ``upper_population`` for the
        population; a result without intervals has neither. An unknown number is an empty cell. Dates and times are in
        ISO 8601, times in UTC; `to_frame` has them as numbers since 1970.

        Args:
            path: The file.
            level: The confidence level of bands and intervals.
            population: Whether ends for the population are written as well.
            raw: Write text unchanged. Otherwise an apostrophe is put before a name or label that begins with ``=``,
                ``+``, ``-``, ``@``, a tab or a line break, which a spreadsheet would run as a formula.
            suppress: None: all numbers are written. Otherwise a number is written as ``..``, with its ends, if the
                width of its interval for these records exceeds this fraction of the number. The rule uses released
                numbers alone. It adds no protection: it spares readers numbers that are mostly noise. JSON keeps them.

        Raises:
            ValueError: `suppress` is not above 0, or the result has no counts or sums with intervals.
        """
        text = self.to_csv_text(level=level, population=population, suppress=suppress, raw=raw)
        write_whole(path, text)

    def to_csv_text(
        self, *, level: float = 0.95, population: bool = True, suppress: float | None = None, raw: bool = False
    ) -> str:
        """Return the text that `to_csv` writes: a header line, then one line per row, with numbers and ends of
        intervals.

        Args:
            level: The confidence level of bands and intervals.
            population: Whether ends for the population are written as well.
            suppress: Largest width of an interval as a fraction of its number; wider ones are written as ``..``. None:
                all are written.
            raw: Write text unchanged, without an apostrophe before names that a spreadsheet would run as a formula.

        Raises:
            ValueError: `suppress` is given, and the result has no counts or sums with intervals.
        """
        columns = self.columns_with_intervals(level=level, population=population, suppress=suppress)
        rows = max(map(len, columns.values()), default=0)
        source_column = {"data": np.full(rows, self.privacy.source)} if self.privacy.source else {}
        return display.csv_text({**columns, **source_column}, raw=raw)

    def to_excel(
        self, path: str | Path, *, level: float = 0.95, population: bool = True, suppress: float | None = None
    ) -> None:
        """Write an Excel workbook: a page with title, plot, main numbers and statement, and a sheet of all numbers.

        Cells hold the exact numbers of `to_csv`, and show the digits that the noise leaves. Needs the extra ``office``.
        Equal results give equal bytes.

        Args:
            path: The file.
            level: The confidence level of bands and intervals.
            population: Whether ends for the population are written as well.
            suppress: See `to_csv`.

        Raises:
            ImportError: XlsxWriter or matplotlib is not installed.
            ValueError: `suppress` is not above 0, or the result has no counts or sums with intervals.
        """
        display.require_workbooks()
        picture = self.plot_headless(level=level, population=population)
        write_whole(path, self.to_workbook(picture, level, population, suppress))

    def to_workbook(
        self, picture: Axes, level: float = 0.95, population: bool = True, suppress: float | None = None
    ) -> bytes:
        """Return the bytes of the Excel workbook (.xlsx) that `to_excel` writes, around a given plot.

        Args:
            picture: Axes with the plot of the result.
            level: Confidence level of the intervals.
            population: Whether intervals for the population are included.
            suppress: Largest width of an interval as a fraction of its number; wider ones are shown as ``..``. None:
                all are shown.
        """
        settings: dict[str, Any] = {"level": level, "population": population, "suppress": suppress}
        tables = [table for table in self.report_tables(**settings) if not table.is_detail]
        rows = [(name, "".join(select_reader_notes([text]))) for name, text in self._facts_beside(tables, suppress)]
        page = display.SheetPage(self._title(), picture, tables, rows, display.statement_facts(self.privacy))
        with self._keep_user_words():
            return display.build_workbook([page], {"numbers": self.describe_table(**settings)})

    def columns_with_intervals(
        self, *, level: float = 0.95, population: bool = True, suppress: float | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return the columns that `to_csv` writes, by name; this class has no intervals.

        Args:
            level: Without effect, as the class has no intervals.
            population: Without effect.
            suppress: See `to_csv`.
        """
        return self._format_columns(display.frame_columns(self.to_frame()), (), suppress)

    def describe_table(
        self, *, level: float = 0.95, population: bool = True, suppress: float | None = None
    ) -> display.ResultTable:
        """Return the table of all numbers with titles, units and formats, which terminal, workbooks and pages draw.

        It has the exact numbers of `to_csv`, and as many digits as the noise leaves.

        Args:
            level: The confidence level of bands and intervals.
            population: Whether ends for the population are included.
            suppress: Largest width of an interval as a fraction of its number; wider ones are shown as ``..``. None:
                all are shown.

        >>> import dpcurves as dp
        >>> ages = dp.cdf([3, 5, 8] * 1000, grid=dp.Grid(0, 10, cells=2), epsilon=99, adjacency=dp.REPLACE_ONE)
        >>> list(ages.describe_table(population=False).text_columns())
        ['value', 'share of records below', '95% band for these records']
        """
        columns = self.columns_with_intervals(level=level, population=population, suppress=suppress)
        return self._build_table(columns, level)

    def _build_table(self, columns: Mapping[str, Any], level: float) -> display.ResultTable:
        """Return a table of `columns` with the headings and formats of this class, and intervals at `level`."""
        words = {name: words for name, words in self._column_words().items() if name in columns}
        names = self._row_words()
        columns = dict(columns)
        for name in display.NAMES_OF_NUMBERS:
            if names and name in words:
                named_rows = [names.get(str(text), text) for text in columns[name].tolist()]
                columns[name] = np.array(named_rows, dtype=object)
        ends = self._describe_ends([name for name in columns if name not in words], words, level)
        mixed_label = next((name for name in display.NAMES_OF_NUMBERS if name in columns and name in words), "")
        return display.build_table(columns, words, ends=ends, mixed_label=mixed_label)

    def _column_words(self) -> Mapping[str, display.ColumnWords]:
        """Return title and format of each column of the data frame that this package names, for tables.

        Returns:
            Title and format by column name; columns without an entry are not described here.
        """
        return {
            name: display.ColumnWords(self._format_template(words.title), words.cell_format)
            for name, words in self.COLUMN_WORDS.items()
        }

    def _row_words(self) -> Mapping[str, str]:
        """Return the titles of the numbers in a list of statistics, for readers, by short name.

        Returns:
            Words by short name.
        """
        return self.ROW_WORDS

    def _describe_ends(
        self, names: Sequence[str], words: Mapping[str, display.ColumnWords], level: float
    ) -> dict[str, display.IntervalEnds]:
        """Return what the columns of interval endpoints bound; this class has no such columns.

        Args:
            names: Names of the columns of the table.
            words: Title and format of the columns, by name.
            level: Confidence level of the intervals.

        Returns:
            Interval ends by column name.
        """
        return {}

    def report_tables(
        self, *, level: float = 0.95, population: bool = True, suppress: float | None = None
    ) -> list[display.ResultTable]:
        """Return the tables that are shown beside the plot on pages and on the first sheet of a workbook.

        Lists of numbers are whole, and curves have rows at round steps.

        Args:
            level: The confidence level of bands and intervals.
            population: Whether intervals for the population are included.
            suppress: Largest width of an interval as a fraction of its number; wider ones are shown as ``..``. None:
                all are shown.
        """
        table = self.describe_table(level=level, population=population, suppress=suppress)
        # rows: a list is shown whole up to 400 rows, and a table that is not longer than 20 is shown beside the plot
        most_listed, most_beside = 400, 20
        if table.is_list:
            return [table.select_rows(most_listed)]
        return [replace(table.select_rows(), is_detail=table.rows > most_beside)]

    def key_columns(self, level: float, *, population: bool = True) -> dict[str, Any]:
        """Return the key numbers of this result, such as its median, for a table with one row for each group.

        Numbers are given by short name; a result without key numbers returns an empty mapping, and its summary is
        shown. Interval ends are named as in ``median_lower`` and ``median_upper_population``; `KEY_WORDS` has the
        titles.

        >>> import dpcurves as dp
        >>> ages = dp.cdf([3, 5, 8] * 1000, grid=dp.Grid(0, 10, cells=10), epsilon=99, adjacency=dp.REPLACE_ONE)
        >>> list(ages.key_columns(0.95, population=False))
        ['records', 'median', 'median_lower', 'median_upper']

        Args:
            level: The confidence level of the intervals.
            population: Whether intervals for the population are included.
        """
        return {}

    def _key_words(self) -> Mapping[str, display.ColumnWords]:
        """Return title and cell format of each of the `key_columns`, for tables in which each row is a group.

        Returns:
            Title and format by short name.
        """
        return {
            name: display.ColumnWords(self._format_template(words.title), words.cell_format)
            for name, words in self.KEY_WORDS.items()
        }

    def _facts_beside(self, tables: Sequence[display.ResultTable], suppress: float | None) -> list[tuple[str, str]]:
        """Return the rows of the summary that the shown tables do not repeat.

        Args:
            tables: Tables that are shown.
            suppress: Largest width of an interval as a fraction of its number; None: nothing is suppressed.

        Returns:
            (name, text) pairs in the order of the summary.
        """
        listed = {text for table in tables for text in table.list_names()}
        endings = tuple(f"{separator} {name}" for name in listed for separator in ":,")
        return [
            (name, text)
            for name, text in self._summary_rows(suppress)
            if name not in listed and not (endings and name.endswith(endings))
        ]

    def _format_columns(
        self, columns: dict[str, NDArray[Any]], interval_columns: Sequence[str], suppress: float | None
    ) -> dict[str, NDArray[Any]]:
        """Return the columns as files have them: numbers with wide intervals suppressed, dates as text, categories that
        were declared as numbers as numbers.

        Args:
            columns: Columns by name, (rows,) each.
            interval_columns: Names of the columns with interval ends.
            suppress: Largest width of an interval as a fraction of its number; None: nothing is suppressed.
        """
        columns = self._suppress_columns(columns, interval_columns, suppress)
        for name, numbers in self._declared_numbers(columns).items():
            columns[name] = np.array([numbers[str(text)] for text in columns[name].tolist()], dtype=object)
        axes = {
            name: label
            for name, label in self._axis_labels().items()
            if name in columns and display.is_date_axis(label)
        }
        return display.convert_date_columns(columns, axes, self._edge_columns())

    def _declared_numbers(self, columns: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
        """Return, for each label column whose categories were declared as numbers, the number of each text: see
        `display.find_declared_numbers`.

        Args:
            columns: Names of the columns of the table.

        Returns:
            Numbers by text, by column name; here empty.
        """
        return {}

    def _axis_labels(self) -> Mapping[str, str]:
        """Return the axis labels of the columns that may hold dates, by column; a label such as "day (date)" names the
        unit.
        """
        return dict.fromkeys(self.AXIS_COLUMNS, getattr(self, "label", ""))

    def _edge_columns(self) -> Collection[str]:
        """Return the names of columns of edges: files leave out cells beyond all calendars."""
        return self.AXIS_COLUMNS

    def _suppress_columns(
        self, columns: dict[str, NDArray[Any]], interval_columns: Sequence[str], suppress: float | None
    ) -> dict[str, NDArray[Any]]:
        """Return the columns with ``..`` in place of numbers whose intervals are wide.

        Args:
            columns: All columns by name.
            interval_columns: Names of all columns of interval ends.
            suppress: Largest width of an interval, relative to its number; None: nothing is suppressed.

        Returns:
            Columns by name, (rows,) each; those with ``..`` hold objects.

        Raises:
            InvalidArgument: the result has no counts or sums with intervals.
        """
        if suppress is None:
            return columns
        measured = [name for name in self._suppressible_columns() if name in columns]
        if not measured or not {"lower", "upper"} <= set(columns):
            raise InvalidArgument("suppress", "this result has no counts or sums with intervals; leave suppress out")
        rows = display.find_wide_intervals(columns[measured[0]], columns["lower"], columns["upper"], suppress)
        return display.suppress_rows(columns, [*measured, *interval_columns], rows)

    def _suppressible_columns(self) -> Sequence[str]:
        """Return the names of the columns of numbers that may be suppressed; the intervals belong to the first."""
        return self.SUPPRESSIBLE_COLUMNS

    def plot_headless(
        self, *, level: float = 0.95, population: bool = True, ax: Axes | None = None, name: str | None = None
    ) -> Axes:
        """Plot the result without a display; return the axes.

        Args:
            level: Without effect, as the class has no intervals.
            population: Without effect.
            ax: Axes to draw on; None: new ones.
            name: Name in the legend.
        """
        return self.plot(ax or display.headless_axes(self.SIZE), name=name)

    def describe_picture(self, *, level: float = 0.95, population: bool = True) -> display.PictureDescription:
        """Return the plot as numbers and texts: axes, lines, regions, points, names and the privacy statement.

        Other programs draw it without computing a band, as the R package does; `to_json` of the
        description is what ``--plot FILE.json`` writes. Costs no budget; needs the extra ``plot``.

        Args:
            level: The confidence level of bands and intervals.
            population: Whether intervals for the population are drawn.

        >>> import dpcurves as dp
        >>> ages = dp.histogram([3, 5, 8] * 1000, grid=dp.Grid(0, 10, cells=5), epsilon=99, adjacency=dp.REPLACE_ONE)
        >>> picture = ages.describe_picture(population=False)
        >>> picture.title, picture.panels[0].y.label
        ('Histogram of value', 'records per cell')
        >>> [mark.name for mark in picture.panels[0].marks if mark.name]
        ['95% simultaneous intervals for these records']
        """
        axes = self.plot_headless(level=level, population=population)
        return display.describe_picture(self._add_title(axes))

    def to_json(self) -> str:
        """Return the result as JSON in the published format, with its releases, so that intervals can be recomputed."""
        return display.encode_curve(self.KIND, self._arrays(), self.privacy, self.evidence_to_json())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the result that `to_json` of this class wrote.

        Args:
            text: JSON text.

        Raises:
            ValueError: the text is of another kind, or is damaged.
        """
        with refuse_damaged():
            return cls._from_json(display.parse_curve(text, cls.KIND))

    @classmethod
    def matches_document(cls, document: Mapping[str, Any]) -> bool:
        """Return True if a JSON document was written by this class; several classes may share a kind of document.

        Args:
            document: Parsed JSON document of this class's kind.
        """
        return not cls.DISTINGUISHING_FACT or cls.DISTINGUISHING_FACT in document["evidence"]["question"]

    def evidence_to_json(self) -> dict[str, Any]:
        """Return the question and its releases as JSON values.

        Returns:
            ``question``, an object, and ``releases``, a list in the order of the rounds.
        """
        return {"question": dict(self._question()), "releases": [evidence.to_json() for evidence in self.rounds]}

    @property
    def rounds(self) -> tuple[Evidence, ...]:
        """Evidence of each round, in order."""
        return self.evidence if isinstance(self.evidence, tuple) else (self.evidence,)

    def summary_facts(self) -> dict[str, Any]:
        """Return the facts of the HTML summary as JSON values: title, repr, rows, tables, notes and privacy unit."""
        tables = self.report_tables()
        facts = display.summary_facts(self._title(), self._facts_beside(tables, None), self.privacy, tables)
        return {"line": repr(self), **facts}

    def _model_card_results(self) -> Iterator[Any]:
        """Yield the results that a model card shows: this result, and others computed from the same releases."""
        yield self

    def _repr_html_(self) -> str:
        """Return the HTML summary that notebooks show, with a plot."""
        picture = display.svg_text(self.plot(ax=display.headless_axes(self.SIZE)))
        budget_row = [("budget", self.remaining_budget)] if self.remaining_budget else []
        tables = [table for table in self.report_tables() if not table.is_detail]
        rows = [*self._facts_beside(tables, None), *budget_row]
        # advice is in English, as on the terminal
        notes = self.notes if current_reader() is None else select_reader_notes(self.notes)
        with self._keep_user_words():
            return display.html_summary(
                self._title(), picture, rows, replace(self.privacy, notes=tuple(notes)), tables=tables
            )

    def render_html(
        self,
        picture: str,
        *,
        title: str = "",
        text: str = "",
        level: float = 0.95,
        population: bool = True,
        suppress: float | None = None,
        links: Sequence[tuple[str, str]] = (),
    ) -> str:
        """Return the HTML summary around a given plot for readers of a page, with another title and a text if given.

        Notes are shown without their advice to the analyst who asked the question.

        Args:
            picture: The plot, as SVG.
            title: The title; empty: the result's title.
            text: Text before the plot.
            level: The confidence level of intervals in its tables.
            population: Whether they include intervals for the population.
            suppress: Largest width of an interval as a fraction of its number; wider ones are shown as ``..``. None:
                all are shown.
            links: Further facts, (text, file name), as links to the files unless the name is empty.
        """
        tables = self.report_tables(level=level, population=population, suppress=suppress)
        privacy = replace(self.privacy, notes=select_reader_notes(self.privacy.notes))
        rows = [(name, "".join(select_reader_notes([text]))) for name, text in self._facts_beside(tables, suppress)]
        shown = title or self._title()
        with self._keep_user_words([title] if title else []):
            return display.html_summary(shown, picture, rows, privacy, text, tables=tables, links=links)

    def _finish_plot(self, axes: Axes, title: str, ax: Axes | None, name: str | None = None) -> Axes:
        """Give a new figure its title, and write all texts in the reader's language; return the axes.

        Args:
            axes: The axes of the plot.
            title: The title of a new figure.
            ax: The axes that the plot was asked for; None: it is a new figure.
            name: Name in the legend; with one, a figure is for several curves and has no title.
        """
        with self._keep_user_words():
            is_new = ax is None and name is None
            return display.translate_figure(display.set_title(axes, title if is_new else ""))

    def _add_title(self, axes: Axes) -> Axes:
        """Give a plot of this result the title of the result, in the reader's language; return the axes.

        Args:
            axes: Axes of the plot.
        """
        with self._keep_user_words():
            return display.translate_figure(display.set_title(axes, self._title()))

    def _keep_user_words(self, words: Collection[str] = ()) -> AbstractContextManager[None]:
        """Return a context in which texts of the user on this result, and `words`, are not translated."""
        return nullcontext() if current_reader() is None else keep_names({*words, *self._user_words()})

    def _user_words(self) -> frozenset[str]:
        """Return the user's words that the result shows: columns, categories, labels, privacy unit, source, filter."""
        privacy = self.privacy
        words = {privacy.unit, privacy.source, privacy.where, privacy.grant, *_list_user_words(self._question())}
        return frozenset(word for word in words - self._rest_names if word and not display.is_date_axis(word))

    @property
    def _rest_names(self) -> frozenset[str]:
        """Names that the package gave to categories of all other values, which are no words of the user."""
        return find_rest_names(self.privacy.notes)

    def _summary_rows(self, suppress: float | None) -> Sequence[tuple[str, str]]:
        """Return the rows of the HTML summary, (name, text); classes with intervals show ``..`` where an interval is
        wide.

        Args:
            suppress: Largest width of an interval as a fraction of its number; None: all numbers are shown.
        """
        return self._summary()

    def _translate_title(self) -> str:
        """Return the title in the language of the reader, which a ``with`` block of `use_language` sets; names of the
        user stay.
        """
        with self._keep_user_words():
            return translate(self._title())

    def _title(self) -> str:
        """Return the title of the plot and of the HTML summary."""
        return self._format_template(self.TITLE)

    def _repr_facts(self) -> tuple[str, ...]:
        """Return the middle text of the one-line repr, from the template `REPR_FACTS`."""
        return (self._format_template(self.REPR_FACTS),) if self.REPR_FACTS else ()

    def _summary(self) -> Sequence[tuple[str, str]]:
        """Return the rows of the HTML summary, (name, text), from the templates `SUMMARY`."""
        return [(name, self._format_template(words)) for name, words in self.SUMMARY]

    def _format_template(self, words: str) -> str:
        """Return a template filled in with attributes of the result.

        Args:
            words: Template with fields in braces, as in ``{cells} cells``; see `_ResultFormatter`.
        """
        return _ResultFormatter().vformat(words, (self,), {})

    def _columns(self) -> Mapping[str, Any]:
        """Return the columns of the data frame by name, with estimates also where a number is unknown."""
        names = (entry.partition("=") for entry in self.COLUMNS)
        return {name: getattr(self, attribute or name) for name, _, attribute in names}

    def _known_columns(self) -> dict[str, Any]:
        """Return the columns of the data frame by name, NaN where a number is unknown."""
        return dict(self._columns())

    def _arrays(self) -> Mapping[str, object]:
        """Return the numbers of the JSON document by name: the attributes `ARRAYS`, or else the columns."""
        return {name: getattr(self, name) for name in self.ARRAYS} or self._columns()

    @abstractmethod
    def _question(self) -> Mapping[str, object]:
        """Return the public facts, as JSON values, that are needed to read the releases again."""

    @classmethod
    @abstractmethod
    def _from_json(cls, document: CurveDocument) -> Self:
        """Return the result of a parsed JSON document, computed again from its releases.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.
        """

    @abstractmethod
    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Axes:
        """Draw the result with its bands or intervals; return the axes.

        Args:
            shades: Bands or intervals of the plotted points, one `Shade` each, wider ones first; empty: none.
            how: Privacy statement, axes and name in the legend (`PlotArguments`).
        """


OUR_WORDS = frozenset(
    {"outside", "spacing", "order", "statistic", "ask", "releases", "entry_ties", "title", "claim", "kind", "method"}
)
"""Keys of a question's JSON whose texts are words of this package. Texts under other keys, such as column names, are
the user's, and are not translated."""


def _list_user_words(document: Any) -> Iterator[str]:
    """Yield the words of the user, such as names of columns and categories, in the JSON of a question.

    Args:
        document: JSON value: text, object or list; other values have no words. Values under keys of `OUR_WORDS` are
            skipped.
    """
    if isinstance(document, str):
        yield document
    elif isinstance(document, Mapping):
        for key, value in document.items():
            if key not in OUR_WORDS:
                yield from _list_user_words(value)
    elif isinstance(document, list | tuple):
        for value in document:
            yield from _list_user_words(value)


def _set_source(thing: Any, source: str) -> Any:
    """Return a result with this source in its privacy statement, or in the statements of the results inside it.

    Args:
        thing: A result. Anything without a privacy statement is returned as it is.
        source: Description of the data.
    """
    if not is_dataclass(thing) or isinstance(thing, type) or not hasattr(thing, "privacy"):
        return thing
    names = [field.name for field in fields(thing) if field.init]
    if "privacy" in names:
        return replace(thing, privacy=replace(cast("Any", thing).privacy, source=source))
    return replace(thing, **{name: _set_source(getattr(thing, name), source) for name in names})


def check_source(source: object) -> str:
    """Return the public name and version of a data set if it is up to 200 printable characters.

    Args:
        source: The name and version, as the user passed it.

    Raises:
        ValueError: the source is no text, empty, too long, or not printable.
    """
    longest = 200  # characters
    if not isinstance(source, str) or not 0 < len(source) <= longest or not source.isprintable():
        raise InvalidArgument(
            "source",
            f"a name and a version are needed, in up to {longest} printable characters, as in 'visits@2025'",
        )
    return source


check_public_methods(ReleasedResult)


class SimulationCache:
    """Cache of simulated bands and intervals: their numbered draws are the same each time, and so are the results."""

    @cached_property
    def _cache(self) -> dict[Hashable, Any]:
        """Simulated results that were computed before, by the key under which `_compute_once` stored them."""
        return {}

    def _compute_once(self, key: Hashable, generator: np.random.Generator | None, compute: Callable[[], Made]) -> Made:
        """Return what `compute` returns: cached under `key`, or computed anew if a `generator` asks for new draws.

        Args:
            key: Key of the cache.
            generator: Random numbers of the caller, which are not cached; None: the fixed public seed.
            compute: Function that computes the value.
        """
        if generator is not None:
            return compute()
        if key not in self._cache:
            self._cache[key] = compute()
        return cast("Made", self._cache[key])


def complete_docstring(docstring: str, method: str, arguments: Collection[str]) -> str:
    """Return the docstring of a method, with the arguments `level` and `population` added if it does not describe
    them.

    Methods of `IntervalResult` are described there.

    Args:
        docstring: Docstring of the method.
        method: Name of the method.
        arguments: Names of its arguments.

    >>> print(complete_docstring("Lower and upper ends.", "intervals", ["self", "level", "population"])[:55])
    Lower and upper ends.
    <BLANKLINE>
    Args:
        level: The probability
    """
    text = cleandoc(docstring)
    is_complete = hasattr(IntervalResult, method) or "Args:" in text or "Raises:" in text
    if is_complete or not {"level", "population"} <= set(arguments):
        return docstring
    return "\n".join([text, "", *ENDS_ARGUMENTS, *(GENERATOR if "generator" in arguments else ()), "", *ENDS_ERRORS])


ENDS_ARGUMENTS = (
    "Args:",
    "    level: The probability of coverage: of each interval alone, or of all simultaneously, as the class says.",
    "    population: Whether the intervals are for the population, not for these records.",
)
"""Section of arguments that is added to docstrings of interval methods without one."""
GENERATOR = ("    generator: Random numbers of the simulation; None: the same numbered draws each time.",)
"""Line on the argument ``generator`` that is added to `ENDS_ARGUMENTS` for methods that have it."""
ENDS_ERRORS = (
    "Raises:",
    "    ValueError: `level` is not between 0 and 1; or, with `population`, a unit may have several records.",
)
"""Section of errors that is added to docstrings of interval methods without one."""


class IntervalResult(SimulationCache, ReleasedResult):
    """A result with a band or with intervals, for these records and for the population that they were drawn from.

    Attributes:
        INTERVAL_NAME: Name of the band or the intervals in legends.
        INTERVAL_COLUMNS: Columns of the ends.
        POSSIBLE_RANGES: Columns of numbers that may be *not known*, each with the lowest and the highest possible
            value, and with the columns of its ends if they are not the first two: see
            `dpcurves.inference.known_numbers`.
            Data frame, files and plots leave an unknown number out.
        IS_CURVE: Whether the points form a curve, which is known or unknown as a whole.
        DECIDING_POINTS: Points of a curve that decide whether it is known.
        MEASURED: The column of numbers whose interval ends are called ``lower`` and ``upper`` alone.
        NOTES_UNKNOWN: Whether `notes` say that no number is known; False for kinds whose questions note this from
            counts, without a simulation. Pictures of all kinds say it.
    """

    INTERVAL_NAME: ClassVar[str] = "simultaneous intervals"
    INTERVAL_COLUMNS: ClassVar[tuple[str, ...]] = ("lower", "upper")
    POSSIBLE_RANGES: ClassVar[Mapping[str, tuple[Any, ...]]] = MappingProxyType({})
    IS_CURVE: ClassVar[bool] = False
    DECIDING_POINTS: ClassVar[slice] = ALL_POINTS
    MEASURED: ClassVar[str] = "y"
    NOTES_UNKNOWN: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, method in vars(cls).items():
            if isfunction(method) and method.__doc__ is not None:
                code = unwrap(method).__code__
                arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
                method.__doc__ = complete_docstring(method.__doc__, name, arguments)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the numbers of the result, one line each, written from released numbers alone."""
        is_unknown = self.NOTES_UNKNOWN and self._is_unknown()
        return (*self.privacy.notes, ALL_UNKNOWN_NOTE) if is_unknown else self.privacy.notes

    @property
    def scopes(self) -> Mapping[str, bool]:
        """For whom the intervals hold, by name: these records and, if each unit is one record, the population."""
        return interval_scopes(self.privacy)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float | None = 0.95,
        population: bool = True,
        name: str | None = None,
        style: str | None = None,
    ) -> Axes:
        """Plot the result with its band or intervals; return the axes. A new figure has a title. Costs no budget.

        If a unit may have several records, the plot has no intervals for the population, and a line below it states
        this.

        Args:
            ax: The axes to plot on; None: a new figure.
            level: The confidence level of the band or intervals; None: no band or intervals.
            population: Whether intervals for the population are shown besides those for these records.
            name: Name in the legend.
            style: ``"paper"``, ``"slides"`` or ``"dark"``; None: matplotlib's settings.

        Raises:
            ValueError: `level` is not between 0 and 1, or the style is unknown.
        """
        with display.use_style(style, ax), self._keep_user_words([name] if name else []):
            axes = self._plot_at_level(level, population=population, ax=ax, name=name)
            return self._finish_plot(axes, self._figure_title(), ax, name)

    def _figure_title(self) -> str:
        """Return the title of a new figure; empty: no title."""
        return self._title()

    def _plot_at_level(self, level: float | None, *, population: bool, ax: Axes | None, name: str | None) -> Axes:
        """Draw the result with bands or intervals at this level (None: without); return the axes. A note under the plot
        gives the reason if bands are omitted: many points, or units of several records.

        Args:
            level: Confidence level of bands or intervals; None: without.
            population: Whether intervals for the population are drawn as well as those for these records.
            ax: Axes to draw on; None: new ones.
            name: Name of the result in the legend; None: the default.
        """
        scopes = {
            scope: is_population for scope, is_population in self.scopes.items() if population or not is_population
        }
        privacy = self.privacy
        if level is not None and self._count_points() > TUNING.most_simulated_points:
            level = None
            note = f"no bands or intervals are drawn of more than {TUNING.most_simulated_points:,} points"
            privacy = privacy.with_notes(note)
        elif level is not None and population and privacy.rows_per_unit != 1:
            privacy = privacy.with_notes(RECORDS_ONLY_NOTE)
        if level is not None and self._is_unknown():
            privacy = privacy.with_notes(ALL_UNKNOWN_NOTE)
        return self._plot(self._build_shades(scopes, level), privacy=privacy, ax=ax, name=name)

    def _is_unknown(self) -> bool:
        """Return True if all numbers are unknown, so that every interval holds all possible values, and no note states
        this.
        """
        if any(UNINFORMATIVE_RELEASE in note for note in self.privacy.notes):
            return False
        columns = [column for name, column in self._known_columns().items() if name in self.POSSIBLE_RANGES]
        return bool(columns) and all(np.isnan(np.asarray(column, dtype=np.float64)).all() for column in columns)

    def to_frame(self, *, level: float | None = None, population: bool = False) -> Any:
        """Return the numbers as a data frame; with a `level`, also the ends ``lower`` and ``upper`` of their intervals.

        Args:
            level: Confidence level of the intervals; None: no ends.
            population: Whether the ends are for the population, not for these records.
        """
        return display.to_frame(self._columns_at(level, population=population))

    def _columns_at(self, level: float | None, *, population: bool) -> dict[str, Any]:
        """Return the columns of the data frame by name, with the ends of intervals at `level`, if given.

        Args:
            level: Confidence level of the intervals; None: no columns of ends.
            population: Whether the ends are for the population, not for these records.
        """
        interval_columns = {} if level is None else self._interval_columns(level, population=population)
        return {**self._known_columns(), **interval_columns}

    def _frame_columns(self, level: float | None, *, population: bool) -> dict[str, NDArray[Any]]:
        """Return the columns of `to_frame` as arrays. Libraries of data frames, which take long to import, are used
        only for a class that overrides `to_frame`.

        Args:
            level: Confidence level of the intervals; None: no ends.
            population: Whether the ends are for the population.
        """
        if type(self).to_frame is not IntervalResult.to_frame:
            return display.frame_columns(self.to_frame(level=level, population=population))
        columns = self._columns_at(level, population=population)
        arrays = {name: np.array(column) for name, column in columns.items()}
        return {name: array.astype(object) if array.dtype.kind == "U" else array for name, array in arrays.items()}

    def _interval_columns(self, level: float, *, population: bool) -> dict[str, Any]:
        """Return the columns of the ends of bands or intervals at this level, by name.

        Args:
            level: Confidence level, between 0 and 1.
            population: Whether the limits are for the population, not for these records.

        Returns:
            Columns by the names of `INTERVAL_COLUMNS`, lower ends first.
        """
        return dict(zip(self.INTERVAL_COLUMNS, self._interval_limits(level, population=population), strict=False))

    def _known_columns(self) -> dict[str, Any]:
        """Return the columns of the data frame by name, NaN where a number is unknown."""
        return self._mask_unknown_columns(self._columns())

    def _mask_unknown_columns(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns by name; columns of `POSSIBLE_RANGES` have NaN where a number is unknown.

        Args:
            columns: Columns of the data frame by name.
        """
        return {
            name: self._mask_unknown(name, column) if name in self.POSSIBLE_RANGES else column
            for name, column in columns.items()
        }

    def _mask_unknown(self, name: str, column: Any) -> Any:
        """Return the numbers of a column, with NaN where the interval holds all values that the column can have.

        Args:
            name: Name of the column.
            column: Numbers of the column.
        """
        lowest, highest, *names = self._possible_range(name)
        interval_ends = self._masking_intervals
        if not interval_ends:
            return column
        ends = [interval_ends[end] for end in names or self.INTERVAL_COLUMNS[:2]]
        if self.IS_CURVE:
            return known_curve(column, ends, lowest, highest, deciding=self.DECIDING_POINTS)
        return known_values(column, ends, lowest, highest)

    def _possible_range(self, name: str) -> tuple[Any, ...]:
        """Return the lowest and the highest possible value of a column; an interval with all of them means that the
        number is unknown.

        Args:
            name: Name of the column.
        """
        return self.POSSIBLE_RANGES[name]

    @cached_property
    def _masking_intervals(self) -> Mapping[str, Any]:
        """Ends of intervals for these records, by column, which decide whether a number is known; empty if all
        numbers surely are."""
        if not self._may_be_unknown() or self._count_points() > TUNING.most_simulated_points:
            return {}
        return self._interval_columns(KNOWN_LEVEL, population=False)

    def _may_be_unknown(self) -> bool:
        """Return whether noise may hide a number; subclasses may decide this without a simulation."""
        return True

    def to_json(self) -> str:
        """Return the result as JSON in the published format, with its releases, so that intervals can be recomputed."""
        known = self._mask_unknown_columns(self._arrays())
        return display.encode_curve(self.KIND, known, self.privacy, self.evidence_to_json())

    def columns_with_intervals(
        self, *, level: float = 0.95, population: bool = True, suppress: float | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return the columns that `to_csv` writes, by name, with ends of intervals at `level`; a band of too many
        points to simulate is left out.

        Args:
            level: Confidence level of the intervals.
            population: Whether intervals for the population are included.
            suppress: Largest width of an interval as a fraction of its number; wider ones become ``..``. None: nothing
                is suppressed.
        """
        columns = self._frame_columns(None, population=False)
        value_columns = set(columns)
        if max(map(len, columns.values()), default=0) > TUNING.most_simulated_points:
            return self._format_columns(columns, (), suppress)
        for of_population in self.scopes.values():
            if population or not of_population:
                with_ends = self._frame_columns(level, population=of_population)
                suffix = "_population" * of_population
                columns |= {
                    f"{name}{suffix}": column for name, column in with_ends.items() if name not in value_columns
                }
        return self._format_columns(columns, [name for name in columns if name not in value_columns], suppress)

    def _describe_ends(
        self, names: Sequence[str], words: Mapping[str, display.ColumnWords], level: float
    ) -> dict[str, display.IntervalEnds]:
        """Return for each column of interval ends its column of numbers, its side, and the name of the interval.

        Args:
            names: Columns of interval ends, such as ``lower`` and ``upper_population``.
            words: Descriptions of the columns of numbers, by name.
            level: Confidence level of the intervals.

        Returns:
            By column: the column of numbers it belongs to, its side (lower or upper), and the name of the interval.
            Columns without a described column of numbers are left out.
        """
        ends = dict[str, display.IntervalEnds]()
        for name in names:
            stem = name.removesuffix("_population")
            scope = POPULATION if name.endswith("_population") else RECORDS
            for word, bound in (("lower", display.Bound.LOWER), ("upper", display.Bound.UPPER)):
                column = self.MEASURED if stem == word else stem.removesuffix(f"_{word}")
                if stem.endswith(word) and column in words:
                    title = describe_interval(level, self._interval_name(), scope)
                    ends[name] = display.IntervalEnds(column, bound, title)
        return ends

    def plot_headless(
        self, *, level: float = 0.95, population: bool = True, ax: Axes | None = None, name: str | None = None
    ) -> Axes:
        """Plot the result without a display, with its bands or intervals; return the axes.

        Args:
            level: The confidence level of bands and intervals.
            population: Whether intervals for the population are drawn.
            ax: Axes to draw on; None: new ones.
            name: Name in the legend.
        """
        drawn_on = ax or display.headless_axes(self.SIZE)
        return self.plot(drawn_on, level=level, population=population, name=name)

    def _build_shades(self, scopes: Mapping[str, bool], level: float | None) -> Sequence[Any]:
        """Return the shaded bands or intervals of a plot, the widest first; without a level, none.

        Args:
            scopes: Whether a scope is the population, by the name of the scope in legends.
            level: Confidence level, between 0 and 1; None: no shades.

        Raises:
            ValueError: `level` is not between 0 and 1.
        """
        if level is None:
            return ()
        level = require_probability("level", level)
        shades = list[Shade]()
        for name, population in scopes.items():
            lower, upper = self._interval_limits(level, population=population)
            shades.append(Shade(lower, upper, describe_interval(level, self._interval_name(), name)))
        return shades[::-1]

    def _interval_name(self) -> str:
        """Return the name of the band or the intervals in legends."""
        return self.INTERVAL_NAME

    def _count_points(self) -> int:
        """Return the approximate number of shaded points or edges: the length of the longest column."""
        return max(len(column) for column in self._columns().values())

    def _interval_limits(self, level: float, /, *, population: bool) -> Any:
        """Return the lower and upper ends at this level, (2, points): of `intervals`, unless a subclass overrides
        this.

        Args:
            level: Confidence level, between 0 and 1.
            population: Whether the limits are for the population, not for these records.
        """
        return self.intervals(level, population=population).T

    if TYPE_CHECKING:

        def intervals(self, level: float, *, population: bool = False) -> FloatArray:
            """Return lower and upper ends at `level`, (points, 2), for these records or for the population.

            Args:
                population: Whether the ends are for the population.
            """
            ...


class CompositeResult(IntervalResult):
    """A result that consists of other results with their own releases: its JSON contains theirs unchanged."""

    KIND: ClassVar[str] = display.CURVES_FIELD

    @abstractmethod
    def _members(self) -> Mapping[str, Any]:
        """Return the contained results, by name."""

    @property
    def rounds(self) -> tuple[()]:
        """Empty: the contained results hold all releases."""
        return ()

    def _all_evidence(self) -> Iterator[Evidence]:
        """Yield the releases of all contained results."""
        for member in self._members().values():
            yield from member._all_evidence()

    def _user_words(self) -> frozenset[str]:
        """Return the user's texts on the contained results, and the categories that name these results."""
        members = self._members()
        inner = (member._user_words() for member in members.values())
        return super()._user_words().union(map(str, members), *inner) - self._rest_names

    def _with_source(self, source: str) -> Self:
        """Return this result unchanged: the contained results name the source.

        Args:
            source: Description of the data; not used.
        """
        return self  # the results inside it have the source

    def to_json(self) -> str:
        """Return the JSON document of this result, which contains the documents of the results inside it by name
        (``kind`` is ``curves``)."""
        members = {name: member.to_json() for name, member in self._members().items()}
        return display.encode_curves(members, self.privacy, self.evidence_to_json())

    @classmethod
    def parse_members(cls, document: CurveDocument, kind: type[Any] | None = None) -> dict[str, Any]:
        """Return the results inside a document by name: of the class `kind`, or of the class that wrote the first.

        Args:
            document: Parsed JSON document.
            kind: Class of the results; None: the class that wrote the first one.
        """
        stored: Mapping[str, Any] = document.arrays["curves"]
        result_class = kind or find_result_class(next(iter(stored.values())))
        return {name: result_class.from_json(json.dumps(member)) for name, member in stored.items()}


def find_result_class(document: Mapping[str, Any]) -> type[Any]:
    """Return the result class that wrote a document: the most derived class, if several match.

    Args:
        document: Parsed JSON document of a result.

    Raises:
        ValueError: no class has this name.
    """
    name = document["kind"]
    load_results(str(name))
    candidates = [
        candidate
        for candidate in _list_subclasses(ReleasedResult)
        if getattr(candidate, "KIND", None) == name and not isabstract(candidate)
    ]
    matching = [candidate for candidate in candidates if candidate.matches_document(document)]
    if not matching:
        raise InvalidArgument(
            "curve.kind",
            f"no result is of the kind {str(name)[:40]!r}: update dpcurves, or use the text that to_json wrote",
        )
    return sorted(matching, key=lambda candidate: len(candidate.__mro__))[-1]


def _list_subclasses(base: type[Any]) -> Iterator[type[Any]]:
    """Yield all direct and indirect subclasses of a class.

    Args:
        base: A class; it is not yielded itself.

    Yields:
        Each subclass before its own subclasses; twice if two bases lead to it.
    """
    for subclass in base.__subclasses__():
        yield subclass
        yield from _list_subclasses(subclass)


def result_from_json(text: str, argument: str = "curve") -> ReleasedResult:
    """Return the result that any result's `to_json` wrote.

    Args:
        text: The JSON text.
        argument: Name of the argument that messages blame.

    Raises:
        ValueError: the text is no result, or is damaged.

    >>> import dpcurves as dp
    >>> shares = dp.histogram([1, 2, 2], grid=dp.Grid(0, 4, cells=4), epsilon=1, adjacency=dp.ADD_REMOVE)
    >>> type(result_from_json(shares.to_json())).__name__
    'Histogram'
    """
    try:
        stored: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidArgument(argument, "the text is no JSON: use the text that to_json wrote") from None
    kind = stored.get("kind") if isinstance(stored, dict) else None
    if not isinstance(kind, str):
        raise InvalidArgument(
            f"{argument}.kind", "the field is missing, or is not a text: use the text that to_json wrote"
        )
    with refuse_damaged():
        result_class: type[ReleasedResult] = find_result_class(stored)
    return result_class.from_json(text)
