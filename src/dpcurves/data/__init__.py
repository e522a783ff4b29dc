"""What may be asked, in public; and, in `records` alone, what must not be seen."""

from .axis import Axis, Categories
from .grid import Grid, Outside, Spacing
from .query import CountQuery, CutQuery, Query, Read, SumQuery

__all__ = [
    "Axis", "Categories", "CountQuery", "CutQuery", "Grid", "Outside", "Query", "Read", "Spacing", "SumQuery",
]  # fmt: skip
