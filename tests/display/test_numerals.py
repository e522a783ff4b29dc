"""Numbers as people write them."""

from __future__ import annotations

import numpy as np

from dpcurves.display import format_in_cell, format_interval, format_number, format_numbers


def test_no_number_of_daily_life_has_a_power_of_ten() -> None:
    assert [format_number(value) for value in (31380.0, 1e6, -1234567.8, 0.00012, 0.0)] == [
        "31,380", "1,000,000", "-1,234,568", "0.00012", "0"
    ]  # fmt: skip
    assert [format_number(value) for value in (2.0**67, 1e-9)] == ["1.476e+20", "1e-09"]


def test_no_digit_is_finer_than_what_is_known() -> None:
    assert [format_number(187.2, width) for width in (1000, 244, 20, 1, 0.01)] == [
        "200",
        "190",
        "187",
        "187.2",
        "187.200",
    ]
    assert format_number(-0.0001, 1) == "0.0"
    assert format_in_cell(30.3106, 30, 31) == "30.3"
    assert format_in_cell(30.3106, 30, 31, known_to=40.0) == "30"


def test_what_has_no_end_says_so() -> None:
    assert format_in_cell(49219.0, 49219.0, np.inf) == "at or above 49,219"
    assert format_in_cell(976.5625, -np.inf, 976.5625) == "below 976.6"
    assert format_in_cell(np.nan, -np.inf, np.inf) == "not known"
    assert [format_interval(2, np.inf), format_interval(-np.inf, 2), format_interval(-np.inf, np.inf)] == [
        "2 or more",
        "less than 2",
        "not known",
    ]


def test_intervals_are_rounded_outward() -> None:
    assert format_interval(30.004, 30.996) == "30.00 to 31.00"
    assert format_interval(0.7, 0.9) == "0.7 to 0.9"
    for low, high in np.random.default_rng(1).normal(0, 10.0 ** np.arange(-3, 7), (500, 10)).reshape(-1, 2).tolist():
        ends = [float(end.replace(",", "")) for end in format_interval(min(low, high), max(low, high)).split(" to ")]
        assert ends[0] <= min(low, high) + 1e-9 * abs(low)
        assert ends[1] >= max(low, high) - 1e-9 * abs(high)


def test_a_column_has_as_many_decimals_each() -> None:
    assert format_numbers([200000.0, 1e6]) == ["200,000", "1,000,000"]
    assert format_numbers([0.0, 0.25, 1.0]) == ["0.00", "0.25", "1.00"]
    assert format_numbers([62186.2, 777.1, 605.0]) == ["62,186", "777", "605"]
    assert format_numbers([1.0, 1.5, np.inf]) == ["1.0", "1.5", "no end"]
    assert format_numbers(np.array([7, 12345])) == ["7", "12,345"]
    assert format_numbers(["north", "a\nb"]) == ["north", "a b"]
    assert format_numbers(np.array([])) == []
