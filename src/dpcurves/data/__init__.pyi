from .axis import Axis, Categories, FoundCategories, Unlisted
from .csv_file import CsvFile
from .forest import Forest
from .grid import Grid, Outside, Spacing, doubling_grid
from .values import Values
from .weights import Weights

__all__ = [
    "Axis", "Categories", "CsvFile", "Forest", "FoundCategories", "Grid", "Outside", "Spacing", "Unlisted", "Values",
    "Weights", "doubling_grid",
]  # fmt: skip
