"""Pairs of people who compute in secret (section 5): Theorem 5, how many pairs are best, and Figure 4."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log, sqrt
from pathlib import Path
from typing import NamedTuple

import kendall
import numpy as np
from numpy.typing import NDArray
from reproduction.command import Options
from reproduction.measured import Findings, Measured
from rich.console import Console
from rich.progress import Progress
from scipy.optimize import brentq
from sizes import Size

import dpcurves as dp
from dpcurves.conversation import Plan
from dpcurves.curves.pair_mean import UStatistic
from dpcurves.ledger import QuestionBudget
from dpcurves_parties import pairs as parties
from dpcurves_parties.crypto.garbling import reconstruct_bits
from dpcurves_parties.crypto.two_party import evaluate, garble, run_both_parties
from dpcurves_parties.pairs.mechanisms import plan_response
from dpcurves_parties.pairs.queries import PairQuery
from dpcurves_parties.pairs.release import release_answers

FloatArray = NDArray[np.float64]
SEED, DELTA = 5, 1e-8
ROUNDS = (1, 2, 4, 8, 16)
KERNEL = dp.pairs.KENDALL.with_columns(rooms=dp.pairs.Unsigned(3), cleanliness=dp.pairs.Unsigned(3))
PEOPLE, EACH, FEW = 200, 4, 4096
"""On how many people the theorem is tried, in how many pairs each is, and how many talk."""


class Spread(NamedTuple):
    """The variances of a kernel given one person, and of the kernel, where it is from 0 to 1."""

    one: float
    both: float


def findings(options: Options[Size], progress: Progress, console: Console) -> Findings:
    """Measure the theorem; with data, go through what is said of Kendall's correlation."""
    generator = np.random.default_rng(SEED)
    found = {
        "theorem5-noise": _noise(options.size.draws, generator),
        "theorem5-pairs": _pairs(options.size.draws, generator),
    }
    if not kendall.are_there(options.data):
        console.print(f"Skipped: Figure 4. There is no {kendall.FILE} in {options.data}", soft_wrap=True)
        return found
    return found | _figure4(options, progress)


def _noise(draws: int, generator: np.random.Generator) -> Measured:
    """The variance of the mean of all noise over ``2 P / (n epsilon**2)``, and over twice of that; of one bit, too."""
    number, stated = EACH * PEOPLE // 2, 2 * EACH / PEOPLE
    means = np.array([generator.laplace(0, EACH, number).mean() for _ in range(draws)])
    per_pair = 1 / (4 * np.tanh(1 / EACH / 2) ** 2)  # of a bit that may be turned round, at its largest
    return Measured(means.var() / stated, means.var() / (2 * stated), per_pair / number / stated)


def _pairs(draws: int, generator: np.random.Generator) -> Measured:
    """The variance of the mean over pairs of ``x + y > 1``, of even values, over that of the theorem."""
    ways = dp.pairs.Permutations(EACH), dp.pairs.WithoutRepetition(EACH)
    stated = incomplete(EACH, PEOPLE, Spread(1 / 12, 1 / 4))
    variances = []
    for way in ways:
        means: list[float] = []
        for _ in range(draws):
            values, pairs = generator.random(PEOPLE), way.draw_pairs(PEOPLE, generator.bytes(32))
            means.append((values[pairs].sum(axis=1) > 1).mean())
        variances.append(float(np.var(means)))
    return Measured(variances[0] / stated, package=variances[1] / stated)


def incomplete(each: int, people: int, spread: Spread) -> float:
    """The part of Theorem 5 that is people and pairs."""
    again = (each - 1) / (people - 1)
    return 2 / (each * people) * (2 * (each - 1) * (1 - 1 / (people - 1)) * spread.one + (1 + again) * spread.both)


