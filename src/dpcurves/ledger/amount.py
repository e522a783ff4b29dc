"""Privacy loss in whole billionths, and the budget of one question, divided into exact shares."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from math import ceil, floor

from ..arguments import Refused, WrongKind
from ..privacy import PrivacyLoss

# Privacy loss in whole billionths: what a ledger adds up.


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


@dataclass(frozen=True, slots=True)
class Grant:
    """Proof that `loss` was charged, in a committed transaction, before the data was touched.

    Attributes:
        request: The id under which the question was asked.
        loss: What was charged for all of it.
        account: The dataset whose budget paid.
        id: The number of the ledger's row.
    """

    request: str
    loss: PrivacyLoss
    account: str
    id: int


@dataclass(frozen=True, slots=True)
class Allotment:
    """The privacy loss of one paid part of a grant. Made by `QuestionBudget` alone; without it no trust model runs."""

    request: str
    part: int
    loss: PrivacyLoss


class QuestionBudget:
    """Shares of a grant, which never add up to more than 1. A release that was charged once is free when used again.

    >>> budget = QuestionBudget(Grant("a", PrivacyLoss.pure(0.3), "flights", 1))
    >>> budget.pay("a tree", Fraction(1, 3)).loss.epsilon
    Fraction(1, 10)
    >>> budget.pay("a tree", Fraction(1, 3)).part, budget.left
    (0, Fraction(2, 3))
    """

    def __init__(self, grant: Grant) -> None:
        self.grant = grant
        self.left = Fraction(1)
        self._paid: dict[Hashable, Allotment] = {}

    @classmethod
    def rehearsing(cls, loss: PrivacyLoss) -> QuestionBudget:
        """A budget that was not charged, for plans: to compute what a question would cost. No ledger has its grant."""
        return cls(Grant("rehearsal", loss, "rehearsal", 0))

    @classmethod
    def told(cls, request: str, loss: PrivacyLoss) -> QuestionBudget:
        """A budget that others have charged in their own ledgers: for analysts who receive answers and hold no data."""
        return cls(Grant(request, loss, "elsewhere", 0))

    def pay(self, thing: Hashable, share: Fraction) -> Allotment:
        """Pay for `thing`, or look up what was paid for it.

        Raises:
            ValueError: more is asked than is left, or another share than the first time.
            TypeError: the share is not exact.
        """
        if not isinstance(share, Fraction | int):
            raise WrongKind("share", f"a Fraction is needed, got {type(share).__name__}")
        if thing not in self._paid:
            if not 0 < share <= self.left:
                raise Refused("share", f"a step asks for share {share} of its question; {self.left} is left")
            self._paid[thing] = Allotment(self.grant.request, len(self._paid), self.grant.loss * share)
            self.left -= share
        paid = self._paid[thing]
        if paid.loss != self.grant.loss * share:
            raise Refused("share", f"this step was paid for with another share than {share}")
        return paid
