"""A curve says where it is straight though one cell may hold most records, and nowhere else."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from by_hand import answer

from dpcurves.conversation import Evidence
from dpcurves.curves import CdfQuestion
from dpcurves.curves.prefixes import PrefixShares
from dpcurves.curves.straight_intervals import note_on_straight_interval
from dpcurves.data import Grid
from dpcurves.distributions import Family, IntervalSums, Noise, Tier
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss, ReplaceOne


def evidence_of(starts: tuple[int, ...], counts: tuple[int, ...], scale: int = 10) -> Evidence:
    noise = Noise(Family.LAPLACE, Fraction(scale))
    return Evidence(IntervalSums(1, 64, (Tier(starts, noise),), missing=noise), (*counts, 0), sum(counts))


def notes_of(last: Evidence, *earlier: Evidence) -> tuple[str, ...]:
    return note_on_straight_interval(PrefixShares(last, Grid(0, 64, cells=64), earlier))


def test_note_names_the_interval_its_records_and_the_remedy() -> None:
    (note,) = notes_of(evidence_of((0, 16, 22), (50, 900, 50)))
    assert note.startswith("about 90% of the records lie between 16 and 22, which were counted together")
    assert "one of these 6 cells" in note
    assert "hint=Hint.ATOMS (--hint atoms)" in note


@pytest.mark.parametrize(
    ("starts", "counts"),
    [
        ((0, 16, 22), (300, 400, 300)),  # no interval holds most
        ((0, 16, 22), (2, 40, 2)),  # nor surely so
        ((0, 16, 32), (50, 900, 50)),  # a quarter of the grid
        ((0, 16, 17), (50, 900, 50)),  # a single cell, which the curve shows as a step
        (tuple(range(64)), (10,) * 64),
    ],
)
def test_no_note_where_nothing_is_left_open(starts: tuple[int, ...], counts: tuple[int, ...]) -> None:
    assert notes_of(evidence_of(starts, counts)) == ()


def test_no_note_where_an_earlier_round_counted_inside_well() -> None:
    last = evidence_of((0, 1, 16, 20, 24, 32, 48, 63), (0, 25, 900, 5, 25, 25, 20, 0))
    counts = tuple(225 if 16 <= cell < 20 else 2 for cell in range(64))
    assert notes_of(last, evidence_of(tuple(range(64)), counts)) == ()
    assert len(notes_of(last, evidence_of(tuple(range(64)), counts, scale=1_000))) == 1


@pytest.mark.parametrize("is_public", [True, False])
def test_ordinary_data_have_no_such_note(is_public: bool) -> None:
    draw = np.random.default_rng(3)
    distributions = (
        draw.normal(0.5, 0.15, 1_000),
        draw.uniform(size=1_000),
        draw.exponential(0.2, 1_000),
        draw.beta(1, 4, 1_000),
    )
    for x, epsilon in ((x, epsilon) for x in distributions for epsilon in ("0.1", "1")):
        adjacency = ReplaceOne(EACH_RECORD, len(x)) if is_public else AddRemove(EACH_RECORD)
        question = CdfQuestion("x", Grid(0, 1, cells=256))
        curve = answer(question, {"x": x.clip(0, 1)}, PrivacyLoss.pure(epsilon), adjacency, 1)
        assert not any("straight" in note for note in curve.notes)
