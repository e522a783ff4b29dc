"""Distributions of prefix counts that share the noise of a binary tree, on grids of any size.

The count of the first t cells has one noise per level of a binary tree: the noise of the block that contains cell t.

    count(t) = exact(t) + sum over levels l = 0, ..., levels - 1 of z[l, (t - 1) // 2**l]

So it has the variance of `levels` noises, and two counts share the noises of the blocks that contain both:

    Cov(count(s), count(t)) = variance of a noise * number of levels l with (s - 1) // 2**l = (t - 1) // 2**l

A repeated threshold has the same noise. `PathSums` is the distribution of counts at some thresholds; `ThresholdSums`
presents them as counts of the cells between thresholds. No array has the size of the grid.

Formal guarantees: these are distributions of releases; their loss is proved in
`mechanisms.lazy_tree.path_distribution`.

References: Chan, Shi and Song 2011; Barczewski, Mawass and Ramon, equation 2.

>>> from dpcurves.distributions import Family
>>> distribution = PathSums(8, (3, 4), 4, Noise(Family.GAUSSIAN, Fraction(9)), None)
>>> distribution.covariance  # of the counts of the first 3 and the first 4 cells
array([[36., 27.],
       [27., 36.]])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from ..arguments import InvalidArgument
from ..arrays import FloatArray, IntArray
from ..codec import STORED_CODEC, Count
from .output_distribution import CountDistribution, Noise, NoisySums, OutputDistribution, Part, simulate_noise

Block = tuple[int, int]
"""Level l and index j of a block, which contains the positions ``j * 2**l, ..., (j + 1) * 2**l - 1``."""


@dataclass(frozen=True, slots=True)
class PathSums(CountDistribution):
    """Counts of records in the first t cells with shared noise (Barczewski, Mawass and Ramon, eq. 2).

    The count of the first t cells, ``1 <= t <= cells``, has the position ``t - 1``. Every dyadic block of the levels 0
    to ``levels - 1`` has independent noise, and a count has the noises of all blocks that contain its position: one per
    level. So the same threshold always has the same noise, and two counts share the noises of the blocks that contain
    both positions. The first 0 cells hold 0 records, without noise.

    Order of values: one per entry of `prefix_lengths`; the missing count is last.

    Attributes:
        cells: Number of cells of the grid; no array of this size is allocated.
        prefix_lengths: Lengths of the counted prefixes, in any order.
        levels: Number of noises per count.
        noise: Noise of each block.
        missing: Noise of the count of missing records. None: it was not released.
    """

    KEY = "path"
    FIELDS = MappingProxyType({"at": "prefix_lengths", "blocks": "levels", KEY: "noise"})

    cells: int
    prefix_lengths: tuple[int, ...]
    levels: Count
    noise: Noise
    missing: Noise | None

    @property
    def rows(self) -> int:
        """Number of rows: 1, since all prefix sums are over one row of cells."""
        return 1

    @property
    def size(self) -> int:
        """Number of released values: one per prefix, and the missing count if it was released."""
        missing_counts = 0 if self.missing is None else 1
        return len(self.prefix_lengths) + missing_counts

    def sum_over_parties(self, parties: int | Fraction) -> PathSums:
        """Return the distribution if several parties each add noise to every block of the tree and to the missing
        count.

        Args:
            parties: Number of parties, each of which adds one draw to every block and to the missing count.
        """
        return replace(
            self,
            noise=self.noise.sum_over_parties(parties),
            missing=None if self.missing is None else self.missing.sum_over_parties(parties),
        )

    def blocks_on_path(self, threshold: int) -> tuple[Block, ...]:
        """Return the dyadic blocks whose sum is a prefix count, and which each add one noise; from fine to coarse, none
        for an empty prefix.

        Args:
            threshold: Length of the prefix, in cells.

        Returns:
            Pairs of level, from 0 for single cells, and index of the block on its level.

        >>> from fractions import Fraction
        >>> from dpcurves.distributions import Family
        >>> PathSums(6, (), 3, Noise(Family.LAPLACE, Fraction(2)), None).blocks_on_path(6)
        ((0, 5), (1, 2), (2, 1))
        """
        return tuple((level, (threshold - 1) >> level) for level in range(self.levels)) if threshold else ()

    def count_shared_noises(self, first: int, second: int) -> int:
        """Return the number of noise variables that two noisy prefix counts have in common, which gives their
        covariance.

        Args:
            first: Length of one prefix, in cells.
            second: Length of the other prefix.
        """
        if not (first and second):
            return 0
        return max(0, self.levels - ((first - 1) ^ (second - 1)).bit_length())

    @property
    def variance(self) -> float:
        """Noise variance of a released prefix count of at least one cell, in squared records: `levels` blocks are added
        up.
        """
        return self.levels * self.noise.variance

    @property
    def covariance(self) -> FloatArray:
        """Noise covariance of the released prefix counts, (counts, counts), in squared records, in the order of
        `prefix_lengths`.
        """
        lengths = np.array(self.prefix_lengths, dtype=np.int64)
        # The bit length of integers below 2**53, exactly.
        bit_length = np.frexp(((lengths[:, None] - 1) ^ (lengths - 1)).astype(np.float64))[1]
        shared = np.where((lengths[:, None] > 0) & (lengths > 0), np.maximum(self.levels - bit_length, 0), 0)
        return np.asarray(shared * self.noise.variance, dtype=np.float64)

    def simulate(self, draws: int, generator: np.random.Generator) -> FloatArray:
        """Simulate noise of the counts, of shape ``(draws, counts)``, in the order of `prefix_lengths`.

        Args:
            draws: Number of draws.
            generator: For simulation over public numbers alone, never for protection. No budget is spent.
        """
        paths = [self.blocks_on_path(threshold) for threshold in self.prefix_lengths]
        number = {block: index for index, block in enumerate(dict.fromkeys(block for path in paths for block in path))}
        blocks = simulate_noise(self.noise, (draws, len(number)), generator)
        sums = [blocks[:, [number[block] for block in path]].sum(axis=1) for path in paths]
        return np.stack(sums, axis=1) if sums else np.zeros((draws, 0))

    def _count_present(self, values: Sequence[int]) -> float | None:
        """Return the released count of all records with a value, which is the prefix count of all cells; None if it was
        not released.

        Args:
            values: The released counts, in the order of `prefix_lengths`.
        """
        return dict(zip(self.prefix_lengths, values, strict=False)).get(self.cells)

    @classmethod
    def count_stored_cells(cls, stored: Mapping[str, Any]) -> int:
        """Return 1, because no array has the size of the grid. `stored` is not used."""
        return 1

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the distribution of a stored release of prefix counts, from the JSON object that `to_json` wrote.

        Args:
            stored: JSON object of the release.

        Raises:
            ValueError: it has more than one row, or a field is malformed.
        """
        if stored["rows"] != 1:
            raise InvalidArgument(
                "evidence", "a release of prefixes must have one row; take the file as dpcurves wrote it"
            )
        return STORED_CODEC.decode_fields(
            cls, stored, cells=int(stored["cells"]), missing=STORED_CODEC.decode(Noise | None, stored["missing"])
        )


