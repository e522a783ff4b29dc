"""Exact privacy losses of choosing mechanisms over what they claim; PeGaSus near its worst case; trees of streams.

`python benchmarks/exact_losses.py [RECORDS [CELLS]]`: all tiny neighbours of up to so many records (3), on about so
many cells (3); 4 and 4 take some minutes. Columns: a unit of 1, 2 and 3 records that comes or goes, and one that is
replaced. Then groups of PeGaSus, longer and longer, with 0.2 of a small epsilon; and a tree of three time steps, under
all rules by which answers may tell when a tuple comes.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
from command_line import parse_numbers

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "mechanisms"))

from choice_distributions import table
from stream_worst import (
    CEILING,
    Tuples,
    distributions_of_answers,
    divergence_over_order,
    log_chance_of_group,
    worst_group,
)

import dpcurves as dp
from dpcurves.distributions import Family, Noise
from dpcurves.privacy import EACH_RECORD, AddRemove
from dpcurves_streams.distributions import GroupedCounts, PrefixTree
from dpcurves_streams.mechanisms import Pegasus
from dpcurves_streams.queries import GroupedTimeStepQuery

LOSSES = dp.PrivacyLoss.pure("1.2"), dp.PrivacyLoss.zcdp("0.3")


def main() -> None:
    """Print the worst over what is claimed of each."""
    given = parse_numbers(__doc__, records=3, cells=3)
    records, cells = given.records, given.cells
    begun, worst = time.process_time(), 0.0
    print(f"{'worst over claimed, up to ' + str(records) + ' records':<52}" + "".join(
        f"{kind} {unit:<4}" for kind in ("add", "move") for unit in (1, 2, 3)
    ))  # fmt: skip
    for name, shares in table(LOSSES, records, cells):
        worst = max(worst, *shares)
        print(f"{name:<52}" + "".join(f"{share:<8.4f}" for share in shares), flush=True)
    print(f"worst of all: {worst:.6f}; {time.process_time() - begun:.0f} CPU seconds", flush=True)
    groups()
    trees()


def groups() -> None:
    """Print what long groups of PeGaSus lose."""
    query = GroupedTimeStepQuery((dp.Categories("state", ("a",)),), None, deviation=Fraction(1, 100))
    plan = Pegasus().plan(query, dp.PrivacyLoss.pure("0.0001"), AddRemove(EACH_RECORD))
    distribution = plan.distribution.require_type(GroupedCounts)
    epsilon = float(query.budget_fraction) * 1e-4
    print(f"groups of PeGaSus, over the epsilon of the Grouper (at most {CEILING:.4f}), and over that of both")
    for time_steps in (10, 50, 200, 800, 2000):
        ours, theirs = (log_chance_of_group(values, distribution) for values in worst_group(time_steps))
        found = abs(ours - theirs) / epsilon
        print(
            f"{time_steps:>6} time steps{found:>10.4f}{1 - float(query.budget_fraction) * (1 - found):>10.4f}",
            flush=True,
        )


def trees() -> None:
    """Print what trees lose under every rule by which answers may tell when a tuple comes."""
    orders = (1.05, 1.5, 2.0, 2.5, 3.7)
    for variances in (("1", "1/2"), ("1/2", "1/2")):
        tree = PrefixTree((3, 1), tuple(Noise(Family.GAUSSIAN, Fraction(each)) for each in variances))
        rho, worst = float(sum(1 / (2 * Fraction(each)) for each in variances)), dict.fromkeys(orders, 0.0)
        for bits in product((False, True), repeat=9):  # before the first answer there is one class
            comes = np.array([[bits[0]] * 4, bits[1:5], bits[5:]])
            distributions = distributions_of_answers(tree, Tuples(comes), reach=6)
            for order in orders:
                found = max(divergence_over_order(*pair, order, 1e-15) for pair in (distributions, distributions[::-1]))
                worst[order] = max(worst[order], found / rho)
        told = ", ".join(f"{order:g}: {found:.4f}" for order, found in worst.items())
        print(f"a tree with variances {', '.join(variances)}, 512 rules, over rho at orders {told}", flush=True)


if __name__ == "__main__":
    main()
