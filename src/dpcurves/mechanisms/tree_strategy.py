"""Choice of a tree of intervals: how many children a node has, and which budget fraction each level gets.

`find_best_shape` returns the tree with the smallest mean squared error of a prefix count. `TreeSums` uses it. It reads
no records: the choice depends on public sizes alone, and affects errors, not the privacy loss.

A tree counts intervals on levels l = 1, ..., h, from coarse to fine. A radix is the number of children of a node, also
called branching factor or fan-out. With the fraction s_l of the loss, a count of level l has the variance

    v_l = v / s_l**power      power = 2 for Laplace noise, 1 for Gaussian noise

where v is the variance for the whole loss. Least squares on all levels estimates a node's count from its own subtree
with the variance ``w_l``: ``1 / w_l = 1 / v_l + 1 / (r_(l+1) * w_(l+1))``, where ``r_(l+1)`` is the number of its
children, and ``w_h = v_h``. The mean variance of a prefix is the sum of the ``w_l`` with weights that depend on the
radices alone (`PerfectTrees.prefix_errors`; with a public total, the first level adds less). So its gradient by the
fractions has a closed form too.

The search has four steps: enumerate lists of similar radices; improve the fractions of each by a few multiplicative
updates; optimise the best ones fully; compare the best few by the exact variance of integer noise.

References: Hay, Rastogi, Miklau and Suciu 2010 (least squares on trees); Qardaji, Yang and Li 2013 (radices); Cormode,
Procopiuc, Srivastava, Shen and Yu 2012 (budget fractions).

>>> shape = find_best_shape(rows=1, cells=256, width=1, family=Family.LAPLACE, total_is_public=False)
>>> shape.widths, [float(fraction) for fraction in shape.budget_fractions]
((96, 12, 1), [0.291, 0.31, 0.399])
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import groupby
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..distributions import Family, IntervalSums, Noise, Tier, round_error

# Trees with equal nodes on each level: their error in closed form, and the budget fractions that minimise it.
#
# Many trees of one depth are processed at once: arrays have the shape ``(trees, levels)``, from coarse to fine.
# Variances are in units of the noise variance for the whole loss: a level with share s has ``s ** -power``.


@dataclass(frozen=True)
class Tuning:
    """Numbers that steer the search for a tree. Privacy does not depend on them, only errors and run time do."""

    rounds: int = 40
    """Iterations of a full optimisation of budget fractions, which are rounded to 1/1000 afterwards."""
    few_rounds: int = 3
    """Iterations for an approximate comparison of many trees."""
    discrete_scale: int = 1
    """Records. Scale of Laplace noise up to which its discreteness changes the best tree."""
    finalists: int = 4
    """Trees. Number of trees per depth that are compared by exact errors."""
    semifinalists: int = 20
    """Trees. Number of trees per depth whose budget fractions are optimised fully."""
    near: float = 1.2
    """Ratio of a tree's error, before its budget fractions are optimised, to the least one; up to it the tree is
    compared further.
    """


TUNING = Tuning()
"""The values that choices of budget fractions use unless a caller passes others."""


@dataclass(frozen=True)
class PerfectTrees:
    """Many candidate trees of one depth, with their errors in closed form.

    All nodes of a level have the same number of children. Arrays have the shape ``(trees, levels)``, levels from coarse
    to fine.

    Attributes:
        radices: Number of children of a node of the level above; for the first level, of nodes per row. A fraction if
            the last node is cut off.
        widths: Number of cells of a node.
        rows: Number of rows of the table; each row has a tree of this shape.
        power: 2 for Laplace noise, whose variance falls with the square of a budget fraction; 1 for Gaussian noise.
        total_is_public: True if the number of all records is public. The missing cell, whose noise has the whole loss,
            is then another child of the root.
    """

    radices: FloatArray
    widths: FloatArray
    rows: int
    power: int
    total_is_public: bool

    def select_trees(self, numbers: NDArray[np.int64]) -> PerfectTrees:
        """Return the selected trees, in the order of the indices.

        Args:
            numbers: Indices of trees, from 0.
        """
        return replace(self, radices=self.radices[numbers], widths=self.widths[numbers])

    def approximate_errors(self, rounds: int = TUNING.few_rounds) -> FloatArray:
        """Return the approximate error of each tree, after a few updates of its budget fractions, to rank candidates,
        (trees,).

        Args:
            rounds: Number of updates.

        Returns:
            Mean variances of a prefix, in units of the noise variance for the whole loss; never below the least
            possible.
        """
        return self.prefix_errors(self.optimise_budget_fractions(rounds))

    def optimise_budget_fractions(self, rounds: int = TUNING.rounds) -> FloatArray:
        """Return the budget fractions that minimise `prefix_errors`, of shape ``(trees, levels)``.

        The method is a fixed number of multiplicative updates. At a minimum on the simplex, shares are proportional to
        pulls, ``pull = -d error / d log(share) / power``. A single level has ``pull = weight * share ** -power``, so
        that ``share * (pull / share) ** (1 / (power + 1))`` is optimal at once. If a level is best left out, the
        minimum is a local one: compare trees without that level.

        Args:
            rounds: Number of updates.
        """
        shares = np.full(self.radices.shape, 1 / self.radices.shape[1])
        for _ in range(rounds):
            pulls = self._error_gradients(shares)
            shares = np.maximum(shares * (pulls / shares) ** (1 / (self.power + 1)), 1e-9)  # nothing divides by 0
            shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def prefix_errors(self, shares: FloatArray) -> FloatArray:
        """Return the mean variance of a prefix for each tree, after least squares on all levels, of shape ``(trees,)``.

        The mean is over all edges except the last, in units of the noise variance for the whole loss.

        Args:
            shares: Budget fraction of each level, of shape ``(trees, levels)``.
        """
        combined = self._combine_variances(shares)
        top, _ = self._first_level_error(combined[:, 0])
        errors: FloatArray = top + (self._variance_weights * combined)[:, 1:].sum(axis=1)
        return errors

    @cached_property
    def _children(self) -> FloatArray:
        """Number of children of a node of the level above, counting one that the end of the row cuts off, (trees,
        levels).
        """
        return np.ceil(self.radices)

    @cached_property
    def _edge_moments(self) -> tuple[FloatArray, FloatArray]:
        """Means of ``j + u**2`` and of ``(j + u)**2`` over all edges, where an edge lies at a fraction u of node j
        (from 0) of its parent; (trees, levels) each.
        """
        full_children = np.floor(self.radices)
        cut = self.radices - full_children
        mean_fraction = (1 - 1 / self.widths) / 2
        mean_squared_fraction = mean_fraction * (2 - 1 / self.widths) / 3
        first = full_children * ((full_children - 1) / 2 + mean_squared_fraction) + cut * (full_children + cut**2 / 3)
        # Mean of the squared number of complete children before a child drawn at random, plus its own part.
        squared_children = (full_children - 1) * (2 * full_children - 1) / 6
        squares = squared_children + (full_children - 1) * mean_fraction + mean_squared_fraction
        second = full_children * squares + cut * (full_children**2 + full_children * cut + cut**2 / 3)
        return first / self.radices, second / self.radices

    @cached_property
    def _variance_weights(self) -> FloatArray:
        """How much each level adds to the error per unit of its variance, given the total of the node above, (trees,
        levels).
        """
        first, second = self._edge_moments
        return first - second / self._children

    def _combine_variances(self, shares: FloatArray) -> FloatArray:
        """Return the variance of a node's estimate from its own subtree, for each level, (trees, levels).

        Computed by a recursion of inverse-variance means, from the finest level to the coarsest.

        Args:
            shares: Budget fraction of each level, of shape ``(trees, levels)``.
        """
        combined = shares**-self.power
        for level in range(combined.shape[1] - 2, -1, -1):
            children_variance = self._children[:, level + 1] * combined[:, level + 1]
            combined[:, level] = 1 / (1 / combined[:, level] + 1 / children_variance)
        return combined

    def _first_level_error(self, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how much the first level adds to the error of each tree, and its derivative with respect to the
        variance of a node.

        Both have the shape ``(trees,)``.

        Args:
            variance: Variance of a node of the first level, (trees,).

        Returns:
            Contributions and derivatives, (trees,) each.
        """
        first = self._edge_moments[0][:, 0]
        second = self._edge_moments[1][:, 0]
        if not self.total_is_public:
            return first * variance, first
        nodes = self.rows * self._children[:, 0]
        reduction = variance / (nodes * variance + 1)
        return first * variance - second * variance * reduction, first - second * reduction * (2 - nodes * reduction)

    def _error_gradients(self, shares: FloatArray) -> FloatArray:
        """Return how the error of each tree changes with the logarithm of each level's budget fraction, divided by
        `power`: the pulls of the optimisation.

        Args:
            shares: Budget fractions of the levels, (trees, levels).

        Returns:
            Derivatives, (trees, levels).
        """
        combined = self._combine_variances(shares)
        level_variances = shares**-self.power
        pulls = np.empty_like(shares)
        _, slope = self._first_level_error(combined[:, 0])
        for level in range(shares.shape[1]):
            pulls[:, level] = slope * combined[:, level] ** 2 / level_variances[:, level]
            if level + 1 < shares.shape[1]:
                nodes = self._children[:, level + 1]
                finer = combined[:, level + 1]
                slope = (
                    self._variance_weights[:, level + 1] + slope * nodes * (combined[:, level] / (nodes * finer)) ** 2
                )
        return pulls


