"""The second round of an area: what it promises together with the first, what it reads, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.arguments import Refused
from dpcurves.curves.area_of_bits import PARTS
from dpcurves.laws import Tallied
from dpcurves.local import Collection, First, Kept, Read, SecondRound, Task, area_roads, publish, read_task
from dpcurves.local.second_round import KEY
from dpcurves.mechanisms.reported_tree import epsilon_of, randomisers
from dpcurves.noise import Randomness
from dpcurves.noise.exponential import decay

GRID = dp.Grid(0, 1, cells=8)
SCORES = np.random.default_rng(1).beta(3, 4, 3000), np.random.default_rng(2).beta(4, 3, 2000)


def first_of(first: First, epsilon: str = "2", grid: dp.Grid = GRID) -> Task:
    own = SCORES[0] if first is First.NEGATIVES else SCORES[1]
    return Task(dp.CdfQuestion("score", grid), dp.PrivacyLoss.pure(epsilon), people=len(own))


def second_of(first: First, epsilon: str = "2", grid: dp.Grid = GRID) -> SecondRound:
    """The second round after seeded reports of the first class."""
    own, task = SCORES[0] if first is First.NEGATIVES else SCORES[1], first_of(first, epsilon, grid)
    collection = Collection(task)
    collection.add(task.randomize_table({"score": own}, randomness=Randomness.from_seed(3)))
    return publish(collection, first, people=5000 - len(own))


@pytest.mark.parametrize("epsilon", ["0.3", "1", "4", "12"])
def test_whatever_was_published_no_report_tells_two_values_further_apart_than_epsilon(epsilon: str) -> None:
    """Both rounds: a person is of one class, and answers in one; here the second, of which chances are mixed exactly.

    That of the first round is enumerated where trees are. Chances of 0 and 1, and a missing score, are among them.
    """
    given = second_of(First.NEGATIVES, epsilon)
    for extreme in (given.chances, (0, PARTS) * 4, (PARTS,) * 8):
        second = replace(given, chances=extreme)
        (way,) = randomisers(second.plan.law.required(Tallied), epsilon_of(second.loss))
        assert way.answers == 2
        for report in way.every_report():
            one, zero = way.chance(0, report), way.chance(1, report)
            mixed = [
                one * part + zero * (1 - part) for part in (Fraction(each, PARTS) for each in (*extreme, PARTS // 2))
            ]
            # exp(-epsilon) is at least its lower bound in parts of 2**200: a ratio below it loses no more than epsilon
            assert min(mixed) >= max(mixed) * Fraction(decay(epsilon_of(second.loss), 200)[0], 1 << 200)


def test_what_a_person_sends_has_the_chance_that_was_published() -> None:
    """Within 4 standard deviations; the seed is fixed."""
    second = second_of(First.NEGATIVES)
    draws, source = 40_000, Randomness.from_seed(1)
    for slot in (0, 3, 7, 8):
        chance = (*second.chances, PARTS // 2)[slot] / PARTS
        ones = int((second._answers(np.full(draws, slot), source) == 0).sum())
        assert abs(ones / draws - chance) <= 4 * np.sqrt(chance * (1 - chance) / draws)
    assert second.chances == tuple(sorted(second.chances))
    assert second_of(First.POSITIVES).chances == tuple(sorted(second_of(First.POSITIVES).chances, reverse=True))


@pytest.mark.parametrize("first", First)
def test_the_area_of_two_rounds_is_that_of_the_scores(first: First) -> None:
    """At epsilon 30 nothing is false: what is left is the coins of the second class, within 4 standard deviations."""
    second = second_of(first, "30", dp.Grid(0, 1, cells=256))
    other = SCORES[1] if first is First.NEGATIVES else SCORES[0]
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
    second = second_of(First.POSITIVES)
    second.write(tmp_path / "round2.json")
    again = read_task(tmp_path / "round2.json")
    assert (again, again.hash, again.plan) == (second, second.hash, second.plan)
    kept = Kept.at(tmp_path / "kept.db")
    assert len({again.randomize(value, person="anna", kept=kept) for value in np.linspace(0, 1, 50)}) == 1
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
        {KEY: 7},
    ):
        with pytest.raises(ValueError, match=r"\A[^\n]+\Z"):
            SecondRound.from_json(json.dumps(stored | change))
    with pytest.raises(ValueError, match="task"):
        Task.read(tmp_path / "round2.json")


def test_a_class_that_there_is_not_is_refused_in_one_line() -> None:
    told = Collection(first_of(First.NEGATIVES))
    told.add(told.task.randomize(0.5))
    wrong = second_of(First.NEGATIVES).to_json().replace('"negatives"', '"bogus"')
    refused = r"\Afirst: one of negatives, positives is needed, got 'bogus'\Z"
    with pytest.raises(Refused, match=refused):
        publish(told, "bogus", people=5)  # type: ignore[arg-type]
    with pytest.raises(Refused, match=refused):
        SecondRound.from_json(wrong)


def test_one_report_is_read_and_none_is_refused() -> None:
    second = second_of(First.NEGATIVES)
    with pytest.raises(ValueError, match="reports"):
        Collection(second).curve()
    area = dp.local.aggregate([second.randomize(0.5)], second)
    assert area.interval(0.95) == (0, 1)
    assert 0 <= area.value <= 1


def test_the_larger_class_reports_scores_and_the_road_that_errs_least_stands_first() -> None:
    roads = area_roads(dp.Grid(0, 1, cells=64), dp.PrivacyLoss.pure(1), positives=300, negatives=5000)
    assert roads[0].first is First.NEGATIVES
    assert sorted(road.rounds for road in roads) == [1, 2, 2]
    assert list(roads) == sorted(roads, key=lambda road: road.error)


@pytest.mark.parametrize(("cells", "epsilon"), [(64, 1), (81, 1), (64, 8)])
def test_the_deviation_of_an_area_is_forecast_and_less_than_that_of_a_task_about_the_whole_curve(
    cells: int, epsilon: int
) -> None:
    curve, area = (
        Task(dp.CdfQuestion("x", dp.Grid(0, 1, cells=cells)), dp.PrivacyLoss.pure(epsilon), 10_000, aim=aim).plan
        for aim in (None, Read.AREA)
    )
    laws = [plan.law.required(Tallied) for plan in (curve, area)]
    assert laws[1].area_variance() <= (0.9 if epsilon == 1 else 1) * laws[0].area_variance()
    assert area.error == laws[1].area_variance() ** 0.5
    weights = (np.arange(cells) + 0.5) / cells - 0.5
    for law in laws:  # 4 sigma of a variance of 4,000 draws: a factor of 1 +- 0.09
        errors = np.concatenate(
            [part[:, 0] @ weights for part, _ in law.simulate(None, 4000, np.random.default_rng(1))]
        )
        assert abs(errors.var() / law.area_variance() - 1) < 0.09


def test_an_area_is_aimed_at_in_public_and_from_a_curve_alone() -> None:
    question, loss = dp.CdfQuestion("x", dp.Grid(0, 1, cells=64)), dp.PrivacyLoss.pure(1)
    task = Task(question, loss, 1000, aim=Read.AREA)
    assert Task.from_json(task.to_json()) == task
    assert task.hash != Task(question, loss, 1000).hash
    assert '"aim": "area"' in task.to_json()
    for aim in (Read.CELLS, "area"):
        with pytest.raises(ValueError, match="aim"):
            Task(question, loss, 1000, aim=aim)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="aim"):
        Task.from_json(task.to_json().replace('"area"', '"cells"'))
    with pytest.raises(dp.UnsupportedQuery, match="aim"):
        Task(dp.HistogramQuestion("x", dp.Grid(0, 1, cells=64)), loss, 1000, aim=Read.AREA)


def test_a_person_with_one_file_reports_in_one_round_alone(tmp_path: Path) -> None:
    first, kept = first_of(First.NEGATIVES), Kept.at(tmp_path / "kept.db")
    second = second_of(First.NEGATIVES)
    mine, hers = first.randomize(0.3, person="anna", kept=kept), second.randomize(0.3, person="bert", kept=kept)
    for wrong, person in ((second, "anna"), (first, "bert")):
        with pytest.raises(ValueError, match="^person: this person has reported in the other round, and reports once$"):
            wrong.randomize(0.3, person=person, kept=kept)
    assert first.randomize(0.9, person="anna", kept=kept) == mine
    assert second.randomize(0.9, person="bert", kept=kept) == hers
