"""One curve for each declared category: parallel composition, so all of them for the price of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from .. import display
from ..data.axis import Category
from ..release import Face
from ..release.evidence import Evidence
from .question import card_of
from .result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Curve = TypeVar("Curve", bound=Any)  # a curve with `face`, `plot`, `to_frame` and `to_json`


class ByCategory(Result, Mapping[Category, Curve]):
    """A mapping from each category to its curve, in the order that was declared.

    Formal guarantees: a record lies in one category at most, and each curve was read from its own cells of one
    table, so all curves together lose what that table cost.
    """

    def __init__(self, column: str, curves: Mapping[Category, Curve]) -> None:
        self.column = column
        self._curves = dict(curves)

    def __getitem__(self, category: Category) -> Curve:
        return self._curves[category]

    def __iter__(self) -> Iterator[Category]:
        return iter(self._curves)

    def __len__(self) -> int:
        return len(self._curves)

    @property
    def face(self) -> Face:
        """The same for all curves; their notes name the category."""
        face: Face = next(iter(self._curves.values())).face
        notes = {note: list[str]() for curve in self._curves.values() for note in curve.notes}
        for category, curve in self._curves.items():
            for note in curve.notes:
                notes[note].append(str(category))
        told = [note if len(names) == len(self) else f"{', '.join(names)}: {note}" for note, names in notes.items()]
        return replace(face, notes=tuple(told))

    def plot(self, ax: Axes | None = None, *, level: float | None = 0.95, population: bool = True) -> Axes:
        """All curves in one picture, shaded for these records and for the `population`; without a `level`, not."""
        for category, curve in self._curves.items():
            ax = curve.plot(ax=ax, level=level, population=population, name=f"{self.column} {category}")
        if ax is None:
            raise ValueError("by: there is no category to draw")
        return ax

    def to_json(self) -> str:
        """The curves under their categories (``kind`` is ``curves``)."""
        curves = {str(category): curve.to_json() for category, curve in self._curves.items()}
        return display.bundle(curves, self.face, {"question": {"by": self.column}, "releases": []})

    def to_frame(self, *, level: float | None = None, population: bool = False) -> Any:
        """The columns of all curves, one below the other, with their category in the first column.

        With a `level`, their bands or intervals have columns, too: for these records, or for the `population`.
        """
        import narwhals

        banded = {} if level is None else {"level": level, "population": population}
        frames = [narwhals.from_native(curve.to_frame(**banded)) for curve in self._curves.values()]
        named = [
            frame.with_columns(narwhals.lit(str(category)).alias(self.column)).select(self.column, *frame.columns)
            for category, frame in zip(self._curves, frames, strict=True)
        ]
        return narwhals.concat(named).to_native()

    def _in_short(self) -> tuple[str, ...]:
        return self.column, f"{len(self)} categories"

    def _repr_html_(self) -> str:
        return card_of(f"By {self.column}", self.plot, [("categories", str(len(self)))], self.face)


def rows_of(evidence: Evidence) -> list[Evidence]:
    """The evidence of each row on its own: what one category's curve is read from.

    That all rows together have a known total is left unused: with several rows it tells next to nothing about one.
    """
    law = evidence.sums
    own = replace(law, rows=1, missing=None)
    parts: list[tuple[int, ...]] = [()] * law.rows
    start = 0
    for length in (part.length for part in law.parts):
        for row in range(law.rows):
            parts[row] += evidence.values[start : start + length]
            start += length
    return [Evidence(own, values, None) for values in parts]
