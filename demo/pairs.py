"""Kendall's tau of 2,000 people's private ratings: by pairs of people who exchange letters, and by two servers with
shares.

Run by ``make demo-pairs``. Certificates, devices, letters and stores are new each time, in ``demo/out/pairs``.
The ratings are simulated, so that the exact tau can be printed beside both estimates.
"""

from __future__ import annotations

import json
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from size import OUT as OUTPUTS
from size import choose

import dpcurves as dp
from dpcurves.noise import Randomness
from dpcurves_parties import pairs as parties
from dpcurves_parties.pairs.meetings import Participant, RelayClient
from dpcurves_parties.pairs.queries import commit_to_seed
from dpcurves_parties.pairs.service import ask_pairs
from dpcurves_parties.pairs.statistics import KENDALL, NoisePlacement, Permutations, Unsigned
from dpcurves_parties.pairs.task import write_seed
from dpcurves_parties.serving.channel import Channel
from dpcurves_parties.serving.identity import Identity
from dpcurves_parties.serving.task_document import Role, Ticket, create_task
from dpcurves_parties.serving.two_servers.owner import Contribution, close_task, read_owner_ticket

OUT = OUTPUTS / "pairs"
HOST = "127.0.0.1"
PEOPLE, EPSILON = choose(2000, 16), Fraction(2)
KERNEL = KENDALL.with_columns(rooms=Unsigned(3), cleanliness=Unsigned(3))
COLUMNS = tuple(KERNEL.form.columns)
ROLES = {Role.OWNER: PEOPLE, Role.ANALYST: 1, Role.COORDINATOR: 1}
SYSTEM = Randomness.from_system()
BY_COMMAND, AT_ONCE, LOST = choose((0, 1), (0,)), 8, choose(50, 10)
STEPS = 5
"""Rounds of visits: a pair has four steps, and in each round every person takes at least one."""


class Told(NamedTuple):
    """An estimate: the mean, its intervals for these people and for the population, and the number of pairs."""

    value: float
    ends: Sequence[Sequence[float]]
    pairs: int


def main() -> None:
    """Commit to a seed, let people rate, pair them, compute both estimates, and compare with the exact value."""
    console, seed = Console(), secrets.token_bytes(32)
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    console.print(f"promised before anybody rates: {commit_to_seed(seed)[:16]}...", highlight=False)
    ratings = made_up()
    table = Table("who", "tau", "interval for these people (95%)", "for the population", "pairs", "seconds")
    one, other = ({name: values[order] for name, values in ratings.items()} for order in np.triu_indices(PEOPLE, 1))
    table.add_row("nobody: the exact one", f"{KERNEL.evaluate(one, other).mean():.3f}", "", "", "", "")
    for name, work in (("people in pairs", by_people), ("two servers", by_servers)):
        started = perf_counter()
        told = work(ratings, seed)
        shown = [f"{low:.3f} to {high:.3f}" for low, high in told.ends]
        table.add_row(name, f"{told.value:.3f}", *shown, str(told.pairs), f"{perf_counter() - started:.0f}")
    console.print(table)


def made_up() -> dict[str, Any]:
    """Simulate two correlated ratings from 1 to 5 of each person."""
    drawn = np.random.default_rng(1).multivariate_normal([3.4, 3.2], [[1, 0.6], [0.6, 1]], PEOPLE)
    stars = drawn.round().clip(1, 5).astype(np.int64)
    return {"rooms": stars[:, 0], "cleanliness": stars[:, 1]}


def by_people(ratings: dict[str, Any], seed: bytes) -> Told:
    """Compute each pair by letters: one person writes, is offline, and reads the answer later. One in fifty never
    returns.

    The first two people (in the quick form one), the coordinator and the analyst use the command line; the others run
    the code of `dpcurves pair` in one process, because each command takes a second to start.
    """
    task, folder = people_task(seed), OUT / "people"
    town, ticket = people_of(ratings), "--ticket"
    with running(folder / "task.json", folder / "a0"):
        for person in BY_COMMAND:
            command("pair", f"{person}.csv", ticket, f"tickets/owner-{person + 1}")
        visits(task, {person: town[person] for person in range(len(BY_COMMAND), PEOPLE)})
        command("task", "close", ticket, "tickets/coordinator-1")
        waiting = [started("pair", f"{person}.csv", ticket, f"tickets/owner-{person + 1}", "--wait", "60")
                   for person in BY_COMMAND]  # fmt: skip
        left = {person: town[person] for person in range(len(BY_COMMAND), PEOPLE) if person % LOST}
        visits(task, {person: town[person] for person in range(len(BY_COMMAND), PEOPLE) if not person % LOST})
        for _ in range(STEPS):
            left = visits(task, left)
        for each in waiting:
            each.wait()
        visits(task, left)
        command("ask", "pairs", ticket, "tickets/analyst-1", "--json", "out.json")
    told = json.loads((folder / "out.json").read_text())
    return Told(told["value"], [told["for_these_records"], told["for_the_population"]], told["pairs"])


