"""Steps, plans, releases and evidence of a question, and fingerprints of public facts.

    Step       a query and its fraction of the budget         before anything is charged
    Plan       query, loss, adjacency, noise distribution, error       public: no record was read
    Release    a plan with the released integers              made by trust models alone
    Evidence   integers with their distribution                        what curves are computed from

A `PrivacyStatement` adds up the losses of all releases of a curve and has its notes. `fingerprint` is the SHA-256 of
canonical JSON of public facts: a request that is repeated with equal facts is charged once.

Formal guarantees: plans are functions of public facts; a release has the loss of its plan.

>>> from dpcurves.privacy import PrivacyLoss
>>> fingerprint(PrivacyLoss.pure(1)) == fingerprint(PrivacyLoss.pure("1.0"))
True
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import cache
from hashlib import sha256
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from ..arguments import ArgumentError, InvalidArgument
from ..arrays import FloatArray
from ..codec import Count
from ..distributions import (
    IntervalSums,
    Noise,
    NoisySums,
    OutputDistribution,
    PathSums,
    Tier,
    convert_to_cells,
    distribution_from_json,
)
from ..ledger import Allotment
from ..privacy import EACH_RECORD, Adjacency, PrivacyLoss, ReplaceOne, format_loss
from ..privacy.adjacency import format_record_count
from ..queries import Query

# Fingerprints of public facts: hashes of canonical JSON of named fields, with a version.
#
# Ledgers look up a stored answer by the fingerprint of its plan, and a charge by the fingerprint of its question. A
# fingerprint covers everything that determines the release: classes, fields and values. It leaves out descriptions,
# forecasts, and fields at an empty default, so that new wording, a better forecast or a new option still finds paid
# answers. Renaming a class or a field changes fingerprints, which existing ledgers hold.


CANONICAL_VERSION = 1
"""Number of the canonical JSON that fingerprints hash. Raise it if this form changes: all fingerprints then change."""
DISPLAY_FIELDS = frozenset({"measured_in"})
"""Names of fields that are only displayed, and so are not part of a fingerprint."""
CLASS_KEY = "is"
"""Key of the class name in the canonical JSON of an object, so that objects of two classes with equal fields differ."""


def fingerprint(*facts: Any) -> str:
    """Return a fingerprint of public facts: their SHA-256 as 64 hexadecimal digits. Equal facts have equal
    fingerprints.

    Args:
        facts: Public objects, in order: queries, losses, distributions, numbers or texts.

    >>> from dpcurves.privacy import PrivacyLoss
    >>> fingerprint(PrivacyLoss.pure(1)) == fingerprint(PrivacyLoss.pure("1.0"))
    True
    """
    return sha256(to_canonical_json([CANONICAL_VERSION, *facts]).encode()).hexdigest()


def to_canonical_json(fact: Any) -> str:
    """Return public facts as canonical JSON text, from which fingerprints are computed: sorted field names, exact
    fractions, enumerations by member name.

    Args:
        fact: Anything that `_to_plain` can represent.

    >>> to_canonical_json((1, Fraction(1, 3), None))
    '[1,{"fraction":"1/3"},null]'
    """
    return json.dumps(fact, default=_to_plain, sort_keys=True, separators=(",", ":"))


def _to_plain(fact: Any) -> Any:
    """Convert a public fact that JSON cannot represent to JSON types, for fingerprints.

    Fractions and ranges are written exactly, arrays by their hash, models by their digest, dataclasses by their fields,
    and other objects by their repr.

    Args:
        fact: Any object.
    """
    kind: Any = {CLASS_KEY: type(fact).__name__}
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
        case _ if isinstance(getattr(fact, "digest", None), str):  # the digest determines a model
            plain = {**kind, "name": getattr(fact, "name", ""), "digest": fact.digest}
        case _:
            plain = {**kind, "repr": repr(fact)}
    return plain


def _dataclass_to_plain(fact: Any) -> dict[str, Any]:
    """Return a dataclass as a JSON object: its class name and its fields, from which fingerprints are computed.

    Args:
        fact: Instance of a dataclass.

    Returns:
        Values by field name; fields for display and fields with an empty default value are left out.
    """
    longest_written = 4096  # numbers of a tuple that canonical JSON writes in decimal
    plain: dict[str, Any] = {CLASS_KEY: type(fact).__name__}
    for fact_field in fields(fact):
        value: Any = getattr(fact, fact_field.name)
        is_display = fact_field.name in DISPLAY_FIELDS or not (fact_field.repr or fact_field.metadata.get("told"))
        # Empty defaults (None, "", (), 0, False) are left out: a new field with one keeps all old fingerprints.
        has_empty_default = fact_field.default is not MISSING and not fact_field.default
        if not is_display and not (has_empty_default and value == fact_field.default):
            # A long tuple, such as the edges of a fine grid, is hashed as an array: writing 65,536 edges in decimal
            # takes 70 ms.
            is_long = isinstance(value, tuple) and len(value) > longest_written
            if is_long and set(map(type, value)) == {float}:
                value = np.array(value)
            plain[fact_field.name] = _to_plain(value) if isinstance(value, Enum) else value
    return plain


# One round of a question, and the facts that are public before the first round.


WHOLE_BUDGET = Fraction(1)
"""Ratio. Budget fraction of a question that spends its whole budget on one round."""


class Step(NamedTuple):
    """A query and its fraction of the question's budget. Both are public.

    A step pays for ``query.charged_query`` once. Later steps with the same charged query state the same fraction and
    cost nothing.
    """

    query: Query
    budget_fraction: Fraction


@dataclass(frozen=True, slots=True)
class Setting:
    """Public facts from which a question chooses its queries.

    Attributes:
        loss: The privacy loss of the whole question.
        adjacency: The neighbouring relation, with the number of units if that is public.
    """

    loss: PrivacyLoss
    adjacency: Adjacency

    def count_noise(self, budget_fraction: Fraction = WHOLE_BUDGET) -> Noise:
        """Return the noise that a count would have if this fraction of the loss were spent on it alone.

        Questions use it to choose queries. Mechanisms compute the noise that protects records themselves.

        Args:
            budget_fraction: Fraction of the loss, above 0 and at most 1.
        """
        adjacency = self.adjacency
        return Noise.from_loss(self.loss * budget_fraction, adjacency.l1_sensitivity, adjacency.squared_l2_sensitivity)


class UnsupportedQuery(ArgumentError):
    """Raised before any charge if a mechanism or trust model cannot answer a query."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of one release. It depends on public facts alone.

    Attributes:
        query: The query.
        loss: The privacy loss of the release.
        adjacency: The neighbouring relation.
        made_by: Names of the trust model and the mechanism, for display.
        distribution: The distribution of the noise.
        error: Standard deviation of one cell or prefix (averaged over the grid) before post-processing, in records, or
            in steps of the sum for sums. For threshold comparisons, the standard deviation of the noise of one
            comparison; 0 for other selections.
        reasons: Noise of each count of missing records by reason; None if these are not counted.
    """

    query: Query
    loss: PrivacyLoss
    adjacency: Adjacency
    made_by: str
    distribution: OutputDistribution
    error: float
    reasons: Noise | None = field(default=None, repr=False)
    _cached_fingerprint: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def fingerprint(self) -> str:
        """Hash of query, loss, adjacency and distribution: plans whose releases have the same distribution have equal
        fingerprints.
        """
        if not self._cached_fingerprint:  # cached, because a stream reads it at every time step
            self._cached_fingerprint.append(fingerprint(self.query, self.loss, self.adjacency, self.distribution))
        return self._cached_fingerprint[0]


class Plans(tuple[Plan, ...]):
    """The plans of a question, one per round.

    Attributes:
        notes: Notes to read before the charge, one line each, computed from public facts alone.
    """

    notes: tuple[str, ...]

    def __new__(cls, plans: Iterable[Plan], notes: Iterable[str] = ()) -> Self:
        instance = super().__new__(cls, plans)
        instance.notes = tuple(notes)
        return instance


@dataclass(frozen=True, slots=True)
class Release:
    """The answer to one step. Only trust models create it.

    Attributes:
        plan: The plan that it answers.
        values: The noisy integers of the mechanism, in the order of the distribution.
        allotment: The charge that paid for it; None for a planned release without data.
        seeded: Whether the noise was drawn from a seed and can be subtracted, so that the release is not private.
        notes: Public facts on how it was answered. Every curve from it repeats them.
        earlier_plans: Plans of the earlier rounds that chose this query. Their losses are fractions of the question's
            loss.
        reasons: Noisy counts of missing records by reason, in the order of `MissingReason`; empty if these are not
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
        """Return a release with blank values, with which a question is run through for a plan, without data.

        Args:
            plan: Plan of the release.
        """
        return cls(plan, plan.distribution.blank_values(), allotment=None, seeded=True)

    @classmethod
    def from_json(cls, text: str, plan: Plan, allotment: Allotment) -> Release:
        """Return a release that was stored before, as the answer to an equal plan, so that no new noise is drawn.

        Args:
            text: JSON that `to_json` wrote.
            plan: Plan of the question that is asked now.
            allotment: Proof that the loss of the plan was charged.

        Raises:
            ValueError: the stored release answers another plan.
        """
        stored = json.loads(text)
        if stored["plan"] != plan.fingerprint:
            raise InvalidArgument(
                "request", f"{allotment.request!r} was answered under another plan; ask under a new request"
            )
        return cls(plan, tuple(stored["values"]), allotment, stored["seeded"], reasons=tuple(stored.get("reasons", ())))

    def __post_init__(self) -> None:
        if self.plan.distribution.size not in (None, len(self.values)):
            raise InvalidArgument(
                "values",
                f"{len(self.values)} values do not answer a plan of {self.plan.distribution.size};"
                " use the plan that was answered",
            )

    def to_json(self) -> str:
        """Return the released integers and the plan's fingerprint as JSON text; all else follows from public facts."""
        reasons = {"reasons": self.reasons} if self.reasons else {}
        return json.dumps({"plan": self.plan.fingerprint, "values": self.values, "seeded": self.seeded, **reasons})


