"""Streams in place of the campus traces of chapter 5, which were never published: numbers of tweets in 5 minutes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

FILE = Path("streams") / "nab_twitter_volume_5min.csv"
BUSY = "AAPL"
"""In place of High_5, of which figures of windows and events are drawn."""
SENSORS = Path("streams") / "melbourne_pedestrians_hourly.parquet"
STATES, MOST_USED, TUPLES = 128, 32, 646_254
STREAMS = ("CVS", "PFE", "CRM", "IBM", "UPS", "GOOG")


def are_there(folder: Path) -> bool:
    """Whether the streams can be read."""
    return (folder / FILE).exists()


def have_states(folder: Path) -> bool:
    """Whether the hierarchy can be read."""
    return (folder / SENSORS).exists()


def streams(folder: Path, time_steps: int) -> dict[str, NDArray[np.int64]]:
    """The first counts of each stream."""
    return {name: stream(folder, name, time_steps) for name in STREAMS}


def stream(folder: Path, name: str, time_steps: int) -> NDArray[np.int64]:
    """The first counts of one stream."""
    table = pd.read_csv(folder / FILE)
    column = next(each for each in table if each.rpartition("_")[2] == name)
    counts: NDArray[np.int64] = table[column].dropna().to_numpy(np.int64)[:time_steps]
    return counts


def states(folder: Path, time_steps: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Counts of 128 states, (time_steps, states): pedestrians, thinned to the total of Multi_5 by unequal factors."""
    sensors = pd.read_parquet(folder / SENSORS).select_dtypes("number").fillna(0).to_numpy()
    walkers = np.tile(sensors[:, np.argsort(-sensors.sum(axis=0))[:MOST_USED]], STATES // MOST_USED)[:20_000]
    factors = np.exp(generator.uniform(np.log(0.1), np.log(10), STATES))
    factors *= TUPLES / float((walkers * factors).sum())
    counts: NDArray[np.int64] = generator.binomial(walkers.astype(np.int64), np.minimum(factors, 1))[:time_steps]
    return counts
