"""NumPy's integers, which overflow in silence, get nowhere near a scale of noise."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpcurves.data import Axis, Grid
from dpcurves.mechanisms import AUTO
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne, Unit
from dpcurves.queries import MedianQuery, MergePartitionQuery, QuantileCutsQuery, SumQuery, TreePartitionQuery

AXES = (Axis("x", Grid(0, 1, cells=2**15)),)
MAKERS: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("pieces", "pieces", lambda number: QuantileCutsQuery(AXES, number)),
    ("half", "half", lambda number: SumQuery(AXES, number)),
    ("levels", "levels", lambda number: MedianQuery(AXES, number)),
    ("min_records", "min_records", lambda number: MergePartitionQuery(AXES, number)),
    ("fans", "fans", lambda number: TreePartitionQuery(AXES, (number,), 0)),
    ("records", "rows_per_unit", lambda number: Unit("patient", number)),
    ("units", "units", lambda number: ReplaceOne(EACH_RECORD, number)),
]


@pytest.mark.parametrize(("field", "name", "make"), MAKERS)
def test_numpys_integers_become_pythons_and_fractions_are_refused(
    field: str, name: str, make: Callable[[Any], Any]
) -> None:
    made = make(np.int64(3))
    assert made == make(3)
    (held,) = np.ravel(np.array(getattr(made, field), dtype=object))
    assert type(held) is int
    with pytest.raises(TypeError, match=rf"^{name}: a whole number is needed, as in 5, got "):
        make(2.5)


@pytest.mark.parametrize("fan", [3, np.int64(3), np.int8(3)])
def test_the_sensitivity_of_a_deep_partition_does_not_overflow(fan: Any) -> None:
    plans = [
        AUTO.plan(TreePartitionQuery(AXES, (each,), 0), PrivacyLoss.pure(1), AddRemove(EACH_RECORD))
        for each in (fan, 3)
    ]
    assert plans[0] == plans[1]


def test_a_loss_is_exact() -> None:
    with pytest.raises(TypeError, match=r"^epsilon, rho: "):
        PrivacyLoss(None, 0.3)  # type: ignore[arg-type]
    assert PrivacyLoss.zcdp(0.3).rho == Fraction(3, 10)
