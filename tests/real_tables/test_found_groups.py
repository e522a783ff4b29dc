"""A group that was selected privately is counted by the name that it was selected by; else a note says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcurves as dp
from dpcurves.data import FALSE_NAMES, Categories, HashUniverse, UnlistedCategories
from dpcurves.mechanisms.partition_selection import (
    TUNING,
    bound_units_below,
    calibrate_category_noise,
    calibrate_universe_noise,
)
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.queries import PartitionSelectionQuery, UniverseSelectionQuery
from dpcurves.records import open_records
from dpcurves.trust import Central

GRID = dp.Grid(0, 100, cells=16)
ADJACENCIES = (dp.ADD_REMOVE, dp.REPLACE_ONE)


def groups_of(values: list[Any] | pa.Array, universe: HashUniverse | None, seed: int = 1) -> dict[str, int]:
    """The groups that a question with next to no noise finds, and how many records each has."""
    loss = dp.PrivacyLoss.pure(2000) if universe else dp.PrivacyLoss.pure(2000, "1e-3")
    table = {"g": values, "x": np.arange(len(values)) % 100.0}
    given: Any = {"budget": loss, "adjacency": dp.ADD_REMOVE, "randomness": dp.Randomness.from_seed(seed)}
    with dp.Session(table, **given) as session:
        curves = session.ask(dp.CountQuestion("x", by=UnlistedCategories("g", universe=universe)), loss)
    return {str(name): round(curve.count) for name, curve in curves.items()}


def test_names_of_all_alphabets_are_found_and_counted_under_a_hashed_universe() -> None:
    names = ["é", "it's", 'a "b"', "back\\slash", "\\x41", "日本", "🦔", "ß", "a,b", " ", "01", "nurse"]
    values = [name for at, name in enumerate(names) for _ in range(100 + at)]
    hashed = HashUniverse(52)
    counts = {hashed.label(name): 100 + at for at, name in enumerate(names)}
    assert groups_of(values, hashed) == {**counts, "other": 0}
    assert groups_of(values, None) == {**{name: 100 + at for at, name in enumerate(names)}, "other": 0}


def test_numbers_of_32_bits_are_found_and_counted_and_zero_has_one_sign() -> None:
    values = pa.array([0.1, 0.0, -0.0, 7.0] * 100, pa.float32())
    counts = {"0.1": 100, "0.0": 200, "7.0": 100}
    assert groups_of(values, None) == {**counts, "other": 0}
    assert groups_of(values, HashUniverse(52)) == {
        **{HashUniverse(52).label(name): n for name, n in counts.items()},
        "other": 0,
    }


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=6).filter(lambda text: text.isprintable()), min_size=1, max_size=12), st.booleans())
def test_every_text_is_counted_under_the_hash_of_its_name(values: list[str], of_units: bool) -> None:
    hashed, unit = HashUniverse(256), Unit("who", 1) if of_units else EACH_RECORD
    with open_records({"g": values, "who": range(len(values))}, unit=unit, key=bytes(32)) as records:
        labels = tuple(sorted({hashed.label(value) for value in values}))
        counts = records.counts((UnlistedCategories("g", universe=hashed).to_selected_categories(labels),)).tolist()
    assert counts == [*(sum(hashed.label(value) == label for value in values) for label in labels), 0, 0]


QUESTIONS: dict[str, Any] = {
    "cdf": lambda by: dp.CdfQuestion("x", GRID, by=by), "histogram": lambda by: dp.HistogramQuestion("x", GRID, by=by),
    "count": lambda by: dp.CountQuestion("x", by=by), "mean": lambda by: dp.MeanQuestion("x", 0, 100, by=by),
    "two columns": lambda by: dp.HistogramQuestion("x", GRID, by=(by, Categories("h", ("u", "v")))),
}  # fmt: skip


def notes_of(table: Any, question: Any, loss: dp.PrivacyLoss, adjacency: Any, seed: int) -> list[str]:
    randomness = dp.Randomness.from_seed(seed)
    with dp.Session(table, budget=loss, adjacency=adjacency, randomness=randomness) as session:
        curves = session.ask(question, loss)
    return [note for note in curves.privacy.notes if "of which about no record is counted" in note]


@pytest.mark.quick_share(4, kinds=["universe"])
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("universe", [None, HashUniverse(32)], ids=str)
def test_a_group_without_a_counted_record_is_noted_and_no_other(name: str, universe: HashUniverse | None) -> None:
    size = 1500
    values = [float(at % 100) for at in range(size)]
    table = {"g": ["é"] * size + ["b"] * size, "x": [None] * size + values, "h": ["u", "v"] * size}
    loss = dp.PrivacyLoss.pure(4) if universe else dp.PrivacyLoss.pure(4, "1e-6")
    label = "é" if universe is None else universe.label("é")
    for adjacency in ADJACENCIES:
        question = QUESTIONS[name](UnlistedCategories("g", universe=universe))
        (note,) = notes_of(table, question, loss, adjacency, 3)
        assert repr(label) in note
        assert note.count("units)") == 1
        assert not notes_of({**table, "x": values * 2}, question, loss, adjacency, 3)


@pytest.mark.reproduction
@pytest.mark.filterwarnings("ignore")
def test_no_note_on_ordinary_groups() -> None:
    """Groups of all sizes about the threshold, half of whose records are missing: by its rule a note has a probability
    below 6e-6 a group, so of 12 releases of about 100 groups less than 0.01.
    """
    sizes = np.repeat([5, 20, 40, 80, 160, 1000], 30)
    values = np.repeat([f"g{at}" for at in range(len(sizes))], sizes)
    table = {"g": values, "x": np.where(np.arange(len(values)) % 2, np.nan, 50.0)}
    for seed in range(12):
        universe, adjacency = (HashUniverse(32) if seed % 2 else None), ADJACENCIES[seed // 2 % 2]
        loss = dp.PrivacyLoss.pure(1) if universe else dp.PrivacyLoss.pure(1, "1e-6")
        question = dp.CountQuestion("x", by=UnlistedCategories("g", universe=universe))
        assert notes_of(table, question, loss, adjacency, seed) == []


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_the_least_number_of_units_is_below_the_true_one(adjacency: Any) -> None:
    loss, known = (
        dp.PrivacyLoss.pure(1, "1e-6"),
        adjacency.to_adjacency(EACH_RECORD, None if adjacency is dp.ADD_REMOVE else 9),
    )
    noise = calibrate_category_noise(loss, known)
    plan = Central().plan_query(PartitionSelectionQuery.from_column("g"), loss, known)
    # The noise is at most the threshold, so of n units at most n + threshold are told.
    assert bound_units_below(plan, "a", 7 + noise.threshold) == 7
    universe = HashUniverse(32)
    ranked = Central().plan_query(
        UniverseSelectionQuery((UnlistedCategories("g", universe=universe),)), dp.PrivacyLoss.pure(1), known
    )
    counts = calibrate_universe_noise(ranked.loss, known, universe.sizes)
    told = counts.selection_probability(0, 0) * universe.sizes[0]
    assert told <= float(FALSE_NAMES)
    beyond = -bound_units_below(ranked, universe.label("a"), 0)  # noise above this is taken for units
    q = np.exp(-float(counts.rate))
    assert universe.sizes[0] * q ** (beyond + 1) / (1 + q) <= TUNING.alarm
