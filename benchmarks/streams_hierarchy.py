"""Error of all nodes of a hierarchy of states, beside the targets: `python benchmarks/streams_hierarchy.py`.

128 states in a binary tree of 8 levels, over 20,000 hours: counts of pedestrians in Melbourne, thinned to about 646,254
by factors that differ between states by up to 100. Zero at every node and time step stands beside.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))

from reproduction.command import data_folder

from dpcurves.distributions.output_distribution import simulate_noise
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves_streams.distributions import HierarchyCounts, NodeEstimates
from dpcurves_streams.mechanisms import Hierarchy
from dpcurves_streams.queries import Forest, HierarchyQuery
from dpcurves_streams.readings import AdaptiveSmoother

ONE = AddRemove(EACH_RECORD)
STATES, TIME_STEPS, TUPLES, SENSORS = 128, 20_000, 646_254, 32
TARGETS = {"0.1": 0.92, "0.01": 1.15}
RUNS = 20


def halves(low: int, high: int) -> dict[str, Any]:
    """A binary tree as nested objects."""
    middle = (low + high) // 2
    if high - low == 2:
        return {f"{low} to {high}": [f"s{low}", f"s{middle}"]}
    return {f"{low} to {high}": {**halves(low, middle), **halves(middle, high)}}


def thinned(place: Path, generator: np.random.Generator) -> NDArray[np.int64]:
    """Counts of all states, (time_steps, states)."""
    sensors = pd.read_parquet(place).select_dtypes("number").fillna(0).to_numpy()[:TIME_STEPS]
    walkers = np.tile(sensors[:, np.argsort(-sensors.sum(axis=0))[:SENSORS]], STATES // SENSORS)
    factors = np.exp(generator.uniform(np.log(0.1), np.log(10), STATES))
    factors *= TUPLES / float((walkers * factors).sum())
    counts: NDArray[np.int64] = generator.binomial(walkers.astype(np.int64), np.minimum(factors, 1))
    return counts


def main() -> None:
    place = data_folder() / "streams" / "melbourne_pedestrians_hourly.parquet"
    if not place.exists():
        print(f"Skipped: there is no {place.name}")
        return
    generator, forest = np.random.default_rng(0), Forest.from_json(halves(0, STATES))
    order = [int(state[1:]) for state in forest.states]
    leaves = thinned(place, generator)[:, order]
    exact = np.concatenate([np.stack([leaves[:, list(m)].sum(axis=1) for m in forest.members], axis=1), leaves], axis=1)
    print(f"{leaves.sum()} tuples; zeros {exact.mean():.3f}; level-wise noise 8 / epsilon: 80 and 800")
    for epsilon, target in TARGETS.items():
        plan = Hierarchy().plan(HierarchyQuery.from_forest("ap", forest), PrivacyLoss.pure(epsilon), ONE)
        distribution = plan.distribution.require_type(HierarchyCounts)
        estimates = NodeEstimates(
            distribution.parents, np.array([np.inf if n is None else n.variance for n in distribution.noises])
        )
        errors = []
        for _ in range(RUNS):
            kept = [node for node, noise in enumerate(distribution.noises) if noise is not None]
            noisy = exact[:, kept].astype(float)
            for column, node in enumerate(kept):
                noise = distribution.noises[node]
                assert noise is not None
                noisy[:, column] += simulate_noise(noise, (TIME_STEPS,), generator)
            shown = AdaptiveSmoother(estimates.variances, len(distribution.noises)).estimate_all(
                np.stack([estimates.estimate_nodes(row) for row in noisy])
            )
            errors.append(float(np.abs(shown - exact).mean()))
        said = "met" if np.mean(errors) <= target else "MISSED"
        print(
            f"epsilon {epsilon}: {np.mean(errors):.3f} (zeros {exact.mean():.3f}), target {target} {said}", flush=True
        )


if __name__ == "__main__":
    main()
