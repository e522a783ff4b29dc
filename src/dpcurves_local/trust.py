"""Local differential privacy as a trust model: each person randomises the own answer; no other party sees a record.

Counts are estimated along a tree. Each of its levels divides the grid of cells into intervals, from coarse to fine. A
person is asked for the interval of one level in which the own value lies, and sends a randomised answer (a report).

    plan_reports        chooses the levels, how many people report about each, and their randomisers, from public facts
    Local               the trust model of a session, which plans and answers queries in this way
    make_message        the message of one person; SECRET
    ReportAggregator    adds up the reports of people, level by level

Formal guarantees: the level does not depend on the value, and the report about it is randomised. So the whole message
of a person has at most the privacy loss of the plan, against every observer (proof at `plan_reports`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import isqrt, prod, sqrt
from typing import ClassVar, NamedTuple

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import BoolArray, IntArray
from dpcurves.conversation import Plan, Release, Setting, Strategy, UnsupportedQuery, Workload
from dpcurves.ledger import Allotment
from dpcurves.noise.exponential import LEAST_EPSILON
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountQuery, CountUse, Query
from dpcurves.strategies import ONE_ROUND_STRATEGIES, choose_strategy
from dpcurves.trust.base import Answer, require_charged
from dpcurves_local.aggregated_reports import LevelReports

from .aggregated_reports import AggregatedReports
from .responses import RANDOMISERS, HadamardResponse, Randomiser, choose_randomiser, make_randomiser
from .responses.bernoulli_sampler import sample_uniform
from .responses.randomiser import LONGEST_REPORT, Reports, make_contiguous, mark_zero_tails

MOST_CELLS = 2**20
"""Largest number of cells of all categories together, so that the tables of one level stay below some megabytes; more
are refused."""
_MOST_LEVELS = {CountUse.CELLS: 10, CountUse.PREFIXES: 10, CountUse.AREA: 20}
"""Largest number of levels of a tree of intervals that is tried, by use of the counts. The mean of a curve (`AREA`)
depends mostly on coarse intervals, so more levels, the finer with few people, can help."""
_LEVEL_RATIOS = {
    CountUse.CELLS: (Fraction(1, 2), Fraction(1), Fraction(2)),
    CountUse.PREFIXES: (Fraction(1, 2), Fraction(1), Fraction(2)),
    CountUse.AREA: (Fraction(1, 2), Fraction(5, 8), Fraction(3, 4), Fraction(7, 8), Fraction(1)),
}
"""Candidates for the ratio of the numbers of people of a level and of the level above it, by use of the counts; the one
with the smallest predicted error is taken."""
_EPSILON_PARTS = 2**40
"""Denominator to which epsilon is rounded down if the loss is a rho, so that it is an exact fraction: 2**-40 costs no
accuracy."""


class Coins(StrEnum):
    """Who draws the random bits that do not depend on the value: the level, and the index of a Hadamard response.

    `PRIVATE`: the person draws and sends them. `PUBLIC`: they follow from the person's pseudonym, so that a report is a
    single bit.
    """

    PRIVATE = "private"
    PUBLIC = "public"


def plan_reports(query: Query, loss: PrivacyLoss, adjacency: Adjacency, coins: Coins = Coins.PRIVATE) -> Plan:
    """Plan the levels, their numbers of people and randomisers with the least predicted error.

    Formal guarantees: each person sends one report about one level, drawn independently of the value. For every level
    the report comes from a randomiser that loses at most epsilon; so the person's whole message loses at most epsilon
    to every observer, where neighbours differ in one person's value. The number of people is public. Under
    zero-concentrated privacy, ``epsilon**2 / 2`` is at most rho (Bun and Steinke 2016, Proposition 1.4).

    Alternatively each person reports about all L levels, with independent noise: a report then loses epsilon / L, or
    rho / L, and these add up (*ibid.*, Lemma 1.7). Under pure privacy this has a larger error unless epsilon is large;
    under zero-concentrated privacy a smaller one, because no level is a sample. The predicted error decides. (Advanced
    composition would have an epsilon that holds with probability 1 - delta, which tasks do not offer.)

    With public coins people report about one level each, by Hadamard responses. A bit loses epsilon for every level and
    index, even if an adversary knew or chose them.

    Args:
        query: Counts of cells.
        loss: Privacy loss of each person: epsilon or rho.
        adjacency: Replace-one, with the public number of people.
        coins: Private: each person draws level and index; public: a pseudonym determines them.

    Returns:
        The plan. Its error is the predicted standard deviation, in records.

    Raises:
        UnsupportedQuery: the query is not for counts of cells, or for more than 2**20 of them; or the number of people
            is private, or a person has several records.
    """
    counts = query.as_kind(CountQuery)
    if counts is None:
        raise UnsupportedQuery(
            "question",
            f"people who report cells of a grid cannot answer {type(query).__name__}; ask for a "
            "curve that is computed from counts",
        )
    if not isinstance(adjacency, ReplaceOne) or adjacency.unit.records != 1:
        raise UnsupportedQuery(
            "adjacency",
            "must be replace-one with one value of each person, because the number of people is public; take "
            "adjacency=dp.REPLACE_ONE, and ask each person for one value",
        )
    if prod(query.shape) > MOST_CELLS:
        raise UnsupportedQuery(
            "grid", f"must have at most {MOST_CELLS} cells, got {prod(query.shape)}; take a coarser grid"
        )

    # All choices are made from public facts, so each device makes the same ones.
    distribution = _choose_distribution(query.rows, query.cells, counts.use, loss, adjacency.units, coins)
    randomiser_names = ", ".join(dict.fromkeys(level.randomiser for level in distribution.levels))
    levels = f"{len(distribution.levels)} levels" if len(distribution.levels) > 1 else "one level"
    if distribution.about_all:
        levels += ", all by each person"
    if coins is Coins.PUBLIC:
        levels += ", by public coins"
    mechanism = f"{randomiser_names} responses about {levels}"
    return Plan(query, loss, adjacency, mechanism, distribution, sqrt(_predict_error(distribution, counts.use)))


def convert_to_epsilon(loss: PrivacyLoss) -> Fraction:
    """Return the epsilon that one report may lose under a loss.

    It is the loss's epsilon; for a rho it is ``sqrt(2 rho)``, rounded down to a multiple of 2**-40.

    Args:
        loss: Privacy loss in epsilon or rho.
    """
    if loss.epsilon is not None:
        return loss.epsilon
    doubled = 2 * loss.rho * _EPSILON_PARTS**2
    return Fraction(isqrt(doubled.numerator // doubled.denominator), _EPSILON_PARTS)


@lru_cache(maxsize=64)  # a pure function of public facts
def build_randomisers(distribution: AggregatedReports, epsilon: Fraction) -> tuple[Randomiser, ...]:
    """Return the randomiser of each level; its last answer is "missing".

    Args:
        distribution: Distribution of the reports, with its levels of intervals.
        epsilon: Privacy loss of each randomiser.

    Returns:
        One randomiser for each level, in order.
    """
    return tuple(
        make_randomiser(level.randomiser, distribution.rows * len(level.starts) + 1, epsilon)
        for level in distribution.levels
    )


def find_randomisers(distribution: AggregatedReports, loss: PrivacyLoss) -> tuple[Randomiser, ...]:
    """Return the randomiser by which people report about each level, under this loss of a person.

    Args:
        distribution: Distribution of the reports, with its levels of intervals.
        loss: Privacy loss of a person; shared equally between the levels if each person reports about all.

    Returns:
        One randomiser for each level, in order.
    """
    return build_randomisers(
        distribution,
        convert_to_epsilon(loss * Fraction(1, len(distribution.levels)) if distribution.about_all else loss),
    )


@lru_cache(maxsize=64)  # a pure function of public facts
def _choose_distribution(  # noqa: PLR0917
    rows: int, cells: int, use: CountUse, loss: PrivacyLoss, people: int, coins: Coins
) -> AggregatedReports:
    """Return the levels, their numbers of people and randomisers with the least predicted error, from public facts.

    Args:
        rows: Rows of the table, such as classes.
        cells: Cells of a row.
        use: What the counts are for, which defines the error.
        loss: Privacy loss of a person.
        people: Number of people.
        coins: Whether coins are public or private.
    """
    trees = sorted({_compute_widths(cells, levels) for levels in range(1, _MOST_LEVELS[use] + 1)}, key=len)
    table = _LevelTable(rows, cells, people, convert_to_epsilon(loss), _RANDOMISERS_BY_COINS[coins])
    split = []
    for widths in trees:
        if len(widths) <= people:
            ratios = _LEVEL_RATIOS[use] if len(widths) > 1 else _LEVEL_RATIOS[use][:1]
            split += [_build_tree(table, widths, ratio) for ratio in ratios]
    together = [
        build_all_levels_tree(rows, cells, widths, loss, people)
        for widths in trees
        if coins is Coins.PRIVATE
        and len(widths) > 1
        and convert_to_epsilon(loss * Fraction(1, len(widths))) >= LEAST_EPSILON
    ]
    return min([*split, *together], key=lambda distribution: _predict_error(distribution, use))


_RANDOMISERS_BY_COINS: dict[Coins, tuple[type[Randomiser], ...]] = {
    Coins.PRIVATE: RANDOMISERS,
    Coins.PUBLIC: (HadamardResponse,),
}
"""Randomisers that are considered, by the source of randomness: with public coins, the Hadamard response alone."""


class _LevelTable(NamedTuple):
    """The table of one level that people report about.

    Attributes:
        rows: Number of cells of all axes but the last.
        cells: Number of cells of the last axis.
        people: Number of people who report.
        epsilon: Privacy loss of one report.
        randomisers: Randomisers to choose from.
    """

    rows: int
    cells: int
    people: int
    epsilon: Fraction
    randomisers: tuple[type[Randomiser], ...]


def _compute_widths(cells: int, levels: int) -> tuple[int, ...]:
    """Return the number of cells in an interval of each level of a tree, from coarse to fine: powers of one number.

    Args:
        cells: Number of cells of the axis.
        levels: Number of levels that are wanted; fewer are returned if there are too few cells.
    """
    fan = next(fan for fan in range(2, cells + 2) if fan**levels >= cells)
    return tuple(fan**power for power in reversed(range(levels)) if fan**power < cells or power == 0)


def _build_tree(table: _LevelTable, widths: tuple[int, ...], tilt: Fraction) -> AggregatedReports:
    """Return the distribution of a tree with intervals of these widths, if each person reports about one level.

    Args:
        table: Cells, people and loss.
        widths: Cells in an interval of each level, from coarse to fine.
        tilt: Ratio in which people are divided among successive levels.
    """
    reports = _split_people(table.people, len(widths), tilt)
    levels = (_build_level(table, width, count) for width, count in zip(widths, reports, strict=True))
    return AggregatedReports(table.rows, table.cells, tuple(levels))


def _build_level(table: _LevelTable, width: int, reports: int, max_octets: int = LONGEST_REPORT) -> LevelReports:
    """Return one level of a tree with the randomiser of least error whose reports are short enough.

    Args:
        table: Sizes of the table, and the loss of a report.
        width: Cells of an interval.
        reports: Number of reports about the level.
        max_octets: Longest report that is allowed, in bytes.
    """
    starts = range(0, table.cells, width)
    randomiser = choose_randomiser(table.rows * len(starts) + 1, table.epsilon, max_octets, table.randomisers)
    return LevelReports(starts, reports, randomiser.NAME, *randomiser.support)


def build_all_levels_tree(
    rows: int, cells: int, widths: tuple[int, ...], loss: PrivacyLoss, people: int
) -> AggregatedReports:
    """Return the tree in which each person reports about all levels, with an equal share of the loss for each.

    Args:
        rows: Rows of the table, one for each category.
        cells: Cells of each row.
        widths: Cells of an interval of each level.
        loss: Loss of all reports of a person together.
        people: Number of people.
    """
    # 4: bytes of the longest index of a Hadamard response, so that some randomiser is always this short
    epsilon = convert_to_epsilon(loss * Fraction(1, len(widths)))
    longest = max(LONGEST_REPORT // len(widths), 4)
    table = _LevelTable(rows, cells, people, epsilon, RANDOMISERS)
    levels = (_build_level(table, width, people, longest) for width in widths)
    return AggregatedReports(rows, cells, tuple(levels), about_all=True)


def _split_people(people: int, levels: int, tilt: Fraction) -> list[int]:
    """Return the number of people who report about each level, at least one.

    Args:
        people: Number of people, at least `levels`.
        levels: Number of levels.
        tilt: Ratio of the numbers of people of neighbouring levels.
    """
    weights = [tilt**level for level in range(levels)]
    ends = [round((people - levels) * sum(weights[:level], Fraction(0)) / sum(weights)) for level in range(levels + 1)]
    return [1 + after - before for before, after in pairwise(ends)]


def _predict_error(distribution: AggregatedReports, use: CountUse) -> float:
    """Return the predicted variance of the counts that matter for `use`, by which levels and randomisers are chosen.

    It is the mean variance of prefix counts, the variance of their mean, or the variance of a cell's count.

    Args:
        distribution: Planned distribution of the reports.
        use: The counts that matter: a mean of prefixes (an area), prefixes, or cells.

    Returns:
        The variance, in squared people.
    """
    if use is CountUse.AREA:
        return distribution.area_variance()
    if use is CountUse.PREFIXES:
        return distribution.mean_prefix_variance(total_is_public=True)
    return distribution.nested_distribution.levels[-1].noise.variance


# SECRET. The data holder of the local model: one person with one value.
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Person:
    """A person in the local model, who trusts no other party. It has no repr.

    Attributes:
        slot: Cell of the table in which the person's value lies, in row-major order; the number of cells if missing.
    """

    slot: int


MOST_PEOPLE = 2**31
"""People: the largest number of people of a task that reports are planned for; more are refused."""


@dataclass(frozen=True, slots=True)
class Local:
    """The local model: each person sends one randomised report, and the aggregator need not be trusted.

    Formal guarantees: `make_message` is a function of one person's value and that person's randomness alone, and its
    result loses at most ``plan.loss`` to every observer, for any behaviour and knowledge of other parties. `collect`
    sees reports alone. *Assumptions*: each person sends one report; the sender of a report is not hidden, and nothing
    is shuffled. A false report can shift a count by at most the weight of one report.

    Attributes:
        target: Quantity computed from the cumulative counts of a question; None: the counts themselves. It affects
            which levels people report about, and how many report about each, but not the loss of a report.
        coins: Source of the random bits that do not depend on the value: the person, or public.
        INSTEAD: Advice to a caller whose session would open all records.
    """

    INSTEAD: ClassVar[str] = "people answer a dp.local.Task, one report each, and dp.local.aggregate reads the curve"

    target: CountUse | None = None
    coins: Coins = Coins.PRIVATE

    @property
    def holders(self) -> tuple[type, ...]:
        """The types of data holders in this trust model: people, each with one record."""
        return (Person,)

    def plan(self, workload: Workload[Answer], loss: PrivacyLoss, adjacency: Adjacency) -> Strategy[Answer]:
        """Return the strategy that answers a workload by one report of each person, on a public grid.

        A person reports once, so later queries cannot depend on earlier answers (no adaptive refinement).

        Args:
            workload: The counts that will be read.
            loss: Privacy loss of each person.
            adjacency: The adjacency relation, with the public number of people.
        """
        return choose_strategy(ONE_ROUND_STRATEGIES, workload, Setting(loss, adjacency))

    def plan_query(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return the plan of the people's randomised reports to a query.

        Args:
            query: Counts of public cells.
            loss: Privacy loss of each person.
            adjacency: The adjacency relation, with the public number of people.

        Raises:
            UnsupportedQuery: reports cannot answer the query, or there are too many people.
        """
        plan = plan_reports(self._apply_target(query), loss, adjacency, self.coins)
        if plan.distribution.require_type(AggregatedReports).people > MOST_PEOPLE:
            raise UnsupportedQuery("people", f"must be at most {MOST_PEOPLE} people; divide them among several tasks")
        return replace(plan, made_by=f"each person at home: {plan.made_by}")

    def _apply_target(self, query: Query) -> Query:
        """Return the query, with its noise planned for what the target states, such as the area under the curve.

        Args:
            query: Query of the question.

        Raises:
            UnsupportedQuery: there is a target, and the question asks for no curve.
        """
        if self.target is None:
            return query
        counts = query.as_kind(CountQuery)
        if counts is None or counts.use is not CountUse.PREFIXES:
            raise UnsupportedQuery(
                "target",
                f"{self.target.value} is computed from a curve, and the question asks for none; leave the target out",
            )
        return replace(counts, use=self.target)

    def run(self, plan: Plan, holders: Sequence[Person], allotment: Allotment, randomness: Randomness) -> Release:
        """Run all people at once in one process, for simulations.

        Args:
            plan: Plan of all reports.
            holders: The people, with one record each. SECRET.
            allotment: Proof that the loss of the plan was charged.
            randomness: Source of the noise of all people.
        """
        slots = np.array([person.slot for person in holders], dtype=np.int64)
        return collect(plan, [make_messages(plan, slots, randomness)], allotment, seeded=randomness.is_seeded)


