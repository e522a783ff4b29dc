"""Models judged at a huge epsilon beside scikit-learn, fairlearn, scikit-uplift and SciPy, on data that ship with them.

`python benchmarks/judging_peers.py [--page FILE]` prints the largest difference of each number at epsilon 10^9. Scores
are rounded to cells first, so that both sides have the same; where fairlearn, scikit-uplift or lifelines (for the GBSG2
trial) is not installed it says so. With `--page` the table is written into that file, where it stands already.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from sklearn import metrics
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LinearRegression, LogisticRegression

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "curves"))

from by_hand import answer, both
from reading_names import name_reading

import dpcurves as dp
from dpcurves.privacy import PrivacyLoss

HUGE, SAME = PrivacyLoss.pure(10**9), 1e-9
HUNDREDTHS = dp.Values(np.arange(101) / 100)
BEGIN, END = "<!-- written by benchmarks/judging_peers.py -->", "<!-- end of judging_peers.py -->"
Row = tuple[str, str, str, float]


def asked(question: Any, given: dict[str, Any]) -> Any:
    """The answer to a question about these columns, next to no noise in it."""
    return answer(question, given, HUGE, both(len(next(iter(given.values()))))[1], 1)


def apart(one: Any, other: Any) -> float:
    """The largest difference."""
    return float(np.max(np.abs(np.asarray(one, float) - np.asarray(other, float))))


def tumours() -> dict[str, Any]:
    """Labels, two rounded scores of few measurements, and four groups by texture."""
    given, label = load_breast_cancer(return_X_y=True)
    scores = [
        LogisticRegression(max_iter=5000).fit(given[:, part], label).predict_proba(given[:, part])[:, 1].round(2)
        for part in (slice(0, 2), slice(4, 6))
    ]
    cuts = np.quantile(given[:, 1], (0.25, 0.5, 0.75))
    return {"y": label, "a": scores[0], "b": scores[1], "g": np.searchsorted(cuts, given[:, 1])}


def pairs() -> Iterator[Row]:
    """Two models of one label."""
    given = tumours()
    label, found = given["y"], asked(dp.ModelPairQuestion("y", "a", "b", HUNDREDTHS), given)
    for name, read in (
        ("auc", metrics.roc_auc_score), ("average precision", metrics.average_precision_score),
        ("brier score", metrics.brier_score_loss),
    ):  # fmt: skip
        exact = read(label, given["a"]) - read(label, given["b"])
        yield (
            f"difference of {name}",
            "scikit-learn",
            f"`{read.__name__}`",
            apart(found.value(f"{name} difference"), exact),
        )


def groups() -> Iterator[Row]:
    """Rates and areas by group, and gaps."""
    from fairlearn import metrics as fair

    given = tumours()
    by = dp.Categories("g", (0, 1, 2, 3))
    found = dp.group_rates(asked(dp.ScoresQuestion("y", "a", HUNDREDTHS, by=by), given), 0.5)
    called, sensitive = given["a"] >= 0.5, given["g"]
    for word, read, how in (
        ("flagged", fair.selection_rate, called), ("recall", fair.true_positive_rate, called),
        ("false_positive_rate", fair.false_positive_rate, called), ("accuracy", metrics.accuracy_score, called),
        ("auc", metrics.roc_auc_score, given["a"]), ("brier", metrics.brier_score_loss, given["a"]),
    ):  # fmt: skip
        frame = fair.MetricFrame(metrics=read, y_true=given["y"], y_pred=how, sensitive_features=sensitive)
        off = (
            apart(found.values_of(word), frame.by_group),
            apart(found.largest_gap(word, 0.9).value, frame.difference()),
        )
        yield f"{word.replace('_', ' ')} by group, and largest gap", "fairlearn", "`MetricFrame`", max(off)
    gap = fair.demographic_parity_difference(given["y"], called, sensitive_features=sensitive)
    yield (
        "gap of shares flagged",
        "fairlearn",
        "`demographic_parity_difference`",
        apart(found.largest_gap("flagged", 0.9).value, gap),
    )
    odds = fair.equalized_odds_difference(given["y"], called, sensitive_features=sensitive)
    own = max(found.largest_gap(word, 0.9).value for word in ("recall", "false_positive_rate"))
    yield "larger gap of both rates", "fairlearn", "`equalized_odds_difference`", apart(own, odds)


def classes() -> Iterator[Row]:
    """Three kinds of wine, by probabilities of a model of two measurements, which are not rounded."""
    given, kind = load_wine(return_X_y=True)
    likely = LogisticRegression(max_iter=5000).fit(given[:, :2], kind).predict_proba(given[:, :2])
    columns = {"k": kind, **{f"p{each}": likely[:, each] for each in range(3)}}
    columns |= {"guess": likely.argmax(axis=1), "sure": likely.max(axis=1)}
    grid, names = dp.Values(np.unique(likely)), ("p0", "p1", "p2")
    question = dp.MulticlassQuestion(dp.Categories("k", (0, 1, 2)), names, "guess", "sure", grid=grid)
    found = asked(question, columns)
    for words, terms in (
        ("macro auc", {"multi_class": "ovr"}), ("weighted auc", {"multi_class": "ovr", "average": "weighted"}),
        ("micro auc", {"multi_class": "ovr", "average": "micro"}), ("one-against-one auc", {"multi_class": "ovo"}),
    ):  # fmt: skip
        told = ", ".join(f"{name}={value}" for name, value in terms.items())
        yield (
            words,
            "scikit-learn",
            f"`roc_auc_score({told})`",
            apart(found.value(words), metrics.roc_auc_score(kind, likely, **terms)),
        )
    yield (
        "confusion of three classes",
        "scikit-learn",
        "`confusion_matrix`",
        apart(found.confusion, metrics.confusion_matrix(kind, columns["guess"])),
    )
    right, _ = calibration_curve(kind == columns["guess"], columns["sure"], n_bins=10)
    own = [found.value(name) for name in found.names if name.startswith("right, confidence")]
    yield (
        "top-1 calibration",
        "scikit-learn",
        "`calibration_curve`",
        apart([each for each in own if np.isfinite(each)], right),
    )


def forecasts() -> Iterator[Row]:
    """Progress of diabetes, in whole numbers, by a linear model."""
    given, true = load_diabetes(return_X_y=True)
    told = np.round(LinearRegression().fit(given, true).predict(given))
    error, shares = true - told, (0.1, 0.5, 0.9)
    marks = {f"e{share}": error - np.round(np.quantile(error, share)) for share in shares}
    whole = dp.Values(range(-400, 401))
    found = asked(dp.QuantileForecastsQuestion(tuple(marks), shares, whole), marks)
    loss = [
        metrics.mean_pinball_loss(each, 0 * each, alpha=share)
        for each, share in zip(marks.values(), shares, strict=True)
    ]
    yield (
        "pinball loss by quantile",
        "scikit-learn",
        "`mean_pinball_loss`",
        apart([found.value(f"pinball at {share:g}") for share in shares], loss),
    )
    near = {"x": np.clip(np.round(told, -1), 50, 300), "z": np.clip(np.round(true, -1), 50, 300)}
    tens = dp.Values(range(50, 301, 10))
    binned = asked(dp.PredictedObservedQuestion("x", "z", tens, tens), near)
    yield (
        "mean squared error",
        "scikit-learn",
        "`mean_squared_error`",
        apart(binned.value("mean squared error"), metrics.mean_squared_error(near["z"], near["x"])),
    )


def drift() -> Iterator[Row]:
    """Hue of one kind of wine as the reference, and of another as the window, in tenths."""
    given, kind = load_wine(return_X_y=True)
    hue, grid = given[:, 10].round(1), dp.Values(np.arange(4, 19) / 10)
    before, now = (hue[kind == each] for each in (0, 1))
    curves = [asked(dp.HistogramQuestion("x", grid), {"x": each}) for each in (before, now)]
    shifts = dp.drift(curves[0], {"now": curves[1]}).statistics
    pairs = len(before) * len(now)
    for word, name, exact in (
        ("ks", "`ks_2samp`", stats.ks_2samp(before, now).statistic),
        ("wasserstein", "`wasserstein_distance`", stats.wasserstein_distance(before, now)),
        ("auc", "`mannwhitneyu`", abs(stats.mannwhitneyu(now, before).statistic / pairs - 0.5)),
    ):  # fmt: skip
        yield f"drift: {word}", "SciPy", name, apart(shifts["now", word].value, exact)


def uplift() -> Iterator[Row]:
    """Hormones in the GBSG2 trial, ordered by receptors and age: who has no event."""
    from lifelines.datasets import load_gbsg2
    from sklift import metrics as lift

    trial = load_gbsg2()
    treated, good = (trial["horTh"] == "yes").to_numpy(int), (trial["cens"] == 0).to_numpy(int)
    for words, score in (
        ("progesterone", np.minimum(np.log1p(trial["progrec"]) / 4 - 1, 1)), ("age", trial["age"] / 50 - 1),
    ):  # fmt: skip
        ranked = np.asarray(score, float).round(2)
        grid = dp.Values(np.unique(ranked))
        found = asked(dp.UpliftQuestion("o", "t", "s", grid), {"o": good, "t": treated, "s": ranked})
        for name, read in (("uplift area", lift.uplift_auc_score), ("qini area", lift.qini_auc_score)):
            yield (
                f"{name}, by {words}",
                "scikit-uplift",
                f"`{read.__name__}`",
                apart(found.value(name), read(good, ranked, treated)),
            )
        for name, curve in (("uplift", lift.uplift_curve), ("qini", lift.qini_curve)):
            at, heights = curve(good, ranked, treated)
            yield (
                f"{name} curve, by {words}",
                "scikit-uplift",
                f"`{curve.__name__}`",
                apart(getattr(found, name), np.interp(found.records_treated, at, heights)),
            )


def rows() -> Iterator[Row]:
    """Those that can be had here."""
    needs: dict[Callable[[], Iterator[Row]], tuple[str, ...]] = {
        pairs: (), groups: ("fairlearn",), classes: (), forecasts: (), drift: (), uplift: ("sklift", "lifelines"),
    }  # fmt: skip
    for part, packages in needs.items():
        lacking = [name for name in packages if find_spec(name) is None]
        if lacking:
            print(f"{part.__name__}: {', '.join(lacking)} not installed: nothing is measured")
        else:
            yield from part()


def main() -> None:
    """Print the table, or write it into a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = ["| number | as in | by | apart | 1e-9 |", "|---|---|---|---:|---|"]
    lines += [
        f"| {name_reading(name)} | {package} | {by} | {off:.0e} | {'yes' if off <= SAME else 'no'} |"
        for name, package, by, off in rows()
    ]
    print(*lines, sep="\n")
    if given.page is not None:
        head, mark, rest = given.page.read_text(encoding="utf-8").partition(BEGIN)
        if mark:
            text = f"{head}{BEGIN}\n\n" + "\n".join(lines) + f"\n\n{END}{rest.partition(END)[2]}"
            given.page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
