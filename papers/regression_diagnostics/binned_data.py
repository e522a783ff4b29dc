"""Records that judge a logistic regression in x, where the truth is linear, and where it has a square."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcurves.data.grid import SCORES

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
RIGHT, WRONG = "M1", "M2"
SQUARES = {RIGHT: 0.0, WRONG: 1.0}
NO_PENALTY = 1e6


class Judged(NamedTuple):
    """Records in cells of their predictions: how many, how many of them positive, and the sums of their predictions."""

    number: Counts
    positive: Counts
    predicted: Floats
    predicted_of_positive: Floats

    @classmethod
    def of(cls, label: Floats, score: Floats) -> Judged:
        """Cut single records into cells."""
        cell = SCORES.cell_of(score)
        weights = np.ones_like(score), label, score, score * label
        number, positive, predicted, of_positive = (
            np.bincount(cell, each, SCORES.cells).astype(np.float64) for each in weights
        )
        return cls(number.astype(np.int64), positive.astype(np.int64), predicted, of_positive)


def drawn(model: str, records: int, chance: np.random.Generator) -> tuple[Floats, Floats]:
    """Places and labels."""
    x, square = chance.uniform(-1, 1, records), SQUARES[model]
    positive = chance.random(records) < 1 / (1 + np.exp(-(square * x**2 + 2 * x - square)))
    return x, positive.astype(np.float64)


def predictions(x: Floats, label: Floats, at: Floats) -> Floats:
    """Predictions of a logistic regression in x alone, at other places."""
    from sklearn.linear_model import LogisticRegression

    model: Any = LogisticRegression(C=NO_PENALTY).fit(x[:, None], label)
    return np.asarray(model.predict_proba(at[:, None])[:, 1])


def judged_by_others(model: str, records: int, chance: np.random.Generator) -> tuple[Floats, Floats]:
    """Labels, and predictions of a model that was trained on as many other records."""
    x, label = drawn(model, 2 * records, chance)
    return label[records:], predictions(x[:records], label[:records], x[records:])


def judged_by_themselves(model: str, records: int, chance: np.random.Generator) -> tuple[Floats, Floats]:
    """Labels, and predictions of a model that was trained on the same records."""
    x, label = drawn(model, records, chance)
    return label, predictions(x, label, x)
