"""Accounts of privacy loss: caps of datasets, allowances of people, and the budget of one question.

Also called privacy accounting: composition adds up the charges of an account. An account has one currency, epsilon or
rho, and counts whole billionths, so that sums are exact. A loss costs

    in epsilon   the epsilon of a pure loss                                         rounded up
    in rho       rho, or epsilon**2 / 2 of a pure loss (Bun and Steinke 2016)       rounded up

`Account` holds the terms of a dataset, with its cap. `Allowance` limits a project or an analyst within the cap.
`QuestionBudget` divides a grant into fractions for the rounds of a question; a delta is not divided.

Formal guarantees: rounding never lowers a charge. The cap guarantees privacy. Allowances only divide a budget
among people, who may share results.

>>> str(Currency.RHO.price(PrivacyLoss.pure(1)))
'rho 0.5'
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from hashlib import sha256
from math import ceil, floor

from ..arguments import ArgumentError, InvalidArgument, WrongArgumentType
from ..privacy import Neighbours, PrivacyLoss, Unit, format_loss

BILLION = 10**9
"""Billionths in 1. A ledger counts privacy losses in whole billionths: charges are rounded up to one, and caps down."""
LARGEST_AMOUNT = BILLION * BILLION
"""Billionths. Largest amount: the sum of two fits a signed 64-bit integer. A larger cap or number of units is
refused."""


DELTA_MARK = "; delta "
"""Text between epsilon or rho and the delta beside it in a stored charge; without it, delta is 0."""


def join_delta(text: str, delta: Fraction) -> str:
    """Append the delta of a loss, if there is one, to the text that a ledger stores for it.

    Args:
        text: Epsilon or rho as text.
        delta: Delta of the loss; 0 for none.

    >>> join_delta("epsilon", Fraction(1, 1000)), join_delta("1/2", Fraction(0))
    ('epsilon; delta 1/1000', '1/2')
    """
    return f"{text}{DELTA_MARK}{delta}" if delta else text


def split_delta(text: str) -> tuple[str, Fraction]:
    """Split the stored text of a loss, as `join_delta` wrote it, into the text of epsilon or rho and the delta.

    Args:
        text: The stored text.

    >>> split_delta("epsilon; delta 1/1000"), split_delta("1/2")
    (('epsilon', Fraction(1, 1000)), ('1/2', Fraction(0, 1)))
    """
    text, _, delta = text.partition(DELTA_MARK)
    return text, Fraction(delta or 0)


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
    def from_loss(cls, cap: PrivacyLoss) -> Currency:
        """Return the currency of a budget cap: epsilon for a pure cap, rho for one of zero-concentrated differential
        privacy.

        Args:
            cap: Largest total loss of a dataset.
        """
        return cls.EPSILON if cap.is_pure else cls.RHO

    def price(self, loss: PrivacyLoss) -> Amount:
        """Return the price of a question's loss in this currency, rounded up to a whole billionth.

        Args:
            loss: Loss of the question.

        Raises:
            ValueError: the loss is zero, or it has no epsilon and the currency is epsilon.
        """
        exact = self._measure(loss)
        if exact is None:
            raise InvalidArgument(
                "rho",
                "this account is kept in epsilon, and a loss in rho has no epsilon; give a loss in epsilon",
            )
        if exact <= 0:
            raise InvalidArgument(self.value, f"a number above zero is needed, as in 0.5, got {loss}")
        return Amount(self, ceil(exact * BILLION))

    def limit(self, cap: PrivacyLoss) -> Amount:
        """Return a budget cap as an amount of this currency, rounded down to a whole billionth, so that the cap is
        never exceeded.

        It is 0 if the cap is a rho and the currency epsilon.

        Args:
            cap: Largest total loss.
        """
        return Amount(self, floor((self._measure(cap) or Fraction(0)) * BILLION))

    def smallest_cap(self, loss: PrivacyLoss) -> PrivacyLoss:
        """Return the smallest budget cap, in whole billionths, that pays for `loss`.

        Args:
            loss: Loss of a question.

        >>> Currency.EPSILON.smallest_cap(PrivacyLoss.pure("1/3")).epsilon
        Fraction(166666667, 500000000)
        """
        return self.to_loss(self.price(loss).exact).with_delta(loss.delta)

    def to_loss(self, exact: Fraction) -> PrivacyLoss:
        """Return the privacy loss of an exact amount of this currency: a pure loss for epsilon, a zero-concentrated one
        for rho.

        Args:
            exact: The amount, in units of epsilon or rho.
        """
        return PrivacyLoss.pure(exact) if self is Currency.EPSILON else PrivacyLoss.zcdp(exact)

    @classmethod
    def require_countable(cls, loss: PrivacyLoss, text: object) -> PrivacyLoss:
        """Return a loss that is to be a budget cap, after a check that a ledger can store so small or large an amount.

        Args:
            loss: The loss.
            text: The loss as the caller wrote it, for the error.

        Raises:
            ValueError: the loss is below 1e-9 or above 1e9.
        """
        currency = cls.from_loss(loss)
        if currency.limit(loss).billionths < 1 or currency.price(loss).billionths > LARGEST_AMOUNT:
            raise InvalidArgument(currency.value, f"a number from 1e-9 to 1e9 is needed, as in 0.5, got {text}")
        return loss

    def _measure(self, loss: PrivacyLoss) -> Fraction | None:
        """Return the exact amount of a loss in this currency; None if the currency is epsilon and the loss has none.

        A pure loss in rho is at least epsilon**2 / 2, as for a single release.

        Args:
            loss: Any loss.
        """
        if self is Currency.EPSILON or loss.epsilon is None:
            return loss.epsilon if self is Currency.EPSILON else loss.rho
        return max(loss.rho, loss.epsilon**2 / 2)


@dataclass(frozen=True, slots=True)
class Amount:
    """Amount of epsilon or rho in billionths.

    >>> print(Amount(Currency.EPSILON, 300_000_000))
    epsilon 0.3
    """

    currency: Currency
    billionths: int

    @property
    def exact(self) -> Fraction:
        """The amount in units of epsilon or rho, as an exact fraction."""
        return Fraction(self.billionths, BILLION)

    @property
    def digits(self) -> str:
        """The amount as an exact decimal text, without its currency."""
        return f"{Decimal(self.billionths).scaleb(-9).normalize():f}"

    def __str__(self) -> str:
        return f"{self.currency.value} {self.digits}"


@dataclass(frozen=True, slots=True)
class Grant:
    """Proof that `loss` was charged in a committed transaction before the data were read.

    Attributes:
        request: Request id of the question.
        loss: Loss charged for the whole question.
        account: Dataset whose budget was charged.
        id: Entry number in the ledger.
    """

    request: str
    loss: PrivacyLoss
    account: str
    id: int


@dataclass(frozen=True, slots=True)
class Allotment:
    """Privacy loss of one paid step of a grant. Only `QuestionBudget` makes allotments; trust models require one."""

    request: str
    part: int
    loss: PrivacyLoss


class QuestionBudget:
    """Fractions of a grant, which never sum to more than 1. A release that was paid for once is free when used again.

    A delta is not divided: the step that selects partitions gets all of it.

    Args:
        grant: Loss of the whole question.
        charged_by_round: True if a ledger charges each round separately, rounding up. Then each loss is rounded down to
            whole billionths, so that all rounds together cost no more than the grant in an account of its currency.
            Losses below 1e-4 are not rounded.
    >>> budget = QuestionBudget(Grant("a", PrivacyLoss.pure(0.3), "flights", 1))
    >>> budget.pay("a tree", Fraction(1, 3)).loss.epsilon
    Fraction(1, 10)
    >>> budget.pay("a tree", Fraction(1, 3)).part, budget.remaining
    (0, Fraction(2, 3))
    """

    def __init__(self, grant: Grant, *, charged_by_round: bool = False) -> None:
        """Start to divide the loss of a grant (charge) among the steps of its question.

        Args:
            grant: Proof of the charge.
            charged_by_round: Whether losses are rounded as by a ledger that charges each round.
        """
        self.grant = grant
        self.charged_by_round = charged_by_round
        self.remaining = Fraction(1)
        self._paid: dict[Hashable, Allotment] = {}

    @classmethod
    def for_planning(cls, loss: PrivacyLoss, *, charged_by_round: bool = False) -> QuestionBudget:
        """Return a budget that no ledger charged, for planning a question: it only adds up what the question would
        cost.

        Args:
            loss: Loss of the whole question.
            charged_by_round: Whether losses are rounded as a ledger would that charges each round.
        """
        return cls(Grant("rehearsal", loss, "rehearsal", 0), charged_by_round=charged_by_round)

    @classmethod
    def from_external_charge(cls, request: str, loss: PrivacyLoss, *, charged_by_round: bool = False) -> QuestionBudget:
        """Return a budget that other parties charged in their own ledgers, for analysts who hold no data and no ledger.

        Args:
            request: Request id of the charge.
            loss: Loss that was charged.
            charged_by_round: Whether each round was charged by itself.
        """
        return cls(Grant(request, loss, "elsewhere", 0), charged_by_round=charged_by_round)

    def pay(self, item: Hashable, fraction: Fraction) -> Allotment:
        """Pay for one step of a question out of the loss that was charged for it; a step that was paid for gets its
        earlier payment.

        Args:
            item: What is paid for, such as a query; equal items are paid once.
            fraction: Fraction of the charged loss, above 0.

        Returns:
            The allotment: request, number of the payment and its privacy loss.

        Raises:
            ValueError: the fraction exceeds the remaining budget, or differs from the first payment for `item`.
            TypeError: the fraction is not exact.
        """
        if not isinstance(fraction, Fraction | int):
            raise WrongArgumentType(
                "budget_fraction", f"a Fraction is needed, as in Fraction(1, 2), got {type(fraction).__name__}"
            )
        if item not in self._paid and not 0 < fraction <= self.remaining:
            raise InvalidArgument(
                "budget_fraction",
                f"a step needs fraction {fraction} of its question's loss; {self.remaining} is left: plan"
                " smaller fractions",
            )

        # Only a step that selects partitions spends the delta; all other steps are pure.
        loss = self.grant.loss * (self._round_fraction(fraction) if self.charged_by_round else fraction)
        if self.grant.loss.delta:
            loss = loss.with_delta(self.grant.loss.delta if getattr(item, "takes_delta", False) else Fraction(0))

        # A repeated step costs nothing, because its answer is stored: it is only compared with its first payment.
        if item not in self._paid:
            if loss.delta and any(earlier.loss.delta for earlier in self._paid.values()):
                raise InvalidArgument(
                    "delta", "an earlier step of the question used all of the delta; let only one step use a delta"
                )
            self._paid[item] = Allotment(self.grant.request, len(self._paid), loss)
            self.remaining -= fraction
        allotment = self._paid[item]
        if allotment.loss != loss:
            raise InvalidArgument(
                "budget_fraction",
                f"this step was paid for with another fraction than {fraction};"
                " repeat it with the fraction of the first attempt",
            )
        return allotment

    def _round_fraction(self, fraction: Fraction) -> Fraction:
        """Round a budget fraction down so that its loss is a whole number of billionths, which a ledger can charge;
        fractions of tiny losses stay.

        Args:
            fraction: Fraction of the charged loss.
        """
        loss = self.grant.loss
        exact = loss.rho if loss.epsilon is None else loss.epsilon
        billionths = floor(exact * fraction * BILLION)
        # 10**5 billionths: the loss of a round below this is not rounded down: rounding would lose more than 1e-5 of it
        return fraction if billionths < 10**5 else billionths / (exact * BILLION)


LONGEST_ACCOUNT_NAME = 200
"""Characters of a name of a dataset, project or person; a longer one is refused, because names are indexed, and
databases index short texts only."""


def require_name(argument: str, name: str) -> None:
    """Refuse a name that is empty, too long or not printable (PostgreSQL cannot store every character).

    Args:
        argument: Name of the argument, for the message.
        name: The name.

    Raises:
        ValueError: names the argument.
    """
    if not (isinstance(name, str) and 0 < len(name) <= LONGEST_ACCOUNT_NAME and name.isprintable()):
        raise InvalidArgument(
            argument, f"a name of 1 to {LONGEST_ACCOUNT_NAME} printable characters is needed, as in visits-2026"
        )


def require_text(argument: str, text: str) -> None:
    """Refuse a text that is empty or that some databases cannot store.

    Args:
        argument: Name of the argument, for the message.
        text: The text.

    Raises:
        ValueError: names the argument.
    """
    if not text or re.search("[\0\ud800-\udfff]", text):
        raise InvalidArgument(argument, "a text without null characters and lone surrogates is needed; remove them")


def require_digest(argument: str, text: str) -> None:
    """Refuse a text that is not a hash in hexadecimal.

    Args:
        argument: Name of the argument, for the message.
        text: The text.

    Raises:
        ValueError: names the argument.
    """
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise InvalidArgument(argument, "the 64 hexadecimal digits of a hash are needed; copy the whole hash")


class BudgetExceeded(ArgumentError):
    """The charge exceeds the remaining budget. Nothing was computed and nothing was spent."""


@dataclass(frozen=True, slots=True)
class Account:
    """Terms of one dataset. They never change: another guarantee needs another dataset.

    Attributes:
        dataset: Name in the ledger.
        neighbours: Adjacency under which every release is private.
        unit: Privacy unit and contribution bound.
        cap: Total loss of all releases, rounded down to whole billionths: of epsilon for a pure cap, else of rho.

    Raises:
        ValueError: the name is empty or not printable, or the cap is below 1e-9 or above 1e9.

    >>> from dpcurves.privacy import EACH_RECORD
    >>> Account("flights", Neighbours.ADD_REMOVE, EACH_RECORD, PrivacyLoss.pure(2)).limit.digits
    '2'
    """

    dataset: str
    neighbours: Neighbours
    unit: Unit
    cap: PrivacyLoss

    def __post_init__(self) -> None:
        require_name("dataset", self.dataset)
        if self.unit.column:
            require_name("unit", self.unit.column)
        if self.unit.records > LARGEST_AMOUNT:
            raise InvalidArgument("rows_per_unit", f"must be at most {LARGEST_AMOUNT:.0e}, as in 4")
        if not 1 <= self.limit.billionths <= LARGEST_AMOUNT:
            raise InvalidArgument("budget", f"a cap from 1e-9 to 1e9 is needed, as in 1, got {self.cap}")

    @property
    def currency(self) -> Currency:
        """Currency that all losses of the account are counted in: epsilon if its cap is pure, else rho."""
        return Currency.from_loss(self.cap)

    @property
    def limit(self) -> Amount:
        """Cap of the account as an amount in its currency, rounded down to a whole billionth."""
        return self.currency.limit(self.cap)

    def require_same(self, other: Account) -> None:
        """Require that an account has the same terms as this account.

        Args:
            other: The requested account; messages state this account's terms as the existing ones.

        Raises:
            ValueError: names the first term that differs.
        """
        for (argument, value), other_value in zip(self._facts().items(), other._facts().values(), strict=True):
            if value != other_value:
                raise InvalidArgument(
                    argument,
                    f"the account of {self.dataset!r} was opened with {value}, not with {other_value};"
                    f" use {value}, or name another dataset",
                )

    def require_units(self, units: int | None) -> None:
        """Require the number of units if it is public, and refuse it if it is private.

        Args:
            units: Public number of units; None: it was not given.

        Raises:
            ValueError: the number is missing, below 1, or private.
        """
        if not self.neighbours.has_public_units:
            if units is not None:
                raise InvalidArgument("units", "the number of units is private under add-remove; leave it out")
        elif units is None or not 1 <= units <= LARGEST_AMOUNT:
            raise InvalidArgument(
                "units", f"replace-one needs the public number of units, from 1 to {LARGEST_AMOUNT:.0e}, got {units}"
            )

    def _facts(self) -> dict[str, str]:
        """Return the account's terms that a repeated `create` must match, as texts by the argument that states each."""
        return {
            "adjacency": self.neighbours.value,
            "unit": repr(self.unit.column) if self.unit.column else "each record",
            "rows_per_unit": str(self.unit.records) if self.unit.is_bounded else "no bound",
            "budget": str(self.limit) + (f", delta {format_loss(self.cap.delta)}" if self.cap.delta else ""),
        }


