"""Predicted mean squared error of a prefix, beside the targets: `python benchmarks/tree_error.py`."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))

from baselines import KAry, subtraction_variances
from optimum import BEST_PURE, GAUSSIAN_BOUNDS, least_gaussian_error

from dpcurves.data import Axis, Categories, Grid
from dpcurves.distributions import IntervalSums, NoisySums
from dpcurves.estimation import estimate_unbiased
from dpcurves.mechanisms import FlatHistogram, Haar, LinearMechanism, SquareRoot, TreeSums
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountQuery, CountUse

EPSILON = PrivacyLoss.pure("0.001")
RHO = PrivacyLoss.zcdp("0.000001")
CELLS = (2**10, 2**12, 2**15, 2**16, 1000, 4097, 10007)
PUBLIC = ReplaceOne(EACH_RECORD, 10**6)
TARGETS = {  # replace-one, one row, where no record can be missing; of wavelets the limit of many cells
    "tree": {2**10: 331.0, 2**12: 540.0, 2**15: 1060.0},
    "k-ary": {2**10: 682.0, 2**12: 1083.0, 2**15: 2141.0},
    "Haar": {2**10: 667.0, 2**12: 1152.0, 2**15: 2250.0},
    "Gaussian tree": {2**10: 18.9, 2**12: 26.6, 2**15: 40.8},
    "Gaussian Haar": {2**10: 18.3, 2**12: 26.0, 2**15: 40.0},
    "square root": {2**10: 15.1, 2**12: 20.5, 2**15: 30.0},
}


def query(rows: int, cells: int) -> CountQuery:
    score = Axis("score", Grid(0, 1, cells=cells))
    return CountQuery((score,) if rows == 1 else (Categories("label", (0, 1)), score), CountUse.PREFIXES)


def pure(mechanism: LinearMechanism, asked: CountQuery, adjacency: Adjacency) -> float:
    return mechanism.plan(asked, EPSILON, adjacency).error ** 2 * 1e-6


def gaussian(mechanism: LinearMechanism, asked: CountQuery, adjacency: Adjacency) -> float:
    return mechanism.plan(asked, RHO, adjacency).error ** 2 * 2e-6


def subtraction(asked: CountQuery, adjacency: Adjacency) -> float:
    distribution = KAry().plan(asked, EPSILON, adjacency).distribution
    assert isinstance(distribution, IntervalSums)
    return float(subtraction_variances(distribution)[1:-1].mean()) * 1e-6


def line(rows: int, cells: int, adjacency: Adjacency) -> str:
    asked = query(rows, cells)
    errors = [
        pure(FlatHistogram(), asked, adjacency), pure(TreeSums(), asked, adjacency), subtraction(asked, adjacency),
        pure(KAry(), asked, adjacency), pure(Haar(), asked, adjacency), gaussian(TreeSums(), asked, adjacency),
        gaussian(Haar(), asked, adjacency), gaussian(SquareRoot(), asked, adjacency),
    ]  # fmt: skip
    return f"{adjacency!s:12}{rows:5}{cells:8}" + "".join(f"{error:12.2f}" for error in errors)


def targets(cells: int) -> str:
    tree, k_ary, haar, *others = (f"{known[cells]:12.2f}" for known in TARGETS.values())
    return f"{'target':12}{1:5}{cells:8}{'':12}{tree}{k_ary}{'':12}{haar}" + "".join(others)


def beside_the_least(cells: int) -> str:
    """Errors under add-remove, where no record can be missing, beside the least of all strategies."""
    asked, adjacency = query(1, cells), AddRemove(EACH_RECORD)
    tree, root = pure(TreeSums(), asked, adjacency), gaussian(SquareRoot(), asked, adjacency)
    least = least_gaussian_error(cells) if cells <= 2**10 else GAUSSIAN_BOUNDS[cells]
    return f"{cells:>8}{tree:12.1f}{BEST_PURE[cells]:12.1f}{root:14.2f}{least:8.2f}{root / least:8.3f}"


def shape(cells: int) -> str:
    started = perf_counter()
    distribution = TreeSums().plan(query(1, cells), EPSILON, PUBLIC).distribution
    seconds = perf_counter() - started
    assert isinstance(distribution, IntervalSums)
    widths = " ".join(str(level.starts.step) for level in distribution.levels if isinstance(level.starts, range))
    return f"{cells:8}{seconds:9.2f}  {widths}"


def speed(cells: int) -> str:
    """Seconds to plan, release and read a square root."""
    table, clock = np.append(np.full(cells, 3), 0), [perf_counter()]
    plan = SquareRoot().plan(query(1, cells), PrivacyLoss.zcdp("0.5"), PUBLIC)
    clock.append(perf_counter())
    values = SquareRoot().run(table, plan, Randomness.from_seed(1))
    clock.append(perf_counter())
    assert isinstance(plan.distribution, NoisySums)
    estimate_unbiased(plan.distribution, values, 3 * cells)
    clock.append(perf_counter())
    return f"{cells:8}" + "".join(f"{seconds:9.2f}" for seconds in np.diff(clock))


def main() -> None:
    print("Depth and speed of the pure tree: it is planned once for each number of cells")
    print("   cells  seconds  widths")
    for cells in CELLS:
        print(shape(cells))
    print("\nMean squared error of a prefix: pure times epsilon**2, Gaussian times 2 * rho (counts**2)")
    names = ("flat", "tree", "k-ary, sub.", "k-ary, LS", "Haar", "gauss tree", "gauss Haar", "square root")
    print("adjacency    rows   cells" + "".join(f"{name:>12}" for name in names))
    for cells in TARGETS["tree"]:
        print(targets(cells))
    for adjacency in (PUBLIC, AddRemove(EACH_RECORD)):
        for rows in (1, 2):
            for cells in CELLS:
                print(line(rows, cells, adjacency))
    print("\nAdd-remove, one row\n   cells        tree  best known   square root   least   ratio")
    for cells in BEST_PURE:
        print(beside_the_least(cells))
    print("\nSeconds of a square root of prefix sums\n   cells     plan  release  reading")
    for cells in (2**12, 2**16, 2**18):
        print(speed(cells))


if __name__ == "__main__":
    main()
