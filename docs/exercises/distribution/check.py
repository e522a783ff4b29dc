"""Release a histogram rounded to tens, read it back, and compare its distribution and intervals with the truth."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from math import exp

import numpy as np
from dpcurves.distributions.rounded_sums import RoundedNoise
from dpcurves.mechanisms.rounded import RoundedHistogram
from scipy.stats import chisquare

import dpcurves as dp
from dpcurves.distributions import Family
from dpcurves.distributions.output_distribution import json_schemas
from dpcurves.trust import Central

TRUE = np.array([1000, 43, 0])
VALUES = np.repeat([0.5, 1.5, 2.5], TRUE)
QUESTION = dp.HistogramQuestion("x", dp.Grid(0, 3, cells=3))


def ask(epsilon: Fraction, seed: int) -> dp.Histogram:
    """Return a released histogram. The repeated question costs nothing and has the same answer."""
    loss, trust = dp.PrivacyLoss.pure(epsilon), Central(RoundedHistogram())
    randomness = dp.Randomness.from_seed(seed)
    with dp.Session({"x": VALUES}, budget=loss, adjacency=dp.ADD_REMOVE, trust=trust, randomness=randomness) as session:
        histogram: dp.Histogram = session.ask(QUESTION, loss, request="r")
        assert session.ask(QUESTION, loss, request="r").to_json() == histogram.to_json()
    return histogram


# The loss of neighbouring counts, for all remainders, and all values whose probability a double can hold.
for scale in (Fraction(1, 2), Fraction(1), Fraction(7, 2)):
    noise, largest = RoundedNoise(Family.LAPLACE, scale, step=10), exp(1 / float(scale)) * (1 + 1e-12)
    for count, neighbour in pairwise(range(-1, 12)):
        values = range(-300, 300, 10)
        pairs = [(noise.probability(count, value), noise.probability(neighbour, value)) for value in values]
        assert all(p <= largest * q and q <= largest * p for p, q in pairs)
        assert abs(sum(p for p, _ in pairs) - 1) < 1e-12

# Chi-squared test of 150 releases of the count 43: fails by chance once in 1,000 runs; the seeds are fixed.
frequencies = Counter(ask(Fraction(1, 2), seed).evidence.values[1] for seed in range(150))
noise = RoundedNoise(Family.LAPLACE, Fraction(2), step=10)
assert all(value % 10 == 0 for value in frequencies)
tested = [value for value in range(0, 100, 10) if noise.probability(43, value) * 150 >= 5]
observed = [frequencies[value] for value in tested]
expected = [noise.probability(43, value) * 150 for value in tested]
assert chisquare([*observed, 150 - sum(observed)], [*expected, 150 - sum(expected)]).pvalue > 1e-3

# Fewer than 20 of 30 simultaneous intervals at 0.9 cover by chance less than once in 1,000 runs; the seeds are fixed.
histograms = [ask(Fraction(1), seed) for seed in range(30)]
intervals = [histogram.intervals(0.9) for histogram in histograms]
assert sum(bool(((ends[:, 0] <= TRUE) & (ends[:, 1] >= TRUE)).all()) for ends in intervals) >= 20
assert np.median([np.diff(ends, axis=1).max() for ends in intervals]) < 60

histogram = histograms[0]
assert "rounded to 10" in histogram.privacy.mechanism
assert '"step":10' in histogram.to_json().replace(" ", "")
assert dp.Histogram.from_json(histogram.to_json()).to_json() == histogram.to_json()
assert "rounded" in json_schemas()
print(f"counts {list(histogram.evidence.values)}; true {TRUE.tolist()}")
