"""Exact losses of noisy sums, choices and traced mechanisms: none exceeds its claim, planted faults do, and
distributions agree with draws."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import inf, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.distributions import Family, Noise
from dpcurves.mechanisms import (
    exponential,
    lazy_tree,
    linear,
    missing_reasons,
    partition_selection,
    smooth_sensitivity,
    thresholds,
)
from dpcurves.noise import discrete_gaussian
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove
from dpcurves_audit import exact_losses, response_losses
from dpcurves_audit.cli import _is_in_quick_audit
from dpcurves_audit.exact_losses import ExactLoss, add_losses, list_exact_losses
from dpcurves_audit.targets import list_targets
from dpcurves_local.responses import randomiser
from dpcurves_local.task import PublicCoinResponses
from dpcurves_local.trust import build_randomisers
from dpcurves_parties.pairs import mechanisms as pair_mechanisms
from dpcurves_parties.pairs import release as pair_release
from dpcurves_parties.pairs.noise_circuits import choose_response
from dpcurves_parties.pairs.noise_circuits import response as noise_circuits
from dpcurves_parties.serving import noise_key
from dpcurves_sites import shares
from dpcurves_sites.trust import SecureSum
from dpcurves_streams.mechanisms import counters, hierarchy, p_identity, pegasus

LARGEST = {
    "noise of a histogram of units": 1.0, "sums of values at both ends of a cell": 1.0,
    "blocks of a tree on demand": 1.0, "quantile cuts, 2 pieces": 0.815, "quantile cuts, 4 pieces": 0.658,
    "worst box": 0.568, "PrivTree": 1.0, "sparse vector": 1.0, "merged cells": 1.0, "private bounds": 0.363,
    "buckets": 0.762, "one noisy median": 1.0, "noisy medians": 0.984, "noisy area": 0.934, "wavelets of boxes": 1.0,
    "reasons of missing records": 1.0, "stream, each step": 1.0, "stream, hierarchy": 1.0,
    "stream, pruned hierarchy": 1.0, "stream, totals by a tree": 1.0, "stream, two totals by a tree": 1.0,
    "stream, weighted totals": 1.0, "stream, each step and what is not counted": 1.0, "stream, groups": 1.0,
    "name search": 0.998, "names of a universe": 1.0,
}  # fmt: skip
"""Loss over claim at epsilon 1, of records that are added or removed."""


def select(*words: str) -> list[ExactLoss]:
    """Return the exact losses beside those of the targets whose names begin with one of these words."""
    return [item for item in list_exact_losses([], quick=True) if item.name.startswith(words)]


@pytest.mark.reproduction  # the quick audit of `make test` prints them all
def test_no_exact_loss_at_epsilon_1_exceeds_its_claim() -> None:
    """Other claims, and sums of the targets, are left to the quick audit, which `make test` runs."""
    items = select("")
    assert len({item.name for item in items}) == len(items)
    losses = {}
    for item in items:
        name, _, setting = item.name.partition(": ")
        if setting in ("epsilon 1, add-remove", "epsilon 1, delta 0.01, add-remove"):
            losses[name] = item.find_largest()
            assert not item.exceeds_claim(losses[name]), name
    assert losses == pytest.approx(LARGEST, abs=0.001)


def test_all_noisy_sums_of_the_quick_audit_have_exact_losses() -> None:
    targets = [target for target in list_targets() if target.kind == "noise" and _is_in_quick_audit(target)]
    names = {item.name for item in list_exact_losses(targets, quick=True)}
    assert {target.name for target in targets if type(target.sampler).__name__ == "NoiseSampler"} <= names
    assert {"flat histogram: epsilon 1, add-remove", "square root: rho 0.5, replace-one"} <= names


DRAWING = {
    "dpcurves/mechanisms/exponential.py ExponentialPartition": "buckets",
    "dpcurves/mechanisms/exponential.py ExponentialQuantiles": "quantile cuts, 4 pieces",
    "dpcurves/mechanisms/exponential.py ExponentialWorstBox": "worst box",
    "dpcurves/mechanisms/lazy_tree.py LazyTree": "blocks of a tree on demand",
    "dpcurves/mechanisms/linear.py LinearMechanism": "flat histogram",
    "dpcurves/mechanisms/missing_reasons.py add_noise_to_reasons": "reasons of missing records",
    "dpcurves/mechanisms/partition_selection.py BoundedNoise": "name search",
    "dpcurves/mechanisms/partition_selection.py ThresholdedCategories": "name search",
    "dpcurves/mechanisms/partition_selection.py UniverseCategories": "names of a universe",
    "dpcurves/mechanisms/smooth_sensitivity.py NoisyAuc": "noisy area",
    "dpcurves/mechanisms/smooth_sensitivity.py NoisyMedians": "noisy medians",
    "dpcurves/mechanisms/thresholds.py MergedCells": "merged cells",
    "dpcurves/mechanisms/thresholds.py PrivTree": "PrivTree",
    "dpcurves/mechanisms/thresholds.py SparseVector": "sparse vector",
    "dpcurves/mechanisms/thresholds.py is_noisily_above_zero": "PrivTree",
    "dpcurves/mechanisms/wavelets.py Privelet": "wavelets of boxes",
    "dpcurves/mechanisms/wavelets.py sample_value_noise": "wavelets of boxes",
    "dpcurves_local/responses/randomiser.py HadamardResponse": "hadamard of 5 answers",
    "dpcurves_local/responses/randomiser.py KaryRandomisedResponse": "k-ary of 5 answers",
    "dpcurves_local/responses/randomiser.py SubsetSelection": "subset of 5 answers",
    "dpcurves_local/responses/randomiser.py UnaryEncoding": "unary of 5 answers",
    "dpcurves_local/task.py Task": "report rounded by chance",
    "dpcurves_local/trust.py make_messages": "report for a curve",
    "dpcurves_parties/pairs/release.py simulate_release": "pairs, answers on collisions",
    "dpcurves_parties/serving/noise_key.py NoiseKey": "two servers, all cells",
    "dpcurves_sites/shares.py sample_gaussian_share": "sites, cells",
    "dpcurves_sites/trust.py SecureSum": "sites, cells",
    "dpcurves_streams/mechanisms/counters.py BufferedCounter": "stream, totals by buffers",
    "dpcurves_streams/mechanisms/counters.py TreeCounter": "stream, totals by a tree",
    "dpcurves_streams/mechanisms/counters.py sample_block_noise": "stream, totals by a tree",
    "dpcurves_streams/mechanisms/hierarchy.py Perturber": "stream, each step",
    "dpcurves_streams/mechanisms/hierarchy.py PrunedHierarchy": "stream, pruned hierarchy",
    "dpcurves_streams/mechanisms/hierarchy.py _sample_node_noise": "stream, hierarchy",
    "dpcurves_streams/mechanisms/p_identity.py PIdentityCounter": "stream, weighted totals",
    "dpcurves_streams/mechanisms/p_identity.py sample_prefix_noise": "stream, weighted totals",
    "dpcurves_streams/mechanisms/pegasus.py Pegasus": "stream, groups",
}
"""Each place that draws noise or makes a choice, and the exact loss that covers it. The bits below
them are left to samples."""
SAMPLERS = {
    "is_noisily_above_zero", "noise_sampler", "sample_block_noise", "sample_by_inversion", "sample_cauchy_floor",
    "sample_exponential_mechanism", "sample_gaussian_share", "sample_noise", "sample_noise_share", "sample_partition",
    "sample_prefix_noise", "sample_value_noise", "round_cells", "sample_bernoulli", "sample_bernoulli_rows",
    "sample_polya_differences", "sample_uniform", "sample_uniform_sets", "simulate_answers",
}  # fmt: skip
"""Functions whose calls draw noise or make a choice; `sample` of a module or of a distribution of noise does, too."""
PUBLIC_SIMULATIONS = (
    "dpcurves/noise/",
    "dpcurves_local/responses/bernoulli_sampler.py",
    "dpcurves_audit/",
    "dpcurves_sim/",
    "dpcurves_survival/",
)
"""Samplers themselves, audits, simulations, and readings that simulate from public numbers."""


def list_drawing_functions() -> set[str]:
    """Return the file and the outermost class or function of each call of a sampler in the package."""
    source = Path(dp.__file__).parents[1]
    found = set()
    for file in source.glob("dpcurves*/**/*.py"):
        name = file.relative_to(source).as_posix()
        if name.startswith(PUBLIC_SIMULATIONS):
            continue
        for definition in ast.parse(file.read_text("utf-8")).body:
            for call in ast.walk(definition):
                if not isinstance(call, ast.Call):
                    continue
                called = ast.unparse(call.func)
                is_noise = called in ("discrete_laplace.sample", "discrete_gaussian.sample", "noise.sample")
                if called.rpartition(".")[2] in SAMPLERS or is_noise:
                    found.add(f"{name} {getattr(definition, 'name', '')}")
    return found


def test_every_place_that_draws_noise_has_an_exact_loss() -> None:
    assert list_drawing_functions() == set(DRAWING)
    names = {item.name.partition(": ")[0] for item in list_exact_losses(list_targets(), quick=True)}
    assert set(DRAWING.values()) <= names


def double(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with twice its value."""
    return lambda *arguments: 2 * function(*arguments)


