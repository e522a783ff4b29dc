"""A word of warning where hardly any record had a value: from what was released, never from the records."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..release import Evidence

MOST = 0.95
WHERE = ("evidence", "prefixes.evidence", "curve.prefixes.evidence", "groups.counts", "looks.evidence")


def warning_of(curve: Any) -> str | None:
    """One line, if nearly all records are missing, as far as a released count of them tells; else None."""
    from ..postprocess.missing import missing_share

    share = max((missing_share(evidence) for evidence in _evidence(curve)), default=0.0)
    if share < MOST:
        return None
    return (
        f"nearly all records are missing (about {share:.0%}, by the released count): they have no number, or none of "
        "the labels that were named, in the columns that were asked for"
    )


def _evidence(curve: Any) -> list[Evidence]:
    """What a curve was read from, wherever it keeps it."""
    from ..release import Evidence

    for place in WHERE:
        try:
            found = attrgetter(place)(curve)
        except AttributeError:
            continue
        return [each for each in (found if isinstance(found, tuple) else (found,)) if isinstance(each, Evidence)]
    return []
