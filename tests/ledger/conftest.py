"""Accounts, keys, and ledgers in a file or on a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from dpcurves.ledger import Account
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss, Unit

KEY_HEX = "5a" * 32

NewDatabase = Callable[[], str]


@pytest.fixture(scope="session")
def flights() -> Account:
    return Account("flights", Neighbours.ADD_REMOVE, EACH_RECORD, PrivacyLoss.pure(1))


@pytest.fixture(scope="session")
def patients() -> Account:
    return Account("patients", Neighbours.REPLACE_ONE, Unit("patient", 2), PrivacyLoss.zcdp("0.5"))


@pytest.fixture
def environment_key(monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.setenv("DPCURVES_LEDGER_KEY", KEY_HEX)
    return bytes.fromhex(KEY_HEX)


@pytest.fixture
def no_environment_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DPCURVES_LEDGER_KEY", raising=False)


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request: pytest.FixtureRequest, tmp_path: Path, environment_key: bytes) -> NewDatabase:
    """Makes places where there is no ledger yet."""
    if request.param == "sqlite":
        files = (f"sqlite:///{tmp_path}/{name}.db" for name in ("budget", "second", "third"))
        return partial(next, files)
    make: NewDatabase = request.getfixturevalue("new_database")
    return make


@pytest.fixture
def url(new_url: NewDatabase) -> str:
    """Where there is no ledger yet."""
    return new_url()
