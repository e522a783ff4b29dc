"""Views of the curves and numbers read from one release of scores. Names are those of the JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from .covered import drawn
from .literals import chosen, numbers
from .output import Covering
from .refusal import Misuse
from .split_options import Split
from .views import Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from ..curves import Scores, ScoresByCategory
    from ..data import Grid

NUMBERS = "numbers"
OF_PROBABILITIES = ("calibration", "decision-curve")
READ: Mapping[str, Callable[[Scores, float], Any]] = MappingProxyType(
    {
        NUMBERS: lambda scores, threshold: scores,
        "roc": lambda scores, threshold: scores.roc(),
        "precision-recall": lambda scores, threshold: scores.precision_recall(),
        "gain": lambda scores, threshold: scores.cumulative_gain(),
        "calibration": lambda scores, threshold: scores.calibration(),
        "decision-curve": lambda scores, threshold: scores.decision_curve(),
        "confusion": lambda scores, threshold: scores.confusion(threshold),
    }
)
"""Readings of released scores that ``--show`` offers."""


@dataclass(frozen=True)
class Showing:
    """Options for the reading that is shown and drawn; every reading comes from the same release."""

    split: Split
    show: Annotated[
        str,
        Option(
            help="The curve that is shown and drawn; all others are paid for with it.",
            metavar="|".join(READ),
        ),
    ] = NUMBERS
    threshold: Annotated[
        str, Option(help="For the confusion matrix: scores at or above it are called positive.", metavar="S")
    ] = "0.5"

    def view(self, sure: Covering, grid: Grid) -> ScoresView:
        """View of scores on this grid.

        Raises:
            Misuse: there is no such reading, it needs probabilities and the grid has others, or the threshold is no
                number.
        """
        reading = chosen("show", self.show, READ)
        if self.show in OF_PROBABILITIES and (grid.lower < 0 or grid.upper > 1):
            raise Misuse("show", f"{self.show} is of probabilities, in [0, 1]; the grid has other scores")
        at = numbers("threshold", self.threshold)
        if len(at) != 1:
            raise Misuse("threshold", f"one number is needed, got {self.threshold!r}")
        return ScoresView(sure, self.show, lambda scores: reading(scores, at[0]))


@dataclass(frozen=True)
class ScoresView:
    """View of the numbers read from scores, and of one more reading."""

    sure: Covering
    show: str
    read: Callable[[Scores], Any]

    def tables(self, curve: Scores) -> list[Shown]:
        """Numbers with their intervals, and the chosen reading with its intervals for these records."""
        from ..curves.covering import EACH, ends_of
        from .covered import covered

        words, ends = covered(curve.privacy, self.sure, EACH, ends_of(curve.intervals))
        values: dict[str, ArrayLike] = {
            "reading": [each.key for each in curve.readings], "value": [curve.value(each) for each in curve.readings]
        }  # fmt: skip
        first = Shown(words, {**values, **ends})
        return [first] if self.show == NUMBERS else [first, self._read(curve)]

    def _read(self, curve: Scores) -> Shown:
        from ..display import RECORDS

        frame = self.read(curve).to_frame(level=self.sure.level)
        columns = {str(name): frame[name].to_numpy() for name in frame.columns}
        return Shown(f"{self.show.replace('-', ' ')}, with ends at {self.sure.level:g} {RECORDS}", columns)

    def draw(self, curve: Scores) -> Axes:
        """The reading."""
        from ..display import SQUARE

        found = self.read(curve)
        return drawn(found, self.sure, getattr(found, "SIZE", SQUARE))


@dataclass(frozen=True)
class GroupedScoresView:
    """View of the scores of several categories."""

    one: ScoresView

    def tables(self, curves: ScoresByCategory) -> list[Shown]:
        """A table for each category."""
        found = [(name, shown) for name, scores in curves.items() for shown in self.one.tables(scores)]
        return [shown._replace(headline=f"{curves.named(name)}: {shown.headline}") for name, shown in found]

    def draw(self, curves: ScoresByCategory) -> Axes:
        """The reading of each category."""
        from ..curves import ByCategory
        from ..display import SQUARE

        found = {name: self.one.read(scores) for name, scores in curves.items()}
        first, *_ = found.values()
        return drawn(ByCategory(curves.columns, found), self.one.sure, getattr(first, "SIZE", SQUARE))
