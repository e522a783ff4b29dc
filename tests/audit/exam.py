"""Releases that do not keep their promise, and ones that do: the exam of the auditor, which is told the claim alone.

Most are vectorised: they answer `k` times at once. Noise is rounded where its low bits are not what is examined.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import exp, inf, log
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpcurves as dp
from dpcurves_audit.neighbouring_datasets import NeighbouringDatasets, NeighbourPair
from dpcurves_audit.samplers import BatchSampler, CallableSampler, KilledSampler, Publish, Sampler

families = dp.audit.families
PAPERS = Path(__file__).resolve().parents[2] / "papers"
Array = NDArray[Any]
GENERATOR = np.random.default_rng(20_260_701)
CELLS = np.linspace(0, 1, 5)
DIGITS = 3


@dataclass(frozen=True)
class Case:
    """A release of the exam.

    Attributes:
        name: Its name.
        sampler: A sampler to it.
        family: Its neighbours.
        claim: Loss that is claimed.
        true: Loss that it has on this family, at least; infinite; or None: not known.
        samples: Samples of each data set that are enough.
        beside: Whether findings beside the bound are asked for.
    """

    name: str
    sampler: Sampler
    family: NeighbouringDatasets
    claim: dict[str, Any]
    true: float | None
    samples: int = 20_000
    beside: bool = False


def printed(paper: str, file: str = "as_printed") -> ModuleType:
    """A module of a paper's folder, by its file: several folders have one of the same name."""
    spec = importlib.util.spec_from_file_location(f"{paper}_{file}", PAPERS / paper / f"{file}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def whole(scale: float, size: Any) -> NDArray[np.int64]:
    """Discrete Laplace noise."""
    chance = 1 - exp(-1 / scale)
    return np.asarray(GENERATOR.geometric(chance, size) - GENERATOR.geometric(chance, size))


def real(scale: float, size: Any) -> Array:
    """Noise of Laplace, to be rounded with what it is added to."""
    return np.asarray(GENERATOR.laplace(0, scale, size))


# Tests of thresholds, as published: Lyu, Su and Li (2017), algorithms 1 and 3 to 6, and the general one of chapter 3.


def svt(threshold: float, query: float, cutoff: int, *, shown: bool = False) -> Callable[[Any, int], Any]:
    """A sparse vector: scales of both noises, and how many answers are above before it stops; -1: not asked."""

    def release(answers: Array, k: int) -> Any:
        noisy = answers + (real(query, (k, len(answers))) if query else 0.0)
        above = noisy >= (real(threshold, k))[:, None]
        before: Array = np.cumsum(above, axis=1) - above
        told = np.where(above, np.round(noisy, DIGITS) if shown else 1.0, 0.0)
        return np.where(before < cutoff, told, -1.0)

    return release


def thresholds(epsilon: float = 1.0, cutoff: int = 3, queries: int = 8) -> Iterator[Case]:
    family = families.answers(queries, adjacency=dp.REPLACE_ONE)
    claim, half = {"epsilon": epsilon}, epsilon / 2
    long = families.answers(2 * queries, adjacency=dp.REPLACE_ONE)
    shown = BatchSampler(svt(1 / half, 1 / half, 1, shown=True))
    yield Case("SVT of Lyu, Su and Li, 3", shown, long, claim, inf, 100_000)
    distributions = {
        "SVT of Lyu, Su and Li, 4": (svt(4 / epsilon, 4 / (3 * epsilon), cutoff), (1 + 6 * cutoff) / 4 * epsilon),
        "SVT of Lyu, Su and Li, 5": (svt(1 / half, 0, queries), inf),
        "SVT of Lyu, Su and Li, 6": (svt(1 / half, 1 / half, queries), inf),
    }
    for name, (release, true) in distributions.items():
        yield Case(name, BatchSampler(release), family, claim, true, 50_000)
    chapter = printed("sparse_vector")

    def gptt(answers: Array, k: int) -> Any:
        return np.array([chapter.gptt(answers, 0.0, epsilon, chapter.CHEN, GENERATOR) for _ in range(k)])

    yield Case("generalised SVT, chapter 3", BatchSampler(gptt), family, claim, inf, 30_000)


# Other published mechanisms.


def pruned(levels: int = 8) -> Case:
    """PRUNE, along the path of one tuple: levels that stay."""
    chapter = printed("pegasus")

    def release(counts: Array, k: int) -> Any:
        stay = np.array([chapter.stays(float(5 - count), 1.0) for count in counts])
        return np.cumprod(GENERATOR.random((k, levels)) < stay, axis=1).sum(axis=1)

    half = levels // 2
    true = chapter.prune_loss(half, 5, 4, 1.0) + chapter.prune_loss(levels - half, 5, 5, 1.0)
    return Case(
        "PRUNE, a path of 8 levels",
        BatchSampler(release),
        families.answers(levels, value=5),
        {"epsilon": 1},
        true,
        100_000,
    )


def sums_of_bins(width: float = 1 / 32) -> Case:
    """Step 3 of PriBRP on two bins: counts, sums of predictions with noise for the width, sums of residuals."""

    def release(data: dict[str, Array], k: int) -> Any:
        score = np.asarray(data["score"], dtype=np.float64)
        positive = (np.asarray(data["label"]) == 1).astype(np.float64)
        valid = np.isfinite(score) & (score >= 0) & (score <= 1)
        upper = valid & (score >= 1 - width)
        rows = []
        for inside in (valid & ~upper, upper):
            own = 1 - width if inside is not upper else width
            exact = inside.sum(), score[inside].sum(), (positive - score)[inside].sum()
            scales = 4.0, own * 4, (1 + own) * 4
            rows += [np.round(value + real(scale, k), DIGITS) for value, scale in zip(exact, scales, strict=True)]
        return np.stack(rows, axis=1)

    family = families.scores([0, 1 - width, 1], adjacency=dp.ADD_REMOVE)
    true = 1 / 4 + (1 - width / 2) / (4 * width)
    return Case("PriBRP, sums of bins of 1/32", BatchSampler(release), family, {"epsilon": 1}, true)


def partitions(cells: int = 4) -> Iterator[Case]:
    """DAWA's reference partition, and the same one as PriRP takes it, under replace-one.

    True: the loss by the event that each cell is a bucket of its own. That says of each noisy cost, with costs of 2 for
    a cell, that the noise is above a number, in the tail of its distribution: in an empty row to whose middle a record
    comes these numbers fall by 1, 1 and 1.5, at scales of 2.5, 2.5 and 3; where a record of a row of ones moves to the
    next cell, by 1, 2, 1 and 2 at 2.5, 2.5, 2.5 and 3.
    """
    chapter = printed("regression_diagnostics")

    def release(counts: Array, k: int) -> Any:
        found = np.zeros((k, cells))
        for place in range(k):
            found[place, chapter.partition_not_private(counts, 0.5, 0.5, GENERATOR)] = 1
        return found

    row, middle = np.ones(cells), (np.arange(cells) == cells // 2).astype(float)
    first, second = ((np.arange(cells) == place).astype(float) for place in (0, 1))
    come = families.streams(cells).with_pairs(
        NeighbourPair("one record more in the first cell of a row of ones", row, row + first),
        NeighbourPair("a record joins the middle of an empty row", np.zeros(cells), middle),
    )
    moved = families.streams(cells, adjacency=dp.REPLACE_ONE).with_pairs(
        NeighbourPair("a record of a row of ones moves to the next cell", row, row + middle - second)
    )
    claim = {"epsilon": 0.5}
    yield Case("DAWA's reference partition", BatchSampler(release), come, claim, 1.3, 40_000)
    yield Case("PriRP's partition, under replace-one", BatchSampler(release), moved, claim, 1.6 + 2 / 3, 40_000)


def medians(per_median: float = 0.5) -> Case:
    """Smooth sensitivity with Cauchy noise as printed: 8 S / epsilon, S smooth by epsilon; the worst known pair."""

    def sensitivity(points: Array, beta: float) -> float:
        padded = np.concatenate([np.zeros(len(points) + 2), np.sort(points), np.ones(len(points) + 2)])
        middle = len(points) + 2 + (len(points) + 1) // 2 - 1
        best = 0.0
        for k in range(len(points) + 1):
            spans = (padded[middle + t] - padded[middle + t - k - 1] for t in range(k + 2))
            best = max(best, exp(-k * beta) * max(spans))
        return best

    def release(points: Array, k: int) -> Any:
        middle = np.sort(points)[(len(points) + 1) // 2 - 1]
        noise = GENERATOR.standard_cauchy(k) * 8 * sensitivity(points, per_median) / per_median
        return np.round(middle + noise, DIGITS)

    pair = NeighbourPair("0.578 becomes 0.1055", np.array([0.204, 0.578, 0.8216]), np.array([0.1055, 0.204, 0.8216]))
    family = NeighbouringDatasets("the worst known pair", dp.REPLACE_ONE, (pair,))
    return Case(
        "medians with Cauchy noise",
        BatchSampler(release),
        family,
        {"epsilon": per_median},
        1.0045 * per_median,
        2_000_000,
    )


def histogram_of_replaced() -> Case:
    """A histogram whose noise is for records that come or go, under replace-one: PriRP's table."""

    def release(data: Array, k: int) -> Any:
        return np.histogram(data[np.isfinite(data)], CELLS)[0] + whole(1, (k, 4))

    family = families.values(CELLS, adjacency=dp.REPLACE_ONE)
    return Case("PriRP, table under replace-one", BatchSampler(release), family, {"epsilon": 1}, 2.0)


# Faults of code.


def rows(data: Any) -> int:
    return len(data)


def porous() -> Case:
    """Noise of Laplace by the inverse of its distribution function, in doubles."""

    def release(data: Array, k: int) -> Any:
        even = GENERATOR.random(k) - 0.5
        return rows(data) - np.sign(even) * np.log1p(-2 * np.abs(even))

    family = families.values([0, 1], adjacency=dp.ADD_REMOVE)
    return Case("Laplace by inverse function, doubles", BatchSampler(release), family, {"epsilon": 1}, inf, 10_000)


def cached() -> Case:
    kept: dict[str, int] = {}

    def release(data: Array) -> int:
        return rows(data) + kept.setdefault("count", int(whole(1, 1)[0]))

    family = families.values([0, 1], adjacency=dp.ADD_REMOVE)
    return Case("noise cached across requests", CallableSampler(release), family, {"epsilon": 1}, inf, 1_000)


def seeded_by_time() -> Case:
    def release(data: Array) -> int:
        chance = np.random.default_rng(int(time.time()))
        return rows(data) + int(chance.geometric(1 - exp(-1)) - chance.geometric(1 - exp(-1)))

    family = families.values([0, 1], adjacency=dp.ADD_REMOVE)
    return Case("noise seeded by time", CallableSampler(release), family, {"epsilon": 1}, inf, 1_000, beside=True)


def seeded_by_data() -> Case:
    def release(data: Array) -> int:
        return rows(data) + int(np.random.default_rng(rows(data) + 1).laplace(0, 100))

    family = families.values([0, 1], adjacency=dp.ADD_REMOVE)
    return Case("noise seeded by the data", CallableSampler(release), family, {"epsilon": 1}, inf, 1_000)


def bounds_of_data() -> Case:
    def release(data: Array, k: int) -> Any:
        known = data[np.isfinite(data) & (np.abs(data) < 1e6)]
        low, high = (known.min(), known.max()) if len(known) else (0.0, 1.0)
        return np.round(np.clip(known, low, high).sum() + real(max(abs(low), abs(high)), k), DIGITS)

    family = families.values(CELLS, adjacency=dp.ADD_REMOVE)
    return Case("bounds read off the data", BatchSampler(release), family, {"epsilon": 1}, inf)


def rare_exception() -> Case:
    def release(data: Array, k: int) -> list[Any]:
        from dpcurves_audit.outcome_scores import Failure

        if np.isinf(data).any():
            return [Failure("raises OverflowError", "cannot convert float infinity to integer")] * k
        return list(rows(data) + whole(1, k))

    family = families.values([0, 1], adjacency=dp.ADD_REMOVE)
    return Case("an exception for one rare row", BatchSampler(release), family, {"epsilon": 1}, inf, 2_000)


def spent_afterwards(lives: int = 6) -> Case:
    """A service that shows its answer, and then writes that its budget is spent."""

    def service(data: Array, folder: Path, publish: Publish) -> None:
        spent = folder / "spent"
        if spent.exists():
            publish("the budget is spent")
            return
        bits = [int.from_bytes(os.urandom(7)) / 2**56 for _ in range(2)]
        noise = int(log(1 - bits[0]) // -1) - int(log(1 - bits[1]) // -1)
        publish(rows(data) + noise)
        time.sleep(0.1)  # it is killed here
        spent.touch()

    family = families.values([0, 1], adjacency=dp.ADD_REMOVE).take_first(1)
    return Case(
        "a budget spent after the answer, killed",
        KilledSampler(service, lives, spare_last=False),
        family,
        {"epsilon": 1},
        float(lives),
        100,
    )


def cap_across_units(cap: int = 2) -> Case:
    """At most so many records of a unit in the mean: the first ones of the table, whoever they are of."""

    def release(data: dict[str, Array], k: int) -> Any:
        used = data["value"][: cap * len(np.unique(data["unit"]))]
        return np.histogram(used, CELLS)[0] + whole(cap, (k, 4))

    family = families.units(CELLS, cap, adjacency=dp.ADD_REMOVE)
    return Case("a cap of records across units", BatchSampler(release), family, {"epsilon": 1}, 5.0)


def half_noise() -> Case:
    def release(data: Array, k: int) -> Any:
        return rows(data) + whole(0.5, k)

    return Case(
        "half of the noise", BatchSampler(release), families.values([0, 1], adjacency=dp.ADD_REMOVE),
        {"epsilon": 1}, 2.0
    )  # fmt: skip


def gauss_for_half() -> Case:
    def release(data: Array, k: int) -> Any:
        return np.round(rows(data) + GENERATOR.normal(0, 2**-0.5, k), 1)

    return Case(
        "Gauss's noise for half of rho", BatchSampler(release), families.values([0, 1], adjacency=dp.ADD_REMOVE),
        {"rho": 0.5}, 1.0,
    )  # fmt: skip


def broken() -> Iterator[Case]:
    """All releases that do not keep their promise."""
    yield from thresholds()
    yield from (
        pruned(), sums_of_bins(), *partitions(), histogram_of_replaced(), half_noise(), gauss_for_half(), porous(),
        cached(), seeded_by_time(), seeded_by_data(), bounds_of_data(), rare_exception(), spent_afterwards(),
        cap_across_units(),
    )  # fmt: skip


# Controls: releases that keep their promise, most of them exactly.


def controls() -> Iterator[Case]:
    """44 releases that keep their promise."""
    for adjacency, moved in ((dp.ADD_REMOVE, 1), (dp.REPLACE_ONE, 2)):
        values = families.values(CELLS, adjacency=adjacency)
        for epsilon in (0.1, 0.5, 1.0, 3.0):
            claim = {"epsilon": epsilon}
            yield Case(
                f"histogram, {epsilon:g}, {adjacency.value}",
                BatchSampler(_histogram(moved / epsilon)),
                values,
                claim,
                epsilon,
            )
            yield Case(
                f"tree, {epsilon:g}, {adjacency.value}",
                BatchSampler(_tree(3 * moved / epsilon)),
                values,
                claim,
                epsilon,
            )
            yield Case(
                f"largest cell, {epsilon:g}, {adjacency.value}", BatchSampler(_largest(epsilon)), values, claim, None
            )
            yield Case(
                f"number of rows, {epsilon:g}, {adjacency.value}",
                BatchSampler(_count(1 / epsilon)),
                values,
                claim,
                None,
            )
    family = families.answers(8, adjacency=dp.REPLACE_ONE)
    for cutoff in (1, 2, 4):
        for epsilon in (0.5, 1.0):
            release = svt(2 / epsilon, 4 * cutoff / epsilon, cutoff)
            yield Case(
                f"SVT of Lyu, Su and Li, 1, c = {cutoff}, {epsilon:g}",
                BatchSampler(release),
                family,
                {"epsilon": epsilon},
                None,
            )
    one = families.values([0, 1], adjacency=dp.ADD_REMOVE)
    for epsilon in (0.5, 1.0, 2.0):
        yield Case(
            f"randomised response, {epsilon:g}", BatchSampler(_response(epsilon)), one, {"epsilon": epsilon}, epsilon
        )
    for rho in (0.05, 0.5, 2.0):
        yield Case(f"Gauss's noise, rho {rho:g}", BatchSampler(_gauss(rho)), one, {"rho": rho}, rho)


def _histogram(scale: float) -> Callable[[Any, int], Any]:
    return lambda data, k: np.histogram(data[np.isfinite(data)], CELLS)[0] + whole(scale, (k, 4))


def _tree(scale: float) -> Callable[[Any, int], Any]:
    def release(data: Array, k: int) -> Any:
        cells = np.histogram(data[np.isfinite(data)], CELLS)[0]
        nodes = np.concatenate([cells, cells.reshape(2, 2).sum(axis=1), [cells.sum()]])
        return nodes + whole(scale, (k, len(nodes)))

    return release


def _largest(epsilon: float) -> Callable[[Any, int], Any]:
    """The exponential mechanism: the cell with the most records, whose number moves by 1."""

    def release(data: Array, k: int) -> Any:
        weights = np.exp(epsilon / 2 * np.histogram(data[np.isfinite(data)], CELLS)[0])
        return GENERATOR.choice(4, k, p=weights / weights.sum())

    return release


def _count(scale: float) -> Callable[[Any, int], Any]:
    return lambda data, k: rows(data) + whole(scale, k)


def _response(epsilon: float) -> Callable[[Any, int], Any]:
    return lambda data, k: (rows(data) > 0) ^ (GENERATOR.random(k) > 1 / (1 + exp(-epsilon)))


def _gauss(rho: float) -> Callable[[Any, int], Any]:
    return lambda data, k: np.round(rows(data) + GENERATOR.normal(0, (2 * rho) ** -0.5, k), 1)
