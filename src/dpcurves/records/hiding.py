"""SENSITIVE. What an engine says when it fails may quote a record, so nobody hears it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..arguments import Refused

Result = TypeVar("Result")
FAILURE = "the records could not be read (what the engine says is not shown: it may quote a record)"


def hidden(action: Callable[[], Result], rule: str, argument: str = "data") -> Result:
    """The result of `action`; if it fails, a refusal of `argument` that says `rule` and chains no other exception."""
    try:
        return action()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # what Polars panics with is no Exception
        pass  # Raised inside of this block, the new exception would carry the old one along.
    raise Refused(argument, rule)
