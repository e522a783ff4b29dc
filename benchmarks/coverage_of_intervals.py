"""How often do intervals and bands hold what they say, on all kinds of data?

`python benchmarks/coverage_of_intervals.py [FAMILY ...] [--releases N] [--level P] [--data KIND]`. Data are tied,
heaped, zero-inflated, clipped or continuous; there are 1,000 or 100,000 records, epsilon is 0.1 or 1, a record is
added or replaced: 40 cases. For each kind of interval, the share of the releases that it held in: of all, of those
that agree in one of the four, and of each case; * is below the level, + above it by what chance does once in 30,000
times.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "curves"))

from families import FAMILIES, Family
from kinds import DATA
from tally import FIELDS, Share, Tally, tally

RELEASES, LEVEL = 10, 0.9
ADJACENCIES = "add or remove", "replace"


def printed(name: str, family: Family, found: Tally, releases: int) -> Table:
    """A line for each case, and for all that agree in something."""
    title = f"{name}: {releases} releases of each case, level {found.level}"
    table = Table("cases", *(kind + " (cautious)" * (kind in family.cautious) for kind in found.kinds), title=title)
    for field in FIELDS:
        pooled = found.pooled(field)
        for where in dict.fromkeys(place for place, _ in pooled):
            shares = [pooled.get((where, kind), Share(0, 0)) for kind in found.kinds]
            table.add_row(words(field, where), *(marked(share, found.level) for share in shares))
    table.add_section()
    for case in dict.fromkeys(case for case, _ in found.drawn):
        shares = [Share(found.held.get((case, kind), 0), found.drawn.get((case, kind), 0)) for kind in found.kinds]
        called = f"{case.data}, {case.units:,}, {case.epsilon}, {ADJACENCIES[case.adjacency]}"
        table.add_row(called, *(marked(share, found.level) for share in shares))
    return table


def words(field: str | None, where: object) -> str:
    """What cases that agree in a field are called."""
    if field == "adjacency":
        return ADJACENCIES[int(str(where))]
    return "all" if field is None else f"{where}" if field == "data" else f"{field} {where}"


def marked(share: Share, level: float) -> str:
    """A share, and whether it is far from the level."""
    if share.drawn == 0:
        return ""
    return f"{share.held / share.drawn:.3f}" + "*" * share.is_below(level) + "+" * share.is_above(level)


def main() -> None:
    """Draw all releases of some families, and print them."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("family", nargs="*", help=f"of {', '.join(FAMILIES)}; all unless said")
    options.add_argument("--releases", type=int, default=RELEASES, help=f"of each case; {RELEASES} unless said")
    options.add_argument("--level", type=float, default=LEVEL)
    options.add_argument("--data", choices=DATA, help="one kind of data alone")
    asked = options.parse_args()
    for name in asked.family or FAMILIES:
        family = FAMILIES[name]
        cases = [case for case in family.cases if asked.data in (None, case.data)]
        found = tally(family.covered, cases, asked.level, asked.releases)
        Console(width=60 + 14 * len(found.kinds)).print(printed(name, family, found, asked.releases))


if __name__ == "__main__":
    main()
