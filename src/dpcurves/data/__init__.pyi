from .axis import Axis, Categories, FoundCategories, Unlisted
from .csv_file import CsvFile
from .grid import Grid, Outside, Spacing, doubling_grid
from .values import Values, Weights

__all__ = [
    "Axis", "Categories", "CsvFile", "FoundCategories", "Grid", "Outside", "Spacing", "Unlisted", "Values",
    "Weights", "doubling_grid",
]  # fmt: skip