Radices = tuple[int, ...]

_LARGE = Fraction(10**6)
"""Records (Laplace) or squared records (Gaussian). Noise parameter so large that the discreteness of the noise does not
matter.
"""


class TreeShape(NamedTuple):
    """Nested tilings by intervals of equal width, with budget fractions.

    Attributes:
        widths: Number of cells of an interval, from coarse to fine; each divides the previous width, except that the
            first width may be the number of all cells.
        budget_fractions: Fraction of the loss of each tiling; they add up to 1.
    """

    widths: tuple[int, ...]
    budget_fractions: tuple[Fraction, ...]


@lru_cache(maxsize=1024)
def find_best_shape(
    rows: int,
    cells: int,
    width: int,
    family: Family,
    *,
    total_is_public: bool,
    single_level_noise: Noise | None = None,
    tuning: Tuning = TUNING,
) -> TreeShape:
    """Return the tree with the smallest mean squared error of prefixes whose finest intervals have `width` cells.

    Many lists of radices are compared in closed form, each with its best budget fractions; the best few are compared
    exactly. All variances scale with the loss, so the result is the same for all losses, except with very little noise:
    the variance of integer noise then falls much faster than the square of its scale, and fewer levels are better. In
    that case the best trees of each depth, including flat ones, are compared by their exact variances. Results are
    cached; a first result takes about a fifth of a second.

    Args:
        rows: Number of rows of the table; each row has a tree of this shape.
        cells: Number of cells of a row.
        width: Number of cells of an interval of the finest level.
        family: Family of the noise.
        total_is_public: True if the number of all records is public.
        single_level_noise: Noise of a count if the whole loss is spent on a single tiling; used if it is Laplace noise
            of a scale of at most `Tuning.discrete_scale`. None: the noise is not small.
        tuning: Numbers that steer the search.

    >>> find_best_shape(1, 4096, 1, Family.LAPLACE, total_is_public=True).widths
    (256, 16, 1)
    >>> small = Noise(Family.LAPLACE, Fraction(1, 5))
    >>> find_best_shape(1, 4096, 1, Family.LAPLACE, total_is_public=True, single_level_noise=small).widths
    (64, 1)
    """
    if (
        single_level_noise is not None
        and single_level_noise.family is Family.LAPLACE
        and single_level_noise.parameter <= tuning.discrete_scale
    ):
        candidates = _best_shapes_by_depth(rows, cells, width, total_is_public, tuning)
        return min(
            candidates, key=lambda shape: (_exact_error(shape, rows, cells, single_level_noise, total_is_public), shape)
        )
    noise = Noise(family, _LARGE)
    finalists = sorted(_rank_shapes((rows, cells, width), family, total_is_public, tuning))[: tuning.finalists]
    shapes = [shape for _, shape in finalists]
    return min(shapes, key=lambda shape: (_exact_error(shape, rows, cells, noise, total_is_public), shape))


