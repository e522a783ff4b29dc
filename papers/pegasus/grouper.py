"""The distribution of the Grouper's decisions as chapter 5 prints it, with continuous noise, and what neighbours lose
by it."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np

MOST = 2  # tuples of a time_step
REACH, STEPS = 30, 4001


def deviation(values: tuple[int, ...]) -> float:
    """The sum of distances from the mean."""
    return float(np.abs(np.array(values) - np.mean(values)).sum())


def sensitivity(length: int) -> float:
    """How far the deviation of so many counts, or fewer, moves by one tuple, at most."""
    return max(
        abs(deviation(values) - deviation((values[0] + 1, *values[1:])))
        for size in range(1, length + 1)
        for values in product(range(MOST + 1), repeat=size)
    )


def loss(longest: int, threshold: float, epsilon: float) -> float:
    """The largest log ratio of the chances of any decisions, over neighbouring streams of up to so many time steps."""
    noise = np.linspace(-REACH, REACH, STEPS) * 4 / epsilon
    weights = np.exp(-abs(noise) * epsilon / 4)
    weights /= weights.sum()

    @cache
    def log_chance_of_group(values: tuple[int, ...], closes: bool) -> float:
        chances = weights.copy()
        for length in range(2, len(values) + 1):
            gap = (threshold + noise - deviation(values[:length])) * epsilon / 8
            far = np.exp(-abs(gap)) / 2
            joins = np.where(gap >= 0, 1 - far, far)
            chances = chances * (1 - joins if closes and length == len(values) else joins)
        return float(np.log(chances.sum()))

    def log_chance(stream: tuple[int, ...], joined: tuple[int, ...]) -> float:
        total, start = 0.0, 0
        while start < len(stream):
            end = start + 1
            while end < len(stream) and joined[end]:
                end += 1
            closes = end < len(stream)
            total += log_chance_of_group(stream[start : end + closes], closes)
            start = end + closes
        return total

    def decisions(length: int) -> list[tuple[int, ...]]:
        """All that may be decided: a time step that follows a closed group joins nothing."""
        kept = []
        for joined in product((0, 1), repeat=length):
            is_open, possible = False, True
            for join in joined:
                possible &= is_open or not join
                is_open = is_open if join else not is_open
            kept += [joined] if possible else []
        return kept

    worst = 0.0
    for length in range(1, longest + 1):
        for stream, joined in product(product(range(MOST + 1), repeat=length), decisions(length)):
            ours = log_chance(stream, joined)
            for time_step in range(length):
                other = (*stream[:time_step], stream[time_step] + 1, *stream[time_step + 1 :])
                worst = max(worst, abs(ours - log_chance(other, joined)))
    return worst
