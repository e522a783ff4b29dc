"""A process that has imported libraries and run nothing: kernels begin as its copies (`docs/kernels.py` asks for them).

A line of JSON on standard input says which: words for the kernel, a folder, an environment; the number of the copy is
answered. Threads are counted before each: beside others a fork may hang, and numerical libraries start none where the
environment forbids it (`kernels.ALONE`).
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import sys
import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path

THREADS = Path("/proc/self/task")
LIBRARIES = (
    "ipykernel.kernelapp", "ipykernel.debugger", "IPython.core.completerlib", "IPython.core.pylabtools",
    "IPython.extensions.storemagic", "tornado.platform.asyncio", "psutil", "sqlite3", "numba",
    "numpy", "scipy.linalg", "scipy.optimize", "pandas", "matplotlib.pyplot", "matplotlib.backends.backend_agg",
    "duckdb", "pyarrow.parquet", "sqlalchemy.dialects.sqlite", "cryptography.hazmat.primitives.ciphers.algorithms",
    "dpcurves.shortcuts", "dpcurves.session", "dpcurves.ledger.ledger", "dpcurves.records.table_sources",
)  # fmt: skip
"""What nearly all examples need. Whatever else one needs, it imports itself, as in any process."""


def copy(words: list[str], folder: str, environment: dict[str, str]) -> int:
    """The number of the process that is a kernel from now on; there, nothing is returned."""
    running = len(list(THREADS.iterdir()))
    if running != 1:
        raise RuntimeError(f"there are {running} threads: beside others, no process may be copied")
    number = os.fork()
    if not number:
        become(words, folder, environment)
    return number


def become(words: list[str], folder: str, environment: dict[str, str]) -> None:
    """Run a kernel to its end, in the place of `python -m ipykernel_launcher`, with draws of its own."""
    above = os.getppid()  # it ends with whom it is a copy of
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["ipykernel_launcher", *words]
    sys.modules["numpy"].random.seed()  # else all would draw the same; `random` sees to this itself
    kernel = sys.modules["ipykernel.kernelapp"].IPKernelApp
    kernel.launch_instance([*words, f"--IPKernelApp.parent_handle={above}"])
    end()


def end() -> None:
    """End as copies of `multiprocessing` do: threads and what is registered come first, and nothing is taken apart.

    What a copy shares with this process would be copied to be taken apart, which takes longer than most examples.
    """
    threading._shutdown()
    atexit._run_exitfuncs()
    os._exit(0)


def forget(*_: object) -> None:
    """Let go of the copies that have ended: nobody asks how, but their time counts as that of this process."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def main() -> None:
    """Import, and make a copy for each line."""
    del sys.path[0]  # this folder, in which a library would find other modules than its own
    for name in LIBRARIES:
        import_module(name)
    gc.collect()
    gc.freeze()  # else copies would look for garbage in what they share, and so copy it
    signal.signal(signal.SIGCHLD, forget)
    for line in sys.stdin:
        print(copy(**json.loads(line)), flush=True)
    end()


if __name__ == "__main__":
    main()