def _best_shapes_by_depth(
    rows: int, cells: int, width: int, total_is_public: bool, tuning: Tuning
) -> Iterator[TreeShape]:
    """Generate the best few trees of each depth with Laplace noise, up to the best depth under large noise.

    Args:
        rows: Number of rows of the table.
        cells: Cells of a row.
        width: Cells of a leaf.
        total_is_public: Whether the number of records is public.
        tuning: Constants of the search.
    """
    large = find_best_shape(rows, cells, width, Family.LAPLACE, total_is_public=total_is_public, tuning=tuning)
    deepest = len(large.widths)
    for trees in _candidate_trees(rows, cells, width, Family.LAPLACE, total_is_public):
        if trees.radices.shape[1] <= deepest:
            best_indices = np.argsort(trees.approximate_errors(tuning.few_rounds), kind="stable")[: tuning.finalists]
            yield from (shape for _, shape in _best_shapes(trees.select_trees(best_indices), tuning))


def _rank_shapes(
    size: tuple[int, int, int], family: Family, total_is_public: bool, tuning: Tuning
) -> Iterator[tuple[float, TreeShape]]:
    """Generate the best tree shapes of each depth with their errors, for depths whose approximate error is near the
    least.

    Args:
        size: Number of rows, of cells of a row, and of cells of the finest intervals.
        family: Family of the noise.
        total_is_public: True if the number of all records is public.
        tuning: Numbers that steer the search.
    """
    depths = list(_candidate_trees(*size, family, total_is_public))
    approximate_errors = [trees.approximate_errors(tuning.few_rounds) for trees in depths]
    largest_error = tuning.near * min(float(errors.min()) for errors in approximate_errors)
    for trees, errors in zip(depths, approximate_errors, strict=True):
        best_indices = np.argsort(errors, kind="stable")[: tuning.semifinalists]
        if errors[best_indices[0]] <= largest_error:
            yield from _best_shapes(trees.select_trees(best_indices[errors[best_indices] <= largest_error]), tuning)


