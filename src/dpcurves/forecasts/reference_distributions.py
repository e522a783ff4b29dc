"""Synthetic data for power analysis: public reference distributions of records, or one that follows a released curve.

A forecast simulates a private question on synthetic records, to find its expected error before any budget is spent. The
error of an adaptive curve depends on how records lie. So forecasts use several distributions for each column, from the
most to the least favourable: long-tailed, zero-inflated and others; for two columns, pairs that cluster or follow a
line; for scores, classes that are well or badly separated. Each is a function of a random generator and a number of
records that returns positions from 0 to 1 along a grid, scores, or points.

`distribution_from_curve` makes a distribution from a released curve: records are uniform within cells, or lie on
declared values.

Formal guarantees: distributions are public or computed from released numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import curves
from ..arguments import InvalidArgument, WrongArgumentType, describe_value
from ..arrays import FloatArray
from ..curves.question import parse_class_labels
from ..data import Grid, Outside
from ..extensions import find_packages

Generator = np.random.Generator
Places = Callable[[Generator, int], FloatArray]
"""Function of a generator and a number of records; returns positions from 0 to 1 along a grid, (records,)."""
Bits = NDArray[np.int64]
ClassesAndScores = Callable[[Generator, int], tuple[Bits, FloatArray]]
"""Function of a generator and a number of records; returns classes, 0 or 1, and scores from 0 to 1, (records,) each."""
Points = Callable[[Generator, int], tuple[FloatArray, FloatArray]]
"""Function of a generator and a number of records; returns both coordinates of points of a plane, (records,) each."""
TIED_VALUES = 40
"""Number of round values along a grid on which made-up tied values lie: few enough for large ties."""


def _sample_long_tail(draw: Generator, size: int) -> FloatArray:
    """Draw positions from a log-normal distribution, clipped to [0, 1].

    Args:
        draw: Random numbers of the simulation.
        size: Number of records.

    Returns:
        Positions, (size,).
    """
    return np.clip(draw.lognormal(-2.3, 0.9, size), 0, 1)


def _sample_zero_inflated(draw: Generator, size: int) -> FloatArray:
    """Draw a third of the values at the lower bound, like wages; the others from a long tail, mostly round numbers.

    Args:
        draw: Random numbers of the simulation.
        size: Number of records.

    Returns:
        Positions in [0, 1], (size,).
    """
    tail = _sample_long_tail(draw, size)
    heaped = np.where(draw.random(size) < 0.7, np.floor(tail * TIED_VALUES) / TIED_VALUES, tail)
    return np.where(draw.random(size) < 1 / 3, 0.0, heaped)


VALUE_SAMPLERS: Mapping[str, Places] = MappingProxyType(
    {
        "a hill": lambda draw, size: np.clip(draw.normal(0.5, 0.125, size), 0, 1),
        "a long tail": _sample_long_tail,
        "tied values": lambda draw, size: np.floor(draw.beta(2, 3, size) * TIED_VALUES) / TIED_VALUES,
        # Nine of ten records within a hundredth of the grid.
        "a narrow peak": lambda draw, size: np.where(
            draw.random(size) < 0.9, draw.normal(0.3, 0.0025, size), draw.random(size)
        ),
        "a third zero, the rest heaped": _sample_zero_inflated,
    }
)
"""Distributions for forecasts of one column, each a function that draws positions from 0 to 1 on its grid."""


def _pair_sampler(lean: float) -> Points:
    """Return a sampler of correlated pairs of positions in [0, 1].

    Args:
        lean: Weight of the first position in the second; the rest of the second is uniform.
    """

    def sample_pairs(draw: Generator, size: int) -> tuple[FloatArray, FloatArray]:
        """Return random positions of pairs in [0, 1], whose second position depends on the first.

        Args:
            draw: Random numbers of the simulation.
            size: Number of records.

        Returns:
            Positions along the first and along the second axis, (size,) each.
        """
        first = draw.beta(1, 2, size)
        return first, lean * first + (1 - lean) * draw.random(size)

    return sample_pairs


def _sample_mostly_one_pair(draw: Generator, size: int) -> tuple[FloatArray, FloatArray]:
    """Draw two positions that are both 0 in nine of ten records.

    Args:
        draw: Random numbers of the simulation.
        size: Number of records.

    Returns:
        Positions in [0, 1] along the first and along the second axis, (size,) each.
    """
    first, second = _pair_sampler(0.3)(draw, size)
    rare = draw.random(size) < 0.1
    return np.where(rare, first, 0.0), np.where(rare, second, 0.0)


PAIR_SAMPLERS = MappingProxyType(
    {
        "independent columns": _pair_sampler(0.0), "columns that go together": _pair_sampler(0.7),
        "nine of ten in one pair": _sample_mostly_one_pair,
    }
)  # fmt: skip
"""Distributions for forecasts of two columns of categories, each a function that draws positions from 0 to 1 along both
lists of categories."""


def _class_sampler(positive: float, apart: float, steps: int = 0) -> ClassesAndScores:
    """Return a sampler of classes, and of scores that are the probabilities of being positive.

    Args:
        positive: Share of positive records.
        apart: Distance of the classes in standard deviations.
        steps: Number of steps to which scores are rounded; 0: no rounding.
    """

    def sample_classes(draw: Generator, size: int) -> tuple[Bits, FloatArray]:
        """Draw classes, and as scores their probabilities given a hidden normal variable.

        Args:
            draw: Random numbers of the simulation.
            size: Number of records.

        Returns:
            Classes 0 or 1, (size,), and scores between 0 and 1, (size,).
        """
        from scipy.special import expit, logit

        bits = (draw.random(size) < positive).astype(np.int64)
        hidden = draw.normal(size=size) + apart * bits
        score = np.asarray(expit(apart * hidden - apart**2 / 2 + logit(positive)))
        return bits, np.round(score * steps) / steps if steps else score

    return sample_classes


CLASS_SAMPLERS = MappingProxyType(
    {
        "as many of each class": _class_sampler(0.5, 1),
        "one positive in fifty": _class_sampler(0.02, 1.5),
        "classes far apart": _class_sampler(0.4, 3),
        "tied scores": _class_sampler(0.3, 1, 10),
    }
)
"""Distributions for forecasts of scores, each a function that draws classes and scores."""


def _sample_blobs(draw: Generator, size: int) -> tuple[FloatArray, FloatArray]:
    """Return random points of the unit square, from six normal distributions with random centres.

    Args:
        draw: Random numbers.
        size: Number of points.

    Returns:
        Coordinates x and y, (size,) each.
    """
    centres = draw.random((6, 2))
    widths = draw.uniform(0.02, 0.1, 6)
    blob = draw.integers(0, 6, size)
    across, upwards = (np.clip(draw.normal(axis[blob], widths[blob]), 0, 1) for axis in centres.T)
    return across, upwards


def _sample_along_line(draw: Generator, size: int) -> tuple[FloatArray, FloatArray]:
    """Draw points of the unit square near the diagonal, with a long tail along it.

    Args:
        draw: Random numbers of the simulation.
        size: Number of records.

    Returns:
        Positions in [0, 1] along the first and along the second axis, (size,) each.
    """
    across = _sample_long_tail(draw, size)
    return across, np.clip(across + draw.normal(0, 0.05, size), 0, 1)


POINT_SAMPLERS: Mapping[str, Points] = MappingProxyType(
    {
        "even": lambda draw, size: (draw.random(size), draw.random(size)),
        "six blobs": _sample_blobs,
        "along a line": _sample_along_line,
    }
)
"""Distributions for forecasts of planes of two columns, each a function that draws both coordinates."""


def _residual_sampler(spread: Callable[[Generator, FloatArray], FloatArray]) -> Points:
    """Return a sampler of normal predictions with standard deviation 3 and of residuals, which `spread` draws for given
    predictions, in the question's units."""

    def sample_residuals(draw: Generator, size: int) -> tuple[FloatArray, FloatArray]:
        """Draw normal predictions, and residuals around them.

        Args:
            draw: Random numbers of the simulation.
            size: Number of records.

        Returns:
            Predictions, and residuals in the same unit, (size,) each.
        """
        predicted = draw.normal(0, 3, size)
        return predicted, spread(draw, predicted)

    return sample_residuals


