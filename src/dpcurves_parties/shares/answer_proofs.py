"""Proofs that answer shares are of the accepted reports, with noise that was fixed before the question.

All arithmetic is modulo the prime 2**61 - 1. Each analyst has a secret key that owners know and servers do not; it
determines coefficients r, one for each value of an answer. Beside its shares each report carries a word for each
analyst. Server p derives from its seed of a report a mask m_p, as long as an answer, and a number n_p. The word is

    word = <r, v> + <r, m_0 + m_1> - n_0 - n_1,

where v are the numbers that this record adds to an answer. Server 0 adds the words to its n_0. With its answer share
``h_p = shares + z_p`` each server sends the noise minus all masks, ``d_p = z_p - M_p``, and the sum ``N_p`` of the n_p
(and words). The servers exchange a hash of d before either sends the first answer share, and name both hashes in every
share. The analyst computes the answer ``a = h_0 + h_1`` and accepts it only if both d have these hashes, and

    N_0 + N_1 + <r, d_0 + d_1> = <r, a>.

Formal guarantees. *Correctness.* Let one server behave arbitrarily, and let the other server, and all owners whose
reports are accepted, follow the protocol and keep their keys secret. Then there is a z*, fixed by what the lying server
sent before it saw any answer share, such that every accepted answer is ``A x + z + z*``, where x are the accepted
reports and z is the honest server's noise; except with probability ``2**-60`` for each attempted answer, and for
collisions of SHA-256. *Proof.* The honest server names one hash of the other's d, the first that it received, so there
is one d*; let ``z* = d* + M*``, with the masks of the lying server's shares. Let e be the answer minus ``A x + z +
z*``, and t the error that the lying server adds to its N. The words of all accepted reports and the honest server's
messages make both sides equal for ``e = t = 0``, so the answer is accepted if ``<r, e> = t``. The lying server's view
does not depend on r: words are masked by an n of the honest server, which looks uniform, and each refused answer counts
as an attempt. Unless e is 0 modulo the prime, the equation holds with probability at most ``2 / 2**61``, the largest
probability of any value of a coefficient. Accepted values are below 2**59, so e is then 0. *End of proof.*

*Zero knowledge.* One server q of any behaviour, any owners and the analysts, with all keys, learn from the other
server's d_p and N_p nothing beyond its answer share. *Proof.* d_p is noise minus masks, and the mask of a single honest
owner's report looks uniform to every party but server p: so does d_p, for every z_p. N_p is a function of h_p, of d_p
and of the adversary's knowledge: for reports of dishonest owners it made the seeds and words; for honest ones, the
definition of words gives ``<r, A x> + <r, M_0 + M_1> - N_q``, where A x is ``h_p - z_p`` plus the shares of q, and M_p
is ``z_p - d_p``: z_p cancels. The set of reports in the sums, and p's contribution, depend on q only through the
reports that failed before the first answer, and each set of accepted reports has independent noise (`CheckedCounting`).
*End of proof.*

*Tasks of thresholds.* The proved values are the counts at all edges of a list in the task document, where checked
reports are checked, too, before the first answer. Servers exchange the hashes of d with their first answer shares, at
any thresholds; all of the above holds for this list. At other thresholds nothing is proved. A count there is accepted
only if it is *between* (`ProvedEdges.require_between`): let s and u be the adjacent proved edges; then it must be
neither below the count at s nor above the count at u by more than ``T(s, t)``, which the difference of the noises
exceeds with probability 2**-40. *Bounded lies*: the error of an accepted count at t is at most the number of records
between s and u, plus T, plus the errors of the proved counts. *Completeness*: an honest count is refused with
probability 2**-40 for each comparison, because exact counts do not fall; proved counts are therefore also compared with
each other, 0 and the number of reports. Records of owners who are not checked can make a count fall.

*Impossible answers are refused* for every z* (`ProvedValues.require_possible`): values of all cells must lie between -T
and the number of reports plus T, where noise exceeds T with probability 2**-40; counts below edges as above.

*Not guaranteed*: that the lying server drew z* from the right distribution. It can choose z*, before it knows anything
about the answer, equal for all analysts. An owner who helps a lying server, or the creator of the task, can give it the
coefficients, and wrong answers are accepted; an owner whose words are wrong stops the answers, because it cannot be
decided who lied. None of this reveals a record.

After information-theoretic message authentication of linear maps (Bendlin, Damgard, Orlandi and Zakarias 2011), with
owners as dealers, and a single secret functional instead of a key for every value.
"""

