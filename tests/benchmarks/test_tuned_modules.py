"""`benchmarks/tuning.py` varies each field of each `Tuning` class: a new class needs a case there."""

from __future__ import annotations

import runpy
from dataclasses import fields
from pathlib import Path

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "tuning.py"


def test_every_module_with_a_tuning_has_a_case() -> None:
    names = runpy.run_path(str(BENCHMARK))
    assert sorted(names["MODULES"]) == names["find_tuned_modules"]()
    assert {case for cases in names["MODULES"].values() for case in cases} == set(names["CASES"])
    for module_name in names["MODULES"]:
        assert names["find_tunings"](module_name), module_name


def test_each_field_has_a_row_and_keeps_its_value() -> None:
    names = runpy.run_path(str(BENCHMARK))
    module_name = "dpcurves.curves.contingency"
    (tuning,) = names["find_tunings"](module_name).values()
    before = repr(tuning)
    rows = [row.split() for row in names["rows"](module_name, 1)]
    assert [row[0] for row in rows] == [field.name for field in fields(tuning)]
    assert all(row[-1] != "fails" for row in rows)
    assert repr(tuning) == before
