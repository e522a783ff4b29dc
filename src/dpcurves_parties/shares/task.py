"""The task document of counts by two servers with secret sharing: what is counted, by whom, at which privacy loss.

Owners hold records. Each owner splits a record into two shares, a report for each server, which alone reveal nothing.
The servers add up shares and noise, and analysts add both servers' answers. The task is the public document on which
all of them agree before anything is sent; its hash names it.

    Task          the document: column, grid, loss, servers, and hashes of the participants' tokens
    CountKind     whether all cells are counted at once, or counts below thresholds one after the other
    ReportKind    how a record is encoded in a report

Formal guarantees: the task is paid for once, with `Task.loss` for each report (an owner with r reports loses at most r
times that). A `Task` never changes, and every message names its hash, so no participant can use another document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Self

from dpcurves.arguments import InvalidArgument
from dpcurves.codec import STORED_CODEC
from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.curves.prefixes import evenly_spaced_edges
from dpcurves.data import Axis, Categories, Grid, OpenEndedAxis, OrderedAxis, Outside
from dpcurves.distributions import CountDistribution, IntervalSums, PathSums
from dpcurves.expressions import parse_filter
from dpcurves.privacy import EACH_RECORD, Adjacency, Neighbours, PrivacyLoss
from dpcurves.queries import CountQuery, CountUse, PrefixQuery, Query

from ..crypto import select_engine
from ..crypto.prio3 import Prio3Histogram
from ..serving.identity import Server
from ..serving.messages import ProtocolError
from ..serving.task_document import Role
from ..serving.two_servers.dap import TaskConfiguration, Vdaf, encode_integer
from ..serving.two_servers.report_set import LARGEST_SEALED, SEALING_OVERHEAD
from ..serving.two_servers.task_types import SharedTask
from .answer_proofs import OwnerProver, ProofKeys, ProvedCells, ProvedEdges, require_key
from .function_shares import FunctionShares, Owners
from .histogram_reports import HistogramEncoding
from .shared_records import CheckedTreeEncoding, TreeEncoding

# Error texts that several checks share.
CELLS_ONLY_RULE = "the task counts all cells at once; ask for whole curves, not for counts at some edges"
"""Error message for a question about counts at some edges, if the task counts all cells."""
OUTSIDE_APART_RULE = (
    "needs values outside the grid counted apart, and the task clips them into its end "
    "cells; ask another question, or make a task with --outside apart"
)
"""Error message for a question that separates values outside the grid, of a task that clips them."""
OUTSIDE_CLIPPED_RULE = (
    "needs values outside the grid clipped into its end cells, and the task counts them "
    "apart; ask another question, or make a task without --outside apart"
)
"""Error message for a question that clips values outside the grid, of a task that separates them."""
PREFIXES_ONLY_RULE = (
    "the task counts below edges only, because its grid is too fine; ask for counts at some edges, or for quantiles"
)
"""Error message for a question about all cells, if the task counts below edges only."""
THRESHOLDS_ONLY_RULE = "applies to tasks that count below thresholds and prove their answers; leave it out"
"""Error message for proved edges named in a task that proves no answers, or counts all cells."""
CHECKED_ENCODING_RULE = "must be owners, because reports of this encoding are always checked by the servers"
"""Error message for a task with Prio3 histogram reports that asks for no check of owners."""
UNPROVED_ENCODING_RULE = (
    "must be owners, because answers from this encoding cannot be proved; or take the encoding tree"
)
"""Error message for a task with Prio3 histogram reports that asks for proofs of answers."""
FINE_GRID_RULE = "must be tree, or the grid coarser, because these reports hold a number for each cell"
"""Error message for a task with Prio3 histogram reports that counts below edges, or whose reports would exceed the size
limit of a sealed share."""
MOST_CHECKED_AT_ONCE = 64
"""Thresholds in one question about checked reports at most; more are refused. Each report is evaluated at all of them
before it is known which reports count, so this bounds the work that invalid ones cause."""
PROVED_THRESHOLDS = 64
"""Most thresholds, evenly spaced over the grid, at which answers are proved unless the task names them: as many as one
question about checked reports may have."""
LEAST_PASSED = Fraction(1, 2)
"""Fraction of the reports that must pass the servers' check, unless the task states another; if fewer pass, the task
ends without an answer."""


class CountKind(Enum):
    """Kind of the counts that a task pays for, once. Everything computed from them is free.

    - `CELLS`: the counts of all cells at once: distribution functions, quantiles, histograms, ROC and calibration
      curves are computed from them, by category if there are categories.
    - `PREFIXES`: counts below thresholds, one after the other, for grids with too many cells to count all.
    """

    CELLS = "cells"
    PREFIXES = "prefixes"


class ReportKind(Enum):
    """Encoding of a record in a report.

    - `TREE`: shares of a comparison function, short for any grid.
    - `HISTOGRAM`: Prio3Histogram of the VDAF draft: shares of a one-hot vector with a proof. Its size grows with the
      number of cells; servers verify and count it faster than trees from about 256 cells, and any client of the DAP
      draft can make it.
    """

    TREE = "tree"
    HISTOGRAM = "histogram"


@dataclass(frozen=True)
class Task(SharedTask):
    """A task of two servers: its counts, privacy loss and participants. Public and immutable; its hash identifies it.

    Attributes:
        name: Name for people.
        column: Column of the owners' values; in a labelled task, the score.
        grid: Public cells.
        label: Declared categories, for a score two classes with the negative one first; None: values have no label.
        loss: Privacy loss of all answers together, for each report.
        reports_per_owner: Most reports of one owner: an owner loses at most this number times `loss`.
        servers: Party 0 and party 1.
        tokens: Hashes of the tokens of each role. Their order numbers owners and analysts.
        measured_in: Unit of measurement of the column.
        owners: Whether the servers check reports. Checked ones are larger, and answers take longer.
        count_kind: Kind of the counts; default: all cells, if there are few enough to count them all.
        min_valid_share: Share of the reports that must pass the servers' check; else the task ends without an answer.
        beside: Further columns that are counted in one table, between the label and the column.
        proof_key_hashes: Hashes of each analyst's key for proofs of answers; empty: answers are not proved.
        enrols: Whether an owner's ticket is an invitation, with which the owner enrols a token.
        report_kind: Encoding of the reports.
        proved_at: Rising thresholds at which a task that counts below thresholds proves its answers; default: evenly
            spaced over the grid. Empty if all cells are counted, all of which are proved.
        where: SQL condition that each owner evaluates; empty: all records. A record that fails it is sent as a missing
            one, so that the public number of reports does not depend on it.
    """

    KIND: ClassVar[str] = "task"
    VERSION: ClassVar[int] = 4

    name: str
    column: str
    grid: Grid
    label: Categories | None
    loss: PrivacyLoss
    reports_per_owner: int
    servers: tuple[Server, Server]
    tokens: Mapping[Role, Sequence[str]]
    measured_in: str = ""
    owners: Owners = Owners.UNCHECKED
    count_kind: CountKind | None = None
    min_valid_share: Fraction = LEAST_PASSED
    beside: tuple[Axis | Categories, ...] = ()
    proof_key_hashes: tuple[str, ...] = ()
    enrols: bool = False
    report_kind: ReportKind = ReportKind.TREE
    proved_at: tuple[int, ...] = ()
    where: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "where", parse_filter("where", self.where or None) or "")
        object.__setattr__(self, "min_valid_share", Fraction(self.min_valid_share))
        if not 0 <= self.min_valid_share <= 1:
            raise InvalidArgument(
                "min_valid_share", f"must be a fraction from 0 to 1, as in 1/2, got {self.min_valid_share}"
            )
        if self.count_kind is None:
            can_count_cells = self.slots <= self.owners.default_max_slots or bool(self.beside)
            object.__setattr__(self, "count_kind", CountKind.CELLS if can_count_cells else CountKind.PREFIXES)
        if self.reports_per_owner < 1:
            raise InvalidArgument(
                "reports_per_owner", f"must be a number of reports of at least 1, as in 1, got {self.reports_per_owner}"
            )
        first, second = self.servers
        if first.hpke_key == second.hpke_key or first.certificate == second.certificate:
            raise InvalidArgument("servers", "must be two different servers; a single one would know every record")
        if self.proved_at and (not self.proof_key_hashes or self.count_kind is CountKind.CELLS):
            raise InvalidArgument("proved_at", THRESHOLDS_ONLY_RULE)
        if self.proof_key_hashes and self.count_kind is CountKind.PREFIXES:
            at = self.proved_at or self.find_thresholds(self._even_edges)
            object.__setattr__(self, "proved_at", at)
            if not at or sorted(set(at)) != list(at) or not 0 < at[0] <= at[-1] == self.slots:
                raise InvalidArgument(
                    "proved_at", f"must be rising thresholds that end with {self.slots}, the number of cells"
                )
            if len(at) > self.max_thresholds:
                raise InvalidArgument(
                    "proved_at", f"must be at most {self.max_thresholds} thresholds, got {len(at)}; prove fewer"
                )
        if self.report_kind is ReportKind.HISTOGRAM:
            self._require_one_hot()
        self.plan((), 1)  # refuses tasks that no plan can answer

    def _require_one_hot(self) -> None:
        """Raise `ValueError` for settings that one-hot reports do not support."""
        if self.owners is Owners.UNCHECKED:
            raise InvalidArgument("check", CHECKED_ENCODING_RULE)
        if self.count_kind is not CountKind.CELLS or self.slots > LARGEST_SEALED:
            raise InvalidArgument("encoding", FINE_GRID_RULE)
        if self.proof_key_hashes:
            raise InvalidArgument("check", UNPROVED_ENCODING_RULE)
        size = Prio3Histogram.with_smallest_reports(self.slots + 1, b"").input_size(0) + SEALING_OVERHEAD
        if size + Prio3Histogram.PUBLIC_SIZE > LARGEST_SEALED:
            raise InvalidArgument("encoding", FINE_GRID_RULE)

    @cached_property
    def encoding(self) -> TreeEncoding | HistogramEncoding:
        """The encoding of the task's reports: one-hot vectors with a proof, or trees, checked or not."""
        if self.report_kind is ReportKind.HISTOGRAM:
            return HistogramEncoding(self.slots, self.hash)
        encoding_class = TreeEncoding if self.owners is Owners.UNCHECKED else CheckedTreeEncoding
        return encoding_class(self.slots, select_engine(bytes.fromhex(self.hash)), len(self.proof_key_hashes))

    @cached_property
    def configuration(self) -> TaskConfiguration:
        """Parameters of the task that clients of the DAP draft (Distributed Aggregation Protocol) need."""
        encoding = self.encoding
        if isinstance(encoding, HistogramEncoding):
            parameters = encode_integer(encoding.scheme.length, 4) + encode_integer(encoding.scheme.chunk_length, 4)
            return TaskConfiguration(self.hash, self.servers, Vdaf.HISTOGRAM, parameters)
        vdaf = Vdaf.CHECKED_TREE if isinstance(encoding, CheckedTreeEncoding) else Vdaf.TREE
        return TaskConfiguration(
            self.hash, self.servers, vdaf, encode_integer(self.slots, 8) + encode_integer(len(self.proof_key_hashes), 2)
        )

    def make_owner_encoding(self, proof_key: str) -> TreeEncoding | HistogramEncoding:
        """Return the format in which an owner makes reports; with a prover if answers are proved.

        Args:
            proof_key: Key in the owner's ticket; empty if answers are not proved.

        Raises:
            ProtocolError: the ticket's key is not the task's.
        """
        encoding = self.encoding
        if not self.proof_key_hashes or not isinstance(encoding, TreeEncoding):
            return encoding
        keys = ProofKeys(proof_key, len(self.proof_key_hashes))
        require_key(proof_key, [self.proof_key_hashes[0]], keys.hashes[0] if proof_key else "")
        return replace(encoding, prover=OwnerProver(self.hash, self.proved_values, keys.keys))

    @property
    def proved_values(self) -> ProvedCells | ProvedEdges:
        """The values that are proved: counts of all cells, or counts below the edges `proved_at`."""
        distribution = self.plan(self.proved_at, 1).distribution
        if self.count_kind is CountKind.CELLS:
            return ProvedCells(distribution.require_type(IntervalSums))
        return ProvedEdges(distribution.require_type(PathSums))

    def find_thresholds(self, edges: Sequence[int]) -> tuple[int, ...]:
        """Return the thresholds that are requested if a question names these edges of the grid.

        A threshold t asks for the number of reports in the first t slots. Categories have slots of their own, so there
        are several thresholds for each edge. The ends of the grid and all slots of a category are always included.

        Args:
            edges: Numbers of edges, from 0.
        """
        return PrefixQuery(self.axes, prefix_lengths=()).with_edges(edges).prefix_lengths

    @property
    def _even_edges(self) -> Sequence[int]:
        """The indices of evenly spaced edges, a power of two of them, as many as fit into `PROVED_THRESHOLDS`
        thresholds of all categories.
        """
        query = PrefixQuery(self.axes, prefix_lengths=())
        extra = 2 if self.grid.outside is Outside.APART else 0  # both ends of the grid
        edges = 2 ** ((PROVED_THRESHOLDS // query.rows - extra).bit_length() - 1)
        return evenly_spaced_edges(edges, self.grid.cells)

    @property
    def axes(self) -> tuple[Axis | Categories, ...]:
        """Columns that an owner reads from each record, each with its grid or categories."""
        label_axis = () if self.label is None else (self.label,)
        columns = (*label_axis, *self.beside, Axis(self.column, self.grid))
        return tuple(replace(axis, where=self.where) for axis in columns) if self.where else columns

    @property
    def query(self) -> CountQuery | PrefixQuery:
        """Query for all counts that can be requested. Each category has its own slots, in the order of categories."""
        return self._make_query(())

    def _make_query(self, thresholds: Sequence[int]) -> CountQuery | PrefixQuery:
        """Return the query for counts at these thresholds, or of all cells.

        Args:
            thresholds: Numbers of slots whose prefix counts are requested; without effect for counts of all cells.

        Raises:
            UnsupportedQuery: counts at thresholds are requested for another number of classes than two.
        """
        if self.count_kind is CountKind.CELLS:
            return CountQuery(self.axes, CountUse.CELLS if self.beside else CountUse.PREFIXES)
        # 2: classes of a score's labels: positive and negative
        if self.label is not None and len(self.label.values) != 2:
            raise UnsupportedQuery(
                "label", "must have two classes where counts are asked at thresholds; for more, take a coarser grid"
            )
        return PrefixQuery(self.axes, prefix_lengths=tuple(thresholds))

    @property
    def slots(self) -> int:
        """Number of slots, that is of the cells of all categories together, in which a record can lie.

        A missing record has an extra slot behind them.
        """
        return prod(axis.slots for axis in self.axes)

    @property
    def bits(self) -> int:
        """Bits of a slot number, including the slot of missing records."""
        return self.slots.bit_length()

    def adjacency(self, reports: int) -> Adjacency:
        """Return the adjacency: one report is replaced, and the number of reports is public.

        Args:
            reports: Number of accepted reports.
        """
        return Neighbours.REPLACE_ONE.to_adjacency(EACH_RECORD, reports)

    def plan(self, thresholds: Sequence[int], reports: int) -> Plan:
        """Return the plan by which the servers count: mechanism, noise and expected error. No report is needed.

        Args:
            thresholds: Numbers of slots to count below; empty: all cells.
            reports: Public number of reports.

        Raises:
            UnsupportedQuery: two servers cannot count this with the task's loss.
        """
        return FunctionShares(self.owners).plan_query(
            self._make_query(thresholds), self.loss.as_single_release(), self.adjacency(reports)
        )

    def distribution(self, reports: int) -> CountDistribution:
        """Return the distribution of released counts around the exact ones, including the noise of both servers.

        The one distribution describes all counts that the task can release, jointly, in units of reports.

        Args:
            reports: Number of reports in the accepted set. It has no influence: noise depends on the task alone.

        Raises:
            TypeError: the distribution is not one of counts.
        """
        return self.plan((), reports).distribution.require_type(CountDistribution)  # type: ignore[type-abstract]

    def answer_size(self, thresholds: Sequence[int]) -> int:
        """Return the number of integers in one server's answer share, including the proof if there is one.

        Args:
            thresholds: Numbers of the edges asked for; empty if the task counts all cells.
        """
        size = self.plan(thresholds, 1).distribution.require_type(CountDistribution).size  # type: ignore[type-abstract]
        return 2 * size + 1 if self.is_proved(thresholds) else size

    def is_proved(self, thresholds: Sequence[int]) -> bool:
        """Return whether answer shares carry a proof: the task has proof keys, and these are its proved thresholds.

        Args:
            thresholds: Numbers of slots whose prefix counts are requested.
        """
        return bool(self.proof_key_hashes) and tuple(thresholds) == self.proved_at

    def plan_for_query(self, query: Query, reports: int) -> Plan:
        """Return the plan of the release that answers a query: other counts derived from the paid ones are free.

        Args:
            query: Query of the analyst's question.
            reports: Number of accepted reports.

        Raises:
            UnsupportedQuery: the query is about something that the task does not count.
        """
        paid = self.query
        query = replace(query, axes=tuple(map(_ignore_order, query.axes)))
        if type(query) is type(paid) and query.axes == paid.axes:
            return self.plan(query.requested_slots, reports)
        if not isinstance(query, CountQuery | PrefixQuery):
            raise UnsupportedQuery(
                "question",
                f"counts of two servers cannot answer {type(query).__name__}; ask for a curve that is "
                "computed from counts",
            )
        if query.where != self.where:
            counted_rows = f"the rows with {self.where}" if self.where else "all rows, without a filter"
            raise UnsupportedQuery(
                "where", f"the task counts {counted_rows}; ask about these, or make a task with another --where"
            )
        if type(paid) is not type(query) and query.axes == self.axes:
            raise UnsupportedQuery("question", CELLS_ONLY_RULE if paid.is_dense else PREFIXES_ONLY_RULE)
        if not self.beside and _count_outside_apart(query.axes) == _count_outside_apart(self.axes):
            raise UnsupportedQuery(
                "question", OUTSIDE_APART_RULE if self.grid.outside is Outside.CLIPPED else OUTSIDE_CLIPPED_RULE
            )
        if any(isinstance(axis, OpenEndedAxis) for axis in query.axes):
            raise UnsupportedQuery(
                "missing_times",
                'the task counts no record with a missing time; ask with missing_times="excluded" (--missing-times '
                "excluded)",
            )
        counted_axes, requested_axes = (" by ".join(map(_describe_axis, axes)) for axes in (self.axes, query.axes))
        if counted_axes == requested_axes:  # the same columns with other cells or labels
            counted_axes, requested_axes = (
                " by ".join(map(_describe_axis_labels, axes)) for axes in (self.axes, query.axes)
            )
        rule = f"the task counts another column, grid or label: {counted_axes}; the question needs {requested_axes}"
        raise UnsupportedQuery("question", rule)

    @property
    def max_thresholds(self) -> int:
        """Most thresholds that one question may name; 0 if the task counts all cells at once."""
        if self.count_kind is CountKind.CELLS:
            return 0
        # 4096: thresholds in one message about unchecked reports at most
        return 4096 if self.owners is Owners.UNCHECKED else MOST_CHECKED_AT_ONCE

    @property
    def checked_at(self) -> tuple[int, ...]:
        """Thresholds at which reports are checked before the first answer; empty: at all cells.

        They divide the slots into equal parts whose length is a power of two, so that the paths to them share most
        nodes; or they are those at which answers are proved. A report that passes can be malformed only inside one
        part.
        """
        if self.count_kind is CountKind.CELLS or self.proof_key_hashes:
            return self.proved_at
        size = 1 << max((self.slots - 1).bit_length() - (MOST_CHECKED_AT_ONCE.bit_length() - 1), 0)
        return (*range(size, self.slots, size), self.slots)

    def parse_thresholds(self, value: object) -> tuple[int, ...]:
        """Return the thresholds of a message as numbers of cells (slots) below them, in its order, after checking them.

        Args:
            value: List in the message's JSON; it must be empty if the task answers all cells at once.

        Raises:
            ProtocolError: the thresholds are not numbers of slots, or are too many or repeated.
        """
        thresholds = value if isinstance(value, list) else []
        limit = self.max_thresholds
        if limit == 0 and value == []:
            return ()
        if not 1 <= len(thresholds) <= limit or any(type(threshold) is not int for threshold in thresholds):
            raise ProtocolError("thresholds", f"must be a list of 1 to {limit} whole numbers")
        if len(set(thresholds)) < len(thresholds) or any(not 0 <= threshold <= self.slots for threshold in thresholds):
            raise ProtocolError("thresholds", f"must be numbers of cells from 0 to {self.slots}, each once")
        return tuple(thresholds)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of the task document as JSON values."""
        encoding = {"encoding": _describe_histogram(self.slots)} if self.report_kind is ReportKind.HISTOGRAM else {}
        default_fields = {
            "measured_in": self.measured_in,
            "owners": self.owners.value,
            "min_valid_share": str(self.min_valid_share),
        }
        unit = {"adjacency": Neighbours.REPLACE_ONE.value, "unit": "one report", "bits": self.bits}
        return {
            **STORED_CODEC.encode_fields(self, exclude=("tokens", "report_kind")),
            **default_fields,
            **unit,
            **encoding,
        }

    @classmethod
    def from_fields(cls, stored: Mapping[str, Any], tokens: Mapping[Role, Sequence[str]]) -> Self:
        """Create the task from the fields of its document, after checking them.

        Args:
            stored: Fields of the document as JSON values.
            tokens: Hashes of bearer tokens, by role.

        Raises:
            ValueError: a field is invalid.
            KeyError: a field is missing.
            TypeError: a field has another type.
        """
        reported = ReportKind.HISTOGRAM if "encoding" in stored else ReportKind.TREE
        return STORED_CODEC.decode_fields(cls, stored, tokens=tokens, report_kind=reported)


def _describe_histogram(slots: int) -> dict[str, object]:
    """Return the fields of a task document that name the Prio3Histogram scheme and its parameters.

    The last cell holds missing records.

    >>> _describe_histogram(8)
    {'vdaf': 'Prio3Histogram', 'length': 9, 'chunk_length': 3}

    Args:
        slots: Number of cells of the task, without the missing cell.

    Returns:
        Fields of the task document.
    """
    scheme = Prio3Histogram.with_smallest_reports(slots + 1, b"")
    return {"vdaf": "Prio3Histogram", "length": scheme.length, "chunk_length": scheme.chunk_length}


def _parse_axis(stored: Mapping[str, Any]) -> Axis | Categories:
    """Return an axis with a grid, or categories, from JSON fields.

    Args:
        stored: Fields of one axis: ``column``, and ``grid`` or ``values``.
    """
    if "grid" in stored:
        return Axis(stored["column"], STORED_CODEC.decode(Grid, stored["grid"]))
    return Categories(stored["column"], tuple(stored["values"]))


STORED_CODEC.add(Axis, lambda axis: {"column": str(axis.column), "grid": STORED_CODEC.encode(axis.grid)}, _parse_axis)
STORED_CODEC.add(Categories, lambda axis: {"column": axis.column, "values": list(axis.values)}, _parse_axis)
STORED_CODEC.add(Axis | Categories, STORED_CODEC.encode, _parse_axis)


def _ignore_order(axis: Axis | Categories) -> Axis | Categories:
    """Return the axis as owners report it: an `OrderedAxis` without its order, any other axis unchanged.

    Owners send both times in any order; the curve leaves out records whose times are not in order.

    Args:
        axis: Axis or categories of the task.
    """
    return Axis(axis.column, axis.grid, where=axis.where) if type(axis) is OrderedAxis else axis


def _describe_axis(axis: Axis | Categories) -> str:
    """Return the words for a column and its number of slots (cells or categories), for the description of a task.

    >>> _describe_axis(Categories("ward", ("a", "b"))), _describe_axis(Axis("age", Grid(0, 90, cells=9)))
    ('ward (2 categories)', 'age (9 cells from 0 to 90)')
    """
    if isinstance(axis, Categories):
        return f"{axis.column} ({axis.slots} categories)"
    outside_note = ", values outside apart" if axis.grid.outside is Outside.APART else ""
    return f"{axis.column} ({axis.grid.cells} cells from {axis.grid.lower:g} to {axis.grid.upper:g}{outside_note})"


def _describe_axis_labels(axis: Axis | Categories) -> str:
    """Return the words for a column with all of its labels: numbers as a command declares them, text in quotes.

    >>> _describe_axis_labels(Categories("late", (0, 1))), _describe_axis_labels(Categories("late", ("0", "1")))
    ('late (number:0, number:1)', "late ('0', '1')")
    """
    if isinstance(axis, Axis):
        return _describe_axis(axis)
    labels = (repr(value) if isinstance(value, str) else f"number:{value}" for value in axis.values)
    return f"{axis.column} ({', '.join(labels)})"


def _count_outside_apart(axes: tuple[Axis | Categories, ...]) -> tuple[Axis | Categories, ...]:
    """Return the axes with values outside each grid counted in separate cells, to compare axes regardless of that
    setting.

    Args:
        axes: Axes of a task or a question.
    """
    return tuple(
        replace(axis, grid=axis.grid.with_outside(Outside.APART)) if isinstance(axis, Axis) else axis for axis in axes
    )
