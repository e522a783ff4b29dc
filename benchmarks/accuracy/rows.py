"""Ways to a distribution function, under both adjacencies and both kinds of loss: the columns that regimes compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from baselines import KAry

from dpcurves.conversation import WHOLE_BUDGET, Release, Setting
from dpcurves.curves import CDF, AdaptivePartition, CdfQuestion, QuantilePartition
from dpcurves.data import Axis
from dpcurves.histograms import DawaEstimator
from dpcurves.mechanisms import AUTO, FlatHistogram, Haar, LinearMechanism, Mechanism, SquareRoot, TreeSums
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, Adjacency, Neighbours, PrivacyLoss
from dpcurves.queries import Hint, QuantileCutsQuery
from dpcurves.summaries import isotonic_projection

from . import peers
from .answering import COLUMN, answer, table_of
from .data import FloatArray, IntArray, Sample
from .methods import Job, rule
from .one_turn import counted, least_squares

DECILES = np.arange(1, 10) / 10


@dataclass(frozen=True)
class Ask:
    """A release to be made.

    Attributes:
        neighbours: Who may be replaced, or come and go.
    """

    sample: Sample
    loss: PrivacyLoss
    neighbours: Neighbours
    seed: int

    @property
    def adjacency(self) -> Adjacency:
        return self.neighbours.to_adjacency(
            EACH_RECORD, self.sample.records if self.neighbours.has_public_units else None
        )


Row = Callable[[Ask], FloatArray]
"""Shares below the edges of the grid, made from a sample."""


def ours(ask: Ask) -> FloatArray:
    """What a user gets who says nothing but the loss."""
    return _answered(ask, CdfQuestion(COLUMN, ask.sample.grid))


def hinted(hint: Hint) -> Row:
    """One turn, where something is known in public."""
    return lambda ask: _answered(ask, CdfQuestion(COLUMN, ask.sample.grid, hint=hint))


def once(mechanism: LinearMechanism) -> Row:
    """One turn over all cells, read as the product reads it."""
    return lambda ask: _answered(ask, CdfQuestion(COLUMN, ask.sample.grid, hint=Hint.ATOMS), mechanism)


def plain(mechanism: LinearMechanism) -> Row:
    """One turn by this mechanism: least squares and isotonic regression."""
    return lambda ask: least_squares(counted(ask.sample, mechanism, ask.loss, ask.seed, ask.adjacency))


def coarse(kappa: float) -> Row:
    """So few even intervals as a rule says that knows the number of records."""

    def release(ask: Ask) -> FloatArray:
        mechanism = rule(kappa, ask.sample.grid.cells, ask.loss, ask.sample.records).mechanism
        return plain(mechanism)(ask)

    return release


def grown(ask: Ask) -> FloatArray:
    """PrivTree, then counts of its leaves."""
    return _answered(ask, CdfQuestion(COLUMN, ask.sample.grid, method=AdaptivePartition()))


def cut(ask: Ask) -> FloatArray:
    """Recursive cuts, then counts between them."""
    return _answered(ask, CdfQuestion(COLUMN, ask.sample.grid, method=QuantilePartition(32)))


def dawa(ask: Ask) -> FloatArray:
    """The sound partition of intervals of like counts, then their counts."""
    setting = Setting(ask.loss, ask.adjacency)
    axes = (Axis(COLUMN, ask.sample.grid),)
    steps = DawaEstimator().estimate_table(axes, setting, WHOLE_BUDGET)
    randomness = Randomness.from_seed(ask.seed)
    step = next(steps)
    while True:
        plan = AUTO.plan(step.query, ask.loss * step.budget_fraction, ask.adjacency)
        values = AUTO.run(table_of(ask.sample, step.query), plan, randomness)
        try:
            step = steps.send(Release(plan, values, None, seeded=True))
        except StopIteration as ended:
            return _rising(np.asarray(ended.value.cells, dtype=np.float64).ravel())


def opendp(ask: Ask) -> FloatArray:
    """The tree of OpenDP."""
    if ask.neighbours.has_public_units:
        return peers.opendp_tree(Job(ask.sample, ask.loss, ask.seed))
    return _rising(peers.opendp_counts(Job(ask.sample, ask.loss, ask.seed), moved=1))


def diffprivlib(ask: Ask) -> FloatArray:
    """The histogram of diffprivlib, which means add-remove: for replace-one it is given half of the loss, there."""
    loss = ask.loss if ask.neighbours.has_public_units else ask.loss * Fraction(2)
    return peers.histogram_of_diffprivlib(Job(ask.sample, loss, ask.seed))


def recursive_cuts(ask: Ask) -> FloatArray:
    """Deciles by the exponential mechanism (Kaplan, Schnapp and Stemmer 2022), with all of the loss."""
    query = QuantileCutsQuery((Axis(COLUMN, ask.sample.grid),), len(DECILES) + 1)
    plan = AUTO.plan(query, ask.loss, ask.adjacency)
    cuts = AUTO.run(table_of(ask.sample, query), plan, Randomness.from_seed(ask.seed))
    return np.asarray(ask.sample.grid.edges[list(cuts)])


def deciles(row: Row) -> Row:
    """Read deciles off a curve."""
    return lambda ask: ask.sample.grid.edges[_cells_of_deciles(row(ask)) + 1]


def decile_error(places: FloatArray, sample: Sample) -> float:
    """How far deciles are from the cells that they lie in, on average."""
    edges, cells = sample.grid.edges, _cells_of_deciles(sample.shares)
    return float(np.maximum(np.maximum(edges[cells] - places, places - edges[cells + 1]), 0).mean())


def _cells_of_deciles(shares: FloatArray) -> IntArray:
    return np.asarray(np.searchsorted(shares[1:], DECILES).clip(0, len(shares) - 2))


def usual(ask: Ask) -> dict[str, Row]:
    """All rows that answer under this loss and these neighbours, ours first."""
    rows: dict[str, Row] = {
        "dpcurves": ours, "one turn": once(TreeSums()), "flat": once(FlatHistogram()),
        "histogram": plain(FlatHistogram()),
        "HB": plain(TreeSums()), "k-ary": plain(KAry()), "Haar": plain(Haar()), "PrivTree": grown, "cuts": cut,
        "DAWA": dawa,
    }  # fmt: skip
    if ask.neighbours.has_public_units:
        rows |= {"coarse 1": coarse(1), "coarse 4": coarse(4)}
    if peers.in_process():
        rows["OpenDP"] = opendp
    if ask.loss.is_pure and peers.diffprivlib():
        rows |= {"diffprivlib": diffprivlib}
    return rows if ask.loss.is_pure else rows | {"square root": plain(SquareRoot())}


def factorisation_bound(cells: int, records: int, loss: PrivacyLoss) -> float:
    """The least RMSE of unbiased prefixes by any Gaussian mechanism on linear sums, under replace-one.

    Let L and R be matrices whose product has the prefixes of all tables of one total, and D the squared sensitivity of
    R: of all pairs of columns the mean squared distance is at most D, so R, centred, has at most ``(cells - 1) * D /
    2`` squared entries in all. The product of the Frobenius norms of L and R is at least the sum of the singular values
    of what they make, which are ``1 / (2 sin(pi k / (2 cells)))`` for k below cells (that of Brownian bridges). The
    noise of a value is ``D / (2 rho)``.
    """
    values = 1 / (2 * np.sin(np.pi * np.arange(1, cells) / (2 * cells)))
    return float((values.sum() ** 2 / (float(loss.rho) * (cells - 1) * cells)) ** 0.5 / records)


def _answered(ask: Ask, question: CdfQuestion, mechanism: Mechanism = AUTO) -> FloatArray:
    curve: CDF = answer(question, ask.sample, ask.loss, ask.seed, mechanism, adjacency=ask.adjacency)
    return curve.y


def _rising(cells: FloatArray) -> FloatArray:
    total = max(float(cells.sum()), 1.0)
    shares = np.clip(isotonic_projection(np.append(0.0, np.cumsum(cells))) / total, 0, 1)
    shares[-1] = 1.0
    return shares
