"""How often the test of independence calls independent columns dependent, and how often it finds a dependence.

`python benchmarks/independence.py [--releases N]`. For tables of two shapes with even and uneven margins, numbers of
records and epsilons, N releases (2000 unless said) of independent columns, half of them under each adjacency: shares of
p-values up to 0.01, 0.05 and 0.2; and of columns where a tenth, or a fifth, of the records agree: the share up to 0.05.
Nothing is asserted.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from dpcurves.conversation import Release, Step
from dpcurves.curves import ContingencyQuestion
from dpcurves.curves.contingency import Contingency
from dpcurves.data import Categories
from dpcurves.ledger import Grant, QuestionBudget
from dpcurves.mechanisms import AUTO
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.session import answer_steps
from dpcurves.trust import Central, run_conversation

MARGINS = {
    "2 x 2, even": ((1, 1), (1, 1)), "2 x 2, rare": ((19, 1), (9, 1)), "3 x 5, uneven": ((8, 3, 1), (5, 4, 3, 2, 1)),
}  # fmt: skip
RECORDS, EPSILONS, AGREEING = (300, 3000), ("0.1", "1"), (0.1, 0.2)
LEVELS = 0.01, 0.05, 0.2
COLUMNS = "table", "records", "epsilon", *(f"null <= {level}" for level in LEVELS), *(f"{a} agree" for a in AGREEING)

Counts = NDArray[np.int64]


def main() -> None:
    """Print one row for each kind of table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=2000)
    releases = parser.parse_args().releases
    table = Table(*COLUMNS, title=f"Independence, {releases} releases each")
    for name in MARGINS:
        for records in RECORDS:
            for epsilon in EPSILONS:
                null = np.fromiter(p_values(name, records, epsilon, 0.0, releases), dtype=np.float64)
                found = [
                    np.mean([p <= 0.05 for p in p_values(name, records, epsilon, each, max(1, releases // 10))])
                    for each in AGREEING
                ]
                shares = [f"{np.mean(null <= level):.3f}" for level in LEVELS]
                table.add_row(name, str(records), epsilon, *shares, *(f"{share:.2f}" for share in found))
    Console(width=140).print(table)


def p_values(name: str, records: int, epsilon: str, agreeing: float, releases: int) -> Iterator[float]:
    """The p-values of so many releases."""
    for seed in range(releases):
        chance = np.random.default_rng([seed, records])
        adjacency = (AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, records))[seed % 2]
        exact = counts(MARGINS[name], records, agreeing, chance)
        yield released(exact, PrivacyLoss.pure(Fraction(epsilon)), adjacency, seed).p_value


def counts(
    margins: tuple[tuple[int, ...], tuple[int, ...]], records: int, agreeing: float, chance: np.random.Generator
) -> Counts:
    """A table of records, of which some have the category of their row, if there is one, as their column."""
    rows, columns = (chance.choice(len(each), records, p=np.array(each) / sum(each)) for each in margins)
    agree = (chance.random(records) < agreeing) & (rows < len(margins[1]))
    table = np.zeros((len(margins[0]), len(margins[1])), dtype=np.int64)
    np.add.at(table, (rows, np.where(agree, rows, columns)), 1)
    return table


def released(exact: Counts, loss: PrivacyLoss, adjacency: Adjacency, seed: int) -> Contingency:
    """One release of a table."""
    names = (Categories(name, tuple(range(size))) for name, size in zip("ab", exact.shape, strict=True))
    budget = QuestionBudget(Grant("independence", loss, "benchmark", 1))

    def reply(step: Step) -> Release:
        allotment = budget.pay(step.query.charged_query, step.budget_fraction)
        plan = AUTO.plan(step.query, allotment.loss, adjacency)
        drawn = AUTO.run(np.append(exact.ravel(), 0), plan, Randomness.from_seed(seed))
        return Release(plan, drawn, allotment, seeded=True)

    return answer_steps(run_conversation(ContingencyQuestion(*names), loss, adjacency, Central()), reply)


if __name__ == "__main__":
    main()
