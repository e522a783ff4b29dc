"""How the counts of a distribution function are asked for: one file for each way, chosen in public or by the asker."""

from .bisection import Bisection
from .default import Default
from .grown_partition import GrownPartition
from .method import Counted, Method
from .quantile_cuts import QuantileCuts

__all__ = ["Bisection", "Counted", "Default", "GrownPartition", "Method", "QuantileCuts"]
