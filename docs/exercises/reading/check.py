"""Read the F1 score from released scores, and compare it with that of the records."""

from __future__ import annotations

import json

import numpy as np

import dpcurves as dp

generator = np.random.default_rng(5)
scores = generator.beta(2, 3, 4000)
labels = (generator.random(4000) < scores).astype(int)
predicted = scores >= 0.5
truth = 2 * labels[predicted].sum() / (predicted.sum() + labels.sum())


def ask(epsilon: int, seed: int) -> dp.Scores:
    """Return released scores."""
    randomness = dp.Randomness.from_seed(seed)
    return dp.scores(labels, scores, epsilon=epsilon, adjacency=dp.REPLACE_ONE, randomness=randomness)


exact = ask(10**9, 1)
assert abs(exact.value("f1") - truth) < 1e-9
assert abs(json.loads(exact.to_json())["readings"]["f1"] - truth) < 1e-4
assert dp.Scores.from_json(exact.to_json()).value("f1") == exact.value("f1")

# Fewer than 12 of 20 intervals at 0.9 cover by chance once in 10,000 runs; the seeds are fixed.
covering = [low <= truth <= high for low, high in (ask(1, seed).interval("f1", 0.9) for seed in range(20))]
assert sum(covering) >= 12

low, high = ask(1, 1).interval("f1", 0.9)
print(f"F1 score {ask(1, 1).value('f1'):.3f}, 90% interval [{low:.3f}, {high:.3f}]; of the records {truth:.3f}")
