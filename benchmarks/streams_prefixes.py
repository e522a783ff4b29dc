"""Errors of totals and of sliding sums of a stream, beside the targets: `python benchmarks/streams_prefixes.py`."""

from __future__ import annotations

import sys
from math import log2, sqrt
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))

from baselines import binary, mean_variance, subtracting, theorem_3
from optimum import BEST_PURE, GAUSSIAN_BOUNDS, least_gaussian_error

from dpcurves.data import Categories
from dpcurves.distributions.toeplitz_sums import root_weights
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves.queries import CountUse
from dpcurves_streams.distributions import BufferedPrefixes, TreeCounts
from dpcurves_streams.mechanisms import STREAMS, BufferedCounter, TreeCounter
from dpcurves_streams.queries import TimeStepQuery

ONE = AddRemove(EACH_RECORD)
PURE, CONCENTRATED = PrivacyLoss.pure(1), PrivacyLoss.zcdp("0.5")  # mu 1 is rho 1/2
PURE_TARGETS = {64: 28.5, 256: 54.5, 2**10: 93, 2**12: 160, 2**16: 445}
CONCENTRATED_TARGETS = {64: 1.03 * 4.41, 256: 1.03 * 6.37, 2**10: 1.03 * 8.74, 2**12: 12.0, 2**16: 19.0}
WINDOWS, WINDOW_TARGETS = (256, 1024), (13, 19)
STATE = (Categories("state", ("a",)),)


def totals(time_steps: int | None) -> TimeStepQuery:
    return TimeStepQuery(STATE, time_steps, read=CountUse.PREFIXES)


def pure() -> None:
    print("Mean squared error of a total, epsilon 1, one tuple comes or goes:")
    print(f"{'time_steps':>8} {'Theorem 3':>10} {'binary':>8} {'radix 19':>9} {'tree':>8} {'here':>8}", end=" ")
    print(f"{'best known':>11} {'target':>7}")
    endless = TreeCounter().plan(totals(None), PURE, ONE).distribution.require_type(TreeCounts)
    for time_steps, target in PURE_TARGETS.items():
        others = [float(mean_variance(each, time_steps)) for each in (theorem_3(time_steps), binary(time_steps))]
        subtracted = min(float(mean_variance(subtracting(time_steps, radix), time_steps)) for radix in (13, 19, 21))
        tree, ours = (
            mechanism.plan(totals(time_steps), PURE, ONE).error ** 2 for mechanism in (TreeCounter(), STREAMS)
        )
        said = "met" if ours <= target else "MISSED"
        best = BEST_PURE.get(time_steps, np.nan)
        shown = f"{others[0]:>10.0f} {others[1]:>8.0f} {subtracted:>9.1f} {tree:>8.1f} {ours:>8.1f} {best:>11.1f}"
        print(f"2^{log2(time_steps):<6g} {shown} {target:>7} {said}")
        print(f"{'':>8} without a horizon {endless.mean_variance(time_steps):.1f}")


def concentrated() -> None:
    print("\nThe same in 1 / mu**2, zero-concentrated (the square root remembers all counts):")
    print(f"{'time_steps':>8} {'square root':>12} {'buffers':>8} {'here':>8} {'least':>7} {'ratio':>7} {'target':>7}")
    endless = BufferedCounter().plan(totals(None), CONCENTRATED, ONE).distribution.require_type(BufferedPrefixes)
    for time_steps, target in CONCENTRATED_TARGETS.items():
        weights = root_weights(time_steps, 30) / 2.0**30
        root = float(np.cumsum(weights**2).mean() * np.sum(weights**2))
        plan = BufferedCounter().plan(totals(time_steps), CONCENTRATED, ONE)
        ours, buffers = plan.error**2, len(plan.distribution.require_type(BufferedPrefixes).decays)
        least = least_gaussian_error(time_steps) if time_steps <= 2**10 else GAUSSIAN_BOUNDS.get(time_steps, np.nan)
        said = "met" if ours <= target else "MISSED"
        shown = f"{root:>12.2f} {buffers:>8} {ours:>8.2f} {least:>7.2f} {ours / least:>7.3f} {target:>7.2f} {said}"
        print(f"2^{log2(time_steps):<6g} {shown}")
    print(f"Without a horizon, by {len(endless.decays)} buffers, and times the error of a known horizon (target 1.5):")
    for power in range(0, 25, 4):
        known = BufferedCounter().plan(totals(2**power), CONCENTRATED, ONE).error ** 2
        ours = endless.mean_variance(2**power)
        last = endless.variance(2**power)
        print(f"2^{power:<6} {ours:>8.2f} {ours / known:>7.3f}; the last total alone {last:.2f}")


def windows() -> None:
    print("\nStandard deviation of a sliding sum, epsilon 1, one plan for both windows:")
    query = TimeStepQuery(STATE, None, WINDOWS, CountUse.PREFIXES)
    distribution = TreeCounter().plan(query, PURE, ONE).distribution.require_type(TreeCounts)
    for window, target in zip(WINDOWS, WINDOW_TARGETS, strict=True):
        ends = range(4 * window, 4 * window + distribution.epochs[0].tree.widths[0])
        ours = sqrt(float(np.mean([distribution.variance(end, window) for end in ends])))
        said = "met" if ours <= target else "MISSED"
        print(f"{window:>8} plain noise {sqrt(2 * window):.1f}, here {ours:.1f}, target {target} {said}")


if __name__ == "__main__":
    pure()
    concentrated()
    windows()
