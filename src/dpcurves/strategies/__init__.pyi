from .choice import (
    SELECTION_FRACTION,
    build_category_query,
    choose_adaptive,
    choose_one_round,
    describe_category_price,
    describe_found_categories,
    describe_uncounted_categories,
    find_unlisted,
    parse_names,
    replace_unlisted,
)
from .partitions import AdaptivePartition, Bisection, QuantilePartition

__all__ = [
    "SELECTION_FRACTION",
    "AdaptivePartition",
    "Bisection",
    "QuantilePartition",
    "build_category_query",
    "choose_adaptive",
    "choose_one_round",
    "describe_category_price",
    "describe_found_categories",
    "describe_uncounted_categories",
    "find_unlisted",
    "parse_names",
    "replace_unlisted",
]  # fmt: skip
