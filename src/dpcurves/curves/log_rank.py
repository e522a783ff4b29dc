"""A test of whether two groups survive alike, from curves that are released."""

from __future__ import annotations

import numpy as np

from ..arguments import Refused, require_kind
from ..postprocess import public_generator
from ..postprocess.inference.log_rank import log_rank
from ..postprocess.inference.survival import known_cells
from ..postprocess.inference.two_samples import TwoSampleTest
from .question import require_independent
from .survival import Survival, at_risk_in, noise_in


def log_rank_test(first: Survival, second: Survival, *, generator: np.random.Generator | None = None) -> TwoSampleTest:
    """Do two groups of records survive alike? The log-rank test (Mantel 1966), whose p-value knows the noise.

    The statistic is the square of the events of the first group more than expected, over its variance by chance and by
    noise; without noise it is that of the textbook, events taken as tied within a cell. Cells count until noise hides
    how many are at risk in one of the groups. The p-value is simulated with noise and sampling, both; each group may be
    censored in its own way, but not by when its events would come. Within a cell events are taken to come before
    records are censored: where records are censored inside cells, groups that are censored differently seem to survive
    differently, without any noise too, and the more records, the more often. Of 10,000 records, on cells of a seventh
    of the mean time to an event, the exact test then finds 10% at level 5%, on cells of two thirds 93%; if records are
    censored at ends of cells 4 to 5%. Take cells that are as narrow as times are written. Spends nothing.

    Args:
        first: A curve.
        second: One of *other* records, on the same grid: of another category, or released on its own.
        generator: For the simulation.

    Raises:
        TypeError: one of them is no `Survival`.
        ValueError: they are on different grids, or units have several records.

    >>> import dpcurves as dp
    >>> grid, spent = dp.Grid(0, 10, cells=10), {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
    >>> early, late = (dp.survival([when, 9.5] * 900, [1, 0] * 900, grid=grid, **spent) for when in (2.5, 5.5))
    >>> dp.log_rank_test(early, late).pvalue < 0.01
    True
    """
    for name, each in (("first", first), ("second", second)):
        require_kind(name, each, Survival, "a survival curve, as dp.survival gives one,")
        require_independent(each.privacy)
    if not np.array_equal(first.x, second.x):
        raise Refused("second", "a curve on the same grid is needed")
    chance, pair = public_generator(generator), (first.evidence, second.evidence)
    groups, noises = tuple(map(at_risk_in, pair)), tuple(noise_in(each, chance) for each in pair)
    draws = min(len(each.events) for each in noises)
    one, other = (type(each)(each.events[:draws], each.records[:draws]) for each in noises)
    known = np.logical_and(*map(known_cells, groups, (one, other)))
    return log_rank((groups[0], groups[1]), (one, other), known, chance)
