"""Curves and accounts as tables of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import Refused
from .balance import BalanceReport
from .numerals import numerals
from .safe_text import lettering

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table


def curve_table(columns: Mapping[str, ArrayLike], *, most: int = 20) -> Group:
    """Columns for the terminal: at most `most` rows, evenly chosen with both ends.

    A column of shape ``(rows, 2)`` is one of intervals.

    Raises:
        ValueError: `most` is below 2.
    """
    if most < 2:
        raise Refused("most", f"at least 2 rows are shown, got {most}")
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    arrays = {name: np.asarray(column) for name, column in columns.items()}
    rows = min((len(array) for array in arrays.values()), default=0)
    shown, table = _even(rows, most), Table()
    for name in arrays:
        table.add_column(Text(lettering(name)), justify="right")
    for cells in zip(*(numerals(array[shown]) for array in arrays.values()), strict=True):
        table.add_row(*map(Text, cells))
    return Group(table, *[Text(f"{most} of {rows:,} rows are shown")] * (rows > most))


def _even(rows: int, most: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).round().astype(np.int64))


def allowance_table(balance: BalanceReport) -> Table:
    """The allowances of an account for the terminal; below them what is left of its cap."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(lettering(balance.dataset)), show_footer=True, title_justify="left")
    feet = ("cap", "", balance.budget, balance.spent, balance.left)
    for name, foot in zip(("project", "analyst", "allowance", "spent", "left"), feet, strict=True):
        table.add_column(name, footer=Text(foot), justify="right" if name in ("allowance", "spent", "left") else "left")
    for spender in balance.spenders:
        table.add_row(*(Text(lettering(word, 120), overflow="fold") for word in spender))
    return table


def ledger_table(balance: BalanceReport) -> Table:
    """An account for the terminal: what was paid for, and what is left."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(lettering(balance.dataset)), show_footer=True, title_justify="left")
    table.add_column("question", footer=Text(f"spent of {balance.budget}\nleft"))
    table.add_column("price", footer=Text(f"{balance.spent}\n{balance.left}"), justify="right")
    table.add_column("request")
    table.add_column("when (UTC)")
    for charge in balance.charges:
        question, price, request, when = (lettering(word, 120) for word in charge)
        table.add_row(Text(question), Text(price), Text(request, overflow="fold"), Text(when))
    return table
