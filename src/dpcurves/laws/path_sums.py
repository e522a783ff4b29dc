"""Noise distributions of counts of prefixes: of a grid, by dyadic blocks (a binary tree), and at thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from ..arguments import InvalidArgument
from ..arrays import FloatArray, IntArray
from ..codec import STORED, Count
from .law import CountLaw, Law, Noise, NoisySums, Part, simulate_noise

Block = tuple[int, int]
"""Its level l and its number j: it holds the places ``j * 2**l, ..., (j + 1) * 2**l - 1``."""


@dataclass(frozen=True, slots=True)
class PathSums(CountLaw):
    """Counts of records in the first t cells, with noise that counts share (Barczewski, Mawass and Ramon, eq. 2).

    The count of the first t cells, ``1 <= t <= cells``, has the place ``t - 1``. Every dyadic block of the levels 0 to
    ``levels - 1`` has a noise of its own, and a count has the noises of all blocks that hold its place: one of each
    level. So the same threshold always has the same noise, and two counts share the noises of the blocks that hold
    both places. The first 0 cells hold 0 records, without noise.

    The order of values: one for each entry of `prefix_lengths`; the missing cell comes last.

    Attributes:
        cells: How many cells the grid has; nothing is laid out.
        prefix_lengths: Which counts were asked for, in any order.
        levels: How many noises a count has.
        noise: The noise of each block.
        missing: Noise of the count of records that are missing. None: it was not asked for.
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
        """The number of rows of cells: one."""
        return 1

    @property
    def size(self) -> int:
        return len(self.prefix_lengths) + (self.missing is not None)

    def sum_over_parties(self, parties: int | Fraction) -> PathSums:
        """The law of the sum of so many such noises on each block, one by each party."""
        return replace(
            self,
            noise=self.noise.sum_over_parties(parties),
            missing=None if self.missing is None else self.missing.sum_over_parties(parties),
        )

    def blocks_on_path(self, threshold: int) -> tuple[Block, ...]:
        """The blocks that hold the place of a count, from fine to coarse.

        >>> from fractions import Fraction
        >>> from dpcurves.laws import Family
        >>> PathSums(6, (), 3, Noise(Family.LAPLACE, Fraction(2)), None).blocks_on_path(6)
        ((0, 5), (1, 2), (2, 1))
        """
        return tuple((level, (threshold - 1) >> level) for level in range(self.levels)) if threshold else ()

    def count_shared_noises(self, one: int, other: int) -> int:
        """The number of noises that two counts have in common."""
        if not (one and other):
            return 0
        return max(0, self.levels - ((one - 1) ^ (other - 1)).bit_length())

    @property
    def variance(self) -> float:
        """The variance of one count of at least one cell."""
        return self.levels * self.noise.variance

    @property
    def covariance(self) -> FloatArray:
        """The covariance of the counts, in the order of `prefix_lengths`: shape ``(len(at), len(at))``."""
        at = np.array(self.prefix_lengths, dtype=np.int64)
        apart = np.frexp(((at[:, None] - 1) ^ (at - 1)).astype(np.float64))[1]  # the bit length: below 2**53 exactly
        shared = np.where((at[:, None] > 0) & (at > 0), np.maximum(self.levels - apart, 0), 0)
        return np.asarray(shared * self.noise.variance, dtype=np.float64)

    def simulate(self, draws: int, generator: np.random.Generator) -> FloatArray:
        """Noise of the counts, in the order of `prefix_lengths`, drawn afresh: (draws, counts). Costs no privacy.

        Args:
            draws: How many.
            generator: For simulation over public numbers alone. No noise that protects anybody is drawn from it.
        """
        paths = [self.blocks_on_path(threshold) for threshold in self.prefix_lengths]
        number = {block: place for place, block in enumerate(dict.fromkeys(block for path in paths for block in path))}
        blocks = simulate_noise(self.noise, (draws, len(number)), generator)
        sums = [blocks[:, [number[block] for block in path]].sum(axis=1) for path in paths]
        return np.stack(sums, axis=1) if sums else np.zeros((draws, 0))

    def _count_present(self, values: Sequence[int]) -> float | None:
        return dict(zip(self.prefix_lengths, values, strict=False)).get(self.cells)

    @classmethod
    def count_stored_cells(cls, stored: Mapping[str, Any]) -> int:
        """A single one: cells are not laid out."""
        return 1

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        if stored["rows"] != 1:
            raise InvalidArgument("evidence", "counts of prefixes have one row")
        return STORED.decode_fields(
            cls, stored, cells=int(stored["cells"]), missing=STORED.decode(Noise | None, stored["missing"])
        )


Read = tuple[Law, tuple[int, ...]]
"""A law, and values in its order."""
MOST_PLACES = 2**53
"""Beyond, doubles do not tell how much noise two counts share."""


