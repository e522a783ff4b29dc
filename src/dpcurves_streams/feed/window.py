"""Windows of a source: exact counts of closed steps. SECRET."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpcurves.arguments import Refused
from dpcurves.arrays import IntArray

MOST = 2**60


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Window:
    """SECRET. The exact counts of one step. It has no repr.

    Attributes:
        tick: The number of the step, from 1 on.
        counts: How many tuples each key has, (keys,).
    """

    tick: int
    counts: IntArray

    def checked(self, cells: int) -> IntArray:
        """The counts, from 0 to 2**60: what lies outside is taken to be the nearer end, so no tuple moves more.

        Raises:
            ValueError: they are not whole by their type, or not one a cell. (A fraction would be seen through noise.)
        """
        counts = np.asarray(self.counts)
        if counts.dtype.kind not in "iu" or counts.shape != (cells,):
            raise Refused("source", f"a window has {cells} counts that are whole numbers by their type")
        return np.clip(counts, 0, MOST).astype(np.int64)


class Windows(Protocol):
    """A source: exact keyed counts of windows that have closed. An engine that counts by itself, as Spark, is one.

    Formal guarantees: how many windows come, and when, is public: it depends on the schedule and on clocks, not on
    tuples. Counts of neighbouring streams differ by at most ``adjacency.l1_sensitivity``, over all windows and keys.
    """

    def check(self) -> None:
        """Refuse what cannot be read, by its header or schema alone: before anything is charged.

        Raises:
            ValueError: a field is not there.
        """
        ...

    def after(self, tick: int) -> Iterator[Sequence[Window]]:
        """Iterate over later windows in order, none left out, as they close; several where several have."""
        ...

    def done(self, tick: int) -> None:
        """Forget what windows up to this one were counted from: their answers are durable."""
        ...
