"""Questions in one call, about arrays at hand and about a whole table: the shortest way to a private curve.

Each function opens a ledger of its own in memory: **losses of several calls are not added up anywhere**. Two calls on
the same records together lose the sum of their losses, which only you can keep track of. For more than one question
open a `Session`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, Literal, Required, TypeAlias, TypedDict, TypeVar, Unpack, cast
from warnings import catch_warnings

from . import curves
from .arguments import (
    Exact,
    InvalidArgument,
    WrongArgumentType,
    describe_value,
    parse_positive_fraction,
    require_bounds_pair,
    require_sequence,
    require_type,
)
from .conversation import Cuts
from .curves import Question
from .data import (
    CAP_ALONE,
    HUNDREDTHS,
    SCORES,
    UNIT_INTERVAL,
    Categories,
    Category,
    Grid,
    HashUniverse,
    TextUniverse,
    UnlistedCategories,
)
from .ledger import Currency
from .noise.randomness import Randomness
from .privacy import ModelOrigin, Neighbours, PrivacyLoss
from .queries import Hint
from .session import Session

if TYPE_CHECKING:
    from .curves import (
        CDF,
        ROC,
        BinnedResiduals,
        Bounds,
        ByCategory,
        Calibration,
        Comparison,
        Contingency,
        Histogram,
        Histogram2D,
        HosmerLemeshow,
        Quantiles,
        ResidualPlot,
        Scores,
        Summary,
    )

Curve = TypeVar("Curve")
Call = TypeVar("Call", bound=Callable[..., Any])
Values: TypeAlias = Any
"""Values of one dimension: a list, a NumPy or Arrow array, or a series of pandas or Polars."""
EXACTLY = 10**9
"""An epsilon so large that the noise is 0."""
PLACES = {"adjacency": 1, "groups": 2, "bins": 2, "epsilon": 3, "rho": 3, "randomness": 5}
"""Places of arguments in a signature: 0 are those without a default, 4 all others."""

NO_RANGE = "weights are added up along public cells: give a grid"
WEIGHTED_HINT = "sums of weights make no use of one: leave it out"
NO_HINT = "without a grid noisy counts tell where records lie: leave it out, or give a grid"

# What all questions in one call take: adjacency, loss and randomness, and tables that are made of columns.


class PrivacyArguments(TypedDict, total=False):
    """Keyword arguments that every question in one call takes, as `cdf` describes them."""

    adjacency: Required[Neighbours]
    epsilon: Exact | None
    rho: Exact | None
    randomness: Randomness | None


def ask_once(
    question: Question[Curve],
    table: Mapping[str, Any],
    *,
    adjacency: Neighbours,
    epsilon: Exact | None = None,
    rho: Exact | None = None,
    randomness: Randomness | None = None,
) -> Curve:
    """The answer to one question, from a ledger in memory with just the budget of its loss."""
    loss = parse_loss(epsilon, rho)
    with Session(
        table, budget=Currency.from_loss(loss).smallest_cap(loss), adjacency=adjacency, randomness=randomness
    ) as session:
        return session.ask(question, loss)


def add_privacy_arguments(function: Call) -> Call:
    """Spell out in a function's signature the arguments of `ask_once`, each at its place, and refuse others."""
    own = (each for each in signature(function).parameters.values() if each.kind is not Parameter.VAR_KEYWORD)
    shared = (each for each in signature(ask_once).parameters.values() if each.kind is Parameter.KEYWORD_ONLY)
    usual = {True: 0, False: 4}
    every = sorted(
        [*own, *shared], key=lambda each: (each.kind, PLACES.get(each.name, usual[each.default is each.empty]))
    )
    spelled = signature(function).replace(parameters=every)

    @wraps(function)
    def call_function(*args: Any, **named: Any) -> Any:
        odd = next((name for name in named if name not in spelled.parameters), None)
        if odd is not None:
            hint = BOTH_BOUNDS if odd in ("lower", "upper") and "bounds" in spelled.parameters else ""
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {odd!r}{hint}")
        _require_arguments(function.__name__, spelled, args, named)
        return function(*args, **named)

    call_function.__signature__ = spelled  # type: ignore[attr-defined]
    call_function.__annotations__ = {each.name: each.annotation for each in every} | {
        "return": spelled.return_annotation
    }
    return cast(Call, call_function)


BOTH_BOUNDS = ": both ends are one argument, bounds=(lower, upper)"
NEIGHBOURS = "dp.REPLACE_ONE (the number of records is public) or dp.ADD_REMOVE (it is private)"
EXAMPLES = {
    "adjacency": "dp.ADD_REMOVE", "bounds": "(0, 100)", "grid": "dp.Grid(0, 100, cells=64)", "delta": '"1e-6"',
    "coverage": "0.95", "model": "dp.PUBLIC_MODEL", "row_categories": '("a", "b")', "column_categories": '("a", "b")',
    "x_grid": "dp.Grid(0, 100, cells=64)", "y_grid": "dp.Grid(0, 100, cells=64)",
}  # fmt: skip
"""Arguments that have no default, and values as they may be written."""


