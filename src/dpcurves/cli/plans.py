"""What a curve would cost, and how good it would be: nothing is opened, nothing is spent."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .promise_options import Price, Promise, Units
from .table_options import Cells, Groups, Shares, Split
from .terminal import say, terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from ..curves import Question
    from ..release import Plan
    from .option_groups import Command

LEGEND = "error: standard deviation of one reading, in records (of sums: in records that add as much as one can)"
ASKED = MappingProxyType({"CountQuery": "counts", "SumQuery": "sums", "CutQuery": "cuts"})


def cdf(cells: Cells, split: Split, price: Price, promise: Promise, units: Units) -> None:
    """The error of a distribution function.

    Example: dpcurves plan cdf --units 100000 --grid 0:100:1024 --epsilon 1 --adjacency replace-one
    """
    from ..curves import CdfQuestion

    _rehearse(CdfQuestion("value", cells.declared(), split.declared()), price, promise, units)


def quantiles(cells: Cells, shares: Shares, price: Price, promise: Promise, units: Units) -> None:
    """The error behind quantiles.

    Example: dpcurves plan quantiles --units 100000 --grid 0:100:1024 --epsilon 1 --adjacency replace-one
    """
    from ..curves import QuantilesQuestion

    _rehearse(QuantilesQuestion("value", cells.declared(), shares.exact), price, promise, units)


def histogram(cells: Cells, split: Split, price: Price, promise: Promise, units: Units) -> None:
    """The error of a histogram.

    Example: dpcurves plan histogram --grid 0:100:20 --epsilon 1 --adjacency add-remove
    """
    from ..curves import HistogramQuestion

    _rehearse(HistogramQuestion("value", cells.declared(), split.declared()), price, promise, units)


def roc(cells: Cells, price: Price, promise: Promise, units: Units) -> None:
    """The error behind a ROC curve.

    Example: dpcurves plan roc --units 100000 --epsilon 1 --adjacency replace-one
    """
    from ..curves import RocQuestion
    from ..curves.roc import UNIT_INTERVAL

    _rehearse(RocQuestion("label", "score", cells.declared_or(UNIT_INTERVAL)), price, promise, units)


def calibration(groups: Groups, cells: Cells, price: Price, promise: Promise, units: Units) -> None:
    """The errors behind a calibration curve.

    Example: dpcurves plan calibration --units 100000 --epsilon 1 --adjacency replace-one
    """
    from ..curves import CalibrationQuestion
    from ..curves.score_groups import SCORES

    _rehearse(CalibrationQuestion("label", "score", groups.number, cells.declared_or(SCORES)), price, promise, units)


def hosmer_lemeshow(groups: Groups, cells: Cells, price: Price, promise: Promise, units: Units) -> None:
    """The errors behind a Hosmer-Lemeshow test.

    Example: dpcurves plan hosmer-lemeshow --units 100000 --epsilon 1 --adjacency replace-one
    """
    from ..curves import HosmerLemeshowQuestion
    from ..curves.score_groups import SCORES

    _rehearse(HosmerLemeshowQuestion("label", "score", groups.number, cells.declared_or(SCORES)), price, promise, units)


PLAN_COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {
        "cdf": cdf, "quantiles": quantiles, "histogram": histogram, "roc": roc, "calibration": calibration,
        "hosmer-lemeshow": hosmer_lemeshow,
    }
)  # fmt: skip


def _rehearse(question: Question[Any], price: Price, promise: Promise, units: Units) -> None:
    from ..session import rehearse

    loss, neighbours = price.loss(), promise.neighbours()
    number = units.number(neighbours)
    adjacency = neighbours.among(promise.protected(), number)
    plans = rehearse(question, loss, adjacency)
    say(terminal(), f"{question}: {loss}, {adjacency}, protects {adjacency.unit}", _table(plans, number))


def _table(plans: Sequence[Plan], units: int | None) -> Table:
    from rich.table import Table

    table = Table(caption=LEGEND, caption_justify="left")
    for name in ("turn", "asks for", "price", "error", "of the units", "mechanism"):
        table.add_column(name, justify="right" if name in ("turn", "error", "of the units") else "left")
    for turn, plan in enumerate(plans, start=1):
        # A sum is kept in steps of a lattice; a record adds `reach` steps at most, and 1 to a count.
        error = plan.error / plan.query.reach
        share = f"{error / units:.4%}" if units and error else ""
        asked = ASKED[type(plan.query).__name__]
        table.add_row(str(turn), asked, str(plan.loss), f"{error:.4g}" if error else "", share, plan.made_by)
    return table
