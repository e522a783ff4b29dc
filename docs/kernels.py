"""Kernels that need not start: copies of a process that has imported what examples need (`docs/origin.py`).

Each is a process of its own, and nothing of another example ever ran in what it is a copy of. Elsewhere than on Linux,
libraries of the system do not live on in a copy, and each kernel starts afresh.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import EntryPoint
from pathlib import Path
from subprocess import PIPE, Popen
from threading import Lock
from typing import Any

from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

ORIGIN = Path(__file__).with_name("origin.py")
NAME = "copied"
ALONE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""What keeps numerical libraries, and the memory of Arrow, from starting threads when they are imported."""
INLINE = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
"""What a kernel says before anything imports matplotlib."""


class Origin:
    """The process that is copied; it ends when it is told so, or when nobody is left who could ask it."""

    def __init__(self) -> None:
        words = [sys.executable, "-Xfrozen_modules=off", str(ORIGIN)]  # as kernels are started, for their debugger
        environment = os.environ | ALONE | INLINE
        self._process = Popen(words, env=environment, stdin=PIPE, stdout=PIPE, text=True)
        self._turn = Lock()

    def copy(self, **said: Any) -> int:
        """The number of a new process."""
        words, numbers = self._process.stdin, self._process.stdout
        with self._turn:
            if words is None or numbers is None or self._process.poll() is not None:
                raise RuntimeError("the process that would be copied has ended")
            words.write(json.dumps(said) + "\n")
            words.flush()
            return int(numbers.readline())

    def end(self) -> None:
        """No more copies."""
        self._process.communicate()


class Copy:
    """A process that another one began, with what a provisioner asks of a `Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        """None, as long as it runs."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    wait = poll
    """It is waited for by polls: then it has ended."""

    def send_signal(self, number: int) -> None:
        """Nothing, if it has ended meanwhile."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


class Copied(LocalProvisioner):
    """Launches a kernel as a copy of the origin."""

    origin: Origin
    process: Any = None

    async def launch_kernel(self, cmd: list[str], **given: Any) -> Any:
        words = cmd[cmd.index("ipykernel_launcher") + 1 :]
        self.pid = self.origin.copy(words=words, folder=given["cwd"], environment=given["env"] | ALONE)
        self.pgid, self.process = self.pid, Copy(self.pid)
        return self.connection_info


@contextmanager
def copied() -> Iterator[None]:
    """Every kernel that is launched meanwhile is a copy."""
    if sys.platform != "linux":
        yield
        return
    factory = KernelProvisionerFactory.instance()
    factory.provisioners[NAME] = EntryPoint(NAME, f"{__name__}:Copied", factory.GROUP_NAME)
    before, factory.default_provisioner_name = factory.default_provisioner_name, NAME
    Copied.origin = Origin()
    try:
        yield
    finally:
        factory.default_provisioner_name = before
        Copied.origin.end()