RESIDUAL_SAMPLERS = MappingProxyType(
    {
        "normal": _residual_sampler(lambda draw, values: draw.normal(0, 2, len(values))),
        "a fan": _residual_sampler(lambda draw, values: np.abs(values) * draw.normal(0, 0.7, len(values))),
        "heavy tails": _residual_sampler(lambda draw, values: draw.standard_t(3, len(values))),
    }
)
"""Distributions for forecasts of residual plots and private bounds, each a function that draws predictions and
residuals."""


Hidden = tuple[Generator, int, float]
"""Parameters of a simulated regression: random numbers, number of records, size of the effect."""


def _effect_sampler(strength: float) -> Callable[[Generator, int], Hidden]:
    """Return a sampler that returns its arguments and the strength of the effect, with which a question draws its
    columns.

    Args:
        strength: Dependence of the outcome on the claimed predictor.
    """
    return lambda draw, size: (draw, size, strength)


EFFECT_SAMPLERS = MappingProxyType(
    {
        "no effect": _effect_sampler(0.0),
        "a weak effect": _effect_sampler(0.2),
        "an effect that is plain to see": _effect_sampler(1.0),
    }
)
"""Made-up regressions for forecasts of a claim on an effect, each with an effect of another strength; the question
draws its columns itself."""