from __future__ import annotations

import secrets
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import NamedTuple, Protocol, Self

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument
from dpcurves.distributions import IntervalSums, PathSums
from dpcurves.inference import WeightedNoise, tail_bound

from ..serving.messages import ProtocolError
from ..serving.noise_key import NoiseKey
from ..serving.task_document import Role
from ..serving.two_servers.collection import derive_key

Words = NDArray[np.uint64]
PRIME = 2**61 - 1
"""Modulus of the proofs, a Mersenne prime, so that reduction needs only shifts and additions; proof numbers not below
it are refused."""
LARGEST_VALUE = 2**59
"""Bound on the absolute counts of an answer; larger ones are refused as unproved. Below it, different counts differ
modulo the prime, too."""
_PRIME_MASK = np.uint64(PRIME)
"""Mask of the low 61 bits of a word, which is the prime itself: a word is reduced by adding what lies above them."""
_HALF_BITS = np.uint64(31)
"""Bits of the lower half of a residue of 61 bits: products are computed from halves, so that none exceeds 64 bits."""
_HALF_MASK = np.uint64(2**31 - 1)
"""Mask of the lower half, 31 bits, of a residue of 61 bits, for the same products."""


# Arithmetic modulo the prime, on arrays of 64-bit words


def expand_key(key: bytes, count: int) -> Words:
    """Expand a key to `count` numbers: the low 61 bits of words of AES-128 in counter mode from 0, little-endian."""
    octets = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(8 * count))
    return _reduce(np.frombuffer(octets, "<u8").astype(np.uint64, copy=False) & _PRIME_MASK)


def _reduce(words: Words) -> Words:
    """Return 64-bit words modulo the prime ``2**61 - 1``, by one folding at bit 61."""
    folded = (words & _PRIME_MASK) + (words >> np.uint64(61))
    return np.where(folded >= _PRIME_MASK, folded - _PRIME_MASK, folded)


def _negate(words: Words) -> Words:
    """Negate residues modulo the Mersenne prime without branches; 0 becomes the prime itself.

    Args:
        words: Residues, each at most the prime.
    """
    return words ^ _PRIME_MASK


def to_residues(numbers: Sequence[int] | NDArray[np.int64]) -> Words:
    """Return signed 64-bit integers modulo the prime, as residues from 0 to the prime minus 1.

    Args:
        numbers: Signed integers.

    Returns:
        Residues in the same order.
    """
    return (np.asarray(numbers, dtype=np.int64) % np.int64(PRIME)).astype(np.uint64)


def inner_products(first: Words, second: Words) -> list[int]:
    """Return the inner product of each pair of rows of residues, modulo the prime 2**61 - 1.

    Args:
        first: Residues, (rows, size).
        second: Residues, (rows, size) or (size,).

    Returns:
        One integer per row.

    >>> inner_products(np.array([[PRIME - 1, 2]], np.uint64), np.array([PRIME - 1, 3], np.uint64))
    [7]
    """
    (high, low), (other_high, other_low) = ((factor >> _HALF_BITS, factor & _HALF_MASK) for factor in (first, second))
    middle = _reduce(high * other_low + low * other_high)
    # 2**62 is 2, and 2**31 times 2**30 is 1.
    upper_products = np.uint64(2) * (high * other_high) + low * other_low
    upper_products = (
        _reduce(upper_products) + (middle >> np.uint64(30)) + ((middle & np.uint64(2**30 - 1)) << _HALF_BITS)
    )
    rows = np.atleast_2d(_reduce(upper_products))
    return [(int((row >> _HALF_BITS).sum()) * 2**31 + int((row & _HALF_MASK).sum())) % PRIME for row in rows]


