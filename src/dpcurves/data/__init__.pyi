from .axis import Axis, Categories
from .forest import Forest
from .grid import Grid, Outside, Spacing, doubling_grid
from .values import Values
from .weights import Weights

__all__ = [
    "Axis", "Categories", "Forest", "Grid", "Outside", "Spacing", "Values", "Weights", "doubling_grid",
]  # fmt: skip
