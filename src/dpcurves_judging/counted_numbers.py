"""Numbers that are functions of released counts of one table, or of several, with intervals: models judged in full."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, Unpack

import numpy as np

from dpcurves import display
from dpcurves.arguments import InvalidArgument, describe_value, require_probability
from dpcurves.arrays import FloatArray
from dpcurves.conversation import ALL, Evidence, Needs, PrivacyStatement, Release, ask_workload
from dpcurves.curves.by_category import collect_by_category, split_rows
from dpcurves.curves.pair_mean import MergedCellCounts, SimulatedCounts, compute_basic_interval
from dpcurves.curves.question import build_privacy_statement, require_independent
from dpcurves.curves.result import EACH, IntervalResult, PlotArguments
from dpcurves.display import format_number
from dpcurves.display.canvas import GREY, ShadedDrawingOptions, add_legend, prepare_axes
from dpcurves.display.numerals import distinguish_labels, format_label
from dpcurves.display.scores import draw_numbers
from dpcurves.inference.knowledge import KNOWN_AT, is_uninformative, known_number
from dpcurves.inference.simulation import choose_draws, numbered_generator
from dpcurves.summaries.two_classes import LEAST_MASS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


ROOM = 0.06
HEAD, ROW = 1.7, 0.26
LONGEST = 48


def draw_intervals(
    values: Mapping[str, float],
    privacy: PrivacyStatement,
    *,
    label: str,
    null_value: float | None,
    **on: Unpack[ShadedDrawingOptions],
) -> Axes:
    """Draw each number in a row with its intervals, and a line where there is no difference.

    Args:
        values: Numbers by their names.
        label: What the x axis shows.
        null_value: Where there is no difference; None: nowhere.
    """
    if on.get("ax") is None:
        on["ax"] = prepare_axes(None, (6.8, HEAD + ROW * len(values)))
    ax = draw_numbers(dict(zip(distinguish_labels(list(values), LONGEST), values.values(), strict=True)), privacy, **on)
    ends = [np.asarray(end) for shade in on.get("shades", ()) for end in (shade.lower, shade.upper)]
    seen = np.concatenate(
        [np.array(list(values.values()), dtype=float), *ends, [] if null_value is None else [null_value]]
    )
    seen = seen[np.isfinite(seen)]
    low, high = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)
    room = ROOM * (high - low) or ROOM
    ax.set_xlim(low - room, high + room)
    ax.set_xlabel(format_label(label), parse_math=False)
    add_legend(ax, "above", 8)
    if null_value is not None:
        ax.axvline(null_value, color=GREY, linewidth=0.9, linestyle=":", zorder=0)
    return ax


PLACE = 40
"""Streams of simulation beside those of other statistics: two for each table."""
MOST_DRAWS, VALUES, MOST_COUNTS = 4000, 2**21, 2**15
Tables = Sequence[FloatArray]


class Statistic(NamedTuple):
    """A number, as a function of the counts of all tables.

    Attributes:
        compute: From tables (..., *shape), to numbers (...); NaN where counts are too few to divide by.
        least, most: Between which it lies in any case.
        null_value: What it is for a model that is right, or where there is no difference; None: nothing is.
    """

    compute: Callable[[Tables], FloatArray]
    least: float = 0.0
    most: float = 1.0
    null_value: float | None = None


def find_slot_shapes(question: Any) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the tables as they are counted: with a slot below and one above the cells of each grid.

    A question says with `grids`, table by table, how many of the last axes are on grids.
    """
    shapes, grids = question.shapes(), question.grids()
    return tuple(
        (*shape[: len(shape) - along], *(cells + 2 for cells in shape[len(shape) - along :]))
        for shape, along in zip(shapes, grids, strict=True)
    )


