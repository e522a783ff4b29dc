"""Words of many keys, level by level as engines read them, or key by key as they are sent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .ring import Words

Part = slice | NDArray[np.bool_]
"""Some keys of many."""

_AT_A_TIME = 256  # keys whose rows fit into the cache


def by_level(records: Words, levels: int, words: int) -> Words:
    """Records ``(keys, levels * words)`` as ``(levels, keys, words)``, laid out so."""
    result = np.empty((levels, len(records), words), np.uint64)
    for keys in range(0, len(records), _AT_A_TIME):
        chunk = records[keys : keys + _AT_A_TIME]
        result[:, keys : keys + _AT_A_TIME] = chunk.reshape(len(chunk), levels, words).transpose(1, 0, 2)
    return result


def as_rows(*by_level: Words) -> Words:
    """The reverse of `by_level`, for several arrays ``(levels, keys, words)``: one row for each key."""
    ends = np.cumsum([0, *(part.shape[0] * part.shape[2] for part in by_level)])
    rows = np.empty((by_level[0].shape[1], int(ends[-1])), np.uint64)
    for keys in range(0, len(rows), _AT_A_TIME):
        for start, end, part in zip(ends, ends[1:], by_level, strict=False):
            chunk = part[:, keys : keys + _AT_A_TIME].transpose(1, 0, 2)
            rows[keys : keys + _AT_A_TIME, start:end].reshape(chunk.shape)[...] = chunk
    return rows