# Proved values: all cells, or counts below the edges of a list


class ProvedValues(Protocol):
    """Interface of the values of a proved answer."""

    @property
    def size(self) -> int:
        """Number of values that the answer has and the proof covers."""

    def compute_weights(self, coefficients: Words, slots: NDArray[np.int64]) -> Words:
        """Return for each record its weight in an answer's proof: the coefficients times what the record adds to the
        values.

        A missing record, whose slot is behind all others, contributes 0.

        Args:
            coefficients: A residue per proved value, in the order of the values.
            slots: Slot of each record.

        Returns:
            A residue per slot.
        """

    def derive_noise(self, key: NoiseKey) -> list[int]:
        """SECRET: return one server's noise of all proved values, derived from its key, in the order of the values."""

    def require_possible(self, counts: Sequence[int], reports: int) -> None:
        """Refuse proved values that are impossible for this number of reports with correctly drawn noise.

        Args:
            counts: Proved values, in the order of the distribution.
            reports: Number of accepted reports.

        Raises:
            ProtocolError: a value is too small or too large, or a prefix count falls.
        """


FALSE_BLAME_PROBABILITY = 2.0**-40
"""Probability, for each comparison, that noise alone makes an honest server's counts look impossible, so that the
answer is discarded. A smaller one lets larger lies pass."""


IMPOSSIBLE_COUNTS = (
    "the proved counts are impossible for this number of reports with correctly drawn "
    "noise, so the answer was discarded; tell both operators"
)
"""Error message (status 502) if proved counts are below 0, above the number of reports, or fall, by more than noise
explains."""


@dataclass(frozen=True)
class ProvedCells(ProvedValues):
    """Counts of all cells as interval sums, then the number of records without a value minus its public total.

    Attributes:
        distribution: Distribution of the answer, with the noise of both servers.
    """

    distribution: IntervalSums

    @property
    def size(self) -> int:
        """Number of proved values: all interval sums, and the count of missing values if they are counted."""
        return self.distribution.size

    def compute_weights(self, coefficients: Words, slots: NDArray[np.int64]) -> Words:
        """Return for each slot the weight of a report in an answer's proof: the summed coefficients of intervals with
        the slot.

        Sums are modulo the prime 2**61 - 1.

        Args:
            coefficients: A residue per proved value, in the order of the distribution.
            slots: Slot of each report; the number after the last cell stands for a missing value.

        Returns:
            A residue per slot asked for.
        """
        distribution = self.distribution
        weights = np.zeros((distribution.rows, distribution.cells), np.uint64)
        start = 0
        for level in distribution.levels:
            size = distribution.rows * len(level.starts)
            level_coefficients = coefficients[start : start + size].reshape(distribution.rows, -1)
            weights = _reduce(
                weights
                + level_coefficients[:, np.searchsorted(level.first_cells, np.arange(distribution.cells), "right") - 1]
            )
            start += size
        if distribution.missing is not None:
            weights = _reduce(weights + _negate(coefficients[start : start + 1]))
        return np.append(weights.ravel(), np.uint64(0))[slots]

    def derive_noise(self, key: NoiseKey) -> list[int]:
        """SECRET: return one server's noise of all interval sums, derived from its key.

        Args:
            key: Secret key of the server's noise.

        Returns:
            An integer per released value, in the order of the distribution.
        """
        return key.derive_sum_noise(self.distribution)

    def require_possible(self, counts: Sequence[int], reports: int) -> None:
        """Check that no value is below 0, or above the number of reports, by more than noise explains.

        Args:
            counts: Noisy counts.
            reports: Number of reports.

        Raises:
            ProtocolError: a value is impossible; noise alone causes this with at most `FALSE_BLAME_PROBABILITY`.
        """
        start = 0
        for noise, size in self.distribution.noises:
            bound = tail_bound((WeightedNoise(1, 1.0, noise),), FALSE_BLAME_PROBABILITY / (2 * self.size))
            if any(not -bound <= count <= reports + bound for count in counts[start : start + size]):
                raise ProtocolError("servers", IMPOSSIBLE_COUNTS, 502)
            start += size


