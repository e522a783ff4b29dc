"""What survival curves and log-rank tests say of wide cells: when times are finer, and not where nobody is censored."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from by_hand import answer, both
from numpy.typing import NDArray

import dpcurves as dp
from dpcurves.curves import ByCategory
from dpcurves.privacy import PrivacyLoss
from dpcurves_survival import Survival, SurvivalQuestion
from dpcurves_survival import kaplan_meier as leaving
from dpcurves_survival.inference import AtRisk, find_censoring_bias

HUGE = PrivacyLoss.pure(10**9)
FloatArray = NDArray[np.float64]


def given(records: int, seed: int, until: tuple[float, float] = (25.0, 50.0)) -> dict[str, Any]:
    """Continuous times of one distribution in two groups, which are observed until some time up to these."""
    draw = np.random.default_rng([seed, records])
    group = (draw.random(records) < 0.4).astype(np.int64)
    times, ends = draw.weibull(1.4, records) * 8, draw.uniform(2, np.where(group == 1, *until))
    return {"t": np.minimum(times, ends), "e": (times <= ends).astype(np.int64), "g": group}


def asked(cells: int) -> SurvivalQuestion:
    return SurvivalQuestion("t", "e", dp.Grid(0, 24, cells=cells), by=dp.Categories("g", (0, 1)))


def released(columns: dict[str, Any], cells: int, epsilon: str, seed: int) -> ByCategory[Survival]:
    found = answer(asked(cells), columns, PrivacyLoss.pure(epsilon), both(len(columns["t"]))[seed % 2], seed)
    assert isinstance(found, ByCategory)
    return found


def exact(times: FloatArray, event_value: NDArray[np.int64], edges: FloatArray) -> FloatArray:
    """Kaplan and Meier's share beyond each edge, record by record."""
    order = np.argsort(times)
    left = 1 - event_value[order] / np.arange(len(times), 0, -1)
    return np.append(1.0, np.cumprod(left))[np.searchsorted(times[order], edges)]


def test_the_estimate_from_exact_times_lies_no_further_below_the_curve_than_is_said() -> None:
    for seed, cells in ((1, 3), (2, 4), (3, 6)):
        columns = given(2000, seed)
        for group, curve in answer(asked(cells), columns, HUGE, both(2000)[1], seed).items():
            mine = columns["g"] == group
            above = (curve.y - exact(columns["t"][mine], columns["e"][mine], curve.x))[1:-1]
            told = leaving.EventTable.from_counts(curve.evidence)
            assert (above > 0).all()
            assert (above <= find_censoring_bias(told.at_risk, told.censored)[:-1] + 1e-9).all()
            assert len(curve.notes) == 1 or above.max() < 0.06, above.max()
            for note in curve.notes:
                said = float(note.removeprefix("about ").split("%")[0]) / 100
                assert above.max() / 2 < said < 1.3 * above.max()


def test_events_that_come_last_are_those_of_the_bound() -> None:
    found = find_censoring_bias(AtRisk(np.array([4.0, 1.0]), np.array([10.0, 3.0])), np.array([3.0, 1.0]))
    assert found == pytest.approx([4 / 7 - 0.4, 6 / 10 * 2 / 3 - 3 / 7 * 1 / 2])


@pytest.mark.reproduction
def test_notes_are_given_where_times_are_finer_than_cells_and_not_where_nobody_is_censored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In each of 6 releases, where more than 2 % of the records may only seem to survive, as in group 1 (3 %; group 0:
    1.4 %); and in none of 30, of which each may have a note by chance at 4 standard deviations."""
    monkeypatch.setattr(leaving, "choose_draws", lambda _: 400)
    for seed in range(6):
        found = released(given(20_000, seed), 6, "1", seed)
        assert re.match(r"about [34]% of the records may seem to survive", found[1].notes[0])
        assert not found[0].notes
        with pytest.warns(dp.CurveWarning, match="standard deviations off"):
            assert dp.log_rank_test(found[0], found[1]).notes
        assert not dp.log_rank_test(*released(given(2000, seed), 96, "1", seed).values()).notes
        alike = released(given(20_000, seed, until=(30.0, 30.0)), 6, "1", seed)
        assert not dp.log_rank_test(alike[0], alike[1]).notes
    for seed in range(30):
        columns = given(1000, seed)
        columns["e"][:] = 1
        found = released(columns, (3, 6, 48)[seed % 3], ("0.3", "1")[seed // 3 % 2], seed)
        assert not any(curve.notes for curve in found.values())
        assert not dp.log_rank_test(found[0], found[1]).notes
