"""Counts, sums, means and variances between bounds: what they are, and how often their intervals hold."""

from __future__ import annotations

from collections import Counter
from math import isnan, sqrt

import numpy as np
import pytest
from by_hand import answer, both
from covered_summaries import UNKNOWN, covered
from kinds import POPULATIONS, Case
from tally import Share

import dpcurves as dp
from dpcurves.conversation import Release, Step
from dpcurves.curves import ByCategory, Question, Summary, SummaryByCategory, SummaryQuestion
from dpcurves.curves.summary import OUTSIDE_FRACTION, CountQuestion, VarianceQuestion
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, Unit
from dpcurves.session import answer_steps
from dpcurves.trust import Central, run_conversation

HUGE, ONE = PrivacyLoss.pure(10**8), PrivacyLoss.pure(1)
QUESTION = SummaryQuestion("x", 0, 60, measured_in="min")
BEYOND = float(OUTSIDE_FRACTION)
REST = 1 - BEYOND
X = np.random.default_rng(2).gamma(2, 12, 900)
CLIPPED = np.clip(X, 0, 60)
STEP = 60 / 2**18


def test_at_a_huge_epsilon_all_is_that_of_numpy_of_clipped_values() -> None:
    for adjacency in both(len(X) + 1):
        for loss in (HUGE, PrivacyLoss.zcdp(10**8)):
            found = answer(QUESTION, {"x": np.append(X, np.nan)}, loss, adjacency, seed=1)
            assert found.count == pytest.approx(len(X), abs=1e-6)
            assert found.mean == pytest.approx(CLIPPED.mean(), abs=STEP)
            assert found.variance == pytest.approx(CLIPPED.var(ddof=1), abs=60 * STEP)
            assert found.sum == pytest.approx(CLIPPED.sum(), abs=len(X) * STEP)
            assert found.standard_deviation == pytest.approx(CLIPPED.std(ddof=1), abs=60 * STEP)


def test_one_release_gives_all_four_and_what_is_not_asked_is_not_paid() -> None:
    plans = dp.plan_question(QUESTION, ONE, AddRemove(EACH_RECORD))
    assert [type(plan.query).__name__ for plan in plans] == ["CountQuery", "CountQuery", "SumQuery", "SquareQuery"]
    assert [float(plan.loss.epsilon or 0) for plan in plans] == [BEYOND, *(REST * share for share in (0.25, 0.5, 0.25))]
    two = dp.plan_question(SummaryQuestion("x", 0, 60, moments=1), ONE, AddRemove(EACH_RECORD))
    assert [type(plan.query).__name__ for plan in two] == ["CountQuery", "CountQuery", "SumQuery"]
    found = answer(SummaryQuestion("x", 0, 60, moments=1), {"x": X}, ONE, both(900)[0], seed=1)
    assert isnan(found.variance)
    assert "variance" not in found.to_json().partition("evidence")[0]
    assert list(found.statistics) == ["count", "sum", "mean"]
    assert found.intervals(0.9, population=True).shape == (3, 2)