def _require_arguments(function: str, spelled: Signature, args: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Refuse a call at once where arguments are missing, with a complete line.

    Raises:
        TypeError: an argument without a default was not given.
    """
    every = list(spelled.parameters.values())
    given = {each.name for each in every[: len(args)]} | set(named)
    lacking = [each.name for each in every if each.default is each.empty and each.name not in given]
    if not lacking:
        return
    loss = [] if {"epsilon", "rho"} & given else ["epsilon=1"]
    told = [each.name for each in every if each.kind is not Parameter.KEYWORD_ONLY and each.default is each.empty]
    keywords = [f"{name}={EXAMPLES.get(name, '...')}" for name in lacking if name not in told]
    own = [f"{name}=..." for name in named]
    line = f"dp.{function}({', '.join([*told, *own, *keywords, *loss])})"
    kind = "argument" if len(lacking) == 1 else "arguments"
    neighbours = f"; adjacency is {NEIGHBOURS}" if "adjacency" in lacking else ""
    missing = f"missing {len(lacking)} required keyword-only {kind}: {', '.join(map(repr, lacking))}"
    raise TypeError(f"{function}() {missing}{neighbours}; a complete call: {line}")


def parse_loss(epsilon: Exact | None, rho: Exact | None) -> PrivacyLoss:
    """The one that is given.

    Raises:
        ValueError: both are given, or neither: there is no default. Or it is not from 1e-9 to 1e9.
    """
    if (epsilon is None) == (rho is None):
        raise InvalidArgument("epsilon", "give either epsilon (pure) or rho (zCDP); there is no default")
    if epsilon is not None:
        return Currency.require_countable(PrivacyLoss.pure(epsilon), epsilon)
    return Currency.require_countable(PrivacyLoss.zcdp(rho if rho is not None else 0), rho)


def require_column(values: Any, name: str) -> Any:
    """Pass on a column as it is: a list is not made an array, for its rows would then decide which type it has."""
    if getattr(values, "ndim", 1) == 2 and getattr(values, "shape", (0, 0))[1] == 2:
        raise InvalidArgument(
            name, "of two columns, as predict_proba gives them, take that of the positive class: scores[:, 1]"
        )
    if not hasattr(values, "__len__") or getattr(values, "ndim", 1) != 1 or isinstance(values, str | bytes):
        raise InvalidArgument(name, "a list, a series or an array of one dimension is needed")
    return values


def series_name(values: Any, otherwise: str) -> str:
    """The name of a series of pandas or Polars, which is public as that of a column is; others are called otherwise.

    >>> series_name([1, 2], "value")
    'value'
    """
    name = getattr(values, "name", None)
    return name if isinstance(name, str) and name else otherwise


def make_table(label: str | None, values: Any, otherwise: str = "value") -> dict[str, Any]:
    """Make a table of one column, which is called `label`, or as the series is."""
    label = series_name(values, otherwise) if label is None else label
    require_type("label", label, str, "a text")
    return {label: require_column(values, "values")}


def make_pair_table(
    labels: Sequence[str] | None = None, /, **columns: Values
) -> tuple[tuple[str, str], dict[str, Any]]:
    """Name two columns as labels say, or as two series with different names, or as their arguments; and make a table.

    Raises:
        ValueError: labels are not two different texts, one of them is no column, or they are of different lengths.
    """
    (one, first), (other, second) = columns.items()
    names = series_name(first, one), series_name(second, other)
    if labels is not None:
        given = require_sequence("labels", labels, "a pair of texts")
        if len(given) != 2 or given[0] == given[1]:
            raise InvalidArgument("labels", "two different texts are needed")
        names = given[0], given[1]
    elif names[0] == names[1]:
        names = one, other
    found = require_column(first, one), require_column(second, other)
    if len(found[0]) != len(found[1]):
        raise InvalidArgument(", ".join(columns), "the same number of records is needed")
    return names, dict(zip(names, found, strict=True))


def add_weights(
    table: Mapping[str, Any], weight: Values | None, weight_cap: float | None
) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """The table with a column of weights, and what a question says of it; nothing, where there are none.

    Raises:
        ValueError: the weights are no column, or of another length, or there is a cap without weights.
    """
    if weight is None:
        if weight_cap is not None:
            raise InvalidArgument("weight_cap", CAP_ALONE)
        return table, {}
    first, values = next(iter(table.values())), require_column(weight, "weight")
    if len(values) != len(first):
        raise InvalidArgument("weight", "the same number of records is needed")
    name = "weight" if "weight" not in table else "survey weight"
    return {**table, name: values}, {"weight": name, "weight_cap": weight_cap}


def require_grid(grid: Grid | None, hint: Hint | None) -> Grid:
    """A public grid, along which weights are added up.

    Raises:
        ValueError: there is none, or a hint.
    """
    if grid is None:
        raise InvalidArgument("grid", NO_RANGE)
    if hint is not None:
        raise InvalidArgument("hint", WEIGHTED_HINT)
    return grid


def make_summary_question(kind: str, label: str, bounds: Sequence[float] | Auto, **weights: Any) -> Question[Summary]:
    """The question of this kind for values between these bounds, or between such as a part of the loss looks for."""
    if bounds == "auto":
        if weights:
            raise InvalidArgument("bounds", "two numbers are needed: sums of survey weights look for none")
        return cast("Question[Summary]", getattr(curves, f"AutoRange{kind}Question")(label))
    if isinstance(bounds, str):
        raise WrongArgumentType("bounds", f"two numbers, or 'auto', are needed, got {describe_value(bounds)}")
    if weights:
        return curves.WeightedSummaryQuestion(label, *require_bounds_pair(bounds), **weights, statistic=kind.lower())
    return cast("Question[Summary]", getattr(curves, f"{kind}Question")(label, *require_bounds_pair(bounds)))


Auto: TypeAlias = Literal["auto"]
"""Word for a grid, or a unit, of which nothing is known in public."""


def resolve_grid(grid: Grid | Auto | None) -> Grid | None:
    """The grid that is given; None, if none is known."""
    if isinstance(grid, str) and grid != "auto":
        raise WrongArgumentType("grid", f"a Grid, or 'auto', is needed, got {describe_value(grid)}")
    return None if isinstance(grid, str) else grid


def resolve_unit(unit: float | Auto) -> float:
    """The unit that is given, or where no magnitude is known one that is small enough."""
    from .curves.bounds import SMALLEST_UNIT

    return SMALLEST_UNIT if unit == "auto" else unit


__all__ = [
    "binned_residuals",
    "bounds",
    "calibration_curve",
    "cdf",
    "compare",
    "contingency",
    "count",
    "histogram",
    "histogram2d",
    "hosmer_lemeshow",
    "mean",
    "quantiles",
    "residual_plot",
    "roc_curve",
    "scores",
    "select_partitions",
    "sum",
    "summary",
    "variance",
]  # fmt: skip


@add_privacy_arguments
def cdf(
    values: Values,
    *,
    grid: Grid | Auto | None = None,
    label: str | None = None,
    hint: Hint | None = None,
    weight: Values | None = None,
    weight_cap: float | None = None,
    **paid: Unpack[PrivacyArguments],
) -> CDF:
    """The distribution function of `values`.

    Args:
        values: Numbers, of shape ``(n,)``. NaN and None are missing.
        grid: Public cells, which must not be chosen from the data. Values outside are clamped into the end cells; with
            ``outside="apart"`` they are counted separately. None, or ``"auto"``: a part of the loss looks for the
            range, see `AutoRangeCdfQuestion`.
        adjacency: `ADD_REMOVE`: n is private. `REPLACE_ONE`: n is public.
        epsilon: The loss, under pure differential privacy.
        rho: The loss, under zero-concentrated differential privacy; instead of `epsilon`.
        label: What the x axis shows. None: the name of a series, or else ``value``.
        hint: What is known in public about how the values lie: see `CdfQuestion`.
        weight: Survey weights, of shape ``(n,)``: the curve is that of the weight, see `WeightedCdfQuestion`. Missing,
            negative and infinite ones leave their record out.
        weight_cap: The public cap on one record's weight; needed with `weight`, and never chosen from the data.
        randomness: Where noise comes from; anything but the operating system is marked on the curve.

    Returns:
        The curve: edges `x` and shares of records below them `y`, of shape ``(cells + 1,)``, with bands and quantiles.

    Formal guarantees: pure `epsilon`, or `rho`-zCDP, under `adjacency`, for each record on its own. This call's ledger
    is in memory: it does not add up with other calls.

    >>> import dpcurves as dp
    >>> curve = dp.cdf([3, 5, 8] * 1000, grid=dp.Grid(0, 10, cells=64), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> bool(abs(curve.cdf(6) - 2 / 3) < 0.05)
    True
    """
    (label,) = own = make_table(label, values)
    table, weights = add_weights(own, weight, weight_cap)
    question: Question[Any] = curves.AutoRangeCdfQuestion(label)
    cells = resolve_grid(grid)
    if weights:
        question = curves.WeightedCdfQuestion(label, require_grid(cells, hint), **weights)
    elif cells is not None:
        question = curves.CdfQuestion(label, cells, hint=hint)
    elif hint is not None:
        raise InvalidArgument("hint", NO_HINT)
    curve: CDF = ask_once(question, table, **paid)
    return curve


@add_privacy_arguments
def quantiles(
    values: Values,
    p: Sequence[float] = (0.25, 0.5, 0.75),
    *,
    grid: Grid | Auto | None = None,
    label: str | None = None,
    hint: Hint | None = None,
    weight: Values | None = None,
    weight_cap: float | None = None,
    **paid: Unpack[PrivacyArguments],
) -> Quantiles:
    """Quantiles of `values` at the shares `p`: any number of them has the loss of one distribution function.

    Arguments and guarantees as for `cdf`; the ledger is in memory and does not add up with other calls.

    Returns:
        The shares `p` and the values `x`, of shape ``(len(p),)``, with intervals, and the curve they lie on.

    >>> import dpcurves as dp
    >>> grid = dp.Grid(0, 100, cells=1024)
    >>> found = dp.quantiles(list(range(100)) * 50, [0.25, 0.5], grid=grid, epsilon=1, adjacency=dp.ADD_REMOVE)
    >>> bool(abs(found.x[1] - 50) < 3)
    True
    """
    from .curves.quantiles import parse_shares

    at = parse_shares("p", p)
    (label,) = own = make_table(label, values)
    table, weights = add_weights(own, weight, weight_cap)
    question: Question[Quantiles] = curves.AutoRangeQuantilesQuestion(label, at)
    cells = resolve_grid(grid)
    if weights:
        question = curves.WeightedQuantilesQuestion(label, require_grid(cells, hint), at, **weights)
    elif cells is not None:
        question = curves.QuantilesQuestion(label, cells, at, hint=hint)
    elif hint is not None:
        raise InvalidArgument("hint", NO_HINT)
    return ask_once(question, table, **paid)


@add_privacy_arguments
def histogram(
    values: Values, *, grid: Grid | Auto, label: str | None = None, **paid: Unpack[PrivacyArguments]
) -> Histogram:
    """Counts of `values` in the cells of `grid`.

    Arguments and guarantees as for `cdf`; with ``grid="auto"`` a part of the loss chooses even cells: see
    `AutoRangeHistogramQuestion`. The ledger is in memory and does not add up with other calls.

    Returns:
        Edges `x`, of shape ``(cells + 1,)``, and counts `count`, of shape ``(cells,)``, with intervals.

    >>> import dpcurves as dp
    >>> bars = dp.histogram([1, 1, 2] * 100, grid=dp.Grid(0, 4, cells=4), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> bool(abs(bars.count[1] - 200) < 40)
    True
    """
    (label,) = table = make_table(label, values)
    question: Question[Any] = curves.AutoRangeHistogramQuestion(label)
    if (cells := resolve_grid(grid)) is not None:
        question = curves.HistogramQuestion(label, cells)
    bars: Histogram = ask_once(question, table, **paid)
    return bars


@add_privacy_arguments
def roc_curve(
    y_true: Values,
    y_score: Values,
    *,
    grid: Grid = UNIT_INTERVAL,
    pos_label: Category = 1,
    neg_label: Category | None = None,
    cuts: Cuts = Cuts.QUANTILES,
    **paid: Unpack[PrivacyArguments],
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

    Returns:
        Rates `fpr` and `tpr` and `thresholds`, of shape ``(cells + 1,)``, the area `auc`, with band and intervals.

    Formal guarantees: as for `cdf`; the ledger is in memory and does not add up with other calls.

    >>> import dpcurves as dp
    >>> roc = dp.roc_curve([0, 1] * 5000, [0.2, 0.7] * 5000, epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> roc.auc > 0.9
    True
    """
    names, table = make_pair_table(y_true=y_true, y_score=y_score)
    question = curves.RocQuestion(*names, grid, pos_label, neg_label, cuts=cuts)
    return ask_once(question, table, **paid)


@add_privacy_arguments
def scores(
    y_true: Values,
    y_score: Values,
    *,
    grid: Grid | Auto = HUNDREDTHS,
    pos_label: Category = 1,
    neg_label: Category | None = None,
    **paid: Unpack[PrivacyArguments],
) -> Scores:
    """A release of scores in two classes for several results: ROC, precision-recall, calibration curves and others.

    Arguments and guarantees as for `roc_curve`, but thresholds are not chosen from the data: scores are counted in the
    cells of the public `grid`, by default hundredths of [0, 1]. With ``grid="auto"`` a part of the loss looks for the
    range of scores on another scale: see `AutoRangeScoresQuestion`. The ledger is in memory and does not add up with
    other calls.

    Returns:
        True and false positives at all thresholds, from which curves and single numbers are read at no loss.

    >>> import dpcurves as dp
    >>> found = dp.scores([0, 1] * 5000, [0.2, 0.7] * 5000, epsilon=10, adjacency=dp.REPLACE_ONE)
    >>> found.value("auc") > 0.9, found.confusion(0.5).rates["recall"] > 0.9
    (True, True)
    """
    names, table = make_pair_table(y_true=y_true, y_score=y_score)
    question: Question[Any] = curves.AutoRangeScoresQuestion(*names, None, pos_label, neg_label)
    if (cells := resolve_grid(grid)) is not None:
        question = curves.ScoresQuestion(*names, cells, None, pos_label, neg_label)
    found: Scores = ask_once(question, table, **paid)
    return found


@add_privacy_arguments
def calibration_curve(
    y_true: Values,
    y_prob: Values,
    *,
    groups: int | None = None,
    grid: Grid = SCORES,
    pos_label: Category = 1,
    neg_label: Category | None = None,
    **paid: Unpack[PrivacyArguments],
) -> Calibration:
    """The share of positive labels among records of similar predicted probability.

    Arguments and guarantees as for `roc_curve`; the edges of `groups` groups of about equal size are chosen privately;
    by default there are 3 to 20, fewer where noise is larger. The ledger is in memory and does not add up with
    other calls.

    Returns:
        Mean scores `prob_pred` and shares of positives `prob_true`, of shape ``(groups,)``, with intervals.

    >>> import dpcurves as dp
    >>> curve = dp.calibration_curve([0, 1] * 900, [0.2, 0.7] * 900, groups=2, epsilon=5, adjacency=dp.REPLACE_ONE)
    >>> bool(curve.prob_true[0] < curve.prob_true[-1])
    True
    """
    names, table = make_pair_table(y_true=y_true, y_prob=y_prob)
    question = curves.CalibrationQuestion(*names, groups, grid, pos_label, neg_label)
    return ask_once(question, table, **paid)


@add_privacy_arguments
def hosmer_lemeshow(
    y_true: Values,
    y_prob: Values,
    *,
    groups: int | None = None,
    grid: Grid = SCORES,
    pos_label: Category = 1,
    neg_label: Category | None = None,
    **paid: Unpack[PrivacyArguments],
) -> HosmerLemeshow:
    """Do predicted probabilities agree with the labels? The test's p-value accounts for noise and sampling.

    Arguments and guarantees as for `calibration_curve`, but where `groups` is left out, their number depends on the
    number of records and the loss: see `HosmerLemeshowQuestion`. The ledger is in memory and does not add up with other
    calls.

    Returns:
        The `statistic`, its `p_value`, and observed and expected positives of the groups.

    >>> import dpcurves as dp
    >>> test = dp.hosmer_lemeshow([0, 1] * 900, [0.1, 0.2] * 900, groups=4, epsilon=5, adjacency=dp.REPLACE_ONE)
    >>> test.p_value < 0.05
    True
    """
    names, table = make_pair_table(y_true=y_true, y_prob=y_prob)
    question = curves.HosmerLemeshowQuestion(*names, groups, grid, pos_label, neg_label)
    return ask_once(question, table, **paid)


@add_privacy_arguments
def binned_residuals(
    y_true: Values,
    y_score: Values,
    *,
    model: ModelOrigin,
    bins: int = 16,
    grid: Grid = SCORES,
    pos_label: Category = 1,
    neg_label: Category | None = None,
    **paid: Unpack[PrivacyArguments],
) -> BinnedResiduals:
    """Mean residuals (label minus prediction) in bins of similar predicted probability, with an envelope.

    Arguments and guarantees as for `roc_curve`, and two more. At most `bins` bins are formed by a private choice of
    edges, and joined where noise is large beside their counts. `model` is `PUBLIC_MODEL`, `DISJOINT_RECORDS` or
    `PRIVATE_MODEL`: unless one of these is true no residual is private. The ledger is in memory and does not add up
    with other calls.

    Returns:
        Mean predictions, mean residuals and counts of the bins, each of shape ``(bins,)``, and their `edges`.

    >>> import dpcurves as dp
    >>> y, p = [0, 1, 1, 1] * 900, [0.2, 0.2, 0.7, 0.7] * 900
    >>> found = dp.binned_residuals(y, p, model=dp.PUBLIC_MODEL, bins=2, epsilon=5, adjacency=dp.REPLACE_ONE)
    >>> bool(found.outside > 0)
    True
    """
    names, table = make_pair_table(y_true=y_true, y_score=y_score)
    question = curves.BinnedResidualsQuestion(*names, model, bins, grid=grid, pos_label=pos_label, neg_label=neg_label)
    return ask_once(question, table, **paid)


@add_privacy_arguments
def residual_plot(
    predicted: Values,
    residual: Values,
    *,
    unit_predicted: float | Auto = "auto",
    unit_residual: float | Auto = "auto",
    coverage: Exact,
    model: ModelOrigin,
    cells: int = 64,
    **paid: Unpack[PrivacyArguments],
) -> ResidualPlot:
    """Residuals against predictions: a private density, and a synthetic scatter drawn from it.

    Arguments and guarantees as for `binned_residuals`, and more. The bounds of each axis are chosen privately: the
    smallest power of two times `unit_predicted`, or `unit_residual`, such that both bounds together cover about a share
    `coverage` of the records; ``"auto"``: no magnitude is known, and a billionth is doubled. Within them each axis has
    `cells` cells. The ledger is in memory and does not add up with other calls.

    Returns:
        The `density`, of shape ``(cells, cells)``, predictions first, and `points` drawn from it, of shape ``(n, 2)``.

    >>> import dpcurves as dp
    >>> x, residual = [0.1 * i for i in range(10)] * 500, [0.2, -0.2] * 2500
    >>> found = dp.residual_plot(
    ...     x, residual, unit_predicted=1, unit_residual=1, coverage=0.95, model=dp.PUBLIC_MODEL, epsilon=2,
    ...     adjacency=dp.REPLACE_ONE)
    >>> found.outside < 0.05
    True
    """
    _, columns = make_pair_table(("predicted", "residual"), predicted=predicted, residual=residual)
    question = curves.ResidualPlotQuestion(
        "predicted", "residual", resolve_unit(unit_predicted), resolve_unit(unit_residual), coverage, model, cells
    )
    return ask_once(question, columns, **paid)


@add_privacy_arguments
def bounds(
    values: Values,
    *,
    unit: float | Auto = "auto",
    coverage: Exact,
    label: str | None = None,
    **paid: Unpack[PrivacyArguments],
) -> Bounds:
    """A bound on the size of `values`: the least power of two times `unit` that about a share `coverage` lies within.

    Arguments and guarantees as for `cdf`, without a grid: `unit` is public, and should be of the magnitude of relevant
    values, or ``"auto"``, if none is known: a billionth; see `BoundsQuestion`. The ledger is in memory and does not add
    up with other calls.

    Returns:
        The interval from `lower` to `upper`, in the unit of the values, and how much of them it may miss.

    >>> import dpcurves as dp
    >>> found = dp.bounds([3, -5, 6] * 1000, unit=1, coverage=0.95, epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> (found.lower, found.upper)
    (-8.0, 8.0)
    """
    (label,) = table = make_table(label, values)
    return ask_once(curves.BoundsQuestion(label, resolve_unit(unit), coverage), table, **paid)


def compare(private: Any, question: Question[Any], public: Any) -> Comparison:
    """Compare a released curve with that of a public table, such as synthetic records, and test for a difference.

    The public table is counted exactly; nothing more is asked of the confidential one, so it costs no privacy loss.

    Args:
        private: A `CDF`, `Histogram`, `ROC`, `Calibration` or `BinnedResiduals`, as `Session.ask` gave it.
        question: The question that it answers.
        public: A table of public records, in any form that `Session` takes. What is counted of it is not protected.

    Returns:
        Both curves, the difference, and its interval or p-value.

    Raises:
        ValueError: the question gives another kind of curve, or see `Comparison.from_curves`.

    >>> import dpcurves as dp
    >>> question = dp.CdfQuestion("age", dp.Grid(0, 10, cells=64))
    >>> with dp.Session({"age": [2, 6] * 5000}, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     curve = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> [dp.compare(curve, question, {"age": ages}).differs for ages in ([2, 6] * 300, [6] * 600)]
    [False, True]
    """
    with catch_warnings(action="ignore", category=curves.CurveWarning):
        counted = ask_once(question, public, adjacency=Neighbours.REPLACE_ONE, epsilon=EXACTLY)
    return curves.Comparison.from_curves(private, counted)


@add_privacy_arguments
def contingency(
    rows: Values,
    columns: Values,
    *,
    row_categories: Sequence[Category],
    column_categories: Sequence[Category],
    labels: tuple[str, str] | None = None,
    **paid: Unpack[PrivacyArguments],
) -> Contingency:
    """Counts of pairs of categories, and a test of independence; see `Contingency`.

    Arguments and guarantees as for `cdf`, but there is no grid: both columns' categories are public, and a record with
    any other value is missing. The ledger is in memory and does not add up with other calls.

    Returns:
        Counts of shape ``(rows, columns)``, with intervals, and the `statistic` and `p_value` of the test.

    >>> import dpcurves as dp
    >>> found = dp.contingency(
    ...     ["a", "b"] * 500, [0, 1] * 500, row_categories=("a", "b"), column_categories=(0, 1), epsilon=1,
    ...     adjacency=dp.REPLACE_ONE)
    >>> found.p_value < 0.01
    True
    """
    names, table = make_pair_table(labels, rows=rows, columns=columns)
    each = 'a tuple of categories, as in ("a", "b"),'
    rows_declared = Categories(names[0], require_sequence("row_categories", row_categories, each))
    columns_declared = Categories(names[1], require_sequence("column_categories", column_categories, each))
    return ask_once(curves.ContingencyQuestion(rows_declared, columns_declared), table, **paid)


@add_privacy_arguments
def histogram2d(
    x: Values,
    y: Values,
    *,
    x_grid: Grid,
    y_grid: Grid,
    labels: tuple[str, str] | None = None,
    **paid: Unpack[PrivacyArguments],
) -> Histogram2D:
    """Counts of records in each cell of a plane; see `Histogram2DQuestion`, which can name another estimator.

    Arguments and guarantees as for `cdf`, with a grid for each column. The ledger is in memory and does not add up with
    other calls.

    Returns:
        Counts of shape ``(cells of x, cells of y)``, and the edges of both columns.

    >>> import dpcurves as dp
    >>> grid, half = dp.Grid(0, 1, cells=64), [0.25, 0.75] * 5000
    >>> found = dp.histogram2d(half, half, x_grid=grid, y_grid=grid, epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> bool(abs(found.count[:32, :32].sum() - 5000) < 500)
    True
    """
    names, table = make_pair_table(labels, x=x, y=y)
    return ask_once(curves.Histogram2DQuestion(*names, x_grid, y_grid), table, **paid)


@add_privacy_arguments
def summary(
    values: Values, *, bounds: tuple[float, float] | Auto, label: str | None = None, **paid: Unpack[PrivacyArguments]
) -> Summary:
    """Count, sum, mean and variance of `values`, all from one release.

    Arguments and guarantees as for `cdf`, but with `bounds` instead of a grid: the lower and the upper one are public,
    and values outside are clamped to the nearer bound. With ``bounds="auto"`` a part of the loss looks for them: see
    `AutoRangeMeanQuestion`. The ledger is in memory and does not add up with other calls.

    Returns:
        Count, sum, mean and variance, each with its interval.

    >>> import dpcurves as dp
    >>> ages = dp.summary([20, 40, 90] * 1000, bounds=(0, 100), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> bool(abs(ages.mean - 50) < 2 and abs(ages.variance - 866.7) < 100)
    True
    """
    (label,) = table = make_table(label, values)
    return ask_once(make_summary_question("Summary", label, bounds), table, **paid)


@add_privacy_arguments
def mean(
    values: Values,
    *,
    bounds: tuple[float, float] | Auto,
    label: str | None = None,
    weight: Values | None = None,
    weight_cap: float | None = None,
    **paid: Unpack[PrivacyArguments],
) -> Summary:
    """The mean of `values`, with its count, sum and variance: its noise is less than that of `summary`.

    With `weight` and `weight_cap`, as of `cdf`, it is the weighted mean: see `WeightedSummaryQuestion`.

    The variance has a seventh of the loss, which is enough for the interval of the population mean; ask `summary`, or
    `variance`, for the variance itself.

    Arguments and guarantees as for `summary`. The ledger is in memory and does not add up with other calls.

    Returns:
        A summary with `mean`, in the unit of the values, and with `count`, `sum` and their intervals.

    >>> import dpcurves as dp
    >>> ages = dp.mean([20, 40, 90] * 1000, bounds=(0, 100), epsilon=1, adjacency=dp.ADD_REMOVE)
    >>> bool(abs(ages.mean - 50) < 2)
    True
    """
    (label,) = own = make_table(label, values)
    table, weights = add_weights(own, weight, weight_cap)
    return ask_once(make_summary_question("Mean", label, bounds, **weights), table, **paid)


@add_privacy_arguments
def count(values: Values, *, label: str | None = None, **paid: Unpack[PrivacyArguments]) -> Summary:
    """The number of `values` that are neither NaN nor None.

    Arguments and guarantees as for `cdf`, but there is no grid: every number counts. Where n is public, the number of
    missing values is what is private. The ledger is in memory and does not add up with other calls.

    Returns:
        A summary whose `count` is known, with `interval`; its other numbers are NaN.

    >>> import dpcurves as dp
    >>> ages = dp.count([20, 40, None] * 1000, epsilon=1, adjacency=dp.ADD_REMOVE)
    >>> bool(abs(ages.count - 2000) < 40)
    True
    """
    (label,) = table = make_table(label, values)
    found: Summary = ask_once(curves.CountQuestion(label), table, **paid)
    return found


@add_privacy_arguments
def select_partitions(
    names: Values,
    *,
    delta: Exact | None = None,
    universe: TextUniverse | HashUniverse | None = None,
    label: str | None = None,
    **paid: Unpack[PrivacyArguments],
) -> ByCategory[Summary]:
    """Counts of groups that nobody listed: those of many records are found, the rest is ``other``.

    Args:
        names: Names, of shape ``(n,)``. None is missing.
        delta: The chance with which more than the loss may be lost, above all that a group of one record is told: far
            below one over the number of records. None is needed where there is a universe.
        universe: The names that there may be, `TextUniverse` or `HashUniverse`, where no delta is granted.
        adjacency: `ADD_REMOVE`: n is private. `REPLACE_ONE`: n is public.
        epsilon: The loss, if it is pure but for `delta`.
        rho: The loss, if it is zero-concentrated but for `delta`; give one of the two.
        label: The name of the groups. None: that of a series, or else ``group``.
        randomness: Where noise comes from; anything but the operating system is marked on the curve.

    Returns:
        A count for each group that was found, and for ``other``, by name.

    Formal guarantees: the loss but for `delta`, under `adjacency`, for each record on its own: see
    `mechanisms.partition_selection`. The ledger is in memory and does not add up with other calls.

    >>> import dpcurves as dp
    >>> found = dp.select_partitions(["north"] * 900 + ["south"] * 90 + ["x"], epsilon=4, delta="1e-6",
    ...                         adjacency=dp.ADD_REMOVE)
    >>> list(found), bool(abs(found["south"].count - 90) < 20)
    (['north', 'south', 'other'], True)
    >>> "north" in dp.select_partitions(["north"] * 900, universe=dp.TextUniverse("a-z", 5), epsilon=4, adjacency=dp.ADD_REMOVE)
    True
    """
    loss = parse_loss(paid.get("epsilon"), paid.get("rho"))
    loss = loss if delta is None else loss.with_delta(parse_positive_fraction("delta", delta))
    (label,) = own = make_table(label, names, "group")
    table = own | {f"{label} is given": [1] * len(names)}
    question = curves.CountQuestion(f"{label} is given", by=UnlistedCategories(label, universe=universe))
    adjacency, chance = paid["adjacency"], paid.get("randomness")
    with Session(
        table, budget=Currency.from_loss(loss).smallest_cap(loss), adjacency=adjacency, randomness=chance
    ) as session:
        found: ByCategory[Summary] = session.ask(question, loss)
    return found


@add_privacy_arguments
def sum(
    values: Values,
    *,
    bounds: tuple[float, float] | Auto,
    label: str | None = None,
    weight: Values | None = None,
    weight_cap: float | None = None,
    **paid: Unpack[PrivacyArguments],
) -> Summary:
    """Count, sum and mean of `values`, with the loss divided such that the sum has the least noise.

    With `weight` and `weight_cap`, as of `cdf`, it is the weighted sum: see `WeightedSummaryQuestion`.

    Arguments and guarantees as for `summary`. The ledger is in memory and does not add up with other calls.

    Returns:
        A summary with `sum`, in the unit of the values, and with `count`, `mean` and their intervals.

    >>> import dpcurves as dp
    >>> ages = dp.sum([20, 40, 90] * 1000, bounds=(0, 100), epsilon=1, adjacency=dp.ADD_REMOVE)
    >>> bool(abs(ages.sum - 150_000) < 5000)
    True
    """
    (label,) = own = make_table(label, values)
    table, weights = add_weights(own, weight, weight_cap)
    return ask_once(make_summary_question("Sum", label, bounds, **weights), table, **paid)


@add_privacy_arguments
def variance(
    values: Values, *, bounds: tuple[float, float] | Auto, label: str | None = None, **paid: Unpack[PrivacyArguments]
) -> Summary:
    """Variance of `values`, with count, sum and mean, as in `summary`; pictures show the variance.

    Arguments and guarantees as for `summary`. The ledger is in memory and does not add up with other calls.

    Returns:
        A summary with `variance`, in the squared unit of the values, and with `count`, `sum` and `mean`.

    >>> import dpcurves as dp
    >>> ages = dp.variance([20, 40, 90] * 1000, bounds=(0, 100), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> bool(abs(ages.variance - 866.7) < 100)
    True
    """
    (label,) = table = make_table(label, values)
    return ask_once(make_summary_question("Variance", label, bounds), table, **paid)
