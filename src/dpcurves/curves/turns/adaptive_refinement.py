"""Look, refine, refine: three counts of one column, each on intervals that the answers before made worth counting."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from ...arrays import FloatArray
from ...data import Axis
from ...data.grid import MOST_LAID_OUT
from ...laws import Family, Noise
from ...laws.noise import LEAST_VARIANCE
from ...postprocess.estimation.dyadic import Dyadic
from ...postprocess.estimation.empirical_bayes import Splits, estimate, least_squares_total, reestimate
from ...postprocess.estimation.measurements import Measurements, gather
from ...queries import CountQuery, Hint, PartitionQuery, Read
from ...release import Evidence, Release, Setting, Step
from .refinement import (
    Tilings,
    all_depths,
    first_look,
    is_dense,
    is_full,
    is_glance,
    is_widespread,
    last_refinement,
    parts,
    refinement,
)

FEWEST = 100
"""Cells from which on looking before counting pays."""


@dataclass(frozen=True, eq=False)
class Looks:
    """What several turns say about one row of cells, each on intervals that halve each other.

    Attributes:
        turns: Evidence of nested partitions of the same cells, at least one; noises are independent.
    """

    turns: tuple[Evidence, ...]

    @classmethod
    def of(cls, releases: Sequence[Release]) -> Looks:
        """Take up the answers as they came."""
        return cls(tuple(Evidence.of(release) for release in releases))

    @cached_property
    def known(self) -> Measurements:
        """All measurements, merged by inverse variance."""
        layout = _layout(self.turns[0].measured.cells)
        return gather(layout, [(turn.measured, turn.values) for turn in self.turns])

    @cached_property
    def total(self) -> float:
        """How many records have a value: the best unbiased estimate, but never below 0."""
        counted, precision = least_squares_total(self.known)
        public = self.turns[0].total
        if public is not None:
            missing, exactness = self._missing
            counted = (counted * precision + (public - missing) * exactness) / (precision + exactness)
        return max(counted, 0.0)

    @cached_property
    def splits(self) -> Splits:
        """The counts of all intervals, by empirical Bayes."""
        return estimate(self.known, self.total)

    @cached_property
    def cells(self) -> FloatArray:
        """The best count of each cell, (cells,): by empirical Bayes once more."""
        return reestimate(self.known, self.total, self.splits).cells

    @property
    def noise(self) -> Noise:
        """The noise of each count of the first turn."""
        return self.turns[0].measured.levels[0].noise

    @cached_property
    def _missing(self) -> tuple[float, float]:
        """How many records have no value, and one over its variance."""
        noises = [turn.measured.missing for turn in self.turns]
        weights = [0.0 if noise is None else 1 / max(noise.variance, LEAST_VARIANCE) for noise in noises]
        values = sum(weight * turn.values[-1] for weight, turn in zip(weights, self.turns, strict=True))
        return values / max(sum(weights), LEAST_VARIANCE), sum(weights)


def is_worth_looking(axis: Axis, hint: Hint | None, setting: Setting) -> bool:
    """Whether three turns are asked for. A function of public facts alone.

    Not where nobody can count again, and not with a hint that records are spread or have atoms. Else with the hint that
    they are peaked, or if there are many cells, and few records for them as far as that is public.
    """
    if not setting.adaptive or setting.loss.rho == 0 or axis.slots > MOST_LAID_OUT:
        return False
    if hint is not None:
        return hint is Hint.PEAKED
    total = setting.adjacency.total
    return axis.slots >= FEWEST and (total is None or not is_dense(axis.slots, total, _noise_alone(setting)))


def refining(axis: Axis, setting: Setting) -> Generator[Step, Release, tuple[Release, ...]]:
    """Ask for a fixed partition, then for intervals that were not clear, and once more.

    Two turns do if nearly nothing was clear, if records seem to lie evenly, or if the last turn has much to count;
    under zero-concentrated privacy the second one then counts all cells.

    Formal guarantees: each turn is priced as `PartitionQuery`, or as `CountQuery` of all cells, whatever was answered
    before: its intervals are functions of earlier answers and of public facts. The parts of the loss are public before
    anything is asked. Whatever the first answer is, what follows loses all that the first one left: in one turn, or in
    one of a tenth of the whole loss and then one of the rest. So the conversation is the adaptive composition of two
    mechanisms of fixed losses, the second of which is one of several that are all priced the same: pure losses and rho
    add up to what was granted (Dwork and Roth 2014, section 3.5; Bun and Steinke 2016, Lemma 2.3).
    """
    layout, alone = _layout(axis.slots), _noise_alone(setting)
    look, glance, rest = parts(axis.slots, setting.adjacency.total, alone)
    releases = [(yield Step(PartitionQuery((axis,), first_look(layout)), look))]
    looks = Looks.of(releases)
    last = _worth_counting(looks, (glance + rest) / look, last_refinement)
    if is_widespread(last, looks.splits, alone):
        return releases[0], (yield Step(_all_cells(axis, setting), glance + rest))
    tilings = _worth_counting(looks, glance / look, refinement)
    if is_glance(tilings, last, looks.splits, looks.noise.family):
        releases.append((yield Step(PartitionQuery((axis,), tilings, look=1), glance)))
        last = _worth_counting(Looks.of(releases), rest / look, last_refinement)
    else:
        rest += glance
    releases.append((yield Step(PartitionQuery((axis,), last, look=2), rest)))
    return tuple(releases)


def _all_cells(axis: Axis, setting: Setting) -> CountQuery | PartitionQuery:
    """What counts every cell: as one turn would where many records are known to be in each, else in nested tilings.

    The first is a square root of prefix sums: less noise than a tree, but not on intervals, so it is read alone.
    """
    if is_full(axis.slots, setting.adjacency.total, _noise_alone(setting)):
        return CountQuery((axis,), Read.PREFIXES)
    return PartitionQuery((axis,), all_depths(_layout(axis.slots)), look=1)


@lru_cache(maxsize=4)  # a pure function of public facts
def _layout(cells: int) -> Dyadic:
    return Dyadic.ends_apart(cells)


def _worth_counting(looks: Looks, times: Fraction, refine: Callable[[Splits, Noise], Tilings]) -> Tilings:
    """What to count next, with so many times the loss of the first look; all, if nothing stands out."""
    levels = looks.turns[0].measured.levels
    alone = Noise(looks.noise.family, looks.noise.parameter / len(levels) / times)
    tilings = refine(looks.splits, alone)
    return tilings if len(tilings[-1]) > 1 else tuple(level.starts for level in levels)


def _noise_alone(setting: Setting) -> Noise:
    """The noise of a count if the whole loss were spent on one tiling; to choose by, not to protect."""
    loss, adjacency = setting.loss, setting.adjacency
    if loss.epsilon is not None:
        return Noise(Family.LAPLACE, adjacency.l1_sensitivity / loss.epsilon)
    return Noise(Family.GAUSSIAN, adjacency.squared_l2_sensitivity / (2 * loss.rho))
