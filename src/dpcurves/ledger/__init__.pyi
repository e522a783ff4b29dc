from .account import (
    LARGEST_AMOUNT,
    Account,
    Allotment,
    Allowance,
    Amount,
    BudgetExceeded,
    Currency,
    Grant,
    Member,
    QuestionBudget,
    Together,
)
from .balance import AllowanceBalance, Balance
from .ledger import Ledger
from .statement import Remaining, Statement, StatementLine
from .stream_state import Standing
from .verification import Condition, Entered, Event, Verified

__all__ = [
    "LARGEST_AMOUNT", "Account", "Allotment", "Allowance", "AllowanceBalance", "Amount", "Balance",
    "BudgetExceeded", "Condition", "Currency", "Entered", "Event", "Grant", "Ledger", "Member", "QuestionBudget",
    "Remaining", "Standing", "Statement", "StatementLine", "Together", "Verified",
]  # fmt: skip
