"""Noisy sums over intervals of cells. The noise does not depend on the data, and is added last."""

from __future__ import annotations

from math import sqrt
from operator import add
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..data import CountQuery, Read, SumQuery
from ..noise import discrete_gaussian, discrete_laplace
from ..noise.randomness import Randomness
from ..privacy import Adjacency, PrivacyLoss
from ..release import Family, Measured, Noise, Plan
from ..release.prefix_error import mean_prefix_variance
from .base import ExactTable, Mechanism
from .noise_level import law_of
from .tree_shape import Shape


class Linear(Mechanism, Protocol):
    """A mechanism that only chooses which nested tilings are summed, and what share of the loss each may use.

    Formal guarantees: of every plan, pure or zero-concentrated as its loss is; see `noise_level.law_of`. The sums are
    linear in the table: run on one of several shares that add up to it, the answer is a share of the noisy sums.
    """

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """Exact sums, each plus one draw of its noise, in the order of ``plan.law``."""
        if not isinstance(plan.law, Measured):
            raise TypeError(f"plan: a plan of noisy sums is needed, not one of {plan.made_by}")
        noisy: list[int] = []
        for sums, noise in exact_sums(table, plan.law):
            drawn = draws(noise, sums.size, randomness)
            noisy.extend(map(add, sums.tolist(), drawn.tolist()))  # Python's integers cannot overflow
        return tuple(noisy)


def plan_of_sums(
    name: str, query: CountQuery | SumQuery, shape: Shape, loss: PrivacyLoss, adjacency: Adjacency
) -> Plan:
    """What would be done, and with what error: of a prefix by least squares on all levels, or of a finest interval."""
    law = law_of(query, shape, loss, adjacency)
    if isinstance(query, CountQuery) and query.read is Read.PREFIXES:
        variance = mean_prefix_variance(law, total_is_public=adjacency.total is not None)
    else:
        variance = law.levels[-1].noise.variance
    error = float(f"{sqrt(variance):.9g}")  # the last digits may differ between machines; a plan may not
    return Plan(query, loss, adjacency, name, law, error)


def exact_sums(table: ExactTable, law: Measured) -> list[tuple[ExactTable, Noise]]:
    """SECRET: what is to be released, in the order of `law`, each part with the noise that it needs."""
    cells = table[:-1].reshape(law.rows, law.cells)
    parts: list[tuple[ExactTable, Noise]] = [
        (np.add.reduceat(cells, np.asarray(level.starts), axis=1).ravel(), level.noise) for level in law.levels
    ]
    return parts if law.missing is None else [*parts, (table[-1:], law.missing)]


def draws(noise: Noise, size: int, randomness: Randomness) -> NDArray[np.int64]:
    """Independent draws of `noise`."""
    sample = discrete_laplace.sample if noise.family is Family.LAPLACE else discrete_gaussian.sample
    return sample(noise.parameter, size, randomness)
