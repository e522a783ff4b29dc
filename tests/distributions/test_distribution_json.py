"""Distributions and values go to JSON and come back the same."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from fractions import Fraction
from functools import reduce
from operator import getitem
from typing import Any

import pytest

from dpcurves.arguments import InvalidArgument
from dpcurves.conversation import Evidence
from dpcurves.distributions import (
    Family,
    HaarSums,
    HaarTensorSums,
    IntervalSums,
    Noise,
    NormalisedSums,
    OutputDistribution,
    Selection,
    Tier,
    ToeplitzSums,
)
from dpcurves_streams.distributions import (
    BufferedPrefixes,
    Epoch,
    GroupedCounts,
    HierarchyCounts,
    PIdentityPrefixes,
    PrefixTree,
    PrunedCounts,
    TreeCounts,
    WeightedSteps,
)

LAPLACE, GAUSSIAN = Noise(Family.LAPLACE, Fraction(7, 3)), Noise(Family.GAUSSIAN, Fraction(2**40 * 9, 2))
DISTRIBUTIONS: list[OutputDistribution] = [
    Selection((4, 7)),
    IntervalSums(1, 5, (Tier((0, 3), LAPLACE), Tier(range(5), GAUSSIAN)), None),
    IntervalSums(2, 5, (Tier(range(0, 5, 2), LAPLACE),), GAUSSIAN),
    HaarSums(1, 5, 1, None, (LAPLACE, GAUSSIAN, LAPLACE), LAPLACE),
    HaarSums(3, 5, 2, GAUSSIAN, (LAPLACE, GAUSSIAN), None),
    HaarSums(1, 1, 1, LAPLACE, (), LAPLACE),
    ToeplitzSums(1, 5, 1, 20, GAUSSIAN, LAPLACE),
    ToeplitzSums(2, 5, 3, 7, GAUSSIAN, None),
    NormalisedSums(2, 5, 3, 7, GAUSSIAN, LAPLACE, column_bits=12),
    HaarTensorSums((2, 3), (LAPLACE, GAUSSIAN) * 3, None, LAPLACE),
    HaarTensorSums((1,), (LAPLACE,), GAUSSIAN, LAPLACE),
    BufferedPrefixes(
        2,
        9,
        (WeightedSteps(4, 500), WeightedSteps(5, 2**20, (3, 4))),
        (Fraction(1, 3), Fraction(3, 4)),
        (7, 9),
        GAUSSIAN,
    ),
    GroupedCounts(2, LAPLACE, LAPLACE, LAPLACE, 40),
    HierarchyCounts((-1, 0, 0), (None, LAPLACE, LAPLACE)),
    PIdentityPrefixes(2, 64, "fbbdcc01820e78ce", LAPLACE),
    PrunedCounts((-1, 0, 0), 1, LAPLACE),
    TreeCounts(2, (Epoch(3, PrefixTree((4, 1), (LAPLACE, GAUSSIAN))), Epoch(1, PrefixTree((1,), (LAPLACE,))))),
]


def evidence(distribution: OutputDistribution) -> Evidence:
    values = (
        distribution.blank_values()
        if distribution.missing is None
        else tuple(-(10**20) + i for i in range(len(distribution.blank_values())))
    )
    return Evidence(distribution, values, None if distribution.missing is None else 9)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=str)
def test_every_distribution_comes_back_the_same(distribution: OutputDistribution) -> None:
    stored = json.loads(json.dumps(evidence(distribution).to_json()))
    assert Evidence.from_json(stored) == evidence(distribution)


def test_weights_that_a_formula_gives_are_not_stored() -> None:
    distribution = ToeplitzSums(1, 4096, 1, 20, GAUSSIAN, LAPLACE)
    stored = Evidence(distribution, distribution.blank_values(), 9).to_json()
    assert len(json.dumps({**stored, "values": []})) < 250


@pytest.mark.parametrize("distribution", DISTRIBUTIONS[1:], ids=str)
def test_what_lacks_a_field_or_a_value_is_refused(distribution: OutputDistribution) -> None:
    stored = evidence(distribution).to_json()
    damaged: list[dict[str, Any]] = [{k: v for k, v in stored.items() if k != name} for name in stored]
    damaged.append({**stored, "values": stored["values"][1:]})
    for one in damaged:
        with pytest.raises(ValueError, match=r"evidence: "):
            Evidence.from_json(one)


OTHERS: list[Any] = [None, "text", "1/0", -1, 1.5, 10**30, [], [1], {}]


def places(thing: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = thing.items() if isinstance(thing, dict) else enumerate(thing) if isinstance(thing, list) else ()
    for key, entry in inside:
        yield (*path, key)
        yield from places(entry, (*path, key))


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=str)
def test_what_is_of_another_form_is_read_or_refused_in_one_line(distribution: OutputDistribution) -> None:
    stored, lines = json.loads(json.dumps(evidence(distribution).to_json())), list[str]()
    for *path, last in places(stored):
        for value in OTHERS:
            changed = copy.deepcopy(stored)
            reduce(getitem, path, changed)[last] = value
            try:
                Evidence.from_json(changed)
            except InvalidArgument as error:
                lines.append(str(error))
    assert len(lines) > len(list(places(stored)))
    assert not any("\n" in line for line in lines)


def test_a_wavelet_of_too_few_levels_is_refused() -> None:
    stored = evidence(DISTRIBUTIONS[3]).to_json()
    with pytest.raises(ValueError, match="levels: 5 intervals make 3 levels, got 2"):
        Evidence.from_json({**stored, "contrasts": stored["contrasts"][1:]})


def test_evidence_tells_sums_from_choices_and_intervals_from_other_sums() -> None:
    chosen, measured, contrasts = (
        evidence(distribution) for distribution in (DISTRIBUTIONS[0], DISTRIBUTIONS[1], DISTRIBUTIONS[3])
    )
    assert (measured.sums, measured.interval_sums) == (measured.distribution, measured.distribution)
    assert contrasts.sums == contrasts.distribution
    with pytest.raises(TypeError, match="a distribution of type NoisySums is needed, got Selection"):
        _ = chosen.sums
    with pytest.raises(TypeError, match="a distribution of type IntervalSums is needed, got HaarSums"):
        _ = contrasts.interval_sums


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"cells": 10**12, "levels": [{"starts": {"range": [0, 10**12, 10**12]}, "family": "discrete Laplace",
          "parameter": "2"}], "values": [1]}, "cells"),
        ({"rows": 10**9}, "cells"),
        ({"rows": 0}, "cells"),
        ({"convolved": {"family": "discrete Gaussian", "parameter": "7"}, "width": 1, "bits": 10**9}, "bits"),
        ({"path": {"family": "discrete Laplace", "parameter": "2"}, "at": [1], "blocks": 10**9}, "blocks"),
        ({"wavelets": [], "sides": [10**6, 10**6], "apart": None}, "cells"),
    ],
)  # fmt: skip
def test_what_strangers_wrote_asks_for_no_more_memory_than_a_curve_has(changed: dict[str, Any], named: str) -> None:
    stored = evidence(IntervalSums(1, 5, (Tier((0, 3), LAPLACE),), None)).to_json()
    with pytest.raises(ValueError, match=rf"^evidence\.{named}: "):
        Evidence.from_json({**stored, **changed})
