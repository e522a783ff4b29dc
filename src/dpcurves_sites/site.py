"""SECRET. Site of a federated query: it charges its own privacy budget, counts its records, adds noise, and masks.

A federation is a group of sites (such as hospitals) that keep their records and reveal only noisy sums of their counts.
A question takes one or more rounds; a round is one run of the secure aggregation protocol (`secure_sum`), whose five
stages exchange one message of each site.

    Site          one site: checks the query plan, charges its ledger, counts, adds its share of the noise, and masks
    RoundStore    stores state and message of each stage before the message is sent, so that a repeated request gets
                  the stored message
    Federation    many sites in one process without a network, asked like a `Session`

Formal guarantees: a site charges its own ledger for a round before it counts, and answers each stage of a round once.
The second matters because two answers with fresh noise would reveal more than the charge covers, and two lists of sites
under one charge would reveal the difference of two sums.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import Any, Protocol, TypeVar

import numpy as np
from sqlalchemy import Column, ColumnElement, Connection, Integer, MetaData, Table, delete, insert, select

from dpcurves.arguments import ArgumentError, InvalidArgument, ProtocolError
from dpcurves.conversation import Plan, Plans, Release, Step
from dpcurves.conversation.release import fingerprint
from dpcurves.curves import Question
from dpcurves.curves.result import warn_about_notes
from dpcurves.ledger import Account, Allotment, Amount, BudgetExceeded, Grant, Ledger, QuestionBudget
from dpcurves.ledger.chain import has_tables, make_tables
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
from .secure_sum import Step as SecureSumStep
from .trust import SecureSum, derive_round

# SECRET. Stored rounds of a site: each stage is computed once, and stored before its message is sent. `header` is the
# round's plan and roster, and `messages_digest` the hash of the messages of the previous stage.
METADATA = MetaData()
"""The tables below, which a site adds to the database of its ledger; what they hold is SECRET."""
SUM_STEP_TABLE = Table(
    "dpcurves_sum_steps", METADATA, *text_key_columns("task", "round"),
    Column("stage", Integer, primary_key=True, autoincrement=False), *text_columns("header", "messages_digest"),
    *bytes_columns("state", "message"),
)  # fmt: skip
"""One row per stage of a round: the state of the site and the message that it sent, so that a repeated stage sends the
same."""
SUM_VECTOR_TABLE = Table("dpcurves_sum_vectors", METADATA, *text_key_columns("task", "round"), *bytes_columns("vector"))
"""One row per round: the site's summand, not yet masked, so that it is computed once."""
SUM_LIST_TABLE = Table("dpcurves_sum_lists", METADATA, *text_key_columns("task", "payment"), *text_columns("sites"))
"""One row per paid request: the sites whose records are in its first sum (`sites`, JSON), for all later sums of it."""


