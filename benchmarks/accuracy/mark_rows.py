"""Rows of the tables of accuracy: a figure, its mark, and for a miss the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from rich.console import Console
from rich.table import Table

from .lines import NO, NOT_SURE, YES
from .reasons import reason_of

PARTS = {
    "A": "the default curve beside simple methods",
    "B": "strategies beside the optimum",
    "C": "widths of intervals at level .9 over errors",
    "D": "questions without a range, and cost",
}
Z = 2.0
"""Standard errors by which a figure may be beside its mark and not be a miss."""


class MarkRow(NamedTuple):
    """One row.

    Attributes:
        part: The table, `A` to `D`.
        name: What is measured, on which data.
        figure: The unit of the figure.
        before: The figure where the work began; empty: not known.
        today: The figure.
        error: Its standard error.
        mark: The largest figure, or the least one if `is_least`.
        releases: Releases of each case; 0 for figures without noise.
        beside: Further figures: coverage, or which method is the best.
        is_least: Whether the mark is the least figure.
        commit: The commit that was measured; empty: measured before rows stored it.
    """

    part: str
    name: str
    figure: str
    before: str
    today: float
    error: float
    mark: float
    releases: int = 0
    beside: str = ""
    is_least: bool = False
    commit: str = ""

    @property
    def verdict(self) -> str:
        """Whether the figure is at its mark, or beside it by less, or by more, than two standard errors."""
        missed = self.mark - self.today if self.is_least else self.today - self.mark
        if missed <= 0:
            return YES
        return NOT_SURE if missed <= Z * self.error else NO

    @property
    def reason(self) -> str:
        """Why the figure misses its mark; empty where it does not."""
        return reason_of(f"{self.part}: {self.name}", self.figure) if self.verdict == NO else ""

    @property
    def plain(self) -> dict[str, Any]:
        """All fields by name, with the verdict and the reason of a miss."""
        return {**self._asdict(), "verdict": self.verdict, "reason": self.reason}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Read what `plain` gives; verdict and reason are found anew."""
        return cls(**{name: plain[name] for name in cls._fields if name in plain})


def show_rows(console: Console, rows: Sequence[MarkRow]) -> None:
    """Print the tables that have rows, and below each the reasons of its misses."""
    for part, title in PARTS.items():
        own = [row for row in rows if row.part == part]
        if own:
            _show_part(console, f"{part}. {title}", own)


def _show_part(console: Console, title: str, rows: Sequence[MarkRow]) -> None:
    """Print one table."""
    head = "what", "figure", "before", "today", "mark", "beside", "releases", "at it"
    table = Table(*head, title=title, title_justify="left")
    reasons = list(dict.fromkeys(row.reason for row in rows if row.reason))
    for row in rows:
        number = f" ({reasons.index(row.reason) + 1})" if row.reason else ""
        error = f" ({row.error:.2g})" if row.error else ""
        mark = f"{'at least ' * row.is_least}{row.mark:g}"
        releases = f"{row.releases}" if row.releases else ""
        table.add_row(
            row.name, row.figure, row.before, f"{row.today:.3g}{error}", mark, row.beside, releases,
            f"{row.verdict}{number}",
        )  # fmt: skip
    console.print(table)
    for index, reason in enumerate(reasons, start=1):
        console.print(f"({index}) {reason}", highlight=False)
    verdicts = Counter(row.verdict for row in rows)
    console.print(
        f"Of {len(rows)} rows {verdicts[YES]} are at their mark, {verdicts[NOT_SURE]} beside it by less than two "
        f"standard errors, {verdicts[NO]} by more."
    )
