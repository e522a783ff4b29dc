"""Who is paired with whom depends on a public seed alone, evenly, and overlaps have the variances that are said."""

from __future__ import annotations

from itertools import combinations, permutations, product
from math import sqrt

import numpy as np
import pytest

from dpcurves_parties.pairs import OwnChoice, Permutations, WithoutRepetition
from dpcurves_parties.pairs.queries import Overlaps, Pairing, all_pairs_variance, commit_to_seed

WAYS = (Permutations(4), WithoutRepetition(4), OwnChoice(4))


def seed(number: int) -> bytes:
    return number.to_bytes(32, "big")


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_nobody_is_in_more_pairs_than_said_nor_with_themselves(way: Pairing) -> None:
    for people in (5, 6, 7, 8, 51, 1000):
        pairs = way.draw_pairs(people, seed(people))
        assert np.bincount(pairs.ravel()).max() <= way.pairs_per_person
        assert (pairs[:, 0] != pairs[:, 1]).all()
        assert (pairs == way.draw_pairs(people, seed(people))).all()
        if not isinstance(way, OwnChoice):
            assert len(pairs) == people // 2 * way.pairs_per_person


def test_tournaments_repeat_no_pair_and_end_when_everybody_met() -> None:
    for people in range(2, 12):
        rounds = people - 1 + people % 2
        pairs = np.sort(WithoutRepetition(rounds).draw_pairs(people, seed(1)), axis=1)
        assert {(int(a), int(b)) for a, b in pairs} == set(combinations(range(people), 2))
        assert len(pairs) == people * (people - 1) // 2
        with pytest.raises(ValueError, match="number of possible partners"):
            WithoutRepetition(rounds + 1).draw_pairs(people, seed(1))


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("way", [Permutations(2), WithoutRepetition(2), OwnChoice(2)], ids=str)
@pytest.mark.parametrize("people", [5, 6])
def test_every_pair_is_as_likely_as_any_other(way: Pairing, people: int) -> None:
    """Over 3,000 seeds; each of 15 pairs is off by 4 standard deviations once in 15,000 tries."""
    seeds, met = 3000, np.zeros((people, people))
    for number in range(seeds):
        np.add.at(met, tuple(np.sort(way.draw_pairs(people, seed(number)), axis=1).T), 1)
    found = met[np.triu_indices(people, 1)]
    share = found.mean() / seeds
    assert np.abs(found - found.mean()).max() < 4 * sqrt(2 * seeds * share)


@pytest.mark.parametrize("people", [5, 6])
def test_overlaps_of_orders_are_those_expected(people: int) -> None:
    """Means over 2,000 seeds, within 4 standard errors."""
    drawn = np.array(
        [Overlaps.from_pairs(Permutations(3).draw_pairs(people, seed(each)), people) for each in range(2000)]
    )
    error = drawn.std(axis=0) / sqrt(len(drawn)) + 1e-9
    assert (np.abs(drawn.mean(axis=0) - Permutations(3).compute_expected_overlaps(people)) < 4 * error).all()
    assert Overlaps.from_pairs(WithoutRepetition(3).draw_pairs(people, seed(1)), people) == WithoutRepetition(
        3
    ).compute_expected_overlaps(people)


def test_theorem_5_is_what_orders_give() -> None:
    people, each, one, both = 1000, 4, 0.03, 0.2
    printed = (
        2 / each / people * (2 * (each - 1) * (1 - 1 / (people - 1)) * one + (1 + (each - 1) / (people - 1)) * both)
    )
    assert Permutations(each).compute_expected_overlaps(people).variance(one, both) == pytest.approx(printed)
    best = WithoutRepetition(each).compute_expected_overlaps(people).variance(one, both)
    assert printed - best == pytest.approx(2 / each / people * (each - 1) / (people - 1) * (both - 2 * one))


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_variance_over_people_and_pairs_is_exact(way: Pairing) -> None:
    """All 243 draws of five people from three kinds, and all 120 orders of them in which pairs may meet."""
    people, chances = 5, np.array([0.5, 0.3, 0.2])
    kernel = np.array([[0.0, 1, 3], [1, 0, 1], [3, 1, 2]])
    mean = chances @ kernel @ chances
    one = float(chances @ (kernel @ chances - mean) ** 2)
    both = float(chances @ (kernel - mean) ** 2 @ chances)
    pairs = way.draw_pairs(people, seed(3))
    drawn = np.array(list(product(range(3), repeat=people)))
    weights = chances[drawn].prod(axis=1)
    found = kernel[drawn[:, pairs[:, 0]], drawn[:, pairs[:, 1]]].mean(axis=1)
    overlaps = Overlaps.from_pairs(pairs, people)
    assert weights @ (found - mean) ** 2 == pytest.approx(overlaps.variance(one, both))
    orders = np.array(list(permutations(range(people))))
    met = drawn[:, orders]  # draws, orders, people
    over = kernel[met[:, :, pairs[:, 0]], met[:, :, pairs[:, 1]]].mean(axis=2)
    assert weights @ over.var(axis=1) == pytest.approx(overlaps.pairing_variance(people, one, both))
    assert weights @ (over.mean(axis=1) - mean) ** 2 == pytest.approx(all_pairs_variance(people, one, both))


def test_a_seed_is_committed_to_and_what_is_none_is_refused() -> None:
    assert commit_to_seed(seed(1)) != commit_to_seed(seed(2))
    for each in (0, -1, 2000):
        with pytest.raises(ValueError, match="pairs_per_person"):
            Permutations(each)
    with pytest.raises(ValueError, match="must be even"):
        OwnChoice(3)
    with pytest.raises(ValueError, match="seed"):
        Permutations(1).draw_pairs(4, b"short")
    with pytest.raises(ValueError, match="people"):
        Permutations(1).draw_pairs(1, seed(1))
    with pytest.raises(ValueError, match="number of possible partners"):
        OwnChoice(10).draw_pairs(5, seed(1))
