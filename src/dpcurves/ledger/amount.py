"""Privacy loss in whole billionths: what a ledger adds up."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from math import ceil, floor

from ..arguments import Refused
from ..privacy import PrivacyLoss

BILLION = 10**9
LARGEST_AMOUNT = BILLION * BILLION  # fits a signed integer of 64 bits, with room for one more of the same size


class Currency(Enum):
    """The currency of an account: epsilon or rho.

    >>> str(Currency.EPSILON.price(PrivacyLoss.pure("0.70000000001")))
    'epsilon 0.700000001'
    >>> str(Currency.RHO.price(PrivacyLoss.pure(1)))
    'rho 0.5'
    """

    EPSILON = "epsilon"
    RHO = "rho"

    @classmethod
    def of(cls, cap: PrivacyLoss) -> Currency:
        """A pure cap is kept in epsilon, a cap of zero-concentrated differential privacy in rho."""
        return cls.EPSILON if cap.is_pure else cls.RHO

    def price(self, loss: PrivacyLoss) -> Amount:
        """The price of `loss`, rounded up to a whole billionth.

        Raises:
            ValueError: the loss is zero, or has no epsilon and this is epsilon.
        """
        exact = self._measure(loss)
        if exact is None:
            raise Refused(
                "rho", "this account is kept in epsilon, and a zCDP loss has none (pure converts to rho, never back)"
            )
        if exact <= 0:
            raise Refused(self.value, f"a number above zero is needed, got {loss}")
        return Amount(self, ceil(exact * BILLION))

    def limit(self, cap: PrivacyLoss) -> Amount:
        """The limit of `cap`, rounded down to a whole billionth."""
        return Amount(self, floor((self._measure(cap) or Fraction(0)) * BILLION))

    def budget(self, loss: PrivacyLoss) -> PrivacyLoss:
        """The least cap that pays for `loss`.

        >>> Currency.EPSILON.budget(PrivacyLoss.pure("1/3")).epsilon
        Fraction(166666667, 500000000)
        """
        return self.loss(self.price(loss).exact)

    def loss(self, exact: Fraction) -> PrivacyLoss:
        """The privacy loss of that many of this currency."""
        return PrivacyLoss.pure(exact) if self is Currency.EPSILON else PrivacyLoss.zcdp(exact)

    @classmethod
    def require_countable(cls, loss: PrivacyLoss, given: object) -> PrivacyLoss:
        """The loss, if a ledger can hold a cap of it; `given` is how it was written.

        Raises:
            ValueError: it is below 1e-9 or above 1e9.
        """
        currency = cls.of(loss)
        if currency.limit(loss).billionths < 1 or currency.price(loss).billionths > LARGEST_AMOUNT:
            raise Refused(currency.value, f"a number from 1e-9 to 1e9 is needed, got {given}")
        return loss

    def _measure(self, loss: PrivacyLoss) -> Fraction | None:
        """A pure loss counts as what one release at its epsilon loses, whatever rho a sum of smaller ones has."""
        if self is Currency.EPSILON or loss.epsilon is None:
            return loss.epsilon if self is Currency.EPSILON else loss.rho
        return max(loss.rho, loss.epsilon**2 / 2)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of billionths of epsilon or of rho.

    >>> print(Amount(Currency.EPSILON, 300_000_000))
    epsilon 0.3
    """

    currency: Currency
    billionths: int

    @property
    def exact(self) -> Fraction:
        """The amount as a number of its currency."""
        return Fraction(self.billionths, BILLION)

    @property
    def digits(self) -> str:
        """The amount as an exact decimal, without its currency."""
        return f"{Decimal(self.billionths).scaleb(-9).normalize():f}"

    def __str__(self) -> str:
        return f"{self.currency.value} {self.digits}"