def make_message(plan: Plan, slot: int, randomness: Randomness) -> bytes:
    """Return the message of a person: a random level's number and a randomised report about it, padded with zeros.

    If each person reports about all levels, the message is the concatenation of these reports.

    Args:
        plan: Plan of all reports.
        slot: SECRET. See `Person`.
        randomness: Source of the noise.

    Raises:
        ValueError: `slot` is not a slot of the table.
    """
    return make_messages(plan, np.array([slot], dtype=np.int64), randomness).tobytes()


def make_messages(plan: Plan, slots: IntArray, randomness: Randomness) -> Reports:
    """SECRET: return the messages of many people, as if each person had drawn one, (people, octets).

    Args:
        plan: Plan of the reports.
        slots: SECRET. Index of the cell or category (slot) of each person's value, (people,); the number of slots if it
            is missing.
        randomness: Source of the random bits.

    Returns:
        One row of bytes per person: the level, then the randomised report.

    Raises:
        ValueError: a number is not a slot of the table.
    """
    distribution = plan.distribution.require_type(AggregatedReports)
    if slots.size and not 0 <= slots.min() <= slots.max() <= distribution.rows * distribution.cells:
        raise InvalidArgument("value", "must lie in a cell of the task's grid, or be missing: correct the value")
    if distribution.about_all:
        level_messages = [
            randomiser.draw(find_answers(distribution, number, slots), randomness)
            for number, randomiser in enumerate(_find_plan_randomisers(plan))
        ]
        return np.concatenate(level_messages, axis=1)
    ends = np.cumsum([level.reports for level in distribution.levels])
    levels = np.searchsorted(ends, sample_uniform(distribution.people, len(slots), randomness), side="right")
    messages = np.zeros((len(slots), count_message_octets(plan)), dtype=np.uint8)
    messages[:, 0] = levels
    for number, randomiser in enumerate(_find_plan_randomisers(plan)):
        rows = np.flatnonzero(levels == number)
        messages[rows, 1 : 1 + randomiser.octets] = randomiser.draw(
            find_answers(distribution, number, slots[rows]), randomness
        )
    return messages


