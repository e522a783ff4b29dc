"""Continual counting by the matrix mechanism: running totals of a stream with a public horizon (p-Identity strategy).

The horizon is the number of time steps. In a matrix mechanism, a strategy is the set of linear queries that get noise,
from which the wanted totals are estimated. Here a strategy has the counts x of all steps and a few weighted sums Q x of
them (p-Identity), whose weights were optimised numerically. All get integer Laplace noise z:

    released at step t  =  x_1 + ... + x_t  +  (L z)_t,  rounded       L (x, Q x) = (x_1, x_1 + x_2, ...)

L is the least-squares estimate of `distributions.p_identity`. So the error equals the error of the whole strategy,
although a release needs the counts up to its step alone.

Formal guarantees: pure epsilon for all steps together, also for streams that are chosen after releases; proof at
`PIdentityCounter`. Noise is derived from a secret in the state, so the guarantee is computational.

References: Li, Miklau, Hay, McGregor and Rastogi 2015; McKenna, Miklau, Hay and Machanavajjhala 2018.

>>> strategy = find_p_identity_strategy(64)
>>> strategy.cells, strategy.weights.shape  # steps, and weighted rows by steps
(64, (7, 64))
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np

from dpcurves.conversation import Plan, UnsupportedQuery
from dpcurves.distributions import Noise
from dpcurves.distributions.output_distribution import round_error
from dpcurves.distributions.p_identity import PIdentityStrategy, find_p_identity_strategy
from dpcurves.mechanisms import ExactTable
from dpcurves.mechanisms.linear import calibrate_noise, sample_noise
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Adjacency, PrivacyLoss

from ..distributions import PIdentityPrefixes
from ..queries import TimeStepQuery
from .hierarchy import TimeStepMechanism, add_noise
from .sequential import decode_state, encode_state, require_next

KIND = "p-identity counter"
"""Name of this mechanism in stored states; a state of another name is refused."""


@dataclass(frozen=True, slots=True, repr=False)
class PIdentityCounterState:
    """SECRET: running totals, and the secret from which all noise is derived.

    Attributes:
        time_step: Last step that was released.
        counts: Exact running total of each key.
        secret: Seed of the noise, which is derived again after a restart; empty before the first step.
        noise: Noise of all prefixes, (steps, keys), over a power of two: a cache that is not serialised.
    """

    time_step: int
    counts: tuple[int, ...]
    secret: bytes
    noise: Any = field(default=None, compare=False)

    def to_bytes(self) -> bytes:
        """SECRET: return the state as bytes, without the cached noise; numbers are in hexadecimal digits."""
        counts = [f"{number:x}" for number in self.counts]
        return encode_state(KIND, {"time_step": self.time_step, "secret": self.secret.hex(), "counts": counts})


@dataclass(frozen=True, slots=True)
class PIdentityCounter(TimeStepMechanism):
    """Running totals until a public horizon: the exact total plus noise of a p-Identity strategy, by least squares.

    At epsilon 1 the mean squared error of a total is 28, 54 and 92 for 64, 256 and 1,024 steps, where the best tree has
    34, 70 and 118.

    Formal guarantees: pure. Let x be the counts of all steps, A the lower triangle of ones, Q the weights of the
    strategy's rows, and z the independent integer noises of cells and rows. The release at step t is ``(A x + L z)_t``,
    rounded, with the L of `PIdentityStrategy.prefix_noise`: ``L (x, Q x) = A x`` exactly, for any gains. So
    releases are a function of noisy cells and rows, which lose what `PIdentityStrategy` proves, although the release at
    step t uses noises of later cells and of rows that are not complete.

    *Proof, including streams chosen after releases*, as for `TreeCounter`. Let the stream's chooser add a tuple at step
    s or not, and choose s from earlier releases. Compare z without the tuple to ``z' = z - (e_s, Q e_s)`` with it.
    Before s nothing differs, as ``(A e_s)_t = 0``: the same releases, so the same s. From s on the exact total is 1
    larger and the noise 1 smaller: the same releases, hence the same later counts. So z to z' is a bijection of all
    noises that preserves all releases. It shifts the noise of cell s by 1, and the noises of the rows by their weights:
    the probability of z' is at most ``exp(1 / scale)`` times that of z, for any s. A unit moves at most
    ``adjacency.l1_sensitivity`` tuples, for which the scale is calibrated. *End of proof.*

    All noise is drawn from a secret (`Randomness.from_key`), independent to a computationally bounded observer, like
    all output of the operating system's generator.
    """

    def _plan(self, query: TimeStepQuery, loss: PrivacyLoss, adjacency: Adjacency) -> Plan:
        """Return a plan of running totals, from public facts alone.

        The error of the plan is the square root of the mean variance of a total over all steps.

        Args:
            query: The counts of each time step, and the number of time steps.
            loss: The privacy loss of all steps together.
            adjacency: The neighbouring relation.

        Raises:
            UnsupportedQuery: The loss is not pure, or no strategy is stored for the number of steps.
        """
        if not loss.is_pure:
            raise UnsupportedQuery("rho", "weighted rows have Laplace noise; give a loss in epsilon")
        strategy = None if query.time_steps is None else find_p_identity_strategy(query.time_steps)
        if strategy is None:
            raise UnsupportedQuery("time_steps", "no strategy is stored for this number of steps; use TreeCounter")
        distribution = PIdentityPrefixes(
            query.keys, strategy.cells, strategy.digest, calibrate_noise(query, loss, adjacency)
        )
        error = round_error(sqrt(distribution.mean_variance(strategy.cells)))
        return Plan(
            query, loss, adjacency, f"cells and {len(strategy.weights)} weighted sums of them", distribution, error
        )

    def begin(self, plan: Plan) -> PIdentityCounterState:
        """Return the state before the first step: zero totals, and no secret yet.

        Args:
            plan: Plan of the stream.
        """
        return PIdentityCounterState(0, (0,) * plan.distribution.require_type(PIdentityPrefixes).keys, b"")

    def step(
        self, table: ExactTable, time_step: int, state: PIdentityCounterState, plan: Plan, randomness: Randomness
    ) -> tuple[tuple[int, ...], PIdentityCounterState]:
        """Release one time step: the running total of each key up to it, plus noise.

        Args:
            table: SECRET. Exact counts of the time step.
            time_step: Number of the time step, from 1.
            state: SECRET. State after the step before.
            plan: Plan of the stream.
            randomness: Source of the secret from which all noise is derived, used at the first step.

        Returns:
            The noisy totals, rounded to integers, and the state after this step, which is SECRET.

        Raises:
            UnsupportedQuery: The horizon has passed.
            ValueError: The state belongs to another step.
        """
        require_next(time_step, state)
        distribution = plan.distribution.require_type(PIdentityPrefixes)
        if time_step > distribution.time_steps:
            raise UnsupportedQuery(
                "time_step",
                f"this stream was planned for {distribution.time_steps} steps, which are released; begin a new stream",
            )
        secret = state.secret or randomness.random_bytes(32)
        noise = (
            sample_prefix_noise(distribution.strategy, distribution.noise, distribution.keys, secret)
            if state.noise is None
            else state.noise
        )
        counts = add_noise(table, list(state.counts))
        half = 1 << distribution.strategy.prefix_bits - 1
        bits = distribution.strategy.prefix_bits
        rounded = [int(number) + half >> bits for number in noise[time_step - 1]]  # halves up
        return add_noise(np.array(counts, dtype=object), rounded), PIdentityCounterState(
            time_step, counts, secret, noise
        )

    def restore_state(self, state_bytes: bytes, plan: Plan) -> PIdentityCounterState:
        """Return the state from bytes that `PIdentityCounterState.to_bytes` wrote. Noise is derived at the next step.

        Args:
            state_bytes: SECRET. The bytes.
            plan: Not used.

        Raises:
            ValueError: The bytes are not of such a state.
        """
        fields = decode_state(KIND, state_bytes)
        counts = tuple(int(digits, 16) for digits in fields["counts"])
        return PIdentityCounterState(int(fields["time_step"]), counts, bytes.fromhex(fields["secret"]))


def sample_prefix_noise(strategy: PIdentityStrategy, whole: Noise, keys: int, secret: bytes) -> Any:
    """SECRET: return the noise of the running totals after every step (prefixes), derived from a secret seed.

    Args:
        strategy: The strategy.
        whole: Noise of a query with weight 1, for which the loss is calibrated.
        keys: Number of independent running totals.
        secret: Seed of the noise; equal seeds give equal noise.

    Returns:
        Integers (steps, keys), to be divided by ``2**strategy.prefix_bits``.
    """
    stream = Randomness.from_key(secret, KIND)
    cell_noises, row_noises = strategy.noises(whole)
    cells = np.array([sample_noise(noise, keys, stream) for noise in cell_noises]).astype(np.object_)
    rows = np.array([sample_noise(noise, keys, stream) for noise in row_noises]).astype(np.object_)
    return strategy.prefix_noise(cells, rows)
