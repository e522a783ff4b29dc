from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from by_hand import answer, both
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn import metrics
from sklearn.calibration import calibration_curve

import dpcurves as dp
from dpcurves.curves import Confusion, Metric, PrecisionRecall, Scores, ScoresQuestion
from dpcurves.curves.class_curves import RATES
from dpcurves.data import Categories, Grid, Outside
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne, Unit

DRAW = np.random.default_rng(5)
SCORES = DRAW.beta(2, 3, size=2000)
LABELS = (DRAW.random(2000) < SCORES).astype(int)
WARDS = DRAW.choice(["a", "b", "c"], size=2000, p=[0.5, 0.4, 0.1])
TABLE = {"y": LABELS, "s": SCORES, "w": WARDS}
MIDDLES = (np.floor(SCORES * 100) + 0.5) / 100
QUESTION, HUGE = ScoresQuestion("y", "s"), PrivacyLoss.pure(10**9)
COARSE = ScoresQuestion("y", "s", Grid(0, 1, cells=10, outside=Outside.APART))
BY = ScoresQuestion("y", "s", by=Categories("w", ("a", "b", "c")))


@pytest.fixture(scope="module", params=[0, 1], ids=["add-remove", "replace-one"])
def exact(request: pytest.FixtureRequest) -> Scores:
    found: Scores = answer(QUESTION, TABLE, HUGE, both(2000)[request.param], seed=1)
    return found


def test_at_a_huge_epsilon_numbers_are_those_of_scikit_learn_on_the_same_cells(exact: Scores) -> None:
    below = [np.mean(np.subtract.outer(np.arange(101) / 100, MIDDLES[k == LABELS]) > 0, axis=1) for k in (0, 1)]
    expected = {
        "auc": metrics.roc_auc_score(LABELS, MIDDLES),
        "average-precision": metrics.average_precision_score(LABELS, MIDDLES),
        "ks": np.abs(below[0] - below[1]).max(),
        "brier": metrics.brier_score_loss(LABELS, MIDDLES),
        "log-loss": metrics.log_loss(LABELS, MIDDLES),
    }
    assert {name: exact.value(name) for name in expected} == pytest.approx(expected, abs=1e-9)
    assert exact.roc().auc == pytest.approx(expected["auc"], abs=1e-9)


def test_an_area_of_one_is_not_rounded_to_more() -> None:
    """With this seed the sum over cells is 2**-52 above 1."""
    x = np.random.default_rng(3).beta(2, 3, size=400)
    found = answer(QUESTION, {"y": (x > 0.4).astype(int), "s": x}, PrivacyLoss.pure(1), both(400)[1], seed=242)
    assert found.value("auc") == found.interval("auc", 0.95)[1] == 1


def test_the_difference_of_two_areas_is_held_where_ties_are_the_worst_for_both() -> None:
    """All positives of one group win within cells, all negatives of the other do: the cells tell neither."""
    cell, label = np.divmod(np.arange(4000), 2)
    score = (cell % 10 + 0.5) / 10
    best, worst = (score + sign * 0.01 * (label - 0.5) for sign in (1, -1))
    table = {"y": np.tile(label, 2), "s": np.append(best, worst), "w": np.repeat(["a", "b"], 4000)}
    question = ScoresQuestion("y", "s", Grid(0, 1, cells=10), by=Categories("w", ("a", "b")))
    found = answer(question, table, HUGE, both(8000)[1], seed=1)
    true = metrics.roc_auc_score(label, best) - metrics.roc_auc_score(label, worst)
    assert true == pytest.approx(0.1)
    for population in (False, True):
        ends = found.difference("auc", "a", "b", 0.9, population=population)
        assert ends.lower <= -true + 1e-6 < true - 1e-6 <= ends.upper
    assert found.difference("auc", "a", "b", 0.9).upper == pytest.approx(true, abs=1e-6)


def test_scores_and_their_roc_curve_have_one_interval_of_the_area() -> None:
    for adjacency in both(2000):
        found = answer(QUESTION, TABLE, PrivacyLoss.pure("0.5"), adjacency, seed=3)
        for population in (False, True):
            ends = found.interval("auc", 0.9, population=population)
            assert ends == pytest.approx(found.roc().auc_interval(0.9, population=population), abs=1e-12)


