"""Mean absolute error of counts of real streams, beside the targets: `python benchmarks/streams_counts.py`.

Baselines stand beside: clipped noise, means over the last k + 1 noisy counts with the best k in hindsight (BS_k),
PeGaSus with medians and two thresholds, and zero at every time step. Streams: numbers of tweets in 5 minutes (NAB).
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))

from reproduction.command import data_folder

from dpcurves.data import Categories
from dpcurves.distributions.output_distribution import simulate_noise
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves_streams.distributions import GroupedCounts
from dpcurves_streams.mechanisms import Pegasus, Perturber
from dpcurves_streams.mechanisms.pegasus import STATE_COLUMNS, build_fenwick_trees, decide_groups
from dpcurves_streams.queries import GroupedTimeStepQuery, TimeStepQuery
from dpcurves_streams.readings import AdaptiveSmoother
from dpcurves_streams.readings.groups import OpenGroups

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
ONE = AddRemove(EACH_RECORD)
STATE = (Categories("state", ("a",)),)
RUNS = 20
BACK = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256)
TARGETS = {
    "0.1": {"CVS": 0.48, "PFE": 1.05, "CRM": 2.5, "IBM": 2.95, "UPS": 5.05, "GOOG": 7.2, "AAPL": 9.75},
    "0.01": {"CVS": 0.65, "PFE": 1.2, "CRM": 4.0, "IBM": 4.9, "UPS": 7.9, "GOOG": 12.4, "AAPL": 55.0},
}
OTHERS = ("KO", "FB", "AMZN")
MOST_OF_CLIPPED = 1.02


def stream(table: pd.DataFrame, name: str) -> IntArray:
    column = next(each for each in table.columns if each.rpartition("_")[2] == name)
    counts: IntArray = table[column].dropna().to_numpy(np.int64)
    return counts


def pegasus(counts: IntArray, epsilon: str, deviation: int, generator: np.random.Generator) -> float:
    """The error of the medians, over all runs."""
    query = GroupedTimeStepQuery(STATE, deviation=Fraction(deviation))
    distribution = Pegasus().plan(query, PrivacyLoss.pure(epsilon), ONE).distribution.require_type(GroupedCounts)
    shape = (len(counts), RUNS)
    values = np.repeat(counts[:, None], RUNS, axis=1)
    common, own = (
        simulate_noise(noise, shape, generator).astype(np.int64)
        for noise in (distribution.threshold_noise, distribution.test_noise)
    )
    size = 1 << int(counts.max()).bit_length()
    trees = build_fenwick_trees(np.zeros((RUNS, 1), np.int64), size)
    joined = decide_groups(
        values, distribution.threshold + common, own, np.zeros((RUNS, STATE_COLUMNS), np.int64), trees
    )
    noisy = values + simulate_noise(distribution.noise, shape, generator)
    found = OpenGroups(RUNS).add_values(noisy, joined)
    return error(np.maximum(found[..., 3], 0), counts)


def backwards(noisy: FloatArray, counts: IntArray) -> float:
    """The least error of means over the last k + 1 noisy counts."""
    sums = np.concatenate((np.zeros((1, noisy.shape[1])), np.cumsum(noisy, axis=0)))
    time_steps = np.arange(1, len(noisy) + 1)
    errors = []
    for back in BACK:
        first = np.maximum(time_steps - back - 1, 0)
        errors.append(error(np.maximum((sums[time_steps] - sums[first]) / (time_steps - first)[:, None], 0), counts))
    return min(errors)


def error(shown: FloatArray, counts: IntArray) -> float:
    return float(np.abs(shown - counts[:, None]).mean())


def line(name: str, counts: IntArray, epsilon: str, generator: np.random.Generator) -> None:
    (level,) = Perturber().plan(TimeStepQuery(STATE), PrivacyLoss.pure(epsilon), ONE).distribution.levels  # type: ignore[attr-defined]
    noisy = counts[:, None] + simulate_noise(level.noise, (len(counts), RUNS), generator)
    ours = error(AdaptiveSmoother(level.noise.variance, RUNS).estimate_all(noisy), counts)
    clipped, back = error(np.maximum(noisy, 0), counts), backwards(noisy, counts)
    groups = [pegasus(counts, epsilon, deviation, generator) for deviation in (5, 50)]
    target = TARGETS[epsilon].get(name, MOST_OF_CLIPPED * clipped)
    said = "met" if ours <= min(target, MOST_OF_CLIPPED * clipped) else "MISSED"
    others = " ".join(f"{each:>9.3f}" for each in (counts.mean(), clipped, back, *groups))
    print(f"{name:>6} {others} {ours:>9.3f} {target:>8.2f} {said}", flush=True)


def main() -> None:
    place = data_folder() / "streams" / "nab_twitter_volume_5min.csv"
    if not place.exists():
        print(f"Skipped: there is no {place.name}")
        return
    table, generator = pd.read_csv(place), np.random.default_rng(20)
    for epsilon, targets in TARGETS.items():
        print(f"Mean absolute error, epsilon {epsilon}, {RUNS} runs:")
        print(f"{'':>6} {'zeros':>9} {'clipped':>9} {'BS_k':>9} {'PGS 5':>9} {'PGS 50':>9} {'auto':>9} {'target':>8}")
        for name in (*targets, *OTHERS):
            line(name, stream(table, name), epsilon, generator)


if __name__ == "__main__":
    main()
