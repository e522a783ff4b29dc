"""Work that kills its worker. Those who start anew import nothing else."""

from __future__ import annotations

import os
import signal


def doubled(number: int) -> str:
    return f"{number} "


def die_once(file: str, number: int) -> str:
    """The first one who gets here is killed."""
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return doubled(number)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def always_die(number: int) -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError
