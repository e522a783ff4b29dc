"""Random requests to every route of a verification server, by schemathesis: how many, and whether one was answered 500.

``python benchmarks/fuzzed_routes.py [EXAMPLES]``: so many for each route in the fuzzing phase, as an analyst and then
as an auditor, after what the description itself gives. Names that exist are filled in, so that requests come through.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "server"))

from running import Running
from scene import HISTOGRAM, LOSS, made

from dpcurves.server.front import COOKIE, CSRF_HEADER

CASES = re.compile(r"(\d+) generated")


def headers_of(running: Running, name: str) -> Iterator[str]:
    """Those of a session of this person."""
    session = running.scene.gate.sessions.begin(name)
    yield from ("-H", f"Cookie: {COOKIE}={session.cookie}", "-H", f"{CSRF_HEADER}: {session.csrf}")
    yield from ("-H", f"Origin: https://127.0.0.1:{running.port}")


def fuzzed(running: Running, folder: Path, name: str, examples: int) -> tuple[int, int]:
    """How many cases, and the status of schemathesis."""
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
    command += [*headers_of(running, name), "--tls-verify=false", "--checks", "not_a_server_error", "--seed", "1"]
    command += ["--max-examples", str(examples), "--phases", "examples,coverage,fuzzing", "--continue-on-failure"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    found = CASES.search(done.stdout)
    if done.returncode or found is None:
        print(done.stdout[-3000:], done.stderr[-2000:])
    return int(found[1]) if found else 0, done.returncode


def main() -> None:
    """Print what came of it."""
    if find_spec("schemathesis") is None:
        print("schemathesis is not installed: nothing was tried")
        return
    examples = int((sys.argv[1:2] or ["250"])[0])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        running = Running(made(folder, cap="1000"))
        asked = running.scene.gate.questions.ask(running.scene.ann, "delays", HISTOGRAM, LOSS)
        known = {"project": "delays", "dataset": "flights", "id": asked.id, "name": f"{asked.id}.json"}
        lines = [f'"path.{part}" = "{value}"' for part, value in known.items()]
        (folder / "schemathesis.toml").write_text("\n".join(["[parameters]", *lines]))
        running.start()
        try:
            found = {who: fuzzed(running, folder, who, examples) for who in ("ann", "aud")}
        finally:
            running.stop()
    for who, (cases, status) in found.items():
        print(f"{who}: {cases} cases, {'no answer of 500 or above' if status == 0 else 'see above'}")


if __name__ == "__main__":
    main()
