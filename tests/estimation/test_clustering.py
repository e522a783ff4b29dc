"""Greedy clusters of sorted numbers."""

from __future__ import annotations

import numpy as np

from dpcurves.histograms.partition_estimators import cluster_counts


def by_the_rule(rising: list[float], variance: float) -> list[int]:
    """Cluster with plain sums."""

    def cost(members: list[float]) -> float:
        mean = sum(members) / len(members)
        return sum((member - mean) ** 2 for member in members) + variance / len(members)

    labels, start = [0], 0
    for new in range(1, len(rising)):
        apart = min(
            (rising[new] - sum(rising[new:last]) / (last - new)) ** 2 + variance / (last - new) ** 2
            for last in range(new + 1, len(rising) + 1)
        )
        if cost(rising[start : new + 1]) >= cost(rising[start:new]) + apart:
            start = new
            labels.append(labels[-1] + 1)
        else:
            labels.append(labels[-1])
    return labels


def test_numbers_join_as_the_rule_says() -> None:
    generator = np.random.default_rng(1)
    for _ in range(60):
        rising = np.sort(generator.integers(0, 30, generator.integers(1, 15)).astype(np.float64))
        variance = float(generator.choice([0.1, 2.0, 50.0]))
        assert cluster_counts(rising, variance).tolist() == by_the_rule(rising.tolist(), variance)


def test_equal_numbers_are_one_cluster() -> None:
    assert cluster_counts(np.full(5, 3.0), 1.0).tolist() == [0] * 5
