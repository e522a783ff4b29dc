"""SIGKILLs of a verification server and of its workers, at times that are drawn: run by ``make crash``.

Each round asks a question, kills a worker, all of them or the whole server a drawn while after it was asked, or after
it is seen to be paid or counted, lets what is left go on, and waits for the answer. In the end: each question was
answered once, what was spent is the sum of what was asked, every release says what its ledger has, and the chain holds.
``python tests/server/server_crashes.py [KILLS] [STORE] [SECONDS] [KEPT]`` (STORE: - for a file of its own); after so
many seconds no more are killed. Servers and workers are forked by a nursery that has read all libraries: a process that
is killed while it reads them shows nothing. What was counted is added to the file KEPT, if one is named, a piece at a
time.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import nursery
from nursery import Born, born
from running import Running
from scene import made
from sqlalchemy import select

from dpcurves.ledger import AllowanceRule
from dpcurves.privacy import PrivacyLoss
from dpcurves_parties.serving.messages import ProtocolError
from dpcurves_server import MACHINE
from dpcurves_server.questions import AskedQuestion, State
from dpcurves_server.tables import QUESTIONS

PRICE = Fraction(1, 1000)
LONGEST = 1800.0
STAGES = (State.QUEUED, State.PAID, State.COUNTED)
"""Where a question stands when the while begins after which something is killed."""
SHORT, LONG = 20.0, 4.0
"""Kills a second: soon after a stage is seen, or whenever."""
POLL = 0.005
SERVER_EACH = 10
"""One of so many kills is of the whole server: to start it again takes seconds."""


@dataclass
class InNursery(Running):
    """A server that was born in a nursery, as its workers were."""

    place: str = ""
    nursery: int = 0

    def children(self) -> list[int]:
        """All workers, those too that have not heard yet that their server is gone."""
        born = Path(f"/proc/{self.nursery}/task/{self.nursery}/children").read_text().split()
        return [int(child) for child in born if int(child) != self.process.pid]

    def _begun(self, words: list[str]) -> Born:
        return born(self.place, words)


class Rounds:
    """A server that is killed again and again."""

    def __init__(self, folder: Path, store: str | None, seed: int) -> None:
        self.scene = made(folder, store, cap="1000")
        for analyst in (None, "ann"):
            self.scene.gate.projects.set_allowance(
                self.scene.stu, "delays", PrivacyLoss.pure(999), analyst, AllowanceRule.MAY_EXCEED
            )
        self.nursery, place = nursery.opened(folder)
        self.running = InNursery(self.scene, workers=2, place=place, nursery=self.nursery.pid)
        self.draws = random.Random(seed)
        self.kills = {"workers": 0, "server": 0}
        self.seen: dict[str, str] = {}
        self.ann, self.bob = self.scene.ann, self.scene.bob

    def play(self, kills: int, seconds: float) -> int:
        """So many kills, or fewer in so many seconds; how many questions were asked."""
        self.running.start()
        number, end = 0, time.monotonic() + seconds
        while sum(self.kills.values()) < kills and time.monotonic() < end:
            number += 1
            asked = self._ask(number)
            self._kill_for_a_while(asked, kills)
            self._awaited(asked)
            print(f"{sum(self.kills.values())} killed, {number} questions answered", flush=True)
        self.running.stop()
        return number

    def check(self, questions: int) -> None:
        """What has to hold in the end."""
        ledger = self.scene.gate.archive.ledger
        assert len(self.seen) == questions
        assert ledger.balance("flights").spent.exact == PRICE * questions
        assert len(ledger.statement("flights").grants) == questions
        for name, told in self.seen.items():
            assert self.scene.gate.releases.get(self.ann, name).json == told
            grant = ledger.find_grant("flights", self.scene.gate.questions.get(self.ann, name).request)
            assert grant is not None
            assert ledger.find_answer(grant, 0, 0) is not None
        assert ledger.verify().entries > 0

    def _ask(self, number: int) -> AskedQuestion:
        question: dict[str, Any] = {"ask": "histogram", "column": "delay", "grid": f"-60:600:{number + 3}"}
        asked = self.scene.gate.questions.ask(self.ann, "delays", question, PrivacyLoss.pure(PRICE))
        again = self.scene.gate.questions.ask(self.bob, "delays", question, PrivacyLoss.pure(PRICE))
        assert again.id == asked.id
        return asked

    def _kill_for_a_while(self, asked: AskedQuestion, kills: int) -> None:
        for _ in range(self.draws.randint(1, 6)):
            if sum(self.kills.values()) >= kills:
                return
            self._until_drawn(asked)
            chosen = self.draws.randrange(SERVER_EACH)
            if chosen:
                self.kills["workers"] += self.running.kill_workers(most=None if chosen % 2 else 1)
            else:
                self.kills["server"] += 1
                self.running.kill()
                self.running.start()

    def _until_drawn(self, asked: AskedQuestion) -> None:
        """Until a drawn while after the question has come to a drawn stage, or for one that does not look at it."""
        stage = self.draws.choice((None, *STAGES))
        if stage is not None:
            end = time.monotonic() + self.draws.expovariate(0.5)
            while self._stands(asked) < STAGES.index(stage) and time.monotonic() < end:
                time.sleep(POLL)
        time.sleep(self.draws.expovariate(LONG if stage is None else SHORT))

    def _stands(self, asked: AskedQuestion) -> int:
        """How far it is, whether it was shown or not."""
        query = select(QUESTIONS.c.state).where(QUESTIONS.c.id == asked.id)
        state = State(self.scene.gate.archive.read_snapshot(lambda one: one.execute(query).scalar_one()))
        return STAGES.index(state) if state in STAGES else len(STAGES)

    def _awaited(self, asked: AskedQuestion) -> None:
        end = time.monotonic() + LONGEST
        while (state := self._state(asked)) is not State.ANSWERED:
            assert state is not State.REFUSED, asked
            assert time.monotonic() < end, f"no answer in {LONGEST:g} seconds"
            self.scene.gate.questions.ask(self.bob, "delays", asked.question, asked.loss)
            time.sleep(0.2)
        self.seen[asked.id] = self.scene.gate.releases.get(self.ann, asked.id).json

    def _state(self, asked: AskedQuestion) -> State:
        with suppress(ProtocolError):
            return self.scene.gate.questions.get(MACHINE, asked.id).state
        return State.QUEUED


def main() -> None:
    """Play the rounds, and say what was found."""
    given = [*sys.argv[1:], *["1000", "-", "inf", ""][len(sys.argv) - 1 :]]
    kills, store, seconds, kept = int(given[0]), given[1] if given[1] != "-" else None, float(given[2]), given[3]
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        rounds = Rounds(Path(folder), store, seed=int(time.time()) if kept else 16)
        try:
            questions = rounds.play(kills, seconds)
            rounds.check(questions)
        finally:
            if rounds.running.process is not None and rounds.running.process.poll() is None:
                rounds.running.kill()
            rounds.nursery.kill()
            rounds.nursery.wait()
    print(f"{told({**rounds.kills, 'questions': questions})} in {time.monotonic() - begun:.0f} s")
    if kept:
        print(f"with what was kept: {told(added(Path(kept), {**rounds.kills, 'questions': questions}))}")


def told(counts: Mapping[str, int]) -> str:
    """What was found; what was wrong would have ended it before."""
    killed = f"{counts['workers']} SIGKILLs of workers and {counts['server']} of servers"
    return f"{killed}, {counts['questions']} questions: each answered once and paid once, the chain holds; 0 wrong"


def added(kept: Path, counts: Mapping[str, int]) -> Mapping[str, int]:
    """The counts of all pieces so far, this one included."""
    before = json.loads(kept.read_text()) if kept.exists() else {}
    together = {name: count + before.get(name, 0) for name, count in counts.items()}
    kept.write_text(json.dumps(together))
    return together


if __name__ == "__main__":
    main()
