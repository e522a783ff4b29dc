"""Empirical distribution function from noisy counts: shares of records below the edges of a grid, with their noise.

A *round* is one release of noisy counts of intervals of cells; later rounds may count intervals that earlier answers
chose. `PrefixShares` holds the releases of all rounds of one row of counts (one category) along a grid, and turns them
into

    shares           E[count below edge | all rounds] / total      displayed: smoothed, non-decreasing
    unbiased_shares  (noisy count below edge, last round) / total  for bands and intervals: noise of a known
    distribution

Both are sums of intervals up to an edge, interpolated where an interval has several cells. `simulate_share_errors`
draws the noise of the unbiased shares; a ratio of two noisy counts c / t has the noise
``(noise of c - share * noise of t) / t``.
`SearchedQuantiles` holds a search for quantiles instead, which counts below few thresholds only.

*Why bands may use intervals that earlier rounds chose*: given the earlier answers, the noise of the last round has a
known distribution and is independent of them, so the coverage given these answers is `level`, and hence the coverage
too.

Formal guarantees: shares and quantiles are functions of released counts, so they lose nothing more (post-processing).

>>> evenly_spaced_edges(4, cells=10)  # edges of a grid at which records are counted
(2, 5, 7, 10)
"""

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
from ..data.grid import split_at_zero
from ..distributions.output_distribution import NoisySums
from ..estimation import ConvolvedEstimate, JointEstimate, combine_rounds, shrink_estimate
from ..inference import (
    Band,
    PathQuantile,
    Sample,
    are_few,
    choose_shown_values,
    clip_unseen_shares,
    find_ends_by_tests,
)
from ..inference.bands import TUNING as BAND_TUNING
from ..inference.bands import split_into_blocks
from ..inference.simulation import (
    choose_draws,
    public_generator,
    require_generator,
    sampling_generator,
    simulate_sampling_errors,
)
from ..queries import PrefixQuery
from ..smoothing import AtMost, estimate_prefixes, project_isotonic_l1, project_isotonic_l2
from ..summaries import as_numbers, monotone_prefixes
from .question import grid_from_json, grid_to_json, require_independent


def parse_edges(given: Any, axis: Axis) -> tuple[int, ...]:
    """Return the indices of edges that a question's argument `edges` lists, sorted, after checks.

    Args:
        given: Value of the argument: a sequence of integers, as in ``(1, 7)``.
        axis: Axis of the question, with its grid.

    Raises:
        ValueError: there is no edge, an edge is repeated, or the grid has fewer edges.
        TypeError: `given` is a single number, or has an entry that is no integer.
    """
    edges = tuple(
        sorted(
            require_integer("edges", edge)
            for edge in require_sequence("edges", given, "a tuple of indices of edges, as in (1, 7),")
        )
    )
    if not edges or len(set(edges)) < len(edges) or edges[0] < 0 or edges[-1] > axis.grid.cells:
        raise InvalidArgument(
            "edges", f"indices of edges from 0 to {axis.grid.cells} are needed, each once, as in (1, 7), got {edges}"
        )
    return edges


