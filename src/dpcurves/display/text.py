"""Lines and tables of text: the privacy line, spent budgets, plans, and curves on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import InvalidArgument
from ..conversation import OPEN, Plan, PrivacyStatement
from ..privacy import format_loss
from .numerals import format_distinct_labels, format_label, format_number, format_numbers

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from ..ledger import Amount, Statement


SEEDED = "SEEDED: NOT PRIVATE"


def footer(privacy: PrivacyStatement) -> str:
    """Loss, adjacency, protected unit and trust model; on a second line a warning, and the model, if any.

    >>> statement = PrivacyStatement(1.0, 0.5, "replace-one", "", 1, 1000, "a curator", "flat", True, "a", "elsewhere")
    >>> print(footer(statement))
    epsilon 1, replace-one; protects each record; trust: a curator
    SEEDED: NOT PRIVATE. Model: elsewhere
    """
    if privacy.trust == OPEN:
        return "counted openly, from public records"
    protected, trust = format_label(privacy.protected_unit, 120), format_label(describe_trust(privacy), 120)
    facts = f"{privacy.loss}, {privacy.adjacency}; protects {protected}; trust: {trust}"
    remarks = [SEEDED] if privacy.seeded else []
    if privacy.model:
        remarks.append(f"Model: {format_label(privacy.model, 240)}")
    source = f"Data: {format_label(privacy.source, 240)}" if privacy.source else ""
    return "\n".join(filter(None, [facts, ". ".join(remarks), source]))


def describe_trust(privacy: PrivacyStatement) -> str:
    """The trust model as people read it: whoever holds all records is called a trusted curator."""
    return re.sub(r"^one curator\b", "a trusted curator", privacy.trust)


def describe_mechanism(made_by: str) -> str:
    """The mechanism, and the trust model before it, as people read them: counts of nested partitions are hierarchical.

    >>> describe_mechanism("partition of 6, 27 and 100 intervals; partition of 7 intervals")
    'hierarchical counts of 6, 27 and 100 intervals; counts of 7 intervals'
    """
    nested = re.sub(r"partition of (?=[\d, ]+ and \d+ intervals)", "hierarchical counts of ", made_by)
    counted = re.sub(r"partition of (?=\d+ intervals)", "counts of ", nested)
    return re.sub(r"^one curator\b", "curator", counted)


class ChargeRow(NamedTuple):
    """A paid question."""

    question: str
    price: str
    request: str
    when: str


class AllowanceRow(NamedTuple):
    """An allowance: its owner, and its spent part."""

    project: str
    analyst: str
    allowance: str
    spent: str
    remaining: str


def format_amount(amount: Amount, delta: Fraction) -> str:
    """An amount of a ledger in words, with a delta where there is one."""
    return f"{amount}, delta {format_loss(delta)}" if delta else str(amount)


class BalanceReport(NamedTuple):
    """An account of the ledger: its budget, the spent and the remaining part, and the charges."""

    dataset: str
    budget: str
    spent: str
    remaining: str
    charges: Sequence[ChargeRow]
    spenders: Sequence[AllowanceRow] = ()

    @classmethod
    def from_statement(cls, statement: Statement) -> BalanceReport:
        """The balance that a ledger's statement tells."""
        account = statement.account
        # Moments in UTC as people write them, without seconds: all of ISO 8601 is too wide for a table.
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
            AllowanceRow(each.project, each.analyst or "all", str(each.limit), str(each.spent), str(each.remaining))
            for each in statement.allowances
        ]
        cap, spent = account.cap.delta, sum((line.loss.delta for line in statement.grants), start=Fraction(0))
        amounts = zip((account.limit, statement.spent, statement.remaining), (cap, spent, cap - spent), strict=True)
        budget, paid, left = (format_amount(amount, delta if cap else cap) for amount, delta in amounts)
        return cls(account.dataset, budget, paid, left, charges, spenders)


class RefusalRow(NamedTuple):
    """A refused question, and the reason."""

    question: str
    reason: str


LEGEND = (
    "turn: one noisy release; error: standard deviation of the noise of one number, in records (of a sum: in records "
    "that lie at a bound)"
)
ASKED = MappingProxyType(
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


class PlanLine(NamedTuple):
    """A paid part of a plan: its turns, its query, its price and error, and its mechanism."""

    rounds: str
    quantity: str
    price: str
    error: str
    relative_error: str
    mechanism: str


def plan_lines(plans: Sequence[Plan], units: int | None) -> Iterator[PlanLine]:
    """A line for each thing that is paid for. What is paid once may be looked at in many turns: they are one line.

    Arguments:
        plans: The turns of a question.
        units: The public number of units, of which the error is a share; None: it is private.
    """
    turn = 1
    for _, same in groupby(plans, key=lambda plan: (plan.query.charged_query, plan.loss)):
        plan, *others = same
        last = turn + len(others)
        # A sum is kept in steps of a lattice; a record adds `per_record_sensitivity` steps at most, and 1 to a count.
        error = plan.error / plan.query.per_record_sensitivity
        share = f"{error / units:.4%}" if units and error else ""
        asked = ASKED.get(type(plan.query).__name__, "answers")
        turns = f"{turn} to {last}" if others else str(turn)
        yield PlanLine(
            turns, asked, str(plan.loss), f"{error:.4g}" if error else "", share, describe_mechanism(plan.made_by)
        )
        turn = last + 1


def curve_table(columns: Mapping[str, ArrayLike], *, most: int = 20) -> Group:
    """Columns for the terminal: at most `most` rows, evenly chosen with both ends.

    A column of shape ``(rows, 2)`` is one of intervals. Values of numbers by name have figures of their own where some
    are a thousand times as large as others.

    Raises:
        ValueError: `most` is below 2.
    """
    if most < 2:
        raise InvalidArgument("most", f"at least 2 rows are shown, got {most}")
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    arrays = {name: np.asarray(column) for name, column in columns.items()}
    rows = min((len(array) for array in arrays.values()), default=0)
    shown, table = np.unique(np.linspace(0, rows - 1, min(rows, most)).round().astype(np.int64)), Table()
    for name in format_distinct_labels(list(arrays)):
        table.add_column(Text(name), justify="right", overflow="fold")  # no label or number is cut off
    texts = {name: format_numbers(array[shown]) for name, array in arrays.items()}
    for name, array in arrays.items() if arrays.keys() & NAMES_OF_NUMBERS else ():
        if array.ndim == 1 and _differ_in_magnitude(array):
            texts[name] = [format_number(value) for value in array[shown].tolist()]
    for cells in zip(*texts.values(), strict=True):
        table.add_row(*map(Text, cells))
    return Group(table, *[Text(f"{most} of {rows:,} rows are shown; --csv FILE writes all")] * (rows > most))


NAMES_OF_NUMBERS = frozenset({"number", "statistic"})
"""Columns that say what the numbers of a row are: a count and a variance need figures of their own."""


def _differ_in_magnitude(values: NDArray[Any]) -> bool:
    """Tell whether some of these numbers are a thousand times as large as others that are not 0."""
    found = np.abs(values[np.isfinite(values) & (values != 0)]) if values.dtype.kind == "f" else np.zeros(0)
    return bool(len(found) and found.max() > 1000 * found.min())


def allowance_table(balance: BalanceReport) -> Table:
    """The allowances of an account for the terminal; below them what is left of its cap."""
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
    """An account for the terminal: what was paid for, and what is left."""
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
