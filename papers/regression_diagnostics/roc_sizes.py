"""How much is computed of ROC curves and of binned residuals."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RocSize:
    """One way to run the experiments on ROC curves.

    Attributes:
        runs: Releases of each text data set, by each method, at each epsilon.
        epsilons: At which text data sets are released.
        levels: How often scores are halved where algorithms and budgets are compared.
        surveys: Releases of each text data set, by each histogram algorithm, at each epsilon.
        ratios: Shares of the budget for thresholds.
        splits: Releases of each text data set, for each of these.
        split_epsilons: At which epsilons.
        records: Records of a synthetic ROC curve.
        repetitions: Releases of each, of which a t-test is made.
        told: Records times epsilon at which synthetic curves are told apart, and how often this is done: as printed.
        told_right: How often, with PriROC put right.
        told_package: How often, with dpcurves.
        told_finely: How often, for areas that are 0.01 apart, as printed, and with dpcurves.
    """

    runs: int
    epsilons: tuple[float, ...]
    levels: int
    estimators: int
    ratios: tuple[float, ...]
    splits: int
    split_epsilons: tuple[float, ...]
    records: int
    repetitions: int
    told: dict[int, int]
    told_right: dict[int, int]
    told_package: dict[int, int]
    told_finely: dict[int, tuple[int, int]]


@dataclass(frozen=True)
class BinnedSize:
    """One way to run the experiments on binned residuals.

    Attributes:
        records: Records of a plot.
        plots: Releases of each model, by each method.
        products: Records times epsilon at which models are told apart, as printed.
        products_package: Those with dpcurves.
        open: Records of plots without noise.
        open_plots: How many of each.
        split_records: Records of a plot where budgets are compared.
        splits: Releases of each model, for each share.
        ratios: Shares of the budget for bins; as much, or in dpcurves two thirds of it, is for joining them.
        split_epsilons: At which epsilons.
    """

    records: int
    plots: int
    products: tuple[int, ...]
    products_package: tuple[int, ...]
    open: tuple[int, ...]
    open_plots: int
    split_records: int
    splits: int
    ratios: tuple[float, ...]
    split_epsilons: tuple[float, ...]


ROC_FULL = RocSize(
    runs=40, epsilons=(0.1, 0.2, 0.5, 1.0), levels=10, estimators=20,
    ratios=(0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95), splits=25, split_epsilons=(0.1, 1.0),
    records=1000, repetitions=20, told={200: 5, 500: 5, 700: 5, 1000: 10, 2000: 5},
    told_right={200: 5, 500: 5, 700: 5, 1000: 10, 2000: 5},
    told_package={200: 10, 250: 10, 300: 10, 400: 10, 500: 10, 700: 10, 1000: 10, 2000: 10},
    told_finely={2000: (1, 3)},
)  # fmt: skip
ROC_QUICK = RocSize(
    runs=20, epsilons=(0.1, 1.0), levels=10, estimators=10, ratios=(0.05, 0.1, 0.2, 0.5, 0.8, 0.95), splits=20,
    split_epsilons=(0.1, 1.0), records=1000, repetitions=20, told={200: 1, 500: 1, 1000: 1, 2000: 1},
    told_right={200: 1, 500: 1, 1000: 1, 2000: 1}, told_package={200: 3, 300: 3, 500: 3, 1000: 3, 2000: 3},
    told_finely={},
)  # fmt: skip
ROC_TINY = RocSize(
    runs=2, epsilons=(1.0,), levels=4, estimators=1, ratios=(0.2, 0.95), splits=1, split_epsilons=(1.0,), records=64,
    repetitions=2, told={1000: 1}, told_right={1000: 1}, told_package={1000: 1}, told_finely={},
)  # fmt: skip
BINNED_FULL = BinnedSize(
    records=50_000, plots=500, products=(5000, 10_000, 20_000),
    products_package=(1500, 2000, 2500, 3000, 5000, 20_000),
    open=(500, 1000, 1500, 2000, 2500, 3000, 3500), open_plots=500, split_records=10_000, splits=100,
    ratios=(0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.45), split_epsilons=(0.1, 1.0),
)  # fmt: skip
BINNED_QUICK = BinnedSize(
    records=50_000, plots=100, products=(5000, 20_000), products_package=(1000, 2000, 3000, 20_000),
    open=(500, 2000, 3500), open_plots=100, split_records=10_000, splits=20,
    ratios=(0.05, 0.15, 0.3, 0.45), split_epsilons=(0.1, 1.0),
)  # fmt: skip
BINNED_TINY = BinnedSize(
    records=2000, plots=3, products=(20_000,), products_package=(20_000,), open=(500,), open_plots=3,
    split_records=500, splits=1, ratios=(0.15, 0.45), split_epsilons=(1.0,),
)  # fmt: skip
