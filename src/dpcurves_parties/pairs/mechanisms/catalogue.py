"""Kernels that statistics are named after. Each is three lines: so is one more."""

from __future__ import annotations

from ...crypto.circuits import sign
from .kernel import Kernel, Unsigned

GINI = Kernel(lambda x, y: abs(x.value - y.value), value=Unsigned(16))
"""Gini's mean difference: how far two people's values are apart."""

KENDALL = Kernel(
    lambda x, y: sign(x.first - y.first) * sign(x.second - y.second), first=Unsigned(16), second=Unsigned(16)
)
"""Kendall's tau-a: 1 where two people are in one order by both values, -1 where they are not, 0 where they tie."""

AUC = Kernel(
    lambda x, y: sign(x.positive - y.positive) * sign(x.score - y.score), score=Unsigned(16), positive=Unsigned(1)
)
"""How well scores rank two classes: Kendall's of score and class, whose labels nobody sees. See `area`."""

COLLISION = Kernel(lambda x, y: x.value == y.value, value=Unsigned(16))
"""How often two people have the same value."""

KERNELS = {"gini": GINI, "kendall": KENDALL, "auc": AUC, "collision": COLLISION}
"""By the names that the command line has for them."""
