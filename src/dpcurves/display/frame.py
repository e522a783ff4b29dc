"""Curves as data frames."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Refused

LIBRARIES = ("pandas", "polars", "pyarrow")


def to_frame(columns: Mapping[str, ArrayLike]) -> Any:
    """A frame with these columns: of pandas if it is installed, else of Polars, else an Arrow table.

    >>> to_frame({"x": [1.0, 2.0], "y": [0.5, 1.0]}).shape
    (2, 2)

    Raises:
        ValueError: the columns are of different lengths.
    """
    import narwhals as nw

    arrays = {name: np.array(column) for name, column in columns.items()}
    if len({array.shape for array in arrays.values()}) > 1 or any(array.ndim != 1 for array in arrays.values()):
        raise Refused("columns", "arrays of one length are needed")
    library: Any = next(name for name in LIBRARIES if find_spec(name) is not None)
    return nw.from_dict(arrays, backend=library).to_native()
