"""Table estimators: they ask for noisy counts in rounds, and estimate every cell of a table.

- `block_estimators`: cells, equal blocks, hierarchies, wavelets, adaptive and refined grids.
- `partition_estimators`: AHP, DAWA, PrivTree and MWEM, which choose a partition privately.
- `table_estimator`: common parts, such as counts of regions and their least-squares estimate.

An estimator sees public facts and noisy answers, never records.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
