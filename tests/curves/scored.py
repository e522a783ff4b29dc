"""Scores as models give them: spread, tied, heaped, at the ends, clamped; and labels that are drawn from them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

FloatArray = NDArray[np.float64]
CONTINUOUS = "continuous"
KINDS = ("tied", "heaped", "zero-inflated", "clamped")


def scores(kind: str, records: int, chance: np.random.Generator) -> FloatArray:
    spread = chance.beta(2, 3, records)
    match kind:
        case "continuous":
            return np.asarray(expit(chance.normal(-1, 1, records)))
        case "tied":
            return chance.choice([0.05, 0.1, 0.3, 0.55, 0.9], records)
        case "heaped":
            return np.where(chance.random(records) < 0.5, spread.round(1), spread)
        case "zero-inflated":
            return np.where(chance.random(records) < 0.5, chance.choice([0.0, 1.0], records, p=[0.8, 0.2]), spread)
        case _:
            return np.clip(spread, 0.05, 0.6)


def labels_of(score: FloatArray, chance: np.random.Generator, *, slope: float = 1.0, shift: float = 0.0) -> FloatArray:
    """Positive with log-odds of `slope` times those of the score, and `shift` more."""
    with np.errstate(divide="ignore"):
        return (chance.random(len(score)) < expit(slope * logit(score) + shift)).astype(np.float64)
