"""Texts of privacy statements, budgets and plans, and tables for the terminal.

- `footer` returns loss, adjacency, unit and trust model: the line that every plot has.
- `plan_lines` returns a line for each paid query of a plan: rounds, quantity, loss, error and mechanism.
- `curve_table` returns a curve as a table: all rows, or rows at round steps.
- `ledger_table` returns charges, allowances and the remaining budget of an account (`BalanceReport`).

A seeded release can be repeated, noise included, and so gives no privacy. All of these texts warn of it
(`warns_of_seed`), unless the data is made up (`made_up_data`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, starmap
from textwrap import wrap
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import InvalidArgument
from ..conversation import OPEN_TRUST_MODEL, Plan, PrivacyStatement
from ..foreign_text import escape_for_terminal
from ..privacy import format_loss
from .numerals import format_distinct_labels, format_label, format_number, format_numbers
from .result_tables import MOST_ROWS, select_row_indices

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group
    from rich.table import Table

    from ..ledger import Amount, Statement


SEEDED_STATEMENT = "SEEDED: NOT PRIVATE"
"""Warning in privacy statements of results whose noise comes from a seed, so that anybody can reproduce it."""
MADE_UP_STATEMENT = "made-up data"
"""Stands where `SEEDED_STATEMENT` would, on results of made-up records: see `made_up_data`."""
_STATE: dict[str, Any] = {"made up": False, "filter": ""}
"""Whether data is made up, and the filter that is shown, for the whole process: cells of a notebook have no common
context."""


@contextmanager
def made_up_data(shown_filter: str = "") -> Iterator[None]:
    """Context manager: pictures and pages inside the ``with`` block say that their data is made up, in place of the
    warning that seeded noise gives no privacy.

    For documentation and sketches, whose records are made up and whose noise is seeded so that they can be repeated.

    Args:
        shown_filter: What pictures show as the filter, if the result's filter only represents another filter.
    """
    before = dict(_STATE)
    _STATE.update({"made up": True, "filter": shown_filter})
    try:
        yield
    finally:
        _STATE.update(before)


def is_made_up() -> bool:
    """Return whether results are drawn within `made_up_data`."""
    return bool(_STATE["made up"])


def warns_of_seed(privacy: PrivacyStatement) -> bool:
    """Return whether a result must warn that its noise came from a seed, so that it can be repeated and protects
    nobody.

    Args:
        privacy: Privacy statement, which says whether the noise came from a seed.
    """
    return privacy.seeded and not is_made_up()


def footer(privacy: PrivacyStatement) -> str:
    """Return loss, adjacency, privacy unit and trust model in one line, and a warning and the model in a second line.

    Args:
        privacy: Privacy statement of a result.

    >>> statement = PrivacyStatement(1.0, 0.5, "replace-one", "", 1, 1000, "a curator", "flat", True, "a", "elsewhere")
    >>> print(footer(statement))
    epsilon 1, replace-one; protects each record; trust: a curator
    SEEDED: NOT PRIVATE. Model: elsewhere
    """
    if privacy.trust == OPEN_TRUST_MODEL:
        return "counted openly, from public records"
    protected = format_label(privacy.protected_unit, 120)
    trust = format_label(describe_trust(privacy), 160)
    facts = f"{privacy.loss}, {privacy.adjacency}; protects {protected}; trust: {trust}"
    remarks = []
    if is_made_up():
        remarks.append(MADE_UP_STATEMENT)
    elif privacy.seeded:
        remarks.append(SEEDED_STATEMENT)
    if privacy.model:
        remarks.append(f"Model: {format_label(privacy.model, 240)}")
    if privacy.where:
        remarks.append(f"Records: where {format_label(_STATE['filter'] or privacy.where, 400)}")
    source = f"Data: {format_label(privacy.source, 240)}" if privacy.source else ""
    return "\n".join(filter(None, [facts, ". ".join(remarks), source]))


def describe_size(privacy: PrivacyStatement) -> str:
    """Return the number of records or units of the table, for pictures; empty unless it is public.

    Args:
        privacy: Privacy statement, which has the public number of records or units.

    >>> statement = PrivacyStatement(1.0, 0.5, "replace-one", "", 1, 1000, "a curator", "flat", False, "a")
    >>> describe_size(statement)
    '1,000 records'
    """
    if privacy.units is None or privacy.trust == OPEN_TRUST_MODEL:
        return ""
    words = "records" if not privacy.unit else f"units ({format_label(privacy.unit)})"
    return f"{privacy.units:,} {words}{' in the table' if privacy.where else ''}"


def describe_trust(privacy: PrivacyStatement) -> str:
    """Return the trust model for readers: the holder of all records is called a trusted curator.

    Args:
        privacy: The privacy statement.
    """
    return re.sub(r"^one curator\b", "a trusted curator", privacy.trust)


def describe_mechanism(made_by: str) -> str:
    """Return the mechanism and its trust model for readers; counts of nested partitions are called hierarchical.

    >>> describe_mechanism("partition of 6, 27 and 100 intervals; partition of 7 intervals")
    'hierarchical counts of 6, 27 and 100 intervals; counts of 7 intervals'

    Args:
        made_by: Mechanisms and trust model, as a privacy statement has them.
    """
    nested = re.sub(r"partition of (?=[\d, ]+ and \d+ intervals)", "hierarchical counts of ", made_by)
    text = re.sub(r"partition of (?=\d+ intervals)", "counts of ", nested)
    return re.sub(r"^one curator\b", "curator", text)


class ChargeRow(NamedTuple):
    """A charged question."""

    question: str
    price: str
    request: str
    when: str


class AllowanceRow(NamedTuple):
    """An allowance: its owner and the spent amount."""

    project: str
    analyst: str
    allowance: str
    spent: str
    remaining: str


def format_amount(amount: Amount, delta: Fraction) -> str:
    """Format an amount of a ledger, with delta if it is not zero.

    Args:
        amount: Amount of epsilon or rho.
        delta: Amount of delta; 0: none.
    """
    return f"{amount}, delta {format_loss(delta)}" if delta else str(amount)


class BalanceReport(NamedTuple):
    """An account of the ledger: budget, spent and remaining amounts, and the charges."""

    dataset: str
    budget: str
    spent: str
    remaining: str
    charges: Sequence[ChargeRow]
    spenders: Sequence[AllowanceRow] = ()

    @classmethod
    def from_statement(cls, statement: Statement) -> BalanceReport:
        """Return the charges, allowances and remaining budget of an account's statement as texts.

        Args:
            statement: Statement of the account.
        """
        account = statement.account
        # Times in UTC without seconds: full ISO 8601 is too wide for a table.
        charges = [
            ChargeRow(
                line.purpose,
                format_amount(line.price, line.loss.delta),
                line.request,
                f"{line.when[:10]} {line.when[11:16]}",
            )
            for line in statement.grants
        ]
        spenders = [
            AllowanceRow(
                allowance.project,
                allowance.analyst or "all",
                str(allowance.limit),
                str(allowance.spent),
                str(allowance.remaining),
            )
            for allowance in statement.allowances
        ]
        cap = account.cap.delta
        spent = sum((line.loss.delta for line in statement.grants), start=Fraction(0))
        amounts = zip((account.limit, statement.spent, statement.remaining), (cap, spent, cap - spent), strict=True)
        budget, paid, remaining = (format_amount(amount, delta if cap else cap) for amount, delta in amounts)
        return cls(account.dataset, budget, paid, remaining, charges, spenders)


class RefusalRow(NamedTuple):
    """A rejected question and the reason."""

    question: str
    reason: str


LEGEND = (
    "round: one noisy release; error: standard deviation of the noise of one number, in records (of a sum: in records "
    "that lie at a bound)"
)
"""Caption of the table of a plan, which explains its columns."""
QUERY_WORDS = MappingProxyType(
    {
        "CountQuery": "counts",
        "PartitionQuery": "counts",
        "UnitSizesQuery": "units by rows",
        "SizedUnitsQuery": "units by rows and values",
        "PartitionSelectionQuery": "groups",
        "UniverseSelectionQuery": "groups",
        "TreePartitionQuery": "boxes",
        "PrefixQuery": "thresholds",
        "SumQuery": "sums",
        "SquareQuery": "sums of squares",
        "QuantileCutsQuery": "cuts",
        "MedianQuery": "cuts",
        "ThresholdQuery": "comparisons",
        "CoverageQuery": "bounds",
        "MergePartitionQuery": "merges",
        "RegionQuery": "counts",
        "IntervalPartitionQuery": "buckets",
        "WorstBoxQuery": "boxes",
        "WaveletQuery": "wavelets",
        "WeightQuery": "weights",
        "SquaredWeightQuery": "squared weights",
        "WeightedSumQuery": "weighted sums",
        "WeightedSpreadQuery": "weighted squares",
    }
)
"""What a round of a plan releases, in words, by the class name of its query; other classes release answers."""


class PlanLine(NamedTuple):
    """One query of a plan: its rounds, quantity, price, error and mechanism."""

    rounds: str
    quantity: str
    price: str
    error: str
    relative_error: str
    mechanism: str


def plan_lines(plans: Sequence[Plan], units: float | None) -> Iterator[PlanLine]:
    """Yield the lines of a plan's table: one for each charged query, with its rounds, loss, error and mechanism.

    Args:
        plans: The plans of a question, one per round.
        units: The public number of units, for errors as a share; None: it is private.
    """
    first_round = 1
    for _, plans_of_payment in groupby(plans, key=lambda plan: (plan.query.charged_query, plan.loss)):
        plan, *later_plans = plans_of_payment
        last_round = first_round + len(later_plans)
        # Sums are integers on a lattice: a record adds up to `per_record_sensitivity` steps, and 1 to a count.
        error = plan.error / plan.query.per_record_sensitivity
        relative_error = f"{error / units:.4%}" if units and error else ""
        quantity = QUERY_WORDS.get(type(plan.query).__name__, "answers")
        rounds = f"{first_round} to {last_round}" if later_plans else str(first_round)
        yield PlanLine(
            rounds,
            quantity,
            str(plan.loss),
            f"{error:.4g}" if error else "",
            relative_error,
            describe_mechanism(plan.made_by),
        )
        first_round = last_round + 1


def curve_table(columns: Mapping[str, ArrayLike], *, most: int = MOST_ROWS, rows: int = 0) -> Group:
    """Return a table for the terminal: all rows up to `most`, else rows at round steps of the axis, with the first and
    the last.

    A column of shape ``(rows, 2)`` holds intervals. Rows of named numbers are rounded separately if some are a thousand
    times larger than others.

    Args:
        columns: The columns by heading.
        most: Rows that are shown whole.
        rows: Rows of the whole table, if `columns` has a choice of them.

    Raises:
        ValueError: `most` is below 2.
    """
    if most < 2:
        raise InvalidArgument("most", f"at least 2 rows are needed, as in 20, got {most}")
    from rich.console import Group
    from rich.text import Text

    arrays = {name: np.asarray(column) for name, column in columns.items()}
    rows = max(rows, min((len(array) for array in arrays.values()), default=0))
    indices = select_row_indices(arrays, most)
    texts = {name: format_numbers(array[indices]) for name, array in arrays.items()}
    for name, array in arrays.items() if arrays.keys() & NAMES_OF_NUMBERS else ():
        if array.ndim == 1 and _differ_in_magnitude(array):
            texts[name] = [format_number(value) for value in array[indices].tolist()]
    labels = [escape_for_terminal(label) for label in format_distinct_labels(list(arrays), 160)]
    # escaped before widths are measured: an escape is wider than the character, and no cell is cut
    cells = [list(map(escape_for_terminal, column)) for column in texts.values()]
    table = FittedTable(tuple(starmap(FittedColumn, zip(labels, cells, strict=True))))
    if len(indices) == rows:
        return Group(table)
    return Group(table, Text(f"{len(indices)} of {rows:,} rows are shown; --csv FILE writes all"))


NAMES_OF_NUMBERS = frozenset({"number", "statistic", "reading", "rate"})
"""Names of columns that say what each row's number is, such as count or variance. Numbers in such tables that differ
much in size are rounded one by one instead of to equal decimals."""


def _differ_in_magnitude(values: NDArray[Any]) -> bool:
    """Return whether some numbers are a thousand times larger than other nonzero numbers.

    Args:
        values: Numbers, (rows,); integers and texts count as similar.
    """
    magnitudes = np.abs(values[np.isfinite(values) & (values != 0)]) if values.dtype.kind == "f" else np.zeros(0)
    return bool(len(magnitudes) and magnitudes.max() > 1000 * magnitudes.min())


@dataclass(frozen=True)
class FittedColumn:
    """A column of a table for the terminal: its heading, and the texts of its cells."""

    label: str
    cells: Sequence[str]

    @property
    def heading(self) -> str:
        """The label in lines as wide as the cells, so that wide headings leave cells unbroken."""
        lines = wrap(self.label, max(10, *map(len, self.cells)) if self.cells else 10, break_long_words=False)
        return "\n".join(lines) or self.label

    def measure(self, *, breaks: bool) -> int:
        """Return the width in letters: of the longest word if lines may break between words, else of whole lines.

        Args:
            breaks: Whether lines may break between words.
        """
        words = self.heading.split() if breaks else self.heading.splitlines()
        texts = [word for cell in self.cells for word in (cell.split() if breaks else [cell])]
        return _measure_widest(*words, *texts)

    def measure_cells(self) -> int:
        """Return the least width of the column, in characters, that breaks neither cells nor words of the heading."""
        return _measure_widest(*self.heading.split(), *self.cells)


@dataclass(frozen=True)
class FittedTable:
    """A table that breaks no word: where the terminal is too narrow, further columns follow in tables below, each after
    the columns that identify the rows."""

    columns: tuple[FittedColumn, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        """Yield the tables, for a terminal of the width of `options`."""
        for columns in self.split(options.max_width):
            yield self._make_table(columns, options.max_width)

    def split(self, width: int) -> list[list[FittedColumn]]:
        """Return the columns of each table that is at most `width` letters wide, if a single column is not wider."""
        if _add_borders(column.measure(breaks=True) for column in self.columns) <= width:
            return [list(self.columns)]
        keys = list(self.columns[: self._count_keys()])
        parts = [list(keys)]
        for column in self.columns[len(keys) :]:
            widths = [entry.measure_cells() for entry in (*parts[-1], column)]
            if _add_borders(widths) > width and len(parts[-1]) > len(keys):
                parts.append(list(keys))
            parts[-1].append(column)
        return parts

    def _count_keys(self) -> int:
        """Return how many of the first columns are needed to identify every row: 1 to 3.

        If three columns do not suffice, return 1.
        """
        for number in range(1, min(4, len(self.columns))):
            rows = list(zip(*(column.cells for column in self.columns[:number]), strict=True))
            if len(set(rows)) == len(rows):
                return number
        return 1

    def _make_table(self, columns: Sequence[FittedColumn], width: int) -> Table:
        """Return a table whose columns break between words alone, if `width` allows.

        Args:
            columns: Columns of the table.
        """
        from rich.table import Table
        from rich.text import Text

        widths: list[int] = [column.measure(breaks=True) for column in columns]
        whole = [column.measure(breaks=False) for column in columns]
        is_narrow = _add_borders(whole) > width
        free = width - _add_borders(widths)
        while free > 0 and widths != whole:  # the most broken column grows first
            number = max(range(len(widths)), key=lambda index: whole[index] - widths[index])
            widths[number] += 1
            free -= 1
        table = Table()
        for column, letters in zip(columns, widths, strict=True):
            # labels and numbers are never truncated
            fixed = letters if is_narrow and free >= 0 else None
            table.add_column(Text(column.heading), justify="right", overflow="fold", width=fixed)
        for row in zip(*(column.cells for column in columns), strict=True):
            table.add_row(*map(Text, row))
        return table


def _measure_widest(*texts: str) -> int:
    """Return the width of the widest text, in letters of the terminal; wide letters count twice.

    Args:
        texts: Texts of one line each.
    """
    from rich.cells import cell_len

    return max(map(cell_len, texts), default=0)


def _add_borders(widths: Iterable[int]) -> int:
    """Return the width of a table: of its columns, of two blanks and a border for each, and of the first border.

    Args:
        widths: Width of each column, in letters.
    """
    return 1 + sum(width + 3 for width in widths)


def allowance_table(balance: BalanceReport) -> Table:
    """Return the allowances of an account for the terminal, with the remaining cap below.

    Args:
        balance: Report of the account, with the allowances as `spenders`.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(format_label(balance.dataset)), show_footer=True, title_justify="left")
    feet = ("cap", "", balance.budget, balance.spent, balance.remaining)
    for name, foot in zip(("project", "analyst", "allowance", "spent", "left"), feet, strict=True):
        table.add_column(name, footer=Text(foot), justify="right" if name in ("allowance", "spent", "left") else "left")
    for spender in balance.spenders:
        table.add_row(*(Text(format_label(word, 120), overflow="fold") for word in spender))
    return table


def ledger_table(balance: BalanceReport) -> Table:
    """Return an account for the terminal: charges and the remaining budget.

    Args:
        balance: Report of the account, with its charges.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(format_label(balance.dataset)), show_footer=True, title_justify="left")
    table.add_column("question", footer=Text(f"spent of {balance.budget}\nleft"))
    table.add_column("price", footer=Text(f"{balance.spent}\n{balance.remaining}"), justify="right")
    table.add_column("request")
    table.add_column("when (UTC)")
    for charge in balance.charges:
        question, price, request, when = (format_label(word, 120) for word in charge)
        table.add_row(Text(question), Text(price), Text(request, overflow="fold"), Text(when))
    return table
