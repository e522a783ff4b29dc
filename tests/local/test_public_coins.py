"""Reports of one bit: what it tells, what is added up of it, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.noise import Randomness
from dpcurves.noise.exponential import decay
from dpcurves_local import Coins, Collection, First, Kept, Task, publish
from dpcurves_local.report_file import NAME, Octets, any_drawn, marked
from dpcurves_local.report_server import Reception, ReportStore
from dpcurves_local.responses import Hadamard
from dpcurves_local.responses.randomiser import MOST_ANSWERS
from dpcurves_local.tallied import Tallied
from dpcurves_local.task import PublicCoins
from dpcurves_local.trust import Tables, answers_about, epsilon_of, ways_of
from dpcurves_parties.serving.messages import ProtocolAborted


def asked(cells: int = 16, epsilon: str = "2", people: int = 2000, rows: int = 1) -> Task:
    """A task about a tree of several levels, or about a table of rows."""
    grid, loss = dp.Grid(0, 1, cells=cells), dp.PrivacyLoss.pure(epsilon)
    question = dp.CdfQuestion("x", grid) if rows == 1 else dp.RocQuestion("y", "x", grid)
    return Task(question, loss, people, coins=Coins.PUBLIC)


def named(words: list[int]) -> Octets:
    return np.array(words, dtype="<u8").view(np.uint8).reshape(-1, NAME)


def words_of(law: Tallied, level: int, index: int) -> int:
    """A name whose octets are this level and this index: the first person of the level."""
    before = sum(each.reports for each in law.levels[:level])
    return (-(-(before << 32) // law.people) << 32) + index


def ways(task: Task) -> tuple[Hadamard, ...]:
    found = ways_of(task.plan.law.required(Tallied), task.loss)
    return tuple(way for way in found if isinstance(way, Hadamard))


def chance_of(task: Task, name: int, slot: int, bit: int) -> Fraction:
    """The exact chance of a bit: that of the message it stands for, over that of its index."""
    coins, law = PublicCoins(task.plan), task.plan.law.required(Tallied)
    (message,) = coins.written_out(named([name]), np.array([[bit]], dtype=np.uint8))
    way = ways(task)[int(message[0])]
    (answer,) = answers_about(law, int(message[0]), np.array([slot])).tolist()
    return way.chance(answer, message[1 : 1 + way.octets].tobytes()) * way.length


@pytest.mark.parametrize("epsilon", ["0.01", "1", "12"])
@pytest.mark.parametrize(("cells", "rows"), [(1, 1), (3, 1), (16, 1), (5, 2)])
def test_whoever_chose_level_and_index_a_bit_loses_at_most_epsilon(cells: int, rows: int, epsilon: str) -> None:
    """All levels, indices, values and both bits, in whole numbers."""
    task = asked(cells, epsilon, rows=rows)
    law = task.plan.law.required(Tallied)
    below = Fraction(decay(epsilon_of(task.loss), 512)[1], 2**512)
    for level, way in enumerate(ways(task)):
        for index in range(way.length):
            table = [
                [chance_of(task, words_of(law, level, index), slot, bit) for slot in range(law.rows * cells + 1)]
                for bit in (0, 1)
            ]
            assert {sum(column) for column in zip(*table, strict=True)} == {1}
            assert all(max(row) * below <= min(row) for row in table)


def test_over_even_names_bits_are_the_reports_that_are_debiased() -> None:
    """Given a level, each index is as frequent as another: so the law of what is added up is that of the randomiser."""
    task = asked(8, people=64)
    coins, law = PublicCoins(task.plan), task.plan.law.required(Tallied)
    assert len(law.levels) > 1
    for level, way in enumerate(ways(task)):
        names = [words_of(law, level, index) for index in range(way.length)]
        messages = coins.written_out(named(names * 2), np.repeat([[0], [1]], way.length, axis=0).astype(np.uint8))
        assert set(messages[:, 0].tolist()) == {level}
        assert {row[1 : 1 + way.octets].tobytes() for row in messages} == set(way.every_report())
        assert Tables(task.plan).are_messages(messages).all()


def test_levels_are_about_as_frequent_as_in_the_plan_and_bits_are_drawn_by_their_chances() -> None:
    """Within 4 standard deviations; seeds are fixed."""
    task, many = asked(16), 40_000
    law, coins = task.plan.law.required(Tallied), PublicCoins(task.plan)
    names = np.frombuffer(Randomness.from_seed(1).octets(NAME * many), dtype=np.uint8).reshape(-1, NAME)
    levels = np.bincount(coins.written_out(names, np.zeros((many, 1), np.uint8))[:, 0], minlength=len(law.levels))
    for found, level in zip(levels.tolist(), law.levels, strict=True):
        part = level.reports / law.people
        assert abs(found / many - part) < 4 * np.sqrt(part * (1 - part) / many)
    name = words_of(law, len(law.levels) - 1, 5)
    for slot in (0, 7, 16):
        bits = coins.said(named([name] * many), np.full(many, slot), Randomness.from_seed(slot))
        chance = float(chance_of(task, name, slot, 1))
        assert abs(bits.mean() - chance) < 4 * np.sqrt(chance * (1 - chance) / many)


def test_the_curve_of_bits_is_unbiased_and_as_exact_as_planned() -> None:
    """Mean errors of 60 releases at 15 edges within 4 standard deviations; their squares within 4 of the mean of 60."""
    task, errors = asked(16, "3", 4000), []
    values = np.random.default_rng(1).beta(2, 4, 4000)
    for seed in range(60):
        collection = Collection(task)
        collection.add(task.randomize_table({"x": values}, randomness=Randomness.from_seed(seed)))
        found = collection.curve().prefixes.evidence
        exact = np.searchsorted(np.sort(values), np.linspace(0, 1, 17)[1:-1])
        errors.append(np.cumsum(found.unbiased[0])[:-1] - exact)
    variance = task.plan.law.required(Tallied).prefix_variances(True)[0][1:-1]
    assert np.abs(np.mean(errors, axis=0)).max() < 4 * np.sqrt(variance.max() / 60)
    squares = np.square(errors).mean(axis=1) / variance.mean()
    assert abs(squares.mean() - 1) < 4 * squares.std() / np.sqrt(60) + 0.1  # shares are not even, as the plan has them


def test_a_person_sends_one_bit_and_the_same_one_again(tmp_path: Path) -> None:
    task, kept = asked(64), Kept.at(tmp_path / "kept.db")
    assert task.form.octets == 1
    reports = {task.randomize(value, person="anna", kept=kept) for value in np.linspace(0, 1, 40)}
    assert len(reports) == 1
    (report,) = reports
    assert {task.randomize(0.5, person=f"p{number}")[-5] for number in range(60)} == {0, 1}
    collection = Collection(task)
    collection.add(report + report)
    assert (collection.reports, collection.repeated, collection.refused) == (1, 1, 0)


def test_what_is_no_bit_is_refused() -> None:
    task = asked(64)
    names = named(list(range(1, 255)))
    collection = Collection(task)
    collection.add(task.form.written_all(names, np.arange(2, 256, dtype=np.uint8)[:, None]))
    assert (collection.reports, collection.refused) == (0, 254)


def test_a_server_keeps_bits_and_refuses_what_is_none(tmp_path: Path) -> None:
    task = asked(64)
    store = ReportStore(tmp_path / "reports.bin", task)
    reception = Reception(task, store)
    sent = task.randomize(0.3, person="anna") + task.form.written(task.name_of("bert"), b"\x02")
    assert json.loads(reception.receive(sent)) == {"new": 1, "known": 0, "refused": 1}
    store.close()
    collection = Collection(task)
    collection.add_file(tmp_path / "reports.bin")
    assert (collection.reports, collection.refused) == (1, 0)


def test_that_a_name_was_drawn_changes_no_public_coin() -> None:
    """All levels and the indices of the longest response are as they were, of names with and without the mark."""
    coins = PublicCoins(asked(64).plan)
    names = np.random.default_rng(4).integers(0, 256, (5000, NAME), dtype=np.uint8)
    levels, numbers = coins._thrown(names)
    assert set(levels.tolist()) == set(range(len(coins.plan.law.required(Tallied).levels)))
    for drawn in (False, True):
        told = marked(names, drawn)
        assert any_drawn(told) is drawn
        assert np.array_equal(coins._thrown(told)[0], levels)
        assert np.array_equal(coins._thrown(told)[1] % MOST_ANSWERS, numbers % MOST_ANSWERS)


def test_a_server_refuses_who_reported_in_the_first_round(tmp_path: Path) -> None:
    task = asked()
    first = Collection(task)
    first.add(task.randomize(0.3, person="Anna"))
    second = publish(first, First.NEGATIVES, people=3)
    store = ReportStore(tmp_path / "reports.bin", second)
    reception = Reception(second, store)
    repeat = second.form.written(second.name_of("anna"), second.said(named([1]), np.array([3]), Randomness.system())[0])
    with pytest.raises(ProtocolAborted, match="1 refused: reported in the first round, and each person reports once"):
        reception.receive(repeat)
    mixed = reception.receive(repeat + second.randomize(0.3, person="bert"))
    assert json.loads(mixed) == {"new": 1, "known": 0, "refused": 1}
    store.close()
    collection = Collection(second)
    collection.add_file(tmp_path / "reports.bin")
    assert (collection.reports, collection.met) == (1, 1)
    area = collection.curve()
    assert not area.refused
    assert area.privacy.epsilon == float(area.in_both.epsilon) > float(area.in_one.epsilon)


def test_public_coins_are_said_in_public() -> None:
    task = asked(64)
    own = Task(task.question, task.loss, task.people)
    assert Task.from_json(task.to_json()) == task
    assert task.hash != own.hash
    assert "coins" not in own.to_json()
    assert "by public coins" in task.plan.made_by
    assert {level.randomiser for level in task.plan.law.required(Tallied).levels} == {"hadamard"}
    with pytest.raises(ValueError, match=r"\Acoins: one of own, public is needed, got 'mine'\Z"):
        Task.from_json(task.to_json().replace('"public"', '"mine"'))
    with pytest.raises(ValueError, match=r"\Acoin: there is no such field; there are "):
        Task.from_json(task.to_json().replace('"coins"', '"coin"'))
    with pytest.raises(TypeError, match="coins"):
        Task(task.question, task.loss, 10, coins="public")  # type: ignore[arg-type]
    rho = Task(task.question, dp.PrivacyLoss.zcdp("0.5"), 10_000, coins=Coins.PUBLIC)
    assert not rho.plan.law.required(Tallied).about_all
