"""Probabilities that exceed [0, 1] by rounding count at its ends; a mistake of unit does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.data import HUNDREDTHS, UNIT_INTERVAL, Axis, Grid, Outside
from dpcurves.data.grid import PROBABILITY_ROUNDING
from dpcurves.privacy import EACH_RECORD
from dpcurves.records.table_sources import open_records
from dpcurves_engines.conformance import collect_test_numbers
from dpcurves_engines.slots import find_thresholds

EXACT: dict[str, Any] = {"epsilon": 10**6, "adjacency": dp.ADD_REMOVE}
PROBABILITIES = [
    HUNDREDTHS,
    UNIT_INTERVAL,
    Grid(0, 1, cells=1, outside=Outside.APART),
    Grid(0, 1, cells=7, outside=Outside.APART),
    Grid.from_edges([0, 0.3, 1], outside=Outside.APART),
]
NEAR = np.array([
    -1.0, -2 * PROBABILITY_ROUNDING, np.nextafter(-PROBABILITY_ROUNDING, -1), -PROBABILITY_ROUNDING,
    -1e-17, -0.0, 0.0, 0.5, 1.0, 1.00000012, 1 + PROBABILITY_ROUNDING,
    np.nextafter(1 + PROBABILITY_ROUNDING, 2), 1 + 2 * PROBABILITY_ROUNDING, 1.02, 50.0, np.inf, -np.inf, np.nan,
])  # fmt: skip


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("grid", PROBABILITIES, ids=str)
def test_the_slot_of_a_rounded_probability_is_an_end_cell_in_numpy_in_sql_and_among_thresholds(grid: Grid) -> None:
    slots = grid.cell_of(NEAR)
    assert slots[:3].tolist() == [0, 0, 0]
    assert slots[3:6].tolist() == [1, 1, 1]
    assert slots[9:11].tolist() == [grid.cells, grid.cells]
    assert slots[11:15].tolist() == [grid.cells + 1] * 4
    known = NEAR[:-1]
    assert np.searchsorted(find_thresholds(grid), known, side="right").tolist() == slots[:-1].tolist()
    with open_records({"p": NEAR}, unit=EACH_RECORD, key=b"key") as records:
        axes = (Axis("p", grid),)
        assert records.counts(axes).tolist() == np.bincount(slots, minlength=grid.slots + 1).tolist()
        assert records.prefixes(axes, [1, grid.cells + 1])[:2] == [
            np.sum(slots < 1),
            np.sum(slots < grid.cells + 1),
        ]
        assert records.sums(axes, 8)[:-1] == [
            int(grid.offset_of(NEAR, 8)[slots == slot].sum()) for slot in range(grid.slots)
        ]


def test_engines_prove_the_cells_of_rounded_probabilities() -> None:
    ends = collect_test_numbers(HUNDREDTHS)
    assert {-PROBABILITY_ROUNDING, 1 + PROBABILITY_ROUNDING, np.nextafter(1 + PROBABILITY_ROUNDING, 2)} <= set(
        ends.tolist()
    )


@pytest.mark.parametrize(
    "grid", [Grid(0, 2, cells=2, outside=Outside.APART), Grid(0, 100, cells=5, outside=Outside.APART)]
)
def test_other_grids_keep_their_ends(grid: Grid) -> None:
    beyond = np.array([np.nextafter(grid.lower, -1), np.nextafter(grid.upper, np.inf)])
    assert grid.cell_of(beyond).tolist() == [0, grid.cells + 1]


def test_brier_log_loss_and_calibration_use_scores_that_exceed_one_by_rounding() -> None:
    generator = np.random.default_rng(1)
    scores = np.where(generator.random(4000) < 0.3, 1.0, generator.random(4000))
    labels = (generator.random(4000) < scores * 0.9).astype(int)
    rounded = np.where(scores == 1.0, 1.00000012, scores)
    rounded[scores < 0.01] = -1e-17
    shown = dp.scores(labels, rounded, **EXACT)
    wanted = dp.scores(labels, np.clip(rounded, 0, 1), **EXACT)
    for reading in ("brier", "log-loss"):
        assert shown.value(reading) == pytest.approx(wanted.value(reading), abs=1e-6)
    assert not any("by the released counts" in note for note in shown.notes)
    wrong = dp.scores(labels, np.where(scores == 1.0, 1.02, scores), **EXACT)
    assert any("above 1, where its cells end" in note for note in wrong.notes)
