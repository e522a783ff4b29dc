"""CONFIDENTIAL. How many tuples were not counted, and why: for the operator alone, never for readers."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from enum import Enum
from os import PathLike

from dpcurves.arguments import Refused


class Reason(Enum):
    """Why a tuple is not counted. Each is judged by itself, by the public schedule and by when it arrived."""

    MALFORMED = "malformed"
    UNKNOWN = "of an unknown state"
    OUTSIDE = "before the start or after the end"
    LATE = "late"
    FUTURE = "from the future"
    BEYOND_CAP = "beyond what is used of a user"
    REPEATED = "delivered again"


class Dropped:
    """Counts of dropped tuples. It has no repr; what it counted is exact, and private.

    Args:
        file: Where they are appended to as JSON lines, readable by its owner alone; None: nowhere.

    Raises:
        ValueError: the file cannot be written.
    """

    __slots__ = ("_counts", "_file")

    def __init__(self, file: PathLike[str] | str | None = None) -> None:
        self._counts: Counter[Reason] = Counter()
        self._file = None if file is None else os.fspath(file)
        self.write(0)

    def add(self, reason: Reason, tuples: int = 1) -> None:
        """Count some more."""
        self._counts[reason] += tuples

    @property
    def counts(self) -> Mapping[str, int]:
        """CONFIDENTIAL. How many so far, by reason."""
        return {reason.value: self._counts[reason] for reason in Reason}

    def write(self, tick: int) -> None:
        """Append what was counted up to a step: once a step, whatever came."""
        if self._file is None:
            return
        try:
            opened = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(opened, "w", encoding="utf-8") as file:
                file.write(json.dumps({"step": tick, **self.counts}) + "\n")
        except OSError as error:
            trouble = str(error.strerror)
        else:
            return
        raise Refused("confidential_log", f"it cannot be written ({trouble})")
