"""Import of counts from other software: a distribution function (CDF) from a histogram that was released elsewhere.

Counts may be exact, like counts of a census table, or have independent noise of one stated distribution, like the noisy
histogram of any library for differential privacy:

    noisy_i = n_i + z_i      z_i: none, discrete or continuous Laplace, or Gaussian noise of a stated scale

`from_counts` takes the edges of the cells, the counts, and the distribution and scale of z. It returns the same `CDF`
as a private question does, so that its confidence bands, quantiles and distances apply. Counts that were truncated at
zero, rounded or suppressed do not follow the stated distribution, and bands would not hold.

Formal guarantees: none are added and no budget is spent. The result is a function of numbers that are released already,
so it keeps the guarantee of the other system (post-processing: Dwork and Roth 2014, Proposition 2.1). The privacy
statement of the curve names that system as source of the counts.

>>> import dpcurves as dp
>>> curve = dp.from_counts([0, 10, 20, 30], [40, 50, 10], distribution="exact")
>>> curve.y.tolist()
[0.0, 0.4, 0.9, 1.0]
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from math import isfinite
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import (
    Exact,
    InvalidArgument,
    check_common_arguments,
    describe_value,
    parse_positive_fraction,
    require_integer,
    require_type,
)
from ..arrays import FloatArray
from ..conversation import EXTERNAL_TRUST_PREFIX, Evidence, PrivacyStatement
from ..data import Grid, Outside
from ..distributions.output_distribution import Family, Noise
from ..privacy import Neighbours
from .cdf import CDF

NO_NOISE = "exact"
"""Word of the argument ``distribution`` for counts without noise."""
DISTRIBUTIONS: Mapping[str, tuple[Family, bool]] = MappingProxyType({
    "laplace": (Family.LAPLACE, False), "discrete-laplace": (Family.LAPLACE, True),
    "gaussian": (Family.GAUSSIAN, False), "discrete-gaussian": (Family.GAUSSIAN, True),
})  # fmt: skip
"""Words of the argument ``distribution`` for noisy counts, each with the family of the noise and whether it is integer
(discrete), so that all counts must be integers."""
EDGES_RULE = (
    "at least two finite numbers, a finite distance apart, are needed, each above the one before, as in [0, 10]"
)
"""Rule in the error for edges that are not an increasing list of finite numbers."""


@check_common_arguments
def from_counts(
    edges: ArrayLike,
    noisy: ArrayLike,
    distribution: str = NO_NOISE,
    scale: Exact | None = None,
    *,
    total: int | None = None,
    outside: bool = False,
    source: str = "another system",
    adjacency: Neighbours = Neighbours.ADD_REMOVE,
    rows_per_unit: int = 1,
    label: str = "value",
) -> CDF:
    """Return the distribution function of counts that another system released.

    The counts may be exact, like the counts of a census table, or have independent noise of one distribution, like a
    noisy histogram of any library. They are used as released: counts that were truncated at zero, rounded to tens or
    suppressed do not follow the named distribution, and bands would not hold.

    Counts with continuous noise are rounded to integers, and treated as if they had discrete noise of the same
    variance, rounding included. *Why*: rounded Laplace noise of scale b equals k other than 0 with probability
    proportional to ``exp(-|k| / b)``, like discrete Laplace noise, and rounding adds about 1/12 to its variance of
    ``2 * b**2``. The discrete distribution of scale b has a variance of about ``2 * b**2 - 1/6``, so a scale of
    ``b + 1 / (16 * b)`` is used.

    Formal guarantees: none are added. The release keeps the guarantee of the other system, and post-processing loses
    nothing (Dwork and Roth 2014, Proposition 2.1).

    Args:
        edges: Increasing public edges of the cells, of shape ``(cells + 1,)``.
        noisy: The counts, of shape ``(cells,)``; with `outside` preceded by the count of values below the first edge
            and followed by the count of values above the last, ``(cells + 2,)``.
        distribution: ``exact``, ``laplace``, ``discrete-laplace``, ``gaussian`` or ``discrete-gaussian``.
        scale: The scale b of a Laplace distribution, or the standard deviation of a Gaussian distribution, in records.
        total: The number of records in all cells together, if it is public.
        outside: Whether counts of values outside the edges are included.
        source: The name of the system, for the privacy statement.
        adjacency: The neighbouring relation that the other system states.
        rows_per_unit: The contribution bound: the largest number of counted records of one unit. Inference about the
            population needs 1.
        label: The label of the x axis.

    Returns:
        The curve. Its privacy statement attributes the loss to the other system.

    Raises:
        ValueError: edges do not increase; the number of counts does not match; a count is not finite or above 2**53;
            the distribution is unknown; a scale is missing, is given for exact counts, is above 2**50, or is below 1
            for continuous noise; counts of a discrete distribution are not integers; exact counts are negative, all 0
            or do not add up to the total; `total` or `rows_per_unit` is below 1; a text is too long or has characters
            that cannot be printed.
        TypeError: an argument is of another type.

    >>> curve = from_counts([0, 10, 20, 50], [300, 512, 188])
    >>> curve.y.tolist(), float(curve.quantile(0.3))
    ([0.0, 0.3, 0.812, 1.0], 10.0)
    >>> noisy = from_counts([0, 10, 20, 50], [303.2, 507.9, 190.4], "laplace", 4)
    >>> noisy.privacy.loss, noisy.privacy.mechanism
    ('the loss of another system', 'counts with laplace noise of scale 4')
    """
    longest = 200  # characters
    for name, text in (("source", source), ("label", label)):
        require_type(name, text, str, "a text")
        if not (text.isprintable() and len(text) <= longest):
            raise InvalidArgument(name, f"a text of at most {longest} printable characters is needed: shorten it")
    require_type("adjacency", adjacency, Neighbours, "ADD_REMOVE or REPLACE_ONE")
    if require_integer("rows_per_unit", rows_per_unit) < 1:
        raise InvalidArgument(
            "rows_per_unit",
            f"the most records of one unit are needed, a whole number of at least 1, as in 4, got {rows_per_unit}",
        )
    grid = _parse_grid(edges, Outside.APART if outside else Outside.CLIPPED)
    noise, mechanism = _parse_noise(distribution, scale)
    values = _parse_counts(noisy, grid.slots, whole_only=distribution == NO_NOISE or DISTRIBUTIONS[distribution][1])
    if total is not None and require_integer("total", total) < 1:
        raise InvalidArgument(
            "total", f"the public number of records is needed, a whole number of at least 1, as in 5000, got {total}"
        )
    if distribution == NO_NOISE and (min(values) < 0 or sum(values) < 1):
        raise InvalidArgument(
            "noisy",
            "exact counts are not negative, and at least one record is counted: correct them, or name the "
            "distribution of their noise",
        )
    if distribution == NO_NOISE and total not in (None, sum(values)):
        raise InvalidArgument("total", f"the exact counts add up to {sum(values)}, not {total}: leave total out")
    privacy = PrivacyStatement(
        epsilon=None, rho=0.0, adjacency=adjacency.value, unit="",
        rows_per_unit=require_integer("rows_per_unit", rows_per_unit),
        units=None, trust=f"{EXTERNAL_TRUST_PREFIX}{source}", mechanism=mechanism, seeded=False, grant="",
        notes=(f"these counts were released by {source}: their privacy loss is its own, and nothing was spent here",),
    )  # fmt: skip
    evidence = Evidence.from_cells(values, noise, total)
    return CDF.from_counts(evidence, grid, label, privacy)


def _parse_grid(edges: Any, outside: Outside) -> Grid:
    """Return the grid of cells between edges.

    Args:
        edges: Edges as the user passed them.
        outside: Whether values outside the edges are counted apart or were clipped into the first and last cell.

    Raises:
        InvalidArgument: the edges are not at least two finite increasing numbers, or their distance is not finite.
    """
    try:
        edge_values: FloatArray = np.asarray(edges, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument("edges", EDGES_RULE) from None
    positions = edge_values.tolist() if edge_values.ndim == 1 else []
    if len(positions) < 2 or not all(map(isfinite, (*positions, positions[-1] - positions[0]))):
        raise InvalidArgument("edges", EDGES_RULE)
    if not all(low < high for low, high in pairwise(positions)):
        raise InvalidArgument("edges", EDGES_RULE)
    return Grid.from_edges(positions, outside=outside)


def _parse_noise(distribution: str, scale: Exact | None) -> tuple[Noise, str]:
    """Return the discrete noise distribution of each count, and its description for the privacy statement.

    Continuous noise is replaced by discrete noise of the same variance, rounding to integers included.

    Args:
        distribution: Name of the noise distribution; ``exact``: no noise.
        scale: Scale of a Laplace or standard deviation of a Gaussian distribution, in records; None for exact counts.

    Raises:
        InvalidArgument: the distribution is unknown, or the scale does not fit it.
    """
    if distribution not in (NO_NOISE, *DISTRIBUTIONS):
        raise InvalidArgument(
            "distribution", f"must be one of {NO_NOISE}, {', '.join(DISTRIBUTIONS)}, got {describe_value(distribution)}"
        )
    if distribution == NO_NOISE:
        if scale is not None:
            raise InvalidArgument(
                "scale",
                "exact counts have no noise: leave scale out, or name the distribution of the noise, as in 'laplace'",
            )
        # a Laplace distribution of this scale adds 0 except with negligible probability, so it represents exact counts
        return Noise(Family.LAPLACE, Fraction(1, 10**9)), "exact counts"
    if scale is None:
        raise InvalidArgument(
            "scale",
            "the size of the noise is missing: give the scale of a Laplace distribution, or a standard deviation, in "
            "records, as scale=2",
        )
    (family, discrete), size = DISTRIBUTIONS[distribution], parse_positive_fraction("scale", scale)
    # from scale 1 on, rounded counts with continuous noise nearly follow the discrete distribution; 2**50 hides any
    # count
    if not 0 < size <= 2**50 or (size < 1 and not discrete):
        raise InvalidArgument(
            "scale", "a number above 0 and at most 2**50 is needed, and for laplace or gaussian at least 1"
        )
    if family is Family.LAPLACE:
        parameter_name = "scale"
        parameter = size
        rounding = Fraction(1, 16) / size
    else:
        parameter_name = "standard deviation"
        parameter = size**2
        rounding = Fraction(1, 12)  # variance of rounding to whole numbers
    if not discrete:
        parameter += rounding
    return Noise(family, parameter), f"counts with {distribution} noise of {parameter_name} {float(size):g}"


def _parse_counts(noisy: Any, slots: int, *, whole_only: bool) -> tuple[int, ...]:
    """Return the counts rounded to integers, one per cell in the order of the cells.

    Args:
        noisy: Counts as the user passed them.
        slots: Number of counts that the grid needs, with one more at each side if outside values are counted apart.
        whole_only: If True, the counts must be integers already.

    Raises:
        InvalidArgument: there are not `slots` numbers, a count is not finite or is above 2**53, or `whole_only` and a
            count is no integer.
    """
    try:
        counts: FloatArray = np.asarray(noisy, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(
            "noisy", "a list of numbers is needed, one count for each cell, as in [12, 40, 7]"
        ) from None
    if counts.shape != (slots,):
        raise InvalidArgument(
            "noisy", f"a count for each of the {slots} cells is needed, got an array of shape {counts.shape}"
        )
    # doubles above are not all integers
    if not all(isfinite(count) and abs(count) <= 2.0**53 for count in counts.tolist()):
        raise InvalidArgument("noisy", "a count is not finite, or above 2**53: give the released numbers of records")
    rounded = np.rint(counts)
    if whole_only and not np.array_equal(rounded, counts):
        raise InvalidArgument(
            "noisy",
            "counts that are exact, or have discrete noise, are whole numbers: correct them, or name a continuous "
            "distribution",
        )
    return tuple(int(count) for count in rounded.tolist())
