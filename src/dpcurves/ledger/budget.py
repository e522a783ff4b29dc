"""The budget of one question, divided into exact shares."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction

from ..arguments import Refused, WrongKind
from ..privacy import PrivacyLoss


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
