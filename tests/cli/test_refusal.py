from __future__ import annotations

import numpy as np
import pytest

from dpcurves.arguments import InvalidArgument, MissingPackage, WrongArgumentType
from dpcurves.cli.terminal import ChargedFailure, Misuse, OutputError, Refusal, describe_error
from dpcurves.conversation import UnsupportedQuery
from dpcurves.ledger import BudgetExceeded


@pytest.mark.parametrize(
    ("error", "refusal"),
    [
        (InvalidArgument("epsilon", "a number above zero is needed, got -1"),
         Refusal("epsilon: a number above zero is needed, got -1", 2)),
        (InvalidArgument("rows_per_unit", "one is needed"), Refusal("rows-per-unit: one is needed", 2)),
        (InvalidArgument("request", "'a' was used for another question"),
         Refusal("request-id: 'a' was used for another question", 2)),
        (WrongArgumentType("column", "'words' holds text"), Refusal("column: 'words' holds text", 4)),
        (MissingPackage("plot", "matplotlib is needed"), Refusal("plot: matplotlib is needed", 2)),
        (InvalidArgument("ledger", "row 3 was changed without the key"),
         Refusal("ledger: row 3 was changed without the key", 4)),
        (Misuse("ledger", "a URL is needed"), Refusal("ledger: a URL is needed", 2)),
        (BudgetExceeded("budget", "'a CDF' costs epsilon 2"), Refusal("budget: 'a CDF' costs epsilon 2", 3)),
        (UnsupportedQuery("question", "no such noise"), Refusal("question: no such noise", 2)),
        (KeyboardInterrupt(), Refusal("stopped", 130)),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_an_error_of_ours_is_told_in_its_own_words(error: BaseException, refusal: Refusal) -> None:
    assert describe_error(error) == refusal


@pytest.mark.parametrize(
    "error",
    [
        ValueError("could not convert string to float: 'zebrafinch'"),
        ValueError("invalid literal for int() with base 10: 'zebrafinch'"),
        ValueError("Conversion Error: Could not convert string 'zebrafinch' to DOUBLE"),
        KeyError("zebrafinch"),
        ValueError("column: 'zebrafinch'"),
        RuntimeError("column: 'zebrafinch'"),
        OSError(5, "zebrafinch", "zebrafinch"),
        AssertionError("zebrafinch"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_words_of_an_engine_are_not_passed_on(error: Exception) -> None:
    line, status = describe_error(error)
    assert "zebrafinch" not in line
    assert type(error).__name__ in line
    assert status == 1


def test_an_error_that_should_not_be_tells_its_place_and_no_value() -> None:
    from dpcurves.cli.options import parse_numbers

    with pytest.raises(AttributeError) as raised:
        parse_numbers("at", np.array(["zebrafinch"]))  # type: ignore[arg-type]
    assert describe_error(raised.value).line.startswith("AttributeError in cli/options.py, line ")


def test_an_error_stays_on_one_line_without_control_characters() -> None:
    line = describe_error(InvalidArgument("data", "'a\n\x1b[31mb' is not there")).line
    assert line == "data: 'a \\x1b[31mb' is not there"


def test_what_fails_after_the_charge_tells_how_to_have_the_answer_for_nothing() -> None:
    line, status = describe_error(
        ChargedFailure(OutputError("json", "'a' could not be written (No space left)"), "abc")
    )
    assert status == 5
    assert line == (
        "json: 'a' could not be written (No space left); "
        "the result is paid for: --request-id abc returns it again at no cost"
    )