def _candidate_trees(
    rows: int, cells: int, width: int, family: Family, total_is_public: bool
) -> Iterator[PerfectTrees]:
    """Generate candidate trees (strategies of nested intervals) grouped by depth, without and with a root, for a search
    in closed form.

    Args:
        rows: Number of rows of the table.
        cells: Cells of a row.
        width: Cells of a leaf.
        family: Laplace or Gaussian noise.
        total_is_public: Whether the number of records is public; a root is then useless in a single row.
    """
    power = 2 if family is Family.LAPLACE else 1
    lists = sorted(_inner_radices(max(cells / width, 1.0)), key=len)
    for _, same_depth in groupby(lists, key=len):
        below_first = _level_widths(np.array(list(same_depth), dtype=np.float64), width)
        with_root = [] if total_is_public and rows == 1 else [np.insert(below_first, 0, cells, axis=1)]
        for widths in (below_first, *with_root):
            radices = np.insert(widths[:, :-1] / widths[:, 1:], 0, cells / widths[:, 0], axis=1)
            yield PerfectTrees(np.maximum(radices, 1), widths, rows, power, total_is_public)


def _level_widths(inner: FloatArray, finest: int) -> FloatArray:
    """Return the number of cells of a node on each level, of shape ``(trees, levels)``.

    Args:
        inner: Radices below the first level, of shape ``(trees, levels - 1)``.
        finest: Number of cells of a node of the last level.
    """
    widths = np.full((inner.shape[0], inner.shape[1] + 1), float(finest))
    widths[:, :-1] *= np.cumprod(inner[:, ::-1], axis=1)[:, ::-1]
    return widths


