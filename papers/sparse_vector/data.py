"""Table 3.1: four histograms of 4096 cells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FILES = {"adult": "ADULTFRANK", "medicalcost": "MEDCOST", "income": "INCOME", "hepph": "HEPTH"}


def are_there(folder: Path) -> bool:
    """Whether all four files are."""
    return all(file(name, folder).is_file() for name in FILES)


def file(name: str, folder: Path) -> Path:
    """Where a histogram is."""
    return folder / "hist1d" / f"{FILES[name]}.n4096.npy"


def histogram(name: str, folder: Path) -> NDArray[np.int64]:
    """Records of each cell."""
    return np.load(file(name, folder)).astype(np.int64)


def support(counts: NDArray[np.int64]) -> int:
    """k of Table 3.1: all of 0, ..., k are counts of some cell."""
    present = np.isin(np.arange(len(counts) + 1), counts)
    return int(np.argmin(present)) - 1