@pytest.mark.reproduction
def test_intervals_hold_as_often_as_they_say_on_all_kinds_of_values() -> None:
    """At level 0.9: within what chance passes once in 30,000 times of it, but where distributions are unknown only not
    below."""
    held, drawn, kinds = Counter[str](), Counter[str](), list(POPULATIONS)
    for seed in range(60):
        units, epsilon = ((500, "0.1"), (2000, "0.3"), (20_000, "1"))[seed % 3]
        case = Case(kinds[seed % len(kinds)], units, epsilon, seed // 2 % 2)
        for name, holds in covered(case, 0.9, seed):
            held[name] += bool(holds)
            drawn[name] += 1
    shares = {name: Share(held[name], drawn[name]) for name in drawn}
    assert not [name for name, share in shares.items() if share.is_below(0.9)]
    assert not [name for name in shares.keys() - UNKNOWN if shares[name].is_above(0.9)]


def test_the_mean_of_nobody_may_be_anything_between_the_bounds() -> None:
    for values in ([], [np.nan] * 5, [3.0]):
        found = answer(QUESTION, {"x": np.array(values)}, ONE, both(5)[0], seed=3)
        for population in (False, True):
            assert found.mean_interval(0.9, population=population) == (0, 60)
            assert found.intervals(0.9, population=population)[3, 1] >= 30**2
        assert np.isnan([found.sum, found.mean, found.variance]).all()
        assert found.count >= 0


def test_without_squares_the_bounds_alone_limit_the_variance() -> None:
    one, two = (
        answer(SummaryQuestion("x", 0, 60, moments=moments), {"x": X}, HUGE, both(900)[1], seed=1).mean_interval(
            0.9, population=True
        )
        for moments in (1, 2)
    )
    assert two[1] - two[0] == pytest.approx(2 * 1.645 * X.std() / 30, rel=0.15)
    middle = CLIPPED.mean()
    assert one[1] - one[0] == pytest.approx(2 * 1.645 * sqrt(middle * (60 - middle)) / 30, rel=0.15)


def test_each_category_has_its_own_summary_and_they_are_drawn_together() -> None:
    kinds = np.where(X > 20, "late", "early")
    question = SummaryQuestion("x", 0, 60, by=dp.Categories("k", ("early", "late", "never")))
    found = answer(question, {"x": X, "k": kinds}, HUGE, both(900)[1], seed=1)
    assert isinstance(found, SummaryByCategory)
    assert found["late"].mean == pytest.approx(CLIPPED[X > 20].mean(), abs=2 * STEP)
    assert found["never"].count == pytest.approx(0, abs=1e-6)
    assert list(found.to_frame(level=0.9).columns) == ["k", "statistic", "value", "lower", "upper"]
    again = ByCategory.from_json(found.to_json(), Summary)
    assert again["late"].mean_interval(0.9) == found["late"].mean_interval(0.9)
    (first, *_) = (tick.get_text() for tick in found.plot(name="mine").get_yticklabels())
    assert first.startswith("mine, ")
    ax = found.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["early", "late", "never"]
    assert ax.get_ylabel() == "k"
    assert ax.get_xlabel() == "mean of x, values clipped to [0, 60]"


def test_it_is_written_read_and_shown() -> None:
    found = answer(QUESTION, {"x": X}, ONE, both(900)[1], seed=1)
    again = Summary.from_json(found.to_json())
    assert (again.intervals(0.9) == found.intervals(0.9)).all()
    assert list(found.to_frame(level=0.9).columns) == ["statistic", "value", "lower", "upper"]
    assert repr(found).startswith("Summary(x (min), count ")
    assert "Summary of x (min)" in found._repr_html_()


def test_of_units_with_several_records_no_population_is_spoken_of() -> None:
    found = answer(QUESTION, {"x": X}, ONE, AddRemove(Unit("patient", 2)), seed=1)
    with pytest.raises(ValueError, match="^population: independent units"):
        found.intervals(0.9, population=True)
    legend = found.plot().get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["95% individual interval for these records"]


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ((3, 3, None, "", 2), "bounds: two numbers are needed"),
        ((0, 1, None, "", 3), "moments: must be 1 .for the mean. or 2"),
        ((0, 1, 5), "by: Categ"),
    ],
)
def test_bounds_that_cross_and_moments_that_are_none_are_refused(fields: tuple[object, ...], line: str) -> None:
    with pytest.raises(ValueError, match=f"^{line}"):
        SummaryQuestion("x", *fields)  # type: ignore[call-overload]


def test_a_count_alone_has_the_whole_loss_and_a_sum_divides_it_by_its_bounds() -> None:
    def shares(question: dp.Question[object], loss: PrivacyLoss) -> list[float]:
        return [float(plan.loss.rho / loss.rho) for plan in dp.plan_question(question, loss, AddRemove(EACH_RECORD))]

    zcdp = PrivacyLoss.zcdp(1)
    assert shares(dp.CountQuestion("x"), zcdp) == [1]
    # Variances of the sum: middle**2 / share + half**2 / (1 - share), least at middle / (middle + half).
    bounds = {(0, 60): [0.5, 0.5], (-30, 30): [0.1, 0.9], (900, 1000): [0.9, 0.1], (0, 1): [0.5, 0.5]}
    for ends, wanted in {**bounds, (20, 60): [0.65, 0.35]}.items():
        assert shares(dp.SumQuestion("x", *ends), zcdp) == pytest.approx([BEYOND, *(REST * share for share in wanted)])


def test_the_number_that_was_asked_for_has_its_interval_its_picture_and_its_form_in_json() -> None:
    questions: dict[str, dp.Question[Summary]] = {
        "count": dp.CountQuestion("x"), "sum": dp.SumQuestion("x", 0, 60), "mean": dp.MeanQuestion("x", 0, 60),
        "variance": dp.VarianceQuestion("x", 0, 60),
    }  # fmt: skip
    exact = {"count": 900, "sum": CLIPPED.sum(), "mean": CLIPPED.mean(), "variance": CLIPPED.var(ddof=1)}
    for name, question in questions.items():
        found: Summary = answer(question, {"x": X}, HUGE, both(900)[0], seed=1)
        assert found.statistic == name
        assert found.value == pytest.approx(exact[name], rel=1e-4)
        low, high = found.interval(0.9)
        assert low <= found.value <= high
        words = "records with a value" if name == "count" else name
        assert found.plot().get_xlabel().startswith(f"{words} of x")
        again = Summary.from_json(found.to_json())
        assert (again.statistic, again.value) == (name, found.value)
    counted: Summary = answer(questions["count"], {"x": X}, ONE, both(900)[0], seed=1)
    assert list(counted.statistics) == ["count"]
    assert isnan(counted.mean)
    assert counted.intervals(0.9, population=True).shape == (1, 2)
    with pytest.raises(ValueError, match="^statistic: "):
        counted.mean_interval(0.9)


