"""What a question needs: which numbers, never how they are asked for. Trust models choose that, in public."""

from .answers import HALF, Counted, EstimatedTable, Grouped, Strategy
from .conversation import Need, Needs, needed
from .workload import (
    Axes,
    Below,
    Brackets,
    Cells,
    Cuts,
    Groups,
    Prefixes,
    Ranks,
    Shares,
    Single,
    Table,
    TableEstimator,
    Way,
    Workload,
)

__all__ = [
    "HALF", "Axes", "Below", "Brackets", "Cells", "Counted", "Cuts", "EstimatedTable", "Grouped", "Groups", "Need",
    "Needs", "Prefixes", "Ranks", "Shares", "Single", "Strategy", "Table", "TableEstimator", "Way", "Workload",
    "needed",
]  # fmt: skip
