"""Verification by subsets: what the released count tells."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.curves.question_json import question_from_json, question_to_json
from dpcurves.distributions import Family, Noise
from dpcurves.inference.moments import count_interval, count_posterior, probability_interval

GENERATOR = np.random.default_rng(4)
COUNT = 4000
X, Z = GENERATOR.normal(0, 1, COUNT), GENERATOR.choice(["a", "b"], COUNT)
LATE = (GENERATOR.random(COUNT) < 1 / (1 + np.exp(-X))).astype(int)
TABLE = {"x": X, "z": Z, "late": LATE, "y": 2 + 0.5 * X + 0.3 * (Z == "b") + GENERATOR.normal(0, 1, COUNT)}
COLUMNS = dp.NumericColumn("x", -3, 3), dp.Categories("z", ("a", "b"))
LOSS = dp.PrivacyLoss.pure(1)
NOISES = (
    Noise(Family.LAPLACE, Fraction(3, 2)),
    Noise(Family.GAUSSIAN, Fraction(4)),
    Noise(Family.GAUSSIAN, Fraction(1, 9)),
)


def asked(**claim: object) -> dp.VerifyQuestion:
    return dp.VerifyQuestion(dp.Categories("late", (0, 1)), COLUMNS, "x", **claim)  # type: ignore[arg-type]


def test_a_right_claim_and_a_wrong_one_are_told_apart() -> None:
    budget = dp.PrivacyLoss.pure(4)
    with dp.Session(TABLE, budget=budget, adjacency=dp.REPLACE_ONE, randomness=dp.Randomness.from_seed(1)) as session:
        right, wrong = (session.ask(asked(**claim), LOSS) for claim in ({"above": 0}, {"below": 0}))
        effect = dp.VerifyQuestion(dp.NumericColumn("y", -5, 9), COLUMNS, "z", "b", above=-1, below=1, subsets=30)
        assert session.ask(effect, LOSS).probability > 0.99
    assert right.probability > 0.99
    assert wrong.probability < 0.01
    assert right.population_probability > 0.95
    assert right.interval(0.95)[0] > 0.5 > wrong.interval(0.95)[1]
    assert right.claim == "0 < coefficient of x for late"


def test_the_posterior_is_bayes_rule_for_counts_that_are_alike_likely() -> None:
    for noise in NOISES:
        for released in (-40, 3, 7, 60):
            scale, laplace = float(noise.parameter), noise.family is Family.LAPLACE
            steps = [(abs(released - count) / scale if laplace else (released - count) ** 2 / (2 * scale))
                     for count in range(11)]  # fmt: skip
            likely = np.exp(min(steps) - np.array(steps))
            assert count_posterior(released, 10, noise) == pytest.approx(likely / likely.sum(), abs=1e-12)


def chances(noise: Noise, reach: int = 80) -> np.ndarray:
    apart = np.abs(np.arange(-reach, reach + 1.0))
    power = apart if noise.family is Family.LAPLACE else apart**2 / 2
    likely = np.exp(-power / float(noise.parameter))
    return np.asarray(likely / likely.sum())


@pytest.mark.parametrize("noise", NOISES, ids=["Laplace", "Gaussian", "little"])
def test_intervals_hold_as_often_as_they_say_whatever_is_true(noise: Noise) -> None:
    """By adding up all outcomes: no simulation, so no false alarm."""
    size, distribution = 12, chances(noise)
    ends = {released: (count_interval(released, size, noise, 0.9), probability_interval(released, size, noise, 0.9))
            for released in range(-80, size + 81)}  # fmt: skip
    for count in range(size + 1):
        held = sum(
            distribution[z + 80] for z in range(-80, 81) if ends[count + z][0][0] <= count <= ends[count + z][0][1]
        )
        assert held >= 0.9 - 1e-9
    for chance in (0.0, 0.03, 0.3, 0.5, 0.77, 1.0):
        binomial = [comb(size, count) * chance**count * (1 - chance) ** (size - count) for count in range(size + 1)]
        held = sum(
            binomial[count] * distribution[z + 80]
            for count in range(size + 1)
            for z in range(-80, 81)
            if ends[count + z][1][0] - 1e-9 <= chance <= ends[count + z][1][1] + 1e-9
        )
        assert 0.9 - 1e-9 <= held <= 0.9999 + (chance in (0.0, 1.0))


def test_a_question_is_written_and_read_and_refuses_what_claims_nothing() -> None:
    question = dp.VerifyQuestion(dp.NumericColumn("y", -5, 9), COLUMNS, "z", "b", above=0.1, subsets=30)
    assert question_from_json(question_to_json(question)) == question
    for wrong in ({}, {"above": 1, "below": 0}, {"above": 0, "subsets": 1}, {"above": 0, "level": "b"}):
        with pytest.raises(InvalidArgument):
            asked(**wrong)
    with pytest.raises(InvalidArgument, match="must be one of x, z=b,"):
        dp.VerifyQuestion(dp.NumericColumn("y", -5, 9), COLUMNS, "z", "a", above=0)
    grouped = dp.Session({**TABLE, "who": np.arange(COUNT) // 2}, budget=LOSS, adjacency=dp.ADD_REMOVE, unit="who",
                         rows_per_unit=2)  # fmt: skip
    with grouped as session:
        found = session.ask(asked(above=0), LOSS)
    assert found.interval(0.95)[0] > 0.5
    with pytest.raises(InvalidArgument, match="one record each"):
        found.interval(0.95, population=True)
