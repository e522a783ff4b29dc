from .buffered_prefixes import BufferedPrefixes
from .grouped_counts import GroupedCounts
from .hierarchy_counts import HierarchyCounts, NodeEstimates
from .prefix_trees import TreeCounts
from .pruned_counts import PrunedCounts
from .tick_law import PrefixLaw

__all__ = [
    "BufferedPrefixes", "GroupedCounts", "HierarchyCounts", "NodeEstimates", "PrefixLaw", "PrunedCounts", "TreeCounts",
]  # fmt: skip
