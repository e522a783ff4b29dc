"""Results: one line, notes, a summary, a plot, a data frame, JSON and intervals; and warnings to the reader."""

from __future__ import annotations

import json
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import cache, cached_property
from hashlib import sha256
from inspect import cleandoc, isabstract, isfunction
from math import inf, isnan, sqrt
from pathlib import Path
from string import Formatter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypedDict, TypeVar, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import display
from ..arguments import InvalidArgument, describe_value, require_probability
from ..arrays import FloatArray
from ..codec import Rule, parse_attribute_docs
from ..conversation import Evidence, PrivacyStatement, Release
from ..data import Categories, Grid, MissingReason, Outside
from ..display import POPULATION, RECORDS, Shade, describe_interval, format_number
from ..fields import load_results
from ..inference.knowledge import KNOWN_AT, known_curve, known_values
from ..summaries.two_classes import LEAST_MASS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import CurveDocument


# Signs in released counts of which a reader is warned: missing, outside or crowded records, and empty rows.


DEVIATIONS_OF_MISSING = 8
"""So many standard deviations of its noise a count of missing records has to have, or nothing is said of it."""
DEVIATIONS_OF_REASON = 5
"""So many standard deviations of its noise a count of missing records of one reason has to have to be spoken of."""
DEVIATIONS_OF_ROW = 3
"""So many standard deviations of its noise a row has to count, or it cannot be told from one without a record."""
DEVIATIONS_OF_END = 8.0
"""So many standard deviations of its noise an end cell has to stand out by."""
TIMES = 3.0
"""So many times as much as its neighbours let expect an end cell has to hold."""
LEAST_SHARE = 0.01
"""A smaller share of the records is not spoken of."""
NEAR = 4
CLEAR = 4.0
"""So many standard deviations of noise a neighbour is taken to hold at the least: by less nothing is divided."""
LITTLE = 1e-300


def find_missing_share(evidence: Evidence) -> float:
    """The share of the records that have no value; 0 where the release does not tell it, or noise may have made it.

    >>> from fractions import Fraction
    >>> from dpcurves.laws import Family, Tier, IntervalSums, Noise
    >>> noise = Noise(Family.LAPLACE, Fraction(1))
    >>> law = IntervalSums(1, 2, (Tier(range(0, 2), noise),), missing=noise)
    >>> [round(find_missing_share(Evidence(law, values, total=None)), 2) for values in ((1, 2, 97), (90, 2, 8))]
    [0.97, 0.0]
    """
    counted, noise = evidence.law.count_missing_and_present(evidence.values, evidence.total), evidence.law.missing
    if counted is None or noise is None or counted[0] <= max(DEVIATIONS_OF_MISSING * sqrt(noise.variance), 0.5):
        return 0.0
    missing, present = counted
    return missing / (missing + max(present, 0.0))


def find_empty_rows(evidence: Evidence) -> tuple[bool, ...]:
    """Tell whether noise alone may have made the count of each row.

    >>> from fractions import Fraction
    >>> from dpcurves.laws import Family, Tier, IntervalSums, Noise
    >>> law = IntervalSums(2, 2, (Tier(range(2), Noise(Family.LAPLACE, Fraction(1))),), missing=None)
    >>> find_empty_rows(Evidence(law, (40, 30, 2, -1), total=None))
    (False, True)
    """
    counts = evidence.unbiased_cells.sum(axis=1)
    noise = np.sqrt(evidence.sums.prefix_variances(evidence.total is not None)[:, -1])
    return tuple((counts < LEAST_MASS + DEVIATIONS_OF_ROW * noise).tolist())


def find_crowded_end_cells(edges: FloatArray, below: FloatArray, noise: tuple[float, float]) -> tuple[float, float]:
    """The shares of the records in the first and in the last cell; 0 for one that is not crowded.

    What a cell is expected to hold is read off its neighbours: the fullest of the four next ones, by its density; and
    if counts fall from the nearest neighbour to the one after it, they may have fallen as steeply before.

    Args:
        edges: The edges of cells that were counted, (cells + 1,), rising.
        below: Unbiased counts of records below each edge, (cells + 1,).
        noise: Standard deviations of the noise of the first count, and of the last one.

    >>> edges = np.arange(7.0)
    >>> find_crowded_end_cells(edges, np.array([0.0, 10, 20, 30, 40, 50, 90]), (0.0, 0.0))
    (0.0, 0.4444444444444444)
    >>> find_crowded_end_cells(edges, np.array([0.0, 810, 900, 910, 911, 912, 913]), (0.0, 0.0))
    (0.0, 0.0)
    """
    total = float(below[-1] - below[0])
    if len(edges) < 4 or total <= 0:
        return 0.0, 0.0
    first, last = _find_excess(edges, below, noise[0]), _find_excess(-edges[::-1], -below[::-1], noise[1])
    return first / total if first >= LEAST_SHARE * total else 0.0, last / total if last >= LEAST_SHARE * total else 0.0


def _find_excess(edges: FloatArray, below: FloatArray, noise: float) -> float:
    """The count of the first cell, if that is more than its neighbours let expect; else 0."""
    count, width = np.diff(below[: NEAR + 2]), np.diff(edges[: NEAR + 2])
    inner = (count / width)[1 : len(edges) - 2]  # not the cell at the other end
    expected = max(float(inner.max()), 0.0) * width[0]
    least = max(float(inner[-1 if len(inner) < 2 else 1]), CLEAR * noise / width[1], LITTLE)
    expected *= max(inner[0] / least, 1.0)
    return float(count[0]) if count[0] > TIMES * expected + DEVIATIONS_OF_END * noise else 0.0