def count_message_octets(plan: Plan) -> int:
    """Return the length of a message in bytes, equal for all messages.

    Args:
        plan: Plan of the local model.

    Returns:
        The length. A message about one level begins with a byte for the level; a message about all levels holds a
        report for each.
    """
    lengths = [randomiser.octets for randomiser in _find_plan_randomisers(plan)]
    return sum(lengths) if plan.distribution.require_type(AggregatedReports).about_all else 1 + max(lengths)


class LevelBatch(NamedTuple):
    """The reports about one level of the tree, and their rows.

    Attributes:
        rows: Rows of the messages.
        reports: The reports, (reports, octets).
        has_zero_padding: Whether each message has only zeros behind its report.
    """

    rows: IntArray | slice
    reports: Reports
    has_zero_padding: BoolArray | np.bool_


class ReportAggregator:
    """Tallies to which messages are added, and the only state kept of the messages.

    Attributes:
        refused: Number of invalid messages.
        reports: Number of reports about each level.
    """

    def __init__(self, plan: Plan) -> None:
        """Begin tallies of reports at 0: for each level, how many reports support each answer.

        Args:
            plan: Plan of the reports, with levels and randomisers.
        """
        self._plan = plan
        self._ways = _find_plan_randomisers(plan)
        self._tallies = [np.zeros(randomiser.answers, dtype=np.int64) for randomiser in self._ways]
        self.reports = [0] * len(self._ways)
        self.refused = 0
        self._about_all = plan.distribution.require_type(AggregatedReports).about_all

    def mark_valid_messages(self, messages: Reports) -> BoolArray:
        """Return a mask of the rows ``(rows, octets)`` that are valid messages under this plan.

        Args:
            messages: Messages as rows of bytes, of the right length.

        Returns:
            Array of shape ``(rows,)``.
        """
        return self.sort_by_level(messages)[1]

    def add_messages(self, messages: Reports) -> None:
        """Add the reports of valid messages to the tallies, and the number of invalid messages to `refused`.

        Args:
            messages: Messages as rows of bytes, (people, octets).
        """
        batches, is_valid = self.sort_by_level(messages)
        self.refused += int(len(is_valid) - is_valid.sum())
        self.count_reports(batches, is_valid)

    def sort_by_level(self, messages: Reports) -> tuple[list[LevelBatch], BoolArray]:
        """Return the reports of each level, as arguments of `count_reports`, and which messages are valid.

        Args:
            messages: Messages, (people, bytes).

        Returns:
            One batch per level, in order; and a boolean for each message, (people,).
        """
        batches = self._split_all_levels(messages) if self._about_all else self._split_single_levels(messages)
        is_valid = np.full(len(messages), self._about_all)
        for randomiser, (rows, reports, filled_up) in zip(self._ways, batches, strict=True):
            is_sound = randomiser.mark_valid_reports(reports) & filled_up
            is_valid[rows] = is_valid & is_sound if self._about_all else is_sound
        return batches, is_valid

    def count_reports(self, about: list[LevelBatch], counted: BoolArray) -> None:
        """Add valid reports to the tallies of their levels.

        Args:
            about: The reports of each level, with their rows, as `sort_by_level` returns them.
            counted: True for each message that is counted, of shape ``(rows,)``; these must be valid.
        """
        for number, (randomiser, (rows, reports, _)) in enumerate(zip(self._ways, about, strict=True)):
            is_counted = counted[rows]
            selected = reports if is_counted.all() else reports[is_counted]
            self._tallies[number] += randomiser.count_support(selected)
            self.reports[number] += len(selected)

    def _split_all_levels(self, messages: Reports) -> list[LevelBatch]:
        """Return the reports of each level from messages that hold one about every level.

        Args:
            messages: Messages as rows of bytes, with the reports of all levels one after the other.

        Returns:
            A batch for each level, with all rows.
        """
        level_messages = np.split(messages, np.cumsum([randomiser.octets for randomiser in self._ways])[:-1], axis=1)
        return [LevelBatch(slice(None), reports, np.True_) for reports in level_messages]

    def _split_single_levels(self, messages: Reports) -> list[LevelBatch]:
        """Return the reports of each level, from messages that hold one report about one level each.

        Rows are copied only if levels are mixed.

        Args:
            messages: Messages as rows of bytes; the first byte is the level.

        Returns:
            A batch for each level.
        """
        levels = np.ascontiguousarray(messages[:, 0])
        contiguous = make_contiguous(messages)
        batches = list[LevelBatch]()
        for number, randomiser in enumerate(self._ways):
            is_about_level = levels == number
            selection = slice(None) if is_about_level.all() else np.flatnonzero(is_about_level)
            rows = contiguous if isinstance(selection, slice) else np.take(contiguous, selection, axis=0)
            batches.append(
                LevelBatch(selection, rows[:, 1 : 1 + randomiser.octets], mark_zero_tails(rows, 1 + randomiser.octets))
            )
        return batches

    def release(self, allotment: Allotment, *, seeded: bool) -> Release:
        """Return the tallies of all counted reports as a release, under the plan for the actual number of people.

        Args:
            allotment: Payment for the loss of the plan.
            seeded: If True, the release states that its noise came from a seed.

        Raises:
            ValueError: there are no reports, or the payment is for another loss than the plan's.
        """
        require_charged(allotment, self._plan)
        plan = adjust_plan(self._plan, self.reports)
        counts = [tally[:-1] for tally in self._tallies]
        missing = [tally[-1:] for tally in self._tallies]
        return Release(plan, tuple(np.concatenate([*counts, *missing]).tolist()), allotment, seeded)


