"""A decision tree of thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from ...arguments import Refused, number, several, whole

LEAF = -1


@dataclass(frozen=True, slots=True)
class Tree:
    """A decision tree. Nodes have numbers; 0 is the root, and children come after their parents.

    Attributes:
        column: For each node the number of the column that is compared; -1: a leaf.
        threshold: What it is compared with.
        left: The next node where the value is at most the threshold.
        right: The next node where it is above.
        value: What a leaf adds.

    Raises:
        ValueError: the lists are not equally long, a child does not come after its parent, or a number is not finite.
    """

    column: tuple[int, ...]
    threshold: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    value: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("column", "left", "right"):
            given = several(name, getattr(self, name), "a list of whole numbers")
            object.__setattr__(self, name, tuple(whole(name, each) for each in given))
        for name in ("threshold", "value"):
            given = several(name, getattr(self, name), "a list of numbers")
            object.__setattr__(self, name, tuple(number(name, each) for each in given))
        size = len(self.column)
        if size < 1 or {len(self.threshold), len(self.left), len(self.right), len(self.value)} != {size}:
            raise Refused("trees", "each needs lists of one length, of at least one node")
        inner = [node for node, column in enumerate(self.column) if column != LEAF]
        if any(not node < child < size for node in inner for child in (self.left[node], self.right[node])):
            raise Refused("trees", "children come after their parents")
        if not all(map(isfinite, (*self.threshold, *self.value))):
            raise Refused("trees", "finite thresholds and values are needed")
