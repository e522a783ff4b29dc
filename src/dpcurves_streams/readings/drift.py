"""Drift of a column between a reference and windows of a stream, with few false alarms in a year of windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, exp, floor, log, log1p, sqrt
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from dpcurves.arguments import InvalidArgument, describe_value, require_integer, require_probability, require_type
from dpcurves.arrays import FloatArray
from dpcurves.curves.column_drift import READ, SAFE, DriftCells, Shift
from dpcurves.data import Grid
from dpcurves.data.grid import middles_of, require_clamped
from dpcurves.inference.bands import safe_rank, upper_quantile
from dpcurves.inference.simulation import monte_carlo_p_value, numbered_generator
from dpcurves.inference.two_samples import ReleasedSample
from dpcurves.laws import Family
from dpcurves.summaries.two_classes import project_to_simplex

from .counts import TickReading
from .question import NoisyValues

EXPECTED, LEAST_DRAWS, MOST_DRAWS, MOST_VALUES = 60, 2000, 2**16, 2**22
"""Draws beyond a threshold; and how many draws, and counts of them, are simulated."""
STEP = log1p(0.1)
"""Windows whose numbers of tuples differ by less than a tenth have one threshold: that of the smallest of them."""
PLACE = 70
Thresholds: TypeAlias = Mapping[str, tuple[float, FloatArray]]


@dataclass(frozen=True, slots=True)
class WindowDrift:
    """Distances of a window from the reference.

    Attributes:
        tick: The tick that closes the window.
        shifts: By statistic (psi, ks, wasserstein, auc): the value, its threshold, and the chance of as much in a
            window that has not moved.
    """

    tick: int
    shifts: Mapping[str, Shift]

    @property
    def alarms(self) -> tuple[str, ...]:
        """The statistics above their thresholds."""
        return tuple(word for word, each in self.shifts.items() if each.alarm)

    def to_dicts(self) -> tuple[dict[str, Any], ...]:
        """A plain object for each statistic."""
        return tuple(
            {
                "drift": word,
                "value": each.value,
                "threshold": each.threshold,
                "pvalue": each.p_value,
                "alarm": each.alarm,
            }
            for word, each in self.shifts.items()
        )


class DriftWatch:
    """Compares each window of a stream with a reference: the statistics of `dpcurves.drift`, with rare false alarms.

    If nothing moves, a statistic raises an alarm in at least one of a year's windows with at most about the chance
    `alarms`: each window is given the part ``1 - (1 - alarms) ** (1 / windows_per_year)``, and three quarters of that, for the
    law is read from noisy counts. Thresholds are simulated: the reference and a window of as many tuples, drawn from
    what the reference seems to be, with the noise of both. Tuples are taken as independent of each other.

    Formal guarantees: all is read from released numbers; the stream has paid for them.

    Args:
        grid: The cells that the stream counts, of one column.
        reference: The reading at the end of the reference.
        windows_per_year: How many windows a year has.
        alarms: The chance of a false alarm in a year, for each statistic.
        width: How many ticks a window has: 1, or a width that the stream was asked for.
        reference_width: How many the reference has.

    Raises:
        ValueError: values outside of the grid are counted apart; the reading has no such window, or other cells; or
            `alarms` is not between 0 and 1, or too small to be simulated.

    >>> from dpcurves.laws import Family
    >>> def counted(tick, counts):
    ...     noisy = NoisyValues(Family.LAPLACE, np.array(counts), 2.0)
    ...     return TickReading(tick, noisy.values, {}, {}, noisy=noisy, noisy_windows={})
    >>> watch = DriftWatch(Grid(0, 4, cells=4), counted(1, [500.0, 400, 300, 200]), windows_per_year=52)
    >>> watch.compare_window(counted(2, [255.0, 198, 148, 101])).alarms
    ()
    >>> watch.compare_window(counted(3, [100.0, 200, 150, 250])).alarms
    ('psi', 'ks', 'wasserstein', 'auc')
    """

    def __init__(
        self,
        grid: Grid,
        reference: TickReading,
        *,
        windows_per_year: int,
        alarms: float = 0.05,
        width: int = 1,
        reference_width: int = 1,
    ) -> None:
        self._places, self._width = middles_of(require_clamped("grid", grid)), require_integer("width", width)
        self._level, self._draws = alarm_level_and_draws(grid, windows_per_year, alarms)
        noisy, total = self._noisy_window(reference, require_integer("reference_width", reference_width))
        noise = _sample_noise(noisy, reference_width, self._draws, numbered_generator(PLACE))
        self._before = ReleasedSample(noisy.values, project_to_simplex(noisy.values, total), noise)
        self._thresholds: dict[int, Thresholds] = {}

    def compare_window(self, reading: TickReading) -> WindowDrift:
        """The drift of the window that ends with this reading.

        Raises:
            ValueError: the reading has no such window, or other cells.
        """
        noisy, size = self._noisy_window(reading, self._width)
        cells = DriftCells.from_places(self._places, self._before, self._before)
        group = floor(log(size) / STEP)
        if group not in self._thresholds:
            self._thresholds[group] = self._simulate_thresholds(cells, noisy, exp(group * STEP))
        found = {}
        for word, (threshold, drawn) in self._thresholds[group].items():
            value = float(READ[word](self._before.cells, noisy.values, cells))
            found[word] = Shift(value, threshold, monte_carlo_p_value(value, drawn))
        return WindowDrift(reading.tick, MappingProxyType(found))

    def _simulate_thresholds(self, cells: DriftCells, noisy: NoisyValues, size: float) -> Thresholds:
        """The threshold of each statistic, and the draws that it is read from, for windows of so many tuples."""
        like = self._before.likely / self._before.likely.sum() * size
        noise = _sample_noise(noisy, self._width, self._draws, numbered_generator(PLACE + 1))
        null = cells._replace(second=ReleasedSample(like, like, noise)).simulate_null(numbered_generator(PLACE + 2))
        drawn = {word: read(*null, cells) for word, read in READ.items()}
        return {word: (upper_quantile(each, self._level), each) for word, each in drawn.items()}

    def _noisy_window(self, reading: TickReading, width: int) -> tuple[NoisyValues, float]:
        """The noisy counts of a window, and how many tuples they seem to be."""
        require_type("reading", reading, TickReading, "a reading of counts")
        noisy = reading.noisy if width == 1 else reading.noisy_windows.get(width)
        if noisy is None:
            known = sorted(reading.noisy_windows)
            raise InvalidArgument("width", f"noisy counts of 1 or {describe_value(known)} ticks are known, got {width}")
        if noisy.values.shape != self._places.shape:
            raise InvalidArgument(
                "grid", f"the stream has {len(noisy.values)} counts, the grid {len(self._places)} cells"
            )
        return noisy, max(float(noisy.values.sum()), 1.0)


def alarm_level_and_draws(grid: Grid, windows_per_year: int, alarms: float) -> tuple[float, int]:
    """The level of a threshold of one window of so many in a year, and how many draws it is read from.

    Raises:
        ValueError: there is no window, or `alarms` is not between 0 and 1, or too small to be simulated.
    """
    if require_integer("windows_per_year", windows_per_year) < 1:
        raise InvalidArgument("windows_per_year", "at least one window is needed")
    each = SAFE * float(-np.expm1(log1p(-require_probability("alarms", alarms)) / windows_per_year))
    draws = min(max(LEAST_DRAWS, ceil(EXPECTED / each)), MOST_DRAWS, MOST_VALUES // grid.cells)
    safe_rank(draws, 1 - each)
    return 1 - each, draws


def _sample_noise(noisy: NoisyValues, width: int, draws: int, generator: np.random.Generator) -> FloatArray:
    """The noise of each count, simulated, (draws, keys): of a window it is a sum of as many draws as it has ticks."""
    shape = draws, len(noisy.values)
    if noisy.family is not Family.LAPLACE:
        return np.asarray(generator.standard_normal(shape) * noisy.deviations)
    up, down = (generator.standard_gamma(width, shape) for _ in range(2))
    return np.asarray((up - down) / sqrt(2 * width) * noisy.deviations)
