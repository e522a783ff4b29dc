from .conversation import HALF, Counted, EstimatedTable, Grouped, Need, Needs, Strategy, Workload, needed
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
)

__all__ = [
    "HALF", "Axes", "Below", "Brackets", "Cells", "Counted", "Cuts", "EstimatedTable", "Grouped", "Groups", "Need",
    "Needs", "Prefixes", "Ranks", "Shares", "Single", "Strategy", "Table", "TableEstimator", "Way", "Workload",
    "needed",
]  # fmt: skip
