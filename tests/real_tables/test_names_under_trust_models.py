"""Columns and labels of any name count their own records under every trust model, and keep their names in files."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from test_hostile_names import require_publication

import dpcurves as dp
from dpcurves import display
from dpcurves.arguments import InvalidArgument
from dpcurves.curves.result import result_from_json
from dpcurves.ledger import Ledger
from dpcurves.noise import Randomness
from dpcurves.privacy import EACH_RECORD, Neighbours
from dpcurves_parties.shares import Server, Task
from dpcurves_parties.shares.analyst import read_record_slots
from dpcurves_sites.secure_sum import Signer
from dpcurves_sites.site import Federation, FederationTerms, Site
from dpcurves_sites.trust import SecureSum
from dpcurves_streams.feed import follow
from dpcurves_streams.readings import Counts

NAMES = (
    "count", "Count", "lower", "", " ", "\U0001f600", "a'b\"c", "a\nb", "x" * 300, "=1+1", "\u202eabc", "../x",
)  # fmt: skip
LOSS = dp.PrivacyLoss.pure(1000)
EXPECTED = {name: number + 1 for number, name in enumerate(NAMES)}
LABELS = [name for name, rows in EXPECTED.items() for _ in range(rows)]
VALUES = np.ones(len(LABELS))
SERVERS = Server("https://a:1", "00" * 32, "pem 0"), Server("https://b:2", "11" * 32, "pem 1")


def count_by_curator(by: dp.Categories) -> Any:
    table = {by.column: LABELS, "v": VALUES}
    with dp.Session(table, budget=LOSS, adjacency=dp.ADD_REMOVE, randomness=Randomness.from_seed(1)) as session:
        return session.ask(dp.CountQuestion("v", by=by), LOSS)


def count_by_sites(by: dp.Categories) -> Any:
    """Ask three sites, each of which has every third record."""
    model = SecureSum(3, 1)
    keys = [Ed25519PrivateKey.generate() for _ in range(3)]
    roster = model.build_roster(b"t" * 32, [key.public_key().public_bytes_raw() for key in keys])
    terms = FederationTerms(model, roster, Neighbours.ADD_REMOVE, EACH_RECORD, (), LOSS)
    tables = [{by.column: LABELS[number::3], "v": VALUES[number::3]} for number in range(3)]
    sites = [
        Site(terms, Signer(number, key), tables[number], Ledger.open("sqlite://"), "d")
        for number, key in enumerate(keys)
    ]
    return Federation.from_sites(terms, sites).ask(dp.CountQuestion("v", by=by), LOSS, "r")


def count_by_devices(by: dp.Categories) -> Any:
    """Collect a report of each person, at a loss at which no report differs from its answer."""
    task = dp.local.Task(dp.BarChartQuestion(by), dp.PrivacyLoss.pure(40), people=len(LABELS))
    task = dp.local.Task.from_json(task.to_json())
    return dp.local.aggregate(task.randomize_table({by.column: LABELS}), task)


def require_names(found: Any, column: str) -> None:
    """Check the counts of all labels, and that the JSON and the CSV of the result have all names."""
    for result in (found, result_from_json(found.to_json())):
        head, *rows = csv.reader(StringIO(result.to_csv_text(), newline=""), strict=True)
        assert display.unescape_formula(head[0]).removesuffix("_category") == column
        counts = {
            display.unescape_formula(row[0]): row[head.index("count" if "count" in head else "value")] for row in rows
        }
        assert {name: float(counts[name]) for name in NAMES} == pytest.approx(EXPECTED, abs=0.4)


MODELS: Mapping[str, Callable[[dp.Categories], Any]] = {
    "curator": count_by_curator, "sites": count_by_sites, "devices": count_by_devices,
}  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
def test_every_trust_model_counts_labels_of_any_name(model: str, tmp_path: Path) -> None:
    column = {"curator": "../x", "sites": "=1+1", "devices": "count"}[model]
    found = MODELS[model](dp.Categories(column, NAMES))
    require_names(found, column)
    if model == "devices":  # pictures take longest
        require_publication(found, tmp_path / "out")


@pytest.mark.reproduction
@pytest.mark.parametrize("column", NAMES)
@pytest.mark.parametrize("model", MODELS)
def test_every_trust_model_counts_columns_of_every_name(model: str, column: str) -> None:
    require_names(MODELS[model](dp.Categories(column, NAMES)), column)


def test_two_servers_take_columns_and_labels_of_any_name() -> None:
    """An owner's records lie in the cells of their labels, by the document of the task that was sent."""
    plain = Task("t", "v", dp.Grid(0, 2, cells=2), None, dp.PrivacyLoss.pure(1), 100, SERVERS, {})
    for column in NAMES:
        task = Task.from_json(replace(plain, label=dp.Categories(column, NAMES)).to_json())
        slots = read_record_slots(task, {column: LABELS, "v": VALUES})
        assert np.bincount(slots, minlength=2 * len(NAMES))[1::2].tolist() == list(EXPECTED.values())


def count_stream(tuples: Sequence[Mapping[str, Any]], column: str) -> Any:
    axes = (dp.Categories(column, NAMES),)
    terms: dict[str, Any] = {"start": 0, "every": 60, "end": 60, "time": "ts", "store": "sqlite://"}
    (step,) = follow(tuples, Counts(axes), loss=LOSS, randomness=Randomness.from_seed(1), **terms)
    return step


@pytest.mark.parametrize("column", [*NAMES[:-3:3], '"=1+1"', '"../x"', "a\n(b"])
def test_streams_count_states_of_any_name(column: str) -> None:
    """Fields of a stream are not declared: a name that could be an expression is written in double quotes."""
    field = column[1:-1] if column.startswith('"') else column
    step = count_stream([{"ts": 0.0, field: label} for label in LABELS], column)
    lines = [line for line in json.loads(json.dumps(step.to_dicts())) if "uncounted" not in line]
    taken = f"state:{column}"  # the name of a column that is one of ours
    assert [line.get(taken, line.get(column)) for line in lines] == list(NAMES)
    assert step.counts.tolist() == pytest.approx(list(EXPECTED.values()), abs=0.4)


@pytest.mark.parametrize("column", ["=1+1", "../x"])
def test_streams_say_how_a_field_is_named_that_could_be_an_expression(column: str) -> None:
    with pytest.raises(InvalidArgument, match=f'^state: .*; a field of this name is written "{re.escape(column)}"$'):
        count_stream([], column)
