"""Errors of debiased tallies, drawn afresh: false reports, and levels that asked some of the people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from dpcurves.arrays import FloatArray, IntArray
from dpcurves.laws.responses import Responses

MANY = 1000
"""Reports that support an answer by chance: a binomial number of so many is nearly normal, its skewness below 0.04."""
MOST_DRAWN = 10**9
"""People of whom a sample is drawn without replacement; a limit of NumPy."""


class Asked(Protocol):
    """Attributes of `Tallied` that are needed here."""

    @property
    def rows(self) -> int: ...
    @property
    def people(self) -> int: ...
    @property
    def whole(self) -> bool: ...
    @property
    def about_all(self) -> bool: ...
    @property
    def told(self) -> tuple[Responses, ...]: ...
    @property
    def cell_shares(self) -> FloatArray: ...
    def over(self, level: Responses, cells: Any) -> Any:
        """Sums over the answers of a level."""

    def debiased_of_told(self, tallies: Sequence[FloatArray], missing: Sequence[FloatArray]) -> FloatArray:
        """Unbiased counts of all people."""

    def joined(self, counts: Sequence[FloatArray], missing: Sequence[FloatArray]) -> FloatArray:
        """Counts of all levels, and the best count of missing values."""


def drawn_errors(law: Asked, draws: int, generator: np.random.Generator) -> FloatArray:
    """Errors of `Tallied.debiased`, given the shares that the law knows: (draws, values).

    Where few reports are false, their numbers are binomial and far from normal: the whole release is drawn afresh then.
    Else each error is a sum over many people, and drawn from a normal law with its exact covariances.
    """
    few = any(level.reports * level.other < MANY for level in law.told)
    drawn = _of_people if few and law.whole and law.people < MOST_DRAWN else _normal
    return drawn(law, draws, generator)


def _of_people(law: Asked, draws: int, generator: np.random.Generator) -> FloatArray:
    """Errors of releases about as many people in each cell as is likely: levels ask some, and reports are drawn."""
    people = apportioned(law.people, law.cell_shares)
    tallies, last = [], []
    for level, asked in zip(law.told, _asked(law, people, draws, generator), strict=True):
        drawn = _tallies(level, law.over(level, asked), generator)
        tallies.append(drawn[:, :-1])
        last.append(drawn[:, -1:])
    truths = [law.over(level, people)[:-1] for level in law.told]
    truth = np.concatenate([*truths, people[-1:]])
    return np.asarray(law.debiased_of_told(tallies, last) - truth)


def apportioned(people: int, shares: FloatArray) -> IntArray:
    """Whole numbers of people in proportion to shares, which add up to all of them.

    >>> apportioned(10, np.array([0.25, 0.25, 0.5])).tolist()
    [3, 2, 5]
    """
    ends = np.cumsum(shares) / shares.sum() * people
    return np.asarray(np.diff(np.floor(ends + 0.5), prepend=0)).astype(np.int64)


def _asked(law: Asked, people: IntArray, draws: int, generator: np.random.Generator) -> list[IntArray]:
    """The number of people of each cell that every level asked, (draws, cells): samples without replacement, or all."""
    if law.about_all:
        return [np.repeat(people[None], draws, axis=0) for _ in law.told]
    there = np.flatnonzero(people)
    asked = np.zeros((len(law.told), draws, len(there)), dtype=np.int64)
    asked[-1] = people[there]
    for number, level in enumerate(law.told[:-1]):
        left = asked[-1, :1] if number == 0 else asked[-1]
        asked[number] = np.concatenate([_sample(each, level.reports, draws // len(left), generator) for each in left])
        asked[-1] -= asked[number]
    whole = np.zeros((*asked.shape[:-1], len(people)), dtype=np.int64)
    whole[..., there] = asked
    return list(whole)


def _sample(people: IntArray, many: int, draws: int, generator: np.random.Generator) -> IntArray:
    return np.asarray(generator.multivariate_hypergeometric(people, many, size=draws, method="marginals"))


def _tallies(level: Responses, answers: IntArray, generator: np.random.Generator) -> FloatArray:
    """Tallies of reports about these true answers: (draws, answers)."""
    if level.two_others == level.own_and_other == 0:
        return _of_one_answer(level, answers, generator)
    own, other = float(level.own), float(level.other)
    others = level.reports - answers
    drawn = generator.binomial(answers, own) + generator.binomial(others, other)
    about = answers * own + others * other
    return np.asarray(about + (drawn - about) * _narrower(level, answers))


def _of_one_answer(level: Responses, answers: IntArray, generator: np.random.Generator) -> FloatArray:
    """Each report is one answer: the true one is kept with the chance of the gain, or any is drawn, evenly."""
    kept = generator.binomial(answers, float(level.gain))
    many = answers.shape[-1]
    return np.asarray(kept + generator.multinomial(level.reports - kept.sum(axis=-1), np.full(many, 1 / many)), float)


def _narrower(level: Responses, answers: IntArray) -> FloatArray:
    """Independent tallies become so much narrower that they scatter as those of one report do; see `scatter`."""
    shares = answers / level.reports
    together, alone = (np.asarray(level.scatter(shares, together=each)) for each in (True, False))
    return np.asarray(np.sqrt(np.maximum(together, 0.0) / alone))


def _normal(law: Asked, draws: int, generator: np.random.Generator) -> FloatArray:
    """Errors of normal laws with the exact covariances of false reports and of samples without replacement."""
    sampled = _sampling(law, draws, generator)
    counts, apart = [], []
    for place, level in enumerate(law.told):
        shares = law.over(level, law.cell_shares)
        spread = np.sqrt(np.maximum(level.scatter(shares, together=law.whole), 0.0) / level.reports)
        drawn = law.people * spread * generator.standard_normal((draws, len(shares)))
        if sampled:
            drawn += sampled[place]
        counts.append(drawn[:, :-1])
        apart.append(drawn[:, -1:])
    return law.joined(counts, apart)


def _sampling(law: Asked, draws: int, generator: np.random.Generator) -> list[FloatArray]:
    """Deviations of the answers of each level from those of all people, as counts of all: none if all were asked.

    Each level asked some of those whom finer levels left, a sample without replacement. Where n of m people are drawn,
    and those m are off by d, the n are off by ``n / m * d``, and by noise of ``n * (1 - n / m)`` times the covariance
    ``diag(f) - f f'`` of one person. That begins with the finest level, so none needs numbers finer than its answers.
    """
    if len(law.told) == 1 or law.about_all:
        return []
    people, apart = law.people, []
    off: FloatArray | None = None
    for finer, level in zip([None, *law.told[:0:-1]], law.told[::-1], strict=True):
        shares, part = law.over(level, law.cell_shares), level.reports / people
        drawn = np.sqrt(shares * level.reports * (1 - part)) * generator.standard_normal((draws, len(shares)))
        if law.whole:
            drawn -= shares * drawn.sum(axis=-1, keepdims=True)
        if finer is not None and off is not None:
            off = _coarser(law.rows, off, finer, level)
            drawn += part * off
        apart.append(law.people / level.reports * drawn)
        off, people = (-drawn if off is None else off - drawn), people - level.reports
    return apart[::-1]


def _coarser(rows: int, answers: FloatArray, fine: Responses, coarse: Responses) -> FloatArray:
    """Sums over the answers of a coarser level, of those of a finer one; that a value is missing stays as it is."""
    table = answers[:, :-1].reshape(len(answers), rows, -1)
    sums = np.add.reduceat(table, np.searchsorted(fine.first, coarse.first), axis=-1)
    return np.concatenate([sums.reshape(len(answers), -1), answers[:, -1:]], axis=-1)
