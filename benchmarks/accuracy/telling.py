"""From how many records times epsilon on models are told apart: as the record of the papers' reproduction has it.

Nothing is measured here. `python papers/regression_diagnostics/run.py` measures, and keeps what it found.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from .lines import Line, Run

FOUND = Path(__file__).parents[2] / "papers" / "regression_diagnostics" / "verdicts.toml"
MARKS = {
    "residual plots": ("section43-likely", 200),
    "areas of ROC curves 0.025 apart": ("section33-least", 500),
    "binned residuals": ("figure414-least", 2000),
}
"""Which entry of the record tells of them, and what is to be reached."""


def lines(run: Run, step: Callable[[str], None]) -> Iterator[Line]:
    """A line for each kind."""
    found = tomllib.loads(FOUND.read_text(encoding="utf-8"))
    for kind, (entry, mark) in MARKS.items():
        least = float(found[entry]["package"])
        regime = f"telling apart, {kind}"
        if run.takes(regime):
            yield Line(regime, "least n*eps, nine of ten, as kept", mark, least, 0.0, least, "")
