"""Noisy sums of cells. The noise does not depend on the data, and is added last."""

from __future__ import annotations

from math import sqrt
from operator import add
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...laws import Family, HaarSums, IntervalSums, Noise, NoisySums, ToeplitzSums
from ...laws.prefix_error import mean_prefix_variance
from ...noise import discrete_gaussian, discrete_laplace
from ...noise.randomness import Randomness
from ...privacy import Adjacency, PrivacyLoss
from ...queries import CountQuery, Query, Read, RegionQuery, SumQuery
from ...queries.region import laid_out
from ...release import Plan
from ..base import ExactTable, Mechanism
from .calibration import law_of
from .convolution import causal_convolution
from .tree_strategy import Shape


class Linear(Mechanism, Protocol):
    """A mechanism that only chooses which sums of cells are released, and how much noise each of them has.

    Formal guarantees: of every plan, pure or zero-concentrated as its loss is; see `noise_level.law_of` for sums over
    nested tilings, and `record_price.prices` for others. The sums are linear in the table: run on one of several shares
    that add up to it, the answer is a share of the noisy sums.
    """

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Exact sums, each plus one draw of its noise, in the order of ``plan.law``."""
        if not isinstance(plan.law, NoisySums):
            raise TypeError(f"plan: a plan of noisy sums is needed, not one of {plan.made_by}")
        noisy: list[int] = []
        for sums, noise in exact_sums(arranged(table, plan.query), plan.law):
            drawn = draws(noise, sums.size, randomness)
            noisy.extend(map(add, sums.tolist(), drawn.tolist()))  # Python's integers cannot overflow
        return tuple(noisy)


def plan_of_sums(
    name: str, query: CountQuery | SumQuery, shape: Shape, loss: PrivacyLoss, adjacency: Adjacency
) -> Plan:
    """What would be done, and with what error: of a prefix by least squares on all levels, or of a finest interval."""
    law = law_of(query, shape, loss, adjacency)
    if isinstance(query, CountQuery) and query.read is Read.PREFIXES:
        return plan_of_prefixes(name, query, law, loss, adjacency)
    return Plan(query, loss, adjacency, name, law, printed(sqrt(law.levels[-1].noise.variance)))


def plan_of_prefixes(name: str, query: CountQuery, law: NoisySums, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
    """What would be done, and with what error of a prefix, estimated as well as the noise allows."""
    variance = mean_prefix_variance(law, total_is_public=adjacency.total is not None)
    return Plan(query, loss, adjacency, name, law, printed(sqrt(variance)))


def counted_as(name: str, width: int) -> str:
    """The name of a mechanism, with the width of the intervals that it counts."""
    return name if width == 1 else f"{name}, {width} cells wide"


def printed(error: float) -> float:
    """To nine digits: the last ones may differ between machines; a plan may not."""
    return float(f"{error:.9g}")


def arranged(table: ExactTable, query: Query) -> ExactTable:
    """SECRET: the table with its cells in the order of the query, if it has one."""
    if not isinstance(query, RegionQuery):
        return table
    ordered: ExactTable = table[np.append(laid_out(query.order), len(table) - 1)]
    return ordered


def exact_sums(table: ExactTable, law: NoisySums) -> list[tuple[ExactTable, Noise]]:
    """SECRET: what is to be released, in the order of `law`, each part with the noise that it needs."""
    cells: ExactTable = table[:-1].reshape(law.rows, law.cells)
    parts: list[tuple[ExactTable, Noise]] = [
        (sums.ravel(), part.noise) for sums, part in zip(_sums(cells, law), law.parts, strict=True)
    ]
    return parts if law.missing is None else [*parts, (table[-1:], law.missing)]


def _sums(cells: ExactTable, law: NoisySums) -> list[ExactTable]:
    """Sum cells (rows, cells): a table (rows, length) for each part of the law."""
    match law:
        case IntervalSums():
            return [_over(cells, level.first) for level in law.levels]
        case HaarSums():
            return _contrasts(cells, law)
        case ToeplitzSums():
            return [causal_convolution(_over(cells, law.bounds[:-1]), law.weights)]


def _over(cells: ExactTable, starts: NDArray[np.int64]) -> ExactTable:
    sums: ExactTable = np.add.reduceat(cells, starts, axis=1)
    return sums


def _contrasts(cells: ExactTable, law: HaarSums) -> list[ExactTable]:
    """Sums of left halves minus sums of right halves; of nodes whose right half is cut off, with what is left of it."""
    parts = [] if law.top is None else [cells.sum(axis=1, keepdims=True)]
    for half in law.halves:
        halves = _over(cells, np.arange(0, law.cells, half * law.width))
        right = halves[:, 1::2]
        parts.append(halves[:, 0 : 2 * right.shape[1] : 2] - right)
    return parts


def draws(noise: Noise, size: int, randomness: Randomness) -> NDArray[np.int64]:
    """Independent draws of `noise`."""
    sample = discrete_laplace.sample if noise.family is Family.LAPLACE else discrete_gaussian.sample
    return sample(noise.parameter, size, randomness)
