"""The paper's data: public tables, and counts of Poisson distribution."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]
NAMES = "heart", "bank", "diabetes"


@dataclass(frozen=True)
class Table:
    """One data set: its features and its labels (0 or 1), a row for each record."""

    features: pd.DataFrame
    label: NDArray[np.int64]


@dataclass(frozen=True)
class Scored:
    """Records that a model has not seen, with its predicted probabilities."""

    score: FloatArray
    label: NDArray[np.int64]


def table(name: str, at: Path) -> Table:
    """The data set of Table 1 with this name: heart, bank or diabetes."""
    import pandas as pd

    tabular = at / "tabular"
    if name == "heart":
        return _labelled(pd.read_csv(tabular / "framingham.csv"), "TenYearCHD", lambda label: label == 1)
    if name == "bank":
        return _labelled(pd.read_csv(tabular / "bank-full.csv.gz", sep=";"), "y", lambda label: label == "yes")
    read = pd.read_csv(tabular / "diabetic_data.csv.gz", na_values="?", keep_default_na=False, low_memory=False)
    return _labelled(read, "readmitted", lambda label: label != "NO")


def poisson_counts(points: int, rate: float, seed: int) -> FloatArray:
    """Records at each point, of Poisson distribution (section 6.2)."""
    return np.random.default_rng(seed).poisson(rate, points).astype(np.float64)


def _labelled(read: pd.DataFrame, label: str, positive: Any) -> Table:
    return Table(read.drop(columns=label), positive(read[label]).to_numpy().astype(np.int64))
