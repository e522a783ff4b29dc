"""How often intervals of readings of scores cover: `python benchmarks/coverage_of_score_readings.py --releases 50`."""

from __future__ import annotations

import argparse
import sys
from math import sqrt
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "curves"))

from covered_scores import CASES, Case, coverage


def main() -> None:
    """Print shares of releases in which each interval held, with a mark where they are far from the level."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--releases", type=int, default=20, help="of each of the 36 cases")
    options.add_argument("--level", type=float, default=0.9)
    options.add_argument("--data", help="one kind of data alone, as rare")
    asked = options.parse_args()
    cases = [case for case in CASES if asked.data in (None, case.data)]
    found = {case: coverage(case, asked.level, asked.releases, 1000 * number) for number, case in enumerate(cases)}
    kinds = [kind for kind in found[cases[0]] if ", population" not in kind]
    print(f"level {asked.level}, {asked.releases} releases of each case; * 4 standard deviations below, + above")
    for words, more in (("for these records", ""), ("for the population", ", population")):
        print(f"\n{words:34}" + " ".join(f"{kind[:9]:>10}" for kind in kinds))
        for case, held in found.items():
            print(f"{name(case):34}" + " ".join(mark(held[kind + more], asked.releases, asked.level) for kind in kinds))
        many = asked.releases * len(cases)
        totals = (sum(held[kind + more] for held in found.values()) for kind in kinds)
        print(f"{'all':34}" + " ".join(mark(total, many, asked.level) for total in totals))


def name(case: Case) -> str:
    """What a case is called."""
    return f"{case.data} {case.records} {case.epsilon} {('add-remove', 'replace-one')[case.adjacency]}"


def mark(held: int, releases: int, level: float) -> str:
    """A share, and whether it is far from the level."""
    share, spread = held / releases, 4 * sqrt(level * (1 - level) / releases)
    return f"{share:9.3f}" + ("*" if share < level - spread else "+" if share > level + spread else " ")


if __name__ == "__main__":
    main()