@contextmanager
def refuse_damaged() -> Iterator[None]:
    """Whatever does not fit while a curve is read from its text is damage to the text.

    Raises:
        ValueError: something did not fit.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError):
        raise InvalidArgument("curve", "what was released for it is damaged, or does not fit together") from None


# Bands and intervals, for these records and for the population they were drawn from, one beside the other.


SEVERAL = "all intervals are for these records: a unit may have several of them, so nothing is said of the population"
"""The refusal where units are not single, independent records."""
EACH = "individual interval"
"""The name of intervals that cover pointwise, not simultaneously."""
MOST_SHADED = 2**16 + 1
SCOPES: Mapping[str, bool] = MappingProxyType({RECORDS: False, POPULATION: True})
"""Whom intervals speak of, and whether that is the population."""
ONLY_RECORDS: Mapping[str, bool] = MappingProxyType({RECORDS: False})


class IntervalLimits(Protocol):
    """Lower and upper ends of a band or of intervals."""

    def __call__(self, level: float, /, *, population: bool) -> tuple[ArrayLike, ArrayLike] | NDArray[np.float64]:
        """At this level, for these records or for the population."""
        ...


def limits_from_intervals(intervals: Callable[..., NDArray[np.float64]], **always: Any) -> IntervalLimits:
    """Lower and upper ends of intervals of shape ``(many, 2)``."""

    def compute_limits(level: float, /, *, population: bool) -> NDArray[np.float64]:
        return intervals(level, population=population, **always).T

    return compute_limits


def interval_scopes(privacy: PrivacyStatement, *, population: bool = True) -> Mapping[str, bool]:
    """Whom the intervals of a curve speak of: of the population only where each unit is one record, and if wanted."""
    return SCOPES if population and privacy.rows_per_unit == 1 else ONLY_RECORDS


# Notes that warn the reader of a curve, from released numbers alone.


PACKAGE = str(Path(__file__).parents[1])
NEARLY_ALL = 0.95
MANY_CELLS, FEW_CELLS, SURELY = 32, 5, 100.0
"""Cells of a grid that are many, cells that are few, and records, in deviations of the noise, that surely lie there."""
WIDEST = 0.5
"""The width of an interval of a share that says nothing."""
TOO_WIDE = f"is wider than {WIDEST:g}"
NARROW = (
    'ask with outside="apart" (--outside apart), which counts these by themselves; if there are many, the grid is too '
    "narrow"
)


class CurveWarning(UserWarning):
    """A note on a curve: what was clamped, missing, synthetic or simulated, as far as released numbers tell.

    All notes stand in `curve.notes`, on pictures and in JSON. To silence these warnings, use
    ``warnings.simplefilter("ignore", dpcurves.CurveWarning)``.
    """


def notes_on_missing(releases: Iterable[Release]) -> tuple[str, ...]:
    """A note on the share of missing records, if it is no smaller than `LEAST_SHARE`; rehearsals say nothing."""
    best: dict[tuple[str, ...], tuple[float, Release]] = {}  # looks at the same columns may have seen noise alone
    for release in releases:
        query, evidence = release.plan.query, Evidence.from_release(release)
        noise = evidence.law.missing
        if release.allotment is None or not query.tells_missing or noise is None:
            continue
        columns = tuple(str(getattr(axis, "column", axis)) for axis in query.axes)
        if columns not in best or noise.variance <= best[columns][0]:
            best[columns] = noise.variance, release
    shares = [(find_missing_share(Evidence.from_release(each)), each) for _, each in best.values()]
    if not shares:
        return ()
    share, release = max(shares, key=lambda found: found[0])
    if share < LEAST_SHARE:
        return ()
    reasons = notes_on_reasons(release)
    if share < NEARLY_ALL:
        return (f"about {share:.0%} of the records are missing, by the released count: no number is of these", *reasons)
    return (
        f"nearly all records are missing (about {share:.0%}, by the released count): they have no number, or none of "
        "the labels that were named, in the columns that were asked for",
        *reasons,
    )


def notes_on_reasons(release: Release) -> tuple[str, ...]:
    """Return a note on why records are missing, with each reason that more have than noise may have made."""
    noise = release.plan.reasons
    if noise is None or not release.reasons:
        return ()
    counts = dict(zip(MissingReason, release.reasons, strict=True))
    least = max(DEVIATIONS_OF_REASON * sqrt(noise.variance), 0.5)
    missing = max(float(release.values[-1]), *release.reasons, 1.0)
    told = [
        f"about {min(count / missing, 1.0):.0%} {reason.description}"
        for reason, count in sorted(counts.items(), key=lambda item: -item[1])
        if count > least and count >= LEAST_SHARE * missing
    ]
    return (f"of the missing records, by released counts: {'; '.join(told)}",) if told else ()


def notes_on_dependence(privacy: PrivacyStatement) -> tuple[str, ...]:
    """A note if statements on the population take records as independent, though a unit may have several."""
    if privacy.rows_per_unit == 1:
        return ()
    return (
        f"chance is taken as for independent records, though each {privacy.unit} may have {privacy.rows_per_unit}: if "
        "those are alike, chance is larger, and a p-value smaller, than it should be",
    )


def notes_on_end_cells(
    grid: Grid, known: NDArray[np.int64], below: FloatArray, evidence: Evidence, scale: float = 1.0
) -> tuple[str, ...]:
    """A note for each end cell that holds more than its neighbours let expect.

    Args:
        grid: What the cells are of.
        known: Numbers of the edges that were counted, not interpolated.
        below: Unbiased counts of records below each of these.
        evidence: What was released.
        scale: The amount of it that stands for one record.
    """
    if grid.outside is Outside.APART or len(known) < 4:
        return ()
    first, last = evidence.sums.end_cell_deviations(evidence.total is not None)
    return notes_on_crowded_ends(grid, known, below, (first / scale, last / scale))


def notes_on_crowded_ends(
    grid: Grid, known: NDArray[np.int64], below: FloatArray, noise: tuple[float, float]
) -> tuple[str, ...]:
    """Return the notes of `notes_on_end_cells`, from standard deviations of the counts of the first and last cell."""
    if grid.outside is Outside.APART or len(known) < 4:
        return ()
    edges = grid.edges
    # Nothing is known of an end cell that was not counted apart from its neighbours.
    alone = known[1] == 1, known[-2] == grid.cells - 1
    notes = []
    if grid.values is not None:
        least = noise[0] if alone[0] else inf, noise[1] if alone[1] else inf
        return _notes_on_end_values(grid.values, *find_crowded_end_cells(edges[known], below, least))
    single = edges[1:] == np.nextafter(edges[:-1], np.inf)
    if single.any():  # no cell of one number is crowded, or narrow: the others tell how dense records are
        return _notes_on_split_cells(grid, known, below, (noise[0], noise[1]), single)
    first, last = find_crowded_end_cells(
        edges[known], below, (noise[0] if alone[0] else inf, noise[1] if alone[1] else inf)
    )
    notes += _notes_on_few_cells(grid, known, below, max(noise))
    if first:
        words = f"below {format_number(edges[1])}), which also holds all values below {format_number(edges[0])}"
        notes.append(f"{first:.0%} of the records lie in the first cell ({words}: {NARROW}")
    if last:
        words = f"{format_number(edges[-2])} and above), which also holds all values above {format_number(edges[-1])}"
        notes.append(f"{last:.0%} of the records lie in the last cell ({words}: {NARROW}")
    return tuple(notes)


def _notes_on_split_cells(
    grid: Grid, known: NDArray[np.int64], below: FloatArray, noise: tuple[float, float], single: NDArray[np.bool_]
) -> tuple[str, ...]:
    """Notes on the ends of a grid in which round numbers have cells of their own.

    Where an end of the grid is such a number, the outermost cell holds nothing but values beyond.

    Args:
        grid: What the cells are of.
        known, below: See `notes_on_end_cells`.
        noise: The standard deviations of the counts of both end cells.
        single: Cells that hold a single number, (cells,).
    """
    edges, below = grid.edges, np.maximum.accumulate(below)
    counts, wide = np.diff(below), np.diff(np.append(0, np.cumsum(~single))[known]) > 0
    total = float(below[-1] - below[0])
    ends = np.append(edges[known[:-1]][wide], edges[known[-1]])
    wide_below = np.append(0.0, np.cumsum(counts[wide]))
    crowded = (0.0, 0.0)
    if wide_below[-1] > 0 and total > 0:
        shares = find_crowded_end_cells(ends, wide_below, noise)
        crowded = shares[0] * wide_below[-1] / total, shares[1] * wide_below[-1] / total
    notes = []
    for side, crowding in enumerate(crowded):
        parted = bool(single[-side])
        apart = known[-2] == grid.cells - 1 if side else known[1] == 1
        outermost = float(counts[-side])
        is_clear = total > 0 and outermost > DEVIATIONS_OF_END * noise[side]
        share = crowding if not parted else outermost / total if is_clear else 0.0
        if not apart or share < LEAST_SHARE:
            continue
        inner, outer = (
            (format_number(edges[-2]), format_number(edges[-1]))
            if side
            else (format_number(edges[1]), format_number(edges[0]))
        )
        beyond = "above" if side else "below"
        if parted:
            notes.append(f"{share:.0%} of the records lie {beyond} {inner}: {NARROW}")
        else:
            cell = f"{inner} and above" if side else f"below {inner}"
            notes.append(
                f"{share:.0%} of the records lie in the {'last' if side else 'first'} cell ({cell}), which also holds "
                f"all values {beyond} {outer}: {NARROW}"
            )
    of_wide = np.append(0, np.cumsum(~single))
    return (*_notes_on_few_cells(grid, known, below, max(noise), of_wide), *notes)


def _notes_on_few_cells(
    grid: Grid, known: NDArray[np.int64], below: FloatArray, noise: float, wide: NDArray[np.int64] | None = None
) -> list[str]:
    """A note if nearly all records lie in a few neighbouring cells of many, by released counts.

    With the number of cells of more than one number below each edge, `wide`, only those count; single numbers that
    hold nearly all are no fault of the grid.
    """
    below = np.maximum.accumulate(below)  # noise may let it fall, which counts of records never do
    total = float(below[-1] - below[0])
    cells = grid.cells if wide is None else int(wide[-1])
    number = known if wide is None else wide[known]
    if cells < MANY_CELLS or total < SURELY * max(noise, 1.0):
        return []
    ends = np.searchsorted(below, below + NEARLY_ALL * total)
    widths = np.where(ends < len(known), number[np.minimum(ends, len(known) - 1)] - number, cells)
    first = int(np.argmin(widths))
    if not 0 < widths[first] <= FEW_CELLS:
        return []
    low, high = grid.edges[known[first]], grid.edges[known[ends[first]]]
    return [
        f"nearly all records lie in {widths[first]} of {cells} cells, from {format_number(low)} to {format_number(high)}: "
        "name a grid that is fine there, as Grid.geometric(...) (--grid geometric:L:U:N)"
    ]


def _notes_on_end_values(values: FloatArray, first: float, last: float) -> tuple[str, ...]:
    """A note for each end value that more records are read as than its neighbours let expect."""
    ends = (
        (first, f"the first value, {format_number(values[0])}", "below"),
        (last, f"the last, {format_number(values[-1])}", "above"),
    )
    return tuple(
        f"{part:.0%} of the records are read as {name}, with any that lie {side} it: outside=Outside.APART "
        "(--outside apart) counts these by themselves"
        for part, name, side in ends
        if part
    )


def notes_on_width(widths: FloatArray, where: str, mostly: str = "") -> tuple[str, ...]:
    """A note if nothing is known of a curve of shares: all its intervals, or its band everywhere, are too wide.

    With words for most places, `mostly`, also where that holds of most of them.

    Without any records every share lies between 0 and 1, and the middle of that is off by a half at the most.

    >>> notes_on_width(np.array([0.2, 0.9]), "the band at every time")
    ()
    """
    if mostly and len(widths) and float(widths.min()) <= WIDEST < float(np.median(widths)):
        return (f"{mostly} {TOO_WIDE}: records are too few for this loss to tell much of the curve",)
    if not len(widths) or float(widths.min()) <= WIDEST:
        return ()
    return (f"{where} {TOO_WIDE}: this release says next to nothing about the curve",)


def notes_on_classes(release: Release, labels: Categories) -> tuple[str, ...]:
    """A note if a class has no more records than noise may make, by its released count; rehearsals say nothing."""
    if release.allotment is None:
        return ()
    empty = find_empty_rows(Evidence.from_release(release).as_cell_counts(len(labels.values)))
    said = [
        f"{argument} {describe_value(value)}"
        for argument, value in zip(labels.argument_names, labels.values, strict=True)
    ]
    lacking = " and of ".join(words for words, is_empty in zip(said, empty, strict=True) if is_empty)
    if not lacking:
        return ()
    return (
        f"records of {lacking} cannot be told from none, by the released counts: is this how {labels.column!r} names "
        'them? If not, name both, as in pos_label="yes", neg_label="no" (--pos-label yes --neg-label no); if so, noise '
        "hides them at this loss",
    )


def warn_about_notes(curve: Any, already_shown: Sequence[str] = ()) -> None:
    """Issue each note of `curve`, but those that were `already_shown`, as a `CurveWarning`, where this package was called."""
    notes: Sequence[str] = getattr(curve, "notes", ())
    for note in notes:
        if note not in already_shown:
            warnings.warn(note, CurveWarning, stacklevel=_count_package_frames() + 1)


def _count_package_frames() -> int:
    """The number of calls, beginning with the caller of this function, within the package."""
    levels, frame = 0, sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        levels, frame = levels + 1, frame.f_back  # type: ignore[assignment]
    return levels


Made = TypeVar("Made")


class Result:
    """A curve, or a number, that was computed from releases: it prints as one line, and has notes."""

    remaining_budget: ClassVar[str] = ""
    """Budget that was left when a session answered it, for its HTML summary; empty: nobody said."""

    if TYPE_CHECKING:

        @property
        def privacy(self) -> PrivacyStatement: ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes that should be read along with the numbers, each in one line, from released numbers alone."""
        return self.privacy.notes

    def __repr__(self) -> str:
        short = (display.format_label(fact, LONGEST_FACT) for fact in self._repr_facts())
        facts = (*short, self.privacy.loss, self.privacy.adjacency)
        return f"{type(self).__name__}({', '.join(facts)})"

    def _repr_facts(self) -> tuple[str, ...]:
        """The middle of the one-line repr before loss and adjacency."""
        return ()