def test_at_a_huge_epsilon_the_precision_recall_curve_is_that_of_scikit_learn(exact: Scores) -> None:
    precision, recall, thresholds = metrics.precision_recall_curve(LABELS, MIDDLES)
    curve = exact.precision_recall()
    used = [int(np.argmin(np.abs(curve.thresholds - (middle - 0.005)))) for middle in thresholds]
    assert curve.precision[used] == pytest.approx(precision[:-1], abs=1e-9)
    assert curve.recall[used] == pytest.approx(recall[:-1], abs=1e-9)
    assert (curve.precision[0], curve.recall[0]) == (precision[-1], recall[-1]) == (1, 0)
    (low, high), (least, most) = curve.band(0.95)
    assert low[used] == pytest.approx(precision[:-1], abs=1e-6)
    assert high[used] == pytest.approx(precision[:-1], abs=1e-6)
    assert least == pytest.approx(curve.recall, abs=1e-6)
    assert most == pytest.approx(curve.recall, abs=1e-6)


@pytest.mark.parametrize("threshold", [0.0, 0.25, 0.5, 0.994, 1.0])
def test_at_a_huge_epsilon_the_confusion_matrix_is_that_of_scikit_learn(exact: Scores, threshold: float) -> None:
    found = exact.confusion(threshold)
    assert found.threshold == pytest.approx(round(threshold, 2), abs=1e-9)
    called = (found.threshold <= SCORES).astype(int)
    assert found.matrix == pytest.approx(metrics.confusion_matrix(LABELS, called, labels=[0, 1]), abs=1e-6)
    expected = {
        "accuracy": metrics.accuracy_score(LABELS, called), "prevalence": LABELS.mean(), "flagged": called.mean(),
        "recall": metrics.recall_score(LABELS, called), "f1": metrics.f1_score(LABELS, called),
        "false_positive_rate": called[LABELS == 0].mean(),
    }  # fmt: skip
    assert {name: found.rates[name] for name in expected} == pytest.approx(expected, abs=1e-9)
    assert found.count_intervals(0.95)[..., 0] == pytest.approx(found.matrix, abs=1e-6)
    ends = dict(zip(RATES, found.intervals(0.95).tolist(), strict=True))
    assert all(ends[name] == pytest.approx([rate, rate], abs=1e-6) for name, rate in expected.items())


def test_scores_by_category_are_those_of_the_records_in_it() -> None:
    found = answer(BY, TABLE, HUGE, both(2000)[1], seed=1)
    assert list(found) == ["a", "b", "c"]
    for ward, scores in found.items():
        own = ward == WARDS
        expected = metrics.average_precision_score(LABELS[own], MIDDLES[own])
        assert scores.value("average-precision") == pytest.approx(expected, abs=1e-9)
        assert scores.roc().auc == pytest.approx(metrics.roc_auc_score(LABELS[own], MIDDLES[own]), abs=1e-9)
    difference = found.difference("brier", "a", "b", 0.95)
    expected = found["a"].value("brier") - found["b"].value("brier")
    assert difference[:3] == pytest.approx((expected,) * 3, abs=1e-6)


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("adjacency", both(2000))
def test_what_is_written_is_read_again_with_its_intervals(adjacency: Adjacency) -> None:
    scores = answer(QUESTION, TABLE, PrivacyLoss.pure(1), adjacency, seed=2)
    again = Scores.from_json(scores.to_json())
    assert (again.intervals(0.9) == scores.intervals(0.9)).all()
    curve, matrix = scores.precision_recall(), scores.confusion(0.25)
    assert PrecisionRecall.from_json(curve.to_json()).band(0.9)[0][0].tolist() == curve.band(0.9)[0][0].tolist()
    assert (Confusion.from_json(matrix.to_json()).intervals(0.9) == matrix.intervals(0.9)).all()
    groups = answer(BY, TABLE, PrivacyLoss.pure(1), adjacency, seed=2)
    read = dp.ScoresByCategory.from_json(groups.to_json())
    assert read.difference("auc", "a", "c", 0.9) == groups.difference("auc", "a", "c", 0.9)


