"""The page of intervals has the sentences and the stored rows of the benchmarks that write it."""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "benchmarks"))

comparing_readings: Any = import_module("comparing_readings")
interval_against_error: Any = import_module("interval_against_error")
PAGE = (REPOSITORY / "docs" / "intervals.md").read_text(encoding="utf-8")


def test_a_page_that_is_written_anew_without_new_rows_stays_as_it_was() -> None:
    options = argparse.Namespace(level=0.9, releases=24, epsilon="1")
    assert interval_against_error.page([], options, PAGE) == PAGE


def test_the_page_has_the_stored_rows_of_readings_that_compare() -> None:
    stored = json.loads(comparing_readings.STORED.read_text(encoding="utf-8"))
    assert comparing_readings.to_page(stored, PAGE) == PAGE


def test_settings_are_chosen_by_a_part_of_their_printed_name(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = list[Any]()
    monkeypatch.setattr(comparing_readings, "measure_all", lambda _, settings: measured.extend(settings))
    for name in ("1,000, 0.4, 20/80, inside, declared", "2.5, 50/50, inside"):
        measured.clear()
        monkeypatch.setattr(sys, "argv", ["comparing_readings.py", "groups", "--only", name])
        comparing_readings.main()
        assert measured == [setting for setting in comparing_readings.design() if name in str(setting)]
        assert measured
