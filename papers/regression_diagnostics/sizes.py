"""How much is computed: all of the papers, a quick look, or a slice that tests can afford."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """One way to run the experiments.

    Attributes:
        runs: Releases of each text data set, by each method, at each epsilon.
        epsilons: At which text data sets are released.
        ranked: Records of a synthetic ROC curve.
        repetitions: Releases of each, of which a t-test is made.
        ranking_products: Records times epsilon at which ROC curves are told apart: those of the papers, and others.
        residuals: Records of a residual plot.
        residual_products: Records times epsilon at which residual plots are told apart.
        plots: Residual plots of each model, by each method.
    """

    runs: int
    epsilons: tuple[float, ...]
    ranked: int
    repetitions: int
    ranking_products: tuple[int, ...]
    residuals: int
    residual_products: tuple[int, ...]
    plots: int


FULL = Size(
    runs=50, epsilons=(0.1, 0.2, 0.5, 1.0), ranked=1000, repetitions=20,
    ranking_products=(200, 300, 500, 700, 1000, 2000),
    residuals=5000, residual_products=(300, 400, 500, 1000, 2000), plots=300,
)  # fmt: skip
QUICK = Size(
    runs=20, epsilons=(0.1, 1.0), ranked=1000, repetitions=20, ranking_products=(200, 500, 1000, 2000),
    residuals=5000, residual_products=(300, 500, 1000, 2000), plots=50,
)  # fmt: skip
TINY = Size(
    runs=2, epsilons=(1.0,), ranked=64, repetitions=3, ranking_products=(1000,),
    residuals=500, residual_products=(1000,), plots=3,
)  # fmt: skip
