from __future__ import annotations

import numpy as np
import pytest
from by_hand import answer, both
from sklearn.calibration import calibration_curve as sklearn_calibration_curve

from dpcurves.curves import Calibration, CalibrationQuestion, HosmerLemeshow, HosmerLemeshowQuestion, Question
from dpcurves.data import Axis, Grid
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne, Unit
from dpcurves.queries import CountQuery
from dpcurves.session import plan_question

DRAW = np.random.default_rng(5)
SCORES = DRAW.beta(2, 2, size=3000)
LABELS = (DRAW.random(3000) < SCORES).astype(int)
TABLE = {"y": LABELS, "s": SCORES}
HUGE = PrivacyLoss.pure(10**9)
COARSE = Grid(0, 1, cells=8)


@pytest.mark.parametrize("adjacency", both(len(LABELS)))
def test_at_a_huge_epsilon_calibration_is_that_of_scikit_learn_on_the_same_groups(
    adjacency: AddRemove | ReplaceOne,
) -> None:
    # eight groups of a grid of eight cells: each group is a cell, as in scikit-learn's uniform bins
    uniform = {"y": np.tile(LABELS[:1000], 2), "s": np.concatenate([np.arange(1000) / 1000 + 0.0004] * 2)}
    if isinstance(adjacency, ReplaceOne):
        adjacency = ReplaceOne(adjacency.unit, 2000)
    curve = answer(CalibrationQuestion("y", "s", 8, COARSE), uniform, HUGE, adjacency, seed=1)
    true, predicted = sklearn_calibration_curve(uniform["y"], uniform["s"], n_bins=8)
    assert curve.edges == pytest.approx(np.linspace(0, 1, 9))
    assert curve.prob_true == pytest.approx(true, abs=1e-9)
    assert curve.prob_pred == pytest.approx(predicted, abs=1e-9)


@pytest.mark.parametrize("loss", [PrivacyLoss.pure(1), PrivacyLoss.zcdp(0.1)])
@pytest.mark.parametrize("adjacency", both(len(LABELS)))
def test_groups_are_of_about_equal_size(loss: PrivacyLoss, adjacency: AddRemove | ReplaceOne) -> None:
    curve = answer(CalibrationQuestion("y", "s", groups=6), TABLE, loss, adjacency, seed=4)
    assert len(curve.count) == 6
    assert np.abs(curve.count - 500).max() < 150
    assert np.abs(curve.prob_true - curve.prob_pred).max() < 0.12


def test_fewer_groups_are_made_of_fewer_records() -> None:
    def groups(adjacency: AddRemove | ReplaceOne) -> int:
        *_, sums = plan_question(CalibrationQuestion("y", "s"), PrivacyLoss.pure(1), adjacency)
        assert isinstance(sums.query.axes[-1], Axis)
        return sums.query.axes[-1].grid.cells

    expected = {100: 4, 500: 6, 1000: 10, 5000: 14, 100_000: 20}
    assert {records: groups(ReplaceOne(EACH_RECORD, records)) for records in expected} == expected
    counted, *others = plan_question(CalibrationQuestion("y", "s"), PrivacyLoss.pure(1), AddRemove(EACH_RECORD))
    assert isinstance(counted.query, CountQuery)
    assert float(counted.loss.epsilon or 0) == pytest.approx(0.02)
    assert sum(float(plan.loss.epsilon or 0) for plan in others) == pytest.approx(0.98)


def test_groups_are_narrow_where_scores_are_unless_most_are_in_one_place() -> None:
    chance = np.random.default_rng(4)
    for scores, narrow in ((chance.beta(2, 10, 5000), 0.4), (chance.beta(1, 60, 5000), 0.1)):
        table = {"y": chance.random(5000) < scores, "s": scores}
        for adjacency in both(5000):
            curve = answer(CalibrationQuestion("y", "s"), table, PrivacyLoss.pure(1), adjacency, seed=1)
            assert len(curve.count) > 8
            assert (curve.edges <= narrow).sum() >= 6
            assert np.abs(curve.prob_pred - curve.prob_true)[:5].max() < 0.1


def test_shares_lie_within_their_intervals_also_where_noise_left_nobody() -> None:
    for seed in range(8):
        curve = answer(CalibrationQuestion("y", "s", 8), TABLE, PrivacyLoss.pure("0.01"), both(3000)[1], seed)
        low, high = curve.intervals(0.9).T
        assert (low <= curve.prob_true).all()
        assert (curve.prob_true <= high).all()


