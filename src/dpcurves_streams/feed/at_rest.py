"""Sources that are finished: files, Parquet, data frames, DuckDB relations. All is there, so nothing comes late."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dpcurves.arguments import Refused
from dpcurves.records import Tuples, Used

from .dropped import Reason
from .intake import Intake
from .window import Window

_DROPPED = (Reason.MALFORMED, Reason.OUTSIDE, Reason.UNKNOWN, Reason.BEYOND_CAP)


class AtRest:
    """Counts all windows that have closed by now, in DuckDB.

    Args:
        data: A path to a .csv or .parquet file, a data frame, an Arrow table, a mapping or a DuckDB relation.
        intake: What is declared of the stream.
        delimiter: What separates the fields of a CSV file.
    """

    __slots__ = ("_data", "_delimiter", "_intake")

    def __init__(self, data: Any, intake: Intake, delimiter: str = ",") -> None:
        self._data, self._intake, self._delimiter = data, intake, delimiter

    def check(self) -> None:
        """Refuse columns that are not there, and a stream without end: what is finished has one."""
        require_end(self._intake)
        self._opened(0).close()

    def after(self, tick: int) -> Iterator[Sequence[Window]]:
        """Iterate over later windows that have closed."""
        last = self._intake.schedule.closed_by(self._intake.clock.now())
        tuples = self._opened(last)
        try:
            for reason, count in zip(_DROPPED, tuples.dropped(), strict=True):
                self._intake.dropped.add(reason, count)
            yield from self._windows(_Found(tuples, tick), tick, last)
        finally:
            tuples.close()

    def done(self, tick: int) -> None:
        """Nothing: the file stays."""

    def _windows(self, found: _Found, tick: int, last: int) -> Iterator[Sequence[Window]]:
        for ticks in self._intake.batches(tick + 1, last):
            table = np.zeros((len(ticks), self._intake.cells), dtype=np.int64)
            for at, place, count in found.up_to(ticks.stop):
                table[at - ticks.start, place] = count
            yield [Window(each, row) for each, row in zip(ticks, table, strict=True)]

    def _opened(self, last: int) -> Tuples:
        fields, schedule = self._intake.fields, self._intake.schedule
        used = Used(fields.time, fields.user, fields.tuples_per_user or 1, schedule.start, schedule.every, last)
        return Tuples(self._data, used, self._intake.axes, self._intake.key, self._delimiter)


def require_end(intake: Intake) -> None:
    """Refuse a stream without end. Raises `ValueError`."""
    if intake.schedule.end is None:
        raise Refused("end", "say when the last step ends: these tuples are not live")


class _Found:
    """SECRET. Counts in the order of steps, handed out up to a step."""

    def __init__(self, tuples: Tuples, tick: int) -> None:
        self._batches = tuples.counts(tick)
        self._rest: Any = None

    def up_to(self, stop: int) -> Iterator[Any]:
        """Steps below `stop`, with places and counts, as arrays."""
        while (batch := self._rest if self._rest is not None else next(self._batches, None)) is not None:
            cut = int(np.searchsorted(batch[0], stop))
            yield tuple(column[:cut] for column in batch)
            self._rest = tuple(column[cut:] for column in batch) if cut < len(batch[0]) else None
            if self._rest is not None:
                return
