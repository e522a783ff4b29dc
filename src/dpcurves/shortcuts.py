"""Questions about arrays at hand in one call: the shortest way to a private curve.

Each function opens a ledger of its own in memory: **losses of several calls are not added up anywhere**. Two calls on
the same records together lose the sum of their losses, which only you can keep track of. For more than one question
open a `Session`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import curves
from .arguments import Exact
from .data import Grid
from .data.axis import Category
from .data.score_grids import HUNDREDTHS, SCORES, UNIT_INTERVAL
from .noise.randomness import Randomness
from .one_call import Values, asked, loss_of, named, pair
from .privacy import Model, Neighbours
from .queries import Hint
from .workloads import Cuts

if TYPE_CHECKING:
    from .curves import (
        CDF,
        ROC,
        BinnedResiduals,
        Bounds,
        Calibration,
        Histogram,
        HosmerLemeshow,
        Quantiles,
        ResidualPlot,
        Scores,
    )

__all__ = [
    "binned_residuals", "bounds", "calibration_curve", "cdf", "compare", "contingency", "count", "histogram",
    "histogram2d", "hosmer_lemeshow", "mean", "quantiles", "residual_plot", "roc_curve", "scores", "sum", "summary",
    "survival", "variance",
]  # fmt: skip


def cdf(
    values: Values,
    *,
    grid: Grid,
    adjacency: Neighbours,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    label: str = "value",
    hint: Hint | None = None,
    randomness: Randomness | None = None,
) -> CDF:
    """The distribution function of `values`.

    Args:
        values: Numbers, of shape ``(n,)``. NaN and None are missing.
        grid: Public cells, which must not be chosen from the data. Values outside are clamped into the end cells; with
            ``outside="apart"`` they are counted separately.
        adjacency: `ADD_REMOVE`: n is private. `REPLACE_ONE`: n is public.
        epsilon: The loss, under pure differential privacy.
        rho: The loss, under zero-concentrated differential privacy; instead of `epsilon`.
        label: What the x axis shows.
        hint: What is known in public about how the values lie: see `CdfQuestion`.
        randomness: Where noise comes from; anything but the operating system is marked on the curve.

    Formal guarantees: pure `epsilon`, or `rho`-zCDP, under `adjacency`, for each record on its own. This call's ledger
    is in memory: it does not add up with other calls.

    >>> import dpcurves as dp
    >>> curve = dp.cdf([3, 5, 8] * 1000, grid=dp.Grid(0, 10, cells=64), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> bool(abs(curve.cdf(6) - 2 / 3) < 0.05)
    True
    """
    question = curves.CdfQuestion(label, grid, hint=hint)
    curve: CDF = asked(named(label, values), question, loss_of(epsilon, rho), adjacency, randomness)
    return curve


def quantiles(
    values: Values,
    p: Sequence[float],
    *,
    grid: Grid,
    adjacency: Neighbours,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    label: str = "value",
    hint: Hint | None = None,
    randomness: Randomness | None = None,
) -> Quantiles:
    """Quantiles of `values` at the shares `p`: any number of them has the loss of one distribution function.

    Arguments and guarantees as for `cdf`; the ledger is in memory and does not add up with other calls.

    >>> import dpcurves as dp
    >>> grid = dp.Grid(0, 100, cells=1024)
    >>> found = dp.quantiles(list(range(100)) * 50, [0.25, 0.5], grid=grid, epsilon=1, adjacency=dp.ADD_REMOVE)
    >>> bool(abs(found.x[1] - 50) < 3)
    True
    """
    from .curves.quantiles import shares

    question = curves.QuantilesQuestion(label, grid, shares("p", p), hint=hint)
    return asked(named(label, values), question, loss_of(epsilon, rho), adjacency, randomness)


def histogram(
    values: Values,
    *,
    grid: Grid,
    adjacency: Neighbours,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    label: str = "value",
    randomness: Randomness | None = None,
) -> Histogram:
    """Counts of `values` in the cells of `grid`.

    Arguments and guarantees as for `cdf`; the ledger is in memory and does not add up with other calls.

    >>> import dpcurves as dp
    >>> bars = dp.histogram([1, 1, 2] * 100, grid=dp.Grid(0, 4, cells=4), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> bool(abs(bars.count[1] - 200) < 40)
    True
    """
    question = curves.HistogramQuestion(label, grid)
    bars: Histogram = asked(named(label, values), question, loss_of(epsilon, rho), adjacency, randomness)
    return bars


def roc_curve(
    y_true: Values,
    y_score: Values,
    *,
    adjacency: Neighbours,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    grid: Grid = UNIT_INTERVAL,
    pos_label: Category = 1,
    neg_label: Category | None = None,
    cuts: Cuts = Cuts.QUANTILES,
    randomness: Randomness | None = None,
) -> ROC:
    """The ROC curve of `y_score`, which ranks positives above negatives, and its area.

    Args:
        y_true: Labels, of shape ``(n,)``. Other labels than the two classes are missing.
        y_score: Scores, of shape ``(n,)``; high scores are positive. The model is taken as public.
        adjacency: `ADD_REMOVE`: n is private. `REPLACE_ONE`: n is public; a replaced record may change its label.
        epsilon: The loss, if it is pure.
        rho: The loss, if it is zero-concentrated; give one of the two.
        grid: Public cells of the scores. By default they divide [0, 1], and scores outside are counted apart; give
            `Grid.logistic` for log-odds.
        pos_label: The label of positives.
        neg_label: The label of negatives; may be left out where that of positives is 1, 0, -1, true or false.
        cuts: Where the thresholds lie: by default at private quantiles of the scores.
        randomness: Where noise comes from; anything but the operating system is marked on the curve.

    Formal guarantees: as for `cdf`; the ledger is in memory and does not add up with other calls.

    >>> import dpcurves as dp
    >>> roc = dp.roc_curve([0, 1] * 5000, [0.2, 0.7] * 5000, epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> roc.auc > 0.9
    True
    """
    question = curves.RocQuestion("y_true", "y_score", grid, pos_label, neg_label, cuts=cuts)
    return asked(pair(y_true, y_score, ("y_true", "y_score")), question, loss_of(epsilon, rho), adjacency, randomness)


def scores(
    y_true: Values,
    y_score: Values,
    *,
    adjacency: Neighbours,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    grid: Grid = HUNDREDTHS,
    pos_label: Category = 1,
    neg_label: Category | None = None,
    randomness: Randomness | None = None,
) -> Scores:
    """A release of scores in two classes for several results: ROC, precision-recall, calibration curves and others.

    Arguments and guarantees as for `roc_curve`, but thresholds are not chosen from the data: scores are counted in the
    cells of the public `grid`, by default hundredths of [0, 1]. The ledger is in memory and does not add up with other
    calls.

    >>> import dpcurves as dp
    >>> found = dp.scores([0, 1] * 5000, [0.2, 0.7] * 5000, epsilon=10, adjacency=dp.REPLACE_ONE)
    >>> found.value("auc") > 0.9, found.confusion(0.5).rates["recall"] > 0.9
    (True, True)
    """
    question = curves.ScoresQuestion("y_true", "y_score", grid, None, pos_label, neg_label)
    found: Scores = asked(
        pair(y_true, y_score, ("y_true", "y_score")), question, loss_of(epsilon, rho), adjacency, randomness
    )
    return found


def calibration_curve(
    y_true: Values,
    y_prob: Values,
    *,
    adjacency: Neighbours,
    groups: int | None = None,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    grid: Grid = SCORES,
    pos_label: Category = 1,
    neg_label: Category | None = None,
    randomness: Randomness | None = None,
) -> Calibration:
    """The share of positive labels among records of similar predicted probability.

    Arguments and guarantees as for `roc_curve`; the edges of `groups` groups of about equal size are chosen privately;
    by default there are 3 to 20, fewer where noise is larger. The ledger is in memory and does not add up with
    other calls.

    >>> import dpcurves as dp
    >>> curve = dp.calibration_curve([0, 1] * 900, [0.2, 0.7] * 900, groups=2, epsilon=5, adjacency=dp.REPLACE_ONE)
    >>> bool(curve.prob_true[0] < curve.prob_true[-1])
    True
    """
    question = curves.CalibrationQuestion("y_true", "y_prob", groups, grid, pos_label, neg_label)
    return asked(pair(y_true, y_prob, ("y_true", "y_prob")), question, loss_of(epsilon, rho), adjacency, randomness)


def hosmer_lemeshow(
    y_true: Values,
    y_prob: Values,
    *,
    adjacency: Neighbours,
    groups: int | None = None,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    grid: Grid = SCORES,
    pos_label: Category = 1,
    neg_label: Category | None = None,
    randomness: Randomness | None = None,
) -> HosmerLemeshow:
    """Do predicted probabilities agree with the labels? The test's p-value accounts for noise and sampling.

    Arguments and guarantees as for `calibration_curve`, but where `groups` is left out, their number depends on the
    number of records and the loss: see `HosmerLemeshowQuestion`. The ledger is in memory and does not add up with other
    calls.

    >>> import dpcurves as dp
    >>> test = dp.hosmer_lemeshow([0, 1] * 900, [0.1, 0.2] * 900, groups=4, epsilon=5, adjacency=dp.REPLACE_ONE)
    >>> test.p_value < 0.05
    True
    """
    question = curves.HosmerLemeshowQuestion("y_true", "y_prob", groups, grid, pos_label, neg_label)
    return asked(pair(y_true, y_prob, ("y_true", "y_prob")), question, loss_of(epsilon, rho), adjacency, randomness)


def binned_residuals(
    y_true: Values,
    y_score: Values,
    *,
    model: Model,
    adjacency: Neighbours,
    bins: int = 16,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    grid: Grid = SCORES,
    pos_label: Category = 1,
    neg_label: Category | None = None,
    randomness: Randomness | None = None,
) -> BinnedResiduals:
    """Mean residuals (label minus prediction) in bins of similar predicted probability, with an envelope.

    Arguments and guarantees as for `roc_curve`, and two more. At most `bins` bins are formed by a private choice of
    edges, and joined where noise is large beside their counts. `model` is `PUBLIC_MODEL`, `DISJOINT_RECORDS` or
    `PRIVATE_MODEL`: unless one of these is true no residual is private. The ledger is in memory and does not add up
    with other calls.

    >>> import dpcurves as dp
    >>> y, p = [0, 1, 1, 1] * 900, [0.2, 0.2, 0.7, 0.7] * 900
    >>> found = dp.binned_residuals(y, p, model=dp.PUBLIC_MODEL, bins=2, epsilon=5, adjacency=dp.REPLACE_ONE)
    >>> bool(found.outside > 0)
    True
    """
    question = curves.BinnedResidualsQuestion(
        "y_true", "y_score", model, bins, grid=grid, pos_label=pos_label, neg_label=neg_label
    )
    return asked(pair(y_true, y_score, ("y_true", "y_score")), question, loss_of(epsilon, rho), adjacency, randomness)


def residual_plot(
    predicted: Values,
    residual: Values,
    *,
    unit_predicted: float,
    unit_residual: float,
    coverage: Exact,
    model: Model,
    adjacency: Neighbours,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    cells: int = 64,
    randomness: Randomness | None = None,
) -> ResidualPlot:
    """Residuals against predictions: a private density, and a synthetic scatter drawn from it.

    Arguments and guarantees as for `binned_residuals`, and more. The bounds of each axis are chosen privately: the
    smallest power of two times `unit_predicted`, or `unit_residual`, such that both bounds together cover about a share
    `coverage` of the records. Within them each axis has `cells` cells. The ledger is in memory and does not add up with
    other calls.

    >>> import dpcurves as dp
    >>> x, residual = [0.1 * i for i in range(10)] * 500, [0.2, -0.2] * 2500
    >>> found = dp.residual_plot(
    ...     x, residual, unit_predicted=1, unit_residual=1, coverage=0.95, model=dp.PUBLIC_MODEL, epsilon=2,
    ...     adjacency=dp.REPLACE_ONE)
    >>> found.outside < 0.05
    True
    """
    columns = pair(predicted, residual, ("predicted", "residual"))
    question = curves.ResidualPlotQuestion(
        "predicted", "residual", unit_predicted, unit_residual, coverage, model, cells
    )
    return asked(columns, question, loss_of(epsilon, rho), adjacency, randomness)


def bounds(
    values: Values,
    *,
    unit: float,
    coverage: Exact,
    adjacency: Neighbours,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    label: str = "value",
    randomness: Randomness | None = None,
) -> Bounds:
    """A bound on the size of `values`: the least power of two times `unit` that about a share `coverage` lies within.

    Arguments and guarantees as for `cdf`, without a grid: `unit` is public, and should be of the magnitude of relevant
    values; see `BoundsQuestion`. The ledger is in memory and does not add up with other calls.

    >>> import dpcurves as dp
    >>> found = dp.bounds([3, -5, 6] * 1000, unit=1, coverage=0.95, epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> (found.lower, found.upper)
    (-8.0, 8.0)
    """
    question = curves.BoundsQuestion(label, unit, coverage)
    return asked(named(label, values), question, loss_of(epsilon, rho), adjacency, randomness)
