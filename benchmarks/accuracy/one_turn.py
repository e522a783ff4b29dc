"""One turn of counts by one mechanism, and ways to read it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from baselines import shrunken as shrunken_counts

from dpcurves.conversation import Evidence, Release
from dpcurves.data import Axis
from dpcurves.estimation import estimate_unbiased
from dpcurves.mechanisms import LinearMechanism
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountQuery, CountUse
from dpcurves.summaries import isotonic_projection, monotone_prefixes

from .answering import COLUMN, table_of
from .data import FloatArray, Sample


@lru_cache(maxsize=64)
def counted(
    sample: Sample, mechanism: LinearMechanism, loss: PrivacyLoss, seed: int, adjacency: Adjacency | None = None
) -> Evidence:
    """Kept for the next way to read it. If not said otherwise under replace-one."""
    query = CountQuery((Axis(COLUMN, sample.grid),), CountUse.PREFIXES)
    plan = mechanism.plan(query, loss, adjacency or ReplaceOne(EACH_RECORD, sample.records))
    values = mechanism.run(table_of(sample, query), plan, Randomness.from_seed(seed))
    return Evidence.from_release(Release(plan, values, None, seeded=True))


def least_squares(evidence: Evidence) -> FloatArray:
    """Shares below edges: the unbiased counts, and isotonic regression."""
    cells = estimate_unbiased(evidence.sums, evidence.values, evidence.total).cells
    return _shares(isotonic_projection(np.append(0.0, np.cumsum(cells[0]))), float(cells.sum()))


def shrunken(evidence: Evidence) -> FloatArray:
    """Shares below edges: counts shrunk towards even ones level by level, and isotonic regression."""
    total = float(estimate_unbiased(evidence.sums, evidence.values, evidence.total).cells.sum())
    cells = shrunken_counts(evidence.interval_sums, evidence.values, evidence.total)
    return _shares(monotone_prefixes(cells, total)[0], total)


def _shares(prefixes: FloatArray, total: float) -> FloatArray:
    shares = np.clip(prefixes / total, 0.0, 1.0)
    shares[0], shares[-1] = 0.0, 1.0
    return shares
