"""Counts of prefixes as counts of the cells between their thresholds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcurves.conversation import Evidence
from dpcurves.distributions import Family, Noise, PathSums, ThresholdSums

BLOCK, OTHER = Noise(Family.LAPLACE, Fraction(3)), Noise(Family.LAPLACE, Fraction(1))
ROWS = PathSums(16, (3, 8, 11, 16), 4, BLOCK, OTHER)


@pytest.mark.parametrize(("path", "rows"), [(PathSums(16, (3, 5, 16), 4, BLOCK, None), 1), (ROWS, 2)])
@pytest.mark.parametrize("total", [None, 50])
def test_cells_are_unbiased_and_scatter_as_is_said(path: PathSums, rows: int, total: int | None) -> None:
    """20,000 draws: variances are off by no more than 10 %, which is far beyond 4 sigma."""
    distribution = ThresholdSums(path, rows)
    cells = np.arange(1.0, distribution.cells * rows + 1).reshape(rows, distribution.cells)
    missing = [] if path.missing is None else [50 - cells.sum()]
    exact = np.array([*distribution.apply_strategy(cells)[0].ravel(), *missing])
    assert exact.shape == (distribution.size,)
    if total is not None and path.missing is None:
        return
    found, lacking = distribution.reconstruct(exact, total)
    np.testing.assert_allclose(found, cells)
    assert float(lacking) == (missing[0] if missing else 0)
    noise = np.concatenate([each for each, _ in distribution.simulate(total, 20_000, np.random.default_rng(1))])
    below = np.concatenate([np.zeros((*noise.shape[:2], 1)), np.cumsum(noise, axis=-1)], axis=-1)
    np.testing.assert_allclose(below.var(axis=0), distribution.prefix_variances(total is not None), rtol=0.1, atol=1e-9)


def test_it_is_written_as_the_distribution_of_the_path() -> None:
    evidence = Evidence(ROWS, (1, 2, 3, 4, 5), 9)
    written = evidence.as_cell_counts(2).to_json()
    assert written == evidence.to_json()
    assert Evidence.from_json(written).as_cell_counts(2) == evidence.as_cell_counts(2)
    assert evidence.as_cell_counts(2).as_cell_counts(2) == evidence.as_cell_counts(2)
