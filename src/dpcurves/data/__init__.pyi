from .axis import Axis, Categories
from .forest import Forest
from .grid import Grid
from .magnitude_grid import doubling_grid
from .spacing import Outside, Spacing

__all__ = [
    "Axis", "Categories", "Forest", "Grid", "Outside", "Spacing", "doubling_grid",
]  # fmt: skip
