"""Count answers that people hashed and randomised, and compare the counts with the truth."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np

from dpcurves.noise.randomness import Randomness
from dpcurves_local.aggregated_reports import AggregatedReports, LevelReports
from dpcurves_local.responses import make_randomiser
from dpcurves_local.trust import build_randomisers

NAME = "binary-local-hashing"

# The privacy loss is exact: all reports of few answers are enumerated.
small = make_randomiser(NAME, 5, Fraction(1, 2))
probabilities = [[small.find_probability(answer, report) for report in small.list_reports()] for answer in range(5)]
assert all(sum(row) == 1 for row in probabilities)
largest = max(max(column) / min(column) for column in zip(*probabilities, strict=True))
assert largest == small.support.likelihood_ratio
assert 0 <= exp(0.5) - largest < 1e-9

true = np.array([4000, 0, 100, 900, 0, 0, 2000, 3000, 0])
answers = np.repeat(np.arange(9), true)
randomiser = make_randomiser(NAME, 9, Fraction(2))
distribution = LevelReports(range(8), len(answers), randomiser.NAME, *randomiser.support)
assert build_randomisers(AggregatedReports(1, 8, (distribution,)), Fraction(2)) == (randomiser,)

reports = randomiser.draw(answers, Randomness.from_seed(1))
assert randomiser.mark_valid_reports(reports).all()
counts = distribution.debias_tallies(randomiser.count_support(reports).astype(np.float64)).counts
deviation = np.sqrt(randomiser.variance() * len(answers))

# An error of any of 9 counts above 4 standard deviations occurs by chance once in 1,700 runs; the seed is fixed.
assert 1 < abs(counts - true).max() < 4 * deviation
print(f"answers 0 and 7: {counts[0]:.0f} and {counts[7]:.0f} people; true {true[0]} and {true[7]}")
