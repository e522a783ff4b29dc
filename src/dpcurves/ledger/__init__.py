"""Privacy budget accounting: charges, and the answers that were paid. Database drivers are imported on use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .account import Account, BudgetExceeded
from .allowance import Allowance, Member, Together
from .amount import Amount, Currency
from .budget import Allotment, Grant, QuestionBudget

if TYPE_CHECKING:
    from .allowance_balance import AllowanceBalance
    from .balance import Balance
    from .event import Entered, Event
    from .ledger import Ledger
    from .remaining import Remaining
    from .statement import Statement, StatementLine
    from .stream_state import Standing
    from .verification import Verified

_WITH_DATABASES = {
    "AllowanceBalance": "allowance_balance", "Balance": "balance", "Entered": "event", "Event": "event",
    "Ledger": "ledger", "StatementLine": "statement", "Remaining": "remaining", "Standing": "stream_state",
    "Statement": "statement", "Verified": "verification",
}  # fmt: skip

__all__ = [
    "Account",
    "Allotment",
    "Allowance",
    "AllowanceBalance",
    "Amount",
    "Balance",
    "BudgetExceeded",
    "Currency",
    "Entered",
    "Event",
    "Grant",
    "Ledger",
    "Member",
    "QuestionBudget",
    "Remaining",
    "Standing",
    "Statement",
    "StatementLine",
    "Together",
    "Verified",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a name where it is used: who plans, or reads a curve again, needs no ledger."""
    if name not in _WITH_DATABASES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_WITH_DATABASES[name]}", __name__), name)