OF_KIND = {
    "FloatArray": display.COLUMN, "IntArray": display.COLUMN, "float": display.NUMBER, "int": display.NUMBER,
    "str": display.TEXT, "dict[str, float]": display.BY_NAME,
}  # fmt: skip
"""Rules in JSON Schema of attributes, by their types."""


def _describe_attribute(kind: type[Any], name: str) -> tuple[str, str]:
    """The type of an attribute, and the first paragraph of what is said of it."""
    typed, told = "", ""
    for base in kind.__mro__:
        found = vars(base).get(name)
        getter = getattr(found, "fget", None) or getattr(found, "func", None)
        typed = typed or vars(base).get("__annotations__", {}).get(name, "")
        told = told or parse_attribute_docs(base).get(name, "")
        if getter is not None:
            told = told or cleandoc(getter.__doc__ or "").partition("\n\n")[0].replace("`", "")
            return getter.__annotations__["return"], told
    return typed, told


class _ResultFormatter(Formatter):
    """Formats whose fields are attributes of a result; ``!n`` writes a number as `format_number` does."""

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return getattr(args[0], str(key))

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return format_number(value) if conversion == "n" else super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> Any:
        is_unknown = isinstance(value, float) and isnan(value)
        return format_number(value) if is_unknown else super().format_field(value, format_spec)


