"""The exact scale of Cauchy noise for a number with a smooth sensitivity."""

from __future__ import annotations

from fractions import Fraction
from math import exp, sinh, sqrt
from typing import NamedTuple

from ...privacy import Adjacency, PrivacyLoss
from ...release import UnsupportedQuery
from .bounded_range import pure_epsilon

LEAST_EPSILON = Fraction(1, 2**20)
LARGEST_EPSILON = Fraction(32)
SLACK = Fraction(1, 2**36)


class CauchyRule(NamedTuple):
    """The scale of the noise for a smooth sensitivity S: S over `alpha`, where S falls by a factor of e to the `beta`.

    Attributes:
        alpha: How much loss a unit of sensitivity may make.
        beta: How fast the sensitivity may change, with room for rounding.
    """

    alpha: Fraction
    beta: float

    def scale(self, sensitivity: float) -> Fraction:
        """The scale of the noise, for a sensitivity that is known up to one part in ``2**38``; rounded up."""
        return Fraction(sensitivity) * (1 + SLACK / 2) / self.alpha


def cauchy_rule(epsilon: Fraction) -> CauchyRule:
    """The rule with which neighbours lose at most `epsilon`.

    Formal guarantees: let f be a number and S an upper bound of how far one move takes it, from either side, and let S
    change by a factor of at most ``e**beta`` per move. Then ``f + S / alpha * C``, C a standard Cauchy variable, loses
    at most epsilon per move. *Proof.* Cauchy densities of centres f, f' and scales s, s' are Poisson kernels at the
    points (f, s) and (f', s') of the upper half plane, seen from its edge; the supremum of the log ratio of two of
    these is the hyperbolic distance of the points, ``arcosh(1 + ((f - f')**2 + (s - s')**2) / (2 s s'))``. Let
    ``r >= 1`` be the ratio of the larger to the smaller scale. As |f - f'| is at most the smaller S, the distance is at
    most epsilon if ``(alpha**2 + 1) / r + r <= 2 cosh(epsilon)``. The left side is convex in r: it is enough to look
    at r = 1 and at ``r = e**beta``, that is, ``alpha**2 <= 2 (cosh(epsilon) - 1)`` and
    ``alpha**2 <= 2 e**beta (cosh(epsilon) - cosh(beta))``. *End of proof.* (Nissim, Raskhodnikova and Smith 2007 have
    alpha = beta = epsilon / 6; an eighth, with beta = epsilon, as is also published, is too little noise.) Here beta is
    ``epsilon / 2``; alpha is rounded down, and so is beta, by what rounding of S can take.

    Raises:
        UnsupportedQuery: epsilon is below ``2**-20``.

    >>> round(float(cauchy_rule(Fraction(1, 10)).alpha), 4)
    0.0888
    """
    if epsilon < LEAST_EPSILON:
        raise UnsupportedQuery("epsilon, rho", f"noise by smooth sensitivity needs an epsilon of 2**-20, got {epsilon}")
    allowed = float(min(epsilon, LARGEST_EPSILON))
    steady, changing = 2 * sinh(allowed / 2), 2 * sqrt(exp(allowed / 2) * sinh(3 * allowed / 4) * sinh(allowed / 4))
    alpha = Fraction(min(steady, changing)) * (1 - SLACK)
    return CauchyRule(alpha, float(Fraction(allowed) / 2 - 2 * SLACK))


def rule_for(loss: PrivacyLoss, adjacency: Adjacency, parts: int) -> CauchyRule:
    """The rule for each of so many numbers that one record may move, all for this loss; neighbours differ by their L1
    sensitivity.

    A pure loss of epsilon is ``epsilon**2 / 2`` zero-concentrated: so a zero-concentrated loss, of which each number
    gets its part, pays for an epsilon of ``sqrt(2 * rho)``, rounded down.
    """
    return cauchy_rule(pure_epsilon(loss * Fraction(1, parts)) / adjacency.l1_sensitivity)
