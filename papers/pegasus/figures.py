"""Figures 5.2 and 5.5 to 5.8 on public streams: windows, jumps, low signals and a hierarchy, with zeros beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from reproduction.measured import Findings, Measured
from scipy.stats import rankdata
from streams import LENGTH, MEDIAN, FloatArray, IntArray, laplace_of, released

from dpcurves.distributions.output_distribution import simulate_noise
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves_streams.distributions import HierarchyCounts, NodeEstimates
from dpcurves_streams.mechanisms import Hierarchy
from dpcurves_streams.queries import Forest, HierarchyQuery
from dpcurves_streams.readings import AdaptiveSmoother, AdaptiveWindowSmoother

EPSILONS = ("0.1", "0.01")
WINDOWS = tuple(2**power for power in range(2, 11))
FEW = WINDOWS[:7]
"""Those up to 256, where the chapter has groups before trees."""
LAG, WINDOW = 12, 64
RARE = 0.05
"""Which part of the time steps is a jump, and which a low signal: it says what the thresholds are."""
STATES = 128


def findings(counts: IntArray, runs: int, generator: np.random.Generator) -> Findings:
    """Figures 5.2 and 5.5 to 5.7 on one stream, at both losses; the worse number where one speaks for both."""
    large, small = (Shown(counts, epsilon, runs, generator) for epsilon in EPSILONS)
    return {
        "figure52-laplace": _worse(each.over_laplace() for each in (large, small)),
        "figure52-zeros": _worse(each.over_zeros() for each in (large, small)),
        "figure55-medians": _worse(each.over("medians", WINDOWS, ("sums",)) for each in (large, small)),
        "figure55-trees": _worse(each.over("trees", FEW, ("sums", "wide", "auto")) for each in (large, small)),
        "figure55-zeros": _worse(each.over("zeros", WINDOWS, ("sums", "wide", "auto")) for each in (large, small)),
        "figure56-jumps": small.jumps(),
        "figure56-large": large.jumps(),
        "figure57-low": Measured(*np.min([large.low_signals(), small.low_signals()], axis=0)),
    }


def _worse(numbers: Iterable[Sequence[float]]) -> Measured:
    return Measured(*np.max(list(numbers), axis=0))


class Shown:
    """What is shown of a stream by PeGaSus with thresholds of 5 and 50, by dpcurves, and by noise alone."""

    def __init__(self, counts: IntArray, epsilon: str, runs: int, generator: np.random.Generator) -> None:
        self.exact, self._runs = counts.astype(np.float64)[:, None], runs
        self.printed, self.wide = (released(counts, epsilon, deviation, runs, generator) for deviation in (5, 50))
        noise = laplace_of(epsilon)
        self.noisy = self.exact + simulate_noise(noise, (len(counts), runs), generator)
        self.auto = AdaptiveSmoother(noise.variance, runs).estimate_all(self.noisy)
        self._noise, self._epsilon, self._generator = noise, float(epsilon), generator

    @property
    def ways(self) -> tuple[FloatArray, ...]:
        """Counts by medians of groups, with the printed threshold and a wider one, and those of dpcurves."""
        return (*(np.maximum(each[..., MEDIAN], 0) for each in (self.printed, self.wide)), self.auto)

    def over_laplace(self) -> list[float]:
        """Errors of counts, over that of clipped noise."""
        return [_error(shown, self.exact) / _error(np.maximum(self.noisy, 0), self.exact) for shown in self.ways]

    def over_zeros(self) -> list[float]:
        """Errors of counts, over that of zero at every time step."""
        return [_error(shown, self.exact) / _error(0 * self.exact, self.exact) for shown in self.ways]

    def over(self, other: str, windows: Sequence[int], ways: Sequence[str]) -> list[float]:
        """Errors of sums over that of another way, the largest ratio over windows."""
        found = []
        for window in windows:
            exact = sums(self.exact, window)
            errors = {way: _error(self.window(way, window), exact) for way in (*ways, other)}
            found.append([errors[way] / errors[other] for way in ways])
        return list(np.max(found, axis=0))

    def window(self, way: str, window: int) -> FloatArray:
        """Sums over the last time steps, (time_steps, runs), not below 0."""
        if way == "medians":
            return sums(self.ways[0], window)
        if way == "zeros":
            return 0 * self.exact
        if way == "auto":
            return AdaptiveWindowSmoother(self._noise.variance, window, self._runs).estimate_all(self.noisy)
        if way == "trees":
            return np.maximum(sums(self.exact, window) + self._tree_noise(window), 0)
        return np.maximum(window_sums(self.printed if way == "sums" else self.wide, window), 0)

    def jumps(self) -> Measured:
        """The area under the curve of jumps, less that of noisy counts; of nothing it is a half."""
        off = np.abs(self.exact[LAG:] - self.exact[:-LAG])
        happened = (off >= np.quantile(off, 1 - RARE))[:, 0]
        alone, *areas = (
            _area(np.abs(shown[LAG:] - shown[:-LAG]), happened) for shown in (np.maximum(self.noisy, 0), *self.ways)
        )
        return Measured(*(area - alone for area in areas))

    def low_signals(self) -> list[float]:
        """The area under the curve of low signals, less that of trees over windows."""
        exact = sums(self.exact, WINDOW)[WINDOW:]
        happened = (exact <= np.quantile(exact, RARE))[:, 0]
        ways = ("trees", "sums", "wide", "auto")
        alone, *areas = (_area(-self.window(way, WINDOW)[WINDOW:], happened) for way in ways)
        return [area - alone for area in areas]

    def _tree_noise(self, window: int) -> FloatArray:
        """SW_w: a prefix of one binary tree and a suffix of the one before, of nodes with all levels' noise each."""
        time_steps = np.arange(1, len(self.exact) + 1)
        inside = (time_steps - 1) % window + 1
        nodes = np.array([bin(int(each)).count("1") + bin(window - int(each)).count("1") for each in inside])
        scale = (np.log2(window) + 1) / self._epsilon
        gammas = self._generator.standard_gamma(nodes[:, None], (2, len(time_steps), self._runs))
        noise: FloatArray = scale * (gammas[0] - gammas[1])
        return noise