@dataclass(frozen=True, slots=True)
class Evidence:
    """Released numbers of one round with their noise distribution, from which a curve is computed.

    Attributes:
        distribution: The distribution of the noise.
        values: The released integers.
        total: The public number of records in all cells together; None if it is private.
    """

    distribution: OutputDistribution
    values: tuple[int, ...]
    total: int | None

    @classmethod
    def from_release(cls, release: Release) -> Evidence:
        """Return the noise distribution, released values and public total of a release, for estimates.

        Sums over records have no public total.

        Args:
            release: The release.
        """
        distribution = release.plan.distribution
        return cls(
            distribution,
            release.values,
            None
            if distribution.missing is None
            else release.plan.query.public_total(release.plan.adjacency.public_record_count),
        )

    @classmethod
    def from_cells(cls, values: tuple[int, ...], noise: Noise, total: int | None) -> Evidence:
        """Return the evidence of cell counts in one row, each with this noise; missing records are not counted.

        Args:
            values: Released counts of the cells.
            noise: Noise of each count.
            total: Public number of records; None if it is not public.
        """
        return cls(IntervalSums(1, len(values), (Tier(range(len(values)), noise),), missing=None), values, total)

    @property
    def sums(self) -> NoisySums:
        """Noise distribution of the released sums, given the released values, on which it depends for randomised
        reports.

        Raises:
            TypeError: the distribution is of another kind.
        """
        return self.distribution.require_type(NoisySums).condition_on(self.values)  # type: ignore[type-abstract]

    def as_cell_counts(self, rows: int = 1) -> Evidence:
        """Convert prefix counts to counts of the cells between their thresholds; other evidence is unchanged.

        Args:
            rows: Number of rows of equal length in which the prefixes lie, one after the other.

        Raises:
            ValueError: thresholds differ between the rows, or the total of a row was not counted.
        """
        return Evidence(*convert_to_cells(self.distribution, self.values, rows), self.total)

    @property
    def unbiased_cells(self) -> FloatArray:
        """Best linear unbiased estimates of the counts of cells from the released values, (rows, cells).

        Raises:
            TypeError: the distribution is not one of sums.
        """
        return self.sums.reconstruct(np.asarray(self.values, dtype=np.float64), self.total)[0]

    @classmethod
    def sum_disjoint(cls, parts: Sequence[Evidence]) -> Evidence:
        """Add up releases about disjoint groups of records: return the evidence of their union.

        Formal guarantees: see `NoisySums.sum_over_releases`. A public total is not used.

        Args:
            parts: At least one release; all must have the distribution of the first, which is not checked.

        Raises:
            TypeError: the noise is not additive.
        """
        values = tuple(sum(column) for column in zip(*(evidence.values for evidence in parts), strict=True))
        return cls(parts[0].sums.sum_over_releases(len(parts)), values, None)

    @property
    def cell_evidence(self) -> list[Evidence]:
        """Released numbers and noise of each single cell, row by row, if each cell was counted separately; no public
        total is used.

        Raises:
            ValueError: cells were not counted one by one.
        """
        distribution = self.sums
        noise = self.sums.cell_noise
        if noise is None:
            raise InvalidArgument(
                "columns",
                "margins need cells that were counted one by one; ask a separate question about each column",
            )
        return [
            Evidence.from_cells((value,), noise, None)
            for value in self.values[: distribution.rows * distribution.cells]
        ]

    @property
    def path_sums(self) -> PathSums:
        """Output distribution of the released prefix counts of a noise tree.

        Raises:
            TypeError: the distribution is of another kind.
        """
        return self.distribution.require_type(PathSums)

    @property
    def interval_sums(self) -> IntervalSums:
        """Noise distribution of released sums over intervals; of debiased counts for randomised reports.

        Raises `TypeError` if the distribution is of another kind.
        """
        return self.distribution.require_type(NoisySums).nested_distribution.require_type(IntervalSums)  # type: ignore[type-abstract]

    def to_json(self) -> dict[str, Any]:
        """Return released values, their distribution and the public total as JSON-compatible objects.

        Returns:
            JSON values of the distribution, with the released integers; the total is null if it is private.
        """
        return self.distribution.to_json(self.values, self.total)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Evidence:
        """Return the evidence (released numbers with their noise distribution) that `to_json` stored.

        Args:
            stored: JSON object.

        Raises:
            ValueError: the stored object is damaged or of another kind.
        """
        try:
            return cls._parse(stored)
        except InvalidArgument:
            raise
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
            raise InvalidArgument(
                "evidence",
                "the file holds no release of this kind, or was changed;"
                " take the file as dpcurves wrote it, or ask again",
            ) from None

    @classmethod
    def _parse(cls, stored: Mapping[str, Any]) -> Evidence:
        """Return the released numbers and their noise distribution from a stored JSON object, without translating
        errors.

        Args:
            stored: JSON object.

        Raises:
            Exception: the object is damaged; the type of the error depends on the damage.
        """
        distribution = distribution_from_json(stored)
        listed, total = distribution.values_from_json(stored)
        values = tuple(int(value) for value in listed)
        if distribution.size not in (None, len(values)):
            raise InvalidArgument(
                "evidence",
                f"{len(values)} values do not fit a distribution of {distribution.size};"
                " take the file as dpcurves wrote it, or ask again",
            )
        return cls(distribution, values, None if total is None else int(total))


