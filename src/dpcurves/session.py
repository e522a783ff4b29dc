"""A session: from a question to a plan, a charge to the ledger, a release and a curve; and its rehearsal without
data."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Generator
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .arguments import ArgumentError, InvalidArgument, WrongArgumentType, describe_value, require_type
from .conversation import ALL, Plan, Plans, Release, Setting, Step, UnsupportedQuery
from .conversation.release import fingerprint
from .curves import AutoRangeCdfQuestion, AutoRangeHistogramQuestion, AutoRangeQuantilesQuestion, Question
from .curves.question import HasPlanNotes, find_charged_query
from .curves.result import Result, check_source, warn_about_notes
from .data import CsvFile
from .display.numerals import UNITS
from .ledger import LARGEST_AMOUNT, Account, Allotment, Currency, Grant, Member, QuestionBudget
from .mechanisms.partition_selection import bound_units_below
from .noise.randomness import Randomness
from .privacy import EACH_RECORD, Adjacency, AdjacencyWithoutBound, Neighbours, PrivacyLoss, Unit
from .queries import Query
from .strategies import (
    FIND,
    build_category_query,
    describe_category_price,
    describe_found_categories,
    describe_uncounted_categories,
    find_unlisted,
    parse_names,
    replace_unlisted,
)
from .strategies.contribution_bounds import (
    LOOK,
    build_unit_size_query,
    choose_bound,
    describe_bound,
    describe_bound_price,
    estimate_noise_growth,
)
from .trust import Central, Curator, Planner, TrustModel, run_conversation

if TYPE_CHECKING:
    from .data import UnlistedCategories
    from .display import BalanceReport
    from .ledger import Balance, Condition, Ledger, Statement
    from .records import Records


Curve = TypeVar("Curve")


def plan_question(
    question: Question[Curve],
    loss: PrivacyLoss,
    adjacency: Adjacency | AdjacencyWithoutBound,
    trust: Planner | None = None,
) -> Plans:
    """Plan a question: what it would cost, and with which error it would be answered. Touches no data and no ledger.

    The plans, turn by turn; their `notes` should be read before the question is charged. Where no bound of records per
    unit is stated, the first turn finds it, and the others are planned for one record each.

    Args:
        question: Any question about records.
        loss: What it may lose.
        adjacency: Replace-one or add-remove, among a number of units; or without a bound of records per unit.
        trust: The trust model that answers. None: one curator.

    Returns:
        The plans, turn by turn, each with its loss, mechanism and error; and `notes`.

    >>> import dpcurves as dp
    >>> adjacency = dp.REPLACE_ONE.to_adjacency(dp.EACH_RECORD, units=1_000_000)
    >>> (plan,) = dp.plan_question(dp.CdfQuestion("age", dp.Grid(0, 100, cells=1024)), dp.PrivacyLoss.pure(1), adjacency)
    >>> plan.error < 19
    True
    """
    loss = require_askable(question, loss).as_single_release()
    model: Planner = trust if trust is not None else Central()
    budget = QuestionBudget.for_planning(loss, charged_by_round=getattr(model, "CHARGED_BY_TURN", False))
    plans: list[Plan] = []

    def reply_blank(step: Step, allotment: Allotment, known: Adjacency) -> Release:
        plans.append(model.plan_query(step.query, allotment.loss, known))
        return Release.make_placeholder(plans[-1])

    ask_with_contribution_bound(question, adjacency, model, budget, reply_blank)
    if budget.left != 0:
        raise InvalidArgument("question", f"the shares of a question add up to 1; {budget.left} of this one is left")
    if loss.delta and not any(plan.loss.delta for plan in plans):
        raise InvalidArgument(
            "delta", "nothing that is asked needs one: it finds groups that nobody listed, by=Unlisted(column)"
        )
    notes: tuple[str, ...] = ()
    if isinstance(adjacency, AdjacencyWithoutBound):
        notes, loss, adjacency = describe_bound_price(adjacency, plans[0]), loss * (1 - LOOK), adjacency.with_bound(1)
    unlisted = find_unlisted(question)
    if isinstance(question, HasPlanNotes):
        own = loss if unlisted is None else (loss * (1 - FIND)).with_delta(Fraction(0))
        notes += question.plan_notes(Setting(own, adjacency))
    if unlisted is not None:
        notes += describe_category_price(
            next(str(plan.loss) for plan in plans if plan.query == build_category_query(unlisted)), unlisted
        )
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
    """Find how many records of each unit are used, if nobody said, and converse as `ask_with_budget` does.

    The reply to a step is given under the adjacency of its turn. A bound that was found is `store_bound`, and the one that was
    kept first is used. Formal guarantees: see `strategies.contribution_bounds`.
    """
    if not isinstance(adjacency, AdjacencyWithoutBound):
        stated = adjacency
        return ask_with_partition_selection(
            question, stated, trust, budget, lambda step, paid: reply(step, paid, stated)
        )
    left = 1 - LOOK
    loss, two = budget.grant.loss * left, adjacency.with_bound(2)
    growth = estimate_noise_growth(
        plan_question(question, loss, two, trust), sqrt(Setting(loss, two).count_noise().variance)
    )
    look = build_unit_size_query(adjacency.column, question, growth)
    counted = reply(Step(look, LOOK), budget.pay(look, LOOK), adjacency.unit_adjacency)
    rows = 1
    if counted.allotment is not None:
        rows = store_bound(
            _largest_feasible_bound(
                choose_bound(counted, growth), lambda at: plan_question(question, loss, adjacency.with_bound(at), trust)
            )
        )
    known = adjacency.with_bound(rows)
    notes = () if counted.allotment is None else (describe_bound(counted, rows).describe(adjacency.column),)

    def reply_with_bound(step: Step, paid: Allotment) -> Release:
        release = reply(step, paid, known)
        return replace(release, notes=(*release.notes, *notes), earlier_plans=(*release.earlier_plans, counted.plan))

    return ask_with_partition_selection(question, known, trust, budget, reply_with_bound, budget_fraction=left)


def _largest_feasible_bound(rows: int, plan: Callable[[int], object]) -> int:
    """The bound, or the largest half, quarter, ... of it under which the question can be asked at all.

    Nothing that was paid for is refused because noisy counts chose more noise than can be drawn: one row of each unit
    was planned before the charge.
    """
    while rows > 1:
        try:
            plan(rows)
        except ArgumentError:
            rows //= 2
        else:
            break
    return rows


def ask_with_partition_selection(
    question: Question[Curve],
    adjacency: Adjacency,
    trust: Planner,
    budget: QuestionBudget,
    reply: Callable[[Step, Allotment], Release],
    *,
    budget_fraction: Fraction = ALL,
) -> Curve:
    """Find the groups that the question is asked by, if nobody listed them, and converse as `ask_with_budget` does.

    Formal guarantees: see `mechanisms.partition_selection`. Selected names are public; the question by them has the
    rest of the loss, and no delta.
    """
    unlisted = find_unlisted(question)
    if unlisted is None:
        return ask_with_budget(question, adjacency, trust, budget, reply, budget_fraction=budget_fraction)
    look = build_category_query(unlisted)
    told = reply(Step(look, budget_fraction * FIND), budget.pay(look, budget_fraction * FIND))
    left = (budget.grant.loss * (budget_fraction * (1 - FIND))).with_delta(Fraction(0))
    names = _largest_feasible_groups(
        question, unlisted, told, lambda asked: plan_question(asked, left, adjacency, trust)
    )
    notes = (describe_found_categories(told, unlisted, names),) if told.allotment is not None else ()
    counts = zip(parse_names(told), told.values[1::2], strict=True)
    least = (
        {name: bound_units_below(told.plan, name, noisy) for name, noisy in counts}
        if told.allotment is not None
        else {}
    )

    def reply_with_notes(step: Step, paid: Allotment) -> Release:
        release = reply(step, paid)
        uncounted = (
            describe_uncounted_categories(release, unlisted, least) if least and release.allotment is not None else None
        )
        more = () if uncounted is None else (uncounted,)
        return replace(
            release, notes=(*release.notes, *notes, *more), earlier_plans=(*release.earlier_plans, told.plan)
        )

    return ask_with_budget(
        replace_unlisted(question, unlisted, names),
        adjacency,
        trust,
        budget,
        reply_with_notes,
        budget_fraction=budget_fraction * (1 - FIND),
    )


def _largest_feasible_groups(
    question: Question[Curve],
    unlisted: UnlistedCategories,
    selection: Release,
    plan: Callable[[Question[Curve]], object],
) -> tuple[str, ...]:
    """The names by which the question can be asked: all, or as many of the largest groups as its table has room for.

    Nothing that was paid for is refused because many groups were found: those that do not fit are with the others. So
    are names that, beside the categories of another column, could print like another combination.

    Formal guarantees: a function of the told names and their noisy counts, and of public facts.
    """
    known = parse_names(selection)
    if isinstance(getattr(question, "by", None), tuple):
        known = tuple(name for name in known if ", " not in name)
    counts = dict(zip(parse_names(selection), selection.values[1::2], strict=True))
    ranked = sorted(known, key=lambda name: -counts[name])

    def take_largest(number: int) -> tuple[str, ...]:
        kept = {*ranked[:number]}
        return tuple(name for name in known if name in kept)

    def is_feasible(number: int) -> bool:
        try:
            plan(replace_unlisted(question, unlisted, take_largest(number)))
        except ArgumentError:
            return False
        return True

    if not known or is_feasible(len(known)):
        return known
    low, high = 0, len(known)
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
    budget_fraction: Fraction = ALL,
) -> Curve:
    """Pay for each step and send it its reply, until the curve is read: all who ask, and rehearsals, do it so.

    The question has this share of the grant.

    Raises:
        ValueError: it is by groups that nobody listed, which `ask_with_partition_selection` finds.
    """
    if find_unlisted(question) is not None:
        raise InvalidArgument("by", "groups that nobody listed are found by one curator alone, in a session: list them")

    def pay_and_reply(step: Step) -> Release:
        _require_paid_query(question, step)
        return reply(step, budget.pay(step.query.charged_query, step.budget_fraction * budget_fraction))

    loss = (budget.grant.loss * budget_fraction).with_delta(Fraction(0))
    return answer_steps(run_conversation(question, loss, adjacency, trust), pay_and_reply)


def answer_steps(steps: Generator[Step, Release, Curve], reply: Callable[[Step], Release]) -> Curve:
    """Send each step its reply, until the curve is read."""
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
    """Under which request `Session.charge_for` charges: the same for whoever of a project asks the same."""
    loss = loss.as_single_release()
    return member.request(dataset, loss, hash_request(question, loss, adjacency, dataset, about))


def hash_request(
    question: object, loss: PrivacyLoss, adjacency: Adjacency | AdjacencyWithoutBound, dataset: str, about: str = ""
) -> str:
    """The hash of all that a request stands for; `about` is what else tells it from others."""
    return fingerprint(_find_paid_object(question), loss, dataset, adjacency, about)


def _find_paid_object(question: object) -> object:
    """The thing that a request pays for: the question itself, or the counts that it reads."""
    return find_charged_query(question) or question


def _require_paid_query(question: object, step: Step) -> None:
    """A request that stands for one thing pays for no other, and only our own queries say what they stand for."""
    room = Query.__module__.rpartition(".")[0]
    if type(step.query).__module__.rpartition(".")[0] != room:
        raise WrongArgumentType(
            "question", f"one of the queries of dpcurves.data is needed, not a {type(step.query).__name__}"
        )
    if find_charged_query(question) not in (None, step.query.charged_query):
        raise InvalidArgument("question", "it asks for something else than it says it pays for")


def require_askable(question: object, loss: PrivacyLoss) -> PrivacyLoss:
    """Refuse what is no question, and a loss that is none or that no budget holds.

    Raises:
        TypeError, ValueError: says which.
    """
    if isinstance(question, type) or not hasattr(question, "steps"):
        raise WrongArgumentType(
            "question", f"a question, as CdfQuestion(column, grid), is needed, got {describe_value(question)}"
        )
    require_type("loss", loss, PrivacyLoss, "a loss, as in PrivacyLoss.pure(0.5),")
    if Currency.from_loss(loss).limit(loss).billionths > LARGEST_AMOUNT:
        raise InvalidArgument("loss", "no budget is above 1e9, and this is")
    if re.search(UNSTORABLE, str(question)):
        raise InvalidArgument("column", "names without null characters and lone surrogates are needed")
    return loss


UNSTORABLE = "[\\0\\ud800-\\udfff]"
"""Characters that no ledger and no file holds."""


IN_DATES = AutoRangeCdfQuestion, AutoRangeQuantilesQuestion, AutoRangeHistogramQuestion
"""Questions whose answer lies along an axis that is measured in dates, if its column holds such."""
MOMENT = "moment"
STATE = "state of the table"
"""The name under which a question stores which version of an engine's data it began with."""
ROWS = "rows per unit"
"""The name under which it stores how many records of each unit it uses, where it found that by itself."""


