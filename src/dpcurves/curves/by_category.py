"""A curve for each declared category (parallel composition: all together lose as much as the one that loses most)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from .. import display
from ..arguments import InvalidArgument, WrongArgumentType, describe_value, parse_choice, require_type
from ..arrays import FloatArray
from ..conversation import Evidence, PrivacyStatement
from ..data import Category
from ..display import MOST_LABELLED, Shade, describe_interval
from ..queries import Hint
from .question import By, Key, combine_categories, format_key, list_columns, parse_grouping
from .result import TOO_WIDE, CompositeResult, PlotArguments, interval_scopes, refuse_damaged

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SHARE = re.compile(r"(\d+)%(.*)", re.DOTALL)
MOST_NAMED = 6
MOST_SMALL, MOST_ROWS = 20, 60
"""So many small pictures can be read."""
QUARTILES = (0.25, 0.5, 0.75)
EACH = "individual interval"
NOT_SAID = "it does not say of which column these are the categories"
Curve = TypeVar("Curve", bound=Any)  # a curve with `privacy`, `plot`, `to_frame` and `to_json`


class ByCategory(CompositeResult, Mapping[Key, Curve]):
    """A mapping from each category to its curve, in the order that was declared.

    Where records are divided by several columns, a category is a tuple with one value of each: ``curves["F",
        "north"]``.

    They are drawn in one picture, or beside each other where they are many, or their medians below each other. Bands of
    histograms hide each other, and so does one that fills all: then each has a picture of its own, and `plot` returns
    the axes of the first. Of more than 20 distribution functions the medians are drawn with their intervals and
    quartiles, those of categories that are text by size. A name is printed before the categories in the legend.

    Attributes:
        columns: Whose categories these are.

    Formal guarantees: a record lies in one category at most, and each curve was read from its own cells of one
    table, so all curves together lose what that table cost.
    """

    TITLE = "By {column}"

    MEMBER_KIND: ClassVar[str] = ""
    """The class of all the curves; any class is allowed if none is named."""

    def __init__(self, columns: str | Sequence[str], curves: Mapping[Key, Curve]) -> None:
        self.columns = (columns,) if isinstance(columns, str) else tuple(columns)
        self._curves = dict(curves)

    @property
    def column(self) -> str:
        """The name of the column, or of all of them."""
        return ", ".join(self.columns)

    def format_category(self, category: Key) -> str:
        """The name of a category in legends and above tables."""
        return f"{self.column} {category}" if len(self.columns) == 1 else format_key(category)

    def label_columns(self) -> list[tuple[str, list[str]]]:
        """The columns, each with the category of every curve: see `display.join_columns`."""
        return [(column, list(map(str, values))) for column, values in self._category_columns()]

    def _category_columns(self) -> list[tuple[str, list[Category]]]:
        """The columns, each with the category of every curve as it was declared."""
        keys = [category if isinstance(category, tuple) else (category,) for category in self._curves]
        return [(column, [key[place] for key in keys]) for place, column in enumerate(self.columns)]

    def __getitem__(self, category: Key) -> Curve:
        return self._curves[category]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._curves)

    def __len__(self) -> int:
        return len(self._curves)

    def sum_over(self, *columns: str) -> Any:
        """The margin: curves of all records over the categories of these columns, with intervals. Spends nothing.

        ``curves.sum_over("ward")`` of curves by ward and year is curves by year; over all columns it is one curve. Sums of
        parts are these margins, number for number, before negative counts are set to zero. Records of no declared
        category are in none.

        Args:
            columns: Names of columns of the categories.

        Returns:
            A `ByCategory` by the columns that are left, or one curve.

        Raises:
            ValueError: a column is none of those of the categories, or curves were counted on cells of their own.
            TypeError: curves of this kind do not add up: distribution functions, histograms, counts and sums do.

        Formal guarantees: post-processing; each margin has intervals of the law of its own noise, the sum of that of
        its parts, see `margins.added`.
        """
        left, curves = compute_margins(self.columns, self._curves, columns)
        return type(self)(left, curves) if left else next(iter(curves.values()))

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement that all curves share; each note names its category."""
        privacy: PrivacyStatement = next(iter(self._curves.values())).privacy
        return replace(
            privacy, notes=merge_notes({format_key(name): curve.notes for name, curve in self._curves.items()})
        )

    def _figure_title(self) -> str:
        return f"{next(iter(self.values()))._title()} by {self.column}"

    def _plot_at_level(self, level: float | None, *, population: bool, ax: Axes | None, name: str | None) -> Axes:
        if not self:
            raise InvalidArgument("by", "there is no category to draw")
        names, curves = self._category_names(name), list(self.values())
        shaded = {"level": level, "population": population}
        if len(names) > MOST_SMALL and all(hasattr(curve, "quantile_intervals") for curve in curves):
            return self._plot_medians(names, ax, level, population=population)
        fills = len(names) > 1 and any(TOO_WIDE in note for curve in curves for note in curve.notes)
        if fills or len(names) > min(getattr(curve, "TOGETHER", display.MOST_TOGETHER) for curve in curves):
            draw = [partial(curve.plot, **shaded) for curve in curves]
            return display.draw_small_multiples(names, draw, self.privacy, ax=ax)
        for own, curve in zip(names, curves, strict=True):
            ax = curve.plot(ax=ax, name=own, **shaded)
        return cast("Axes", ax)

    def _plot_medians(self, names: Sequence[str], ax: Axes | None, level: float | None, *, population: bool) -> Axes:
        """Median and quartiles of each curve in a row, with intervals of the medians."""
        curves, shades = list(self.values()), list[Shade]()
        quartiles = np.array([curve.quantile(np.array(QUARTILES)) for curve in curves])
        for who, asked in interval_scopes(self.privacy).items() if level is not None else ():
            if asked and not population:
                continue
            found = [curve.quantile_intervals(QUARTILES[1:2], level, population=asked)[0] for curve in curves]
            ends = [np.clip(each, curve.x[0], curve.x[-1]) for each, curve in zip(found, curves, strict=True)]
            lower, upper = np.array(ends).T
            shades.append(Shade(lower, upper, describe_interval(cast("float", level), EACH, who)))
        order = self.order_by_size(quartiles[:, 1])
        rows = [shade.select_rows(order) for shade in shades[::-1]]
        return display.draw_means(
            [names[place] for place in order], quartiles[order, 1], self.privacy, label=f"median of {curves[0].label}",
            shades=rows, halves=quartiles[order][:, [0, 2]], ax=ax,
        )  # fmt: skip

    def order_by_size(self, values: FloatArray) -> NDArray[np.int64]:
        """The order of rows in a picture: by size where categories are many and text, else as they were declared."""
        if len(self) <= MOST_LABELLED or not all(isinstance(key, str) for key in self):
            return np.arange(len(self))
        return np.argsort(-values, kind="stable")

    def _category_names(self, name: str | None) -> list[str]:
        """The name of each category in a picture, behind a name if there is one."""
        names = [
            self.format_category(category) if name is None else f"{name}, {self.format_category(category)}"
            for category in self
        ]
        return display.format_distinct_labels(names)

    def with_labels(
        self, columns: Mapping[str, str], categories: Mapping[str, Mapping[str, str]] | None = None
    ) -> Self:
        known = [(categories or {}).get(column, {}) for column in self.columns]

        def rename_key(key: Key) -> Key:
            parts = key if isinstance(key, tuple) else (key,)
            words = tuple(own.get(str(part), part) for own, part in zip(known, parts, strict=True))
            return words if isinstance(key, tuple) else words[0]

        curves = {rename_key(key): curve.with_labels(columns, categories) for key, curve in self._curves.items()}
        if len(set(map(format_key, curves))) < len(self._curves):
            raise InvalidArgument("categories", "two would be called alike: each needs its own word")
        return type(self)([columns.get(column, column) for column in self.columns], curves)

    def _with_source(self, source: str) -> Self:
        curves = {key: curve._with_source(source) for key, curve in self._curves.items()}
        return type(self)(self.columns, curves)

    def _suppressible_columns(self) -> Sequence[str]:
        return () if not self else next(iter(self.values()))._suppressible_columns()

    def _members(self) -> Mapping[str, Curve]:
        return {format_key(category): curve for category, curve in self._curves.items()}

    def _question(self) -> Mapping[str, object]:
        by = self.column if len(self.columns) == 1 else list(self.columns)
        return {"by": by, "categories": list(self._curves)}

    @classmethod
    def from_json(cls, text: str, kind: type[Curve] | None = None) -> Self:
        """The curves that `to_json` wrote. With a `kind`, such as ``dp.CDF``, curves of another class are refused.

        Raises:
            ValueError: the text holds no curves by category, or curves of another kind.
        """
        with refuse_damaged():
            return cls._from_document(display.parse_curve(text, cls.KIND), kind)

    @classmethod
    def matches_document(cls, document: Mapping[str, Any]) -> bool:
        """Tell whether a document names the column of the categories, with curves of the kind that is needed."""
        kinds = {each["kind"] for each in document["curves"].values()}
        is_of_kind = kinds <= ({cls.MEMBER_KIND} if cls.MEMBER_KIND else kinds)
        return super().matches_document(document) and "by" in document["evidence"]["question"] and is_of_kind

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Self:
        return cls._from_document(document, None)

    @classmethod
    def _from_document(cls, document: display.CurveDocument, kind: type[Any] | None) -> Self:
        question, curves = document.question, document.arrays["curves"]
        told, by = question.get("categories", list(curves)), question.get("by")
        categories: list[Key] = [tuple(key) if isinstance(key, list) else key for key in told]
        parts = len(by) if isinstance(by, list) else 1
        fit = all((len(key) if isinstance(key, tuple) else 1) == parts for key in categories)
        if "by" not in question or not fit or list(map(format_key, categories)) != list(curves):
            raise InvalidArgument("curve.evidence.question", NOT_SAID)
        read = cls.parse_members(document, kind)
        return cls(by if isinstance(by, list) else str(by), dict(zip(categories, read.values(), strict=True)))

    def to_frame(self, *, level: float | None = None, population: bool = False) -> Any:
        """The columns of all curves, one below the other, with their categories in the first columns.

        These are called as the columns of the data are, or ``NAME_category`` where a column of numbers has that name.

        With a `level`, the ends of their bands or intervals are columns, too: for these records, or, with `population`,
            for the population.
        """
        banded = {} if level is None else {"level": level, "population": population}
        frames = [curve.to_frame(**banded) for curve in self._curves.values()]
        return display.stack_frames(frames, self.label_columns())

    def _axis_labels(self) -> Mapping[str, str]:
        return next((curve._axis_labels() for curve in self.values()), {})

    def _edge_columns(self) -> Collection[str]:
        return next((curve._edge_columns() for curve in self.values()), ())

    def _declared_numbers(self, columns: Collection[str]) -> Mapping[str, Mapping[str, Category]]:
        return display.find_declared_numbers(self._category_columns(), columns)

    def _repr_facts(self) -> tuple[str, ...]:
        return self.column, f"{len(self)} categories"

    def _summary(self) -> list[tuple[str, str]]:
        rows = [("categories", str(len(self)))]
        for key, curve in list(self.items())[:MOST_ROWS]:
            numbers = getattr(curve, "describe_median", None)
            rows += [] if numbers is None else [(f"{format_key(key)}, median", numbers())]
        return rows

    def _columns(self) -> Mapping[str, Any]:
        return display.join_columns(self.label_columns(), {})

    def _plot(self, shades: Sequence[Any], /, **how: Unpack[PlotArguments]) -> Any:
        return self.plot(how["ax"], level=None, name=how["name"])