def sums(values: FloatArray, window: int) -> FloatArray:
    """Sums over the last time steps, those that there are."""
    totals = np.concatenate((np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)))
    time_steps = np.arange(1, len(values) + 1)
    found: FloatArray = totals[time_steps] - totals[np.maximum(time_steps - window, 0)]
    return found


def window_sums(found: FloatArray, window: int) -> FloatArray:
    """Algorithm 17: each time step of the window by the median of its group, as far as the group is known."""
    shown = np.empty(found.shape[:2])
    time_steps = np.arange(1, len(found) + 1)
    for run in range(shown.shape[1]):
        lengths, medians = found[:, run, LENGTH].astype(np.int64), found[:, run, MEDIAN]
        ends = np.append(lengths[1:] == 1, True)  # the last time step of each group
        totals = np.concatenate(([0.0], np.cumsum(np.repeat(medians[ends], lengths[ends]))))
        begins, start = time_steps - lengths, np.maximum(time_steps - window, 0)
        before = totals[begins] - totals[np.minimum(start, begins)]
        shown[:, run] = before + np.minimum(lengths, window) * medians
    return shown


def _error(shown: FloatArray, exact: FloatArray) -> float:
    return float(np.abs(shown - exact).mean())


def _area(scores: FloatArray, happened: NDArray[np.bool_]) -> float:
    """The mean area under the ROC curve, over runs."""
    ranks, many = rankdata(scores, axis=0), int(happened.sum())
    areas = (ranks[happened].sum(axis=0) - many * (many + 1) / 2) / (many * (len(scores) - many))
    return float(areas.mean())


def of_hierarchy(leaves: IntArray, runs: int, generator: np.random.Generator) -> Findings:
    """Figure 5.8: 128 states below a binary tree of 8 levels in all."""
    forest = Forest.from_sets(
        {f"{start} of {size}": [f"s{start + each}" for each in range(size)]
         for size in (128, 64, 32, 16, 8, 4, 2) for start in range(0, STATES, size)}
    )  # fmt: skip
    order = [int(state[1:]) for state in forest.states]
    states = leaves[:, order]
    above = np.stack([states[:, list(each)].sum(axis=1) for each in forest.members], axis=1)
    exact = np.concatenate([above, states], axis=1)
    found = {}
    for name, epsilon in zip(("01", "001"), EPSILONS, strict=True):
        level = str(float(epsilon) / forest.levels)
        errors = np.zeros(4)
        for _ in range(runs):
            laplace = exact + simulate_noise(laplace_of(level), exact.shape, generator)
            groups = (_groups(exact, level, deviation, generator) for deviation in (5, 50))
            shown = (laplace, *groups, _ours(forest, exact, epsilon, generator))
            errors += [_error(each, exact) / runs for each in shown]
        found[f"figure58-laplace-{name}"] = Measured(*(errors[0] / errors[1:]))
        found[f"figure58-zeros-{name}"] = Measured(*(errors[1:] / _error(0 * exact, exact)))
    return found


def _groups(exact: IntArray, level: str, deviation: int, generator: np.random.Generator) -> FloatArray:
    """HS-PGS: every node by medians of its groups, with a level's part of the loss."""
    found = [released(counts, level, deviation, 1, generator)[:, 0, MEDIAN] for counts in exact.T]
    return np.maximum(np.stack(found, axis=1), 0)


def _ours(forest: Forest, exact: IntArray, epsilon: str, generator: np.random.Generator) -> FloatArray:
    """What dpcurves shows of all nodes."""
    plan = Hierarchy().plan(HierarchyQuery.from_forest("ap", forest), PrivacyLoss.pure(epsilon), AddRemove(EACH_RECORD))
    distribution = plan.distribution.require_type(HierarchyCounts)
    kept = [node for node, noise in enumerate(distribution.noises) if noise is not None]
    noises = [noise for noise in distribution.noises if noise is not None]
    noisy = exact[:, kept] + np.stack([simulate_noise(noise, (len(exact),), generator) for noise in noises], axis=1)
    estimates = NodeEstimates(
        distribution.parents, np.array([np.inf if each is None else each.variance for each in distribution.noises])
    )
    read: Any = AdaptiveSmoother(estimates.variances, len(distribution.noises)).estimate_all(
        np.stack([estimates.estimate_nodes(row) for row in noisy])
    )
    shown: FloatArray = read
    return shown
