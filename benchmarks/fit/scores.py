"""Scores as models give them: spread, tied, heaped, at the ends, clamped; and labels that are drawn from them."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

FloatArray = NDArray[np.float64]
CONTINUOUS = "continuous"
Drawn = Callable[[int, np.random.Generator], FloatArray]


class Table(NamedTuple):
    """Records in the order of their scores (they are then counted quickly): a label, 0 or 1, and a score."""

    label: NDArray[np.int64]
    score: FloatArray


def log_odds(middle: float) -> Drawn:
    """Scores whose log-odds are normal around `middle`, of variance 1."""
    return lambda records, chance: expit(chance.normal(middle, 1, records))


def uniform(records: int, chance: np.random.Generator) -> FloatArray:
    return chance.random(records)


def heaped(records: int, chance: np.random.Generator) -> FloatArray:
    """Half of them rounded to tenths."""
    score = chance.beta(2, 3, records)
    return np.where(chance.random(records) < 0.5, score.round(1), score)


def tied(records: int, chance: np.random.Generator) -> FloatArray:
    """A tree of five leaves."""
    return chance.choice([0.05, 0.1, 0.3, 0.55, 0.9], records)


def ends(records: int, chance: np.random.Generator) -> FloatArray:
    """Two fifths exactly 0, a tenth exactly 1, the others spread."""
    score, part = chance.beta(2, 3, records), chance.random(records)
    return np.where(part < 0.4, 0.0, np.where(part < 0.5, 1.0, score))


def clamped(records: int, chance: np.random.Generator) -> FloatArray:
    """Clamped to what is above 0.05 and below 0.6."""
    return np.clip(chance.beta(2, 3, records), 0.05, 0.6)


SPREAD: MappingProxyType[str, Drawn] = MappingProxyType(
    {
        "log-odds around 0": log_odds(0), "log-odds around -1": log_odds(-1), "log-odds around -2": log_odds(-2),
        "uniform": uniform,
    }
)  # fmt: skip
KINDS: MappingProxyType[str, Drawn] = MappingProxyType(
    {CONTINUOUS: log_odds(-1), "tied": tied, "heaped": heaped, "zero-inflated": ends, "clamped": clamped}
)


def drawn(kind: Drawn, records: int, seed: int, *, slope: float = 1.0, shift: float = 0.0) -> Table:
    """Records whose log-odds of a positive label are `slope` times those of the score, and `shift` more."""
    chance = np.random.default_rng(seed)
    score = np.sort(kind(records, chance))
    with np.errstate(divide="ignore"):
        truth = expit(slope * logit(score) + shift)
    return Table((chance.random(records) < truth).astype(np.int64), score)
