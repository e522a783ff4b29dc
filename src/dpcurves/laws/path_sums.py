"""Counts of records in the first cells of a grid, each with the noise of the dyadic blocks on its path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ..arguments import Refused
from ..arrays import FloatArray
from .law import CountLaw
from .noise import Noise, draw, optional_from_json

Block = tuple[int, int]
"""Its level l and its number j: it holds the places ``j * 2**l, ..., (j + 1) * 2**l - 1``."""


@dataclass(frozen=True, slots=True)
class PathSums(CountLaw):
    """Counts of records in the first t cells, with noise that counts share (Barczewski, Mawass and Ramon, eq. 2).

    The count of the first t cells, ``1 <= t <= cells``, has the place ``t - 1``. Every dyadic block of the levels 0 to
    ``levels - 1`` has a noise of its own, and a count has the noises of all blocks that hold its place: one of each
    level. So the same threshold always has the same noise, and two counts share the noises of the blocks that hold
    both places. The first 0 cells hold 0 records, without noise.

    The order of values: one for each entry of `at`; the missing cell comes last.

    Attributes:
        cells: How many cells the grid has; nothing is laid out.
        at: Which counts were asked for, in any order.
        levels: How many noises a count has.
        noise: The noise of each block.
        missing: Noise of the count of records that are missing. None: it was not asked for.
    """

    KEY: ClassVar[str] = "path"

    cells: int
    at: tuple[int, ...]
    levels: int
    noise: Noise
    missing: Noise | None

    @property
    def rows(self) -> int:
        """The number of rows of cells: one."""
        return 1

    @property
    def size(self) -> int:
        return len(self.at) + (self.missing is not None)

    def by(self, parties: int) -> PathSums:
        """The law of the sum of so many such noises on each block, one by each party."""
        return replace(
            self, noise=self.noise.by(parties), missing=None if self.missing is None else self.missing.by(parties)
        )

    def path(self, threshold: int) -> tuple[Block, ...]:
        """The blocks that hold the place of a count, from fine to coarse.

        >>> from fractions import Fraction
        >>> from dpcurves.laws import Family
        >>> PathSums(6, (), 3, Noise(Family.LAPLACE, Fraction(2)), None).path(6)
        ((0, 5), (1, 2), (2, 1))
        """
        return tuple((level, (threshold - 1) >> level) for level in range(self.levels)) if threshold else ()

    def shared(self, one: int, other: int) -> int:
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
        """The covariance of the counts, in the order of `at`: shape ``(len(at), len(at))``."""
        at = np.array(self.at, dtype=np.int64)
        apart = np.frexp(((at[:, None] - 1) ^ (at - 1)).astype(np.float64))[1]  # the bit length: below 2**53 exactly
        shared = np.where((at[:, None] > 0) & (at > 0), np.maximum(self.levels - apart, 0), 0)
        return np.asarray(shared * self.noise.variance, dtype=np.float64)

    def simulate(self, draws: int, generator: np.random.Generator) -> FloatArray:
        """Noise of the counts, in the order of `at`, drawn afresh: (draws, counts). Costs no privacy.

        Args:
            draws: How many.
            generator: For simulation over public numbers alone. No noise that protects anybody is drawn from it.
        """
        paths = [self.path(threshold) for threshold in self.at]
        number = {block: place for place, block in enumerate(dict.fromkeys(block for path in paths for block in path))}
        blocks = draw(self.noise, (draws, len(number)), generator)
        sums = [blocks[:, [number[block] for block in path]].sum(axis=1) for path in paths]
        return np.stack(sums, axis=1) if sums else np.zeros((draws, 0))

    def _present(self, values: Sequence[int]) -> float | None:
        return dict(zip(self.at, values, strict=False)).get(self.cells)

    def _own_json(self) -> dict[str, Any]:
        return {"at": list(self.at), "blocks": self.levels, "path": self.noise.to_json()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        if stored["rows"] != 1:
            raise Refused("evidence", "counts of prefixes have one row")
        at = tuple(int(threshold) for threshold in stored["at"])
        noise, missing = Noise.from_json(_told_beside(stored)), optional_from_json(stored["missing"])
        return cls(int(stored["cells"]), at, int(stored["blocks"]), noise, missing)


def _told_beside(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The noise of a block. Earlier releases wrote beside it how many parties have added one."""
    beside = {"parties": stored["parties"]} if "parties" in stored else {}
    return {**beside, **stored["path"]}
