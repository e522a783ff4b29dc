"""Private bounds of two columns: a rectangle around the origin."""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import display
from ..arguments import Refused, require_kind
from ..release import PrivacyStatement, Release, Setting, Step
from .bounds import Bounds, BoundsQuestion, bounded
from .question import card_of, statement_of
from .result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WRITTEN = 'a BoundsQuestion, as in BoundsQuestion("x", 1, 0.9),'

HALF = Fraction(1, 2)


@dataclass(frozen=True, repr=False)
class PlaneBounds(Result):
    """Two intervals, one for each column.

    Attributes:
        across: Of the first column.
        upwards: Of the second column.
        privacy: What stands on every picture: of both together.
    """

    across: Bounds
    upwards: Bounds
    privacy: PrivacyStatement

    def plot(self, ax: Axes | None = None, *, name: str | None = None) -> Axes:
        """Draw the rectangle."""
        ends, labels = (self.across.bound, self.upwards.bound), (self.across.label, self.upwards.label)
        widest = [each.label for each in (self.across, self.upwards) if each.capped]
        covers = [f"{each.label} covers {each.covers}" for each in (self.across, self.upwards)]
        return display.draw_plane_bounds(
            ends, self.privacy, labels=labels, covers=covers, widest=widest, ax=ax, name=name
        )

    def to_frame(self) -> Any:
        """Columns ``column``, ``lower`` and ``upper`` as a data frame of two rows."""
        both = self.across, self.upwards
        return display.to_frame(
            {
                "column": np.array([each.label for each in both]),
                "lower": np.array([each.lower for each in both]),
                "upper": np.array([each.upper for each in both]),
            }
        )

    def to_json(self) -> str:
        """The bounds under their columns (``kind`` is ``curves``)."""
        curves = {each.label: json.loads(each.to_json()) for each in (self.across, self.upwards)}
        evidence: dict[str, object] = {"question": {"columns": list(curves)}, "releases": []}
        return display.envelope("curves", {"curves": curves}, self.privacy, evidence)

    @classmethod
    def from_json(cls, text: str) -> PlaneBounds:
        """What `to_json` wrote.

        Raises:
            ValueError: the text holds no bounds of two columns.
        """
        opened = display.opened(text, "curves")
        columns, stored = opened.evidence["question"].get("columns", []), json.loads(text)["curves"]
        if len(columns) != 2 or not set(columns) <= stored.keys():
            raise Refused("curve", "bounds of two columns are needed")
        across, upwards = (Bounds.from_json(json.dumps(stored[column])) for column in columns)
        return cls(across, upwards, opened.privacy)

    def _repr_html_(self) -> str:
        both = self.across, self.upwards
        rows = [row for each in both for row in ((each.label, each.in_words), (f"{each.label} covers", each.covers))]
        return card_of("Bounds", self.plot, rows, self.privacy)


@dataclass(frozen=True, slots=True)
class PlaneBoundsQuestion:
    """How far from zero do the values of two columns lie? Two turns, half of the budget each.

    One test over both columns, with one common noise, would have a quarter less noise under add-remove, and a sixth
    more under replace-one, where a record may come into an interval of one column and leave one of the other.

    Attributes:
        across: The first column, its unit and coverage.
        upwards: The second column, with a unit and a coverage of its own.

    Raises:
        ValueError: both are one column.
    """

    across: BoundsQuestion
    upwards: BoundsQuestion

    def __post_init__(self) -> None:
        for name in ("across", "upwards"):
            require_kind(name, getattr(self, name), BoundsQuestion, WRITTEN)
        if self.across.column == self.upwards.column:
            raise Refused("upwards", f"another column than the first one is needed, got {self.upwards.column!r}")

    def steps(self, setting: Setting) -> Generator[Step, Release, PlaneBounds]:
        """Bounds of one column, then of the other."""
        width, first = yield from bounded(self.across.query, HALF)
        height, second = yield from bounded(self.upwards.query, HALF)
        return PlaneBounds(width, height, statement_of((first, second)))

    def __str__(self) -> str:
        return f"bounds of {self.across.column} and {self.upwards.column}"
