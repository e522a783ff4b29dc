"""Strategies: which queries answer a workload, in which order and with which budget fractions.

- `choice`: the strategy for each type of workload.
- `prefixes`: rounds of counts for distribution functions and quantiles.
- `range_search`: the range of a column, if no range is public.
- `ranks`: counts of two classes above thresholds.
- `partitions`: named methods, such as PrivTree, for distribution functions.
- `lattices`: a search for values that are multiples of a step.
- `contribution_bounds`: the number of records used per unit.

A strategy reads public facts and earlier noisy answers, never records.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
