"""The questions of the main demo without a trusted curator: five airlines secret-share their flights with two servers.

Run by ``make demo-federated``. Both servers run on this machine, with fresh keys and certificates. They check the
airlines' reports, and prove their answer shares. Then a lying server takes over the keys and store of one of them.
Both are stopped at the end. Everything is written to ``demo/out/federated``.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
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
    flights,
    is_evaluated,
    scored,
    tell,
    trained,
)
from liar import PARTY, lies
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from size import OUT as OUTPUTS
from size import choose

import dpcurves as dp
from dpcurves import display
from dpcurves.conversation import UnsupportedQuery
from dpcurves.curves.question import parse_class_labels
from dpcurves_parties.serving.channel import Channel, make_pinned_context
from dpcurves_parties.serving.identity import Identity
from dpcurves_parties.serving.task_document import Role, Ticket, create_task
from dpcurves_parties.serving.two_servers.owner import Contribution, close_task, read_owner_ticket
from dpcurves_parties.serving.two_servers.sealed_answers import SealedQuestion
from dpcurves_parties.serving.two_servers.store import Store
from dpcurves_parties.serving.two_servers.task_types import QuestionMessage
from dpcurves_parties.shares import ProtocolError, Task
from dpcurves_parties.shares.analyst import Analyst, describe_task, read_record_slots
from dpcurves_parties.shares.answer_proofs import ProofKeys
from dpcurves_parties.shares.function_shares import Owners
from dpcurves_parties.shares.task import CountKind

OUT = OUTPUTS / "federated"
TITLE = "Flights from New York, 2013, by two servers"
AIRLINES = ("UA", "B6", "EV", "DL", "AA")
FLIGHTS_PER_AIRLINE = choose(1500, 8)
PATIENCE = 600
CHECKED: dict[str, Any] = {"owners": Owners.CHECKED, "count_kind": CountKind.CELLS}
ONE = dp.PrivacyLoss.pure(1)
TOO_MUCH = dp.HistogramQuestion("dep_delay", DELAYS, measured_in="minutes")
"""The question of the main demo that exceeds the budget; no task covers it here."""
PEOPLE = {Role.OWNER: len(AIRLINES), Role.ANALYST: 1, Role.COORDINATOR: 1}


def main() -> None:
    """Create two tasks, collect, close, ask, stop."""
    console = Console()
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    with console.status("training on one half of the aircraft; the airlines keep their flights"):
        delays, judged = slices()
    tasks = found_tasks()
    for task in tasks:
        console.print(*describe_task(task), "", sep="\n", highlight=False)
    with console.status("two servers come up") as status, servers(tasks):
        status.stop()
        collect(console, tasks, (delays, judged))
        report(console, tasks, delays, judged)
    with console.status("server 1 is replaced by one that lies") as status, servers(tasks, OUT / "lie"):
        status.stop()
        console.print("Server 1 now lies, with its keys, its store and the same two tasks:", highlight=False)
        lie(console, tasks[1])
    console.print(f"Both servers are stopped. Written: {shown(OUT)}")


def slices() -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
    """Return the data of each airline: arrival delays, and a model's scores with outcomes."""
    evaluated = flights["tailnum"].map(is_evaluated)
    model = trained(flights[~evaluated])
    delays, judged = {}, {}
    for airline in AIRLINES:
        own = flights["carrier"] == airline
        delays[airline] = flights[own].sample(FLIGHTS_PER_AIRLINE, random_state=1)[["arr_delay"]]
        flown = flights[own & evaluated].sample(FLIGHTS_PER_AIRLINE, random_state=2)
        judged[airline] = scored(model, flown)[["late", "score"]]
    return delays, judged


def found_tasks() -> tuple[Task, Task]:
    """Create fresh identities, and two tasks: one for all questions about delays, one for those about scores."""
    ports = free_ports()
    first, second = (Identity.create(OUT / f"server-{party}", f"https://127.0.0.1:{ports[party]}") for party in (0, 1))
    both = first.public, second.public
    late = parse_class_labels("late", 1, 0)
    of_delays = Task("delays", "arr_delay", DELAYS, None, ONE, FLIGHTS_PER_AIRLINE, both, {}, "minutes", **CHECKED)
    of_scores = Task("scores", "score", SCORES, late, ONE, FLIGHTS_PER_AIRLINE, both, {}, **CHECKED)
    return founded(of_delays), founded(of_scores)


