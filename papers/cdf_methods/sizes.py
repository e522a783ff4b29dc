"""How much is computed: all of the article, a quick look, or a slice that tests can afford."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """One way to run the experiments.

    Attributes:
        records: Records of each sample.
        runs: Releases that are averaged, each of a sample of its own.
        epsilons: At which methods are compared; 1 is among them.
        deviations: Standard deviations of the samples; 1 is among them.
        quantiles: How many quantiles the first two methods may release: the best number is searched.
        bins: How many bins the histogram may have.
        rounds: How many rounds the dichotomy may take.
        ranks: Numbers of records for which the work on smooth sensitivities is counted.
    """

    records: int
    runs: int
    epsilons: tuple[float, ...]
    deviations: tuple[float, ...]
    quantiles: tuple[int, ...]
    bins: tuple[int, ...]
    rounds: tuple[int, ...]
    ranks: tuple[int, int]


FULL = Size(
    records=10_000, runs=12, epsilons=(0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0), deviations=(1.0, 0.3, 0.1, 0.03, 0.01),
    quantiles=(1, 2, 3, 5, 9, 19, 39, 79), bins=(4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048),
    rounds=(4, 8, 16, 24, 32, 48, 64, 128, 256), ranks=(1000, 4000),
)  # fmt: skip
QUICK = Size(
    records=10_000, runs=4, epsilons=(0.01, 0.1, 1.0, 10.0), deviations=(1.0, 0.1, 0.01),
    quantiles=(1, 3, 9, 19, 39), bins=(4, 8, 16, 32, 64, 128, 256, 512, 1024), rounds=(4, 8, 16, 32, 64, 128),
    ranks=(500, 2000),
)  # fmt: skip
TINY = Size(
    records=2000, runs=2, epsilons=(0.1, 1.0), deviations=(1.0, 0.01), quantiles=(1, 9), bins=(8, 64, 512),
    rounds=(8, 32), ranks=(50, 200),
)  # fmt: skip
