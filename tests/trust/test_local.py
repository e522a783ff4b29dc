"""The local model: what one message tells, what is added up, and what is left out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.data import Axis, Categories, Grid
from dpcurves.ledger import QuestionBudget
from dpcurves.noise import Randomness
from dpcurves.noise.exponential import bound_exp_neg
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne, Unit
from dpcurves.queries import CountQuery, CountUse, SumQuery
from dpcurves.session import plan_question
from dpcurves_local.aggregated_reports import AggregatedReports
from dpcurves_local.trust import (
    Local,
    Person,
    ReportAggregator,
    adjust_plan,
    build_all_levels_tree,
    build_randomisers,
    collect,
    convert_to_epsilon,
    count_message_octets,
    find_answers,
    find_randomisers,
    make_message,
    make_messages,
)
from dpcurves_parties.shares.function_shares import FunctionShares

LOSSES = (PrivacyLoss.pure(1), PrivacyLoss.pure("0.3"), PrivacyLoss.pure(2), PrivacyLoss.zcdp("0.5"))


def planned(cells: int, loss: PrivacyLoss, people: int, rows: int = 1, read: CountUse = CountUse.PREFIXES) -> Plan:
    axes = (Axis("x", Grid(0, 1, cells=cells)),)
    classes = (Categories("y", tuple(range(rows))),) if rows > 1 else ()
    return Local().plan_query(CountQuery((*classes, *axes), read), loss, ReplaceOne(EACH_RECORD, people))


def chances(plan: Plan, slot: int) -> dict[bytes, Fraction]:
    """Every message that a person with this value may send: levels and reports are enumerated."""
    distribution, found = plan.distribution.require_type(AggregatedReports), {}
    for number, (level, way) in enumerate(
        zip(distribution.levels, build_randomisers(distribution, convert_to_epsilon(plan.loss)), strict=True)
    ):
        (answer,) = find_answers(distribution, number, np.array([slot])).tolist()
        for report in way.list_reports():
            message = bytes([number]) + report.ljust(count_message_octets(plan) - 1, b"\0")
            found[message] = Fraction(level.reports, distribution.people) * way.find_probability(answer, report)
    return found


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_whole_message_tells_at_most_epsilon_of_a_value(loss: PrivacyLoss) -> None:
    seen = set()
    tables_asked = (2, 1, 3), (5, 1, 1000), (9, 1, 1000), (3, 2, 50), (5, 2, 1000)
    for (cells, rows, people), read in product(tables_asked, (CountUse.PREFIXES, CountUse.AREA)):
        plan = planned(cells, loss, people, rows, read)
        if plan.distribution.require_type(AggregatedReports).about_all:  # enumerated apart, below
            continue
        epsilon = convert_to_epsilon(plan.loss)
        assert epsilon**2 / 2 <= loss.rho
        below = Fraction(bound_exp_neg(epsilon, 512)[1], 2**512)
        slots = range(rows * cells + 1)
        tables = [chances(plan, slot) for slot in slots]
        assert {frozenset(table) for table in tables} == {frozenset(tables[0])}
        assert {sum(table.values()) for table in tables} == {1}
        for message in tables[0]:
            row = [table[message] for table in tables]
            assert max(row) * below <= min(row)
        received = np.frombuffer(b"".join(tables[0]), dtype=np.uint8).reshape(-1, count_message_octets(plan))
        assert ReportAggregator(plan).mark_valid_messages(received).all()
        seen.add(len(plan.distribution.require_type(AggregatedReports).levels))
    assert len(seen) > 1, "trees of several levels are among them"


def test_messages_are_drawn_by_their_chances() -> None:
    """Chi-squared over all messages: by chance it is as high once in 16,000 runs; the seed is fixed."""
    from scipy.stats import chisquare

    plan, draws = planned(8, PrivacyLoss.pure(1), 1000), 30_000
    for slot in (0, 5, 8):
        expected = chances(plan, slot)
        drawn = make_messages(plan, np.full(draws, slot), Randomness.from_seed(slot))
        rows, seen = np.unique(drawn, axis=0, return_counts=True)
        counted = {row.tobytes(): int(many) for row, many in zip(rows, seen, strict=True)}
        assert set(counted) <= set(expected)
        observed = [counted.get(message, 0) for message in expected]
        assert chisquare(observed, [float(chance) * draws for chance in expected.values()]).pvalue > 6e-5


def test_one_message_is_what_many_are_made_of() -> None:
    plan = planned(64, PrivacyLoss.pure(2), 10_000)
    alone = [make_message(plan, slot, Randomness.from_seed(slot)) for slot in (0, 3, 64)]
    together = [make_messages(plan, np.array([slot]), Randomness.from_seed(slot)).tobytes() for slot in (0, 3, 64)]
    assert alone == together
    assert {len(message) for message in alone} == {count_message_octets(plan)}


def test_what_is_no_message_is_counted_and_left_out() -> None:
    plan = planned(16, PrivacyLoss.pure(1), 1000)
    good = make_messages(plan, np.arange(17).repeat(20), Randomness.from_seed(1))
    chance, tables, clean = np.random.default_rng(1), ReportAggregator(plan), ReportAggregator(plan)
    noise = chance.integers(0, 256, (5000, count_message_octets(plan)), dtype=np.uint8)
    bad = noise[~tables.mark_valid_messages(noise)]
    assert len(bad) > 2500
    tables.add_messages(np.concatenate([good, bad])[chance.permutation(len(good) + len(bad))])
    clean.add_messages(good)
    assert (tables.refused, clean.refused) == (len(bad), 0)
    allotment = QuestionBudget.from_external_charge("task", plan.loss).pay(plan.query, Fraction(1))
    release = tables.release(allotment, seeded=True)
    assert release == clean.release(allotment, seeded=True)
    assert release.plan.adjacency == ReplaceOne(EACH_RECORD, len(good))
    with pytest.raises(InvalidArgument, match="payment"):
        tables.release(
            QuestionBudget.from_external_charge("task", PrivacyLoss.pure(2)).pay("x", Fraction(1)), seeded=True
        )
    with pytest.raises(InvalidArgument, match="reports"):
        ReportAggregator(plan).release(allotment, seeded=True)


def test_people_in_one_room_answer_the_plan() -> None:
    plan = planned(4, PrivacyLoss.pure(6), 3000)
    people = [Person(slot) for slot in (0, 0, 1, 3, 4, 4) for _ in range(500)]
    allotment = QuestionBudget.from_external_charge("task", plan.loss).pay(plan.query, Fraction(1))
    release = Local().run(plan, people, allotment, Randomness.from_seed(4))
    distribution = release.plan.distribution.require_type(AggregatedReports)
    cells, missing = distribution.reconstruct(np.array(release.values, dtype=np.float64), None)
    off = np.append(cells[0], missing) - [1000, 500, 0, 500, 1000]
    assert np.abs(off).max() < 6 * plan.error + 100
    assert cells.sum() + missing == pytest.approx(3000)
    assert adjust_plan(plan, [level.reports for level in distribution.levels]) == release.plan
    assert "object" in repr(people[0])


@pytest.mark.parametrize(
    ("query", "adjacency", "named"),
    [
        (SumQuery((Axis("x", Grid(0, 1, cells=4)),), half=8), ReplaceOne(EACH_RECORD, 9), "question"),
        (CountQuery((Axis("x", Grid(0, 1, cells=4)),), CountUse.CELLS), AddRemove(EACH_RECORD), "adjacency"),
        (CountQuery((Axis("x", Grid(0, 1, cells=4)),), CountUse.CELLS), ReplaceOne(Unit("p", 2), 9), "adjacency"),
        (CountQuery((Axis("x", Grid(0, 1, cells=2**21)),), CountUse.CELLS), ReplaceOne(EACH_RECORD, 9), "grid"),
    ],
    ids=["sums", "private number", "several records", "too many cells"],
)
def test_what_people_can_not_answer_is_refused(query: object, adjacency: object, named: str) -> None:
    with pytest.raises(UnsupportedQuery, match=f"^{named}: "):
        Local().plan_query(query, PrivacyLoss.pure(1), adjacency)  # type: ignore[arg-type]


def test_a_value_that_is_nowhere_is_refused_without_showing_it() -> None:
    plan = planned(4, PrivacyLoss.pure(1), 10)
    for slot in (-1, 5):
        with pytest.raises(InvalidArgument, match="^value: must lie in a cell of the task's grid, or be missing: "):
            make_message(plan, slot, Randomness.from_seed(1))


def test_every_question_that_asks_once_is_planned_and_others_are_refused_before_anything_is_sent() -> None:
    grid, adjacency = Grid(0, 1, cells=32), dp.REPLACE_ONE.to_adjacency(EACH_RECORD, units=10_000)
    for question in (
        dp.CdfQuestion("x", grid),
        dp.HistogramQuestion("x", grid),
        dp.RocQuestion("y", "x", grid),
        dp.CalibrationQuestion("y", "x", grid=grid),
    ):
        (plan,) = plan_question(question, PrivacyLoss.pure(1), adjacency, dp.Local())
        assert plan.error > 0
        assert plan.made_by.startswith("each person at home: ")
    with pytest.raises(UnsupportedQuery):
        plan_question(dp.SummaryQuestion("x", 0, 1), PrivacyLoss.pure(1), adjacency, dp.Local())


@pytest.mark.parametrize(("trust", "instead"), [(dp.Local(), "dp.local.Task"), (FunctionShares(), "task create")])
def test_a_session_refuses_who_sees_no_records_and_says_what_to_use(trust: Any, instead: str) -> None:
    """Before the account is made, or a table opened: there is none of this name."""
    with pytest.raises(UnsupportedQuery, match=f"^trust: a session has one curator.* {instead}"):
        dp.Session("nowhere.csv", budget=PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE, trust=trust)


def test_a_level_that_nobody_reported_about_and_one_report_alone_are_read() -> None:
    """Errors that are simulated are numbers, are not all 0, and leave the number of people as it is known."""
    plan = planned(64, PrivacyLoss.pure(4), 300)
    levels = len(plan.distribution.require_type(AggregatedReports).levels)
    assert levels > 1
    for reports in ([0] * (levels - 1) + [7], [9] + [0] * (levels - 1), [1] + [0] * (levels - 1), [1] * levels):
        distribution = adjust_plan(plan, reports).distribution.require_type(AggregatedReports)
        known = distribution.condition_on(distribution.blank_values())
        (errors, missing), *_ = known.simulate(None, 50, np.random.default_rng(1))
        assert np.isfinite(errors).all()
        assert np.allclose(errors.sum(axis=(1, 2)) + missing, 0)
        assert errors.std() > 0
    with pytest.raises(InvalidArgument, match="reports"):
        adjust_plan(plan, [0] * levels)


def test_where_few_reports_are_false_their_number_is_drawn_and_not_a_normal_one() -> None:
    """300 people at epsilon 10: no report is false in some releases, and errors are whole people there: exactly 0."""
    distribution = planned(64, PrivacyLoss.pure(10), 300).distribution.require_type(AggregatedReports)
    assert len(distribution.levels) == 1
    ((errors, _),) = distribution.simulate(None, 4000, np.random.default_rng(1))
    kept = float(distribution.levels[0].gain)
    exact = float(np.mean(np.abs(errors[:, 0]).max(axis=1) < 0.5))
    true_kept = (kept + (1 - kept) / 65) ** 300
    assert abs(exact - true_kept) < 4 * np.sqrt(true_kept * (1 - true_kept) / 4000)


def all_reported(plan: Plan, slot: int) -> dict[bytes, Fraction]:
    """Every message of a person who reports about all levels: all products of reports are enumerated."""
    distribution = plan.distribution.require_type(AggregatedReports)
    found = {b"": Fraction(1)}
    for number, way in enumerate(find_randomisers(distribution, plan.loss)):
        (answer,) = find_answers(distribution, number, np.array([slot])).tolist()
        each = {report: way.find_probability(answer, report) for report in way.list_reports()}
        found = {told + report: part * chance for told, part in found.items() for report, chance in each.items()}
    return found


def about_all(cells: int, widths: tuple[int, ...], loss: PrivacyLoss, people: int = 1000, rows: int = 1) -> Plan:
    """A plan in which each person reports about all levels, whether or not it is the best one."""
    plan = planned(cells, loss, people, rows)
    return replace(plan, distribution=build_all_levels_tree(rows, cells, widths, loss, people))


@pytest.mark.parametrize(
    ("rows", "cells", "widths"), [(1, 4, (2, 1)), (1, 6, (3, 1)), (1, 5, (4, 2, 1)), (2, 3, (2, 1)), (3, 2, (2, 1))]
)
@pytest.mark.parametrize("loss", [*LOSSES, PrivacyLoss.pure(12), PrivacyLoss.zcdp(9)], ids=str)
def test_a_message_about_all_levels_loses_no_more_than_one_about_one(
    rows: int, cells: int, widths: tuple[int, ...], loss: PrivacyLoss
) -> None:
    """Purely in exact arithmetic; of zero-concentrated losses each Renyi divergence, from order 1.001 to 512."""
    plan = about_all(cells, widths, loss, rows=rows)
    tables = [all_reported(plan, slot) for slot in range(rows * cells + 1)]
    assert {sum(table.values()) for table in tables} == {1}
    assert {len(message) for table in tables for message in table} == {count_message_octets(plan)}
    if loss.epsilon is not None:
        below = Fraction(bound_exp_neg(loss.epsilon, 512)[1], 2**512)
        for message in tables[0]:
            row = [table[message] for table in tables]
            assert max(row) * below <= min(row)
    logs = np.log(np.array([[float(chance) for chance in table.values()] for table in tables]))
    for order in (1.001, 1.1, 1.5, 2, 4, 16, 64, 512):
        terms = order * logs[:, None] + (1 - order) * logs[None]
        assert logsumexp(terms, axis=-1).max() / (order - 1) <= float(loss.rho) * order + 1e-9


def test_messages_about_all_levels_are_counted_without_bias_and_with_the_variance_of_the_plan() -> None:
    """Within 4 standard deviations of means, and of variances over 600 releases; the seeds are fixed."""
    plan = about_all(16, (4, 1), PrivacyLoss.zcdp("0.5"), people=400)
    slots = np.repeat(np.arange(16), 25)
    budget = QuestionBudget.from_external_charge("test", plan.loss).pay("it", Fraction(1))
    found = []
    for seed in range(600):
        sent = make_messages(plan, slots, Randomness.from_seed(seed))
        assert seed or ReportAggregator(plan).mark_valid_messages(sent).all()
        release = collect(plan, [sent], budget, seeded=True)
        distribution = release.plan.distribution.require_type(AggregatedReports)
        assert (distribution.people, distribution.about_all) == (400, True)
        found.append(np.cumsum(distribution.reconstruct(np.asarray(release.values, dtype=np.float64), None)[0][0])[:-1])
    off = np.array(found) - 25 * np.arange(1, 16)
    planned_variance = distribution.prefix_variances(total_is_public=True)[0][1:-1]
    assert np.all(np.abs(off.mean(axis=0)) < 4 * np.sqrt(planned_variance / 600))
    assert abs(float(off.var(axis=0).mean() / planned_variance.mean()) - 1) < 4 * np.sqrt(2 / 600)
    simulated = np.concatenate([cells for cells, _ in distribution.simulate(None, 3000, np.random.default_rng(1))])
    spread = np.cumsum(simulated[:, 0], axis=-1)[:, :-1].var(axis=0).mean()
    assert abs(float(spread / planned_variance.mean()) - 1) < 4 * np.sqrt(2 / 600)
    stored = distribution.to_json(release.values, 400)
    assert AggregatedReports.from_json(stored) == replace(distribution, shares=None)
    damaged = sent.copy()
    damaged[:, 0] = 255
    assert not ReportAggregator(plan).mark_valid_messages(damaged).any()


def test_each_person_reports_about_all_levels_where_that_errs_less() -> None:
    together = planned(1024, PrivacyLoss.zcdp("0.5"), 10_000)
    assert together.distribution.require_type(AggregatedReports).about_all
    assert "all by each person" in together.made_by
    for epsilon in (1, Fraction(1, 2**20)):
        assert (
            not planned(1024, PrivacyLoss.pure(epsilon), 10_000).distribution.require_type(AggregatedReports).about_all
        )
