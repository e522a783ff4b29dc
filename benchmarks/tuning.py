"""How numbers of the `Tuning` classes matter: each field halved and doubled, with the change of the error.

A row has the field, its value, the case, its error with this value, and the ratios of the errors with half and with
twice the value; 1.00 means that the field does not matter in the case. All three use the same seeds, so a ratio shows
the field rather than chance. Errors are means over releases of synthetic records: the mean absolute error of a curve,
a quantile, an area or a mean, or the mean width of a band or an interval. Numbers in tuples are scaled together;
whole numbers stay whole. "fails" means that the estimator needs a number in a range.

``python benchmarks/tuning.py [--quick] [--only WORD]``: some 20 minutes, or 3 with ``--quick``; `--only` selects
modules whose name contains a word.
"""

from __future__ import annotations

import argparse
import functools
import gc
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np

import dpcurves as dp

Case = Callable[[int], float]


def draw_records(seed: int, records: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return skewed values between 0 and 100, of which a tenth are zero, as counts and amounts are."""
    generator = np.random.default_rng(seed)
    values = np.minimum(generator.gamma(2.0, 10.0, records), 100.0)
    return np.where(generator.random(records) < 0.1, 0.0, values)


def pay(seed: int) -> dict[str, Any]:
    """Return the arguments of privacy that all cases share."""
    return {"epsilon": 0.5, "adjacency": dp.ADD_REMOVE, "randomness": dp.Randomness.from_seed(seed)}


def curve_error(seed: int, *, automatic: bool = False, rho: bool = False) -> float:
    """Return the mean absolute error of a distribution function, on declared cells or on a range that is found."""
    values = draw_records(seed, 3000)
    paid = pay(seed)
    if rho:
        del paid["epsilon"]
        paid["rho"] = 0.125  # as much as an epsilon of 0.5 is at most
    curve = dp.cdf(values, grid="auto" if automatic else dp.Grid(0, 100, cells=512), **paid)
    points = np.linspace(0.5, 99.5, 100)
    released = np.interp(points, np.asarray(curve.x, dtype=np.float64), np.asarray(curve.y, dtype=np.float64))
    return float(np.mean(np.abs(released - np.searchsorted(np.sort(values), points, side="right") / len(values))))


def band_width(seed: int) -> float:
    """Return the mean width of the band of a distribution function for the population."""
    curve = dp.cdf(draw_records(seed, 3000), grid=dp.Grid(0, 100, cells=128), **pay(seed))
    low, high = curve.band(0.95, population=True)
    return float(np.mean(np.asarray(high) - np.asarray(low)))


def quantile_error(seed: int) -> float:
    """Return the mean absolute error of the median and the 90 % quantile."""
    values = draw_records(seed, 3000)
    released = dp.quantiles(values, p=(0.5, 0.9), grid=dp.Grid(0, 100, cells=512), **pay(seed))
    return float(np.mean(np.abs(np.asarray(released.x) - np.quantile(values, (0.5, 0.9)))))


def area_error(seed: int, *, width: bool = False) -> float:
    """Return the error of the area under a ROC curve, or the width of its interval."""
    generator = np.random.default_rng(seed)
    labels = generator.random(3000) < 0.3
    scores = 1 / (1 + np.exp(-generator.normal(np.where(labels, 0.5, -0.5), 1.0)))
    grid = dp.Grid(0, 1, cells=256)
    curve = dp.roc_curve(labels.astype(int), scores, grid=grid, cuts="quantiles", **pay(seed))
    if width:
        low, high = curve.auc_interval(0.95)
        return float(high - low)
    positive, negative = np.sort(scores[labels]), np.sort(scores[~labels])
    return abs(curve.auc - float(np.mean(np.searchsorted(negative, positive) / len(negative))))


def mean_error(seed: int, *, width: bool = False) -> float:
    """Return the error of a mean whose clipping bounds are found, or the width of its interval."""
    values = draw_records(seed, 3000)
    released = dp.mean(values, bounds="auto", **pay(seed))
    if width:
        low, high = released.interval(0.95)
        return float(high - low)
    return abs(float(released.mean) - float(values.mean()))


CASES: Mapping[str, tuple[Case, ...]] = {
    "curve": (curve_error, functools.partial(curve_error, rho=True)),
    "range": (functools.partial(curve_error, automatic=True),),
    "band": (band_width,),
    "quantile": (quantile_error,),
    "area": (area_error, functools.partial(area_error, width=True)),
    "mean": (mean_error, functools.partial(mean_error, width=True)),
}
MODULES: Mapping[str, tuple[str, ...]] = {
    "dpcurves.curves.adaptive_histogram": ("mean",),
    "dpcurves.estimation.empirical_bayes": ("curve",),
    "dpcurves.estimation.joint_estimate": ("curve", "range"),
    "dpcurves.estimation.slow_trends": ("curve",),
    "dpcurves.estimation.smooth_density": ("curve", "range"),
    "dpcurves.estimation.two_classes": ("area",),
    "dpcurves.inference.areas": ("area",),
    "dpcurves.inference.bands": ("band", "area"),
    "dpcurves.inference.tails": ("mean",),
    "dpcurves.mechanisms.tree_strategy": ("curve",),
    "dpcurves.strategies.prefixes": ("curve", "quantile"),
    "dpcurves.strategies.range_search": ("range",),
    "dpcurves.strategies.ranks": ("area",),
}


def scale(value: Any, factor: float) -> Any:
    """Return a number, or each number of a tuple, times a factor; whole numbers are rounded, to at least 1."""
    if isinstance(value, tuple):
        return tuple(scale(part, factor) for part in value)
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        return value
    if isinstance(value, Fraction):
        return value * Fraction(factor)
    return max(1, round(value * factor)) if isinstance(value, int) else value * factor


def clear_caches() -> None:
    """Forget all results of cached functions, which may depend on a field."""
    for thing in gc.get_objects():
        if isinstance(thing, functools._lru_cache_wrapper):
            thing.cache_clear()


def mean_over_seeds(case: Case, releases: int) -> float:
    """Return the mean of a case over the first seeds."""
    clear_caches()
    return float(np.mean([case(seed) for seed in range(releases)]))


def vary(tuning: Any, name: str, factor: float, case: Case, releases: int) -> float | None:
    """Return the error with a scaled field, or None if it fails. The object is changed in place and restored,
    because functions hold it as a default."""
    value = getattr(tuning, name)
    object.__setattr__(tuning, name, scale(value, factor))
    try:
        return mean_over_seeds(case, releases)
    except Exception:  # any error shows that the field has a range
        return None
    finally:
        object.__setattr__(tuning, name, value)


def describe_case(name: str, case: Case) -> str:
    """Return the name of a case with its variant."""
    return " ".join((name, *(getattr(case, "keywords", None) or ())))


def rows(module_name: str, releases: int) -> Iterator[str]:
    """Yield a row for each field of a module and each case."""
    tuning = import_module(module_name).TUNING
    for case_name in MODULES[module_name]:
        for case in CASES[case_name]:
            error = mean_over_seeds(case, releases)
            for field in fields(tuning):
                ratios = []
                for factor in (0.5, 2.0):
                    varied = vary(tuning, field.name, factor, case, releases)
                    ratios.append("fails" if varied is None else f"{varied / error:5.2f}")
                value = getattr(tuning, field.name)
                shown = str(value) if len(str(value)) <= 24 else f"{type(value).__name__} of {len(value)}"
                yield f"{field.name:28} {shown:24} {describe_case(case_name, case):16} {error:9.3g} {' '.join(ratios)}"


def main() -> None:
    """Print the rows of all modules."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="3 releases of each case instead of 30")
    parser.add_argument("--only", default="", help="modules whose name contains this word")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("field, value, case, error, error with half and with twice the value over it")
    for module_name in MODULES:
        if options.only in module_name:
            print(f"\n{module_name}")
            for row in rows(module_name, 3 if options.quick else 30):
                print(row, flush=True)


if __name__ == "__main__":
    main()