def interpolate_grid(grid: Grid, places: FloatArray) -> FloatArray:
    """Return values of a grid at positions from 0 (lower bound) to 1 (upper bound), interpolated by cell index.

    Args:
        grid: The grid.
        places: Positions, of any shape; those outside [0, 1] are clipped.

    Returns:
        Values in units of the column, of the same shape.
    """
    position = np.clip(places, 0, 1) * grid.cells
    cell = np.minimum(position.astype(np.int64), grid.cells - 1)
    left = grid.edge(cell)
    right = grid.edge(cell + 1)
    return np.asarray(left + (position - cell) * (right - left))


# Forecasts of question types of other packages, and of the module `more_questions`.


FORECASTS = "FORECASTS"
"""Name of the variable, in modules that forecast further questions, that maps a question type to its forecast."""
LIKE = "LIKE"
"""Name of the variable, in modules that forecast further questions, that maps a result type to a function which makes a
distribution of records from a result."""
PLAN_NOTES = "PLAN_NOTES"
"""Name of the variable, in modules that forecast further questions, that maps a question type to a function which adds
lines to its plan."""
MORE_QUESTIONS_MODULE = "more_questions"
"""Module of this package in which forecasts are looked up for question types of the package itself."""


def import_forecast_modules() -> Iterator[ModuleType]:
    """Import and yield the modules that forecast further questions: `more_questions`, and modules of installed
    packages.
    """
    yield import_module(f".{MORE_QUESTIONS_MODULE}", __package__)
    yield from (import_module(f"{package.__name__}.forecasts") for package in find_packages())


def find_entry(kind: type[Any], table: str) -> Any:
    """Return the entry for a type of question, or for its nearest base class, in a table of the forecast modules.

    Args:
        kind: Type of a question.
        table: Name of the table, as each forecast module defines it.

    Returns:
        The entry; None without one.
    """
    owners = {package.__name__: package for package in find_packages()}
    for base in kind.__mro__:
        package = base.__module__.partition(".")[0]
        module_name = f"{package}.forecasts" if package in owners else f"{__package__}.{MORE_QUESTIONS_MODULE}"
        entry = getattr(import_module(module_name), table, {}).get(base)
        if entry is not None:
            return entry
    return None


Table = dict[str, Any]
RecordDistribution = Callable[[Generator, int], Table]
SAMPLED_RESULTS = (
    curves.CDF,
    curves.Histogram,
    curves.Scores,
    curves.ROC,
    curves.Contingency,
    curves.Histogram2D,
    curves.BarChart,
)
"""Released results whose records a forecast can imitate; other types are refused unless a module has them in `LIKE`."""


