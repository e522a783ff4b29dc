"""Runs of mechanisms whose draws an audit replaces, so that the exact loss of the code that runs is a number.

    integer noise    is 0, and its distribution is recorded in the order of the draws; planted numbers in its place
                     show which released values it is added to
    choices          follow a path, with the probability of each outcome; all paths are walked
    Cauchy noise     takes each outcome of a list, and its centre and scale are recorded

`TracedRelease` runs a release with all of its paths, and `compare_releases` returns the loss of two data sets:

- A choice with probabilities p and q loses ``log(p / q)``.
- Integer noises z enter the released values as ``L z``. The noise that is smallest in loss, among those that turn the
  values of one data set into those of the other, loses ``sum |z| / b`` for scales b, and rho ``sum z**2 / (2 v)``.
  Proofs of this package bound this loss. It is infinite if no noise turns one into the other.
- Cauchy noise loses at most the hyperbolic distance of the two points (centre, scale): see `calibrate_cauchy`.

>>> from dpcurves.mechanisms.linear import sample_noise
>>> noise = Noise(Family.LAPLACE, Fraction(2))
>>> def make_release(count):
...     return lambda: [count + int(sample_noise(noise, 1, UNUSED_RANDOMNESS)[0])]
>>> ours, theirs = (TracedRelease(make_release(count)) for count in (3, 4))
>>> compare_releases(ours, theirs, PrivacyLoss.pure(1))
0.5
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from math import asinh, exp, inf, log, nan, sqrt
from operator import eq
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from dpcurves.distributions import Family, Noise
from dpcurves.mechanisms import exponential as exponential_mechanisms
from dpcurves.mechanisms import partition_selection, smooth_sensitivity, thresholds
from dpcurves.noise import discrete_gaussian, discrete_laplace, exponential
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import PrivacyLoss

Table = NDArray[np.int64]
Release = Callable[[], Sequence[int]]
"""A release from one data set: a function without arguments that returns its values."""
UNUSED_RANDOMNESS = Randomness(Randomness.from_seed(0).random_bytes, is_seeded=False)
"""An argument of functions whose draws are replaced by enumerated ones. It passes for a source of real noise, and draws
the same bits each time."""
ORDERS = (1.01, 1.2, 1.5, 2.0, 3.0, 4.5, 8.0, 16.0, 64.0)
"""Orders of the Rényi divergences at which a zero-concentrated loss is computed; the largest rho counts."""
PLANTED_NOISE = 2**40
"""Value that replaces one noise at a time, to read the matrix by which noise enters the answers. It is so large that
rounding to integers changes an entry of the matrix by a relative ``2**-40`` at most."""
SOLVER_ERROR = 1e-6
"""Relative error of the least noise that linear programming finds; losses are rounded down by as much."""


def find_tails(noise: Noise, least: Table) -> NDArray[np.float64]:
    """Return the probabilities that discrete Laplace noise is at least `least`.

    The probabilities are ``r**m / (1 + r)`` for m above 0, with ``r = exp(-1 / scale)``, and follow by symmetry below.
    """
    rate = 1 / float(noise.parameter)
    tails = np.exp(-rate * np.where(least > 0, least, 1 - least)) / (1 + exp(-rate))
    return np.asarray(np.where(least > 0, tails, 1 - tails), dtype=np.float64)


class ChoicePath:
    """Choices that stand in the place of draws; the next path takes another one.

    Attributes:
        taken: The index of the taken outcome of each choice.
        offered: The number of outcomes of each choice.
        probability: The probability of this path.
    """

    def __init__(self, taken: Sequence[int] = ()) -> None:
        self.taken = list(taken)
        self.offered: list[int] = []
        self.probability = 1.0

    def choose(self, probabilities: Sequence[float]) -> int:
        """Take the next choice of the traced path, and record its probability; return the chosen outcome.

        Args:
            probabilities: Probability of each outcome.

        Returns:
            Index of the outcome: the planned one; after the planned choices, 0.
        """
        step = len(self.offered)
        if step == len(self.taken):
            self.taken.append(0)
        self.offered.append(len(probabilities))
        self.probability *= probabilities[self.taken[step]]
        return self.taken[step]

    def sample_exponential_mechanism(self, penalties: Any, rate: Fraction, randomness: Randomness) -> int:
        """Return a choice with the probabilities of the exponential mechanism.

        Args:
            penalties: Penalty of each choice.
            rate: Factor of the penalties in the exponent.
            randomness: Without effect.
        """
        return self.choose(exponential.selection_probabilities(np.asarray(penalties), rate).tolist())

    def is_noisily_above_zero(self, scores: Any, noise: Noise, randomness: Randomness) -> NDArray[np.bool_]:
        """Return for each noisy score whether it is above zero, as a choice of the traced path with its exact
        probability.

        Args:
            scores: Integers, one for each decision.
            noise: Distribution of the noise of a score.
            randomness: Without effect.
        """
        decisions = []
        for score in np.asarray(scores).tolist():
            above = float(find_tails(noise, np.array([1 - score]))[0])
            decisions.append(bool(self.choose((1 - above, above))))
        return np.array(decisions, dtype=np.bool_)

    def sample_partition(self, penalties: Any, rate: Fraction, prior: float, randomness: Randomness) -> Table:
        """Return the partition that this path of choices takes, and record the probability that the sampler gives it.

        It stands in for the random sampler, so that an audit can visit each partition once.

        Args:
            penalties: Penalty of each interval, (lengths, ends): row k has intervals of ``2**k`` cells.
            rate: Factor of the penalties in the exponent.
            prior: Weight of an interval without a penalty.
            randomness: Without effect.

        Returns:
            Index of the first cell of each interval, rising.
        """
        partitions = list(list_partitions(penalties.shape[1] - 1))
        logs = np.array([
            sum(log(prior) - float(rate) * float(penalties[power, end]) for power, end in partition)
            for partition in partitions
        ])  # fmt: skip
        weights = np.exp(logs - logs.max())
        chosen = partitions[self.choose((weights / weights.sum()).tolist())]
        return np.array([end - (1 << power) for power, end in chosen], dtype=np.int64)

    def sample_bounded_noise(self, noise: Any, size: int, randomness: Randomness) -> Table:
        """Return bounded noise of the traced path, each integer with its exact probability.

        Args:
            noise: The noise, with its rate and its threshold.
            size: Number of integers.
            randomness: Without effect.
        """
        support = np.arange(-noise.threshold, noise.threshold + 1)
        weights = np.exp(-float(noise.rate) * abs(support))
        probabilities = (weights / weights.sum()).tolist()
        return np.array([support[self.choose(probabilities)] for _ in range(size)], dtype=np.int64)

    def find_next(self) -> ChoicePath | None:
        """Return the next path of random choices, in depth-first order over the tree of choices; None after the
        last.
        """
        taken = self.taken[: len(self.offered)]
        while taken and taken[-1] + 1 == self.offered[len(taken) - 1]:
            taken.pop()
        return ChoicePath([*taken[:-1], taken[-1] + 1]) if taken else None


def list_partitions(places: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield all partitions of places into intervals of 1, 2, 4, ... places, as pairs of log2 length and end.

    >>> list(list_partitions(2))
    [((0, 1), (0, 2)), ((1, 2),)]
    """
    if places == 0:
        yield ()
        return
    for power in range(places.bit_length()):
        for earlier in list_partitions(places - (1 << power)):
            yield (*earlier, (power, places))


