"""SECRET. A site of a federation, which answers turn by turn; and the federation, as whoever asks it sees it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Protocol, TypeVar

import numpy as np
from sqlalchemy import Column, ColumnElement, Connection, Integer, MetaData, Table, insert, select

from dpcurves.arguments import InvalidArgument, ProtocolError
from dpcurves.conversation import Plan, Plans, Release, Step
from dpcurves.conversation.release import fingerprint
from dpcurves.curves import Question
from dpcurves.curves.result import warn_about_notes
from dpcurves.ledger import Account, Allotment, Amount, BudgetExceeded, Grant, Ledger, QuestionBudget
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, Adjacency, Neighbours, PrivacyLoss, Unit
from dpcurves.queries import Query
from dpcurves.records import Records, open_records
from dpcurves.session import ask_with_budget, plan_question
from dpcurves_parties.serving.database import bytes_columns, text_columns, text_key_columns

from .columns import Schema, count_used_rows, require_known_columns, require_task_columns
from .secure_sum import (
    KEYS,
    MASKED,
    OPENED,
    SHARES,
    SIGNED,
    STAGES,
    RandomSource,
    Roster,
    Signer,
    SiteState,
    SumRound,
    Vector,
    advertise_keys,
    mask_vector,
    share_keys,
    sign_list,
    unmask,
)
from .secure_sum import Step as Taken
from .trust import SecureSum, derive_round

# SECRET. Turns of a site, kept: a step is taken once, and written down before a message leaves the house.
METADATA = MetaData()
STEPS = Table(
    "dpcurves_sum_steps", METADATA, *text_key_columns("task", "turn"),
    Column("stage", Integer, primary_key=True, autoincrement=False), *text_columns("place", "given"),
    *bytes_columns("state", "message"),
)  # fmt: skip
VECTORS = Table("dpcurves_sum_vectors", METADATA, *text_key_columns("task", "turn"), *bytes_columns("vector"))
LISTS = Table("dpcurves_sum_lists", METADATA, *text_key_columns("task", "payment"), *text_columns("listed"))


class RoundStore:
    """The steps of one site, in tables beside its ledger: as durable as that, and as secret. It has no repr.

    Formal guarantees: of each turn a stage is answered once. Who asks again, after whatever crash, gets the bytes of
    the first time; who asks with other messages of others, or for another plan or roster under the same number, is
    refused. A message is returned once it is on disk together with what has to be remembered, and the vector is on disk
    before it is masked: so noise is not drawn twice, and not two lists are signed. Of all turns under one payment, the
    lists that a site signs are of the same sites.

    Args:
        signer: The site, and its key.
        ledger: What the tables stand beside.
        randomness: Where secrets come from.
    """

    __slots__ = ("_database", "_randomness", "_signer")

    def __init__(self, signer: Signer, ledger: Ledger, randomness: RandomSource) -> None:
        self._signer, self._database, self._randomness = signer, ledger.database, randomness
        self._database.run_write(METADATA.create_all)

    def answer_stage(
        self,
        sum_round: SumRound,
        stage: int,
        previous_messages: Sequence[bytes],
        vector: Callable[[], Vector],
        payment: str,
    ) -> bytes:
        """The message of a stage.

        Args:
            sum_round: Which one.
            payment: What it is paid under: turns of one payment may share their noise.
            stage: From `KEYS` to `OPENED`.
            previous_messages: What others sent in the stage before.
            vector: SECRET. Makes what is summed: it is called once, for the stage `MASKED`.

        Raises:
            ProtocolAborted: it was answered otherwise before, or what is given is not what it should be.
        """
        if stage == MASKED:
            self._store_vector(sum_round, vector)
        return self._database.run_write(
            lambda connection: self._answer_once(connection, sum_round, stage, previous_messages, payment)
        )

    def has_answered(self, sum_round: SumRound, stage: int) -> bool:
        """Tell whether a stage was answered."""
        return self._database.run_read(lambda connection: stage in _load_steps(connection, sum_round))

    def _store_vector(self, sum_round: SumRound, vector: Callable[[], Vector]) -> None:
        kept = select(VECTORS.c.vector).where(*_round_conditions(VECTORS, sum_round))
        if self._database.run_read(lambda connection: connection.execute(kept).first()) is None:
            octets = vector().astype("<u8").tobytes()

            def insert_vector(connection: Connection) -> None:
                if connection.execute(kept).first() is None:  # else another process was first, and its vector stays
                    connection.execute(insert(VECTORS).values(**_round_columns(sum_round), vector=octets))

            self._database.run_write(insert_vector)

    def _answer_once(
        self, connection: Connection, sum_round: SumRound, stage: int, previous_messages: Sequence[bytes], payment: str
    ) -> bytes:
        said = sha256(b"".join(sorted({sha256(message).digest() for message in previous_messages}))).hexdigest()
        before = _load_steps(connection, sum_round)
        if any(place != sum_round.header.hex() for place, *_ in before.values()):
            raise ProtocolError("turn", "it was begun for another plan or roster")
        if stage in before:
            _, answered, _, message = before[stage]
            if stage != OPENED and answered != said:  # a quorum may grow; what is opened is the same
                raise ProtocolError(STAGES[stage], "this stage was answered before, to other messages")
            return message
        if stage != len(before) + 1:
            raise ProtocolError(STAGES[stage], f"{STAGES[len(before) + 1]} come first", 409)
        state = before[stage - 1][2] if stage > KEYS else b""
        after, message = self._take_step(connection, sum_round, stage, state, previous_messages)
        if stage == SIGNED:
            _require_same_sites(connection, sum_round, payment, SiteState.from_bytes(after).signed_list[0])
        row = {**_round_columns(sum_round), "stage": stage, "place": sum_round.header.hex(), "given": said}
        connection.execute(insert(STEPS).values(**row, state=after, message=message))
        return message

    def _take_step(
        self, connection: Connection, sum_round: SumRound, stage: int, state: bytes, previous_messages: Sequence[bytes]
    ) -> Taken:
        if stage == KEYS:
            return advertise_keys(sum_round, self._signer, self._randomness)
        if stage == SHARES:
            return share_keys(sum_round, self._signer, state, previous_messages, self._randomness)
        if stage == MASKED:
            kept = connection.execute(
                select(VECTORS.c.vector).where(*_round_conditions(VECTORS, sum_round))
            ).scalar_one()
            return mask_vector(sum_round, self._signer, state, previous_messages, np.frombuffer(kept, dtype="<u8"))
        return (sign_list if stage == SIGNED else unmask)(sum_round, self._signer, state, previous_messages)


def _require_same_sites(connection: Connection, sum_round: SumRound, payment: str, sites: Sequence[int]) -> None:
    """Refuse a list of other sites than those of a turn before under this payment, with which it may share noise."""
    task, listed = sum_round.roster.task.hex(), json.dumps(list(sites))
    query = select(LISTS.c.listed).where(LISTS.c.task == task, LISTS.c.payment == payment)
    before = connection.execute(query).scalar()
    if before is None:
        connection.execute(insert(LISTS).values(task=task, payment=payment, listed=listed))
    elif before != listed:
        raise ProtocolError(STAGES[SIGNED], "other sites were in the sums before, under the same payment")


def _round_columns(sum_round: SumRound) -> dict[str, str]:
    return {"task": sum_round.roster.task.hex(), "turn": f"{sum_round.number:016x}"}


def _round_conditions(table: Table, sum_round: SumRound) -> list[ColumnElement[bool]]:
    return [table.c[name] == value for name, value in _round_columns(sum_round).items()]


def _load_steps(connection: Connection, sum_round: SumRound) -> dict[int, tuple[str, str, bytes, bytes]]:
    rows = connection.execute(select(STEPS).where(*_round_conditions(STEPS, sum_round)).order_by(STEPS.c.stage))
    return {row.stage: (row.place, row.given, row.state, row.message) for row in rows}


Curve = TypeVar("Curve")
TASK = 16
"""Digits of a task's hash in the request of a charge."""