def people_task(seed: bytes) -> parties.PairTask:
    """Create one server with fresh keys, a task with a ticket for each person, and files for those who use commands."""
    folder = OUT / "people"
    (folder / "tickets").mkdir(parents=True)
    server = Identity.create(folder / "a0", free_urls(1)[0]).public
    draft = parties.PairTask(
        "ratings", "kendall", COLUMNS, Permutations(1), dp.PrivacyLoss.pure(EPSILON), parties.Trust.PEOPLE,
        NoisePlacement.EACH, commit_to_seed(seed), (server,), {},
    )  # fmt: skip
    write_seed(folder / "tickets" / "coordinator-1", seed)
    return create_task(draft, ROLES, folder / "task.json", folder / "tickets")


def people_of(ratings: dict[str, Any]) -> list[list[int]]:
    """Return each person's state; write files for those who use the command line."""
    rows = np.stack([ratings[name] for name in KERNEL.columns], axis=1).tolist()
    for person in BY_COMMAND:
        text = "\n".join([",".join(KERNEL.columns), ",".join(map(str, rows[person])), ""])
        (OUT / "people" / f"{person}.csv").write_text(text)
    return rows


def visits(task: parties.PairTask, town: dict[int, list[int]]) -> dict[int, list[int]]:
    """Let every person send what is due, several at a time; return the people who are not finished."""
    people, (server,) = list(town), task.servers

    def visit(start: int) -> list[int]:
        channel, left = Channel.from_certificate(server.url, server.certificate), []
        for person in people[start::AT_ONCE]:
            ticket = OUT / "people" / "tickets" / f"owner-{person + 1}"
            post = RelayClient(task, Ticket.load(ticket, Role.OWNER), channel)
            device = ticket.with_name(f"{ticket.name}.device")
            reached = Participant.enter_task(post, SYSTEM, device, lambda line: None).advance_meetings(town[person])
            left += [] if reached.is_over else [person]
        channel.close()
        return left

    with ThreadPoolExecutor(AT_ONCE) as threads:  # devices wait for their disks
        return {person: town[person] for part in threads.map(visit, range(AT_ONCE)) for person in part}


def command(*words: str) -> None:
    """Run `dpcurves` in the folder of the pairs."""
    if started(*words).wait():
        raise SystemExit(f"dpcurves {words[0]} did not work")


def started(*words: str) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-m", "dpcurves.cli", *words, "--task", "task.json"]
    return subprocess.Popen(line, cwd=OUT / "people", stdout=subprocess.DEVNULL)


def by_servers(ratings: dict[str, Any], seed: bytes) -> Told:
    """Let people secret-share their ratings with two servers, which close the task and release one noisy answer."""
    task, tickets = shared_task(seed), OUT / "tickets"
    with running(OUT / "task.json", *(OUT / f"server-{party}" for party in (0, 1))):
        with ThreadPoolExecutor(8) as town:
            list(town.map(lambda number: share_out(task, ratings, number), range(PEOPLE)))
        close_task(task, Ticket.load(tickets / "coordinator-1", Role.COORDINATOR), seed=seed)
        found = ask_pairs(task, Ticket.load(tickets / "analyst-1", Role.ANALYST))
    ends = [found.interval(0.95, population=population) for population in (False, True)]
    return Told(found.value, ends, found.pairs or 0)


def shared_task(seed: bytes) -> parties.PairTask:
    """Create two servers with fresh keys, and a task with a ticket for each person."""
    urls = free_urls(2)
    servers = tuple(Identity.create(OUT / f"server-{party}", url).public for party, url in enumerate(urls))
    draft = parties.PairTask(
        "ratings", "kendall", COLUMNS, Permutations(2), dp.PrivacyLoss.pure(EPSILON), parties.Trust.TWO_SERVERS,
        NoisePlacement.ON_SUM, commit_to_seed(seed), servers, {},
    )  # fmt: skip
    return create_task(draft, ROLES, OUT / "task.json", OUT / "tickets")


def free_urls(number: int) -> list[str]:
    """Return URLs with free ports."""
    with ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(number)]
        for probe in probes:
            probe.bind((HOST, 0))
        return [f"https://{HOST}:{probe.getsockname()[1]}" for probe in probes]


def share_out(task: parties.PairTask, ratings: dict[str, Any], number: int) -> None:
    """Send one person's shares to both servers."""
    ticket = OUT / "tickets" / f"owner-{number + 1}"
    values = np.array([[ratings[name][number] for name in KERNEL.columns]])
    Contribution.from_ticket(task, values, ticket).send(read_owner_ticket(task, ticket), lambda gone: None)


@contextmanager
def running(document: Path, *identities: Path) -> Iterator[None]:
    """Run processes with `dpcurves aggregator`, and stop them at the end."""
    servers = [aggregator(party, document, own) for party, own in enumerate(identities)]
    try:
        for process in servers:
            if not (process.stdout and process.stdout.readline()):
                raise SystemExit("a server did not come up")
        yield
    finally:
        for process in servers:
            process.terminate()
        for process in servers:
            process.wait(30)


def aggregator(party: int, document: Path, own: Path) -> subprocess.Popen[str]:
    options = {"party": party, "task": document, "identity": own, "store": f"sqlite:///{own / 'shares.db'}"}
    arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "dpcurves.cli", "aggregator", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


if __name__ == "__main__":
    main()
