"""Names from outside on one line, without control characters."""

from __future__ import annotations

from dpcurves.display.numerals import format_label, format_legend_label


def test_control_characters_are_replaced_and_lines_are_joined() -> None:
    assert format_label("a\tb\nc\x1b[0m\x00") == "a b c\ufffd[0m\ufffd"


def test_right_to_left_overrides_cannot_turn_a_name_round() -> None:
    assert "\u202e" not in format_label("delay\u202eyaled")


def test_long_names_are_cut() -> None:
    assert format_label("x" * 61) == "x" * 57 + "..."
    assert format_label("x" * 60) == "x" * 60


def test_a_legend_does_not_lose_names_with_an_underscore() -> None:
    assert format_legend_label("_late") == " _late"
