from .axis import Axis, Categories, Category, DurationAxis, FoundCategories, Predictor, TypedAxis, Unlisted, category
from .csv_file import CsvFile, parse_delimiter
from .grid import (
    DOUBLINGS,
    HUNDREDTHS,
    MOST_LAID_OUT,
    SCORES,
    UNIT_INTERVAL,
    Grid,
    Outside,
    Spacing,
    doubling_grid,
    middles_of,
)
from .missing import MissingReason
from .universe import FAKES, Hashed, Texts, Universe, universe_of
from .values import CAP_ALONE, MISSING_WEIGHTS, Values, Weights

__all__ = [
    "CAP_ALONE", "DOUBLINGS", "FAKES", "HUNDREDTHS", "MISSING_WEIGHTS", "MOST_LAID_OUT", "SCORES", "UNIT_INTERVAL",
    "Axis", "Categories", "Category", "CsvFile", "DurationAxis", "FoundCategories", "Grid", "Hashed", "MissingReason",
    "Outside", "Predictor", "Spacing", "Texts", "TypedAxis", "Universe", "Unlisted", "Values", "Weights", "category",
    "doubling_grid", "middles_of", "parse_delimiter", "universe_of",
]  # fmt: skip
