"""Entry points of an installed package, each tried from an empty folder: `python smoke.py FOLDER`, its interpreter.

Nothing but the package and what it asked for is here: no test runner, no clone. It prints a line for each, and
leaves with 1 if one of them fails.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import create_server
from typing import Any
from urllib.request import urlopen

import numpy as np

COMMAND = Path(sys.executable).with_name("dpcurves")
GRID = "--grid 0:40:64 --epsilon 1"
PATIENCE = 120.0
SCHEMA = [{"column": "days", "lower": 0, "upper": 40}, {"column": "back", "categories": [0, 1]}]


def dpcurves(words: str, said: str = "") -> str:
    """What one command prints."""
    done = subprocess.run([COMMAND, *words.split()], input=said, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"dpcurves {words}: status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


@contextmanager
def running(words: str) -> Iterator[None]:
    """A command that serves until this ends."""
    process = subprocess.Popen([COMMAND, *words.split()], stdout=subprocess.PIPE, text=True)
    try:
        if not any("listens at" in line for line in process.stdout or ()):
            raise RuntimeError(f"dpcurves {words}: it did not listen")
        yield
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def ports(number: int) -> list[int]:
    """Ports that nobody listens on."""
    held = [create_server(("127.0.0.1", 0)) for _ in range(number)]
    found = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return found


def table() -> None:
    """A file of one thousand stays in hospital."""
    draw = np.random.default_rng(1)
    days = draw.gamma(2.0, 3.0, 1000)
    rows = [f"{stay:.2f},{stay / 40:.3f},{int(draw.random() < stay / 20)}" for stay in days]
    Path("stays.csv").write_text("\n".join(["days,risk,back", *rows]) + "\n", encoding="utf-8")


def one_call() -> None:
    import dpcurves as dp

    curve = dp.cdf(
        np.arange(1000) % 40, grid=dp.Grid(0, 40, cells=64), adjacency=dp.REPLACE_ONE, epsilon=1, label="days"
    )
    lower, upper = curve.band(0.95)
    assert (lower <= upper).all()
    assert (dp.CDF.from_json(curve.to_json()).y == curve.y).all()


def session() -> None:
    import dpcurves as dp

    where: dict[str, Any] = {"adjacency": dp.ADD_REMOVE, "dataset": "stays", "ledger": "sqlite:///session.db"}
    with dp.Session("stays.csv", budget=dp.PrivacyLoss.pure(2), **where) as opened:
        roc = opened.ask(dp.RocQuestion("back", "risk"), dp.PrivacyLoss.pure(1), "roc")
        assert 0 <= roc.auc_interval(0.95)[0] <= roc.auc_interval(0.95)[1] <= 1
        assert opened.remaining == dp.PrivacyLoss.pure(1)


def study() -> None:
    import dpcurves as dp

    question = dp.HistogramQuestion("days", dp.Grid(0, 40, cells=8))
    (plan,) = dp.plan_question(question, dp.PrivacyLoss.pure(1), dp.REPLACE_ONE.to_adjacency(dp.EACH_RECORD, 1000))
    assert plan.error > 0


def command_line() -> None:
    assert dpcurves("--version").startswith("dpcurves ")
    dpcurves(f"plan cdf {GRID} --adjacency replace-one --units 1000")
    dpcurves("ledger create sqlite:///budget.db --dataset stays --epsilon 2 --adjacency replace-one")
    dpcurves(f"cdf stays.csv --column days {GRID} --ledger sqlite:///budget.db --json days.json")
    assert json.loads(Path("days.json").read_text(encoding="utf-8"))["kind"] == "cdf"
    assert "1" in dpcurves("ledger show sqlite:///budget.db")
    dpcurves("ledger verify sqlite:///budget.db")


def pictures() -> None:
    dpcurves("roc stays.csv --label back --score risk --epsilon 1 --adjacency replace-one --plot roc.svg")
    assert "<svg" in Path("roc.svg").read_text(encoding="utf-8")


def streams() -> None:
    assert "library" in dpcurves("stream --example --window 6 --event low:6:30")


def people() -> None:
    dpcurves("local task --column days --grid 0:40:8 --people 50 --epsilon 4 --out people.json")
    Path("me.csv").write_text("days\n7\n", encoding="utf-8")
    for name in ("anna", "bert"):
        dpcurves(f"local randomize me.csv --task people.json --id {name} --memo {name}.db --out {name}.bin")
    dpcurves("local aggregate anna.bin bert.bin --task people.json --json people-days.json")


def two_servers() -> None:
    for party, port in enumerate(ports(2)):
        dpcurves(f"task identity a{party} --url https://127.0.0.1:{port}")
    servers = "--servers a0/server.json,a1/server.json --owners 1 --out task.json --tickets tickets"
    dpcurves(f"task create --name stays --column days {GRID} --reports-per-owner 1000 {servers}")
    serve = "aggregator --party {0} --task task.json --identity a{0} --store sqlite:///a{0}.db"
    with running(serve.format(0)), running(serve.format(1)):
        dpcurves("contribute stays.csv --task task.json --ticket tickets/owner-1")
        dpcurves("task close --task task.json --ticket tickets/coordinator-1")
        dpcurves("ask cdf --task task.json --ticket tickets/analyst-1 --json servers.json")


def pairs() -> None:
    dpcurves("plan pairs --kernel auc --people 1000 --pairs 1,2 --epsilon 1")


def verification_server() -> None:
    Path("schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    store = "--store sqlite:///server.db"
    dpcurves(f"server person olga --role operator {store}", said="correct horse battery staple\n")
    dpcurves(f"server dataset stays.csv --name stays --schema schema.json --epsilon 3 --adjacency add-remove {store}")
    (port,) = ports(1)
    with running(f"serve {store} --listen 127.0.0.1:{port} --tls cert.pem,key.pem"):
        trusted = ssl.create_default_context(cafile="cert.pem")
        with urlopen(f"https://127.0.0.1:{port}/sign-in", context=trusted, timeout=PATIENCE) as page:
            assert b"password" in page.read()


CORE = (one_call, session, study, command_line, streams, people)
"""What `pip install dpcurves` has."""
EXTRAS = (pictures, two_servers, pairs, verification_server)
"""What extras bring: plot, servers, pairs and server."""


def tried(entry: Callable[[], None]) -> bool:
    """Whether an entry point answers; if not, why."""
    try:
        entry()
    except Exception:
        traceback.print_exc()
        print(f"{entry.__name__}: fails", flush=True)
        return False
    print(f"{entry.__name__}: answers", flush=True)
    return True


if __name__ == "__main__":
    table()
    sys.exit(0 if all([tried(entry) for entry in (*CORE, *(EXTRAS if sys.argv[1:] == ["all"] else ()))]) else 1)
