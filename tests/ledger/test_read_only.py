"""A ledger that cannot be written answers what it has answered before, and charges nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.ledger import Ledger
from dpcurves.ledger.chain import Database

RULE = "the ledger cannot be written: the disk is read-only"


def session(url: str) -> dp.Session:
    return dp.Session(
        {"age": [20, 30, 40] * 20}, budget=dp.PrivacyLoss.pure(3), adjacency=dp.REPLACE_ONE, ledger=url, dataset="ages"
    )


def test_a_request_that_was_answered_is_shown_from_a_ledger_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, loss = f"sqlite:///{tmp_path / 'budget.db'}", dp.PrivacyLoss.pure(1)
    question = dp.HistogramQuestion("age", dp.Grid(0, 100, cells=4))
    with session(url) as first:
        curve = first.ask(question, loss, "known")
    before = Ledger.open(url).head()

    def refuse(self: Any, work: Any) -> Any:
        raise InvalidArgument("ledger", RULE)

    monkeypatch.setattr(Database, "run_write", refuse)
    with session(url) as again:
        assert again.ask(question, loss, "known").to_json() == curve.to_json()
        with pytest.raises(InvalidArgument, match=RULE):
            again.ask(question, loss, "another one")
        with pytest.raises(ValueError, match="known"):  # another question under the known request
            again.ask(dp.CdfQuestion("age", dp.Grid(0, 100, cells=4)), loss, "known")
    assert Ledger.open(url).head() == before