def halve_noise(function: Callable[..., Noise]) -> Callable[..., Noise]:
    """Return the function that calibrates noise with half of its parameter."""
    return lambda *arguments: Noise(function(*arguments).family, function(*arguments).parameter / 2)


@pytest.mark.parametrize(
    ("module", "name", "fault", "words"),
    [
        (linear, "l1_distance", lambda function: lambda *_: Fraction(1), ["noise of a histogram of units: epsilon"]),
        (linear, "squared_l2_distance", lambda function: lambda query, _: Fraction(2 * query.per_record_sensitivity**2),
         ["noise of a histogram of units: rho", "sums of values at both ends of a cell: rho 0.5, replace-one"]),
        (lazy_tree, "record_budget", double, ["blocks of a tree on demand"]),
        (counters, "calibrate_noise", halve_noise, ["stream, totals by a tree: epsilon 1, add"]),
        (hierarchy, "best_budget_fractions", lambda function: lambda *arguments: (1,) * len(function(*arguments)),
         ["stream, hierarchy: rho"]),
        (hierarchy, "calibrate_noise", halve_noise, ["stream, each step: ", "stream, hierarchy", "stream, pruned"]),
        (p_identity, "calibrate_noise", halve_noise, ["stream, weighted totals: epsilon 1, add"]),
        (counters, "squared_sensitivity", lambda function: lambda *arguments: function(*arguments) // 2,
         ["stream, totals by buffers"]),
        (pegasus, "pure_epsilon", double,
         ["stream, groups: epsilon 1, add", "stream, groups: rho 0.5, add"]),
        (pegasus, "calibrate_noise", halve_noise, ["stream, groups: epsilon 1, replace"]),
        (smooth_sensitivity, "pure_epsilon", double, ["one noisy median: epsilon 1, add", "noisy area: rho 0.5, add"]),
        (smooth_sensitivity, "median_sensitivity", lambda function: lambda *arguments: function(*arguments) / 2,
         ["one noisy median: epsilon 1, add"]),
        (exponential, "deviation_rate", double, ["buckets: epsilon 1", "buckets: rho 0.5, add"]),
        (partition_selection, "calibrate_category_noise",
         lambda function: lambda *arguments: replace(function(*arguments), rate=2 * function(*arguments).rate),
         ["name search"]),
        (partition_selection, "calibrate_universe_noise",
         lambda function: lambda *arguments: replace(function(*arguments), rate=2 * function(*arguments).rate),
         ["names of a universe"]),
        (thresholds, "sample_noise", lambda function: lambda noise, *rest: function(
            Noise(noise.family, noise.parameter / 2), *rest
        ), ["sparse vector: epsilon", "merged cells: epsilon"]),
        (thresholds, "pure_epsilon", double, ["sparse vector: epsilon", "merged cells: epsilon"]),
        (exponential, "bounded_range", double, ["quantile cuts, 2 pieces", "worst box"]),
        (thresholds, "calibrate_noise_and_decay",
         lambda function: lambda *arguments: (halve_noise(lambda *a: function(*a)[0])(*arguments),
                                              function(*arguments)[1]), ["PrivTree: epsilon 1"]),
    ],
)  # fmt: skip
def test_wrong_sensitivities_and_scales_exceed_their_claims(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, fault: Callable[[Any], Any], words: list[str]
) -> None:
    items = select(*words)
    assert len(items) >= len(words)
    monkeypatch.setattr(module, name, fault(getattr(module, name)))
    missed = [item.name for item in items if not item.exceeds_claim(item.find_largest())]
    assert missed == []