def _best_shapes(trees: PerfectTrees, tuning: Tuning) -> Iterator[tuple[float, TreeShape]]:
    """Generate the best few trees of one depth with their errors; trees with an empty level are left out.

    Args:
        trees: Candidate trees of one depth.
        tuning: Numbers that steer the search: rounds of optimisation, and the most trees that are returned.

    Yields:
        Error and shape of a tree, by increasing error. A level is empty if its budget fraction is below 1/1000.
    """
    shares = trees.optimise_budget_fractions(tuning.rounds)
    errors = np.where(shares.min(axis=1) * 1000 < 1, np.inf, trees.prefix_errors(shares))
    for index in np.argsort(errors, kind="stable")[: tuning.finalists]:
        if np.isfinite(errors[index]):
            yield (
                round_error(errors[index]),
                TreeShape(tuple(int(w) for w in trees.widths[index]), _round_to_thousandths(shares[index])),
            )


def _inner_radices(intervals: float) -> Iterator[Radices]:
    """Generate candidate radices (children per node) of the tree levels below the first, from coarse to fine, for a
    tree over `intervals` leaves.

    In the best trees all radices are similar, with two exceptions. Prefixes are interpolated below the last level, so
    its radix may differ; and the first radix is the number of intervals divided by the product of the others.

    Args:
        intervals: Number of leaves that the tree needs at least.
    """
    yield ()
    yield from ((last,) for last in range(2, 129) if last < intervals)
    for middle in range(2, 41):
        for last in range(max(2, middle - 1), 2 * middle + 1):
            yield from _repeat_radix(middle, last, intervals)


def _repeat_radix(middle: int, last: int, intervals: float) -> Iterator[Radices]:
    """Generate radices of inner tree levels, all `middle` or ``middle + 1``, ended by `last`, that leave a first radix
    of at most ``3 * middle``.

    Args:
        middle: Smaller one of the two radices (children per node) of the inner levels.
        last: Radix of the finest level.
        intervals: Number of leaves that the tree needs at least.

    Yields:
        Radices of the levels below the first, from coarse to fine.
    """
    depth = 1
    while last * middle**depth < intervals:
        for larger in range(depth):
            inner = (middle,) * (depth - larger) + (middle + 1,) * larger + (last,)
            if 1 < intervals / prod(inner) <= 3 * middle:
                yield inner
        depth += 1


def _round_to_thousandths(shares: FloatArray) -> tuple[Fraction, ...]:
    """Round budget fractions of levels to multiples of 1/1000 that add up to 1, by largest remainders.

    Args:
        shares: Budget fractions that add up to 1, one for each level.
    """
    thousandths = np.floor(shares * 1000).astype(np.int64)
    order = np.argsort(thousandths - shares * 1000, kind="stable")
    for position in range(1000 - int(thousandths.sum())):
        thousandths[order[position % len(order)]] += 1
    return tuple(Fraction(int(count), 1000) for count in thousandths)


def _exact_error(shape: TreeShape, rows: int, cells: int, single_noise: Noise, total_is_public: bool) -> float:
    """Return the mean variance of a prefix count under a tree, computed exactly with integer noise, in squared records.

    Args:
        shape: The tree.
        rows: Number of rows of the table.
        cells: Number of cells of a row.
        single_noise: Noise of a count if the whole loss is spent on a single tiling.
        total_is_public: True if the number of all records is public.
    """
    levels = tuple(
        Tier(range(0, cells, width), Noise(single_noise.family, single_noise.parameter / share))
        for width, share in zip(shape.widths, shape.budget_fractions, strict=True)
    )
    return round_error(IntervalSums(rows, cells, levels, single_noise).mean_prefix_variance(total_is_public))
