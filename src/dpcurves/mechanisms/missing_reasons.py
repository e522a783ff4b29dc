"""Noisy counts of why records are missing (empty field, unreadable number, ...), at no further privacy loss.

A record is missing from a question if it has no usable value; each missing record has one reason (`data.missing`). A
plan already releases the total number of missing records. `add_reasons` takes such a plan and returns one that also
counts them by reason; `add_noise_to_reasons` adds the planned noise. The budget p of the total is split in two, with
the fraction w = `REASONS_FRACTION`:

    total of missing records    budget (1 - w) * p
    count of each reason        budget w * p

For Laplace noise p is 1 / scale, for Gaussian noise 1 / (2 * variance).

Formal guarantees: the loss of the plan does not change, because a missing record changes the total by 1 and one reason
by 1, so it costs p as before. `add_reasons` has the proof for all neighbouring tables.

>>> 1 / (1 - REASONS_FRACTION), 1 / REASONS_FRACTION  # factors of the Laplace scales of the total, and of a reason
(Fraction(8, 7), Fraction(8, 1))
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from ..arrays import IntArray
from ..conversation import Plan
from ..data import Axis, Categories
from ..noise.randomness import Randomness
from ..queries import Query
from .linear import sample_noise

REASONS_FRACTION = Fraction(1, 8)
"""Ratio. Fraction of the budget of the count of missing records that its reasons get; at most 1/2 (see `add_reasons`).
The noise scale of that count increases by 1/7, and the noise scale of a reason is 8 times as large.
"""


def add_reasons(plan: Plan) -> Plan:
    """Return a plan that also counts missing records by reason, at the same privacy loss.

    Formal guarantees: all values together lose at most ``plan.loss`` under ``plan.adjacency``. The reasons partition
    the missing cell: each missing record has one. Let a record that enters or leaves the missing cell cost p there, by
    the proof of the plan: for Laplace noise of scale b, ``p = 1 / b``; for Gaussian noise of variance parameter v,
    ``p = 1 / (2 v)``, with squared distances. The total gets noise of budget ``(1 - w) p``, each reason noise of budget
    ``w p``.

    - *A missing record is added or removed, or a record moves between the missing cell and others*: it changes the
      total by 1 and one reason by 1, and costs ``(1 - w) p + w p = p`` as before.
    - *A missing record is replaced by another missing one*: the total does not change, and two reasons change by 1
      each, which costs ``2 w p``: at most p for ``w <= 1/2``.
    - *Several records of a unit, Laplace noise*: L1 distances add up, so pure losses do.
    - *Several records of a unit, Gaussian noise*: let the unit change the cells by the vector d, the total by m and the
      reasons by the vector r, whose entries add up to m. Cells and reasons together are a partition of all records, as
      cells and total are. If noise is calibrated to the squared L2 distance of any partition
      (`linear.tiling_distribution`), ``(1 - w) (|d|**2 + m**2) + w (|d|**2 + |r|**2)`` is at most that distance. If it
      is calibrated record by record (`wavelets`), K records change values by at most K times the longest change of one
      record, which costs as above.

    Args:
        plan: Plan of a query that counts records by columns.

    Returns:
        A plan whose ``reasons`` is the noise of each count; the plan itself if its query counts no missing records by
        column, or its noise cannot be split.
    """
    distribution = plan.distribution
    if not distribution.splits_missing or distribution.missing is None or not _has_countable_columns(plan.query):
        return plan
    # the noise of a value with a fraction of this budget: scale or variance is divided by the fraction
    total, reasons = (
        replace(distribution.missing, parameter=distribution.missing.parameter / share)
        for share in (1 - REASONS_FRACTION, REASONS_FRACTION)
    )
    return replace(plan, distribution=replace(distribution, missing=total), reasons=reasons)  # type: ignore[type-var]


def add_noise_to_reasons(counts: IntArray, plan: Plan, randomness: Randomness) -> tuple[int, ...]:
    """Return noisy counts of missing records by reason, given the exact (SECRET) counts.

    Args:
        counts: SECRET. Number of missing values of each reason, of shape ``(reasons,)``.
        plan: The plan of the release; ``plan.reasons`` is the noise of each count.
        randomness: Source of random bits.

    Returns:
        One noisy count per reason, in the order of `counts`; an empty tuple if the plan counts no reasons.
    """
    if plan.reasons is None:
        return ()
    noise = sample_noise(plan.reasons, len(counts), randomness)
    return tuple(int(count) + int(draw) for count, draw in zip(counts.tolist(), noise.tolist(), strict=True))


def _has_countable_columns(query: Query) -> bool:
    """Return True if the query counts records by columns, so that its missing records can be counted by reason.

    Args:
        query: The query.
    """
    if not query.is_dense or not query.tells_missing or query.is_signed:
        return False
    has_axes = bool(query.axes) and query.input_axes == query.axes
    return has_axes and all(isinstance(axis.column, str) and isinstance(axis, Axis | Categories) for axis in query.axes)
