from .adaptive_grid import AdaptiveGridEstimator
from .ahp import AhpEstimator
from .cells import CellEstimator
from .dawa import DawaEstimator
from .hierarchy import HierarchyEstimator
from .mwem import MwemEstimator
from .privelet import PriveletEstimator
from .privtree import PrivTreeEstimator
from .refined_grid import RefinedGridEstimator
from .table_estimator import Axes, EstimatedTable, TableEstimator
from .uniform_grid import UniformGridEstimator

__all__ = [
    "AdaptiveGridEstimator", "AhpEstimator", "Axes", "CellEstimator", "DawaEstimator", "EstimatedTable",
    "HierarchyEstimator", "MwemEstimator", "PrivTreeEstimator", "PriveletEstimator", "RefinedGridEstimator",
    "TableEstimator", "UniformGridEstimator",
]  # fmt: skip
