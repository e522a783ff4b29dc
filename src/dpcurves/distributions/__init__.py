"""Output distributions: how released integers are distributed around the truth. Public, and known before data is seen.

- `output_distribution`: `Noise`, the interface of all distributions (`OutputDistribution`, `NoisySums`), and JSON.
- `interval_sums`: noisy sums over nested intervals, and their least-squares estimate.
- `haar_sums`, `toeplitz_sums`, `path_sums`: wavelets, convolutions, and counts that share the noise of a tree.
- `p_identity`: strategies of the matrix mechanism that were found by descent.

A distribution is all that is needed to estimate, simulate and draw intervals; that is post-processing and costs no
budget.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
