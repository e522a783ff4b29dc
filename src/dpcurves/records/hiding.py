"""SENSITIVE. What an engine says when it fails may quote a record, so nobody hears it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def hidden(action: Callable[[], Result], failure: str) -> Result:
    """What `action` gives; if it fails, a ValueError that says `failure` and knows of no other exception."""
    try:
        return action()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # what Polars panics with is no Exception
        pass  # Raised inside of this block, the new exception would carry the old one along.
    raise ValueError(failure)
