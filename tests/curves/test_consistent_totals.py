"""Margins of one release, and several releases that are made to add up: they do, and their intervals cover."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.distributions import Family, HaarSums, IntervalSums, Noise, PathSums, Tier, ToeplitzSums
from dpcurves.distributions.output_distribution import simulate_noise
from dpcurves.distributions.path_sums import ThresholdSums

STATES, YEARS = tuple("abcde"), (2011, 2012, 2013)
BY_BOTH = dp.Categories("state", STATES), dp.Categories("year", YEARS)
GRID = dp.Grid(0, 100, cells=20)
HUGE = dp.PrivacyLoss.pure(10_000)


@pytest.fixture(scope="module")
def people() -> dict[str, np.ndarray]:
    chance = np.random.default_rng(7)
    state, year = chance.choice(STATES, 900, p=(0.5, 0.3, 0.15, 0.04, 0.01)), chance.choice(YEARS, 900)
    ages, ill = chance.integers(0, 100, 900).astype(float), chance.integers(0, 2, 900)
    return {"age": ages, "state": state, "year": year, "ill": ill}


Asked = Callable[..., Any]


@pytest.fixture
def asked(people: dict[str, np.ndarray]) -> Asked:
    def ask(
        *questions: Any, loss: dp.PrivacyLoss = HUGE, adjacency: Any = dp.ADD_REMOVE, seed: int | None = None
    ) -> Any:
        randomness = None if seed is None else dp.Randomness.from_seed(seed)
        table = {name: column.tolist() for name, column in people.items()}
        with dp.Session(
            table, budget=loss * Fraction(len(questions)), adjacency=adjacency, randomness=randomness
        ) as session:
            return [session.ask(question, loss) for question in questions]

    return ask


@pytest.mark.quick_share(10)
@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
@pytest.mark.parametrize(
    ("question", "read"),
    [
        (lambda by: dp.CountQuestion("age", by), lambda found: [found.count]),
        (lambda by: dp.SummaryQuestion("age", 0, 100, by), lambda found: [found.count, found.sum, found.variance]),
        (lambda by: dp.HistogramQuestion("age", GRID, by), lambda found: found.count),
        (lambda by: dp.CdfQuestion("age", GRID, by=by), lambda found: found.y),
        (lambda by: dp.SurvivalQuestion("age", "ill", GRID, by=by), lambda found: found.y),
    ],
)
def test_a_margin_is_the_curve_of_all_its_records(asked: Asked, question: Any, read: Any, adjacency: Any) -> None:
    both, by_year, whole = asked(*map(question, (BY_BOTH, BY_BOTH[1], None)), adjacency=adjacency)
    margin, everything = both.sum_over("state"), both.sum_over("state", "year")
    assert list(margin) == list(by_year)
    assert margin.columns == by_year.columns
    for year in YEARS:
        assert read(margin[year]) == pytest.approx(read(by_year[year]), rel=1e-3, abs=1e-6)
    assert read(everything) == pytest.approx(read(whole), rel=1e-3, abs=1e-6)
    assert type(everything).from_json(everything.to_json()).to_json() == everything.to_json()
    assert "records of no declared category are in none" in everything.notes[0]


def test_parts_add_up_to_their_margin(asked: Asked) -> None:
    (both,) = asked(dp.HistogramQuestion("age", GRID, BY_BOTH), loss=dp.PrivacyLoss.pure(1))
    margin = both.sum_over("state")
    for year in YEARS:
        assert margin[year].unbiased_counts == pytest.approx(sum(both[state, year].unbiased_counts for state in STATES))


def test_margins_of_a_two_way_table(asked: Asked, people: dict[str, np.ndarray]) -> None:
    question = dp.ContingencyQuestion(*BY_BOTH)
    (table,) = asked(question)
    (noisy,) = asked(question, loss=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE)
    assert [one.count for one in table.sum_over("year").values()] == [int((people["state"] == s).sum()) for s in STATES]
    for year, one in noisy.sum_over("state").items():
        low, high = one.interval(0.999)
        assert low <= (people["year"] == year).sum() <= high < low + 120


@pytest.mark.reproduction
def test_consistent_totals_and_margins_add_up_and_cover(asked: Asked, people: dict[str, np.ndarray]) -> None:
    truth = [float(((people["state"] == s) & (people["year"] == y)).sum()) for s in STATES for y in YEARS]
    years, loss = [float((people["year"] == year).sum()) for year in YEARS], dp.PrivacyLoss.pure("0.1")
    questions = [dp.CountQuestion("age", by) for by in (BY_BOTH, BY_BOTH[1], None)]
    hit, hit_by_margins, ranked, errors = [], [], [], []
    sizes = np.array([(people["state"] == state).sum() for state in STATES])
    for seed in range(20):
        parts, by_year, whole = asked(*questions, loss=loss, seed=seed)
        fitted = dp.make_consistent({"parts": parts, "years": by_year, "all": whole})
        table = fitted.table("parts")
        for year in YEARS:
            assert sum(table[state, year] for state in STATES) == pytest.approx(fitted.table("years")[year])
        assert sum(table.values()) == pytest.approx(fitted.table("all")[()])
        truths = np.array([*truth, *years, 900.0])
        low, high = fitted.intervals(0.9).T
        hit.append((low <= truths) & (truths <= high))
        margins = [*parts.sum_over("state").values(), parts.sum_over("state", "year")]
        ends = zip((one.interval(0.9) for one in margins), [*years, 900.0], strict=True)
        hit_by_margins.append([own[0] <= value <= own[1] for own, value in ends])
        order = dp.ranking(parts.sum_over("year"))
        true_rank = [1 + (sizes > sizes[STATES.index(state)]).sum() for state in order]
        ranked.append([low <= rank <= high for (low, high), rank in zip(order.ranks(0.9), true_rank, strict=True)])
        errors.append(np.stack([fitted.values - truths, fitted.released_values - truths]))
    assert 0.85 < np.mean(hit) < 0.96
    assert 0.82 < np.mean(hit_by_margins) < 0.98
    assert np.all(ranked, axis=1).mean() >= 0.85
    consistent, released = np.mean(np.square(errors), axis=0)
    assert consistent.sum() < released.sum()


def test_sums_add_up_and_documents_are_read_again(asked: Asked, people: dict[str, np.ndarray]) -> None:
    questions = [dp.SumQuestion("age", 0, 100, by) for by in (BY_BOTH[1], None)]
    by_year, whole = asked(*questions, loss=dp.PrivacyLoss.pure(1))
    fitted = dp.make_consistent([by_year, whole], "sum")
    assert sum(fitted.table("total by year").values()) == pytest.approx(fitted.table("total")[()])
    low, high = fitted.intervals(0.999).T
    truth = [people["age"][people["year"] == year].sum() for year in YEARS] + [people["age"].sum()]
    assert ((low <= truth) & (truth <= high)).all()
    again = dp.ConsistentTotals.from_json(fitted.to_json())
    assert again.to_json() == fitted.to_json()
    assert again.values.tolist() == fitted.values.tolist()
    assert fitted.privacy.epsilon == 2.0


@pytest.mark.reproduction
@pytest.mark.parametrize(("statistic", "adjacency"), [("count", dp.REPLACE_ONE), ("sum", dp.ADD_REMOVE)])
def test_intervals_of_the_population_cover_expected_numbers(statistic: str, adjacency: Any) -> None:
    chance, shares = np.random.default_rng(5), np.array((0.4, 0.3, 0.2, 0.07, 0.03))
    by, loss = dp.Categories("state", STATES), dp.PrivacyLoss.pure("0.2")
    questions: list[Any] = [dp.CountQuestion("age", by), dp.CountQuestion("age")]
    if statistic == "sum":
        questions = [dp.SummaryQuestion("age", 0, 100, by), dp.SumQuestion("age", 0, 100)]
    expected = 400 * np.array([*shares, 1.0]) * (50.0 if statistic == "sum" else 1.0)
    hit = []
    for seed in range(20):
        n = chance.poisson(400) if adjacency is dp.ADD_REMOVE else 400
        table = {"age": chance.uniform(0, 100, n), "state": chance.choice(STATES, n, p=shares)}
        with dp.Session(
            table, budget=dp.PrivacyLoss.pure("0.4"), adjacency=adjacency, randomness=dp.Randomness.from_seed(seed)
        ) as session:
            fitted = dp.make_consistent([session.ask(question, loss) for question in questions], statistic)
        low, high = fitted.intervals(0.9, population=True).T
        hit.append((low <= expected) & (expected <= high))
    assert 0.85 < np.mean(hit) < 0.98


def test_histograms_add_up_to_their_total_and_to_counts(asked: Asked, people: dict[str, np.ndarray]) -> None:
    grid = dp.Grid(20, 80, cells=3, outside=dp.Outside.APART)
    questions = [dp.HistogramQuestion("age", grid, BY_BOTH[1]), dp.HistogramQuestion("age", grid)]
    parts, whole, years = asked(*questions, dp.CountQuestion("age", BY_BOTH[1]), loss=dp.PrivacyLoss.pure(1), seed=3)
    fitted = dp.make_consistent({"parts": parts, "whole": whole, "years": years})
    by_year = fitted.table("parts")
    assert np.sum(list(by_year.values()), axis=0) == pytest.approx(fitted.table("whole")[()])
    assert {year: cells.sum() for year, cells in by_year.items()} == pytest.approx(fitted.table("years"))
    counted = np.histogram(np.clip(people["age"], 10, 90), [0, 20, 40, 60, 80.5, 100])[0]  # the last cell is closed
    low, high = fitted.intervals(0.999).T[:, 15:20]
    assert ((low <= counted) & (counted <= high)).all()
    assert (high - low).max() < 14  # standard errors of 1.2
    cells = [row.split(",")[1:3] for row in fitted.to_csv_text().splitlines()]
    names = ["below 20", "20 to 40", "40 to 60", "60 to 80", "above 80"]
    assert cells[:6] == [["year", "cell of age"], *(["2011", name] for name in names)]
    assert cells[16:] == [*(["all", name] for name in names), *([str(year), "all"] for year in YEARS)]
    again = dp.ConsistentTotals.from_json(fitted.to_json())
    assert again.to_json() == fitted.to_json()
    assert len(fitted.plot().figure.axes) == len(YEARS) + 1


def test_releases_that_contradict_each_other_are_noted(asked: Asked) -> None:
    few = dp.Categories("state", STATES[:2])
    parts, whole = asked(dp.CountQuestion("age", few), dp.CountQuestion("age"), loss=dp.PrivacyLoss.pure(1))
    missing, contradiction = dp.make_consistent([parts, whole]).notes
    assert missing.startswith("about 19% of the records are missing")
    assert "records of no declared category are in totals and in no part" in contradiction


def test_what_does_not_add_up_is_refused(asked: Asked) -> None:
    both, by_year, curve, bars, finer = asked(
        dp.CountQuestion("age", BY_BOTH), dp.CountQuestion("age", BY_BOTH[1]),
        dp.QuantilesQuestion("age", GRID, (0.5,)), dp.HistogramQuestion("age", GRID),
        dp.HistogramQuestion("age", dp.Grid(0, 100, cells=40)),
    )  # fmt: skip
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: both.sum_over("ward"), "columns: columns of these categories are needed, each once: 'state', 'year'"),
        (both.sum_over, "columns: columns of these categories"),
        (lambda: dp.make_consistent([both, both.sum_over("state")]), "results: two results are from the same release"),
        (lambda: dp.make_consistent([both, curve]), "results: only counts, sums"),
        (lambda: dp.make_consistent([both, by_year], "mean"), "statistic: must be count or sum"),
        (lambda: dp.make_consistent([both, by_year], "sum"), "statistic: sums of one column"),
        (lambda: dp.make_consistent([]), "results: at least one"),
        (lambda: dp.make_consistent([bars, finer]), "results: histograms of one column in the same cells"),
        (lambda: dp.make_consistent([bars, both], "sum"), "statistic: sums of one column"),
    ]
    for call, words in refused:
        with pytest.raises((ValueError, TypeError), match="^" + words.replace("(", r"\(")):
            call()


def test_wide_numbers_are_suppressed(asked: Asked) -> None:
    (counts,) = asked(dp.CountQuestion("age", BY_BOTH[0]), loss=dp.PrivacyLoss.pure(1))
    rows = [line.split(",") for line in counts.to_csv_text(suppress=0.2).split()]
    whole = [line.split(",") for line in counts.to_csv_text().split()]
    for (state, _, value, low, high, *more), own in zip(rows[1:], whole[1:], strict=True):
        wide = float(own[4]) - float(own[3]) > 0.2 * float(own[2])
        assert [value, low, high, *more] == (5 * [".."] if wide else own[2:]), state
    assert sum(row[2] == ".." for row in rows) in (1, 2)
    with pytest.raises(ValueError, match="suppress: a number above 0"):
        counts.to_csv_text(suppress=0)
    (curve,) = asked(dp.CdfQuestion("age", GRID))
    with pytest.raises(ValueError, match="suppress: this result has no counts or sums with intervals"):
        curve.to_csv_text(suppress=0.1)


@pytest.mark.parametrize("noise", [Noise(Family.LAPLACE, Fraction(3)), Noise(Family.GAUSSIAN, Fraction(2))])
def test_sums_of_many_draws_have_their_distribution(noise: Noise) -> None:
    """Beyond 64 draws their sum is drawn as one: mean, variance and tails of both ways agree."""
    many = simulate_noise(noise.sum_over_draws(100), (20_000,), np.random.default_rng(1))
    parts = sum(simulate_noise(noise.sum_over_draws(50), (20_000,), np.random.default_rng(seed)) for seed in (2, 3))
    assert np.array_equal(many, np.rint(many))
    assert many.var() == pytest.approx(noise.sum_over_draws(100).variance, rel=0.04)
    shares = (0.01, 0.25, 0.5, 0.9, 0.99)
    assert np.quantile(many, shares) == pytest.approx(np.quantile(parts, shares), abs=0.08 * many.std())


def test_a_ranking_breaks_no_ties(asked: Asked) -> None:
    (counts,) = asked(dp.CountQuestion("age", BY_BOTH[0]), loss=dp.PrivacyLoss.pure("0.05"))
    order = dp.ranking(counts)
    values = [one.value for one in order.values()]
    assert values == sorted(values, reverse=True)
    ranks = order.ranks()
    assert (ranks[:, 0] < ranks[:, 1]).any()  # of 36 and 9 records nobody can tell which are more
    assert (ranks[:, 0] <= np.arange(1, 6)).all()
    assert (ranks[:, 1] >= np.arange(1, 6)).all()
    assert dp.Ranking.from_json(order.to_json()).to_json() == order.to_json()
    with pytest.raises(TypeError, match="numbers: "):
        dp.ranking([1, 2])  # type: ignore[arg-type]


NOISE, MISSING = Noise(Family.LAPLACE, Fraction(2)), Noise(Family.LAPLACE, Fraction(5))


@pytest.mark.parametrize(
    "distribution",
    [
        IntervalSums(2, 4, (Tier((0, 2), MISSING), Tier(range(4), NOISE)), MISSING),
        HaarSums(1, 4, 1, NOISE, (MISSING, NOISE), MISSING),
        ToeplitzSums(1, 4, 1, 4, Noise(Family.GAUSSIAN, Fraction(9)), MISSING),
        ThresholdSums.from_path(PathSums(8, (8, 3), 4, NOISE, MISSING), (90, 40, 1), 1)[0],
    ],
    ids=lambda distribution: type(distribution).__name__,
)
def test_the_distribution_of_a_sum_has_each_noise_as_often_as_there_are_releases(distribution: Any) -> None:
    """Wherever it stands in the distribution, that of the missing included."""
    assert list(distribution.sum_over_releases(3).noises) == [
        (noise.sum_over_draws(3), count) for noise, count in distribution.noises
    ]
    assert distribution.sum_over_releases(3).missing == MISSING.sum_over_draws(3)
