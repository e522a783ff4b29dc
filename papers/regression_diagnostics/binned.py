"""Section 4.4.3: do binned residuals tell a right model from a wrong one?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
from binned_as_printed import Plot, pribrp_not_private, pribrp_put_right
from binned_data import RIGHT, SQUARES, WRONG, Judged, judged_by_others, judged_by_themselves
from binned_release import by_dpcurves
from numpy.typing import NDArray
from reproduction.measured import Findings, Measured
from roc_sizes import BinnedSize

Floats = NDArray[np.float64]
PRINTED, PUT_RIGHT, PACKAGE = "PriBRP, as printed", "PriBRP, put right", "dpcurves"
SHARE, SEED = 0.15, 6
MIDDLE = 0.5
CELLS = 20
REACHED = 0.9
STATED, SEEN = 20_000, 5000
OPEN = {500: 0.554, 1000: 0.69, 1500: 0.81, 2000: 0.9, 2500: 0.94, 3000: 0.972, 3500: 0.982}
"""Table 4.5."""


class Records(NamedTuple):
    """One data set in cells of its predictions, and its plot without noise."""

    judged: Judged
    plot: Plot

    @classmethod
    def of(cls, label: Floats, score: Floats) -> Records:
        """Cut as many bins as the root of the number of records."""
        return cls(Judged.of(label, score), confidential(label, score))


Releases = Callable[[Records, float, int], Plot]
METHODS: dict[str, Releases] = {
    PRINTED: lambda records, epsilon, seed: pribrp_not_private(records.judged, epsilon, seed, SHARE),
    PUT_RIGHT: lambda records, epsilon, seed: pribrp_put_right(records.judged, epsilon, seed, SHARE),
    PACKAGE: lambda records, epsilon, seed: by_dpcurves(records.judged, epsilon, seed, SHARE),
}
Separation = Mapping[str, Mapping[int, float]]
"""The total variation distance of each method, for each product."""


def confidential(label: Floats, score: Floats) -> Plot:
    """Bins of about equal size, without noise."""
    bins = np.array_split(np.argsort(score), round(sqrt(len(score))))
    means = np.array([score[own].mean() for own in bins])
    return Plot(means, np.array([(label[own] - score[own]).mean() for own in bins]))


def slopes(plot: Plot) -> Floats:
    """Slopes of the lines through the points left and right of the middle; flat where there are no two points."""
    return np.array([_slope(plot, side) for side in (plot.mean <= MIDDLE, plot.mean > MIDDLE)])


def _slope(plot: Plot, side: NDArray[np.bool_]) -> float:
    x, y = plot.mean[side], plot.residual[side]
    if len(x) < 2 or np.ptp(x) == 0:
        return 0.0
    x = x - x.mean()
    return float(x @ y / (x @ x))


def shape_difference(some: Plot, slopes_of_other: Floats) -> float:
    """The papers' ShapeD: by how much slopes differ, left and right."""
    return float(np.abs(slopes(some) - slopes_of_other).sum())


def total_variation(some: Floats, others: Floats) -> float:
    """The total variation distance of two samples, in cells of equal width."""
    ends = min(some.min(), others.min()), max(some.max(), others.max())
    one, other = (np.histogram(each, CELLS, ends)[0] / len(each) for each in (some, others))
    return float(np.abs(one - other).sum() / 2)


def data_sets(records: int) -> dict[str, Records]:
    """One of each truth."""
    chance = np.random.default_rng(SEED)
    return {model: Records.of(*judged_by_others(model, records, chance)) for model in SQUARES}


def products_of(size: BinnedSize) -> dict[str, tuple[int, ...]]:
    """The products that each method is tried at."""
    return {PRINTED: size.products, PUT_RIGHT: size.products, PACKAGE: size.products_package}


def steps_of(size: BinnedSize) -> list[int]:
    """Count a step for each product."""
    return [product for products in products_of(size).values() for product in products]


def separation(sets: Mapping[str, Records], size: BinnedSize, step: Callable[[], None]) -> Separation:
    """Figure 4.14: of many releases of one data set of each truth."""
    truth, found = slopes(sets[RIGHT].plot), dict[str, dict[int, float]]()
    for method, products in products_of(size).items():
        found[method] = {}
        for product in products:
            distances = [
                np.array(
                    [shape_difference(METHODS[method](own, product / size.records, seed), truth) for seed in seeds]
                )
                for own, seeds in ((sets[RIGHT], range(size.plots)), (sets[WRONG], range(size.plots, 2 * size.plots)))
            ]
            found[method][product] = total_variation(*distances)
            step()
    return found


def _seeds(plots: int) -> tuple[range, range]:
    return range(plots), range(plots, 2 * plots)


def separation_without_noise(size: BinnedSize, step: Callable[[], None]) -> dict[int, float]:
    """Table 4.5: of plots of models that were trained on the same records, from the flat line."""
    found = {}
    for records in size.open:
        chance = np.random.default_rng((SEED, records))
        distances = [
            np.array([_steepness(model, records, chance) for _ in range(size.open_plots)]) for model in (RIGHT, WRONG)
        ]
        found[records] = total_variation(*distances)
        step()
    return found


def _steepness(model: str, records: int, chance: np.random.Generator) -> float:
    return shape_difference(confidential(*judged_by_themselves(model, records, chance)), np.zeros(2))


def findings(found: Separation, without_noise: Mapping[int, float]) -> Findings:
    """Table 4.5, Figure 4.14, and the least product from which on models are told apart."""
    named: Findings = {f"table45-{records}": Measured(distance) for records, distance in without_noise.items()}
    for name, product in (("figure413-seen", SEEN), (f"figure414-{STATED}", STATED)):
        if all(product in distances for distances in found.values()):
            named[name] = Measured(*(found[method][product] for method in (PRINTED, PUT_RIGHT, PACKAGE)))
    named["figure414-least"] = Measured(*(_from_which_on(found[method]) for method in (PRINTED, PUT_RIGHT, PACKAGE)))
    return named


def _from_which_on(distances: Mapping[int, float]) -> float:
    failed = max((product for product, distance in distances.items() if distance < REACHED), default=0)
    return float(min((product for product in distances if product > failed), default=inf))
