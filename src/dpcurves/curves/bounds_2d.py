"""Private bounds of two columns: a rectangle around the origin."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import display
from ..arguments import Refused, require_kind
from ..release import PrivacyStatement, Setting
from ..workloads import Needs
from .bounds import Bounds, BoundsQuestion, bounded
from .question import statement_of
from .result import Released

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import Opened, Shade

WRITTEN = 'a BoundsQuestion, as in BoundsQuestion("x", 1, 0.9),'

HALF = Fraction(1, 2)


@dataclass(frozen=True, repr=False)
class PlaneBounds(Released):
    """Two intervals, one for each column.

    Attributes:
        across: The bounds of the first column.
        upwards: The bounds of the second column.
        privacy: The privacy statement of both together, which every picture shows.

    Data frame of two rows: columns ``column``, ``lower`` and ``upper``. In JSON both stand under their columns.
    """

    KIND: ClassVar[str] = "curves"

    across: Bounds
    upwards: Bounds
    privacy: PrivacyStatement

    @property
    def turns(self) -> tuple[()]:
        """None here: the releases are those of each interval."""
        return ()

    def _drawn(self, privacy: PrivacyStatement, shaded: Sequence[Shade], ax: Axes | None, name: str | None) -> Axes:
        """Draw the rectangle."""
        ends, labels = (self.across.bound, self.upwards.bound), (self.across.label, self.upwards.label)
        widest = [each.label for each in self._both if each.capped]
        covers = [f"{each.label} covers {each.covers}" for each in self._both]
        return display.draw_plane_bounds(ends, privacy, labels=labels, covers=covers, widest=widest, ax=ax, name=name)

    @property
    def _both(self) -> tuple[Bounds, Bounds]:
        return self.across, self.upwards

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {
            "column": np.array([each.label for each in self._both]),
            "lower": np.array([each.lower for each in self._both]),
            "upper": np.array([each.upper for each in self._both]),
        }

    def _arrays(self) -> dict[str, object]:
        return {"curves": {each.label: json.loads(each.to_json()) for each in self._both}}

    def _question(self) -> dict[str, object]:
        return {"columns": [each.label for each in self._both]}

    @classmethod
    def wrote(cls, stored: Mapping[str, Any]) -> bool:
        """Tell whether this class wrote a document: whether it names columns that have bounds."""
        return "columns" in stored["evidence"]["question"]

    @classmethod
    def _opened(cls, opened: Opened) -> PlaneBounds:
        columns, stored = opened.evidence["question"].get("columns", []), opened.arrays["curves"]
        if len(columns) != 2 or not set(columns) <= stored.keys():
            raise Refused("curve", "bounds of two columns are needed")
        across, upwards = (Bounds.from_json(json.dumps(stored[column])) for column in columns)
        return cls(across, upwards, opened.privacy)

    def _title(self) -> str:
        return "Bounds"

    def _summary(self) -> list[tuple[str, str]]:
        rows = (((each.label, each.in_words), (f"{each.label} covers", each.covers)) for each in self._both)
        return [row for pair in rows for row in pair]


@dataclass(frozen=True, slots=True)
class PlaneBoundsQuestion:
    """Private bounds on the distances of two columns from zero. Two turns, half of the budget each.

    A single test of both columns with one common noise would have a quarter less noise under add-remove, but a sixth
    more under replace-one, where a replaced record may enter an interval of one column and leave one of the other.

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

    def steps(self, setting: Setting) -> Needs[PlaneBounds]:
        """Bounds of one column, then of the other."""
        width, first = yield from bounded(self.across.query, HALF)
        height, second = yield from bounded(self.upwards.query, HALF)
        return PlaneBounds(width, height, statement_of((first, second)))

    def __str__(self) -> str:
        return f"bounds of {self.across.column} and {self.upwards.column}"