@dataclass(frozen=True, slots=True)
class FederationTerms:
    """Public facts of a task, on which all sites agreed.

    Attributes:
        model: How many sites there are, and how many are tolerated.
        roster: The sites by their keys.
        neighbours: Whether the number of units is public.
        unit: The unit that is protected, and how many of its records a site uses.
        units: The number of units of each site; empty where it is private.
        budget: What each site may lose in all.
        columns: What questions may ask of; empty: they may name any column.
        most_rows: The most records that a site says it has; None: none was promised.

    Raises:
        ValueError: the numbers of sites differ, or the numbers of units are there though they are private, or are not.
    """

    model: SecureSum
    roster: Roster
    neighbours: Neighbours
    unit: Unit
    units: tuple[int, ...]
    budget: PrivacyLoss
    columns: Schema = field(default_factory=dict)
    most_rows: int | None = None

    def __post_init__(self) -> None:
        if self.roster != self.model.build_roster(self.roster.task, self.roster.keys):
            raise InvalidArgument("roster", "it is not that of these sites")
        if len(self.units) != (self.model.sites if self.neighbours.has_public_units else 0):
            raise InvalidArgument(
                "units", "replace-one needs the public number of units of each site; add-remove needs none"
            )

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency of all records together."""
        return self.model.build_adjacency(self.neighbours, self.unit, sum(self.units) if self.units else None)

    def plan_question(self, question: Question[Any], loss: PrivacyLoss) -> Plans:
        """The plan of a question, turn by turn, without any data.

        Raises:
            UnsupportedQuery, ValueError: sums can not answer it, or it names a column that is none of the task.
        """
        plans = plan_question(question, loss, self.adjacency, self.model)
        for plan in plans:
            require_known_columns(self.columns, plan.query.axes)
        return plans

    def plan_query(self, query: Query, loss: PrivacyLoss) -> Plan:
        """The plan of a turn. Raises as `plan_question`."""
        require_known_columns(self.columns, query.axes)
        return self.model.plan_query(query, loss, self.adjacency)


class Site:
    """A site, with its records and its ledger. It has no repr.

    Formal guarantees: what the site sends of a turn is one answer to one plan (`RoundStore`), which it made itself from
    the query and the terms, and charged to its own account before it counted. All that it ever adds to sums loses at
    most its budget; by itself, what it sends is masked.

    Args:
        terms: What was agreed on.
        signer: Which site this is, and its key.
        table: Its records, as a session takes them.
        ledger: Its ledger.
        dataset: The name of its account.
        delimiter: What separates the fields of a CSV file.
        columns: Names of columns in the table, by those in questions, where they differ.
        randomness: Where its shares of the noise, and its secrets, come from.

    Raises:
        ValueError: the key is not that of the roster; or the account was opened under other facts.
    """

    def __init__(
        self,
        terms: FederationTerms,
        signer: Signer,
        table: Any,
        ledger: Ledger,
        dataset: str,
        *,
        delimiter: str = ",",
        columns: Mapping[str, str] | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        if terms.roster.keys[signer.site] != signer.key.public_key().public_bytes_raw():
            raise InvalidArgument("key", f"it is not that of site {signer.site} in the roster")
        self._terms, self._number, self._ledger, self._dataset = terms, signer.site, ledger, dataset
        self._table, self._delimiter, self._names = table, delimiter, dict(columns or {})
        self._randomness = randomness if randomness is not None else Randomness.from_system()
        self._records: Records | None = None
        ledger.create(Account(dataset, terms.neighbours, terms.unit, terms.budget))
        self._kept = RoundStore(signer, ledger, self._randomness)

    @property
    def roster(self) -> Roster:
        """Sites of the task."""
        return self._terms.roster

    def open(self) -> None:
        """Open the records, and refuse what is not as the task says, before any question is asked.

        Raises:
            ValueError: a column of the task is not there, or of another kind; there are other numbers of units, or more
                records, than were promised.
        """
        self._open_records()

    def require_answerable(self, plans: Plans, request: str) -> None:
        """Refuse a question before its first turn, if one of its turns could not be paid, or asks for other columns.

        Args:
            plans: All turns, as they were rehearsed.
            request: Its id. What was charged under it before is not charged again.

        Raises:
            BudgetExceeded: there is not so much left; nothing was charged.
            ValueError: the records do not have what it asks.
        """
        records = self._open_records()
        for plan in plans:
            records.check(plan.query.axes)
        if self._ledger.find_grant(self._dataset, self._build_request_id(request, 0)) is None:
            left = self._ledger.balance(self._dataset).remaining
            prices = {plan.query.charged_query: left.currency.price(plan.loss).billionths for plan in plans}
            self._require_budget(Amount(left.currency, sum(prices.values())), left, "this question")

    def close(self) -> None:
        """Close the records."""
        if self._records is not None:
            self._records.close()
            self._records = None

    def answer(self, plan: Plan, allotment: Allotment, stage: int, previous_messages: Sequence[bytes]) -> bytes:
        """See `SiteHolder`.

        Raises:
            BudgetExceeded: there is not so much left; nothing was charged.
            UnsupportedQuery, ValueError: it is no plan of this task, or the records do not have what it asks.
            ProtocolAborted: see `RoundStore.answer_stage`.
        """
        made = self._terms.plan_query(plan.query, allotment.loss)
        if made.fingerprint != plan.fingerprint:
            raise InvalidArgument("plan", "this site would make another one: it has other terms, or another version")
        turn, payment = (
            derive_round(self.roster, made, allotment),
            self._build_request_id(allotment.request, allotment.part),
        )
        if stage == KEYS and not self._kept.has_answered(turn, KEYS):
            if self._ledger.find_grant(self._dataset, payment) is None:  # it can be paid, before any site counts
                left = self._ledger.balance(self._dataset).remaining
                self._require_budget(left.currency.price(allotment.loss), left, "this turn")
            self._open_records().check(made.query.axes)
        return self._kept.answer_stage(
            turn, stage, previous_messages, lambda: self._build_vector(made, allotment), payment
        )

    def _build_vector(self, plan: Plan, allotment: Allotment) -> Vector:
        """SECRET: charge, count, and add this site's shares of the noise."""
        grant = self._charge_round(plan, allotment)
        memory = self._ledger.memory_of(grant, allotment.part)
        vector = self._terms.model.build_vector(plan, self._open_records(), memory, self._randomness)
        return np.asarray(vector, dtype=np.uint64)

    def _charge_round(self, plan: Plan, allotment: Allotment) -> Grant:
        thing = plan.query.charged_query
        return self._ledger.charge(
            self._dataset, allotment.loss, purpose=f"a secure sum: {plan.made_by}",
            request=self._build_request_id(allotment.request, allotment.part), units=self._units,
            binding=fingerprint(thing, allotment.loss, self._terms.adjacency, self._dataset, self.roster),
        )  # fmt: skip

    def _build_request_id(self, request: str, part: int) -> str:
        """The request of a charge. It names the task: in another one, noise is drawn anew, and is paid for anew."""
        return f"{self.roster.task.hex()[:TASK]}/{request}/{part}"

    def _require_budget(self, needed: Amount, remaining: Amount, purpose: str) -> None:
        if needed.billionths > remaining.billionths:
            raise BudgetExceeded("budget", f"site {self._number} has {remaining} left, and {purpose} needs {needed}")

    @property
    def _units(self) -> int | None:
        return self._terms.units[self._number] if self._terms.units else None

    def _open_records(self) -> Records:
        if self._records is None:
            unit = self._terms.unit
            own = replace(unit, column=self._names.get(unit.column, unit.column)) if unit != EACH_RECORD else unit
            key = self._ledger.dataset_key(self._dataset)
            opened = open_records(self._table, unit=own, key=key, delimiter=self._delimiter)
            records = opened.with_column_names(self._names)
            try:
                self._require_agreed_records(records)
            except BaseException:
                records.close()
                raise
            self._records = records
        return self._records

    def _require_agreed_records(self, records: Records) -> None:
        terms = self._terms
        require_task_columns(records, terms.columns)
        if self._units is not None and records.units() != self._units:
            raise InvalidArgument(
                "units", f"{self._units} were promised in public; the table has another number of units"
            )
        if terms.most_rows is not None and count_used_rows(records, terms.columns, terms.unit) > terms.most_rows:
            raise InvalidArgument("most_rows", f"at most {terms.most_rows} records were promised; the table has more")


