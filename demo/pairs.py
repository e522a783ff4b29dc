"""Kendall's tau of 2,000 people's ratings, which nobody sees: people in pairs by letters, and two servers with shares.

Run by ``make demo-pairs``. Certificates, devices and letters are new each time, and lie in ``demo/out/pairs``. The
ratings are made up, so that the exact tau can stand beside both.
"""

from __future__ import annotations

import multiprocessing
import secrets
import shutil
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import dpcurves as dp
from dpcurves import parties
from dpcurves.crypto.two_party import evaluate, garble
from dpcurves.ledger import QuestionBudget
from dpcurves.noise import Randomness
from dpcurves.pairs import KENDALL, Noise, Unsigned, pair_statistic
from dpcurves.queries import commitment
from dpcurves.release import Plan, Release
from dpcurves.serving.identity import CERTIFICATE, PROOF, Identity
from dpcurves.trust.pair_release import noise_of, of_answers, of_sum

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
        found = pair_statistic(work(ratings, seed))
        ends = [found.interval(0.95, population=population) for population in (False, True)]
        shown = [f"{low:.3f} to {high:.3f}" for low, high in ends]
        table.add_row(name, f"{found.value:.3f}", *shown, f"{perf_counter() - started:.0f}")
    console.print(table)


def made_up() -> dict[str, Any]:
    """Two ratings from 1 to 5 of each person, that go together."""
    drawn = np.random.default_rng(1).multivariate_normal([3.4, 3.2], [[1, 0.6], [0.6, 1]], PEOPLE)
    stars = drawn.round().clip(1, 5).astype(np.int64)
    return {"rooms": stars[:, 0], "cleanliness": stars[:, 1]}


def planned(noise: Noise, seed: bytes) -> tuple[Plan, Any, Any]:
    """The plan, its pairs, and what pays for it here, where nothing is anybody's."""
    loss = dp.PrivacyLoss.pure(EPSILON)
    each = 1 if noise is Noise.EACH else 2
    plan = dp.pairs.plan(KERNEL, people=PEOPLE, pairs_per_person=each, loss=loss, noise=noise, seed=seed)
    pairing = plan.query.pairing  # type: ignore[union-attr]
    pairs = parties.promised_pairs(pairing, PEOPLE, seed, commitment(seed))
    return plan, pairs, QuestionBudget.told("demo", loss).pay(plan.query, Fraction(1))


def by_people(ratings: dict[str, Any], seed: bytes) -> Release:
    """Each pair by letters: one writes, is offline, and reads the answer later. One in fifty never comes back."""
    plan, pairs, allotment = planned(Noise.EACH, seed)
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
    return of_answers(plan, pairs[came], np.array(answers), allotment, seeded=False)


@dataclass(frozen=True)
class Duty:
    """SECRET: what one server has, and whom it talks to."""

    number: int
    shares: dict[str, Any]
    seed: bytes


def by_servers(ratings: dict[str, Any], seed: bytes) -> Release:
    """People share their ratings out and go; two processes talk over TLS, and tell one noisy sum."""
    plan, pairs, allotment = planned(Noise.ON_SUM, seed)
    shares = parties.shares_of(ratings, dict(plan.query.kernel.columns), SYSTEM)  # type: ignore[union-attr]
    for number in (0, 1):
        Identity.found(OUT / f"server {number}", f"https://{HOST}:{8701 + number}")
    spawning = multiprocessing.get_context("spawn")
    pipes = [spawning.Pipe() for _ in (0, 1)]
    running = [
        spawning.Process(target=serve, args=(Duty(number, shares[number], seed), pipes[number][1])) for number in (0, 1)
    ]
    for each in running:
        each.start()
    pipes[1][0].send(pipes[0][0].recv())
    noisy = {pipe.recv() for pipe, _ in pipes}
    for each in running:
        each.join()
    (told,) = noisy
    return of_sum(plan, pairs, told, allotment, seeded=False)


def serve(duty: Duty, pipe: Pipe) -> None:
    """One server: it has shares, its certificate and its file of settlements."""
    plan, pairs, _ = planned(Noise.ON_SUM, duty.seed)
    job = parties.sum_of_pairs(commitment(duty.seed).encode(), KERNEL, noise_of(plan), len(pairs))
    coins = [None] * len(job.ending.owners) if job.ending else []
    values, act = parties.given_to_sum(KERNEL, duty.shares, pairs), (garble, evaluate)[duty.number]
    own = parties.Settlements(OUT / f"server {duty.number}" / "settlements")
    connection = parties.Connection.over(opened(duty.number, pipe), context(duty.number), HOST)
    talk = parties.settled(job.digest, lambda: act(job, values, SYSTEM, coins), own, SYSTEM)
    pipe.send(parties.number_of(parties.conducted(talk, connection)))
    connection.close()


def opened(number: int, pipe: Pipe) -> socket.socket:
    """The connection of both, before anything is proved."""
    if number:
        return socket.create_connection((HOST, pipe.recv()))
    with socket.create_server((HOST, 0)) as listening:
        pipe.send(listening.getsockname()[1])
        return listening.accept()[0]


def context(number: int) -> ssl.SSLContext:
    """What a server proves, and whom alone it believes."""
    made = ssl.SSLContext((ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT)[number])
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    own, other = (Identity.read(OUT / f"server {each}") for each in (number, 1 - number))
    made.load_cert_chain(own.folder / CERTIFICATE, own.folder / PROOF)
    made.load_verify_locations(cadata=other.public.certificate)
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    made.verify_mode = ssl.CERT_REQUIRED
    return made


if __name__ == "__main__":
    main()
