"""What a curve would cost, and how good it would be: nothing is opened, nothing is spent."""

from __future__ import annotations

from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .bounds import ALPHA
from .contingencies import Crossed
from .promise_options import Price, Promise, Units
from .split_options import Split
from .summaries import Bounded
from .table_options import (
    Cells,
    Covered,
    GroupedCells,
    Groups,
    HintedCells,
    MostBins,
    PlaneCells,
    Shares,
    SomeCells,
    TestedGroups,
    Thresholded,
)
from .terminal import say, terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from ..curves import Question
    from ..privacy import PrivacyLoss
    from ..release import Plan, Plans
    from .option_groups import Command

LEGEND = "error: standard deviation of one reading, in records (of sums: in records that add as much as one can)"
EVEN = """
Each turn asks what the answers before make worth asking: it is shown as for records that lie evenly, or, where their
number is private, as for all cells. A curve is read from all turns together."""
ASKED = MappingProxyType(
    {
        "CountQuery": "counts",
        "PartitionQuery": "counts",
        "TreePartitionQuery": "boxes",
        "PrefixQuery": "thresholds",
        "SumQuery": "sums",
        "SquareQuery": "sums of squares",
        "QuantileCutsQuery": "cuts",
        "MedianQuery": "cuts",
        "ThresholdQuery": "comparisons",
        "CoverageQuery": "bounds",
        "MergePartitionQuery": "merges",
        "RegionQuery": "counts",
        "IntervalPartitionQuery": "buckets",
        "WorstBoxQuery": "boxes",
        "WaveletQuery": "wavelets",
    }
)


def cdf(cells: SomeCells, split: Split, price: Price, promise: Promise, units: Units) -> None:
    """The error of a distribution function.

    Example: dpcurves plan cdf --units 100000 --grid 0:100:1024 --epsilon 1 --adjacency replace-one
    """
    from ..curves import CdfQuestion

    grid = cells.declared()
    question = CdfQuestion("value", grid, split.declared(), hint=cells.hinted(), at=cells.edges_of(grid))
    _rehearse(question, price, promise, units)


def quantiles(cells: HintedCells, shares: Shares, price: Price, promise: Promise, units: Units) -> None:
    """The error behind quantiles.

    Example: dpcurves plan quantiles --units 100000 --grid 0:100:1024 --epsilon 1 --adjacency replace-one
    """
    from ..curves import QuantilesQuestion

    _rehearse(QuantilesQuestion("value", cells.declared(), shares.exact, hint=cells.hinted()), price, promise, units)


def histogram(cells: Cells, split: Split, price: Price, promise: Promise, units: Units) -> None:
    """The error of a histogram.

    Example: dpcurves plan histogram --grid 0:100:20 --epsilon 1 --adjacency add-remove
    """
    from ..curves import HistogramQuestion

    _rehearse(HistogramQuestion("value", cells.declared(), split.declared()), price, promise, units)


def summary(bounded: Bounded, split: Split, price: Price, promise: Promise, units: Units) -> None:
    """The errors of a count, a sum and a sum of squares, from which mean and variance are read.

    Example: dpcurves plan summary --units 100000 --bounds 0:100 --epsilon 1 --adjacency replace-one
    """
    from ..curves import SummaryQuestion

    question = SummaryQuestion("value", *bounded.ends(), split.declared(), moments=bounded.number)
    _rehearse(question, price, promise, units)


def contingency(crossed: Crossed, price: Price, promise: Promise, units: Units) -> None:
    """The error of counts of pairs of two columns' categories.

    Example: dpcurves plan contingency --rows carrier --row-categories UA,AA --columns late --column-categories 0,1
    --units 100000 --epsilon 1 --adjacency replace-one
    """
    _rehearse(crossed.asked(), price, promise, units)


def survival(cells: Cells, split: Split, price: Price, promise: Promise, units: Units) -> None:
    """The error of counts of events and of censored records, from which a survival curve is read.

    Example: dpcurves plan survival --units 100000 --grid 0:60:60 --epsilon 1 --adjacency replace-one
    """
    from ..curves import SurvivalQuestion

    _rehearse(SurvivalQuestion("time", "event", cells.declared(), split.declared()), price, promise, units)


def scores(cells: Cells, split: Split, price: Price, promise: Promise, units: Units) -> None:
    """The error behind all that is read from scores.

    Example: dpcurves plan scores --units 100000 --epsilon 1 --adjacency replace-one
    """
    from ..curves import ScoresQuestion
    from ..curves.scores import HUNDREDTHS

    question = ScoresQuestion("label", "score", cells.declared_or(HUNDREDTHS), split.declared())
    _rehearse(question, price, promise, units)


def roc(cells: Cells, thresholded: Thresholded, price: Price, promise: Promise, units: Units) -> None:
    """The error behind a ROC curve.

    Example: dpcurves plan roc --units 100000 --epsilon 1 --adjacency replace-one
    """
    from ..curves import RocQuestion
    from ..curves.roc import UNIT_INTERVAL

    question = RocQuestion("label", "score", cells.declared_or(UNIT_INTERVAL), cuts=thresholded.found())
    _rehearse(question, price, promise, units)


