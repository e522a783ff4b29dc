"""What a Gaussian law has on one side of a point, however far out. Without SciPy, which takes long to be loaded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import FloatArray

_TURN = 3.75
_COEFFICIENTS = (
    1.8207953144217294e-08, 8.506913358851907e-09, -2.1759244986628574e-07, -2.7657093836640687e-08,
    1.7029934016673209e-06, -1.0085305819264207e-06, -1.1407979622076559e-05, 2.2410222381498155e-05,
    5.1631901068043294e-05, -0.0002901664309031962, 0.00029371883158293787, 0.001755629561970017,
    -0.009746580495721479, 0.028362276745721345, -0.05869339849573224, 0.09230432122781818, -0.10880393014607208,
    0.08227673848703723, 0.0035854154855230586, -0.14024059858550464, 1.2375126308378275,
)  # fmt: skip
"""Coefficients, highest first, in (x - _TURN) / (x + _TURN), of (1 + 2x) exp(x**2) erfc(x) for x from 0 on."""


class NormalTail(NamedTuple):
    """The tail of the standard Gaussian law, at each point.

    Attributes:
        log_chance: Logarithm of the chance to be below.
        hazard: Density, divided by that chance: how far beyond the point such draws are taken back to 0 on average.
    """

    log_chance: FloatArray
    hazard: FloatArray


def normal_tail(at: FloatArray) -> NormalTail:
    """The chance below a point and the density there, to 14 digits, also where both are too small to be written.

    The scaled complement of the error function is a polynomial on the whole half line, as in Shepherd and Laframboise
    1981; the coefficients are those of the interpolation at 21 Chebyshev nodes.

    >>> normal_tail(np.array([0.0, -40.0])).log_chance.round(3).tolist()
    [-0.693, -804.608]
    """
    x = np.abs(at) / np.sqrt(2)
    scaled = _polynomial((x - _TURN) / (x + _TURN)) / (1 + 2 * x)
    square = x * x
    bell = np.exp(-square)
    rest = bell * scaled / 2  # the chance beyond the point, on the side that is further out
    low = at <= 0
    log_chance = np.where(low, np.log(scaled / 2) - square, np.log1p(-rest))
    density = np.where(low, 1.0, bell)
    return NormalTail(log_chance, np.sqrt(1 / (2 * np.pi)) * density / np.where(low, scaled / 2, 1 - rest))


def _polynomial(at: FloatArray) -> FloatArray:
    value = np.full_like(at, _COEFFICIENTS[0])
    for coefficient in _COEFFICIENTS[1:]:
        value *= at
        value += coefficient
    return value
