"""Norms of one record's effect on noisy sums: the largest change of many values at once, in units of their noise.

The *price* of a change d of the values is ``sum(|d_i| / scale_i)`` for Laplace noise, and ``sum(d_i**2 / variance_i)``
for Gaussian noise. A price and its square root, respectively, are norms of d.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from ...laws import Family, Noise
from ...privacy import AddRemove, Adjacency, PrivacyLoss
from .calibration import drawable, require_loss

LEAST_MISSING = Fraction(1, 3)
"""What part of the loss the missing cell may use, at least, where a record may move there."""


class Prices(NamedTuple):
    """The remaining choice once the noises of the sums are known up to one factor.

    Attributes:
        unit: What the sums' relative prices are multiplied with.
        missing: The price of one missing record.
    """

    unit: Fraction
    missing: Fraction


def prices(alone: Fraction, moved: Fraction, loss: PrivacyLoss, adjacency: Adjacency) -> Prices:
    """The highest prices, hence the least noise, with which all sums and the missing cell lose at most `loss`.

    Args:
        alone: The largest relative price of one record in the cells that comes or goes.
        moved: The largest relative price of one record that moves from one cell to another.
        loss: What all may lose together.
        adjacency: Under which neighbours.

    Formal guarantees: discrete Laplace noise on integers loses ``|d| / scale`` (Ghosh, Roughgarden and Sundararajan
    2009), and discrete Gaussian noise rho ``d**2 / (2 * variance)`` (Canonne, Kamath and Steinke 2020, Theorem 14); of
    independent noises this adds up. So a change loses its price as epsilon, or half its price as rho. Let a unit have k
    records. *Add-remove*: at most k come or go, each in the cells, for ``unit * alone`` at most, or missing, for
    `missing`. *Replace-one*: as many as can be paired move, from one cell to another for ``unit * moved`` at most, or
    between the cells and the missing cell for ``unit * alone + missing`` at most; the others come or go, for less than
    that. By the triangle inequality the change of all costs at most k times what the dearest one does, or k**2 times
    with Gaussian noise, and the dearest one costs ``epsilon / k``, or ``2 * rho / k**2``. If all k do the same it costs
    just that, so noise cannot be smaller. Where records move, the missing cell takes what moves between cells leave
    over, but not less than a third.

    Raises:
        UnsupportedQuery: nothing may be lost.
    """
    require_loss(loss)
    records = adjacency.unit.records
    allowed = 2 * loss.rho / records**2 if loss.epsilon is None else loss.epsilon / records
    if isinstance(adjacency, AddRemove):
        return Prices(allowed / alone, allowed)
    unit = allowed / max(moved, alone / (1 - LEAST_MISSING))
    return Prices(unit, allowed - unit * alone)


def noise_for(price: Fraction, loss: PrivacyLoss) -> Noise:
    """The noise of a value, a change of which by 1 has this price.

    Raises:
        UnsupportedQuery: no sampler has that much noise.
    """
    return drawable(Noise(Family.LAPLACE if loss.is_pure else Family.GAUSSIAN, 1 / price), loss)