class PlotArguments(TypedDict):
    """Arguments of every picture: the statement below it, the axes, and what the legend calls it."""

    privacy: PrivacyStatement
    ax: Axes | None
    name: str | None


class ReleasedResult(Result, ABC):
    """Base of results: from the class attributes below it derives the line, summary, data frame, JSON and plot.

    Attributes:
        KIND: The name of its form in the published schema, which is made of `COLUMNS` or `ARRAYS`, and `JSON_SCHEMAS`.
        SIZE: How large the picture of its HTML summary is, in inches.
        TITLE: The title of the HTML summary: a format, as all texts here, whose fields are attributes of the result.
        REPR_FACTS: The middle of its one line: the column, and numbers of cells, points or records.
        SUMMARY: The rows of the HTML summary.
        COLUMNS: The attributes that are columns of the data frame; ``column=attribute`` where one has another name.
        ARRAYS: The attributes that its form in JSON has; empty: the columns.
        JSON_SCHEMAS: Their rules in JSON Schema, where they are no numbers and no arrays of one length; and more of its form.
        OPTIONAL_ARRAYS: Those that are not always written.
        IS_ADDITIVE: True if results of disjoint records add up: see `ByCategory.sum_over`.
        SUPPRESSIBLE_COLUMNS: The columns of counts or sums that may be suppressed; the first is the one that intervals are of.
        AXIS_COLUMNS: The columns of edges along the axis of its `label`: files have dates there, if it is one of dates.
        DISTINGUISHING_FACT: A fact of the question that tells its documents from others of its kind; empty: there are none.

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
    JSON_SCHEMAS: ClassVar[Mapping[str, Rule]] = MappingProxyType({})
    OPTIONAL_ARRAYS: ClassVar[tuple[str, ...]] = ()
    IS_ADDITIVE: ClassVar[bool] = False
    SUPPRESSIBLE_COLUMNS: ClassVar[tuple[str, ...]] = ()
    AXIS_COLUMNS: ClassVar[tuple[str, ...]] = ()
    DISTINGUISHING_FACT: ClassVar[str] = ""

    if TYPE_CHECKING:

        @property
        def evidence(self) -> Any: ...

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if vars(cls).get("KIND", display.SEVERAL) != display.SEVERAL:
            display.FORMS[cls.KIND] = cache(cls.json_schema)

    @classmethod
    def json_schema(cls) -> Rule:
        """The JSON Schema of its numbers, described as in docstrings."""
        found = {}
        for name in dict.fromkeys((*(cls.ARRAYS or cls.COLUMNS), *cls.JSON_SCHEMAS)):
            kind, told = _describe_attribute(cls, name)
            found[name] = {"description": told, **(cls.JSON_SCHEMAS.get(name) or OF_KIND[kind])}
        required = [name for name in found if name not in cls.OPTIONAL_ARRAYS]
        return {"description": parse_attribute_docs(cls).get("", ""), "required": required, "properties": found}

    def plot(self, ax: Axes | None = None, *, name: str | None = None, style: str | None = None) -> Axes:
        """Draw the result. Spends nothing, however often it is called. A new figure has a title.

        Args:
            ax: The axes to draw on; None: on a new figure.
            name: What the legend calls it.
            style: ``"paper"``, ``"slides"`` or ``"dark"``; None: as matplotlib is set.

        Raises:
            ValueError: there is no such style.
        """
        with display.use_style(style, ax):
            drawn = self._plot((), privacy=self.privacy, ax=ax, name=name)
            return drawn if ax is not None or name is not None else display.set_title(drawn, self._title())

    def with_source(self, source: str) -> Self:
        """This result, with the declared name and version of its data on every picture and in every file.

        A hash of what was released stands behind them, so that a picture and a file can be told to be of one release.
        *No hash of the data does*: of a table that can be guessed but for a record, such a hash tells that record.

        Args:
            source: A public text, as ``"Flights, version 2"``: up to 200 printable characters.

        Raises:
            ValueError: it is no such text.
        """
        return self._with_source(f"{check_source(source)} (release {self.release_hash[:16]})")

    @property
    def release_hash(self) -> str:
        """The SHA-256 of what was released, as canonical JSON: 64 hexadecimal digits, equal for equal releases."""
        turns = [turn.to_json() for turn in self._all_evidence()]
        return sha256(json.dumps(turns, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def _all_evidence(self) -> Iterator[Evidence]:
        yield from self.rounds

    def with_labels(
        self, columns: Mapping[str, str], categories: Mapping[str, Mapping[str, str]] | None = None
    ) -> Self:
        """This result, with words in the place of names of columns, and of categories, for readers.

        Pictures, tables, files and JSON have the words. Spends nothing; a category that has no word keeps its name.

        Args:
            columns: Words by the names of columns.
            categories: Words for categories, by their columns: numbers are named as they print.

        Raises:
            ValueError: two categories would be called alike.
        """
        label = getattr(self, "label", None)
        if not isinstance(label, str) or not is_dataclass(self):
            return self
        name = next((each for each in columns if label == each or label.startswith(f"{each} (")), None)
        if name is None:
            return self
        words = columns[name] + label.removeprefix(name)
        return cast("Self", replace(cast("Any", self), label=words))

    def _with_source(self, source: str) -> Self:
        return cast("Self", _set_source(self, source))

    def to_frame(self) -> Any:
        """The numbers as a data frame: pandas, or what is installed in its place."""
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
        """Write the numbers as CSV, with a head: what `to_frame` gives, and the ends of intervals.

        Columns ``lower`` and ``upper`` are for these records, ``lower_population`` and ``upper_population`` for the
        population; a result without intervals has none. What is not known is an empty cell. Dates and times are in ISO
        8601, times in UTC; `to_frame` has them as numbers since 1970.

        Args:
            path: The file.
            level: The confidence level of bands and intervals.
            population: Whether ends for the population are written, too.
            raw: Write text as it is. Else an apostrophe stands before a name or a label that begins with ``=``, ``+``,
                ``-``, ``@``, a tab or a line break, which a spreadsheet would run as a formula: see
                `display.unescape_formula`.
            suppress: Numbers whose interval for these records is wider, from end to end, than this share of the number
                are written as ``..``, with their ends. The rule looks at released numbers alone and protects nobody,
                who is protected already: it spares readers numbers that are mostly noise. JSON keeps them.

        Raises:
            ValueError: `suppress` is not above 0, or the result has no counts or sums with intervals.
        """
        text = self.to_csv_text(level=level, population=population, suppress=suppress, raw=raw)
        Path(path).write_text(text, encoding="utf-8", newline="")

    def to_csv_text(
        self, *, level: float = 0.95, population: bool = True, suppress: float | None = None, raw: bool = False
    ) -> str:
        """The text that `to_csv` writes."""
        columns = self.columns_with_intervals(level=level, population=population, suppress=suppress)
        rows = max(map(len, columns.values()), default=0)
        told = {"data": np.full(rows, self.privacy.source)} if self.privacy.source else {}
        return display.csv_text({**columns, **told}, raw=raw)

    def to_excel(
        self, path: str | Path, *, level: float = 0.95, population: bool = True, suppress: float | None = None
    ) -> None:
        """Write a workbook of Excel: a sheet with the numbers of `to_csv`, one with statement, notes and picture.

        It needs the extra ``office``. The same result gives the same bytes.

        Args:
            path: The file.
            level: The confidence level of bands and intervals.
            population: Whether ends for the population are written, too.
            suppress: See `to_csv`.

        Raises:
            ImportError: XlsxWriter or matplotlib is not installed.
            ValueError: `suppress` is not above 0, or the result has no counts or sums with intervals.
        """
        display.require_workbooks()
        picture = self.plot_headless(level=level, population=population)
        Path(path).write_bytes(self.to_workbook(picture, level, population, suppress))

    def to_workbook(
        self, picture: Axes, level: float = 0.95, population: bool = True, suppress: float | None = None
    ) -> bytes:
        """The workbook that `to_excel` writes, around a picture that was drawn before."""
        facts = display.statement_facts(self._title(), repr(self), self._summary_rows(suppress), self.privacy)
        columns = self.columns_with_intervals(level=level, population=population, suppress=suppress)
        return display.build_workbook(columns, facts, picture)

    def columns_with_intervals(
        self, *, level: float = 0.95, population: bool = True, suppress: float | None = None
    ) -> dict[str, NDArray[Any]]:
        """The columns that `to_csv` writes, by their names."""
        return self._format_columns(display.frame_columns(self.to_frame()), (), suppress)

    def _format_columns(
        self, columns: dict[str, NDArray[Any]], interval_columns: Sequence[str], suppress: float | None
    ) -> dict[str, NDArray[Any]]:
        """Columns as files have them: without numbers of wide intervals, with dates, and with labels as declared."""
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
        """The label columns whose categories were declared as numbers: see `display.find_declared_numbers`."""
        return {}

    def _axis_labels(self) -> Mapping[str, str]:
        """The columns that may hold dates, each with the label of its axis, which says so."""
        return dict.fromkeys(self.AXIS_COLUMNS, getattr(self, "label", ""))

    def _edge_columns(self) -> Collection[str]:
        """The columns of edges: cells that lie beyond all calendars are left out of files."""
        return self.AXIS_COLUMNS

    def _suppress_columns(
        self, columns: dict[str, NDArray[Any]], interval_columns: Sequence[str], suppress: float | None
    ) -> dict[str, NDArray[Any]]:
        """Columns in which numbers with wide intervals are left out; `interval_columns` are the columns of all ends."""
        if suppress is None:
            return columns
        measured = [name for name in self._suppressible_columns() if name in columns]
        if not measured or not {"lower", "upper"} <= set(columns):
            raise InvalidArgument("suppress", "counts and sums with intervals are suppressed; this result has none")
        rows = display.find_wide_intervals(columns[measured[0]], columns["lower"], columns["upper"], suppress)
        return display.suppress_rows(columns, [*measured, *interval_columns], rows)

    def _suppressible_columns(self) -> Sequence[str]:
        """The columns of numbers that may be suppressed; the first is the one that intervals are of."""
        return self.SUPPRESSIBLE_COLUMNS

    def plot_headless(
        self, *, level: float = 0.95, population: bool = True, ax: Axes | None = None, name: str | None = None
    ) -> Axes:
        """The result, drawn without a window, with its bands or intervals if it has any."""
        return self.plot(ax or display.headless_axes(self.SIZE), name=name)

    def to_json(self) -> str:
        """The result as JSON in the published format, with its releases: intervals can be computed again from it."""
        return display.encode_curve(self.KIND, self._arrays(), self.privacy, self.evidence_to_json())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The result that `to_json` wrote.

        Raises:
            ValueError: the text is of another kind, or is damaged.
        """
        with refuse_damaged():
            return cls._from_json(display.parse_curve(text, cls.KIND))

    @classmethod
    def matches_document(cls, document: Mapping[str, Any]) -> bool:
        """Tell whether this class wrote a document of this kind, as plain objects: some results are made of others."""
        return not cls.DISTINGUISHING_FACT or cls.DISTINGUISHING_FACT in document["evidence"]["question"]

    def evidence_to_json(self) -> dict[str, Any]:
        """The question and what was released for it, as plain objects."""
        return {"question": dict(self._question()), "releases": [turn.to_json() for turn in self.rounds]}

    @property
    def rounds(self) -> tuple[Evidence, ...]:
        """The releases, turn by turn."""
        return self.evidence if isinstance(self.evidence, tuple) else (self.evidence,)

    def summary_facts(self) -> dict[str, Any]:
        """The facts of its HTML summary, as plain objects: title, one line, summary, notes, and the protected unit."""
        return {"line": repr(self), **display.summary_facts(self._title(), self._summary(), self.privacy)}

    def _model_card_results(self) -> Iterator[Any]:
        """Results that a model card shows of it: itself, and readings of it that cost nothing more."""
        yield self

    def _repr_html_(self) -> str:
        picture = display.svg_text(self.plot(ax=display.headless_axes(self.SIZE)))
        told = [("budget", self.remaining_budget)] if self.remaining_budget else []
        return display.html_summary(self._title(), picture, [*self._summary(), *told], self.privacy)

    def render_html(self, picture: str, *, title: str = "", text: str = "", suppress: float | None = None) -> str:
        """The HTML summary around a picture that was drawn before, under another title, and with a text, if given.

        Numbers with wide intervals are left out as in `to_csv`.
        """
        return display.html_summary(title or self._title(), picture, self._summary_rows(suppress), self.privacy, text)

    def _summary_rows(self, suppress: float | None) -> Sequence[tuple[str, str]]:
        return self._summary()

    def _title(self) -> str:
        return self._format_template(self.TITLE)

    def _repr_facts(self) -> tuple[str, ...]:
        return (self._format_template(self.REPR_FACTS),) if self.REPR_FACTS else ()

    def _summary(self) -> Sequence[tuple[str, str]]:
        return [(name, self._format_template(words)) for name, words in self.SUMMARY]

    def _format_template(self, words: str) -> str:
        return _ResultFormatter().vformat(words, (self,), {})

    def _columns(self) -> Mapping[str, Any]:
        named = (each.partition("=") for each in self.COLUMNS)
        return {name: getattr(self, attribute or name) for name, _, attribute in named}

    def _known_columns(self) -> dict[str, Any]:
        """The columns, NaN where a number is not known."""
        return dict(self._columns())

    def _arrays(self) -> Mapping[str, object]:
        return {name: getattr(self, name) for name in self.ARRAYS} or self._columns()

    @abstractmethod
    def _question(self) -> Mapping[str, object]:
        """The public facts that it is read with."""

    @classmethod
    @abstractmethod
    def _from_json(cls, document: CurveDocument) -> Self:
        """Read it again from what was released."""

    @abstractmethod
    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Axes:
        """Draw its picture, with these bands or intervals."""


