from .counts import GroupedCounts, HierarchyCounts, NodeEstimates, PrefixLaw, PrunedCounts
from .prefixes import BufferedPrefixes, TreeCounts

__all__ = [
    "BufferedPrefixes", "GroupedCounts", "HierarchyCounts", "NodeEstimates", "PrefixLaw", "PrunedCounts",
    "TreeCounts",
]  # fmt: skip
