"""The frequency oracle of section B.2: Lemmas 5 and 6, equation 23, the one bit of Theorem 4, and composition."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, log, sqrt

import numpy as np
from reproduction.measured import Findings, Measured
from scipy.optimize import brentq

import dpcurves as dp
from dpcurves.noise import Randomness
from dpcurves_local.responses import HadamardResponse

LEVEL = 5
LEVELS = 16


def findings() -> Findings:
    """Measure all of it: exactly, from all reports that there are."""
    return {**_oracle(), **_message(), **_composition()}


def _oracle() -> Findings:
    """Means and covariances of what one person contributes, over all indices and both bits."""
    way, e = HadamardResponse(2**LEVEL, Fraction(1)), exp(1.0)
    reports = list(way.list_reports())
    chances = np.array([[float(way.find_probability(own, report)) for report in reports] for own in (0, 1)])
    sent = np.frombuffer(b"".join(reports), dtype=np.uint8).reshape(-1, 1, way.octets)
    supports = np.array([way.count_support(report)[:3] for report in sent], dtype=np.float64).T
    factor = (e + 1) / (e - 1)
    parts = factor * (2 * supports - 1)
    told, other, third = (chances[0] * parts).sum(axis=1)
    apart = max(
        abs(float((chances[own] * parts[x] * parts[y]).sum() - (chances[own] @ parts[x]) * (chances[own] @ parts[y])))
        for own, (x, y) in product((0, 1), ((0, 2), (1, 2), (0, 1)))
    )
    absent = float(chances[1] @ parts[2] ** 2)
    assert abs(other) + abs(third) < 1e-12
    return {
        "lemma5": Measured(float(told) / 2**LEVEL, corrected=float(told)),
        "lemma6": Measured(apart),
        "equation23": Measured(absent / (4 * e / (e - 1) ** 2), corrected=absent / factor**2),
    }


def _message() -> Findings:
    """Bits that a person says: the index and one more, or one where coins are public, of as many kinds of messages."""
    question, loss = dp.CdfQuestion("x", dp.Grid(0, 1, cells=2**LEVELS)), dp.PrivacyLoss.pure(1)
    task = dp.local.Task(question, loss, people=10**6, coins=dp.local.Coins.PUBLIC)
    source, people = Randomness.from_seed(1), 1000
    names = np.frombuffer(source.random_bytes(8 * people), dtype=np.uint8).reshape(people, 8)
    said = task.randomize_slots(names, np.arange(people) * 65, source)
    kinds = float(np.log2(len(np.unique(said, axis=0))))
    return {"theorem4-bit": Measured(1.0 + LEVELS, corrected=kinds, package=kinds)}


def _composition() -> Findings:
    """What 100 oracles lose together, over what they may, at the largest epsilon that is allowed."""
    levels, delta = 100, 0.01
    allowed = sqrt(levels) * log(2)
    each = allowed / (sqrt(levels) * (1 + sqrt(2 * log(1 / delta))))
    mended = brentq(lambda epsilon: _advanced(levels, delta, epsilon) - allowed, 1e-6, 5.0)
    return {
        "advanced-composition": Measured(
            _advanced(levels, delta, each) / allowed, corrected=_advanced(levels, delta, mended) / allowed
        )
    }


def _advanced(levels: int, delta: float, epsilon: float) -> float:
    """The loss of so many parts together (Dwork, Rothblum and Vadhan 2010)."""
    return sqrt(2 * levels * log(1 / delta)) * epsilon + levels * epsilon * (exp(epsilon) - 1)
