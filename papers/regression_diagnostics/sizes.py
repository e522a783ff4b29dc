"""How much is computed: all of the papers, a quick look, or a slice that tests can afford."""

from __future__ import annotations

from dataclasses import dataclass

from residual_sizes import RESIDUAL_FULL, RESIDUAL_QUICK, RESIDUAL_TINY, ResidualSize
from roc_sizes import (
    BINNED_FULL,
    BINNED_QUICK,
    BINNED_TINY,
    ROC_FULL,
    ROC_QUICK,
    ROC_TINY,
    BinnedSize,
    RocSize,
)  # fmt: skip


@dataclass(frozen=True)
class Size:
    """One way to run the experiments.

    Attributes:
        roc: Sizes of the experiments on ROC curves.
        binned: Sizes of those on binned residuals.
        residual: Sizes of those on residual plots.
    """

    roc: RocSize
    binned: BinnedSize
    residual: ResidualSize


FULL = Size(roc=ROC_FULL, binned=BINNED_FULL, residual=RESIDUAL_FULL)
QUICK = Size(roc=ROC_QUICK, binned=BINNED_QUICK, residual=RESIDUAL_QUICK)
TINY = Size(roc=ROC_TINY, binned=BINNED_TINY, residual=RESIDUAL_TINY)
