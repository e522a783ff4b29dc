"""Adjacency of data sets, and the guarantee about a model that a diagnostic judges."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Self

from ..arguments import InvalidArgument, WrongArgumentType, convert_to_integers


@dataclass(frozen=True, slots=True)
class Unit:
    """The protected unit: all records that share a value of `column`. At most `records` of them are used.

    Where no bound is stated, `with_unknown_bound`, `records` is 0: each question finds a bound of its own, and no adjacency is
    made of such a unit, so nothing is counted without one.

    Raises:
        ValueError: `records` is below 1.
        TypeError: it is no whole number.
    """

    column: str
    records: int

    def __post_init__(self) -> None:
        convert_to_integers(self, records="rows_per_unit")
        if self.records < 1:
            raise InvalidArgument("rows_per_unit", f"at least 1 record of each unit is used, got {self.records}")

    @classmethod
    def with_unknown_bound(cls, column: str) -> Self:
        """A unit of which nobody said how many records are used at most.

        >>> Unit.with_unknown_bound("patient").is_bounded, Unit("patient", 2).is_bounded
        (False, True)
        """
        unit = cls(column, 1)
        object.__setattr__(unit, "records", 0)
        return unit

    @property
    def is_bounded(self) -> bool:
        """Tell whether it is said how many records are used at most."""
        return self.records > 0

    def __str__(self) -> str:
        if not self.is_bounded:
            return f"{self.column} (each question finds how many records each are used)"
        return "each record" if self == EACH_RECORD else f"{self.column} (at most {self.records} records each)"


EACH_RECORD = Unit(column="", records=1)


def format_record_count(number: int) -> str:
    """A number of records, with its noun.

    >>> format_record_count(1), format_record_count(2_000)
    ('1 record', '2,000 records')
    """
    return f"{number:,} record{'s' * (number != 1)}"


@dataclass(frozen=True, slots=True)
class AddRemove:
    """Neighbouring tables differ by one unit, added or removed. The number of units is private: no field has it."""

    unit: Unit

    def __post_init__(self) -> None:
        _require_bounded(self.unit)

    @property
    def l1_sensitivity(self) -> int:
        """L1 distance between the counts of neighbours, at most: a unit's records come or go."""
        return self.unit.records

    @property
    def squared_l2_sensitivity(self) -> int:
        """Squared L2 distance between the counts of neighbours, at most: they may all lie in one cell."""
        return self.unit.records**2

    @property
    def public_record_count(self) -> int | None:
        """The number of records counted, where it is public: here it never is."""
        return None

    def __str__(self) -> str:
        return Neighbours.ADD_REMOVE.value


@dataclass(frozen=True, slots=True)
class ReplaceOne:
    """Neighbouring tables differ in the records of one unit. The number of units is public, so it is a field.

    Raises:
        ValueError: there is no unit to replace.
        TypeError: `units` is no whole number.
    """

    unit: Unit
    units: int

    def __post_init__(self) -> None:
        convert_to_integers(self, units="units")
        _require_bounded(self.unit)
        if self.units < 1:
            raise InvalidArgument(
                "units", "replace-one protects one unit among at least 1; there is none (use add-remove)"
            )

    @property
    def l1_sensitivity(self) -> int:
        """L1 distance between the counts of neighbours, at most: old records go and new ones come."""
        return 2 * self.unit.records

    @property
    def squared_l2_sensitivity(self) -> int:
        """Squared L2 distance, at most: all old records leave one cell and all new ones enter another."""
        return 2 * self.unit.records**2

    @property
    def public_record_count(self) -> int | None:
        """The number of records counted, where it is public: each unit then fills exactly one cell.

        >>> ReplaceOne(EACH_RECORD, 7).public_record_count, ReplaceOne(Unit("patient", 2), 7).public_record_count
        (7, None)
        """
        return self.units if self.unit.records == 1 else None

    def __str__(self) -> str:
        return Neighbours.REPLACE_ONE.value


