"""Killed at any statement, commit or write, a stream goes on with the same numbers. (All places: `make crash`.)"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from crashes import kill_at_every_place, kill_at_random_places, require_unmoved

from dpcurves.ledger import Ledger


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A ledger without entries."""
    monkeypatch.setenv("DPCURVES_LEDGER_KEY", "5a" * 32)
    new_database: Callable[[], str] = lambda: f"sqlite:///{tmp_path}/s.db"  # noqa: E731
    if request.param == "postgresql":
        new_database = request.getfixturevalue("new_database")
    url = new_database()
    Ledger.open(url)
    return url


def test_killed_at_places_of_a_step_no_step_has_two_values_and_none_is_skipped(store: str, tmp_path: Path) -> None:
    """At every eighth place of one store, and of the other one at those between."""
    steps, first = ((0, 1), 0) if store.startswith("sqlite") else ((2,), 4)  # 0: before the first window
    assert kill_at_every_place(store, steps, tmp_path, first, stride=8) > len(steps)
    Ledger.open(store).verify()


def test_killed_at_random_places_a_long_stream_has_one_value_a_step(store: str, tmp_path: Path) -> None:
    kill_at_random_places(store, 30, 8 if store.startswith("sqlite") else 4, tmp_path)
    Ledger.open(store).verify()


def test_a_burst_with_clocks_of_all_kinds_changes_nothing_but_the_confidential_log() -> None:
    """More tuples than wait for the loop at once. (A million: `make crash`.)"""
    require_unmoved(100_000)
