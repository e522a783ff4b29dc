"""How much is computed: all of the papers, a quick look, or a slice that tests can afford."""

from __future__ import annotations

from dataclasses import dataclass

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
        roc: Of ROC curves.
        binned: Of binned residuals.
        residuals: Records of a residual plot.
        residual_products: Records times epsilon at which residual plots are told apart.
        plots: Residual plots of each model, by each method.
    """

    roc: RocSize
    binned: BinnedSize
    residuals: int
    residual_products: tuple[int, ...]
    plots: int


FULL = Size(
    roc=ROC_FULL, binned=BINNED_FULL,
    residuals=5000, residual_products=(300, 400, 500, 1000, 2000), plots=300,
)  # fmt: skip
QUICK = Size(
    roc=ROC_QUICK, binned=BINNED_QUICK,
    residuals=5000, residual_products=(300, 500, 1000, 2000), plots=50,
)  # fmt: skip
TINY = Size(
    roc=ROC_TINY, binned=BINNED_TINY,
    residuals=500, residual_products=(1000,), plots=3,
)  # fmt: skip
