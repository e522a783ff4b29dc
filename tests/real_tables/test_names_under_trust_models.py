"""Columns and labels of any name count their own records under every trust model, and keep their names in files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hostile_outputs import EXPECTED, LABELS, require_pictures, require_tables
from test_hostile_names import NAMES

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
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

LOSS = dp.PrivacyLoss.pure(1000)
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


MODELS: Mapping[str, Callable[[dp.Categories], Any]] = {
    "curator": count_by_curator, "sites": count_by_sites, "devices": count_by_devices,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Glyph")  # a font has not all letters
@pytest.mark.parametrize("model", MODELS)
def test_every_trust_model_counts_labels_of_any_name(model: str, tmp_path: Path) -> None:
    column = {"curator": "../x", "sites": "=1+1", "devices": "count"}[model]
    found = MODELS[model](dp.Categories(column, NAMES))
    require_tables(found, column, tmp_path)
    if model == "devices":  # pictures take longest
        require_pictures(found, tmp_path)


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.reproduction
@pytest.mark.parametrize("place", range(len(NAMES)))
@pytest.mark.parametrize("model", MODELS)
def test_every_trust_model_counts_columns_of_every_name(model: str, place: int, tmp_path: Path) -> None:
    """All labels and columns in all tables; pictures, pages and published files of every fifth column."""
    column = NAMES[place]
    found = MODELS[model](dp.Categories(column, NAMES))
    require_tables(found, column, tmp_path)
    if (place + list(MODELS).index(model)) % 5 == 0:
        require_pictures(found, tmp_path)


def test_two_servers_take_columns_and_labels_of_any_name() -> None:
    """An owner's records lie in the cells of their labels, by the document of the task that was sent."""
    plain = Task("t", "v", dp.Grid(0, 2, cells=2), None, dp.PrivacyLoss.pure(1), len(LABELS), SERVERS, {})
    for column in NAMES:
        task = Task.from_json(replace(plain, label=dp.Categories(column, NAMES)).to_json())
        slots = read_record_slots(task, {column: LABELS, "v": VALUES})
        assert np.bincount(slots, minlength=2 * len(NAMES))[1::2].tolist() == list(EXPECTED.values())


def count_stream(tuples: Sequence[Mapping[str, Any]], column: str) -> Any:
    axes = (dp.Categories(column, NAMES),)
    terms: dict[str, Any] = {"start": 0, "every": 60, "end": 60, "time": "ts", "store": "sqlite://"}
    (step,) = follow(tuples, Counts(axes), loss=LOSS, randomness=Randomness.from_seed(1), **terms)
    return step


def quote_field(name: str) -> str:
    """The name of a field as `state` takes it: what could be an expression is in double quotes."""
    return '"{}"'.format(name.replace('"', '""')) if name and name.isprintable() else name


@pytest.mark.parametrize("field", ["count", "a\n(b", *NAMES])
def test_streams_count_states_of_any_name(field: str) -> None:
    column = field if field == "count" else quote_field(field)  # fields of a stream are not declared
    step = count_stream([{"ts": 0.0, field: label} for label in LABELS], column)
    lines = [line for line in json.loads(json.dumps(step.to_dicts())) if "uncounted" not in line]
    taken = f"state:{column}"  # the name of a column that is one of ours
    assert [line.get(taken, line.get(column)) for line in lines] == list(NAMES)
    assert step.counts.tolist() == pytest.approx(list(EXPECTED.values()), abs=0.4)


@pytest.mark.parametrize("column", ["=1+1", "../x"])
def test_streams_say_how_a_field_is_named_that_could_be_an_expression(column: str) -> None:
    with pytest.raises(InvalidArgument, match=f'^state: .*; a field of this name is written "{re.escape(column)}"$'):
        count_stream([], column)
