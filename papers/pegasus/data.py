"""Streams in place of the campus traces of chapter 5, which were never published: numbers of tweets in 5 minutes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

FILE = Path("streams") / "nab_twitter_volume_5min.csv"
STREAMS = ("CVS", "PFE", "CRM", "IBM", "UPS", "GOOG")


def are_there(folder: Path) -> bool:
    """Whether the streams can be read."""
    return (folder / FILE).exists()


def streams(folder: Path, ticks: int) -> dict[str, NDArray[np.int64]]:
    """The first counts of each stream."""
    table = pd.read_csv(folder / FILE)
    columns = {name: next(each for each in table if each.rpartition("_")[2] == name) for name in STREAMS}
    return {name: table[column].dropna().to_numpy(np.int64)[:ticks] for name, column in columns.items()}
