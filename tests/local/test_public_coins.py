"""Reports of one bit: what it tells, what is added up of it, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.noise import Randomness
from dpcurves.noise.exponential import bound_exp_neg
from dpcurves_local import Coins, Collection, FirstClass, ReportMemo, Task, publish
from dpcurves_local.aggregated_reports import AggregatedReports
from dpcurves_local.report_file import PSEUDONYM_SIZE, Octets, has_drawn_names, set_drawn_bit
from dpcurves_local.report_server import ReportReceiver, ReportStore
from dpcurves_local.responses import HadamardResponse
from dpcurves_local.responses.randomiser import MOST_ANSWERS
from dpcurves_local.task import PublicCoinResponses
from dpcurves_local.trust import ReportAggregator, convert_to_epsilon, find_answers, find_randomisers
from dpcurves_parties.serving.messages import ProtocolError


def asked(cells: int = 16, epsilon: str = "2", people: int = 2000, rows: int = 1) -> Task:
    """A task about a tree of several levels, or about a table of rows."""
    grid, loss = dp.Grid(0, 1, cells=cells), dp.PrivacyLoss.pure(epsilon)
    question = dp.CdfQuestion("x", grid) if rows == 1 else dp.RocQuestion("y", "x", grid)
    return Task(question, loss, people, coins=Coins.PUBLIC)


def named(words: list[int]) -> Octets:
    return np.array(words, dtype="<u8").view(np.uint8).reshape(-1, PSEUDONYM_SIZE)


def words_of(distribution: AggregatedReports, level: int, index: int) -> int:
    """A name whose octets are this level and this index: the first person of the level."""
    before = sum(each.reports for each in distribution.levels[:level])
    return (-(-(before << 32) // distribution.people) << 32) + index


def ways(task: Task) -> tuple[HadamardResponse, ...]:
    found = find_randomisers(task.plan.distribution.require_type(AggregatedReports), task.loss)
    return tuple(way for way in found if isinstance(way, HadamardResponse))


def chance_of(task: Task, name: int, slot: int, bit: int) -> Fraction:
    """The exact chance of a bit: that of the message it stands for, over that of its index."""
    coins, distribution = PublicCoinResponses(task.plan), task.plan.distribution.require_type(AggregatedReports)
    (message,) = coins.expand_messages(named([name]), np.array([[bit]], dtype=np.uint8))
    way = ways(task)[int(message[0])]
    (answer,) = find_answers(distribution, int(message[0]), np.array([slot])).tolist()
    return way.find_probability(answer, message[1 : 1 + way.octets].tobytes()) * way.index_count


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("epsilon", ["0.01", "1", "12"])
@pytest.mark.parametrize(("cells", "rows"), [(1, 1), (3, 1), (16, 1), (5, 2)])
def test_whoever_chose_level_and_index_a_bit_loses_at_most_epsilon(cells: int, rows: int, epsilon: str) -> None:
    """All levels, indices, values and both bits, in whole numbers."""
    task = asked(cells, epsilon, rows=rows)
    distribution = task.plan.distribution.require_type(AggregatedReports)
    below = Fraction(bound_exp_neg(convert_to_epsilon(task.loss), 512)[1], 2**512)
    for level, way in enumerate(ways(task)):
        for index in range(way.index_count):
            table = [
                [
                    chance_of(task, words_of(distribution, level, index), slot, bit)
                    for slot in range(distribution.rows * cells + 1)
                ]
                for bit in (0, 1)
            ]
            assert {sum(column) for column in zip(*table, strict=True)} == {1}
            assert all(max(row) * below <= min(row) for row in table)


def test_over_even_names_bits_are_the_reports_that_are_debiased() -> None:
    """Given a level, each index is as frequent as another: so the distribution of what is added up is that of the
    randomiser."""
    task = asked(8, people=64)
    coins, distribution = PublicCoinResponses(task.plan), task.plan.distribution.require_type(AggregatedReports)
    assert len(distribution.levels) > 1
    for level, way in enumerate(ways(task)):
        names = [words_of(distribution, level, index) for index in range(way.index_count)]
        messages = coins.expand_messages(
            named(names * 2), np.repeat([[0], [1]], way.index_count, axis=0).astype(np.uint8)
        )
        assert set(messages[:, 0].tolist()) == {level}
        assert {row[1 : 1 + way.octets].tobytes() for row in messages} == set(way.list_reports())
        assert ReportAggregator(task.plan).mark_valid_messages(messages).all()


def test_levels_are_about_as_frequent_as_in_the_plan_and_bits_are_drawn_by_their_chances() -> None:
    """Within 4 standard deviations; seeds are fixed."""
    task, many = asked(16), 40_000
    distribution, coins = task.plan.distribution.require_type(AggregatedReports), PublicCoinResponses(task.plan)
    names = np.frombuffer(Randomness.from_seed(1).random_bytes(PSEUDONYM_SIZE * many), dtype=np.uint8).reshape(
        -1, PSEUDONYM_SIZE
    )
    levels = np.bincount(
        coins.expand_messages(names, np.zeros((many, 1), np.uint8))[:, 0], minlength=len(distribution.levels)
    )
    for found, level in zip(levels.tolist(), distribution.levels, strict=True):
        part = level.reports / distribution.people
        assert abs(found / many - part) < 4 * np.sqrt(part * (1 - part) / many)
    name = words_of(distribution, len(distribution.levels) - 1, 5)
    for slot in (0, 7, 16):
        bits = coins.randomize_slots(named([name] * many), np.full(many, slot), Randomness.from_seed(slot))
        chance = float(chance_of(task, name, slot, 1))
        assert abs(bits.mean() - chance) < 4 * np.sqrt(chance * (1 - chance) / many)


@pytest.mark.reproduction
def test_the_curve_of_bits_is_unbiased_and_as_exact_as_planned() -> None:
    """Mean errors of 60 releases at 15 edges within 4 standard deviations; their squares within 4 of the mean of 60."""
    task, errors = asked(16, "3", 4000), []
    values = np.random.default_rng(1).beta(2, 4, 4000)
    for seed in range(60):
        collection = Collection(task)
        collection.add(task.randomize_table({"x": values}, randomness=Randomness.from_seed(seed)))
        found = collection.curve().prefixes.evidence
        exact = np.searchsorted(np.sort(values), np.linspace(0, 1, 17)[1:-1])
        errors.append(np.cumsum(found.unbiased_cells[0])[:-1] - exact)
    variance = task.plan.distribution.require_type(AggregatedReports).prefix_variances(True)[0][1:-1]
    assert np.abs(np.mean(errors, axis=0)).max() < 4 * np.sqrt(variance.max() / 60)
    squares = np.square(errors).mean(axis=1) / variance.mean()
    assert abs(squares.mean() - 1) < 4 * squares.std() / np.sqrt(60) + 0.1  # shares are not even, as the plan has them


def test_a_person_sends_one_bit_and_the_same_one_again(tmp_path: Path) -> None:
    task, kept = asked(64), ReportMemo.from_path(tmp_path / "kept.db")
    assert task.report_format.message_octets == 1
    reports = {task.randomize(value, person="anna", memo=kept) for value in np.linspace(0, 1, 40)}
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
    collection.add(task.report_format.encode_reports(names, np.arange(2, 256, dtype=np.uint8)[:, None]))
    assert (collection.reports, collection.refused) == (0, 254)


def test_a_server_keeps_bits_and_refuses_what_is_none(tmp_path: Path) -> None:
    task = asked(64)
    store = ReportStore(tmp_path / "reports.bin", task)
    reception = ReportReceiver(task, store)
    sent = task.randomize(0.3, person="anna") + task.report_format.encode_report(task.hash_name("bert"), b"\x02")
    assert json.loads(reception.receive_reports(sent)) == {"new": 1, "known": 0, "refused": 1}
    store.close()
    collection = Collection(task)
    collection.add_file(tmp_path / "reports.bin")
    assert (collection.reports, collection.refused) == (1, 0)


def test_that_a_name_was_drawn_changes_no_public_coin() -> None:
    """All levels and the indices of the longest response are as they were, of names with and without the mark."""
    coins = PublicCoinResponses(asked(64).plan)
    names = np.random.default_rng(4).integers(0, 256, (5000, PSEUDONYM_SIZE), dtype=np.uint8)
    levels, numbers = coins._derive_coins(names)
    assert set(levels.tolist()) == set(range(len(coins.plan.distribution.require_type(AggregatedReports).levels)))
    for drawn in (False, True):
        told = set_drawn_bit(names, drawn)
        assert has_drawn_names(told) is drawn
        assert np.array_equal(coins._derive_coins(told)[0], levels)
        assert np.array_equal(coins._derive_coins(told)[1] % MOST_ANSWERS, numbers % MOST_ANSWERS)


def test_a_server_refuses_who_reported_in_the_first_round(tmp_path: Path) -> None:
    task = asked()
    first = Collection(task)
    first.add(task.randomize(0.3, person="Anna"))
    second = publish(first, FirstClass.NEGATIVES, people=3)
    store = ReportStore(tmp_path / "reports.bin", second)
    reception = ReportReceiver(second, store)
    repeat = second.report_format.encode_report(
        second.hash_name("anna"), second.randomize_slots(named([1]), np.array([3]), Randomness.from_system())[0]
    )
    with pytest.raises(
        ProtocolError, match="1 are of people who reported in the first round, and each person reports once"
    ):
        reception.receive_reports(repeat)
    mixed = reception.receive_reports(repeat + second.randomize(0.3, person="bert"))
    assert json.loads(mixed) == {"new": 1, "known": 0, "refused": 1}
    store.close()
    collection = Collection(second)
    collection.add_file(tmp_path / "reports.bin")
    assert (collection.reports, collection.met) == (1, 1)
    area = collection.curve()
    assert not area.repeats_refused
    assert area.privacy.epsilon == float(area.loss_in_both_rounds.epsilon) > float(area.loss_in_one_round.epsilon)


def test_public_coins_are_said_in_public() -> None:
    task = asked(64)
    own = Task(task.question, task.loss, task.people)
    assert Task.from_json(task.to_json()) == task
    assert task.hash != own.hash
    assert "coins" not in own.to_json()
    assert "by public coins" in task.plan.made_by
    assert {level.randomiser for level in task.plan.distribution.require_type(AggregatedReports).levels} == {"hadamard"}
    with pytest.raises(ValueError, match=r"\Acoins: must be one of private, public, got 'mine'\Z"):
        Task.from_json(task.to_json().replace('"public"', '"mine"'))
    with pytest.raises(ValueError, match=r"\Acoin: there is no such field; use one of "):
        Task.from_json(task.to_json().replace('"coins"', '"coin"'))
    with pytest.raises(TypeError, match="coins"):
        Task(task.question, task.loss, 10, coins="public")  # type: ignore[arg-type]
    rho = Task(task.question, dp.PrivacyLoss.zcdp("0.5"), 10_000, coins=Coins.PUBLIC)
    assert not rho.plan.distribution.require_type(AggregatedReports).about_all
