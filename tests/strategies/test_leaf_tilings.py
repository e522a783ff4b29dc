from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dpcurves.distributions import Family
from dpcurves.strategies.partitions import choose_leaf_tilings


@pytest.mark.parametrize("family", list(Family))
@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize("leaves", [1, 2, 3, 10, 97, 1000])
def test_tilings_are_nested_and_end_with_all_leaves(leaves: int, family: Family, pinned: bool) -> None:
    starts = np.cumsum(np.random.default_rng(leaves).integers(1, 9, leaves)).tolist()
    starts = [start - starts[0] for start in starts]
    tilings = choose_leaf_tilings(starts, family, total_is_public=pinned)
    assert tilings[-1] == tuple(starts)
    assert all(tiling[0] == 0 for tiling in tilings)
    assert all(set(coarse) < set(fine) for coarse, fine in pairwise(tilings))


def test_a_few_leaves_are_counted_once_and_many_in_groups() -> None:
    sizes = [
        [len(choose_leaf_tilings(range(leaves), family, total_is_public=True)) for leaves in (5, 100, 3000)]
        for family in Family
    ]
    assert sizes == [[1, 2, 3], [1, 4, 5]]
