"""Search for the p-Identity strategies that are stored: `python benchmarks/pure_strategies.py CELLS [FILE]`.

Prints the mean squared error of a prefix at epsilon 1, beside that of the stored strategy. With a file, also writes the
strategy there as a line of `src/dpcurves/distributions/p_identity.json`. A search of 1,024 cells takes two minutes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from optimum import find_pure_strategy

from dpcurves.distributions import Family, Noise
from dpcurves.distributions.p_identity import WEIGHT_BITS, PIdentityStrategy, find_p_identity_strategy

LARGEST_WEIGHT = 255
"""Largest weight of a cell in a row: 15 would cost 1 to 5 % more error, larger ones gain nothing."""
LEAST_BUDGET = 1 / 32
"""Ratio. Least budget fraction of a cell, before rounding."""
LEAST_WEIGHT = 1e-3
"""Ratio. Rows whose largest budget fraction is below this are left out: the search has emptied them."""
EXTRA_ROWS = {48: 14, 64: 18, 96: 24, 128: 28, 192: 32, 256: 32, 384: 48, 512: 64, 768: 96, 1024: 96}
"""Rows by number of cells: rows at the start of the search; of up to 128 cells most are emptied."""
WIDE = Noise(Family.LAPLACE, Fraction(10**6))


def round_rows(theta: NDArray[np.float64]) -> PIdentityStrategy:
    """Return rows of normalised weights, (rows, cells), as whole weights times budget fractions of four digits."""
    theta = theta * np.minimum(1, (1 - LEAST_BUDGET) / theta.sum(axis=0))
    theta = theta[theta.max(axis=1) > LEAST_WEIGHT]
    centres = theta @ np.arange(theta.shape[1]) / theta.sum(axis=1)
    theta = theta[np.argsort(centres)]
    units = np.ceil(theta.max(axis=1) / LARGEST_WEIGHT * 2**WEIGHT_BITS).astype(np.int64)
    grain = 2 ** np.maximum(np.floor(np.log2(units)).astype(np.int64) - 3, 0)  # few different scales of noise
    units = -(-units // grain) * grain
    weights = np.minimum(np.rint(theta / (units[:, None] / 2**WEIGHT_BITS)), LARGEST_WEIGHT).astype(np.int64)
    return PIdentityStrategy(weights, tuple(units.tolist()))


def line_of(strategy: PIdentityStrategy) -> str:
    """Return a strategy as it is stored: budget, first cell and weights of each row."""
    rows = []
    for units, weights in zip(strategy.row_units, strategy.weights, strict=True):
        used = np.flatnonzero(weights)
        rows.append([units, int(used[0]), weights[used[0] : used[-1] + 1].tolist()])
    return f'"{strategy.cells}": ' + json.dumps(rows, separators=(",", ":"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Search, and print the errors of the strategies that were found and stored."""
    options = _parse_options(arguments)
    cells = options.cells
    found = find_pure_strategy(cells, EXTRA_ROWS[cells], np.random.default_rng(1))
    strategy, stored = round_rows(found.rows[cells:]), find_p_identity_strategy(cells)
    errors = [rows.prefix_variances(WIDE).mean() / 10**12 for rows in (strategy, stored) if rows is not None]
    print(f"{cells} cells, {len(strategy.weights)} rows: before rounding {found.error:.2f}, after and stored", end=" ")
    print(", ".join(f"{error:.2f}" for error in errors))
    if options.file:
        options.file.write_text(line_of(strategy) + "\n", encoding="utf-8")


def _parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", type=int, choices=list(EXTRA_ROWS), help="cells of the strategy")
    parser.add_argument("file", type=Path, nargs="?", help="file of the strategy")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
