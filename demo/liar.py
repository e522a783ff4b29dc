"""A lying server with its own keys and store, for `federated.py`: a file selects how it changes its answer shares.

``python demo/liar.py FILE COMMAND...`` runs a `dpcurves` command with this file. While the file is empty, the server
follows the protocol.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpcurves.cli.app import build
from dpcurves_parties.shares import aggregation
from dpcurves_parties.shares.aggregation import AnswerShare, TaskService
from dpcurves_parties.shares.answer_proofs import hash_noise

MORE = 500
PARTY = 1
EARLIER: list[str] = []
"""Sealed answer shares of earlier questions."""


def changed(half: AnswerShare, lie: str) -> AnswerShare:
    """Return a changed answer share."""
    size = len(half.values) // 2
    numbers = list(half.values)
    if lie in {"half", "noise"}:
        numbers[0] = (numbers[0] + MORE) % 2**64
    if lie == "noise":
        numbers[size] += MORE
        half = half._replace(noise_hashes=(half.noise_hashes[0], hash_noise(numbers[size : 2 * size])))
    if lie == "swap":
        numbers[0], numbers[size - 2] = numbers[size - 2], numbers[0]
    return half._replace(values=tuple(numbers), dropped_count=half.dropped_count + (lie == "dropped"))


def lie_as(file: Path) -> None:
    """Patch the service so that it changes its answer shares as the file says."""
    follows = {kind: kind.follow for kind in (aggregation.PlainCounting, aggregation.CheckedCounting)}
    answered = TaskService.make_answer_share

    def half(self: TaskService, message: bytes) -> bytes:
        told: dict[str, Any] = json.loads(answered(self, message))
        if file.read_text() == "replay":
            told["half"] = EARLIER[0]
        EARLIER.append(told["half"])
        return json.dumps(told).encode()

    for kind, follow in follows.items():

        def followed(self: Any, *asked: Any, follow: Any = follow) -> AnswerShare:
            return changed(follow(self, *asked), file.read_text())

        setattr(kind, "follow", followed)  # noqa: B010
    setattr(TaskService, "make_answer_share", half)  # noqa: B010
    requests = {**TaskService.PEER_REQUESTS, "half": (half, TaskService.PEER_REQUESTS["half"][1])}
    setattr(TaskService, "PEER_REQUESTS", requests)  # noqa: B010


def lies() -> Mapping[str, str]:
    """Return the names of lies about answer shares, with descriptions."""
    return {
        "half": f"adds {MORE} to a number of its half",
        "swap": "swaps two numbers of its half",
        "noise": f"adds {MORE} to its noise, and names that noise",
        "dropped": "says that one report more has failed its check",
        "replay": "sends the half of an earlier question",
    }


def main() -> None:
    """Run a command with the patched service."""
    file, *command = sys.argv[1:]
    lie_as(Path(file))
    build(command)(command)


if __name__ == "__main__":
    main()
