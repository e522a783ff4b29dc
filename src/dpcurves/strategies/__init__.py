"""Query strategies: which noisy queries answer a workload, in which order and with which fractions of the loss.

A *workload* is the counts or sums that a question needs, such as a distribution function on a grid. A *strategy* is a
generator that yields queries, receives their noisy answers, and returns what the workload asks for:

- `choice`: the strategy for each type of workload.
- `prefixes`: rounds of counts for distribution functions and quantiles.
- `range_search`: the range of a column, if no range is public.
- `ranks`: counts of two classes above thresholds.
- `partitions`: named methods, such as PrivTree, for distribution functions.
- `lattices`: a search for values that are multiples of a step.
- `contribution_bounds`: the number of records used per unit.

A strategy reads public facts and earlier noisy answers, never records. Its fractions add up to 1 for all answers, so
its queries together lose the granted loss (adaptive composition).
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