# Allowances: a project's part of a dataset's cap, and an analyst's part of the project's allowance.


WHOLE_PROJECT = ""
"""Entry in the column `analyst` for an allowance that belongs to a whole project."""


class AllowanceRule(Enum):
    """Rule on whether the allowances of sibling projects (or analysts) may add up to more than the whole that they
    divide.
    """

    WITHIN = "within"
    MAY_EXCEED = "may exceed"


class NoAllowance(InvalidArgument):
    """The charge was refused because the project or the analyst has no allowance."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """Limit on what a project may spend of a dataset, or an analyst within the project.

    Allowances divide a budget among people. They guarantee no privacy, because people may share results; the cap does.

    Attributes:
        dataset: Dataset whose cap is divided.
        project: Project that may spend the allowance.
        maximum_loss: Limit. A ledger stores it in whole billionths of the account's currency, rounded down.
        analyst: Analyst within the project's allowance; None: the whole project.

    Raises:
        ValueError: a name is empty or not printable.
    """

    dataset: str
    project: str
    maximum_loss: PrivacyLoss
    analyst: str | None = None

    def __post_init__(self) -> None:
        require_name("project", self.project)
        if self.analyst is not None:
            require_name("analyst", self.analyst)

    def limit(self, account: Account) -> Amount:
        """Return the allowance as an amount in the account's currency, rounded down to a whole billionth.

        Args:
            account: Account whose cap the allowance limits.

        Raises:
            ValueError: the loss has no amount in that currency, or less than 1e-9.
        """
        account.currency.price(self.maximum_loss)  # refuses a loss without an amount in this currency
        limit = account.currency.limit(self.maximum_loss)
        if limit.billionths < 1:
            raise InvalidArgument("allowance", f"a loss of at least 1e-9 is needed, as in 0.5, got {self.maximum_loss}")
        return limit


@dataclass(frozen=True, slots=True)
class Member:
    """An analyst of a project.

    Raises:
        ValueError: a name is empty or not printable.
    """

    project: str
    analyst: str

    def __post_init__(self) -> None:
        require_name("project", self.project)
        require_name("analyst", self.analyst)

    def request(self, dataset: str, loss: PrivacyLoss, binding: str) -> str:
        """Return the request id of a question asked by a project. It is equal for all analysts of the project, so the
        question is paid once.

        Args:
            dataset: Dataset whose budget pays.
            loss: Loss of the question.
            binding: 64 hexadecimal digits: a hash of question, loss and the dataset's terms.

        >>> loss, question = PrivacyLoss.pure(1), "ab" * 32
        >>> ann, bob, eve = Member("delays", "ann"), Member("delays", "bob"), Member("noise", "eve")
        >>> ann.request("flights", loss, question) == bob.request("flights", loss, question)
        True
        >>> ann.request("flights", loss, question) == eve.request("flights", loss, question)
        False
        """
        require_digest("binding", binding)
        facts = ["dpcurves project request", dataset, self.project, str(loss.epsilon), str(loss.rho), binding]
        return sha256(json.dumps(facts).encode()).hexdigest()
