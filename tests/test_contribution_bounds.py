"""Units of whose records nobody stated a bound: one is found, stands on the curve, and may be kept."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.distributions import Family, Noise
from dpcurves.privacy import Unit
from dpcurves.strategies.contribution_bounds import PILOT_FRACTION, ChosenContributionBound, sample_unit_sizes
from dpcurves.translation import translate, use_language

ONE = dp.PrivacyLoss.pure(1)
GRID = dp.Grid(0, 100, cells=64)
CDF, HISTOGRAM = dp.CdfQuestion("x", GRID), dp.HistogramQuestion("x", dp.Grid(0, 100, cells=4))


def log(units: int = 2000, rows: int = 40) -> dict[str, Any]:
    """Half of the units have one row, the others many."""
    each = np.where(np.arange(units) % 2, rows, 1)
    return {"x": np.random.default_rng(1).uniform(0, 100, each.sum()), "who": np.repeat(np.arange(units), each)}


def session(table: Any, **more: Any) -> dp.Session:
    given = {"budget": dp.PrivacyLoss.pure(9), "adjacency": dp.ADD_REMOVE, "unit": "who", **more}
    return dp.Session(table, randomness=dp.Randomness.from_seed(3), **given)


@pytest.mark.parametrize("rows", [1, 3])
def test_an_excluded_share_has_its_interval_and_the_assumption_of_its_upper_end_in_every_language(rows: int) -> None:
    described = ChosenContributionBound(rows, Fraction(1, 10), 0.02, (0.01, 0.04), 8).describe("person")
    assert described.endswith(
        "for 1/10 of the loss; about 2.0% of the records are left out "
        "(95% interval 1.0% to 4.0%; its upper end assumes that no person has more than 8 of them)"
    )
    for language in ("de", "es", "fr"):
        with use_language(language):
            translated = translate(described)
        assert "records" not in translated
        assert translated.count("person") == described.count("person") == 3


@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
@pytest.mark.parametrize("loss", [dp.PrivacyLoss.pure(4), dp.PrivacyLoss.zcdp(4)], ids=str)
def test_counts_keep_nearly_all_rows_where_units_are_many(adjacency: Any, loss: dp.PrivacyLoss) -> None:
    with session(log(), adjacency=adjacency, budget=loss) as opened:
        found = opened.ask(HISTOGRAM, loss)
    assert found.privacy.rows_per_unit in {32, 64}
    assert found.privacy.loss == str(loss)
    (note,) = (note for note in found.notes if "of each who" in note)
    assert f"at most {found.privacy.rows_per_unit} " in note
    assert f"{PILOT_FRACTION} of the loss" in note
    assert dp.Histogram.from_json(found.to_json()).privacy == found.privacy


def test_a_bound_that_was_found_is_used_again_for_all_of_a_later_loss() -> None:
    with session(log()) as opened:
        found = opened.ask(HISTOGRAM, ONE)
        later = opened.ask(CDF, ONE, rows_per_unit=found.privacy.rows_per_unit)
        (look, *rest), stated = opened.plan(CDF, ONE), opened.plan(CDF, ONE, rows_per_unit=8)
        assert look.loss == ONE * PILOT_FRACTION
        assert sum(plan.loss.epsilon or 0 for plan in rest) == 1 - PILOT_FRACTION
        assert stated[0].adjacency.unit == Unit("who", 8)
        assert sum(plan.loss.epsilon or 0 for plan in stated) == 1
        assert opened.remaining.epsilon == 7
    assert later.privacy.rows_per_unit == found.privacy.rows_per_unit
    assert not any("of the loss, chose" in note for note in later.notes)


def test_a_request_keeps_its_bound_and_costs_nothing_again(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'budget.db'}"
    with session(log(), ledger=url) as opened:
        first = opened.ask(CDF, ONE, "mine")
    with session(log(), ledger=url) as opened:
        again = opened.ask(CDF, ONE, "mine")
        assert opened.remaining.epsilon == 8
        with pytest.raises(ValueError, match="request"):
            opened.ask(CDF, ONE, "mine", rows_per_unit=first.privacy.rows_per_unit)
    assert again.to_json() == first.to_json()
    with pytest.raises(ValueError, match="rows_per_unit: the account of 'data' was opened with no bound, not with 2"):
        session(log(), ledger=url, rows_per_unit=2)


def test_one_bound_is_for_all_questions_where_it_was_stated() -> None:
    with (
        session(log(), rows_per_unit=2) as opened,
        pytest.raises(ValueError, match=r"^rows_per_unit: this session was opened with one bound"),
    ):
        opened.ask(CDF, ONE, rows_per_unit=4)
    with session(log()) as opened, pytest.raises(ValueError, match=r"^rows_per_unit: the largest number"):
        _ = opened.adjacency


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("question", [
    dp.AutoRangeCdfQuestion("x"), dp.MeanQuestion("x", 0, 100), dp.QuantilesQuestion("x", GRID, (0.5,)),
    dp.BoundsQuestion("x", 1, "0.9"), dp.CdfQuestion("x", GRID, by=dp.Categories("half", (0, 1))),
], ids=lambda question: type(question).__name__)  # fmt: skip
def test_questions_of_all_kinds_find_a_bound(question: Any) -> None:
    table = log(400)
    table["half"] = np.arange(len(table["x"])) % 2
    with session(table) as opened:
        found = opened.ask(question, dp.PrivacyLoss.pure(2))
        assert opened.remaining.epsilon == 7
    assert found.privacy.epsilon == 2
    assert any("of each who" in note for note in found.notes)


def test_units_are_counted_once_by_their_rows_and_those_without_a_name_are_one() -> None:
    from dpcurves.records import open_records

    who = ["a"] * 1 + ["b"] * 2 + ["c"] * 4 + ["d"] * 5 + [None] * 3
    with open_records({"who": who}, unit=Unit("who", 1), key=bytes(32)) as records:
        assert records.unit_sizes(2).tolist() == [1, 1, 2, 1, 0]  # and units without a row
        assert records.units() == 5


def test_units_are_counted_in_one_cell_by_their_rows_and_the_value_of_one() -> None:
    from dpcurves.data import Axis
    from dpcurves.records import open_records

    who = np.repeat(["a", "b", "c", "d", "e"], [1, 2, 4, 5, 3])
    table = {
        "who": who,
        "x": np.where(who == "e", np.nan, np.select([who == "a", who == "b", who == "c"], [5, 30, 99], 60)),
    }
    with open_records(table, unit=Unit("who", 1), key=bytes(32)) as records:
        found = records.sized_units(Axis("x", dp.Grid(0, 100, cells=4)), 2)
        several = records.sized_units(Axis("x", dp.Values([5, 30, 60, 99])), 2)
    assert found[:-1].reshape(4, 4).tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    assert several[:-1].reshape(4, 4).tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    assert found[-1] == several[-1] == 1


def test_more_rows_are_used_where_units_of_many_have_other_values() -> None:
    chances = np.arange(1.0, 3001) ** -1.5
    rows = 1 + np.random.default_rng(1).choice(3000, 4000, p=chances / chances.sum())
    noise, high = np.random.default_rng(2).uniform(0, 40, rows.sum()), 60 * np.repeat(np.log(rows) / np.log(3000), rows)
    bounds = []
    for values in (noise + 30, noise + high):
        with session({"x": values, "who": np.repeat(np.arange(4000), rows)}) as opened:
            bounds.append(opened.ask(CDF, ONE).privacy.rows_per_unit)
            assert "by a value of one record" in opened.plan(CDF, ONE).notes[0]
            assert "by a value" not in opened.plan(HISTOGRAM, ONE).notes[0]
    assert bounds[0] <= 32
    assert bounds[1] >= 256


def test_what_stands_alone_behind_all_others_is_taken_for_noise() -> None:
    noisy = np.array([900.0, 400, 150, 60, 8, -9, 3, 0, 12, -20, 1, 0, -3, 40, 2, 0, -7, 4, 0, 0, 9, 0])
    units = sample_unit_sizes(noisy, Noise(Family.LAPLACE, Fraction(10))).units
    assert (units[:, :3] > 0).all()
    assert (units[:, 13] > 0).mean() < 0.1


def test_what_was_paid_is_answered_though_the_bound_that_fits_best_needs_more_noise_than_can_be_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dpcurves.session.choose_bound", lambda release, growth: 2**20)
    loss = dp.PrivacyLoss.zcdp("0.000001")
    with session(log(units=40), budget=loss) as opened:
        found = opened.ask(dp.SummaryQuestion("x", 0, 100), loss)
    assert 1 <= found.privacy.rows_per_unit < 2**20
