"""Sparse vector technique, exact on integers: the comparisons that reach their threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arguments import WrongKind
from ...laws import Family, Noise, ThresholdAnswers
from ...noise.randomness import Randomness
from ...privacy import AddRemove, Adjacency, PrivacyLoss
from ...queries import CoverageQuery, Query, ThresholdQuery
from ...release import Plan, UnsupportedQuery
from ..base import ExactTable
from ..selection.bounded_range import pure_epsilon
from ..sums.calibration import drawable, require_loss
from ..sums.linear import draws, printed

MOST_KINDS = 1024
_RATIO_BITS = 20


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Sparse vector technique: one secret noise on all thresholds, fresh noise on every sum, a limit on those that
    reach.

    Thresholds may differ, and may be sums over records themselves (Chen 2018, Algorithm 8, with the counter set to
    zero once, before the loop): then the difference is what is compared. It is asked whether the difference, with noise
    of its own, reaches the common noise. The numbers of those that do are the answer.

    Formal guarantees: `run` loses at most ``plan.loss`` under ``plan.adjacency``. Let neighbours change the
    differences by d, let ``up`` be the largest rise in d and ``down`` the largest fall (0 where there is none), and let
    an answer have at most c that reached. Take any value t of the common noise on one side, and ``t + up`` on the
    other: that costs at most ``up / b``, b being the scale of the common noise. A difference that stayed below t stays
    below ``t + up``, at no cost, however many there are. One that reached t has to rise by at most ``up + down`` more:
    that costs at most ``(up + down) / s`` each, s being the scale of the other noises, and there are c of these. The
    sum over t gives ``up / b + c * (up + down) / s`` (Dwork and Roth 2014, Theorem 3.23, and Lyu, Su and Li 2017,
    section 4, with the largest d written out). Discrete Laplace noise has these prices on whole numbers, and the proof
    holds for the whole numbers t. `spread_of` finds the largest ``up`` and ``up + down`` that one move can cause, over
    all kinds of records; a move is a record that comes or goes, or under replace-one one that becomes another, missing
    ones among them. Both add up over moves, so a unit of k records pays k times as much, and noise is k times as large.

    Queries that all move one way are no special case: there ``up + down`` is half as large as where they need not. The
    scales split the loss between b and s so that ``b**2 + s**2`` is least: as 1 to ``(c * (up + down) / up)**(2 / 3)``
    (Lyu, Su and Li 2017, section 4.2). A pure loss of epsilon is ``epsilon**2 / 2`` zero-concentrated, so a
    zero-concentrated loss pays for an epsilon of ``sqrt(2 * rho)``, rounded down.

    >>> from dpcurves.data import Axis, Grid
    >>> from dpcurves.queries import Comparison
    >>> from dpcurves.privacy import EACH_RECORD
    >>> ages, young, older = (Axis("age", Grid(0, 90, cells=3)),), Comparison((1, 0, 0), 50), Comparison((0, 1, 1), 50)
    >>> query = ThresholdQuery(ages, (young, older), most=1)
    >>> SparseVector().plan(query, PrivacyLoss.pure(1), AddRemove(EACH_RECORD)).law.alpha(0.05)
    14.0
    """

    def plan(self, query: Query, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        if not isinstance(query, ThresholdQuery | CoverageQuery):
            raise UnsupportedQuery("question", f"the sparse vector technique cannot answer {type(query).__name__}")
        compared = comparisons_of(query)
        law = law_of(compared, loss, adjacency)
        error = printed(sqrt(law.common.variance + law.own.variance) / law.step)
        return Plan(query, loss, adjacency, "sparse vector technique", law, error)

    def run(self, table: ExactTable, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
        """The numbers of the comparisons that reached their threshold, in order; how many there are, for each less."""
        law = plan.law.required(ThresholdAnswers)
        if not isinstance(plan.query, ThresholdQuery | CoverageQuery):
            raise WrongKind("plan", f"a plan of the sparse vector technique is needed, not one made by {plan.made_by}")
        exact = differences(table, comparisons_of(plan.query))
        (common,) = draws(law.common, 1, randomness).tolist()
        own = draws(law.own, len(exact), randomness).tolist()
        return reached(exact, own, common, law.size)


class Comparisons(NamedTuple):
    """Weighted sums of cells, less thresholds, each compared with 0.

    Attributes:
        weights: An array ``(comparisons, cells)``.
        thresholds: One for each comparison.
        most: How many may reach theirs.
        step: By how much one record counts, where sums are read in records.
    """

    weights: NDArray[np.int64]
    thresholds: tuple[int, ...]
    most: int
    step: int


class VectorSpread(NamedTuple):
    """Changes of the differences by one move of a record.

    Attributes:
        up: The largest rise of one of them, over all moves (a fall is a rise the other way round).
        apart: The largest distance between the largest rise and the largest fall that one move causes, or 0.
    """

    up: int
    apart: int


def comparisons_of(query: ThresholdQuery | CoverageQuery) -> Comparisons:
    """The comparisons. Interval i covers the share p / q if ``q * (inside + spare) - p * all`` is not below 0.

    The last interval needs no comparison: it is the answer if no other is.
    """
    if isinstance(query, ThresholdQuery):
        weights = np.array([each.weights for each in query.comparisons], dtype=np.int64)
        return Comparisons(weights, tuple(each.threshold for each in query.comparisons), query.most, step=1)
    middle, asked = query.grid.slots // 2, query.intervals - 1
    part, whole = query.coverage.numerator, query.coverage.denominator
    farness = np.abs(np.arange(query.grid.slots) - middle)
    inside = farness <= np.arange(asked)[:, None]
    return Comparisons(whole * inside - part, (-whole * query.spare,) * asked, most=1, step=whole)


def spread_of(weights: NDArray[np.int64], adjacency: Adjacency) -> VectorSpread:
    """By every kind of record, missing ones among them: it comes or goes, or becomes one of another kind.

    Where there are too many kinds to try all pairs, a rise and a fall are each at most the range of some weights.
    """
    kinds = np.unique(np.pad(weights, ((0, 0), (0, 1))), axis=1)  # with a column of zeros: missing records
    if not isinstance(adjacency, AddRemove) and kinds.shape[1] > MOST_KINDS:
        widest = int((kinds.max(axis=1) - kinds.min(axis=1)).max())
        return VectorSpread(widest, widest if len(weights) == 1 else 2 * widest)
    kept = np.zeros((len(weights), 1), dtype=np.int64) if isinstance(adjacency, AddRemove) else kinds
    up = apart = 0
    for old in kept.T:
        change = kinds - old[:, None]
        rise, fall = np.maximum(change.max(axis=0), 0), np.maximum(-change.min(axis=0), 0)
        up = max(up, int(rise.max()), int(fall.max()))
        apart = max(apart, int((rise + fall).max()))
    return VectorSpread(up, apart)


def law_of(compared: Comparisons, loss: PrivacyLoss, adjacency: Adjacency) -> ThresholdAnswers:
    """The two noises.

    Raises:
        UnsupportedQuery: nothing may be lost, nothing depends on records, or no sampler has that much noise.
    """
    require_loss(loss)
    up, apart = spread_of(compared.weights, adjacency)
    if apart == 0:
        raise UnsupportedQuery("comparisons", "weights that are all 0 compare nothing")
    all_reached = compared.most * apart
    ratio = two_thirds_power(Fraction(all_reached, up))
    allowed = pure_epsilon(loss) / adjacency.unit.records / (1 + ratio)
    if allowed == 0:
        raise UnsupportedQuery("epsilon, rho", "comparisons need a loss above zero")
    common, own = (Noise(Family.LAPLACE, scale) for scale in (up / allowed, all_reached / (ratio * allowed)))
    asked = len(compared.thresholds)
    nobody = (asked,) * compared.most
    return ThresholdAnswers(nobody, drawable(common, loss), drawable(own, loss), asked, compared.step)


def two_thirds_power(value: Fraction) -> Fraction:
    """The cube root of the square, rounded down to 20 binary places: the same on every machine.

    >>> two_thirds_power(Fraction(8))
    Fraction(4, 1)
    """
    square = int(value**2 * 2 ** (3 * _RATIO_BITS))
    root = round(square ** (1 / 3))
    while root**3 > square:
        root -= 1
    while (root + 1) ** 3 <= square:
        root += 1
    return Fraction(root, 2**_RATIO_BITS)


def differences(table: ExactTable, compared: Comparisons) -> list[int]:
    """SECRET: exact sums less thresholds, in Python's integers, which cannot overflow."""
    sums = compared.weights.astype(object) @ table[:-1].astype(object)
    return [int(total) - threshold for total, threshold in zip(sums, compared.thresholds, strict=True)]


def reached(differences: Sequence[int], own: Sequence[int], common: int, most: int) -> tuple[int, ...]:
    """The first `most` whose difference, with its own noise, reaches the common noise; filled up with their number."""
    found = [
        place for place, (exact, noise) in enumerate(zip(differences, own, strict=True)) if exact + noise >= common
    ]
    return tuple((found + [len(differences)] * most)[:most])
