"""Prices as people type them: a number in the currency of a dataset's account."""

from __future__ import annotations

from dpcurves.arguments import Refused
from dpcurves.ledger import Currency
from dpcurves.one_call import loss_of
from dpcurves.privacy import PrivacyLoss


def price_of(field: str, currency: Currency, text: str) -> PrivacyLoss:
    """The loss that was typed into this field.

    Raises:
        ValueError: nothing was typed, or no number above zero.

    >>> print(price_of("amount", Currency.EPSILON, "0.5"))
    epsilon 0.5
    """
    if not text:
        raise Refused(field, f"a number above zero is needed, in {currency.value}")
    try:
        return loss_of(text, None) if currency is Currency.EPSILON else loss_of(None, text)
    except Refused as error:
        raise Refused(field, error.rule) from None