class RoundStore:
    """SECRET. The stored rounds of one site, in the database of its ledger. It has no repr.

    Formal guarantees: each stage of a round is answered once. A repeated request, after any crash, gets the same bytes;
    a request with other messages, or with another plan or roster under the same number, is refused. A message is
    returned after it is stored together with the new state, and a vector is stored before it is masked: so noise is not
    drawn twice, and no two lists are signed. In all rounds under one payment, a site signs lists of the same sites.

    Args:
        signer: The site and its key.
        ledger: The ledger whose database holds the tables.
        randomness: Source of secrets.
    """

    __slots__ = ("_database", "_randomness", "_signer")

    def __init__(self, signer: Signer, ledger: Ledger, randomness: RandomSource) -> None:
        """Prepare to store a site's messages and secrets of rounds of secure aggregation in the database of its ledger.

        Args:
            signer: Number and signing key of the site.
            ledger: Ledger of the site, whose database is used.
            randomness: Source of the secrets.
        """
        self._signer = signer
        self._database = ledger.database
        self._randomness = randomness
        if not self._database.run_read(partial(has_tables, tables=METADATA)):
            self._database.run_write(partial(make_tables, tables=METADATA))

    def answer_stage(
        self,
        sum_round: SumRound,
        stage: int,
        previous_messages: Sequence[bytes],
        vector: Callable[[], Vector],
        payment: str,
    ) -> bytes:
        """Return the site's message of a stage: computed once and stored, and from then on the stored one.

        Args:
            sum_round: The round of secure aggregation.
            stage: Number of the stage, from `KEYS` to `OPENED`.
            previous_messages: The messages of all sites in the previous stage; empty in the first.
            vector: SECRET. Computes the site's summand; called once, in stage `MASKED`.
            payment: Request id of the charge in the site's ledger; rounds under one charge may share noise.

        Raises:
            ProtocolError: The stage was answered to other messages, or a message is invalid.
        """
        digest = _digest_messages(previous_messages)
        answered = self._database.run_read(lambda connection: _find_message(connection, sum_round, stage, digest))
        if answered is not None:  # before anything is written, so that a full or read-only disk repeats answers
            return answered
        if stage == MASKED:
            self._store_vector(sum_round, vector)
        return self._database.run_write(
            lambda connection: self._answer_once(connection, sum_round, stage, previous_messages, payment)
        )

    def find_write_trouble(self) -> str:
        """Try to write to the site's database, and return why that fails, in a line without stored values; empty if it
        works.
        """
        probe = {"task": self._signer.key.public_key().public_bytes_raw().hex(), "payment": "", "sites": ""}

        def write_nothing(connection: Connection) -> None:
            """Insert a row and delete it again, in one transaction, to test that the database can be written.

            Args:
                connection: Connection in the write transaction.
            """
            connection.execute(insert(SUM_LIST_TABLE).values(**probe))
            connection.execute(
                delete(SUM_LIST_TABLE).where(SUM_LIST_TABLE.c.task == probe["task"], SUM_LIST_TABLE.c.payment == "")
            )

        try:
            self._database.run_write(write_nothing)
        except ArgumentError as error:
            return str(error)
        return ""

    def has_answered(self, sum_round: SumRound, stage: int) -> bool:
        """Return True if this site has stored its message of a stage of a round, so that a request repeats it.

        Args:
            sum_round: Round of the secure sum.
            stage: Number of the stage.
        """
        return self._database.run_read(lambda connection: stage in _load_steps(connection, sum_round))

    def _store_vector(self, sum_round: SumRound, vector: Callable[[], Vector]) -> None:
        """SECRET: compute and store the site's summand of a round, once, before it is masked.

        Args:
            sum_round: The round.
            vector: Function that computes the summand; it is called only if none is stored.
        """
        stored = select(SUM_VECTOR_TABLE.c.vector).where(*_round_conditions(SUM_VECTOR_TABLE, sum_round))
        if self._database.run_read(lambda connection: connection.execute(stored).first()) is None:
            octets = vector().astype("<u8").tobytes()

            def insert_vector(connection: Connection) -> None:
                """Store the site's summand in the database, unless another process has stored one for this round.

                Args:
                    connection: Connection in the write transaction.
                """
                if connection.execute(stored).first() is None:  # another process may have been first
                    connection.execute(insert(SUM_VECTOR_TABLE).values(**_round_columns(sum_round), vector=octets))

            self._database.run_write(insert_vector)

    def _answer_once(
        self, connection: Connection, sum_round: SumRound, stage: int, previous_messages: Sequence[bytes], payment: str
    ) -> bytes:
        """Return the stored message of a stage; or take the step, and store state and message in this transaction.

        Args:
            connection: Connection in a transaction.
            sum_round: The round.
            stage: Number of the stage.
            previous_messages: Messages of the sites from the stage before.
            payment: Request id of the charge in the site's ledger.

        Raises:
            ProtocolError: the request differs from the stored one, or is out of order.
        """
        messages_digest = _digest_messages(previous_messages)
        answered = _find_message(connection, sum_round, stage, messages_digest)
        if answered is not None:
            return answered
        steps = _load_steps(connection, sum_round)
        if stage != len(steps) + 1:
            raise ProtocolError(
                STAGES[stage],
                f"must be sent in the order of the stages; the round is at stage {STAGES[len(steps) + 1]}",
                409,
            )
        state = steps[stage - 1][2] if stage > KEYS else b""
        new_state, message = self._take_step(connection, sum_round, stage, state, previous_messages)
        if stage == SIGNED:
            _require_same_sites(connection, sum_round, payment, SiteState.from_bytes(new_state).signed_list[0])
        row = {
            **_round_columns(sum_round),
            "stage": stage,
            "header": sum_round.header.hex(),
            "messages_digest": messages_digest,
        }
        connection.execute(insert(SUM_STEP_TABLE).values(**row, state=new_state, message=message))
        return message

    def _take_step(
        self, connection: Connection, sum_round: SumRound, stage: int, state: bytes, previous_messages: Sequence[bytes]
    ) -> SecureSumStep:
        """SECRET: compute this site's next message of a round of secure aggregation.

        Args:
            connection: Open transaction of the site's database.
            sum_round: The round.
            stage: Number of the stage.
            state: State after the stage before.
            previous_messages: Messages of all sites in the stage before.

        Returns:
            New state, and the signed message.

        Raises:
            ProtocolError: a message of another site is invalid.
        """
        if stage == KEYS:
            return advertise_keys(sum_round, self._signer, self._randomness)
        if stage == SHARES:
            return share_keys(sum_round, self._signer, state, previous_messages, self._randomness)
        if stage == MASKED:
            stored = connection.execute(
                select(SUM_VECTOR_TABLE.c.vector).where(*_round_conditions(SUM_VECTOR_TABLE, sum_round))
            ).scalar_one()
            return mask_vector(sum_round, self._signer, state, previous_messages, np.frombuffer(stored, dtype="<u8"))
        return (sign_list if stage == SIGNED else unmask)(sum_round, self._signer, state, previous_messages)


