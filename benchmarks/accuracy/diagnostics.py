"""Diagnostics of models in the table of regimes: areas under ROC curves, calibration, residual plots, over fixed bins.

Fixed bins divide the scores, or the plane, evenly: all are counted in one turn with all of the loss, for which nobody
needs this package. Of ROC curves the best number of bins is taken that hindsight finds: one half of the releases choose
it, and the other half tell its error, for the least of several medians is below each of them. Calibration has ten; a
residual plot is held against 16 x 16 cells within the very bounds that it found, with the loss that was left.

Which scores of ROC curves constants were chosen on says `SCORES`. Constants of calibration curves were chosen on even
scores, a hill (beta 4, 4) and a crowd (beta 1, 30), each with chances that are the score, a steep step or a wave: so
all distributions of `CHANCES`, whose scores are beta 1.2, 3, judge.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from auc_accuracy import Setting, drawn, true_area
from scipy.special import expit

import dpcurves as dp
from dpcurves.noise.randomness import Randomness
from dpcurves.summaries import auc_of_counts

from .data import FloatArray
from .lines import Line, Run
from .shapes import Half

SCORES = {
    "continuous": Half.CHOOSE, "tied": Half.CHOOSE, "heaped": Half.CHOOSE,
    "zeros": Half.JUDGE, "clipped": Half.JUDGE, "bent": Half.JUDGE,
}  # fmt: skip
TERMS = ((1_000, "0.1"), (10_000, "0.1"), (10_000, "1"), (100_000, "1"))
RARE = 0.01
BINS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
GROUPS, SIDE = 10, 16
FLAT_RELEASES = 400
BOTH = dp.REPLACE_ONE, dp.ADD_REMOVE
AREA_MARK, CALIBRATION_MARK, PLANE_MARK, INSIDE_MARK = 1.1, 1.0, 0.9, 0.85


class Ratio(NamedTuple):
    """Our error over that of fixed bins in one setup, and its relative standard error."""

    name: str
    value: float
    error: float


def lines(run: Run, step: Callable[[str], None]) -> Iterator[Line]:
    """Areas, calibration, residual plots: a line for each number of records times epsilon, and adjacency."""
    for adjacency in BOTH if run.effort.name == "full" else BOTH[:1]:
        for terms in _terms(run):
            named = f"n*eps {terms[0] * float(terms[1]):,.0f}, {adjacency.value}, pure"
            if run.takes(f"ROC, {named}"):
                step(f"areas, {named}")
                areas = [_area(setting, run) for setting in _settings(*terms, adjacency, run)]
                if areas:
                    yield _line(f"ROC, {named}", "median area error over the best bins", AREA_MARK, areas)
            if run.takes(f"calibration, {named}"):
                step(f"calibration, {named}")
                distributions = [_calibration(distribution, *terms, adjacency, run) for distribution in CHANCES]
                yield _line(f"calibration, {named}", "error over ten bins", CALIBRATION_MARK, distributions)
        if run.takes("residual plot"):
            yield from _planes(adjacency, run, step)


def _settings(records: int, epsilon: str, adjacency: dp.Neighbours, run: Run) -> Iterator[Setting]:
    kinds = [kind for kind, half in SCORES.items() if half in run.halves][: run.effort.setups]
    for kind in kinds:
        yield Setting(kind, records, 0.5, dp.PrivacyLoss.pure(epsilon).epsilon, adjacency)
    if "continuous" in kinds and records * RARE >= 100:
        yield Setting("continuous", records, RARE, dp.PrivacyLoss.pure(epsilon).epsilon, adjacency)


def _area(setting: Setting, run: Run) -> Ratio:
    chance = np.random.default_rng([run.seed, setting.records, *setting.kind.encode()])
    ours, others = [], []
    for _ in range(run.effort.draws):
        records = drawn(setting, chance)
        area = true_area(records)
        table = {"label": records.label, "score": records.score}
        terms = str(setting.epsilon), setting.adjacency
        asked = _answers(dp.RocQuestion("label", "score"), table, terms, _times(run), chance)
        ours += [abs(curve.auc - area) for curve in asked]
        others.append([_areas_of_bins(table, bins, setting, chance) - area for bins in BINS])
    chosen, judged = np.abs(np.concatenate(others, axis=1)).reshape(len(BINS), 2, -1).swapaxes(0, 1)
    best = float(np.median(judged[np.median(chosen, axis=1).argmin()]))
    name = f"{setting.kind}{', 1% positive' if setting.positive == RARE else ''}"
    return Ratio(name, float(np.median(ours)) / best, 1.2 / len(ours) ** 0.5)  # of a median of half-normal errors


def _areas_of_bins(table: dict[str, Any], bins: int, setting: Setting, chance: np.random.Generator) -> FloatArray:
    """Areas of unbiased counts in so many even bins, each brought into [0, 1]."""
    counts = _counts(table, bins)
    noisy = counts + _noise((FLAT_RELEASES, *counts.shape), float(setting.epsilon), setting.adjacency, chance)
    with np.errstate(divide="ignore", invalid="ignore"):
        areas = np.array([float(auc_of_counts(each[1], each[0])) for each in noisy])
    return np.asarray(np.clip(np.nan_to_num(areas, nan=0.5), 0, 1))


def _counts(table: dict[str, Any], bins: int) -> FloatArray:
    rows = [np.histogram(table["score"][table["label"] == each], bins, (0, 1))[0] for each in (0, 1)]
    return np.array(rows, dtype=np.float64)


def _noise(shape: tuple[int, ...], epsilon: float, adjacency: dp.Neighbours, chance: np.random.Generator) -> FloatArray:
    """Noise of a flat histogram: a replaced record leaves one cell and enters another one."""
    return np.asarray(chance.laplace(0, (2 if adjacency is dp.REPLACE_ONE else 1) / epsilon, shape))


CHANCES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "right scores": lambda score: score,
    "scores too sure": lambda score: 0.3 + 0.4 * (score - 0.3),
    "bent scores": lambda score: expit(3 * np.sin(4 * score)),
}


def _calibration(distribution: str, records: int, epsilon: str, adjacency: dp.Neighbours, run: Run) -> Ratio:
    """Mean distance, at the scores of the records, of the line through the groups from the chance to be positive."""
    chance, ours, others = np.random.default_rng([run.seed, records, *distribution.encode()]), [], []
    for _ in range(run.effort.draws):
        score = chance.beta(1.2, 3, records)
        right = CHANCES[distribution](score)
        table = {"label": (chance.random(records) < right).astype(np.int64), "score": score}
        question, terms = dp.CalibrationQuestion("label", "score"), (epsilon, adjacency)
        for curve in _answers(question, table, terms, _times(run), chance):
            ours.append(_distance(curve.prob_pred, curve.prob_true, score, right))
        counts = _counts(table, GROUPS)
        for noise in _noise((40, *counts.shape), float(epsilon), adjacency, chance):
            negative, positive = np.maximum(counts + noise, 0)
            share = np.divide(positive, positive + negative, out=np.full(GROUPS, 0.5), where=positive + negative > 0)
            others.append(_distance((np.arange(GROUPS) + 0.5) / GROUPS, share, score, right))
    return Ratio(distribution, float(np.mean(ours) / np.mean(others)), _relative(ours) + _relative(others))


def _distance(places: FloatArray, shares: FloatArray, score: FloatArray, right: FloatArray) -> float:
    order = np.argsort(places)
    return float(np.mean(np.abs(np.interp(score, places[order], shares[order]) - right)))


RESIDUALS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "normal": lambda draw, size: draw.normal(0, 2, size),
    "heavy tails": lambda draw, size: draw.standard_t(3, size),
}


def _planes(adjacency: dp.Neighbours, run: Run, step: Callable[[str], None]) -> Iterator[Line]:
    question = dp.ResidualPlotQuestion("x", "y", 1, 1, "0.95", dp.DISJOINT_RECORDS)
    for signal in (100, 500):
        ratios, inside = [], []
        for distribution, residuals in RESIDUALS.items():
            named = f"residual plot, n*eps {signal}, {adjacency.value}, pure"
            step(f"{named}, {distribution}")
            chance = np.random.default_rng([run.seed, signal, *distribution.encode()])
            table = {"x": chance.normal(0, 3, 10 * signal), "y": residuals(chance, 10 * signal)}
            curves = list(_answers(question, table, ("0.1", adjacency), _times(run), chance))
            pairs = [_apart(curve, table, adjacency, chance) for curve in curves]
            ours, others, within = np.array(pairs).T
            ratios.append(Ratio(distribution, float(ours.mean() / others.mean()), _relative(ours) + _relative(others)))
            inside.append((distribution, within))
        if signal == 500:
            yield _line(named, f"total variation over {SIDE} x {SIDE} cells", PLANE_MARK, ratios)
        worst, shares = min(inside, key=lambda each: float(each[1].min()))
        every = np.concatenate([each for _, each in inside])
        yield Line(
            named, "share of the records inside", INSIDE_MARK, float(every.mean()),
            float(every.std() / len(every) ** 0.5), float(shares.min()), worst, least=True,
        )  # fmt: skip


def _apart(
    curve: dp.ResidualPlot, table: dict[str, Any], adjacency: dp.Neighbours, chance: np.random.Generator
) -> tuple[float, float, float]:
    """Total variation on 16 x 16 cells, ours and that of a flat grid; and the share of the records inside."""
    edges = [each[:: (len(each) - 1) // SIDE] for each in (curve.x_edges, curve.y_edges)]
    counts, _, _ = np.histogram2d(table["x"], table["y"], bins=edges)
    truth = counts / max(counts.sum(), 1)
    part = len(curve.x_edges) // SIDE
    ours = curve.density.reshape(SIDE, part, SIDE, part).sum(axis=(1, 3))
    flat = np.maximum(counts + _noise(counts.shape, 0.1 * 0.8, adjacency, chance), 0)
    flat /= max(flat.sum(), 1)
    apart = (float(np.abs(each - truth).sum() / 2) for each in (ours, flat))
    return *apart, float(counts.sum() / len(table["x"]))


def _answers(
    question: Any, table: dict[str, Any], terms: tuple[str, dp.Neighbours], times: int, chance: np.random.Generator
) -> Iterator[Any]:
    """What users get, asked so often."""
    epsilon, adjacency = terms
    loss = dp.PrivacyLoss.pure(epsilon)
    randomness = Randomness.from_seed(int(chance.integers(2**31)))
    with (
        warnings.catch_warnings(action="ignore", category=dp.CurveWarning),
        dp.Session(table, budget=loss * Fraction(times), adjacency=adjacency, randomness=randomness) as session,
    ):
        yield from (session.ask(question, loss, request=f"{number}") for number in range(times))


def _times(run: Run) -> int:
    return max(2, 5 * run.effort.releases) if run.effort.name != "tiny" else 2


def _terms(run: Run) -> Sequence[tuple[int, str]]:
    return {"tiny": TERMS[:1], "quick": TERMS[:3]}.get(run.effort.name, TERMS)


def _relative(values: Sequence[float] | FloatArray) -> float:
    return float(np.std(values) / np.mean(values) / len(values) ** 0.5)


def _line(regime: str, asked: str, mark: float, ratios: Sequence[Ratio]) -> Line:
    logs = np.log([each.value for each in ratios])
    worst, mean = int(logs.argmax()), float(np.exp(logs.mean()))
    error = mean * float(np.sqrt(sum(each.error**2 for each in ratios))) / len(ratios)
    return Line(regime, asked, mark, mean, error, float(np.exp(logs[worst])), ratios[worst].name)