def evenly_spaced_edges(number: int, cells: int) -> tuple[int, ...]:
    """Return the indices of evenly spaced edges of a grid, the last being its end; fewer if it has fewer cells.

    >>> evenly_spaced_edges(4, 10), evenly_spaced_edges(4, 2)
    ((2, 5, 7, 10), (1, 2))

    Args:
        number: Number of edges.
        cells: Number of cells of the grid.

    Returns:
        Increasing indices from 1 to `cells`; index 0, the first edge, is left out.
    """
    return tuple(sorted({max(1, cells * index // number) for index in range(1, number + 1)}))


def build_all_edges_query(axis: Axis, classes: Categories | None = None) -> PrefixQuery:
    """Return the query for the counts below all edges of a grid, which the ledger charges when only some edges are
    asked for.

    Args:
        axis: Column and grid.
        classes: Categories whose records are counted apart; None: all records together.
    """
    return PrefixQuery((axis,) if classes is None else (classes, axis), prefix_lengths=())


NO_SETTINGS: Mapping[str, Any] = MappingProxyType({})
"""Default settings of a stored curve: none."""
SinglePrecisionArray = NDArray[np.float32]
MOST_FEW_DRAWS = 1_600
"""Largest number of simulated draws from which a note guesses how wide a band is: first 400, and these if 400 leave it
open. All draws, which take longer, are computed only if so few are not typical of the noise."""


@dataclass(frozen=True, eq=False)
class PrefixShares:
    """Shares and their noise from one row of counts along a grid.

    Point estimates use all rounds; unbiased estimates use the last round alone, so that bands and intervals have the
    stated coverage. *Proof.* Let A be the earlier answers. They fix the intervals of the last round and the
    distribution of its noise, which is independent: given A, the unbiased estimate at the ends of its intervals has
    noise of a known distribution, so a bound simulated from this distribution holds at all ends simultaneously with
    probability `level` given A. Inside an interval the curve, which is non-decreasing, lies between its ends. A
    probability that is `level` given every A is `level`. Hence A may choose intervals by any rule, even by how wide the
    band will be: that changes its width, not its coverage. An estimate merged with the earlier rounds might lose
    coverage: high or low noise in them decided where the last round measured.

    Attributes:
        evidence: Counts of one row of cells: of the last round, if there were several.
        grid: The grid of the cells.
        earlier_evidence: Counts of the same cells in the rounds before.
        pilot_queries: The number of earlier rounds that searched for the range and so chose the cells.
        step: The number whose multiples the values seem to be; 0: none. See `range_search.find_value_step`.
        uses_all_rounds: Whether the intervals of all rounds determine how cells are halved: see `combine_rounds`.
        declared: The grid of the question, if zero was counted in a separate cell: see `split_at_zero`. None: `grid`.
        lattice_counts: Counts of the values that are edges of the grid of the question, and of all other values, if
            nearly all are edges: see `lattices.search_edges`. None: this was not asked, or is not so.
    """

    evidence: Evidence
    grid: Grid
    earlier_evidence: tuple[Evidence, ...] = ()
    pilot_queries: int = 0
    step: float = 0.0
    uses_all_rounds: bool = False
    declared: Grid | None = None
    lattice_counts: Evidence | None = None

    @classmethod
    def from_json(
        cls, releases: Sequence[Mapping[str, Any]], grid: Grid, stored_settings: Mapping[str, Any] = NO_SETTINGS
    ) -> PrefixShares:
        """Return the shares from the stored releases of a curve, round by round, and the `stored_settings` of its
        question.

        Args:
            releases: Stored releases, the first round first.
            grid: The grid that was asked about.
            stored_settings: Settings of the question that are stored beside its releases.

        Raises:
            ValueError: there is no release, or a release is damaged.
        """
        if not releases:
            raise InvalidArgument("evidence", "a curve needs at least one release: pass the releases of its question")
        *earlier, last = (Evidence.from_json(release).as_cell_counts() for release in releases)
        step = stored_settings.get("step", 0.0)
        if not isinstance(step, int | float) or not 0 <= step < inf:
            raise InvalidArgument(
                "step", f"must be a number of at least 0, got {step!r}: use the text that to_json wrote"
            )
        uses_all_rounds = stored_settings.get("uses_all_rounds", False)
        if not isinstance(uses_all_rounds, bool):
            raise InvalidArgument(
                "uses_all_rounds", f"must be true or false, got {uses_all_rounds!r}: use the text that to_json wrote"
            )
        has_separate_zero = stored_settings.get("has_separate_zero", False)
        if not isinstance(has_separate_zero, bool):
            raise InvalidArgument(
                "has_separate_zero",
                f"must be true or false, got {has_separate_zero!r}: use the text that to_json wrote",
            )
        cells, declared = (split_at_zero(grid), grid) if has_separate_zero else (grid, None)
        pilot_queries = stored_settings.get("pilot_queries", 0)
        lattice = Evidence.from_json(stored_settings["lattice"]) if "lattice" in stored_settings else None
        return cls(last, cells, tuple(earlier), pilot_queries, step, uses_all_rounds, declared, lattice)

    @property
    def stored_settings(self) -> dict[str, object]:
        """Facts about how the counts were made, which JSON stores unless they are 0 or false, such as the number of
        pilot queries.
        """
        names = "pilot_queries", "step", "uses_all_rounds", "has_separate_zero"
        lattice = {} if self.lattice_counts is None else {"lattice": self.lattice_counts.to_json()}
        return {name: value for name in names if (value := getattr(self, name))} | lattice

    @property
    def has_separate_zero(self) -> bool:
        """Whether zero was counted in a separate cell that the grid of the question does not have."""
        return self.declared is not None

    @property
    def declared_grid(self) -> Grid:
        """The grid of the question, whose edges a curve has."""
        return self.grid if self.declared is None else self.declared

    @cached_property
    def declared_edges(self) -> IntArray:
        """For each edge of the declared grid, its index among the counted edges, (declared cells + 1,)."""
        if self.declared is None:
            return np.arange(self.grid.cells + 1)
        indices = np.searchsorted(self.grid.edges, self.declared.edges)
        if self.grid.outside is Outside.CLIPPED:
            indices[[0, -1]] = 0, self.grid.cells
        return indices

    def find_counted_edges(self, name: str, edges: Sequence[int]) -> tuple[int, ...]:
        """Return the indices of counted edges that belong to indices of declared edges.

        Args:
            name: Name of the user's argument, for messages.
            edges: Indices of declared edges.

        Raises:
            ValueError: the declared grid has fewer edges.
        """
        cells = self.declared_grid.cells
        outside = [edge for edge in edges if not 0 <= edge <= cells]
        if outside:
            raise InvalidArgument(
                name, f"indices of edges from 0 to {cells} are needed, as in (1, 7), got {outside[0]}"
            )
        return tuple(self.declared_edges[list(edges)].tolist())

    def round_to_step(self, values: FloatArray) -> FloatArray:
        """Return values rounded down to multiples of the step, or up if the lower multiple lies in another interval.

        Values are unchanged if no step was found, or if their counted interval contains no multiple.

        Args:
            values: Values in units of the column, of any shape.
        """
        if not self.step:
            return values
        ends = self.grid.edge(np.flatnonzero(self.measured_edges))
        index = np.searchsorted(ends, values, side="right")
        low, high = (np.concatenate([[-inf], ends, [inf]])[index + offset] for offset in (0, 1))
        whole_steps = np.floor(values / self.step + 1e-6)  # a value this close below a multiple counts as the multiple
        is_representable = np.abs(whole_steps) < 2.0**50  # finite, and small enough that multiples are distinct doubles
        steps = np.where(is_representable, whole_steps, 0.0)
        lower_multiple = multiples_of(self.step, steps)
        upper_multiple = multiples_of(self.step, steps + 1)
        rounded = np.where(
            lower_multiple >= low, lower_multiple, np.where(upper_multiple < high, upper_multiple, values)
        )
        return np.where(is_representable, rounded, values)

    @cached_property
    def plotted_edges(self) -> slice:
        """The edges that plots show: all; if noisy counts chose the cells, those around 99.8 % of the records, without
        far tails.

        In that case the grid extends to the largest doubles, and noise of its empty cells may amount to 0.1 % of the
        records. So a plot extends beyond the 2 % and the 98 % quantile by at most the distance between them.
        """
        if not self.pilot_queries:
            return slice(None)
        shown = 0.998  # share of the records that a plot shows if the range was found privately
        central = 0.96  # share of the records whose range limits the length of the tails
        fewest_cells = 8  # cells that this range has at least: in fewer, nearly all records have one value
        first, last = self._edges_around(shown)
        low, high = self._edges_around(central)
        if high - low >= fewest_cells:
            start, end = self.grid.edge(np.array([low, high])).tolist()
            edges = self.grid.edges
            first = max(first, int(np.searchsorted(edges, start - (end - start))))
            last = min(last, int(np.searchsorted(edges, end + (end - start), side="right")) - 1)
        return slice(first, last + 1)

    def _edges_around(self, share: float) -> tuple[int, int]:
        """Return the indices of the nearest edges around the central `share` of the records.

        Args:
            share: Share of the records between the edges, between 0 and 1.
        """
        first = int(np.searchsorted(self.shares, (1 - share) / 2, side="right")) - 1
        first = min(max(first, 0), self.grid.cells - 1)
        last = int(np.searchsorted(self.shares, (1 + share) / 2))
        return first, min(max(last, first + 1), self.grid.cells)

    @cached_property
    def boundaries(self) -> FloatArray:
        """The edges of all counted cells, (slots + 1,), from -inf to inf if values outside the grid were counted
        separately.
        """
        return self.grid.boundary(np.arange(self.grid.slots + 1))

    @cached_property
    def cells(self) -> FloatArray:
        """Lower and upper bound of each counted cell, ``(slots, 2)``; a cell of one declared value has this value
        twice.
        """
        return self.grid.value_range(np.arange(self.grid.slots)[:, None] + np.arange(2))

    def shares_at_boundaries(self, shares: FloatArray) -> FloatArray:
        """Return shares of records below each boundary of counted cells, given the shares below each edge of the grid.

        If outside values were counted apart, 0 and 1 are added for the boundaries at minus and plus infinity; else the
        shares are returned unchanged.

        Args:
            shares: Shares below each edge of the grid.
        """
        return np.concatenate([[0.0], shares, [1.0]]) if self.grid.outside is Outside.APART else shares

    @property
    def rounds(self) -> tuple[Evidence, ...]:
        """Evidence of all rounds, the last round last."""
        return *self.earlier_evidence, self.evidence

    @property
    def scale(self) -> float:
        """Released amount per record, by which sums are divided to give records: 1, unless weights are summed."""
        return 1.0

    def simulate_noise(self, draws: int, generator: np.random.Generator) -> Iterator[FloatArray]:
        """Yield blocks of simulated noise of the cumulative counts below each edge where the noise distribution has
        one.

        Args:
            draws: Number of draws.
            generator: Random numbers of the simulation.

        Yields:
            Blocks in records, (draws, bounds), with `draws` rows together.
        """
        return self.evidence.sums.simulate_prefixes(self.evidence.total, draws, generator)

    def simulate_sampling_errors(
        self, likely: FloatArray, records: int, bounds: IntArray, draws: int, generator: np.random.Generator
    ) -> FloatArray:
        """Return simulated sampling errors of the counts between bounds, for samples of this size: (draws, bounds - 1).

        Args:
            likely: Estimated records between the bounds, (bounds - 1,).
            records: Size of the sample.
            bounds: Bounds between which records are counted; not used by unweighted counts.
            draws: Number of draws.
            generator: Random numbers of the simulation.
        """
        return simulate_sampling_errors(likely, records, draws, generator)

    @cached_property
    def total(self) -> float:
        """The number of records with a value, at least 1: public, or estimated from all rounds."""
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
        """Shares below each edge from the last round, before shrinkage and isotonic regression: linear in the
        released values, except for the total."""
        shares = np.cumsum(self._unbiased_cells) / self._last_round_total
        if self.grid.outside is Outside.APART:  # the slot above the grid is below no edge
            return np.asarray(shares[:-1])
        return np.append(0.0, shares)

    @cached_property
    def unbiased_prefix_counts(self) -> FloatArray:
        """Unbiased numbers of records below each edge of the counted cells, from the last round, (slots + 1,)."""
        return np.append(0.0, np.cumsum(self._unbiased_cells))

    @cached_property
    def measured_edges(self) -> NDArray[np.bool_]:
        """Mask of the edges of the grid that bound a counted interval; shares at the others are interpolated."""
        edges = self.evidence.sums.measured_edges
        return edges[1:-1] if self.grid.outside is Outside.APART else edges

    @property
    def measured_prefix_counts(self) -> tuple[NDArray[np.int64], FloatArray]:
        """Indices of the counted edges, and the unbiased number of records below each.

        Arrays of one length, in the order of the edges.
        """
        measured = np.flatnonzero(self.measured_edges)
        return measured, self.unbiased_shares[measured] * self.total

    def simulate_share_errors(self, generator: np.random.Generator | None) -> Iterator[FloatArray]:
        """Yield blocks of simulated noise of `unbiased_shares` at the counted edges, (draws, counted edges).

        Args:
            generator: Random numbers of the simulation; None: a fixed public seed.
        """
        counts_below = self.unbiased_prefix_counts[self.evidence.sums.bounds]
        shares_below = counts_below / self._last_round_total
        for block in self._simulate_count_noise(generator):
            shares = block + counts_below
            for rows in split_into_blocks(shares):  # in place and in the cache of the processor: twice as fast
                np.divide(rows, np.maximum(rows[:, -1:], 1.0), out=rows)
                np.subtract(rows, shares_below, out=rows)
            yield shares[:, 1:-1] if self.grid.outside is Outside.APART else shares

    def simulate_few_share_errors(self, draws: int) -> SinglePrecisionArray:
        """Return simulated errors of the shares below the counted edges, in single precision and from a fixed public
        seed.

        They take half the time of `simulate_share_errors`. With noise e below an edge, count c and share ``s = c / N``
        there, a total C, ``N = max(C, 1)`` and noise t of the total, an error is ``(c + e) / m - s`` with ``m = max(C +
        t, 1)``. Computed as ``(e - s (m - N)) / m``, the error is exactly zero below the last edge if C and ``C + t``
        are at least 1.

        Args:
            draws: Largest number of draws.

        Returns:
            Errors, (draws, counted edges).
        """
        noise = self._few_draws.noise[:draws]
        counts_below = self.unbiased_prefix_counts[self.evidence.sums.bounds]
        shares_below = (counts_below / self._last_round_total).astype(np.float32)
        total, least_total = (np.float32(number) for number in (counts_below[-1], self._last_round_total))
        noise_of_total = noise[:, -1:]
        difference = np.float32(min(counts_below[-1] - 1, 0))  # C - N
        excess = np.maximum(noise_of_total + difference, 1 - least_total)
        factors = 1 / np.maximum(total + noise_of_total, 1)
        errors: SinglePrecisionArray = excess * shares_below
        first = 0
        for rows in split_into_blocks(errors):  # in place and in the cache of the processor
            block = slice(first, first + len(rows))
            np.subtract(noise[block], rows, out=rows)
            np.multiply(rows, factors[block], out=rows)
            first += len(rows)
        return errors[:, 1:-1] if self.grid.outside is Outside.APART else errors

    def are_typical(self, draws: int) -> bool:
        """Return whether the first draws suffice to show the scale of the simulated errors of the shares.

        Args:
            draws: Number of draws that is needed; with fewer, or with a total near zero, whose shares have long tails,
                the result is False.
        """
        few_draws = self._few_draws
        least_total = 4.5 * few_draws.total_deviation  # standard deviations: at 3.6, one note in 350 was wrong
        return len(few_draws.noise) >= draws and self._last_round_total >= least_total

    @property
    def _few_draws(self) -> FewDraws:
        """The first simulated draws of the noise of counts below edges, from the fixed public seed."""
        return _cache_few_draws(self.evidence.sums, self.evidence.total is not None)

    def intervals_by_tests(
        self, p: FloatArray, cells: FloatArray, level: float, *, population: bool, generator: np.random.Generator | None
    ) -> FloatArray | None:
        """Return confidence limits of a few quantiles by inverting tests, (..., 2); None if there are too many
        quantiles for that.

        Args:
            p: Levels, (...).
            cells: The cells in which the curve has the quantiles, (..., 2). Intervals are extended to these cells,
                because shrinkage may have moved them outside.
            level: The coverage probability of all quantiles together.
            population: Whether the intervals are for quantiles of the population.
            generator: For the simulation; None: the public generator, so that a curve always has the same intervals.
        """
        bounds = self.evidence.sums.bounds
        if not are_few(p.size, level, choose_draws(len(bounds))):
            return None
        sampling = sampling_generator(generator) if population else None
        noise = self._simulate_count_noise(generator)
        counts_below = self.unbiased_prefix_counts[bounds]
        edge_indices = find_ends_by_tests(
            counts_below, noise, p.ravel(), level, sampling, self.sampling_variance_at(p.ravel())
        )
        first = bounds[edge_indices[:, 0]]
        last = bounds[edge_indices[:, 1]] - 1
        ends = np.stack([self.cells[first, 0], self.cells[last, 1]], axis=-1).reshape(cells.shape)
        return np.stack([np.minimum(ends, cells)[..., 0], np.maximum(ends, cells)[..., 1]], axis=-1)

    def sampling_variance_at(self, p: FloatArray) -> FloatArray | None:
        """Return the sampling variance of the share below each quantile, relative to unweighted records; None: 1
        everywhere.

        Args:
            p: Levels of the quantiles, from 0 to 1.
        """
        return None

    def _simulate_count_noise(self, generator: np.random.Generator | None) -> Iterable[FloatArray]:
        """Return blocks of simulated noise of the counts below the counted edges, (draws, counted edges); without a
        generator, always the same.

        Args:
            generator: Random numbers of the simulation; None: the same numbered draws each time.
        """
        distribution, total = self.evidence.sums, self.evidence.total
        if generator is None:
            return _simulate_public_noise(distribution, total is not None)
        return _simulate_noise(distribution, total, require_generator(generator))

    def sampling_model(self, generator: np.random.Generator | None) -> Sample:
        """Return what a simulation of sampling needs: estimated shares at the counted edges, number of records,
        generator.

        Args:
            generator: Random numbers of the simulation; None: a fixed public stream.
        """
        return Sample(
            clip_unseen_shares(self.shares[self.measured_edges], self.total), self.total, sampling_generator(generator)
        )

    def pin_ends(self, band: Band) -> Band:
        """Return the band, changed in place, with both limits 0 below the first edge and 1 below the last, if the
        grid clips outside values.

        Args:
            band: Lower and upper shares at each edge.
        """
        if self.grid.outside is not Outside.APART:
            for ends in band:
                ends[[0, -1]] = 0.0, 1.0
        return band

    @cached_property
    def _joint_estimate(self) -> JointEstimate | ConvolvedEstimate:
        """Estimate of the cells from all rounds together: see `combine_rounds`."""
        return combine_rounds(self.rounds, self.pilot_queries, self.boundaries, uses_all_rounds=self.uses_all_rounds)

    @property
    def _best_cells(self) -> FloatArray:
        """Estimated counts of the cells with the smallest expected error, (1, cells).

        A smooth density is fitted to a single round only if the number of records is public: releases of many curves,
        whose numbers are private, would take half as long again.
        """
        if self.earlier_evidence:
            return self._joint_estimate.cells[None]
        evidence = self.evidence
        return shrink_estimate(evidence.sums, evidence.values, evidence.total, along_axis=evidence.total is not None)

    @cached_property
    def _last_round_total(self) -> float:
        """Number of records by the last round alone, at least 1."""
        return max(float(self._unbiased_cells.sum()), 1.0)

    @cached_property
    def _unbiased_cells(self) -> FloatArray:
        """Unbiased counts of the cells, including cells for values outside the grid, from the last round, (slots,)."""
        return np.asarray(self.evidence.unbiased_cells[0])


def _simulate_public_noise(distribution: NoisySums, total_is_public: bool) -> Iterable[FloatArray]:
    """Return blocks of simulated noise of counts below edges, from the fixed seed; the noise of a public total is 0.

    Small arrays are cached, because the curves of all categories have the same distribution.

    Args:
        distribution: Distribution of the noise of the counts.
        total_is_public: Whether the number of all records is public.
    """
    # simulated values that are cached for other curves of the same distribution, 32 MB
    if choose_draws(len(distribution.bounds)) * len(distribution.bounds) <= 2**22:
        return (_cache_public_noise(distribution, total_is_public),)
    return _simulate_noise(distribution, 0 if total_is_public else None, public_generator(None))


@lru_cache(maxsize=2)  # a pure function of public facts
def _cache_public_noise(distribution: NoisySums, total_is_public: bool) -> FloatArray:
    """Return all noise from the fixed seed as one array that cannot be written to.

    Args:
        distribution: Distribution of the noise of the counts.
        total_is_public: Whether the number of records is public, so that the last bound has no noise.

    Returns:
        Noise of the records up to each bound, (draws, bounds).
    """
    noise = np.concatenate(list(_simulate_noise(distribution, 0 if total_is_public else None, public_generator(None))))
    noise.flags.writeable = False
    return noise


class FewDraws(NamedTuple):
    """The first draws of simulated noise of the counts below each bound of a distribution, from the fixed seed.

    Attributes:
        noise: Noise in single precision, (draws, bounds), at most `MOST_FEW_DRAWS` draws.
        total_deviation: Standard deviation of the noise of all records, over all draws of the first block.
    """

    noise: SinglePrecisionArray
    total_deviation: float

    def scaled_by(self, scale: float) -> FewDraws:
        """Return the same simulated noise for counts that are multiplied by a number.

        Args:
            scale: Number that the counts are multiplied by, at least 0.
        """
        return FewDraws(self.noise * np.float32(scale), self.total_deviation * scale)


@lru_cache(maxsize=2)  # a pure function of public facts
def _cache_few_draws(distribution: NoisySums, total_is_public: bool) -> FewDraws:
    """Return the first simulated draws of the noise of all prefix counts, for quick intervals; cached.

    They equal the first draws of `_simulate_public_noise`.

    Args:
        distribution: Distribution of the noise.
        total_is_public: If True, the number of records is known.
    """
    block = next(iter(_simulate_public_noise(distribution, total_is_public)))
    noise = block[:MOST_FEW_DRAWS].astype(np.float32)
    noise.flags.writeable = False
    return FewDraws(noise, float(block[:, -1].std()))


def _simulate_noise(distribution: NoisySums, total: int | None, generator: np.random.Generator) -> Iterator[FloatArray]:
    """Yield blocks of simulated noise of the counts below each bound of the distribution, (draws, bounds).

    Args:
        distribution: Distribution of the noise.
        total: Public number of records; None: it is not public.
        generator: Random numbers of the simulation.
    """
    return distribution.simulate_prefixes(
        total, BAND_TUNING.pilot_draws + choose_draws(len(distribution.bounds)), generator
    )


@dataclass(frozen=True, slots=True)
class Smoothing:
    """The smoothing of a curve.

    Attributes:
        p: The power of the changes of noise that is minimised: 1, absolute values, or 2, squares.
        edges: Indices of the counted edges that are smoothed; the curve is linear in between. None: all counted edges.

    Raises:
        ValueError: `p` is neither 1 nor 2, or an edge is out of range.
        TypeError: `p` or an edge is no integer.
    """

    p: int
    edges: tuple[int, ...] | None

    def __post_init__(self) -> None:
        convert_to_integers(self, p="p")
        if self.p not in (1, 2):  # absolute values, squares
            raise InvalidArgument("p", f"must be 1 (absolute values) or 2 (squares), got {self.p}")
        if self.edges is not None:
            edges = tuple(
                require_integer("edges", edge)
                for edge in require_sequence("edges", self.edges, "numbers of edges, as in (3, 7),")
            )
            object.__setattr__(self, "edges", tuple(sorted(set(edges))))

    def snap_to_measured_edges(self, prefixes: PrefixShares) -> tuple[Smoothing, tuple[str, ...]]:
        """Return this smoothing at the counted edges nearest to `edges`, with a note if an edge moved.

        Args:
            prefixes: Released counts below edges.

        Returns:
            The smoothing, and one note or ().

        Raises:
            ValueError: the grid has fewer edges.
        """
        if self.edges is None:
            return self, ()
        outside = [edge for edge in self.edges if not 0 <= edge <= prefixes.grid.cells]
        if outside:
            raise InvalidArgument(
                "edges", f"indices of edges from 0 to {prefixes.grid.cells} are needed, as in (1, 7), got {outside[0]}"
            )
        requested = np.array(self.edges, dtype=np.int64)
        counted = np.flatnonzero(prefixes.measured_edges)
        after = np.clip(np.searchsorted(counted, requested), 1, len(counted) - 1)
        low, high = counted[after - 1], counted[after]
        nearest = np.where(requested - low <= high - requested, low, high)
        moved_edges = int(np.count_nonzero(nearest != requested))
        note = (
            f"{moved_edges} of {len(requested)} edges to smooth at were not counted: the nearest counted edges are used"
        )
        return Smoothing(self.p, tuple(nearest.tolist())), (note,) if moved_edges else ()

    def shares(self, prefixes: PrefixShares) -> FloatArray:
        """Return shares below each edge of the grid, from the counts of the last round.

        The edges of `edges` must be counted, as after `snap_to_measured_edges`.

        Args:
            prefixes: Released counts below edges.

        Returns:
            Shares from 0 to 1, non-decreasing, (cells + 1,).
        """
        distribution = prefixes.evidence.sums
        evidence = prefixes.evidence
        curve = estimate_prefixes(distribution, evidence.values, evidence.total)
        smoothed = self._find_smoothed_edges(prefixes, curve.ends)
        graph = curve.graph.restrict_to_points(smoothed)
        noisy_counts = curve.counts[smoothed]
        ceiling = None if evidence.total is None else AtMost(float(evidence.total))
        smooth = project_isotonic_l1 if self.p == 1 else project_isotonic_l2
        counts = smooth(noisy_counts, graph, ceiling)
        below = np.interp(np.arange(distribution.cells + 1), [0, *curve.ends[smoothed]], [0.0, *counts])
        shares = np.minimum(below / max(below[-1], 1.0), 1.0)
        if prefixes.grid.outside is Outside.APART:
            return np.asarray(shares[1:-1])
        shares[-1] = 1.0
        return np.asarray(shares)

    def _find_smoothed_edges(self, prefixes: PrefixShares, ends: IntArray) -> IntArray:
        """Return which of the counted edges are smoothed; the last one always is, since all records lie below it.

        Args:
            prefixes: Counts that are smoothed.
            ends: Increasing bounds of the counted intervals, as numbers of cells below them.

        Returns:
            Increasing indices, all of `ends` if `edges` is None.
        """
        if self.edges is None:
            return np.arange(len(ends))
        slots = np.array(self.edges, dtype=np.int64) + int(prefixes.grid.outside is Outside.APART)
        return np.unique(np.append(np.searchsorted(ends, slots[slots > 0]), len(ends) - 1))


class EdgeIntervals(NamedTuple):
    """Intervals between counted edges, with an edge below all records and an edge above them.

    Attributes:
        edges: Indices of the edges at which an interval ends, increasing, from the first to the last of all edges.
        first, last: Begin and end of each interval, as indices into `edges`.
    """

    edges: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]

    @classmethod
    def from_edges(cls, first: NDArray[np.int64], last: NDArray[np.int64], edges: int) -> EdgeIntervals:
        """Return the intervals from each edge in `first` to the edge in `last`.

        Args:
            first: Index of the edge at which each interval begins.
            last: Index of the edge at which each interval ends.
            edges: Number of all edges.
        """
        edge_indices = np.unique(np.concatenate([first, last, [0, edges - 1]]))
        return cls(edge_indices, np.searchsorted(edge_indices, first), np.searchsorted(edge_indices, last))

    def sum_between_edges(self, below: FloatArray) -> FloatArray:
        """Return the amount in each interval, (..., intervals), from the cumulative amounts below each edge.

        Args:
            below: Amounts below each edge, on the last axis.

        >>> intervals = EdgeIntervals.from_edges(np.array([0, 1]), np.array([1, 3]), 4)
        >>> intervals.sum_between_edges(np.array([0.0, 0.2, 0.5, 1.0])).tolist()
        [0.2, 0.8]
        """
        return self._subtract_ends(below[..., self.edges])

    def simulate_sampling_errors(
        self, below: FloatArray, units: int, draws: int, chance: np.random.Generator
    ) -> FloatArray:
        """Return simulated sampling errors of the number of units in each interval, (draws, intervals).

        Args:
            below: The shares of the population below each edge.
            units: The size of the sample.
            draws: The number of samples.
            chance: Random numbers of the simulation.
        """
        cell_shares = np.diff(below[self.edges])
        errors = simulate_sampling_errors(cell_shares * (units / cell_shares.sum()), units, draws, chance)
        return self._subtract_ends(np.pad(np.cumsum(errors, axis=1), ((0, 0), (1, 0))))

    def _subtract_ends(self, below: FloatArray) -> FloatArray:
        """Return the amount in each interval, (..., intervals), from the cumulative amounts below its ends.

        Args:
            below: Amounts below each of `edges`, on the last axis.
        """
        return np.asarray(below[..., self.last] - below[..., self.first])


@dataclass(frozen=True, eq=False)
class SearchedQuantiles:
    """Evidence of `Quantiles` without a counted distribution function.

    Attributes:
        evidence: Counts below all edges that were queried.
        grid: The cells of the search, which are never stored as arrays.
        label: The label of the x axis.
        privacy: The privacy statement, which every plot shows.
    """

    evidence: Evidence
    grid: Grid
    label: str
    privacy: PrivacyStatement

    def quantile(self, p: ArrayLike) -> FloatArray:
        """Return the estimated first edge below which a share `p` lies; the finite end of an unbounded cell."""
        cells = self.quantile_cell(p)
        return choose_shown_values(cells, cells[..., 1])

    def quantile_cell(self, p: ArrayLike) -> FloatArray:
        """Return the ends of the cell that holds the quantile `p`, ``(..., 2)``; infinite if that cell holds values
        outside the grid.
        """
        return self._find_cell_limits(p, lambda search: search.brackets[1])

    def quantile_intervals(self, p: ArrayLike, level: float, *, population: bool = False) -> FloatArray:
        """Return edges of the grid that enclose the quantiles, simultaneously with probability `level`: ``(..., 2)``.

        See `PathQuantile`. They are as short as noise allows at the level of the search; at another level they end
        where its search needs a count that was never queried. The error probability is divided by the number of
        quantiles and of thresholds, so coverage exceeds `level`.

        Args:
            p: Levels of the quantiles, of any shape.
            level: Probability with which all intervals are right.
            population: Whether intervals are for the quantiles of the population, not of these records.
        """
        level_per_quantile = 1 - (1 - require_probability("level", level)) / max(np.size(p), 1)
        require_independent(self.privacy, population)
        return self._find_cell_limits(p, lambda search: search.interval(population=population), level_per_quantile)

    @property
    def x(self) -> FloatArray:
        """Edges below which the private search counted records, increasing, in units of the column.

        Shape ``(edges,)``.
        """
        return self.grid.boundary(np.array(self.evidence.path_sums.prefix_lengths, dtype=np.int64))

    @property
    def rounds(self) -> tuple[Evidence, ...]:
        """Evidence of the search, which has a single release."""
        return (self.evidence,)

    def question_to_json(self) -> dict[str, Any]:
        """Return the label and the grid of the search as JSON values."""
        return {"label": self.label, "grid": grid_to_json(self.grid)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], privacy: PrivacyStatement) -> SearchedQuantiles:
        """Return the quantiles from their stored question and release, as `question_to_json` and `to_json` wrote them.

        Args:
            stored: JSON object with the question and one release.
            privacy: Privacy statement of the curve.

        Raises:
            InvalidArgument: the grid does not fit the release.
        """
        question, (released,) = stored["question"], stored["releases"]
        evidence = Evidence.from_json(released)
        if evidence.path_sums.cells != (grid := grid_from_json(question["grid"])).slots:
            raise InvalidArgument(
                "grid", "the stored grid differs from the cells of the search: use the text that to_json wrote"
            )
        return cls(evidence, grid, question["label"], privacy)

    def _find_cell_limits(self, p: ArrayLike, bracket: Any, level: float = 0.5) -> FloatArray:
        """Return the lower and upper value between which each quantile lies, by the cells that its private search
        narrowed down.

        Args:
            p: Levels of the quantiles, (...).
            bracket: Function from the search of one quantile to the range of cells that may hold the quantile.
            level: Confidence level of the search.

        Returns:
            Lower and upper value, (..., 2).
        """
        shares = as_numbers("p", p)
        brackets = [
            bracket(PathQuantile.from_evidence(self.evidence, share, level)) for share in shares.ravel().tolist()
        ]
        slots = np.array([(limits.low, limits.high) for limits in brackets], dtype=np.int64)
        return self.grid.value_range(slots.reshape(*shares.shape, 2))
