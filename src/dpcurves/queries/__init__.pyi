from .query import (
    FINEST_SHARE,
    LARGEST_LEAST,
    MOST_COUNTED,
    AucQuery,
    CountQuery,
    CoverageQuery,
    Hint,
    MedianQuery,
    MergePartitionQuery,
    NamesQuery,
    PartitionQuery,
    Places,
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
    laid_out,
)
from .region import Box, Boxes, IntervalPartitionQuery, RegionQuery, Splitting, WaveletQuery, WorstBoxQuery
from .weighed import COARSE, SquaredWeightQuery, WeighedQuery, WeighedSpreadQuery, WeighedSumQuery, WeightQuery

__all__ = [
    "COARSE", "FINEST_SHARE", "LARGEST_LEAST", "MOST_COUNTED", "AucQuery", "Box", "Boxes",
    "CountQuery", "CoverageQuery", "Hint", "IntervalPartitionQuery", "MedianQuery", "MergePartitionQuery",
    "NamesQuery", "PartitionQuery", "Places", "PrefixQuery", "QuantileCutsQuery", "Query", "RankedNamesQuery",
    "Read", "RegionQuery", "SizedUnitsQuery", "Splitting", "SquareQuery", "SquaredWeightQuery", "SubsetQuery",
    "SumQuery", "ThresholdComparison", "ThresholdQuery", "TreePartitionQuery", "UnitSizesQuery", "WaveletQuery",
    "WeighedQuery", "WeighedSpreadQuery", "WeighedSumQuery", "WeightQuery", "WorstBoxQuery", "laid_out",
]  # fmt: skip
