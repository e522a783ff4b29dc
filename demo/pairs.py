"""Kendall's tau of 2,000 people's ratings, which nobody sees: people in pairs by letters, and two servers with shares.

Run by ``make demo-pairs``. Certificates, devices, letters and stores are new each time, and lie in ``demo/out/pairs``.
The ratings are made up, so that the exact tau can stand beside both.
"""

from __future__ import annotations

import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import dpcurves as dp
from dpcurves import parties
from dpcurves.curves.pair_mean import UStatistic
from dpcurves.ledger import QuestionBudget
from dpcurves.noise import Randomness
from dpcurves.pairs import KENDALL, Noise, Permutations, Unsigned, pair_statistic
from dpcurves.queries import commitment
from dpcurves.release import Plan
from dpcurves.serving.identity import Identity
from dpcurves.serving.new_task import found
from dpcurves.serving.ticket import Role, Ticket
from dpcurves.trust.pair_release import of_answers
from dpcurves.two_servers.analyst import close
from dpcurves.two_servers.owner import Contribution, bearer_of
from dpcurves.two_servers.pair_analyst import ask_pairs

OUT = Path(__file__).parent / "out" / "pairs"
HOST = "127.0.0.1"
PEOPLE, EPSILON = 2000, Fraction(2)
KERNEL = KENDALL.on(rooms=Unsigned(3), cleanliness=Unsigned(3))
SYSTEM = Randomness.system()


def main() -> None:
    """Promise a seed, let people rate, pair them, work out both, and compare with what nobody has."""
    console, seed = Console(), secrets.token_bytes(32)
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    console.print(f"promised before anybody rates: {commitment(seed)[:16]}...", highlight=False)
    ratings = made_up()
    table = Table("who", "tau", "interval for these people (95%)", "for the population", "seconds")
    one, other = ({name: values[order] for name, values in ratings.items()} for order in np.triu_indices(PEOPLE, 1))
    table.add_row("nobody: the exact one", f"{KERNEL.evaluated(one, other).mean():.3f}", "", "", "")
    for name, work in (("people in pairs", by_people), ("two servers", by_servers)):
        started = perf_counter()
        told = work(ratings, seed)
        ends = [told.interval(0.95, population=population) for population in (False, True)]
        shown = [f"{low:.3f} to {high:.3f}" for low, high in ends]
        table.add_row(name, f"{told.value:.3f}", *shown, f"{perf_counter() - started:.0f}")
    console.print(table)


def made_up() -> dict[str, Any]:
    """Two ratings from 1 to 5 of each person, that go together."""
    drawn = np.random.default_rng(1).multivariate_normal([3.4, 3.2], [[1, 0.6], [0.6, 1]], PEOPLE)
    stars = drawn.round().clip(1, 5).astype(np.int64)
    return {"rooms": stars[:, 0], "cleanliness": stars[:, 1]}


def planned(seed: bytes) -> tuple[Plan, Any, Any]:
    """The plan of people in pairs, its pairs, and what pays for it here, where nothing is anybody's."""
    loss = dp.PrivacyLoss.pure(EPSILON)
    plan = dp.pairs.plan(KERNEL, people=PEOPLE, pairs_per_person=1, loss=loss, seed=seed)
    pairs = parties.promised_pairs(plan.query.pairing, PEOPLE, seed, commitment(seed))  # type: ignore[union-attr]
    return plan, pairs, QuestionBudget.told("demo", loss).pay(plan.query, Fraction(1))


