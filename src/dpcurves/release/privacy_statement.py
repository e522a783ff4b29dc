"""The privacy statement of every curve: who is protected, the privacy loss, and the trust model and mechanism."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..privacy import EACH_RECORD, Adjacency, PrivacyLoss, ReplaceOne

OPEN = "nobody: a public table, counted openly"
"""The trust model of what is not private at all."""
MISSING_RULE = "missing, unreadable and undeclared values are counted in a private cell of their own and left out"


@dataclass(frozen=True, slots=True)
class PrivacyStatement:
    """Public facts about how a curve was made.

    Attributes:
        epsilon: The loss of the whole question; None under zero-concentrated privacy alone.
        rho: The loss of the whole question, zero-concentrated.
        adjacency: ``add-remove`` or ``replace-one``.
        unit: The column that says who is protected; empty: each record.
        rows_per_unit: How many records of one unit are used at most.
        units: How many units there are, where that is public.
        trust: The trust model, in words.
        mechanism: The mechanism of each turn, in words.
        seeded: Whether the noise can be drawn again: then nothing is private.
        grant: The request under which the ledger charged.
        model: What is said about the model that made the scores; empty where there is none.
        notes: What should be read along with the numbers, each in one line, from released numbers alone.
    """

    epsilon: float | None
    rho: float
    adjacency: str
    unit: str
    rows_per_unit: int
    units: int | None
    trust: str
    mechanism: str
    seeded: bool
    grant: str
    model: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        loss: PrivacyLoss,
        adjacency: Adjacency,
        *,
        trust: str,
        mechanism: str,
        seeded: bool,
        grant: str,
        model: str,
    ) -> PrivacyStatement:
        """The statement of a curve that was asked under `loss` and `adjacency`."""
        unit = adjacency.unit
        return cls(
            epsilon=None if loss.epsilon is None else float(loss.epsilon), rho=float(loss.rho),
            adjacency=str(adjacency), unit="" if unit == EACH_RECORD else unit.column, rows_per_unit=unit.records,
            units=adjacency.units if isinstance(adjacency, ReplaceOne) else None,
            trust=trust, mechanism=mechanism, seeded=seeded, grant=grant, model=model,
        )  # fmt: skip

    def noted(self, *notes: str) -> PrivacyStatement:
        """Return this statement with these notes in it, each once."""
        return replace(self, notes=tuple(dict.fromkeys((*self.notes, *notes))))

    @property
    def loss(self) -> str:
        """The loss in words."""
        return f"rho {self.rho:g}" if self.epsilon is None else f"epsilon {self.epsilon:g}"

    @property
    def protected(self) -> str:
        """Who is protected, in words."""
        if not self.unit:
            return "each record"
        return f"each {self.unit} (at most {self.rows_per_unit} records)"
