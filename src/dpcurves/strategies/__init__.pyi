from .choice import (
    ADAPTIVE_STRATEGIES,
    ONE_ROUND_STRATEGIES,
    SELECTION_FRACTION,
    build_category_query,
    choose_strategy,
    describe_category_price,
    describe_found_categories,
    describe_uncounted_categories,
    find_unlisted,
    parse_names,
    replace_unlisted,
)
from .partitions import AdaptivePartition, Bisection, QuantilePartition

__all__ = [
    "ADAPTIVE_STRATEGIES",
    "ONE_ROUND_STRATEGIES",
    "SELECTION_FRACTION",
    "AdaptivePartition",
    "Bisection",
    "QuantilePartition",
    "build_category_query",
    "choose_strategy",
    "describe_category_price",
    "describe_found_categories",
    "describe_uncounted_categories",
    "find_unlisted",
    "parse_names",
    "replace_unlisted",
]  # fmt: skip
