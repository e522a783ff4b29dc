"""How much is computed of residual plots."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ResidualSize:
    """One way to run the experiments on residual plots.

    Attributes:
        records: Records of each made-up data set.
        products: Records times epsilon at which plots are told apart.
        plots: Plots of each model, by PriRP.
        close_plots: Those by PriRP as printed, at the product where they lie close to a mark.
        package_plots: Plots of each model, and of each strength of the table, by dpcurves, which takes fifty times as
            long as PriRP.
        close_package_plots: Those of each model by dpcurves, at the product where they lie close to a mark.
        table_records: Records of each plot of the table.
        table_sets: Confidential plots of the table, for each strength.
        table_plots: Private plots of the table by PriRP, for each strength.
        regret_epsilons: At which histogram algorithms are compared.
        regret_runs: Plots of each model by each algorithm, at each epsilon.
        slopes: Private plots of a line that was trained in private, and of earnings.
    """

    records: int
    products: tuple[int, ...]
    plots: int
    close_plots: int
    package_plots: int
    close_package_plots: int
    table_records: tuple[int, ...]
    table_sets: int
    table_plots: int
    regret_epsilons: tuple[float, ...]
    regret_runs: int
    slopes: int


RESIDUAL_FULL = ResidualSize(
    records=5000, products=(150, 200, 250, 300, 500, 1000, 2000), plots=1000, close_plots=10_000,
    package_plots=100, close_package_plots=1000, table_records=(1000, 2000, 5000), table_sets=1000, table_plots=1000,
    regret_epsilons=(0.1, 0.2, 0.5, 1.0), regret_runs=20, slopes=100,
)  # fmt: skip
RESIDUAL_QUICK = ResidualSize(
    records=5000, products=(250, 300, 500, 1000), plots=100, close_plots=100, package_plots=100,
    close_package_plots=100, table_records=(1000,), table_sets=200, table_plots=100,
    regret_epsilons=(0.1, 1.0), regret_runs=5, slopes=20,
)  # fmt: skip
RESIDUAL_TINY = ResidualSize(
    records=500, products=(1000,), plots=3, close_plots=3, package_plots=3, close_package_plots=3,
    table_records=(1000,), table_sets=5, table_plots=3, regret_epsilons=(1.0,), regret_runs=1, slopes=2,
)  # fmt: skip
