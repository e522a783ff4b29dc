"""Options for the privacy loss, adjacency, unit of privacy, and the ledger account that is charged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from typer import Option

from .literals import amount, chosen, whole
from .refusal import Misuse

if TYPE_CHECKING:
    from ..privacy import Neighbours, PrivacyLoss, Unit


@dataclass(frozen=True)
class Price:
    """Options for the privacy loss, epsilon or rho. There is no default."""

    epsilon: Annotated[
        str | None,
        Option(help="The privacy loss epsilon, of pure differential privacy: a number above zero.", metavar="E"),
    ] = None
    rho: Annotated[
        str | None,
        Option(
            help="The privacy loss rho, of zero-concentrated differential privacy, instead of --epsilon.", metavar="R"
        ),
    ] = None

    def loss(self) -> PrivacyLoss:
        """The privacy loss that was given.

        Raises:
            Misuse: both options were given, or neither, or the value is no number above zero.
            ValueError: a ledger could not represent the value.
        """
        from ..ledger import Currency
        from ..privacy import PrivacyLoss

        if self.epsilon is not None and self.rho is not None:
            raise Misuse("epsilon, rho", "give --epsilon (pure) or --rho (zCDP), not both")
        if self.epsilon is not None:
            return Currency.require_countable(PrivacyLoss.pure(amount("epsilon", self.epsilon)), self.epsilon)
        if self.rho is not None:
            return Currency.require_countable(PrivacyLoss.zcdp(amount("rho", self.rho)), self.rho)
        raise Misuse("epsilon", "give --epsilon (pure) or --rho (zCDP); there is no default")


@dataclass(frozen=True)
class Promise:
    """Options for the privacy guarantee: adjacency, unit of privacy, and rows per unit."""

    adjacency: Annotated[
        str | None,
        Option(
            help="replace-one: the number of units is public; add-remove: it is private.",
            metavar="KIND",
        ),
    ] = None
    unit: Annotated[
        str | None,
        Option(
            help="The column that says whose record it is; without it each record is protected on its own.",
            metavar="NAME",
        ),
    ] = None
    rows_per_unit: Annotated[
        str | None,
        Option(
            help="The most records of one unit that are used; needed with --unit.",
            metavar="K",
        ),
    ] = None

    def neighbours(self) -> Neighbours:
        """The kind of adjacency.

        Raises:
            Misuse: it was not given, or is unknown.
        """
        from ..privacy import Neighbours

        if self.adjacency is None:
            raise Misuse(
                "adjacency",
                "give --adjacency replace-one (the number of units is public) or add-remove (it is private)",
            )
        return chosen("adjacency", self.adjacency, {kind.value: kind for kind in Neighbours})

    def protected(self) -> Unit:
        """The unit of privacy.

        Raises:
            Misuse: only one of the two options was given.
        """
        from ..privacy import EACH_RECORD, Unit

        if self.unit is None and self.rows_per_unit is None:
            return EACH_RECORD
        if not self.unit:
            raise Misuse("unit", "say with --unit which column tells whose record it is")
        if self.rows_per_unit is None:
            raise Misuse("rows-per-unit", "say with --rows-per-unit how many records of one unit are used at most")
        return Unit(self.unit, whole("rows-per-unit", self.rows_per_unit))


@dataclass(frozen=True)
class Units:
    """Option for the public number of units."""

    units: Annotated[str | None, Option(help="Under replace-one: the public number of units.", metavar="N")] = None

    def number(self, neighbours: Neighbours) -> int | None:
        """Public number of units; None: it was not given, or is private.

        Raises:
            Misuse: it was given although it is private.
        """
        if self.units is None:
            return None
        if not neighbours.knows_units:
            raise Misuse("units", "their number is private under add-remove; leave it out")
        return whole("units", self.units)


@dataclass(frozen=True)
class Payer:
    """Options for the ledger and account that are charged, and for the request id."""

    ledger: Annotated[
        str | None,
        Option(
            help="The ledger that is charged, as in sqlite:///budget.db; it sets adjacency and unit.",
            metavar="URL",
        ),
    ] = None
    dataset: Annotated[
        str | None,
        Option(help="The account in the ledger; needed if there are several.", metavar="NAME"),
    ] = None
    request_id: Annotated[
        str | None,
        Option(help="A name for this request: asked again under it, the same curve costs nothing.", metavar="ID"),
    ] = None