class SeededDraw(Exception):
    """A mechanism drew from a seeded source although it was given another one: its noise is not secret."""


def require_secret_source(sample: Callable[..., Any]) -> Callable[..., Any]:
    """Return a sampler that refuses seeded sources before it draws.

    Args:
        sample: Sampler whose arguments include the source.
    """

    def sample_from_secret_source(*arguments: Any, **options: Any) -> Any:
        """Draw, if no argument is a seeded source.

        Raises:
            SeededDraw: the source is seeded.
        """
        for argument in (*arguments, *options.values()):
            if isinstance(argument, Randomness) and argument.is_seeded:
                raise SeededDraw("noise from a seeded source protects nobody; draw it from the argument of the run")
        return sample(*arguments, **options)

    return sample_from_secret_source


class ReplacedDraws:
    """Replacements of all samplers that mechanisms call, for one run. They refuse seeded sources (`SeededDraw`).

    Attributes:
        path: The choices of this run.
        planted: Integers in the place of noise, in the order of draws; 0 where there is none.
        cauchy_outcomes: Integers that Cauchy noise may give.
        noises: Distributions of the noise that was drawn, in order.
        cauchy_points: Centres and scales of the Cauchy noise that was drawn, in order.
    """

    def __init__(self, path: ChoicePath, planted: Sequence[int] = (), cauchy_outcomes: Sequence[int] = (0,)) -> None:
        self.path = path
        self.planted = planted
        self.cauchy_outcomes = cauchy_outcomes
        self.noises: list[Noise] = []
        self.cauchy_points: list[tuple[float, float]] = []

    def sample_integers(self, family: Family, parameter: Fraction, size: int, randomness: Randomness) -> Table:
        """Return prescribed integers in the place of noise, and record the noise's distribution, to trace a release.

        Args:
            family: Family of the noise.
            parameter: Scale (Laplace) or variance parameter (Gaussian) of the noise.
            size: Number of integers.
            randomness: Without effect.
        """
        drawn = len(self.noises)
        self.noises.extend([Noise(family, parameter)] * size)
        planted = list(self.planted[drawn : drawn + size])
        return np.array(planted + [0] * (size - len(planted)), dtype=np.int64)

    def sample_cauchy_floor(self, centre: Fraction, scale: Fraction, randomness: Randomness) -> int:
        """Return an outcome of Cauchy noise from `cauchy_outcomes` on the traced path, and record the noise's centre
        and scale.

        Args:
            centre: The exact number.
            scale: The scale of its noise.
            randomness: Without effect.
        """
        self.cauchy_points.append((float(centre), float(scale)))
        return self.cauchy_outcomes[self.path.choose([1.0] * len(self.cauchy_outcomes))]

    @contextmanager
    def replace(self) -> Iterator[None]:
        """Replace the samplers of the package until the context ends."""
        from dpcurves_streams.mechanisms import hierarchy

        path = self.path

        def sample_bounded_noise(noise: Any, size: int, randomness: Randomness) -> Table:
            """Return the next bounded noise of the traced path, in the place of a random draw from the noise's
            distribution.

            Args:
                noise: Distribution of the bounded noise.
                size: Number of samples.
                randomness: Source of random bits.
            """
            return path.sample_bounded_noise(noise, size, randomness)

        replacements: list[tuple[Any, str, Any]] = [
            (discrete_laplace, "sample", partial(self.sample_integers, Family.LAPLACE)),
            (discrete_gaussian, "sample", partial(self.sample_integers, Family.GAUSSIAN)),
            (exponential, "sample_exponential_mechanism", path.sample_exponential_mechanism),
            (exponential_mechanisms, "sample_partition", path.sample_partition),
            (smooth_sensitivity, "sample_cauchy_floor", self.sample_cauchy_floor),
            (thresholds, "is_noisily_above_zero", path.is_noisily_above_zero),
            (hierarchy, "is_noisily_above_zero", path.is_noisily_above_zero),
            (partition_selection.BoundedNoise, "sample", sample_bounded_noise),
        ]
        with ExitStack() as stack:
            for owner, name, replacement in replacements:
                stack.enter_context(patch.object(owner, name, require_secret_source(replacement)))
            yield


