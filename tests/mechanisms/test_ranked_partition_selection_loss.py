"""Names of a public universe, without a delta: exact chances of all that may be told on tiny neighbours, and draws."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from math import ceil, comb, exp, prod

import numpy as np
import pytest
from test_partition_selection_loss import power

from dpcurves.conversation import UnsupportedQuery
from dpcurves.data import HashUniverse, TextUniverse, UnlistedCategories
from dpcurves.data.universe import FALSE_NAMES
from dpcurves.mechanisms import AUTO
from dpcurves.mechanisms.partition_selection import (
    FalseSelectionDistribution,
    RankedNoise,
    calibrate_category_noise,
    calibrate_universe_noise,
    encode_name,
    find_fewest_units,
)
from dpcurves.noise.exponential import bound_cumulative
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import AddRemove, Adjacency, PrivacyLoss, ReplaceOne, Unit
from dpcurves.queries import PartitionSelectionQuery, UniverseSelectionQuery

UNIVERSE = TextUniverse("ab", 2)
NAMES = ("a", "b", "aa", "ab", "ba", "bb")
ASKED = UniverseSelectionQuery((UnlistedCategories("ward", universe=UNIVERSE),))
TAIL, ROUNDED = 12, 2**300
Distribution = dict[int | None, Fraction]


def distribution_of(noise: RankedNoise, units: int, name: str) -> Distribution:
    """Chances that a name is hidden (None), told with each of the first counts, and with a larger one."""
    q, threshold = 1 / power(noise.rate), noise.thresholds[len(name) - 1]

    def above(least: int) -> Fraction:
        """The chance that noise is so large at least."""
        return q**least / (1 + q) if least > 0 else 1 - q ** (1 - least) / (1 + q)

    last = threshold + TAIL
    distribution: Distribution = {
        count: above(count - units) - above(count + 1 - units) for count in range(threshold + 1, last + 1)
    }
    return distribution | {None: 1 - above(threshold + 1 - units), last + 1: above(last + 1 - units)}


@pytest.mark.parametrize("adjacency", [AddRemove(Unit("who", 3)), ReplaceOne(Unit("", 1), 900)])
@pytest.mark.parametrize("universe", [UNIVERSE, TextUniverse("a-z", 20), HashUniverse(32)])
def test_a_plan_says_from_how_many_units_a_name_is_released_more_often_than_not(
    universe: TextUniverse | HashUniverse, adjacency: Adjacency
) -> None:
    query, loss = UniverseSelectionQuery((UnlistedCategories("ward", universe=universe),)), PrivacyLoss.pure("0.25")
    plan = AUTO.plan(query, loss, adjacency)
    noise = calibrate_universe_noise(loss, adjacency, universe.sizes)
    for letters in (1, 2, 8, 99):
        rank, units = min(letters, len(universe.sizes)) - 1, find_fewest_units(plan, letters)
        assert noise.selection_probability(units - 1, rank) < 0.5 < noise.selection_probability(units, rank)
    with_delta = loss.with_delta(Fraction(1, 10**6))
    units = find_fewest_units(AUTO.plan(PartitionSelectionQuery.from_column("ward"), with_delta, adjacency), 8)
    bounded = calibrate_category_noise(with_delta, adjacency)
    assert bounded.selection_probability(units - 1) < 0.5 < bounded.selection_probability(units)


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("records", [1, 2, 3])
@pytest.mark.parametrize("loss", [PrivacyLoss.pure("1/3"), PrivacyLoss.pure(4), PrivacyLoss.zcdp("1/8")], ids=str)
@pytest.mark.parametrize("adjacency", ["add or remove", "replace"])
def test_tiny_neighbours_lose_what_was_granted(adjacency: str, loss: PrivacyLoss, records: int) -> None:
    unit = Unit("patient", records)
    known: Adjacency = AddRemove(unit) if adjacency == "add or remove" else ReplaceOne(unit, 3)
    noise = calibrate_universe_noise(loss, known, UNIVERSE.sizes)
    granted = noise.rate * known.l1_sensitivity
    assert (granted == loss.epsilon) if loss.is_pure else (granted**2 / 2 <= loss.rho)
    high = max(noise.thresholds) + 9  # of so many units a name is rarely hidden

    @cache
    def worst(letters: int, before: int, after: int) -> Fraction:
        """The largest ratio of the chances of what is told of a name of so many letters, rounded up."""
        here, there = (distribution_of(noise, units, "a" * letters) for units in (before, after))
        return Fraction(ceil(max(here[told] / there[told] for told in here) * ROUNDED), ROUNDED)

    one = [Counter(each) for size in range(records + 1) for each in combinations_with_replacement(NAMES, size)]
    moves = [(Counter(), each) for each in one] if adjacency == "add or remove" else product(one[::3], one[::3])
    limit, tight = power(granted), Fraction(0)
    for gone, come in moves:
        for base in (0, 2, high):
            found = [
                prod((worst(len(name), base + first[name], base + second[name]) for name in NAMES), start=Fraction(1))
                for first, second in ((gone, come), (come, gone))
            ]
            assert max(found) <= limit * (1 + Fraction(1, 10**40))
            tight = max(tight, *found)
    assert tight > limit * Fraction(999, 1000)  # nothing is left over


def test_names_that_nobody_has_are_as_many_as_noise_would_make() -> None:
    for names, threshold in ((1, 0), (6, 2), (26, 9)):
        distribution = FalseSelectionDistribution(names, Fraction(1, 2), threshold)
        q = 1 / power(distribution.rate)
        chance = q ** (threshold + 1) / (1 + q)
        lower, upper = bound_cumulative(distribution, 64)
        below = Fraction(0)
        for told in range(min(len(lower), names + 1)):
            below += comb(names, told) * chance**told * (1 - chance) ** (names - told)
            assert lower[told] <= below * 2**64 <= upper[told]
            assert upper[told] - lower[told] <= 4
    for sizes in ((2, 4), TextUniverse("a-z", 20).sizes, (2**256,), TextUniverse("a-z0-9 ", 200).sizes):
        noise = RankedNoise.from_universe_sizes(Fraction(1, 5), sizes)
        expected = (
            [size * noise.selection_probability(0, rank) for rank, size in enumerate(sizes)]
            if sizes[-1] < 1e300
            else []
        )
        assert sum(expected) <= FALSE_NAMES
        lower, upper = bound_cumulative(FalseSelectionDistribution(sizes[-1], noise.rate, noise.thresholds[-1]), 64)
        assert upper[0] - lower[0] <= 4
        assert 1 - lower[0] / 2**64 <= FALSE_NAMES / len(sizes)


def test_what_is_told_follows_its_distribution() -> None:
    loss, known, runs = PrivacyLoss.pure(1), AddRemove(Unit("patient", 1)), 6000
    plan, noise = AUTO.plan(ASKED, loss, known), calibrate_universe_noise(loss, known, UNIVERSE.sizes)
    counts = {"a": 3, "ab": 5, "ba": 1, "c": 90, "aaa": 90}  # the last two are not among the names
    table = np.array([(name.encode(), units) for name, units in sorted(counts.items())], dtype=object)
    told, larger, pairs, chance = Counter[str](), Counter[str](), 0, Randomness.from_seed(3)
    for _ in range(runs):
        found = AUTO.run(table, plan, chance)
        names = [next(name for name in NAMES if encode_name(name.encode()) == number) for number in found[::2]]
        told.update(names)
        larger.update(name for name, count in zip(names, found[1::2], strict=True)
                      if count > noise.thresholds[len(name) - 1] + 1)  # fmt: skip
        assert names == sorted(names)
        pairs += "b" in names and "ab" in names
    for name in NAMES:
        rank, units = len(name) - 1, counts.get(name, 0)
        expected = noise.selection_probability(units, rank)
        assert float(1 - distribution_of(noise, units, name)[None]) == pytest.approx(expected, rel=1e-9)
        assert told[name] / runs == pytest.approx(expected, abs=4 * (expected * (1 - expected) / runs) ** 0.5)
        if not units:
            share = exp(-float(noise.rate))
            assert larger[name] / told[name] == pytest.approx(share, abs=4 * (share / told[name]) ** 0.5)
    together = noise.selection_probability(0, 0) * noise.selection_probability(5, 1)
    assert pairs / runs == pytest.approx(together, abs=4 * (together / runs) ** 0.5)


def test_names_of_one_hash_are_one_group() -> None:
    hashes = HashUniverse(16)
    first = next(name for name in map(str, range(10**6)) if hashes.label(name) == hashes.label("north"))
    plan = AUTO.plan(UniverseSelectionQuery((UnlistedCategories("ward", universe=hashes),)), PrivacyLoss.pure(1),
                     AddRemove(Unit("patient", 1)))  # fmt: skip
    table = np.array([(b"north", 200), (first.encode(), 300)], dtype=object)
    number, count, *others = AUTO.run(table, plan, Randomness.from_seed(1))
    assert number == encode_name(hashes.label("north").encode())
    assert count == pytest.approx(500, abs=12)
    assert not others


def test_what_finds_nothing_or_is_no_universe_is_refused() -> None:
    for loss in (PrivacyLoss.pure("1e-7"), PrivacyLoss.pure(1) * Fraction(0)):
        with pytest.raises(UnsupportedQuery, match="epsilon"):
            AUTO.plan(ASKED, loss, AddRemove(Unit("patient", 1)))
    with pytest.raises(ValueError, match="universe"):
        UniverseSelectionQuery((UnlistedCategories("ward"),))
    for wrong in (("", 3), ("z-a", 3), ("a", 0), ("é", 101)):
        with pytest.raises(ValueError, match="alphabet|longest"):
            TextUniverse(*wrong)
    for bits in (12, 18, 260):
        with pytest.raises(ValueError, match="bits"):
            HashUniverse(bits)
    with pytest.raises(TypeError, match="universe"):
        UnlistedCategories("ward", universe="a-z")  # type: ignore[arg-type]
