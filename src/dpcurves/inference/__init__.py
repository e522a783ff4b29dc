"""Inference: bands, intervals and tests from released counts and the known distribution of their noise.

- `bands`: simultaneous bands of curves, and quantiles of simulated noise.
- `quantiles`, `rates`, `areas`, `moments`: intervals of quantiles, of rates and ratios, of areas under ROC curves, and
  of means.
- `groups`, `two_samples`: tests of groups, and of two distributions.
- `simulation`: noise and sampling errors simulated from public seeds.

Everything here is post-processing of released numbers and costs no budget.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
