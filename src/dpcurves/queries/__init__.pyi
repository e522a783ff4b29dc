from .base import Hint, Query, Read
from .pairing import Overlaps, OwnChoice, Pairing, Permutations, WithoutRepetition, commitment
from .pairs import KernelForm, PairQuery
from .query import (
    CountQuery,
    CoverageQuery,
    MergePartitionQuery,
    PartitionQuery,
    PrefixQuery,
    QuantileCutsQuery,
    SquareQuery,
    SumQuery,
    ThresholdComparison,
    ThresholdQuery,
    TreePartitionQuery,
)
from .ranks import AucQuery, MedianQuery
from .region import IntervalPartitionQuery, RegionQuery, WaveletQuery, WorstBoxQuery
from .splitting import Boxes, Splitting
from .subsets import SubsetQuery
from .ticks import GroupedTickQuery, HierarchyQuery, PrunedQuery, TickQuery

__all__ = [
    "AucQuery",
    "Boxes",
    "CountQuery",
    "CoverageQuery",
    "GroupedTickQuery",
    "HierarchyQuery",
    "Hint",
    "IntervalPartitionQuery",
    "KernelForm",
    "MedianQuery",
    "MergePartitionQuery",
    "Overlaps",
    "OwnChoice",
    "PairQuery",
    "Pairing",
    "PartitionQuery",
    "Permutations",
    "PrefixQuery",
    "PrunedQuery",
    "QuantileCutsQuery",
    "Query",
    "Read",
    "RegionQuery",
    "Splitting",
    "SquareQuery",
    "SubsetQuery",
    "SumQuery",
    "ThresholdComparison",
    "ThresholdQuery",
    "TickQuery",
    "TreePartitionQuery",
    "WaveletQuery",
    "WithoutRepetition",
    "WorstBoxQuery",
    "commitment",
]  # fmt: skip
