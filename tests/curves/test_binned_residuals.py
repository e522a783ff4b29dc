"""Binned residuals: equality without noise, honest envelopes with it, and an answer to whatever is in the columns."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from by_hand import answer, both, table_of
from numpy.typing import NDArray

from dpcurves import ADD_REMOVE
from dpcurves.conversation import HALF_WIDTH_STEPS, Setting
from dpcurves.curves.residuals import (
    BIN_COUNTS_FRACTION,
    BIN_SUMS_FRACTION,
    BinnedResiduals,
    BinnedResidualsQuestion,
    find_min_records,
)
from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.distributions import IntervalSums
from dpcurves.mechanisms import AUTO
from dpcurves.privacy import (
    EACH_RECORD,
    PRIVATE_MODEL,
    PUBLIC_MODEL,
    AddRemove,
    Adjacency,
    PrivacyLoss,
    ReplaceOne,
    Unit,
)
from dpcurves.queries import CountQuery, CountUse, Query, SumQuery
from dpcurves.session import Session, plan_question
from dpcurves.strategies.ranks import merge_bins

FloatArray = NDArray[np.float64]
DRAW = np.random.default_rng(5)
SCORES = DRAW.beta(2, 2, size=4000)
LABELS = (DRAW.random(4000) < SCORES).astype(int)
TABLE = {"y": LABELS, "s": SCORES}
HUGE = PrivacyLoss.pure(10**9)
QUESTION = BinnedResidualsQuestion("y", "s", PUBLIC_MODEL)
ONE = PrivacyLoss.pure(1)


@pytest.mark.parametrize("adjacency", both(4000), ids=str)
@pytest.mark.parametrize("loss", [HUGE, PrivacyLoss.zcdp(10**12)], ids=str)
def test_without_noise_means_are_those_of_the_bins(loss: PrivacyLoss, adjacency: Adjacency) -> None:
    found = answer(QUESTION, TABLE, loss, adjacency, seed=1)
    bins = np.searchsorted(found.edges[1:-1], SCORES, side="right")
    count = np.bincount(bins)
    assert len(count) == 16
    assert found.count == pytest.approx(count)
    assert found.prob_pred == pytest.approx(np.bincount(bins, SCORES) / count, abs=1e-8)
    assert found.residual == pytest.approx(np.bincount(bins, LABELS - SCORES) / count, abs=1e-8)
    assert found.envelope == pytest.approx(
        1.96 * np.sqrt(found.prob_pred * (1 - found.prob_pred) / count), rel=0.08
    )  # simulated, on the safe side


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("epsilon", ["0.2", "1"])
@pytest.mark.parametrize("adjacency", both(2000), ids=str)
def test_an_honest_model_leaves_the_envelope_as_rarely_as_said(adjacency: Adjacency, epsilon: str) -> None:
    """About 5 in 100: 4 sigma above 7, for discrete Laplace noise has heavier tails than a normal distribution."""
    outside: list[bool] = []
    for seed in range(30):
        labels = (np.random.default_rng(seed).random(2000) < SCORES[:2000]).astype(int)
        found = answer(QUESTION, {"y": labels, "s": SCORES[:2000]}, PrivacyLoss.pure(epsilon), adjacency, seed)
        outside.extend((np.abs(found.residual) > found.envelope).tolist())
    assert np.mean(outside) < 0.07 + 4 * sqrt(0.07 * 0.93 / len(outside))


def test_an_envelope_takes_any_level_on_pictures_and_in_tables_too() -> None:
    found = answer(QUESTION, TABLE, HUGE, both(4000)[1], seed=1)
    deviation = np.sqrt(found.prob_pred * (1 - found.prob_pred) / found.count)
    assert found.envelope_at(0.5) == pytest.approx(0.674 * deviation, rel=0.08)
    assert (found.envelope_at(0.95) == found.envelope).all()
    assert (found.to_frame(level=0.5)["envelope"] == found.envelope_at(0.5)).all()
    assert (found.to_frame()["envelope"] == found.envelope).all()
    _, upper, lower = found.plot(level=0.5).lines
    assert np.asarray(upper.get_ydata()) == pytest.approx(found.envelope_at(0.5))
    assert np.asarray(lower.get_ydata()) == pytest.approx(-found.envelope_at(0.5))
    assert "50% of bins of a right model" in str(upper.get_label())
    assert len(found.plot(level=None).lines) == 1
    for wrong in (0, 1, 1.5, float("nan")):
        with pytest.raises(ValueError, match="^level: "):
            found.envelope_at(wrong)


def test_a_wrong_model_leaves_it() -> None:
    wrong = {"y": LABELS, "s": SCORES**2}
    found = answer(QUESTION, wrong, ONE, both(4000)[1], seed=3)
    assert found.outside > 0.5
    assert found.residual.mean() > 0.1
    honest = answer(QUESTION, TABLE, ONE, both(4000)[1], seed=3)
    assert honest.outside < 0.3


@pytest.mark.parametrize("adjacency", both(4000), ids=str)
def test_bins_are_joined_where_noise_would_drown_them(adjacency: Adjacency) -> None:
    many, few = (len(answer(QUESTION, TABLE, PrivacyLoss.pure(e), adjacency, seed=2).count) for e in ("5", "0.05"))
    assert many > 12
    assert few <= 4


EDGES = {
    "nobody": ([], []), "one record": ([1.0], [0.5]), "an empty class": ([1.0] * 30, DRAW.random(30)),
    "constant prediction": (DRAW.integers(0, 2, 50).astype(float), [0.3] * 50), "all scores 1": ([0.0] * 9, [1.0] * 9),
    "infinite": ([1.0, 0.0, 1.0], [np.inf, -np.inf, 0.5]), "missing": ([1.0, np.nan, 7.0], [np.nan, 0.2, 0.4]),
}  # fmt: skip


@pytest.mark.quick_share(28)
@pytest.mark.parametrize("columns", EDGES.values(), ids=list(EDGES))
@pytest.mark.parametrize("loss", [PrivacyLoss.pure("0.01"), ONE, HUGE, PrivacyLoss.zcdp("0.1")], ids=str)
def test_whatever_is_in_the_columns_there_is_an_answer(
    columns: tuple[FloatArray, FloatArray], loss: PrivacyLoss
) -> None:
    table = {"y": np.array(columns[0]), "s": np.array(columns[1])}
    for adjacency in (AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, max(1, len(columns[0])))):
        for seed in range(3):
            found = answer(QUESTION, table, loss, adjacency, seed)
            assert len(found.residual) == len(found.edges) - 1 >= 1
            assert (np.abs(found.residual[~np.isnan(found.residual)]) <= 1).all()
            assert ((found.envelope >= 0) & (found.envelope <= 1)).all()
            assert ((found.prob_pred >= found.edges[:-1]) & (found.prob_pred <= found.edges[1:])).all()
            assert np.isnan(found.outside) or 0 <= found.outside <= 1


def test_predictions_outside_are_in_no_bin_and_tied_ones_have_one() -> None:
    found = answer(QUESTION, {"y": [1.0] * 40, "s": [np.inf] * 30 + [-0.5] * 10}, HUGE, both(40)[0], seed=1)
    assert found.count == pytest.approx(0)
    assert found.groups.outside == pytest.approx((10, 30))
    assert "about 100% of the records have a value of 's' outside of 0 to 1 (25% below, 75% above)" in "; ".join(
        found.notes
    )
    tied = answer(QUESTION, {"y": [1.0, 0.0] * 20, "s": [0.3] * 40}, HUGE, both(40)[0], seed=1)
    where = int(np.searchsorted(tied.edges, 0.3, side="right")) - 1
    assert tied.residual[where] == pytest.approx(0.2, abs=1e-8)
    assert tied.count[where] == pytest.approx(40)


def test_a_session_answers_and_the_face_says_where_the_model_comes_from() -> None:
    with Session(TABLE, budget=PrivacyLoss.pure(3), adjacency=ADD_REMOVE) as session:
        found = session.ask(BinnedResidualsQuestion("y", "s", PRIVATE_MODEL), PrivacyLoss.pure(2), "a")
        again = session.ask(BinnedResidualsQuestion("y", "s", PRIVATE_MODEL), PrivacyLoss.pure(2), "a")
    assert found.privacy.epsilon == 2
    assert "which is not in this one" in found.privacy.model
    assert (again.residual == found.residual).all()
    read = BinnedResiduals.from_json(found.to_json())
    for name in ("prob_pred", "residual", "count", "envelope", "edges"):
        assert (getattr(read, name) == getattr(found, name)).all()
    assert list(found.to_frame().columns) == ["prob_pred", "residual", "count", "envelope"]
    assert "Binned residuals" in found._repr_html_()


def test_shares_add_up_and_pieces_follow_public_numbers_alone() -> None:
    plans = plan_question(QUESTION, ONE, AddRemove(EACH_RECORD))
    assert [plan.query.__class__.__name__ for plan in plans] == [
        "QuantileCutsQuery",
        "MergePartitionQuery",
        "CountQuery",
        "SumQuery",
    ]
    assert plan_question(QUESTION, ONE, ReplaceOne(EACH_RECORD, 200))[0].query.pieces == 4  # type: ignore[attr-defined]
    assert plan_question(QUESTION, ONE, ReplaceOne(EACH_RECORD, 1))[0].query.pieces == 2  # type: ignore[attr-defined]
    setting = Setting(ONE, ReplaceOne(Unit("u", 2), 50))
    assert find_min_records(setting) == 189  # noise of scale 4 / 0.6
    assert find_min_records(Setting(PrivacyLoss.zcdp("0.5"), AddRemove(EACH_RECORD))) == 26


@pytest.mark.parametrize("adjacency", [AddRemove(EACH_RECORD), ReplaceOne(EACH_RECORD, 2)], ids=str)
def test_counts_and_centred_sums_lose_their_shares_on_ties_of_boundaries(adjacency: Adjacency) -> None:
    """All pairs of records on, below and above the edges of uneven bins, with either label or missing: exactly."""
    bins = Axis("s", Grid.from_edges([0, 1 / 32, 0.5, 31 / 32, 1], outside=Outside.APART))
    queries: list[Query] = [
        CountQuery((Categories("y", (0, 1)), bins), CountUse.CELLS),
        SumQuery((Categories("y", (0, 1)), bins), half=HALF_WIDTH_STEPS),
    ]
    shares = (BIN_COUNTS_FRACTION, BIN_SUMS_FRACTION)
    plans = [AUTO.plan(each, ONE * share, adjacency) for each, share in zip(queries, shares, strict=True)]
    edges = bins.grid.edges
    scores = [*edges, *np.nextafter(edges, -1), *np.nextafter(edges, 2), np.inf, -np.inf, np.nan]
    records = [{"s": [score], "y": [label]} for score in scores for label in (0.0, 1.0, 7.0)]
    tables = [[table_of(record, query) for record in records] for query in queries]
    nobody = [[0 * table for table in kind[:1]] for kind in tables]
    before = nobody if isinstance(adjacency, AddRemove) else tables
    worst = Fraction(0)
    for old in range(len(before[0])):
        for new in range(len(records)):
            lost = Fraction(0)
            for plan, was, now in zip(plans, before, tables, strict=True):
                assert isinstance(plan.distribution, IntervalSums)
                cells, missing = np.abs(now[new] - was[old])[:-1].sum(), abs(now[new] - was[old])[-1]
                lost += int(cells) / plan.distribution.levels[0].noise.parameter
                lost += 0 if plan.distribution.missing is None else int(missing) / plan.distribution.missing.parameter
            worst = max(worst, lost)
    assert worst == BIN_COUNTS_FRACTION + BIN_SUMS_FRACTION


def test_what_is_left_over_belongs_to_the_last_bin() -> None:
    fine = Grid.from_edges([0, 0.25, 0.5, 0.75, 1])
    assert merge_bins(fine, (0, 1, 0, 1)).edges.tolist() == [0, 0.5, 1]
    assert merge_bins(fine, (1, 1, 0, 0)).edges.tolist() == [0, 0.25, 1]
    assert merge_bins(fine, (0, 0, 0, 0)).edges.tolist() == merge_bins(fine, (0, 1, 0, 0)).edges.tolist() == [0, 1]
    assert merge_bins(fine, (1, 1, 1, 1)).edges.tolist() == fine.edges.tolist()


def test_what_makes_no_sense_is_refused_in_one_line() -> None:
    with pytest.raises(TypeError, match="^model: say where the model comes from: PUBLIC_MODEL"):
        BinnedResidualsQuestion("y", "s", "public")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="^bins: at least 2"):
        BinnedResidualsQuestion("y", "s", PUBLIC_MODEL, bins=1)
    with pytest.raises(ValueError, match="^min_records: "):
        BinnedResidualsQuestion("y", "s", PUBLIC_MODEL, min_records=0)
    with pytest.raises(ValueError, match="^grid: predicted probabilities"):
        BinnedResidualsQuestion("y", "s", PUBLIC_MODEL, grid=Grid(-1, 1, cells=4))
    with pytest.raises(ValueError, match="^neg_label: "):
        BinnedResidualsQuestion("y", "s", PUBLIC_MODEL, pos_label="late")