LONGEST_SOURCE = 200
LONGEST_FACT = 120
"""Most characters of a fact in the one line of a result: of a column's name, and what is said of it."""


def _set_source(thing: Any, source: str) -> Any:
    """A result with a source in its privacy statement, or in that of the results and tables that it is read from."""
    if not is_dataclass(thing) or isinstance(thing, type) or not hasattr(thing, "privacy"):
        return thing
    names = [each.name for each in fields(thing) if each.init]
    if "privacy" in names:
        return replace(thing, privacy=replace(cast("Any", thing).privacy, source=source))
    return replace(thing, **{name: _set_source(getattr(thing, name), source) for name in names})


def check_source(source: object) -> str:
    """A public name and version of data.

    Raises:
        ValueError: it is no text, empty, too long, or not printable.
    """
    if not isinstance(source, str) or not 0 < len(source) <= LONGEST_SOURCE or not source.isprintable():
        raise InvalidArgument("source", f"up to {LONGEST_SOURCE} printable characters are needed: a name and a version")
    return source


class SimulationCache:
    """Cache of bands and intervals: they are simulated with the same numbered draws each time, and so computed once."""

    @cached_property
    def _cache(self) -> dict[Hashable, Any]:
        return {}

    def _compute_once(self, asked: Hashable, generator: np.random.Generator | None, make: Callable[[], Made]) -> Made:
        """Make it; where the draws are the usual ones, unless it was made before."""
        if generator is not None:
            return make()
        if asked not in self._cache:
            self._cache[asked] = make()
        return cast("Made", self._cache[asked])


