"""Results of survey weights: equal to exact weighted estimators without noise, and covered with it."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import dpcurves as dp
from dpcurves.cli.app import build
from dpcurves.curves.result import CurveWarning, result_from_json
from dpcurves.curves.weighted import choose_group_edges
from dpcurves.data import Axis, Weights
from dpcurves.inference.design_effect import estimate_weight_ratios
from dpcurves.mechanisms import AUTO
from dpcurves.privacy import EACH_RECORD, PrivacyLoss
from dpcurves.queries import CountQuery, CountUse, WeightQuery
from dpcurves.records import open_records, tabulate

CAP = 5.0
GRID = dp.Grid(0, 1, cells=64)
TIMES = dp.Values(range(1, 13))
HUGE, ONE = PrivacyLoss.pure(10**8), PrivacyLoss.pure(1)
NO_WEIGHTS = np.array([np.nan, -1.0, np.inf, -np.inf])
pytestmark = pytest.mark.filterwarnings("ignore::dpcurves.CurveWarning")


def made(size: int = 3000, seed: int = 1) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    x, w = draw.beta(2, 3, size), draw.lognormal(0, 0.8, size)
    w[:40] = np.resize(NO_WEIGHTS, 40)
    x[40:50] = np.nan
    return {"x": x, "w": w, "t": draw.integers(1, 14, size), "e": draw.integers(0, 2, size)}


def asked(question: Any, table: Any, loss: PrivacyLoss = HUGE, adjacency: Any = dp.REPLACE_ONE, seed: int = 0) -> Any:
    chance = dp.Randomness.from_seed(seed)
    with dp.Session(table, budget=PrivacyLoss.pure(10**9), adjacency=adjacency, randomness=chance) as session:
        return session.ask(question, loss)


DISTRIBUTIONS: dict[str, Any] = {
    "smooth": lambda draw, size: draw.normal(50, 15, size),
    "tied": lambda draw, size: draw.integers(0, 20, size) * 5.0,
    "zero-inflated": lambda draw, size: np.where(draw.random(size) < 0.4, 0.0, draw.gamma(2, 12, size)),
}


@pytest.mark.reproduction
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_weighted_bins_hold_all_shares_at_once_and_no_oftener(distribution: str) -> None:
    """Intervals of 240 releases hold in 0.9 within 3 standard errors of 0.02, for these records and the population."""
    edges, releases, held = np.linspace(0, 100, 9), 240, np.zeros(2)

    def sample(seed: int, size: int) -> tuple[Any, Any]:
        draw = np.random.default_rng(seed)
        weights = draw.choice([0.5, 1, 2, 4], size, p=[0.2, 0.4, 0.3, 0.1])
        return np.clip(DISTRIBUTIONS[distribution](draw, size), 0, 99.9), weights

    def shares(x: Any, weights: Any) -> Any:
        return np.histogram(x, edges, weights=weights)[0] / weights.sum()

    population = shares(*sample(releases, 2_000_000))
    for seed in range(releases):
        x, weights = sample(seed, 2000)
        question = dp.WeightedCdfQuestion("x", dp.Grid(0, 100, cells=256), weight="w", weight_cap=4)
        adjacency = (dp.REPLACE_ONE, dp.ADD_REMOVE)[seed % 2]
        bins = asked(question, {"x": x, "w": weights}, ONE, adjacency, seed).histogram(edges)
        for place, true in enumerate((shares(x, weights), population)):
            lower, upper = np.asarray(bins.intervals(0.9, population=place == 1)).T
            held[place] += np.all((lower <= true + 1e-9) & (true <= upper + 1e-9))
    assert (np.abs(held / releases - 0.9) < 0.06).all(), held / releases


@cache
def exact() -> dict[str, Any]:
    """Records that have a weight and a value, with their weights in whole steps."""
    table = made()
    steps = Weights("w", CAP).to_steps(table["w"])
    used = (steps >= 0) & ~np.isnan(table["x"])
    return {**{name: values[used] for name, values in table.items()}, "w": steps[used] * CAP / Weights.STEPS}


CURVE = dp.WeightedCdfQuestion("x", GRID, "w", CAP)
BARS = dp.WeightedHistogramQuestion("x", GRID, "w", CAP)
MEAN = dp.WeightedSummaryQuestion("x", 0, 1, "w", CAP)
LIVES = dp.WeightedSurvivalQuestion("t", "e", TIMES, "w", CAP)


@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_without_noise_a_curve_is_that_of_hajek(adjacency: Any) -> None:
    curve, true = asked(CURVE, made(), adjacency=adjacency), exact()
    below = np.array([true["w"][true["x"] < edge].sum() for edge in GRID.edges]) / true["w"].sum()
    assert curve.y == pytest.approx(below, abs=1e-9)
    assert curve.count == pytest.approx(true["w"].sum(), rel=1e-9)
    kish = len(true["w"]) * (true["w"] ** 2).sum() / true["w"].sum() ** 2
    assert curve.design_effect == pytest.approx(kish, rel=1e-4)  # squares are rounded to whole steps, too
    order = np.argsort(true["x"])
    median = true["x"][order][np.searchsorted(np.cumsum(true["w"][order]), true["w"].sum() / 2)]
    found = asked(dp.WeightedQuantilesQuestion("x", GRID, (0.5,), "w", CAP), made(), adjacency=adjacency)
    low, high = found.cells[0]
    assert low <= median <= high


def test_without_noise_mean_sum_and_survival_are_exact() -> None:
    true, found = exact(), asked(MEAN, made())
    assert found.mean == pytest.approx(np.average(true["x"], weights=true["w"]), abs=1e-5)  # values are rounded
    assert found.sum == pytest.approx((true["w"] * true["x"]).sum(), rel=1e-5)
    low, high = found.mean_interval(0.95, population=True)
    spread = np.sqrt((true["w"] ** 2 * (true["x"] - found.mean) ** 2).sum()) / true["w"].sum()
    assert high - low == pytest.approx(2 * 1.96 * spread, rel=0.05)
    table, known = made(), np.maximum(Weights("w", CAP).to_steps(made()["w"]), 0)
    left = [
        1 - known[(table["t"] == at) & (table["e"] == 1)].sum() / known[table["t"] >= at].sum() for at in range(1, 13)
    ]
    assert asked(LIVES, table).y[1:] == pytest.approx(np.cumprod(left), abs=1e-9)


@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_without_noise_results_by_category_are_those_of_each_category(adjacency: Any) -> None:
    true, months = exact(), dp.Categories("t", (2, 3, 99))
    curves = asked(dp.WeightedCdfQuestion("x", GRID, "w", CAP, by=months), made(), adjacency=adjacency)
    means = asked(dp.WeightedSummaryQuestion("x", 0, 1, "w", CAP, by=months), made(), adjacency=adjacency)
    for month in (2, 3):
        x, w = (true[name][true["t"] == month] for name in ("x", "w"))
        assert curves[month].y == pytest.approx([w[x < edge].sum() / w.sum() for edge in GRID.edges], abs=1e-9)
        assert curves[month].count == pytest.approx(w.sum(), rel=1e-9)
        mean, summary = np.average(x, weights=w), means[month]
        assert (summary.count, summary.mean) == pytest.approx((w.sum(), mean), rel=1e-4)
        low, high = summary.mean_interval(0.95, population=True)
        assert high - low == pytest.approx(2 * 1.96 * np.sqrt((w**2 * (x - mean) ** 2).sum()) / w.sum(), rel=0.05)
    assert means[99].count == pytest.approx(0, abs=1e-3)
    both = (months, dp.Categories("e", (0, 1)))
    weights = dp.WeightedSummaryQuestion("x", 0, 1, "w", CAP, statistic="count", by=both)
    table = asked(weights, made(), adjacency=adjacency)
    cells = {key: true["w"][(true["t"] == key[0]) & (true["e"] == key[1])].sum() for key in table}
    assert {key: each.count for key, each in table.items()} == pytest.approx(cells, abs=1e-2)
    sums = table.sum_over("e")
    assert sums[2].count == pytest.approx(cells[2, 0] + cells[2, 1], abs=1e-2)
    everyone = asked(dp.WeightedSummaryQuestion("*", 0, 1, "w", CAP, statistic="count"), made(), adjacency=adjacency)
    w = Weights("w", CAP).to_steps(made()["w"])
    assert everyone.count == pytest.approx(w[w >= 0].sum() * CAP / Weights.STEPS, rel=1e-7)
    low, high = everyone.interval(0.95, population=True)
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt((w[w >= 0] ** 2.0).sum()) * CAP / Weights.STEPS, rel=0.05)
    with pytest.raises(
        ValueError, match=r"^column: '\*' means all records, without values: name a column of numbers, or ask"
    ):
        dp.WeightedSummaryQuestion("*", 0, 1, "w", CAP)


@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
def test_a_histogram_of_weights_sums_them_in_each_cell_with_the_noise_of_a_cell(adjacency: Any) -> None:
    table, months = made(), dp.Categories("t", (2, 3))
    x, w, t = (exact()[name] for name in "xwt")
    groups = asked(replace(BARS, by=months), table, adjacency=adjacency)
    for month in months.values:
        sums = np.histogram(x[t == month], GRID.edges, weights=w[t == month])[0]
        assert groups[month].count == pytest.approx(sums, abs=1e-2)
        assert groups[month].merge_bins(8).count == pytest.approx(sums.reshape(8, 8).sum(axis=1), abs=1e-2)
    bars = asked(BARS, table, ONE, adjacency)
    noise = np.sqrt(2) * CAP * (1 if adjacency is dp.ADD_REMOVE else 2) / (7 / 8)
    assert bars.error == pytest.approx(noise, rel=1e-3)
    called = dp.histogram(table, column="x", grid=GRID, weight="w", weight_cap=CAP, epsilon=1, adjacency=adjacency)
    assert type(called) is dp.WeightedHistogram
    few = asked(BARS, {name: values[60:64] for name, values in table.items()}, ONE, adjacency)
    assert any("no cells hold more weight than noise alone may give" in note for note in few.notes)


@pytest.mark.parametrize("outside", dp.Outside)
def test_without_noise_bins_hold_their_weight_and_vary_as_a_ratio_of_weights(outside: Any) -> None:
    """Weights are large below 0.5; the population's interval of one bin has Hajek's variance, not that of all weights,
    which is twice as large."""
    grid, table = dp.Grid(0.25, 1, cells=48, outside=outside), made()
    table["w"] = np.minimum(table["w"], CAP) / np.where(table["x"] < 0.5, 1, 3)
    steps = Weights("w", CAP).to_steps(table["w"])
    used = (steps >= 0) & ~np.isnan(table["x"])
    x, w = table["x"][used], steps[used] * CAP / Weights.STEPS
    bins = asked(replace(CURVE, grid=grid), table).histogram([0.25, 0.5, 0.75, 1])
    first = 0.25 if outside is dp.Outside.APART else -1
    at = [(x >= low) & (x < high) for low, high in ((first, 0.5), (0.5, 0.75), (0.75, 2))]
    assert bins.count == pytest.approx([w[inside].sum() for inside in at], rel=1e-6)
    assert bins.share == pytest.approx([w[inside].sum() / w.sum() for inside in at], rel=1e-6)
    alone = asked(replace(CURVE, grid=grid), table).histogram([0.25, 0.5])
    ((low, high),) = alone.intervals(0.95, population=True)
    p = w[at[0]].sum() / w.sum()
    hajek = np.sqrt((w**2 * (at[0] - p) ** 2).sum()) / w.sum()
    assert high - low == pytest.approx(2 * 1.96 * hajek, rel=0.15)
    read: Any = result_from_json(bins.to_json())
    assert (type(read), read.to_json()) == (dp.WeightedHistogram, bins.to_json())
    assert "weight" in bins.plot().get_ylabel()


def test_results_by_category_are_read_again_and_give_the_design_effect_of_each() -> None:
    months = dp.Categories("t", (2, 3))
    for question in (replace(CURVE, by=months), replace(MEAN, by=months), replace(MEAN, by=months, statistic="count")):
        found = asked(question, made(), ONE)
        read: Any = result_from_json(found.to_json())
        assert (type(read), read.to_json()) == (type(found), found.to_json())
        quiet = asked(question, made())
        for month in months.values:
            w = exact()["w"][exact()["t"] == month]
            kish = len(w) * (w**2).sum() / w.sum() ** 2
            assert quiet[month].design_effect == pytest.approx(kish, rel=1e-3)
            assert any(f"about {kish:.2f} (Kish" in note for note in quiet[month].notes)
    assert "sum of weights" in found.plot().get_xlabel()


@pytest.mark.parametrize("adjacency", [dp.ADD_REMOVE, dp.REPLACE_ONE])
@pytest.mark.parametrize("loss", [ONE, PrivacyLoss.zcdp(Fraction(1, 2))])
def test_weights_at_the_cap_are_counts_at_another_scale(adjacency: Any, loss: PrivacyLoss) -> None:
    axes, steps = (Axis("x", GRID),), Weights.STEPS
    among = adjacency.to_adjacency(EACH_RECORD, 3000 if adjacency.has_public_units else None)
    weighed, counted = WeightQuery(axes, Weights("w", CAP), CountUse.PREFIXES), CountQuery(axes, CountUse.PREFIXES)
    table = {**made(), "w": np.full(3000, CAP)}
    with open_records(table, unit=EACH_RECORD, key=b"key") as records:
        assert tabulate(records, weighed).tolist() == [steps * each for each in tabulate(records, counted).tolist()]
    distributions: list[Any] = [AUTO.plan(query, loss, among).distribution for query in (weighed, counted)]
    if type(distributions[0]) is type(distributions[1]):  # a concentrated loss may take another distribution for counts
        power = 1 if loss.is_pure else 2
        noises = [
            [(each.noise.parameter, each.length) for each in distribution.parts] for distribution in distributions
        ]
        assert noises[0] == [(parameter * steps**power, length) for parameter, length in noises[1]]


def test_results_are_read_again_and_say_that_they_are_weighted() -> None:
    for question in (CURVE, BARS, MEAN, LIVES, dp.WeightedQuantilesQuestion("x", GRID, (0.2, 0.5), "w", CAP)):
        found = asked(question, made(), ONE)
        text = found.to_json()
        read: Any = result_from_json(text)
        assert type(read) is type(found)
        assert read.to_json() == text
        assert json.loads(text)["kind"].startswith("weighted-")
        assert any("design effect" in note and "left out" in note for note in found.notes)
        ax = found.plot()
        assert "weight" in ax.get_ylabel() + ax.get_xlabel()
    hazard = dp.CumulativeHazard(asked(LIVES, made(), ONE))
    assert dp.CumulativeHazard.from_json(hazard.to_json()).to_json() == hazard.to_json()


def test_what_weights_need_is_said_before_anything_is_charged() -> None:
    x, w = np.linspace(0, 1, 50), np.ones(50)
    spent: dict[str, Any] = {"epsilon": 1, "adjacency": dp.ADD_REMOVE}
    with pytest.raises(ValueError, match=r"^weight_cap: give the public cap .* there is no default, because"):
        dp.cdf(x, grid=GRID, weight=w, **spent)
    with pytest.raises(ValueError, match=r"^weight_cap: the cap needs a column of weights"):
        dp.mean(x, bounds=(0, 1), weight_cap=2, **spent)
    with pytest.raises(ValueError, match=r"^weight: the weights differ in number"):
        dp.sum(x, bounds=(0, 1), weight=w[1:], weight_cap=2, **spent)
    with pytest.raises(ValueError, match=r"^grid: weights are summed along public cells"):
        dp.survival(x, w, grid="auto", weight=w, weight_cap=2, **spent)
    with pytest.raises(ValueError, match=r"^hint: sums of weights"):
        dp.cdf(x, grid=GRID, hint=dp.Hint.PEAKED, weight=w, weight_cap=2, **spent)
    for cap in (0, -1, np.nan, np.inf, 1e101):
        with pytest.raises(ValueError, match=r"^weight_cap: a number from 1e-100 to 1e\+100 is needed"):
            dp.cdf(x, grid=GRID, weight=w, weight_cap=cap, **spent)
    with dp.Session({"x": x, "w": np.full(50, "a")}, budget=ONE, adjacency=dp.ADD_REMOVE) as session:
        with pytest.raises(ValueError, match="'w' holds"):
            session.ask(CURVE, ONE)
        assert session.remaining == ONE


def test_automatic_ranges_need_public_numbers_of_cells_and_sums_or_means() -> None:
    with pytest.raises(ValueError, match=r"^cells: a number of cells from 2 to 10000 is needed, got 1"):
        dp.AutoRangeWeightedHistogramQuestion("x", "w", CAP, cells=1)
    with pytest.raises(ValueError, match=r"^statistic: a count of weights needs no bounds"):
        dp.AutoRangeWeightedSummaryQuestion("x", "w", CAP, statistic="count")


def test_without_noise_an_automatic_range_holds_all_weight_and_gives_exact_shares() -> None:
    adjacency, draw = dp.ADD_REMOVE, np.random.default_rng(3)
    days = np.array("2020-01-01", dtype="datetime64[D]") + draw.integers(0, 900, 2000)
    table = {
        "x": draw.lognormal(9, 1, 2000),
        "w": draw.choice([0.5, 1, 4], 2000),
        "day": days,
        "g": days.astype(int) % 2,
    }
    table["x"][:300] = 0.0
    curve = asked(dp.AutoRangeWeightedCdfQuestion("x", "w", CAP), table, adjacency=adjacency)
    x, w = table["x"], np.rint(table["w"] / CAP * Weights.STEPS) * CAP / Weights.STEPS
    assert curve.y == pytest.approx([w[x < edge].sum() / w.sum() for edge in curve.x], abs=1e-6)
    cells = r"cells from \S+ to \S+, found privately; sum of weights below: about 0, above: about 0, counted apart"
    assert any(re.fullmatch(cells, note) for note in curve.notes)
    bars = asked(dp.AutoRangeWeightedHistogramQuestion("x", "w", CAP, cells=20), table, adjacency=adjacency)
    assert len(bars.x) <= 21
    assert np.ptp(np.diff(bars.x)) == pytest.approx(0)
    assert bars.count == pytest.approx(np.histogram(x, bars.x, weights=w)[0], abs=1e-2)
    groups = asked(dp.AutoRangeWeightedCdfQuestion("day", "w", CAP, by=dp.Categories("g", (0, 1))), table)
    assert groups[1].count == pytest.approx(w[table["g"] == 1].sum(), rel=1e-6)
    assert any(re.match(r"cells from \d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d, found", note) for note in groups.notes)
    quantiles = asked(dp.AutoRangeWeightedQuantilesQuestion("x", (0.5,), "w", CAP), table, adjacency=adjacency)
    order = np.argsort(x)
    low, high = quantiles.cells[0]
    assert low <= x[order][np.searchsorted(np.cumsum(w[order]), w.sum() / 2)] <= high
    mean = asked(dp.AutoRangeWeightedSummaryQuestion("x", "w", CAP), table, adjacency=adjacency)
    assert mean.mean == pytest.approx(np.average(x, weights=w), rel=1e-3)
    assert any("found privately; values beyond are clipped" in note for note in mean.notes)


def test_a_curve_of_weights_that_are_all_missing_says_that_nothing_is_known() -> None:
    table = {**made(500), "w": np.resize(NO_WEIGHTS, 500)}
    for question in (CURVE, MEAN, LIVES):
        found = asked(question, table, ONE)
        assert any("noise hides the design effect" in note for note in found.notes)
        ends = found.intervals(0.9) if question is MEAN else np.stack(found.band(0.9), axis=1)
        assert (ends[:, 1] - ends[:, 0]).max() > 0.5


def test_warnings_tell_no_value_of_a_record() -> None:
    table = {**made(400), "w": np.append(np.full(399, 1.0), 123456.789)}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", CurveWarning)
        asked(CURVE, table, ONE)
    assert told
    assert not any("123456" in str(each.message) for each in told)


def test_groups_follow_the_weight_and_are_fewer_where_noise_is_large() -> None:
    shares = np.linspace(0, 1, 65)
    assert len(choose_group_edges(shares, 10_000.0, 10.0)) == 7
    assert len(choose_group_edges(shares, 250.0, 10.0)) == 1
    assert choose_group_edges(shares, -3.0, 10.0) == ()
    assert choose_group_edges(np.zeros(65), 10_000.0, 10.0) == ()


def test_ratios_are_safe_without_signal_and_tell_groups_apart_with_it() -> None:
    assert estimate_weight_ratios(np.zeros(3), np.zeros(3), 50.0).overall == 1.0
    noisy = estimate_weight_ratios(np.array([200.0, 200.0]), np.array([60.0, 80.0]), 60.0)
    assert noisy.by_group.tolist() == [1.0, 1.0]
    assert noisy.overall > 140 / 400
    assert estimate_weight_ratios(np.array([500.0, 500.0]), np.array([100.0, 300.0]), 1.0).by_group == pytest.approx(
        [0.5, 1.5], abs=0.01
    )


@pytest.mark.parametrize(
    ("informative", "releases", "least"),
    [
        (True, 8, 5),
        pytest.param(True, 24, 18, marks=pytest.mark.reproduction),
        pytest.param(False, 24, 18, marks=pytest.mark.reproduction),
    ],
)
def test_intervals_for_the_population_hold_two_sided(informative: bool, releases: int, least: int) -> None:
    """Seeds are fixed; of 24 intervals that hold with chance 0.9, 17 or fewer hold with chance 0.008; 4 of 8, 0.005."""
    draw = np.random.default_rng(5)
    people = np.where(draw.random(50_000) < 0.3, 0.0, draw.beta(2, 4, 50_000))  # zero-inflated
    chance = (1 + 3 * people) if informative else draw.choice([1.0, 4.0], people.size)
    cap, held = float(1 / chance.min()), np.zeros(3, dtype=int)
    truth = np.append((people[:, None] < GRID.edges[:-1]).mean(axis=0), 1.0)
    for seed in range(releases):
        at = np.random.default_rng(100 + seed).choice(people.size, 2000, p=chance / chance.sum())
        table = {"x": people[at], "w": 1 / chance[at]}
        curve = asked(dp.WeightedCdfQuestion("x", GRID, "w", cap), table, PrivacyLoss.pure(4), seed=seed)
        lower, upper = curve.band(0.9, population=True)
        held[0] += np.all((lower <= truth + 1e-9) & (truth <= upper + 1e-9))
        mean = asked(dp.WeightedSummaryQuestion("x", 0, 1, "w", cap), table, PrivacyLoss.pure(4), seed=seed)
        low, high = mean.mean_interval(0.9, population=True)
        held[1] += low <= people.mean() <= high
        low, high = curve.quantile_interval(0.7, 0.9, population=True)
        held[2] += low <= np.quantile(people, 0.7) <= high
    assert held.min() >= least


def test_the_command_line_asks_weighted_results(tmp_path: Any) -> None:
    table = made(300)
    rows = zip(table["x"], table["w"], table["t"], table["e"], strict=True)
    (tmp_path / "s.csv").write_text("x,w,t,e\n" + "\n".join(f"{x},{abs(w)},{t},{e}" for x, w, t, e in rows) + "\n")
    weights = ["--weight", "w", "--weight-cap", "5", "--epsilon", "9", "--adjacency", "replace-one"]
    asks = {
        "cdf": "--column x --grid 0:1:16", "quantiles": "--column x --grid 0:1:16", "mean": "--column x --bounds 0:1",
        "survival": "--time t --event e --censored-value 0 --grid 0:14:14", "count": "--by e=0,1",
    }  # fmt: skip
    app = build()
    asks["histogram"] = "--column x --grid 0:1:80"
    grouped = [(word, f"{asks[word]} --by e=0,1") for word in ("cdf", "quantiles", "mean", "histogram")]
    for word, options in [*asks.items(), *grouped]:
        done = CliRunner().invoke(app, [word, str(tmp_path / "s.csv"), *options.split(), *weights])
        assert done.exit_code == 0, done.output
        assert "weighted by w up to 5" in done.output
    without = ["mean", str(tmp_path / "s.csv"), "--column", "x", "--bounds", "0:1", *weights[4:]]
    for more, words in (
        (["--weight", "w"], "weight-cap: give the public cap"),
        (["--weight-cap", "5"], "weight-cap: --weight-cap needs --weight"),
    ):
        done = CliRunner().invoke(app, [*without, *more])
        assert done.exit_code != 0
        assert words in done.output + str(done.exception)


def test_a_count_that_noise_makes_negative_is_not_known_to_be_zero() -> None:
    """At epsilon 0.05 the noise is hundreds: counts of 10 records fall below 0 often."""
    group = np.arange(30) % 3
    table = {"x": np.linspace(-2, 2, 30), "w": np.ones(30), "g": group}
    question = dp.WeightedSummaryQuestion("x", -2, 2, "w", 2, by=dp.Categories("g", (0, 1, 2)))
    zeros = 0
    for seed in range(8):
        randomness = dp.Randomness.from_seed(seed)
        loss = PrivacyLoss.pure("0.05")
        with dp.Session(table, budget=loss, adjacency=dp.ADD_REMOVE, randomness=randomness) as session:
            frame = session.ask(question, loss).to_frame(level=0.95)
        counts = frame[frame["statistic"] == "count"]
        zeros += int((counts["value"] == 0).sum())
        assert (counts["upper"] > 10).all()
    assert zeros > 0