@dataclass(frozen=True)
class TracedRun:
    """One run of a release along a path of choices.

    Attributes:
        values: The released values without noise.
        noises: Distributions of the integer noise, in the order of its draws.
        response: The change of the values if the noise is `plant_numbers`; not a number if their negatives do not give
            the negative change, because released values are not the exact ones plus noise.
        probability: Probability of the path.
        cauchy_points: Centres and scales of Cauchy noise.
    """

    values: tuple[Any, ...]
    noises: tuple[Noise, ...]
    response: tuple[Any, ...]
    probability: float
    cauchy_points: tuple[tuple[float, float], ...]


def find_outcome_distribution(
    run: Callable[[], Any], replaced_draws: Callable[[ChoicePath], Any] = ReplacedDraws
) -> dict[Any, float]:
    """Return the exact probability of each outcome of a mechanism, by enumerating all paths through its random choices.

    Args:
        run: Runs a mechanism that makes choices alone, and returns its outcome.
        replaced_draws: Creates what replaces the draws by the choices of a path; its context manager is `replace`.
    """
    distribution: dict[Any, float] = {}
    path: ChoicePath | None = ChoicePath()
    while path is not None:
        with replaced_draws(path).replace():
            outcome = run()
        distribution[outcome] = distribution.get(outcome, 0.0) + path.probability
        path = path.find_next()
    return distribution


