from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcurves.compiled import compiled

numba = pytest.importorskip("numba", reason="dpcurves[fast] is not installed: no loop is compiled")


def test_a_compiled_loop_does_what_it_says() -> None:
    @compiled
    def total(numbers: NDArray[np.float64]) -> float:
        """Adds up."""
        found = 0.0
        for number in numbers:
            found += number
        return found

    assert total(np.arange(5.0)) == 10
    assert total.__doc__ == "Adds up."


def test_where_nothing_may_be_written_loops_are_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    njit: Any = numba.njit

    def without_a_cache(**options: Any) -> Any:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)

    monkeypatch.setattr(numba, "njit", without_a_cache)

    def twice(number: float) -> float:
        return 2 * number

    twice.__module__ = "dpcurves.anywhere"
    assert compiled(twice)(3.0) == 6


def test_loops_of_scripts_are_not_kept_for_they_may_have_several_names(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[bool] = []
    njit: Any = numba.njit

    def noted(cache: bool, **options: Any) -> Any:
        kept.append(cache)
        return njit(**options)

    monkeypatch.setattr(numba, "njit", noted)
    for module in ("as_printed", "papers.as_printed", "dpcurves.noise.anything", "dpcurvesque"):

        def more(number: float) -> float:
            return number + 1

        more.__module__ = module
        assert compiled(more)(3.0) == 4
    assert kept == [False, False, True, False]


def test_without_numba_a_loop_is_run_as_it_is_written_and_as_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)

    @compiled
    def inverse(numbers: NDArray[np.float64], place: int) -> float:
        return float(numbers[place] / numbers[0])

    assert inverse(np.array([0.0, 1.0]), 1) == np.inf
