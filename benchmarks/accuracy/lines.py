"""Lines of the table of regimes: what is asked of a regime, and what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from .shapes import Half


class Effort(NamedTuple):
    """How much is done.

    Attributes:
        name: `tiny`, `quick` or `full`.
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
FULL = Effort("full", draws=8, releases=3, setups=1000, cells=4096)
EFFORTS = {effort.name: effort for effort in (TINY, QUICK, FULL)}


class Run(NamedTuple):
    """What one run of the table is given.

    Attributes:
        effort: How much is done.
        seed: What everything is drawn from.
        halves: Which shapes and files take part.
        data: The folder of real data.
    """

    effort: Effort
    seed: int
    halves: tuple[Half, ...]
    data: Path


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

    @property
    def verdict(self) -> str:
        """Whether the mean is at the mark, as far as two standard errors tell."""
        mean = max(self.mean, 1 / max(self.mean, 1e-12)) if self.either else self.mean
        missed = (self.mark - mean if self.least else mean - self.mark) - 2 * self.error
        return "no" if missed > 0 else "yes"


def show(console: Console, title: str, lines: Sequence[Line]) -> None:
    """Print the lines as a table."""
    table = Table("regime", "asked", "mark", "mean ± se", "worst", "where", "at it", title=title, title_justify="left")
    for line in lines:
        mean = f"{line.mean:.3f} ± {line.error:.3f}"
        table.add_row(line.regime, line.asked, f"{line.mark:g}", mean, f"{line.worst:.2f}", line.where, line.verdict)
    console.print(table)
