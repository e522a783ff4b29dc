"""Two servers whose stores and ledgers lie on a real PostgreSQL server, end to end."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from federation import GRID, Federation, values
from sqlalchemy import create_engine

from dpcurves.curves import CdfQuestion
from dpcurves.distributions import ThresholdSums
from dpcurves.ledger import Ledger
from dpcurves_parties.serving.two_servers.report_set import EarlierPolicy
from dpcurves_parties.serving.two_servers.store import REPORTS, Offer, Store, StoredReport
from dpcurves_parties.shares import ProtocolError
from dpcurves_parties.shares.function_shares import Owners

QUESTION = CdfQuestion("x", GRID, edges=(250, 500, 1000))


@pytest.fixture
def pair(tmp_path: Path, new_database: Callable[[], str]) -> Iterator[Federation]:
    made = Federation(tmp_path)
    made.stores = [new_database(), new_database()]
    made.secrets = [{"DPCURVES_LEDGER_KEY": f"{party}a" * 32} for party in (1, 2)]
    try:
        yield made
    finally:
        made.close_connections()
        made.end_all()


def test_servers_on_postgres_answer_alike_after_they_were_killed_and_charge_once(pair: Federation) -> None:
    plain, checked = pair.task("plain"), pair.task("checked", owners=Owners.CHECKED)
    for party in (0, 1):
        pair.start(party)
    x = np.asarray(values()["x"])
    first = {}
    for task in (plain, checked):
        for _ in range(2):
            assert pair.contribute(task, values()).reports == 200
        assert pair.close(task)[1] == 200
        first[task.name] = pair.analyst(task).ask(QUESTION)
        exact = [int((GRID.cell_of(x) < edge).sum()) for edge in (250, 500, 1000)]
        # Noise at epsilon 10: beyond 12 standard deviations once in far more than a million runs.
        (turn,) = first[task.name].rounds
        error = turn.distribution.require_type(ThresholdSums).path.variance ** 0.5
        assert np.all(np.abs(np.array(turn.values) - exact) <= 12 * error)
        with pytest.raises(ProtocolError, match=r"^reports: the task is closed and accepts no more"):
            pair.contribute(task, values(seed=2), owner=2)
    pair.close_connections()
    for party in (0, 1):
        pair.end(party, signal.SIGKILL)
        pair.start(party)
    for task in (plain, checked):
        assert pair.analyst(task, party=1).ask(QUESTION).rounds[0].values == first[task.name].rounds[0].values
        for store, secret in zip(pair.stores, pair.secrets, strict=True):
            ledger = Ledger.open_existing(store, bytes.fromhex(secret["DPCURVES_LEDGER_KEY"]))
            ledger.verify()
            assert ledger.statement(task.dataset).spent.digits == "10"
    for party in (0, 1):
        assert all("listens at" in line for line in pair.log(party).splitlines())


def test_reports_are_found_by_their_ids_before_postgres_gathers_statistics_itself(
    new_database: Callable[[], str],
) -> None:
    """Without statistics, each upload read all reports of its task."""
    url, task = new_database(), "ab" * 32
    store = Store(url)
    store.create_task(task)

    def upload(owners: range) -> None:
        offers = [
            Offer(
                one, bytes(32), EarlierPolicy.STAYS, [StoredReport(one.to_bytes(16), bytes(32), bytes(32), bytes(300))]
            )
            for one in owners
        ]
        assert store.add_offers(task, 1, offers) == [1] * len(owners)

    for first in range(1, 8_001, 1_000):
        upload(range(first, first + 1_000))
    engine = create_engine(url)
    with engine.connect() as connection:
        ids = ", ".join(f"'\\x{one.to_bytes(16).hex()}'" for one in range(1, 201))
        asked = f"EXPLAIN SELECT id, owner FROM {REPORTS.name} WHERE task = '{task}' AND id IN ({ids})"
        plan = " ".join(connection.exec_driver_sql(asked).scalars())
    engine.dispose()
    assert "Index Cond" in plan
    assert "Filter" not in plan, plan
