"""Numbers as people write them."""

from __future__ import annotations

import numpy as np

from dpcurves.display import numeral, numerals, span, standing


def test_no_number_of_daily_life_has_a_power_of_ten() -> None:
    assert [numeral(value) for value in (31380.0, 1e6, -1234567.8, 0.00012, 0.0)] == [
        "31,380", "1,000,000", "-1,234,568", "0.00012", "0"
    ]  # fmt: skip
    assert [numeral(value) for value in (2.0**67, 1e-9)] == ["1.476e+20", "1e-09"]


def test_no_digit_is_finer_than_what_is_known() -> None:
    assert [numeral(187.2, width) for width in (1000, 244, 20, 1, 0.01)] == ["200", "190", "187", "187.2", "187.200"]
    assert numeral(-0.0001, 1) == "0.0"
    assert standing(30.3106, 30, 31) == "30.3"
    assert standing(30.3106, 30, 31, known_to=40.0) == "30"


def test_what_has_no_end_says_so() -> None:
    assert standing(49219.0, 49219.0, np.inf) == "at or above 49,219"
    assert standing(976.5625, -np.inf, 976.5625) == "below 976.6"
    assert standing(np.nan, -np.inf, np.inf) == "not known"
    assert [span(2, np.inf), span(-np.inf, 2), span(-np.inf, np.inf)] == ["2 or more", "less than 2", "not known"]


def test_intervals_are_rounded_outward() -> None:
    assert span(30.004, 30.996) == "30.00 to 31.00"
    assert span(0.7, 0.9) == "0.7 to 0.9"
    for low, high in np.random.default_rng(1).normal(0, 10.0 ** np.arange(-3, 7), (500, 10)).reshape(-1, 2).tolist():
        ends = [float(end.replace(",", "")) for end in span(min(low, high), max(low, high)).split(" to ")]
        assert ends[0] <= min(low, high) + 1e-9 * abs(low)
        assert ends[1] >= max(low, high) - 1e-9 * abs(high)


def test_a_column_has_as_many_decimals_each() -> None:
    assert numerals([200000.0, 1e6]) == ["200,000", "1,000,000"]
    assert numerals([0.0, 0.25, 1.0]) == ["0.00", "0.25", "1.00"]
    assert numerals([62186.2, 777.1, 605.0]) == ["62,186", "777", "605"]
    assert numerals([1.0, 1.5, np.inf]) == ["1.0", "1.5", "no end"]
    assert numerals(np.array([7, 12345])) == ["7", "12,345"]
    assert numerals(["north", "a\nb"]) == ["north", "a b"]
    assert numerals(np.array([])) == []
