"""Contingency tables of two columns of categories: the command, its options, and its view."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from .ask_file import Terms
from .covered import covered
from .literals import categories
from .output import Output
from .views import ResultView, Shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..curves import Contingency, ContingencyQuestion
    from .option_groups import Command

MOST_PAIRS = 60


@dataclass(frozen=True)
class Crossed:
    """Options for two columns and their categories."""

    rows: Annotated[str, typer.Option(help="A column of categories: one row for each.", metavar="NAME")]
    row_categories: Annotated[
        str, typer.Option(help="Its categories, declared in public; other values count as missing.", metavar="A,B,C")
    ]
    columns: Annotated[str, typer.Option(help="Another column of categories: one column for each.", metavar="NAME")]
    column_categories: Annotated[
        str, typer.Option(help="Its categories, declared in public; other values count as missing.", metavar="A,B,C")
    ]

    def asked(self) -> ContingencyQuestion:
        """The question."""
        from ..curves import ContingencyQuestion
        from ..data import Categories

        return ContingencyQuestion(
            Categories(self.rows, categories("row-categories", self.row_categories)),
            Categories(self.columns, categories("column-categories", self.column_categories)),
        )


class ContingencyView(ResultView):
    """The test, and a row for each pair of categories."""

    def tables(self, curve: Contingency) -> list[Shown]:
        """Counts with intervals, and shares of rows and of columns."""
        from ..curves.covering import ends_of

        words, ends = covered(curve.privacy, self.sure, "intervals, all at once,", ends_of(curve.intervals))
        frame: dict[str, ArrayLike] = dict(curve._columns())
        shares = {name.replace("_", " "): frame.pop(name) for name in ("row_share", "column_share")}
        return [Shown(f"{curve.test}\n{words}", {**frame, **ends, **shares}, MOST_PAIRS)]


def contingency(crossed: Crossed, terms: Terms, output: Output) -> None:
    """Counts of pairs of two columns' categories, and a test of independence.

    Example: dpcurves contingency flights.csv --rows carrier --row-categories UA,AA --columns late
    --column-categories 0,1 --epsilon 1 --adjacency replace-one
    """
    terms.answer(crossed.asked(), ContingencyView(output.covering()), output)


CONTINGENCY_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"contingency": contingency})