def complete_docstring(docstring: str, method: str, arguments: Collection[str]) -> str:
    """The docstring of a method of a covered result, with what is said of level and population, if it says nothing.

    Methods that `IntervalResult` has as well are explained there.

    >>> print(complete_docstring("Lower and upper ends.", "intervals", ["self", "level", "population"])[:55])
    Lower and upper ends.
    <BLANKLINE>
    Args:
        level: The probability
    """
    told = cleandoc(docstring)
    is_told = hasattr(IntervalResult, method) or "Args:" in told or "Raises:" in told
    if is_told or not {"level", "population"} <= set(arguments):
        return docstring
    return "\n".join([told, "", *ENDS_TAKE, *(GENERATOR if "generator" in arguments else ()), "", *ENDS_REFUSE])


ENDS_TAKE = (
    "Args:",
    "    level: The probability that they cover: each end on its own, or all simultaneously, as the class says.",
    "    population: Whether they are for the population, not for these records.",
)
GENERATOR = ("    generator: The random numbers of the simulation; None: the same numbered draws each time.",)
ENDS_REFUSE = (
    "Raises:",
    "    ValueError: `level` is not between 0 and 1; or, with `population`, units have several records.",
)


class IntervalResult(SimulationCache, ReleasedResult):
    """A result with a band or with intervals, for these records and for the population that they were drawn from.

    Attributes:
        INTERVAL_NAME: The name of the band or the intervals in legends.
        INTERVAL_COLUMNS: The columns of the ends.
        POSSIBLE_RANGES: The columns of numbers that may be *not known*, each with the least and the most that it can be, and the
            columns of its ends, if they are others than the first two: see `dpcurves.inference.knowledge`. Where a
            number is not known the data frame, files and pictures leave it out.
        IS_CURVE: Whether they are points of a curve, which is known or not as a whole.
    """

    INTERVAL_NAME: ClassVar[str] = "simultaneous intervals"
    INTERVAL_COLUMNS: ClassVar[tuple[str, ...]] = ("lower", "upper")
    POSSIBLE_RANGES: ClassVar[Mapping[str, tuple[Any, ...]]] = MappingProxyType({})
    IS_CURVE: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, method in vars(cls).items():
            if isfunction(method) and method.__doc__ is not None:
                code = method.__code__
                arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
                method.__doc__ = complete_docstring(method.__doc__, name, arguments)

    @property
    def scopes(self) -> Mapping[str, bool]:
        """The scopes of the intervals: these records and, only where each unit is one record, the population."""
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
        """Draw the result with its band or intervals. Spends nothing, however often it is called. A new figure has a
        title.

        Where a unit has several records nothing is said of the population, and a line below the picture says so.

        Args:
            ax: The axes to draw on; None: on a new figure.
            level: The confidence level of the band or intervals; None: none are drawn.
            population: Whether those for the population are drawn beside those for these records.
            name: What the legend calls it.
            style: ``"paper"``, ``"slides"`` or ``"dark"``; None: as matplotlib is set.

        Raises:
            ValueError: `level` is not between 0 and 1, or there is no such style.
        """
        with display.use_style(style, ax):
            drawn = self._plot_at_level(level, population=population, ax=ax, name=name)
            title = "" if ax is not None or name is not None else self._figure_title()
            return display.set_title(drawn, title) if title else drawn

    def _figure_title(self) -> str:
        """The title of a new figure; empty: it has none."""
        return self._title()

    def _plot_at_level(self, level: float | None, *, population: bool, ax: Axes | None, name: str | None) -> Axes:
        whom = {who: asked for who, asked in self.scopes.items() if population or not asked}
        privacy = self.privacy
        if level is not None and self._count_points() > MOST_SHADED:  # it would take long to simulate them
            level, words = None, f"no bands or intervals are drawn of more than {MOST_SHADED:,} points"
            privacy = privacy.with_notes(words)
        elif level is not None and population and privacy.rows_per_unit != 1:
            privacy = privacy.with_notes(SEVERAL)
        return self._plot(self._build_shades(whom, level), privacy=privacy, ax=ax, name=name)

    def to_frame(self, *, level: float | None = None, population: bool = False) -> Any:
        """The numbers as a data frame; with a `level`, also ``lower`` and ``upper`` ends.

        The ends are for these records, or, with `population`, for the population.
        """
        ends = {} if level is None else self._interval_columns(level, population=population)
        return display.to_frame({**self._known_columns(), **ends})

    def _interval_columns(self, level: float, *, population: bool) -> dict[str, Any]:
        """The ends of bands or intervals by their columns."""
        return dict(zip(self.INTERVAL_COLUMNS, self._interval_limits(level, population=population), strict=False))

    def _known_columns(self) -> dict[str, Any]:
        return self._mask_unknown_columns(self._columns())

    def _mask_unknown_columns(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: self._mask_unknown(name, column) if name in self.POSSIBLE_RANGES else column
            for name, column in columns.items()
        }

    def _mask_unknown(self, name: str, column: Any) -> Any:
        """A column of numbers, NaN where they are not known."""
        least, most, *names = self._possible_range(name)
        ends = self._masking_intervals
        if not ends:
            return column
        mask = known_curve if self.IS_CURVE else known_values
        return mask(column, [ends[end] for end in names or self.INTERVAL_COLUMNS[:2]], least, most)

    def _possible_range(self, name: str) -> tuple[Any, ...]:
        return self.POSSIBLE_RANGES[name]

    @cached_property
    def _masking_intervals(self) -> Mapping[str, Any]:
        """The ends, for these records, that decide which numbers are known; empty where all of them surely are."""
        if not self._may_be_unknown() or self._count_points() > MOST_SHADED:
            return {}
        return self._interval_columns(KNOWN_AT, population=False)

    def _may_be_unknown(self) -> bool:
        """Tell whether noise is large enough to hide a number; a result may know better without simulating it."""
        return True

    def to_json(self) -> str:
        """The result as JSON in the published format, with its releases: intervals can be computed again from it."""
        known = self._mask_unknown_columns(self._arrays())
        return display.encode_curve(self.KIND, known, self.privacy, self.evidence_to_json())

    def columns_with_intervals(
        self, *, level: float = 0.95, population: bool = True, suppress: float | None = None
    ) -> dict[str, NDArray[Any]]:
        """The columns that `to_csv` writes: no ends of bands that would take long to simulate."""
        found = display.frame_columns(self.to_frame(level=None))
        own = set(found)
        if max(map(len, found.values()), default=0) > MOST_SHADED:
            return self._format_columns(found, (), suppress)
        for of_population in self.scopes.values():
            if population or not of_population:
                banded = display.frame_columns(self.to_frame(level=level, population=of_population))
                ending = "_population" * of_population
                found |= {f"{name}{ending}": column for name, column in banded.items() if name not in own}
        return self._format_columns(found, [name for name in found if name not in own], suppress)

    def plot_headless(
        self, *, level: float = 0.95, population: bool = True, ax: Axes | None = None, name: str | None = None
    ) -> Axes:
        """The result, drawn without a window, with its bands or intervals."""
        drawn_on = ax or display.headless_axes(self.SIZE)
        return self.plot(drawn_on, level=level, population=population, name=name)

    def _build_shades(self, scopes: Mapping[str, bool], level: float | None) -> Sequence[Any]:
        """The shaded bands or intervals of a picture, the wider ones first; without a level, none."""
        if level is None:
            return ()
        level, found = require_probability("level", level), list[Shade]()
        for name, population in scopes.items():
            lower, upper = self._interval_limits(level, population=population)
            found.append(Shade(lower, upper, describe_interval(level, self._interval_name(), name)))
        return found[::-1]

    def _interval_name(self) -> str:
        return self.INTERVAL_NAME

    def _count_points(self) -> int:
        """The approximate number of shaded points or edges: the length of the longest column."""
        return max(len(column) for column in self._columns().values())

    def _interval_limits(self, level: float, /, *, population: bool) -> Any:
        """Lower and upper ends at this level: of the intervals, unless said otherwise."""
        return self.intervals(level, population=population).T

    if TYPE_CHECKING:

        def intervals(self, level: float, *, population: bool = False) -> FloatArray: ...


