"""Steps, plans and releases: what is asked, its loss and error, noisy integers; and fingerprints of public facts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import cache
from hashlib import sha256
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from ..arguments import ArgumentError, InvalidArgument
from ..arrays import FloatArray
from ..codec import Count
from ..laws import IntervalSums, Law, Noise, NoisySums, PathSums, Tier, convert_to_cells, law_from_json
from ..ledger import Allotment
from ..privacy import EACH_RECORD, Adjacency, PrivacyLoss, ReplaceOne, format_loss
from ..privacy.adjacency import format_record_count
from ..queries import Query

# Fingerprints of public facts, as ledgers and stores keep them: canonical JSON of named fields, with a version.
#
# A stored answer is found by the fingerprint of its plan, a charge by that of its question. Both name what decides the
# release: kinds, fields and values. Words that people read, forecasts, and fields that were added later and say nothing
# are left out, so that another wording, a better forecast or a new option leaves paid answers where they are. A class
# or a field that is renamed changes fingerprints, and the ledgers of a release hold these.


VERSION = 1
"""The form of the canonical JSON: another form has other fingerprints."""
WORDS = frozenset({"measured_in"})
"""Fields that people read, and nothing else."""
KIND = "is"


def fingerprint(*facts: Any) -> str:
    """The SHA-256 of public facts, 64 hexadecimal digits: equal for equal facts.

    >>> from dpcurves.privacy import PrivacyLoss
    >>> fingerprint(PrivacyLoss.pure(1)) == fingerprint(PrivacyLoss.pure("1.0"))
    True
    """
    return sha256(to_canonical_json([VERSION, *facts]).encode()).hexdigest()


def to_canonical_json(fact: Any) -> str:
    """Write facts as JSON in one way: fields by name, in order; exact fractions; enumerations by the member's name.

    >>> to_canonical_json((1, Fraction(1, 3), None))
    '[1,{"fraction":"1/3"},null]'
    """
    return json.dumps(fact, default=_to_plain, sort_keys=True, separators=(",", ":"))


def _to_plain(fact: Any) -> Any:
    """A fact that JSON has no form for, as one that it has."""
    kind: Any = {KIND: type(fact).__name__}
    plain: Any
    match fact:
        case Enum():
            plain = {**kind, "name": fact.name}
        case Fraction():
            plain = {"fraction": str(fact)}
        case range():
            plain = {"range": [fact.start, fact.stop, fact.step]}
        case frozenset():
            plain = sorted(fact)
        case np.ndarray():
            plain = {"array": sha256(np.ascontiguousarray(fact).tobytes()).hexdigest(), "shape": fact.shape}
        case _ if is_dataclass(fact) and not isinstance(fact, type):
            plain = _dataclass_to_plain(fact)
        case _ if isinstance(getattr(fact, "digest", None), str):  # a model is what its digest says
            plain = {**kind, "name": getattr(fact, "name", ""), "digest": fact.digest}
        case _:
            plain = {**kind, "repr": repr(fact)}
    return plain


def _dataclass_to_plain(fact: Any) -> dict[str, Any]:
    """The kind of a dataclass and its fields, but for words and for later fields that say nothing."""
    named = {
        each.name: _to_plain(found) if isinstance(found, Enum) else found
        for each in fields(fact)
        for found in (getattr(fact, each.name),)
        if (each.repr or each.metadata.get("told")) and each.name not in WORDS and not _is_empty_default(each, fact)
    }
    return {KIND: type(fact).__name__, **named}


def _is_empty_default(field: Field[Any], fact: Any) -> bool:
    """Tell whether a field was left out, and its default is nothing at all: none, no text, no part, 0 or false."""
    return field.default is not MISSING and not field.default and getattr(fact, field.name) == field.default


# A turn of a question, and the facts that are public before the first turn.


ALL = Fraction(1)


class Step(NamedTuple):
    """A query, and its share of the question's budget. Both are public.

    A step pays for ``query.paid_as``, once. Steps that read again what was paid give the same share, and are free.
    """

    query: Query
    budget_fraction: Fraction


@dataclass(frozen=True, slots=True)
class Setting:
    """Public facts that a question may know before it asks, so that it can choose how to ask.

    Attributes:
        loss: The loss of the whole question.
        adjacency: The neighbouring relation, with the number of units where that is public.
    """

    loss: PrivacyLoss
    adjacency: Adjacency

    def count_noise(self, budget_fraction: Fraction = ALL) -> Noise:
        """The noise of a count if that share of the loss were spent on one tiling: to choose by, not to protect."""
        adjacency = self.adjacency
        return Noise.from_loss(self.loss * budget_fraction, adjacency.l1_sensitivity, adjacency.squared_l2_sensitivity)


class UnsupportedQuery(ArgumentError):
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
        reasons: Noise of each count of records that are missing for one reason; None: these are not counted.
    """

    query: Query
    loss: PrivacyLoss
    adjacency: Adjacency
    made_by: str
    law: Law
    error: float
    reasons: Noise | None = field(default=None, repr=False)
    _cached_fingerprint: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def fingerprint(self) -> str:
        """A digest of query, loss, adjacency and law: equal for equal releases, in whatever words they are told."""
        if not self._cached_fingerprint:  # made once: a stream asks for it at every tick
            self._cached_fingerprint.append(fingerprint(self.query, self.loss, self.adjacency, self.law))
        return self._cached_fingerprint[0]


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


