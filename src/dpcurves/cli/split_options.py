"""Options for the columns of categories by which records are grouped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from typer import Option

from .literals import categories
from .refusal import Misuse, named

if TYPE_CHECKING:
    from ..curves.keys import By
    from ..data import Categories
    from ..data.axis import Category


@dataclass(frozen=True)
class Split:
    """Options for a curve of each category, or of each combination of categories."""

    by: Annotated[
        list[str] | None,
        Option(
            help="A column of categories: one curve for each. Or NAME=A,B,C; given several times, one curve for each "
            "combination.",
            metavar="NAME",
        ),
    ] = None
    categories: Annotated[
        str | None,
        Option(help="The categories, declared in public; other values count as missing.", metavar="A,B,C"),
    ] = None

    def declared(self) -> By:
        """The columns and their categories; None: no split.

        Raises:
            Misuse: a column has no categories, or categories have no column.
        """
        given = self.by or []
        if self.categories is None:
            return self._told_apart(tuple(self._with_categories(each) for each in given))
        if not given:
            raise Misuse("by", "say with --by which column the categories are of")
        if len(given) > 1:
            raise Misuse("categories", "they are of one column; give each as --by NAME=A,B,C")
        return self._made(given[0], categories("categories", self.categories))

    def _told_apart(self, keys: tuple[Categories, ...]) -> By:
        from ..curves.keys import keys_of

        with named("by", "by"):
            return keys_of(keys) if len(keys) > 1 else keys[0] if keys else None

    def _with_categories(self, given: str) -> Categories:
        column, sign, names = given.partition("=")
        if not sign:
            raise Misuse(
                "categories", "declare them with --categories A,B,C or as --by NAME=A,B,C; they are never read off data"
            )
        return self._made(column, categories("by", names))

    def _made(self, column: str, values: tuple[Category, ...]) -> Categories:
        from ..data import Categories

        if len(set(values)) < len(values):
            raise Misuse("categories", "each is declared once")
        return Categories(column, values)
