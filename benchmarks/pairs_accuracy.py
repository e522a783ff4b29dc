"""Pairs of people: how exact means over pairs are, and what their noise takes inside of a circuit.

`python benchmarks/pairs_accuracy.py [--releases N]`. First RMSE over N releases (100 unless said) of 10^5 people, of a
kernel that is 0 or 1 (whether two even numbers of 16 bits have a sum of 2^16 or more) at epsilon 1, for the population:
people, pairs, coins are drawn anew each time. Beside it what the plan says, and Laplace noise for each pair as in Bell,
Bellet, Gascon and Kulkarni (2020, Theorem 5). Then ANDs and variances of each noise from finite coins. Nothing is
asserted.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from math import sqrt

import numpy as np
from rich.console import Console
from rich.table import Table

import dpcurves as dp
from dpcurves_parties.pairs.noise_circuits import BinaryResponse, LaplaceResponse, RoundedResponse, TernaryResponse
from dpcurves_parties.pairs.queries import Overlaps

PEOPLE, WHOLE = 10**5, 2**16
KERNEL = dp.pairs.Kernel(lambda x, y: x.value + y.value >= WHOLE, value=dp.pairs.Unsigned(16))
ZETAS = dp.pairs.Zetas(1 / 12, 1 / 4)
EACH, ON_SUM = dp.pairs.NoisePlacement.EACH, dp.pairs.NoisePlacement.ON_SUM
CASES = ((EACH, 1, "0.0049"), (EACH, 2, ""), (ON_SUM, 1, "0.0023"), (ON_SUM, 4, ""), (ON_SUM, 8, "0.0019"))
EPSILONS = ("1/4", "1/2", "1", "2", "4")


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=100)
    console = Console()
    console.print(errors(parser.parse_args().releases))
    console.print(noises())


def errors(releases: int) -> Table:
    """RMSE, as planned and as measured."""
    table = Table(title="RMSE, 10^5 people, 0/1 kernel, epsilon 1")
    for name in ("noise", "pairs each", "wanted", "planned", "measured"):
        table.add_column(name)
    planned = sqrt(4 / PEOPLE + variance(1))
    table.add_row("Laplace for each pair", "1", "0.0067", f"{planned:.4f}", f"{laplace(releases):.4f}")
    for noise, each, wanted in CASES:
        plan = dp.pairs.plan(
            KERNEL, people=PEOPLE, pairs_per_person=each, loss=dp.PrivacyLoss.pure(1), noise=noise, zetas=ZETAS
        )
        found = [simulated(plan, number) for number in range(releases)]
        name = "in each answer" if noise is EACH else "on the sum"
        table.add_row(name, str(each), wanted, f"{plan.error:.4f}", f"{root_mean_square(found):.4f}")
    every = sqrt(4 * ZETAS.zeta1 / PEOPLE)
    table.add_row("none, all pairs", str(PEOPLE - 1), "0.0018", f"{every:.4f}", "")
    return table


def simulated(plan: object, number: int) -> float:
    """How far one release is from the population's mean."""
    generator = np.random.default_rng(number)
    values = generator.integers(0, WHOLE, PEOPLE)
    seed = generator.bytes(32)
    found = dp.pairs.simulate(
        KERNEL, {"value": values}, plan, seed=seed, randomness=dp.Randomness.from_seed(number)  # type: ignore[arg-type]
    )  # fmt: skip
    return found.value - truth()


def truth() -> float:
    """The chance that two have a sum of 2^16 or more."""
    return (1 + 1 / WHOLE) / 2


def laplace(releases: int) -> float:
    """The RMSE of one pair each, with Laplace noise of scale 1 for each pair."""
    found = []
    for number in range(releases):
        generator = np.random.default_rng(number)
        one, other = generator.integers(0, WHOLE, (2, PEOPLE // 2))
        noisy = (one + other >= WHOLE) + generator.laplace(0, 1, PEOPLE // 2)
        found.append(float(noisy.mean()) - truth())
    return root_mean_square(found)


def variance(each: int) -> float:
    """The variance of the mean over pairs, without noise."""
    overlaps: Overlaps = dp.pairs.Permutations(each).compute_expected_overlaps(PEOPLE)
    return overlaps.variance(*ZETAS)


def root_mean_square(errors: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))


def noises() -> Table:
    """ANDs of coins, and variances where they are largest, in squares of the kernel's range."""
    table = Table(title="noise of one pair: variance (ANDs), and of Laplace noise without end")
    for name in ("epsilon", "yes or no", "-1, 0, 1", "one bit of 32", "64 steps", "Laplace"):
        table.add_column(name)
    for text in EPSILONS:
        epsilon = Fraction(text)
        ways = (
            BinaryResponse(epsilon),
            TernaryResponse(epsilon),
            RoundedResponse(epsilon, 0, 2**32 - 1, 0),
            LaplaceResponse(epsilon, 64),
        )
        ranges = (1, 2, 2**32 - 1, 64)
        told = [f"{way.max_variance / far**2:.4f} ({way.and_count})" for way, far in zip(ways, ranges, strict=True)]
        table.add_row(text, *told, f"{2 / float(epsilon) ** 2:.4f}")
    return table


if __name__ == "__main__":
    main()