WITHOUT = {
    "nobody": ([], []), "one record": ([1.0], [0.5]), "no positive": ([0.0] * 30, np.linspace(0, 1, 30)),
    "no negative": ([1.0] * 30, np.linspace(0, 1, 30)), "all tied": ([1.0, 0.0] * 20, [0.3] * 40),
    "outside": ([1.0, 0.0, 1.0], [np.inf, -np.inf, 3.0]), "missing": ([1.0, np.nan, 7.0], [np.nan, 0.2, 0.4]),
}  # fmt: skip


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("columns", WITHOUT.values(), ids=list(WITHOUT))
def test_whatever_is_counted_all_readings_have_their_ends_in_order(columns: tuple[list[float], list[float]]) -> None:
    table = {"y": np.array(columns[0]), "s": np.array(columns[1])}
    added, replaced = both(max(1, len(columns[0])))
    for loss, adjacencies in (
        (PrivacyLoss.pure("0.001"), (added, replaced)), (PrivacyLoss.zcdp("0.1"), (replaced,)), (HUGE, (added,)),
    ):  # fmt: skip
        for adjacency in adjacencies:
            scores = answer(COARSE, table, loss, adjacency, seed=4)
            for population in (False, True):
                ends = [scores.intervals(0.9, population=population)]
                ends += [np.stack(band, axis=1) for band in scores.precision_recall().band(0.9, population=population)]
                ends += [scores.confusion(0.5).intervals(0.9, population=population)]
                for each in ends:
                    assert (each[:, 0] <= each[:, 1]).all()
                    assert (each >= 0).all()
                    most = [1.0] * len(each) if each is not ends[0] else [1.0] * 5 + [-np.log(0.05) + 1e-9]
                    assert (each <= np.reshape(most, (-1, 1))).all()
            assert Scores.from_json(scores.to_json()).notes == scores.notes


@pytest.mark.parametrize("lacking", ["nobody", "no positive"])
def test_where_there_are_no_positives_nothing_is_said_of_them_but_that(lacking: str) -> None:
    table = {"y": np.array(WITHOUT[lacking][0]), "s": np.array(WITHOUT[lacking][1])}
    scores = answer(QUESTION, table, HUGE, AddRemove(EACH_RECORD), seed=1)
    assert "positives" in scores.notes[0]
    for reading in (Metric.AUC, Metric.AVERAGE_PRECISION, Metric.KS):
        assert np.isnan(scores.value(reading))
        assert scores.interval(reading, 0.9) == (0, 1)
    assert np.isnan(scores.precision_recall().recall).all()
    assert np.isnan(scores.confusion(0.5).rates["recall"])


def test_scores_that_are_no_probabilities_have_no_brier_score() -> None:
    question = ScoresQuestion("y", "s", Grid.logistic(-8, 8, cells=64))
    scores = answer(question, {"y": LABELS, "s": np.log(SCORES / (1 - SCORES))}, HUGE, both(2000)[1], seed=1)
    assert Metric.BRIER not in scores.metrics
    assert scores.value("auc") == pytest.approx(metrics.roc_auc_score(LABELS, SCORES), abs=0.01)
    with pytest.raises(ValueError, match=r"^grid: the Brier score needs predicted probabilities: .* -8 to 8$"):
        scores.value("brier")


def test_what_is_not_understood_is_refused_by_its_name() -> None:
    scores = answer(QUESTION, TABLE, HUGE, both(2000)[1], seed=1)
    with pytest.raises(ValueError, match=r"^metric: must be one of auc, average-precision, ks, brier, ece, log-loss,"):
        scores.value("accuracy")
    with pytest.raises(ValueError, match=r"^threshold: must be a number, as in"):
        scores.confusion(float("nan"))
    with pytest.raises(ValueError, match=r"^grid: at most 4096 cells of scores .* got 16384: intervals"):
        ScoresQuestion("y", "s", Grid(0, 1, cells=2**14))
    with pytest.raises(ValueError, match=r"^category: must be one of a, b, c,"):
        answer(BY, TABLE, HUGE, both(2000)[1], seed=1).difference("auc", "a", "d", 0.9)


def test_of_units_with_several_records_nothing_is_said_of_the_population() -> None:
    adjacency = AddRemove(Unit("w", 2))
    scores = answer(QUESTION, TABLE, PrivacyLoss.pure(1), adjacency, seed=1)
    for ask in (scores.intervals, scores.precision_recall().band, scores.confusion(0.5).intervals):
        assert len(ask(0.9)) > 0
        with pytest.raises(ValueError, match=r"^population: "):
            ask(0.9, population=True)


def test_a_record_is_in_one_cell_so_categories_and_classes_cost_what_a_grid_costs() -> None:
    for adjacency in (AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, 2000)):
        (pilot, alone), (split,) = (
            dp.plan_question(question, PrivacyLoss.pure(1), adjacency) for question in (QUESTION, BY)
        )
        assert pilot.loss.epsilon == Fraction(1, 40)  # the search for scores on edges
        assert alone.loss.epsilon == Fraction(39, 40)
        assert split.loss == PrivacyLoss.pure(1)
        assert split.error < 1.2 * alone.error


