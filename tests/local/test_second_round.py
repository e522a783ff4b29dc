"""The second round of an area: what it promises together with the first, what it reads, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from math import log, prod
from pathlib import Path

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.conversation import Plan
from dpcurves.noise import Randomness
from dpcurves.noise.exponential import bound_exp_neg
from dpcurves_local import (
    Coins,
    Collection,
    CountUse,
    FirstClass,
    ReportMemo,
    SecondRound,
    Task,
    compare_area_protocols,
    publish,
    read_task,
)
from dpcurves_local.aggregated_reports import AggregatedReports
from dpcurves_local.report_file import normalize_name
from dpcurves_local.second_round import PROBABILITY_PARTS, VERSION_FIELD, find_largest_ratio
from dpcurves_local.trust import (
    build_all_levels_tree,
    build_randomisers,
    convert_to_epsilon,
    find_answers,
    find_randomisers,
)

GRID = dp.Grid(0, 1, cells=8)
SCORES = np.random.default_rng(1).beta(3, 4, 3000), np.random.default_rng(2).beta(4, 3, 2000)


def first_of(first: FirstClass, epsilon: str = "2", grid: dp.Grid = GRID) -> Task:
    own = SCORES[0] if first is FirstClass.NEGATIVES else SCORES[1]
    return Task(dp.CdfQuestion("score", grid), dp.PrivacyLoss.pure(epsilon), people=len(own))


def second_of(first: FirstClass, epsilon: str = "2", grid: dp.Grid = GRID) -> SecondRound:
    """The second round after seeded reports of the first class."""
    own, task = SCORES[0] if first is FirstClass.NEGATIVES else SCORES[1], first_of(first, epsilon, grid)
    collection = Collection(task)
    collection.add(task.randomize_table({"score": own}, randomness=Randomness.from_seed(3)))
    return publish(collection, first, people=5000 - len(own))


@pytest.mark.parametrize("epsilon", ["0.3", "1", "4", "12"])
def test_whatever_was_published_no_report_tells_two_values_further_apart_than_epsilon(epsilon: str) -> None:
    """Both rounds: a person is of one class, and answers in one; here the second, of which chances are mixed exactly.

    That of the first round is enumerated where trees are. Chances of 0 and 1, and a missing score, are among them.
    """
    given = second_of(FirstClass.NEGATIVES, epsilon)
    for extreme in (given.one_probabilities, (0, PROBABILITY_PARTS) * 4, (PROBABILITY_PARTS,) * 8):
        second = replace(given, one_probabilities=extreme)
        (way,) = build_randomisers(
            second.plan.distribution.require_type(AggregatedReports), convert_to_epsilon(second.loss)
        )
        assert way.answers == 2
        for report in way.list_reports():
            one, zero = way.find_probability(0, report), way.find_probability(1, report)
            mixed = [
                one * part + zero * (1 - part)
                for part in (Fraction(each, PROBABILITY_PARTS) for each in (*extreme, PROBABILITY_PARTS // 2))
            ]
            # exp(-epsilon) is at least its lower bound in parts of 2**200: a ratio below it loses no more than epsilon
            assert min(mixed) >= max(mixed) * Fraction(bound_exp_neg(convert_to_epsilon(second.loss), 200)[0], 1 << 200)


def test_what_a_person_sends_has_the_chance_that_was_published() -> None:
    """Within 4 standard deviations; the seed is fixed."""
    second = second_of(FirstClass.NEGATIVES)
    draws, source = 40_000, Randomness.from_seed(1)
    for slot in (0, 3, 7, 8):
        chance = (*second.one_probabilities, PROBABILITY_PARTS // 2)[slot] / PROBABILITY_PARTS
        ones = int((second._draw_answers(np.full(draws, slot), source) == 0).sum())
        assert abs(ones / draws - chance) <= 4 * np.sqrt(chance * (1 - chance) / draws)
    assert second.one_probabilities == tuple(sorted(second.one_probabilities))
    assert second_of(FirstClass.POSITIVES).one_probabilities == tuple(
        sorted(second_of(FirstClass.POSITIVES).one_probabilities, reverse=True)
    )


@pytest.mark.parametrize("first", FirstClass)
def test_the_area_of_two_rounds_is_that_of_the_scores(first: FirstClass) -> None:
    """At epsilon 30 nothing is false: what is left is the coins of the second class, within 4 standard deviations."""
    second = second_of(first, "30", dp.Grid(0, 1, cells=256))
    other = SCORES[1] if first is FirstClass.NEGATIVES else SCORES[0]
    collection = Collection(second)
    collection.add(second.randomize_table({"score": other}, randomness=Randomness.from_seed(4)))
    area = collection.curve()
    exact = np.searchsorted(np.sort(SCORES[0]), SCORES[1]).mean() / len(SCORES[0])
    assert abs(area.value - exact) < 4 * 0.5 / np.sqrt(len(other))
    low, high = area.interval(0.95)
    assert low <= exact <= high
    wider = area.interval(0.95, population=True)
    assert wider[0] <= low
    assert high <= wider[1]
    assert 0 <= wider[0] <= wider[1] <= 1


def test_a_second_round_is_the_same_for_everybody_who_reads_it(tmp_path: Path) -> None:
    second = second_of(FirstClass.POSITIVES)
    second.write(tmp_path / "round2.json")
    again = read_task(tmp_path / "round2.json")
    assert (again, again.hash, again.plan) == (second, second.hash, second.plan)
    kept = ReportMemo.from_path(tmp_path / "kept.db")
    assert len({again.randomize(value, person="anna", memo=kept) for value in np.linspace(0, 1, 50)}) == 1
    assert len({len(second.randomize(value)) for value in (0.1, None, "x", float("inf"))}) == 1
    stored = json.loads((tmp_path / "round2.json").read_text())
    chances: list[list[object]] = [[1] * 3, [-1] * 8, ["1"] * 8, [2**33] * 8]
    for change in (
        *({"chances": each} for each in chances),
        {"curve": {}},
        {"first": "both"},
        {"before": "me"},
        {"task": 3},
        {"task": stored["task"] | {"coins": "public"}},
        {"epsilon": 3},
        {VERSION_FIELD: 7},
    ):
        with pytest.raises(ValueError, match=r"\A[^\n]+\Z"):
            SecondRound.from_json(json.dumps(stored | change))
    with pytest.raises(ValueError, match="task"):
        Task.load(tmp_path / "round2.json")


def test_a_class_that_there_is_not_is_refused_in_one_line() -> None:
    told = Collection(first_of(FirstClass.NEGATIVES))
    told.add(told.task.randomize(0.5))
    wrong = second_of(FirstClass.NEGATIVES).to_json().replace('"negatives"', '"bogus"')
    refused = r"\Afirst_class: must be one of negatives, positives, got 'bogus'\Z"
    with pytest.raises(InvalidArgument, match=refused):
        publish(told, "bogus", people=5)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=refused):
        SecondRound.from_json(wrong)


def test_one_report_is_read_and_none_is_refused() -> None:
    second = second_of(FirstClass.NEGATIVES)
    with pytest.raises(ValueError, match="reports"):
        Collection(second).curve()
    area = dp.local.aggregate([second.randomize(0.5)], second)
    assert area.interval(0.95) == (0, 1)
    assert np.isnan(area.value)


def test_the_larger_class_reports_scores_and_the_road_that_errs_least_stands_first() -> None:
    roads = compare_area_protocols(dp.Grid(0, 1, cells=64), dp.PrivacyLoss.pure(1), positives=300, negatives=5000)
    assert roads[0].first_class is FirstClass.NEGATIVES
    assert sorted(road.rounds for road in roads) == [1, 2, 2]
    assert list(roads) == sorted(roads, key=lambda road: road.error)


@pytest.mark.quick_share(3)
@pytest.mark.parametrize(("cells", "epsilon"), [(64, 1), (81, 1), (64, 8)])
def test_the_deviation_of_an_area_is_forecast_and_less_than_that_of_a_task_about_the_whole_curve(
    cells: int, epsilon: int
) -> None:
    curve, area = (
        Task(dp.CdfQuestion("x", dp.Grid(0, 1, cells=cells)), dp.PrivacyLoss.pure(epsilon), 10_000, target=target).plan
        for target in (None, CountUse.AREA)
    )
    distributions = [plan.distribution.require_type(AggregatedReports) for plan in (curve, area)]
    assert distributions[1].area_variance() <= (0.9 if epsilon == 1 else 1) * distributions[0].area_variance()
    assert area.error == distributions[1].area_variance() ** 0.5
    weights = (np.arange(cells) + 0.5) / cells - 0.5
    for distribution in distributions:  # 4 sigma of a variance of 4,000 draws: a factor of 1 +- 0.09
        errors = np.concatenate(
            [part[:, 0] @ weights for part, _ in distribution.simulate(None, 4000, np.random.default_rng(1))]
        )
        assert abs(errors.var() / distribution.area_variance() - 1) < 0.09


def test_an_area_is_aimed_at_in_public_and_from_a_curve_alone() -> None:
    question, loss = dp.CdfQuestion("x", dp.Grid(0, 1, cells=64)), dp.PrivacyLoss.pure(1)
    task = Task(question, loss, 1000, target=CountUse.AREA)
    assert Task.from_json(task.to_json()) == task
    assert task.hash != Task(question, loss, 1000).hash
    assert '"target": "area"' in task.to_json()
    for target in (CountUse.CELLS, "area"):
        with pytest.raises(ValueError, match="target"):
            Task(question, loss, 1000, target=target)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="target"):
        Task.from_json(task.to_json().replace('"area"', '"cells"'))
    with pytest.raises(dp.UnsupportedQuery, match="target"):
        Task(dp.HistogramQuestion("x", dp.Grid(0, 1, cells=64)), loss, 1000, target=CountUse.AREA)


def test_a_person_with_one_file_reports_in_one_round_alone(tmp_path: Path) -> None:
    first, kept = first_of(FirstClass.NEGATIVES), ReportMemo.from_path(tmp_path / "kept.db")
    second = second_of(FirstClass.NEGATIVES)
    mine, hers = first.randomize(0.3, person="anna", memo=kept), second.randomize(0.3, person="bert", memo=kept)
    for wrong, person in ((second, "anna"), (first, "bert")):
        with pytest.raises(
            ValueError,
            match="^person: reported in the other round, and each person reports once; nothing has to be sent$",
        ):
            wrong.randomize(0.3, person=person, memo=kept)
    assert first.randomize(0.9, person="anna", memo=kept) == mine
    assert second.randomize(0.9, person="bert", memo=kept) == hers


def distributions_of(plan: Plan, slot: int) -> list[Fraction]:
    """The chance of each message of one person of this slot, exactly: all levels that may be drawn, or all at once."""
    distribution = plan.distribution.require_type(AggregatedReports)
    ways = find_randomisers(distribution, plan.loss)
    answers = [int(find_answers(distribution, number, np.array([slot]))[0]) for number in range(len(ways))]
    each = [
        [way.find_probability(own, report) for report in way.list_reports()]
        for way, own in zip(ways, answers, strict=True)
    ]
    if distribution.about_all:
        return [prod(joint, start=Fraction(1)) for joint in product(*each)]
    parts = [Fraction(level.reports, distribution.people) for level in distribution.levels]
    return [part * chance for part, chances in zip(parts, each, strict=True) for chance in chances]


def enumerated(plan: Plan, second: Plan, chances: tuple[int, ...]) -> tuple[Fraction, Fraction]:
    """The largest ratio of chances of both reports of a person, and of the first alone, of all pairs of values."""
    own = [distributions_of(plan, slot) for slot in range(len(chances) + 1)]
    one, zero = distributions_of(second, 0), distributions_of(second, 1)
    parts = [Fraction(chance, PROBABILITY_PARTS) for chance in (*chances, PROBABILITY_PARTS // 2)]
    bits = [[part * x + (1 - part) * y for x, y in zip(one, zero, strict=True)] for part in parts]
    assert all(sum(distribution) == 1 for distribution in (*own, *bits))
    both = [
        [first * bit for first in distribution for bit in told] for distribution, told in zip(own, bits, strict=True)
    ]
    most = [
        max(x / y for left, right in permutations(distributions, 2) for x, y in zip(left, right, strict=True))
        for distributions in (both, own)
    ]
    return most[0], most[1]


EXTREME = [
    (0, PROBABILITY_PARTS) * 4,
    (PROBABILITY_PARTS // 2,) * 8,
    tuple(PROBABILITY_PARTS * each // 8 for each in range(8)),
    (0,) * 7 + (PROBABILITY_PARTS,),
]


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("coins", Coins)
@pytest.mark.parametrize(("cells", "epsilon"), [(1, "1"), (3, "0.3"), (4, "1"), (5, "24"), (8, "1"), (8, "2")])
def test_a_person_in_both_rounds_loses_what_all_pairs_of_reports_tell(cells: int, epsilon: str, coins: Coins) -> None:
    """Each pair of values and of reports is enumerated; trees of one and more levels, and all kinds of randomisers."""
    loss = dp.PrivacyLoss.pure(epsilon)
    task = Task(
        dp.CdfQuestion("score", dp.Grid(0, 1, cells=cells)), loss, people=3000, coins=coins, target=CountUse.AREA
    )
    collection = Collection(task)
    collection.add(task.randomize_table({"score": SCORES[0]}, randomness=Randomness.from_seed(3)))
    given = publish(collection, FirstClass.NEGATIVES, people=2000)
    for chances in (given.one_probabilities, *(each[:cells] for each in EXTREME)):
        second = replace(given, one_probabilities=chances)
        both, alone = enumerated(task.plan, second.plan, chances)
        assert find_largest_ratio(task.plan, second.plan, chances) == both
        assert second.loss_in_both_rounds.epsilon is not None
        assert -1e-15 <= float(second.loss_in_both_rounds.epsilon) / log(both) - 1 <= 1e-5
        assert alone * Fraction(bound_exp_neg(Fraction(epsilon), 200)[0], 1 << 200) <= 1 < alone
        assert second.loss_in_both_rounds.epsilon <= 2 * Fraction(epsilon)


def test_losses_multiply_where_the_first_report_is_about_all_levels() -> None:
    second = second_of(FirstClass.NEGATIVES, "2")
    plan = first_of(FirstClass.NEGATIVES, "2").plan
    distribution = build_all_levels_tree(1, 4, (2, 1), plan.loss, 3000)
    about_all = replace(plan, distribution=distribution)
    for chances in EXTREME:
        found = find_largest_ratio(about_all, second.plan, chances[:4])
        assert found == enumerated(about_all, second.plan, chances[:4])[0]


def named(task: Task, values: np.ndarray, prefix: str) -> list[bytes]:
    source = Randomness.from_seed(5).expand()
    return [
        task.randomize(value, person=f"{prefix}{row}", randomness=source) for row, value in enumerate(values.tolist())
    ]


@pytest.fixture(scope="module")
def first_round() -> Collection:
    """Anna, and others with names."""
    task = first_of(FirstClass.NEGATIVES, "1")
    collection = Collection(task)
    collection.add_each([task.randomize(0.3, person="Anna"), *named(task, SCORES[0][:300], "n")])
    return collection


def test_a_name_of_the_first_round_is_refused_in_the_second_however_it_is_written(first_round: Collection) -> None:
    second = publish(first_round, FirstClass.NEGATIVES, people=200)
    again = SecondRound.from_json(second.to_json())
    assert (again, again.hash) == (second, second.hash)
    assert len(second.names or b"") == 8 * 301
    for name in ("Anna", "anna", " ANNA ", "\uff21nna", "anna\u00a0"):
        with pytest.raises(
            InvalidArgument,
            match=r"\Aperson: reported in the first round, and each person reports once; nothing has to be sent\Z",
        ):
            again.randomize(0.3, person=name)
    assert again.randomize(0.3, person="Ann a")


def test_the_result_says_whom_its_loss_holds_for(first_round: Collection) -> None:
    """Names of both rounds are known: the loss of one report. The other loss is between it and its double."""
    second = publish(first_round, FirstClass.NEGATIVES, people=200)
    collection = Collection(second)
    collection.add_each(named(second, SCORES[1][:200], "p"))
    area = collection.curve()
    assert (area.people, area.repeats_refused, area.is_exact, collection.met) == ((301, 200), True, True, 0)
    assert area.privacy.epsilon == 1
    assert area.privacy.units == 501
    assert 1 < float(area.loss_in_both_rounds.epsilon) <= 2
    for words in (
        "301 in the first round, 200 in the second",
        "a person who reported in one round only",
        "lost epsilon",
    ):
        assert words in repr(area)
    assert area.notes == first_round.curve().notes


def unsafe(second: SecondRound, sent: list[bytes]) -> None:
    collection = Collection(second)
    collection.add_each(sent)
    area = collection.curve()
    assert not area.repeats_refused
    assert area.privacy.epsilon == float(second.loss_in_both_rounds.epsilon or 0) > 1
    assert area.privacy.rho >= area.privacy.epsilon**2 / 2 * (1 - 1e-9)
    assert any("repeats were not all refused" in note for note in area.notes)


def test_the_loss_of_both_rounds_is_stated_wherever_repeats_can_not_all_be_refused(first_round: Collection) -> None:
    """No names; a repeat that came past its device; a drawn name in either round."""
    second, bare = (publish(first_round, FirstClass.NEGATIVES, people=200, names=each) for each in (True, False))
    assert bare.names is None
    others = named(bare, SCORES[1][:50], "p")
    unsafe(bare, [*others, bare.randomize(0.3, person="Anna")])
    others = named(second, SCORES[1][:50], "p")
    forgetful = replace(second, names=b"")
    object.__setattr__(forgetful, "hash", second.hash)
    repeat = forgetful.randomize(0.3, person=" anna")
    met = Collection(second)
    met.add_each([*others, repeat])
    assert (met.reports, met.met, met.refused) == (50, 1, 0)
    unsafe(second, [*others, repeat])
    unsafe(second, [*others, second.randomize(0.3)])
    drawn = Collection(first_round.task)
    drawn.add_each([first_round.task.randomize(0.3), *named(first_round.task, SCORES[0][:300], "n")])
    other = publish(drawn, FirstClass.NEGATIVES, people=200)
    unsafe(other, named(other, SCORES[1][:50], "p"))


def test_documents_of_earlier_versions_are_read_and_state_twice_the_loss(first_round: Collection) -> None:
    second = publish(first_round, FirstClass.NEGATIVES, people=200)
    stored = json.loads(second.to_json())
    del stored["names"], stored["earlier"]
    old = SecondRound.from_json(json.dumps(stored))
    assert json.loads(old.to_json()) == stored
    assert old.loss_in_both_rounds.epsilon == 2
    area = dp.local.aggregate(named(old, SCORES[1][:50], "p"), old)
    assert (area.is_exact, area.repeats_refused, area.privacy.epsilon, area.people) == (False, False, 2, (301, 50))
    assert "an upper bound: the sum of both rounds" in area.statements[1]
    damaged: list[dict[str, object]] = [
        {"names": "AAAA"},
        {"names": 3},
        {"names": "\u00e9"},
        {"names": "A" * 21 + "="},
        {"earlier": {}},
    ]
    for change in damaged:
        with pytest.raises(ValueError, match=r"\A[^\n]+\Z"):
            SecondRound.from_json(json.dumps(json.loads(second.to_json()) | change))
    other = json.loads(first_of(FirstClass.POSITIVES, "1").to_json())
    with pytest.raises(ValueError, match="its copy of the first round"):
        SecondRound.from_json(json.dumps(json.loads(second.to_json()) | {"earlier": other}))


def test_a_zero_concentrated_loss_adds_up() -> None:
    task = Task(dp.CdfQuestion("score", GRID), dp.PrivacyLoss.zcdp("0.5"), people=300)
    collection = Collection(task)
    collection.add_each(named(task, SCORES[0][:300], "n"))
    second = publish(collection, FirstClass.NEGATIVES, people=50)
    area = dp.local.aggregate(named(second, SCORES[1][:50], "p"), second)
    assert (area.privacy.epsilon, area.privacy.rho, area.is_exact) == (None, 0.5, False)
    assert second.loss_in_both_rounds.rho == 1


def test_a_kept_report_is_found_by_all_ways_to_write_a_name(tmp_path: Path) -> None:
    task, path = first_of(FirstClass.NEGATIVES), tmp_path / "kept.db"
    report = task.randomize(0.3, person="Anna", memo=ReportMemo.from_path(path))
    for name in ("Anna", "anna", " ANNA"):
        assert task.randomize(0.9, person=name, memo=ReportMemo.from_path(path)) == report
    mine = {
        task.randomize(value, person=name, memo=ReportMemo.from_path(path))
        for value, name in ((0.1, "Bert"), (0.8, "BERT "))
    }
    assert len(mine) == 1


def test_folded_names_stay_as_they_are() -> None:
    for name in ("Anna", " A  N\tna ", "Stra\u00dfe", "\u0130", "\ufb01n", "\u1e9b\u0323"):
        assert normalize_name(normalize_name(name)) == normalize_name(name)
    assert normalize_name("STRASSE") == normalize_name("Stra\u00dfe")
    assert normalize_name(" Anna  B ") == "anna b"
