"""Noisy sums of cells. The noise does not depend on the data, and is added last."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from operator import add
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...arguments import Refused
from ...laws import Family, Noise, NoisySums
from ...noise import discrete_gaussian, discrete_laplace
from ...noise.randomness import Randomness
from ...privacy import Adjacency, PrivacyLoss
from ...queries import CountQuery, Query, RegionQuery, SumQuery
from ...queries.base import laid_out
from ...release import Plan, UnsupportedQuery
from ..base import ExactTable, Mechanism
from .calibration import law_of
from .tree_strategy import Shape


class Linear(Mechanism, Protocol):
    """A mechanism that only chooses which sums of cells are released, and how much noise each of them has.

    Formal guarantees: of every plan, pure or zero-concentrated as its loss is; see `calibration.law_of` for sums over
    nested tilings, and `column_norms.prices` for others. The sums are linear in the table: run on one of several shares
    that add up to it, the answer is a share of the noisy sums.
    """

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Exact sums, each plus one draw of its noise, in the order of ``plan.law``."""
        law = plan.law.required(NoisySums)  # type: ignore[type-abstract]
        noisy: list[int] = []
        for sums, noise in exact_sums(arranged(table, plan.query), law):
            drawn = draws(noise, sums.size, randomness)
            noisy.extend(map(add, sums.tolist(), drawn.tolist()))  # Python's integers cannot overflow
        return tuple(noisy)


@dataclass(frozen=True, slots=True)
class Spaced(Linear):
    """A linear mechanism that counts in intervals of `width` cells.

    Attributes:
        width: How many cells an interval has; between its ends, prefixes are interpolated.

    Raises:
        ValueError: the width is below 1.
    """

    width: int = 1

    def __post_init__(self) -> None:
        if self.width < 1:
            raise Refused("width", f"at least 1 cell is counted at a time, got {self.width}")

    def counted_as(self, name: str) -> str:
        """The name of the mechanism, with the width of the intervals that it counts."""
        return name if self.width == 1 else f"{name}, {self.width} cells wide"


def prefixes_only(query: Query, name: str) -> CountQuery:
    """The query, if it is of counts that are read as prefixes.

    Raises:
        UnsupportedQuery: it is another one.
    """
    if not isinstance(query, CountQuery) or not query.read.of_prefixes:
        raise UnsupportedQuery("question", f"{name} answers counts that are read as prefixes, and nothing else")
    return query


def plan_of_sums(
    name: str, query: CountQuery | SumQuery, shape: Shape, loss: PrivacyLoss, adjacency: Adjacency
) -> Plan:
    """Plan sums, with the error of a prefix by least squares on all levels, or of a finest interval."""
    law = law_of(query, shape, loss, adjacency)
    if isinstance(query, CountQuery) and query.read.of_prefixes:
        return plan_of_prefixes(name, query, law, loss, adjacency)
    return Plan(query, loss, adjacency, name, law, printed(sqrt(law.levels[-1].noise.variance)))


def plan_of_prefixes(name: str, query: CountQuery, law: NoisySums, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
    """Plan prefixes, with their error when they are estimated as well as the noise allows."""
    variance = law.mean_prefix_variance(total_is_public=adjacency.total is not None)
    return Plan(query, loss, adjacency, name, law, printed(sqrt(variance)))


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
    parts = [(sums.ravel(), part.noise) for sums, part in zip(law.sums(cells), law.parts, strict=True)]
    return parts if law.missing is None else [*parts, (table[-1:], law.missing)]


def draws(noise: Noise, size: int, randomness: Randomness) -> NDArray[np.int64]:
    """Independent draws of `noise`, by one party."""
    sample = discrete_laplace.sample if noise.family is Family.LAPLACE else discrete_gaussian.sample
    return sample(noise.parameter, size, randomness)
