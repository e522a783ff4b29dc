"""51 tables of 4,096 cells that chose no constant of the package: drawn from distributions, and read from public
columns.

The list was fixed before anything was measured on it, and is not to be changed when something is chosen. Distributions
are drawn afresh; columns and streams come from `tabular` and `streams` of the folder of data sets, and are left out
where they are not there. No distribution and no file here is one of those that constants were chosen on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from dpcurves.data import Grid

from .data import Counts, FloatArray, Sample

CELLS = 4096
Distribution = Callable[[np.random.Generator, int], FloatArray]
"""The share of the records in each of so many cells, up to a factor."""


@dataclass(frozen=True)
class Drawn:
    """A table that is drawn from a distribution.

    Attributes:
        distribution: Places, widths and weights differ from draw to draw.
        records: How many there are.
    """

    distribution: Distribution
    records: int

    def sample(self, cells: int, generator: np.random.Generator) -> Sample:
        """So many records on so many cells."""
        weights = self.distribution(generator, cells)
        return Sample(Grid(0, 1, cells=cells), generator.multinomial(self.records, weights / weights.sum()))


@dataclass(frozen=True)
class Column:
    """A column of numbers, on a grid whose ends are public; values beyond them are in the end cells."""

    file: str
    name: str
    lower: float
    upper: float


@dataclass(frozen=True)
class Stream:
    """The number of events of each of the first 4,096 ticks. Without a name: all series together."""

    file: str
    name: str


def _places(cells: int) -> FloatArray:
    return (np.arange(cells) + 0.5) / cells


def _gammas(draw: np.random.Generator, cells: int) -> FloatArray:
    x, parts = _places(cells), zip(draw.dirichlet(np.ones(3) * 2), draw.uniform(2, 9, 3), strict=True)
    return np.asarray(sum(part * _even(x ** (shape - 1) * np.exp(-x * draw.uniform(8, 40))) for part, shape in parts))


def _week(draw: np.random.Generator, cells: int) -> FloatArray:
    """Seven days, each with its own height, and with an hour of most."""
    x = _places(cells) * 7
    days = draw.uniform(0.5, 1.5, 7)[np.minimum(x.astype(int), 6)]
    return np.asarray(days * (1.05 + np.cos(2 * np.pi * (x - draw.random()))))


def _cascade(draw: np.random.Generator, cells: int) -> FloatArray:
    """Each half gets an uneven part of what its parent has, down to the cells."""
    weights = np.ones(1)
    while len(weights) < cells:
        part = draw.beta(3, 3, len(weights))
        weights = np.stack([weights * part, weights * (1 - part)], axis=1).ravel()
    return np.asarray(weights[:cells])


def _walk(draw: np.random.Generator, cells: int) -> FloatArray:
    """The exponential of a random walk."""
    return np.asarray(np.exp(np.cumsum(draw.normal(0, 4 / cells**0.5, cells))))


def _clusters(draw: np.random.Generator, cells: int) -> FloatArray:
    x, centres, widths = np.arange(cells), draw.uniform(0, cells, 40), 10 ** draw.uniform(-0.3, 1.5, 40)
    heights = draw.gamma(0.7, size=40)
    bells = np.exp(-(((x[:, None] - centres) / widths) ** 2) / 2) / widths
    return np.asarray(bells @ heights + 1e-9)


def _prices(draw: np.random.Generator, cells: int) -> FloatArray:
    """Log-normal, most of them of one or two significant digits."""
    values = draw.lognormal(draw.uniform(5, 6), draw.uniform(0.6, 1), 200_000)
    digits = draw.choice(3, len(values), p=(0.3, 0.4, 0.3))
    steps = 10.0 ** (np.floor(np.log10(values)) - digits)
    return np.bincount(np.minimum(np.rint(values / steps) * steps, cells - 1).astype(int), minlength=cells) + 0.0


def _atoms_on_a_plain(draw: np.random.Generator, cells: int) -> FloatArray:
    weights = np.full(cells, 0.5 / cells)
    weights[draw.choice(cells, 2, replace=False)] += draw.uniform(0.1, 0.4, 2)
    return weights


def _ages(draw: np.random.Generator, cells: int) -> FloatArray:
    """Whole numbers, the records of each of which are in one cell of many."""
    step = max(cells // int(draw.integers(90, 130)), 1)
    x = _places(cells)
    bent = x ** draw.uniform(0.3, 2) * (1 - x) ** draw.uniform(0.5, 3)
    return np.asarray(bent * (np.arange(cells) % step == step // 2) + 1e-12)


def _sparse(draw: np.random.Generator, cells: int) -> FloatArray:
    """A fiftieth of the cells, anywhere, has records."""
    weights, there = np.zeros(cells), draw.choice(cells, max(cells // 50, 1), replace=False)
    weights[there] = draw.exponential(size=len(there))
    return weights


def _degrees(draw: np.random.Generator, cells: int) -> FloatArray:
    return np.asarray(np.arange(1.0, cells + 1) ** -draw.uniform(1.5, 2.5))


def _saw(draw: np.random.Generator, cells: int) -> FloatArray:
    return np.asarray((_places(cells) * draw.uniform(5, 60)) % 1 + 0.01)


def _stretch(draw: np.random.Generator, cells: int) -> FloatArray:
    """Even on a part of the grid, and nothing elsewhere."""
    start, width = draw.uniform(0, 0.6), draw.uniform(0.05, 0.4)
    x = _places(cells)
    return np.asarray(((x > start) & (x < start + width)) + 1e-12)


def _even(weights: FloatArray) -> FloatArray:
    return np.asarray(weights / weights.sum())


_DISTRIBUTIONS: dict[str, tuple[Distribution, int, int]] = {
    "gammas": (_gammas, 1_000, 1_000_000), "week": (_week, 30_000, 10_000_000),
    "cascade": (_cascade, 10_000, 3_000_000),
    "walk": (_walk, 3_000, 300_000), "clusters": (_clusters, 10_000, 1_000_000), "prices": (_prices, 3_000, 100_000),
    "atoms on a plain": (_atoms_on_a_plain, 1_000, 100_000), "ages": (_ages, 10_000, 300_000),
    "sparse": (_sparse, 30_000, 1_000_000), "degrees": (_degrees, 10_000, 3_000_000),
    "saw": (_saw, 100_000, 30_000_000), "stretch": (_stretch, 3_000, 100_000),
}  # fmt: skip
_CPS, _BANK, _PATIENTS, _HEARTS = (
    f"tabular/{file}" for file in ("CPSSW8.csv.gz", "bank-full.csv.gz", "diabetic_data.csv.gz", "framingham.csv")
)
_WALKERS, _WORDS, _DOORS = (
    f"streams/{file}"
    for file in ("melbourne_pedestrians_hourly.parquet", "nab_twitter_volume_5min.csv", "calit2_inflow_30min.csv")
)
TABLES: dict[str, Drawn | Column | Stream] = {
    **{f"{name}, {size}": Drawn(distribution, n) for name, (distribution, *sizes) in _DISTRIBUTIONS.items()
       for size, n in zip(("few", "many"), sizes, strict=True)},
    "earnings": Column(_CPS, "earnings", 0, 100), "age of workers": Column(_CPS, "age", 0, 128),
    "years of school": Column(_CPS, "education", 0, 32), "age of clients": Column(_BANK, "age", 0, 128),
    "balances": Column(_BANK, "balance", -5_000, 20_000), "seconds of calls": Column(_BANK, "duration", 0, 4_096),
    "calls": Column(_BANK, "campaign", 0, 64), "laboratory": Column(_PATIENTS, "num_lab_procedures", 0, 128),
    "medicines": Column(_PATIENTS, "num_medications", 0, 128), "cholesterol": Column(_HEARTS, "totChol", 100, 500),
    "blood pressure": Column(_HEARTS, "sysBP", 80, 300), "body mass": Column(_HEARTS, "BMI", 15, 60),
    "glucose": Column(_HEARTS, "glucose", 0, 400),
    **{f"words of {name}": Stream(_WORDS, name) for name in ("AAPL", "AMZN", "GOOG", "KO", "CRM", "PFE", "CVS")},
    "doors": Stream(_DOORS, "observed"),
    **{f"walkers {place}": Stream(_WALKERS, str(place)) for place in range(5)}, "walkers": Stream(_WALKERS, ""),
}  # fmt: skip
"""The tables by name."""


def sample_of(name: str, cells: int, folder: Path, generator: np.random.Generator) -> Sample | None:
    """A table by its name; None where it is read from a file that is not there. Files always have 4,096 cells."""
    table = TABLES[name]
    if isinstance(table, Drawn):
        return table.sample(cells, generator)
    counts = _read(table, folder)
    return None if counts is None else Sample(Grid(0, 1, cells=CELLS), counts)


@lru_cache(maxsize=len(TABLES))
def _read(table: Column | Stream, folder: Path) -> Counts | None:
    import pandas as pd

    file = folder / table.file
    if not file.exists():
        return None
    apart = ";" if "bank" in table.file else ","
    read = pd.read_parquet(file) if file.suffix == ".parquet" else pd.read_csv(file, sep=apart, low_memory=False)
    if isinstance(table, Column):
        values = read[table.name].dropna().to_numpy(dtype=np.float64)
        places = np.clip(np.floor((values - table.lower) / (table.upper - table.lower) * CELLS), 0, CELLS - 1)
        return np.bincount(places.astype(np.int64), minlength=CELLS)
    numbers = read.select_dtypes("number")
    if table.name.isdigit():
        numbers = numbers.loc[:, numbers.notna().mean() > 0.9].iloc[:, [int(table.name)]]
    elif table.name:
        numbers = numbers[[table.name]]
    return np.asarray(numbers.sum(axis=1).to_numpy()[:CELLS].astype(np.int64))