def _require_same_sites(connection: Connection, sum_round: SumRound, payment: str, sites: Sequence[int]) -> None:
    """Check that a sum includes the same sites as the earlier sums under this payment, which may have the same noise.

    The difference of two sums over different sites would show a site's exact counts. The first list is stored.

    Args:
        connection: Open transaction of the site's database.
        sum_round: The round.
        payment: Request id of the payment.
        sites: Numbers of the included sites.

    Raises:
        ProtocolError: the sites are others.
    """
    task = sum_round.roster.task.hex()
    sites_json = json.dumps(list(sites))
    query = select(SUM_LIST_TABLE.c.sites).where(SUM_LIST_TABLE.c.task == task, SUM_LIST_TABLE.c.payment == payment)
    earlier = connection.execute(query).scalar()
    if earlier is None:
        connection.execute(insert(SUM_LIST_TABLE).values(task=task, payment=payment, sites=sites_json))
    elif earlier != sites_json:
        raise ProtocolError(
            STAGES[SIGNED], "must list the sites of earlier sums under this payment; ask again under a new request id"
        )


def _round_columns(sum_round: SumRound) -> dict[str, str]:
    """Return the values of the key columns that identify a round in the tables of this site's database.

    Args:
        sum_round: Round of the secure sum.

    Returns:
        Task and round as hexadecimal digits, by name of the column.
    """
    return {"task": sum_round.roster.task.hex(), "round": f"{sum_round.number:016x}"}


def _round_conditions(table: Table, sum_round: SumRound) -> list[ColumnElement[bool]]:
    """Return the SQL conditions that select a round's rows of a table.

    Args:
        table: Table with the key columns of rounds.
        sum_round: Round of the secure sum.

    Returns:
        Conditions, all of which must hold.
    """
    return [table.c[name] == value for name, value in _round_columns(sum_round).items()]


def _digest_messages(messages: Sequence[bytes]) -> str:
    """Return a hash of the messages of all sites in a stage, independent of their order, to recognise a repeated
    request.

    Args:
        messages: The messages.
    """
    return sha256(b"".join(sorted({sha256(message).digest() for message in messages}))).hexdigest()