COUNT_OUT_OF_ORDER = (
    "a count is not between the proved counts at the adjacent edges, because an answer share or "
    "unchecked reports are wrong, so the answer was discarded; tell both operators"
)
"""Error message (status 502) if a count at an edge without proof does not lie between its proved neighbours, up to
noise."""


@dataclass(frozen=True)
class ProvedEdges(ProvedValues):
    """Counts below the edges of a list.

    Attributes:
        distribution: Distribution of these counts, which rise, with the noise of both servers.
    """

    distribution: PathSums

    @property
    def size(self) -> int:
        """Number of edges whose counts are proved."""
        return self.distribution.size

    def compute_weights(self, coefficients: Words, slots: NDArray[np.int64]) -> Words:
        """Return for each slot the weight of a report in an answer's proof: the summed coefficients of the edges above
        the slot.

        Sums are modulo the prime 2**61 - 1.

        Args:
            coefficients: A residue per edge, in rising order of edges.
            slots: Slot of each report, from 0.

        Returns:
            A residue per slot asked for; 0 where no edge lies above.
        """
        total = 0
        tails = [0]
        for coefficient in coefficients[::-1].tolist():
            total = (total + coefficient) % PRIME
            tails.append(total)
        return np.array(tails[::-1], np.uint64)[np.searchsorted(self.distribution.prefix_lengths, slots, "right")]

    def derive_noise(self, key: NoiseKey) -> list[int]:
        """SECRET: return one server's noise of the counts below all proved edges.

        Args:
            key: Secret key of the server's noise.

        Returns:
            An integer per edge, in rising order of edges.
        """
        return key.derive_path_noise(self.distribution, self.distribution.prefix_lengths)

    def require_possible(self, counts: Sequence[int], reports: int) -> None:
        """Refuse counts that decrease, or exceed the number of reports, by more than noise explains.

        Args:
            counts: The proved counts, in the order of their edges.
            reports: Number of reports.

        Raises:
            ProtocolError: the counts are impossible.
        """
        counts_by_edge = {0: 0, **dict(zip(self.distribution.prefix_lengths, counts, strict=True))}
        *_, largest = counts_by_edge
        falls = any(self._is_falling(counts_by_edge, lower, upper) for lower, upper in pairwise(counts_by_edge))
        if falls or counts_by_edge[largest] > reports + self.bound_noise_difference(0, largest):
            raise ProtocolError("servers", IMPOSSIBLE_COUNTS, 502)

    def require_between(self, proved_counts: Sequence[int], other_counts: Mapping[int, int]) -> None:
        """Refuse counts that are not between the proved ones at the adjacent edges.

        Args:
            proved_counts: Proved counts.
            other_counts: Counts below other thresholds.

        Raises:
            ProtocolError: a count is not between them.
        """
        counts = {0: 0, **dict(zip(self.distribution.prefix_lengths, proved_counts, strict=True))}
        edges = list(counts)
        for threshold, count in other_counts.items():
            above = bisect_left(edges, threshold)
            extended = {**counts, threshold: count}
            lower, upper = edges[max(above - 1, 0)], edges[above]
            if self._is_falling(extended, lower, threshold) or self._is_falling(extended, threshold, upper):
                raise ProtocolError("servers", COUNT_OUT_OF_ORDER, 502)

    def _is_falling(self, counts: Mapping[int, int], lower: int, upper: int) -> bool:
        """Return True if the count at the upper edge is below that at the lower one, by more than noise explains.

        Args:
            counts: Released count below each edge.
            lower: Lower edge.
            upper: Upper edge.
        """
        return counts[upper] < counts[lower] - self.bound_noise_difference(lower, upper)

    @property
    def max_noise_difference(self) -> float:
        """Largest difference that noise may cause between counts below adjacent edges, see `bound_noise_difference`.

        The bound also holds for counts between two edges, which share at least as many noises with the count below the
        lower edge.
        """
        return max(self.bound_noise_difference(*edges) for edges in pairwise((0, *self.distribution.prefix_lengths)))

    def bound_noise_difference(self, edge: int, other_edge: int) -> float:
        """Return a bound that the difference of the noises of two counts exceeds with probability at most
        `FALSE_BLAME_PROBABILITY`.

        Args:
            edge: Edge of one count, as a number of slots.
            other_edge: Edge of the other count.
        """
        noises_of_both = len(self.distribution.blocks_on_path(edge)) + len(self.distribution.blocks_on_path(other_edge))
        noises = noises_of_both - 2 * self.distribution.count_shared_noises(
            edge, other_edge
        )  # noise of both counts cancels
        return tail_bound((WeightedNoise(noises, 1.0, self.distribution.noise),), FALSE_BLAME_PROBABILITY)