Adjacency = AddRemove | ReplaceOne


def _require_bounded(unit: Unit) -> None:
    if not unit.is_bounded:
        raise InvalidArgument("rows_per_unit", f"say how many records of each {unit.column} are used at most")


@dataclass(frozen=True, slots=True)
class AdjacencyWithoutBound:
    """A neighbouring relation of units of which no question yet said how many records are used at most.

    Tables differ by one unit and all its records, whatever their number. Under it nothing is counted but units;
    `with_bound` is the relation of what a question counts once it knows its bound.

    Attributes:
        neighbours: The kind of adjacency.
        column: The column that says whose record it is.
        units: The public number of units; None where it is private.
    """

    neighbours: Neighbours
    column: str
    units: int | None

    def with_bound(self, records: int) -> Adjacency:
        """The relation with at most so many records of each unit."""
        return self.neighbours.to_adjacency(Unit(self.column, records), self.units)

    @property
    def unit_adjacency(self) -> Adjacency:
        """The relation of counts of units: one unit is counted once."""
        return self.with_bound(1)

    @property
    def unit(self) -> Unit:
        """The protected unit."""
        return Unit.with_unknown_bound(self.column)

    def __str__(self) -> str:
        return self.neighbours.value


class Neighbours(Enum):
    """A kind of adjacency, before the unit and the number of units are known.

    >>> Neighbours.REPLACE_ONE.to_adjacency(EACH_RECORD, units=10)
    ReplaceOne(unit=Unit(column='', records=1), units=10)
    """

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"

    @property
    def has_public_units(self) -> bool:
        """Tell whether the number of units is public."""
        return self is Neighbours.REPLACE_ONE

    def to_adjacency(self, unit: Unit, units: int | None) -> Adjacency:
        """The adjacency itself. `units` is needed exactly where it is public.

        Raises:
            ValueError: `units` is missing under replace-one.
        """
        if self is Neighbours.ADD_REMOVE:
            return AddRemove(unit)
        if units is None:
            raise InvalidArgument("units", "replace-one needs the public number of units; add-remove does not")
        return ReplaceOne(unit, units)

    def to_question_adjacency(self, unit: Unit, units: int | None) -> Adjacency | AdjacencyWithoutBound:
        """The adjacency of a question: where no bound of records of a unit is stated, that before it is known.

        Raises:
            ValueError: as `to_adjacency`.
        """
        if unit.is_bounded:
            return self.to_adjacency(unit, units)
        self.to_adjacency(Unit(unit.column, 1), units)  # refuses a number of units that is missing
        return AdjacencyWithoutBound(self, unit.column, units if self.has_public_units else None)


class ModelOrigin(Enum):
    """The origin of a model. If it was fitted to the records that it is tested on, its residuals reveal them all.

    If a model was fitted, without privacy, to the records that judge it, one changed record moves every residual; then
    no diagnostic is private, whatever its noise. So one of three things has to be true, and is written on the result:

    - `PUBLIC`: the model was fixed before these records were seen.
    - `DISJOINT`: it was trained on other records, and the promise covers the judged records only.
    - `PRIVATE`: it was trained with a privacy loss of its own, which has to be added to that of the diagnostic.
    """

    PUBLIC = "public: fixed before these records were seen"
    DISJOINT = "trained on other records: the promise covers the judged records, not those"
    PRIVATE = "trained with a privacy loss of its own, which is not in this one: the two add up"


PUBLIC_MODEL, DISJOINT_RECORDS, PRIVATE_MODEL = ModelOrigin.PUBLIC, ModelOrigin.DISJOINT, ModelOrigin.PRIVATE


def require_model_origin(model: object) -> ModelOrigin:
    """Return a model that was declared. There is no default: nobody else knows where it comes from.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(model, ModelOrigin):
        raise WrongArgumentType("model", "say PUBLIC_MODEL, DISJOINT_RECORDS or PRIVATE_MODEL; there is no default")
    return model
