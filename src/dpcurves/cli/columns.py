"""Questions about one column: distribution function, quantiles, histogram."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from .ask_file import Terms
from .column_views import HistogramsView, HistogramView, QuantilesView, QuartilesView
from .output import Output
from .split_options import Split
from .table_options import CellOptions, ColumnOptions, HintedCells, ShareOptions, SmoothColumn, SomeCells
from .views import ResultView

if TYPE_CHECKING:
    from .option_groups import Command


def cdf(column: SmoothColumn, cells: SomeCells, split: Split, terms: Terms, output: Output) -> None:
    """The distribution function of a column.

    With --at or --points it is counted at a few edges only. Other edges, and quantiles along the same fine grid, then
    cost nothing under the same --request-id.

    Example: dpcurves cdf flights.csv --column arr_delay --grid -100:1300:4096 --epsilon 1 --adjacency replace-one
    """
    from ..curves import CdfQuestion

    by, grid, sure = split.declared(), cells.declared(), output.covering()
    question = CdfQuestion(
        column.column, grid, by, column.measured_in, cells.hinted(), smooth=column.smoothing.power(),
        at=cells.some.of(grid),
    )  # fmt: skip
    terms.answer(question, QuartilesView(sure) if by else ResultView(sure), output)


def quantiles(column: ColumnOptions, cells: HintedCells, shares: ShareOptions, terms: Terms, output: Output) -> None:
    """Quantiles of a column.

    All are read from one distribution function, so more quantiles cost no more. On a grid with too many cells to be
    counted they are found by bisection, with intervals at --level.

    Example: dpcurves quantiles flights.csv --column arr_delay --grid -100:1300:4096 --at 0.5,0.9 --epsilon 1
    --adjacency replace-one
    """
    from ..curves import QuantilesQuestion

    sure = output.covering()
    question = QuantilesQuestion(column.column, cells.declared(), shares.exact, column.measured_in, cells.hinted())
    terms.answer(question.searched_at(sure.level), QuantilesView(sure), output)


def histogram(column: ColumnOptions, cells: CellOptions, split: Split, terms: Terms, output: Output) -> None:
    """Counts of records in cells.

    Example: dpcurves histogram flights.csv --column arr_delay --grid -60:180:16 --epsilon 1 --adjacency replace-one
    """
    from ..curves import HistogramQuestion

    by, sure = split.declared(), output.covering()
    question = HistogramQuestion(column.column, cells.declared(), by, column.measured_in)
    terms.answer(question, HistogramsView(sure) if by else HistogramView(sure), output)


COLUMN_COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {"cdf": cdf, "quantiles": quantiles, "histogram": histogram}
)
