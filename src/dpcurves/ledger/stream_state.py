"""Continual release: keep a stream's answers and secret state in the privacy ledger, so that no noise is drawn twice.

A stream is a question that is answered at time steps 1, 2, 3 and so on, and paid once. Its mechanism has a secret
state, such as correlated noise, which the next time step continues. The ledger is a hash chain of rows in a database; a
grant is the row of one paid question.

    store_time_steps     answers by time step, state -> the stored answers
    find_stream_state    grant -> last time step and state after it, or None
    find_time_steps      grant, range of time steps -> answers by time step
    store_notes          grant, integers by name -> the stored integers, such as noisy sums of tree nodes

Formal guarantees: one grant shows one answer to a time step, and the state belongs to the last answer. *Why*: answers
and state are written in one transaction, and of two processes that answer the same time step the second gets the first
one's answer. The state is encrypted together with its time step and the last hash of the chain, so that the state of
another time step or ledger is detected.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import RowMapping, bindparam, func, insert, select, update

from ..arguments import InvalidArgument
from .account import Grant, require_name, require_text
from .chain import ANSWERS, GRANTS, NOTES, STATES, Chain, SealedValue, make_tampering_error
from .verification import (
    Head,
    grant_of,
    head_of,
    require_all_rows,
    require_grant,
    require_path_to_end,
    require_unbroken,
)

FIRST_TIME_STEP = 1
"""Number of the first time step of a stream; a stored step must follow the one before."""
TIME_STEP_PART = -1
"""Number of the answer part that time steps are stored under. Other questions number the parts of their answers from 0,
so none of them has this number.
"""


@dataclass(frozen=True, slots=True, repr=False)
class StreamState:
    """State of a stream after its last answer. SECRET, so that it has no repr.

    Attributes:
        time_step: Last answered time step. Public.
        state: Serialized state of the mechanism.
    """

    time_step: int
    state: bytes


@dataclass(frozen=True, slots=True, repr=False)
class _SealedState:
    """Content of an encrypted row: the state of a stream, and the end of the chain when it was written."""

    stream_state: StreamState
    end: Head


def store_time_steps(chain: Chain, grant: Grant, time_steps: Mapping[int, str], state: bytes) -> Mapping[int, str]:
    """Store the answers to the next time steps and the state after them, and return the stored answers.

    If another process answered some of the time steps first, nothing is written and its answers are returned.

    Formal guarantees: a grant (charge) has one answer to a time step, time steps are answered in order without gaps,
    and the state belongs to the last answer. The encrypted state contains its time step and the end of the chain at
    that time. The chain is followed from there, so a state or an answer that was removed or restored is detected.

    Args:
        chain: Open writing transaction of the ledger.
        grant: The grant of the stream.
        time_steps: Answers, as texts, by time step: consecutive numbers, at least one.
        state: State of the mechanism after the last of them. SECRET.

    Returns:
        `time_steps` itself if it was stored. Otherwise a new mapping with the answers of the other process, even if
        they are equal, because they belong to the other process's state.

    Raises:
        ValueError: the time steps are not consecutive or do not follow the last answer; the state is missing, of
            another time step or of another grant; an answer cannot be stored; or this ledger did not give the grant.
    """
    first = _require_consecutive(time_steps)
    row = _find_grant_row(chain, grant)
    stored = _open_sealed_state(chain, grant, row)
    next_time_step = FIRST_TIME_STEP if stored is None else stored.stream_state.time_step + 1

    # A repeated request gets the stored answers: a time step is answered once.
    if first < next_time_step:
        return _read_answers(chain, grant, range(first, min(next_time_step, first + len(time_steps))))
    if first > next_time_step:
        raise InvalidArgument(
            "time_steps",
            f"the next time step is {next_time_step}, got {first}; "
            "go on with the next one, because no time step may be left out",
        )

    # The state must belong to the end of the chain, or it was replaced by an older copy.
    if stored is None:
        _require_no_answers(chain, grant, row)
    else:
        require_path_to_end(chain, stored.end)

    columns: dict[str, SealedValue] = {"grant": grant.id, "part": TIME_STEP_PART}
    chain.append_all(
        ANSWERS, [{**columns, "round": time_step, "answer": answer} for time_step, answer in time_steps.items()]
    )
    _write_state(
        chain,
        grant,
        _SealedState(StreamState(first + len(time_steps) - 1, state), head_of(chain)),
        is_new=stored is None,
    )
    return time_steps


def find_stream_state(chain: Chain, grant: Grant) -> StreamState | None:
    """Return the last answered time step of a stream with the state after it. SECRET.

    Args:
        chain: Open transaction of the ledger.
        grant: The grant of the stream.

    Returns:
        The time step and the state; None if nothing was answered.

    Raises:
        ValueError: this ledger did not give the grant, or the stored state does not belong to the last answer.
    """
    row = _find_grant_row(chain, grant)
    stored = _open_sealed_state(chain, grant, row)
    if stored is None:
        _require_no_answers(chain, grant, row)
        return None
    require_path_to_end(chain, stored.end)
    last, count = _count_answers(chain, grant)
    if (last, count) != (stored.stream_state.time_step, stored.stream_state.time_step):
        raise _make_tampering_error(grant, "not of its last answer: it was restored without the key")
    return stored.stream_state


def find_time_steps(chain: Chain, grant: Grant, time_steps: range) -> dict[int, str]:
    """Return the stored answers of a stream to these time steps, in order.

    Args:
        chain: Open transaction of the ledger.
        grant: The grant of the stream.
        time_steps: Numbers of the time steps.

    Raises:
        ValueError: this ledger did not give the grant, or an answer is missing or was changed without the key.
    """
    _find_grant_row(chain, grant)
    return _read_answers(chain, grant, time_steps)


def require_states(chain: Chain) -> None:
    """Check that every stream of the ledger has the state that belongs to its last answer.

    Args:
        chain: Open transaction of the ledger.

    Raises:
        ValueError: a stream has answers without a state, or a state that does not belong to its last answer.
    """
    stream_grants = select(ANSWERS.c.grant).where(ANSWERS.c.part == TIME_STEP_PART).union(select(STATES.c.grant))
    for row in chain.connection.execute(select(GRANTS).where(GRANTS.c.entry.in_(stream_grants))).mappings().all():
        find_stream_state(chain, grant_of(row))


def _require_consecutive(time_steps: Mapping[int, str]) -> int:
    """Check that time steps are consecutive numbers and that their answers can be stored; return the first time step.

    Args:
        time_steps: Answers, as texts, by time step.

    Raises:
        InvalidArgument: there is no time step; they are not consecutive or begin below 1; or an answer cannot be
            stored.
    """
    first = next(iter(time_steps), 0)
    if first < FIRST_TIME_STEP or list(time_steps) != list(range(first, first + len(time_steps))):
        raise InvalidArgument("time_steps", "consecutive numbers counted from 1 are needed, as in [1, 2, 3]")
    for answer in time_steps.values():
        require_text("answer", answer)
    return first


_SELECT_GRANT_AND_STATE = (
    select(GRANTS, STATES.c.sealed)
    .outerjoin(STATES, STATES.c.grant == GRANTS.c.entry)
    .where(GRANTS.c.entry == bindparam("grant"))
)
"""SQL statement for a grant with its state. It is built once, because building takes as long as running it."""
_COUNT_ANSWERS = select(func.max(ANSWERS.c.round), func.count()).where(
    ANSWERS.c.grant == bindparam("grant"), ANSWERS.c.part == bindparam("part")
)
"""SQL statement for the last round and the number of answers of a part."""


def _find_grant_row(chain: Chain, grant: Grant) -> RowMapping:
    """Return the database row of a stream's grant (charge), joined with its encrypted state in the column ``sealed``.

    Args:
        chain: Open transaction of the ledger.
        grant: The grant of the stream.

    Raises:
        InvalidArgument: this ledger did not give the grant.
    """
    row = chain.read_first(GRANTS, _SELECT_GRANT_AND_STATE, {"grant": grant.id})
    if row is None or grant_of(row) != grant:
        raise InvalidArgument(
            "grant",
            f"this ledger has no charge {grant.request!r} in row {grant.id}; open the ledger that paid for it",
        )
    return row


def _open_sealed_state(chain: Chain, grant: Grant, row: RowMapping) -> _SealedState | None:
    """SECRET: decrypt the state of a stream, and return it with the head of the chain when it was written.

    Args:
        chain: Open transaction of the ledger.
        grant: The grant of the stream.
        row: Row of `_find_grant_row`, whose column ``sealed`` is the encrypted state or null.

    Returns:
        The state, or None if the stream has none yet.

    Raises:
        InvalidArgument: the state belongs to another stream.
    """
    if row["sealed"] is None:
        return None
    head, _, padded = chain.decrypt(row["sealed"]).partition(b"\n")
    name, grant_id, time_step, entries, seal, length = json.loads(head)
    if (name, grant_id) != (chain.book.name, grant.id):
        raise _make_tampering_error(grant, "of another stream: it was changed without the key")
    return _SealedState(StreamState(time_step, padded[:length]), Head(entries, seal))


def _write_state(chain: Chain, grant: Grant, stored: _SealedState, *, is_new: bool) -> None:
    """Encrypt the state of a stream, together with its time step and the head of the chain, and store it.

    Args:
        chain: Open writing transaction of the ledger.
        grant: The grant of the stream.
        stored: The state and the end of the chain.
        is_new: True: the stream's first state, which is inserted. False: the former state is overwritten.
    """
    state = stored.stream_state.state
    end = stored.end
    head = json.dumps(
        [chain.book.name, grant.id, stored.stream_state.time_step, end.entries, end.seal, len(state)]
    ).encode()
    # padded to a multiple of 1,024 bytes, so that the length reveals little
    sealed = chain.encrypt(head + b"\n" + state + bytes(-(len(head) + len(state)) % 1024))
    if is_new:
        chain.connection.execute(insert(STATES), {"grant": grant.id, "sealed": sealed})
    else:
        chain.connection.execute(update(STATES).where(STATES.c.grant == grant.id), {"sealed": sealed})


def _count_answers(chain: Chain, grant: Grant) -> tuple[int | None, int]:
    """Return the last answered time step of a stream (None without answers), and how many were answered, to find gaps.

    Args:
        chain: Open transaction of the ledger.
        grant: Grant of the stream.
    """
    values = {"grant": grant.id, "part": TIME_STEP_PART}
    last, count = chain.connection.execute(_COUNT_ANSWERS, values).one()
    return last, count


def _require_no_answers(chain: Chain, grant: Grant, row: RowMapping) -> None:
    """Check that a stream without a stored state has no answers either, and that the chain has lost no entries.

    Args:
        chain: Open transaction of the ledger.
        grant: The grant of the stream.
        row: Row of `_find_grant_row`.

    Raises:
        InvalidArgument: the stream has an answer, or a row of the chain is missing.
    """
    require_unbroken(chain, Head(grant.id, str(row["mac"])))
    if _count_answers(chain, grant)[1]:
        raise _make_tampering_error(grant, "missing: it was removed without the key, and cannot be restarted")


def _read_answers(chain: Chain, grant: Grant, time_steps: range) -> dict[int, str]:
    """Return the stored answers to these time steps by time step, in order.

    Args:
        chain: Open transaction of the ledger.
        grant: The grant of the stream, which is not checked here.
        time_steps: Consecutive numbers.

    Raises:
        InvalidArgument: an answer is missing, or was changed without the key.
    """
    conditions = (
        ANSWERS.c.grant == grant.id,
        ANSWERS.c.round.between(time_steps.start, time_steps.stop - 1),
        ANSWERS.c.part == TIME_STEP_PART,
    )
    rows = chain.read_rows(ANSWERS, select(ANSWERS).where(*conditions).order_by(ANSWERS.c.round))
    answers = {row["round"]: row["answer"] for row in rows}
    if list(answers) != list(time_steps):
        missing = next(time_step for time_step in time_steps if time_step not in answers)
        raise make_tampering_error(f"the answer to time step {missing} was removed without the key")
    return answers


def _make_tampering_error(grant: Grant, description: str) -> InvalidArgument:
    """Return the error, for raising, that a stream's stored state does not belong to its answers.

    Args:
        grant: The grant of the stream, whose request id the message names.
        description: End of the sentence "the state of REQUEST is ...".
    """
    return make_tampering_error(f"the state of {grant.request!r} is {description}")


# Notes: noise-tree nodes opened under a paid part of a grant, stored before any of them is shown. SECRET.


def find_notes(chain: Chain, grant: Grant, part: int, names: Sequence[str]) -> dict[str, int]:
    """Return the stored noisy sums (notes) with these names. Names without a stored sum are omitted.

    Args:
        chain: Open transaction of the ledger.
        grant: The grant, of this ledger.
        part: Number of the payment within the grant, from 0.
        names: Names of the noisy sums.

    Raises:
        ValueError: this ledger did not give the grant, or a note was changed without the key.
    """
    require_grant(chain, grant)
    query = select(NOTES).where(NOTES.c.grant == grant.id, NOTES.c.part == part)
    values = {}
    names_at_once = 500  # names of one query: below the limit on SQL parameters of all supported databases
    for start in range(0, len(names), names_at_once):
        batch = query.where(NOTES.c.name.in_(names[start : start + names_at_once]))
        values.update({str(row["name"]): int(row["value"]) for row in chain.read_rows(NOTES, batch)})
    return values


def store_notes(chain: Chain, grant: Grant, part: int, notes: Mapping[str, int]) -> dict[str, int]:
    """Store noisy sums (notes) unless sums with the same names are stored, and return the stored sums by name.

    Args:
        chain: Open transaction of the ledger.
        grant: The grant, of this ledger.
        part: Number of the payment within the grant, from 0.
        notes: Noisy sums by name. SECRET.

    Raises:
        ValueError: this ledger did not give the grant, the part is negative, a name cannot be stored, or the ledger has
            lost rows, which may have been these notes.
    """
    if part < 0:
        raise InvalidArgument("part", f"parts are numbered from 0, got {part}")
    for name in notes:
        require_name("name", name)
    stored = find_notes(chain, grant, part, list(notes))
    missing = {name: value for name, value in notes.items() if name not in stored}
    if missing:
        require_all_rows(chain)
        columns: dict[str, SealedValue] = {"grant": grant.id, "part": part}
        chain.append_all(NOTES, [{**columns, "name": name, "value": str(value)} for name, value in missing.items()])
    return {**missing, **stored}
