"""The public list of cells, and simple methods that are what they are called: exact where noise is negligible."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark() -> SimpleNamespace:
    sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "papers")]
    try:
        command, public_cells, simple_methods = (
            import_module(name) for name in ("simple_methods", "accuracy.public_cells", "accuracy.simple_methods")
        )
    finally:
        del sys.path[:2]
    return SimpleNamespace(command=command, cells=public_cells, methods=simple_methods)


def test_list_holds_at_most_400_cells_of_45_shapes_a_third_of_them_drawn(benchmark: SimpleNamespace) -> None:
    cells, distributions = benchmark.cells.CELLS, benchmark.cells.SHAPES
    assert len(cells) <= 400
    assert len(distributions) >= 40
    assert {cell.shape for cell in cells} == set(distributions)
    assert 3 * sum(name.startswith("drawn") for name in distributions) >= len(distributions)
    assert {cell.neighbours for cell in cells} == {"replace-one", "add-remove"}
    assert {cell.is_pure for cell in cells} == {True, False}
    for distribution in distributions.values():
        weights = distribution(64)
        assert weights.sum() == pytest.approx(1)
        assert weights.min() >= 0


@pytest.mark.parametrize("is_public", [True, False])
def test_counting_methods_are_exact_at_their_edges_without_noise(benchmark: SimpleNamespace, is_public: bool) -> None:
    cell = benchmark.cells.PublicCell("heaps", 3_000, 1e6, 1024)
    task = benchmark.methods.Task(cell.sample(np.random.default_rng(1)), cell.epsilon, is_public, True)
    for name, method in benchmark.methods.list_methods(1024, True).items():
        bins = {"line": 1}.get(name, int(name.removesuffix(" bins")) if name.endswith("bins") else 1024)
        if not name.startswith("Legendre"):
            shares = method(task, np.random.default_rng(2))
            step = 1024 // bins
            assert np.allclose(shares[::step], task.sample.shares[::step], atol=1e-9), name


def test_noise_of_each_method_has_the_variance_of_its_loss(benchmark: SimpleNamespace) -> None:
    # 4 standard errors of 20,000 draws: the false-alarm rate is below 1e-3; the seed is fixed.
    sample = benchmark.cells.PublicCell("uniform", 10, 1, 16).sample(np.random.default_rng(3))
    for is_public, is_pure, variance in (
        (True, True, 2 * 20**2), (False, True, 2 * 10**2), (True, False, 200.0), (False, False, 100.0),
    ):  # fmt: skip
        task = benchmark.methods.Task(sample, 0.1, is_public, is_pure)
        noise = task.add_noise(np.zeros(20_000), np.random.default_rng(4))
        assert noise.var() == pytest.approx(variance, rel=4 * (5 / 20_000) ** 0.5)


def test_best_is_chosen_on_one_half_and_judged_on_the_other(benchmark: SimpleNamespace) -> None:
    # "lucky" is best on even releases, which are exact; judged on the odd ones it is far off.
    errors = {
        "dpcurves": np.full((8, 3), 1.0),
        "lucky": np.tile([[0.0], [4.0]], (4, 3)),
        "steady": np.full((8, 3), 2.5),
    }
    ratios, noise, names = benchmark.command.compare_cell(errors, np.zeros(3))
    assert ratios == pytest.approx(np.full(3, 1 / 3.25))
    assert names == ["lucky"] * 3
    assert (noise > 0).all()


def test_cells_and_releases_have_noise_of_their_own(
    benchmark: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With common noise all ratios of a report rise and fall together, and a mean over cells averages nothing.
    draws: list[float] = []

    def method(task: object, generator: np.random.Generator) -> np.ndarray:
        draws.append(generator.random())
        return np.linspace(0, 1, 65)

    monkeypatch.setattr(benchmark.command, "list_methods", lambda cells, is_pure: {"one": method, "other": method})
    for cell in benchmark.cells.REGIME_CELLS[:2]:
        benchmark.command.measure_cell(cell, releases=2)
    assert len(set(draws)) == 8