def _find_message(connection: Connection, sum_round: SumRound, stage: int, messages_digest: str) -> bytes | None:
    """Return the message that this site has stored for a stage of a round of secure aggregation, if it took the stage.

    Args:
        connection: Connection to the site's database.
        sum_round: The round.
        stage: Number of the stage.
        messages_digest: Digest of the messages from the stage before.

    Returns:
        The message; None if the stage was not answered.

    Raises:
        ProtocolError: the stage was answered to other messages, or the round began with another plan or roster.
    """
    steps = _load_steps(connection, sum_round)
    if any(header != sum_round.header.hex() for header, *_ in steps.values()):
        raise ProtocolError(
            "round", "this site began the round with another plan or roster; ask again under a new request id"
        )
    if stage not in steps:
        return None
    _, answered_digest, _, message = steps[stage]
    # in stage OPENED a quorum may have grown meanwhile; the revealed shares are the same
    if stage != OPENED and answered_digest != messages_digest:
        raise ProtocolError(
            STAGES[stage],
            "this site has answered this stage already, to other messages; ask again under a new request id",
        )
    return message


def _load_steps(connection: Connection, sum_round: SumRound) -> dict[int, tuple[str, str, bytes, bytes]]:
    """SECRET: return the stages of a round that this site has answered, by number, from its database.

    Args:
        connection: Connection in a transaction.
        sum_round: Round of the secure sum.

    Returns:
        For each stage: header of the round, digest of the messages that it answers, the site's state after it, and its
        message. Empty before the first answer.
    """
    rows = connection.execute(
        select(SUM_STEP_TABLE).where(*_round_conditions(SUM_STEP_TABLE, sum_round)).order_by(SUM_STEP_TABLE.c.stage)
    )
    return {row.stage: (row.header, row.messages_digest, row.state, row.message) for row in rows}


Curve = TypeVar("Curve")


@dataclass(frozen=True, slots=True)
class FederationTerms:
    """The public facts on which all sites of a federation agreed, parsed and checked (its task).

    Attributes:
        model: The trust model: numbers of sites, of tolerated and of absent ones.
        roster: The sites by their keys.
        neighbours: Add-remove or replace-one.
        unit: The protected unit, and its contribution bound at one site.
        units: The public number of units of each site; empty under add-remove.
        budget: The total privacy loss of each site.
        columns: The columns that questions may use; empty allows any column.
        max_rows: The declared bound on the records of a site; None if none was declared.

    Raises:
        ValueError: The roster does not fit the model, or `units` does not fit `neighbours`.
    """

    model: SecureSum
    roster: Roster
    neighbours: Neighbours
    unit: Unit
    units: tuple[int, ...]
    budget: PrivacyLoss
    columns: Schema = field(default_factory=dict)
    max_rows: int | None = None

    def __post_init__(self) -> None:
        if self.roster != self.model.build_roster(self.roster.task, self.roster.keys):
            raise InvalidArgument("roster", "must fit the model of the sites; build it with SecureSum.build_roster")
        if len(self.units) != (self.model.sites if self.neighbours.has_public_units else 0):
            raise InvalidArgument(
                "units",
                "must be the public numbers of units of the sites under replace-one, and be left out under add-remove",
            )

    @property
    def adjacency(self) -> Adjacency:
        """Neighbouring relation of the guarantee, for the records of all sites together."""
        return self.model.build_adjacency(self.neighbours, self.unit, sum(self.units) if self.units else None)

    def plan_question(self, question: Question[Any], loss: PrivacyLoss) -> Plans:
        """Plan the rounds of a question. Reads no records.

        Args:
            question: Question of an analyst.
            loss: Loss of the whole question.

        Returns:
            Plans in the order of the rounds.

        Raises:
            UnsupportedQuery: Secure sums cannot answer the question.
            ValueError: The question uses a column that the task does not have.
        """
        plans = plan_question(question, loss, self.adjacency, self.model)
        for plan in plans:
            require_known_columns(self.columns, plan.query.axes)
        return plans

    def plan_query(self, query: Query, loss: PrivacyLoss) -> Plan:
        """Return the plan of the query of one round: mechanism, noise and loss. No record is read.

        Args:
            query: Query of one round.
            loss: Loss of this round.

        Raises:
            UnsupportedQuery: No mechanism for secure sums can answer the query.
            ValueError: The query uses a column that the task does not have.
        """
        require_known_columns(self.columns, query.axes)
        return self.model.plan_query(query, loss, self.adjacency)