class Session:
    """A data set behind one ledger account and one trust model.

    Args:
        table: A path to a CSV or Parquet file, a data frame (pandas, Polars, Arrow), a mapping from column names to
            arrays, a DuckDB relation, or a table that another engine counts, as `postgres` names it. It is opened when
            the first question is asked; an engine's table is seen as it was at that moment, until the session ends.
        budget: The cap of the account: pure (counted in epsilon) or zCDP (counted in rho).
        adjacency: `ADD_REMOVE` (the number of units is private) or `REPLACE_ONE` (it is public).
        unit: The column that says whose record it is; None protects each record on its own.
        rows_per_unit: The largest number of records of one unit that are used. They are sampled once, in secret. Left
            out where there is a unit, each question finds a bound with a sixth of its loss, which then stands on
            its curve; give that to later questions (`ask`), and they find none.
        ledger: Where spending is kept: ``sqlite:///file``, ``postgresql+psycopg://...``, or ``sqlite://`` in memory.
            A ledger in memory ends with the process: losses in it are not added to any others.
        dataset: The name of the account. Two sessions that open the same records must use the same name. It ends with
            the version of the table where one is fixed, as in ``visits@12``.
        units: The public number of units, under replace-one. Left out, it is counted when data is first opened.
        delimiter: What separates the fields of a CSV file.
        trust: Who adds the noise.
        randomness: Where noise comes from. Results whose noise is not from the operating system are marked as not
            private.
        source: The public name and version of the data, as its holder declares them: they stand on every picture and in
            every file of a result, with a hash of what was released. No hash of the data does: of a table that can be
            guessed but for a record, it would tell that record. None: nothing is said.

    Formal guarantees: all curves of one account together lose at most its cap, under its adjacency, for its unit,
    however questions are chosen (basic composition). The charge is committed before any record is read.

    Raises:
        TypeError: `table`, `budget`, `adjacency` or `trust` is of another kind.
        UnsupportedQuery: `trust` is not a model with one curator; two servers, for example, cannot be asked through a
            session.

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
        self._table = table  # what it holds is told when it is opened
        self._delimiter = delimiter
        if not isinstance(adjacency, Neighbours):
            raise WrongArgumentType("adjacency", "give ADD_REMOVE or REPLACE_ONE")
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
        self._made_up: set[str] = set()
        """Requests that were named here, and are continued only after an error."""
        self._source = None if source is None else check_source(source)
        self._ledger.create(Account(dataset, self._neighbours, self._unit, budget))

    def __repr__(self) -> str:
        try:
            balance = self._report
        except Exception:  # the ledger may be away, and that is no reason to refuse to print
            return f"Session(dataset={self._dataset!r})"
        return (
            f"Session(dataset={self._dataset!r}, {self._neighbours.value}, protects {self._unit}, "
            f"budget {balance.budget}, spent {balance.spent}, left {balance.remaining})"
        )

    def _repr_html_(self) -> str:
        """The budget, what was spent of it and for what, and what is left, for notebooks."""
        from .display import account_summary

        return account_summary(self._report, f"{self._neighbours.value}; protects {self._unit}")

    @property
    def _report(self) -> BalanceReport:
        from .display import BalanceReport

        return BalanceReport.from_statement(self.statement)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the records. The ledger stays."""
        for records in self._records.values():
            records.close()
        self._records.clear()
        self._rows = None

    @property
    def statement(self) -> Statement:
        """The statement of the account: its charges, and the remaining budget."""
        return self._ledger.statement(self._dataset)

    @property
    def balance(self) -> Balance:
        """The spent and the remaining budget, without the list of charges: quick, however long that is."""
        return self._ledger.balance(self._dataset)

    def is_charged(self, request: str) -> bool:
        """Tell whether this request was charged before: asking the same question under it again costs nothing."""
        return self._ledger.find_grant(self._dataset, request) is not None

    @property
    def unit(self) -> Unit:
        """The protected unit."""
        return self._unit

    @property
    def remaining(self) -> PrivacyLoss:
        """The remaining budget."""
        balance = self.balance
        left, cap = balance.remaining, balance.account.cap.delta
        delta = cap - self._ledger.delta_spent(self._dataset) if cap else cap
        if left.currency is Currency.EPSILON:
            return PrivacyLoss(left.exact, left.exact**2 / 2, delta=delta)
        return PrivacyLoss(None, left.exact, delta=delta)

    @property
    def adjacency(self) -> Adjacency:
        """The neighbouring relation of all releases. Where the number of units is public, it is counted here once.

        Raises:
            ValueError: no bound of records per unit is stated, so each question has a relation of its own; or the table
                has no record.
        """
        return self._neighbours.to_adjacency(self._unit, self._count_units())

    def _count_units(self) -> int | None:
        if self._neighbours.has_public_units and self._units is None:
            self._units = self._open_records(self._unit).units()
            if self._units == 0:
                raise InvalidArgument(
                    "data", "the table has no record; replace-one needs at least one unit (use add-remove)"
                )
        return self._public_units

    def _question_adjacency(self, rows_per_unit: int | None) -> Adjacency | AdjacencyWithoutBound:
        """The relation of one question: with the bound that is given for it, if the session has none."""
        if self._unit.is_bounded:
            if rows_per_unit is not None:
                raise InvalidArgument(
                    "rows_per_unit", "all questions of this session have one bound, which it was opened with"
                )
            return self.adjacency
        unit = self._unit if rows_per_unit is None else Unit(self._unit.column, rows_per_unit)
        return self._neighbours.to_question_adjacency(unit, self._count_units())

    def plan(self, question: Question[Curve], loss: PrivacyLoss, *, rows_per_unit: int | None = None) -> Plans:
        """The plan of a question without any data: the loss of each turn, expected errors, refusals and notes.

        Opens no data, unless the number of units is public and was not given.
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
        """Plan, charge and answer a question. The same `request` again gives the same curve at no further loss.

        Questions that use the same release (a distribution function at some edges of a grid, and quantiles that are
        searched for along it) may follow each other under one request: the charge for the first covers all, and a count
        that was answered once keeps its answer.

        Args:
            question: What is asked.
            loss: What it may lose.
            request: A name of this request.
            rows_per_unit: Where the session has no bound of records per unit: the one that is used, a public number
                such as ``curve.privacy.rows_per_unit`` of an earlier answer. None: a sixth of the loss finds one.

        Warns:
            CurveWarning: each of the curve's `notes`, for instance on values that were clamped or missing, by released
                numbers.

        Raises:
            UnsupportedQuery, BudgetExceeded: nothing was charged.
            ValueError: a column is not there or of the wrong type, or `request` was used for another question;
                nothing was charged.
            TypeError: `loss` is no `PrivacyLoss`, or `question` no question; nothing was charged.
            Exception: any error after the charge has a note with the request, which may have been generated here: the
                same question under it is answered at no further loss.
        """
        from .ledger.verification import attach_receipt  # a plan needs no database

        loss = require_askable(question, loss).as_single_release()
        if request is None:
            request = secrets.token_hex(16)
            self._made_up.add(request)
        plans = self.plan(question, loss, rows_per_unit=rows_per_unit)
        promised = self._question_adjacency(rows_per_unit)
        self.check_plans(plans)
        binding = hash_request(question, loss, promised, self._dataset)
        grant = self._ledger.charge(
            self._dataset, loss, purpose=str(question), request=request, binding=binding,
            units=self._public_units,
        )  # fmt: skip
        with attach_receipt(request):
            curve = self._label_source(self._run_question(question, grant, promised))
            warn_about_notes(curve)
            self._note_remaining_budget(curve)
        return curve

    def _note_remaining_budget(self, curve: object) -> None:
        """Let a result tell in its HTML summary what was left of the budget, if anything was."""
        balance = self.balance
        if isinstance(curve, Result) and balance.remaining.exact > 0:
            object.__setattr__(
                curve, "remaining_budget", f"{balance.remaining} of {balance.account.limit} was left after this"
            )

    def charge_for(
        self,
        member: Member,
        question: Question[Curve],
        loss: PrivacyLoss,
        about: str = "",
        only_if: Condition | None = None,
    ) -> Grant:
        """Plan and charge for one analyst of a project, out of both allowances and the cap; no record is read.

        Any analyst of the project who asks the same question gets the same grant at no further loss; `answer_grant` gives
        its answer.

        Args:
            member: Who asks.
            question: What is asked.
            loss: What it may lose.
            about: What else distinguishes it from other questions, such as the version of the data.
            only_if: What else has to hold when it is charged: see `Ledger.charge_for`. None: nothing.

        Raises:
            UnsupportedQuery, BudgetExceeded, ValueError, TypeError: as of `ask`; nothing was charged.
        """
        loss = require_askable(question, loss).as_single_release()
        self.check_plans(self.plan(question, loss))
        promised = self._question_adjacency(None)
        binding = hash_request(question, loss, promised, self._dataset, about)
        condition = {} if only_if is None else {"only_if": only_if}
        return self._ledger.charge_for(
            member, self._dataset, loss, purpose=str(question), binding=binding, units=self._public_units,
            **condition,
        )  # fmt: skip

    def answer_grant(self, question: Question[Curve], grant: Grant) -> Curve:
        """The answer to a charged question: counted now, or read again from the ledger. Its numbers never change.

        Raises:
            ValueError: the ledger gave no such grant.
        """
        return self._label_source(self._run_question(question, grant, self._question_adjacency(None)))

    def _label_source(self, curve: Curve) -> Curve:
        with_source: Callable[[str], Curve] | None = getattr(curve, "with_source", None)
        return curve if self._source is None or with_source is None else with_source(self._source)

    @property
    def _public_units(self) -> int | None:
        return self._units if self._neighbours.has_public_units else None

    def _run_question(
        self, question: Question[Curve], grant: Grant, promised: Adjacency | AdjacencyWithoutBound
    ) -> Curve:
        paid: dict[int, Release] = {}
        question = self._with_time_unit(question)

        def find_reply(step: Step, allotment: Allotment, known: Adjacency) -> Release:
            if allotment.part not in paid:
                paid[allotment.part] = self._find_or_run_release(step.query.charged_query, grant, allotment, known)
            if step.query == step.query.charged_query:
                return paid[allotment.part]
            return self._run(self._trust.plan_query(step.query, allotment.loss, known), grant, allotment)

        def store_bound(rows: int) -> int:
            return self._ledger.store_notes(grant, 0, {ROWS: rows})[ROWS]

        return ask_with_contribution_bound(
            question, promised, self._trust, QuestionBudget(grant), find_reply, store_bound=store_bound
        )

    def _with_time_unit(self, question: Question[Curve]) -> Question[Curve]:
        """The question, measured in dates or moments where its column is declared to hold such, and nobody said."""
        if not isinstance(question, IN_DATES) or question.measured_in:
            return question
        unit = self._open_records().time_kind(question.column)
        return cast(Question[Curve], replace(question, measured_in=unit)) if unit in UNITS else question

    def _find_or_run_release(self, thing: Query, grant: Grant, allotment: Allotment, known: Adjacency) -> Release:
        """The stored answer of this payment; else it is answered and stored now. It has the turn of its part."""
        plan = self._trust.plan_query(thing, allotment.loss, known)
        stored = self._ledger.find_answer(grant, allotment.part, allotment.part)
        if stored is None:
            fresh = self._run(plan, grant, allotment)
            stored = self._ledger.store_answer(grant, allotment.part, allotment.part, fresh.to_json())
        return Release.from_json(stored, plan, allotment)

    def _run(self, plan: Plan, grant: Grant, allotment: Allotment) -> Release:
        records = self._open_records(plan.adjacency.unit)
        self._require_same_snapshot(records, grant)
        curator = Curator(records, self._ledger.memory_of(grant, allotment.part))
        return self._trust.run(plan, [curator], allotment, self._randomness)

    def _require_same_snapshot(self, records: Records, grant: Grant) -> None:
        """Let all turns of one question see one state of the data, where the engine can tell states apart.

        The state of the table itself is asked for where somebody named the request, and so may continue it another day:
        some engines read the table once for it. What was begun without it is compared without it.
        """
        moment = records.moment
        if moment is None:
            return
        noted, state = self._ledger.find_notes(grant, 0, (MOMENT, STATE)), None
        if STATE in noted or not (noted or grant.request in self._made_up):
            state = records.state()
        notes = {MOMENT: moment} if state is None else {MOMENT: moment, STATE: state}
        noted = self._ledger.store_notes(grant, 0, notes)
        if noted[MOMENT] != moment and (state is None or noted[STATE] != state):
            raise InvalidArgument(
                "data", "the engine's data may have changed since this request began; ask under a new request"
            )

    def _open_records(self, unit: Unit | None = None) -> Records:
        """Records, of which so many of each unit are used; one of each, where that is not known yet."""
        unit = unit or self._unit
        unit = unit if unit.is_bounded else Unit(unit.column, 1)
        if unit not in self._records:
            from .records import open_records

            opened = None if self._rows is None else self._rows.with_unit(unit)  # all turns see one state of the rows
            if opened is None:
                key = self._ledger.dataset_key(self._dataset)
                opened = open_records(self._table, unit=unit, key=key, delimiter=self._delimiter)
                self._rows = self._rows or opened
            self._records[unit] = opened
        return self._records[unit]

    def check_plans(self, plans: Plans) -> None:
        """Refuse what the records do not have, and another number of units; `ask` does so before the charge.

        Args:
            plans: Those of a question, as `plan` gives them.

        Raises:
            ValueError: a column is not there or of the wrong type, or there are not as many units as was promised.
        """
        for plan in plans:
            records = self._open_records(plan.adjacency.unit)
            if not self._unit.is_bounded and self._rows is not None:
                self._rows.check_unit_sizes()
            if plan.query.input_axes:  # units are counted without any
                records.check(plan.query.input_axes)
        records = self._open_records()
        if self._neighbours.has_public_units and records.units() != self._units:
            raise InvalidArgument(
                "units", f"{self._units} were promised in public; the table has another number of units"
            )


def _resolve_trust(trust: TrustModel[Curator] | None, table: object) -> TrustModel[Curator]:
    """Let statements name the engine that counts: it sees all records, so it is trusted as the curator is."""
    engine = getattr(table, "engine", None)
    trust = Central() if trust is None else trust
    if isinstance(trust, type) or not all(hasattr(trust, part) for part in ("holders", "plan", "run", "plan_query")):
        raise WrongArgumentType("trust", f"a trust model, as Central(), is needed, got {describe_value(trust)}")
    if trust.holders != (Curator,):
        needed = ", ".join(holder.__name__ for holder in trust.holders)
        instead = getattr(trust, "INSTEAD", f"it needs {needed}")
        raise UnsupportedQuery("trust", f"a session has one curator, who sees all records; with {trust!r} {instead}")
    if isinstance(trust, Central) and type(engine) is str and not trust.engine:
        return replace(trust, engine=engine)
    if type(trust) is Central and _is_csv(table):
        return replace(trust, tells_reasons=True)
    return trust


def _is_csv(table: object) -> bool:
    """Tell whether a table is a CSV file, by its type or name: lines may be malformed, and fields may be any text."""
    return isinstance(table, CsvFile) or (
        isinstance(table, str | PathLike) and str(table).lower().endswith((".csv", ".csv.gz"))
    )


def _require_version_suffix(dataset: str, table: Any) -> str:
    """The name, once it says which version of its table is read: what is spent on one is not spent on another."""
    version = getattr(table, "version", None) if isinstance(getattr(table, "engine", None), str) else None
    if type(version) is int and not str(dataset).endswith(f"@{version}"):
        raise InvalidArgument(
            "dataset", f"version {version} of a table is read: end it with that, as in 'visits@{version}'"
        )
    return dataset


def _resolve_unit(column: str | None, rows: int | None) -> Unit:
    if column is None:
        if rows is not None:
            raise InvalidArgument("rows_per_unit", "name the column that says whose record it is, with unit=")
        return EACH_RECORD
    require_type("unit", column, str, "the name of a column")
    if not column:
        raise InvalidArgument("unit", "a column needs a name; leave unit out to protect each record on its own")
    return Unit.with_unknown_bound(column) if rows is None else Unit(column, rows)
