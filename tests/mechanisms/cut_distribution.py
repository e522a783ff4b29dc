"""The exact distribution of recursive cuts, by walking every path of their choices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from dpcurves.conversation import Plan
from dpcurves.mechanisms import ExponentialQuantiles
from dpcurves.noise import exponential as selection
from dpcurves.noise.randomness import Randomness

IntArray = NDArray[np.int64]
ANY = Randomness.from_seed(0)


@lru_cache(maxsize=100_000)
def distribution_of_choice(penalties: tuple[int, ...], rate: Fraction) -> tuple[float, ...]:
    return tuple(selection.selection_probabilities(np.array(penalties), rate).tolist())


class Path:
    """Answers `selection.sample_exponential_mechanism` from a list, and notes what was offered and how likely the
    answers were.
    """

    def __init__(self) -> None:
        self.taken: list[int] = []
        self.offered: list[int] = []
        self.probability = 1.0

    def choose(self, penalties: IntArray, rate: Fraction, randomness: Randomness) -> int:
        chances = distribution_of_choice(tuple(penalties.tolist()), rate)
        step = len(self.offered)
        self.offered.append(len(chances))
        if step == len(self.taken):
            self.taken.append(0)
        self.probability *= chances[self.taken[step]]
        return self.taken[step]

    def next(self) -> Path | None:
        """The path after this one, in the order of a search in depth; None after the last."""
        after, taken = Path(), self.taken.copy()
        while taken and taken[-1] + 1 == self.offered[len(taken) - 1]:
            taken.pop()
        if not taken:
            return None
        after.taken = [*taken[:-1], taken[-1] + 1]
        return after


@contextmanager
def on_path(path: Path) -> Iterator[None]:
    with patch.object(selection, "sample_exponential_mechanism", path.choose):
        yield


def distribution(table: IntArray, plan: Plan) -> dict[tuple[int, ...], float]:
    """The probability of every answer of `ExponentialQuantiles.run`."""
    answers: dict[tuple[int, ...], float] = {}
    path: Path | None = Path()
    while path is not None:
        with on_path(path):
            values = ExponentialQuantiles().run(table, plan, ANY)
        answers[values] = answers.get(values, 0.0) + path.probability
        path = path.next()
    return answers
