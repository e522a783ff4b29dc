"""Sessions: interactive queries on one data set under one privacy budget, with accounting by a ledger.

A *question* asks for a curve or a number; its *loss* (epsilon, or rho for zero-concentrated DP) is charged to an
account of a *ledger*, the log of all charges. `Session.ask` does four things in order:

    plan      question + loss + adjacency -> plans of all rounds         public, free
    charge    the loss, in one transaction of the ledger                 before any record is read
    release   the trust model counts, adds noise, returns integers       at most the charged loss
    curve     the question computes its result from the integers         post-processing

A *grant* is the record of one charge, under a *request*, a name of the analyst's choice: the same question under the
same request returns its stored answer and costs nothing. If the analyst states no contribution bound (largest number of
records used per unit), or asks by unlisted categories (partition selection), first rounds of the same grant find these.

Formal guarantees: the losses of all answers add up to at most the budget of the account. *Why*: a charge is refused if
it exceeds what remains, it is committed before any record is read, and each answer loses at most its charge. This holds
for questions that depend on earlier answers (basic adaptive composition, Dwork and Roth 2014, section 3.5).

>>> import dpcurves as dp
>>> table = {"age": [20, 30, 40, 70] * 500}
>>> with dp.Session(table, budget=dp.PrivacyLoss.pure(100), adjacency=dp.ADD_REMOVE) as session:
...     curve = session.ask(dp.CdfQuestion("age", dp.Grid(0, 100, cells=10)), loss=dp.PrivacyLoss.pure(99))
>>> float(curve.cdf(50).round(2)), str(session.remaining.epsilon)
(0.75, '1')
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .arguments import ArgumentError, InvalidArgument, WrongArgumentType, describe_value, require_type
from .conversation import WHOLE_BUDGET, Plan, Plans, Release, Setting, Step, UnsupportedQuery
from .conversation.release import fingerprint
from .curves import (
    AutoRangeCdfQuestion,
    AutoRangeHistogramQuestion,
    AutoRangeQuantilesQuestion,
    AutoRangeWeightedCdfQuestion,
    AutoRangeWeightedHistogramQuestion,
    AutoRangeWeightedQuantilesQuestion,
    Question,
)
from .curves.question import HasPlanNotes, describe_published_texts, find_charged_query
from .curves.result import Result, check_source, warn_about_notes
from .curves.view import define_view, parse_view_definitions, remove_view
from .data import CsvFile, is_text_file
from .display.numerals import UNITS
from .ledger import LARGEST_AMOUNT, Account, Allotment, Currency, Grant, Member, QuestionBudget
from .mechanisms.partition_selection import bound_units_below, find_fewest_units
from .noise.randomness import Randomness
from .privacy import EACH_RECORD, AddRemove, Adjacency, AdjacencyWithoutBound, Neighbours, PrivacyLoss, ReplaceOne, Unit
from .queries import Query
from .strategies import (
    SELECTION_FRACTION,
    build_category_query,
    describe_category_price,
    describe_found_categories,
    describe_uncounted_categories,
    find_unlisted,
    parse_names,
    replace_unlisted,
)
from .strategies.choice import EXAMPLE_LETTERS
from .strategies.contribution_bounds import (
    PILOT_FRACTION,
    build_unit_size_query,
    choose_bound,
    describe_bound,
    describe_bound_price,
    estimate_noise_growth,
)
from .trust import Central, CountedTable, Curator, Planner, TrustModel, find_filter, run_conversation

if TYPE_CHECKING:
    from .curves import View
    from .data import UnlistedCategories
    from .display import BalanceReport
    from .ledger import Balance, Condition, Ledger, Statement
    from .records import Records


Curve = TypeVar("Curve")


MOST_NUMBERS_BUILT = 2**16
"""Numbers of the last round up to which `plan_question` also builds the result, from placeholder counts, so that what
could fail after the charge fails before it. Larger results are not built, since planning must stay fast."""


class _AllRoundsPlanned(Exception):
    """Ends the planning of a question at its last round, whose placeholder release would be large."""


def plan_question(
    question: Question[Curve],
    loss: PrivacyLoss,
    adjacency: Adjacency | AdjacencyWithoutBound,
    trust: Planner | None = None,
) -> Plans:
    """Return the plans of a question: which queries it asks, with which loss, mechanism and expected error. Reads no
    data and no ledger.

    Read the `notes` before the question is charged. If the adjacency has no contribution bound, the first round finds
    one, and the other rounds are planned for one record per unit. The result is built from blank counts, so that what
    could fail after the charge fails here; of more than `MOST_NUMBERS_BUILT` numbers it is not, because planning is
    free and must not take time that grows with the cells.

    Args:
        question: Any question about records.
        loss: The loss that it is planned for.
        adjacency: Replace-one or add-remove, among a number of units; or without a contribution bound.
        trust: The trust model that answers. None: one curator.

    Returns:
        The plans, one per round, with loss, mechanism and error; and `notes`.

    >>> import dpcurves as dp
    >>> adjacency = dp.REPLACE_ONE.to_adjacency(dp.EACH_RECORD, units=1_000_000)
    >>> question = dp.CdfQuestion("age", dp.Grid(0, 100, cells=1024))
    >>> (plan,) = dp.plan_question(question, dp.PrivacyLoss.pure(1), adjacency)
    >>> plan.error < 19
    True
    """
    loss = require_askable(question, loss).as_single_release()
    expected = "an adjacency, as in dp.REPLACE_ONE.to_adjacency(dp.EACH_RECORD, units=1000),"
    require_type("adjacency", adjacency, (AddRemove, ReplaceOne, AdjacencyWithoutBound), expected)
    model: Planner = trust if trust is not None else Central()
    if not hasattr(model, "plan_query"):
        raise WrongArgumentType("trust", f"a trust model or None is needed, got {describe_value(trust)}")
    budget = QuestionBudget.for_planning(loss, charged_by_round=getattr(model, "CHARGED_BY_TURN", False))
    plans: list[Plan] = []

    def reply_blank(step: Step, allotment: Allotment, round_adjacency: Adjacency) -> Release:
        """Plan the query of a step and return blank values as its release.

        Args:
            step: Query, and its fraction of the loss.
            allotment: Loss of this round.
            round_adjacency: Neighbours and contribution bound of this round.

        Raises:
            _AllRoundsPlanned: this is the last round, and its table is too large to be built.
        """
        plans.append(model.plan_query(step.query, allotment.loss, round_adjacency))
        is_last = budget.remaining == 0 and find_charged_query(question) is None
        if is_last and (plans[-1].distribution.size or 0) > MOST_NUMBERS_BUILT:
            raise _AllRoundsPlanned
        return Release.make_placeholder(plans[-1])

    with suppress(_AllRoundsPlanned):
        ask_with_contribution_bound(question, adjacency, model, budget, reply_blank)
    if budget.remaining != 0:
        raise InvalidArgument(
            "question",
            f"budget fractions of a question must add up to 1; {budget.remaining} of this question is left: correct "
            "its steps",
        )
    if loss.delta and not any(plan.loss.delta for plan in plans):
        raise InvalidArgument(
            "delta", "the question selects no partitions, so leave delta out; it is for by=UnlistedCategories(column)"
        )
    notes: tuple[str, ...] = ()
    if isinstance(adjacency, AdjacencyWithoutBound):
        notes = describe_bound_price(adjacency, plans[0])
        loss = loss * (1 - PILOT_FRACTION)
        adjacency = adjacency.with_bound(1)
    notes += describe_published_texts(plans)
    unlisted = find_unlisted(question)
    if isinstance(question, HasPlanNotes):
        question_loss = loss if unlisted is None else (loss * (1 - SELECTION_FRACTION)).with_delta(Fraction(0))
        notes += question.plan_notes(Setting(question_loss, adjacency))
    if unlisted is not None:
        selection = next(plan for plan in plans if plan.query == _build_filtered_category_query(question, unlisted))
        notes += describe_category_price(str(selection.loss), unlisted, find_fewest_units(selection, EXAMPLE_LETTERS))
    return Plans(plans, notes)


def ask_with_contribution_bound(
    question: Question[Curve],
    adjacency: Adjacency | AdjacencyWithoutBound,
    trust: Planner,
    budget: QuestionBudget,
    reply: Callable[[Step, Allotment, Adjacency], Release],
    *,
    store_bound: Callable[[int], int] = int,
) -> Curve:
    """Return the curve of a question, after a private choice of the contribution bound if the adjacency has none.

    The contribution bound is the largest number of records of one unit that are used. It is chosen from noisy numbers
    of units by size, with `PILOT_FRACTION` of the loss; the question is asked with the rest, as by
    `ask_with_partition_selection`.

    Args:
        question: The question.
        adjacency: Add-remove or replace-one, perhaps without a contribution bound.
        trust: The trust model, which plans the queries.
        budget: The charged loss, which pays for each step.
        reply: Function of a step, the allotment that proves its payment, and the adjacency of its round; returns the
            release. A placeholder release, without an allotment, gives the bound 1.
        store_bound: Function that stores the chosen bound, and returns the bound that was stored first for this
            request, so that a repeated request uses the same bound.

    Formal guarantees: a unit counts once in the first round, for any number of its records, so this round loses its
    fraction. For each bound that it may choose, the question loses the rest, so both add up to the granted loss
    (adaptive composition; the proof is in `strategies.contribution_bounds`).
    """
    if not isinstance(adjacency, AdjacencyWithoutBound):
        bounded = adjacency
        return ask_with_partition_selection(
            question, bounded, trust, budget, lambda step, allotment: reply(step, allotment, bounded)
        )
    remaining_fraction = 1 - PILOT_FRACTION
    loss = budget.grant.loss * remaining_fraction
    bound_of_two = adjacency.with_bound(2)
    growth = estimate_noise_growth(
        plan_question(question, loss, bound_of_two, trust), sqrt(Setting(loss, bound_of_two).count_noise().variance)
    )
    size_query = build_unit_size_query(adjacency.column, question, growth).with_filter(find_filter(question))
    unit_sizes = reply(
        Step(size_query, PILOT_FRACTION), budget.pay(size_query, PILOT_FRACTION), adjacency.unit_adjacency
    )
    bound = 1
    if unit_sizes.allotment is not None:
        bound = store_bound(
            _largest_feasible_bound(
                choose_bound(unit_sizes, growth),
                lambda rows: plan_question(question, loss, adjacency.with_bound(rows), trust),
            )
        )
    bounded_adjacency = adjacency.with_bound(bound)
    notes = () if unit_sizes.allotment is None else (describe_bound(unit_sizes, bound).describe(adjacency.column),)

    def reply_with_bound(step: Step, allotment: Allotment) -> Release:
        """Return the release of a step under the contribution bound that the first round chose, with a note on this
        bound.

        Args:
            step: Query, and its fraction of the loss.
            allotment: Loss of this round, and its part of the grant.
        """
        release = reply(step, allotment, bounded_adjacency)
        return replace(release, notes=(*release.notes, *notes), earlier_plans=(*release.earlier_plans, unit_sizes.plan))

    return ask_with_partition_selection(
        question, bounded_adjacency, trust, budget, reply_with_bound, budget_fraction=remaining_fraction
    )


def _largest_feasible_bound(bound: int, plan: Callable[[int], object]) -> int:
    """Return the bound, or its largest half, quarter, ... under which the question can be planned.

    A noisy choice must not make a charged question fail because it needs more noise than can be sampled. A bound of 1
    was planned before the charge.

    Args:
        bound: Noisy choice of the contribution bound.
        plan: Function that plans the question for a bound, or raises `ArgumentError`.
    """
    while bound > 1:
        try:
            plan(bound)
        except ArgumentError:
            bound //= 2
        else:
            break
    return bound


def ask_with_partition_selection(
    question: Question[Curve],
    adjacency: Adjacency,
    trust: Planner,
    budget: QuestionBudget,
    reply: Callable[[Step, Allotment], Release],
    *,
    budget_fraction: Fraction = WHOLE_BUDGET,
) -> Curve:
    """Return the curve of a question, after partition selection if its categories are not listed.

    Partition selection is a first query that releases the names of categories with enough units. The question is then
    asked by these names, as by `ask_with_budget`. If the question cannot be planned with so many names, only the
    largest are used, and the others count as "other".

    Args:
        question: The question, perhaps with unlisted categories.
        adjacency: Add-remove or replace-one, with a contribution bound.
        trust: The trust model, which plans the queries.
        budget: The charged loss, which pays for each step.
        reply: Function of a step and the allotment that proves its payment; returns the release.
        budget_fraction: Fraction of the grant that selection and question get together.

    Formal guarantees: the selection gets `SELECTION_FRACTION` of the loss and the whole delta
    (`mechanisms.partition_selection` has its proof). Selected names are released and so public; the question by them
    gets the remaining loss, without delta. Both add up to the granted loss for all names (adaptive composition).
    """
    unlisted = find_unlisted(question)
    if unlisted is None:
        return ask_with_budget(question, adjacency, trust, budget, reply, budget_fraction=budget_fraction)
    selection_query = _build_filtered_category_query(question, unlisted)
    selection = reply(
        Step(selection_query, budget_fraction * SELECTION_FRACTION),
        budget.pay(selection_query, budget_fraction * SELECTION_FRACTION),
    )
    remaining_loss = (budget.grant.loss * (budget_fraction * (1 - SELECTION_FRACTION))).with_delta(Fraction(0))
    names = _largest_feasible_groups(
        question,
        unlisted,
        selection,
        lambda listed_question: plan_question(listed_question, remaining_loss, adjacency, trust),
    )
    notes = (describe_found_categories(selection, unlisted, names),) if selection.allotment is not None else ()
    counts = zip(parse_names(selection), selection.values[1::2], strict=True)
    least_units = {}
    if selection.allotment is not None:
        least_units = {name: bound_units_below(selection.plan, name, noisy) for name, noisy in counts}

    def reply_with_notes(step: Step, allotment: Allotment) -> Release:
        """Return the release of a step with notes on selected and uncounted categories and the plan of the
        selection.

        Args:
            step: Query, and its fraction of the loss.
            allotment: Loss of this round, and its part of the grant.
        """
        release = reply(step, allotment)
        uncounted = None
        if least_units and release.allotment is not None:
            uncounted = describe_uncounted_categories(release, unlisted, least_units)
        uncounted_notes = () if uncounted is None else (uncounted,)
        return replace(
            release,
            notes=(*release.notes, *notes, *uncounted_notes),
            earlier_plans=(*release.earlier_plans, selection.plan),
        )

    return ask_with_budget(
        replace_unlisted(question, unlisted, names),
        adjacency,
        trust,
        budget,
        reply_with_notes,
        budget_fraction=budget_fraction * (1 - SELECTION_FRACTION),
    )


def _build_filtered_category_query(question: object, unlisted: UnlistedCategories) -> Query:
    """Return the query that selects the categories among the rows that pass the question's filter.

    Args:
        question: Question with unlisted categories.
        unlisted: Its unlisted categories.
    """
    return build_category_query(unlisted).with_filter(find_filter(question))


def _largest_feasible_groups(
    question: Question[Curve],
    unlisted: UnlistedCategories,
    selection: Release,
    plan: Callable[[Question[Curve]], object],
) -> tuple[str, ...]:
    """Return the names by which the question can be planned: all, or as many of the largest as its table can hold.

    A charged question must not fail because many categories were selected: the others count as "other". Names with ", "
    are left out if the question has a second column of categories, where they could print like a combination.

    Formal guarantees: post-processing of the selected names and their noisy counts, and of public facts.

    Args:
        question: The question with unlisted categories.
        unlisted: Its column of unlisted categories.
        selection: Release of the selected names and their noisy counts.
        plan: Function that plans a question, or raises `ArgumentError` if its table is too large.

    Returns:
        Names in the order of the selection.
    """
    names = parse_names(selection)
    if isinstance(getattr(question, "by", None), tuple):
        names = tuple(name for name in names if ", " not in name)
    counts = dict(zip(parse_names(selection), selection.values[1::2], strict=True))
    ranked = sorted(names, key=lambda name: -counts[name])

    def take_largest(number: int) -> tuple[str, ...]:
        """Return the `number` names with the largest noisy counts, in their original order.

        Args:
            number: Number of names, from 0; all names if there are fewer.
        """
        largest = {*ranked[:number]}
        return tuple(name for name in names if name in largest)

    def is_feasible(number: int) -> bool:
        """Return whether the question by `number` names can be planned."""
        try:
            plan(replace_unlisted(question, unlisted, take_largest(number)))
        except ArgumentError:
            return False
        return True

    if not names or is_feasible(len(names)):
        return names
    low = 0
    high = len(names)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_feasible(middle) else (low, middle)
    return take_largest(low)


def ask_with_budget(
    question: Question[Curve],
    adjacency: Adjacency,
    trust: Planner,
    budget: QuestionBudget,
    reply: Callable[[Step, Allotment], Release],
    *,
    budget_fraction: Fraction = WHOLE_BUDGET,
) -> Curve:
    """Return the curve of a question: pay for each of its steps from a budget, and answer it by `reply`.

    A step is one query with its fraction of the question's loss. Planning (placeholder replies), rehearsals (public
    records) and sessions share this loop.

    Args:
        question: The question.
        adjacency: Add-remove or replace-one, with a contribution bound.
        trust: The trust model, which plans the queries.
        budget: The charged loss, which pays for each step and raises if all steps would exceed it.
        reply: Function of a step and the allotment that proves its payment; returns the release.
        budget_fraction: Fraction of the charged loss that the question gets; earlier rounds spent the rest.

    Raises:
        ValueError: the question has unlisted categories, which `ask_with_partition_selection` selects.
    """
    if find_unlisted(question) is not None:
        raise InvalidArgument("by", "only a session with one curator supports unlisted categories: list them")

    def pay_and_reply(step: Step) -> Release:
        """Return the release that answers a step, paid with the step's fraction of the question's budget.

        Args:
            step: Query, and its fraction of the loss.
        """
        _require_paid_query(question, step)
        return reply(step, budget.pay(step.query.charged_query, step.budget_fraction * budget_fraction))

    loss = (budget.grant.loss * budget_fraction).with_delta(Fraction(0))
    return answer_steps(run_conversation(question, loss, adjacency, trust), pay_and_reply)


def answer_steps(steps: Generator[Step, Release, Curve], reply: Callable[[Step], Release]) -> Curve:
    """Run a generator of steps to its end: send the reply to each step, and return the curve that it returns.

    Args:
        steps: Generator that yields steps, is sent their releases, and returns the curve.
        reply: Function of a step that returns its release.
    """
    try:
        step = next(steps)
        while True:
            step = steps.send(reply(step))
    except StopIteration as end:
        curve: Curve = end.value
        return curve


def make_request_id(
    member: Member,
    question: object,
    loss: PrivacyLoss,
    adjacency: Adjacency | AdjacencyWithoutBound,
    dataset: str,
    *,
    about: str = "",
) -> str:
    """Return the request id of a project's question. It is equal for all analysts of the project.

    So two analysts of one project who ask the same question pay for it once and get the same answer.

    Args:
        member: Project and analyst.
        question: The question.
        loss: Loss of the question.
        adjacency: Neighbouring relation, with unit and contribution bound.
        dataset: Name of the account that is charged.
        about: Further text that tells otherwise equal requests apart, such as the version of the table.
    """
    loss = loss.as_single_release()
    return member.request(dataset, loss, hash_request(question, loss, adjacency, dataset, about))


def hash_request(
    question: object, loss: PrivacyLoss, adjacency: Adjacency | AdjacencyWithoutBound, dataset: str, about: str = ""
) -> str:
    """Return the hash, in hexadecimal digits, of all that a request name is bound to in the ledger.

    Questions that read one charged query have equal hashes, so that they may share a request.

    Args:
        question: The question.
        loss: Loss of the question.
        adjacency: Neighbouring relation, with unit and contribution bound.
        dataset: Name of the account that is charged.
        about: Further text that tells otherwise equal requests apart, such as the version of the table.
    """
    paid_object = find_charged_query(question) or question  # the query whose counts it reads, if there is one
    return fingerprint(paid_object, loss, dataset, adjacency, about)


def _require_paid_query(question: object, step: Step) -> None:
    """Raise for a step whose query is not the query that the request pays for, and for queries of other packages, whose
    `charged_query` cannot be trusted.

    Args:
        question: Question whose request is paid.
        step: Query that the question asks next.

    Raises:
        TypeError: the query is of another package.
        ValueError: the query is not the paid one.
    """
    package = Query.__module__.rpartition(".")[0]
    if type(step.query).__module__.rpartition(".")[0] != package:
        raise WrongArgumentType(
            "question",
            f"a query of dpcurves.queries is needed, not a {type(step.query).__name__}: build the step with "
            "ask_workload",
        )
    if find_charged_query(question) not in (None, step.query.charged_query):
        raise InvalidArgument(
            "question",
            "the query of a step differs from the query that its request pays for: let each step ask the charged query",
        )


def require_askable(question: object, loss: PrivacyLoss) -> PrivacyLoss:
    """Check that a question can be asked and its loss can be charged, and return the loss.

    Raises:
        TypeError, ValueError: `question` is not a question, or `loss` is not a loss that a budget can hold.
    """
    if isinstance(question, type) or not hasattr(question, "steps"):
        raise WrongArgumentType(
            "question", f"a question, such as CdfQuestion(column, grid), is needed, got {describe_value(question)}"
        )
    require_type("loss", loss, PrivacyLoss, "a loss, as in PrivacyLoss.pure(0.5),")
    if Currency.from_loss(loss).limit(loss).billionths > LARGEST_AMOUNT:
        raise InvalidArgument("loss", "the loss exceeds 1e9, the largest budget: give a smaller loss")
    if re.search(UNSTORABLE_PATTERN, str(question)):
        raise InvalidArgument(
            "column", "names without null characters and lone surrogates are needed: rename the column or category"
        )
    return loss


UNSTORABLE_PATTERN = "[\\0\\ud800-\\udfff]"
"""Matches characters that ledgers and files cannot store: null and lone surrogates. A question with one is refused."""


DATE_QUESTIONS = (
    AutoRangeCdfQuestion, AutoRangeQuantilesQuestion, AutoRangeHistogramQuestion, AutoRangeWeightedCdfQuestion,
    AutoRangeWeightedHistogramQuestion, AutoRangeWeightedQuantilesQuestion,
)  # fmt: skip
"""Question classes whose axis gets the unit date or moment if the column holds dates or times and no unit is stated."""
MOMENT_KEY = "moment"
"""Key, among the notes that the ledger keeps with a charge, of the number that identifies the engine's snapshot which
the first round counted. A later round on another snapshot is refused, unless `TABLE_STATE_KEY` shows that the table is
the same."""
TABLE_STATE_KEY = "state of the table"
"""Key, among the notes that the ledger keeps with a charge, of a number that changes whenever the table's data
change."""
ROWS_PER_UNIT_KEY = "rows per unit"
"""Key, among the notes that the ledger keeps with a charge, of the contribution bound that its first round found;
further rounds keep to it."""


class Session:
    """One data set with one ledger account and one trust model.

    Args:
        table: A path to a CSV or Parquet file, a data frame (pandas, Polars, Arrow), a mapping from column names to
            arrays, a DuckDB relation, or a table that another engine counts, as from `postgres`. It is opened at the
            first question; an engine's table is read as of that moment until the session ends.
        budget: Cap of the account: pure (counted in epsilon) or zCDP (counted in rho).
        adjacency: `ADD_REMOVE` (the number of units is private) or `REPLACE_ONE` (it is public).
        unit: Column that identifies the privacy unit, such as a person. None: each record is a unit.
        rows_per_unit: Contribution bound: the largest number of records of one unit that are used. Units with more
            records are sampled once, secretly. If a unit has no bound, each question finds one with a sixth of its
            loss, and states it on its curve; pass it to `ask` to spend no more on it.
        ledger: URL of the ledger: ``sqlite:///file``, ``postgresql+psycopg://...``, or ``sqlite://`` in memory. A
            ledger in memory ends with the process, so its losses are not added to any others.
        dataset: Name of the account. Sessions on the same records must use the same name. If the version of the table
            is fixed, the name ends with it, as in ``visits@12``.
        units: Public number of units, under replace-one. None: counted when the data is first opened.
        delimiter: Field delimiter of a CSV file.
        trust: Trust model, which determines who adds the noise.
        randomness: Source of noise. Results with noise from a seed are marked as not private.
        source: Public name and version of the data, as its holder declares them. Pictures and files of results show it
            with a hash of the release. There is no hash of the data: it would reveal the last record to a reader who
            can guess all others. None: no source is shown.

    Formal guarantees: all curves of one account together lose at most its cap, under its adjacency and for its unit,
    however questions are chosen (basic composition). The charge is committed before any record is read.

    Raises:
        TypeError: `table`, `budget`, `adjacency` or `trust` has the wrong type.
        UnsupportedQuery: `trust` needs other parties than one curator; two servers, for example, have no session.

    >>> import numpy as np
    >>> import dpcurves as dp
    >>> table = {"age": np.arange(1000) % 90}
    >>> session = dp.Session(table, budget=dp.PrivacyLoss.pure(2), adjacency=dp.REPLACE_ONE)
    >>> cdf = session.ask(dp.CdfQuestion("age", dp.Grid(0, 100, cells=64)), dp.PrivacyLoss.pure(1))
    >>> session.remaining.epsilon
    Fraction(1, 1)
    """

    def __init__(
        self,
        table: Any,
        *,
        budget: PrivacyLoss,
        adjacency: Neighbours,
        unit: str | None = None,
        rows_per_unit: int | None = None,
        ledger: str | Ledger = "sqlite://",
        dataset: str = "data",
        units: int | None = None,
        delimiter: str = ",",
        trust: TrustModel[Curator] | None = None,
        randomness: Randomness | None = None,
        source: str | None = None,
    ) -> None:
        from .ledger import Ledger

        require_type("budget", budget, PrivacyLoss, "a loss, as in PrivacyLoss.pure(1),")
        if table is None or isinstance(table, list | tuple | set | bytes | int | float | complex):
            raise WrongArgumentType(
                "table",
                f"a file, a data frame, a DuckDB relation or a mapping from names to columns is needed, "
                f"as in {{'age': ages}}, got {type(table).__name__}",
            )
        self._table = table  # its contents are checked when it is opened
        self._delimiter = delimiter
        if not isinstance(adjacency, Neighbours):
            raise WrongArgumentType(
                "adjacency", "must be dp.ADD_REMOVE (the number of units is private) or dp.REPLACE_ONE (it is public)"
            )
        self._neighbours = adjacency
        self._unit = _resolve_unit(unit, rows_per_unit)
        self._units = units
        self._trust = _resolve_trust(trust, table)
        self._randomness = randomness if randomness is not None else Randomness.from_system()
        require_type("randomness", self._randomness, Randomness, "a Randomness, as Randomness.from_system(),")
        require_type("ledger", ledger, (str, Ledger), "a URL, as sqlite:///budget.db, or a Ledger")
        self._ledger = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
        self._dataset = _require_version_suffix(dataset, self._table)
        self._records: dict[Unit, Records] = {}
        self._rows: Records | None = None
        self._generated_requests: set[str] = set()
        """Request ids generated here; they are repeated only after an error."""
        self._source = None if source is None else check_source(source)
        self._ledger.create(Account(dataset, self._neighbours, self._unit, budget))

    def __repr__(self) -> str:
        try:
            balance = self._report
        except Exception:  # the ledger may be unreachable; printing must still work
            return f"Session(dataset={self._dataset!r})"
        return (
            f"Session(dataset={self._dataset!r}, {self._neighbours.value}, protects {self._unit}, "
            f"budget {balance.budget}, spent {balance.spent}, remaining {balance.remaining})"
        )

    def _repr_html_(self) -> str:
        """Return the budget, the charges and the remaining budget as an HTML table, for notebooks."""
        from .display import account_summary

        return account_summary(self._report, f"{self._neighbours.value}; protects {self._unit}")

    @property
    def _report(self) -> BalanceReport:
        """Budget, charges and remaining budget of the account, in the form that `repr` and notebooks print."""
        from .display import BalanceReport

        return BalanceReport.from_statement(self.statement)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the records. The ledger stays open."""
        for records in self._records.values():
            records.close()
        self._records.clear()
        self._rows = None

    @property
    def statement(self) -> Statement:
        """The statement of the account: charges and remaining budget."""
        return self._ledger.statement(self._dataset)

    @property
    def balance(self) -> Balance:
        """The spent and the remaining budget, without the list of charges; fast for any number of charges."""
        return self._ledger.balance(self._dataset)

    def is_charged(self, request: str) -> bool:
        """Return True if the account was already charged for this request, so that repeating the question costs
        nothing.

        Args:
            request: Name of the request.
        """
        return self._ledger.find_grant(self._dataset, request) is not None

    @property
    def unit(self) -> Unit:
        """The privacy unit: a column and its contribution bound, or single records."""
        return self._unit

    @property
    def remaining(self) -> PrivacyLoss:
        """The remaining budget: the cap minus all charges, in its currency, with the remaining delta."""
        balance = self.balance
        amount = balance.remaining
        cap = balance.account.cap.delta
        delta = cap - self._ledger.delta_spent(self._dataset) if cap else cap
        if amount.currency is Currency.EPSILON:
            return PrivacyLoss(amount.exact, amount.exact**2 / 2, delta=delta)
        return PrivacyLoss(None, amount.exact, delta=delta)

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency of all releases. If the number of units is public and not given, it is counted once here.

        Raises:
            ValueError: the session has no contribution bound, so each question has its own adjacency; or the table is
                empty.
        """
        return self._neighbours.to_adjacency(self._unit, self._count_units())

    def _count_units(self) -> int | None:
        """Return the public number of units under replace-one; None under add-remove. It is counted at the first call
        if the session was not given it.

        Raises:
            InvalidArgument: the table is empty.
        """
        if self._neighbours.has_public_units and self._units is None:
            self._units = self._open_records(self._unit).units()
            if self._units == 0:
                raise InvalidArgument(
                    "data", "the table is empty; replace-one needs at least one unit (use add-remove)"
                )
        return self._public_units

    def _question_adjacency(self, rows_per_unit: int | None) -> Adjacency | AdjacencyWithoutBound:
        """Return the adjacency of one question, with its contribution bound.

        Args:
            rows_per_unit: Bound of this question, if the session has none. None: the session's bound, or a bound to be
                found.

        Raises:
            InvalidArgument: `rows_per_unit` is given although the session has a bound.
        """
        if self._unit.is_bounded:
            if rows_per_unit is not None:
                raise InvalidArgument(
                    "rows_per_unit", "this session was opened with one bound for all questions; leave it out"
                )
            return self.adjacency
        unit = self._unit if rows_per_unit is None else Unit(self._unit.column, rows_per_unit)
        return self._neighbours.to_question_adjacency(unit, self._count_units())

    @property
    def views(self) -> dict[str, View]:
        """The views that are stored with the account, by name: ``session.views["employed"].apply(question)``."""
        return parse_view_definitions(self._ledger.view_definitions(self._dataset))

    def define_view(self, view: View, *, may_replace: bool = False) -> None:
        """Store a view with the account, where all sessions, studies and commands on it find it by name.

        Only the text is stored. A question that the view is applied to is charged as its full text, so a view that is
        replaced later changes no earlier answer.

        Args:
            view: The view; its base must be stored before.
            may_replace: Whether a stored view of this name may be replaced. Views based on it then read its new text.

        Raises:
            ValueError: a view of this name has another text and `may_replace` is false, or the base is not stored.

        >>> import dpcurves as dp
        >>> session = dp.Session({"age": [30.0, 12.0]}, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE)
        >>> session.define_view(dp.View("adults", "age >= 18"))
        >>> print(session.views["adults"].apply(dp.CountQuestion()))
        count of records, where age >= 18
        >>> session.remove_view("adults")
        >>> session.views
        {}
        """
        self._ledger.change_view(self._dataset, define_view(view, may_replace=may_replace))

    def remove_view(self, name: str) -> None:
        """Remove a view from the account. Answers to questions about it stay as they are.

        Args:
            name: Name of the view.

        Raises:
            ValueError: the account has no such view, or another view is based on it.
        """
        self._ledger.change_view(self._dataset, remove_view(name))

    def plan(self, question: Question[Curve], loss: PrivacyLoss, *, rows_per_unit: int | None = None) -> Plans:
        """Return the plans of a question, made without data: loss and expected error of each round, and notes.
        Unsupported questions are rejected.

        Reads no data, unless the number of units is public and was not given.

        Args:
            question: The question.
            loss: The loss that would be charged.
            rows_per_unit: Contribution bound, if the session has none; None: a sixth of the loss finds one.
        """
        return plan_question(question, loss, self._question_adjacency(rows_per_unit), self._trust)

    def ask(
        self,
        question: Question[Curve],
        loss: PrivacyLoss,
        request: str | None = None,
        *,
        rows_per_unit: int | None = None,
    ) -> Curve:
        """Plan, charge and answer a question; return its curve.

        A request is bound to the question, the loss, the adjacency, the account and the session's `source`. Repeating
        all of these under the same request returns the same curve and costs nothing. If any of them differs, the
        request is refused before anything is charged: choose another name, which is charged anew.

        One exception: questions that read the same release may share a request with the same loss, such as a
        distribution function at some edges of a grid and quantiles searched along the grid. The first charge covers
        all, and a count keeps its first answer.

        Args:
            question: The question.
            loss: The loss to charge.
            request: Name of this request, by which it can be repeated. None: a random name, charged in any case.
            rows_per_unit: Contribution bound, if the session was opened with a unit but without a bound: a public
                number, such as ``curve.privacy.rows_per_unit`` of an earlier answer. None: a sixth of the loss finds
                one. Leave it out if the session has a bound.

        Warns:
            CurveWarning: each of the curve's `notes`, such as the noisy number of clipped or missing values.

        Raises:
            UnsupportedQuery: the trust model cannot answer the question; nothing was charged.
            BudgetExceeded: the loss exceeds the remaining budget; nothing was charged.
            ValueError: a column is missing or has the wrong type; `request` was used for another question, loss or
                `source`; or `rows_per_unit` is given although the session has a bound. Nothing was charged.
            TypeError: `loss` is not a `PrivacyLoss`, or `question` not a question; nothing was charged.
            Exception: an error after the charge has a note with the request, possibly a generated one; the same
                question under it is answered at no further loss.
        """
        from .ledger.verification import Receipt, attach_receipt  # a plan needs no database

        loss = require_askable(question, loss).as_single_release()
        is_generated = request is None
        if request is None:
            request = secrets.token_hex(16)
            self._generated_requests.add(request)
        adjacency = self._question_adjacency(rows_per_unit)
        self.check_plans(plan_question(question, loss, adjacency, self._trust))
        # Records may differ between versions: their answers must not be mixed under one request.
        binding = hash_request(question, loss, adjacency, self._dataset, self._source or "")
        grant, balance, is_new = self._ledger.charge_and_read_balance(
            self._dataset, loss, purpose=str(question), request=request, binding=binding,
            units=self._public_units, is_generated=is_generated,
        )  # fmt: skip
        with attach_receipt(Receipt(request)):
            curve = self._run_question(question, grant, adjacency, may_be_answered=not is_new)
            warn_about_notes(curve)
            if isinstance(curve, Result) and balance.remaining.exact > 0:  # for its HTML summary
                remaining_text = f"{balance.remaining} of {balance.account.limit} remained after this"
                object.__setattr__(curve, "remaining_budget", remaining_text)
        return curve

    def charge_for(
        self,
        member: Member,
        question: Question[Curve],
        loss: PrivacyLoss,
        about: str = "",
        only_if: Condition | None = None,
    ) -> Grant:
        """Return the grant of a question, planned and charged for one analyst of a project, within both allowances
        and the cap. Reads no record.

        Analysts of a project who ask the same question get the same grant, charged once; `answer_grant` answers it.

        Args:
            member: The analyst.
            question: The question.
            loss: The loss to charge.
            about: Distinguishes otherwise equal questions, for example by the version of the data.
            only_if: A further condition, checked in the transaction of the charge. None: no condition.

        Raises:
            UnsupportedQuery, BudgetExceeded, ValueError, TypeError: as in `ask`; nothing was charged.
        """
        loss = require_askable(question, loss).as_single_release()
        adjacency = self._question_adjacency(None)
        self.check_plans(plan_question(question, loss, adjacency, self._trust))
        binding = hash_request(question, loss, adjacency, self._dataset, about)
        return self._ledger.charge_for(
            member, self._dataset, loss, purpose=str(question), binding=binding, units=self._public_units,
            only_if=only_if,
        )  # fmt: skip

    def answer_grant(self, question: Question[Curve], grant: Grant) -> Curve:
        """Return the curve of a charged question. Stored answers are read from the ledger, so its numbers never
        change.

        Args:
            question: The question that was charged.
            grant: Proof of the charge, from `charge_for`.

        Raises:
            ValueError: the grant is not from this ledger.
        """
        return self._run_question(question, grant, self._question_adjacency(None))

    @property
    def _public_units(self) -> int | None:
        """The public number of units under replace-one; None under add-remove."""
        return self._units if self._neighbours.has_public_units else None

    def _run_question(
        self,
        question: Question[Curve],
        grant: Grant,
        adjacency: Adjacency | AdjacencyWithoutBound,
        *,
        may_be_answered: bool = True,
    ) -> Curve:
        """Return the curve of a charged question; each part of the grant is answered from the ledger if it was
        answered before. `may_be_answered` is False for a grant that was made just now, whose answers are not looked
        for: if another process answers the request meanwhile, its stored answer still is the one that is shown. The
        curve has the name and version of the data, if the session has one.

        Args:
            question: The question, which is charged already.
            grant: Proof of payment.
            adjacency: Neighbours with the contribution bound; without a bound, a first round finds one.
            may_be_answered: Whether the ledger may hold answers of the grant.
        """
        releases: dict[int, Release] = {}
        counted = CountedTable()
        if isinstance(question, DATE_QUESTIONS) and not question.measured_in:
            unit = self._open_records().time_kind(question.column)  # None for columns that do not hold dates
            question = cast(Question[Curve], replace(question, measured_in=unit)) if unit in UNITS else question

        def find_reply(step: Step, allotment: Allotment, round_adjacency: Adjacency) -> Release:
            """Return the release of a step. The question was charged before.

            A query that the ledger charges is answered by its stored release, or by a new one, which is stored. For any
            other query the trust model computes a release from the release of the charged query.

            Args:
                step: Query, and its fraction of the loss.
                allotment: Loss of this round, and its part of the grant.
                round_adjacency: Neighbours and contribution bound of this round.
            """
            part = allotment.part  # the number of the round, too
            if part not in releases:
                plan = self._trust.plan_query(step.query.charged_query, allotment.loss, round_adjacency)
                stored = self._ledger.find_answer(grant, part, part) if may_be_answered else None
                if stored is None:
                    stored = self._ledger.store_answer(
                        grant, part, part, self._run(plan, grant, allotment, counted).to_json()
                    )
                releases[part] = Release.from_json(stored, plan, allotment)
            if step.query == step.query.charged_query:
                return releases[part]
            plan = self._trust.plan_query(step.query, allotment.loss, round_adjacency)
            return self._run(plan, grant, allotment, counted)

        def store_bound(rows: int) -> int:
            """Return the contribution bound that was stored first for this grant: `rows`, unless one was stored
            before."""
            return self._ledger.store_notes(grant, 0, {ROWS_PER_UNIT_KEY: rows})[ROWS_PER_UNIT_KEY]

        curve: Curve = ask_with_contribution_bound(
            question, adjacency, self._trust, QuestionBudget(grant), find_reply, store_bound=store_bound
        )
        with_source: Callable[[str], Curve] | None = getattr(curve, "with_source", None)
        return curve if self._source is None or with_source is None else with_source(self._source)

    def _run(self, plan: Plan, grant: Grant, allotment: Allotment, counted: CountedTable) -> Release:
        """Return the release of a plan, run on the records by the trust model. The question was charged before; the
        noise is drawn here.

        Args:
            plan: Plan of a round.
            grant: Grant that was charged for the question.
            allotment: Part of it that pays for the round.
            counted: SECRET. Exact counts of earlier rounds of the question.
        """
        records = self._open_records(plan.adjacency.unit)
        self._require_same_snapshot(records, grant)
        curator = Curator(records, self._ledger.memory_of(grant, allotment.part), counted)
        return self._trust.run(plan, [curator], allotment, self._randomness)

    def _require_same_snapshot(self, records: Records, grant: Grant) -> None:
        """Check that all rounds of one question read one version of the data, if the engine has versions.

        The version of the table itself is compared only for requests with a name of the caller's, which may continue on
        another day: some engines read the whole table for it. A request that began without it continues without it.

        Args:
            records: The opened records.
            grant: Charge of the question, with which the version is stored at the first round.

        Raises:
            InvalidArgument: the data have changed, or may have changed, since the first round.
        """
        moment = records.moment
        if moment is None:
            return
        stored_notes = self._ledger.find_notes(grant, 0, (MOMENT_KEY, TABLE_STATE_KEY))
        state = None
        if TABLE_STATE_KEY in stored_notes or not (stored_notes or grant.request in self._generated_requests):
            state = records.state()
        notes = {MOMENT_KEY: moment} if state is None else {MOMENT_KEY: moment, TABLE_STATE_KEY: state}
        stored_notes = self._ledger.store_notes(grant, 0, notes)
        if stored_notes[MOMENT_KEY] != moment and (state is None or stored_notes[TABLE_STATE_KEY] != state):
            raise InvalidArgument(
                "data", "the engine's data may have changed since this request began; ask under a new request"
            )

    def _open_records(self, unit: Unit | None = None) -> Records:
        """Return the opened records with a contribution bound. All rounds read one snapshot of the rows.

        Args:
            unit: Privacy unit; None: that of the session. Without a bound, 1 is used, as long as none is known.
        """
        unit = unit or self._unit
        unit = unit if unit.is_bounded else Unit(unit.column, 1)
        if unit not in self._records:
            from .records import open_records

            # all rounds read one snapshot of the rows
            opened = None if self._rows is None else self._rows.with_unit(unit)
            if opened is None:
                key = self._ledger.dataset_key(self._dataset)
                opened = open_records(
                    self._table, unit=unit, key=key, delimiter=self._delimiter,
                    keeps_failing_rows=self._neighbours.has_public_units,
                )  # fmt: skip
                self._rows = self._rows or opened
            self._records[unit] = opened
        return self._records[unit]

    def check_plans(self, plans: Plans) -> None:
        """Raise unless the table has the columns and the units that the plans need; `ask` checks this before the
        charge.

        Args:
            plans: The plans of a question, from `plan`.

        Raises:
            ValueError: a column is missing or has the wrong type, or the table does not have the public number of
                units.
        """
        for plan in plans:
            records = self._open_records(plan.adjacency.unit)
            if not self._unit.is_bounded and self._rows is not None:
                self._rows.check_unit_sizes()
            if plan.query.input_axes:  # queries of unit sizes have no axes
                records.check(plan.query.input_axes)
        records = self._open_records()
        if self._neighbours.has_public_units and records.units() != self._units:
            raise InvalidArgument(
                "units",
                f"the table does not have the public number {self._units} of units: correct units, or leave it out",
            )


def _resolve_trust(trust: TrustModel[Curator] | None, table: object) -> TrustModel[Curator]:
    """Return the trust model of a session, with what the table adds: trust in an outside engine, and reasons for
    missing values of a CSV file.

    Args:
        trust: Trust model of one curator; None: `Central`.
        table: The records.

    Raises:
        WrongArgumentType: `trust` is no trust model.
        UnsupportedQuery: the model needs other parties than one curator.
    """
    engine = getattr(table, "engine", None)
    trust = Central() if trust is None else trust
    if isinstance(trust, type) or not all(
        hasattr(trust, member) for member in ("holders", "plan", "run", "plan_query")
    ):
        raise WrongArgumentType("trust", f"a trust model, as Central(), is needed, got {describe_value(trust)}")
    if trust.holders != (Curator,):
        needed = ", ".join(holder.__name__ for holder in trust.holders)
        instead = getattr(trust, "INSTEAD", f"it needs {needed}")
        raise UnsupportedQuery("trust", f"a session has one curator, who sees all records; with {trust!r} {instead}")
    if isinstance(trust, Central) and type(engine) is str and not trust.engine:
        return replace(trust, engine=engine)
    # in a CSV file lines may be malformed, and fields may hold any text
    if type(trust) is Central and (
        isinstance(table, CsvFile) or (isinstance(table, str | PathLike) and is_text_file(table))
    ):
        return replace(trust, tells_reasons=True)
    return trust


def _require_version_suffix(dataset: str, table: Any) -> str:
    """Return the account name if it ends with the fixed version of the table: each version has its own account.

    Args:
        dataset: Account name that the user gave.
        table: The table; only tables of an engine can have a fixed version.

    Raises:
        ValueError: the table has a fixed version that does not end the name.
    """
    version = getattr(table, "version", None) if isinstance(getattr(table, "engine", None), str) else None
    if type(version) is int and not str(dataset).endswith(f"@{version}"):
        raise InvalidArgument(
            "dataset", f"end the name with the version of the table that is read, as in 'visits@{version}'"
        )
    return dataset


def _resolve_unit(column: str | None, rows: int | None) -> Unit:
    """Return the privacy unit that two arguments state.

    Args:
        column: Column that identifies a unit, such as a person; None: each record is a unit.
        rows: Contribution bound; None: not known yet.

    Raises:
        InvalidArgument: a bound without a column, or an empty column name.
    """
    if column is None:
        if rows is not None:
            raise InvalidArgument(
                "rows_per_unit", "the column that identifies units is missing: give it, as in unit='patient'"
            )
        return EACH_RECORD
    require_type("unit", column, str, "the name of a column")
    if not column:
        raise InvalidArgument("unit", "a column name is needed; leave unit out to protect single records")
    return Unit.with_unknown_bound(column) if rows is None else Unit(column, rows)
