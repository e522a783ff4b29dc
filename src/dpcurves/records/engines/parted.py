"""SENSITIVE. The subsets of units whose names an engine has sent: told here, so that no engine sees the key."""

from __future__ import annotations

import hmac
from collections.abc import Iterable

import numpy as np

from ...arrays import FloatArray
from .duckdb_subsets import subset_key

DIGITS = 15
"""Hexadecimal digits of a digest that say the subset: sixty bits, of which no rounding is seen."""


def subsets_of(names: Iterable[bytes], key: bytes, subsets: int) -> FloatArray:
    """The subset of each unit, by the HMAC-SHA256 of its name.

    Formal guarantees: it is a function of the key and of that name alone.
    """
    own = subset_key(key)
    digests = (hmac.digest(own, name, "sha256").hex()[:DIGITS] for name in names)
    return np.array([int(digest, 16) % subsets for digest in digests], dtype=np.float64)