def _figure4(options: Options[Size], progress: Progress) -> Findings:
    rooms, cleanliness = (np.maximum(stars, 0) for stars in kendall.ratings(options.data))
    people, spread = len(rooms), _spread(rooms, cleanliness)
    best = {f"section5-best-{name}": _best(epsilon, people, spread) for name, epsilon in (("high", 0.1), ("low", 10))}
    printed = sqrt(_all_pairs(1, people) / (4 / people + incomplete(1, people, spread)))
    ratings = {"rooms": rooms, "cleanliness": cleanliness}
    plan = dp.pairs.plan(KERNEL, people=people, pairs_per_person=1, loss=dp.PrivacyLoss.pure(1))
    runs = max(4, options.size.trees // 100)
    truth, errors = _tau(rooms, cleanliness), []
    for number in progress.track(range(runs), description="Figure 4: Kendall's correlation of all ratings"):
        found = dp.pairs.simulate(
            KERNEL, ratings, plan, seed=bytes([number] * 32), randomness=dp.Randomness.from_seed(number)
        )  # fmt: skip
        errors.append(found.value - truth)
    # from -1 to 1 there, from 0 to 1 here
    measured = float(np.sqrt(np.mean(np.square(errors)))) / 2
    draw(people, spread, options.out)
    best["figure4-protocol"] = _protocol(ratings, spread, max(1, options.size.trees // 200))
    return best | {"figure4-ratio": Measured(printed, package=sqrt(_all_pairs(1, people)) / measured)}


def draw(people: int, spread: Spread, out: Path) -> None:
    """Figure 4 by distribution: errors of Kendall's correlation over epsilon, for some numbers of pairs, and for
    all."""
    from matplotlib.figure import Figure

    epsilons, zetas = np.geomspace(0.1, 20, 24), dp.pairs.Zetas(4 * spread.one, 4 * spread.both)
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for each in ROUNDS:
        losses = [dp.PrivacyLoss.pure(f"{epsilon:.4f}") for epsilon in epsilons]
        errors = [
            dp.pairs.plan(KERNEL, people=people, pairs_per_person=each, loss=loss, zetas=zetas).error for loss in losses
        ]
        axes.loglog(epsilons, errors, label=f"P = {each}")
    # from -1 to 1, so twice that of a kernel from 0 to 1
    every = [2 * sqrt(_all_pairs(epsilon, people)) for epsilon in epsilons]
    axes.loglog(epsilons, every, "k--", label="all pairs by advanced composition: noise alone")
    axes.set(xlabel="epsilon", ylabel=f"standard error of tau, {people:,} people")
    axes.legend()
    figure.savefig(out / "figure4.png", dpi=120)


def _protocol(ratings: dict[str, NDArray[np.int64]], spread: Spread, runs: int) -> Measured:
    """Both parties' messages for 4,096 people at epsilon 1: the largest error over what is planned for."""
    zetas = dp.pairs.Zetas(4 * spread.one, 4 * spread.both)
    plan = dp.pairs.plan(KERNEL, people=FEW, pairs_per_person=1, loss=dp.PrivacyLoss.pure(1), zetas=zetas)
    generator, errors, truth = np.random.default_rng(SEED), [], _tau(*ratings.values())
    for number in range(runs):
        drawn = generator.choice(len(ratings["rooms"]), FEW, replace=False)
        table = {name: values[drawn] for name, values in ratings.items()}
        found = talked(plan, table, generator.bytes(32), number)
        errors.append(abs(found.value - truth) / plan.error)
    return Measured(max(errors))


def talked(plan: Plan, table: dict[str, NDArray[np.int64]], seed: bytes, number: int) -> UStatistic:
    """What all pairs answer, told by the messages of the protocol: transfers, garbling, and opened shares."""
    assert isinstance(plan.query, PairQuery)
    response, pairs = plan_response(plan.query, plan.loss), plan.query.pairing.draw_pairs(FEW, seed)
    given = []
    for party in (0, 1):
        values = {name: column[pairs[:, party]] for name, column in table.items()}
        coins = dp.Randomness.from_seed(2 * number + party)
        given.append(parties.prepare_answer_inputs(KERNEL, response, values, party, coins))
    job = parties.build_answers_job(seed, KERNEL, response, len(pairs))
    sources = [dp.Randomness.from_seed(10**6 + 2 * number + party) for party in (0, 1)]
    shares = run_both_parties(garble(job, given[0], sources[0]), evaluate(job, given[1], sources[1]))
    answers = parties.decode_answers(response, reconstruct_bits(*shares))
    allotment = QuestionBudget.from_external_charge("Figure 4", plan.loss).pay(plan.query, Fraction(1))
    return dp.pairs.pair_statistic(release_answers(plan, pairs, answers, allotment, seeded=True))


def _best(epsilon: float, people: int, spread: Spread) -> Measured:
    """In how many pairs a person is best, by the theorem as printed, as corrected, and by the package's plan."""
    loss, zetas = dp.PrivacyLoss.pure(str(epsilon)), dp.pairs.Zetas(4 * spread.one, 4 * spread.both)
    printed = [incomplete(each, people, spread) + 2 * each / people / epsilon**2 for each in ROUNDS]
    corrected = [incomplete(each, people, spread) + 4 * each / people / epsilon**2 for each in ROUNDS]
    planned = [
        dp.pairs.plan(KERNEL, people=people, pairs_per_person=each, loss=loss, zetas=zetas).error for each in ROUNDS
    ]  # fmt: skip
    return Measured(*(float(ROUNDS[int(np.argmin(errors))]) for errors in (printed, corrected, planned)))


def _all_pairs(epsilon: float, people: int) -> float:
    """The variance that Laplace noise in all pairs has, of a kernel from 0 to 1, by advanced composition."""
    others = people - 1

    def composed(each: float) -> float:
        return sqrt(2 * others * log(1 / DELTA)) * each + others * each * (exp(each) - 1) - epsilon

    each = brentq(composed, 1e-12, epsilon)
    return 2 / each**2 / (people * others / 2)


def _table(rooms: NDArray[np.int64], cleanliness: NDArray[np.int64]) -> FloatArray:
    """How often each two ratings are given: (8, 8)."""
    return np.bincount(8 * rooms + cleanliness, minlength=64).astype(np.float64).reshape(8, 8) / len(rooms)


def _means(shares: FloatArray) -> FloatArray:
    """The kernel's mean for a person of each two ratings, over all others: (8, 8)."""
    order = np.sign(np.arange(8)[:, None] - np.arange(8))
    return np.asarray(order @ shares @ order.T)


def _tau(rooms: NDArray[np.int64], cleanliness: NDArray[np.int64]) -> float:
    """Tau-a of all pairs."""
    shares = _table(rooms, cleanliness)
    return float((shares * _means(shares)).sum()) * len(rooms) / (len(rooms) - 1)


def _spread(rooms: NDArray[np.int64], cleanliness: NDArray[np.int64]) -> Spread:
    shares = _table(rooms, cleanliness)
    means = _means(shares)
    mean = float((shares * means).sum())
    apart = np.abs(np.sign(np.arange(8)[:, None] - np.arange(8)))
    untied = float((shares * (apart @ shares @ apart.T)).sum())
    return Spread(float((shares * (means - mean) ** 2).sum()) / 4, (untied - mean**2) / 4)
