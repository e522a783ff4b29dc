"""A tree of equal radices and equal shares, from which prefixes can be read by adding and subtracting few nodes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves.conversation import Plan
from dpcurves.mechanisms.linear import PrefixMechanism, plan_sums
from dpcurves.mechanisms.tree_strategy import TreeShape
from dpcurves.privacy import Adjacency, PrivacyLoss
from dpcurves.queries import CountQuery

WIDEST = 129


@dataclass(frozen=True, slots=True)
class KAry(PrefixMechanism):
    """Nested tilings of widths ..., k**2, k, 1 (Andersson, Pagh, Steiner and Torkamani 2025), for comparison.

    Made for one reading: the nearest multiples of the widths to a prefix, from coarse to fine, are reached by adding or
    subtracting at most ``(k - 1) / 2`` nodes of each level. Least squares on the same nodes is never worse, and `Tree`
    is better than both; the error in the plan is that of least squares.

    Attributes:
        radix: An odd number k; None: the one with the least variance of that reading.
    """

    display_name = "a tree of intervals"

    radix: int | None = None

    def __post_init__(self) -> None:
        if self.radix is not None and (self.radix < 3 or self.radix % 2 == 0):
            raise InvalidArgument("radix", f"an odd number of at least 3 is needed, got {self.radix}")

    def _plan(self, query: CountQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        radix = self.radix or best_radix(query.cells, 2 if loss.is_pure else 1)
        widths = _widths(query.cells, radix)
        shape = TreeShape(widths, (Fraction(1, len(widths)),) * len(widths))
        return plan_sums(f"tree of radix {radix} and depth {len(widths)}", query, shape, loss, adjacency)


@lru_cache(maxsize=1024)  # a pure function of public facts
def best_radix(cells: int, power: int) -> int:
    """The odd radix with the least mean variance of a prefix that is read by subtraction.

    With h levels each node has ``h**power`` times the variance that the whole loss allows, power 2 for Laplace noise
    and 1 for Gaussian noise, and a prefix has as many of them as the digits of its balanced expansion add up to.

    >>> best_radix(1024, 2), best_radix(4096, 2)
    (13, 21)
    """
    return min(range(3, WIDEST + 1, 2), key=lambda radix: (_cost(cells, radix, power), radix))


def _cost(cells: int, radix: int, power: int) -> int:
    """In units that do not depend on the radix."""
    edge, above, nodes = np.arange(1, cells), np.zeros(cells - 1, dtype=np.int64), 0
    widths = _widths(cells, radix)
    for width in widths:
        place = (edge + width // 2) // width * width
        nodes += int(np.abs(place - above).sum()) // width
        above = place
    return nodes * (len(widths) ** 2 if power == 2 else len(widths))


def _widths(cells: int, radix: int) -> tuple[int, ...]:
    """From coarse to fine: as many as balanced expansions of all numbers up to `cells` have digits."""
    widths = [1]
    while (widths[0] * radix - 1) // 2 < cells:
        widths.insert(0, widths[0] * radix)
    return tuple(widths)
