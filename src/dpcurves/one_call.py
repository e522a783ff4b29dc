"""Shared parts of one-call questions: columns that may be asked of, the loss, and a session for one question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, TypeVar

from .arguments import Exact, Refused, require_kind
from .curves import Question
from .ledger import Currency
from .noise.randomness import Randomness
from .privacy import Neighbours, PrivacyLoss
from .session import Session

Curve = TypeVar("Curve")
Values: TypeAlias = Any
"""Values of one dimension: a list, a NumPy or Arrow array, or a series of pandas or Polars."""


def loss_of(epsilon: Exact | None, rho: Exact | None) -> PrivacyLoss:
    """The one that is given.

    Raises:
        ValueError: both are given, or neither: there is no default. Or it is not from 1e-9 to 1e9.
    """
    if (epsilon is None) == (rho is None):
        raise Refused("epsilon", "give either epsilon (pure) or rho (zCDP); there is no default")
    if epsilon is not None:
        return Currency.require_countable(PrivacyLoss.pure(epsilon), epsilon)
    return Currency.require_countable(PrivacyLoss.zcdp(rho if rho is not None else 0), rho)


def asked(
    table: Mapping[str, Any],
    question: Question[Curve],
    loss: PrivacyLoss,
    adjacency: Neighbours,
    randomness: Randomness | None,
) -> Curve:
    """The answer to one question, from a ledger in memory with just that budget."""
    budget = Currency.of(loss).budget(loss)
    with Session(table, budget=budget, adjacency=adjacency, randomness=randomness) as session:
        return session.ask(question, loss)


def column(values: Any, name: str) -> Any:
    """Pass on a column as it is: a list is not made an array, for its rows would then decide which type it has."""
    if not hasattr(values, "__len__") or getattr(values, "ndim", 1) != 1 or isinstance(values, str | bytes):
        raise Refused(name, "a list, a series or an array of one dimension is needed")
    return values


def named(label: str, values: Any) -> dict[str, Any]:
    """Make a table of one column, which is called `label`."""
    require_kind("label", label, str, "a text")
    return {label: column(values, "values")}


def pair(one: Any, other: Any, arguments: tuple[str, str], called: tuple[str, str] | None = None) -> dict[str, Any]:
    """Make a table of two columns, which are called as their arguments unless said.

    Raises:
        ValueError: one of them is no column, or they are of different lengths.
    """
    first, second = column(one, arguments[0]), column(other, arguments[1])
    if len(first) != len(second):
        raise Refused(", ".join(arguments), "the same number of records is needed")
    return dict(zip(called or arguments, (first, second), strict=True))