def test_a_summary_without_what_it_says_was_asked_for_is_damaged() -> None:
    text = answer(dp.SumQuestion("x", 0, 60), {"x": X}, ONE, both(900)[0], seed=1).to_json()
    with pytest.raises(ValueError, match="must have counts"):
        Summary.from_json(text.replace('"statistic": "sum"', '"statistic": "variance"'))


def test_one_call_gives_a_summary_or_just_the_mean() -> None:
    values = X.tolist()
    found = dp.summary(values, bounds=(0, 60), epsilon=5, adjacency=dp.REPLACE_ONE)
    assert found.mean == pytest.approx(CLIPPED.mean(), abs=2)
    assert dp.mean(values, bounds=(0, 60), rho=1, adjacency=dp.ADD_REMOVE).mean == pytest.approx(CLIPPED.mean(), abs=3)
    with pytest.raises(ValueError, match="^bounds: two numbers"):
        dp.sum(values, bounds=(0, 1, 2), epsilon=5, adjacency=dp.REPLACE_ONE)  # type: ignore[arg-type]


def test_counts_are_whole_and_no_interval_ends_beyond_what_is_possible() -> None:
    for seed in range(6):
        for records, who in ((0, 0), (3, 0), (40, 0), (40, 1), (400, 1)):
            values = np.full(records, 2.0)
            found = answer(QUESTION, {"x": values}, PrivacyLoss.pure("0.5"), both(max(records, 1))[who], seed)
            count, total, mean, variance = found.intervals(0.95)
            assert (count == count.round()).all()
            assert count[0] < count[1]  # noise leaves no number certain
            assert total[0] >= 0
            assert 0 <= mean[0] <= mean[1] <= 60
            assert 0 <= variance[0] <= variance[1] <= 2 * 30**2
            wide = found.intervals(0.95, population=True)[0]
            assert wide[0] <= count[0] <= count[1] <= wide[1]


@pytest.mark.quick_share(8)
@pytest.mark.parametrize("adjacency", [dp.REPLACE_ONE, dp.ADD_REMOVE])
@pytest.mark.parametrize(("value", "bounds"), [(10.0, (0, 10)), (0.0, (0, 10)), (-10.0, (-10, -5)), (7.0, (5, 7))])
def test_a_sum_lies_within_what_bounds_and_records_allow_and_in_its_interval(
    adjacency: dp.Neighbours, value: float, bounds: tuple[float, float]
) -> None:
    # without the limits a sum of public records lies beyond them in every second release
    for _ in range(8):
        found = dp.sum([value] * 100, bounds=bounds, epsilon=1, adjacency=adjacency)
        low, high = found.interval(0.95)
        assert low <= found.sum <= high
        most = 100 if adjacency is dp.REPLACE_ONE else np.inf
        assert (bounds[0] * most if bounds[0] < 0 else 0) <= found.sum <= (bounds[1] * most if bounds[1] > 0 else 0)


def test_the_interval_of_a_population_mean_is_about_as_narrow_where_the_mean_is_asked_as_where_all_is() -> None:
    widths = {dp.MeanQuestion: [], dp.SummaryQuestion: []}  # type: ignore[var-annotated]
    for seed in range(8):
        values = np.random.default_rng(seed).gamma(9, 2, 3000)
        for kind, found in widths.items():
            summary = answer(kind("x", 0, 60), {"x": values}, ONE, both(3000)[seed % 2], seed)
            found.append(np.diff(summary.mean_interval(0.9, population=True))[0])
    mean, everything = (float(np.mean(each)) for each in widths.values())
    assert mean <= 1.03 * everything


def test_a_count_of_which_noise_leaves_all_open_is_not_known() -> None:
    """Nothing is told of three records at epsilon 0.1, where their number is public."""
    for seed in range(10):
        for question in (QUESTION, CountQuestion("x")):
            found = answer(question, {"x": np.array([1.0, 2.0, 3.0])}, PrivacyLoss.pure("0.1"), both(3)[1], seed)
            assert np.isnan(list(found.statistics.values())).all()
            assert found.intervals(0.95)[0] == pytest.approx((0, 3))
            assert "not known" in str(found)
            assert np.isnan(type(found).from_json(found.to_json()).count)
    assert found.plot().has_data()


