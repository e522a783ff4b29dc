"""Differentially private curves from real tables: distribution functions, quantiles, ROC, calibration and more."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .curves import (
        CDF,
        ROC,
        BinnedResiduals,
        BinnedResidualsQuestion,
        Bins,
        BisectionCdfQuestion,
        Bounds,
        BoundsQuestion,
        ByCategory,
        Calibration,
        CalibrationQuestion,
        CdfQuestion,
        CurveWarning,
        Cuts,
        CutsCdfQuestion,
        Histogram,
        HistogramQuestion,
        HosmerLemeshow,
        HosmerLemeshowQuestion,
        PartitionCdfQuestion,
        PlaneBounds,
        PlaneBoundsQuestion,
        Quantile,
        QuantileQuestion,
        Quantiles,
        QuantilesQuestion,
        ResidualPlot,
        ResidualPlotQuestion,
        RocQuestion,
        SmoothAuc,
        SmoothAucQuestion,
        Thresholds,
        ThresholdsQuestion,
        energy_distance,
        ks_distance,
        wasserstein_distance,
    )
    from .data import Categories, Grid, Outside
    from .ledger import Account, BudgetExceeded, Ledger
    from .noise.randomness import Randomness
    from .privacy import DISJOINT_RECORDS, EACH_RECORD, PRIVATE_MODEL, PUBLIC_MODEL, Neighbours, PrivacyLoss, Unit
    from .queries import Hint
    from .release import UnsupportedQuery
    from .session import Session, rehearse
    from .shortcuts import (
        binned_residuals,
        bounds,
        calibration_curve,
        cdf,
        histogram,
        hosmer_lemeshow,
        quantiles,
        residual_plot,
        roc_curve,
    )

    ADD_REMOVE = Neighbours.ADD_REMOVE
    REPLACE_ONE = Neighbours.REPLACE_ONE

_ROOMS = {
    "curves": (
        "CDF", "ROC", "BinnedResiduals", "BinnedResidualsQuestion", "Bins", "BisectionCdfQuestion", "Bounds",
        "BoundsQuestion", "ByCategory", "Calibration", "CalibrationQuestion", "CdfQuestion", "CurveWarning", "Cuts",
        "CutsCdfQuestion", "Histogram", "HistogramQuestion", "HosmerLemeshow", "HosmerLemeshowQuestion",
        "PartitionCdfQuestion", "PlaneBounds", "PlaneBoundsQuestion", "Quantile", "QuantileQuestion", "Quantiles",
        "QuantilesQuestion", "ResidualPlot", "ResidualPlotQuestion", "RocQuestion", "SmoothAuc", "SmoothAucQuestion",
        "Thresholds", "ThresholdsQuestion", "energy_distance", "ks_distance", "wasserstein_distance",
    ),
    "data": ("Categories", "Grid", "Outside"),
    "ledger": ("Account", "BudgetExceeded", "Ledger"),
    "noise.randomness": ("Randomness",),
    "shortcuts": (
        "binned_residuals", "bounds", "calibration_curve", "cdf", "histogram", "hosmer_lemeshow", "quantiles",
        "residual_plot", "roc_curve",
    ),
    "privacy": (
        "DISJOINT_RECORDS", "EACH_RECORD", "PRIVATE_MODEL", "PUBLIC_MODEL", "Neighbours", "PrivacyLoss", "Unit",
    ),
    "queries": ("Hint",),
    "release": ("UnsupportedQuery",),
    "session": ("Session", "rehearse"),
}  # fmt: skip
_PLACES = {name: room for room, names in _ROOMS.items() for name in names}
_ADJACENCIES = ("ADD_REMOVE", "REPLACE_ONE")

__all__ = [
    "ADD_REMOVE", "CDF", "DISJOINT_RECORDS", "EACH_RECORD", "PRIVATE_MODEL", "PUBLIC_MODEL", "REPLACE_ONE", "ROC",
    "Account", "BinnedResiduals", "BinnedResidualsQuestion", "Bins", "BisectionCdfQuestion", "Bounds",
    "BoundsQuestion", "BudgetExceeded", "ByCategory", "Calibration", "CalibrationQuestion", "Categories",
    "CdfQuestion", "CurveWarning", "Cuts", "CutsCdfQuestion", "Grid", "Hint", "Histogram", "HistogramQuestion",
    "HosmerLemeshow", "HosmerLemeshowQuestion", "Ledger", "Neighbours", "Outside", "PartitionCdfQuestion",
    "PlaneBounds", "PlaneBoundsQuestion", "PrivacyLoss", "Quantile", "QuantileQuestion", "Quantiles",
    "QuantilesQuestion", "Randomness", "ResidualPlot", "ResidualPlotQuestion", "RocQuestion", "Session",
    "SmoothAuc", "SmoothAucQuestion", "Thresholds", "ThresholdsQuestion", "Unit", "UnsupportedQuery",
    "binned_residuals", "bounds", "calibration_curve", "cdf", "energy_distance", "histogram", "hosmer_lemeshow",
    "ks_distance", "quantiles", "rehearse", "residual_plot", "roc_curve", "wasserstein_distance",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a name where it is used: the command line must answer before the heavy libraries are loaded."""
    if name in _ADJACENCIES:
        return getattr(import_module(".privacy", __name__).Neighbours, name)
    if name in _PLACES:
        return getattr(import_module(f".{_PLACES[name]}", __name__), name)
    raise AttributeError(f"module 'dpcurves' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
