"""The state of a grant between answers: ticks of a stream with their secret state, and opened nodes of a tree of
noises."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import RowMapping, func, insert, select, update

from ..arguments import InvalidArgument
from .account import Grant, require_name, require_text
from .chain import ANSWERS, GRANTS, NOTES, STATES, Chain, Fact
from .verification import (
    Head,
    grant_of,
    head_of,
    require_all_rows,
    require_grant,
    require_path_to_end,
    require_unbroken,
)

FIRST_TICK = 1
PART = -1
"""The part number of answers to ticks: parts of questions are counted from 0."""
_BLOCK = 1024  # bytes by which a sealed state grows: its length tells little of what it holds


@dataclass(frozen=True, slots=True, repr=False)
class StreamState:
    """SECRET. Stored state of a stream: the last answered tick, and the state of its mechanism. It has no repr.

    Attributes:
        tick: The last tick that was answered. Public.
        state: What the mechanism goes on from.
    """

    tick: int
    state: bytes


@dataclass(frozen=True, slots=True, repr=False)
class _SealedState:
    """The sealed content: the state of a stream, and the end of the chain when it was written."""

    stream_state: StreamState
    end: Head


def store_ticks(chain: Chain, grant: Grant, ticks: Mapping[int, str], state: bytes) -> Mapping[int, str]:
    """Store answers to the ticks that follow, and the state behind the last of them. Returns what is stored now.

    Formal guarantees: one grant shows one answer to a tick, ticks are answered in order and none is left out, and the
    state is the one behind the last answer. The sealed state says which tick that is and where the chain ended then;
    the chain is followed from there, so a state or an answer that was taken away or put back is found.

    If they were stored, `ticks` itself is returned. If some of them were answered before, by whoever was first, nothing
    is written: what is returned are the answers of the first one to as many of these ticks as have one, in a mapping of
    its own, even where they are equal: the state behind them is another one.

    Raises:
        ValueError: the ticks do not follow one another or the last one that was answered; the state is missing, of
            another tick or of another grant; an answer cannot be stored; or this ledger did not give the grant.
    """
    first = _require_consecutive(ticks)
    row = _find_grant_row(chain, grant)
    kept = _open_sealed_state(chain, grant, row)
    following = FIRST_TICK if kept is None else kept.stream_state.tick + 1
    if first < following:
        return _read_answers(chain, grant, range(first, min(following, first + len(ticks))))
    if first > following:
        raise InvalidArgument("ticks", f"the next one is {following}, got {first}: none is left out")
    if kept is None:
        _require_no_answers(chain, grant, row)
    else:
        require_path_to_end(chain, kept.end)
    page: dict[str, Fact] = {"grant": grant.id, "part": PART}
    chain.append_all(ANSWERS, [{**page, "turn": tick, "answer": answer} for tick, answer in ticks.items()])
    _write_state(
        chain, grant, _SealedState(StreamState(first + len(ticks) - 1, state), head_of(chain)), is_new=kept is None
    )
    return ticks


def find_stream_state(chain: Chain, grant: Grant) -> StreamState | None:
    """The last tick that was answered, and the state behind it; none where nothing was answered yet.

    Raises:
        ValueError: this ledger did not give the grant, or answers without their state, or with that of another tick.
    """
    row = _find_grant_row(chain, grant)
    kept = _open_sealed_state(chain, grant, row)
    if kept is None:
        _require_no_answers(chain, grant, row)
        return None
    require_path_to_end(chain, kept.end)
    last, count = _count_answers(chain, grant)
    if (last, count) != (kept.stream_state.tick, kept.stream_state.tick):
        raise _make_tampering_error(grant, "not the one behind its last answer: it was put back without the key")
    return kept.stream_state


def find_ticks(chain: Chain, grant: Grant, ticks: range) -> dict[int, str]:
    """The answers to these ticks, in order.

    Raises:
        ValueError: this ledger did not give the grant, or one of them is missing or was changed without the key.
    """
    _find_grant_row(chain, grant)
    return _read_answers(chain, grant, ticks)


def require_states(chain: Chain) -> None:
    """Refuse streams without a state, and states that are not those of their streams.

    Raises:
        ValueError: names the stream.
    """
    begun = select(ANSWERS.c.grant).where(ANSWERS.c.part == PART).union(select(STATES.c.grant))
    for row in chain.connection.execute(select(GRANTS).where(GRANTS.c.entry.in_(begun))).mappings().all():
        find_stream_state(chain, grant_of(row))


def _require_consecutive(ticks: Mapping[int, str]) -> int:
    """The first of ticks that follow one another, with answers that can be stored."""
    first = next(iter(ticks), 0)
    if first < FIRST_TICK or list(ticks) != list(range(first, first + len(ticks))):
        raise InvalidArgument("ticks", "at least one is needed, counted from 1, each the next of the one before")
    for answer in ticks.values():
        require_text("answer", answer)
    return first


def _find_grant_row(chain: Chain, grant: Grant) -> RowMapping:
    """The row of the grant together with its state, in one statement."""
    both = select(GRANTS, STATES.c.sealed).outerjoin(STATES, STATES.c.grant == GRANTS.c.entry)
    row = chain.read_first(GRANTS, both.where(GRANTS.c.entry == grant.id))
    if row is None or grant_of(row) != grant:
        raise InvalidArgument("grant", f"this ledger has not granted {grant.request!r} as its row {grant.id}")
    return row


def _open_sealed_state(chain: Chain, grant: Grant, row: RowMapping) -> _SealedState | None:
    if row["sealed"] is None:
        return None
    head, _, padded = chain.decrypt(row["sealed"]).partition(b"\n")
    name, of, tick, entries, seal, length = json.loads(head)
    if (name, of) != (chain.book.name, grant.id):
        raise _make_tampering_error(grant, "that of another stream: it was changed without the key")
    return _SealedState(StreamState(tick, padded[:length]), Head(entries, seal))


def _write_state(chain: Chain, grant: Grant, kept: _SealedState, *, is_new: bool) -> None:
    state, end = kept.stream_state.state, kept.end
    head = json.dumps([chain.book.name, grant.id, kept.stream_state.tick, end.entries, end.seal, len(state)]).encode()
    sealed = chain.encrypt(head + b"\n" + state + bytes(-(len(head) + len(state)) % _BLOCK))
    if is_new:
        chain.connection.execute(insert(STATES), {"grant": grant.id, "sealed": sealed})
    else:
        chain.connection.execute(update(STATES).where(STATES.c.grant == grant.id), {"sealed": sealed})


def _count_answers(chain: Chain, grant: Grant) -> tuple[int | None, int]:
    """The last tick that has an answer, and how many have one."""
    mine = (ANSWERS.c.grant == grant.id, ANSWERS.c.part == PART)
    extent = select(func.max(ANSWERS.c.turn), func.count()).where(*mine)
    last, count = chain.connection.execute(extent).one()
    return last, count


def _require_no_answers(chain: Chain, grant: Grant, row: RowMapping) -> None:
    require_unbroken(chain, Head(grant.id, str(row["mac"])))
    if _count_answers(chain, grant)[1]:
        raise _make_tampering_error(grant, "missing: it was removed without the key, and is never begun again")


def _read_answers(chain: Chain, grant: Grant, ticks: range) -> dict[int, str]:
    wanted = (ANSWERS.c.grant == grant.id, ANSWERS.c.turn.between(ticks.start, ticks.stop - 1), ANSWERS.c.part == PART)
    rows = chain.read_rows(ANSWERS, select(ANSWERS).where(*wanted).order_by(ANSWERS.c.turn))
    found = {row["turn"]: row["answer"] for row in rows}
    if list(found) != list(ticks):
        missing = next(tick for tick in ticks if tick not in found)
        raise InvalidArgument("ledger", f"the answer to tick {missing} was removed without the key")
    return found


def _make_tampering_error(grant: Grant, how: str) -> InvalidArgument:
    return InvalidArgument("ledger", f"the state of {grant.request!r} is {how}")


# Nodes that were opened under a paid part of a grant, noted before anything of them is shown. SECRET.


_NAMES_AT_ONCE = 500


def find_notes(chain: Chain, grant: Grant, part: int, names: Sequence[str]) -> dict[str, int]:
    """Notes under these names; names without a note are left out.

    Raises:
        ValueError: this ledger did not give the grant, or a note was changed without the key.
    """
    require_grant(chain, grant)
    page = select(NOTES).where(NOTES.c.grant == grant.id, NOTES.c.part == part)
    found = {}
    for start in range(0, len(names), _NAMES_AT_ONCE):
        some = page.where(NOTES.c.name.in_(names[start : start + _NAMES_AT_ONCE]))
        found.update({str(row["name"]): int(row["value"]) for row in chain.read_rows(NOTES, some)})
    return found


def store_notes(chain: Chain, grant: Grant, part: int, notes: Mapping[str, int]) -> dict[str, int]:
    """Note what is not noted yet. Returns what is noted now.

    Raises:
        ValueError: this ledger did not give the grant, the part is negative, a name cannot be stored, or the ledger has
            lost rows: among them may be the notes that would be written anew.
    """
    if part < 0:
        raise InvalidArgument("part", f"it is counted from 0, got {part}")
    for name in notes:
        require_name("name", name)
    known = find_notes(chain, grant, part, list(notes))
    fresh = {name: value for name, value in notes.items() if name not in known}
    if fresh:
        require_all_rows(chain)
        page: dict[str, Fact] = {"grant": grant.id, "part": part}
        chain.append_all(NOTES, [{**page, "name": name, "value": str(value)} for name, value in fresh.items()])
    return {**fresh, **known}
