"""Rows of the account are plain tuples."""

from __future__ import annotations

from dpcurves.display import Balance, Charge, Refusal


def test_rows_unpack_in_the_order_of_their_columns() -> None:
    assert tuple(Charge("question", "price", "request", "when")) == ("question", "price", "request", "when")
    assert Balance("flights", "2", "1", "1", []).left == "1"
    assert Refusal("question", "reason").reason == "reason"
