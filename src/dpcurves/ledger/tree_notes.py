"""Nodes that were opened under a paid part of a grant, noted before anything of them is shown. SECRET."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import select

from ..arguments import Refused
from .budget import Grant
from .chain import Chain
from .charge import require_grant
from .key import Fact
from .schema import NOTES
from .stored_text import require_name
from .verification import require_whole

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
        for row in chain.connection.execute(some).mappings():
            chain.require(NOTES, row)
            found[str(row["name"])] = int(row["value"])
    return found


def keep_notes(chain: Chain, grant: Grant, part: int, notes: Mapping[str, int]) -> dict[str, int]:
    """Note what is not noted yet. Returns what is noted now.

    Raises:
        ValueError: this ledger did not give the grant, the part is negative, a name cannot be stored, or the ledger has
            lost rows: among them may be the notes that would be written anew.
    """
    if part < 0:
        raise Refused("part", f"it is counted from 0, got {part}")
    for name in notes:
        require_name("name", name)
    known = find_notes(chain, grant, part, list(notes))
    fresh = {name: value for name, value in notes.items() if name not in known}
    if fresh:
        require_whole(chain)
        page: dict[str, Fact] = {"grant": grant.id, "part": part}
        chain.append_all(NOTES, [{**page, "name": name, "value": str(value)} for name, value in fresh.items()])
    return {**fresh, **known}
