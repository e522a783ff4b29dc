"""Kendall's rank correlation of two columns, read from a released table of counts: spends nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arguments import Refused, WrongKind
from ..arrays import FloatArray
from ..postprocess.inference.bands import upper_quantile
from ..postprocess.summaries.concordance import pairs_of
from .contingency import Contingency
from .histogram_2d import JOINED, Histogram2D
from .pair_mean import UStatistic
from .simulated_counts import SimulatedCounts

Tau = Callable[[FloatArray, FloatArray], FloatArray]
"""From numbers of pairs, see `pairs_of`, and of people."""


def kendall_tau_a(table: Contingency | Histogram2D) -> UStatistic:
    """Kendall's tau-a: concordant minus discordant pairs, divided by the number of all pairs.

    A pair that is tied in either column counts as neither, but is among all pairs: where there are ties, the largest
    tau-a is below 1 (Kendall 1938; Bell et al. 2019 call ties discordant in words, and give them 0 in equation 6: so
    does this).

    Categories are ordered as they were declared. Values in one cell of a grid count as tied; `resolution` is the share
    of such pairs, whose order is not known. (A column with few values is better declared as categories.)

    Args:
        table: Counts of pairs of categories, or of cells of a plane that were counted one by one, by any trust model.

    Raises:
        TypeError: `table` is something else.
        ValueError: several cells share one estimate, or values outside of a grid were counted apart.

    >>> import dpcurves as dp
    >>> stars = dp.Categories("service", (1, 2, 3)), dp.Categories("overall", (1, 2, 3))
    >>> ratings = {"service": [1, 2, 3, 3] * 500, "overall": [1, 2, 3, 2] * 500}
    >>> with dp.Session(ratings, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     table = session.ask(dp.ContingencyQuestion(*stars), dp.PrivacyLoss.pure(1))
    >>> abs(kendall_tau_a(table).value - 4 / 6 * 0.75) < 0.03
    True
    """
    return _Pairs.of(table).read(_over_all, _over_all_by_cells)


def kendall_tau_b(table: Contingency | Histogram2D) -> UStatistic:
    """Kendall's tau-b: concordant minus discordant pairs, over the root of untied pairs in rows times those in columns.

    Where each cell holds one value it equals ``scipy.stats.kendalltau``. Where all pairs are tied in a column it is 0.
    Arguments and errors as of `kendall_tau_a`.
    """
    return _Pairs.of(table).read(_over_untied, _over_untied_by_cells)


@dataclass(frozen=True, eq=False)
class _Pairs(SimulatedCounts):
    """A table of counts, (rows, columns), and its noise.

    Attributes:
        declared: Whether cells are the values themselves: categories.
    """

    declared: bool

    @classmethod
    def of(cls, table: Contingency | Histogram2D) -> _Pairs:
        if isinstance(table, Contingency):
            return cls(table.unbiased, table.evidence, table.privacy, table.notes, True)
        if not isinstance(table, Histogram2D):
            raise WrongKind("table", f"a Contingency or a Histogram2D is needed, got {type(table).__name__}")
        evidence = table.evidence[-1]
        if len(table.evidence) > 1 or JOINED in table.notes:
            raise Refused("table", "cells share estimates; count each, with Histogram2DQuestion(..., CellEstimator())")
        counts = evidence.unbiased
        if counts.size != table.count.size:
            raise Refused("table", "values outside were counted apart, and which is larger is not known")
        return cls(counts.reshape(table.count.shape), evidence, table.privacy, table.notes, False)

    def read(self, tau: Tau, by_cells: Callable[[FloatArray, float, float], float]) -> UStatistic:
        """A ratio of numbers of pairs, each without what noise adds to it on average."""
        about = pairs_of(self.likely)
        bias = pairs_of(self.likely + self.noise).mean(axis=0) - about
        people = float(self.counts.sum())
        found = float(tau(pairs_of(self.counts) - bias, np.asarray(people)))
        centre = float(tau(about, np.asarray(self.likely.sum())))

        def ends(level: float, population: bool) -> tuple[float, float]:
            drawn = self.drawn(population)
            moved = tau(pairs_of(drawn) - bias, drawn.sum(axis=(-2, -1)))
            # Noise skews a ratio, and one that stands at an end does not tell how far it is off on the other side: so
            # the larger of both sides. Ends about `centre` would have the error of keeping counts above zero, too.
            reach = max(upper_quantile(sign * (moved - centre), (1 + level) / 2) for sign in (-1, 1))
            return found - max(reach, 0.0), found + max(reach, 0.0)

        tied = 0.0 if self.declared else by_cells(about, _all_pairs(float(self.likely.sum())), self._both_apart)
        return UStatistic(found, tied, ends, self.privacy, self.notes, -1.0, 1.0)

    @property
    def _both_apart(self) -> float:
        """About how many pairs are in different rows and in different columns."""
        counts = self.likely
        within = sum(float((counts.sum(axis=axis) ** 2).sum()) for axis in (0, 1)) - float((counts**2).sum())
        return max((float(counts.sum()) ** 2 - within) / 2, 0.0)


def _all_pairs(people: float) -> float:
    people = max(people, 2.0)
    return people * (people - 1) / 2


def _over_all(pairs: FloatArray, people: FloatArray) -> FloatArray:
    enough = np.maximum(people, 2.0)
    return np.asarray(np.clip(2 * pairs[..., 0] / (enough * (enough - 1)), -1.0, 1.0))


def _over_untied(pairs: FloatArray, people: FloatArray) -> FloatArray:
    """The least number of pairs that are apart is that of one person who is apart from all others."""
    rows, columns = (np.maximum(pairs[..., side], np.maximum(people - 1, 1.0)) for side in (1, 2))
    return np.asarray(np.clip(pairs[..., 0] / np.sqrt(rows * columns), -1.0, 1.0))


def _over_all_by_cells(pairs: FloatArray, everyone: float, apart: float) -> float:
    """The share of pairs that are tied: each may be concordant or discordant."""
    return min(max(everyone - apart, 0.0) / everyone, 2.0)


def _over_untied_by_cells(pairs: FloatArray, everyone: float, apart: float) -> float:
    """Tied pairs move the ratio by at most their number over that of pairs apart, or twice their share of all.

    Values have as many pairs apart as cells, or more. With T tied pairs and D of all N apart, a ratio S / D becomes one
    between (S - T) / N and (S + T) / D, and ``N - D <= T``.
    """
    tied = max(everyone - apart, 0.0)
    least = max(float(np.sqrt(max(pairs[1], 0.0) * max(pairs[2], 0.0))), 1.0)
    return min(max(tied / least, 2 * tied / everyone), 2.0)
