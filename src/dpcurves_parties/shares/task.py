"""The task: all that owners, servers and analysts have to agree on, in one public document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Self

from dpcurves.arguments import Refused
from dpcurves.codec import STORED
from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.curves.prefixes import even_edges
from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.laws import CountLaw, IntervalSums, PathSums
from dpcurves.privacy import EACH_RECORD, Adjacency, Neighbours, PrivacyLoss
from dpcurves.queries import CountQuery, PrefixQuery, Query, Read

from ..crypto import engine_of_task
from ..crypto.prio3 import Prio3Histogram
from ..serving.identity import Server
from ..serving.messages import ProtocolAborted
from ..serving.task_document import Role
from ..serving.two_servers.dap import Configuration, Vdaf, number
from ..serving.two_servers.kinds import SharedTask
from ..serving.two_servers.report_set import LARGEST_SEALED, OVERHEAD
from .answer_proofs import ProofKeys, ProvedCells, ProvedEdges, Prover, required
from .function_shares import FunctionShares, Owners
from .histogram_reports import HistogramEncoding
from .shared_records import CheckedEncoding, Encoding

CELLS_ONLY = "the task counts all cells at once: ask for whole curves, not at some edges"
APART_ONLY = "values outside of the grid have to be counted apart; the task clamps them into its end cells"
CLAMPED_ONLY = "values outside of the grid have to be clamped into its end cells; the task counts them apart"
PREFIXES_ONLY = "the task counts below edges, for its grid is too fine: ask at some of them, or for quantiles"
NOT_AT_EDGES = "edges at which answers are proved are for tasks that count below thresholds, and prove their answers"
ALWAYS_CHECKED = "reports of this encoding are always checked by the servers: ask for it with --check owners"
UNPROVED = "of reports of this encoding answers are not proved; take the tree, or do not check answers"
TOO_FINE = "reports hold a number for each cell, and the grid has too many; take a coarser one, or the tree"
CLASSES = 2
MOST_AT_ONCE = 4096
MOST_CHECKED_AT_ONCE = 64
"""Thresholds in one message. Of checked reports each has a value of its own, until it is known which count."""
EVEN = 64
"""Most edges at which answers are proved, where none were named."""
LEAST = Fraction(1, 2)


class Counted(Enum):
    """Kind of the counts that a task pays for, once. Everything that can be read from them is free.

    - `CELLS`: the counts of all cells at once: distribution functions, quantiles, histograms, ROC and calibration
      curves are read from them, by category where there are categories.
    - `PREFIXES`: counts below thresholds, one after the other: for grids too fine to be laid out.
    """

    CELLS = "cells"
    PREFIXES = "prefixes"


class Reported(Enum):
    """Kind of a report: what an owner sends of a record.

    - `TREE`: shares of a comparison function, short for any grid.
    - `HISTOGRAM`: Prio3Histogram of the VDAF draft: shares of a cell, with a proof that it is one. As long as the grid
      has cells; servers verify and count them faster than trees from some 256 cells on, and any client of the DAP draft
      can make them.
    """

    TREE = "tree"
    HISTOGRAM = "histogram"


@dataclass(frozen=True)
class Task(SharedTask):
    """Task of two servers: its counts, privacy loss and participants. Public; it never changes: its hash is its name.

    Attributes:
        name: Name for people to read.
        column: The column that the owners' values are of; for a labelled task, the score.
        grid: Public cells.
        label: Declared categories: two classes, negative first, where the column is a score; None: values have none.
        loss: The privacy loss of all answers together, for each report.
        reports_per_owner: Most reports that one owner may send: an owner loses at most so many times `loss`.
        servers: Party 0 and party 1.
        tokens: Hashes of the tokens of each role. Their order numbers owners and analysts.
        measured_in: The measuring unit of the column.
        owners: Choice of whether the servers check reports. Checked ones are larger, and answers take longer.
        counted: Kind of the counts paid for; left out: all cells, where they are few enough to be laid out.
        least: Share of the reports that have to pass the servers' check; else nothing is answered, and the task ends.
        beside: Further columns that are counted together with the label and the column, between both, in one table.
        proofs: Hashes of each analyst's key for proofs of answers; none: answers are not proved.
        enrols: True if an owner's ticket is an invitation alone, with which it enrols a token of its own.
        reported: Kind of the reports.
        proved_at: Thresholds, rising, at which a task that counts below thresholds proves its answers; left out: at
            edges that are even over the grid. None where all cells are counted, which are proved all.
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
    counted: Counted | None = None
    least: Fraction = LEAST
    beside: tuple[Axis | Categories, ...] = ()
    proofs: tuple[str, ...] = ()
    enrols: bool = False
    reported: Reported = Reported.TREE
    proved_at: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "least", Fraction(self.least))
        if not 0 <= self.least <= 1:
            raise Refused("least", f"a share from 0 to 1 is needed, got {self.least}")
        if self.counted is None:
            few = self.slots <= self.owners.few_slots or bool(self.beside)
            object.__setattr__(self, "counted", Counted.CELLS if few else Counted.PREFIXES)
        if self.reports_per_owner < 1:
            raise Refused("reports_per_owner", f"at least 1 is needed, got {self.reports_per_owner}")
        first, second = self.servers
        if first.sealing == second.sealing or first.certificate == second.certificate:
            raise Refused("servers", "two different servers are needed; one alone would know every record")
        if self.proved_at and (not self.proofs or self.counted is Counted.CELLS):
            raise Refused("proved_at", NOT_AT_EDGES)
        if self.proofs and self.counted is Counted.PREFIXES:
            at = self.proved_at or self.below(self._even_edges)
            object.__setattr__(self, "proved_at", at)
            if not at or sorted(set(at)) != list(at) or not 0 < at[0] <= at[-1] == self.slots:
                raise Refused("proved_at", f"thresholds that rise, the last one {self.slots}, are needed")
            if len(at) > self.most_at_once:
                raise Refused("proved_at", f"at most {self.most_at_once} thresholds are proved, got {len(at)}")
        if self.reported is Reported.HISTOGRAM:
            self._require_one_hot()
        self.plan((), 1)  # refuses what can not be answered

    def _require_one_hot(self) -> None:
        """Refuse what reports of one cell can not do. Raises `ValueError`."""
        if self.owners is Owners.UNCHECKED:
            raise Refused("check", ALWAYS_CHECKED)
        if self.counted is not Counted.CELLS or self.slots > LARGEST_SEALED:
            raise Refused("encoding", TOO_FINE)
        if self.proofs:
            raise Refused("check", UNPROVED)
        size = Prio3Histogram.smallest(self.slots + 1, b"").input_size(0) + OVERHEAD
        if size + Prio3Histogram.PUBLIC_SIZE > LARGEST_SEALED:
            raise Refused("encoding", TOO_FINE)

    @cached_property
    def encoding(self) -> Encoding | HistogramEncoding:
        if self.reported is Reported.HISTOGRAM:
            return HistogramEncoding(self.slots, self.hash)
        kind = Encoding if self.owners is Owners.UNCHECKED else CheckedEncoding
        return kind(self.slots, engine_of_task(bytes.fromhex(self.hash)), len(self.proofs))

    @cached_property
    def configuration(self) -> Configuration:
        """Facts of the task that clients of the DAP draft need."""
        encoding = self.encoding
        if isinstance(encoding, HistogramEncoding):
            parameters = number(encoding.scheme.length, 4) + number(encoding.scheme.chunk, 4)
            return Configuration(self.hash, self.servers, Vdaf.HISTOGRAM, parameters)
        vdaf = Vdaf.CHECKED_TREE if isinstance(encoding, CheckedEncoding) else Vdaf.TREE
        return Configuration(self.hash, self.servers, vdaf, number(self.slots, 8) + number(len(self.proofs), 2))

    def sharing(self, proof: str) -> Encoding | HistogramEncoding:
        encoding = self.encoding
        if not self.proofs or not isinstance(encoding, Encoding):
            return encoding
        keys = ProofKeys(proof, len(self.proofs))
        required(proof, [self.proofs[0]], keys.hashes[0] if proof else "")
        return replace(encoding, prover=Prover(self.hash, self.proved, keys.each))

    @property
    def proved(self) -> ProvedCells | ProvedEdges:
        """The numbers that are proved: of all cells, or counts at the edges `proved_at`."""
        law = self.plan(self.proved_at, 1).law
        if self.counted is Counted.CELLS:
            return ProvedCells(law.required(IntervalSums))
        return ProvedEdges(law.required(PathSums))

    def below(self, edges: Sequence[int]) -> tuple[int, ...]:
        """The thresholds that are asked for, where a question names these edges of the grid."""
        return PrefixQuery(self.axes, at=()).below(edges).at

    @property
    def _even_edges(self) -> Sequence[int]:
        """Even edges: many as go into `EVEN` thresholds of all rows, a power of two, so that fewer are among them."""
        query, apart = PrefixQuery(self.axes, at=()), 2 * (self.grid.outside is Outside.APART)
        few = 2 ** ((EVEN // query.rows - apart).bit_length() - 1)
        return even_edges(few, self.grid.cells)

    @property
    def axes(self) -> tuple[Axis | Categories, ...]:
        """The columns that an owner reads from each record."""
        first = () if self.label is None else (self.label,)
        return (*first, *self.beside, Axis(self.column, self.grid))

    @property
    def query(self) -> CountQuery | PrefixQuery:
        """Query for all counts that can be asked for. Each category has its own slots, those of the first one first."""
        return self._counting(())

    def _counting(self, at: Sequence[int]) -> CountQuery | PrefixQuery:
        """Query for counts at these thresholds, or of all cells."""
        if self.counted is Counted.CELLS:
            return CountQuery(self.axes, Read.CELLS if self.beside else Read.PREFIXES)
        if self.label is not None and len(self.label.values) != CLASSES:
            raise UnsupportedQuery("label", f"more than {CLASSES} categories need fewer slots; take a coarser grid")
        return PrefixQuery(self.axes, at=tuple(at))

    @property
    def slots(self) -> int:
        """Number of slots that a record can be in; a missing one has an extra slot behind them all."""
        return prod(axis.slots for axis in self.axes)

    @property
    def bits(self) -> int:
        """The bits of the number of a slot, the one behind all included."""
        return self.slots.bit_length()

    def adjacency(self, reports: int) -> Adjacency:
        """The adjacency: one report is replaced, and the number of reports is public."""
        return Neighbours.REPLACE_ONE.among(EACH_RECORD, reports)

    def plan(self, at: Sequence[int], reports: int) -> Plan:
        """Plan of the servers for these thresholds; all cells have none. Raises `UnsupportedQuery`."""
        return FunctionShares(self.owners).turn(self._counting(at), self.loss.of_one_release(), self.adjacency(reports))

    def law(self, reports: int) -> CountLaw:
        """The noise of all answers, whatever is asked: the same for any number of reports."""
        return self.plan((), reports).law.required(CountLaw)  # type: ignore[type-abstract]

    def numbers(self, at: Sequence[int]) -> int:
        """Number of values in a half of the response to these thresholds, those of its proof included."""
        size = self.plan(at, 1).law.required(CountLaw).size  # type: ignore[type-abstract]
        return 2 * size + 1 if self.is_proved(at) else size

    def is_proved(self, at: Sequence[int]) -> bool:
        """Tell whether halves of the answer at these thresholds, or of all cells, are proved."""
        return bool(self.proofs) and tuple(at) == self.proved_at

    def answering(self, query: Query, reports: int) -> Plan:
        """The plan of the release from which a query is answered: other counts of what is paid for are free.

        Raises:
            UnsupportedQuery: it is about something else than the task counts.
        """
        paid = self.query
        if type(query) is type(paid) and query.axes == paid.axes:
            return self.plan(query.named_slots, reports)
        if not isinstance(query, CountQuery | PrefixQuery):
            raise UnsupportedQuery("question", f"two servers count; they cannot answer {type(query).__name__}")
        if type(paid) is not type(query) and query.axes == self.axes:
            raise UnsupportedQuery("question", CELLS_ONLY if paid.is_laid_out else PREFIXES_ONLY)
        if not self.beside and _all_apart(query.axes) == _all_apart(self.axes):
            raise UnsupportedQuery("question", APART_ONLY if self.grid.outside is Outside.CLAMPED else CLAMPED_ONLY)
        counted, asked = (" by ".join(map(_words_of, axes)) for axes in (self.axes, query.axes))
        if counted == asked:  # of the same columns other cells or labels
            counted, asked = (" by ".join(map(_labels_of, axes)) for axes in (self.axes, query.axes))
        rule = f"the task counts another column, grid or label: {counted}; the question needs {asked}"
        raise UnsupportedQuery("question", rule)

    @property
    def most_at_once(self) -> int:
        """Most thresholds that a message may ask for; none, where all cells are counted."""
        if self.counted is Counted.CELLS:
            return 0
        return MOST_AT_ONCE if self.owners is Owners.UNCHECKED else MOST_CHECKED_AT_ONCE

    @property
    def checked_at(self) -> tuple[int, ...]:
        """The thresholds at which reports are checked before the first answer; none: at all cells.

        They cut the slots into even parts, each as long as a power of two, for few nodes of the tree lead to these; or
        are those at which answers are proved. A report that passes can be wrong inside one of these parts alone.
        """
        if self.counted is Counted.CELLS or self.proofs:
            return self.proved_at
        size = 1 << max((self.slots - 1).bit_length() - (MOST_CHECKED_AT_ONCE.bit_length() - 1), 0)
        return (*range(size, self.slots, size), self.slots)

    def thresholds(self, at: object) -> tuple[int, ...]:
        """The thresholds of a message, once they are checked.

        Raises:
            ProtocolAborted: they are no numbers of slots, or too many, or one is there twice.
        """
        asked, most = at if isinstance(at, list) else [], self.most_at_once
        if most == 0 and at == []:
            return ()
        if not 1 <= len(asked) <= most or any(type(each) is not int for each in asked):
            raise ProtocolAborted("at", f"a list of 1 to {most} whole numbers is needed")
        if len(set(asked)) < len(asked) or any(not 0 <= each <= self.slots for each in asked):
            raise ProtocolAborted("at", f"numbers from 0 to {self.slots} are needed, each once")
        return tuple(asked)

    def facts(self) -> dict[str, Any]:
        encoding = {"encoding": _one_hot_facts(self.slots)} if self.reported is Reported.HISTOGRAM else {}
        usual = {"measured_in": self.measured_in, "owners": self.owners.value, "least": str(self.least)}
        unit = {"adjacency": Neighbours.REPLACE_ONE.value, "unit": "one report", "bits": self.bits}
        return {**STORED.written(self, but=("tokens", "reported")), **usual, **unit, **encoding}

    @classmethod
    def of_facts(cls, stored: Mapping[str, Any], tokens: Mapping[Role, Sequence[str]]) -> Self:
        reported = Reported.HISTOGRAM if "encoding" in stored else Reported.TREE
        return STORED.made(cls, stored, tokens=tokens, reported=reported)


def _one_hot_facts(slots: int) -> dict[str, object]:
    """Parameters of Prio3Histogram, as plain objects; the last cell is that of missing records.

    >>> _one_hot_facts(8)
    {'vdaf': 'Prio3Histogram', 'length': 9, 'chunk_length': 3}
    """
    scheme = Prio3Histogram.smallest(slots + 1, b"")
    return {"vdaf": "Prio3Histogram", "length": scheme.length, "chunk_length": scheme.chunk}


def _axis_of(stored: Mapping[str, Any]) -> Axis | Categories:
    if "grid" in stored:
        return Axis(stored["column"], STORED.read(Grid, stored["grid"]))
    return Categories(stored["column"], tuple(stored["values"]))


STORED.add(Axis, lambda axis: {"column": str(axis.column), "grid": STORED.write(axis.grid)}, _axis_of)
STORED.add(Categories, lambda axis: {"column": axis.column, "values": list(axis.values)}, _axis_of)
STORED.add(Axis | Categories, STORED.write, _axis_of)


def _words_of(axis: Axis | Categories) -> str:
    """A column and its slots.

    >>> _words_of(Categories("ward", ("a", "b"))), _words_of(Axis("age", Grid(0, 90, cells=9)))
    ('ward (2 categories)', 'age (9 cells from 0 to 90)')
    """
    if isinstance(axis, Categories):
        return f"{axis.column} ({axis.slots} categories)"
    apart = ", values outside apart" if axis.grid.outside is Outside.APART else ""
    return f"{axis.column} ({axis.grid.cells} cells from {axis.grid.lower:g} to {axis.grid.upper:g}{apart})"


def _labels_of(axis: Axis | Categories) -> str:
    """Return the words for a column with all its labels: numbers as a command declares them, texts in quotes.

    >>> _labels_of(Categories("late", (0, 1))), _labels_of(Categories("late", ("0", "1")))
    ('late (number:0, number:1)', "late ('0', '1')")
    """
    if isinstance(axis, Axis):
        return _words_of(axis)
    labels = (repr(value) if isinstance(value, str) else f"number:{value}" for value in axis.values)
    return f"{axis.column} ({', '.join(labels)})"


def _all_apart(axes: tuple[Axis | Categories, ...]) -> tuple[Axis | Categories, ...]:
    return tuple(
        Axis(axis.column, axis.grid.with_outside(Outside.APART)) if isinstance(axis, Axis) else axis for axis in axes
    )