def merge_notes(notes: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The notes of several curves, each once, and of which it speaks. Those that differ by a share alone are one.

    >>> merge_notes({"a": ("30% lie above",), "b": ("35% lie above", "missing"), "c": ()})
    ('a, b: 30% to 35% lie above', 'b: missing')
    """
    names, shares = dict[str, list[str]](), dict[str, list[int]]()
    for name, said in notes.items():
        for note in said:
            found = SHARE.fullmatch(note)
            words = note if found is None else found[2]
            names.setdefault(words, []).append(name)
            shares.setdefault(words, []).extend([] if found is None else [int(found[1])])
    return tuple(_format_merged_note(words, names[words], shares[words], len(notes)) for words in names)


def _format_merged_note(words: str, names: Sequence[str], shares: Sequence[int], total: int) -> str:
    between = "" if not shares else f"{min(shares)}% to {max(shares)}%" if len(set(shares)) > 1 else f"{shares[0]}%"
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    whose = "" if len(names) == total else f"{', '.join(names[:MOST_NAMED])}{more}: "
    return f"{whose}{between}{words}"


def split_rows(evidence: Evidence, rows_per_part: int = 1) -> list[Evidence]:
    """The evidence of each row on its own, or of so many neighbouring ones: what one category's curve is read from.

    That all rows together have a known total is left unused: with several rows it tells next to nothing about one.
    """
    law = evidence.sums
    own = law.with_rows(rows_per_part)
    parts: list[tuple[int, ...]] = [()] * (law.rows // rows_per_part)
    start = 0
    for length in (part.length * rows_per_part for part in law.parts):
        for group in range(len(parts)):
            parts[group] += evidence.values[start : start + length]
            start += length
    return [Evidence(own, values, None) for values in parts]


# Margins: sums of one release over categories of some of its columns, as curves and numbers with intervals.


NOTE = "a sum over the declared categories of {columns}: records of no declared category are in none of them"


def sum_curves(curves: Sequence[Curve], *notes: str) -> Curve:
    """The curve of the records of all these curves together, read from the sums of what was released for them.

    Formal guarantees: it is read from released numbers alone, so nothing is spent. *Proof of its intervals.* Each
    release of one law is ``S c + noise``, with the same linear S for all; their sum is ``S (sum of c) + (sum of
    noises)``. That is a release of the union under the law whose noises are sums of independent noises, which
    `NoisySums.added` is; intervals are simulated from it as from any other law.

    Args:
        curves: Curves of one kind, of disjoint records, from one release: the same question, the same laws.
        notes: What the curve notes.

    Raises:
        TypeError: curves of this kind do not add up.
        ValueError: they were not counted alike.
    """
    first = curves[0]
    if not first.IS_ADDITIVE:
        raise WrongArgumentType("columns", f"results of the kind {type(first).__name__} do not add up; counts and sums do")
    alike = {json.dumps(dict(each._question()), sort_keys=True, default=str) for each in curves}
    laws = [tuple(turn.law for turn in each.rounds) for each in curves]
    if len(alike) > 1 or any(each != laws[0] for each in laws):
        raise InvalidArgument("columns", "curves that were not counted alike, each on cells of its own, do not add up")
    turns = [Evidence.sum_disjoint(turns) for turns in zip(*(each.rounds for each in curves), strict=True)]
    stored = json.loads(first.to_json())
    stored["evidence"]["releases"] = [turn.to_json() for turn in turns]
    stored["notes"] = list(notes)  # those on one category are read again, of the sums
    read: Curve = type(first).from_json(json.dumps(stored))
    return read


def compute_margins(
    columns: Sequence[str], curves: Mapping[Key, Any], summed_columns: Sequence[str]
) -> tuple[list[str], dict[Key, Any]]:
    """The columns that are left, and the sum of the curves of each of their categories.

    Raises:
        ValueError: a column is none of those of the categories, or is named twice.
        TypeError: curves of this kind do not add up.
    """
    unknown = [name for name in summed_columns if name not in columns]
    if not summed_columns or unknown or len(set(summed_columns)) < len(summed_columns):
        named = ", ".join(map(describe_value, columns))
        raise InvalidArgument("columns", f"columns of these categories are needed, each once: {named}")
    places = [place for place, name in enumerate(columns) if name not in summed_columns]
    parts: dict[Key, list[Any]] = {}
    for key, curve in curves.items():
        each = key if isinstance(key, tuple) else (key,)
        left = tuple(each[place] for place in places)
        parts.setdefault(left[0] if len(left) == 1 else left, []).append(curve)
    note = NOTE.format(columns=", ".join(summed_columns))
    return [columns[place] for place in places], {key: sum_curves(group, note) for key, group in parts.items()}


# Shared parts of questions about one column: curves by category, and words for axes and ledgers.


AnyCurve = TypeVar("AnyCurve", bound=Any)


def build_by_category(by: By, evidence: Evidence, make: Callable[[Evidence], AnyCurve]) -> Any:
    """Read one curve; with `by`, one from each row, as `ByCategory`."""
    return make(evidence) if by is None else collect_by_category(by, map(make, split_rows(evidence)))


def collect_by_category(by: By, curves: Iterable[Any], result_class: type[ByCategory[Any]] = ByCategory) -> Any:
    """The curves of all categories, in their order; without `by` the only one."""
    return (
        result_class(list_columns(by), dict(zip(combine_categories(parse_grouping(by)), curves, strict=True)))
        if by
        else next(iter(curves))
    )


def format_axis_label(column: str, measured_in: str) -> str:
    """The label of an axis.

    Raises:
        TypeError: the measuring unit is no text.
    """
    require_type("measured_in", measured_in, str, "a text")
    return f"{column} ({measured_in})" if measured_in else column


def describe_question(quantity: str, column: str, by: By) -> str:
    """The description that a ledger keeps."""
    return f"{quantity} of {column}{describe_grouping(by)}"


def describe_grouping(by: By) -> str:
    """By which columns records are parted, for a ledger.

    >>> from dpcurves.data import Categories
    >>> describe_grouping((Categories("sex", ("F", "M")), Categories("ward", (1, 2))))
    ' by sex, ward'
    """
    names = () if by is None else list_columns(by)
    return f" by {', '.join(names)}" if names else ""


def parse_hint(hint: object) -> Hint | None:
    """The hint that is given as itself or by its word.

    Raises:
        ValueError: it is another word.
    """
    return None if hint is None else parse_choice("hint", hint, Hint, also=", or none")


def describe_hint(hint: Hint | None) -> str:
    """The description of a hint that a ledger keeps."""
    return "" if hint is None else f", said to be {hint.value}" if hint is not Hint.ATOMS else ", said to have atoms"