def founded(draft: Task) -> Task:
    """Create a task whose servers prove their answer shares, with its tickets."""
    keys = ProofKeys.generate(PEOPLE[Role.ANALYST])
    draft, proofs = replace(draft, proof_key_hashes=keys.hashes), keys.to_ticket_secrets(PEOPLE[Role.OWNER])
    return create_task(draft, PEOPLE, document(draft), tickets(draft), proofs)


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
def servers(tasks: tuple[Task, Task], lying: Path | None = None) -> Iterator[None]:
    """Start two processes with `dpcurves aggregator`; server 1 lies if a file says so. Both are stopped at the end."""
    documents = ",".join(str(document(task)) for task in tasks)
    if lying is not None:
        lying.write_text("")
    running = [started(0, documents), started(PARTY, documents, lying)]
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


def started(party: int, documents: str, lying: Path | None = None) -> subprocess.Popen[str]:
    own = OUT / f"server-{party}"
    options = {
        "party": party, "task": documents, "identity": own, "store": f"sqlite:///{own / 'reports.db'}",
        "timeout": PATIENCE,
    }  # fmt: skip
    arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    program = ["-m", "dpcurves.cli"] if lying is None else [str(Path(__file__).with_name("liar.py")), str(lying)]
    command = [sys.executable, *program, "aggregator", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def collect(console: Console, tasks: tuple[Task, Task], held: tuple[dict[str, pd.DataFrame], ...]) -> None:
    """Let each airline send its reports to both servers, then close both tasks."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console) as bars:
        for task, tables in zip(tasks, held, strict=True):
            for number, (airline, table) in enumerate(tables.items(), start=1):
                bar = bars.add_task(f"{airline} sends {task.name}", total=len(table))
                ticket = tickets(task) / f"owner-{number}"
                contribution = Contribution.from_ticket(task, read_record_slots(task, table), ticket)
                contribution.send(
                    read_owner_ticket(task, ticket), lambda gone, bar=bar: bars.update(bar, completed=gone)
                )
    for task in tasks:
        closed = close_task(task, Ticket.load(tickets(task) / "coordinator-1", Role.COORDINATOR))
        console.print(
            f"closed {task.name}: {closed.reports} reports of {closed.owners} airlines, the hash of their set is "
            f"{closed.report_set[:16]}...",
            highlight=False,
        )


def report(
    console: Console, tasks: tuple[Task, Task], delays: dict[str, pd.DataFrame], judged: dict[str, pd.DataFrame]
) -> None:
    """Report five curves from two paid counts, as from one curator, beside the exact values."""
    curves: dict[str, Any] = {}
    refused: list[display.RefusalRow] = []
    for task, questions in zip(tasks, (DELAY_QUESTIONS, MODEL_QUESTIONS), strict=True):
        ticket = Ticket.load(tickets(task) / "analyst-1", Role.ANALYST)
        with console.status("the servers check, and count"), Analyst(task, ticket, timeout=PATIENCE) as analyst:
            curves |= {name: analyst.ask(each) for name, each in questions.items()}
            if task is tasks[0]:
                refused = [display.RefusalRow(str(TOO_MUCH), refusal(partial(analyst.ask, TOO_MUCH)))]
    for name, curve in curves.items():
        (OUT / f"{name}.json").write_text(curve.to_json(), encoding="utf-8")
    page = display.render_report(TITLE, introduction(), [curve._repr_html_() for curve in curves.values()], [], refused)
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


def lie(console: Console, task: Task) -> None:
    """Run seven attacks of server 1: five on its answer share, two to learn more. Each is refused, or is harmless.

    Raises:
        SystemExit: an attack succeeded.
    """
    ticket, told = Ticket.load(tickets(task) / "analyst-1", Role.ANALYST), OUT / "lie"
    question = MODEL_QUESTIONS["roc"]

    def asked() -> Any:
        with Analyst(task, ticket, timeout=PATIENCE) as analyst:
            return analyst.ask(question)

    def said(number: int, words: str, end: str) -> None:
        console.print(f"{number}. It {words}: {end}", highlight=False)

    right = asked()
    for number, (name, words) in enumerate(lies().items(), start=1):
        told.write_text(name)
        said(number, words, refusal(asked))
    told.write_text("")
    with Spy(task) as spy:
        spy.learn(ticket)
        said(6, "puts a key of its own into the place of the analyst's", refusal(lambda: spy.half(spy.forged(ticket))))
        before = spy.half(spy.letter(ticket))
        spy.claim_failures()
        if spy.half(spy.letter(ticket)) != before:
            raise SystemExit("server 0 sent another half")
        said(7, "claims, after the first answer, that a report has failed", "harmless: server 0 sends the same half")
    if asked().to_json() != right.to_json():
        raise SystemExit("the answer is another one")
    console.print("And where it follows the protocol again, the answer is the first one.", highlight=False)


def refusal(work: Callable[[], object]) -> str:
    """Return the refusal of an action. Raises `SystemExit`: it was not refused."""
    try:
        work()
    except (ProtocolError, UnsupportedQuery) as refused:
        return f"refused: {refused}"
    raise SystemExit("what has to be refused was not")


class Spy:
    """Server 1 as a malicious client of server 0, with its own certificate."""

    def __init__(self, task: Task) -> None:
        own, other = Identity.load(OUT / f"server-{PARTY}"), task.servers[1 - PARTY]
        context = make_pinned_context(other.certificate)
        context.load_cert_chain(own.certificate_file, own.private_key_file)
        self.task = task
        self.way = Channel(other.url, context, PATIENCE)
        self.standing = Store(f"sqlite:///{OUT / f'server-{PARTY}' / 'reports.db'}").read_status(task.hash)
        self.inquiry = SealedQuestion.create(QuestionMessage.create(task, ()), PARTY)
        self.bound = ""

    def __enter__(self) -> Spy:
        return self

    def __exit__(self, *_: object) -> None:
        self.way.close()

    def say(self, what: str, asked: QuestionMessage, **more: object) -> dict[str, Any]:
        """Return server 0's response."""
        message = asked.to_json(**self.standing.provenance, **more)
        heard: dict[str, Any] = json.loads(self.way.post(f"/tasks/{self.task.hash}/peer/{what}", message))
        return heard

    def letter(self, ticket: Ticket) -> str:
        """Return the letter of an analyst who cooperates with the attacker."""
        return str(json.loads(self.inquiry.to_json(ticket, self.task.servers))["letter"])

    def forged(self, ticket: Ticket) -> str:
        """Forge a letter with the attacker's key and the token that an honest analyst sent."""
        made = SealedQuestion.create(self.inquiry.question, PARTY)
        return str(json.loads(made.to_json(replace(ticket, token="00" * 32), self.task.servers))["letter"])

    def half(self, letter: str) -> tuple[int, ...]:
        """SECRET: return server 0's answer share, opened by the analyst."""
        heard = self.say("half", self.inquiry.question, letter=letter, bound=self.bound)
        return self.inquiry.answer_keys[0].open_answer_share(0, heard["half"], self.inquiry.key).values

    def learn(self, ticket: Ticket) -> None:
        """Learn server 0's noise hash from an answer to the analyst."""
        asked = SealedQuestion.create(QuestionMessage.create(self.task, ()), 0)
        path, other = f"/tasks/{self.task.hash}/answers", self.task.servers[0]
        with Channel.from_certificate(other.url, other.certificate, PATIENCE) as way:
            first, _ = asked.open_answer_shares(
                way.post(path, asked.to_json(ticket, self.task.servers), ticket.derive_bearer_token(0))
            )
        self.bound = first.noise_hashes[PARTY]

    def claim_failures(self) -> None:
        """Return digests that claim that the first report failed."""
        asked = QuestionMessage.create(self.task, ())
        digests = bytearray(b64decode(self.say("evaluate", asked)["check"]))
        digests[0] ^= 1
        self.say("settle", asked, check=b64encode(digests).decode())


def introduction() -> str:
    return (
        f"The same five curves as of one curator, of {FLIGHTS_PER_AIRLINE:,} flights of each of five airlines, and of "
        f"as many that a model judged. No airline showed its flights to anybody: each was counted by two servers "
        f"that hold random shares of it. The curves of the model {COVERS.replace('covers', 'cover')}.\n\n"
        "Each of the two tasks was paid for once; what is read from its counts after the first curve is free."
    )


def auc(pairs: pd.DataFrame) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(pairs["late"], pairs["score"]))


def shown(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


if __name__ == "__main__":
    main()
