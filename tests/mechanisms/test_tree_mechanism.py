"""The plan of a tree, and the errors that the recipes promise."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tiny_tables import counts, sums

from dpcurves.conversation import UnsupportedQuery
from dpcurves.distributions import Family, IntervalSums
from dpcurves.mechanisms import FlatHistogram, TreeSums
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountUse

PURE = PrivacyLoss.pure("0.01")
WHO = ReplaceOne(EACH_RECORD, 1000)


@pytest.mark.parametrize(("cells", "most"), [(2**10, 331), (2**12, 540), (2**15, 1060)])
def test_the_predicted_error_is_at_most_that_of_the_recipe(cells: int, most: float) -> None:
    plan = TreeSums().plan(counts(1, cells), PURE, WHO)
    assert plan.error**2 * 0.01**2 <= most


@pytest.mark.parametrize(("cells", "most"), [(2**10, 21.0), (2**12, 29.2), (2**15, 44.0)])
def test_gaussian_trees_are_better_than_binary_ones_of_equal_budgets(cells: int, most: float) -> None:
    """Mean squared error times mu**2, which is 2 * rho."""
    plan = TreeSums().plan(counts(1, cells), PrivacyLoss.zcdp("0.0001"), WHO)
    assert plan.error**2 * 2 * 0.0001 <= most


def test_shares_add_up_to_the_loss() -> None:
    for loss in (PURE, PrivacyLoss.zcdp("0.3")):
        distribution = TreeSums().plan(counts(2, 1000), loss, WHO).distribution
        assert isinstance(distribution, IntervalSums)
        assert len(distribution.levels) > 1
        assert distribution.missing is not None
        parts = [distribution.missing.parameter / level.noise.parameter for level in distribution.levels]
        assert sum(parts) == 1


def test_pure_losses_get_laplace_noise_and_others_gaussian_noise() -> None:
    families = []
    for loss in (PURE, PrivacyLoss.zcdp(1)):
        distribution = TreeSums().plan(counts(1, 100), loss, WHO).distribution
        assert isinstance(distribution, IntervalSums)
        families.append({level.noise.family for level in distribution.levels})
    assert families == [{Family.LAPLACE}, {Family.GAUSSIAN}]


def test_where_the_total_is_private_a_tree_is_still_far_better_than_a_flat_histogram() -> None:
    for loss in (PURE, PrivacyLoss.zcdp("0.001")):
        flat, tree = (
            kind.plan(counts(1, 4096), loss, AddRemove(EACH_RECORD)) for kind in (FlatHistogram(), TreeSums())
        )
        assert tree.error < flat.error / 4


def test_wider_cells_have_less_noise() -> None:
    errors = [TreeSums(width).plan(counts(1, 4096), PURE, WHO).error for width in (1, 4, 16, 64)]
    assert errors == sorted(errors, reverse=True)


def test_least_squares_on_what_run_releases_has_the_promised_error_at_four_sigma() -> None:
    """With Gaussian noise on a tree of 8 cells, by the normal equations; 400 draws, false alarm rate 6.4e-5."""
    plan = TreeSums().plan(counts(1, 8), PrivacyLoss.zcdp("0.005"), WHO)
    distribution = plan.distribution
    assert isinstance(distribution, IntervalSums)
    assert distribution.missing is not None
    starts = [np.append(np.asarray(level.starts), 8) for level in distribution.levels]
    rows = [(np.arange(8) >= s) & (np.arange(8) < e) for b in starts for s, e in pairwise(b)]
    noises = [level.noise.variance for level in distribution.levels for _ in level.starts] + [
        distribution.missing.variance
    ]
    # The missing count is what is left of a total of 0.
    design = np.vstack([np.array(rows, dtype=float), -np.ones(8)]) / np.sqrt(noises)[:, None]
    randomness, empty = Randomness.from_seed(9), np.zeros(9, dtype=np.int64)
    draws = np.array([TreeSums().run(empty, plan, randomness) for _ in range(400)]) / np.sqrt(noises)
    cells = np.linalg.lstsq(design, draws.T, rcond=None)[0].T
    found = np.cumsum(cells, axis=1)[:, 3].var() / distribution.prefix_variances(total_is_public=True)[0, 4]
    assert abs(found - 1) < 4 * np.sqrt(2 / 400)


def test_only_prefixes_are_read_from_a_tree() -> None:
    for query in (counts(1, 8, CountUse.CELLS), sums(1, 8, 1)):
        with pytest.raises(UnsupportedQuery, match="prefixes"):
            TreeSums().plan(query, PURE, WHO)
    with pytest.raises(ValueError, match="width"):
        TreeSums(0)