@dataclass(frozen=True, eq=False, repr=False)
class CountedNumbers(IntervalResult):
    """Numbers that are read from released counts, each with an interval of its own.

    Attributes:
        question: The question, which says how they are read.
        evidence: The released counts, table by table.
        privacy: The privacy statement, which every picture shows.

    Data frame: a row for each number.
    """

    INTERVAL_NAME = EACH
    REPR_FACTS = "{names.size} numbers"
    JSON_SCHEMAS = MappingProxyType({"numbers": {"description": "Each number by its name.", **display.BY_NAME}})
    LABEL: ClassVar[str] = ""
    TAKES_OUTER_ENDS: ClassVar[bool] = False
    """Tells whether intervals for these records, too, take the outer ends of the basic and the percentile interval."""
    CLIPS_OUTSIDE: ClassVar[bool] = True
    """Tells whether records outside of the cells are read in the end cells; else they are left out."""

    question: Any
    evidence: tuple[Evidence, ...]
    privacy: PrivacyStatement

    @property
    def names(self) -> Any:
        """The names of the numbers."""
        return np.array(list(self._statistics))

    def value(self, name: str) -> float:
        """The number of this name; NaN where it is not known: see `dpcurves.inference.knowledge.known_number`.

        Raises:
            ValueError: there is no such number.
        """
        one = self._find_statistic(name)
        return known_number(self._estimate_value(one), self._find_deciding_ends(name), one.least, one.most)

    def _estimate_value(self, one: Statistic) -> float:
        """The number, known or not; NaN where counts are too few to divide by."""
        value = float(one.compute(self._unbiased_tables))
        return min(max(value, one.least), one.most) if np.isfinite(value) else float("nan")

    def _find_deciding_ends(self, name: str) -> tuple[float, float]:
        """The interval for these records; open, too, where noise may have made all that the number divides by."""
        one = self._find_statistic(name)

        def find_ends() -> tuple[float, float]:
            without = np.isnan(one.compute([each.counts + each.noise for each in self._tables])).mean()
            if without > (1 - KNOWN_AT) / 2:
                return one.least, one.most
            return self._find_ends(name, KNOWN_AT, population=False)

        return self._compute_once((name, KNOWN_AT), None, find_ends)

    def interval(self, name: str, level: float, *, population: bool = False) -> tuple[float, float]:
        """An interval that contains the number with probability about `level`.

        It is for these records, rounded to their cells; with `population`, for the population that they were drawn
        from, which needs independent units of one record each. Noise and sampling are simulated. How records lie in
        several tables together was not counted: sampling errors of several tables are taken to add up at their worst.
        Where simulated counts are too few to divide by, they count as errors beyond both ends: where these are more
        than an end may miss, it is the least or the most that the number can be. Of a number that is not known the
        interval is all that is possible.

        Raises:
            ValueError: there is no such number; `level` is not between 0 and 1; or, with `population`, units have
                several records.
        """
        level, one = require_probability("level", level), self._find_statistic(name)
        require_independent(self.privacy, population)
        if is_uninformative(*self._find_deciding_ends(name), one.least, one.most):
            return one.least, one.most
        return self._find_ends(name, level, population=population)

    def _find_ends(self, name: str, level: float, *, population: bool) -> tuple[float, float]:
        one = self._find_statistic(name)
        moved = self._compute_once((name, population), None, lambda: self._simulate_errors(one, population=population))
        found, both = float(one.compute(self._unbiased_tables)), population or self.TAKES_OUTER_ENDS
        if not np.isfinite(found):
            return one.least, one.most
        if np.isfinite(moved).all():
            low, high = compute_basic_interval(found, moved, level, both)
        else:
            beyond = [np.where(np.isfinite(moved), moved, end) for end in (-np.inf, np.inf)]
            ends = [compute_basic_interval(found, each, level, both) for each in beyond]
            low, high = min(each[0] for each in ends), max(each[1] for each in ends)
        value = self._estimate_value(one)
        return max(min(low, value), one.least), min(max(high, value), one.most)

    def intervals(self, level: float, *, population: bool = False) -> FloatArray:
        """Ends of all numbers, each on its own, in their order: shape ``(numbers, 2)``. See `interval`."""
        return np.array([self.interval(name, level, population=population) for name in self._statistics])

    def _simulate_errors(self, one: Statistic, *, population: bool) -> FloatArray:
        together = population and len(self._tables) == 1
        about, moved = (
            one.compute(self._likely_tables),
            one.compute([each.simulate_counts(together) for each in self._tables]),
        )
        if together or not population:
            return np.asarray(moved - about)
        alone = 0.0
        for table in self._tables:
            alone += float(
                np.std(
                    one.compute(
                        [e.likely_counts + e.sampling_noise if e is table else e.likely_counts for e in self._tables]
                    )
                )
            )
        return np.asarray(moved - about + alone * numbered_generator(PLACE - 1).standard_normal(len(moved)))

    @cached_property
    def _statistics(self) -> Mapping[str, Statistic]:
        return self.question.statistics()  # type: ignore[no-any-return]

    def _find_statistic(self, name: str) -> Statistic:
        if name not in self._statistics:
            raise InvalidArgument("name", f"one of {', '.join(self._statistics)} is needed, got {describe_value(name)}")
        return self._statistics[name]

    @property
    def _table_evidence(self) -> tuple[Evidence, ...]:
        return self.evidence

    @cached_property
    def _tables(self) -> list[MergedCellCounts]:
        """The tables of the question, each with streams of simulation of its own, and as many draws of all."""
        shapes = self.question.shapes()
        slots = zip(self._table_evidence, find_slot_shapes(self.question), strict=False)
        found = [each.unbiased_cells.reshape(shape) for each, shape in slots]
        size = max(each.size for each in found)
        draws = max(400, min(MOST_DRAWS, choose_draws(size), VALUES // size))
        simulated = [
            SimulatedCounts(counts, each, self.privacy, self.notes, stream=PLACE + 2 * number, draws=draws)
            for number, (counts, each) in enumerate(zip(found, self._table_evidence, strict=True))
        ]
        return [
            MergedCellCounts(each, shape, self.CLIPS_OUTSIDE) for each, shape in zip(simulated, shapes, strict=False)
        ]

    @property
    def _unbiased_tables(self) -> Tables:
        return [each.counts for each in self._tables]

    @property
    def _likely_tables(self) -> Tables:
        return [each.likely_counts for each in self._tables]

    def _columns(self) -> Mapping[str, Any]:
        return {"number": list(self._statistics), "value": [self.value(name) for name in self._statistics]}

    def _arrays(self) -> Mapping[str, object]:
        return {"numbers": {name: self.value(name) for name in self._statistics}}

    def _summary(self) -> list[tuple[str, str]]:
        return [(name, format_number(self.value(name))) for name in self._statistics]

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        aims = {each.null_value for each in self._statistics.values()}
        values = {name: self.value(name) for name in self._statistics}
        return draw_intervals(
            values, label=self.LABEL, null_value=aims.pop() if len(aims) == 1 else None, shades=shades, **how
        )

    def _question(self) -> Mapping[str, object]:
        from dpcurves.curves.question_json import question_to_json

        return {"asked": question_to_json(self.question)}

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Self:
        from dpcurves.curves.question_json import question_from_json

        question = question_from_json(document.question["asked"])
        evidence = document.releases
        if [each.sums.rows * each.sums.cells for each in evidence] != [
            prod(shape) for shape in find_slot_shapes(question)
        ]:
            raise InvalidArgument("curve.evidence.releases", "counts of each cell of the question's tables are needed")
        return cls(question, evidence, document.privacy)


def ask_one_table(kind: Callable[..., Any], question: Any, asked: Any, rows: int) -> Needs[Any]:
    """Ask for one table, and read it, or the rows of each category, as a result of this `kind`."""
    found = yield from ask_workload(asked, ALL)
    parts = [found.counts] if question.by is None else split_rows(found.counts, rows)
    privacy = build_privacy_statement(found.releases, question.model)
    return collect_by_category(question.by, (kind(question, (each,), privacy) for each in parts))


def ask_tables(kind: Callable[..., Any], question: Any, asked: Sequence[Any]) -> Needs[Any]:
    """Ask for one table after the other, each for an equal share of the loss, and read all as one result."""
    read, releases = list[Evidence](), list[Release]()
    for each in asked:
        found = yield from ask_workload(each, Fraction(1, len(asked)))
        read.append(found.counts)
        releases += found.releases
    return kind(question, tuple(read), build_privacy_statement(releases, question.model))


def divide_counts(part: FloatArray, whole: FloatArray) -> FloatArray:
    """A quotient of counts; NaN where there are none to speak of."""
    one, other = np.broadcast_arrays(np.asarray(part, float), np.asarray(whole, float))
    return np.asarray(np.divide(one, other, out=np.full(one.shape, np.nan), where=other >= LEAST_MASS))


def mask_empty(values: FloatArray, counts: FloatArray) -> FloatArray:
    """Values of counts; NaN where so few records were counted of those that they are of."""
    return np.asarray(np.where(np.asarray(counts) >= LEAST_MASS, values, np.nan))


def compute_auc(negative: FloatArray, positive: FloatArray) -> FloatArray:
    """The area under the ROC curve of counts (..., cells) of rising scores, ties counting one half; NaN without pairs.

    >>> float(compute_auc(np.array([2.0, 0.0]), np.array([1.0, 1.0])))
    0.75
    """
    below = np.cumsum(negative, axis=-1) - negative / 2
    false, true = negative.sum(axis=-1), positive.sum(axis=-1)
    share = divide_counts((positive * below).sum(axis=-1), np.where(false >= LEAST_MASS, false, 0.0) * true)
    return np.asarray(np.where(true >= LEAST_MASS, share, np.nan))


def require_few_counts(shapes: Sequence[tuple[int, ...]], name: str) -> None:
    """Refuse tables of more counts than intervals are simulated of.

    Raises:
        ValueError: there are too many.
    """
    if max(map(prod, shapes)) > MOST_COUNTS:
        raise InvalidArgument(name, f"at most {MOST_COUNTS} counts are made in a table; take fewer cells")
