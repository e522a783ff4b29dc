"""Noisy counts of the reasons why records are missing, paid with part of the budget of their total.

A missing record has exactly one reason (`data.missing`). Plans already release the total number of missing records.
`add_reasons` splits its budget in two, with the fraction w = `REASONS_FRACTION`:

    total of missing records    budget (1 - w) * p
    count of each reason        budget w * p

where p is the budget of the total without reasons: 1 / scale for Laplace noise, 1 / (2 * variance) for Gaussian noise.
A missing record changes the total by 1 and one reason by 1, so it loses p as before.

Formal guarantees: the loss of the plan does not change. `add_reasons` has the proof.

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
    """Return a plan that also counts missing records by reason, at the same loss; the plan itself if it cannot.

    Formal guarantees: all values together lose at most ``plan.loss`` under ``plan.adjacency``. The reasons partition
    the missing cell: each missing record has one. Let a record that enters or leaves the missing cell cost p there, by
    the proof of the plan (for Laplace noise of scale b, ``p = 1 / b``; for Gaussian noise of variance parameter v,
    ``p = 1 / (2 v)``, with squared distances). With a fraction w for the reasons, the total of the missing cell has
    noise of budget ``(1 - w) p``, and each reason noise of budget ``w p``. *A missing record that is added or removed,
    or a record that moves between the missing cell and others*: it changes the total by 1 and one reason by 1, and
    costs ``(1 - w) p + w p = p`` as before. *A missing record that is replaced by another missing one*: the total does
    not change, and two reasons change by 1 each, which costs ``2 w p``: at most p for ``w <= 1/2``. *Several records of
    a unit*: L1 distances add up, so pure losses do. For Gaussian noise let a unit change the total by m and the reasons
    by the vector r, whose entries add up to m. Cells d and reasons r together are a partition of all records, as cells
    and total are; if noise is calibrated to the squared L2 distance of any partition (`linear.tiling_distribution`),
    ``(1 - w) (|d|**2 + m**2) + w (|d|**2 + |r|**2)`` is at most that distance. If it is calibrated record by record
    (`wavelets`), K records change values by at most K times the longest change of one record, which costs as above.
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
    """SECRET counts in, noisy counts out: add noise to the count of each reason.

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
    """Return True if the query counts records by columns, with missing records in the last cell of its table."""
    if not query.is_dense or not query.tells_missing or query.is_signed:
        return False
    has_axes = bool(query.axes) and query.input_axes == query.axes
    return has_axes and all(isinstance(axis.column, str) and isinstance(axis, Axis | Categories) for axis in query.axes)
