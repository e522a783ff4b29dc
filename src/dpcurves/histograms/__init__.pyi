from .block_estimators import (
    AdaptiveGridEstimator,
    CellEstimator,
    HierarchyEstimator,
    PriveletEstimator,
    RefinedGridEstimator,
    UniformGridEstimator,
)
from .partition_estimators import AhpEstimator, DawaEstimator, MwemEstimator, PrivTreeEstimator
from .table_estimator import Axes, EstimatedTable, Extent, TableEstimator

__all__ = [
    "AdaptiveGridEstimator", "AhpEstimator", "Axes", "CellEstimator", "DawaEstimator", "EstimatedTable", "Extent",
    "HierarchyEstimator", "MwemEstimator", "PrivTreeEstimator", "PriveletEstimator", "RefinedGridEstimator",
    "TableEstimator", "UniformGridEstimator",
]  # fmt: skip
