"""What the article says, as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from math import log2

import accounting
import as_printed
import numpy as np
from comparison import CHARGED, DICHOTOMY, GLOBAL, HISTOGRAM, PACKAGE, SMOOTH, UNIFORM, Along, BySize
from methods import ENDS, LENGTH
from reproduction.measured import Findings, Measured
from sizes import Size
from smooth import as_nissim, delta_reached, smooth_sensitivities

BUDGET = 1.0, 1e-4
COUNTS = 32
CLOSE = 1.5  # times the best distance
OURS = PACKAGE[0]


def of_noise(size: Size) -> Findings:
    """What needs no release."""
    many = accounting.of_many(*BUDGET, COUNTS)
    moments = many["moments accountant"]
    others = min(many["simple composition"], many["advanced composition"])
    laplace = accounting.laplace_by_pld(*BUDGET, COUNTS)
    exact = min(spread for spread in (many["least"], laplace) if spread is not None)
    few, more = size.ranks
    printed, ours = (log2(looks(more) / looks(few)) / log2(more / few) for looks in (_looks_as_printed, _looks_for_all))
    smoothing = as_nissim(*BUDGET, 1)
    reached = [delta_reached(smoothing, BUDGET[0], ratio) for ratio in np.exp(smoothing.beta * np.linspace(-1, 1, 201))]
    return {
        "accountant": Measured(moments / others, package=exact / others),
        "delta": Measured(1 - (1 - 1 / size.records) ** size.records),
        "noise-188": Measured(LENGTH * accounting.least(*BUDGET), package=LENGTH * accounting.least(*BUDGET)),
        "smooth-admissible": Measured(max(reached) / BUDGET[1]),
        "smooth-quadratic": Measured(printed, package=ours),
        "bins-loss": Measured(_squared_change(1000) / _squared_change(10)),
        "dichotomy-speed": Measured(_rounds_to_find(0.3, 0.01) / log2(LENGTH / 0.01)),
        "search-costs": Measured(float(min(len(size.bins), len(size.rounds))), package=1.0),
    }


def of_distances(epsilons: Along, deviations: Along, sizes: Mapping[str, BySize]) -> Findings:
    """What is said of the figures."""
    at_one = {name: mean[deviations.x.index(1.0)] for name, mean in deviations.mean.items()}
    narrow = {name: mean[int(np.argmin(deviations.x))] for name, mean in deviations.mean.items()}
    tenth = {name: mean[epsilons.x.index(0.1)] for name, mean in epsilons.mean.items()}
    least = {name: mean[int(np.argmin(epsilons.x))] for name, mean in epsilons.mean.items()}
    over_uniform = [deviations.mean[name] / deviations.mean[UNIFORM] for name in (GLOBAL, OURS)]
    gains = {name: [_ratio(each, name, DICHOTOMY) for each in (at_one, narrow)] for name in (CHARGED, HISTOGRAM)}
    best = {name: float(np.max(at_one[name] / at_one[HISTOGRAM])) for name in (DICHOTOMY, OURS)}
    return {
        "global-uniform": Measured(float(over_uniform[0].min()), package=float(over_uniform[1].max())),
        "smooth-closer": Measured(
            float(np.max(at_one[SMOOTH] / at_one[GLOBAL])), package=float(np.max(at_one[OURS] / at_one[GLOBAL]))
        ),
        "histogram-decent": Measured(float(tenth[CHARGED][0]), float(tenth[HISTOGRAM][0]), float(tenth[OURS][0])),
        "histogram-peaked": Measured(
            *(float(np.min(narrow[name] / narrow[DICHOTOMY])) for name in (CHARGED, HISTOGRAM)),
            package=float(np.min(narrow[HISTOGRAM] / narrow[OURS])),
        ),
        "dichotomy-better": Measured(float(np.max(at_one[DICHOTOMY] / at_one[CHARGED]))),
        "dichotomy-better-than-charged-once": Measured(best[DICHOTOMY], package=best[OURS]),
        "dichotomy-small": Measured(float(least[DICHOTOMY][0]), package=float(least[OURS][0])),
        "factor-2": Measured(gains[CHARGED][0]),
        "factor-2-charged-once": Measured(gains[HISTOGRAM][0], package=_ratio(at_one, HISTOGRAM, OURS)),
        "spread": Measured(gains[CHARGED][0] / gains[CHARGED][1], gains[CHARGED][1] / gains[CHARGED][0]),
        "bounds": Measured(_of_bounds(deviations)),
        "any-bins": Measured(_worst_at_equal_size(sizes, CHARGED)),
        "any-bins-charged-once": Measured(_worst_at_equal_size(sizes, HISTOGRAM)),
        "range-of-sizes": Measured(_octaves(sizes[DICHOTOMY]) - _octaves(sizes[CHARGED])),
    }  # fmt: skip


def _ratio(row: Mapping[str, np.ndarray], above: str, below: str) -> float:
    """Mean over the three distances, as ratios are averaged."""
    return float(np.exp(np.mean(np.log(row[above] / row[below]))))


def _of_bounds(deviations: Along) -> float:
    """The largest difference of a sample a tenth as wide, or nearly, over that of one of deviation 1.

    Which is a range ten times as wide, in units of the deviation.
    """
    tenth = int(np.argmin(np.abs(np.log10(deviations.x) + 1)))
    largest = deviations.mean[DICHOTOMY][:, 0]
    return float(largest[tenth] / largest[deviations.x.index(1.0)])


def _worst_at_equal_size(sizes: Mapping[str, BySize], histogram: str) -> float:
    """The largest ratio of dichotomy to histogram, over distances and over sizes that both have."""
    ours, theirs = sizes[DICHOTOMY], sizes[histogram]
    both = sorted(set(ours.sizes) & set(theirs.sizes))
    ratios = [ours.mean[ours.sizes.index(each)] / theirs.mean[theirs.sizes.index(each)] for each in both]
    return float(np.max(ratios))


def _octaves(by_size: BySize) -> float:
    """How many times the size can be doubled with the first distance staying close to the best."""
    largest = by_size.mean[:, 0]
    close = np.array(by_size.sizes)[largest <= CLOSE * largest.min()]
    return log2(close.max() / close.min())


def _looks_as_printed(records: int) -> int:
    """Differences looked at for the median alone."""
    return as_printed.smooth_sensitivity(_even(records), records // 2, 0.1, ENDS)[1]


def _looks_for_all(records: int) -> int:
    return smooth_sensitivities(_even(records), 0.1, ENDS)[1]


def _even(records: int) -> np.ndarray:
    return np.linspace(*ENDS, records)


def _squared_change(bins: int) -> float:
    """The most that counts of so many bins change when a record is replaced: squared length, over pairs of places."""
    places = np.linspace(*ENDS, 25)
    counts = [np.histogram([place], bins=bins, range=ENDS)[0] for place in places]
    return float(max(((one - other) ** 2).sum() for one, other in combinations(counts, 2)))


def _rounds_to_find(place: float, width: float) -> int:
    """Count rounds of the dichotomy without noise, until records, all at one place, are in an interval so short."""
    low, high = ENDS
    rounds = 0
    while high - low > width:
        middle, rounds = (low + high) / 2, rounds + 1
        low, high = (middle, high) if place >= middle else (low, middle)
    return rounds
