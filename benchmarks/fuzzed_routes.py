"""Random requests to every route of a verification server, by schemathesis: how many, and whether one was answered 500.

``python benchmarks/fuzzed_routes.py [CASES] [SECONDS]``: rounds as an analyst and as an auditor, each with a seed of
its own, until there were so many cases or the time is over; what was counted is printed after each. The first two try
what the description itself gives, too. Names that exist are filled in, so that requests come through.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from math import inf
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "server"))

from command_line import make_parser
from running import Running
from scene import HISTOGRAM, LOSS, made

from dpcurves_server.authentication import COOKIE, CSRF_HEADER

PRINCIPALS = ("ann", "aud")
EXAMPLES = 40
"""For each route, in one round of fuzzing."""
CASES = re.compile(r"(\d+) generated")


def headers_of(running: Running, name: str) -> Iterator[str]:
    """Those of a session of this person."""
    session = running.scene.gate.sessions.begin_session(name)
    yield from ("-H", f"Cookie: {COOKIE}={session.cookie}", "-H", f"{CSRF_HEADER}: {session.csrf}")
    yield from ("-H", f"Origin: https://127.0.0.1:{running.port}")


def fuzzed(running: Running, folder: Path, name: str, number: int) -> tuple[int, int]:
    """One round: how many cases, and the status of schemathesis."""
    place = f"https://127.0.0.1:{running.port}/api/1/openapi.json"
    command = [
        sys.executable,
        "-m",
        "schemathesis.cli",
        "--config-file",
        str(folder / "schemathesis.toml"),
        "run",
        place,
    ]
    command += [*headers_of(running, name), "--tls-verify=false", "--checks", "not_a_server_error"]
    command += ["--seed", str(number + 1), "--max-examples", str(EXAMPLES), "--continue-on-failure", "--phases"]
    command += ["examples,coverage,fuzzing" if number < len(PRINCIPALS) else "fuzzing"]
    command += ["--suppress-health-check", "too_slow"]  # the machine is busy: that says nothing of an answer
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    found = CASES.search(done.stdout)
    if done.returncode or found is None:
        print(done.stdout[-3000:], done.stderr[-2000:])
    return int(found[1]) if found else 0, done.returncode


def main() -> None:
    """Print what came of it."""
    parser = make_parser(__doc__)
    parser.add_argument("cases", nargs="?", type=int, default=10_000, metavar="CASES")
    parser.add_argument("seconds", nargs="?", type=float, default=inf, metavar="SECONDS")
    given = parser.parse_args()
    if find_spec("schemathesis") is None:
        print("schemathesis is not installed: nothing was tried")
        return
    cases, seconds = given.cases, given.seconds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        running = Running(made(folder, cap="1000"))
        asked = running.scene.gate.questions.ask(running.scene.ann, "delays", HISTOGRAM, LOSS)
        known = {"project": "delays", "dataset": "flights", "id": asked.id, "name": f"{asked.id}.json"}
        lines = [f'"path.{part}" = "{value}"' for part, value in known.items()]
        (folder / "schemathesis.toml").write_text("\n".join(["[parameters]", *lines]))
        running.start()
        try:
            play(running, folder, cases, time.monotonic() + seconds)
        finally:
            running.stop()


def play(running: Running, folder: Path, cases: int, end: float) -> None:
    """Rounds until all is done."""
    tried, failed, number = 0, 0, 0
    while tried < cases and time.monotonic() < end:
        found, status = fuzzed(running, folder, PRINCIPALS[number % len(PRINCIPALS)], number)
        tried, failed, number = tried + found, failed + (status != 0), number + 1
        said = f"{failed} of them failed, see above" if failed else "no answer of 500 or above"
        print(f"{tried} cases in {number} rounds, {said}", flush=True)


if __name__ == "__main__":
    main()
