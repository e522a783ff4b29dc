from __future__ import annotations

import errno
import os
import re
import sys
import time
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from at_once import at_once
from numpy.typing import NDArray

from dpcurves import arrays
from dpcurves.arrays import compile_loop
from dpcurves.smoothing import isotonic_projection as interior_point

numba = pytest.importorskip("numba", reason="dpcurves[fast] is not installed: no loop is compiled")
from numba.core.caching import IndexDataCacheFile  # noqa: E402


def test_a_compiled_loop_does_what_it_says() -> None:
    @compile_loop
    def total(numbers: NDArray[np.float64]) -> float:
        """Adds up."""
        found = 0.0
        for number in numbers:
            found += number
        return found

    assert total(np.arange(5.0)) == 10
    assert total.__doc__ == "Adds up."


KINDS = ("f8", "f4", "i8", "f8")
"""Element types of the arrays; the last array is strided."""


def part_of_a_change(number: int) -> float:
    numbers = np.arange(1, 17).astype(KINDS[number])
    numbers = numbers[:8] if number < 3 else numbers[::2]
    return float(interior_point._feasible_step_length(numbers, -2 * numbers))


def compile_at_once(number: int, folder: str) -> None:
    """All have compiled before the first one writes down that it has."""
    write: Any = IndexDataCacheFile._save_index

    def when_all_have(files: Any, overloads: Any) -> None:
        (Path(folder) / f"{number}.ready").touch()
        while len(list(Path(folder).glob("*.ready"))) < len(KINDS):
            time.sleep(0.02)
        write(files, overloads)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IndexDataCacheFile, "_save_index", when_all_have)
        part_of_a_change(number)


def read_again(number: int) -> None:
    assert part_of_a_change(number) == 0.5


def test_processes_that_compile_a_loop_for_arrays_of_several_types_at_once_keep_each_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    at_once(compile_at_once, str(tmp_path), count=len(KINDS))
    at_once(read_again, count=len(KINDS))


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
    assert compile_loop(twice)(3.0) == 6


@pytest.mark.quick_share(8)
@pytest.mark.parametrize("damage", ["full", "gone", "cut off", "another file"])
@pytest.mark.parametrize("loop", ["alone", "called by loops"])
def test_a_cache_that_can_not_be_used_stops_no_loop(
    loop: str, damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    replace = os.replace

    def replace_in_vain(source: str, target: str) -> None:
        if damage == "gone":
            os.unlink(source)
        if damage in ("full", "gone"):
            raise OSError(errno.ENOSPC if damage == "full" else errno.ENOENT, "replace", source, target)
        replace(source, target)

    monkeypatch.setattr(os, "replace", replace_in_vain)

    def three_times(number: float) -> float:
        return 3 * number

    three_times.__module__ = "dpcurves.anywhere"

    def is_run() -> bool:
        arrays.compile_with_numba.cache_clear()
        if loop == "alone":
            return compile_loop(three_times)(2.0) == 6
        words = [(np.uint64(number), np.uint64(0)) for number in (2, 3)]
        return tuple(import_anew("dpcurves_parties.crypto.prio3.loops")._add(*words)) == (5, 0)

    assert is_run()
    files = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert bool(files) == (damage in ("cut off", "another file"))
    for file in files:
        file.write_bytes(file.read_bytes()[:-5] if damage == "cut off" else b"something else")
    assert is_run()


def import_anew(name: str) -> Any:
    """Import a second copy of the module, whose loops are not compiled yet."""
    found = find_spec(name)
    assert found is not None
    assert found.origin is not None
    specification = spec_from_file_location(f"{name}_again", found.origin)
    assert specification is not None
    assert specification.loader is not None
    module = module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_every_compiled_loop_outlives_a_cache_that_can_not_be_used() -> None:
    source = Path(arrays.__file__).parents[1]
    compiling = [
        each for each in source.glob("dpcurves*/**/*.py") if re.search(r"\bn?jit\(|import n?jit", each.read_text())
    ]
    assert compiling == [Path(arrays.__file__)]


def test_loops_of_scripts_are_not_kept_for_they_may_have_several_names(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[bool] = []
    njit: Any = numba.njit

    def noted(cache: bool, **options: Any) -> Any:
        kept.append(cache)
        return njit(**options)

    monkeypatch.setattr(numba, "njit", noted)
    for module in (
        "as_printed",
        "papers.as_printed",
        "dpcurves.noise.anything",
        "dpcurves_local.anything",
        "dpcurvesque",
    ):

        def more(number: float) -> float:
            return number + 1

        more.__module__ = module
        assert compile_loop(more)(3.0) == 4
    assert kept == [False, False, True, True, False]


def test_without_numba_a_loop_is_run_as_it_is_written_and_as_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)

    @compile_loop
    def inverse(numbers: NDArray[np.float64], place: int) -> float:
        return float(numbers[place] / numbers[0])

    assert inverse(np.array([0.0, 1.0]), 1) == np.inf
