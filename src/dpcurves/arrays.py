"""Compile loops over arrays just in time with numba, where it is installed; and short names of array types.

    compile_loop          decorator of a loop over arrays and numbers; compiles it at its first call
    compile_with_numba    the same at once, for loops that other compiled loops call
    loops_are_compiled    whether numba is installed; callers then choose loops, otherwise NumPy
    multiples_of          integer multiples of a decimal step, without the rounding errors of floats

Without numba the same loops run in Python and give equal results.

>>> multiples_of(0.1, np.array([1, 3])).tolist()  # doubles nearest to the decimal products: 3 * 0.1 is another one
[0.1, 0.3]
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import suppress
from functools import cache, wraps
from importlib.util import find_spec
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
"""Array of 64-bit floats."""
IntArray = NDArray[np.int64]
"""Array of 64-bit integers."""
BoolArray = NDArray[np.bool_]
"""Array of truth values, such as masks."""


P = ParamSpec("P")
"""Parameters of a decorated function, for type checkers: a decorator such as the compiler of loops keeps them."""
R = TypeVar("R")
"""Return type of a decorated function, for type checkers."""


def compile_loop(loop: Callable[P, R]) -> Callable[P, R]:
    """Return the loop over arrays and numbers, compiled at its first call with numba if that is installed.

    Without numba (`dpcurves[fast]`) Python runs the loop: equal results, about a hundred times slower. Importing numba
    takes half a second, so it is postponed to the first call. Compiled loops therefore cannot call each other.

    Machine code of dpcurves packages is cached on disk. Loops of other modules are not cached: numba binds the cache to
    the module name, and a script imported under two names could not read its cache.

    Args:
        loop: Function of arrays and numbers, in the part of Python that numba compiles.

    Returns:
        A function with the same arguments and results.
    """

    @wraps(loop)
    def run_compiled(*arguments: P.args, **keywords: P.kwargs) -> R:
        """Call the loop that `compile_loop` decorates, compiled to machine code by Numba, with these arguments."""
        result: R = compile_with_numba(loop)(*arguments, **keywords)
        return result

    return run_compiled


@cache
def loops_are_compiled() -> bool:
    """Return whether numba compiles the loops; callers use NumPy instead where that is nearly as fast."""
    return find_spec("numba") is not None


@cache
def compile_with_numba(loop: Callable[..., Any], inline: str = "never") -> Callable[..., Any]:
    """Return the numba dispatcher of a loop, which other compiled loops may call.

    Args:
        loop: Function of arrays and numbers, in the part of Python that numba compiles.
        inline: ``always``: the code is repeated in each loop that calls it. ``never``: it is called.

    Returns:
        The dispatcher; without numba the loop itself, with NumPy's warnings of divisions switched off.
    """
    try:
        from numba import njit
    except ImportError:
        return np.errstate(all="ignore")(loop)  # compiled code does not warn of a division by zero either
    project = __name__.partition(".")[0]
    package = loop.__module__.partition(".")[0]
    is_cached = package == project or package.startswith(f"{project}_")
    options: dict[str, Any] = {"error_model": "numpy", "nogil": True, "inline": inline}
    compiled: Callable[..., Any]
    try:
        compiled = njit(cache=is_cached, **options)(loop)
    except RuntimeError:  # no cache folder is writable, neither beside the package nor in the home folder
        compiled = njit(**options)(loop)
    _make_cache_robust(compiled)
    return compiled


def _make_cache_robust(compiled: Any) -> None:
    """Make numba's disk cache safe for several processes, and let a loop run if its cache cannot be read or written.

    Each file of the cache gets a random name instead of numba's serial number. *Why*: numba writes the index of the
    cache before the files. Two processes that compile a loop for different array types at the same time would choose
    the same number, and one would overwrite the other's file; a later reader would then load the loop for the wrong
    types and fail. Random names also avoid reading code of an older version of a loop.

    A disk that is full, a file that was cut off, or a file system on which two processes may not rename a file at the
    same time would otherwise end the call.

    Args:
        compiled: Dispatcher of numba. It is changed in place; without a cache of the expected form nothing is changed.
    """
    kept = getattr(compiled, "_cache", None)
    cache_file = getattr(kept, "_cache_file", None)
    pattern = getattr(cache_file, "_data_name_pattern", None)
    if cache_file is not None and isinstance(pattern, str):
        cache_file._data_name = lambda number: pattern.format(number=secrets.randbits(63))
    for method in ("load_overload", "save_overload"):
        if hasattr(kept, method):
            setattr(kept, method, _return_none_on_error(getattr(kept, method)))


def _return_none_on_error(method: Callable[P, R]) -> Callable[P, R | None]:
    """Return the method of a cache, changed to return None instead of raising; numba reads None as a missing entry.

    Args:
        method: Method of numba's disk cache that reads or writes an entry.
    """

    def call_or_none(*arguments: P.args, **keywords: P.kwargs) -> R | None:
        """Call the decorated method with these arguments; return None if it raises any error."""
        with suppress(Exception):
            return method(*arguments, **keywords)
        return None

    return call_or_none


def multiples_of(step: float, numbers: NDArray[Any]) -> FloatArray:
    """Return `numbers` times `step` as the doubles nearest to the decimal products.

    Multiplying doubles would give 0.30000000000000004 for 3 * 0.1.

    Args:
        step: The step, which is rounded to one significant digit.
        numbers: Whole numbers, of any shape.

    Returns:
        An array of the shape of `numbers`.

    >>> multiples_of(0.1, np.array([3.0, -7.0])).tolist()
    [0.3, -0.7]
    """
    digit, power = f"{step:.0e}".split("e")
    products = [float(f"{int(number) * int(digit)}e{power}") for number in numbers.ravel().tolist()]
    return np.array(products).reshape(numbers.shape)