class Site:
    """A site with its records and its ledger. It has no repr.

    Formal guarantees: in a round, the site sends one answer to one plan (`RoundStore`). It computes the plan itself
    from the query and the terms, and charges its own account before it counts. The privacy loss of all of its summands
    is at most its budget; each message by itself is masked.

    Args:
        terms: The agreed terms.
        signer: The site and its key.
        table: The records, as `Session` takes them.
        ledger: The site's ledger.
        dataset: The name of its account.
        delimiter: The field separator of a CSV file.
        columns: Column names in the table by their names in questions, where they differ.
        randomness: Source of noise shares and secrets, not seeded: releases of sums have no mark of seeded noise.

    Raises:
        ValueError: The key is not in the roster, the account exists with other facts, or `randomness` is seeded.
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
        """Make a site of a federation, which counts its own table and charges its own ledger; the table is not opened
        yet.

        Args:
            terms: Public facts of the task.
            signer: Number and signing key of the site.
            table: Records of the site: a file, a data frame or columns by name.
            ledger: Ledger of the site, also for messages and secrets of rounds.
            dataset: Name of the ledger's account.
            delimiter: Field separator of a CSV file.
            columns: Name in the table by column name of the task; other columns keep their names.
            randomness: Source of noise and secrets; None: the operating system.

        Raises:
            InvalidArgument: the key is not the site's in the roster.
        """
        if terms.roster.keys[signer.site] != signer.key.public_key().public_bytes_raw():
            raise InvalidArgument(
                "key",
                f"must be the key of site {signer.site} in the roster; use the key file that the site made when "
                "it joined",
            )
        if randomness is not None and randomness.is_seeded:
            raise InvalidArgument(
                "randomness", "must not be seeded, because nobody who gets the sum would learn of it; leave it out"
            )
        self._terms = terms
        self._number = signer.site
        self._ledger = ledger
        self._dataset = dataset
        self._table = table
        self._delimiter = delimiter
        self._names = dict(columns or {})
        self._randomness = randomness if randomness is not None else Randomness.from_system()
        self._records: Records | None = None
        ledger.create(Account(dataset, terms.neighbours, terms.unit, terms.budget))
        self._round_store = RoundStore(signer, ledger, self._randomness)

    @property
    def roster(self) -> Roster:
        """The sites of the task by their public keys, with the numbers of sites that may collude or be absent."""
        return self._terms.roster

    def open(self) -> None:
        """Open the records and check them against the task, before any question is asked.

        Raises:
            ValueError: A column of the task is missing or has another type, or the number of units or records differs
                from the task's.
        """
        self._open_records()

    def find_write_trouble(self) -> str:
        """Return why the site's database cannot be written, in one line; empty if it can be."""
        return self._round_store.find_write_trouble()

    def require_answerable(self, plans: Plans, request: str) -> None:
        """Check before the first round of a question that the site can pay for all rounds and has all columns.

        Args:
            plans: The plans of all rounds, from a rehearsal, that is a simulated run of the question on made-up counts.
            request: The request id; a repeated request is not charged again.

        Raises:
            BudgetExceeded: The remaining budget is too small; nothing was charged.
            ValueError: The records lack a column of the question.
        """
        records = self._open_records()
        for plan in plans:
            records.check(plan.query.axes)
        if self._ledger.find_grant(self._dataset, self._build_request_id(request, 0)) is None:
            remaining = self._ledger.balance(self._dataset).remaining
            prices = {plan.query.charged_query: remaining.currency.price(plan.loss).billionths for plan in plans}
            self._require_budget(Amount(remaining.currency, sum(prices.values())), remaining, "this question")

    def close(self) -> None:
        """Close the records; the next answer opens them again."""
        if self._records is not None:
            self._records.close()
            self._records = None

    def answer(self, plan: Plan, allotment: Allotment, stage: int, previous_messages: Sequence[bytes]) -> bytes:
        """Return this site's signed message of one stage of a round. A repeated request gets the stored message.

        Stage `KEYS` checks the budget and the columns. Stage `MASKED` charges, counts and adds noise, once.

        Args:
            plan: Plan of the round.
            allotment: The loss of the round, and the request that pays for it.
            stage: Number of the stage.
            previous_messages: Messages of all sites in the stage before.

        Raises:
            BudgetExceeded: the remaining budget is too small; nothing was charged. UnsupportedQuery, ValueError: the
                plan is not of this task, or the records lack a column of it.
            ProtocolError: a message of another site is invalid, or the stage is not the next one of the round.
        """
        own_plan = self._terms.plan_query(plan.query, allotment.loss)
        if own_plan.fingerprint != plan.fingerprint:
            raise InvalidArgument(
                "plan",
                "differs from this site's plan of the question; use the same task document and version of dpcurves",
            )
        sum_round = derive_round(self.roster, own_plan, allotment)
        payment = self._build_request_id(allotment.request, allotment.part)
        if stage == KEYS and not self._round_store.has_answered(sum_round, KEYS):
            if self._ledger.find_grant(self._dataset, payment) is None:  # refuse before any site counts
                balance = self._ledger.balance(self._dataset).remaining
                self._require_budget(balance.currency.price(allotment.loss), balance, "this round")
            self._open_records().check(own_plan.query.axes)
        return self._round_store.answer_stage(
            sum_round, stage, previous_messages, lambda: self._build_vector(own_plan, allotment), payment
        )

    def _build_vector(self, plan: Plan, allotment: Allotment) -> Vector:
        """SECRET: charge the site's ledger, then return its summand of the round.

        The summand has exact sums of its records plus its shares of the noise, modulo 2**64.

        Args:
            plan: Plan of the counts of the round.
            allotment: Loss that the round spends.
        """
        grant = self._charge_round(plan, allotment)
        memory = self._ledger.memory_of(grant, allotment.part)
        vector = self._terms.model.build_vector(plan, self._open_records(), memory, self._randomness)
        return np.asarray(vector, dtype=np.uint64)

    def _charge_round(self, plan: Plan, allotment: Allotment) -> Grant:
        """Charge this site's ledger for one round, and return the grant; a repeated round gets the earlier grant.

        Args:
            plan: Plan of the round.
            allotment: Loss of the round, and the request that pays for it.

        Raises:
            BudgetExceeded: the budget is too small.
        """
        item, where = plan.query.charged_query, plan.query.where
        records = f" of records where {where}" if where else ""
        return self._ledger.charge(
            self._dataset, allotment.loss, purpose=f"a secure sum{records}: {plan.made_by}",
            request=self._build_request_id(allotment.request, allotment.part), units=self._units,
            binding=fingerprint(item, allotment.loss, self._terms.adjacency, self._dataset, self.roster),
        )  # fmt: skip

    def _build_request_id(self, request: str, step_number: int) -> str:
        """Return the request id of a charge. It includes the task, since other tasks draw and pay for fresh noise.

        Args:
            request: Request id of the question.
            step_number: Number of the round within the question.

        Returns:
            Beginning of the task's hash, request id and number, separated by slashes.
        """
        # 16: hexadecimal digits of a task's hash that begin the request id of a charge in the ledger
        return f"{self.roster.task.hex()[:16]}/{request}/{step_number}"

    def _require_budget(self, needed: Amount, remaining: Amount, purpose: str) -> None:
        """Check that a price is within the remaining budget of this site.

        Args:
            needed: The price.
            remaining: The remaining budget.
            purpose: Purpose of the payment, for the message.

        Raises:
            BudgetExceeded: it is not; the message has both amounts.
        """
        if needed.billionths > remaining.billionths:
            raise BudgetExceeded(
                "budget",
                f"site {self._number} has {remaining} left, and {purpose} needs {needed}; ask with a smaller loss",
            )

    @property
    def _units(self) -> int | None:
        """Public number of units of this site; None under add-remove, where it is private."""
        return self._terms.units[self._number] if self._terms.units else None

    def _open_records(self) -> Records:
        """SENSITIVE: return the site's records, opened at the first call and checked against the task's terms.

        Raises:
            ValueError: the records do not fit the terms, such as the agreed number of units.
        """
        if self._records is None:
            unit = self._terms.unit
            table_unit = (
                replace(unit, column=self._names.get(unit.column, unit.column)) if unit != EACH_RECORD else unit
            )
            key = self._ledger.dataset_key(self._dataset)
            opened = open_records(
                self._table, unit=table_unit, key=key, delimiter=self._delimiter,
                keeps_failing_rows=self._terms.neighbours.has_public_units,
            )  # fmt: skip
            records = opened.with_column_names(self._names)
            try:
                self._require_agreed_records(records)
            except BaseException:
                records.close()
                raise
            self._records = records
        return self._records

    def _require_agreed_records(self, records: Records) -> None:
        """Check that the site's records fit the task: its columns, and the declared numbers of units and records.

        Args:
            records: The opened records.

        Raises:
            ValueError: a column is missing, or a number is not as declared.
        """
        terms = self._terms
        require_task_columns(records, terms.columns)
        if self._units is not None and records.units() != self._units:
            raise InvalidArgument(
                "units",
                f"must be {self._units}, as this site declared, and the table has another number; correct the "
                "table or the declaration",
            )
        if terms.max_rows is not None and count_used_rows(records, terms.columns, terms.unit) > terms.max_rows:
            raise InvalidArgument(
                "max_rows",
                f"must be at most {terms.max_rows}, as the task says, and the table has more; use a smaller table",
            )


