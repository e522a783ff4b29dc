"""Names that nobody listed: exact chances of what is told on tiny neighbours, and of one that a unit alone has."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest

from dpcurves.conversation import UnsupportedQuery
from dpcurves.mechanisms import AUTO
from dpcurves.mechanisms.found_names import BoundedNoise, noise_of_names, number_of
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import AddRemove, Adjacency, PrivacyLoss, ReplaceOne, Unit
from dpcurves.queries import NamesQuery
from dpcurves.strategies.choice import names_in

HIDDEN = None
ROUNDED = Fraction(1, 10**40)
Law = dict[int | None, Fraction]
NAMES = NamesQuery.of("ward")


def power(rate: Fraction) -> Fraction:
    """The exponential of a rate, with fifty digits."""
    with localcontext(prec=60):
        return Fraction((Decimal(rate.numerator) / Decimal(rate.denominator)).exp())


def law_of(noise: BoundedNoise, units: int) -> Law:
    """Chances of noisy counts that are told, and that the name is hidden."""
    if units == 0:
        return {HIDDEN: Fraction(1)}
    q = 1 / power(noise.rate)
    weights = {x: q ** abs(x) for x in range(-noise.threshold, noise.threshold + 1)}
    whole = sum(weights.values(), start=Fraction(0))
    found: Law = {HIDDEN: Fraction(0)}
    for x, weight in weights.items():
        told = units + x if units + x > noise.threshold else HIDDEN
        found[told] = found.get(told, Fraction(0)) + weight / whole
    return found


def beyond(ours: list[Law], theirs: list[Law], epsilon: Fraction) -> Fraction:
    """The delta by which outcomes of some names are likelier in one table than epsilon allows."""
    worst, factor = Fraction(0), power(epsilon)
    for told in product(*ours):
        here, there = (prod(law.get(each, Fraction(0)) for law, each in zip(laws, told, strict=True))
                       for laws in (ours, theirs))  # fmt: skip
        worst += max(here - factor * there, Fraction(0))
    return worst


@pytest.mark.parametrize(
    ("rate", "delta"), [("1/10", "1/100"), ("1/2", "1e-6"), ("1", "1e-9"), ("1", "1/100"), ("3", "1e-9"), ("3", "1/9")]
)
def test_one_name_loses_its_part_and_one_unit_alone_is_told_with_the_chance_of_delta(rate: str, delta: str) -> None:
    epsilon, chance = Fraction(rate), Fraction(delta)
    noise = BoundedNoise.hiding(epsilon, chance)
    alone = 1 - law_of(noise, 1)[HIDDEN]
    assert alone <= noise.chance_of_one() <= chance
    assert abs(noise.chance_of_one() / alone - 1) < Fraction(1, 10**30)
    assert noise.threshold == 1 or BoundedNoise(epsilon, noise.threshold - 1).chance_of_one() > chance
    for units in (*range(4), noise.threshold, 2 * noise.threshold, 2 * noise.threshold + 1):
        fewer, more = law_of(noise, units), law_of(noise, units + 1)
        for one, other in ((fewer, more), (more, fewer)):
            assert beyond([one], [other], epsilon) <= alone * (1 + ROUNDED)
        assert noise.told_chance(units) == pytest.approx(float(1 - fewer[HIDDEN]), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(
    ("adjacency", "moves"),
    [
        (AddRemove(Unit("patient", 1)), [(1,)]),
        (AddRemove(Unit("patient", 2)), [(1,), (1, 1)]),
        (AddRemove(Unit("patient", 3)), [(1,), (1, 1), (1, 1, 1)]),
        (ReplaceOne(Unit("patient", 1), 3), [(1, -1)]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("loss", [PrivacyLoss.pure(1, "1/5"), PrivacyLoss.zcdp(2, "1/3")], ids=str)
def test_tiny_neighbours_lose_what_was_granted(
    adjacency: Adjacency, moves: list[tuple[int, ...]], loss: PrivacyLoss
) -> None:
    noise = noise_of_names(loss, adjacency)
    epsilon = noise.rate * adjacency.l1_sensitivity
    assert epsilon**2 / 2 <= loss.rho
    for move in moves:
        for before in product(range(4), repeat=len(move)):
            after = [units + change for units, change in zip(before, move, strict=True)]
            if min(after) >= 0:
                laws = [[law_of(noise, units) for units in counts] for counts in (before, after)]
                assert beyond(laws[0], laws[1], epsilon) <= loss.delta
                assert beyond(laws[1], laws[0], epsilon) <= loss.delta


def test_names_are_told_in_their_order_and_none_without_many_units() -> None:
    plan = AUTO.plan(NAMES, PrivacyLoss.pure(1, "1e-6"), AddRemove(Unit("patient", 1)))
    names = [b"\xc3\xa9", b"a", b"rare", b"z"]
    table = np.array([(name, units) for name, units in zip(names, (300, 500, 1, 400), strict=True)], dtype=object)
    found = AUTO.run(table, plan, Randomness.from_seed(1))
    assert [found[0], found[2], found[4]] == [number_of(names[place]) for place in (0, 1, 3)]
    assert found[3] == pytest.approx(500, abs=14)
    assert AUTO.run(np.empty((0, 2), dtype=object), plan, Randomness.from_seed(1)) == ()
    from dpcurves.conversation import Release

    assert names_in(Release(plan, found, None, seeded=True)) == ("é", "a", "z")


def test_noise_follows_its_law() -> None:
    noise = BoundedNoise(Fraction(1, 2), 4)
    drawn = noise.draws(40_000, Randomness.from_seed(2))
    law = {told: float(chance) for told, chance in law_of(noise, 9).items() if told is not None}
    for told, chance in law.items():
        assert (drawn + 9 == told).mean() == pytest.approx(chance, abs=0.012)
    assert abs(drawn).max() == 4


def test_what_has_no_delta_or_too_little_is_refused() -> None:
    for loss in (PrivacyLoss.pure(1), PrivacyLoss.pure("1e-8", "1e-9")):
        with pytest.raises(UnsupportedQuery, match="delta"):
            AUTO.plan(NAMES, loss, AddRemove(Unit("patient", 1)))
