"""Axes: columns and declared categories."""

from __future__ import annotations

import pytest

from dpcurves.data import Axis, Categories, Grid, Outside
from dpcurves.data.axis import Category


def test_an_axis_has_the_slots_of_its_grid() -> None:
    assert Axis("x", Grid(0, 1, cells=4)).slots == 4
    assert Axis("x", Grid(0, 1, cells=4, outside=Outside.APART)).slots == 6
    assert Categories("carrier", ("AA", "UA")).slots == 2


@pytest.mark.parametrize("values", [(), ("a", "a"), (1, True), (0, -0.0), (1, float("nan"))])
def test_categories_are_declared_each_once(values: tuple[Category, ...]) -> None:
    with pytest.raises(ValueError, match="^categories: "):
        Categories("label", values)
