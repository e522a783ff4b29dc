"""Questions about a whole table in one call, as in `shortcuts`: losses of several calls are not added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings

from . import curves
from .arguments import Exact, Refused, several
from .data import Categories, Grid
from .data.axis import Category
from .noise.randomness import Randomness
from .one_call import Values, asked, loss_of, named, pair
from .privacy import Neighbours, PrivacyLoss

if TYPE_CHECKING:
    from .curves import Comparison, Contingency, Histogram2D, Question, Summary, Survival


EXACTLY = PrivacyLoss.pure(10**9)
"""A loss so large that the noise is 0."""


def compare(private: Any, question: Question[Any], public: Any) -> Comparison:
    """Compare a released curve with that of a public table, such as synthetic records, and test for a difference.

    The public table is counted exactly; nothing more is asked of the confidential one, so it costs no privacy loss.

    Args:
        private: A `CDF`, `Histogram`, `ROC`, `Calibration` or `BinnedResiduals`, as `Session.ask` gave it.
        question: The question that it answers.
        public: A table of public records, in any form that `Session` takes. What is counted of it is not protected.

    Raises:
        ValueError: the question gives another kind of curve, or see `Comparison.of`.

    >>> import dpcurves as dp
    >>> question = dp.CdfQuestion("age", dp.Grid(0, 10, cells=64))
    >>> with dp.Session({"age": [2, 6] * 5000}, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     curve = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> [dp.compare(curve, question, {"age": ages}).differs for ages in ([2, 6] * 300, [6] * 600)]
    [False, True]
    """
    with catch_warnings(action="ignore", category=curves.CurveWarning):
        counted = asked(public, question, EXACTLY, Neighbours.REPLACE_ONE, None)
    return curves.Comparison.of(private, counted)


def contingency(
    rows: Values,
    columns: Values,
    *,
    row_categories: Sequence[Category],
    column_categories: Sequence[Category],
    adjacency: Neighbours,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    labels: tuple[str, str] = ("rows", "columns"),
    randomness: Randomness | None = None,
) -> Contingency:
    """Counts of pairs of categories, and a test of independence; see `Contingency`.

    Arguments and guarantees as for `cdf`, but there is no grid: both columns' categories are public, and a record with
    any other value is missing. The ledger is in memory and does not add up with other calls.

    >>> import dpcurves as dp
    >>> found = dp.contingency(
    ...     ["a", "b"] * 500, [0, 1] * 500, row_categories=("a", "b"), column_categories=(0, 1), epsilon=1,
    ...     adjacency=dp.REPLACE_ONE)
    >>> found.p_value < 0.01
    True
    """
    names = _two(labels)
    table = pair(rows, columns, ("rows", "columns"), names)
    declared = Categories(names[0], tuple(row_categories)), Categories(names[1], tuple(column_categories))
    return asked(table, curves.ContingencyQuestion(*declared), loss_of(epsilon, rho), adjacency, randomness)


def histogram2d(
    x: Values,
    y: Values,
    *,
    x_grid: Grid,
    y_grid: Grid,
    adjacency: Neighbours,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    labels: tuple[str, str] = ("x", "y"),
    randomness: Randomness | None = None,
) -> Histogram2D:
    """Counts of records in each cell of a plane; see `Histogram2DQuestion`, which can name another estimator.

    Arguments and guarantees as for `cdf`, with a grid for each column. The ledger is in memory and does not add up with
    other calls.

    >>> import dpcurves as dp
    >>> grid, half = dp.Grid(0, 1, cells=64), [0.25, 0.75] * 5000
    >>> found = dp.histogram2d(half, half, x_grid=grid, y_grid=grid, epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> bool(abs(found.count[:32, :32].sum() - 5000) < 500)
    True
    """
    names = _two(labels)
    question = curves.Histogram2DQuestion(*names, x_grid, y_grid)
    return asked(pair(x, y, ("x", "y"), names), question, loss_of(epsilon, rho), adjacency, randomness)


def summary(
    values: Values,
    *,
    bounds: tuple[float, float],
    adjacency: Neighbours,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    label: str = "value",
    randomness: Randomness | None = None,
) -> Summary:
    """Count, sum, mean and variance of `values`, all from one release.

    Arguments and guarantees as for `cdf`, but with `bounds` instead of a grid: the lower and the upper one are public,
    and values outside are clamped to the nearer bound. The ledger is in memory and does not add up with other calls.

    >>> import dpcurves as dp
    >>> ages = dp.summary([20, 40, 90] * 1000, bounds=(0, 100), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> bool(abs(ages.mean - 50) < 2 and abs(ages.variance - 866.7) < 100)
    True
    """
    question = curves.SummaryQuestion(label, *_ends(bounds))
    found: Summary = asked(named(label, values), question, loss_of(epsilon, rho), adjacency, randomness)
    return found


def mean(
    values: Values,
    *,
    bounds: tuple[float, float],
    adjacency: Neighbours,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    label: str = "value",
    randomness: Randomness | None = None,
) -> Summary:
    """The mean of `values`, with its count, sum and variance: its noise is less than that of `summary`.

    The variance has a seventh of the loss, which is enough for the interval of the population mean; ask `summary`, or
    `variance`, for the variance itself.

    Arguments and guarantees as for `summary`. The ledger is in memory and does not add up with other calls.

    >>> import dpcurves as dp
    >>> ages = dp.mean([20, 40, 90] * 1000, bounds=(0, 100), epsilon=1, adjacency=dp.ADD_REMOVE)
    >>> bool(abs(ages.mean - 50) < 2)
    True
    """
    question = curves.MeanQuestion(label, *_ends(bounds))
    found: Summary = asked(named(label, values), question, loss_of(epsilon, rho), adjacency, randomness)
    return found


def count(
    values: Values,
    *,
    adjacency: Neighbours,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    label: str = "value",
    randomness: Randomness | None = None,
) -> Summary:
    """The number of `values` that are neither NaN nor None.

    Arguments and guarantees as for `cdf`, but there is no grid: every number counts. Where n is public, the number of
    missing values is what is private. The ledger is in memory and does not add up with other calls.

    >>> import dpcurves as dp
    >>> ages = dp.count([20, 40, None] * 1000, epsilon=1, adjacency=dp.ADD_REMOVE)
    >>> bool(abs(ages.count - 2000) < 40)
    True
    """
    found: Summary = asked(
        named(label, values), curves.CountQuestion(label), loss_of(epsilon, rho), adjacency, randomness
    )
    return found


def sum(
    values: Values,
    *,
    bounds: tuple[float, float],
    adjacency: Neighbours,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    label: str = "value",
    randomness: Randomness | None = None,
) -> Summary:
    """Count, sum and mean of `values`, with the loss divided such that the sum has the least noise.

    Arguments and guarantees as for `summary`. The ledger is in memory and does not add up with other calls.

    >>> import dpcurves as dp
    >>> ages = dp.sum([20, 40, 90] * 1000, bounds=(0, 100), epsilon=1, adjacency=dp.ADD_REMOVE)
    >>> bool(abs(ages.sum - 150_000) < 5000)
    True
    """
    question = curves.SumQuestion(label, *_ends(bounds))
    found: Summary = asked(named(label, values), question, loss_of(epsilon, rho), adjacency, randomness)
    return found


def variance(
    values: Values,
    *,
    bounds: tuple[float, float],
    adjacency: Neighbours,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    label: str = "value",
    randomness: Randomness | None = None,
) -> Summary:
    """Variance of `values`, with count, sum and mean, as in `summary`; pictures show the variance.

    Arguments and guarantees as for `summary`. The ledger is in memory and does not add up with other calls.

    >>> import dpcurves as dp
    >>> ages = dp.variance([20, 40, 90] * 1000, bounds=(0, 100), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> bool(abs(ages.variance - 866.7) < 100)
    True
    """
    question = curves.VarianceQuestion(label, *_ends(bounds))
    found: Summary = asked(named(label, values), question, loss_of(epsilon, rho), adjacency, randomness)
    return found


def survival(
    time: Values,
    event: Values,
    *,
    grid: Grid,
    adjacency: Neighbours,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    came: Category = 1,
    censored: Category | None = None,
    randomness: Randomness | None = None,
) -> Survival:
    """Kaplan-Meier and Nelson-Aalen curves of the time until an event, with censoring; see `SurvivalQuestion`.

    Arguments and guarantees as for `cdf`; `event` says whether the event happened at `time`, or the record was censored
    then. The ledger is in memory and does not add up with other calls.

    >>> import dpcurves as dp
    >>> grid = dp.Grid(0, 10, cells=10)
    >>> curve = dp.survival([2.5, 4.5] * 900, [1, 0] * 900, grid=grid, epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> bool(abs(curve.y[3] - 0.5) < 0.05)
    True
    """
    table = pair(time, event, ("time", "event"))
    question = curves.SurvivalQuestion("time", "event", grid, came=came, censored=censored)
    found: Survival = asked(table, question, loss_of(epsilon, rho), adjacency, randomness)
    return found


def _two(labels: Sequence[str]) -> tuple[str, str]:
    names = several("labels", labels, "a pair of texts")
    if len(names) != 2 or names[0] == names[1]:
        raise Refused("labels", "two different texts are needed")
    return names[0], names[1]


def _ends(bounds: Sequence[float]) -> tuple[float, float]:
    ends = several("bounds", bounds, "a pair of numbers, the lower one first,")
    if len(ends) != 2:
        raise Refused("bounds", f"two numbers are needed, the lower one first, got {len(ends)}")
    return ends[0], ends[1]
