"""Options for the privacy loss, the adjacency, the account, the data source, and columns to split by.

Methods raise `Misuse` where options contradict each other, or one is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .option_groups import Asked, amount, argument, categories, chosen, option, perhaps, whole
from .refusal import Misuse, named

if TYPE_CHECKING:
    from ..curves.question import By
    from ..data import Categories
    from ..data.axis import Category
    from ..privacy import Neighbours, PrivacyLoss, Unit

ACCOUNT = "The account in the ledger; needed if there are several."

# Options for the privacy loss, adjacency, unit of privacy, and the ledger account that is charged.


@dataclass(frozen=True)
class Price:
    """Options for the privacy loss, epsilon or rho. There is no default."""

    epsilon: str | None = perhaps("E", "The privacy loss epsilon, of pure differential privacy: a number above zero.")
    rho: str | None = perhaps(
        "R", "The privacy loss rho, of zero-concentrated differential privacy, instead of --epsilon."
    )

    def loss(self) -> PrivacyLoss:
        """The privacy loss that was given. Raises `ValueError` if a ledger could not represent it."""
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

    adjacency: str | None = perhaps("KIND", "replace-one: the number of units is public; add-remove: it is private.")
    unit: str | None = perhaps(
        "NAME", "The column that says whose record it is; without it each record is protected on its own."
    )
    rows_per_unit: str | None = perhaps("K", "The most records of one unit that are used; needed with --unit.")

    def neighbours(self) -> Neighbours:
        """The kind of adjacency."""
        from ..privacy import Neighbours

        if self.adjacency is None:
            raise Misuse(
                "adjacency",
                "give --adjacency replace-one (the number of units is public) or add-remove (it is private)",
            )
        return chosen("adjacency", self.adjacency, {kind.value: kind for kind in Neighbours})

    def protected(self) -> Unit:
        """The unit of privacy."""
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

    units: str | None = perhaps("N", "Under replace-one: the public number of units.")

    def number(self, neighbours: Neighbours) -> int | None:
        """Public number of units; None: it was not given. Refused where it is private."""
        if self.units is None:
            return None
        if not neighbours.knows_units:
            raise Misuse("units", "their number is private under add-remove; leave it out")
        return whole("units", self.units)


@dataclass(frozen=True)
class Payer:
    """Options for the ledger and account that are charged, and for the request id."""

    ledger: str | None = perhaps(
        "URL", "The ledger that is charged, as in sqlite:///budget.db; it sets adjacency and unit."
    )
    dataset: str | None = perhaps("NAME", ACCOUNT)
    request_id: str | None = perhaps(
        "ID", "A name for this request: asked again under it, the same curve costs nothing."
    )


# Options for the data source: a file, or a database engine that counts records in place.


POSTGRES = ("postgresql://", "postgres://")
SPARK = "sc://"
ENGINES = (*POSTGRES, SPARK)


@dataclass(frozen=True)
class SourceOptions:
    """Options for a table in a file, or in a database engine that counts its records in place."""

    data: str = argument("DATA", "A CSV file with a header, a Parquet file, or postgresql://reader@host/db.")
    delimiter: str = option("SIGN", "What separates the fields of a CSV file.", ",")
    table: str | None = perhaps("SCHEMA.TABLE", "The table or view, where DATA is the URL of a database.")

    @property
    def is_file(self) -> bool:
        """True if the table is a file."""
        return not self.data.startswith(ENGINES)

    def records(self) -> object:
        """Data source for a session: the file's name, or the table of an engine."""
        if self.is_file:
            if self.table is not None:
                raise Misuse("table", "it names a table of a database; DATA is no URL of a database")
            return self.data
        if self.table is None:
            raise Misuse("table", "say which table or view of the database is asked, as in --table clinic.visits")
        from ..records.engines import table_at

        return table_at(self.data, self.table)


# Options for the columns of categories by which records are grouped.


@dataclass(frozen=True)
class Split(Asked):
    """Options for a curve of each category, or of each combination of categories."""

    by: list[str] | None = perhaps(  # noqa: RUF009
        "NAME",
        "A column of categories: one curve for each. Or NAME=A,B,C; given several times, one curve for each "
        "combination.",
    )
    categories: str | None = perhaps("A,B,C", "The categories, declared in public; other values count as missing.")

    def told(self, usual: Mapping[str, Any]) -> dict[str, Any]:
        """The columns to split by."""
        return {"by": self.declared()}

    def declared(self) -> By:
        """The columns and their categories; None: no split."""
        given = self.by or []
        if self.categories is None:
            return self._told_apart(tuple(self._with_categories(each) for each in given))
        if not given:
            raise Misuse("by", "say with --by which column the categories are of")
        if len(given) > 1:
            raise Misuse("categories", "they are of one column; give each as --by NAME=A,B,C")
        return _made(given[0], categories("categories", self.categories))

    def _told_apart(self, keys: tuple[Categories, ...]) -> By:
        from ..curves.question import keys_of

        with named("by", "by"):
            return keys_of(keys) if len(keys) > 1 else keys[0] if keys else None

    def _with_categories(self, given: str) -> Categories:
        column, sign, names = given.partition("=")
        if not sign:
            raise Misuse(
                "categories", "declare them with --categories A,B,C or as --by NAME=A,B,C; they are never read off data"
            )
        return _made(column, categories("by", names))


def _made(column: str, values: tuple[Category, ...]) -> Categories:
    from ..data import Categories

    if len(set(values)) < len(values):
        raise Misuse("categories", "each is declared once")
    return Categories(column, values)
