"""Counts from convolved sums: the weights are inverted, and a public total is conditioned on."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray
from ...laws import ToeplitzSums
from ...laws.blocks import in_parts
from ...laws.least_squares import over_cells
from ...laws.toeplitz_error import total_covariances, total_variance
from ...laws.toeplitz_sums import causal_product


def deconvolved(law: ToeplitzSums, values: FloatArray, total: int | None) -> tuple[FloatArray, FloatArray]:
    """Unbiased cells (..., rows, cells) and missing counts (...) of releases (..., size).

    Values are ``y = R x + z``, on their lattice, with a triangular R whose diagonal is 1; so prefixes ``A x`` have the
    estimate ``A R**-1 y``, which is unbiased whatever the noise, and the only unbiased linear one. A public total
    tells what the noises of all rows and the missing count add up to: what it has more than the estimate is shared
    by all prefixes in proportion to their covariances with it: least squares.

    Raises:
        ValueError: the values do not fit the law.
    """
    (sums,), missing = in_parts(law, values)
    prefixes = causal_product(sums / 2.0**law.bits, law.kernel, law.points)
    if total is not None:
        prefixes, missing = _pinned(law, prefixes, missing, total)
    return over_cells(np.diff(prefixes, axis=-1, prepend=0.0), np.diff(law.bounds)), missing


def _pinned(law: ToeplitzSums, prefixes: FloatArray, missing: FloatArray, total: int) -> tuple[FloatArray, FloatArray]:
    everything = total_variance(law)
    residual = (total - prefixes[..., -1].sum(axis=-1) - missing) / (everything if everything > 0 else 1.0)
    apart = 0.0 if law.missing is None else law.missing.variance
    return prefixes + total_covariances(law) * residual[..., None, None], missing + apart * residual
