"""Theorems 2, 3, 7 and 8: what tests with a cutoff lose, and how far they err; all exact, with integer noise."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

from as_printed import RESET
from counterexample import Answer, printed_loss
from reproduction.measured import Findings, Measured

from dpcurves.data import Axis, Grid
from dpcurves.distributions import Family, Noise, ThresholdAnswers
from dpcurves.mechanisms import SparseVector
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves.queries import ThresholdComparison, ThresholdQuery

QUERIES, BETA = 10, 0.05
CUTOFFS = 1, 2, 3


def findings(copies: int) -> Findings:
    """Measure all four.

    Args:
        copies: How many queries push the noise of the threshold up: the loss nears what is claimed as they grow.
    """
    loss = max(_loss(_printed(c, 1), c, copies) for c in CUTOFFS)
    ours = max(_loss(_package(c, 1), c, copies) for c in CUTOFFS)
    return {
        "theorem2-loss": Measured(loss, package=ours),
        "theorem3-alpha": Measured(_least_alpha(_printed(1, 1), 1), package=_package(1, 1).alpha(BETA)),
        "theorem7-loss": Measured(printed_loss(RESET, 100), corrected=loss, package=ours),
        "theorem8-alpha": Measured(_least_alpha(_printed(2, 2), 2), package=_package(2, 2).alpha(BETA)),
    }


def _printed(cutoff: int, sensitivity: int) -> ThresholdAnswers:
    """At epsilon 1: noise of scale 2 times the sensitivity on the threshold, and 4 c times it on queries."""
    common, own = (Noise(Family.LAPLACE, Fraction(each * sensitivity)) for each in (2, 4 * cutoff))
    return ThresholdAnswers((QUERIES,) * cutoff, common, own, QUERIES, step=1)


def _package(cutoff: int, sensitivity: int) -> ThresholdAnswers:
    """At epsilon 1, of ten comparisons that one record may move either way."""
    compared = (ThresholdComparison((sensitivity,), 0), ThresholdComparison((-sensitivity,), 0)) * (QUERIES // 2)
    query = ThresholdQuery((Axis("x", Grid(0, 1, cells=1)),), compared, cutoff)
    distribution = SparseVector().plan(query, PrivacyLoss.pure(1), AddRemove(EACH_RECORD)).distribution
    if not isinstance(distribution, ThresholdAnswers):
        raise TypeError("distribution: that of comparisons is needed")
    return distribution


def _loss(distribution: ThresholdAnswers, cutoff: int, copies: int) -> float:
    """Very many queries that rise by 1 stay below, and then c that fall by 1 are above: 40 above the others."""
    ours, theirs = Answer(0, copies, 40, cutoff), Answer(1, copies, 39, cutoff)
    return abs(
        ours.log_chance(distribution.threshold_noise, distribution.sum_noise)
        - theirs.log_chance(distribution.threshold_noise, distribution.sum_noise)
    )


def _least_alpha(distribution: ThresholdAnswers, cutoff: int) -> float:
    """The least alpha at which ten queries, c of them alpha above 0 and the others alpha below, err rarely enough."""
    alpha = 1
    while _error(distribution, cutoff, alpha) > BETA:
        alpha += 1
    return float(alpha)


def _error(distribution: ThresholdAnswers, cutoff: int, alpha: int) -> float:
    right = Answer(-alpha, QUERIES - cutoff, alpha, cutoff).log_chance(
        distribution.threshold_noise, distribution.sum_noise
    )
    rate = 1 / float(distribution.threshold_noise.parameter)
    return 1 - exp(right + log((1 - exp(-rate)) / (1 + exp(-rate))))
