from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dpcurves.queries import Boxes, SplitRule

CASES = [
    ((7,), (2,)),
    ((9,), (3,)),
    ((5,), (4,)),
    ((6, 5), (2, 3)),
    ((4, 3), (1, 2)),
    ((1,), (2,)),
    ((3, 1, 2), (2, 2, 2)),
]


def covered(boxes: Boxes, shape: tuple[int, ...]) -> np.ndarray:
    """How many boxes hold each cell."""
    held = np.zeros(shape, dtype=np.int64)
    for low, high in zip(boxes.lower.tolist(), boxes.upper.tolist(), strict=True):
        held[tuple(slice(*side) for side in zip(low, high, strict=True))] += 1
    return held


@pytest.mark.parametrize(("shape", "fans"), CASES)
def test_parts_hold_each_cell_once_and_are_about_equal(shape: tuple[int, ...], fans: tuple[int, ...]) -> None:
    splitting = SplitRule(shape, fans)
    boxes, generations = splitting.whole_box, 0
    while splitting.is_divisible(boxes).any():
        boxes = splitting.divide(boxes)
        generations += 1
        assert (covered(boxes, shape) == 1).all()
        assert (np.ptp(boxes.width, axis=0) <= generations).all()
    assert generations == splitting.height
    assert all(width == 1 or fan == 1 for row in boxes.width.tolist() for width, fan in zip(row, fans, strict=True))


@pytest.mark.parametrize(("shape", "fans"), CASES)
def test_leaves_hold_each_cell_once_whatever_is_decided(shape: tuple[int, ...], fans: tuple[int, ...]) -> None:
    splitting, generator = SplitRule(shape, fans), np.random.default_rng(1)
    for _ in range(20):
        boxes, decisions = splitting.whole_box, []
        while len(boxes.lower):
            boxes = boxes.select(splitting.is_divisible(boxes))
            divided = generator.random(len(boxes.lower)) < 0.6
            decisions += divided.astype(int).tolist()
            boxes = splitting.divide(boxes.select(divided))
        assert (covered(splitting.find_leaves(decisions), shape) == 1).all()


def test_a_box_has_at_most_so_many_parts() -> None:
    for (shape, fans), extra in product(CASES, (0, 1)):
        splitting = SplitRule(tuple(cells + extra for cells in shape), fans)
        assert len(splitting.divide(splitting.whole_box).lower) == splitting.most_parts


@pytest.mark.parametrize("decisions", [[], [1], [1, 0], [0, 0], [1, 0, 0, 0]])
def test_decisions_that_do_not_fit_are_refused(decisions: list[int]) -> None:
    with pytest.raises(ValueError, match="^decisions: "):
        SplitRule((4,), (2,)).find_leaves(decisions)