def test_at_a_huge_epsilon_the_calibration_curve_is_that_of_scikit_learn(exact: Scores) -> None:
    found = exact.calibration(boundaries=np.linspace(0, 1, 11).tolist())
    true, predicted = calibration_curve(LABELS, MIDDLES, n_bins=10)
    filled = found.count > 0.5
    assert found.prob_true[filled] == pytest.approx(true, abs=1e-9)
    assert found.prob_pred[filled] == pytest.approx(predicted, abs=1e-9)
    assert found.intervals(0.95)[filled, 0] == pytest.approx(true, abs=1e-6)
    groups = exact.calibration()
    error = np.sum(groups.count * np.abs(groups.prob_true - groups.prob_pred)) / groups.count.sum()
    assert exact.value("ece") == pytest.approx(error, abs=1e-9)
    assert len(groups.count) == 10
    assert groups.count.max() < 2 * groups.count.min()


def test_at_a_huge_epsilon_gain_and_net_benefit_are_those_of_the_records(exact: Scores) -> None:
    gain, decision = exact.cumulative_gain(), exact.decision_curve()
    for point in (20, 50, 80):
        above = gain.thresholds[point] <= SCORES
        assert gain.flagged[point] == pytest.approx(above.mean(), abs=1e-9)
        assert gain.gain[point] == pytest.approx(above[LABELS == 1].mean(), abs=1e-9)
        assert gain.lift[point] == pytest.approx(LABELS[above].mean() / LABELS.mean(), abs=1e-9)
        at = decision.threshold[point]
        acted = at <= SCORES
        net = np.sum(acted & (LABELS == 1)) - at / (1 - at) * np.sum(acted & (LABELS == 0))
        assert decision.benefit[point] == pytest.approx(net / len(SCORES), abs=1e-9)
        everybody = LABELS.mean() - at / (1 - at) * (1 - LABELS.mean())
        assert decision.all_benefit[point] == pytest.approx(everybody, abs=1e-9)
    lower, upper = decision.band(0.95)
    assert lower == pytest.approx(decision.benefit, abs=1e-6)
    assert upper == pytest.approx(decision.benefit, abs=1e-6)


def test_curves_are_written_and_read_again_with_their_bands() -> None:
    scores = answer(QUESTION, TABLE, PrivacyLoss.pure(1), both(2000)[1], seed=3)
    for curve in (scores.cumulative_gain(), scores.decision_curve(), scores.calibration(4)):
        again = type(curve).from_json(curve.to_json())
        assert again.to_json() == curve.to_json()
        assert np.array_equal(again.to_frame(level=0.9), curve.to_frame(level=0.9), equal_nan=True)


def test_scores_that_are_no_probabilities_have_no_decision_curve() -> None:
    scores = answer(ScoresQuestion("y", "s", Grid(0, 2, cells=8)), TABLE, HUGE, both(2000)[1], seed=1)
    for ask in (scores.decision_curve, scores.calibration):
        with pytest.raises(ValueError, match=r"^grid: "):
            ask()


@pytest.mark.reproduction
@pytest.mark.parametrize(
    ("records", "share", "threshold"), [(3000, 0.005, 0.05), (3000, 0.02, 0.3), (30_000, 0.01, 0.1)]
)
def test_f1_of_rare_labels_is_held_on_either_side(records: int, share: float, threshold: float) -> None:
    """Each end at .9 misses at most 5%: of 60 releases no more than chance does once in a million times."""

    def drawn(size: int, seed: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        draw = np.random.default_rng(seed)
        label = draw.random(size) < share
        odds = np.log(share / (1 - share)) + 1.5 * draw.normal(1.5 * label) - 1.125
        return label, 1 / (1 + np.exp(-odds))

    grid, adjacency = Grid(0, 1, cells=200), both(records)[1]
    labels, scores = drawn(2_000_000, 0)
    everybody = metrics.f1_score(labels, scores >= threshold)
    missed = np.zeros((2, 2), dtype=int)
    for seed in range(1, 61):
        label, score = drawn(records, seed)
        table = {"y": label.astype(int), "s": score}
        found = answer(ScoresQuestion("y", "s", grid), table, PrivacyLoss.pure(1), adjacency, seed=seed)
        read = found.confusion(threshold)
        for row, true in enumerate((metrics.f1_score(label, score >= read.threshold), everybody)):
            low, high = read.intervals(0.9, population=bool(row))[list(RATES).index("f1")]
            missed[row] += [true < low - 1e-9, true > high + 1e-9]
    assert missed.max() <= binom.isf(1e-6, 60, 0.05)
