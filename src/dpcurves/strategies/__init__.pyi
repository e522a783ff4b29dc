from .bisection import Bisection
from .choice import adaptively, at_once, formerly
from .grown_partition import GrownPartition
from .quantile_cuts import QuantileCuts

__all__ = ["Bisection", "GrownPartition", "QuantileCuts", "adaptively", "at_once", "formerly"]
