"""The first interval around the middle of a grid that covers a share: compared in private, or read off counts."""

from __future__ import annotations

import numpy as np

from ..arguments import Refused
from ..arrays import BoolArray, FloatArray
from ..conversation import ALL, Evidence, FirstInterval, IntervalFound, Release, Setting, Step, Strategy
from ..laws.law import printed
from ..queries import CountQuery, CoverageQuery, Read


def compared(workload: FirstInterval, setting: Setting) -> Strategy[IntervalFound]:
    """Ask for the interval itself, which is found by noisy comparisons."""
    release = yield Step(workload.query, ALL)
    (interval,) = release.values
    return IntervalFound(release, interval, release.plan.law.alpha)


def counted(workload: FirstInterval, setting: Setting) -> Strategy[IntervalFound]:
    """Count the cells, and take the first interval whose unbiased count seems to cover the share.

    For who can add up, but not compare in private.

    Formal guarantees: those of the counts; the interval is read from released numbers, and from nothing else.
    """
    query = workload.query
    release = yield Step(CountQuery(query.axes, Read.PREFIXES), ALL)
    beyond = excess(query) @ np.asarray(Evidence.of(release).unbiased[0])
    reaches = [*(beyond + query.spare >= 0).tolist(), True]

    def alpha(beta: float) -> float:
        return error_of(release, query, beta)

    return IntervalFound(release, reaches.index(True), alpha)


def inside(query: CoverageQuery) -> BoolArray:
    """Mark the cells that lie in each interval but the last one, which is not compared."""
    slots = query.grid.slots
    farness = np.abs(np.arange(slots) - slots // 2)
    found: BoolArray = farness <= np.arange(query.intervals - 1)[:, None]
    return found


def excess(query: CoverageQuery) -> FloatArray:
    """Weights of cells, (intervals, cells): by how many records each interval has more than the share of all."""
    return np.subtract(inside(query), float(query.coverage), dtype=np.float64)


def error_of(release: Release, query: CoverageQuery, beta: float) -> float:
    """The largest error of a comparison that decided, in records, but for a chance of `beta`.

    With chance ``1 - beta`` at least the interval that is taken has no more than so many records too few, and the one
    before it not so many too many. *Proof.* Each comparison can be wrong by so much on one side alone, on which side
    depends on the records; errors are symmetric, and each is exceeded with a chance of ``beta`` over their number.

    Raises:
        ValueError: `beta` is not strictly between 0 and 1.
    """
    if not 0 < beta < 1:
        raise Refused("beta", f"a chance between 0 and 1 is needed, got {beta}")
    weights = excess(query)
    law = Evidence.of(release).sums
    total = None if release.plan.adjacency.total is None else 0
    moved = law.reconstruct(np.eye(law.size), total)[0][:, 0]
    return printed(float(law.exceeded(weights @ moved.T, beta / len(weights)).max()))