@dataclass(frozen=True, slots=True)
class ThresholdSums(NoisySums):
    """Counts of records in the first t cells of rows that lie one behind the other; counts share noise.

    Estimators of counts of cells can use these like other sums. A value is the sum of all cells up to its threshold; it
    has the noise that `PathSums` says, and its JSON is the one of that law.

    Attributes:
        path: Thresholds that rise, none of them 0. They are the same ones in all rows, and each row ends with one.
        rows: How many rows there are, of equally many places.

    Raises:
        ValueError: the thresholds are others.
    """

    KEY = PathSums.KEY

    path: PathSums
    rows: int

    def __post_init__(self) -> None:
        places, at = self.path.cells, self.path.prefix_lengths
        own = tuple(each for each in at if each <= places // self.rows)
        alike = (each + row * places // self.rows for row in range(self.rows) for each in own)
        if not 0 < places <= MOST_PLACES or not at or at != tuple(alike) or at[-1] != places:
            raise InvalidArgument(
                "evidence", "counts are needed below the same thresholds in all rows, and below all cells"
            )

    @classmethod
    def from_path(cls, path: PathSums, values: Sequence[int], rows: int) -> tuple[ThresholdSums, tuple[int, ...]]:
        """The law and the values, in its order, of what was released under `path` in any order.

        >>> from fractions import Fraction
        >>> from dpcurves.laws import Family, Noise
        >>> path = PathSums(8, (8, 0, 3), 4, Noise(Family.LAPLACE, Fraction(2)), None)
        >>> ThresholdSums.from_path(path, (90, 0, 40), 1)[1]
        (40, 90)
        """
        counts = dict(zip(path.prefix_lengths, values, strict=False))
        at = tuple(sorted(threshold for threshold in counts if threshold))
        missing = () if path.missing is None else values[-1:]
        return cls(replace(path, prefix_lengths=at), rows), (*(counts[each] for each in at), *missing)

    @property
    def missing(self) -> Any:
        """The noise of the count of records that are missing."""
        return self.path.missing

    @property
    def cells(self) -> int:
        """The number of cells between the thresholds of a row."""
        return len(self.path.prefix_lengths) // self.rows

    @property
    def parts(self) -> tuple[Part, ...]:
        """A count for each cell, with as many noises as a path has levels; they are not independent."""
        return (Part(self.cells, self.path.noise.sum_over_parties(self.path.levels * self.path.noise.parties)),)

    @property
    def bounds(self) -> IntArray:
        """Each threshold ends a cell."""
        return np.arange(self.cells + 1)

    def apply_strategy(self, cells: Any) -> list[Any]:
        """The cells up to each threshold."""
        return [np.cumsum(cells).reshape(self.rows, self.cells)]

    def reconstruct(self, values: FloatArray, total: int | None) -> tuple[FloatArray, FloatArray]:
        """Differences of neighbouring counts; that of all records is the public one less the missing, if both are told.

        Raises:
            ValueError: the values do not fit the law.
        """
        if values.shape[-1] != self.size:
            raise InvalidArgument("values", f"{self.size} are needed, got {values.shape[-1]}")
        below, missing = values[..., : self.rows * self.cells].copy(), np.zeros(values.shape[:-1])
        if self.missing is not None:
            missing = values[..., -1]
            below[..., -1] = below[..., -1] if total is None else total - missing
        cells = np.diff(below, axis=-1, prepend=0.0)
        return cells.reshape(*values.shape[:-1], self.rows, self.cells), missing

    def simulate_values(self, draws: int, generator: np.random.Generator) -> FloatArray:
        """Simulated noise of the counts, with what they share: (draws, size)."""
        noise = self.path.simulate(draws, generator)
        if self.missing is None:
            return noise
        return np.concatenate([noise, simulate_noise(self.missing, (draws, 1), generator)], axis=1)

    def prefix_variances(self, total_is_public: bool) -> FloatArray:
        """Variance of the number of records in the first i cells of each row: shape ``(rows, cells + 1)``."""
        covariance, ends = self._covariance(total_is_public), np.arange(self.rows) * self.cells
        at = ends[:, None] + self.bounds
        own = np.diag(covariance)
        return np.asarray(own[at] + own[ends][:, None] - 2 * covariance[at, ends[:, None]])

    def _covariance(self, total_is_public: bool) -> FloatArray:
        """The covariance of the counts below all thresholds, 0 the first of them."""
        found = np.zeros((self.path.size + 1, self.path.size + 1))
        size = self.rows * self.cells + 1
        found[1:size, 1:size] = self.path.covariance
        if total_is_public and self.missing is not None:
            found[size - 1] = found[:, size - 1] = 0.0
            found[size - 1, size - 1] = self.missing.variance
        return found[:size, :size]

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        """A release under the law of the path as plain objects."""
        return self.path.to_json(values, total)

    def _fields_to_json(self) -> dict[str, Any]:
        return self.path._fields_to_json()

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The law of what `to_json` wrote, as one row."""
        return cls(PathSums.from_json(stored), 1)


def convert_to_cells(law: Law, values: tuple[int, ...], rows: int) -> Read:
    """Counts of prefixes as counts of the cells between their thresholds, in so many rows; all else as it is.

    Raises:
        ValueError: thresholds differ between the rows, or all records of a row were not counted.
    """
    return ThresholdSums.from_path(law, values, rows) if isinstance(law, PathSums) else (law, values)
