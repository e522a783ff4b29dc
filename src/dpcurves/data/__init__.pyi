from .axis import Axis, Categories
from .forest import Forest
from .grid import Grid, Outside, Spacing, doubling_grid
from .values import Values

__all__ = [
    "Axis", "Categories", "Forest", "Grid", "Outside", "Spacing", "Values", "doubling_grid",
]  # fmt: skip
