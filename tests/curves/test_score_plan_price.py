"""What a plan of scores says of its price: what was measured, nearest to what is asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.curves.scores import load_measured_ratios
from dpcurves.privacy import Unit

QUESTION = dp.ScoresQuestion("y", "s")


def notes(loss: dp.PrivacyLoss, units: int | None, unit: Unit = dp.EACH_RECORD) -> tuple[str, ...]:
    neighbours = dp.ADD_REMOVE if units is None else dp.REPLACE_ONE
    return dp.plan_question(QUESTION, loss, neighbours.to_adjacency(unit, units)).notes


def test_the_measured_table_is_whole() -> None:
    table = load_measured_ratios()
    assert table.releases >= 24
    places = {(row.records, row.currency, row.loss) for row in table.ratios}
    assert len(places) == len(table.ratios) == 12
    assert all(row.area > 0 and row.groups > 0 for row in table.ratios)


def test_a_plan_says_what_was_measured_nearest_to_it() -> None:
    for records, units in ((1000, 700), (10_000, 20_000), (100_000, 3_000_000)):
        for loss, currency, amount in (("0.8", "epsilon", 1.0), ("0.02", "epsilon", 0.1)):
            (row,) = (each for each in load_measured_ratios().ratios if each[:3] == (records, currency, amount))
            (note,) = notes(dp.PrivacyLoss.pure(loss), units)
            assert f": {row.area:.2g} times the error of the area" in note
            assert f", {row.groups:.2g} times the error of shares" in note
            assert (
                f"measured on {records:,} calibrated scores at {currency} {amount:g}, {load_measured_ratios().releases}"
                in note
            )
    assert "at rho 0.5," in notes(dp.PrivacyLoss.zcdp("0.2"), 1000)[0]


def test_where_the_number_of_records_is_private_all_are_named_and_units_of_several_share_their_loss() -> None:
    (note,) = notes(dp.PrivacyLoss.pure(1), None)
    assert "measured on 1,000 to 100,000 calibrated scores at epsilon 1," in note
    assert "at epsilon 0.1," in notes(dp.PrivacyLoss.pure(1), 1000, Unit("patient", 8))[0]


def test_nothing_is_said_of_categories_and_of_other_questions() -> None:
    by = dp.ScoresQuestion("y", "s", by=dp.Categories("w", (0, 1)))
    for question in (by, dp.RocQuestion("y", "s")):
        assert (
            dp.plan_question(question, dp.PrivacyLoss.pure(1), dp.ADD_REMOVE.to_adjacency(dp.EACH_RECORD, None)).notes
            == ()
        )


def test_a_session_plans_with_the_same_notes() -> None:
    table = {"y": np.arange(900) % 2, "s": np.linspace(0, 1, 900)}
    with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
        assert session.plan(QUESTION, dp.PrivacyLoss.pure(1)).notes == notes(dp.PrivacyLoss.pure(1), 900)


@pytest.mark.reproduction
@pytest.mark.parametrize("records", [10_000])
def test_the_table_is_what_releases_show(records: int) -> None:
    """10 releases of each: the ratio of root mean squares is within a factor of 3.6, about 4 standard deviations."""
    (row,) = (kept for kept in load_measured_ratios().ratios if kept[:3] == (records, "epsilon", 0.1))
    loss, off = dp.PrivacyLoss.pure("0.1"), np.zeros((10, 2))
    for seed in range(len(off)):
        draw = np.random.default_rng([seed, 7])
        score = draw.beta(2, 3, records)
        label = (draw.random(records) < score).astype(int)
        ranks = score.argsort().argsort()[label == 1].astype(float)
        exact = (ranks.sum() - len(ranks) * (len(ranks) - 1) / 2) / len(ranks) / (records - len(ranks))
        each: tuple[Any, ...] = QUESTION, dp.RocQuestion("y", "s")
        for place, question in enumerate(each):
            randomness = dp.Randomness.from_seed(seed)
            with dp.Session(
                {"y": label, "s": score}, budget=loss, adjacency=dp.REPLACE_ONE, randomness=randomness
            ) as session:
                found: Any = session.ask(question, loss)
            off[seed, place] = (found.roc() if isinstance(found, dp.Scores) else found).auc - exact
    ratio = np.divide(*np.sqrt(np.mean(off**2, axis=0)))
    assert row.area / 3.6 < ratio < row.area * 3.6