DistributionAndValues = tuple[OutputDistribution, tuple[int, ...]]
"""A distribution, and values in its order."""


@dataclass(frozen=True, slots=True)
class ThresholdSums(NoisySums):
    """Distribution of counts of the cells between thresholds, in rows that follow one another; counts share noise.

    Estimators of counts of cells can use it like other sums. A value is the sum of all cells up to its threshold, with
    the noise of `PathSums`, whose JSON it uses.

    Attributes:
        path: The prefix counts: increasing positive thresholds, equal in all rows; each row ends with a threshold.
        rows: Number of rows of equal length.

    Raises:
        ValueError: the thresholds are not of this form.
    """

    KEY = PathSums.KEY

    path: PathSums
    rows: int

    def __post_init__(self) -> None:
        """Check that all rows have the same thresholds and end with one.

        Raises:
            InvalidArgument: the thresholds are not of this form.
        """
        places, lengths = self.path.cells, self.path.prefix_lengths
        row_lengths = tuple(length for length in lengths if length <= places // self.rows)
        expected = (length + row * places // self.rows for row in range(self.rows) for length in row_lengths)
        # Beyond 2**53 positions doubles are too imprecise to compute shared noise.
        if not 0 < places <= 2**53 or not lengths or lengths != tuple(expected) or lengths[-1] != places:
            raise InvalidArgument(
                "evidence",
                "all rows must be counted below the same thresholds, and all cells must be counted;"
                " take the file as dpcurves wrote it",
            )

    @classmethod
    def from_path(cls, path: PathSums, values: Sequence[int], rows: int) -> tuple[ThresholdSums, tuple[int, ...]]:
        """Return the distribution and sorted values of a release under `path`, whose prefixes may be in any order.

        Args:
            path: Distribution of the prefix counts.
            values: The released counts in the order of `path`, the missing count last.
            rows: Number of rows of equal length.

        Returns:
            The distribution, and the counts by increasing threshold without the count of the empty prefix; the missing
            count last.

        Raises:
            ValueError: thresholds differ between the rows, or all records of a row were not counted.

        >>> from fractions import Fraction
        >>> from dpcurves.distributions import Family, Noise
        >>> path = PathSums(8, (8, 0, 3), 4, Noise(Family.LAPLACE, Fraction(2)), None)
        >>> ThresholdSums.from_path(path, (90, 0, 40), 1)[1]
        (40, 90)
        """
        counts = dict(zip(path.prefix_lengths, values, strict=False))
        lengths = tuple(sorted(threshold for threshold in counts if threshold))
        missing = () if path.missing is None else values[-1:]
        return cls(replace(path, prefix_lengths=lengths), rows), (*(counts[length] for length in lengths), *missing)

    @property
    def missing(self) -> Any:
        """Noise of the count of missing records; None if it was not released."""
        return self.path.missing

    @property
    def cells(self) -> int:
        """Number of cells between the thresholds of a row."""
        return len(self.path.prefix_lengths) // self.rows

    @property
    def parts(self) -> tuple[Part, ...]:
        """One part: a count per cell between thresholds. Each is the difference of prefix counts with shared noise, so
        they are correlated.
        """
        return (Part(self.cells, self.path.noise.sum_over_parties(self.path.levels * self.path.noise.parties)),)

    @property
    def bounds(self) -> IntArray:
        """Cell numbers at which the released thresholds cut a row, from 0, (cells + 1,): a cell is what lies between
        two thresholds.
        """
        return np.arange(self.cells + 1)

    def apply_strategy(self, cells: Any) -> list[Any]:
        """Return the exact count up to each threshold, which the noise is added to: cumulative sums, in one table
        (rows, cells).

        Args:
            cells: Numbers of the cells between thresholds, (rows, cells).
        """
        return [np.cumsum(cells).reshape(self.rows, self.cells)]

    def reconstruct(self, values: FloatArray, total: int | None) -> tuple[FloatArray, FloatArray]:
        """Return unbiased counts of cells from released values: differences of neighbouring prefix counts.

        Args:
            values: Released values or noise, of shape ``(..., size)``.
            total: Public number of records, which minus the missing count replaces the last prefix count; None: it is
                private.

        Returns:
            Counts of cells, ``(..., rows, cells)``, and the count of missing records, ``(...)``; 0 if it was not
            released.

        Raises:
            ValueError: the values do not fit the distribution.
        """
        if values.shape[-1] != self.size:
            raise InvalidArgument(
                "values",
                f"{self.size} values are needed, one for each number of the distribution, got {values.shape[-1]}",
            )
        below = values[..., : self.rows * self.cells].copy()
        missing = np.zeros(values.shape[:-1])
        if self.missing is not None:
            missing = values[..., -1]
            below[..., -1] = below[..., -1] if total is None else total - missing
        cells = np.diff(below, axis=-1, prepend=0.0)
        return cells.reshape(*values.shape[:-1], self.rows, self.cells), missing

    def simulate_values(self, draws: int, generator: np.random.Generator) -> FloatArray:
        """Simulate the noise of the released values, shared noise included, of shape ``(draws, size)``.

        Args:
            draws: Number of draws.
            generator: For simulation over public numbers alone.
        """
        noise = self.path.simulate(draws, generator)
        if self.missing is None:
            return noise
        return np.concatenate([noise, simulate_noise(self.missing, (draws, 1), generator)], axis=1)

    def prefix_variances(self, total_is_public: bool) -> FloatArray:
        """Return the variance of each prefix count of a row, in squared records, of shape ``(rows, cells + 1)``.

        Args:
            total_is_public: True if the number of all records is public.
        """
        covariance = self._covariance(total_is_public)
        row_starts = np.arange(self.rows) * self.cells
        index = row_starts[:, None] + self.bounds
        variances = np.diag(covariance)
        return np.asarray(
            variances[index] + variances[row_starts][:, None] - 2 * covariance[index, row_starts[:, None]]
        )

    def _covariance(self, total_is_public: bool) -> FloatArray:
        """Return the noise covariance of the counts of records below each threshold, in squared records.

        Args:
            total_is_public: True if the number of all records is public, so that the last count has the noise of the
                missing count.

        Returns:
            An array of shape (thresholds + 1, thresholds + 1), with 0 as first threshold.
        """
        covariance = np.zeros((self.path.size + 1, self.path.size + 1))
        size = self.rows * self.cells + 1
        covariance[1:size, 1:size] = self.path.covariance
        if total_is_public and self.missing is not None:
            covariance[size - 1] = covariance[:, size - 1] = 0.0
            covariance[size - 1, size - 1] = self.missing.variance
        return covariance[:size, :size]

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        """Return a release of prefix counts, sorted by threshold, as the JSON object that is stored.

        Args:
            values: Released integers, in the order of the thresholds.
            total: Public number of records; None: it is private.
        """
        return self.path.to_json(values, total)

    def _fields_to_json(self) -> dict[str, Any]:
        """Return the JSON fields of the binary-tree distribution that the release came from; sorted and unsorted form
        are stored alike.
        """
        return self.path._fields_to_json()

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the distribution of a stored release of prefix counts, sorted by threshold, with all thresholds in one
        row.

        Args:
            stored: JSON object of the release.
        """
        return cls(PathSums.from_json(stored), 1)


def convert_to_cells(distribution: OutputDistribution, values: tuple[int, ...], rows: int) -> DistributionAndValues:
    """Turn a release of noisy prefix counts into one of cells between their thresholds; return other releases
    unchanged.

    Args:
        distribution: Distribution of the release.
        values: The released values.
        rows: Number of rows.

    Returns:
        The distribution and its values, sorted by threshold.

    Raises:
        ValueError: thresholds differ between the rows, or all records of a row were not counted.
    """
    return (
        ThresholdSums.from_path(distribution, values, rows)
        if isinstance(distribution, PathSums)
        else (distribution, values)
    )
