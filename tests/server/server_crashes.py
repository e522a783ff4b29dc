"""SIGKILLs of a verification server and of its workers, at times that are drawn: run by ``make crash``.

Each round asks a question, kills the workers or the whole server a random while later, lets what is left go on, and
waits for the answer. In the end: each question was answered once, what was spent is the sum of what was asked, every
release says what its ledger has, and the chain holds. ``python tests/server/server_crashes.py [KILLS] [STORE]``.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from running import Running
from scene import made

from dpcurves.ledger import Together
from dpcurves.privacy import PrivacyLoss
from dpcurves.server import MACHINE
from dpcurves.server.questions import Asked, State
from dpcurves.serving.errors import ProtocolAborted

PRICE = Fraction(1, 1000)
LONGEST = 600.0
SERVER_EACH = 10
"""One of so many kills is of the whole server: to start it again takes seconds."""


class Rounds:
    """A server that is killed again and again."""

    def __init__(self, folder: Path, store: str | None, seed: int) -> None:
        self.scene = made(folder, store, cap="1000")
        for analyst in (None, "ann"):
            self.scene.gate.projects.allow(
                self.scene.stu, "delays", PrivacyLoss.pure(999), analyst, Together.MAY_EXCEED
            )
        self.running, self.draws = Running(self.scene, workers=2), random.Random(seed)
        self.kills = {"workers": 0, "server": 0}
        self.seen: dict[str, str] = {}

    def play(self, kills: int) -> int:
        """So many kills; how many questions were asked."""
        self.running.start()
        number = 0
        while sum(self.kills.values()) < kills:
            number += 1
            asked = self._ask(number)
            self._kill_for_a_while(kills)
            self._awaited(asked)
        self.running.stop()
        return number

    def check(self, questions: int) -> None:
        """What has to hold in the end."""
        ledger = self.scene.gate.archive.ledger
        assert len(self.seen) == questions
        assert ledger.balance("flights").spent.exact == PRICE * questions
        assert len(ledger.statement("flights").grants) == questions
        for name, told in self.seen.items():
            assert self.scene.gate.releases.get(self.scene.ann, name).json == told
            grant = ledger.granted("flights", self.scene.gate.questions.get(self.scene.ann, name).request)
            assert grant is not None
            assert ledger.stored(grant, 0, 0) is not None
        assert ledger.verify().entries > 0

    def _ask(self, number: int) -> Asked:
        question: dict[str, Any] = {"ask": "histogram", "column": "delay", "grid": f"-60:600:{number + 3}"}
        asked = self.scene.gate.questions.ask(self.scene.ann, "delays", question, PrivacyLoss.pure(PRICE))
        again = self.scene.gate.questions.ask(self.scene.bob, "delays", question, PrivacyLoss.pure(PRICE))
        assert again.id == asked.id
        return asked

    def _kill_for_a_while(self, kills: int) -> None:
        for _ in range(self.draws.randint(1, 4)):
            if sum(self.kills.values()) >= kills:
                return
            time.sleep(self.draws.expovariate(0.5))
            if self.draws.randrange(SERVER_EACH):
                self.kills["workers"] += self.running.kill_workers()
            else:
                self.kills["server"] += 1
                self.running.kill()
                self.running.start()

    def _awaited(self, asked: Asked) -> None:
        end = time.monotonic() + LONGEST
        while (state := self._state(asked)) is not State.ANSWERED:
            assert state is not State.REFUSED, asked
            assert time.monotonic() < end, f"no answer in {LONGEST:g} seconds"
            self.scene.gate.questions.ask(self.scene.bob, "delays", asked.question, asked.loss)
            time.sleep(0.2)
        self.seen[asked.id] = self.scene.gate.releases.get(self.scene.ann, asked.id).json

    def _state(self, asked: Asked) -> State:
        with suppress(ProtocolAborted):
            return self.scene.gate.questions.get(MACHINE, asked.id).state
        return State.QUEUED


def main() -> None:
    """Play the rounds, and say what was found."""
    kills, store = int((sys.argv[1:2] or ["1000"])[0]), sys.argv[2] if len(sys.argv) > 2 else None
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        rounds = Rounds(Path(folder), store, seed=16)
        try:
            questions = rounds.play(kills)
            rounds.check(questions)
        finally:
            if rounds.running.process is not None and rounds.running.process.poll() is None:
                rounds.running.kill()
    words = f"{rounds.kills['workers']} SIGKILLs of workers and {rounds.kills['server']} of servers"
    print(f"{words}, {questions} questions: each answered once and paid once, the chain holds")
    print(f"{time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