def plant_numbers(size: int) -> list[int]:
    """Return different integers to use as noise; no integer is a sum of others, so a value shows which noise was added.

    Args:
        size: Number of integers.

    >>> plant_numbers(3)
    [1048576, 1048577, 1048579]
    """
    return [2**20 + number * (number + 1) // 2 for number in range(size)]


class TracedRelease:
    """A release with replaced draws, along all paths of its choices.

    Args:
        release: The release from one data set.
        cauchy_outcomes: Integers that Cauchy noise may give.
        known_half: The half of the noise that the attacker knows, 0 or 1 in the order of draws; None for no noise.
    """

    def __init__(self, release: Release, cauchy_outcomes: Sequence[int] = (0,), known_half: int | None = None) -> None:
        self._release = release
        self._cauchy_outcomes = cauchy_outcomes
        self.known_half = known_half

    def run(self, path: ChoicePath, planted: Sequence[int] = ()) -> tuple[tuple[Any, ...], ReplacedDraws]:
        """Run the release once with prescribed choices and noise; return its values, and the recorded draws.

        Args:
            path: The choices to make in the place of random choices.
            planted: Integers to use in the place of noise; further noise is 0.
        """
        draws = ReplacedDraws(path, planted, self._cauchy_outcomes)
        with draws.replace():
            return tuple(self._release()), draws

    @cached_property
    def runs(self) -> dict[tuple[int, ...], TracedRun]:
        """The runs along all paths, by the choices taken. They are computed at the first access."""
        runs: dict[tuple[int, ...], TracedRun] = {}
        path: ChoicePath | None = ChoicePath()
        while path is not None:
            values, draws = self.run(path)
            response: tuple[Any, ...] = ()
            if draws.noises:
                planted = plant_numbers(len(draws.noises))
                response, opposite = (
                    tuple(after - before for after, before in zip(moved, values, strict=True))
                    for moved, _ in (
                        self.run(ChoicePath(path.taken), numbers) for numbers in (planted, [-n for n in planted])
                    )
                )
                # 1: rounding to integers changes a value by at most as much
                if any(abs(up + down) > 1 for up, down in zip(response, opposite, strict=True)):
                    response = (nan,)  # differs from every other: noise that is clipped is not added
            runs[tuple(path.taken)] = TracedRun(
                values, tuple(draws.noises), response, path.probability, tuple(draws.cauchy_points)
            )
            path = path.find_next()
        return runs

    @cached_property
    def noise_matrix(self) -> NDArray[np.float64]:
        """Change of each released value per unit of each noise, of shape ``(values, noises)``, for a release without
        choices.

        It is found by running the release with one large integer in the place of one noise after the other.
        """
        (run,) = self.runs.values()
        columns = []
        for number in range(len(run.noises)):
            moved, _ = self.run(ChoicePath(), [0] * number + [PLANTED_NOISE])
            columns.append([(after - before) / PLANTED_NOISE for after, before in zip(moved, run.values, strict=True)])
        return np.array(columns, dtype=np.float64).T

    def select_unknown_noise(self, size: int) -> slice:
        """Return the part of a release's noises that an attacker does not know.

        Args:
            size: Number of noises of the release.

        Returns:
            Slice of the noises, in the order of draws.
        """
        half = size // 2
        return {None: slice(None), 0: slice(half, None), 1: slice(half)}[self.known_half]


def compare_releases(left: TracedRelease, right: TracedRelease, claim: PrivacyLoss) -> float:
    """Return the loss of two releases, in both directions: an epsilon, or a rho at all of `ORDERS`, as claimed.

    The loss is infinite if one of them has a path of choices that the other lacks, or other noise.

    Args:
        left: The release from the one data set.
        right: The release from the other.
        claim: The claim; decides whether the loss is an epsilon or a rho.
    """
    if left.runs.keys() != right.runs.keys():
        return inf
    epsilons, rhos, chances = [], [], []
    has_gaussian_noise = False
    for taken, run in left.runs.items():
        other = right.runs[taken]
        epsilon, rho = _find_noise_loss(left, run, other, claim)
        if inf in (epsilon, rho):
            return inf
        has_gaussian_noise |= rho > 0
        points = zip(run.cauchy_points, other.cauchy_points, strict=True)
        distances = [find_hyperbolic_distance(point, other_point) for point, other_point in points]
        epsilons.append(epsilon + sum(distances))
        # independent draws: their zero-concentrated losses add up
        rhos.append(rho + epsilon**2 / 2 + sum(distance**2 for distance in distances) / 2)
        chances.append((run.probability, other.probability))
    ratios = np.log([one for one, _ in chances]) - np.log([other for _, other in chances])
    if claim.epsilon is not None:
        return inf if has_gaussian_noise else float((abs(ratios) + np.array(epsilons)).max())
    if len(rhos) == 1 or any(run.cauchy_points for run in left.runs.values()):
        return max(rhos)  # choices of Cauchy noise have probability 1: each outcome stands for all others
    logs, extra = np.log(np.array(chances)), np.array(rhos)
    return max(
        float(np.logaddexp.reduce(order * ours + (1 - order) * theirs + order * (order - 1) * extra))
        / (order * (order - 1))
        for ours, theirs in (logs.T, logs.T[::-1])
        for order in ORDERS
    )


def find_hyperbolic_distance(point: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the supremum of the log ratio of two Cauchy densities, given by centre and scale (`calibrate_cauchy`).

    Args:
        point: Centre and scale of the first density.
        other: Centre and scale of the second density.

    Returns:
        The supremum; infinite if the densities differ and a scale is 0.

    >>> round(find_hyperbolic_distance((0.0, 1.0), (1.0, 1.0)), 3), find_hyperbolic_distance((0.0, 1.0), (0.0, 1.0))
    (0.962, 0.0)
    """
    (centre, scale), (other_centre, other_scale) = point, other
    if point == other:
        return 0.0
    if scale <= 0 or other_scale <= 0:
        return inf
    return 2 * asinh(sqrt(((centre - other_centre) ** 2 + (scale - other_scale) ** 2) / (4 * scale * other_scale)))


def _respond_alike(run: TracedRun, other: TracedRun) -> bool:
    """Return whether each draw of noise adds equally to the values of two runs, so that their difference is that of
    the data alone.

    The response of a run is the change of its values when known large numbers are planted in the place of its noise.

    Args:
        run: Run on the one data set.
        other: Run on the neighbouring data set. Responses are compared exactly; a NaN equals nothing.
    """
    return len(run.response) == len(other.response) and all(map(eq, run.response, other.response))


def _find_noise_loss(left: TracedRelease, run: TracedRun, other: TracedRun, claim: PrivacyLoss) -> tuple[float, float]:
    """Return the epsilon of the Laplace noise and the rho of the Gaussian noise that turn one run into the other.

    Args:
        left: Release that `run` belongs to, with the noise that an attacker knows.
        run: Run on the first data set.
        other: Run on the second data set, along the same choices.
        claim: Claimed loss; without effect.

    Returns:
        Epsilon and rho; both infinite if no noise turns one run into the other.
    """
    if run.noises != other.noises or not _respond_alike(run, other) or len(run.values) != len(other.values):
        return inf, inf
    places = _find_places(run)
    change = [after - before for after, before in zip(other.values, run.values, strict=True)]
    if places is None:
        if len(left.runs) > 1:
            return inf, inf
        unknown = left.select_unknown_noise(len(run.noises))
        return _solve_for_noise(left.noise_matrix[:, unknown], change, run.noises[unknown])
    epsilon = rho = Fraction(0)
    for noise, place in zip(run.noises, places, strict=True):
        if noise.family is Family.LAPLACE:
            epsilon += abs(change[place]) / noise.parameter
        else:
            rho += Fraction(change[place] ** 2) / (2 * noise.parameter)
        change[place] = 0
    return (inf, inf) if any(change) else (float(epsilon), float(rho))


def _find_places(run: TracedRun) -> list[int] | None:
    """Return the index of the value that each noise is added to; None unless each value has at most one noise.

    Args:
        run: Run of a release.

    Returns:
        Index of a value for each noise, in the order of draws; None if the noises are not seen one by one.
    """
    planted = plant_numbers(len(run.noises))
    index_of = {number: index for index, number in enumerate(planted)}
    places = [-1] * len(planted)
    for place, moved in enumerate(run.response):
        if moved == 0:
            continue
        index = index_of.get(moved)
        if index is None or places[index] >= 0:
            return None
        places[index] = place
    return None if -1 in places else places


def _solve_for_noise(
    matrix: NDArray[np.float64], change: Sequence[Any], noises: Sequence[Noise]
) -> tuple[float, float]:
    """Return epsilon and rho of the least noise z with ``matrix @ z = change``; infinite if there is no such noise, or
    noise of both families.

    Args:
        matrix: Effect of each noise on each value, of shape ``(values, noises)``.
        change: Difference of the values, of shape ``(values,)``.
        noises: Distribution of each noise.

    Returns:
        Epsilon and rho. The family without noise has 0; the other number is decreased by a relative `SOLVER_ERROR`.
    """
    from scipy.optimize import linprog

    target = np.array([float(number) for number in change])
    if len({noise.family for noise in noises}) != 1:
        return inf, inf
    parameters = np.array([float(noise.parameter) for noise in noises])
    if noises[0].family is Family.GAUSSIAN:
        scaled = matrix * np.sqrt(parameters)
        solution, *_ = np.linalg.lstsq(scaled, target)
        if not np.allclose(scaled @ solution, target, atol=SOLVER_ERROR):
            return inf, inf
        return 0.0, float(solution @ solution) / 2 * (1 - SOLVER_ERROR)
    scaled = matrix * parameters
    result = linprog(np.ones(2 * len(parameters)), A_eq=np.hstack((scaled, -scaled)), b_eq=target, bounds=(0, None))
    return (inf, inf) if result.fun is None else (float(result.fun) * (1 - SOLVER_ERROR), 0.0)
