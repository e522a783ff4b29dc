"""A server in a folder: flights, their steward, an operator, an auditor, and two analysts of one project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpcurves.data import Categories
from dpcurves.ledger import Account
from dpcurves.models import NumericColumn
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss
from dpcurves_server import MACHINE, Principal, Role, Services, people
from dpcurves_server.datasets import Relation, Source
from dpcurves_server.declared_columns import Declared

WORK = people.MEMORY_KIBIBYTES, people.HASH_PASSES
people.MEMORY_KIBIBYTES, people.HASH_PASSES = (
    64,
    1,
)  # each scene has six people, whose passwords would take as long as all else
PASSWORD = "correct horse battery"
ROWS = 1000
HISTOGRAM: dict[str, Any] = {"ask": "histogram", "column": "delay", "grid": "-60:600:66"}
COLUMNS = (NumericColumn("delay", -60, 600), Categories("late", (0, 1)))
LOSS = PrivacyLoss.pure("0.25")


@dataclass(frozen=True)
class Scene:
    """Who is there."""

    gate: Services
    url: str
    folder: Path

    def principal(self, name: str) -> Principal:
        return self.gate.sessions.begin_session(name).principal

    @property
    def ann(self) -> Principal:
        return self.principal("ann")

    @property
    def bob(self) -> Principal:
        return self.principal("bob")

    @property
    def stu(self) -> Principal:
        return self.principal("stu")


def written(folder: Path, times: int = 1, name: str = "flights.parquet") -> Path:
    """A table of flights; so many times over."""
    draws = np.random.default_rng(7)
    delay = draws.gamma(1.5, 20, ROWS) - 20
    path = folder / name
    table = pa.table({"delay": delay, "late": (delay > 15).astype(int), "carrier": ["UA", "DL"] * (ROWS // 2)})
    pq.write_table(pa.concat_tables([table] * times), path)
    return path


def made(
    folder: Path, url: str | None = None, cap: str = "3", times: int = 1, columns: Sequence[Declared] = COLUMNS
) -> Scene:
    """The scene, in an empty folder. All have one password; ann and bob are in the project delays, eve in none."""
    url = url or f"sqlite:///{folder / 'server.db'}"
    gate = Services(url)
    for name in ("ann", "bob", "eve", "stu", "oda", "aud"):
        gate.people.add(MACHINE, name, PASSWORD)
    account = Account("flights", Neighbours.REPLACE_ONE, EACH_RECORD, PrivacyLoss.pure(cap))
    source, units = Source(str(written(folder, times))), ROWS * times
    gate.datasets.add(MACHINE, account, source, tuple(columns), name="flights", relation=Relation.FIRST, units=units)
    gate.people.give_role(MACHINE, "stu", Role.STEWARD, "flights")
    gate.people.give_role(MACHINE, "oda", Role.OPERATOR)
    gate.people.give_role(MACHINE, "aud", Role.AUDITOR)
    scene = Scene(gate, url, folder)
    gate.projects.make(scene.stu, "delays", "flights")
    gate.projects.set_allowance(scene.stu, "delays", PrivacyLoss.pure(2))
    for name in ("ann", "bob"):
        gate.projects.add_member(scene.stu, "delays", name)
        gate.projects.set_allowance(scene.stu, "delays", PrivacyLoss.pure(1), name)
    return scene
