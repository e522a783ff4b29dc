"""The plan of one turn, and of a whole question: its loss and its expected error. It uses no data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Self

from ..arguments import Named
from ..fingerprints import fingerprint, former
from ..laws import Law
from ..privacy import Adjacency, PrivacyLoss
from ..queries import Query


class UnsupportedQuery(Named):
    """A mechanism or trust model cannot answer this. Nothing was charged."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of one release, which depends on public facts alone.

    Attributes:
        query: What will be asked.
        loss: The privacy loss of the release.
        adjacency: The neighbouring relation.
        made_by: Trust model and mechanism, in words.
        law: The distribution of the noise.
        error: Standard deviation of one reading of the query (a cell or a prefix, averaged over the grid), before
            post-processing: in records, for sums in the steps of the sum. For comparisons with a threshold, that of the
            noise of one; 0 for other choices.
    """

    query: Query
    loss: PrivacyLoss
    adjacency: Adjacency
    made_by: str
    law: Law
    error: float
    _made: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def fingerprint(self) -> str:
        """A digest of query, loss, adjacency and law: equal for equal releases, in whatever words they are told."""
        if not self._made:  # made once: a stream asks for it at every tick
            self._made.append(fingerprint(self.query, self.loss, self.adjacency, self.law))
        return self._made[0]

    @property
    def former_fingerprint(self) -> str:
        """The digest by which ledgers of before found this plan."""
        return sha256(former(self).encode()).hexdigest()


class Plans(tuple[Plan, ...]):
    """The plans of a question, turn by turn.

    Attributes:
        notes: What should be read before anything is charged, each in one line, from public facts alone.
    """

    notes: tuple[str, ...]

    def __new__(cls, plans: Iterable[Plan], notes: Iterable[str] = ()) -> Self:
        """Keep the plans and the notes."""
        made = super().__new__(cls, plans)
        made.notes = tuple(notes)
        return made
