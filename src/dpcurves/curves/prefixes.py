"""Shares of records below edges, sums between edges, and quantiles that were searched for; with their noise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import InvalidArgument, convert_to_integers, require_integer, require_probability, require_sequence
from ..arrays import FloatArray, IntArray, multiples_of
from ..conversation import Evidence, PrivacyStatement
from ..data import Axis, Categories, Grid, Outside
from ..estimation import ConvolvedEstimate, JointEstimate, combine_rounds, shrink_estimate
from ..inference import (
    PILOT,
    Band,
    PathQuantile,
    Sample,
    are_few,
    choose_shown_values,
    clip_unseen_shares,
    find_ends_by_tests,
)
from ..inference.simulation import choose_draws, public_generator, sampling_generator, simulate_sampling_errors
from ..laws.law import NoisySums
from ..queries import PrefixQuery
from ..smoothing import AtMost, estimate_prefixes, project_isotonic_l1, project_isotonic_l2
from ..summaries import as_numbers, monotone_prefixes
from .question import grid_from_json, grid_to_json, require_independent


def parse_edges(given: Any, axis: Axis) -> tuple[int, ...]:
    """Numbers of edges, rising.

    Raises:
        ValueError: there is no edge, one stands twice, or the grid has fewer.
        TypeError: `given` is a single number, or holds what is no whole number.
    """
    at = tuple(
        sorted(
            require_integer("at", each)
            for each in require_sequence("at", given, "a tuple of numbers of edges, as in (1, 7),")
        )
    )
    if not at or len(set(at)) < len(at) or at[0] < 0 or at[-1] > axis.grid.cells:
        raise InvalidArgument("at", f"numbers of edges from 0 to {axis.grid.cells}, each once, are needed, got {at}")
    return at


def evenly_spaced_edges(number: int, cells: int) -> tuple[int, ...]:
    """Numbers of so many evenly spaced edges of a grid, the last one its end; fewer, where it has fewer cells.

    >>> evenly_spaced_edges(4, 10), evenly_spaced_edges(4, 2)
    ((2, 5, 7, 10), (1, 2))
    """
    return tuple(sorted({max(1, cells * part // number) for part in range(1, number + 1)}))


def build_all_edges_query(axis: Axis, classes: Categories | None = None) -> PrefixQuery:
    """The query that is paid for: all counts along this grid."""
    return PrefixQuery((axis,) if classes is None else (classes, axis), prefix_lengths=())


NEARLY, MOST_STEPS = 1e-6, 2.0**50
"""By which part of a step a value may be below a multiple of it, for rounding; and the largest such multiple."""
NOTHING: Mapping[str, Any] = MappingProxyType({})
SHOWN = 0.998
"""Part of the records that a picture shows, where the grid has no ends that anybody named."""
MOST_KEPT = 2**22
"""Numbers of simulated noise that are kept for other curves of the same law: 32 MB."""


@dataclass(frozen=True, eq=False)
class PrefixShares:
    """Readings of one row of counts along a grid.

    What is best is read from all turns; what has to be unbiased, from the last one alone, so that bands and intervals
    cover as often as they say. *Proof.* Let A be the earlier answers. They fix the intervals of the last turn and the
    law of its noise, which is drawn afresh: given A, its unbiased reading at the ends of its intervals is off by noise
    of a known law, so a bound that is simulated from this law holds at all ends at once with chance `level` given A.
    Inside an interval the curve, which does not fall, lies between its ends, whatever the interval holds. A chance that
    is `level` given each A is `level`. Hence A may choose intervals by any rule, also by how wide the band will be:
    that changes its width, not its coverage. Merged with the earlier turns a reading might not cover: where their noise
    was high or low decided where the last turn looked.

    Attributes:
        evidence: Counts of one row of cells: of the last turn, if there were several.
        grid: Where the cells lie.
        earlier_evidence: Counts of the same cells in the turns before.
        pilot_queries: So many of these chose the cells: see `combine_rounds`.
        step: The number of whose multiples values seem to be; 0: of none. See `range_search.find_value_step`.
        uses_all_rounds: Whether the intervals of all turns say how cells are halved: see `combine_rounds`.
    """

    evidence: Evidence
    grid: Grid
    earlier_evidence: tuple[Evidence, ...] = ()
    pilot_queries: int = 0
    step: float = 0.0
    uses_all_rounds: bool = False

    @classmethod
    def from_json(
        cls, releases: Sequence[Mapping[str, Any]], grid: Grid, facts: Mapping[str, Any] = NOTHING
    ) -> PrefixShares:
        """From the releases of a curve, turn by turn, and its `facts`, which stand among others.

        Raises:
            ValueError: there is none, or one is damaged.
        """
        if not releases:
            raise InvalidArgument("evidence", "a curve without releases cannot be read")
        *earlier, last = (Evidence.from_json(release).as_cell_counts() for release in releases)
        step = facts.get("step", 0.0)
        if not isinstance(step, int | float) or not 0 <= step < inf:
            raise InvalidArgument("step", f"a number above 0 is needed, got {step!r}")
        uses_all_rounds = facts.get("uses_all_rounds", False)
        if not isinstance(uses_all_rounds, bool):
            raise InvalidArgument("uses_all_rounds", f"true or false is needed, got {uses_all_rounds!r}")
        return cls(last, grid, tuple(earlier), facts.get("pilot_queries", 0), step, uses_all_rounds)

    @property
    def facts(self) -> dict[str, object]:
        """Facts that stand among others of a question: the number of looks, the step, the tree; not 0 or false."""
        return {name: fact for name in ("pilot_queries", "step", "uses_all_rounds") if (fact := getattr(self, name))}

    def round_to_step(self, values: FloatArray) -> FloatArray:
        """The multiples of the step at or below these values, or next above, in the same counted intervals, if any."""
        if not self.step:
            return values
        ends = self.grid.edge(np.flatnonzero(self.measured_edges))
        place = np.searchsorted(ends, values, side="right")
        low, high = (np.concatenate([[-inf], ends, [inf]])[place + more] for more in (0, 1))
        whole_steps = np.floor(values / self.step + NEARLY)
        known = np.abs(whole_steps) < MOST_STEPS  # neither infinite, nor larger than multiples are told apart
        steps = np.where(known, whole_steps, 0.0)
        first, second = multiples_of(self.step, steps), multiples_of(self.step, steps + 1)
        found = np.where(first >= low, first, np.where(second < high, second, values))
        return np.where(known, found, values)

    @cached_property
    def plotted_edges(self) -> slice:
        """The edges that pictures show: all; where noisy counts chose the cells, those around `SHOWN` of the records.

        There the grid goes on to the largest doubles.
        """
        if not self.pilot_queries:
            return slice(None)
        first = int(np.searchsorted(self.shares, (1 - SHOWN) / 2, side="right")) - 1
        first = min(max(first, 0), self.grid.cells - 1)
        last = int(np.searchsorted(self.shares, (1 + SHOWN) / 2))
        return slice(first, min(max(last, first + 1), self.grid.cells) + 1)

    @cached_property
    def boundaries(self) -> FloatArray:
        """The ends of the counted cells, (slots + 1,): from -inf to inf, for values outside are in some cell."""
        return self.grid.boundary(np.arange(self.grid.slots + 1))

    @cached_property
    def cells(self) -> FloatArray:
        """The ends of each counted cell, (slots, 2): boundaries, or the one value that it holds."""
        return self.grid.value_range(np.arange(self.grid.slots)[:, None] + np.arange(2))

    def shares_at_boundaries(self, shares: FloatArray) -> FloatArray:
        """Shares of records below each boundary, given those below each edge of the grid."""
        return np.concatenate([[0.0], shares, [1.0]]) if self.grid.outside is Outside.APART else shares

    @property
    def rounds(self) -> tuple[Evidence, ...]:
        """The evidence of all turns, in their order."""
        return *self.earlier_evidence, self.evidence

    @property
    def scale(self) -> float:
        """The amount of a release that stands for one record: 1, but where weights are counted."""
        return 1.0

    def simulate_noise(self, draws: int, generator: np.random.Generator) -> Iterator[FloatArray]:
        """Simulated noise of the records up to each bound of the law, in chunks of (draws, bounds)."""
        return self.evidence.sums.simulate_prefixes(self.evidence.total, draws, generator)

    def simulate_sampling_errors(
        self, likely: FloatArray, records: int, bounds: IntArray, draws: int, generator: np.random.Generator
    ) -> FloatArray:
        """Deviations of samples of so many records from likely counts between bounds: (draws, bounds - 1)."""
        return simulate_sampling_errors(likely, records, draws, generator)

    @cached_property
    def total(self) -> float:
        """The number of records with a value: exact up to the noise of the missing cell, or estimated. At least 1."""
        return max(self._joint_estimate.total, 1.0) if self.earlier_evidence else self._last_round_total

    @cached_property
    def shares(self) -> FloatArray:
        """Non-decreasing shares in [0, 1] below each edge, of shape ``(cells + 1,)``, by empirical Bayes."""
        prefixes = monotone_prefixes(self._best_cells, self.total)[0] / self.total
        if self.grid.outside is Outside.APART:
            return np.asarray(prefixes[1:-1])
        prefixes[-1] = 1.0  # nothing lies above the last edge
        return np.asarray(prefixes)

    @cached_property
    def unbiased_shares(self) -> FloatArray:
        """Shares before shrinkage and isotonic regression: linear in the released values but for the total."""
        return self._prefixes_at_edges(np.cumsum(self._unbiased_cells) / self._last_round_total)

    @cached_property
    def unbiased_prefix_counts(self) -> FloatArray:
        """Records in the first slots, as the last turn counted them, without bias: (slots + 1,)."""
        return np.append(0.0, np.cumsum(self._unbiased_cells))

    @cached_property
    def measured_edges(self) -> NDArray[np.bool_]:
        """Mark the edges that bound a counted interval: the others are interpolated."""
        edges = self.evidence.sums.measured_edges
        return edges[1:-1] if self.grid.outside is Outside.APART else edges

    @property
    def measured_prefix_counts(self) -> tuple[NDArray[np.int64], FloatArray]:
        """The numbers of the edges that were measured, and how many records lie below each, without bias."""
        known = np.flatnonzero(self.measured_edges)
        return known, self.unbiased_shares[known] * self.total

    def simulate_share_errors(self, generator: np.random.Generator | None) -> Iterator[FloatArray]:
        """Simulated noise of `unbiased_shares` at the edges that were measured, in chunks of (draws, measured)."""
        below = self.unbiased_prefix_counts[self.evidence.sums.bounds]
        for noise in self._simulate_count_noise(generator):
            shares = (below + noise) / np.maximum(below[-1] + noise[:, -1:], 1.0) - below / self._last_round_total
            yield shares[:, 1:-1] if self.grid.outside is Outside.APART else shares

    def intervals_by_tests(
        self, p: FloatArray, cells: FloatArray, level: float, *, population: bool, generator: np.random.Generator | None
    ) -> FloatArray | None:
        """Ends of a few quantiles by tests at the edges, (..., 2): see `find_ends_by_tests`. None where they are many.

        Args:
            p: Levels, (...).
            cells: The cells in which the curve has them, (..., 2). Intervals contain these: shrinkage may have taken
                them outside.
            level: The chance to hold all of the quantiles.
            population: Whether they are those of the population.
            generator: For the simulation; None: the public one, so that the same curve always has the same intervals.
        """
        bounds = self.evidence.sums.bounds
        if not are_few(p.size, level, choose_draws(len(bounds))):
            return None
        chance = sampling_generator(generator) if population else None
        noise, below = self._simulate_count_noise(generator), self.unbiased_prefix_counts[bounds]
        found = find_ends_by_tests(below, noise, p.ravel(), level, chance, self.sampling_variance_at(p.ravel()))
        first, last = bounds[found[:, 0]], bounds[found[:, 1]] - 1
        ends = np.stack([self.cells[first, 0], self.cells[last, 1]], axis=-1).reshape(cells.shape)
        return np.stack([np.minimum(ends, cells)[..., 0], np.maximum(ends, cells)[..., 1]], axis=-1)

    def sampling_variance_at(self, p: FloatArray) -> FloatArray | None:
        """The variance of a sampled excess at each quantile, in units of that of records; None: these."""
        return None

    def _simulate_count_noise(self, generator: np.random.Generator | None) -> Iterable[FloatArray]:
        """Simulated noise of the counts below the edges that were measured, in chunks of (draws, measured)."""
        law, total = self.evidence.sums, self.evidence.total
        return (
            _simulate_public_noise(law, total is not None)
            if generator is None
            else _simulate_noise(law, total, generator)
        )

    def sampling_model(self, generator: np.random.Generator | None) -> Sample:
        """Sampling at the edges that were measured."""
        return Sample(
            clip_unseen_shares(self.shares[self.measured_edges], self.total), self.total, sampling_generator(generator)
        )

    def pin_ends(self, band: Band) -> Band:
        """A band at the edges of the grid, with none below the first and all below the last one where these clamp."""
        if self.grid.outside is not Outside.APART:
            for ends in band:
                ends[[0, -1]] = 0.0, 1.0
        return band

    @cached_property
    def _joint_estimate(self) -> JointEstimate | ConvolvedEstimate:
        return combine_rounds(self.rounds, self.pilot_queries, self.boundaries, uses_all_rounds=self.uses_all_rounds)

    @property
    def _best_cells(self) -> FloatArray:
        """Cells with the least expected error, (1, cells).

        A smooth density is looked for in one turn only where the number of records is public: many curves of one
        release, whose numbers are not, would take half as long again.
        """
        if self.earlier_evidence:
            return self._joint_estimate.cells[None]
        own = self.evidence
        return shrink_estimate(own.sums, own.values, own.total, along_axis=own.total is not None)

    @cached_property
    def _last_round_total(self) -> float:
        return max(float(self._unbiased_cells.sum()), 1.0)

    @cached_property
    def _unbiased_cells(self) -> FloatArray:
        return np.asarray(self.evidence.unbiased_cells[0])

    def _prefixes_at_edges(self, cumulated: FloatArray) -> FloatArray:
        """Cumulated cells at each edge of the grid."""
        if self.grid.outside is Outside.APART:
            return np.asarray(cumulated[..., :-1])
        zero = np.zeros((*cumulated.shape[:-1], 1))
        return np.concatenate([zero, cumulated], axis=-1)


def _simulate_public_noise(law: NoisySums, total_is_public: bool) -> Iterable[FloatArray]:
    """From the fixed seed, so that of one law it is always the same: kept for the next curve, if it is not too large.

    The curves of all categories have one law.
    """
    if choose_draws(len(law.bounds)) * len(law.bounds) <= MOST_KEPT:
        return (_cache_public_noise(law, total_is_public),)
    return _simulate_noise(law, 0 if total_is_public else None, public_generator(None))


@lru_cache(maxsize=2)  # a pure function of public facts
def _cache_public_noise(law: NoisySums, total_is_public: bool) -> FloatArray:
    found = np.concatenate(list(_simulate_noise(law, 0 if total_is_public else None, public_generator(None))))
    found.flags.writeable = False
    return found


def _simulate_noise(law: NoisySums, total: int | None, generator: np.random.Generator) -> Iterator[FloatArray]:
    return law.simulate_prefixes(total, PILOT + choose_draws(len(law.bounds)), generator)


ABSOLUTE, SQUARES = 1, 2


@dataclass(frozen=True, slots=True)
class Smoothing:
    """The smoothing of a curve.

    Attributes:
        p: The power in which changes of noises are added up: 1, absolute values, or 2, squares.
        at: Numbers of the counted edges that are smoothed; between them the curve is linear. None: all of these.

    Raises:
        ValueError: `p` is another number, or edges do not rise.
        TypeError: one of them is no whole number.
    """

    p: int
    at: tuple[int, ...] | None

    def __post_init__(self) -> None:
        convert_to_integers(self, p="p")
        if self.p not in (ABSOLUTE, SQUARES):
            raise InvalidArgument("p", f"1 (absolute values) or 2 (squares) is needed, got {self.p}")
        if self.at is not None:
            edges = tuple(
                require_integer("at", edge)
                for edge in require_sequence("at", self.at, "numbers of edges, as in (3, 7),")
            )
            object.__setattr__(self, "at", tuple(sorted(set(edges))))

    def snap_to_measured_edges(self, prefixes: PrefixShares) -> tuple[Smoothing, tuple[str, ...]]:
        """This smoothing at counted edges, each the nearest one to an edge of `at`; a note, where this is another one.

        Raises:
            ValueError: the grid has not so many edges.
        """
        if self.at is None:
            return self, ()
        beyond = [edge for edge in self.at if not 0 <= edge <= prefixes.grid.cells]
        if beyond:
            raise InvalidArgument("at", f"edges from 0 to {prefixes.grid.cells} are needed, got {beyond[0]}")
        asked, counted = np.array(self.at, dtype=np.int64), np.flatnonzero(prefixes.measured_edges)
        after = np.clip(np.searchsorted(counted, asked), 1, len(counted) - 1)
        low, high = counted[after - 1], counted[after]
        found = np.where(asked - low <= high - asked, low, high)
        moved = int(np.count_nonzero(found != asked))
        note = f"{moved} of {len(asked)} edges to smooth at were not counted: the nearest counted ones were taken"
        return Smoothing(self.p, tuple(found.tolist())), (note,) if moved else ()

    def shares(self, prefixes: PrefixShares) -> FloatArray:
        """Shares below each edge of the grid, from the counts of the last turn.

        The edges of `at` were counted, as those of `snap_to_measured_edges` are.
        """
        law, evidence = prefixes.evidence.sums, prefixes.evidence
        curve = estimate_prefixes(law, evidence.values, evidence.total)
        kept = self._find_smoothed_edges(prefixes, curve.ends)
        graph, noisy = curve.graph.restrict_to_points(kept), curve.counts[kept]
        ceiling = None if evidence.total is None else AtMost(float(evidence.total))
        smooth = project_isotonic_l1 if self.p == ABSOLUTE else project_isotonic_l2
        counts = smooth(noisy, graph, ceiling)
        below = np.interp(np.arange(law.cells + 1), [0, *curve.ends[kept]], [0.0, *counts])
        shares = np.minimum(below / max(below[-1], 1.0), 1.0)
        if prefixes.grid.outside is Outside.APART:
            return np.asarray(shares[1:-1])
        shares[-1] = 1.0
        return np.asarray(shares)

    def _find_smoothed_edges(self, prefixes: PrefixShares, ends: IntArray) -> IntArray:
        """The counted ends that are smoothed; the last one always is: all records lie below it."""
        if self.at is None:
            return np.arange(len(ends))
        slots = np.array(self.at, dtype=np.int64) + int(prefixes.grid.outside is Outside.APART)
        return np.unique(np.append(np.searchsorted(ends, slots[slots > 0]), len(ends) - 1))


class Spans(NamedTuple):
    """Spans between counted edges, with one edge below all records and one above them.

    Attributes:
        edges: Numbers of the edges that a span ends at, rising, from the first to the last of all.
        first, last: Where each span begins and ends, as numbers into `edges`.
    """

    edges: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]

    @classmethod
    def from_edges(cls, first: NDArray[np.int64], last: NDArray[np.int64], edges: int) -> Spans:
        """Spans between such edges, out of so many."""
        at = np.unique(np.concatenate([first, last, [0, edges - 1]]))
        return cls(at, np.searchsorted(at, first), np.searchsorted(at, last))

    def sum_spans(self, below: FloatArray) -> FloatArray:
        """The amount in each span, (..., spans), from the amounts below each edge.

        >>> spans = Spans.from_edges(np.array([0, 1]), np.array([1, 3]), 4)
        >>> spans.sum_spans(np.array([0.0, 0.2, 0.5, 1.0])).tolist()
        [0.2, 0.8]
        """
        return self._subtract_ends(below[..., self.edges])

    def simulate_sampling_errors(
        self, below: FloatArray, units: int, draws: int, chance: np.random.Generator
    ) -> FloatArray:
        """Deviations of a sample's units in each span from their expectation: (draws, spans).

        Args:
            below: The shares of the population below each edge.
            units: The size of the sample.
            draws: How many samples.
            chance: For simulation.
        """
        passed = np.diff(below[self.edges])
        more = simulate_sampling_errors(passed * (units / passed.sum()), units, draws, chance)
        return self._subtract_ends(np.pad(np.cumsum(more, axis=1), ((0, 0), (1, 0))))

    def _subtract_ends(self, below: FloatArray) -> FloatArray:
        return np.asarray(below[..., self.last] - below[..., self.first])


@dataclass(frozen=True, eq=False)
class SearchedQuantiles:
    """Evidence of `Quantiles` where no distribution function was counted.

    Attributes:
        evidence: Counts below all edges that were looked at.
        grid: The cells along which was searched. They are not laid out.
        label: What the x axis shows.
        privacy: The privacy statement, which every picture shows.
    """

    evidence: Evidence
    grid: Grid
    label: str
    privacy: PrivacyStatement

    def quantile(self, p: ArrayLike) -> FloatArray:
        """The first edge, as far as noise tells, below which a share `p` lies; of a cell with one end, that."""
        cells = self.quantile_cell(p)
        return choose_shown_values(cells, cells[..., 1])

    def quantile_cell(self, p: ArrayLike) -> FloatArray:
        """The ends of the cell below that edge, ``(..., 2)``: infinite, if it holds values outside."""
        return self._find_cell_limits(p, lambda search: search.brackets[1])

    def quantile_intervals(self, p: ArrayLike, level: float, *, population: bool = False) -> FloatArray:
        """Edges that have the quantiles between them, all correct at once with chance `level`: ``(..., 2)``.

        See `PathQuantile`. They are as short as noise allows at the level that was searched for; at another one they
        end where its search meets a count that nobody asked for. The error chance is divided by the number of turns, so
        they hold more often than `level` says.
        """
        each = 1 - (1 - require_probability("level", level)) / max(np.size(p), 1)
        require_independent(self.privacy, population)
        return self._find_cell_limits(p, lambda search: search.interval(population=population), each)

    @property
    def x(self) -> FloatArray:
        """The edges that were compared."""
        return self.grid.boundary(np.array(self.evidence.path_sums.prefix_lengths, dtype=np.int64))

    @property
    def rounds(self) -> tuple[Evidence, ...]:
        """The releases, all turns together."""
        return (self.evidence,)

    def question_to_json(self) -> dict[str, Any]:
        """Plain objects that say along what was searched."""
        return {"label": self.label, "grid": grid_to_json(self.grid)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], privacy: PrivacyStatement) -> SearchedQuantiles:
        """Read what `question_to_json` wrote, beside the one release."""
        question, (released,) = stored["question"], stored["releases"]
        evidence = Evidence.from_json(released)
        if evidence.path_sums.cells != (grid := grid_from_json(question["grid"])).slots:
            raise InvalidArgument("grid", "it has not as many cells as were searched")
        return cls(evidence, grid, question["label"], privacy)

    def _find_cell_limits(self, p: ArrayLike, bracket: Any, level: float = 0.5) -> FloatArray:
        shares = as_numbers("p", p)
        found = [bracket(PathQuantile.from_evidence(self.evidence, share, level)) for share in shares.ravel().tolist()]
        slots = np.array([(each.low, each.high) for each in found], dtype=np.int64)
        return self.grid.value_range(slots.reshape(*shares.shape, 2))
