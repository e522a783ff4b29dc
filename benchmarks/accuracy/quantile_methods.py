"""Quantiles with Gaussian noise, as wide as global or as smooth sensitivity asks for. Their code is that of the paper's
folder; they have a pair of epsilon and delta, and no pure loss.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import numpy as np

from dpcurves.noise.randomness import Randomness

from .data import ROOT, FloatArray
from .methods import Job, Method, one_by_one

PAPER = ROOT / "papers" / "cdf_methods"
EPSILON, DELTA = 1.0, 1e-4  # what the table calls (1, 1e-4)
SIZES = 4, 8, 16, 32
SENSITIVITIES = "global sensitivity", "smooth sensitivity"


def with_gaussian_noise() -> list[Method]:
    """Both, tuned; none where the paper's folder is not there."""
    if not PAPER.exists():
        return []
    return [
        Method(
            f"quantiles, {name}",
            {str(size): one_by_one(quantiles(name, size)) for size in SIZES},
            most=10**6, pure=False,
        )
        for name in SENSITIVITIES
    ]  # fmt: skip


def quantiles(name: str, size: int) -> Callable[[Job], FloatArray]:
    """So many quantiles of records that are moved to where the paper has them, and back."""
    return partial(_release, name, size)


def _release(name: str, size: int, job: Job) -> FloatArray:
    if str(PAPER) not in sys.path:
        sys.path.append(str(PAPER))
    import methods

    grid, (low, high) = job.sample.grid, methods.ENDS
    stretch = (high - low) / (grid.upper - grid.lower)
    values, edges = (low + stretch * (places - grid.lower) for places in (job.sample.values, grid.edges))
    budget, randomness = methods.Budget(EPSILON, DELTA), Randomness.from_seed(job.seed)
    curve = methods.METHODS[name](values, budget, size, randomness, np.random.default_rng(job.seed))
    shares: FloatArray = curve.limits(edges)[0]
    shares[-1] = 1.0
    return shares