class AnswerFunction(Protocol):
    """Interface of functions that have a plan answered by the sites."""

    def __call__(self, plan: Plan, allotment: Allotment) -> Release: ...


class Federation:
    """The sites together, as whoever asks sees them: plans, and curves.

    Args:
        terms: What the sites agreed on.
        asked: Has a plan answered.
        sites: Those that are asked beforehand whether they could pay for a whole question, and answer it.
    """

    def __init__(self, terms: FederationTerms, answer: AnswerFunction, sites: Sequence[Site] = ()) -> None:
        self._terms, self._asked, self._sites = terms, answer, sites

    @classmethod
    def from_sites(cls, terms: FederationTerms, sites: Sequence[Site]) -> Federation:
        """Sites that are all in this process: for tests, and to try it out."""
        unused = Randomness.from_system()
        return cls(terms, lambda plan, allotment: terms.model.run(plan, sites, allotment, unused), sites)

    def plan(self, question: Question[Curve], loss: PrivacyLoss) -> Plans:
        """The plan of a question without any data."""
        return self._terms.plan_question(question, loss)

    def ask(self, question: Question[Curve], loss: PrivacyLoss, request: str | None = None) -> Curve:
        """Plan, and have the sites charge and answer: as `Session.ask`. The same request again gives the same curve.

        Warns:
            CurveWarning: each of the curve's `notes`.

        Raises:
            UnsupportedQuery: nothing was charged.
            BudgetExceeded: a site has not so much left for all turns; nothing was charged.
            ProtocolAborted: a site did not answer, or a message was altered.
        """
        plans, name = self.plan(question, loss), request if request is not None else secrets.token_hex(16)
        for site in self._sites:
            site.require_answerable(plans, name)
        budget = QuestionBudget.from_external_charge(name, loss.as_single_release(), charged_by_round=True)

        def reply(step: Step, allotment: Allotment) -> Release:
            return self._asked(self._terms.plan_query(step.query, allotment.loss), allotment)

        curve = ask_with_budget(question, self._terms.adjacency, self._terms.model, budget, reply)
        warn_about_notes(curve)
        return curve


__all__ = ["Federation", "FederationTerms", "Site", "SumRound"]
