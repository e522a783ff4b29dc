from .axis import Axis, Categories, FoundCategories, Unlisted
from .csv_file import CsvFile
from .grid import Grid, Outside, Spacing, doubling_grid
from .universe import Hashed, Texts, Universe, universe_of
from .values import Values, Weights

__all__ = [
    "Axis", "Categories", "CsvFile", "FoundCategories", "Grid", "Hashed", "Outside", "Spacing", "Texts", "Universe",
    "Unlisted", "Values", "Weights", "doubling_grid", "universe_of",
]  # fmt: skip
