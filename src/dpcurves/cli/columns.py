"""Questions about one column: distribution function, quantiles, histogram, and looks along one grid."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from .ask_file import Terms, answer
from .column_views import (
    CdfView,
    HistogramsView,
    HistogramView,
    QuantilesView,
    QuantileView,
    QuartilesView,
    ThresholdsView,
)
from .output import Covering, Output
from .split_options import Split
from .table_options import Cells, Column, HintedCells, Share, Shares, SmoothColumn, Values

if TYPE_CHECKING:
    from .option_groups import Command


def cdf(column: SmoothColumn, cells: HintedCells, split: Split, terms: Terms, output: Output) -> None:
    """The distribution function of a column.

    Example: dpcurves cdf flights.csv --column arr_delay --grid -100:1300:4096 --epsilon 1 --adjacency replace-one
    """
    from ..curves import CdfQuestion

    by, sure = split.declared(), output.covering()
    question = CdfQuestion(
        column.column, cells.declared(), by, column.measured_in, cells.hinted(), smooth=column.smoothing.power()
    )
    answer(question, QuartilesView(sure) if by else CdfView(sure), terms, output)


def quantiles(column: Column, cells: HintedCells, shares: Shares, terms: Terms, output: Output) -> None:
    """Quantiles of a column.

    All are read off one distribution function, so more of them cost no more.

    Example: dpcurves quantiles flights.csv --column arr_delay --grid -100:1300:4096 --at 0.5,0.9 --epsilon 1
    --adjacency replace-one
    """
    from ..curves import QuantilesQuestion

    question = QuantilesQuestion(column.column, cells.declared(), shares.exact, column.measured_in, cells.hinted())
    answer(question, QuantilesView(output.covering()), terms, output)


def histogram(column: Column, cells: Cells, split: Split, terms: Terms, output: Output) -> None:
    """Counts of records in cells.

    Example: dpcurves histogram flights.csv --column arr_delay --grid -60:180:16 --epsilon 1 --adjacency replace-one
    """
    from ..curves import HistogramQuestion

    by, sure = split.declared(), output.covering()
    question = HistogramQuestion(column.column, cells.declared(), by, column.measured_in)
    answer(question, HistogramsView(sure) if by else HistogramView(sure), terms, output)


def thresholds(column: Column, cells: Cells, values: Values, terms: Terms, output: Output) -> None:
    """Counts of records below a few values.

    Grids of 2^32 cells need no memory. Other values, and quantiles, are free under the same --request-id.

    Example: dpcurves thresholds flights.csv --column arr_delay --grid -100:1300:2^32 --at 0,15,60 --epsilon 1
    --adjacency replace-one
    """
    from ..curves import ThresholdsQuestion

    grid = cells.declared()
    question = ThresholdsQuestion(column.column, grid, values.edges(grid), column.measured_in)
    answer(question, ThresholdsView(Covering(output.certainty(), output.population)), terms, output)


def quantile(column: Column, cells: Cells, share: Share, terms: Terms, output: Output) -> None:
    """One quantile, by bisection along a grid.

    Grids of 2^32 cells need no memory. Other quantiles, and thresholds, are free under the same --request-id.

    Example: dpcurves quantile flights.csv --column arr_delay --grid -100:1300:2^32 --at 0.9 --epsilon 1
    --adjacency replace-one
    """
    from ..curves import QuantileQuestion

    grid, level = cells.declared(), output.certainty()
    question = QuantileQuestion(column.column, grid, share.exact, level, column.measured_in)
    answer(question, QuantileView(output.population), terms, output)


COLUMN_COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {"cdf": cdf, "quantiles": quantiles, "histogram": histogram, "thresholds": thresholds, "quantile": quantile}
)
