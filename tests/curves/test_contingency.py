"""Tables of two columns: what they count, how often intervals hold, and what the test of independence finds."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from by_hand import answer, both
from scipy.stats import chi2, chi2_contingency

import dpcurves as dp
from dpcurves.curves import Contingency, ContingencyQuestion
from dpcurves.privacy import AddRemove, PrivacyLoss, Unit

HUGE = PrivacyLoss.pure(10**9)
QUESTION = ContingencyQuestion(dp.Categories("a", (0, 1)), dp.Categories("b", (0, 1, 2)))


def columns(records: int, seed: int, *, agreeing: float = 0.0) -> dict[str, Any]:
    draw = np.random.default_rng([seed, records])
    rows = draw.choice(2, records, p=(0.7, 0.3))
    others = draw.choice(3, records, p=(0.5, 0.3, 0.2))
    return {"a": rows, "b": np.where(draw.random(records) < agreeing, rows, others)}


def exact(given: dict[str, Any]) -> Any:
    table = np.zeros((2, 3))
    np.add.at(table, (given["a"], given["b"]), 1)
    return table


def test_at_a_huge_epsilon_counts_and_statistic_are_those_of_scipy() -> None:
    given = columns(400, 1)
    table = exact(given)
    statistic, p_value, _, expected = chi2_contingency(table, correction=False)
    for adjacency in both(400):
        found = answer(QUESTION, given, HUGE, adjacency, seed=1)
        assert found.count == pytest.approx(table, abs=1e-9)
        assert found.expected_count == pytest.approx(expected, abs=1e-9)
        assert found.statistic == pytest.approx(statistic, rel=1e-9)
        assert found.p_value == pytest.approx(p_value, abs=4 * sqrt(p_value * (1 - p_value) / 2000))
        assert found.row_shares.sum(axis=1) == pytest.approx(1)
        assert found.column_shares == pytest.approx(table / table.sum(axis=0), abs=1e-9)


@pytest.mark.reproduction
def test_independent_columns_are_called_dependent_as_rarely_as_it_says_and_noise_alone_would_fool_a_plain_test() -> (
    None
):
    """200 releases: shares of small p-values are within 4 sigma of their level; a distribution of chi-squared fails by
    far."""
    runs, found, plain = 200, [], []
    for seed in range(runs):
        curve = answer(QUESTION, columns(500, seed), PrivacyLoss.pure("0.3"), both(500)[seed % 2], seed)
        found.append(curve.p_value)
        counts = np.maximum(curve.count, 0.5)
        plain.append(chi2.sf(chi2_contingency(counts, correction=False).statistic, 2))
    for level in (0.05, 0.2):
        assert abs(np.mean(np.array(found) <= level) - level) <= 4 * sqrt(level * (1 - level) / runs)
    assert np.mean(np.array(plain) <= 0.05) > 0.15


def test_dependence_is_found() -> None:
    found = [
        answer(QUESTION, columns(2000, seed, agreeing=0.2), PrivacyLoss.pure(1), both(2000)[seed % 2], seed).p_value
        for seed in range(20)
    ]
    assert np.mean(np.array(found) <= 0.05) >= 0.9


@pytest.mark.reproduction
def test_intervals_hold_all_counts_and_each_share() -> None:
    """50 releases at level 0.9: within 4 sigma for these records, and not below for the population."""
    releases, level = 50, 0.9
    sigma, held = sqrt(level * (1 - level) / releases), dict.fromkeys(("counts", "means", "shares", "sampled"), 0)
    chances = np.outer((0.7, 0.3), (0.5, 0.3, 0.2))
    for seed in range(releases):
        given = columns(800, seed)
        found, table = answer(QUESTION, given, PrivacyLoss.pure("0.5"), both(800)[seed % 2], seed), exact(given)
        cases = {
            "counts": (found.intervals(level), table.ravel(), slice(None)),
            "means": (found.intervals(level, population=True), 800 * chances.ravel(), slice(None)),
            "shares": (found.row_share_intervals(level), table / table.sum(axis=1, keepdims=True), (1, 2)),
            "sampled": (found.column_share_intervals(level, population=True), chances / chances.sum(axis=0), (1, 2)),
        }
        for name, (ends, true, place) in cases.items():
            held[name] += bool(((ends[..., 0] <= true) & (true <= ends[..., 1]))[place].all())
    assert min(held.values()) >= releases * (level - 4 * sigma), held
    assert held["counts"] < releases or held["shares"] < releases, held


def test_it_is_written_read_and_shown() -> None:
    found = answer(QUESTION, columns(500, 3), PrivacyLoss.zcdp(1), both(500)[1], seed=1)
    again = Contingency.from_json(found.to_json())
    assert (again.p_value, again.statistic) == (found.p_value, found.statistic)
    assert list(found.to_frame(level=0.9).columns) == ["a", "b", "count", "row_share", "column_share", "lower", "upper"]
    assert "p-value" in repr(found)
    ax = found.plot()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1", "2"]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("a", "b")
    assert "for these records" in ax.get_title()


def test_of_units_with_several_records_no_population_is_spoken_of() -> None:
    found = answer(QUESTION, columns(500, 3), PrivacyLoss.pure(1), AddRemove(Unit("patient", 2)), seed=1)
    assert any("sampling errors assume independent records" in note for note in found.notes)
    for intervals in (found.intervals, found.row_share_intervals):
        with pytest.raises(ValueError, match="^population: independent units"):
            intervals(0.9, population=True)


@pytest.mark.parametrize(
    ("rows", "others", "line"),
    [
        (dp.Categories("a", (1,)), dp.Categories("b", (0, 1)), "rows: at least 2"),
        (dp.Categories("a", (1, 2)), dp.Categories("a", (0, 1)), "columns: a column other"),
        (dp.Categories("a", tuple(range(65))), dp.Categories("b", tuple(range(64))), "rows, columns: at most 4096"),
        ("a", dp.Categories("b", (0, 1)), "rows: Categories"),
    ],
)
def test_what_is_no_table_is_refused(rows: Any, others: Any, line: str) -> None:
    with pytest.raises(ValueError, match=f"^{line}"):
        ContingencyQuestion(rows, others)


def test_what_noise_hides_is_not_known_and_nothing_goes_beyond_what_is_possible() -> None:
    """Three records at epsilon 0.1, a row and a table without any: whole ends from 0 to 3, and shares that are NaN."""
    three = {"a": np.array([0, 1, 1]), "b": np.array([0, 1, 2])}
    none = {name: values[:0] for name, values in three.items()}
    for seed in range(10):
        private, public = (answer(QUESTION, three, PrivacyLoss.pure("0.1"), each, seed) for each in both(3))
        for found in (private, answer(QUESTION, none, PrivacyLoss.pure(1), both(3)[0], seed)):
            ends = found.intervals(0.95)
            assert np.isfinite(found.count).all()
            assert (ends == np.rint(ends)).all()
            assert (ends[:, 0] < ends[:, 1]).all()
        for ends in (public.intervals(0.95), public.intervals(0.95, population=True)):
            assert ends == pytest.approx(np.tile((0.0, 3.0), (6, 1)))
        assert np.isnan(public.count).all()
        assert np.isnan(public.to_frame()["count"]).all()
        unknown = np.isnan(public.row_shares), public.row_share_intervals(0.9), public.row_share_intervals(0.99)
        assert all((ends[unknown[0]] == (0.0, 1.0)).all() for ends in unknown[1:])
        assert np.isnan(Contingency.from_json(public.to_json()).count).all()


def test_a_row_without_records_has_no_shares_but_by_chance() -> None:
    """Noise alone makes 2.5% (one side of 95%) of 200 empty rows; by 4 sigma at most 7% seem to be there."""
    given = {"a": np.zeros(300, dtype=int), "b": np.arange(300) % 3}
    seen = 0
    for seed in range(200):
        found = answer(QUESTION, given, PrivacyLoss.pure("0.5"), both(300)[seed % 2], seed)
        assert np.isfinite(found.row_shares[0]).all()
        seen += bool(np.isfinite(found.row_shares[1]).all())
    assert seen <= 14


def test_a_picture_of_what_is_not_known_says_so() -> None:
    three = {"a": np.array([0, 1, 1]), "b": np.array([0, 1, 2])}
    ax = answer(QUESTION, three, PrivacyLoss.pure("0.1"), both(3)[1], seed=1).plot()
    assert [text.get_text() for text in ax.texts[:6]] == ["not known"] * 6
