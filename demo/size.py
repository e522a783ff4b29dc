"""The size and output folder of a demo: all of its data, or with `--quick` a part of it, as in `make test`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

QUICK = "--quick" in sys.argv[1:]
OUT = Path(__file__).parent / "out" / ("quick" if QUICK else "")


def choose(whole: T, quick: T) -> T:
    """Return the value for the whole demo, or the one for `--quick`."""
    return quick if QUICK else whole
