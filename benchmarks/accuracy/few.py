"""The regime of few records: 50 to 1,000 of them at epsilon 0.5 to 2, as in hospitals and small offices.

Survival curves, distribution functions, ROC curves, calibration curves and means stand beside curves that know no data
(a straight line; for means the middle of the bounds) and beside estimates from a few noisy numbers: an exponential
distribution from two sums for survival, 6 and 10 Legendre coefficients (Tao and Sarwate 2026, arXiv 2501.06620) and a
few even bins for distribution functions, a few even bins for ROC and calibration curves, one noisy sum for means. Each
line is the ratio of our mean error to that of the best of these in hindsight, which one half of the releases choose and
the other half judge, or to that of the straight line. Half of the releases are under replace-one, half under
add-remove; others are told the number of records exactly under both, which favours them. Calibration curves are
compared with a level line at one half: the diagonal is the claim under test, not a curve without knowledge.

The distributions below and the real tables chose no constant of this package. Tables are read from ``tabular`` beside
the real histograms, cohorts of patients from the package lifelines, whose files are read without importing it
(``pip install --no-deps lifelines`` is enough), two tables from scikit-learn. Tables that are not there are left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import legendre
from scipy.special import expit, logit

import dpcurves as dp
from dpcurves.noise.randomness import Randomness
from dpcurves.summaries import isotonic_projection

from .data import FloatArray
from .lines import Line, Run
from .shapes import Half

RECORDS, EPSILONS = (50, 100, 228, 500, 1000), ("0.5", "1", "2")
BOTH = dp.REPLACE_ONE, dp.ADD_REMOVE
OURS, LINE = "dpcurves", "straight line"
BEST_MARK, LINE_MARK = 1.1, 1.0
SPAN = 35
"""Cells of time, of width one."""
DEGREES = 6, 10
BINS = 4, 16, 64
RATES = np.linspace(0, 1, 201)
Draw = np.random.Generator
Columns = Mapping[str, FloatArray]
Distribution = Callable[[Draw, int], Columns]
Errors = dict[str, float]


# Distributions, written out before anything was tuned on few records.


def _survival(times: Callable[[Draw, int], FloatArray], until: Callable[[Draw, int], FloatArray]) -> Distribution:
    def distribution(draw: Draw, size: int) -> Columns:
        time, end = times(draw, size), until(draw, size)
        return {"time": np.minimum(time, end), "event": (time <= end).astype(np.float64)}

    return distribution


SURVIVAL: Mapping[str, Distribution] = {
    "gamma": _survival(lambda d, n: d.gamma(2, 9, n), lambda d, n: d.uniform(2, 45, n)),
    "heavy censoring": _survival(lambda d, n: d.gamma(1.5, 16, n), lambda d, n: d.exponential(10, n)),
    "whole numbers": _survival(
        lambda d, n: np.floor(d.weibull(1.1, n) * 12), lambda d, n: np.floor(d.uniform(6, 40, n))
    ),
    "log-logistic": _survival(
        lambda d, n: 12 * np.exp(d.logistic(0, 1 / 2.2, n)), lambda d, n: d.exponential(40, n)
    ),
    "late start": _survival(lambda d, n: 6 + d.exponential(12, n), lambda d, n: d.uniform(10, 45, n)),
    "even deaths": _survival(lambda d, n: d.uniform(0, 32, n), lambda d, n: d.exponential(25, n)),
    "bathtub": _survival(
        lambda d, n: np.where(d.random(n) < 0.3, d.exponential(3, n), 25 + d.normal(0, 5, n).clip(-20)),
        lambda d, n: d.uniform(15, 60, n),
    ),
    "visits every six": _survival(
        lambda d, n: np.where(d.random(n) < 0.5, 1e3, np.ceil(d.exponential(2, n)) * 6),
        lambda d, n: d.uniform(8, 60, n),
    ),
    "few events": _survival(lambda d, n: d.exponential(200, n), lambda d, n: d.uniform(20, 40, n)),
}  # fmt: skip
SMOOTH = ("beta 3, 2", "logit-normal", "two hills", "triangle")
VALUES: Mapping[str, Callable[[Draw, int], FloatArray]] = {
    "beta 3, 2": lambda d, n: d.beta(3, 2, n),
    "steps of a tenth": lambda d, n: d.binomial(10, 0.35, n) / 10,
    "logit-normal": lambda d, n: expit(d.normal(-0.5, 0.8, n)),
    "zeros and a tail": lambda d, n: np.where(d.random(n) < 0.4, 0, d.gamma(1.5, 0.12, n)),
    "two hills": lambda d, n: np.where(d.random(n) < 0.6, d.normal(0.3, 0.08, n), d.normal(0.7, 0.1, n)),
    "spike and slab": lambda d, n: np.where(d.random(n) < 0.7, d.normal(0.42, 0.002, n), d.random(n)),
    "triangle": lambda d, n: d.triangular(0, 0.3, 1, n),
    "clipped at both ends": lambda d, n: d.normal(0.5, 0.6, n),
}
SCORES: Mapping[str, tuple[Callable[[Draw, int], FloatArray], Callable[[FloatArray], FloatArray]]] = {
    "half sure": (lambda d, n: d.beta(2, 2, n), lambda s: 0.25 + 0.5 * s),
    "rare": (lambda d, n: d.beta(1.2, 8, n), lambda s: 0.8 * s),
    "twentieths": (lambda d, n: np.round(20 * d.beta(3, 3, n)) / 20, lambda s: s**2),
    "low scores": (lambda d, n: 0.2 * d.beta(2, 3, n), lambda s: 0.05 + 1.5 * s),
    "sure at both ends": (lambda d, n: expit(d.normal(0, 2, n)), lambda s: expit(0.6 * logit(s) - 0.5)),
}
"""Scores, and the chance of each to be positive."""
COHORTS = {
    "lung": ("lung.csv", "time", "status", 1, 1050),
    "gbsg2": ("gbsg2.csv", "time", "cens", 1, 2700),
    "rossi": ("rossi.csv", "week", "arrest", 1, 53),
    "kidney transplant": ("kidney_transplant.csv", "time", "death", 1, 3500),
    "larynx": ("larynx.csv", "time", "death", 1, 10.5),
}
"""Files of lifelines: columns, the value of an event, and the end of the grid."""
COLUMNS = {
    "blood pressure": ("framingham.csv", ",", "sysBP", 80, 300),
    "ages": ("bank-full.csv.gz", ";", "age", 15, 100),
    "balances": ("bank-full.csv.gz", ";", "balance", 0, 5000),
    "hourly earnings": ("CPSSW8.csv.gz", ",", "earnings", 0, 80),
}
"""Files of real tables: the column, and public bounds that clip."""
SCORED = {
    "framingham": ("framingham.csv", ",", "TenYearCHD", 1, ("age", "sysBP", "cigsPerDay", "glucose")),
    "bank": ("bank-full.csv.gz", ";", "y", "yes", ("age", "balance", "duration", "campaign")),
}
"""Files of real tables: label, its positive value, and what a logistic regression predicts it from."""


class Asked(NamedTuple):
    """A release to be made.

    Attributes:
        columns: The records.
        epsilon: What it may lose.
        adjacency: Who may come, go, or be replaced.
        seed: What noise is drawn from.
        cells: How many cells the grid of values has.
        smooth: Whether values may be smooth.
    """

    columns: Columns
    epsilon: str
    adjacency: dp.Neighbours
    seed: int
    cells: int
    smooth: bool

    def answer(self, question: Any) -> Any:
        """Ask as a user does."""
        loss, randomness = dp.PrivacyLoss.pure(self.epsilon), Randomness.from_seed(self.seed)
        terms: dict[str, Any] = {"budget": loss, "adjacency": self.adjacency, "randomness": randomness}
        with (
            warnings.catch_warnings(action="ignore", category=dp.CurveWarning),
            dp.Session(dict(self.columns), **terms) as session,
        ):
            return session.ask(question, loss, request="few")

    def scale(self, apart: float, alone: float) -> float:
        """Scale of Laplace noise: records differ by `apart` at most where one is replaced; one has `alone` at most."""
        return (apart if self.adjacency is dp.REPLACE_ONE else alone) / float(self.epsilon)


class Kind(NamedTuple):
    """A kind of curve.

    Attributes:
        asked: What the error is, in words.
        tasks: Distributions and real tables of a run, by name.
        errors: Errors by each way of one release.
    """

    asked: str
    tasks: Callable[[Run], Mapping[str, Distribution]]
    errors: Callable[[Asked], Errors]


def lines(run: Run, step: Callable[[str], None]) -> Iterator[Line]:
    """Two lines for each kind of curve, number of records and epsilon."""
    if Half.JUDGE not in run.halves:
        return
    for name, kind in KINDS.items():
        for records, epsilon in _terms(run):
            regime, found = f"few, {name}, n {records}, epsilon {epsilon}, pure", {}
            if not run.takes(regime):
                continue
            tasks = _some(
                {
                    task: distribution
                    for task, distribution in kind.tasks(run).items()
                    if records <= _most(distribution)
                },
                run,
            )
            for task, distribution in tasks.items():
                step(f"{regime}: {task}")
                found[task] = _measured(kind, (task, distribution), records, epsilon, run)
            if found:
                yield from _told(regime, kind.asked, found)


def _terms(run: Run) -> Sequence[tuple[int, str]]:
    every = tuple(product(RECORDS, EPSILONS))
    return every[1:2] if run.effort.name == "tiny" else every


def _some(tasks: Mapping[str, Distribution], run: Run) -> Mapping[str, Distribution]:
    names = list(tasks)
    if len(names) > run.effort.setups:
        names = names[:: len(names) // run.effort.setups][: run.effort.setups]
    return {name: tasks[name] for name in names}


def _measured(kind: Kind, of: tuple[str, Distribution], records: int, epsilon: str, run: Run) -> dict[str, FloatArray]:
    """Errors of each way, (releases,): adjacencies take turns."""
    found: dict[str, list[float]] = {}
    task, distribution = of
    for number in range(run.effort.draws * run.effort.releases):
        draw = np.random.default_rng([run.seed, number, records, *task.encode()])
        columns, seed = distribution(draw, records), int(draw.integers(2**31))
        smooth = task in SMOOTH or task not in VALUES
        asked = Asked(columns, epsilon, BOTH[number % 2], seed, run.effort.cells, smooth)
        for name, error in kind.errors(asked).items():
            found.setdefault(name, []).append(error)
    return {name: np.array(errors) for name, errors in found.items()}


def _told(regime: str, asked: str, found: Mapping[str, Mapping[str, FloatArray]]) -> Iterator[Line]:
    over = {"over the best of these in hindsight": BEST_MARK, f"over the {LINE}": LINE_MARK}
    for words, mark in over.items():
        ratios, noise = [], []
        for errors in found.values():
            mine, other = errors[OURS], errors[LINE] if mark == LINE_MARK else _hindsight(errors)
            ratios.append(float(np.log(max(mine.mean(), 1e-9) / max(other.mean(), 1e-9))))
            noise.append(np.hypot(_relative(mine), _relative(other)))
        worst, mean = int(np.argmax(ratios)), float(np.exp(np.mean(ratios)))
        error = mean * float(np.sqrt(np.sum(np.square(noise)))) / len(noise)
        yield Line(regime, f"{asked} {words}", mark, mean, error, float(np.exp(ratios[worst])), list(found)[worst])


def _hindsight(errors: Mapping[str, FloatArray]) -> FloatArray:
    """Errors of the best of the others: chosen by one half of the releases (pairs of both adjacencies), and judged by
    the other half, for the least of several means is too small."""
    others = {name: each for name, each in errors.items() if name != OURS}
    half = np.arange(len(errors[OURS])) // 2 % 2 == 0
    if half.all():
        half = np.arange(len(half)) % 2 == 0
    best = [min(others, key=lambda name: others[name][part].mean()) for part in (half, ~half)]
    return np.concatenate([others[best[0]][~half], others[best[1]][half]])


def _relative(values: FloatArray) -> float:
    return float(values.std(ddof=1) / len(values) ** 0.5 / max(values.mean(), 1e-9)) if len(values) > 1 else 0.0


# Survival.


def _survival_errors(asked: Asked) -> Errors:
    time, event = asked.columns["time"], asked.columns["event"]
    curve = asked.answer(dp.SurvivalQuestion("time", "event", dp.Grid(0, SPAN, cells=SPAN)))
    noise = np.random.default_rng(asked.seed).laplace(scale=asked.scale(2, 2), size=2)  # half of the loss each
    hazard = max(event[time < SPAN].sum() + noise[0], 0.5) / max(np.minimum(time, SPAN).sum() + SPAN * noise[1], 1.0)
    last_known = np.flatnonzero(np.isfinite(curve.y))[-1]  # beyond it nobody may be at risk, and its value is held
    ours = curve.y[np.minimum(np.arange(SPAN + 1), last_known)]
    ways = {OURS: ours, LINE: np.linspace(1, 0, SPAN + 1), "exponential": np.exp(-hazard * np.arange(SPAN + 1))}
    truth = kaplan_meier(time, event)
    return {name: float(np.sqrt(np.mean((each - truth) ** 2))) for name, each in ways.items()}


def kaplan_meier(time: FloatArray, event: FloatArray) -> FloatArray:
    """The share before each edge of time, cell by cell."""
    cell = np.floor(time).astype(int)
    at_risk = np.array([(cell >= each).sum() for each in range(SPAN)])
    died = np.array([((cell == each) & (event == 1)).sum() for each in range(SPAN)])
    return np.append(1.0, np.cumprod(1 - died / np.maximum(at_risk, 1)))


def cohort(name: str) -> Columns | None:
    """Times, in widths of a cell, and events of a cohort that lifelines ships; None where it is not installed."""
    package = find_spec("lifelines")
    if package is None or package.origin is None:
        return None
    file, time, event, came, end = COHORTS[name]
    table = _table(Path(package.origin).parent / "datasets" / file, ",")
    return {"time": table[time] / end * SPAN, "event": (table[event] == came).astype(np.float64)}


def _survival_tasks(run: Run) -> Mapping[str, Distribution]:
    distributions = dict(SURVIVAL)
    for name in COHORTS:
        columns = cohort(name)
        if columns is not None:
            distributions[f"{name} cohort"] = partial(_thinned, columns)
    return distributions


# Distribution functions and means.


def _cdf_errors(asked: Asked) -> Errors:
    grid = dp.Grid(0, 1, cells=asked.cells)
    value, edges = asked.columns["value"], grid.edges
    truth = np.append(0.0, np.cumsum(np.bincount(grid.cell_of(value), minlength=grid.cells))) / len(value)
    ways = {OURS: asked.answer(dp.CdfQuestion("value", grid)).y, LINE: edges}
    draw, inside = np.random.default_rng(asked.seed), value.clip(0, 1)
    for degree in DEGREES if asked.smooth else ():
        scale, told = _projection(inside, degree, asked)
        ways[f"{degree} Legendre coefficients"] = projected(told + scale * draw.laplace(size=degree), edges)
    for bins in BINS:
        counts = np.histogram(inside, bins, (0, 1))[0] + draw.laplace(0, asked.scale(2, 1), bins)
        below = np.append(0.0, np.cumsum(counts)) / max(counts.sum(), 1)
        ways[f"{bins} bins"] = np.interp(edges, np.linspace(0, 1, bins + 1), np.clip(isotonic_projection(below), 0, 1))
    return {name: float(np.abs(each - truth).max()) for name, each in ways.items()}


def projected(coefficients: FloatArray, at: FloatArray) -> FloatArray:
    """A distribution function on [0, 1] of these Legendre coefficients, clipped and non-decreasing."""
    return np.asarray(np.clip(isotonic_projection(legendre.legval(2 * at - 1, coefficients)), 0, 1))


def _projection(value: FloatArray, degree: int, asked: Asked) -> tuple[FloatArray, FloatArray]:
    """Scales of Laplace noise, and coefficients of the empirical distribution function.

    A coefficient is the mean over records of half of the difference of the polynomials beside it. All are in units of
    their standard deviations over even values, and have the same noise.
    """
    told = _integrals(2 * value - 1, degree).mean(axis=0)
    every = _integrals(np.linspace(-1, 1, 201), degree)
    middle, unit = every.mean(axis=0), every.std(axis=0)
    far = (every - middle) / unit
    apart = float(np.abs(far[:, None, :] - far[None, :, :]).sum(axis=2).max())
    return unit * asked.scale(apart, float(np.abs(far).sum(axis=1).max())) / len(value), told


def _integrals(value: FloatArray, degree: int) -> FloatArray:
    """The part of a record at `value` in each coefficient of the distribution function, (records, degree)."""
    polynomials = legendre.legvander(value, degree)
    return np.column_stack([(1 - value) / 2, (polynomials[:, : degree - 1] - polynomials[:, 2:]) / 2])


def _mean_errors(asked: Asked) -> Errors:
    inside = asked.columns["value"].clip(0, 1)
    truth, size = float(inside.mean()), len(inside)
    noisy = truth + np.random.default_rng(asked.seed).laplace(0, asked.scale(1, 0.5)) / size
    ours = asked.answer(dp.MeanQuestion("value", 0, 1)).mean
    ways = {OURS: float(ours), LINE: 0.5, "one noisy sum": float(np.clip(noisy, 0, 1))}
    return {name: abs(each - truth) for name, each in ways.items()}


def _value_tasks(run: Run) -> Mapping[str, Distribution]:
    distributions: dict[str, Distribution] = {
        name: partial(_valued, distribution) for name, distribution in VALUES.items()
    }
    for name, (file, separator, column, lower, upper) in COLUMNS.items():
        table = _table(run.data / "tabular" / file, separator)
        if table:
            distributions[name] = partial(_thinned, {"value": (table[column] - lower) / (upper - lower)})
    distributions["tumours"] = partial(_thinned, {"value": _tumours()[0][:, 0] / 30})
    return distributions


def _valued(distribution: Callable[[Draw, int], FloatArray], draw: Draw, size: int) -> Columns:
    return {"value": distribution(draw, size)}


# ROC and calibration curves.


def _roc_errors(asked: Asked) -> Errors:
    """The mean distance of true positive rates, over all false positive rates."""
    label, score = asked.columns["label"], asked.columns["score"]
    curve = asked.answer(dp.RocQuestion("label", "score"))
    ways = {OURS: np.interp(RATES, curve.fpr, curve.tpr), LINE: RATES}
    for bins, (negative, positive) in _binned(asked).items():
        rates = [np.append(0.0, np.cumsum(each[::-1]) / max(each.sum(), 1e-9)) for each in (negative, positive)]
        ways[f"{bins} bins"] = np.interp(RATES, *rates)
    order, ends = np.sort(score)[::-1], {}
    for each in (0, 1):
        own = np.sort(score[label == each])
        ends[each] = np.append(0.0, (len(own) - np.searchsorted(own, order)) / max(len(own), 1))
    truth = np.interp(RATES, np.append(ends[0], 1.0), np.append(ends[1], 1.0))
    return {name: float(np.abs(each - truth).mean()) for name, each in ways.items()}


def _calibration_errors(asked: Asked) -> Errors:
    """The mean distance from the chance to be positive, at the scores of the records."""
    score = asked.columns["score"]
    curve = asked.answer(dp.CalibrationQuestion("label", "score"))
    order = np.argsort(curve.prob_pred)
    ways = {OURS: np.interp(score, curve.prob_pred[order], curve.prob_true[order]), LINE: np.full(len(score), 0.5)}
    for bins, (negative, positive) in _binned(asked).items():
        every = negative + positive
        share = np.divide(positive, every, out=np.full(bins, 0.5), where=every > 0)
        ways[f"{bins} bins"] = np.interp(score, (np.arange(bins) + 0.5) / bins, share)
    return {name: float(np.abs(each - asked.columns["chance"]).mean()) for name, each in ways.items()}


def _binned(asked: Asked) -> dict[int, FloatArray]:
    """Noisy counts of both classes in a few even bins, (2, bins)."""
    label, score = asked.columns["label"], asked.columns["score"]
    draw, found = np.random.default_rng(asked.seed), {}
    for bins in (1, 2, 4, 8, 16):
        counts = np.array([np.histogram(score[label == each], bins, (0, 1))[0] for each in (0, 1)])
        found[bins] = np.maximum(counts + draw.laplace(0, asked.scale(2, 1), counts.shape), 0)
    return found


def _score_tasks(run: Run) -> Mapping[str, Distribution]:
    distributions: dict[str, Distribution] = {
        name: partial(_labelled, *distribution) for name, distribution in SCORES.items()
    }
    distributions["tumours"] = partial(_thinned, _tumours_by_texture())
    for name in SCORED:
        scored = _scored(name, run.data / "tabular")
        if scored is not None:
            distributions[name] = partial(_thinned, scored)
    return distributions


def _labelled(
    scores: Callable[[Draw, int], FloatArray], chance: Callable[[FloatArray], FloatArray], draw: Draw, size: int
) -> Columns:
    score = scores(draw, size)
    right = chance(score)
    return {"score": score, "chance": right, "label": (draw.random(size) < right).astype(np.float64)}


@cache
def _scored(name: str, folder: Path) -> Columns | None:
    file, separator, label, positive, features = SCORED[name]
    table = _table(folder / file, separator)
    if not table:
        return None
    columns = np.nan_to_num(np.column_stack([table[each] for each in features]))
    return _predicted(columns, table[label] == positive)


@cache
def _tumours() -> tuple[FloatArray, FloatArray]:
    from sklearn.datasets import load_breast_cancer

    features, label = load_breast_cancer(return_X_y=True)
    return features, label


@cache
def _tumours_by_texture() -> Columns:
    features, label = _tumours()
    return _predicted(features[:, [1, 4]], label == 1)


def _predicted(features: FloatArray, positive: FloatArray) -> Columns:
    """Scores of a logistic regression, labels, and chances: shares of positives among the twentieths of all records."""
    from sklearn.linear_model import LogisticRegression

    spread = (features - features.mean(axis=0)) / features.std(axis=0)
    score = LogisticRegression().fit(spread, positive).predict_proba(spread)[:, 1]
    parts = np.array_split(np.argsort(score, kind="stable"), 20)
    middles, shares = ([float(each[part].mean()) for part in parts] for each in (score, positive))
    return {"score": score, "label": positive.astype(np.float64), "chance": np.interp(score, middles, shares)}


# Tables.


@cache
def _table(file: Path, separator: str) -> Mapping[str, Any]:
    """Columns of a file; none where it is not there."""
    if not file.exists():
        return {}
    import pandas as pd

    frame = pd.read_csv(file, sep=separator)
    return {str(name): frame[name].to_numpy() for name in frame}


def _thinned(columns: Columns, draw: Draw, size: int) -> Columns:
    kept = draw.choice(_most(partial(_thinned, columns)), size, replace=False)
    return {name: each[kept] for name, each in columns.items()}


def _most(distribution: Distribution) -> int:
    """The number of records of a task: there is no end to those of a distribution."""
    whole = isinstance(distribution, partial) and distribution.func is _thinned
    return len(next(iter(distribution.args[0].values()))) if whole else max(RECORDS)


def missing(run: Run) -> list[str]:
    """Names of real tables and cohorts that are not there."""
    tables = [name for name, (file, *_) in {**COLUMNS, **SCORED}.items() if not (run.data / "tabular" / file).exists()]
    return tables + ([] if cohort("lung") else [f"{name} cohort (lifelines)" for name in COHORTS])


KINDS = {
    "survival": Kind("RMSE", _survival_tasks, _survival_errors),
    "CDF": Kind("KS", _value_tasks, _cdf_errors),
    "ROC": Kind("mean distance", _score_tasks, _roc_errors),
    "calibration": Kind("mean distance", _score_tasks, _calibration_errors),
    "means": Kind("error", _value_tasks, _mean_errors),
}
