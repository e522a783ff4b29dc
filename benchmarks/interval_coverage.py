"""How often intervals of distributions cover: `python benchmarks/interval_coverage.py --releases 50`."""

from __future__ import annotations

import argparse
import sys
from math import sqrt
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "curves"))

from covered_distributions import CASES, Case, coverage


def main() -> None:
    """Print shares of releases in which all that was promised held, with a mark where they are far from the level."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--releases", type=int, default=5, help="of each of the 40 cases")
    options.add_argument("--level", type=float, default=0.9)
    options.add_argument("--data", help="one kind of data alone, as continuous")
    asked = options.parse_args()
    cases = [case for case in CASES if asked.data in (None, case.data)]
    held = {case: coverage(case, asked.level, asked.releases, 1000 * number) for number, case in enumerate(cases)}
    kinds = list(held[cases[0]])
    print(f"level {asked.level}, {asked.releases} releases of each case; * 4 standard deviations below, + above")
    print(f"{'':34}" + " ".join(f"{kind.split(',')[0][:9]:>9}{'*' if 'pop' in kind else ' '}" for kind in kinds))
    print(f"{'':34}(* for the population, else for these records)")
    for case, found in held.items():
        print(f"{name(case):34}" + " ".join(mark(found[kind], asked.releases, asked.level) for kind in kinds))
    many = asked.releases * len(cases)
    totals = (sum(found[kind] for found in held.values()) for kind in kinds)
    print(f"{'all':34}" + " ".join(mark(total, many, asked.level) for total in totals))


def name(case: Case) -> str:
    """What a case is called."""
    adjacency = ("add-remove", "replace-one")[case.adjacency]
    return f"{case.data} {case.units} {case.epsilon} {adjacency}"


def mark(held: int, releases: int, level: float) -> str:
    """A share, and whether it is far from the level."""
    share, spread = held / releases, 4 * sqrt(level * (1 - level) / releases)
    return f"{share:9.3f}" + ("*" if share < level - spread else "+" if share > level + spread else " ")


if __name__ == "__main__":
    main()
