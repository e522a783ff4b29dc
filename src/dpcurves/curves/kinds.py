"""Any curve that was written as JSON, by the kind that stands in it."""

from __future__ import annotations

import json
from typing import Any

from ..arguments import Refused
from .damage import damage_refused
from .result import Released, kind_of


def curve_from_json(text: str) -> Released:
    """The curve that `to_json` of some result wrote, whichever it was.

    Raises:
        ValueError: the text is no curve, or is damaged.

    >>> import dpcurves as dp
    >>> shares = dp.histogram([1, 2, 2], grid=dp.Grid(0, 4, cells=4), epsilon=1, adjacency=dp.ADD_REMOVE)
    >>> type(curve_from_json(shares.to_json())).__name__
    'Histogram'
    """
    try:
        stored: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise Refused("curve", "this is no JSON") from None
    kind = stored.get("kind") if isinstance(stored, dict) else None
    if not isinstance(kind, str):
        raise Refused("curve.kind", "the field is missing, or is not a text")
    with damage_refused():
        found: type[Released] = kind_of(stored)
    return found.from_json(text)