# Keys


@dataclass(frozen=True, slots=True, repr=False)
class ProofKeys:
    """SECRET. Keys of all analysts of a task, derived from a secret that owners have. It has no repr.

    Attributes:
        secret: 64 hexadecimal digits; each owner's ticket contains them.
        analyst_count: Number of analysts.
    """

    secret: str
    analyst_count: int

    @classmethod
    def generate(cls, analysts: int) -> Self:
        """SECRET: draw a new secret for proofs of answers, from which each analyst's key is derived.

        Args:
            analysts: Number of analysts.
        """
        return cls(secrets.token_hex(32), analysts)

    @property
    def keys(self) -> tuple[str, ...]:
        """SECRET: the key of each analyst, 64 hexadecimal digits each.

        Returns:
            Keys in the order of the analysts' numbers.
        """
        secret = bytes.fromhex(self.secret)
        return tuple(derive_key(secret, f"proofs for analyst {number}").hex() for number in range(self.analyst_count))

    @property
    def hashes(self) -> tuple[str, ...]:
        """Public hashes of the analysts' secret proof keys, for the task document.

        Returns:
            Hashes in the order of the analysts' numbers.
        """
        return tuple(hash_key(key) for key in self.keys)

    def to_ticket_secrets(self, owners: int) -> Mapping[tuple[Role, int], str]:
        """Return the secrets in tickets, by role and number.

        Each of the `owners` gets `secret`, and each analyst one of `keys`.
        """
        of_owners = {(Role.OWNER, number): self.secret for number in range(owners)}
        return {**of_owners, **{(Role.ANALYST, number): key for number, key in enumerate(self.keys)}}


def hash_key(key: str) -> str:
    """Return the hash of an analyst's proof key, by which the public task document names the key."""
    return sha256(f"dpcurves proof key\n{key}".encode()).hexdigest()


def require_key(key: str, allowed_hashes: Sequence[str], key_hash: str) -> str:
    """Return the key for proofs of answers in a ticket, if the task document lists its hash.

    Args:
        key: The ticket's key for proofs of answers; empty if the ticket has none.
        allowed_hashes: Hashes of keys in the task document.
        key_hash: Hash of `key`.

    Raises:
        ProtocolError: the ticket has a key that the task document does not list, or none.
    """
    if key_hash not in allowed_hashes:
        raise ProtocolError(
            "ticket",
            "holds another key for proofs of answers than the task; ask the author of the task for another ticket",
        )
    return key