def distribution_from_curve(question: Any, curve: object, needed: str) -> tuple[RecordDistribution, float]:
    """Return the distribution of the records of a released curve, in the columns of a question, and their number.

    Records are uniform within cells; with declared values they lie on these.

    Args:
        question: The question to forecast.
        curve: A released curve of the question's columns.
        needed: Description of the expected object, for the message about an object of another type.

    Returns:
        Function that samples records, and the (noisy) number of records.

    Raises:
        TypeError: the curve does not describe the distribution of records.
        ValueError: the curve describes other columns than the question.
    """
    make_distribution: Callable[[Any, Any], tuple[RecordDistribution, float] | None] | None = find_entry(
        type(curve), LIKE
    )
    if not isinstance(curve, SAMPLED_RESULTS) and make_distribution is None:
        raise WrongArgumentType("like", f"{needed} is needed, got {describe_value(curve)}")
    match curve:
        case curves.CDF() if hasattr(question, "column"):
            edges, shares = curve.line
            grid = curve.prefixes.grid if curve.prefixes.declared is None else Grid.from_edges(edges.tolist())
            return _column_distribution(question.column, np.diff(shares), grid), curve.count
        case curves.Histogram() if hasattr(question, "column"):
            return _column_distribution(question.column, curve.count, curve.grid), curve.total
        case curves.Scores() | curves.ROC() if hasattr(question, "score") and isinstance(question.score, str):
            return _class_distribution(question, curve.table.counts.likely_counts, curve.table.grid)
        case curves.Contingency() if isinstance(question, curves.ContingencyQuestion):
            return _pair_distribution(question, curve), float(np.maximum(curve.unbiased_counts, 0).sum())
        case curves.BarChart() if isinstance(question, curves.BarChartQuestion):
            make_distribution = _bar_distribution
        case curves.Histogram2D() if isinstance(question, curves.Histogram2DQuestion):
            return _point_distribution(question, curve), float(curve.count.sum())
    if make_distribution is not None and (distribution := make_distribution(question, curve)) is not None:
        return distribution
    rule = f"a {type(curve).__name__} does not tell the distribution of the records of a {type(question).__name__}"
    raise InvalidArgument("like", f"{rule}: give public records")


def normalise_weights(weights: FloatArray) -> FloatArray:
    """Return nonnegative weights scaled to sum 1; equal shares if all weights are 0.

    Args:
        weights: Weights of any shape; NaN and negative weights count as 0.

    Returns:
        Array with one axis; several axes are flattened row by row.
    """
    weights = np.maximum(np.nan_to_num(np.asarray(weights, dtype=np.float64).ravel()), 0.0)
    return weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1 / len(weights))


def sample_within_cells(edges: FloatArray, values: FloatArray | None, cell: Any, draw: Generator) -> FloatArray:
    """Sample one value in each of these cells, uniformly; the declared value, or the only double, if a cell has one.

    Args:
        edges: Edges of the cells, of shape ``(cells + 1,)``.
        values: Declared values of the cells; None for intervals.
        cell: Indices of cells, one per record.
        draw: Generator of public randomness.
    """
    if values is not None:
        return np.asarray(values[cell])
    low, high = edges[cell], edges[cell + 1]
    return np.asarray(low + np.where(high == np.nextafter(low, np.inf), 0.0, high - low) * draw.random(len(cell)))


def _column_distribution(column: str, weights: FloatArray, grid: Grid) -> RecordDistribution:
    """Return the distribution of one column: cells by these weights, and uniform values within them (or the declared
    values).

    Args:
        column: Name of the column.
        weights: Weight of each cell, with or without the two slots for values outside; negative weights count as 0.
        grid: The cells.
    """
    edges = grid.edges
    values = grid.values
    chances = normalise_weights(weights)
    cells = len(edges) - 1
    # those outside are left out
    chances = chances if len(chances) == cells else normalise_weights(chances[1 : 1 + cells])

    def sample_column(draw: Generator, size: int) -> Table:
        """Return `size` independent values of the distribution, under the column's name.

        Args:
            draw: Random numbers of the simulation.
            size: Number of records.

        Returns:
            A table of one column.
        """
        return {column: sample_within_cells(edges, values, draw.choice(cells, size, p=chances), draw)}

    return sample_column


