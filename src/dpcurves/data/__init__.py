"""What may be asked, in public; and, in `records` alone, what must not be seen."""

from .axis import Axis, Categories
from .grid import Grid, Outside, Spacing
from .query import CountQuery, CutQuery, PartitionQuery, Query, RangeQuery, SumQuery
from .region import BucketQuery, MisfitQuery, RegionQuery
from .table import Read

__all__ = [
    "Axis", "BucketQuery", "Categories", "CountQuery", "CutQuery", "Grid", "MisfitQuery", "Outside", "PartitionQuery",
    "Query", "RangeQuery", "Read", "RegionQuery", "Spacing", "SumQuery",
]  # fmt: skip
