"""Examples for dbt and Airflow: what they run is the command, and a second run costs nothing."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pytest

import dpcurves as dp

pytest.importorskip("sqlglot", reason="sqlglot is not installed: no statements of SQL")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
COMMANDS = Path(sys.executable).parent
DBT = os.environ.get("DPCURVES_DBT")
PEOPLE = "SELECT range AS person_id, (range * 37 % 500) * 1000 AS wage FROM range(20000)"


def left(folder: Path) -> Any:
    return dp.Ledger.open_existing(f"sqlite:///{folder}/budget.db").balance("people").remaining.exact


class Task:
    """Stands in for Airflow's operator: it keeps what it is to run."""

    made: list[dict[str, Any]] = []  # noqa: RUF012

    def __init__(self, **settings: Any) -> None:
        self.made.append(settings)


class Dag:
    """Stands in for a DAG of Airflow."""

    def __init__(self, name: str, **settings: Any) -> None:
        self.name = name

    def __enter__(self) -> Dag:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def module(name: str, **things: Any) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(things)
    return made


@pytest.mark.reproduction
def test_the_task_of_airflow_is_tried_again_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    operators = "airflow.providers.standard.operators"
    modules: dict[str, dict[str, Any]] = {
        "airflow": {}, "airflow.sdk": {"DAG": Dag}, "airflow.providers": {}, "airflow.providers.standard": {},
        operators: {}, f"{operators}.bash": {"BashOperator": Task},
    }  # fmt: skip
    for name, things in modules.items():
        monkeypatch.setitem(sys.modules, name, module(name, **things))
    runpy.run_path(str(EXAMPLES / "airflow" / "wages.py"))
    (task,) = Task.made
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute(f"CREATE TABLE people AS {PEOPLE}")
    ledger = f"sqlite:///{tmp_path}/budget.db"
    dp.Ledger.open(ledger).create(
        dp.Account("people", dp.ADD_REMOVE, dp.Unit("person_id", 1), dp.PrivacyLoss.pure("0.3"))
    )
    given = {"WAREHOUSE": f"{tmp_path}/people.duckdb", "LEDGER": ledger, "OUT": str(tmp_path), "OMP_NUM_THREADS": "1"}
    path = f"{COMMANDS}{os.pathsep}{os.environ['PATH']}"
    spent = []
    for month in ("2026-01-01", "2026-01-01"):
        command = task["bash_command"].replace("{{ ds }}", month)
        subprocess.run(["bash", "-c", command], env={**os.environ, **given, "PATH": path}, check=True)
        spent.append(float(left(tmp_path)))
    assert spent == pytest.approx([0.2, 0.2])
    assert task["bash_command"].count("{{ ds }}") == 2  # the request and the file of another month are others
    found: Any = dp.read_result(tmp_path / "wages-2026-01-01.json")
    assert abs(found.quantile(0.5) - 250_000) < 10_000


@pytest.mark.skipif(DBT is None, reason="DPCURVES_DBT names no folder with dbt: `make dbt` does")
def test_the_project_of_dbt_builds_asks_and_asks_again_for_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "dbt"
    shutil.copytree(EXAMPLES / "dbt", folder)
    path = os.pathsep.join([str(DBT), str(COMMANDS), os.environ["PATH"]])
    written = []
    for _ in range(2):
        subprocess.run(["sh", "run.sh"], cwd=folder, env={**os.environ, "PATH": path}, check=True)
        written.append((folder / "wages.json").read_text())
    assert written[0] == written[1]
    assert left(folder) == 1
    found: Any = dp.read_result(folder / "wages.json")
    assert {name: round(found[name].count, -3) for name in found} == {"north": 7000, "south": 13_000}
