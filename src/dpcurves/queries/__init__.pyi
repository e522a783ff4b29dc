from .query import (
    AucQuery,
    CountQuery,
    CoverageQuery,
    Hint,
    MedianQuery,
    MergePartitionQuery,
    NamesQuery,
    PartitionQuery,
    PrefixQuery,
    QuantileCutsQuery,
    Query,
    RankedNamesQuery,
    Read,
    SizedUnitsQuery,
    SquareQuery,
    SubsetQuery,
    SumQuery,
    ThresholdComparison,
    ThresholdQuery,
    TreePartitionQuery,
    UnitSizesQuery,
)
from .region import Boxes, IntervalPartitionQuery, RegionQuery, Splitting, WaveletQuery, WorstBoxQuery
from .weighed import SquaredWeightQuery, WeighedQuery, WeighedSpreadQuery, WeighedSumQuery, WeightQuery

__all__ = [
    "AucQuery", "Boxes", "CountQuery", "CoverageQuery", "Hint", "IntervalPartitionQuery", "MedianQuery",
    "MergePartitionQuery", "NamesQuery", "PartitionQuery", "PrefixQuery", "QuantileCutsQuery", "Query",
    "RankedNamesQuery", "Read", "RegionQuery", "SizedUnitsQuery", "Splitting", "SquareQuery", "SquaredWeightQuery",
    "SubsetQuery", "SumQuery", "ThresholdComparison", "ThresholdQuery", "TreePartitionQuery", "UnitSizesQuery",
    "WaveletQuery", "WeighedQuery", "WeighedSpreadQuery", "WeighedSumQuery", "WeightQuery", "WorstBoxQuery",
]  # fmt: skip
