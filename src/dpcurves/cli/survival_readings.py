"""Commands about the time until an event: readings of survival curves, and questions with more than one time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .ask_file import survival_compared
from .columns import SurvivalsView, SurvivalView
from .options import chosen, numbers, one_number, option, perhaps
from .output import Output, ResultView, Shown, drawn
from .terminal import Misuse

if TYPE_CHECKING:
    from matplotlib.axes import Axes

READ = "survival", "hazard", "numbers", "figure"
"""Readings of released survival curves that ``--show`` offers."""


@dataclass(frozen=True)
class SurvivalReadings:
    """Options for readings of survival curves that cost nothing more: numbers at times, hazards, a figure."""

    show: str = option("|".join(READ), "What is shown and drawn; all others are paid for with it.", READ[0])
    until: str | None = perhaps("T", "With --show numbers: the time up to which means are restricted.")
    at: str | None = perhaps("T,T,...", "With --show numbers: landmarks at which shares without an event are told.")
    since: str | None = perhaps("T", "With --at: of those without an event up to this time.")
    weights: str = option("R,G", "Powers rho and gamma of Fleming and Harrington's weights of the test.", "0,0")
    theme: str = option("light|dark|print", "The colours of the figure.", "light")

    def view(self, output: Output, *, grouped: bool) -> ResultView:
        """View of what is to be shown."""
        show = chosen("show", self.show, {word: word for word in READ})
        rho, gamma = (*numbers("weights", self.weights), None)[:2]
        if rho is None or gamma is None or min(rho, gamma) < 0:
            raise Misuse("weights", "two numbers that are not below 0 are needed, as in 1,0")
        if show != "numbers" and (self.until, self.at, self.since) != (None, None, None):
            raise Misuse("show", "--until, --at and --since need --show numbers")
        if show == "survival" and (rho, gamma) == (0.0, 0.0):
            return (SurvivalsView if grouped else SurvivalView).of(output)
        chosen("theme", self.theme, dict.fromkeys(("light", "dark", "print")))
        until, since = (
            None if text is None else one_number(name, text)
            for name, text in (("until", self.until), ("since", self.since))
        )
        at = () if self.at is None else numbers("at", self.at)
        if show == "numbers" and until is None and not at:
            raise Misuse("show", "say which numbers: --until T, or --at T,T")
        asked = {"until": until, "at": at, "since": since}
        return SurvivalReadingView(output.covering(), show=show, asked=asked, weights=(rho, gamma), theme=self.theme)


@dataclass(frozen=True, kw_only=True)
class SurvivalReadingView(ResultView):
    """View of a reading of one survival curve, or of the curves of all categories."""

    show: str
    asked: Mapping[str, Any]
    weights: tuple[float, float]
    theme: str

    def tables(self, curves: Any) -> list[Shown]:
        """The reading's columns with intervals, below the test of two groups."""
        told = survival_compared(curves, self.sure, self.weights) if hasattr(curves, "parts") else ""
        found = self._read(curves)
        parts = found.items() if hasattr(found, "parts") else [("", found)]
        tables = [super(SurvivalReadingView, self).tables(each)[0] for _, each in parts]
        heads = [f"{curves.named(name)}: " if name != "" else "" for name, _ in parts]
        return [
            shown._replace(headline=f"{'' if place else told}{head}{shown.headline}")
            for place, (head, shown) in enumerate(zip(heads, tables, strict=True))
        ]

    def draw(self, curves: Any) -> Axes:
        """Plot of the reading."""
        from ..display import headless_axes

        level = {"level": self.sure.level, "population": self.sure.population}
        if self.show != "figure":
            return drawn(self._read(curves), **level)
        from ..curves import survival_figure

        return survival_figure(curves, theme=self.theme, weights=self.weights, ax=headless_axes((6.4, 4.6)), **level)

    def _read(self, curves: Any) -> Any:
        from ..curves import ByCategory, CumulativeHazard, SurvivalNumbers

        if self.show == "numbers":
            return SurvivalNumbers(curves, **self.asked)
        if self.show != "hazard":
            return curves
        if not hasattr(curves, "parts"):
            return CumulativeHazard(curves)
        return ByCategory(curves.columns, {name: CumulativeHazard(each) for name, each in curves.items()})
