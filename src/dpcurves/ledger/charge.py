"""A question that was paid for, as it stands in the ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction

from sqlalchemy import Connection, RowMapping, Select, select

from ..arguments import Refused
from ..privacy import PrivacyLoss
from .account import Account
from .amount import Amount
from .budget import Grant
from .chain import Chain
from .schema import GRANTS
from .stored_text import require_digest, require_name, require_text

Condition = Callable[[Connection], object]
"""What is shown the transaction that charges, before anything is written: what it raises leaves nothing behind."""


def always(connection: Connection) -> None:
    """Charge, whatever else stands in the database."""


@dataclass(frozen=True, slots=True)
class Charge:
    """A request for a grant: its question and its price.

    Attributes:
        account: The dataset that pays.
        loss: What the question may lose.
        purpose: The question in words.
        request: The id under which it is asked.
        binding: A hash of question, loss and dataset: what the id stands for.
        units: The number of units, where it is public.
        before: Ids and hashes that stood for the same in ledgers of earlier versions.

    Raises:
        ValueError: a text that cannot be stored, or a number of units where there is none.
    """

    account: Account
    loss: PrivacyLoss
    purpose: str
    request: str
    binding: str
    units: int | None
    before: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        require_text("purpose", self.purpose)
        require_name("request", self.request)
        require_digest("binding", self.binding)
        self.account.require_units(self.units)

    @property
    def price(self) -> Amount:
        """The loss in the account's currency, rounded up."""
        return self.account.currency.price(self.loss)

    def earlier(self, chain: Chain) -> Grant | None:
        """The grant of the first time, if the same was asked under this request before.

        Raises:
            ValueError: something else was asked under it, or the grant was changed without the key.
        """
        hashes = {self.binding, *(binding for _, binding in self.before)}
        for request in dict.fromkeys((self.request, *(request for request, _ in self.before))):
            row = _first(chain, select(GRANTS).where(GRANTS.c.request == request))
            if row is None:
                continue
            if (row["dataset"], _loss(row)) != (self.account.dataset, self.loss) or row["binding"] not in hashes:
                rule = f"{self.request!r} was used for another question; give a new one or leave it out"
                raise Refused("request", rule)
            return grant_of(row)
        return None

    def require_same_units(self, chain: Chain) -> None:
        """Refuse another number of units than the dataset had before: its records have changed.

        Raises:
            ValueError: names both numbers, which are public.
        """
        row = _first(chain, select(GRANTS).where(GRANTS.c.dataset == self.account.dataset).limit(1))
        if row is not None and row["units"] != self.units:
            raise Refused(
                "units",
                f"{self.account.dataset!r} had {row['units']} units in earlier questions and has {self.units}"
                " now; other records are another dataset",
            )

    def enter(self, chain: Chain) -> Grant:
        """Write the charge into the ledger."""
        entry = chain.append(
            GRANTS,
            {
                "request": self.request,
                "dataset": self.account.dataset,
                "purpose": self.purpose,
                "binding": self.binding,
                "epsilon": None if self.loss.epsilon is None else str(self.loss.epsilon),
                "rho": str(self.loss.rho),
                "amount": self.price.billionths,
                "units": self.units,
                "charged_at": datetime.now(UTC).isoformat(timespec="seconds"),
            },
        )
        return Grant(self.request, self.loss, self.account.dataset, entry)


def grant_of(row: RowMapping) -> Grant:
    """The grant that a row stands for."""
    return Grant(row["request"], _loss(row), row["dataset"], row["entry"])


def find_grant(chain: Chain, dataset: str, request: str) -> Grant | None:
    """The grant of a request on this dataset, or None.

    Raises:
        ValueError: the row was changed without the key.
    """
    row = _first(chain, select(GRANTS).where(GRANTS.c.request == request, GRANTS.c.dataset == dataset))
    return None if row is None else grant_of(row)


def require_grant(chain: Chain, grant: Grant) -> str:
    """Refuse a grant that this ledger did not give. Returns the seal of its row.

    Raises:
        ValueError: it is not in the ledger, or was changed without the key.
    """
    row = _first(chain, select(GRANTS).where(GRANTS.c.entry == grant.id))
    if row is None or grant_of(row) != grant:
        raise Refused("grant", f"this ledger has not granted {grant.request!r} as its row {grant.id}")
    return str(row["mac"])


def _first(chain: Chain, query: Select[tuple[object, ...]]) -> RowMapping | None:
    row = chain.connection.execute(query).mappings().first()
    if row is not None:
        chain.require(GRANTS, row)
    return row


def _loss(row: RowMapping) -> PrivacyLoss:
    return PrivacyLoss(None if row["epsilon"] is None else Fraction(row["epsilon"]), Fraction(row["rho"]))
