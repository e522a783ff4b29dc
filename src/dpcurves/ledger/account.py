"""The terms of a dataset, fixed before the first question: the protected unit, and the total privacy loss."""

from __future__ import annotations

from dataclasses import dataclass

from ..arguments import Named, Refused
from ..privacy import Neighbours, PrivacyLoss, Unit
from .amount import LARGEST_AMOUNT, Amount, Currency
from .stored_text import require_name


class BudgetExceeded(Named):
    """The charge was refused: nothing was computed, and nothing was spent."""


@dataclass(frozen=True, slots=True)
class Account:
    """The facts of one dataset. They never change: another promise needs another dataset.

    Attributes:
        dataset: Its name in the ledger.
        neighbours: The kind of adjacency under which every release is private.
        unit: Who is protected, and how many records of each are used.
        cap: What all releases together may lose. A pure cap is kept in epsilon, another one in rho; a ledger keeps
            whole billionths of it, rounded down.

    Raises:
        ValueError: the name is empty or cannot be printed, or the cap is below 1e-9 or above 1e9.

    >>> from dpcurves.privacy import EACH_RECORD
    >>> Account("flights", Neighbours.ADD_REMOVE, EACH_RECORD, PrivacyLoss.pure(2)).limit.digits
    '2'
    """

    dataset: str
    neighbours: Neighbours
    unit: Unit
    cap: PrivacyLoss

    def __post_init__(self) -> None:
        require_name("dataset", self.dataset)
        if self.unit.column:
            require_name("unit", self.unit.column)
        if self.unit.records > LARGEST_AMOUNT:
            raise Refused("rows_per_unit", f"at most {LARGEST_AMOUNT:.0e} records of a unit are counted")
        if not 1 <= self.limit.billionths <= LARGEST_AMOUNT:
            raise Refused("budget", f"a cap from 1e-9 to 1e9 is needed, got {self.cap}")

    @property
    def currency(self) -> Currency:
        """The currency of the account: epsilon or rho."""
        return Currency.of(self.cap)

    @property
    def limit(self) -> Amount:
        """The cap, in whole billionths."""
        return self.currency.limit(self.cap)

    def require_same(self, other: Account) -> None:
        """Refuse facts that are not those of this account.

        Raises:
            ValueError: names the first fact that differs.
        """
        for (fact, ours), theirs in zip(self._facts().items(), other._facts().values(), strict=True):
            if ours != theirs:
                raise Refused(fact, f"the account of {self.dataset!r} was opened with {ours}, not with {theirs}")

    def require_units(self, units: int | None) -> None:
        """Take the number of units exactly where it is public.

        Raises:
            ValueError: it is missing, below 1, or private.
        """
        if not self.neighbours.knows_units:
            if units is not None:
                raise Refused("units", "the number of units is private under add-remove; leave it out")
        elif units is None or not 1 <= units <= LARGEST_AMOUNT:
            raise Refused(
                "units", f"replace-one needs the public number of units, from 1 to {LARGEST_AMOUNT:.0e}, got {units}"
            )

    def _facts(self) -> dict[str, str]:
        return {
            "adjacency": self.neighbours.value,
            "unit": repr(self.unit.column) if self.unit.column else "each record",
            "rows_per_unit": str(self.unit.records),
            "budget": str(self.limit),
        }
