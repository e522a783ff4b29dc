"""How a question says what it needs, and is given the answer."""

from __future__ import annotations

from collections.abc import Generator
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from .workload import Workload

Answer = TypeVar("Answer")
Curve = TypeVar("Curve")


class Need(NamedTuple):
    """What a question needs, and for what share of its budget. Both are public."""

    workload: Workload[Any]
    share: Fraction


Needs: TypeAlias = Generator[Need, Any, Curve]
"""A conversation as a question holds it: it says what it needs, is sent the answer, and in the end returns a curve."""


def needed(workload: Workload[Answer], share: Fraction) -> Needs[Answer]:
    """Say what is needed, and return the answer: ``counts = yield from needed(Cells(axes), ALL)``."""
    return cast("Answer", (yield Need(workload, share)))
