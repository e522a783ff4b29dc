"""File beside a ticket, of what servers agreed on when they closed a task: those who ask hold them to it later."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from ..identity import FileTaken, write_public
from ..messages import ProtocolAborted

KIND = "closed task"


@dataclass(frozen=True, slots=True)
class AgreedReports:
    """Reports and noise of a closed task. Public.

    Attributes:
        task: The hash of the task.
        set: The hash of the reports that count.
        reports: Number of reports.
        commitments: Those of server 0 and server 1 to their noise.
    """

    task: str
    set: str
    reports: int
    commitments: tuple[str, ...]

    def to_json(self) -> str:
        """The text of the file; the same facts have the same text."""
        return json.dumps({"dpcurves": KIND, **asdict(self)}, indent=1, sort_keys=True) + "\n"

    def keep(self, file: Path) -> None:
        """Write the file, if it is not there, and hold servers to what it says.

        Formal guarantees: who has kept a file never reads counts of another set of reports, or with other noise, under
        the same task; so servers whose stores were both lost or put back are found out by whoever asked them before.

        Raises:
            ProtocolAborted: it says something else, or can not be read or written.
        """
        with suppress(FileTaken):
            write_public(file, self.to_json())
            return
        try:
            kept = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise ProtocolAborted("file", f"{str(file)!r} cannot be read") from None
        if kept != self.to_json():
            rule = f"they name other reports or other noise than before, which {str(file)!r} holds them to"
            raise ProtocolAborted("servers", rule, 502)


def beside(ticket: Path) -> Path:
    """The file beside a ticket."""
    return ticket.with_name(ticket.name + ".closed")