@dataclass(frozen=True, slots=True)
class Release:
    """The answer to one step. Made by trust models alone.

    Attributes:
        plan: The query, its price, its noise law, and the trust model that made it.
        values: The noisy integers of the mechanism, in the order of the law.
        allotment: What paid for it. None: a rehearsal, no data was touched.
        seeded: True if the noise was seeded and can be subtracted: then the release is not private.
        notes: Public facts on how it was answered that every curve from it has to say.
        earlier_plans: Plans of turns that chose how this was asked, if there were any: their losses are parts of the
            question's.
        reasons: Noisy counts of missing records by reason, in the order of `MissingReason`; none where these are not
            counted.
    """

    plan: Plan
    values: tuple[int, ...]
    allotment: Allotment | None
    seeded: bool
    notes: tuple[str, ...] = ()
    earlier_plans: tuple[Plan, ...] = ()
    reasons: tuple[int, ...] = ()

    @classmethod
    def make_placeholder(cls, plan: Plan) -> Release:
        """A placeholder answer to a step, with which a question can be planned without data."""
        return cls(plan, plan.law.blank_values(), allotment=None, seeded=True)

    @classmethod
    def from_json(cls, text: str, plan: Plan, allotment: Allotment) -> Release:
        """The release that was stored.

        Raises:
            ValueError: it answers another plan.
        """
        stored = json.loads(text)
        if stored["plan"] != plan.fingerprint:
            raise InvalidArgument(
                "request", f"{allotment.request!r} was answered under another plan; ask under a new request"
            )
        return cls(plan, tuple(stored["values"]), allotment, stored["seeded"], reasons=tuple(stored.get("reasons", ())))

    def __post_init__(self) -> None:
        if self.plan.law.size not in (None, len(self.values)):
            raise InvalidArgument("values", f"{len(self.values)} values do not answer a plan of {self.plan.law.size}")

    def to_json(self) -> str:
        """Integers, and a fingerprint of the plan: all else can be made again from public facts."""
        told = {"reasons": self.reasons} if self.reasons else {}
        return json.dumps({"plan": self.plan.fingerprint, "values": self.values, "seeded": self.seeded, **told})


