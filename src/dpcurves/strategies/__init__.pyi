from .choice import (
    ADAPTIVELY,
    AT_ONCE,
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
    "ADAPTIVELY",
    "AT_ONCE",
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
