"""Messages of one object in JSON: read with care, for anybody may have written them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .errors import ProtocolAborted

UNLIKE = "is not of the form that was agreed on"


def facts_of(message: bytes, who: str, **facts: type) -> Mapping[str, Any]:
    """The object in a message that has facts of these types.

    Raises:
        ProtocolAborted: there is none.
    """
    stored = opened(message, who)
    if any(type(stored.get(name)) is not kind for name, kind in facts.items()):
        raise ProtocolAborted(who, f"its answer {UNLIKE}", 502)
    return stored


def opened(message: bytes, who: str) -> Mapping[str, Any]:
    """The object in a message.

    Raises:
        ProtocolAborted: there is none.
    """
    try:
        stored = json.loads(message)
    except ValueError:
        stored = None
    if not isinstance(stored, dict):
        raise ProtocolAborted(who, "the message is cut off, or is none")
    return stored
