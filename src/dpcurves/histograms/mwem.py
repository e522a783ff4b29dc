"""An estimate is improved where it is worst, again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import Refused
from ..arrays import FloatArray
from ..data import Axis, Outside
from ..queries import Read, WorstBoxQuery
from ..queries.region import Box
from ..release import Setting, Step
from .extent import Extent
from .region_counts import counted, records_inside
from .table_estimator import Axes, Conversation, EstimatedTable

SWEEPS = 100
MOST_BOXES = 4096
LEAST_EXPECTED = 1e-9
"""So large a part of all records, at least, is expected in a box that was counted, and beside it."""
MOST_EXPECTED = 1e18


class BoxCount(NamedTuple):
    """A box that was counted: which cells, and how many records were found in it and beside it."""

    cells: tuple[slice, ...]
    within: float
    beside: float


@dataclass(frozen=True, slots=True)
class MwemEstimator:
    """Multiplicative weights (Hardt, Ligett and McSherry 2012): in each round the worst box is chosen and counted.

    Boxes begin at the first cell: along one axis they are prefixes. The records outside the box are counted together
    with it at no further cost, which makes the total more exact round by round. The paper takes the total as known;
    here, where it is private, a first count of it is paid for. After each round the estimate is fitted to all boxes so
    far, starting from the previous estimate.

    Attributes:
        rounds: How many boxes are counted.

    Raises:
        ValueError: there is no round.
    """

    rounds: int = 10

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise Refused("rounds", f"at least 1 is needed, got {self.rounds}")

    def counts(self, axes: Axes, setting: Setting, share: Fraction) -> Conversation:
        """Ask for the number of records, if need be, then turn by turn for a box and its count."""
        extent = Extent.of(axes)
        total, left, paid = yield from records_inside(axes, extent, setting, share)
        boxes = candidates(extent.shape)
        rounds = min(self.rounds, len(boxes))
        estimate, so_far, found = np.full(extent.shape, max(total, 1.0) / extent.cells), list[BoxCount](), None
        for turn in range(rounds):
            expected = tuple(round(min(float(estimate[inside(box)].sum()), MOST_EXPECTED)) for box in boxes)
            shifted = tuple(_in_table(box, axes) for box in boxes)
            chosen = yield Step(WorstBoxQuery(axes, shifted, expected), left / rounds / 2)
            box = boxes.pop(chosen.values[0])
            found = yield from counted(axes, extent, [_beside(box, extent)], Read.CELLS, left / rounds / 2, turn=turn)
            so_far.append(_box_count(box, found.cells))
            estimate = fitted(estimate, so_far)
            paid = (*paid, chosen, *found.releases)
        return EstimatedTable(estimate, found.outside if found else 0.0, found.missing if found else 0.0, paid)


def candidates(shape: tuple[int, ...]) -> list[Box]:
    """The boxes that may be counted: from the first cell on; at most `MOST_BOXES`, of which none but the only has all.

    >>> candidates((3,))
    [((0, 1),), ((0, 2),)]
    >>> len(candidates((4, 4))), candidates((1, 1))
    (15, [((0, 1), (0, 1))])
    """
    most = int(MOST_BOXES ** (1 / len(shape)) + 1e-9)
    ends = (np.unique(np.ceil(np.linspace(0, cells, min(cells, most) + 1)[1:]).astype(int)).tolist() for cells in shape)
    boxes: list[Box] = [tuple((0, end) for end in corner) for corner in product(*ends)]
    return boxes[:-1] or boxes


def inside(box: Box) -> tuple[slice, ...]:
    """To take the cells of a box."""
    return tuple(slice(low, high) for low, high in box)


def fitted(estimate: FloatArray, so_far: Sequence[BoxCount]) -> FloatArray:
    """Nearest to the estimate, in relative entropy, of all that agree with what was found: box by box, in sweeps.

    The paper moves part of the way to the last count; here counts are met (Deming and Stephan 1940), which does not
    depend on how many records there are. Of the box a count in it and what is left beside it are averaged.
    """
    total = max(float(np.mean([one.within + one.beside for one in so_far])), 1.0)
    least = LEAST_EXPECTED * total
    for _ in range(SWEEPS):
        for one in so_far:
            aim = min(max((one.within + total - one.beside) / 2, least), total - least)
            estimate = estimate * (total / estimate.sum())
            within = float(estimate[one.cells].sum())
            beside = (total - aim) / max(total - within, least)
            estimate *= beside
            estimate[one.cells] *= aim / max(within, least) / beside
    return estimate


def _in_table(box: Box, axes: Axes) -> Box:
    """The box in the table, where cells for values outside come first."""
    apart = [isinstance(axis, Axis) and axis.grid.outside is Outside.APART for axis in axes]
    return tuple((low + shift, high + shift) for (low, high), shift in zip(box, apart, strict=True))


def _beside(box: Box, extent: Extent) -> NDArray[np.int64]:
    """0 in the box, 1 beside it."""
    label = np.ones(extent.shape, dtype=np.int64)
    label[inside(box)] = 0
    return label.ravel()


def _box_count(box: Box, cells: FloatArray) -> BoxCount:
    within = float(cells[inside(box)].sum())
    return BoxCount(inside(box), within, float(cells.sum()) - within)
