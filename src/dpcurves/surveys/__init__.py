"""Short conversations that end in an estimate of every cell of a table: histogram algorithms, one file each."""

from .adaptive_grid import AdaptiveGridSurvey
from .ahp import AhpSurvey
from .cells import CellSurvey
from .dawa import DawaSurvey
from .hierarchy import HierarchySurvey
from .mwem import MwemSurvey
from .privelet import PriveletSurvey
from .privtree import PrivTreeSurvey
from .survey import Axes, Survey, Surveyed
from .uniform import UniformSurvey
from .uniform_grid import UniformGridSurvey

__all__ = [
    "AdaptiveGridSurvey", "AhpSurvey", "Axes", "CellSurvey", "DawaSurvey", "HierarchySurvey", "MwemSurvey",
    "PrivTreeSurvey", "PriveletSurvey", "Survey", "Surveyed", "UniformGridSurvey", "UniformSurvey",
]  # fmt: skip
