"""A process that looks at thresholds, tells what it saw, and may die between the note and the telling."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import dpcurves as dp
from dpcurves.distributions import ThresholdSums
from dpcurves.ledger import Grant, Ledger

GRID = dp.Grid(-8, 8, cells=2**32)
ONE = dp.PrivacyLoss.pure(1)


def table() -> dict[str, object]:
    return {"x": np.random.default_rng(23).normal(size=500)}


def session(url: str) -> dp.Session:
    return dp.Session(table(), budget=dp.PrivacyLoss.pure(2), adjacency=dp.ADD_REMOVE, ledger=url)


def look(opened: dp.Session, edges: list[int]) -> dict[int, int]:
    (found,) = opened.ask(dp.CdfQuestion("x", GRID, edges=tuple(edges)), ONE, "tree").rounds
    counts = dict(zip(found.distribution.require_type(ThresholdSums).path.prefix_lengths, found.values, strict=False))
    return {edge: counts[edge] for edge in edges}


def tell(url: str, edges: list[int], file: Path) -> None:
    """Look at one threshold after the other, over and over, and write down what was seen."""
    opened = session(url)
    with file.open("a") as told:
        for edge in edges * 1000:
            told.write(json.dumps(look(opened, [edge])) + "\n")
            told.flush()
            os.fsync(told.fileno())


def die_before_telling(url: str, edges: list[int], file: Path) -> None:
    """Note what the threshold needs, durably, and be killed before anybody sees the answer."""
    opened, remember = session(url), Ledger.store_notes

    def remember_and_die(self: Ledger, grant: Grant, part: int, notes: Mapping[str, int]) -> dict[str, int]:
        noted = remember(self, grant, part, notes)
        if any(":" in name for name in notes):
            os.kill(os.getpid(), signal.SIGKILL)
        return noted

    Ledger.store_notes = remember_and_die  # type: ignore[method-assign]
    file.write_text(json.dumps(look(opened, edges)))


def tell_once(url: str, edges: list[int], file: Path) -> None:
    """Look at all thresholds at once."""
    file.write_text(json.dumps(look(session(url), edges)))


if __name__ == "__main__":
    works = {work.__name__: work for work in (tell, die_before_telling, tell_once)}
    works[sys.argv[1]](sys.argv[2], json.loads(sys.argv[3]), Path(sys.argv[4]))