@dataclass(frozen=True, slots=True)
class Evidence:
    """The released numbers of one turn and the distribution of their noise: what a curve is computed from.

    Attributes:
        law: The distribution of the noise.
        values: The integers that were released.
        total: The public number of records in all cells together; None where it is private.
    """

    law: Law
    values: tuple[int, ...]
    total: int | None

    @classmethod
    def from_release(cls, release: Release) -> Evidence:
        """The evidence of one release. Sums over records do not add up to a number of records, public or not."""
        law = release.plan.law
        return cls(
            law,
            release.values,
            None
            if law.missing is None
            else release.plan.query.public_total(release.plan.adjacency.public_record_count),
        )

    @classmethod
    def from_cells(cls, values: tuple[int, ...], noise: Noise, total: int | None) -> Evidence:
        """The evidence of counts of cells of one row, each with such noise; missing records were not counted."""
        return cls(IntervalSums(1, len(values), (Tier(range(len(values)), noise),), missing=None), values, total)

    @property
    def sums(self) -> NoisySums:
        """The law of noisy sums of any kind. Raises `TypeError` if the values are something else."""
        return self.law.require_type(NoisySums).condition_on(self.values)  # type: ignore[type-abstract]

    def as_cell_counts(self, rows: int = 1) -> Evidence:
        """Read counts of prefixes as counts of the cells between their thresholds; all else stays as it is.

        Args:
            rows: In how many rows of equally many places the prefixes lie, one behind the other.

        Raises:
            ValueError: thresholds differ between the rows, or all records of a row were not counted.
        """
        return Evidence(*convert_to_cells(self.law, self.values, rows), self.total)

    @property
    def unbiased_cells(self) -> FloatArray:
        """The best linear unbiased cells, (rows, cells), whatever the law. Raises `TypeError` if it is of no sums."""
        return self.sums.reconstruct(np.asarray(self.values, dtype=np.float64), self.total)[0]

    @classmethod
    def sum_disjoint(cls, parts: Sequence[Evidence]) -> Evidence:
        """The evidence of the union of disjoint records, from releases under one law: the sums of what was released.

        Formal guarantees: see `NoisySums.sum_over_releases`. A public number of all records is not used.

        Raises:
            TypeError: the law is none of additive noise.
        """
        values = tuple(sum(column) for column in zip(*(turn.values for turn in parts), strict=True))
        return cls(parts[0].sums.sum_over_releases(len(parts)), values, None)

    @property
    def cell_evidence(self) -> list[Evidence]:
        """The evidence of each cell on its own, row by row, where each was counted by itself; no total is used.

        Raises:
            ValueError: cells were not counted one by one.
        """
        law, noise = self.sums, self.sums.cell_noise
        if noise is None:
            raise InvalidArgument("over", "what was not counted cell by cell has no margins")
        return [Evidence.from_cells((value,), noise, None) for value in self.values[: law.rows * law.cells]]

    @property
    def path_sums(self) -> PathSums:
        """The law of counts of prefixes. Raises `TypeError` if the values are something else."""
        return self.law.require_type(PathSums)

    @property
    def interval_sums(self) -> IntervalSums:
        """The law of noisy sums over intervals: of randomised reports, that of their debiased counts.

        Raises `TypeError` if the values are something else.
        """
        return self.law.require_type(NoisySums).nested_law.require_type(IntervalSums)  # type: ignore[type-abstract]

    def to_json(self) -> dict[str, Any]:
        """Plain objects."""
        return self.law.to_json(self.values, self.total)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Evidence:
        """The inverse of `to_json`.

        Raises:
            ValueError: the object is not what `to_json` writes.
        """
        try:
            return cls._parse(stored)
        except InvalidArgument:
            raise
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
            raise InvalidArgument("evidence", "the stored release is damaged or of another kind") from None

    @classmethod
    def _parse(cls, stored: Mapping[str, Any]) -> Evidence:
        law = law_from_json(stored)
        listed, total = law.values_from_json(stored)
        values = tuple(int(value) for value in listed)
        if law.size not in (None, len(values)):
            raise InvalidArgument("evidence", f"{len(values)} values do not fit a law of {law.size}")
        return cls(law, values, None if total is None else int(total))


OPEN = "nobody: a public table, counted openly"
"""The trust model of what is not private at all."""
ELSEWHERE = "another system: "
"""The beginning of the trust model's words where another system released the counts: see `curves.external_counts`."""
MISSING_RULE = "missing, unreadable and undeclared values are counted in a private cell of their own and left out"


@cache
def _package_version() -> str:
    """The version of this package; empty where it was not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dpcurves")
    except PackageNotFoundError:
        return ""


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
        delta: The chance with which more may be lost; 0 but where names were found.
        source: The declared name and version of the data, and a hash of what was released; empty: nobody declared it.
        version: The version of this package that read the curve; empty: one that did not say so.
    """

    epsilon: Annotated[float | None, ("minimum", 0)]
    rho: Annotated[float, ("minimum", 0)]
    adjacency: str
    unit: str
    rows_per_unit: Count
    units: Count | None
    trust: str
    mechanism: str
    seeded: bool
    grant: str
    model: str = ""
    notes: tuple[str, ...] = ()
    delta: Annotated[float, ("exclusiveMinimum", 0), ("exclusiveMaximum", 1)] = 0.0
    source: Annotated[str, ("minLength", 1)] = ""
    version: Annotated[str, ("minLength", 1)] = ""

    @classmethod
    def from_loss(
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
            trust=trust, mechanism=mechanism, seeded=seeded, grant=grant, model=model, delta=float(loss.delta),
            version=_package_version(),
        )  # fmt: skip

    def with_notes(self, *notes: str) -> PrivacyStatement:
        """Return this statement with these notes in it, each once."""
        return replace(self, notes=tuple(dict.fromkeys((*self.notes, *notes))))

    @property
    def most_records(self) -> int | None:
        """An upper bound on the number of records, those of any category among them; None where that is private."""
        return None if self.units is None else self.units * self.rows_per_unit

    @property
    def loss(self) -> str:
        """The loss in words."""
        if self.trust.startswith(ELSEWHERE):
            return "the loss of another system"
        loss = f"rho {format_loss(self.rho)}" if self.epsilon is None else f"epsilon {format_loss(self.epsilon)}"
        return f"{loss}, delta {format_loss(self.delta)}" if self.delta else loss

    @property
    def protected_unit(self) -> str:
        """The protected unit, in words."""
        if not self.unit:
            return "each record"
        return f"each {self.unit} (at most {format_record_count(self.rows_per_unit)})"