def collect(plan: Plan, messages: Iterable[Reports], allotment: Allotment, *, seeded: bool) -> Release:
    """Return the release of reports, which are added up chunk by chunk, with the memory of the counts alone.

    Invalid messages are left out.

    Args:
        plan: Plan of the query.
        messages: Messages in chunks, a row of bytes each.
        allotment: Proof that the loss of the plan was charged.
        seeded: Whether the noise came from a known seed.

    Raises:
        ValueError: there is no valid message, or the payment is for another loss than the plan's.
    """
    tables = ReportAggregator(plan)
    for chunk in messages:
        tables.add_messages(chunk)
    return tables.release(allotment, seeded=seeded)


def adjust_plan(plan: Plan, reports: Sequence[int]) -> Plan:
    """Return the plan with the actual number of people at each level. The senders are public, so these numbers are,
    too.

    Args:
        plan: Plan of the local model, made for a planned number of people.
        reports: Number of people who reported about each level.

    Raises:
        ValueError: there are no people.
    """
    distribution = plan.distribution.require_type(AggregatedReports)
    levels = tuple(replace(level, reports=count) for level, count in zip(distribution.levels, reports, strict=True))
    adjusted_distribution = replace(distribution, levels=levels)
    return replace(
        plan,
        distribution=adjusted_distribution,
        adjacency=ReplaceOne(plan.adjacency.unit, adjusted_distribution.people),
    )


def _find_plan_randomisers(plan: Plan) -> tuple[Randomiser, ...]:
    """Return the randomiser of each level of a plan, from coarse to fine.

    Args:
        plan: Plan of the local model.
    """
    return find_randomisers(plan.distribution.require_type(AggregatedReports), plan.loss)


def find_answers(distribution: AggregatedReports, number: int, slots: IntArray) -> IntArray:
    """SECRET: return each person's true answer at one level: the interval that holds the cell, or "missing" as the
    last.

    Args:
        distribution: The levels.
        number: Number of the level.
        slots: Index of each person's cell (slot), in row-major order. SECRET.

    Returns:
        Index of each person's answer, (people,).
    """
    level = distribution.levels[number]
    row, cell = np.divmod(slots, distribution.cells)
    interval = np.searchsorted(level.first_cells, cell, side="right") - 1
    intervals = len(level.starts)
    return np.where(
        slots == distribution.rows * distribution.cells, distribution.rows * intervals, row * intervals + interval
    )