def derive_coefficients(key: str, task: str, size: int) -> Words:
    """SECRET: derive an analyst's random coefficients, by which the analyst verifies proofs of answers.

    Args:
        key: The analyst's key, in hexadecimal digits.
        task: Hash of the task.
        size: Number of values of an answer.
    """
    return expand_key(derive_key(bytes.fromhex(key), f"coefficients {task}")[:16], size)


def _derive_mask(task: str, seed: bytes, count: int) -> Words:
    """SECRET: return the mask of a report, `count` residues, from one server's seed of the report.

    Args:
        task: Hash of the task, in hexadecimal digits.
        seed: The server's seed of the report.
        count: Number of residues.
    """
    return expand_key(sha256(b"dpcurves mask\n" + bytes.fromhex(task) + seed).digest()[:16], count)


# Owners


@dataclass(frozen=True, repr=False)
class OwnerProver:
    """SECRET. Computes the words of reports. It has no repr.

    Attributes:
        task: Hash of the task.
        proved_values: Values of its answers.
        keys: Key of each analyst.
    """

    task: str
    proved_values: ProvedValues
    keys: tuple[str, ...]

    def make_words(self, slots: NDArray[np.int64], first: Sequence[bytes], second: Sequence[bytes]) -> Words:
        """SECRET: return the proof words of reports, by which analysts verify answers, as residues below the prime
        2**61 - 1.

        Args:
            slots: Index of each record's cell (slot), (reports,).
            first: Seeds of server 0.
            second: Seeds of server 1.

        Returns:
            Words, (reports, analysts).
        """
        size = self.proved_values.size
        words = np.empty((len(slots), len(self.keys)), np.uint64)
        all_of = [derive_coefficients(key, self.task, size) for key in self.keys]
        weights = [self.proved_values.compute_weights(coefficients, slots) for coefficients in all_of]
        for rows in _slice_parts(len(slots), size):
            pairs = zip(first[rows], second[rows], strict=True)
            sums = np.array([self._combine_masks(seed_0, seed_1) for seed_0, seed_1 in pairs]).reshape(
                -1, size + len(self.keys)
            )
            for number, (coefficients, of_records) in enumerate(zip(all_of, weights, strict=True)):
                products: Words = np.array(inner_products(sums[:, :size], coefficients), np.uint64)
                combined: Words = products + of_records[rows]
                words[rows, number] = _reduce(_reduce(combined) + _negate(sums[:, size + number]))
        return words

    def _combine_masks(self, first: bytes, second: bytes) -> Words:
        """SECRET: return the sum of both servers' masks of one report, one residue per value and per analyst.

        Args:
            first: Seed of server 0 for the report.
            second: Seed of server 1 for the report.
        """
        count = self.proved_values.size + len(self.keys)
        return _reduce(_derive_mask(self.task, first, count) + _derive_mask(self.task, second, count))


