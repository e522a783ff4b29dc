"""The least errors of prefix sums over all strategies, and what monotone curves leave of it: `python
benchmarks/optimum.py`.

Zero-concentrated: the optimum over all matrices. Pure: the best strategies that are known, found by descent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import dpcurves as dp
from dpcurves.distributions import Family
from dpcurves.mechanisms.tree_strategy import find_best_shape
from dpcurves.summaries import isotonic_projection

FloatArray = NDArray[np.float64]

GAUSSIAN_BOUNDS = {2**12: 11.21}
"""Squared records by number of cells. Lower bounds at rho 1/2 where the fixed point takes too long."""
BEST_PURE = {64: 28.4, 256: 54.0, 2**10: 91.8, 2**12: 159.7}
"""Squared records by number of cells. Mean squared error of a prefix at epsilon 1 under add-remove, of the best
strategies that were found by `find_pure_strategy` with many starts; 159.7 was still falling."""


def least_gaussian_error(cells: int, steps: int = 30) -> float:
    """Return the least mean squared error of a prefix over all matrices, at rho 1/2 under add-remove.

    With ``G = A^T A`` the multipliers v of the columns' lengths solve ``v = diag(sqrt(V^1/2 G V^1/2))``; their mean is
    the least error (Denisov, McMahan, Rush, Smith and Thakurta 2022).
    """
    cell = np.arange(cells)
    gram, multipliers = cells - np.maximum(cell[:, None], cell).astype(float), np.ones(cells)
    for _ in range(steps):
        roots = np.sqrt(multipliers)
        values, vectors = np.linalg.eigh(roots[:, None] * gram * roots)
        multipliers = np.square(vectors) @ np.sqrt(np.maximum(values, 0))
    return float(multipliers.sum() / cells)


@dataclass(frozen=True)
class PureStrategy:
    """Weighted sums of cells whose columns have L1 norm 1: each cell, and further rows (McKenna and others 2018).

    Attributes:
        rows: Weights, (cells + further rows, cells).
    """

    rows: FloatArray

    @property
    def prefix_weights(self) -> FloatArray:
        """Weights of the values in least-squares prefixes, (cells, values)."""
        weights: FloatArray = np.cumsum(np.linalg.pinv(self.rows), axis=0)
        return weights

    @property
    def error(self) -> float:
        """Mean squared error of a prefix at epsilon 1: Laplace noise of scale 1 has variance 2."""
        return 2 * float(np.square(self.prefix_weights).sum() / len(self.prefix_weights))


def find_pure_strategy(cells: int, extra_rows: int, generator: np.random.Generator) -> PureStrategy:
    """Return the strategy ``[identity; theta]`` with normalised columns that L-BFGS finds from random weights."""
    found = minimize(
        lambda weights: _error_and_gradient(weights.reshape(extra_rows, cells)),
        generator.random(extra_rows * cells) / 2, jac=True, method="L-BFGS-B",
        bounds=[(0, None)] * (extra_rows * cells), options={"maxiter": 600, "maxfun": 700},
    )  # fmt: skip
    theta = found.x.reshape(extra_rows, cells)
    return PureStrategy(np.vstack([np.eye(cells), theta]) / (1 + theta.sum(axis=0)))


def _error_and_gradient(theta: FloatArray) -> tuple[float, FloatArray]:
    """Return the mean squared error of the strategy with these weights, and its gradient: O(cells * rows**2).

    With the sums e of the columns of ``[identity; theta]``, the error is the trace of ``E G E (I + theta^T theta)^-1``,
    by the identity of Woodbury. G is applied by cumulating twice.
    """
    cells = theta.shape[1]
    column_sums, diagonal = 1 + theta.sum(axis=0), cells - np.arange(cells)
    core = np.linalg.inv(np.eye(len(theta)) + theta @ theta.T)
    scaled = theta * column_sums
    summed = np.cumsum(np.cumsum(scaled, axis=1)[:, ::-1], axis=1)[:, ::-1]  # scaled times G
    solved = core @ (summed * column_sums)
    error = float((diagonal * column_sums**2).sum() - (solved * theta).sum())
    by_theta = -2 * (solved - (solved @ theta.T) @ (core @ theta))
    by_sums = 2 * (diagonal * column_sums - ((core @ theta) * summed).sum(axis=0))
    return 2 * error / cells, 2 / cells * (by_theta + by_sums).ravel()


def tree_strategy(cells: int) -> PureStrategy:
    """Return the package's tree for this number of cells, as weighted rows."""
    shape = find_best_shape(1, cells, 1, Family.LAPLACE, total_is_public=False)
    cell = np.arange(cells)
    rows = [
        (cell // width == node) * float(share)
        for width, share in zip(shape.widths, shape.budget_fractions, strict=True)
        for node in range(-(-cells // width))
    ]
    return PureStrategy(np.array(rows, dtype=float))


SHAPES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "even": np.ones_like,
    "hill": lambda x: np.exp(-((x - 0.4) ** 2) / 0.02),
    "long tail": lambda x: np.exp(-8 * x),
    "ten values": lambda x: (np.arange(len(x)) % (len(x) // 10) == 0).astype(float),
}
"""Shapes of tables by name, from the middles of cells."""


def monotone_errors(strategy: PureStrategy, counts: FloatArray, noise: FloatArray) -> float:
    """Return the mean squared error of prefixes after isotonic regression, given noise of the values at epsilon 1."""
    truth = np.cumsum(counts)
    errors = [np.square(isotonic_projection(truth + strategy.prefix_weights @ draw) - truth).mean() for draw in noise]
    return float(np.mean(errors))


def default_error(counts: FloatArray, releases: int) -> float:
    """Return the mean squared error of prefixes of `dp.cdf` at epsilon 1 under add-remove."""
    cells, truth, errors = len(counts), np.cumsum(counts), []
    values = np.repeat((np.arange(cells) + 0.5) / cells, counts.astype(int))
    for seed in range(releases):
        curve = dp.cdf(
            values, grid=dp.Grid(0, 1, cells=cells), epsilon=1, adjacency=dp.ADD_REMOVE,
            randomness=dp.Randomness.from_seed(seed),
        )  # fmt: skip
        errors.append(np.square(curve.y[1:] * curve.count - truth).mean())
    return float(np.mean(errors))


def main() -> None:
    generator = np.random.default_rng(1)
    print("Least mean squared error of a prefix, add-remove")
    for cells in (64, 256, 1024):
        print(f"{cells:>6} cells, rho 1/2: {least_gaussian_error(cells):.2f}")
    print("Pure, epsilon 1: the package's tree, a strategy found by descent, and the best known")
    print("Below, after isotonic regression: the tree, the strategy, and `dp.cdf`")
    for cells, extra_rows in ((64, 16), (256, 32)):
        tree, found = tree_strategy(cells), find_pure_strategy(cells, extra_rows, generator)
        print(f"{cells:>6} cells: {tree.error:.1f}, {found.error:.1f}, {BEST_PURE[cells]}")
        middles = (np.arange(cells) + 0.5) / cells
        for name, density in SHAPES.items():
            for records in (300, 3000, 30_000):
                shares = density(middles) / density(middles).sum()
                counts = generator.multinomial(records, shares).astype(float)
                errors = [
                    monotone_errors(strategy, counts, generator.laplace(size=(200, len(strategy.rows))))
                    for strategy in (tree, found)
                ]
                errors.append(default_error(counts, 20))
                print(f"{'':>6} {name}, {records} records: {', '.join(f'{error:.1f}' for error in errors)}")


if __name__ == "__main__":
    main()
