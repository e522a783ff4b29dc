"""SECRET until the task is closed: the file of the seed that pairs are drawn from, beside the coordinator's ticket."""

from __future__ import annotations

from pathlib import Path

from dpcurves.queries import commitment

from ..serving.errors import ProtocolAborted
from ..serving.new_files import write_secret
from .task import PairTask

SIZE = 32


def write_seed(ticket: Path, seed: bytes) -> Path:
    """Keep the seed in a new file that its owner alone may read.

    Raises:
        ValueError: there is one of this name, or the folder takes none.
    """
    path = _beside(ticket)
    write_secret(path, seed.hex() + "\n")
    return path


def read_seed(ticket: Path, task: PairTask) -> bytes:
    """The seed that a task has promised.

    Raises:
        ValueError: it is not there. Nothing of the file is shown.
    """
    path = _beside(ticket)
    try:
        seed = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except OSError as error:
        raise ProtocolAborted("seed", f"{str(path)!r} cannot be read ({error.strerror})") from None
    except ValueError:
        seed = b""
    if len(seed) != SIZE or commitment(seed) != task.commitment:
        raise ProtocolAborted("seed", f"{str(path)!r} does not hold the one that the task has promised")
    return seed


def _beside(ticket: Path) -> Path:
    return ticket.with_name(f"{ticket.name}.seed")
