from .choice import adaptively, at_once, formerly
from .partitions import Bisection, GrownPartition, QuantileCuts

__all__ = [
    "Bisection", "GrownPartition", "QuantileCuts", "adaptively", "at_once", "formerly",
]  # fmt: skip
