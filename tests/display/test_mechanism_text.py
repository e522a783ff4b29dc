"""Plain sentences on mechanisms: each has one in all languages, which states how often a record counts."""

from __future__ import annotations

import re

import pytest

from dpcurves import translation
from dpcurves.data import Axis, Grid
from dpcurves.display import explain_mechanism
from dpcurves.display.mechanism_text import SENTENCES
from dpcurves.mechanisms import FlatHistogram, TreeSums
from dpcurves.mechanisms.linear import PartitionSums
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss
from dpcurves.queries import CountQuery, CountUse, PartitionQuery
from dpcurves_audit.deployments import StreamSampler
from dpcurves_audit.targets import NoiseSampler, list_targets

OTHERS = [language for language in translation.LANGUAGES if language != translation.ENGLISH]


def test_every_audited_mechanism_has_a_sentence() -> None:
    names = set()
    for target in list_targets():
        sampler = target.sampler
        if isinstance(sampler, NoiseSampler):
            units = 10 if sampler.neighbours.has_public_units else None
            adjacency = sampler.neighbours.to_adjacency(sampler.unit, units)
            plan = sampler.mechanism.plan(sampler.query, target.loss, adjacency)
            names.add(plan.made_by.rpartition(": ")[2])
        elif isinstance(sampler, StreamSampler):
            names.add(sampler._plan.made_by.rpartition(": ")[2])
    assert len(names) > 15
    assert [name for name in sorted(names) if not explain_mechanism(name)] == []


@pytest.mark.parametrize("cells", [16, 1000, 40_000])
def test_the_number_of_times_a_record_is_counted_is_that_of_the_noisy_levels(cells: int) -> None:
    axis = (Axis("x", Grid(0, 1, cells=cells)),)
    adjacency = Neighbours.ADD_REMOVE.to_adjacency(EACH_RECORD, None)
    loss = PrivacyLoss.pure(1)
    plans = [
        TreeSums().plan(CountQuery(axis, CountUse.PREFIXES), loss, adjacency),
        PartitionSums().plan(PartitionQuery(axis, ((0, 4), (0, 2, 4, 9), tuple(range(cells)))), loss, adjacency),
        FlatHistogram().plan(CountQuery(axis, CountUse.CELLS), loss, adjacency),
    ]
    for plan in plans:
        (sentence,) = explain_mechanism(plan.made_by)
        match = re.search(r"counted (once|\d+ times) in a round", sentence)
        assert match is not None
        times = 1 if match[1] == "once" else int(match[1].split()[0])
        assert times == len(plan.distribution.levels)  # type: ignore[attr-defined]


def test_several_mechanisms_have_one_sentence_each_without_repetition() -> None:
    first, second = explain_mechanism("merged cells; partition of 7 intervals; partition of 9 intervals")
    assert first.startswith("Neighbouring cells")
    assert "once" in second
    assert explain_mechanism("a mechanism of another package") == []


@pytest.mark.parametrize("language", OTHERS)
def test_every_sentence_is_translated(language: str) -> None:
    sentences = [sentence.format(3) for _, sentence in SENTENCES]
    with translation.use_language(language):
        assert [sentence for sentence in sentences if translation.translate(sentence) == sentence] == []