def _class_distribution(question: Any, counts: FloatArray, grid: Grid) -> tuple[RecordDistribution, float]:
    """Return the distribution of classes and scores; scores outside the grid are placed at its ends.

    Args:
        question: Question with the columns of labels and scores.
        counts: Records by class (negative, positive) and cell, (2, cells).
        grid: Grid of the score.

    Returns:
        Function that samples records, and their number.
    """
    names = np.array(parse_class_labels(question.label, question.pos_label, question.neg_label).values)
    slots = counts.shape[1]
    chances = normalise_weights(counts)
    edges = grid.edges

    def sample_classes(draw: Generator, size: int) -> Table:
        """Return independent labels and scores of `size` records, under the names of the question's columns.

        Args:
            draw: Random numbers of the simulation.
            size: Number of records.

        Returns:
            A table of two columns.
        """
        bit, slot = np.divmod(draw.choice(2 * slots, size, p=chances), slots)
        inner = slot - int(grid.outside is Outside.APART)
        score = sample_within_cells(edges, grid.values, np.clip(inner, 0, grid.cells - 1), draw)
        score = np.where(inner < 0, edges[0], np.where(inner >= grid.cells, edges[-1], score))
        return {question.label: names[bit], question.score: score}

    return sample_classes, float(counts.sum())


def _pair_distribution(question: curves.ContingencyQuestion, curve: curves.Contingency) -> RecordDistribution:
    """Return the distribution of pairs of categories in a released table.

    Args:
        question: Question whose categories are sampled.
        curve: Released table, in the order of the question's categories.

    Raises:
        InvalidArgument: the table has another number of rows or columns than the question.
    """
    sides = (question.rows, question.columns)
    chances = normalise_weights(curve.unbiased_counts)
    shape = curve.unbiased_counts.shape
    if shape != (question.rows.slots, question.columns.slots):
        raise InvalidArgument(
            "like",
            f"a table of {question.rows.slots} by {question.columns.slots} pairs is needed: give the released "
            "table of the same question",
        )

    def sample_pairs(draw: Generator, size: int) -> Table:
        """Return `size` independent pairs of categories, under the names of the question's two columns.

        Args:
            draw: Random numbers of the simulation.
            size: Number of records.

        Returns:
            A table of two columns.
        """
        cells = np.divmod(draw.choice(len(chances), size, p=chances), shape[1])
        return {side.column: np.array(side.values)[index] for side, index in zip(sides, cells, strict=True)}

    return sample_pairs


def _bar_distribution(question: curves.BarChartQuestion, curve: curves.BarChart) -> tuple[RecordDistribution, float]:
    """Return the distribution of the listed categories by a released bar chart, and the number of its records.

    Args:
        question: Question whose categories are sampled.
        curve: Released bar chart, in any order.

    Returns:
        Function that samples records, and the noisy number of records.

    Raises:
        InvalidArgument: the chart lacks a category of the question.
    """
    counts = dict(zip(curve.category, curve.unbiased_counts.tolist(), strict=True))
    names = list(map(str, question.by.values))
    values = np.array(question.by.values)
    if not set(names) <= counts.keys():
        raise InvalidArgument("like", "a bar chart of the same categories is needed; ask both with the same categories")
    chances = normalise_weights(np.array([counts[name] for name in names]))

    def sample_bars(draw: Generator, size: int) -> Table:
        """Return `size` independent categories, with the bar chart's shares, under the name of the question's
        column.

        Args:
            draw: Random numbers of the simulation.
            size: Number of records.

        Returns:
            A table of one column.
        """
        return {question.by.column: values[draw.choice(len(values), size, p=chances)]}

    return sample_bars, curve.total


def _point_distribution(question: curves.Histogram2DQuestion, curve: curves.Histogram2D) -> RecordDistribution:
    """Return the distribution of points of a released plane, uniform within cells.

    Args:
        question: Names both columns.
        curve: Released counts of the plane.

    Returns:
        Function of random numbers and a size that returns both columns.
    """
    chances = normalise_weights(curve.count)
    across = curve.count.shape[1]

    def sample_points(draw: Generator, size: int) -> Table:
        """Return `size` independent points, under the names of the question's two columns.

        Args:
            draw: Random numbers of the simulation.
            size: Number of records.

        Returns:
            A table of two columns.
        """
        x, y = np.divmod(draw.choice(len(chances), size, p=chances), across)
        return {
            question.x: sample_within_cells(curve.x_edges, None, x, draw),
            question.y: sample_within_cells(curve.y_edges, None, y, draw),
        }

    return sample_points
