"""What may be asked, in public; and, in `records` alone, what must not be seen."""

from .axis import Axis, Categories
from .grid import Grid, Outside, Spacing
from .query import CountQuery, CutQuery, PartitionQuery, Query, RangeQuery, Read, SumQuery

__all__ = [
    "Axis", "Categories", "CountQuery", "CutQuery", "Grid", "Outside", "PartitionQuery", "Query", "RangeQuery", "Read",
    "Spacing", "SumQuery",
]  # fmt: skip
