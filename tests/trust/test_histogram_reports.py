"""Reports of one cell at two servers: counts are exact, what is no report is left out, and no server loses noise."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcurves.conversation import Plan
from dpcurves.data import Axis, Categories, Grid
from dpcurves.distributions import IntervalSums
from dpcurves.ledger import Allotment, QuestionBudget
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne
from dpcurves.queries import CountQuery, CountUse
from dpcurves_parties.serving.noise_key import NoiseKey
from dpcurves_parties.shares.function_shares import (
    SHARE_MODULUS,
    FunctionShares,
    Owners,
    combine_release,
    find_thresholds,
    make_answer_share,
)
from dpcurves_parties.shares.histogram_reports import (
    HistogramEncoding,
    HistogramEvaluation,
    HistogramReports,
    derive_verify_key,
)
from dpcurves_parties.shares.shared_records import AcceptedSums

TASK = "ab" * 32
ONE = PrivacyLoss.pure(1)
KEYS = [NoiseKey(bytes([number]) * 32) for number in (7, 8)]


def evaluations(places: NDArray[np.int64], slots: int, changed: int | None = None) -> list[HistogramEvaluation]:
    """Both servers' verification of reports, one of which was changed by its owner."""
    encoding, key = HistogramEncoding(slots, TASK), derive_verify_key(b"secret of both", TASK)
    named = encoding.share_records_with_ids(places, Randomness.from_seed(5))
    both = [[shares[party] for _, shares in named] for party in (0, 1)]
    if changed is not None:
        both[0][changed] = both[0][changed][:64] + bytes([both[0][changed][64] ^ 1]) + both[0][changed][65:]
    ids = [one for one, _ in named]
    return [
        HistogramReports(encoding, party, ids, both[party], key).evaluate_thresholds(range(1, slots + 1))
        for party in (0, 1)
    ]


def holders(found: list[HistogramEvaluation]) -> list[AcceptedSums]:
    accepted = found[0].find_accepted(found[1].digests)
    assert found[1].find_accepted(found[0].digests).tolist() == accepted.tolist()
    return [one.sum_accepted(accepted, key) for one, key in zip(found, KEYS, strict=True)]


def allotment(loss: PrivacyLoss) -> Allotment:
    return QuestionBudget.for_planning(loss).pay("cells", Fraction(1))


@pytest.mark.parametrize("slots", [1, 2, 3, 8, 21])
@pytest.mark.parametrize("changed", [None, 0, 3])
def test_shares_add_up_to_the_exact_counts_of_the_reports_that_pass(slots: int, changed: int | None) -> None:
    places = np.concatenate([np.repeat(np.arange(slots + 1), 1 + np.arange(slots + 1) % 3), [0, slots]])
    both = holders(evaluations(places, slots, changed))
    kept, at = places if changed is None else np.delete(places, changed), range(1, slots + 1)
    opened = [sum(pair) % SHARE_MODULUS for pair in zip(*(one.sum_prefix_shares(at) for one in both), strict=True)]
    assert opened == [int((kept < each).sum()) for each in at]


QUERIES = [
    CountQuery((Axis("x", Grid(0, 1, cells=n)),), read) for n in (1, 3) for read in (CountUse.CELLS, CountUse.PREFIXES)
]
QUERIES.append(CountQuery((Categories("w", (0, 1)), Axis("x", Grid(0, 1, cells=2))), CountUse.CELLS))


def left_to(party: int, asked: Plan, places: tuple[int, ...], loss: PrivacyLoss) -> list[int]:
    """Numbers that a server is left with of the other's half, once its own shares are taken off, less that noise."""
    slots = asked.query.rows * asked.query.cells if isinstance(asked.query, CountQuery) else 0
    both = holders(evaluations(np.array(places), slots))
    distribution = asked.distribution.require_type(IntervalSums)
    halves = [make_answer_share(asked, one, allotment(loss)) for one in both]
    noises = [key.derive_sum_noise(distribution) for key in KEYS]
    own = [(half - noise) % SHARE_MODULUS for half, noise in zip(halves[party], noises[party], strict=True)]
    pair = (halves[1 - party], own)
    opened = combine_release(asked, pair if party else pair[::-1], allotment(loss)).values
    return [number - noise for number, noise in zip(opened, noises[1 - party], strict=True)]


@pytest.mark.parametrize("loss", [ONE, PrivacyLoss.zcdp("0.5")], ids=str)
@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_against_each_server_any_replaced_report_loses_at_most_the_loss_and_some_lose_it_all(
    query: CountQuery, loss: PrivacyLoss
) -> None:
    """Every data set of 2 reports, and every report that may be replaced; the other server's full noise is left."""
    slots = query.rows * query.cells
    asked = FunctionShares(Owners.CHECKED).plan_query(query, loss, ReplaceOne(EACH_RECORD, 2))
    assert list(find_thresholds(asked)) == list(range(1, slots + 1))
    parameters = [
        noise.parameter for noise, size in asked.distribution.require_type(IntervalSums).noises for _ in range(size)
    ]
    for party in (0, 1):
        left: dict[tuple[int, ...], list[int]] = {
            places: left_to(party, asked, places, loss) for places in combinations_with_replacement(range(slots + 1), 2)
        }

        def lost(
            one: tuple[int, ...], other: tuple[int, ...], left: dict[tuple[int, ...], list[int]] = left
        ) -> Fraction:
            shifts = [a - b for a, b in zip(left[one], left[other], strict=True)]
            if loss.is_pure:
                return sum((abs(each) / scale for each, scale in zip(shifts, parameters, strict=True)), Fraction(0))
            return sum((each**2 / (2 * scale) for each, scale in zip(shifts, parameters, strict=True)), Fraction(0))

        worst = max(
            lost((min(kept, one), max(kept, one)), (min(kept, other), max(kept, other)))
            for kept in range(slots + 1)
            for one in range(slots + 1)
            for other in range(one)
        )
        assert worst == (loss.epsilon if loss.is_pure else loss.rho)


def test_a_report_is_good_under_its_own_id_in_its_own_task_alone_and_asked_at_one_point_for_ever() -> None:
    encoding, key = HistogramEncoding(3, TASK), derive_verify_key(b"secret of both", TASK)
    ((one, shares), (two, _)) = encoding.share_records_with_ids(np.array([1, 2]), Randomness.from_seed(1))

    def told(task: str, name: bytes, verification: bytes) -> list[HistogramEvaluation]:
        read = HistogramEncoding(3, task)
        return [
            HistogramReports(read, party, [name], [shares[party]], verification).evaluate_thresholds((1,))
            for party in (0, 1)
        ]

    first, second = told(TASK, one, key)
    assert first.find_accepted(second.digests).all()
    others = told(TASK, two, key), told("ac" * 32, one, key)
    assert not any(other[0].find_accepted(other[1].digests).any() for other in others)
    again = HistogramReports(encoding, 0, [two, one], [shares[0]] * 2, key).evaluate_thresholds((1, 2))
    assert again.digests[1].tolist() == first.digests[0].tolist()  # beside other reports, in another set
    for party, share in ((0, shares[1]), (1, shares[0]), (0, shares[0][:-1])):
        with pytest.raises(ValueError, match=r"^shares: "):
            encoding.require_shares(party, [share])
    with pytest.raises(ValueError, match=r"^slots: "):
        encoding.share_records_with_ids(np.array([4]), Randomness.from_seed(1))