def by_people(ratings: dict[str, Any], seed: bytes) -> UStatistic:
    """Each pair by letters: one writes, is offline, and reads the answer later. One in fifty never comes back."""
    plan, pairs, allotment = planned(seed)
    agreed = parties.Promise.of(KERNEL, plan).shown(seed)
    response = agreed.promise.response
    (OUT / "letters").mkdir()
    (OUT / "devices").mkdir()
    task, mailbox = agreed.task, parties.FolderMailbox(OUT / "letters")
    with ThreadPoolExecutor(16) as town:
        paths = [OUT / "devices" / str(each) for each in range(PEOPLE)]
        devices = list(town.map(lambda path: parties.Device.of(path, task, agreed.most, SYSTEM), paths))
    aggregator = parties.Writer.of(secrets.token_bytes(32))

    def card(person: int) -> parties.Card:
        writer = aggregator if person == parties.AGGREGATOR else devices[person].writer
        return writer.card(task, person)

    collector = parties.Collector(aggregator.sealing, mailbox.get, card)

    def met(meeting: parties.Meeting) -> Any:
        for turn in (0, 1) if meeting.number % 50 == 0 else (0, 1, 0, 1):
            number = meeting.people[turn]
            values = [int(ratings[name][number]) for name in KERNEL.columns]
            parties.Person(number, agreed, devices[number], mailbox, card).attend(meeting, values)
        bits = collector.output(meeting, response.width)
        return None if bits is None else parties.response_to(response, [bit[None] for bit in bits])[0]

    with ThreadPoolExecutor(16) as town:  # devices wait for their disks
        told = list(town.map(met, agreed.meetings))
    came = [number for number, answer in enumerate(told) if answer is not None]
    answers = [told[number] for number in came]
    return pair_statistic(of_answers(plan, pairs[came], np.array(answers), allotment, seeded=False))


def by_servers(ratings: dict[str, Any], seed: bytes) -> UStatistic:
    """People share their ratings out to two servers and go; these close, and tell one noisy answer."""
    task, tickets = shared_task(seed), OUT / "tickets"
    with running(OUT / "task.json"):
        with ThreadPoolExecutor(8) as town:
            list(town.map(lambda number: share_out(task, ratings, number), range(PEOPLE)))
        close(task, Ticket.read(tickets / "coordinator-1", Role.COORDINATOR), seed=seed)
        return ask_pairs(task, Ticket.read(tickets / "analyst-1", Role.ANALYST))


def shared_task(seed: bytes) -> parties.PairTask:
    """Two servers with fresh keys, and a task with a ticket for each person."""
    with socket.socket() as one, socket.socket() as other:
        for probe in (one, other):
            probe.bind((HOST, 0))
        urls = [f"https://{HOST}:{probe.getsockname()[1]}" for probe in (one, other)]
    servers = tuple(Identity.found(OUT / f"server-{party}", url).public for party, url in enumerate(urls))
    columns = tuple(KERNEL.form.columns)
    draft = parties.PairTask(
        "ratings", "kendall", columns, Permutations(2), dp.PrivacyLoss.pure(EPSILON), parties.Trust.TWO_SERVERS,
        Noise.ON_SUM, commitment(seed), servers, {},
    )  # fmt: skip
    return found(draft, {Role.OWNER: PEOPLE, Role.ANALYST: 1, Role.COORDINATOR: 1}, OUT / "task.json", OUT / "tickets")


def share_out(task: parties.PairTask, ratings: dict[str, Any], number: int) -> None:
    """One person's shares, one for each server."""
    ticket = OUT / "tickets" / f"owner-{number + 1}"
    values = np.array([[ratings[name][number] for name in KERNEL.columns]])
    Contribution.of(task, values, ticket).send(bearer_of(task, ticket), lambda gone: None)


@contextmanager
def running(document: Path) -> Iterator[None]:
    """Two processes, as `dpcurves aggregator` starts them; stopped whatever happens."""
    started = [aggregator(party, document) for party in (0, 1)]
    try:
        for process in started:
            if not (process.stdout and process.stdout.readline()):
                raise SystemExit("a server did not come up")
        yield
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(30)


def aggregator(party: int, document: Path) -> subprocess.Popen[str]:
    own = OUT / f"server-{party}"
    options = {"party": party, "task": document, "identity": own, "store": f"sqlite:///{own / 'shares.db'}"}
    arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "dpcurves.cli", "aggregator", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


if __name__ == "__main__":
    main()
