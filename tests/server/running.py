"""A server as a process, in front of a scene, and ways to kill it and its workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "processes"))  # where pytest has not put it there

from free_ports import free_port
from scene import Scene

import dpcurves as dp

SECONDS = 120


@dataclass
class Running:
    """One server, which may be started again."""

    scene: Scene
    port: int = field(default_factory=free_port)
    every: str = "0.2"
    workers: int = 1
    process: Any = None

    def start(self) -> None:
        folder, words = self.scene.folder, ["serve"]
        words += ["--store", self.scene.url, "--listen", f"127.0.0.1:{self.port}", "--every", self.every]
        words += ["--tls", f"{folder / 'cert.pem'},{folder / 'key.pem'}", "--workers", str(self.workers)]
        words += ["--rate", "1000000"]
        self.process = self._begun(words)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if "listens" in line:
                return
        raise AssertionError("the server did not start")

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self._ended()

    def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        self._ended()

    def children(self) -> list[int]:
        assert self.process is not None
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [int(child) for each in tasks for child in each.read_text().split()]

    def kill_workers(self, most: int | None = None) -> int:
        """Kill all workers, or so many of them; how many there were to kill."""
        killed = self.children()[:most]
        for child in killed:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        return len(killed)

    def remote(self, name: str = "ann") -> dp.Remote:
        token = self.scene.gate.tokens.make(self.scene.principal(name), "delays", "here", 1)
        return dp.Remote(f"https://127.0.0.1:{self.port}", token, ca=self.scene.folder / "cert.pem", timeout=SECONDS)

    def _begun(self, words: list[str]) -> Any:
        return subprocess.Popen([sys.executable, "-m", "dpcurves.cli", *words], stdout=subprocess.PIPE, text=True)

    def _ended(self) -> None:
        assert self.process is not None
        self.process.wait(SECONDS)
        if self.process.stdout is not None:
            self.process.stdout.close()
