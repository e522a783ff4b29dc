"""Section 4.3.1: do residual plots tell a line that fits from one that does not?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from plane import Edges, Floats, Records, drawn_from, released
from prirp import Method, prirp_not_private, prirp_put_right
from reproduction import workers
from reproduction.measured import Findings, Measured
from residual_sizes import ResidualSize

SEED, CELLS, MARGIN, BINS = 3, 10, 0.1, 20
IDEAL, HETEROSCEDASTIC, NONLINEAR = "Ideal", "Heteroscedastic", "Nonlinear"
MODELS = IDEAL, HETEROSCEDASTIC, NONLINEAR
THRESHOLDS = {500: 0.9, 1000: 0.95, 2000: 0.95}
METHODS: dict[str, Method] = {
    "PriRP, as printed": prirp_not_private, "PriRP, put right": prirp_put_right, "dpcurves": released
}  # fmt: skip
PRINTED, CORRECTED, PACKAGE = METHODS
CLOSE = {PRINTED: 500, PACKAGE: 200}
"""The product at which a method lies so close to a mark that the usual number of plots would not decide."""
SAMPLING = 0.01
"""Standard error of a distance of 0.9 from a thousand plots of each model: by so much the papers' own may be off."""


@dataclass(frozen=True)
class Separation:
    """Similarities of many releases to the confidential plot of Ideal: for each method, product and model.

    A product is the number of records times epsilon.
    """

    of: Mapping[str, Mapping[int, Mapping[str, Floats]]]

    def apart(self, method: str, model: str) -> dict[int, float]:
        """Total variation of similarities, Ideal against this model, for each product."""
        return {product: total_variation(one[IDEAL], one[model]) for product, one in self.of[method].items()}

    def least(self, method: str) -> dict[int, float]:
        """The smaller one of both other models."""
        both = self.apart(method, HETEROSCEDASTIC), self.apart(method, NONLINEAR)
        return {product: min(each[product] for each in both) for product in both[0]}


def drawn(model: str, records: int, chance: np.random.Generator) -> Records:
    """Predictions and residuals of a line that was fitted to as many other records of the same distribution."""
    x, y = _distribution(model, 2 * records, chance)
    slope, intercept = np.polyfit(x[:records], y[:records], 1)
    predicted = intercept + slope * x[records:]
    return Records(predicted, y[records:] - predicted)


def _distribution(model: str, records: int, chance: np.random.Generator) -> tuple[Floats, Floats]:
    x, error = chance.uniform(1, 50, records), chance.normal(size=records)
    if model == HETEROSCEDASTIC:
        error = error * np.sqrt(x)
    return x, x + error + (0.01 * x**2 if model == NONLINEAR else 0.0)


def models(size: ResidualSize) -> dict[str, Records]:
    """One data set of each."""
    chance = np.random.default_rng(SEED)
    return {model: drawn(model, size.records, chance) for model in MODELS}


def separation(size: ResidualSize, step: Callable[[], None]) -> Separation:
    """Measure many releases of one data set of each model."""
    sets = models(size)
    of: dict[str, dict[int, Mapping[str, Floats]]] = {method: {} for method in METHODS}
    for product in size.products:
        for method, found in of.items():
            if method != CORRECTED or product in THRESHOLDS:
                found[product] = _similarities(
                    METHODS[method], sets, product / size.records, _plots(size, method, product)
                )
        step()
    return Separation(of)


def _plots(size: ResidualSize, method: str, product: int) -> int:
    usual, close = {PACKAGE: (size.package_plots, size.close_package_plots)}.get(method, (size.plots, size.close_plots))
    return close if CLOSE.get(method) == product else usual


def _similarities(method: Method, sets: Mapping[str, Records], epsilon: float, plots: int) -> dict[str, Floats]:
    overlaid = Overlaid.on(sets[IDEAL])
    return {
        model: overlaid.similarities(method, records, epsilon, range(number * plots, (number + 1) * plots))
        for number, (model, records) in enumerate(sets.items())
    }


@dataclass(frozen=True, eq=False)
class Overlaid:
    """The hundred cells that the papers lay over plots, and what a confidential plot has in them."""

    edges: Edges
    truth: Floats

    @classmethod
    def on(cls, records: Records) -> Overlaid:
        """Over the plot of these records."""
        edges = edges_of(records)
        return cls(edges, records.histogram(edges) / records.size)

    def similarities(self, method: Method, records: Records, epsilon: float, seeds: Sequence[int]) -> Floats:
        """The papers' Sim of the scatter of one release for each seed."""
        return np.array(workers.each(partial(self.similarity, method, records, epsilon), seeds))

    def similarity(self, method: Method, records: Records, epsilon: float, seed: int) -> float:
        """The similarity of one release."""
        scatter = drawn_from(method(records, epsilon, seed), self.edges, np.random.default_rng((1, seed)))
        return distance(self.truth, scatter)


def distance(truth: Floats, other: Floats) -> float:
    """The papers' Sim: total variation, points beyond the cells being apart from all others."""
    return float(np.abs(truth - other).sum() + 1 - other.sum()) / 2


def edges_of(records: Records) -> Edges:
    """Equal cells over all points, and a little more."""
    ends = [(values.min() - MARGIN, values.max() + MARGIN) for values in (records.predicted, records.residual)]
    across, upwards = (np.linspace(low, high, CELLS + 1) for low, high in ends)
    return across, upwards


def total_variation(some: Floats, others: Floats) -> float:
    """The total variation distance of two samples, in cells of equal width."""
    ends = min(some.min(), others.min()), max(some.max(), others.max())
    one, other = (np.histogram(each, BINS, ends)[0] / len(each) for each in (some, others))
    return float(np.abs(one - other).sum() / 2)


def findings(found: Separation) -> Findings:
    """Figure 7, and the least products from which on both models are told from the ideal one."""
    printed, corrected, package = (found.least(method) for method in METHODS)
    named: Findings = {
        f"figure7-{product}": Measured(printed[product], corrected[product], package[product])
        for product in THRESHOLDS.keys() & printed.keys()
    }
    for name, reached in (("section43-least", 0.95), ("section43-likely", 0.9)):
        least = reached - SAMPLING
        named[name] = Measured(_from_which_on(printed, least), package=_from_which_on(package, least))
    return named


def _from_which_on(least: Mapping[int, float], reached: float) -> float:
    failed = [product for product, distance in least.items() if distance < reached]
    return float(min((product for product in least if product > max(failed, default=0)), default=np.inf))
