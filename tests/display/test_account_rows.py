"""Rows of the account are plain tuples."""

from __future__ import annotations

from dpcurves.display import BalanceReport, ChargeRow, RefusalRow


def test_rows_unpack_in_the_order_of_their_columns() -> None:
    assert tuple(ChargeRow("question", "price", "request", "when")) == ("question", "price", "request", "when")
    assert BalanceReport("flights", "2", "1", "1", []).remaining == "1"
    assert RefusalRow("question", "reason").reason == "reason"