@pytest.mark.quick_share(12)
@pytest.mark.parametrize("columns", [{"y": [], "s": []}, {"y": [1], "s": [0.5]}, {"y": [0, 0], "s": [1, 1]}])
@pytest.mark.parametrize("seed", range(4))
def test_tiny_tables_give_defined_answers(columns: dict[str, list[float]], seed: int) -> None:
    columns = {name: list(map(float, values)) for name, values in columns.items()}
    for loss in (PrivacyLoss.pure(0.1), HUGE):
        curve = answer(CalibrationQuestion("y", "s"), columns, loss, AddRemove(EACH_RECORD), seed)
        assert ((curve.prob_true >= 0) & (curve.prob_true <= 1)).all()
        assert (curve.prob_pred >= curve.edges[:-1]).all()
        assert (curve.prob_pred <= curve.edges[1:]).all()
        test = answer(HosmerLemeshowQuestion("y", "s"), columns, loss, AddRemove(EACH_RECORD), seed)
        is_known = not np.isnan(test.count).all()
        assert is_known or loss != HUGE or not columns["y"]
        assert np.isfinite(test.statistic) == is_known
        assert 0 < test.p_value <= 1 if is_known else np.isnan(test.p_value)
        assert is_known == ("not known" not in repr(test))


def test_the_p_value_of_a_wrong_model_is_small() -> None:
    wrong = {"y": LABELS, "s": SCORES**2}
    found = answer(HosmerLemeshowQuestion("y", "s"), wrong, PrivacyLoss.pure(2), both(3000)[1], seed=1)
    assert found.p_value < 0.01


@pytest.mark.parametrize("records", [1, 20])
def test_a_test_of_a_few_records_says_that_noise_hides_them(records: int) -> None:
    few = {"y": LABELS[:records], "s": SCORES[:records]}
    found = answer(HosmerLemeshowQuestion("y", "s"), few, PrivacyLoss.pure(1), both(records)[0], seed=1)
    *_, note = found.notes  # before it may stand that classes cannot be told from none
    assert note.startswith("noise hides the groups: ")
    assert note.split(";")[0] in found._repr_html_()
    many = answer(HosmerLemeshowQuestion("y", "s"), TABLE, PrivacyLoss.pure(1), both(3000)[0], seed=1)
    assert many.notes == ()


@pytest.mark.parametrize(
    "question", [CalibrationQuestion("y", "s", groups=4), HosmerLemeshowQuestion("y", "s", groups=4)], ids=str
)
def test_scores_outside_are_in_no_group_and_told_of(question: Question[Calibration | HosmerLemeshow]) -> None:
    beyond = {"y": np.tile(LABELS, 2), "s": np.concatenate([SCORES, np.where(SCORES < 0.3, -5.0, np.inf)])}
    found = answer(question, beyond, PrivacyLoss.pure(10), both(6000)[1], seed=3)
    assert found.count.sum() == pytest.approx(3000, abs=20)
    assert found.groups.outside == pytest.approx([(SCORES < 0.3).sum(), (SCORES >= 0.3).sum()], abs=10)
    (note,) = found.notes
    assert note.startswith("about 50% of the records have a value of 's' outside of 0 to 1 (11% below, 39% above), ")
    assert type(found).from_json(found.to_json()).notes == (note,)
    inside = answer(question, TABLE, PrivacyLoss.pure(10), both(3000)[1], seed=3)
    assert inside.notes == ()


def test_a_unit_of_several_records_is_no_independent_one_and_that_is_told() -> None:
    adjacency = AddRemove(Unit("patient", 3))
    found = answer(HosmerLemeshowQuestion("y", "s"), TABLE, PrivacyLoss.pure(10), adjacency, seed=3)
    assert "each patient may have 3" in found.notes[0]


def test_both_are_written_and_read() -> None:
    curve = answer(CalibrationQuestion("y", "s"), TABLE, PrivacyLoss.pure(1), both(3000)[1], seed=2)
    assert (Calibration.from_json(curve.to_json()).prob_true == curve.prob_true).all()
    found = answer(HosmerLemeshowQuestion("y", "s"), TABLE, PrivacyLoss.pure(1), both(3000)[1], seed=2)
    again = HosmerLemeshow.from_json(found.to_json())
    assert (again.p_value, again.statistic) == (found.p_value, found.statistic)


def test_bad_groups_and_grids_are_refused() -> None:
    with pytest.raises(ValueError, match="^groups: at least 2"):
        CalibrationQuestion("y", "s", groups=1)
    for question in (CalibrationQuestion, HosmerLemeshowQuestion):
        with pytest.raises(ValueError, match="^grid: predicted probabilities"):
            question("y", "s", grid=Grid(-1, 1, cells=4))
