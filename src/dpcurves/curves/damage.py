"""Checks of documents that strangers wrote: a curve is read, or it is refused in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..arguments import Refused


@contextmanager
def damage_refused() -> Iterator[None]:
    """Whatever does not fit while a curve is read from its text is damage to the text.

    Raises:
        ValueError: something did not fit.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError):
        raise Refused("curve", "what was released for it is damaged, or does not fit together") from None
