"""What a run shows: bars while it works, and a table of claims at the end."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from reproduction.claims import Claim, Row, counts

WIDTH = 150  # where no terminal says otherwise
COLUMNS = "place", "claim", "paper", "ours", "corrected", "dpcurves", "verdict"


def console() -> Console:
    """Where a run prints."""
    return Console(width=None if Console().is_terminal else WIDTH)


def progress(on: Console) -> Progress:
    """Bars, one for each experiment."""
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=on
    )


class Steps:
    """Moves one bar on each time it is called; where no terminal shows bars, it prints a line."""

    def __init__(self, bars: Progress, description: str, steps: Sized) -> None:
        self._bars, self._description, self._steps = bars, description, len(steps)
        self._task = bars.add_task(description, total=len(steps))
        self._begun, self._done = monotonic(), 0

    def __call__(self) -> None:
        self._bars.advance(self._task)
        self._done += 1
        if not self._bars.console.is_terminal:
            passed = lasting(monotonic() - self._begun)
            self._bars.console.print(f"{self._description}: {self._done} of {self._steps} after {passed}")


def lasting(seconds: float) -> str:
    """Seconds, or minutes from two of them on."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def show(found: Sequence[Row], on: Console) -> None:
    """Prints each claim with its numbers and its verdict, and how many there are of each."""
    table = Table(*COLUMNS, show_lines=True)
    for row in found:
        why = f"\n[dim]{row.claim.why}[/dim]" if row.claim.why else ""
        table.add_row(row.claim.place, row.claim.claim + why, bound(row.claim), *numbers(row), row.verdict)
    on.print(table)
    on.print(", ".join(f"{count} {verdict}" for verdict, count in counts(found).items()), highlight=False)


def bound(claim: Claim) -> str:
    """The paper's number, with its rule."""
    return f"{claim.number:g}" if claim.rule == "equal" else f"{claim.rule} {claim.number:g}"


def numbers(row: Row) -> tuple[str, str, str]:
    """Write the numbers of the paper's way, of the corrected one, and of dpcurves; empty where there is none."""
    if row.measured is None:
        return "", "", ""
    return _number(row.measured.printed), _number(row.measured.corrected), _number(row.measured.package)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}" if value.is_integer() else f"{value:.3g}"
