"""`dpcurves try`: categories and dates that nobody knows, what is hidden, and a budget that is raised."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from opened_table import FORMS, Opened

from dpcurves.curves.question_json import declared_columns_to_json
from dpcurves.curves.view import View, define_view
from dpcurves.privacy import Neighbours
from dpcurves.strategies.choice import find_unlisted
from dpcurves_server import MACHINE
from dpcurves_server.declared_columns import columns_from_json, dummy_table
from dpcurves_server.form_inputs import build_inputs, complete_fields
from dpcurves_server.local_budget import find_budget

AGE = {"use": "numbers", "lower": "0", "upper": "100"}
WARDS = ["Königsallee Süd"] * 300 + ["o'neil, north"] * 200 + [f"secret {number}" for number in range(5)]
FIRST = date(2024, 1, 1)


def read_text(page: str) -> str:
    """Return the words of a page."""
    return html.unescape(re.sub(r"<[^>]+>", " ", page))


def write_table(path: Path, columns: Mapping[str, Any]) -> Path:
    """Write a Parquet table, or a CSV table for a path that ends so."""
    table = pa.table(columns)
    if path.suffix == ".csv":
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        path.write_text("\n".join("|".join(map(str, row)) for row in chain([table.column_names], rows)) + "\n")
    else:
        pq.write_table(table, path)
    return path


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("kind", ["csv", "numbers"])
def test_categories_that_nobody_knows_are_found_by_each_question(tmp_path: Path, kind: str) -> None:
    """At epsilon 9, 2.25 of which find names, a name of 5 rows is found with probability below 1e-9 (the threshold of 8
    letters is above 15), and one of 200 is missed with probability below exp(-100)."""
    names: list[Any] = WARDS if kind != "numbers" else [len(name) + 3.5 * name.startswith("s") for name in WARDS]
    names = [name if kind != "numbers" else round(name, 1) + (position % 5) / 100 * (position > 499)
             for position, name in enumerate(names)]  # fmt: skip
    ages = np.random.default_rng(1).uniform(0, 100, len(WARDS)).round(3)
    path = write_table(tmp_path / ("wards.csv" if kind == "csv" else "wards.parquet"), {"ward": names, "age": ages})
    opened = Opened(path)
    assert opened.declare({"ward": {"use": "categories", "values": ""}, "age": AGE}).status == 303
    assert "category" not in re.findall(r'<input id="values-0"[^>]*>', opened.get("/columns").text)[0]
    released = sorted(set(map(str, names[:500])))
    asked: dict[str, dict[str, Any]] = {"bars": {"column": "ward"}, "mean": {"column": "age", "by": ["ward"]}}
    for word, fields in asked.items():
        page = opened.ask(word, {**fields, "amount": "9"}).text
        rows = [html.unescape(name) for name in re.findall(r"<tr[^>]*><t[hd][^>]*>(.*?)</t[hd]>", page)]
        assert {*released, "other"} <= {*rows}, word
        assert "were found with epsilon 2.25" in read_text(page)
        assert "secret" not in page


def test_each_form_that_splits_finds_categories_and_offers_no_unknown_ones_elsewhere(tmp_path: Path) -> None:
    path = write_table(tmp_path / "wards.csv", {"ward": WARDS, "age": [50] * len(WARDS), "ill": [0] * len(WARDS)})
    opened = Opened(path)
    unknown = {"ward": {"use": "categories", "values": ""}, "age": AGE, "ill": {"use": "categories", "values": "0,1"}}
    assert opened.declare(unknown).status == 303
    columns = opened.services.datasets.get(MACHINE, "wards").columns
    assert columns_from_json(declared_columns_to_json(columns)) == columns
    assert set(dummy_table(columns, 99)["ward"].to_pylist()) == {"A", "B", "C"}
    for word, form in FORMS.items():
        offered = {
            item.field.name
            for item in chain(*build_inputs(form, columns, ()))
            if any(option.value.startswith("ward") for option in item.options)
        }
        assert offered == ({"by"} if "by" in {field.name for field in form.fields} else set()) | (
            {"column"} if word == "bars" else set()
        ), word
        if "by" not in offered:
            continue
        fields = complete_fields(form, {"by": ["ward"], "column": ["age"]}, columns)
        assert fields["universe"] == ["!-~ À-ÿ:60"]
        assert complete_fields(form, {"by": ["ill"], "column": ["age"]}, columns).get("universe") is None
        if word in ("cdf", "sum", "count"):
            unlisted = find_unlisted(form.build_question(fields, {}))
            assert unlisted is not None
            assert unlisted.universe is not None


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("kind", ["csv", "parquet", "moments"])
def test_dates_are_asked_and_read_as_dates(tmp_path: Path, kind: str) -> None:
    """Days are uniform on the first 90 of 2024; the column is named as its unit, which once hid it."""
    days = [FIRST + timedelta(days=number % 90) for number in range(900)]
    moments = [datetime(day.year, day.month, day.day, 12, tzinfo=UTC) for day in days]
    name = "moment" if kind == "moments" else "date"
    path = write_table(
        tmp_path / ("days.csv" if kind == "csv" else "days.parquet"),
        {name: moments if kind == "moments" else days, "blob": [b"x"] * 900},
    )
    opened = Opened(path)
    proposal, other = opened.table.columns
    assert proposal.use.value == "dates"
    assert ("numbers" in [use.value for use in other.uses]) is (kind == "csv")
    assert opened.declare({name: {"use": "dates"}}).status == 303
    page = opened.ask("cdf", {"column": name, "amount": "9"})
    release = re.findall(r'action="(/releases/[0-9a-f]+)"', page.text)[0]
    facts = read_text(opened.get(f"{release}?share=0.5&above=2024-02-01").text)
    median = re.findall(r"median\s+(2024-\d\d-\d\d)", facts)[0]
    assert abs(date.fromisoformat(median) - date(2024, 2, 15)) <= timedelta(days=5)
    share = float(re.findall(r"share at or above 2024-02-01\s+([.\d]+)", facts)[0])
    assert abs(share - 59 / 90) < 0.05
    assert "Type a date, as in 2024-01-31" in opened.get(f"{release}?above=5").text
    for field in ("grid.lower", "edges", "values"):
        refused = opened.post("/projects/days/ask/cdf", {"do": "ask", "column": name, field: "1", "amount": "1"})
        assert refused.status == 400
        assert "range of dates and times is found privately" in refused.text
    columns = opened.services.datasets.get(MACHINE, "days").columns
    offered = {
        word
        for word, form in FORMS.items()
        for item in chain(*build_inputs(form, columns, ()))
        if any(option.value.startswith(name) for option in item.options)
    }
    assert offered == {"cdf", "quantiles", "histogram"}


def test_what_is_hidden_is_chosen_and_stays(tmp_path: Path) -> None:
    columns = {"who": [number // 2 for number in range(400)], "age": [50] * 400}
    for unit, units in (("", 400), ("who", 200)):
        (tmp_path / f"by {unit}").mkdir()
        opened = Opened(write_table(tmp_path / f"by {unit}" / "ages.csv", columns))
        facts = {"unit": unit, "rows_per_unit": "2" if unit else "", "adjacency": "replace-one"}
        assert "What is hidden" in opened.get("/").text
        assert opened.declare({"age": AGE}, "3", **facts).status == 303
        dataset = opened.services.datasets.get(MACHINE, "ages")
        assert (dataset.account.neighbours, dataset.units) == (Neighbours.REPLACE_ONE, units)
        answer = opened.ask("cdf", {"column": "age", "grid.cells": "10", "amount": "1"})
        assert "adjacency=dp.REPLACE_ONE" in answer.text
        assert f"{units}, public" in read_text(answer.text)
        assert opened.post("/columns", {"use.1": "numbers", "lower.1": "0", "upper.1": "90"}).status == 303
        assert opened.services.datasets.get(MACHINE, "ages").units == units
    empty = Opened(write_table(tmp_path / "none.csv", {"age": pa.array([], pa.int64())}))
    refused = empty.declare({"age": AGE}, "3", adjacency="replace-one")
    assert (refused.status, "no person yet" in refused.text) == (400, True)


def test_the_budget_is_raised_by_a_recorded_step_and_never_exceeded(tmp_path: Path) -> None:
    opened = Opened(write_table(tmp_path / "ages.csv", {"age": [50] * 400}))
    opened.declare({"age": AGE}, "1")
    fields = {"column": "age", "grid.cells": "10"}
    opened.ask("cdf", {**fields, "amount": "0.25"})
    ledger = opened.services.archive.ledger
    for typed, line in (({"amount": "2"}, "Tick the box"), ({"amount": "1", "agreed": "yes"}, "above 1, the present")):
        refused = opened.post("/budget", typed)
        assert (refused.status, line in refused.text) == (400, True)
    assert opened.get("/budget?amount=2&agreed=yes").status == 200
    assert len(ledger.accounts()) == 1
    adults = View("adults", "age >= 18")
    ledger.change_view("ages", define_view(adults))
    for limit in ("2", "2.5"):
        assert opened.post("/budget", {"amount": limit, "agreed": "yes"}).status == 303
    assert opened.services.datasets.views(MACHINE, "ages") == {"adults": adults}  # the new account has it, too
    dataset = opened.services.datasets.get(MACHINE, "ages")
    assert [str(ledger.balance(account.dataset).remaining) for account in ledger.accounts()] == [
        "epsilon 0", "epsilon 0", "epsilon 2.25"]  # fmt: skip
    budget = find_budget(opened.services, dataset)
    assert (str(budget.limit), str(budget.spent)) == ("epsilon 2.5", "epsilon 0.25")
    assert "0.25 of epsilon 2.5 spent" in read_text(opened.get("/").text)
    answer = opened.ask("cdf", {**fields, "amount": "2.25"})
    assert 'dataset="ages 3"' in read_text(answer.text)
    assert "0 of 2.25 is left" in opened.ask("cdf", {**fields, "amount": "0.5"}).text
    events = [entry.event.action for entry in ledger.events(0, 99, "ages")]
    assert [action for action in events if "raised" in action] == [
        "raised the budget from epsilon 1 to epsilon 2", "raised the budget from epsilon 2 to epsilon 2.5"]  # fmt: skip
    ledger.verify()


def test_an_interrupted_raise_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after the closing of the account, and again before the allowances are set."""
    opened = Opened(write_table(tmp_path / "ages.csv", {"age": [50] * 400}))
    opened.declare({"age": AGE}, "1")
    opened.ask("count", {"amount": "0.25"})
    for place in ("Datasets.add", "Projects.set_allowance"):
        with monkeypatch.context() as patch:
            patch.setattr(f"dpcurves_server.{place.partition('.')[0].lower()}.{place}", lambda *_, **__: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                opened.post("/budget", {"amount": "2", "agreed": "yes"})
        assert "of epsilon" in read_text(opened.get("/").text)
        if place == "Datasets.add":
            assert "0.25 of epsilon 1 spent" in read_text(opened.get("/").text)
    assert "epsilon 1.75 is left" in read_text(opened.get("/").text)
