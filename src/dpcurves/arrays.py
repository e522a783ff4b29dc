"""Aliases of array types, and loops that numba compiles just in time where it is installed."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import cache, wraps
from importlib.util import find_spec
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


P = ParamSpec("P")
R = TypeVar("R")


def compile_loop(loop: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop over arrays and numbers when it is first called; loops of our packages are kept on disk.

    (What is kept is bound to the name of its module: a script that is imported under two names could not read it.)
    numba takes half a second to import: who smooths nothing does not wait for it. So compiled loops do not call each
    other; Python stands between them.

    Without numba (`dpcurves[fast]`) Python runs the loop: the same numbers, some hundred times slower.
    """

    @wraps(loop)
    def run_compiled(*arguments: P.args, **named: P.kwargs) -> R:
        result: R = _compile_with_numba(loop)(*arguments, **named)
        return result

    return run_compiled


@cache
def loops_are_compiled() -> bool:
    """Tell whether loops are compiled: where NumPy has nearly as good a way, it is taken if they are not."""
    return find_spec("numba") is not None


@cache
def _compile_with_numba(loop: Callable[..., Any]) -> Callable[..., Any]:
    try:
        from numba import njit
    except ImportError:
        return np.errstate(all="ignore")(loop)  # machine code says nothing of a division by zero either
    own, package = __name__.partition(".")[0], loop.__module__.partition(".")[0]
    kept = package == own or package.startswith(f"{own}_")
    try:
        code: Callable[..., Any] = njit(error_model="numpy", nogil=True, cache=kept)(loop)
    except RuntimeError:  # neither beside the package nor at home may a file be written
        return njit(error_model="numpy", nogil=True)(loop)
    _randomize_cache_names(code)
    return code


def _randomize_cache_names(code: Any) -> None:
    """Give each file of machine code a name of its own.

    numba numbers them, and writes down what a file holds before it writes the file. Of two processes that compile a
    loop at once, for arrays of two types, one would write over the other's file: whoever reads it later would have the
    loop for other arrays, and end with an error. What was compiled before a loop was changed would be read as well.
    """
    files = getattr(getattr(code, "_cache", None), "_cache_file", None)
    pattern = getattr(files, "_data_name_pattern", None)
    if files is not None and isinstance(pattern, str):
        files._data_name = lambda number: pattern.format(number=secrets.randbits(63))


def multiples_of(step: float, numbers: NDArray[Any]) -> FloatArray:
    """So many times a step of one digit each, as doubles nearest to these decimals; of the shape of `numbers`.

    >>> multiples_of(0.1, np.array([3.0, -7.0])).tolist()
    [0.3, -0.7]
    """
    digit, power = f"{step:.0e}".split("e")
    found = [float(f"{int(number) * int(digit)}e{power}") for number in numbers.ravel().tolist()]
    return np.array(found).reshape(numbers.shape)
