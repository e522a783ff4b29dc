from .axis import Axis, Categories, FoundCategories, Unlisted
from .forest import Forest
from .grid import Grid, Outside, Spacing, doubling_grid
from .values import Values
from .weights import Weights

__all__ = [
    "Axis", "Categories", "Forest", "FoundCategories", "Grid", "Outside", "Spacing", "Unlisted", "Values", "Weights",
    "doubling_grid",
]  # fmt: skip
