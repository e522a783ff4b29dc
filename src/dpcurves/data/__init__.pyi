from .axis import Axis, Categories
from .forest import Forest
from .grid import Grid
from .magnitude_grid import doubling_grid
from .spacing import Outside, Spacing
from .values import Values

__all__ = [
    "Axis", "Categories", "Forest", "Grid", "Outside", "Spacing", "Values", "doubling_grid",
]  # fmt: skip
