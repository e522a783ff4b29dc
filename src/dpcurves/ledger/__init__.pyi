from .account import Account, Allowance, BudgetExceeded, Member, Together
from .amount import Allotment, Amount, Currency, Grant, QuestionBudget
from .balance import AllowanceBalance, Balance
from .charge import Entered, Event
from .ledger import Ledger
from .statement import Remaining, Statement, StatementLine
from .stream_state import Standing
from .verification import Verified

__all__ = [
    "Account", "Allotment", "Allowance", "AllowanceBalance", "Amount", "Balance", "BudgetExceeded", "Currency",
    "Entered", "Event", "Grant", "Ledger", "Member", "QuestionBudget", "Remaining", "Standing", "Statement",
    "StatementLine", "Together", "Verified",
]  # fmt: skip
