"""What was spent, and what was answered for it."""

from .purse import Grant, Payment, Purse

__all__ = ["Grant", "Payment", "Purse"]
