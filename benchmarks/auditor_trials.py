"""Trials of the auditor as typed: 50 honest releases, ten kinds of faults, and mutants of this package.

`python benchmarks/auditor_trials.py [--part honest|faulty|mutants] [--minutes M] [--anew]
[--file FILE]`. Each row is one run of
`dpcurves audit`, and is kept in `auditor_trials.json` with the commit; rows that are there are not made again. After M
minutes no new row begins. The table is printed at the end. `--anew` forgets the rows of a part.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE)]

import audited_releases  # noqa: E402
from audited_mutants import MUTANTS, plant_mutant  # noqa: E402

KEPT = HERE / "auditor_trials.json"
FLAGGED = 6
"""Exit status of `dpcurves audit` for a flagged release."""
HONEST_SECONDS = "8"
"""Seconds of a search of an honest release."""
FAULTY_SECONDS = "60"
"""Seconds of a search of a faulty release."""
QUESTIONS = (
    "cdf --sampler json --adjacency add-remove", "histogram --adjacency replace-one", "mean --adjacency add-remove",
    "roc --adjacency add-remove", "bounds --adjacency replace-one",
)  # fmt: skip
PARTS = "honest", "faulty", "mutants"


def list_trials(part: str) -> Iterator[tuple[str, list[str], str]]:
    """Yield the name of each trial of a part, the words after `dpcurves audit`, and the mutant that is planted."""
    if part == "mutants":
        for mutant in MUTANTS:
            yield mutant.name, ["self", "--quick", "--confidence", "0.9999", "--only", mutant.only], mutant.name
        return
    trials = audited_releases.HONEST if part == "honest" else audited_releases.FAULTY
    seconds = ["--seconds", HONEST_SECONDS if part == "honest" else FAULTY_SECONDS]
    for name, trial in trials.items():
        yield name, ["package", f"audited_releases:{name}", "--family", trial.family, *trial.claim, *seconds], ""
    if part == "honest":
        for question in QUESTIONS:
            yield f"dpcurves {question}", [*question.split(), "--epsilon", "1", *seconds], ""
        for kind in ("plain", "keyed", "failing"):
            command = f"{sys.executable} -S -E {HERE / 'audited_command.py'} {kind} {{data}}"
            yield f"command: {kind}", ["command", command, "--family", "values:0:1:8", "--epsilon", "1", *seconds], ""


def run_trial(words: Sequence[str], mutant: str) -> dict[str, Any]:
    """Run the auditor; return its exit status, what it said, and the processor seconds of it and of its children."""
    with TemporaryDirectory() as folder:
        source = plant_mutant(mutant, Path(folder)) if mutant else ROOT / "src"
        path = os.pathsep.join([str(source), str(HERE)])
        before = os.times()
        command = [str(Path(sys.executable).with_name("dpcurves")), "audit", *words]
        run = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=folder,
            env=os.environ | {"PYTHONPATH": path},
        )  # fmt: skip
        after = os.times()
    said = [line for line in (run.stdout + run.stderr).splitlines() if line.strip()]
    verdicts = [line for line in said if "lagged" in line or "FLAGGED" in line]
    verdicts.sort(key=lambda line: "FLAGGED" not in line)  # stable: what was found stands first
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    return {"status": run.returncode, "said": (verdicts or said[-1:])[:3], "seconds": round(seconds, 1)}


def read_commit() -> str:
    """Return the commit of this checkout."""
    git = ["git", "-C", str(ROOT), "rev-parse", "--short=10", "HEAD"]
    return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    """Run the trials that are not kept yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append", help="one part; all parts if it is left out")
    parser.add_argument("--minutes", type=float, default=60.0, help="minutes after which no new trial begins")
    parser.add_argument("--anew", action="store_true", help="forget the kept rows of these parts")
    parser.add_argument("--file", type=Path, default=KEPT, help="the file of rows: one for each run at the same time")
    given = parser.parse_args()
    rows: dict[str, dict[str, Any]] = json.loads(given.file.read_text("utf-8")) if given.file.exists() else {}
    begun, commit = time.monotonic(), read_commit()
    for part in given.part or PARTS:
        kept = rows.setdefault(part, {})
        if given.anew:
            kept.clear()
        for name, words, mutant in list_trials(part):
            if name in kept or time.monotonic() - begun > 60 * given.minutes:
                continue
            kept[name] = run_trial(words, mutant) | {"commit": commit}
            print(part, name, kept[name], flush=True)
            given.file.write_text(json.dumps(rows, indent="\t") + "\n", encoding="utf-8")
    for part, kept in rows.items():
        flagged = [name for name, row in kept.items() if row["status"] == FLAGGED]
        unflagged = [name for name in kept if name not in flagged]
        odd = {name: row["status"] for name, row in kept.items() if row["status"] not in (0, FLAGGED)}
        exceptions = flagged if part == "honest" else unflagged
        print(f"{part}: {len(flagged)} of {len(kept)} flagged; exceptions {exceptions}; other statuses {odd}")


if __name__ == "__main__":
    main()
