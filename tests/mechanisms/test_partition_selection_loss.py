"""Names that nobody listed: exact chances of what is told on tiny neighbours, and of one that a unit alone has."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from dpcurves.conversation import UnsupportedQuery
from dpcurves.mechanisms import AUTO
from dpcurves.mechanisms.partition_selection import BoundedNoise, calibrate_category_noise, encode_name
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import AddRemove, Adjacency, PrivacyLoss, ReplaceOne, Unit
from dpcurves.queries import PartitionSelectionQuery
from dpcurves.strategies.choice import parse_names

HIDDEN = None
ROUNDED, ALMOST = Fraction(1, 10**40), Fraction(1, 10**30)
Distribution = dict[int | None, Fraction]
NAMES = PartitionSelectionQuery.from_column("ward")


def power(rate: Fraction) -> Fraction:
    """The exponential of a rate, with fifty digits."""
    with localcontext(prec=60):
        return Fraction((Decimal(rate.numerator) / Decimal(rate.denominator)).exp())


def distribution_of(noise: BoundedNoise, units: int) -> Distribution:
    """Chances of noisy counts that are told, and that the name is hidden."""
    if units == 0:
        return {HIDDEN: Fraction(1)}
    q = 1 / power(noise.rate)
    weights = {x: q ** abs(x) for x in range(-noise.threshold, noise.threshold + 1)}
    whole = sum(weights.values(), start=Fraction(0))
    found: Distribution = {HIDDEN: Fraction(0)}
    for x, weight in weights.items():
        told = units + x if units + x > noise.threshold else HIDDEN
        found[told] = found.get(told, Fraction(0)) + weight / whole
    return found


def beyond(ours: list[Distribution], theirs: list[Distribution], epsilon: Fraction) -> Fraction:
    """The delta by which outcomes of some names are likelier in one table than epsilon allows.

    Outcomes that are likelier by the same factor are added up, name by name: nothing is lost, as a set of outcomes has
    most of it where those of a factor lie in it together.
    """
    found = {(Fraction(1), False): Fraction(1)}  # chances in the other table, and in this one alone, by this factor
    for here, there in zip(ours, theirs, strict=True):
        wider: dict[tuple[Fraction, bool], Fraction] = {}
        for told, chance in here.items():
            other = there.get(told, Fraction(0))
            for (factor, alone), known in found.items():
                key = (Fraction(0), True) if alone or not other else (factor * chance / other, False)
                wider[key] = wider.get(key, Fraction(0)) + known * chance
        found = wider
    allowed = power(epsilon)
    return sum(
        (
            chance if alone else max(chance * (1 - allowed / factor), Fraction(0))
            for (factor, alone), chance in found.items()
            if alone or factor
        ),
        start=Fraction(0),
    )


@pytest.mark.parametrize(
    ("rate", "delta"), [("1/10", "1/100"), ("1/2", "1e-6"), ("1", "1e-9"), ("1", "1/100"), ("3", "1e-9"), ("3", "1/9")]
)
def test_one_name_loses_its_part_and_one_unit_alone_is_told_with_the_chance_of_delta(rate: str, delta: str) -> None:
    epsilon, chance = Fraction(rate), Fraction(delta)
    noise = BoundedNoise.from_delta(epsilon, chance)
    alone = 1 - distribution_of(noise, 1)[HIDDEN]
    assert alone <= noise.selection_probability_of_one() <= chance
    assert abs(noise.selection_probability_of_one() / alone - 1) < ALMOST
    assert noise.threshold == 1 or BoundedNoise(epsilon, noise.threshold - 1).selection_probability_of_one() > chance
    for units in (*range(4), noise.threshold, 2 * noise.threshold, 2 * noise.threshold + 1):
        fewer, more = distribution_of(noise, units), distribution_of(noise, units + 1)
        for one, other in ((fewer, more), (more, fewer)):
            assert beyond([one], [other], epsilon) <= alone * (1 + ROUNDED)
        assert noise.selection_probability(units) == pytest.approx(float(1 - fewer[HIDDEN]), rel=1e-9, abs=1e-15)


def changed(adjacency: Adjacency) -> list[tuple[int, int]]:
    """Numbers of names that come, and that go, with one unit: no fewer come than go, as tables may change places."""
    most = adjacency.unit.records
    if isinstance(adjacency, AddRemove):
        return [(names, 0) for names in range(1, most + 1)]
    return [(come, go) for come in range(1, most + 1) for go in range(1, come + 1)]


@pytest.mark.parametrize("adjacency", [
    kind for k in (1, 2, 3) for kind in (AddRemove(Unit("patient", k)), ReplaceOne(Unit("patient", k), 3))
], ids=repr)  # fmt: skip
@pytest.mark.parametrize("loss", [PrivacyLoss.pure(1, "1/5"), PrivacyLoss.zcdp(2, "1/3")], ids=str)
def test_tiny_neighbours_lose_what_was_granted(adjacency: Adjacency, loss: PrivacyLoss) -> None:
    noise = calibrate_category_noise(loss, adjacency)
    epsilon = noise.rate * adjacency.l1_sensitivity
    assert epsilon**2 / 2 <= loss.rho
    distributions, worst = [distribution_of(noise, units) for units in range(5)], Fraction(0)
    for come, go in changed(adjacency):
        units_before = range(4) if come + go < 3 else (0, 2)
        starts = (combinations_with_replacement(units_before, names) for names in (come, go))
        for more, fewer in product(*starts):  # units of these names in the table that lacks them
            one = [distributions[units] for units in more] + [distributions[units + 1] for units in fewer]
            other = [distributions[units + 1] for units in more] + [distributions[units] for units in fewer]
            worst = max(worst, beyond(one, other, epsilon), beyond(other, one, epsilon))
    assert worst <= loss.delta
    told = 1 - (1 - noise.selection_probability_of_one()) ** adjacency.unit.records  # if all names that come are new
    assert worst >= told * (1 - ALMOST)


def test_names_are_told_in_their_order_and_none_without_many_units() -> None:
    plan = AUTO.plan(NAMES, PrivacyLoss.pure(1, "1e-6"), AddRemove(Unit("patient", 1)))
    names = [b"\xc3\xa9", b"a", b"rare", b"z"]
    table = np.array([(name, units) for name, units in zip(names, (300, 500, 1, 400), strict=True)], dtype=object)
    found = AUTO.run(table, plan, Randomness.from_seed(1))
    assert [found[0], found[2], found[4]] == [encode_name(names[place]) for place in (0, 1, 3)]
    assert found[3] == pytest.approx(500, abs=14)
    assert AUTO.run(np.empty((0, 2), dtype=object), plan, Randomness.from_seed(1)) == ()
    from dpcurves.conversation import Release

    assert parse_names(Release(plan, found, None, seeded=True)) == ("é", "a", "z")


def test_noise_follows_its_distribution() -> None:
    noise = BoundedNoise(Fraction(1, 2), 4)
    drawn = noise.sample(40_000, Randomness.from_seed(2))
    distribution = {told: float(chance) for told, chance in distribution_of(noise, 9).items() if told is not None}
    for told, chance in distribution.items():
        assert (drawn + 9 == told).mean() == pytest.approx(chance, abs=0.012)
    assert abs(drawn).max() == 4


def test_what_has_no_delta_or_too_little_is_refused() -> None:
    for loss in (PrivacyLoss.pure(1), PrivacyLoss.pure("1e-8", "1e-9")):
        with pytest.raises(UnsupportedQuery, match="delta"):
            AUTO.plan(NAMES, loss, AddRemove(Unit("patient", 1)))
