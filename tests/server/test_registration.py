"""A dataset is registered with what its records have, and who registers it is not shown what they have instead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from scene import COLUMNS

from dpcurves.cli.app import build
from dpcurves.ledger import Account
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss, Unit
from dpcurves_server import MACHINE, Services
from dpcurves_server.datasets import Dataset, Relation, Source

FITTING = "delay,late\n42.5,1\n"
NOT_DECLARED = {
    "no header": "42.5,Jane Doe\n-3,John Roe\n", "another name": "delay,illness\n42.5,1\n",
    "twice": "delay,delay\n1,2\n",
}  # fmt: skip


def registered(folder: Path, text: str, unit: Unit = EACH_RECORD) -> Dataset:
    (folder / "flights.csv").write_text(text)
    account = Account("flights", Neighbours.ADD_REMOVE, unit, PrivacyLoss.pure(3))
    source = Source(str(folder / "flights.csv"))
    gate = Services(f"sqlite:///{folder / 'server.db'}")
    return gate.datasets.add(
        MACHINE, account, source, COLUMNS, name="flights", relation=Relation.FIRST, units=None
    )  # fmt: skip


@pytest.mark.parametrize("text", NOT_DECLARED.values(), ids=NOT_DECLARED)
def test_records_without_a_declared_column_are_refused_in_words_that_were_declared(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"^schema: the records have no column '(delay|late)' of") as error:
        registered(tmp_path, text)
    assert not any(word in str(error.value) for word in ("Jane", "42.5", "illness"))
    assert registered(tmp_path, FITTING).version == 1  # nothing was kept of the one that was refused


def test_records_without_the_column_of_units_are_refused_in_words_that_were_declared(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'person' that names a unit; "):
        registered(tmp_path, FITTING, Unit("person", 2))


@pytest.mark.parametrize("protected", [["--unit", "person", "--rows-per-unit", "2"], []], ids=["unit", "records"])
def test_the_command_shows_nothing_of_the_records_before_it_counts_their_units(
    tmp_path: Path, protected: list[str]
) -> None:
    (tmp_path / "flights.csv").write_text(NOT_DECLARED["no header"])
    (tmp_path / "schema.json").write_text(json.dumps([{"column": "delay", "lower": -60, "upper": 600}]))
    told = CliRunner().invoke(
        build(),
        [
            "server", "dataset", str(tmp_path / "flights.csv"), "--name", "flights", "--epsilon", "3", "--adjacency",
            "replace-one", "--schema", str(tmp_path / "schema.json"), "--store", f"sqlite:///{tmp_path / 'server.db'}",
            *protected,
        ],
    )  # fmt: skip
    assert told.exit_code
    said = f"{told.output} {told.exception}"
    assert "the records have no column" in said
    assert not any(word in said for word in ("Jane", "42.5"))