class CompositeResult(IntervalResult):
    """A result that is made of other results, each with its own releases: its JSON contains theirs unchanged."""

    KIND: ClassVar[str] = display.SEVERAL

    @abstractmethod
    def _members(self) -> Mapping[str, Any]:
        """The results, by what they are called."""

    @property
    def rounds(self) -> tuple[()]:
        """None of its own."""
        return ()

    def _all_evidence(self) -> Iterator[Evidence]:
        for each in self._members().values():
            yield from each._all_evidence()

    def _with_source(self, source: str) -> Self:
        return self  # it has that of the results which it is made of

    def to_json(self) -> str:
        """The curves by their names (``kind`` is ``curves``)."""
        members = {name: each.to_json() for name, each in self._members().items()}
        return display.encode_curves(members, self.privacy, self.evidence_to_json())

    @classmethod
    def parse_members(cls, document: CurveDocument, kind: type[Any] | None = None) -> dict[str, Any]:
        """The results in it: of this kind, or of the one that the first says that it is."""
        stored: Mapping[str, Any] = document.arrays["curves"]
        read = kind or find_result_class(next(iter(stored.values())))
        return {name: read.from_json(json.dumps(each)) for name, each in stored.items()}


def find_result_class(document: Mapping[str, Any]) -> type[Any]:
    """The result that wrote a document: the most special one, where several would read it.

    Raises:
        ValueError: there is none.
    """
    name = document["kind"]
    load_results(str(name))
    kinds = [
        each
        for each in _list_subclasses(ReleasedResult)
        if getattr(each, "KIND", None) == name and not isabstract(each)
    ]
    found = [each for each in kinds if each.matches_document(document)]
    if not found:
        raise InvalidArgument("curve.kind", f"no result is of the kind {str(name)[:40]!r}")
    return sorted(found, key=lambda each: len(each.__mro__))[-1]


def _list_subclasses(base: type[Any]) -> Iterator[type[Any]]:
    for each in base.__subclasses__():
        yield each
        yield from _list_subclasses(each)


def result_from_json(text: str) -> ReleasedResult:
    """The curve that `to_json` of some result wrote, whichever it was.

    Raises:
        ValueError: the text is no curve, or is damaged.

    >>> import dpcurves as dp
    >>> shares = dp.histogram([1, 2, 2], grid=dp.Grid(0, 4, cells=4), epsilon=1, adjacency=dp.ADD_REMOVE)
    >>> type(result_from_json(shares.to_json())).__name__
    'Histogram'
    """
    try:
        stored: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidArgument("curve", "this is no JSON") from None
    kind = stored.get("kind") if isinstance(stored, dict) else None
    if not isinstance(kind, str):
        raise InvalidArgument("curve.kind", "the field is missing, or is not a text")
    with refuse_damaged():
        found: type[ReleasedResult] = find_result_class(stored)
    return found.from_json(text)