def _slice_parts(count: int, size: int) -> Iterator[slice]:
    """Yield slices of reports whose masks of `size` numbers fit into memory at once.

    Args:
        count: Number of reports.
        size: Number of residues in the mask of one report.
    """
    # 2**19: 64-bit numbers of masks that an owner holds in memory at once: 4 MB
    step = max(1, 2**19 // size)
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


# Servers


class ShareProof(NamedTuple):
    """SECRET: proof of one server's answer share: its noise minus all masks, and the sum N for each analyst."""

    masked_noise: tuple[int, ...]
    sums: tuple[int, ...]

    @property
    def hash(self) -> str:
        """SHA-256 of the masked noise in hexadecimal digits: this commitment binds the server to its noise."""
        return hash_noise(self.masked_noise)

    def proof_for_analyst(self, analyst: int) -> tuple[int, ...]:
        """Return the proof for one analyst, which is sent beside the answer share: the masked noise, then the analyst's
        sum.

        Args:
            analyst: Number of the analyst, whose secret key weights the sum.
        """
        return *self.masked_noise, self.sums[analyst]


def hash_noise(noise: Sequence[int]) -> str:
    """Return the SHA-256 of masked noise, in 64 hexadecimal digits: a server's commitment to its noise."""
    return sha256(b"dpcurves masked noise\n" + np.asarray(noise, "<u8").tobytes()).hexdigest()


@dataclass(frozen=True, repr=False)
class ServerProver:
    """SECRET. Computes the proofs of one server's answer shares. It has no repr.

    Attributes:
        task: Hash of the task.
        party: 0 or 1.
        words: Words of all reports, ``(reports, analysts)``.
        seeds: This server's seed of each report.
    """

    task: str
    party: int
    words: Words
    seeds: Sequence[bytes]

    def prove_share(self, noise: Sequence[int], counts: NDArray[np.bool_] | None = None) -> ShareProof:
        """SECRET: return this server's proof of its answer share: its noise, masked by the reports' seeds, and a sum
        per analyst.

        Args:
            noise: This server's noise of each value.
            counts: Mask of the accepted reports; None: all are accepted.
        """
        size = len(noise)
        analysts = self.words.shape[1]
        total = np.zeros(size + analysts, np.uint64)
        for number, seed in enumerate(self.seeds):
            if counts is None or counts[number]:
                total = _reduce(total + _derive_mask(self.task, seed, size + analysts))
        masked = _reduce(to_residues(noise) + _negate(total[:size]))
        sums = total[size:]
        if self.party == 0:
            for row in self.words if counts is None else self.words[counts]:
                sums = _reduce(sums + row)
        return ShareProof(tuple(masked.tolist()), tuple(sums.tolist()))


# Analysts


def require_proved_answer(
    key: str, task: str, counts: Sequence[int], proofs: Sequence[Sequence[int]], noise_hashes: Sequence[str]
) -> None:
    """Refuse a two-server answer unless both servers' proofs show that it was computed from the shares as promised.

    Args:
        key: Key of the analyst.
        task: Hash of the task.
        counts: Sum of both answer shares.
        proofs: Proof of each server: `ShareProof.proof_for_analyst`.
        noise_hashes: Hashes of masked noise that both servers name.

    Raises:
        ProtocolError: a proof is not valid.
    """
    noises = [tuple(proof[:-1]) for proof in proofs]
    if list(noise_hashes) != [hash_noise(noise) for noise in noises]:
        raise ProtocolError("servers", OTHER_NOISE, 502)
    if any(not -LARGEST_VALUE < count < LARGEST_VALUE for count in counts):
        raise ProtocolError("servers", UNPROVED_ANSWER, 502)
    if any(not 0 <= number < PRIME for proof in proofs for number in proof):
        raise ProtocolError("servers", UNPROVED_ANSWER, 502)
    coefficients = derive_coefficients(key, task, len(counts))
    masked: list[Words] = [np.array(noise, np.uint64) for noise in noises]
    first, second = masked
    (product,) = inner_products(_reduce(first + second), coefficients)
    (expected,) = inner_products(to_residues(counts), coefficients)
    if (product + sum(proof[-1] for proof in proofs) - expected) % PRIME:
        raise ProtocolError("servers", UNPROVED_ANSWER, 502)


OTHER_NOISE = (
    "an answer share has other noise than its server announced before the first answer, so the "
    "answer was discarded; ask the operator of that server"
)
"""Error message (status 502) if an answer share does not have the noise whose hash its server announced."""
UNPROVED_ANSWER = (
    "the answer is not proved: an answer share omits or adds reports, or an owner sent a "
    "wrong proof word. It was discarded; tell both operators"
)
"""Error message (status 502) if the proof of an answer does not hold."""


def require_words(words: Words) -> None:
    """Check that proof words are below the prime 2**61 - 1.

    Raises:
        ValueError: a word is not below the prime; the message shows no word.
    """
    if bool(np.any(words >= _PRIME_MASK)):
        raise InvalidArgument(
            "shares", "must hold proof words below 2**61 - 1; contribute again with this task's document"
        )
