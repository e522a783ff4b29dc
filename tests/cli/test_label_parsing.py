from __future__ import annotations

import pytest

from dpcurves.cli.options import (
    check_positive_number,
    format_label,
    parse_choice,
    parse_integer,
    parse_label,
    parse_labels,
    parse_numbers,
    parse_probability,
)
from dpcurves.cli.terminal import Misuse


@pytest.mark.parametrize("text", ["1", "0.1", "1e-3", ".5", "1/3", "+2"])
def test_an_amount_stays_as_it_was_typed(text: str) -> None:
    assert check_positive_number("epsilon", text) == text


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "-1",
        "nan",
        "inf",
        "-inf",
        "1e999",
        "1e-999",
        "one",
        "",
        "1/0x",
        "1e999999999",
        "9" * 400,
        "1:2",
        "1/0",
        "0/1",
    ],
)
def test_what_is_no_finite_number_above_zero_is_no_amount(text: str) -> None:
    with pytest.raises(Misuse, match=r"^epsilon: a (finite )?number above zero is needed"):
        check_positive_number("epsilon", text)


@pytest.mark.parametrize("text", ["1", "+0", "-2", "1.5", "ten", "", "1e3", "٣", "9" * 30])
def test_a_whole_number_has_digits_only_and_is_large_enough(text: str) -> None:
    with pytest.raises(Misuse, match=r"^groups: a whole number of at least 2 is needed"):
        parse_integer("groups", text, minimum=2)


@pytest.mark.parametrize("text", ["0", "1", "95", "nan", "x"])
def test_a_chance_lies_between_0_and_1(text: str) -> None:
    with pytest.raises(Misuse, match=r"^level: a number between 0 and 1 is needed"):
        parse_probability("level", text)


def test_numbers_stand_between_commas() -> None:
    assert parse_numbers("at", "0.25, .5,0.75") == (0.25, 0.5, 0.75)


@pytest.mark.parametrize("text", ["", "1,,2", "1,two", "nan", "1;2"])
def test_a_list_with_a_gap_or_a_word_is_no_list_of_numbers(text: str) -> None:
    with pytest.raises(Misuse, match=r"^at: numbers with commas between them are needed"):
        parse_numbers("at", text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", "1"), ("01", "01"), ("0.5", "0.5"), ("true", "true"), ("UA", "UA"), ('"1"', "1"),
        ('"say ""a"""', 'say "a"'), ("nan", "nan"), ("1 2", "1 2"), ("number:1", 1), ("number:01", 1),
        ("number:-0.5", -0.5), ("number:true", True), ("number:False", False), ('"number:1"', "number:1"),
        (" late\t", "late"), ('"\tlate "', "\tlate "), ("\u00a0late\u3000", "\u00a0late\u3000"), (' number:1', 1),
    ],
)  # fmt: skip
def test_a_label_is_text_as_it_stands_unless_it_is_declared_a_number(text: str, value: object) -> None:
    label = parse_label("categories", text)
    assert (label, type(label)) == (value, type(value))
    assert parse_label("categories", format_label(label)) == label


@pytest.mark.parametrize("text", ["number:", "number:nan", "number:inf", "number:one"])
def test_a_label_that_is_declared_a_number_is_one(text: str) -> None:
    with pytest.raises(Misuse, match=r"^categories: after number: a number, true or false must follow, got"):
        parse_label("categories", text)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("UA,AA", ("UA", "AA")), ("UA", ("UA",)), (' 01 , "1" ,1', ("01", "1", "1")), ('"a,b",c', ("a,b", "c")),
        ("New York,Oslo", ("New York", "Oslo")), ('""', ("",)),
        ('"\ta",\u3000b\t, "c "\t', ("\ta", "\u3000b", "c ")), ('" ",\u00a0', (" ", "\u00a0")),
    ],
)  # fmt: skip
def test_labels_stand_between_commas_and_may_stand_in_quotes(text: str, values: tuple[object, ...]) -> None:
    assert parse_labels("categories", text) == values


@pytest.mark.parametrize("text", ["", "UA,", ",UA", "UA,,AA", '"UA', 'UA"'])
def test_an_empty_label_or_an_open_quote_is_refused(text: str) -> None:
    with pytest.raises(Misuse, match=r"^categories: labels with commas between them are needed"):
        parse_labels("categories", text)


def test_a_choice_names_all_that_may_be_chosen() -> None:
    assert parse_choice("outside", "apart", {"clipped": 1, "apart": 2}) == 2
    with pytest.raises(Misuse, match=r"^outside: must be clipped or apart, got 'away'$"):
        parse_choice("outside", "away", {"clipped": 1, "apart": 2})
