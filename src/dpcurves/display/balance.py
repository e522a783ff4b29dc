"""What was spent, in words that are ready to be shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Charge(NamedTuple):
    """One question that was paid for."""

    question: str
    price: str
    request: str
    when: str


class Balance(NamedTuple):
    """One account of the ledger: its budget, what is spent and left of it, and for what."""

    dataset: str
    budget: str
    spent: str
    left: str
    charges: Sequence[Charge]


class Refusal(NamedTuple):
    """One question that was not answered, and why."""

    question: str
    reason: str