OPEN_TRUST_MODEL = "nobody: a public table, counted openly"
"""Trust model in the privacy statement of a table that is counted without noise. Its result is shown as public, and
costs no budget."""
EXTERNAL_TRUST_PREFIX = "another system: "
"""Prefix of the trust model if another system released the counts: see `curves.external_counts`."""
MISSING_RULE = "missing, unreadable and undeclared values are counted in a private cell of their own and left out"
"""How all questions treat values that lie in no declared cell: field `missing_rule` of a result's JSON, and a row of
its HTML page."""


@cache
def _package_version() -> str:
    """Return the version of this package, or "" if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dpcurves")
    except PackageNotFoundError:
        return ""


@dataclass(frozen=True, slots=True)
class PrivacyStatement:
    """Public facts about how a curve was made.

    Attributes:
        epsilon: Epsilon of the whole question; None if only rho is bounded.
        rho: Zero-concentrated privacy loss of the whole question.
        adjacency: ``add-remove`` or ``replace-one``.
        unit: Column of the privacy unit; empty if the unit is a record.
        rows_per_unit: Contribution bound, in records.
        units: Number of units if it is public, else None.
        trust: The trust model, for display.
        mechanism: The mechanism of each round, for display.
        seeded: Whether the noise can be drawn again, so that nothing is private.
        grant: The request under which the ledger charged.
        model: Description of the model that made the scores; empty without a model.
        notes: Notes to read with the numbers, one line each, computed from released numbers alone.
        delta: Delta; positive only with partition selection.
        source: Declared name and version of the data, and a hash of the release; empty if none was declared.
        version: Version of this package that computed the curve; empty if unknown.
        where: SQL text of the filter of the records; empty: all records.
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
    where: Annotated[str, ("minLength", 1)] = ""

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
        where: str = "",
    ) -> PrivacyStatement:
        """Return the privacy statement of a result: loss, neighbouring relation, trust model, mechanisms and origin of
        the noise.

        Args:
            loss: The spent privacy loss.
            adjacency: Add-remove or replace-one, with the privacy unit.
            trust: Text of the trust model.
            mechanism: Text of the mechanisms.
            seeded: Whether the noise came from a known seed.
            grant: Request id of the grant; empty: none.
            model: Text on the model that made the scores; empty: none.
            where: Text of the filter; empty: none.
        """
        unit = adjacency.unit
        return cls(
            epsilon=None if loss.epsilon is None else float(loss.epsilon), rho=float(loss.rho),
            adjacency=str(adjacency), unit="" if unit == EACH_RECORD else unit.column, rows_per_unit=unit.records,
            units=adjacency.units if isinstance(adjacency, ReplaceOne) else None,
            trust=trust, mechanism=mechanism, seeded=seeded, grant=grant, model=model, delta=float(loss.delta),
            version=_package_version(), where=where,
        )  # fmt: skip

    def with_notes(self, *notes: str) -> PrivacyStatement:
        """Return a copy of this statement with further notes; duplicates are dropped.

        Args:
            notes: Lines of text.
        """
        return replace(self, notes=tuple(dict.fromkeys((*self.notes, *notes))))

    @property
    def most_records(self) -> int | None:
        """Public upper bound of the number of records in the table and in each category; None if the number of units is
        private.
        """
        return None if self.units is None else self.units * self.rows_per_unit

    @property
    def loss(self) -> str:
        """The privacy loss in words: epsilon or rho, and delta if there is one."""
        if self.trust.startswith(EXTERNAL_TRUST_PREFIX):
            return "the loss of another system"
        loss = f"rho {format_loss(self.rho)}" if self.epsilon is None else f"epsilon {format_loss(self.epsilon)}"
        return f"{loss}, delta {format_loss(self.delta)}" if self.delta else loss

    @property
    def protected_unit(self) -> str:
        """Privacy unit in words: each record, or a column with its contribution bound."""
        if not self.unit:
            return "each record"
        return f"each {self.unit} (at most {format_record_count(self.rows_per_unit)})"
