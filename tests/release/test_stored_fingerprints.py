"""Fingerprints of plans stand in ledgers: what fields are called in the code may change, these may not."""

from __future__ import annotations

from typing import Any

import dpcurves as dp
from dpcurves.privacy import EACH_RECORD, AddRemove


def test_plans_of_partitions_and_of_comparisons_have_the_fingerprints_that_ledgers_hold() -> None:
    one, who = dp.PrivacyLoss.pure(1), AddRemove(EACH_RECORD)
    held: dict[Any, list[str]] = {
        dp.CdfQuestion("x", dp.Grid(0, 1, cells=1024)): ["403d3d34beaa", "5f5d8308121b"],
        dp.BoundsQuestion("r", 0.25, "0.9"): ["229b7b0d957c"],
    }
    for question, begins in held.items():
        assert [plan.fingerprint[:12] for plan in dp.rehearse(question, one, who)] == begins
