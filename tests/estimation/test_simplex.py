"""The nearest counts that are not below zero and add up."""

from __future__ import annotations

import numpy as np
import pytest

from dpcurves.summaries.two_classes import project_to_simplex


def test_the_nearest_point_beats_all_others_nearby() -> None:
    generator = np.random.default_rng(0)
    for _ in range(50):
        values, total = generator.normal(0, 3, 6), float(generator.uniform(0.5, 9))
        found = project_to_simplex(values, total)
        assert found.sum() == pytest.approx(total)
        assert found.min() >= 0
        others = generator.dirichlet(np.ones(6), 500) * total
        assert ((found - values) ** 2).sum() <= ((others - values) ** 2).sum(axis=1).min() + 1e-9


def test_what_is_there_already_stays() -> None:
    assert project_to_simplex(np.array([[1.0, 2.0], [0.0, 3.0]]), 6.0) == pytest.approx(np.array([[1, 2], [0, 3]]))


def test_nothing_to_share_is_refused() -> None:
    for values, total in ((np.ones(3), 0.0), (np.ones(0), 1.0), (np.ones(2), float("nan"))):
        with pytest.raises(ValueError, match="total"):
            project_to_simplex(values, total)
