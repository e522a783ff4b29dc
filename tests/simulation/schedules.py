"""Schedules that were run, kept in `schedules.json`: `python schedules.py SCENARIO SECONDS` goes on after the last.

It stops after so many seconds, prints schedules that fail, and writes the table of docs/simulation.md. Seeds of an
earlier simulator say nothing of this one: after a change of its decisions, remove the file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any

from dpcurves_sim.cli import run_seeds

KEPT = Path(__file__).parent / "schedules.json"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "simulation.md"
BEGIN, END = "<!-- schedules: made by tests/simulation/schedules.py -->\n", "<!-- /schedules -->"
EVENTS = 150
"""Events after which no fault strikes, as `dpcurves-sim` takes it."""


def format_table(kept: Mapping[str, Any]) -> str:
    """Return the table of docs/simulation.md."""
    rows = [
        f"| {scenario} | 0 to {counts['schedules'] - 1:,} | {counts['events']:,} | {counts['faults']:,} |"
        f" {', '.join(map(str, counts['failed'])) or 'none'} | {counts['seconds'] / counts['schedules']:.2f} |\n"
        for scenario, counts in kept.items()
    ]
    head = "| scenario | seeds | events | faults | failed | CPU seconds of a schedule |\n|---|---|---:|---:|---|---:|\n"
    return head + "".join(rows)


def run_further(scenario: str, seconds: float) -> None:
    """Run schedules of a scenario for so many seconds, and keep what came of them."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    counts = kept.setdefault(scenario, {"schedules": 0, "events": 0, "faults": 0, "failed": [], "seconds": 0.0})
    end = monotonic() + seconds
    while monotonic() < end:
        seed = counts["schedules"]
        summary = run_seeds(scenario, EVENTS, range(seed, seed + 1))
        for outcome in summary.failures:
            print(outcome, flush=True)
            counts["failed"].append(outcome.schedule.seed)
        counts["schedules"] += 1
        counts["events"] += summary.events
        counts["faults"] += summary.faults
        counts["seconds"] = round(counts["seconds"] + summary.seconds, 2)
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + format_table(kept) + END + rest.partition(END)[2])


if __name__ == "__main__":
    run_further(sys.argv[1], float(sys.argv[2]))