def calibration(groups: Groups, cells: GroupedCells, price: Price, promise: Promise, units: Units) -> None:
    """The errors behind a calibration curve.

    Example: dpcurves plan calibration --units 100000 --epsilon 1 --adjacency replace-one
    """
    from ..curves import CalibrationQuestion
    from ..curves.turns.score_groups import SCORES

    _rehearse(CalibrationQuestion("label", "score", groups.number, cells.declared_or(SCORES)), price, promise, units)


def hosmer_lemeshow(groups: TestedGroups, cells: GroupedCells, price: Price, promise: Promise, units: Units) -> None:
    """The errors behind a Hosmer-Lemeshow test.

    Example: dpcurves plan hosmer-lemeshow --units 100000 --epsilon 1 --adjacency replace-one
    """
    from ..curves import HosmerLemeshowQuestion
    from ..curves.turns.score_groups import SCORES

    _rehearse(HosmerLemeshowQuestion("label", "score", groups.number, cells.declared_or(SCORES)), price, promise, units)


def binned_residuals(bins: MostBins, cells: GroupedCells, price: Price, promise: Promise, units: Units) -> None:
    """The errors behind binned residuals.

    Example: dpcurves plan binned-residuals --units 100000 --epsilon 1 --adjacency replace-one
    """
    from ..curves import BinnedResidualsQuestion
    from ..curves.turns.score_groups import SCORES
    from ..privacy import PUBLIC_MODEL

    grid = cells.declared_or(SCORES)
    _rehearse(BinnedResidualsQuestion("label", "score", PUBLIC_MODEL, bins.number, grid=grid), price, promise, units)


def residuals(cells: PlaneCells, price: Price, promise: Promise, units: Units) -> None:
    """The errors behind a residual plot.

    How finely the plane is counted depends on the answers; it is shown as for counts of zero.

    Example: dpcurves plan residuals --units 100000 --epsilon 1 --adjacency replace-one
    """
    from ..curves import ResidualPlotQuestion
    from ..privacy import PUBLIC_MODEL

    question = ResidualPlotQuestion("predicted", "residual", 1.0, 1.0, "0.95", PUBLIC_MODEL, cells.number)
    _rehearse(question, price, promise, units)


def bounds(covered: Covered, price: Price, promise: Promise, units: Units) -> None:
    """How many records a private bound may miss.

    Of two columns each gets half of the loss.

    Example: dpcurves plan bounds --units 100000 --coverage 0.95 --epsilon 0.1 --adjacency replace-one
    """
    from ..curves import BoundsQuestion

    (plan,) = _rehearse(BoundsQuestion("value", 1.0, covered.share), price, promise, units)
    say(terminal(), f"{ALPHA}: {plan.law.alpha(0.05):.4g}")


PLAN_COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {
        "cdf": cdf, "quantiles": quantiles, "histogram": histogram, "scores": scores,
        "roc": roc, "calibration": calibration, "hosmer-lemeshow": hosmer_lemeshow,
        "binned-residuals": binned_residuals, "residuals": residuals, "bounds": bounds, "summary": summary,
        "contingency": contingency, "survival": survival,
    }
)  # fmt: skip


def _rehearse(question: Question[Any], price: Price, promise: Promise, units: Units) -> Plans:
    return rehearsed(question, price.loss(), promise, units)


def rehearsed(question: Question[Any], loss: PrivacyLoss, promise: Promise, units: Units) -> Plans:
    """Show what a question would cost, and how good its answer would be."""
    from ..session import rehearse

    neighbours = promise.neighbours()
    number = units.number(neighbours)
    adjacency = neighbours.among(promise.protected(), number)
    plans = rehearse(question, loss, adjacency)
    say(terminal(), f"{question}: {loss}, {adjacency}, protects {adjacency.unit}", _table(plans, number))
    for note in plans.notes:
        say(terminal(), f"note: {note}")
    return plans


def _table(plans: Sequence[Plan], units: int | None) -> Table:
    from rich.table import Table

    adapted = len(plans) > 1 and {type(plan.query).__name__ for plan in plans} == {"PartitionQuery"}
    table = Table(caption=LEGEND + (EVEN if adapted else ""), caption_justify="left")
    for name in ("turn", "asks for", "price", "error", "of the units", "mechanism"):
        table.add_column(name, justify="right" if name in ("turn", "error", "of the units") else "left")
    turn = 1
    for _, same in groupby(plans, key=lambda plan: (plan.query.paid_as, plan.loss)):
        looks = list(same)
        # What is paid once may be looked at in many turns: they are one line, for they have one price and one error.
        table.add_row(_turns(turn, len(looks)), *_line(looks[0], units))
        turn += len(looks)
    return table


def _turns(first: int, number: int) -> str:
    return str(first) if number == 1 else f"{first} to {first + number - 1}"


def _line(plan: Plan, units: int | None) -> tuple[str, ...]:
    # A sum is kept in steps of a lattice; a record adds `per_record_sensitivity` steps at most, and 1 to a count.
    error = plan.error / plan.query.per_record_sensitivity
    share = f"{error / units:.4%}" if units and error else ""
    asked = ASKED.get(type(plan.query).__name__, "answers")
    return asked, str(plan.loss), f"{error:.4g}" if error else "", share, plan.made_by
