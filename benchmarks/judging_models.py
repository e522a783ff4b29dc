"""Errors and coverage where models are judged: pairs of models, groups, drift.

`python benchmarks/judging_models.py [pairs|ways|groups|drift|scorer|stream|uplift ...] [--releases N]` prints, at 2,000
records and epsilon 1 under replace-one: how often the interval of a difference of two areas held at 0.9, and its error
beside that of sampling and of noise alone; the noise of the difference by other ways (two releases of half the loss as
scores or as ROC curves, planes of even cells); the error of the selection rate of five groups of one release over that
of each alone; false alarms of drift with its power, beside that of the exact test of Kolmogorov and Smirnov; and, of
learned scorers of 3, 5 and 10 features, the area of new records beside that of logistic regression and of Fisher's
discriminant without privacy, and how often the held-out area's interval held; of years of windows of a stream how many
raise a false alarm, and power; and, of 300 records of which one in twenty has a good outcome, how often intervals of
areas of uplift and Qini curves held, and had no end.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import ks_2samp
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "curves"))

from by_hand import answer, both

import dpcurves as dp
from dpcurves.distributions import Family
from dpcurves.privacy import PrivacyLoss
from dpcurves_judging.counted_numbers import compute_auc
from dpcurves_judging.pairwise_scorer import HELD_OUT_SCORES, fit_least_squares
from dpcurves_streams import DriftWatch, TimeStepReading
from dpcurves_streams.readings.question import NoisyValues

RECORDS, ONE, HALF, HUGE = 2000, PrivacyLoss.pure(1), PrivacyLoss.pure("0.5"), PrivacyLoss.pure(10**9)
GROUPS = tuple(range(5))


def models(records: int, seed: int) -> dict[str, Any]:
    """Two scores of one hidden number, of which the second is off by more."""
    draw = np.random.default_rng(seed)
    hidden = draw.normal(size=records)
    first, second = (1 / (1 + np.exp(-(1.2 * hidden + draw.normal(0, off, records)))) for off in (0.7, 1.0))
    return {"y": (draw.random(records) < 1 / (1 + np.exp(-1.5 * hidden))).astype(int), "a": first, "b": second}


def root(errors: list[float]) -> float:
    """The root mean square."""
    return float(np.sqrt(np.mean(np.square(errors))))


def exact(given: dict[str, Any]) -> float:
    """The difference of the areas of exact scores."""
    return float(roc_auc_score(given["y"], given["a"]) - roc_auc_score(given["y"], given["b"]))


def pairs(releases: int) -> None:
    """Coverage of rounded and of exact differences, and errors."""
    cells = answer(dp.ModelPairQuestion("y", "a", "b"), models(RECORDS, 0), ONE, both(RECORDS)[1], 0).question.cells
    question = dp.ModelPairQuestion("y", "a", "b", cells=cells)
    crowd = models(400_000, 10**6)
    of_all, rounded = exact(crowd), answer(question, crowd, HUGE, both(400_000)[1], 1).difference
    held, sampled, noise, whole = np.zeros(3), list[float](), list[float](), list[float]()
    for seed in range(releases):
        given = models(RECORDS, seed)
        found = answer(question, given, ONE, both(RECORDS)[1], seed)
        here = answer(question, given, HUGE, both(RECORDS)[1], seed).difference
        low, high = found.interval("auc difference", 0.9, population=True)
        inner = found.interval("auc difference", 0.9)
        held += [low <= rounded <= high, low <= of_all <= high, inner[0] <= here <= inner[1]]
        sampled.append(exact(given) - of_all)
        noise.append(found.difference - here)
        whole.append(found.difference - of_all)
    print(f"pairs: {cells} cells; held at 0.9: population {held[0] / releases:.3f}, of exact scores", end=" ")
    print(f"{held[1] / releases:.3f}, these records {held[2] / releases:.3f} of {releases}")
    mark = root(whole) / (root(sampled) + root(noise))
    print(
        f"  error {root(whole):.4f}; sampling {root(sampled):.4f}, noise {root(noise):.4f}; over their sum {mark:.2f}"
    )


def ways(releases: int) -> None:
    """Noise of the difference of areas, by way."""
    found: dict[str, list[float]] = {}
    for seed in range(releases):
        given, all_units = models(RECORDS, seed), both(RECORDS)[1]
        true = exact(given)
        apart = [
            (answer(dp.ScoresQuestion("y", each), given, HALF, all_units, 2 * seed + at),
             answer(dp.RocQuestion("y", each), given, HALF, all_units, 2 * seed + at))
            for at, each in enumerate("ab")
        ]  # fmt: skip
        found.setdefault("two scores", []).append(apart[0][0].value("auc") - apart[1][0].value("auc") - true)
        found.setdefault("two ROC curves", []).append(apart[0][1].auc - apart[1][1].auc - true)
        for cells in (None, 4, 8, 16):
            pair = answer(dp.ModelPairQuestion("y", "a", "b", cells=cells), given, ONE, all_units, seed)
            found.setdefault(f"plane of {cells or 'forecast'} cells", []).append(pair.difference - true)
    for name, errors in found.items():
        print(f"ways: {name}: noise and rounding {root(errors):.4f}")
    for records, loss in ((300_000, "0.01"), (20_000, "0.1"), (300_000, "1")):
        given, units = models(records, 1), both(records)[1]
        true, off = exact(given), dict[str, list[float]]()
        for seed, each in product(range(max(releases // 10, 2)), (1, 2, None)):
            pair = answer(
                dp.ModelPairQuestion("y", "a", "b", releases=each), given, PrivacyLoss.pure(loss), units, seed
            )
            off.setdefault(str(each or f"{pair.question.releases or 1} by forecast"), []).append(pair.difference - true)
        told = ", ".join(f"releases {name} {root(errors):.5f}" for name, errors in off.items())
        print(f"ways: {records} records, epsilon {loss}: noise and rounding: {told}")


def groups(releases: int) -> None:
    """Five groups of one release, over each alone at the same loss."""
    grid, together, alone = dp.Values(np.arange(1, 10) / 10), list[float](), list[float]()
    for seed in range(releases):
        draw = np.random.default_rng(seed)
        place, score = np.arange(RECORDS) % 5, np.ceil(draw.random(RECORDS) * 9) / 10
        given = {"y": (draw.random(RECORDS) < score).astype(int), "s": score, "g": place}
        question = dp.ScoresQuestion("y", "s", grid, by=dp.Categories("g", GROUPS))
        parts = answer(question, given, ONE, both(RECORDS)[1], seed)
        for group in GROUPS:
            own = {name: each[place == group] for name, each in given.items()}
            true = float((own["s"] >= 0.5).mean())
            single = answer(dp.ScoresQuestion("y", "s", grid), own, ONE, both(RECORDS // 5)[1], seed)
            together.append(parts[group].confusion(0.5).rates["flagged"] - true)
            alone.append(single.confusion(0.5).rates["flagged"] - true)
    print(f"groups: error of one release over each alone {root(together) / root(alone):.2f}")


def drift(releases: int) -> None:
    """False alarms at 0.05, and power of the largest difference, of 3,000 records and windows of 1,000."""
    grid, alarms, moved, known = dp.Grid(0, 1, cells=20), np.zeros(4), np.zeros(4), 0
    for seed in range(releases):
        draw, units = np.random.default_rng(seed), (both(3000)[1], both(1000)[1])
        values = draw.beta(2, 3, 3000), draw.beta(2, 3, 1000), draw.beta(2, 2.7, 1000)
        reference, same, later = (
            answer(dp.HistogramQuestion("x", grid), {"x": each}, ONE, units[at > 0], 3 * seed + at)
            for at, each in enumerate(values)
        )
        shifts = dp.drift(reference, {"same": same, "later": later}).statistics
        alarms += [shifts["same", word].alarm for word in dp.Drift.STATISTICS]
        moved += [shifts["later", word].alarm for word in dp.Drift.STATISTICS]
        known += ks_2samp(values[0], values[2]).pvalue < 0.05
    for place, word in enumerate(dp.Drift.STATISTICS):
        print(f"drift: {word}: false alarms {alarms[place] / releases:.3f}, power {moved[place] / releases:.2f}")
    print(f"drift: power of the exact test of Kolmogorov and Smirnov {known / releases:.2f}")


def features(records: int, many: int, share: float, seed: int) -> tuple[Any, Any]:
    """Correlated features, the first one skewed, and labels of which about this share is positive."""
    distribution, draw = np.random.default_rng(many + 1), np.random.default_rng([seed, records, many])
    mixed, weights = np.eye(many) + 0.4 * distribution.normal(size=(many, many)), distribution.normal(size=many)
    found = draw.normal(size=(records, many)) @ mixed.T
    found[:, 0] = np.exp(found[:, 0] / 2)
    hidden = found @ (weights / np.linalg.norm(weights))
    return found, (draw.random(records) < expit(1.2 * (hidden - hidden.mean()) + np.log(share / (1 - share)))).astype(
        int
    )


def scorer(releases: int) -> None:
    """Areas of new records, and coverage of held-out areas."""
    for records, many, share in ((2000, 3, 0.5), (10_000, 5, 0.1), (30_000, 10, 0.3)):
        bounds = tuple(dp.NumericColumn(f"x{place}", -4 * (place > 0), 4) for place in range(many))
        question, (new, truth) = dp.PairwiseScorerQuestion("y", bounds), features(400_000, many, share, 10**6)
        ways = {"logistic regression": LogisticRegression(max_iter=1000), "Fisher": LinearDiscriminantAnalysis()}
        found: dict[str, list[float]] = {name: [] for name in ways}
        held = np.zeros(2)
        for seed in range(max(releases // 10, 2)):
            known, label = features(records, many, share, seed)
            for name, way in ways.items():
                found[name].append(roc_auc_score(truth[:50_000], way.fit(known, label).decision_function(new[:50_000])))
            given = {"y": label, **{f"x{place}": column for place, column in enumerate(known.T)}}
            for epsilon in ("0.5", "1", "2"):
                told = answer(question, given, PrivacyLoss.pure(epsilon), both(records)[seed % 2], seed)
                ranked = told.scorecard.values(list(new[:50_000].T))
                found.setdefault(f"epsilon {epsilon}", []).append(roc_auc_score(truth[:50_000], ranked))
                low, high = told.interval("auc", 0.9, population=True)
                held += [low <= held_out(told, new, truth) <= high, 1]
        shown = ", ".join(f"{name} {np.mean(areas):.4f}" for name, areas in found.items())
        print(
            f"scorer: {records} records, {many} features, {share:.0%} positive: area of new records: {shown};", end=" "
        )
        print(f"interval of the held-out area held {held[0] / held[1]:.2f} of {held[1]:.0f} at 0.9")


def held_out(told: Any, new: Any, truth: Any) -> float:
    """The area of new records by scorers that were learned without their fold, in the cells of the release."""
    sums, pairs, areas = told.question.sums(told.evidence[1:]), [], []
    fold = told.question._hash().values(list(new.T))
    for each in range(told.question.folds):
        card = told.question.scorecard(fit_least_squares(sums.without(each)), "held out", standard=True)
        own = fold == each
        cells = HELD_OUT_SCORES.cell_of(card.values(list(new[own].T)))
        counts = (
            np.bincount(cells[truth[own] == kind], minlength=HELD_OUT_SCORES.cells).astype(float) for kind in (0, 1)
        )
        areas.append(compute_auc(*counts))
        pairs.append(truth[own].sum() * (1 - truth[own]).sum())
    return float(np.average(areas, weights=pairs))


def stream(releases: int) -> None:
    """False alarms of 100 years or more of 52 windows of 1,000 tuples, at 0.05, of a reference of 10,000; and power."""
    grid, a_year = dp.Grid(0, 1, cells=20), 52
    years, moved, known, noise = max(releases, 100), np.zeros(4), 0.0, 2**0.5
    false = np.zeros(4)
    for year in range(years):
        draw = np.random.default_rng([year, a_year])

        def counted(time_step: int, values: Any, draw: Any = draw) -> TimeStepReading:
            counts = np.bincount(grid.cell_of(values), minlength=grid.cells) + draw.laplace(0, 1, grid.cells).round()
            noisy = NoisyValues(Family.LAPLACE, counts, noise)
            return TimeStepReading(time_step, counts, {}, {}, noisy=noisy, noisy_windows={})

        before = draw.beta(2, 3, 10_000)
        watch, alarmed = DriftWatch(grid, counted(0, before), windows_per_year=a_year), set[str]()
        for time_step in range(a_year):
            alarmed |= set(watch.compare_window(counted(time_step + 1, draw.beta(2, 3, draw.poisson(1000)))).alarms)
        later = draw.beta(2, 2.6, 1000)
        found = watch.compare_window(counted(a_year + 1, later)).alarms
        false += [word in alarmed for word in dp.Drift.STATISTICS]
        moved += [word in found for word in dp.Drift.STATISTICS]
        known += float(ks_2samp(before, later).pvalue < -np.expm1(np.log1p(-0.05) / a_year))
    for place, word in enumerate(dp.Drift.STATISTICS):
        share = false[place] / years
        print(f"stream: {word}: years with a false alarm {share:.3f} of {years}", end=" ")
        print(f"(standard error {np.sqrt(share * (1 - share) / years):.3f})", end=", ")
        print(f"power in a window {moved[place] / years:.2f}")
    print(f"stream: power of the exact test of Kolmogorov and Smirnov {known / years:.2f}")


def treated(records: int, seed: int) -> dict[str, Any]:
    """A trial of which one record in twenty has a good outcome, and more of those who are treated."""
    draw = np.random.default_rng([seed, records])
    score, given = draw.beta(1.5, 26, records), draw.integers(0, 2, records)
    return {"s": score, "t": given, "o": (draw.random(records) < 0.8 * score + 0.05 * score * 10 * given).astype(int)}


def uplift(releases: int) -> None:
    """Coverage of intervals of areas, and how many have no end, of few good outcomes."""
    question, names = dp.UpliftQuestion("o", "t", "s", dp.Grid(0, 1, cells=10)), ("uplift area", "qini area")
    of_all = answer(question, treated(400_000, 10**6), HUGE, both(400_000)[1], 1)
    held, endless = np.zeros((2, 2)), np.zeros((2, 2))
    for seed in range(releases):
        given, units = treated(300, seed), both(300)[seed % 2]
        found, here = answer(question, given, ONE, units, seed), answer(question, given, HUGE, units, seed)
        for (row, name), (column, true) in product(enumerate(names), enumerate((here, of_all))):
            low, high = found.interval(name, 0.9, population=column == 1)
            held[row, column] += low - 1e-9 <= true.value(name) <= high + 1e-9 or np.isnan(true.value(name))
            endless[row, column] += not np.isfinite(high - low)
    for row, name in enumerate(names):
        told = ", ".join(
            f"{whom} held {held[row, column] / releases:.2f}, {endless[row, column] / releases:.2f} have no end"
            for column, whom in enumerate(("these records", "population"))
        )
        print(f"uplift: {name} at 0.9: {told}")


if __name__ == "__main__":
    PARTS = {
        "pairs": pairs, "ways": ways, "groups": groups, "drift": drift, "scorer": scorer, "stream": stream,
        "uplift": uplift,
    }  # fmt: skip
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    asked.add_argument("--releases", type=int, default=200)
    given = asked.parse_args()
    warnings.simplefilter("ignore")
    for part in given.parts or PARTS:
        PARTS[part](given.releases)
