"""The answer to one turn of a question, as it was stored before anybody saw it."""

from __future__ import annotations

from sqlalchemy import select

from ..arguments import Refused
from .budget import Grant
from .chain import Chain
from .charge import require_grant
from .schema import ANSWERS
from .stored_text import require_text
from .verification import Head, require_unbroken


def find_answer(chain: Chain, grant: Grant, turn: int, part: int) -> str | None:
    """The stored answer of this turn, or None.

    Raises:
        ValueError: this ledger did not give the grant, or the answer was changed without the key.
    """
    require_grant(chain, grant)
    place = (ANSWERS.c.grant == grant.id, ANSWERS.c.turn == turn, ANSWERS.c.part == part)
    row = chain.connection.execute(select(ANSWERS).where(*place)).mappings().first()
    if row is None:
        return None
    chain.require(ANSWERS, row)
    return str(row["answer"])


def keep_answer(chain: Chain, grant: Grant, turn: int, part: int, answer: str) -> str:
    """Store an answer unless there is one. Returns the one that is stored now.

    Formal guarantees: one grant shows one answer to a turn. An answer is an entry after its grant. Where there is none,
    the chain is followed from the grant to its end, so that no entry is missing that may have been it.

    Raises:
        ValueError: this ledger did not give the grant, the turn or part is negative, the answer cannot be stored, or an
            entry after the grant was removed or changed without the key.
    """
    require_text("answer", answer)
    if turn < 0 or part < 0:
        raise Refused("turn, part", f"they are counted from 0, got {turn} and {part}")
    first = find_answer(chain, grant, turn, part)
    if first is not None:
        return first
    require_unbroken(chain, Head(grant.id, require_grant(chain, grant)))
    chain.append(ANSWERS, {"grant": grant.id, "turn": turn, "part": part, "answer": answer})
    return answer
