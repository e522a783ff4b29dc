"""Missing lines of CSV are counted by reason, in private: each has one, and a note tells those that are clear."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcurves as dp
from dpcurves.data import Axis, Categories, CsvFile, MissingReason, TypedAxis
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.records import table_sources
from dpcurves.records.table_sources import open_records

EMPTY, NO_NUMBER, OTHER_LABEL, FIELDS, QUOTES, LONG, UNDEFINED, ORDER = MissingReason
GRID = dp.Grid(0, 100, cells=10)
ONE = dp.PrivacyLoss.pure(1)
LINES = [
    b"1,a", b"7,b", b",a", b"x,b", b"5,", b"5,z", b",z", b'1,"a', b'5" pipe,b', b'"1","a"', b"1,a,", b"1", b"",
    b"nan,a", b'"1,2",a', b"1e999,a", b"2020-01-01,b", b"9" * 40 + b",a",
]  # fmt: skip
AXES: dict[str, list[Any]] = {
    "numbers": [Axis("x", GRID)],
    "a grid without a formula": [Axis("x", dp.Grid.geometric(1, 100, cells=4))],
    "both": [Categories("y", ("a", "b")), Axis("x", GRID)],
    "labels": [Categories("y", ("a",))],
    "numbers as labels": [Categories("x", (1, 7))],
    "apart": [Axis("x", dp.Grid(2, 6, cells=2, outside=dp.Outside.APART))],
    "dates too": [TypedAxis("x", GRID)],
}


def reason_of(line: bytes, axes: list[Any], longest: int) -> MissingReason | None:
    """The words of `MissingReason`, for one line after the other."""
    if len(line) + 1 > longest or line.count(b'"') % 2:
        return LONG if len(line) + 1 > longest else QUOTES
    fields, quoted = [b""], False
    for byte in line:
        quoted ^= byte == ord('"')
        if byte == ord(",") and not quoted:
            fields.append(b"")
        else:
            fields[-1] += bytes([byte])
    if len(fields) != 2:
        return FIELDS
    row = dict(zip("xy", (field[1:-1] if field[:1] == field[-1:] == b'"' else field for field in fields), strict=True))
    reasons = (reason_on(axis, row[axis.column].decode()) for axis in axes)
    return next((reason for reason in reasons if reason is not None), None)


def reason_on(axis: Any, text: str) -> MissingReason | None:
    if not text:
        return EMPTY
    if isinstance(axis, Categories):
        known = [str(value) for value in axis.values]
        return None if text in known or (known[0].isdigit() and number(text) in (1.0, 7.0)) else OTHER_LABEL
    is_date = isinstance(axis, TypedAxis) and text == "2020-01-01"
    return NO_NUMBER if np.isnan(number(text)) and not is_date else None


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("name", AXES)
@settings(max_examples=40, deadline=None)
@given(lines=st.lists(st.sampled_from(LINES), max_size=30), longest=st.sampled_from([12, 2**20]))
def test_each_missing_line_has_the_one_reason_of_the_definition(name: str, lines: list[bytes], longest: int) -> None:
    axes, file = AXES[name], CsvFile(b"x,y\n" + b"".join(line + b"\n" for line in lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpcurves.records.source.LONGEST_TEXT", longest)
        patch.setattr(table_sources, "read_header", lambda file: file.readline())
        with open_records(file, unit=EACH_RECORD, key=b"key") as records:
            found, missing = records.missing_reasons(axes), records.counts(axes)[-1]
    reasons = [reason_of(line, axes, longest) for line in lines]
    assert found.tolist() == [reasons.count(reason) for reason in MissingReason]
    assert found.sum() == missing


def test_of_each_unit_as_many_records_have_a_reason_as_are_used() -> None:
    lines = "".join(f"{person},{'x' if row else 5}\n" for person in range(50) for row in range(4))
    with open_records(CsvFile(f"who,x\n{lines}".encode()), unit=Unit("who", 2), key=b"key") as records:
        found = records.missing_reasons([Axis("x", GRID)])
        assert found.sum() == records.counts([Axis("x", GRID)])[-1] == found[NO_NUMBER.value]
        assert 50 <= found.sum() <= 100


def notes(body: str, question: Any = None, epsilon: float = 1.0) -> tuple[str, ...]:
    loss = dp.PrivacyLoss.pure(str(epsilon))
    with dp.Session(CsvFile(body.encode()), budget=loss, adjacency=dp.ADD_REMOVE) as session:
        with warnings.catch_warnings(action="ignore"):
            found: Any = session.ask(question or dp.CdfQuestion("x", GRID), loss)
        return tuple(found.notes)


def table(*lines: str) -> str:
    return "x,y\n" + "".join(lines[place % len(lines)] for place in range(1500))


GOOD = "5,a\n", "66,b\n", "31,a\n"
FAULTS = {
    "a quoted line break": (table(*GOOD, '7,"a\nb"\n'), QUOTES),
    "an inch sign": (table(*GOOD, '7,5" pipe\n'), QUOTES),
    "a trailing comma": (table("5,a,\n"), FIELDS),
    "row names of R": (table('"1",5,a\n'), FIELDS),
    "a comma in a field": (table(*GOOD, "7,a, b\n"), FIELDS),
    "empty fields": (table(*GOOD, ",a\n"), EMPTY),
    "NA": (table(*GOOD, "NA,a\n"), NO_NUMBER),
    "a unit": (table("5 mg,a\n"), NO_NUMBER),
    "decimal commas": (table('"1,5",a\n'), NO_NUMBER),
}


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_note_tells_the_likely_reason(fault: str) -> None:
    """A share of 20 % has 300 lines, 26 deviations of the noise of a reason (Laplace of scale 8)."""
    body, reason = FAULTS[fault]
    (note,) = (each for each in notes(body) if each.startswith("of the missing records"))
    share = float(note.split("%")[0].split()[-1])
    assert reason.description in note
    assert share > 70
    assert not any(other.description in note for other in MissingReason if other is not reason)


def test_labels_have_a_reason_of_their_own_and_shares_of_several_reasons_are_told() -> None:
    body = table("5,a\n", "5,z\n", "oops,a\n")
    by = dp.CdfQuestion("x", GRID, by=dp.Categories("y", ("a", "b")))
    (note,) = (each for each in notes(body, by) if each.startswith("of the missing records"))
    assert OTHER_LABEL.description in note
    assert NO_NUMBER.description in note
    assert EMPTY.description not in note


def test_a_column_of_text_that_is_counted_says_that_its_texts_are_no_numbers() -> None:
    found = notes(table(*GOOD), dp.CountQuestion("y"))
    assert any(NO_NUMBER.description in note for note in found)


def test_an_expression_without_a_value_has_a_reason_of_its_own() -> None:
    """Its fields are not empty: one is a word, and a division by zero has no value."""
    for column, lines in (("2 * x", (*GOOD, "oops,a\n")), ("10 / x", (*GOOD, "0,a\n"))):
        note = next(
            note for note in notes(table(*lines), dp.CdfQuestion(column, GRID)) if note.startswith("of the missing")
        )
        assert UNDEFINED.description in note
        assert EMPTY.description not in note


def test_good_lines_have_no_note_on_reasons() -> None:
    """The chance of a reason beyond 5 deviations by noise alone is 0.0025 a release, and 1 % must seem missing."""
    assert not any("missing" in note for _ in range(20) for note in notes(table(*GOOD)))


def test_a_request_that_is_asked_again_tells_the_same_reasons_and_frames_tell_none(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(table(*GOOD, ",a\n"))
    question = dp.CdfQuestion("x", GRID)
    with dp.Session(tmp_path / "a.csv", budget=ONE, adjacency=dp.REPLACE_ONE) as session:
        with warnings.catch_warnings(action="ignore"):
            first, again = (session.ask(question, ONE, "one") for _ in range(2))
        assert first.notes == again.notes
        assert EMPTY.description in " ".join(first.notes)
        assert dp.CDF.from_json(first.to_json()).notes == first.notes
    with dp.Session({"x": [5.0, None] * 500}, budget=ONE, adjacency=dp.REPLACE_ONE) as session:
        with warnings.catch_warnings(action="ignore"):
            found = session.ask(question, ONE)
        assert not any(note.startswith("of the missing records") for note in found.notes)
