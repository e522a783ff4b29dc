"""Samplers give answers, and what is said to lose half of what it loses is flagged through them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

import dpcurves as dp
import dpcurves.mechanisms
from dpcurves import curves, queries
from dpcurves.conversation import Plan
from dpcurves.mechanisms import AUTO
from dpcurves.mechanisms.base import QueryMechanism
from dpcurves.privacy import EACH_RECORD
from dpcurves_audit.cli import QUICK_PUBLIC_FUNCTIONS, _is_in_quick_audit
from dpcurves_audit.deployments import AuditTarget
from dpcurves_audit.outcome_scores import OutcomeParser
from dpcurves_audit.targets import list_targets

ALL = {each.name: each for each in list_targets()}
NEW = "stream,", "followed", "report", "pairs", "two servers", "verification", "sites", "federation", "a request killed"
TURNS = [each for each in ALL.values() if each.kind == "transcript" and each.name.endswith("epsilon 1, add-remove")]
LEFT_OUT = *NEW, "survival of any", "scores of any"
OTHERS = [each for each in TURNS if not each.name.startswith(LEFT_OUT) and not _is_in_quick_audit(each)]
BESIDE: list[Any] = [
    *(each for each in ALL.values() if each.name.startswith(NEW) and not _is_in_quick_audit(each)),
    *(pytest.param(each, marks=[pytest.mark.reproduction] * (number % 3 > 0)) for number, each in enumerate(OTHERS)),
]
"""Samplers of protocols, and one of three questions to one curator; `make bench` tries them all. What the
quick audit looks at is left to it: `make test` runs it, and it fails where one gives no answer."""


def test_names_are_unique_and_the_quick_audit_finds_its_public_calls() -> None:
    assert len(ALL) == len(list(list_targets()))
    assert set(QUICK_PUBLIC_FUNCTIONS) <= set(ALL)
    assert 100 < sum(map(_is_in_quick_audit, ALL.values())) < 150
    mechanisms = [each for each in ALL.values() if each.kind == "mechanism"]
    covered = {each.name.partition(":")[0] for each in mechanisms if _is_in_quick_audit(each)}
    assert {each.name.partition(":")[0] for each in mechanisms} == covered


def plans_of_turns() -> Iterator[Plan]:
    """Turns of all questions of records that come or go."""
    adjacency = dp.ADD_REMOVE.to_adjacency(EACH_RECORD, None)
    found: list[Any] = list(ALL.values())
    for each in found:
        if each.kind == "transcript" and each.name.endswith("add-remove") and hasattr(each.sampler, "question"):
            yield from dp.plan_question(each.sampler.question, each.loss, adjacency)


def kinds_below(base: type) -> set[type]:
    below: list[type] = base.__subclasses__()
    return {kind for each in below for kind in (each, *kinds_below(each))}


def test_every_question_and_every_mechanism_is_in_the_audit_of_everything() -> None:
    """Whoever adds one adds it to `dpcurves_audit.questions` or `dpcurves_audit.targets`, too."""
    asked = {type(each.sampler.question) for each in ALL.values() if hasattr(each.sampler, "question")}
    assert {getattr(curves, name) for name in curves.__all__ if name.endswith("Question")} - asked == {curves.Question}

    for module in iter_modules(dpcurves.mechanisms.__path__):
        import_module(f"dpcurves.mechanisms.{module.name}")
    plans = list(plans_of_turns())
    samplers: list[Any] = [each.sampler for each in ALL.values() if hasattr(each.sampler, "mechanism")]
    run = {type(sampler.mechanism).__name__ for sampler in samplers} | {
        type(AUTO.choose_mechanism(plan.query, plan.loss, plan.adjacency)).__name__ for plan in plans
    }
    own = {kind for kind in kinds_below(QueryMechanism) if kind.__module__.startswith("dpcurves.")}
    whole = {kind.__name__ for kind in own if hasattr(kind, "query_types")}
    assert whole - run == {"PrefixMechanism"}  # what some of them have in common
    assert {"FlatHistogram", "ThresholdedCategories", "LazyTree", "PrivTree", "SparseVector"} <= whole

    counted = {type(sampler.query) for sampler in samplers} | {type(plan.query) for plan in plans}
    public = {getattr(queries, name) for name in queries.__all__ if name.endswith("Query")}
    assert public - counted == {queries.Query, queries.WeightedQuery}

    from dpcurves_streams import mechanisms as streams

    kinds = {name for name in streams.__all__ if isinstance(getattr(streams, name), type)}
    assert kinds - run == {"StreamMechanismChoice", "Sequential", "State"}  # what they have in common


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("each", BESIDE, ids=lambda each: f"{each.kind}: {each.name}")
def test_both_neighbours_of_the_first_pair_are_answered(each: AuditTarget) -> None:
    reader, pair = OutcomeParser(), each.family.pairs[0]
    for data in (pair.left, pair.right):
        assert len(reader.parse_outcomes(each.sampler.draw(data, 2))) == 2
    assert not any(words.startswith("raises") for words in reader.kind_numbers), reader.kind_numbers


@pytest.mark.quick_share(3)
@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("stream, each step: epsilon 1", {"epsilon": "0.4"}),
        ("stream, hierarchy: epsilon 1", {"epsilon": "0.3"}),
        ("k-ary of 5 answers", {"epsilon": "0.5"}),
        ("unary of 5 answers", {"epsilon": "0.5"}),
        ("report with public coins: epsilon 1", {"epsilon": "0.5"}),
        ("pairs, answers on collisions", {"epsilon": "0.5"}),
        ("merged cells: epsilon 1, add-remove", {"epsilon": "0.3"}),
        ("sums of values: epsilon 1, replace-one", {"epsilon": "0.5"}),
    ],
)
def test_half_of_what_is_lost_is_not_believed(name: str, claim: dict[str, str]) -> None:
    """Not found with a chance below 1 in 100 each; the audit of this package looks through the same samplers."""
    each = ALL[name]
    report = dp.audit(each.sampler, each.family.take_first(8), samples=24_000, seconds=60, extra_checks=False, **claim)  # type: ignore[arg-type]
    assert report.is_flagged, str(report)
