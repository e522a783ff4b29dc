"""Choice of the noise for a kernel's values, from their range and the loss of one pair alone."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from .response import Response
from .rounded import FINEST, Rounded
from .three_answers import ThreeAnswers


@lru_cache(maxsize=64)  # a pure function of public numbers
def response_for(least: int, most: int, epsilon: Fraction) -> Response:
    """The response of smallest variance, where that is largest: one bit below an epsilon of about 2, Laplace above.

    Args:
        least: The smallest value of the kernel.
        most: The largest one.
        epsilon: What one pair may lose.
    """
    if (least, most) == (-1, 1):
        return ThreeAnswers(epsilon)
    one_bit = Rounded(epsilon, least, most, 0)
    if not one_bit.dither:
        return one_bit
    return min(one_bit, Rounded(epsilon, least, most, FINEST), key=lambda way: way.most_variance)
