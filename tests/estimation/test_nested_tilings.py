"""Trees of halves through any nested tilings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpcurves.estimation.binary_tree import ROOT, Layout

Bounds = NDArray[np.int64]


@st.composite
def tilings(draw: st.DrawFn) -> list[Bounds]:
    cells = draw(st.integers(1, 60))
    chain = [set(draw(st.sets(st.integers(1, cells), max_size=cells)))]
    for _ in range(draw(st.integers(0, 2))):
        chain.append(chain[-1] | set(draw(st.sets(st.integers(1, cells), max_size=cells))))
    return [np.array(sorted(inner | {0, cells})) for inner in chain]


@given(tilings())
def test_all_intervals_and_all_cells_are_nodes(nested: list[Bounds]) -> None:
    layout = Layout.from_tilings(nested)
    for bounds in (*nested, np.arange(layout.cells + 1)):
        found = layout.find_nodes(bounds)
        assert layout.begin[found].tolist() == bounds[:-1].tolist()
        assert layout.width[found].tolist() == np.diff(bounds).tolist()
    assert layout.begin[layout.cell_nodes].tolist() == list(range(layout.cells))


@given(tilings())
def test_each_node_is_its_two_halves_and_comes_before_them(nested: list[Bounds]) -> None:
    layout = Layout.from_tilings(nested)
    numbers = np.arange(layout.nodes)
    reached = {ROOT}
    for parent, left, right, off_end in layout.halvings:
        assert not off_end
        assert set(numbers[parent].tolist()) <= reached
        assert layout.begin[left].tolist() == layout.begin[parent].tolist()
        assert (layout.begin[left] + layout.width[left]).tolist() == layout.begin[right].tolist()
        assert (layout.width[left] + layout.width[right]).tolist() == layout.width[parent].tolist()
        assert min(layout.width[left].min(), layout.width[right].min()) > 0
        reached |= {*numbers[left].tolist(), *numbers[right].tolist()}
    assert len(reached) == layout.nodes - 1 == 2 * layout.cells - 1


def test_widths_that_are_powers_of_two_make_even_halves() -> None:
    layout = Layout.from_tilings([np.arange(0, 65, 16), np.arange(0, 65, 4)])
    assert [len(halving.parent) for halving in layout.halvings if isinstance(halving.parent, np.ndarray)] == [
        1, 2, 4, 8, 16, 32,
    ]  # fmt: skip
    assert sorted(set(layout.width[1:].tolist())) == [1, 2, 4, 8, 16, 32, 64]


def test_many_intervals_under_one_are_halved_in_few_steps() -> None:
    layout = Layout.from_tilings([np.array([0, 1000])])
    assert len(layout.halvings) == 10


def test_tilings_that_are_not_nested_are_not_found() -> None:
    coarse, fine = np.array([0, 3, 8]), np.array([0, 4, 8])
    with pytest.raises(ValueError, match="cells 0 to 3 of 8 do not form an interval of this tree"):
        Layout.from_tilings([coarse, fine]).find_nodes(fine)
