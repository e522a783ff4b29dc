"""Mechanisms that choose lose no more than is claimed: tiny neighbours, units of 1 to 3 records, both currencies."""

from __future__ import annotations

import pytest
from choice_laws import Chooser, adjacencies, choosers, lost

from dpcurves.privacy import PrivacyLoss

LEAST = {
    "quantile cuts": 0.5, "noisy medians": 0.8, "noisy area": 0.5, "buckets": 0.7, "worst box": 0.65, "PrivTree": 0.99,
    "merged cells": 0.98, "sparse vector": 0.33, "bounds": 0.34,
}  # fmt: skip
"""Parts of epsilon that tiny neighbours do lose, where one record comes or goes: with other noise they would not."""


@pytest.mark.parametrize("chooser", list(choosers()), ids=lambda each: each.name)
def test_tiny_neighbours_lose_no_more_than_is_claimed(chooser: Chooser) -> None:
    pure, concentrated = (
        [lost(chooser, loss, each) for each in adjacencies(3)]
        for loss in (PrivacyLoss.pure("1.2"), PrivacyLoss.zcdp("0.3"))
    )
    assert max(each.share for each in (*pure, *concentrated)) <= 1 + 1e-9
    (least,) = (part for name, part in LEAST.items() if chooser.name.startswith(name))
    assert pure[0].share > least
