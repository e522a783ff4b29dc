"""Numbers of survival curves for the population, of few events and of none."""

from __future__ import annotations

import sys
from math import exp, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "curves"))
from by_hand import answer, both

import dpcurves as dp
from dpcurves.privacy import PrivacyLoss

MONTHS = dp.Values(range(1, 13))
LEVEL = 0.9


def ask(question: Any, trial: Any, seed: int, epsilon: str) -> Any:
    return answer(question, trial, PrivacyLoss.pure(epsilon), both(len(trial["t"]))[1], seed)


@pytest.mark.parametrize("records", [30, 300])
def test_no_event_is_known_to_the_population_as_well_as_records_tell(records: int) -> None:
    """Without an event the lower end is that of Clopper and Pearson: the rule of three."""
    trial = {"t": np.full(records, 13), "e": np.zeros(records, dtype=int), "k": np.zeros(records, dtype=int)}
    curve = ask(dp.SurvivalQuestion("t", "e", MONTHS), trial, 1, "1000000")
    risks = ask(dp.CompetingRisksQuestion("t", "k", MONTHS, (1, 2)), trial, 1, "1000000")
    lowest = ((1 - LEVEL) / 2) ** (1 / records)
    low, high = dp.survival_at(curve, 12).interval(LEVEL, population=True)
    assert low == pytest.approx(lowest, abs=0.25 * (1 - lowest))
    assert high == pytest.approx(1, abs=1e-4)
    assert dp.survival_at(curve, 12, 6).interval(LEVEL, population=True)[0] == pytest.approx(low, abs=0.02)
    assert dp.restricted_mean(curve, 12).interval(LEVEL, population=True)[0] < 12 - 5 * (1 - lowest)
    for cause in (1, 2):
        assert risks.incidence_at(cause, 12).interval(LEVEL, population=True)[1] > 0.7 * (1 - lowest)
    assert dp.survival_at(curve, 12).interval(LEVEL)[0] > 1 - 1e-3


def count_held_intervals(records: int, events: int, releases: int) -> np.ndarray[Any, Any]:
    """In how many releases the intervals for the population hold the numbers of the distribution."""
    total, held = -np.log(1 - events / records), np.zeros(4)
    share = np.exp(-total * np.arange(13) / 12)
    for seed in range(releases):
        draw = np.random.default_rng([seed, records, events])
        time = np.ceil(draw.exponential(12 / total, records))
        cause = np.where(time <= 12, draw.integers(1, 3, records), 0)
        trial = {"t": np.minimum(time, 13), "e": (time <= 12).astype(int), "k": cause}
        curve = ask(dp.SurvivalQuestion("t", "e", MONTHS), trial, seed, "10")
        risks = ask(dp.CompetingRisksQuestion("t", "k", MONTHS, (1, 2)), trial, seed, "10")
        truths = (
            (dp.survival_at(curve, 12), share[12]), (dp.survival_at(curve, 12, 6), exp(-total / 2)),
            (dp.restricted_mean(curve, 12), share[:12].sum()), (risks.incidence_at(1, 12), (1 - share[12]) / 2),
        )  # fmt: skip
        ends = [(*each.interval(LEVEL, population=True), truth) for each, truth in truths]
        held += [low <= truth <= high for low, high, truth in ends]
    return held


@pytest.mark.reproduction
@pytest.mark.parametrize("records", [30, 100, 300])
@pytest.mark.parametrize("events", [5, 20])
def test_intervals_for_the_population_hold(records: int, events: int) -> None:
    """Four standard deviations below the level in 40 releases: a false alarm below 0.1 %."""
    least = 40 * LEVEL - 4 * sqrt(40 * LEVEL * (1 - LEVEL))
    assert (count_held_intervals(records, events, 40) >= least).all()
