"""How much is computed: all of the paper, a quick look, or a slice that tests can afford."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """One way to run the experiments.

    Attributes:
        levels: Depth L of the noise path over the synthetic data; it has 2**L points.
        runs: Releases of synthetic data that are averaged; 100 in the paper.
        record_runs: Releases of real data that are averaged; 100 in the paper.
        cost_levels: Largest depth at which all pairs of neighbours are searched.
        solver_levels: Depths at which solvers are timed.
        epsilons: Those of the synthetic experiments.
        record_epsilons: Those of the experiments with real data.
        rates: Records of each point in the mean.
    """

    levels: int
    runs: int
    record_runs: int
    cost_levels: int
    solver_levels: tuple[int, ...]
    epsilons: tuple[float, ...]
    record_epsilons: tuple[float, ...]
    rates: tuple[float, ...]


EPSILONS = 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0
FULL = Size(
    levels=15, runs=24, record_runs=32, cost_levels=10, solver_levels=tuple(range(6, 16)), epsilons=EPSILONS,
    record_epsilons=EPSILONS, rates=(0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0),
)  # fmt: skip
QUICK = Size(
    levels=12, runs=4, record_runs=5, cost_levels=8, solver_levels=(6, 7, 8, 9, 10), epsilons=EPSILONS,
    record_epsilons=(0.05, 0.2, 0.5, 1.0, 5.0), rates=(0.1, 1.0, 3.0, 10.0, 100.0, 1000.0),
)  # fmt: skip
TINY = Size(
    levels=7, runs=4, record_runs=2, cost_levels=5, solver_levels=(5, 6), epsilons=(0.1, 1.0),
    record_epsilons=(0.2, 1.0), rates=(3.0, 1000.0),
)  # fmt: skip
