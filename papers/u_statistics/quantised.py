"""Algorithm 1, its variance and what cells do: equation 9, Theorems 1 and 2, Lemmas 1 to 3, Corollaries 1 to 3."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray
from reproduction.measured import Findings, Measured

from dpcurves.noise.randomness import Randomness
from dpcurves_local.responses import KaryRandomisedResponse, choose_randomiser

FloatArray = NDArray[np.float64]
SMALL = 0.1
"""An epsilon at which chances of equation 9 are in the wrong order."""


def findings(runs: int, kernels: int, seed: int) -> Findings:
    """Measure all of section 3 and section A."""
    chance, privacy, cells = np.random.default_rng(seed), _privacy(), _cells()
    return {**privacy, **_variances(runs, kernels, chance), **cells, **_corollaries()}


def uniform_share(answers: int, epsilon: float) -> float:
    """Beta: how often a report is one of all answers, evenly."""
    return answers / (answers + exp(epsilon) - 1)


def _privacy() -> Findings:
    answers = 10
    beta, small = uniform_share(answers, 1.0), uniform_share(answers, SMALL)
    printed = abs(log((1 - small) / (small / answers))) / SMALL
    mended = log((1 - small + small / answers) / (small / answers)) / SMALL
    way = KaryRandomisedResponse(answers, Fraction(1, 10)).support
    return {
        "equation9-sum": Measured(1 - beta + (answers - 1) * beta / answers, corrected=1.0),
        "algorithm1-loss": Measured(printed, mended, log(way.p_true / way.p_other) / SMALL),
    }


def lemma_1(kernel: FloatArray, shares: FloatArray, epsilon: float, people: int) -> float:
    """The variance as it is printed."""
    answers = len(shares)
    beta = uniform_share(answers, epsilon)
    reports = (1 - beta) * shares + beta / answers
    seen = kernel @ shares
    first = reports @ seen**2 - (reports @ seen) ** 2
    rows = kernel - kernel.mean(axis=0) * beta  # (e_r - b) A, for each report r
    second = reports @ ((rows**2) @ reports - (rows @ reports) ** 2)
    pairs = people * (people - 1) / 2
    return float(((2 * people - 3) / (1 - beta) ** 2 * first + second / (1 - beta) ** 4) / pairs)


def _bound(answers: int, epsilon: float, people: int) -> float:
    beta = uniform_share(answers, epsilon)
    return 1 / (people * (1 - beta) ** 2) + (1 + beta) ** 2 / (2 * people * (people - 1) * (1 - beta) ** 4)


def _variances(runs: int, kernels: int, chance: np.random.Generator) -> Findings:
    worst = 0.0
    for _ in range(kernels):
        answers, people, epsilon = int(chance.choice((2, 4, 16))), 1000, float(chance.choice((0.5, 1.0, 4.0)))
        kernel = chance.random((answers, answers)).round() if chance.random() < 0.5 else chance.random((answers,) * 2)
        kernel, shares = np.triu(kernel) + np.triu(kernel, 1).T, chance.dirichlet(np.full(answers, 0.5))
        worst = max(worst, lemma_1(kernel, shares, epsilon, people) / _bound(answers, epsilon, people))
    measured = _measured_variance(runs, chance)
    return {
        "lemma1": Measured(measured),
        "theorem1": Measured(worst), "corollary2": Measured(worst), "theorem2-variance": Measured(worst),
    }  # fmt: skip


def _measured_variance(runs: int, chance: np.random.Generator) -> float:
    """Mean squares of Algorithm 1 over Lemma 1."""
    people, shares = 30, np.array([0.1, 0.2, 0.3, 0.4])
    kernel = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0))) / 3
    way, exact = KaryRandomisedResponse(4, Fraction(1)), float(shares @ kernel @ shares)
    cells = chance.choice(4, (runs, people), p=shares)
    reports = way.draw(cells.ravel(), Randomness.from_seed(3)).reshape(runs, people)
    beta = uniform_share(4, 1.0)
    vectors = (np.eye(4)[reports] - beta / 4) / (1 - beta)
    sums = vectors.sum(axis=1)
    itself = np.einsum("rpi,ij,rpj->r", vectors, kernel, vectors)
    found = (np.einsum("ri,ij,rj->r", sums, kernel, sums) - itself) / (people * (people - 1))
    return float(((found - exact) ** 2).mean() / lemma_1(kernel, shares, 1.0, people))


def _cells() -> Findings:
    """Lemma 2 for ``(x + y) / 2`` where all lie at the right ends of cells; Lemma 3 for a density that rises."""
    cells, slope = 10, 0.5
    off = (1 / (2 * cells)) ** 2
    lemma3 = max(_smooth(each, steep, printed=True) for each in (2, 5, 10, 50) for steep in (0.1, 0.5, 1.0, 2.0))
    mended = max(_smooth(each, steep, printed=False) for each in (2, 5, 10, 50) for steep in (0.1, 0.5, 1.0, 2.0))
    return {
        "lemma2": Measured(off / (slope**2 / (2 * cells**2)), corrected=off / (slope**2 / cells**2)),
        "theorem2-lipschitz": Measured(off / (slope**2 / (2 * cells**2)), corrected=off / (slope**2 / cells**2)),
        "lemma3": Measured(lemma3, corrected=mended),
    }


def _smooth(cells: int, steep: float, *, printed: bool) -> float:
    """The squared error of the average kernel of ``x > y`` shifted by half of a cell, over the bound; exact integrals.

    The density is ``1 + steep (x - 1/2)``, the kernel 1 in the right half of each cell for both, else 0: as far from
    its average as density lets it be.
    """
    width = 1 / cells
    left, share_right = np.arange(cells) * width, np.zeros(cells)
    mass = width * (1 + steep * (left + width / 2 - 0.5))
    right = width / 2 * (1 + steep * (left + 3 * width / 4 - 0.5))
    share_right = right / mass
    exact, mean = float(mass @ share_right) ** 2, 0.25
    bound = 4 * steep**2 * width**2 * (1 + steep**2 * width**2 if printed else (1 + steep * width) ** 2)
    return (exact - mean) ** 2 / bound


def _corollaries() -> Findings:
    """What Corollaries 1 and 3 give in numbers."""
    many, few = 10**8, 10**4
    ends = [_balanced(people) * sqrt(people) for people in (few, many)]
    best = [_best(people) * sqrt(people) for people in (few, many)]
    ours = choose_randomiser(16, Fraction(1, 10)).variance()
    printed = _bound(16, SMALL, 10**9) / (16**2 / (10**9 * SMALL**2))
    return {
        "corollary1": Measured(ends[1] / ends[0], corrected=best[1] / best[0]),
        "corollary3": Measured(printed, package=ours / (16**2 / SMALL**2)),
    }


def _balanced(people: int) -> float:
    """The bound of Theorem 2, put right, of a kernel with slope 1 at epsilon 1, with k as printed."""
    return _whole(round(people**0.25), people)


def _best(people: int) -> float:
    return min(_whole(cells, people) for cells in range(2, 2000))


def _whole(cells: int, people: int) -> float:
    return _bound(cells, 1.0, people) + 1 / cells**2
