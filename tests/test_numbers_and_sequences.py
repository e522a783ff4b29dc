"""A scalar where a sequence is needed, and the reverse, is refused by the name of the argument; NumPy's numbers are
taken as Python's are."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.arguments import ArgumentError

PAID: dict[str, Any] = {"adjacency": dp.REPLACE_ONE, "epsilon": 8}
TIMES, EVENTS = [2, 4, 6, 9] * 150, [1, 0, 1, 1] * 150
SCORES, LABELS = [0.2, 0.4, 0.6, 0.9] * 150, [0, 0, 1, 1] * 150
YEARS = dp.Values(range(11))
CURVE = dp.survival(TIMES, EVENTS, grid=YEARS, **PAID)
OTHER = dp.survival(TIMES, EVENTS, grid=YEARS, **PAID)
SCORED = dp.scores(LABELS, SCORES, **PAID)
AGES = dp.cdf(TIMES, grid=dp.Grid(0, 10, cells=10), **PAID)
COUNTED = dp.histogram(TIMES, grid=dp.Grid(0, 10, cells=10), **PAID)
CROSSED = dp.contingency(EVENTS, LABELS, row_categories=[0, 1], column_categories=[0, 1], **PAID)

SCALARS: list[tuple[str, Callable[[Any], object]]] = [
    ("time", lambda time: dp.survival_at(CURVE, time)),
    ("since", lambda since: dp.survival_at(CURVE, 6, since)),
    ("time", lambda time: dp.survival_difference(CURVE, OTHER, time)),
    ("time", lambda time: dp.number_needed_to_treat(CURVE, OTHER, time)),
    ("time", lambda time: dp.cumulative_hazard_at(CURVE, time)),
    ("until", lambda until: dp.restricted_mean(CURVE, until)),
    ("until", lambda until: dp.restricted_mean_difference(CURVE, OTHER, until)),
    ("until", lambda until: dp.survival_numbers(CURVE, until=until)),
    ("until", lambda until: dp.multivariate_log_rank_test([CURVE, OTHER], until=until)),
    ("rho", lambda rho: dp.log_rank_test(CURVE, OTHER, rho=rho)),
    ("gamma", lambda gamma: dp.multivariate_log_rank_test([CURVE, OTHER], gamma=gamma)),
    ("threshold", SCORED.confusion),
    ("max_fpr", lambda rate: dp.partial_auc(SCORED, rate)),
    ("specificity", lambda rate: dp.sensitivity_at_specificity(SCORED, rate)),
    ("suppress", lambda share: SCORED.to_csv_text(suppress=share)),
]
"""Arguments that are one number, each in a call."""

SEQUENCES: list[tuple[str, Callable[[Any], object]]] = [
    ("times", lambda times: dp.survival_numbers(CURVE, times=times)),
    ("boundaries", lambda edges: SCORED.calibration(boundaries=edges)),
    ("edges", lambda edges: AGES.smooth(edges=edges)),
    ("trend", lambda trend: dp.multivariate_log_rank_test([CURVE, OTHER], trend=trend)),
    ("probabilities", lambda p: dp.quantiles(TIMES, p, grid=YEARS, **PAID)),
    ("levels", lambda levels: dp.make_consistent({"all": COUNTED}, levels=levels)),
    ("results", dp.make_consistent),
    ("results", dp.model_card),
    ("curves", dp.survival_figure),
    ("columns", AGES.with_labels),
    ("columns", CROSSED.with_labels),
    ("categories", lambda categories: CROSSED.with_labels({}, categories)),
    ("sample", lambda sample: dp.ks_distance(AGES, sample)),
]
"""Arguments that are a list or a mapping, each in a call."""

GENERATORS: list[Callable[[Any], object]] = [
    lambda generator: dp.log_rank_test(CURVE, OTHER, generator=generator),
    lambda generator: dp.ks_test(AGES, AGES, generator=generator),
    lambda generator: AGES.band(0.9, generator=generator),
    lambda generator: AGES.quantile_interval(0.5, 0.9, generator=generator),
    lambda generator: SCORED.intervals(0.9, generator=generator),
    lambda generator: SCORED.roc().band(0.9, generator=generator),
    lambda generator: SCORED.calibration().intervals(0.9, generator=generator),
]


def require_clear_refusal(name: str, call: Callable[[Any], object], given: Any) -> None:
    """Assert that the call refuses what was given in one line that begins with the argument's name."""
    with pytest.raises(ArgumentError) as refusal:
        call(given)
    assert re.match(rf"^(until, )?{name}\b.*: ", str(refusal.value)), refusal.value
    assert "\n" not in str(refusal.value)


@pytest.mark.quick_share(17)
@pytest.mark.parametrize("given", ["five", [5], (1, 2), np.array([1.0, 2.0]), {"a": 1}, object(), 10**400, b"5", 1j])
@pytest.mark.parametrize(("name", "call"), SCALARS, ids=[f"{name}-{i}" for i, (name, _) in enumerate(SCALARS)])
def test_a_sequence_where_one_number_is_needed_is_refused(name: str, call: Callable[[Any], object], given: Any) -> None:
    require_clear_refusal(name, call, given)


@pytest.mark.parametrize("given", [5, 0.5, np.float64(0.5), np.int64(3), "a text", object(), b"bytes"])
@pytest.mark.parametrize(("name", "call"), SEQUENCES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(SEQUENCES)])
def test_a_scalar_where_a_sequence_is_needed_is_refused(name: str, call: Callable[[Any], object], given: Any) -> None:
    require_clear_refusal(name, call, given)


@pytest.mark.parametrize("given", [5, "seed", [1], object()])
@pytest.mark.parametrize("call", GENERATORS)
def test_a_seed_where_a_generator_is_needed_is_refused(call: Callable[[Any], object], given: Any) -> None:
    require_clear_refusal("generator", call, given)


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.float32, np.float64, Fraction])
def test_numbers_of_numpy_are_read_as_those_of_python(kind: Callable[[int], Any]) -> None:
    assert dp.survival_at(CURVE, kind(6)).value == dp.survival_at(CURVE, 6).value
    assert dp.restricted_mean(CURVE, kind(8)).value == dp.restricted_mean(CURVE, 8).value
    assert dp.survival_numbers(CURVE, until=kind(8), times=[kind(4)]).to_csv_text() == (
        dp.survival_numbers(CURVE, until=8, times=[4]).to_csv_text()
    )
    assert dp.log_rank_test(CURVE, OTHER, rho=kind(1)).p_value == dp.log_rank_test(CURVE, OTHER, rho=1).p_value
    assert SCORED.confusion(kind(1)).threshold == SCORED.confusion(1).threshold
    assert dp.partial_auc(SCORED, kind(1)).value == dp.partial_auc(SCORED, 1).value


def test_lists_of_all_kinds_are_read_as_numbers() -> None:
    expected = dp.survival_numbers(CURVE, times=(2, 4)).to_csv_text()
    kinds: tuple[Any, ...] = ([2, 4], np.array([2, 4]), np.array([2.0, 4.0]), range(2, 5, 2))
    for given in kinds:
        assert dp.survival_numbers(CURVE, times=given).to_csv_text() == expected
