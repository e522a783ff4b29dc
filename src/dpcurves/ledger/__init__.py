"""Privacy budget accounting: charges, and the answers that were paid. Database drivers are imported on use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .account import Account, Allowance, BudgetExceeded, Member, Together
from .amount import Allotment, Amount, Currency, Grant, QuestionBudget

if TYPE_CHECKING:
    from .balance import AllowanceBalance, Balance
    from .charge import Entered, Event
    from .ledger import Ledger
    from .statement import Remaining, Statement, StatementLine
    from .stream_state import Standing
    from .verification import Verified

_WITH_DATABASES = {
    "AllowanceBalance": "balance", "Balance": "balance", "Entered": "charge", "Event": "charge",
    "Ledger": "ledger", "StatementLine": "statement", "Remaining": "statement", "Standing": "stream_state",
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
