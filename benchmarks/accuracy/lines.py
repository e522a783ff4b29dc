"""Lines of the table of regimes: what is asked of a regime, and what was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from .reasons import reason_of
from .shapes import Half

YES, NOT_SURE, NO = "yes", "not sure", "no"


class Effort(NamedTuple):
    """How much is done.

    Attributes:
        name: `tiny`, `quick`, `broad` or `full`.
        draws: How often the records of each task are drawn.
        releases: Of each draw.
        setups: How many tasks at how many losses a regime has, at most.
        cells: How many cells a grid has, where data do not say.
    """

    name: str
    draws: int
    releases: int
    setups: int
    cells: int


TINY = Effort("tiny", draws=1, releases=2, setups=1, cells=64)
QUICK = Effort("quick", draws=2, releases=2, setups=4, cells=4096)
BROAD = Effort("broad", draws=2, releases=2, setups=1000, cells=4096)
"""Every task, but few releases of each: a regime takes minutes."""
FULL = Effort("full", draws=8, releases=3, setups=1000, cells=4096)
EFFORTS = {effort.name: effort for effort in (TINY, QUICK, BROAD, FULL)}


class Run(NamedTuple):
    """What one run of the table is given.

    Attributes:
        effort: How much is done.
        seed: What everything is drawn from.
        halves: Which shapes and files take part.
        data: The folder of real data.
        only: How names of regimes begin that take part; none: all.
    """

    effort: Effort
    seed: int
    halves: tuple[Half, ...]
    data: Path
    only: tuple[str, ...] = ()

    def takes(self, regime: str) -> bool:
        """Whether a regime of this name takes part."""
        return not self.only or regime.startswith(self.only)


class Line(NamedTuple):
    """One line of the table.

    Attributes:
        regime: Which data at which loss.
        asked: What is measured, and over what.
        mark: What it is to be: at most this, unless `least`.
        mean: What it is: of ratios, the geometric mean over tasks.
        error: Its standard error.
        worst: The worst task.
        where: Its name.
        least: Whether the mark is the least, not the most that it is to be.
        either: Whether a ratio is to be at most the mark either way.
        releases: Of how many releases of each case; 0: as many as the run says.
    """

    regime: str
    asked: str
    mark: float
    mean: float
    error: float
    worst: float
    where: str
    least: bool = False
    either: bool = False
    releases: int = 0

    @property
    def missed(self) -> float:
        """By how much the mean is beside the mark; negative where it is better."""
        mean = max(self.mean, 1 / max(self.mean, 1e-12)) if self.either else self.mean
        return self.mark - mean if self.least else mean - self.mark

    @property
    def verdict(self) -> str:
        """Whether the mean is at the mark, or beside it by less, or by more, than two standard errors."""
        if self.missed <= 0:
            return YES
        return NOT_SURE if self.missed <= 2 * self.error else NO

    @property
    def why(self) -> str:
        """Why it is beside its mark; empty where that is not so, or not sure."""
        return reason_of(self.regime, self.asked) if self.verdict == NO else ""

    @property
    def plain(self) -> dict[str, Any]:
        """All of it, by names."""
        return {**self._asdict(), "verdict": self.verdict, "why": self.why}


def show(console: Console, title: str, lines: Sequence[Line]) -> None:
    """Print the lines as a table, and below it why lines are beside their marks."""
    counted = ("releases",) * any(line.releases for line in lines)
    head = "regime", "asked", "mark", "mean ± se", "worst", "where", *counted, "at it"
    table = Table(*head, title=title, title_justify="left")
    reasons = list(dict.fromkeys(line.why for line in lines if line.why))
    for line in lines:
        mean = f"{line.mean:.3f} ± {line.error:.3f}"
        verdict = f"{line.verdict} ({reasons.index(line.why) + 1})" if line.why else line.verdict
        mark = f"{'at least ' * line.least}{line.mark:g}"
        many = [f"{line.releases}"] * len(counted)
        table.add_row(line.regime, line.asked, mark, mean, f"{line.worst:.2f}", line.where, *many, verdict)
    console.print(table)
    for number, reason in enumerate(reasons, start=1):
        console.print(f"({number}) {reason}", highlight=False)
    told = Counter(line.verdict for line in lines)
    console.print(f"Of {len(lines)} lines {told[YES]} are at their mark, {told[NOT_SURE]} beside it by less than two "
                  f"standard errors, {told[NO]} by more.")  # fmt: skip
