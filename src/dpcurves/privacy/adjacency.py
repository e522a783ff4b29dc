"""Neighbouring relations of differential privacy (adjacency): which two data sets a guarantee compares.

Neighbouring tables differ by one privacy unit (`Unit`). A unit is all records with the same value of a column, of which
at most k are used (the contribution bound), or one record.

    AddRemove      one unit is added or removed      L1 sensitivity of counts k        number of units is private
    ReplaceOne     one unit has other records        L1 sensitivity of counts 2 * k    number of units is public

These are also called unbounded and bounded differential privacy. Under replace-one the number of units is public, so
totals need no noise.

`ModelOrigin` is a second part of a guarantee, for diagnostics of a model: where the model comes from. A model that was
fitted to the same records without privacy protects nobody, because one changed record moves every residual. So the
origin must be stated.

References: Dwork and Roth 2014, section 2.3; Kifer and Machanavajjhala 2011 (bounded and unbounded); NIST SP 800-226.

>>> AddRemove(Unit("patient", 3)).l1_sensitivity, ReplaceOne(EACH_RECORD, units=100).l1_sensitivity
(3, 2)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Self

from ..arguments import InvalidArgument, WrongArgumentType, convert_to_integers
from ..object_summary import ObjectSummary

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True, slots=True)
class Unit:
    """The privacy unit: all records that share a value of `column`, of which at most `records` are used.

    If no bound is stated (`with_unknown_bound`), `records` is 0, and each question chooses its own bound. Such a unit
    has no adjacency, so nothing is counted without a bound.

    Attributes:
        column: The column that identifies the unit; empty if each record is a unit.
        records: Contribution bound: the most records of a unit that are used. 0 if it is not stated.

    Raises:
        ValueError: `records` is below 1.
        TypeError: `records` is not an integer.
    """

    column: str
    records: int

    def __post_init__(self) -> None:
        convert_to_integers(self, records="rows_per_unit")
        if self.records < 1:
            raise InvalidArgument(
                "rows_per_unit", f"at least 1 record of each unit is needed, as in rows_per_unit=5, got {self.records}"
            )

    @classmethod
    def with_unknown_bound(cls, column: str) -> Self:
        """Return a unit whose contribution bound each question chooses.

        Args:
            column: The column that identifies the unit.

        >>> Unit.with_unknown_bound("patient").is_bounded, Unit("patient", 2).is_bounded
        (False, True)
        """
        unit = cls(column, 1)
        object.__setattr__(unit, "records", 0)
        return unit

    @property
    def is_bounded(self) -> bool:
        """Return True if a contribution bound is stated, that is if `records` is above 0."""
        return self.records > 0

    def _build_summary(self) -> ObjectSummary:
        """Return what notebooks show of the unit: its column, and its contribution bound."""
        if self.column == "":
            return ObjectSummary("Privacy unit", [("unit", "each record")])
        most = f"at most {self.records:,}" if self.is_bounded else "each question finds the number"
        return ObjectSummary("Privacy unit", [("column", self.column), ("records of a unit that are used", most)])

    def _repr_html_(self) -> str:
        """Return the summary of the privacy unit as HTML, for notebooks."""
        return self._build_summary().to_html()

    def __rich__(self) -> Table:
        """Return the summary of the unit, for terminals with rich."""
        return self._build_summary().to_rich()

    def __str__(self) -> str:
        if not self.is_bounded:
            return f"{self.column} (each question finds how many records each are used)"
        return "each record" if self == EACH_RECORD else f"{self.column} (at most {self.records} records each)"


EACH_RECORD = Unit(column="", records=1)
"""The unit of data without a column of people: each record is a privacy unit of one record."""


@dataclass(frozen=True, slots=True)
class AddRemove:
    """Neighbouring relation of unbounded DP: one unit is added or removed, with all its records.

    The number of units is private, so it is not an attribute.

    Attributes:
        unit: The privacy unit, with its contribution bound.

    Raises:
        ValueError: the unit has no contribution bound.
    """

    unit: Unit

    def __post_init__(self) -> None:
        _require_bounded(self.unit)

    @property
    def l1_sensitivity(self) -> int:
        """Largest L1 distance between the counts of neighbours: k, the contribution bound."""
        return self.unit.records

    @property
    def squared_l2_sensitivity(self) -> int:
        """Largest squared L2 distance between the counts of neighbours: ``k**2`` for a contribution bound of k, if all
        k records lie in one cell.
        """
        return self.unit.records**2

    @property
    def public_record_count(self) -> int | None:
        """None: under add-remove the number of records is private."""
        return None

    def __str__(self) -> str:
        return Neighbours.ADD_REMOVE.value


@dataclass(frozen=True, slots=True)
class ReplaceOne:
    """Neighbouring relation of bounded DP: one unit has other records.

    The number of units is the same in both tables, so it is public.

    Attributes:
        unit: The privacy unit, with its contribution bound.
        units: Public number of units, at least 1.

    Raises:
        ValueError: `units` is below 1, or the unit has no contribution bound.
        TypeError: `units` is not an integer.
    """

    unit: Unit
    units: int

    def __post_init__(self) -> None:
        convert_to_integers(self, units="units")
        _require_bounded(self.unit)
        if self.units < 1:
            raise InvalidArgument(
                "units",
                "replace-one needs a public number of units of at least 1, as in units=1000; use add-remove if "
                "it is private",
            )

    @property
    def l1_sensitivity(self) -> int:
        """Largest L1 distance between the counts of neighbours: ``2 * k`` for a contribution bound of k, by k removed
        and k added records.
        """
        return 2 * self.unit.records

    @property
    def squared_l2_sensitivity(self) -> int:
        """Largest squared L2 distance between the counts of neighbours: ``2 * k**2`` for a contribution bound of k, if
        k records leave one cell for another.
        """
        return 2 * self.unit.records**2

    @property
    def public_record_count(self) -> int | None:
        """Number of counted records if it is public: the number of units, if each has exactly one record; else None.

        >>> ReplaceOne(EACH_RECORD, 7).public_record_count, ReplaceOne(Unit("patient", 2), 7).public_record_count
        (7, None)
        """
        return self.units if self.unit.records == 1 else None

    def __str__(self) -> str:
        return Neighbours.REPLACE_ONE.value


Adjacency = AddRemove | ReplaceOne
"""The neighbouring relation of tables that a loss refers to."""


def _require_bounded(unit: Unit) -> None:
    """Check that a contribution bound is stated for a unit, which sensitivities need.

    Args:
        unit: The privacy unit.

    Raises:
        ValueError: the unit has none.
    """
    if not unit.is_bounded:
        raise InvalidArgument(
            "rows_per_unit",
            f"the largest number of records of each {unit.column} is missing: give it, as in rows_per_unit=5",
        )


def format_record_count(number: int) -> str:
    """Format a number of records with its noun, singular or plural, for messages.

    Args:
        number: Number of records.

    >>> format_record_count(1), format_record_count(2_000)
    ('1 record', '2,000 records')
    """
    return f"{number:,} record{'s' * (number != 1)}"


@dataclass(frozen=True, slots=True)
class AdjacencyWithoutBound:
    """A neighbouring relation of units whose contribution bound is not chosen yet.

    Tables differ by one unit and all its records, however many. Under this relation only units are counted. Once a
    question knows its bound, `with_bound` returns the relation for its counts of records.

    Attributes:
        neighbours: The kind of adjacency.
        column: The column that identifies the unit.
        units: The public number of units; None if it is private.
    """

    neighbours: Neighbours
    column: str
    units: int | None

    def with_bound(self, records: int) -> Adjacency:
        """Return the neighbouring relation with a contribution bound: at most `records` records per unit.

        Args:
            records: The bound, at least 1.
        """
        return self.neighbours.to_adjacency(Unit(self.column, records), self.units)

    @property
    def unit_adjacency(self) -> Adjacency:
        """Neighbouring relation for counts of units instead of records, with a contribution bound of 1, because each
        unit counts once.
        """
        return self.with_bound(1)

    @property
    def unit(self) -> Unit:
        """The privacy unit, whose contribution bound each question chooses."""
        return Unit.with_unknown_bound(self.column)

    def __str__(self) -> str:
        return self.neighbours.value


class Neighbours(Enum):
    """A kind of neighbouring relation, before the unit and the number of units are known.

    >>> Neighbours.REPLACE_ONE.to_adjacency(EACH_RECORD, units=10)
    ReplaceOne(unit=Unit(column='', records=1), units=10)
    """

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"

    @property
    def has_public_units(self) -> bool:
        """Whether the number of units is public: True under replace-one, False under add-remove."""
        return self is Neighbours.REPLACE_ONE

    def to_adjacency(self, unit: Unit, units: int | None) -> Adjacency:
        """Return the neighbouring relation (add-remove or replace-one) for a privacy unit with a contribution bound.

        Args:
            unit: The privacy unit, with a contribution bound.
            units: Public number of units; required under replace-one, ignored under add-remove.

        Raises:
            ValueError: `units` is None under replace-one, or the unit has no contribution bound.
        """
        if self is Neighbours.ADD_REMOVE:
            return AddRemove(unit)
        if units is None:
            raise InvalidArgument(
                "units", "replace-one needs the public number of units: give it, as in units=1000, or choose add-remove"
            )
        return ReplaceOne(unit, units)

    def to_question_adjacency(self, unit: Unit, units: int | None) -> Adjacency | AdjacencyWithoutBound:
        """Return the neighbouring relation of a question, which may choose its contribution bound itself.

        Args:
            unit: The privacy unit.
            units: Public number of units; required under replace-one, ignored under add-remove.

        Returns:
            `AdjacencyWithoutBound` if the unit has no contribution bound.

        Raises:
            ValueError: `units` is None under replace-one.
        """
        if unit.is_bounded:
            return self.to_adjacency(unit, units)
        self.to_adjacency(Unit(unit.column, 1), units)  # raises if the number of units is missing
        return AdjacencyWithoutBound(self, unit.column, units if self.has_public_units else None)


class ModelOrigin(Enum):
    """Where a model comes from that is judged on confidential records.

    If a model was fitted without privacy to the records that it is tested on, one changed record moves every residual,
    and no amount of noise makes a diagnostic private. So one of three statements must hold; the result prints it.

    - `PUBLIC`: the model was fixed before these records were seen.
    - `DISJOINT`: it was trained on other records, and the guarantee covers the test records only.
    - `PRIVATE`: it was trained with its own privacy loss, which must be added to the loss of the diagnostic.
    """

    PUBLIC = "public: fixed before these records were seen"
    DISJOINT = "trained on other records: the promise covers the judged records, not those"
    PRIVATE = "trained with a privacy loss of its own, which is not in this one: the two add up"


PUBLIC_MODEL = ModelOrigin.PUBLIC
"""Value of the argument `model`: the model was fixed before these records were seen."""
DISJOINT_RECORDS = ModelOrigin.DISJOINT
"""Value of the argument `model`: the model was trained on other records, which the privacy guarantee does not cover."""
PRIVATE_MODEL = ModelOrigin.PRIVATE
"""Value of the argument `model`: the model was trained with a privacy loss of its own, which adds to the loss of the
question."""


def require_model_origin(model: object) -> ModelOrigin:
    """Return the stated origin of a model, after a check of its type.

    There is no default, because only the user knows the origin.

    Args:
        model: Value of the argument.

    Raises:
        TypeError: `model` is not a `ModelOrigin`.
    """
    if not isinstance(model, ModelOrigin):
        raise WrongArgumentType(
            "model",
            "say where the model comes from: PUBLIC_MODEL, DISJOINT_RECORDS or PRIVATE_MODEL; there is no default",
        )
    return model