@pytest.mark.reproduction
@pytest.mark.parametrize("kind", POPULATIONS)
def test_the_variance_of_a_population_is_held_where_cells_tell_how_squares_scatter(kind: str) -> None:
    """90% of 40 releases of 8,000 records, less 4 sigma; and narrower than what the worst distribution asks for."""
    values, grid = POPULATIONS[kind]
    values = np.clip(values, grid.lower, grid.upper)
    held, widths, releases = 0, np.zeros((2, 4)), 40
    for seed in range(releases):
        sample, adjacency = np.random.default_rng(seed).choice(values, 8000), both(8000)[seed % 2]
        found = answer(dp.VarianceQuestion("x", *grid.endpoints), {"x": sample}, ONE, adjacency, seed)
        low, high = found.interval(0.9, population=True)
        held += low <= values.var() <= high
        assert len(found.rounds) == 4
        if seed < widths.shape[1]:
            whole = answer(SummaryQuestion("x", *grid.endpoints), {"x": sample}, ONE, adjacency, seed)
            widths[:, seed] = high - low, np.diff(whole.intervals(0.9, population=True)[3])[0]
            again = Summary.from_json(found.to_json())
            assert again.interval(0.9, population=True) == (low, high)
    assert held >= 0.9 * releases - 4 * sqrt(releases * 0.09)
    assert widths[0].mean() < 1.02 * widths[1].mean()
    assert kind != "continuous" or widths[0].mean() < 0.8 * widths[1].mean()


def test_cells_are_counted_of_many_records_alone_and_all_that_counts_left_is_spent() -> None:
    question = dp.VarianceQuestion("x", 0, 60)
    for units, turns in ((3000, 4), (30_000, 5)):  # one of them tells what lies beyond the bounds
        plans = dp.plan_question(question, ONE, both(units)[1])
        assert len(plans) == turns
        assert sum(plan.loss.epsilon or 0 for plan in plans) == 1
    for records, turns in ((900, 3), (9000, 4)):  # the released count decides where the number is private
        for loss in (ONE, PrivacyLoss.zcdp("0.5")):
            found = answer(question, {"x": np.resize(X, records)}, loss, both(records)[0], seed=3)
            assert len(found.rounds) == turns
            assert (found.privacy.epsilon, found.privacy.rho) == (loss.epsilon, float(loss.rho))
    by = dp.Categories("g", ("a", "b", "c"))
    table = {"x": np.resize(X, 30_000), "g": np.resize(np.array(["a", "b", "c"]), 30_000)}
    each = answer(dp.VarianceQuestion("x", 0, 60, by=by), table, ONE, both(30_000)[1], seed=3)
    for name, found in each.items():
        low, high = found.interval(0.99, population=True)
        assert (name, len(found.rounds)) == (name, 4)
        own = np.clip(table["x"][table["g"] == name], 0, 60)
        assert low < own.var() < high


def test_a_variance_between_bounds_too_near_for_cells_is_asked_without_them() -> None:
    values = 1e15 + np.arange(6_000) % 3
    question = VarianceQuestion("x", 1e15, 1e15 + 2)
    for adjacency in both(6_000):
        assert answer(question, {"x": values}, PrivacyLoss.pure(2), adjacency, 1).value > 0


@pytest.mark.parametrize("loss", [PrivacyLoss.pure(1), PrivacyLoss.zcdp("0.5")], ids=str)
@pytest.mark.parametrize("answered", [0, 100, 10**6])
def test_turns_of_a_variance_share_all_of_its_loss_whatever_is_counted(loss: PrivacyLoss, answered: int) -> None:
    """A count decides how many turns follow it; each turn has an exact test of its own in `tests/mechanisms`."""
    numbers = set()
    for adjacency in (*both(100), *both(10**6)):
        asked: list[Step] = []

        def reply(step: Step, adjacency: Adjacency = adjacency, asked: list[Step] = asked) -> Release:
            asked.append(step)
            plan = Central().plan_query(step.query, loss * step.budget_fraction, adjacency)
            return Release(plan, (answered,) * len(plan.distribution.blank_values()), allotment=None, seeded=True)

        question: Question[Summary] = VarianceQuestion("x", 0, 1)
        answer_steps(run_conversation(question, loss, adjacency, Central()), reply)
        assert sum(step.budget_fraction for step in asked) == 1
        assert len({step.query.charged_query for step in asked}) == len(asked)
        numbers.add(len(asked))
    assert numbers == {4, 5}
