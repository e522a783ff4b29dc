"""Predicted mean squared error of a prefix, beside the targets: `python benchmarks/tree_error.py`."""

from __future__ import annotations

from time import perf_counter

from dpcurves.data import Axis, Categories, CountQuery, Grid, Read
from dpcurves.mechanisms import Flat, Tree
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.release import Measured

EPSILON = PrivacyLoss.pure("0.001")
RHO = PrivacyLoss.zcdp("0.000001")
TARGETS = {2**10: 331, 2**12: 540, 2**15: 1060}
CELLS = (2**10, 2**12, 2**15, 2**16, 1000, 4097, 10007)


def query(rows: int, cells: int) -> CountQuery:
    score = Axis("score", Grid(0, 1, cells=cells))
    return CountQuery((score,) if rows == 1 else (Categories("label", (0, 1)), score), Read.PREFIXES)


def line(rows: int, cells: int, adjacency: Adjacency) -> str:
    asked, started = query(rows, cells), perf_counter()
    pure = Tree().plan(asked, EPSILON, adjacency)
    seconds = perf_counter() - started
    gaussian = Tree().plan(asked, RHO, adjacency)
    flat = Flat().plan(asked, EPSILON, adjacency)
    target = TARGETS.get(cells, "") if rows == 1 and adjacency.total is not None else ""
    assert isinstance(pure.law, Measured)
    widths = " ".join(str(level.starts.step) for level in pure.law.levels if isinstance(level.starts, range))
    return (
        f"{adjacency!s:12}{rows:5}{cells:8}{pure.error**2 * 1e-6:10.1f}{target!s:>8}{flat.error**2 * 1e-6:11.1f}"
        f"{gaussian.error**2 * 2e-6:12.2f}{seconds:9.2f}  {widths}"
    )


def main() -> None:
    print("Mean squared error of a prefix: pure times epsilon**2, Gaussian times 2 * rho (counts**2)")
    print("adjacency    rows   cells pure tree  target  pure flat  gauss tree  seconds  widths of the pure tree")
    for adjacency in (ReplaceOne(EACH_RECORD, 10**6), AddRemove(EACH_RECORD)):
        for rows in (1, 2):
            for cells in CELLS:
                print(line(rows, cells, adjacency))


if __name__ == "__main__":
    main()
