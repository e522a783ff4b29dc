"""Errors of other ways over ours, one table for all of them: both adjacencies, pure and zero-concentrated losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from .errors import METRICS


class Beside(NamedTuple):
    """How far off another way is on the same samples, in units of our error.

    Attributes:
        regime: Which data at which loss.
        setting: The adjacency and the kind of loss.
        name: The other way.
        ratios: Of each metric: the geometric mean over tasks, and its standard error.
        tasks: How many there were.
    """

    regime: str
    setting: str
    name: str
    ratios: tuple[tuple[float, float], ...]
    tasks: int

    @property
    def plain(self) -> dict[str, Any]:
        """All of it, by names."""
        return self._asdict()


def show_beside(console: Console, found: Sequence[Beside]) -> None:
    """Print a line for each other way, and a column for each setting."""
    settings = list(dict.fromkeys(each.setting for each in found))
    told = {(each.name, each.setting): each for each in found}
    where = f"{found[0].tasks} tasks of the regime '{found[0].regime}'"
    title = f"Others over dpcurves, {where}: {', '.join(METRICS)} with standard errors"
    table = Table("", *settings, title=title, title_justify="left")
    for name in dict.fromkeys(each.name for each in found):
        own = (told.get((name, setting)) for setting in settings)
        table.add_row(name, *("-" if each is None else _ratios(each) for each in own))
    console.print(table)


def _ratios(each: Beside) -> str:
    return "  ".join(f"{mean:.2f} ± {error:.2f}" for mean, error in each.ratios)
