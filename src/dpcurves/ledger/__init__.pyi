from .account import (
    LARGEST_AMOUNT,
    Account,
    Allotment,
    Allowance,
    AllowanceRule,
    Amount,
    BudgetExceeded,
    Currency,
    Grant,
    Member,
    QuestionBudget,
)
from .balance import AllowanceBalance, Balance
from .ledger import Ledger
from .statement import MemberBalance, Statement, StatementLine
from .stream_state import StreamState
from .verification import Condition, Event, EventEntry, VerificationResult

__all__ = [
    "LARGEST_AMOUNT",
    "Account",
    "Allotment",
    "Allowance",
    "AllowanceBalance",
    "AllowanceRule",
    "Amount",
    "Balance",
    "BudgetExceeded",
    "Condition",
    "Currency",
    "Event",
    "EventEntry",
    "Grant",
    "Ledger",
    "Member",
    "MemberBalance",
    "QuestionBudget",
    "Statement",
    "StatementLine",
    "StreamState",
    "VerificationResult",
]  # fmt: skip
