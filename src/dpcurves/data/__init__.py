"""What may be asked, in public; and, in `records` alone, what must not be seen."""

from .axis import Axis, Categories
from .boxes import Boxes, Splitting
from .doubling import doubling_grid
from .grid import Grid
from .query import (
    AboveQuery,
    BoundQuery,
    Comparison,
    CountQuery,
    CutQuery,
    MergeQuery,
    PartitionQuery,
    Query,
    RangeQuery,
    SplitQuery,
    SumQuery,
)
from .ranks import AucQuery, MedianQuery
from .region import BucketQuery, MisfitQuery, RegionQuery, WaveletQuery
from .spacing import Outside, Spacing
from .table import Hint, Read

__all__ = [
    "AboveQuery", "AucQuery", "Axis", "BoundQuery", "Boxes", "BucketQuery", "Categories", "Comparison", "CountQuery",
    "CutQuery", "Grid", "Hint", "MedianQuery", "MergeQuery", "MisfitQuery", "Outside", "PartitionQuery", "Query",
    "RangeQuery", "Read", "RegionQuery", "Spacing", "SplitQuery", "Splitting", "SumQuery", "WaveletQuery",
    "doubling_grid",
]  # fmt: skip
