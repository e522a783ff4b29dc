"""The page on choosing: its numbers are those that plans foretell, in the file, in the tables and in the form."""

from __future__ import annotations

import json

import choices
import pytest

FOUND = json.loads(choices.NUMBERS.read_text(encoding="utf-8"))


PLACES = [
    pytest.param(place, marks=[pytest.mark.reproduction] * (place not in {0, 3, 9}))
    for place in range(len(choices.SETTINGS))
]
"""A setting of four; `make bench` looks at all."""


@pytest.mark.parametrize("place", PLACES)
def test_a_setting_has_the_error_that_its_plan_foretells(place: int) -> None:
    setting, kept = choices.SETTINGS[place], FOUND["settings"][place]
    assert kept["name"] == setting.name
    foretold = [[choices.error(setting, epsilon, units) for units in choices.UNITS] for epsilon in choices.EPSILONS]
    assert kept["errors"] == [pytest.approx(row, rel=0.02) for row in foretold]


def test_the_same_numbers_stand_on_the_page_as_text() -> None:
    assert choices.table(FOUND) in choices.PAGE.read_text(encoding="utf-8")


def test_the_file_has_all_settings_and_is_small() -> None:
    assert choices.NUMBERS.stat().st_size < 200_000
    assert [len(each["errors"]) for each in FOUND["settings"]] == [len(choices.EPSILONS)] * 13
    assert {len(row) for each in FOUND["settings"] for row in each["errors"]} == {len(choices.UNITS)}