def repeat_first_draw(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a sampler whose draws in one call are all equal."""

    def sample(*arguments: Any) -> Any:
        draws = function(*arguments)
        draws[:] = draws[0]
        return draws

    return sample


@pytest.mark.parametrize(
    ("module", "word"),
    [
        (linear, "sums of values at both ends of a cell: epsilon 1, replace-one"),
        (counters, "stream, two totals by a tree: epsilon 1, replace-one"),
        (hierarchy, "stream, each step: rho 0.5, replace-one"),
        (missing_reasons, "reasons of missing records: epsilon 1, replace-one"),
    ],
)
def test_noise_that_is_drawn_once_for_several_values_loses_everything(
    monkeypatch: pytest.MonkeyPatch, module: Any, word: str
) -> None:
    """Its differences are exact: no noise turns the values of one table into those of another."""
    (item,) = select(word)
    assert not item.exceeds_claim(item.find_largest())
    monkeypatch.setattr(module, "sample_noise", repeat_first_draw(module.sample_noise))
    assert item.find_largest() == inf


@pytest.mark.parametrize("fault", ["noises.clip(-3)", "noises * (sums != 0)"])
def test_noise_that_is_clipped_or_left_out_of_empty_cells_loses_everything(
    monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Zeros in the place of noise do not show either; large numbers of both signs do."""
    (item,) = select("noise of a histogram of units: epsilon 1, add-remove")
    source = inspect.getsource(linear.LinearMechanism.run).replace("noises.tolist()", f"({fault}).tolist()")
    faulty: dict[str, Any] = {}
    exec(textwrap.dedent(source), vars(linear), faulty)
    monkeypatch.setattr(linear.LinearMechanism, "run", faulty["run"])
    assert item.find_largest() == inf


def test_the_noise_of_one_server_alone_keeps_to_the_claim_and_half_of_it_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    targets = [target for target in list_targets() if target.name == "two servers, all cells: epsilon 1"]
    item = next(iter(list_exact_losses(targets, quick=True)))
    assert item.find_largest() == pytest.approx(1, abs=1e-5)
    monkeypatch.setattr(noise_key, "sample_noise", lambda noise, size, _: linear.sample_noise(
        Noise(noise.family, noise.parameter / 2), size, Randomness.from_system()
    ))  # fmt: skip
    assert item.find_largest() == pytest.approx(2, abs=1e-5)


@pytest.mark.parametrize(("name", "mechanism"), [
    ("noise of a histogram of units: epsilon 1, add-remove", linear.LinearMechanism),
    ("noise of a histogram of units: rho 0.5, add-remove", linear.LinearMechanism),
    ("names of a universe: epsilon 1, add-remove", partition_selection.UniverseCategories),
])  # fmt: skip
def test_noise_from_a_seed_of_the_mechanism_loses_everything(
    monkeypatch: pytest.MonkeyPatch, name: str, mechanism: Any
) -> None:
    """Its distribution is right, and everybody knows it; the mechanism is given another source."""
    (item,) = select(name)
    run = mechanism.run

    def run_with_seed(self: Any, table: Any, plan: Any, randomness: Randomness, *memory: Any) -> Any:
        """Run the mechanism with noise that anybody can subtract."""
        assert not randomness.is_seeded
        return run(self, table, plan, Randomness.from_seed(1), *memory)

    monkeypatch.setattr(mechanism, "run", run_with_seed)
    assert item.find_largest() == inf


def test_blocks_of_a_tree_that_share_a_draw_lose_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    (item,) = select("blocks of a tree on demand: epsilon 1, add-remove")

    def make_tree(noise_sampler: Callable[..., Any]) -> lazy_tree.LazyTree:
        """Return a tree with one draw for all new blocks."""
        return lazy_tree.LazyTree(lambda noise, size, source: np.repeat(noise_sampler(noise, 1, source), size))

    monkeypatch.setattr("dpcurves_audit.exact_losses.mechanisms.LazyTree", make_tree)
    assert item.find_largest() == inf


def test_a_name_that_is_only_released_with_units_loses_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outcome has probability 0 without the unit: losses are compared in both directions."""
    run = partition_selection.UniverseCategories.run

    def run_for_units_alone(self: Any, table: Any, plan: Any, randomness: Any) -> Any:
        """Release no name if the table has no units."""
        released = run(self, table, plan, randomness)
        return released if len(table) else released[:1]

    (item,) = select("names of a universe: epsilon 1, add-remove")
    assert item.find_largest() == pytest.approx(1)
    monkeypatch.setattr(partition_selection.UniverseCategories, "run", run_for_units_alone)
    assert item.find_largest() == inf


def test_half_of_the_noise_of_sites_exceeds_their_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    targets = [target for target in list_targets() if target.name == "sites, cells: rho 0.1, add-remove"]
    item = next(iter(list_exact_losses(targets, quick=True)))
    assert item.find_largest() == pytest.approx(0.1, abs=1e-6)

    def halve(variance: Fraction, sites: int, size: int, randomness: Randomness) -> Any:
        return discrete_gaussian.sample(variance / (2 * sites), size, randomness)

    monkeypatch.setattr(shares, "sample_gaussian_share", halve)
    assert item.exceeds_claim(item.find_largest())


def test_distributions_of_choices_agree_with_draws() -> None:
    """Each frequency of 2,000 draws is within 5 standard deviations: a false alarm among 60 outcomes is below 1e-4."""
    draws, randomness = 2000, Randomness.from_seed(5)
    table = np.array([2, 0, 1, 0, 1])
    for name, mechanism, query, find_distribution in exact_losses._list_choices():
        plan = mechanism.plan(query, dp.PrivacyLoss.pure(2), AddRemove(EACH_RECORD))
        counts = table if query.cells == 4 else np.append(table, [0] * (query.cells - 4))
        distribution = find_distribution(mechanism, counts, plan)
        assert sum(distribution.values()) == pytest.approx(1, abs=1e-9), name
        drawn = Counter(mechanism.run(counts, plan, randomness) for _ in range(draws))
        if name in ("sparse vector", "private bounds"):
            drawn = Counter({outcome[0]: number for outcome, number in drawn.items()})
        assert set(drawn) <= set(distribution), name
        for outcome, probability in distribution.items():
            error = 5 * sqrt(draws * probability * (1 - probability)) + 3
            assert drawn[outcome] == pytest.approx(draws * probability, abs=error), (name, outcome)


def test_noise_that_differs_or_is_of_another_family_loses_everything() -> None:
    laplace, gaussian = (Noise(family, Fraction(2)) for family in (Family.LAPLACE, Family.GAUSSIAN))
    pure, rho = dp.PrivacyLoss.pure(1), dp.PrivacyLoss.zcdp(1)
    assert add_losses([([1], laplace)], [([1], gaussian)], pure) == inf
    assert add_losses([([1], gaussian)], [([2], gaussian)], pure) == inf
    assert add_losses([([1], gaussian)], [([3], gaussian)], rho) == 1.0
    assert add_losses([([1], laplace), ([4], gaussian)], [([3], laplace), ([4], gaussian)], rho) == 0.5


def select_targets(*words: str) -> list[ExactLoss]:
    """Return the exact losses of the targets whose names begin with one of these words."""
    targets = [target for target in list_targets() if target.name.startswith(words)]
    return [item for item in list_exact_losses(targets, quick=True) if item.name.startswith(words)]


RESPONSES = "k-ary of 5", "hadamard of 5", "subset of 5", "unary of 5"
REPORTS = "report with public coins: epsilon", "report for a curve: epsilon"


def test_reports_answers_of_pairs_and_sums_of_sites_lose_what_they_claim_and_no_more() -> None:
    """Further reports are left to the quick audit, which `make test` runs."""
    expected = {
        **{f"{name} answers": 1.0 for name in RESPONSES}, "report with public coins: epsilon 1": 1.0,
        "report for a curve: rho 0.5": 0.276,
        "pairs, answers on collisions": 1.0, "pairs, answers on distances": 0.988,
        "sites, cells: epsilon 1, add-remove": 1.0, "sites, cells: epsilon 1, replace-one": 1.0,
    }  # fmt: skip
    losses = {}
    for item in select_targets(*expected):
        losses[item.name] = item.find_largest()
        assert not item.exceeds_claim(losses[item.name]), item.name
    assert losses == pytest.approx(expected, abs=0.001)


def forget_plans() -> None:
    """Clear the caches of randomisers and circuits, which were built with or without a fault."""
    build_randomisers.cache_clear()
    choose_response.cache_clear()
    pair_mechanisms.build_noisy_circuit.cache_clear()


@pytest.mark.parametrize(
    ("owner", "name", "fault", "words"),
    [
        (randomiser, "bound_exp_neg_above", lambda bound: lambda epsilon: bound(2 * epsilon), [*RESPONSES, *REPORTS]),
        (randomiser.HadamardResponse, "draw_bits",
         lambda _: lambda response, answers, index, source: randomiser.compute_parity(answers & index), REPORTS[:1]),
        (randomiser, "set_true_bits", lambda fill: lambda rows, answers, bits: fill(rows, answers, bits | True),
         ["unary of 5"]),
        (PublicCoinResponses, "randomize_slots",
         lambda draw: lambda *arguments: draw(*arguments[:-1], Randomness.from_seed(1)), REPORTS[:1]),
        (noise_circuits, "bound_exp_neg_above", lambda bound: lambda epsilon: bound(2 * epsilon),
         ["pairs, answers on coll"]),
        (pair_release, "random_input_widths", lambda _: lambda response: {"coins_0": 0}, ["pairs, answers on coll"]),
        (SecureSum, "sample_noise_share",
         lambda draw: lambda model, noise, *rest: draw(model, Noise(noise.family, noise.parameter / 2), *rest),
         ["sites, cells: epsilon"]),
        (shares.PolyaBlocks, "bound_acceptance",
         lambda bound: lambda blocks, *rest: tuple(part / 2 for part in bound(blocks, *rest)),
         ["sites, cells: epsilon 1, add"]),
    ],
)  # fmt: skip
def test_faulty_responses_and_shares_exceed_their_claims(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, fault: Callable[[Any], Any], words: list[str]
) -> None:
    items = select_targets(*words)
    assert len(items) >= len(words)
    forget_plans()
    monkeypatch.setattr(owner, name, fault(getattr(owner, name)))
    missed = [item.name for item in items if not item.exceeds_claim(item.find_largest())]
    forget_plans()
    assert missed == []


def test_distributions_of_reports_and_answers_agree_with_draws() -> None:
    """Each frequency of 4,000 draws is within 5 standard deviations: a false alarm among 200 outcomes is below 2e-4."""
    draws = 4000
    for target in list_targets():
        if not target.name.startswith((*RESPONSES, "report")) or target.kind != "noise":
            continue
        data = target.family.pairs[0].left
        drawn = Counter(row.tobytes() for row in target.sampler.draw(data, draws))
        distribution = response_losses.find_report_distribution(target.sampler, data)
        assert sum(distribution.values()) == pytest.approx(1, abs=1e-9)
        assert set(drawn) <= set(distribution), target.name
        if "curve" in target.name:
            continue  # of the people who select a level, few are walked
        for report, probability in distribution.items():
            error = 5 * sqrt(draws * probability * (1 - probability)) + 3
            assert drawn[report] == pytest.approx(draws * probability, abs=error), (target.name, report)
