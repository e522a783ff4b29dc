"""Counts of subsets: the loss on all tiny neighbours, units that change subset among them."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from dpcurves.arguments import InvalidArgument
from dpcurves.data import Axis, Categories, Grid
from dpcurves.distributions import Family
from dpcurves.mechanisms.linear import SubsetCounts
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Adjacency, PrivacyLoss, ReplaceOne, Unit
from dpcurves.queries import SubsetQuery
from dpcurves.records.counting import count_confirming_subsets

X, Y = Axis("x", Grid(-1, 1, cells=1)), Axis("y", Grid(-1, 1, cells=1))
SLOPE = SubsetQuery((Y, X), 2, 0, above=-0.1)
LOGIT = SubsetQuery((Categories("y", (0, 1)), X), 2, 0, above=-0.1)
KINDS = tuple(product((-1.0, 0.5), (0.0, 1.0)))
"""Records of x and y."""


def verdicts(query: SubsetQuery, units: Sequence[Sequence[int]], subset: Sequence[int]) -> int:
    """The count for units, each of which is some kinds of records, and lies in a subset."""
    rows = [(*KINDS[kind], place) for unit, place in zip(units, subset, strict=True) for kind in unit]
    columns = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    return count_confirming_subsets(query, [columns[1], columns[0]], columns[2])


UNITS = tuple(product(combinations_with_replacement(range(len(KINDS)), 2), (0, 1)))
"""Two records of any kinds, in either subset."""


@pytest.mark.parametrize("query", [SLOPE, LOGIT], ids=["least squares", "logistic"])
def test_a_unit_that_comes_moves_the_count_by_one_and_one_that_is_replaced_by_two_at_most(query: SubsetQuery) -> None:
    counts = {
        table: verdicts(query, [records for records, _ in table], [place for _, place in table])
        for size in (1, 2, 3)
        for table in combinations_with_replacement(UNITS, size)
    }
    added, replaced = set(), set()
    for table, count in counts.items():
        for unit in UNITS:
            if len(table) < 3:
                added.add(counts[tuple(sorted((*table, unit)))] - count)
            for place in range(len(table)):  # into another subset too
                replaced.add(counts[tuple(sorted((*table[:place], unit, *table[place + 1 :])))] - count)
    assert added == {-1, 0, 1}
    assert replaced >= {-1, 0, 1}
    assert replaced <= {-2, -1, 0, 1, 2}


def test_a_unit_that_changes_subset_can_move_the_count_by_two_so_noise_for_one_would_not_do() -> None:
    others = [(0, 2), (0, 2), (3, 3)]
    assert verdicts(SLOPE, [*others, (1, 1)], [0, 0, 1, 0]) == 0
    assert verdicts(SLOPE, [*others, (1, 1)], [0, 0, 1, 1]) == 2


@pytest.mark.parametrize("unit", [EACH_RECORD, Unit("who", 7)])
def test_the_loss_of_counts_that_move_so_far_is_the_one_that_was_paid(unit: Unit) -> None:
    moves: tuple[tuple[Adjacency, int], ...] = (AddRemove(unit), 1), (ReplaceOne(unit, 9), 2)
    for adjacency, move in moves:
        noise = SubsetCounts().plan(SLOPE, PrivacyLoss.pure(Fraction(1, 3)), adjacency).distribution.parts[0].noise  # type: ignore[attr-defined]
        assert noise.family is Family.LAPLACE
        assert move / noise.parameter == Fraction(1, 3)  # log of exp(-|z| / b) over exp(-|z - move| / b), at most
        gaussian = SubsetCounts().plan(SLOPE, PrivacyLoss.zcdp(Fraction(1, 8)), adjacency).distribution.parts[0].noise  # type: ignore[attr-defined]
        assert gaussian.family is Family.GAUSSIAN
        assert Fraction(move**2) / (2 * gaussian.parameter) == Fraction(1, 8)


def test_a_run_adds_noise_of_its_distribution_to_the_count() -> None:
    plan = SubsetCounts().plan(SLOPE, PrivacyLoss.pure(1), AddRemove(EACH_RECORD))
    source = Randomness.from_seed(1)
    drawn = np.array([SubsetCounts().run(np.array([5, 0]), plan, source)[0] for _ in range(4000)])
    assert abs(drawn.mean() - 5) < 4 * plan.error / 4000**0.5  # 4 sigma: 6e-5
    assert abs(drawn.var() / plan.error**2 - 1) < 4 * (5 / 4000) ** 0.5  # a Laplace distribution has kurtosis 6


def test_a_verdict_does_not_depend_on_order_nor_on_other_subsets_to_the_last_bit() -> None:
    draw = np.random.default_rng(1)
    x, y, subset = draw.normal(0, 0.5, 300), draw.normal(0, 0.5, 300), draw.integers(0, 3, 300).astype(float)
    for logistic in (False, True):
        outcome = (y > 0).astype(float) if logistic else y
        first = LOGIT.axes[0] if logistic else Y
        low, high = -3.0, 3.0
        for _ in range(60):  # down to two neighbouring doubles between which a verdict changes
            middle = low / 2 + high / 2
            found = count_confirming_subsets(SubsetQuery((first, X), 3, 0, above=middle), [outcome, x], subset)
            low, high = (middle, high) if found >= 2 else (low, middle)
        for edge in (low, high):
            query = SubsetQuery((first, X), 3, 0, above=edge)
            wanted = count_confirming_subsets(query, [outcome, x], subset)
            for _ in range(10):
                order = draw.permutation(300)
                assert count_confirming_subsets(query, [outcome[order], x[order]], subset[order]) == wanted
            parts = [subset == number for number in range(3)]
            alone = sum(count_confirming_subsets(query, [outcome[part], x[part]], subset[part]) for part in parts)
            assert alone == wanted


@pytest.mark.filterwarnings("error")
def test_no_record_makes_a_fit_fail() -> None:
    odd = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0, -0.0])
    rows = np.array(list(product(odd, odd)))
    label = np.where(rows[:, 1] > 0, 1.0, 0.0)
    constant, none = np.ones(len(rows)), np.empty(0)
    for x, y, query in (
        (rows[:, 0], rows[:, 1], SLOPE), (rows[:, 0], label, LOGIT), (constant, rows[:, 1], SLOPE),
        (np.where(label > 0, 1.0, -1.0), label, LOGIT), (none, none, SLOPE), (none, none, LOGIT),
    ):  # fmt: skip
        assert 0 <= count_confirming_subsets(query, [y, x], np.zeros(len(x))) <= 1
    separated = np.where(label > 0, 1.0, -1.0) + np.linspace(-0.1, 0.1, len(label))
    assert count_confirming_subsets(LOGIT, [label, separated], np.zeros(len(label))) == 0
    assert count_confirming_subsets(SLOPE, [rows[:, 1], constant], np.zeros(len(rows))) == 0


def test_coefficients_are_those_of_scikit_learn() -> None:
    from sklearn.linear_model import LinearRegression, LogisticRegression

    draw = np.random.default_rng(2)
    x, z = draw.uniform(18, 90, 800), draw.integers(0, 2, 800).astype(float)
    y = 0.03 * x - z + draw.normal(0, 1, 800)
    ages, sexes, design = Axis("x", Grid(18, 90, cells=1)), Categories("z", ("f", "m")), np.stack([x, z], axis=1)
    label = (y > 1).astype(float)
    plain = LinearRegression().fit(design, y).coef_
    logistic = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(design, label).coef_[0]
    tried = ((Axis("y", Grid(-50, 50, cells=1)), y, plain), (Categories("y", (0, 1)), label, logistic))
    for outcome, values, wanted in tried:
        for place in (0, 1):
            near = [wanted[place] - 1e-5, wanted[place] + 1e-5]
            inside = SubsetQuery((outcome, ages, sexes), 2, place, *near)
            outside = SubsetQuery((outcome, ages, sexes), 2, place, near[1], near[1] + 1)
            assert count_confirming_subsets(inside, [values, x, z], np.zeros(800)) == 1
            assert count_confirming_subsets(outside, [values, x, z], np.zeros(800)) == 0


@pytest.mark.parametrize(
    ("axes", "more"),
    [((Y,), (2, 0, 0.0)), ((Y, Y), (2, 0, 0.0)), ((Y, X), (1, 0, 0.0)), ((Y, X), (2, 1, 0.0)), ((Y, X), (2, 0)),
     ((Y, X), (2, 0, 1.0, 1.0)), ((Y, X), (2, 0, float("nan"))), ((Categories("y", (0, 1, 2)), X), (2, 0, 0.0)),
     ((Y, Axis("x", Grid(0, 1, cells=2))), (2, 0, 0.0))],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(axes: tuple[Axis, ...], more: tuple[int, ...]) -> None:
    with pytest.raises(InvalidArgument):
        SubsetQuery(axes, *more)
