"""A private curve beside an open one: told apart where they differ, and not where they do not."""

from fractions import Fraction
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from by_hand import answer, both
from kinds import people

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.curves import Comparison
from dpcurves.display.canvas import find_title
from dpcurves.inference.moments import IntervalEstimate, difference_p_value

LOSS = dp.PrivacyLoss.pure(1)
QUESTIONS: dict[str, Any] = {
    "cdf": dp.CdfQuestion("x", dp.Grid(-4, 4, cells=64)),
    "histogram": dp.HistogramQuestion("x", dp.Grid(-4, 4, cells=16)),
    "roc": dp.RocQuestion("y", "s", dp.Grid(0, 1, cells=128)),
    "calibration": dp.CalibrationQuestion("y", "s", 8),
    "binned residuals": dp.BinnedResidualsQuestion("y", "s", dp.PUBLIC_MODEL, 8),
}

WITHOUT_VERDICT = "calibration", "binned residuals"


def table(records: int, seed: int, moved: float = 0.0) -> dict[str, Any]:
    draw = np.random.default_rng([seed, records])
    score = draw.beta(2, 3, records)
    label = draw.random(records) < np.clip(score + moved * (score - 0.4), 0, 1)
    return {"x": np.clip(draw.normal(moved, 1, records), -4, 4), "s": score, "y": label.astype(int)}


def asked(question: Any, given: dict[str, Any], seed: int = 1) -> Any:
    seeded = dp.Randomness.from_seed(seed)
    with dp.Session(given, budget=LOSS, adjacency=dp.REPLACE_ONE, randomness=seeded) as session:
        return session.ask(question, LOSS)


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("kind", QUESTIONS)
@pytest.mark.filterwarnings("ignore::dpcurves.CurveWarning")
def test_tables_that_differ_are_told_apart_and_drawn_together(kind: str) -> None:
    question = QUESTIONS[kind]
    differing = dp.compare(asked(question, table(2000, 1, 0.5)), question, table(3000, 2))
    alike = dp.compare(asked(question, table(2000, 3)), question, table(3000, 4))
    if kind in WITHOUT_VERDICT:
        assert (differing.differs, alike.p_value) == (None, None)
        assert "there is no test" in differing.verdict
    else:
        assert differing.differs, differing
        assert alike.p_value is not None
        assert alike.p_value > 0.01, alike
        assert ("differ" in differing.verdict, "no significant difference" in alike.verdict) == (True, True)
    plot = differing.plot()
    assert find_title(plot)
    assert not find_title(differing.plot(ax=plt.figure().add_subplot()))
    text = " ".join(each.get_text() for each in plot.texts)
    assert "counted openly, from public records" in " ".join(text.split())
    assert "epsilon 1," in " ".join(text.split())
    assert "1e+09" not in text


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("cdf", "continuous"),
        pytest.param("histogram", "heaped", marks=pytest.mark.reproduction),
        pytest.param("roc", "zero-inflated", marks=pytest.mark.reproduction),
    ],
)
@pytest.mark.filterwarnings("ignore::dpcurves.CurveWarning")
def test_tables_of_one_population_are_told_apart_as_seldom_as_is_said(kind: str, data: str) -> None:
    """At most as many of 12 pairs seem to differ at 5%, and at 50%, as chance brings once in 30,000 runs (4 sigma)."""
    distribution, releases, found = people(data), 12, []
    for seed in range(releases):
        draw = np.random.default_rng([seed, 5])
        one, other = (distribution.columns(distribution.drawn(many, draw)) for many in (800, 1200))
        question: Any = dp.RocQuestion("y", "s", distribution.grid)
        if kind != "roc":
            question = (dp.CdfQuestion if kind == "cdf" else dp.HistogramQuestion)("s", dp.Grid(0, 1, cells=16))
        private = answer(question, one, LOSS, both(800)[seed % 2], seed)
        pvalue = dp.compare(private, question, other).p_value
        assert pvalue is not None
        found.append(pvalue)
    for level in (0.05, 0.5):
        assert sum(each < level for each in found) <= releases * level + 4 * (releases * level * (1 - level)) ** 0.5
    assert min(found) < 0.8, "not all are alike"


def test_an_open_histogram_is_drawn_with_as_many_records_as_the_private_one() -> None:
    question = QUESTIONS["histogram"]
    found = dp.compare(asked(question, table(1000, 1)), question, table(50_000, 2))
    assert found.plot().get_ylim()[1] < 500


def test_a_difference_is_seen_where_its_interval_leaves_out_zero() -> None:
    for value, lower, upper in ((0.1, 0.01, 0.3), (0.1, -0.01, 0.2), (-0.1, -0.3, -0.01), (-0.1, -0.2, 0.01)):
        assert (difference_p_value(IntervalEstimate(value, lower, upper)) < 0.05) == (lower > 0 or upper < 0)
    assert difference_p_value(IntervalEstimate(0.1, 0.0, 0.3)) == pytest.approx(0.05)


def test_what_cannot_be_compared_is_refused() -> None:
    curve, given = asked(QUESTIONS["cdf"], table(200, 1)), table(200, 1)
    with pytest.raises(InvalidArgument, match="two curves of one of these kinds"):
        dp.compare(curve, QUESTIONS["roc"], given)
    with pytest.raises(InvalidArgument, match="same grid"):
        dp.compare(curve, dp.CdfQuestion("x", dp.Grid(0, 1, cells=4)), given)
    grouped = dp.Session({**given, "who": np.arange(200) // 2}, budget=LOSS, adjacency=dp.ADD_REMOVE, unit="who",
                         rows_per_unit=2)  # fmt: skip
    with grouped as session, pytest.raises(InvalidArgument, match="one record each"):
        Comparison.from_curves(session.ask(QUESTIONS["cdf"], LOSS), curve)
    assert Fraction(1) == curve.privacy.epsilon