class AnswerFunction(Protocol):
    """Interface of functions that let all sites answer a plan in one round, and return the release of their sum."""

    def __call__(self, plan: Plan, allotment: Allotment) -> Release: ...


class Federation:
    """A federation as analysts see it: it plans questions and returns curves.

    Args:
        terms: The agreed terms.
        answer: Lets the sites answer a plan.
        sites: Sites to check before a question for budget and columns.
    """

    def __init__(self, terms: FederationTerms, answer: AnswerFunction, sites: Sequence[Site] = ()) -> None:
        self._terms = terms
        self._answer = answer
        self._sites = sites

    @classmethod
    def from_sites(cls, terms: FederationTerms, sites: Sequence[Site]) -> Federation:
        """Return a federation of sites in this process, for tests and experiments.

        Args:
            terms: Public facts of the task.
            sites: All sites of the task, in its order.
        """
        unused = Randomness.from_system()  # the model draws nothing itself: each site draws its shares of the noise
        return cls(terms, lambda plan, allotment: terms.model.run(plan, sites, allotment, unused), sites)

    def plan(self, question: Question[Curve], loss: PrivacyLoss) -> Plans:
        """Return the plans of a question's rounds. Reads no records and charges nothing.

        Args:
            question: Question of the analyst.
            loss: Loss of the whole question.

        Raises:
            ValueError: the question cannot be planned.
        """
        return self._terms.plan_question(question, loss)

    def ask(self, question: Question[Curve], loss: PrivacyLoss, request: str | None = None) -> Curve:
        """Plan a question, and let the sites charge and answer it, like `Session.ask`.

        A repeated request id returns the same curve without a further charge.

        Args:
            question: The question.
            loss: The loss that each site charges.
            request: Name of this request, for repeating it. None: a random name.

        Warns:
            CurveWarning: each of the curve's `notes`.

        Raises:
            UnsupportedQuery: Secure sums cannot answer it; nothing was charged.
            BudgetExceeded: A site's remaining budget is too small; nothing was charged.
            ProtocolError: A site did not answer, or a message was altered.
        """
        plans = self.plan(question, loss)
        name = request if request is not None else secrets.token_hex(16)
        for site in self._sites:
            site.require_answerable(plans, name)
        budget = QuestionBudget.from_external_charge(name, loss.as_single_release(), charged_by_round=True)

        def reply(step: Step, allotment: Allotment) -> Release:
            """Let the sites answer the query of one round by a secure sum, and return the release.

            Args:
                step: Query of the round.
                allotment: The request, the number of the paid step and its loss.
            """
            return self._answer(self._terms.plan_query(step.query, allotment.loss), allotment)

        curve = ask_with_budget(question, self._terms.adjacency, self._terms.model, budget, reply)
        warn_about_notes(curve)
        return curve


__all__ = ["Federation", "FederationTerms", "Site", "SumRound"]
