"""What was spent, and what was answered for it."""

from .account import Account, BudgetExceeded
from .amount import Amount, Currency
from .balance import Balance
from .ledger import Ledger
from .purse import Grant, Payment, Purse
from .statement import Line, Statement
from .verification import Verified

__all__ = [
    "Account", "Amount", "Balance", "BudgetExceeded", "Currency", "Grant", "Ledger", "Line", "Payment", "Purse",
    "Statement", "Verified",
]  # fmt: skip
