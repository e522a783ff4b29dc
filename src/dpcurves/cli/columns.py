"""Questions about one column: distribution function, quantiles, histogram."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from .answer import Terms, answer
from .output import Output
from .table_options import Cells, Column, Shares, Split
from .views import CategoriesView, CdfView, HistogramView, QuantilesView

if TYPE_CHECKING:
    from .option_groups import Command


def cdf(column: Column, cells: Cells, split: Split, terms: Terms, output: Output) -> None:
    """The distribution function of a column.

    Example: dpcurves cdf flights.csv --column arr_delay --grid -100:1300:4096 --epsilon 1 --adjacency replace-one
    """
    from ..curves import CdfQuestion

    by, view = split.declared(), CdfView(output.certainty())
    question = CdfQuestion(column.column, cells.declared(), by, column.measured_in)
    answer(question, CategoriesView(view) if by else view, terms, output)


def quantiles(column: Column, cells: Cells, shares: Shares, terms: Terms, output: Output) -> None:
    """Quantiles of a column.

    However many: they are read off one distribution function, and cost no more.

    Example: dpcurves quantiles flights.csv --column arr_delay --grid -100:1300:4096 --at 0.5,0.9 --epsilon 1
    --adjacency replace-one
    """
    from ..curves import QuantilesQuestion

    question = QuantilesQuestion(column.column, cells.declared(), shares.exact, column.measured_in)
    answer(question, QuantilesView(output.certainty()), terms, output)


def histogram(column: Column, cells: Cells, split: Split, terms: Terms, output: Output) -> None:
    """Counts of records in cells.

    Example: dpcurves histogram flights.csv --column arr_delay --grid -60:180:16 --epsilon 1 --adjacency replace-one
    """
    from ..curves import HistogramQuestion

    by, view = split.declared(), HistogramView()
    question = HistogramQuestion(column.column, cells.declared(), by, column.measured_in)
    answer(question, CategoriesView(view) if by else view, terms, output)


COLUMN_COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {"cdf": cdf, "quantiles": quantiles, "histogram": histogram}
)
