"""Curves of counts that another system released: exact ones are read exactly, bands of noisy ones hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpcurves as dp

EDGES = np.linspace(0, 100, 65)
COUNTS = np.bincount(np.minimum((np.random.default_rng(1).beta(2, 5, 3000) * 64).astype(int), 63), minlength=64)
BELOW = np.append(0, np.cumsum(COUNTS)) / 3000
Draw = Callable[[np.random.Generator], NDArray[Any]]
NOISES: dict[str, Draw] = {
    "laplace": lambda draw: draw.laplace(0, 1.5, 64),
    "discrete-laplace": lambda draw: (
        draw.geometric(1 - np.exp(-1 / 1.5), 64) - draw.geometric(1 - np.exp(-1 / 1.5), 64)
    ),
    "gaussian": lambda draw: draw.normal(0, 1.5, 64),
}


def test_exact_counts_are_read_exactly() -> None:
    curve = dp.from_counts(EDGES, COUNTS)
    assert curve.y == pytest.approx(BELOW, abs=1e-12)
    assert np.ptp(curve.band(0.99), axis=0) == pytest.approx(0, abs=1e-9)
    wide = dp.from_counts([0, 1, 2], [5, 10, 20, 65], outside=True)
    assert wide.y.tolist() == pytest.approx([0.05, 0.15, 0.35])


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("distribution", NOISES)
def test_bands_hold_the_true_curve_about_as_often_as_they_say(distribution: str) -> None:
    """Fewer than 38 of 60 bands at 0.8 hold by chance once in 1,000 runs, all once in 600,000; seeds are fixed."""
    held = 0
    for seed in range(60):
        noisy = COUNTS + NOISES[distribution](np.random.default_rng(seed))
        lower, upper = dp.from_counts(EDGES, noisy, distribution, 1.5).band(0.8)
        held += bool(((lower <= BELOW + 1e-12) & (upper + 1e-12 >= BELOW)).all())
    assert 38 <= held < 60


def test_it_is_a_curve_like_others_and_says_whose_loss_it_is() -> None:
    noisy = COUNTS + np.random.default_rng(3).laplace(0, 4, 64)
    curve = dp.from_counts(EDGES, noisy, "laplace", 4, source="the census of 2020", total=3000)
    assert "the census of 2020: their privacy loss is its own" in curve.notes[0]
    assert curve.privacy.loss == "the loss of another system"
    assert "census" in curve._repr_html_()
    assert curve.count == 3000
    read = dp.CDF.from_json(curve.to_json())
    assert read.to_json() == curve.to_json()
    assert read.quantile_interval(0.5, 0.9) == curve.quantile_interval(0.5, 0.9)
    other = dp.cdf(np.linspace(0, 100, 3000), grid=dp.Grid(0, 100, cells=64), epsilon=1, adjacency=dp.ADD_REMOVE)
    assert dp.ks_test(curve, other).p_value < 1e-3
    assert curve.histogram(4).share.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (([0, 1], [1, 2]), "noisy: a count for each of the 1 cells"),
        (([1, 0], [1]), "edges: at least two finite numbers, a finite"),
        (([-1e308, 1e308], [1]), "edges: at least two finite numbers, a finite"),
        (("abc", [1]), "edges: at least two finite numbers, a finite"),
        (([0, 1], [-1]), "noisy: exact counts are not negative"),
        (([0, 1, 2], [0, 0]), "noisy: exact counts are not negative, and at least one record"),
        (([0, 1], [1], "discrete-laplace", 1e300), "scale: a number above 0 and at most 2..50"),
        (([0, 1], [1], "gaussian", 1e200), "scale: a number above 0 and at most 2..50"),
        (([0, 1], [np.nan]), "noisy: a count is not finite"),
        (([0, 1], [1.5]), "noisy: counts that are exact"),
        (([0, 1], [1], "exact", 2), "scale: exact counts have no noise"),
        (([0, 1], [1], "laplace"), "scale: the size of the noise is missing"),
        (
            ([0, 1], [1], "laplace", "0.5"),
            "scale: a number above 0 and at most 2..50 is needed, and for laplace",
        ),
        (([0, 1], [1], "cauchy", 2), "distribution: must be one of exact, laplace"),
        (([0, 1], ["many"]), "noisy: a list of numbers"),
    ],
)
def test_what_is_no_release_is_refused(given: tuple[Any, ...], words: str) -> None:
    with pytest.raises(ValueError, match=f"^{words}"):
        dp.from_counts(*given)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"total": 0}, "total: the public number of records is needed"),
        ({"total": 100}, "total: the exact counts add up to 7, not 100"),
        ({"rows_per_unit": 0}, "rows_per_unit: the most records of one unit are needed"),
        ({"source": "a census\nepsilon 0"}, "source: a text of at most 200 printable characters"),
        ({"label": 3}, "label: a text is needed"),
    ],
    ids=str,
)
def test_what_could_not_be_read_again_or_is_no_fact_is_refused(more: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=f"^{words}"):
        dp.from_counts([0, 1, 2], [3, 4], **more)


def test_the_largest_scale_and_counts_are_read() -> None:
    curve = dp.from_counts([-8e307, 0, 8e307], [-(2**53), 2**53], "discrete-laplace", 2**50)
    assert curve.band(0.9)[1][1] == 1
    assert dp.CDF.from_json(curve.to_json()).to_json() == curve.to_json()
