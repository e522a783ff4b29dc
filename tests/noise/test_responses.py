"""Each randomiser, over all answers and reports: what one report tells is at most epsilon, in whole numbers."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise, product
from random import Random

import numpy as np
import pytest

from dpcurves.arguments import InvalidArgument, WrongArgumentType
from dpcurves.noise import Randomness
from dpcurves.noise.exponential import bound_exp_neg
from dpcurves_local.responses import (
    RANDOMISERS,
    HadamardResponse,
    KaryRandomisedResponse,
    Randomiser,
    SubsetSelection,
    UnaryEncoding,
    choose_randomiser,
)
from dpcurves_local.responses import (
    randomiser as bit_rows,
)
from dpcurves_local.responses.bernoulli_sampler import (
    ONE_PROBABILITY,
    _look_up_octets,
    _look_up_octets_compiled,
    _make_octet_table,
    _sample_by_octets,
    correct_set_sizes,
    count_binary_places,
    sample_bernoulli,
    sample_bernoulli_rows,
    sample_uniform,
)
from dpcurves_local.responses.randomiser import _sum_bits, count_set_bits, set_true_bits, walsh_hadamard

EPSILONS = (Fraction(1, 100), Fraction(1), Fraction(12))
ANSWERS = (2, 3, 5, 12, 16)
BITS = 512

every_randomiser = pytest.mark.parametrize("kind", RANDOMISERS, ids=lambda kind: kind.NAME)


def chances(way: Randomiser) -> tuple[list[bytes], list[list[Fraction]]]:
    """All reports, and for each the chances under all answers."""
    reports = list(way.list_reports())
    return reports, [[way.find_probability(answer, report) for answer in range(way.answers)] for report in reports]


def extremes_and_sums(way: Randomiser) -> tuple[set[tuple[Fraction, Fraction]], list[Fraction]]:
    """The largest and the least chance of each report over all answers; the sum over all reports, for each answer."""
    if isinstance(way, UnaryEncoding) and way.answers > 5:
        return of_bits(way)
    table = chances(way)[1]
    return {(max(row), min(row)) for row in table}, [sum(column, Fraction(0)) for column in zip(*table, strict=True)]


def of_bits(way: UnaryEncoding) -> tuple[set[tuple[Fraction, Fraction]], list[Fraction]]:
    """The chance of a row of bits is that of how many are set, and whether the true one is: all rows are counted so."""
    kinds = [(2**size - 1).to_bytes(way.octets, "little") for size in range(way.answers + 1)]
    known = [
        (way.find_probability(way.answers - 1, kind), way.find_probability(0, kind)) for kind in kinds
    ]  # unset, set; but at the ends
    bits, sums = np.arange(2**way.answers), []
    sizes = np.bitwise_count(bits)
    for answer in range(way.answers):
        is_set = bits >> answer & 1
        reports = np.bincount(2 * sizes + is_set, minlength=2 * len(kinds)).reshape(-1, 2).tolist()
        chances_of = [(unset * pair[0], set_ * pair[1]) for (unset, set_), pair in zip(reports, known, strict=True)]
        sums.append(sum((part for pair in chances_of for part in pair), Fraction(0)))
    return {(max(pair), min(pair)) for pair in known}, sums


@pytest.mark.quick_share(3)
@every_randomiser
@pytest.mark.parametrize("epsilon", EPSILONS, ids=float)
def test_no_report_is_more_than_e_to_epsilon_times_as_likely_under_another_answer(
    kind: type[Randomiser], epsilon: Fraction
) -> None:
    least_decay = Fraction(
        bound_exp_neg(epsilon, BITS)[1], 1 << BITS
    )  # exp(-epsilon) is not above it, by 2**-511 at most
    for answers in ANSWERS:
        extremes, sums = extremes_and_sums(kind(answers, epsilon))
        assert all(most * least_decay <= least for most, least in extremes)
        assert set(sums) == {1}


@every_randomiser
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)], ids=float)
def test_little_of_epsilon_is_left_unused(kind: type[Randomiser], epsilon: Fraction) -> None:
    most_decay = Fraction(bound_exp_neg(epsilon, BITS)[0], 1 << BITS) * (1 + Fraction(1, 2**50))
    _, table = chances(kind(5, epsilon))
    assert max(max(row) / min(row) for row in table) * most_decay >= 1


@every_randomiser
@pytest.mark.parametrize("answers", [2, 3, 5, 6])
def test_chances_of_support_are_those_of_the_tallies_of_all_reports(kind: type[Randomiser], answers: int) -> None:
    way = kind(answers, Fraction(1))
    reports, table = chances(way)
    received = np.frombuffer(b"".join(reports), dtype=np.uint8).reshape(-1, way.octets)
    assert way.mark_valid_reports(received).all()
    supported = [way.count_support(received[place : place + 1]).tolist() for place in range(len(reports))]

    def supports(own: int, *them: int) -> Fraction:
        rows = zip(table, supported, strict=True)
        return sum((row[own] for row, bits in rows if all(bits[each] for each in them)), Fraction(0))

    for own in range(answers):
        others = [answer for answer in range(answers) if answer != own]
        assert supports(own, own) == way.support.p_true
        assert {supports(own, other) for other in others} == {way.support.p_other}
        assert {supports(own, own, other) for other in others} == {way.support.p_true_and_other}
        assert all(supports(own, *pair) == way.support.p_two_others for pair in combinations(others, 2))
        assert {max(row[own] / row[other] for row in table) for other in others} == {way.support.likelihood_ratio}


@every_randomiser
@pytest.mark.parametrize(("answers", "epsilon"), [(3, Fraction(1)), (6, Fraction(2))])
def test_reports_are_drawn_by_their_chances(kind: type[Randomiser], answers: int, epsilon: Fraction) -> None:
    """Chi-squared over all reports: by chance it is as high once in 16,000 runs; the seed is fixed."""
    from scipy.stats import chisquare

    way, draws = kind(answers, epsilon), 40_000
    reports, table = chances(way)
    for own in (0, answers - 1):
        drawn = way.draw(np.full(draws, own), Randomness.from_seed(own))
        seen = Counter(row.tobytes() for row in drawn)
        expected = np.array([float(row[own]) for row in table]) * draws
        assert set(seen) <= set(reports)
        assert chisquare([seen[report] for report in reports], expected).pvalue > 6e-5


@every_randomiser
def test_variances_are_those_of_debiased_counts(kind: type[Randomiser]) -> None:
    """Sums of squares over 4,000 runs, within 4 sigma: by chance off once in 16,000 runs; the seed is fixed."""
    way, people, runs, share = kind(6, Fraction(3, 2)), 50, 4000, 0.3
    own, source = np.zeros(people, dtype=np.int64), Randomness.from_seed(3)
    own[int(people * share) :] = 5
    tallies = np.array([way.count_support(way.draw(own, source)) for _ in range(runs)])
    counts = (tallies - people * float(way.support.p_other)) / float(way.support.gain)
    assert abs(counts[:, 0].mean() - people * share) < 4 * counts[:, 0].std() / runs**0.5
    for column, of in ((0, share), (3, 0.0)):
        squares = (counts[:, column] - people * of) ** 2 / (people * way.variance(of))
        assert abs(squares.mean() - 1) < 4 * squares.std() / runs**0.5


@every_randomiser
def test_variances_of_sums_of_rare_answers_have_all_covariances(kind: type[Randomiser]) -> None:
    way = kind(6, Fraction(1))
    each, apart = way.support.p_other * (1 - way.support.p_other), way.support.p_two_others - way.support.p_other**2
    covariance = np.where(np.eye(6, dtype=np.bool_), float(each), float(apart))
    sums = [covariance[:first, :first].sum() / float(way.support.gain) ** 2 for first in range(1, 6)]
    assert way.mean_prefix_variance() == pytest.approx(np.mean(sums), rel=1e-12)


def scripted(octets: bytes) -> Randomness:
    """A source of these bytes, in this order."""
    left = bytearray(octets)

    def take(count: int) -> bytes:
        taken = bytes(left[:count])
        del left[:count]
        return taken

    return Randomness(take, is_seeded=True)


def test_coins_and_even_draws_are_decided_by_whole_numbers() -> None:
    parts = (7 << 56) + 5  # eight bits that are 7 leave it open; what they leave is compared with 5
    for rest, expected in ((4, True), (5, False)):
        word = (rest << 8).to_bytes(8, "little")
        assert sample_bernoulli(parts, 3, scripted(bytes([6, 8, 7]) + word)).tolist() == [True, False, expected]
    assert sample_bernoulli(ONE_PROBABILITY // 2, 2, scripted(bytes([127, 128]) + bytes(8))).tolist() == [True, False]
    outcomes = Counter(
        sample_uniform(3, 2, scripted(word.to_bytes(4, "little") * 2 + bytes([1] * 8)))[0] for word in (0, 1, 2)
    )
    assert sum(outcomes.values()) == 3
    third = -(-(2**32) // 3)
    assert sample_uniform(3, 1, scripted((third).to_bytes(4, "little"))).tolist() == [1]
    assert sample_uniform(3, 1, scripted((third - 1).to_bytes(4, "little"))).tolist() == [0]
    assert sample_uniform(3, 1, scripted(bytes(4) + third.to_bytes(4, "little"))).tolist() == [1], (
        "2**32 is 1 too many: again"
    )


ANY_CHANCE = pytest.mark.parametrize(
    "parts", [1, 5 << 58, 7 << 61, ONE_PROBABILITY // 2, ONE_PROBABILITY - 1, 12345678901234567891]
)


def of_eight_coins(parts: int) -> list[int]:
    """The chance of each octet, in parts of 2**512."""
    return [parts**ones * (ONE_PROBABILITY - parts) ** (8 - ones) for ones in map(int.bit_count, range(256))]


@ANY_CHANCE
def test_octets_of_coins_have_their_exact_chances(parts: int) -> None:
    """What words tell, and what the sums leave to each octet, is its chance: whole numbers of 2**-512."""
    told = _make_octet_table(parts)
    by_word = np.bincount(told.octet_by_word[: told.decided_words], minlength=256).tolist()
    ends = [told.decided_words << 496, *told.remainder_ends, 2**512]
    left = [end - start for start, end in pairwise(ends)]
    assert [(many << 496) + rest for many, rest in zip(by_word, left, strict=True)] == of_eight_coins(parts)
    assert 2**16 - told.decided_words < 256


@ANY_CHANCE
def test_octets_of_coins_are_decided_by_exact_sums_of_their_chances(parts: int) -> None:
    """Numbers of 512 bits at the ends of chances, beside them and anywhere tell the octet in whose part they lie."""
    told = _make_octet_table(parts)
    ends, chance, tried = told.remainder_ends, Random(1), []
    for end in (told.decided_words << 496, ends[0], ends[1], ends[100], ends[254], 2**512 - 1, 1, 0):
        tried += [end + step for step in (-1, 0, 1, -(2**448), 2**448, -(2**496), 2**496)]
    tried += [chance.getrandbits(512) for _ in range(200)]
    for number in (each for each in tried if 0 <= each < 2**512):
        octets = number.to_bytes(64, "big")
        source = scripted(octets[1::-1] + bytes(2) + octets[7:1:-1] + octets[:7:-1])
        (found,) = _sample_by_octets(parts, 1, source).tolist()
        word = number >> 496
        assert found == (told.octet_by_word[word] if word < told.decided_words else sum(end <= number for end in ends))


def test_words_are_looked_up_alike_with_and_without_compiled_loops() -> None:
    words = np.random.default_rng(1).permutation(2**16).astype(np.uint16)[: 2**16 - 5]
    decided, found = _make_octet_table(12345678901234567891), np.zeros((2, len(words)), dtype=np.uint8)
    open_ = [
        look(words, decided, row) for look, row in zip((_look_up_octets, _look_up_octets_compiled), found, strict=True)
    ]
    assert open_[0].tolist() == open_[1].tolist() == np.flatnonzero(words >= decided.decided_words).tolist()
    told = words < decided.decided_words
    assert np.array_equal(found[0, told], decided.octet_by_word[words[told]])
    assert np.array_equal(found[1, told], decided.octet_by_word[words[told]])


def test_coins_of_few_places_are_made_of_as_many_even_bits() -> None:
    """Each of all eight outcomes of three even bits, in a place of its own: as many heads as the chance has eighths."""
    bits = [sum((outcome >> coin & 1) << outcome for outcome in range(8)) for coin in range(3)]
    for eighths in range(8):
        places = count_binary_places(eighths << 61)
        (found,) = sample_bernoulli_rows(eighths << 61, 1, 1, scripted(bytes(bits[:places]))).ravel().tolist()
        assert found.bit_count() == eighths


def test_large_sets_are_even_and_of_one_size_whatever_they_began_with() -> None:
    """Counts of 6,000 sets are within 4.5 sigma, of pairs within 5.5: by chance off once in 300 runs; seeds fixed."""
    way, people = SubsetSelection(200, Fraction(1)), 6000
    for own in (0, 199):
        rows = way.draw(np.full(people, own), Randomness.from_seed(own))
        bits = np.unpackbits(rows, axis=1, count=200, bitorder="little").astype(np.float64)
        assert set(bits.sum(axis=1).tolist()) == {float(way.size)}
        together = bits.T @ bits
        others = np.delete(np.delete(together, own, 0), own, 1)
        pairs = others[np.triu_indices(199, 1)]
        for found, share in (
            (together[own, own], way.support.p_true),
            (np.diag(others), way.support.p_other),
            (pairs, way.support.p_two_others),
            (np.delete(together[own], own), way.support.p_true_and_other),
        ):
            sigma = float(people * share * (1 - share)) ** 0.5
            assert np.abs(found - float(people * share)).max() < (4.5 if np.size(found) < 1000 else 5.5) * sigma
        assert np.ptp(pairs) > 4 * sigma


def stepped(row: int, own: int, kept: int, size: int, answers: int) -> Counter[int]:
    """The sets that one word makes of a set of others, as the loop itself does it, over a word of each place."""
    found: Counter[int] = Counter()
    for place in range(answers):
        rows, word = np.array([[row]], dtype=np.uint64), np.array([(place << 16) // answers + 2], dtype=np.uint16)
        correct_set_sizes(rows, np.array([own]), np.array([kept == 1]), answers, size, word, 0)
        found[int(rows[0, 0]) & ~(1 << own)] += 1
    return found


def finished(row: int, own: int, kept: int, size: int, answers: int) -> dict[int, Fraction]:
    """The exact distribution of the set that a row becomes: words that change nothing only make it wait."""
    if row.bit_count() + kept == size:
        rows = np.array([[row | 1 << own]], dtype=np.uint64)  # whatever the coin of the answer itself has shown
        assert correct_set_sizes(
            rows, np.array([own]), np.array([kept == 1]), answers, size, np.zeros(0, dtype=np.uint16), 0
        )
        return {int(rows[0, 0]): Fraction(1)}
    steps = stepped(row, own, kept, size, answers)
    moves, distribution = sum(many for to, many in steps.items() if to != row), dict[int, Fraction]()
    for to, many in steps.items():
        for end, chance in finished(to, own, kept, size, answers).items() if to != row else ():
            distribution[end] = distribution.get(end, Fraction(0)) + Fraction(many, moves) * chance
    return distribution


@pytest.mark.parametrize("answers", [3, 5, 6])
def test_sets_have_their_exact_chances_whatever_coins_they_began_with(answers: int) -> None:
    """Coins, then words until the size is right: the distribution of all sets, enumerated, is `chance` for each true
    answer."""
    for epsilon, own in product((Fraction(1, 2), Fraction(3)), range(answers)):
        way = SubsetSelection(answers, epsilon)
        others = [each for each in range(2**answers) if not each >> own & 1]
        ends = {pair: finished(pair[0], own, pair[1], way.size, answers) for pair in product(others, (0, 1))}
        for parts in (0, 1, 3 << 61, ONE_PROBABILITY - 1):
            coin, distribution = Fraction(parts, ONE_PROBABILITY), dict[int, Fraction]()
            for (row, kept), found in ends.items():
                begun = coin ** row.bit_count() * (1 - coin) ** (answers - 1 - row.bit_count())
                begun *= way.support.p_true if kept else 1 - way.support.p_true
                for end, chance in found.items():
                    distribution[end] = distribution.get(end, Fraction(0)) + begun * chance
            distribution = {end: chance for end, chance in distribution.items() if chance}
            assert distribution == {
                int.from_bytes(report, "little"): way.find_probability(own, report) for report in way.list_reports()
            }


def test_words_choose_places_evenly() -> None:
    """All 2**16 words: those that are not passed over put each of the others in, and take each out, equally often."""
    kept = np.array([False])
    for answers, begun in product((3, 5, 6), (0, 1)):
        rows = np.full((2**16, 1), begun * (2**answers - 1), dtype=np.uint64)
        for word in range(2**16):
            one = np.array([word], dtype=np.uint16)
            correct_set_sizes(rows[word : word + 1], np.array([0]), kept, answers, 1 + begun * (answers - 3), one, 0)
        sets, many = np.unique(rows & ~np.uint64(1), return_counts=True)
        found, before = dict(zip(sets.tolist(), many.tolist(), strict=True)), begun * (2**answers - 2)
        assert {found[before ^ 1 << place] for place in range(1, answers)} == {2**16 // answers}
        assert found[before] == 2**16 // answers + 2**16 % answers


def test_sets_go_on_where_words_gave_out_and_are_counted_word_by_word() -> None:
    """Sets of 54 of 200, in four words of 64: a word at a time ends in the sets of all words at once."""
    source = Randomness.from_seed(5)
    answers, own = np.arange(100) * 2 + 1, np.arange(100) % 3 == 0
    words, begun = source.sample_halfwords(20_000), sample_bernoulli_rows(5 << 61, 100, 32, source).view(np.uint64)
    begun[:, -1] &= np.uint64(255)
    whole, parts, done, used = begun.copy(), begun.copy(), 0, 0
    assert correct_set_sizes(whole, answers, own, 200, 54, words, 0) == 100
    while done < 100:
        done, used = correct_set_sizes(parts, answers, own, 200, 54, words[used : used + 1], done), used + 1
    assert {int(row.sum()) for row in np.bitwise_count(whole)} == {54}
    assert np.array_equal(whole, parts)
    bits = np.unpackbits(whole.view(np.uint8), axis=1, bitorder="little")
    assert np.array_equal(bits[np.arange(100), answers] == 1, own)


def test_own_bits_are_put_alike_with_and_without_compiled_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = np.frombuffer(Randomness.from_seed(2).random_bytes(25 * 400), dtype=np.uint8).reshape(400, 25)
    answers, own, found = np.arange(400) % 200, np.arange(400) % 3 == 0, []
    for compiled in (True, False):
        monkeypatch.setattr(bit_rows, "loops_are_compiled", lambda compiled=compiled: compiled)
        rows = begun.copy()
        set_true_bits(rows, answers, own)
        found.append(rows)
    assert np.array_equal(found[0], found[1])
    before, after = (np.unpackbits(each, axis=1, bitorder="little") for each in (begun, found[0]))
    before[np.arange(400), answers] = own
    assert np.array_equal(before, after)


@pytest.mark.parametrize("answers", [2, 13, 64, 200])
def test_bits_are_counted_alike_with_and_without_compiled_loops(answers: int) -> None:
    way = UnaryEncoding(answers, Fraction(1))
    reports = way.draw(np.arange(3000) % answers, Randomness.from_seed(1))
    wide = np.zeros((3000, way.octets + 5), dtype=np.uint8)
    wide[:, 2 : 2 + way.octets] = reports
    for each in (reports, wide[:, 2 : 2 + way.octets]):
        assert way.count_support(each).tolist() == _sum_bits(each, answers).tolist()
        assert count_set_bits(each).sum() == way.count_support(each).sum()


def test_a_public_index_leaves_one_bit_and_points_are_read_without_a_table() -> None:
    way, generator = HadamardResponse(11, Fraction(2)), np.random.default_rng(5)
    answers, index = generator.integers(0, 11, 2000), generator.integers(0, way.index_count, 2000)
    bits = way.draw_bits(answers, index, Randomness.from_seed(1))
    assert set(bits.tolist()) == {0, 1}
    reports = way.encode_reports(index, bits)
    assert [way.count_support_of(answer, reports) for answer in range(11)] == way.count_support(reports).tolist()
    signs = generator.integers(-5, 6, 8)
    table = [[(-1) ** (row & column).bit_count() for column in range(8)] for row in range(8)]
    assert walsh_hadamard(signs).tolist() == (np.array(table) @ signs).tolist()


@every_randomiser
def test_what_is_no_report_is_told_apart(kind: type[Randomiser]) -> None:
    way = kind(5, Fraction(1))
    reports = set(way.list_reports())
    octets = bit_rows.to_octets(np.arange(256**way.octets), way.octets)
    assert {row.tobytes() for row in octets[way.mark_valid_reports(octets)]} == reports


@every_randomiser
def test_what_can_not_be_randomised_is_refused_without_showing_it(kind: type[Randomiser]) -> None:
    with pytest.raises(InvalidArgument, match="^answers: must be whole numbers from 0 to 3$"):
        kind(4, Fraction(1)).draw(np.array([1, 4]), Randomness.from_seed(1))
    with pytest.raises(InvalidArgument, match="answers"):
        kind(1, Fraction(1))
    with pytest.raises(InvalidArgument, match="epsilon"):
        kind(4, Fraction(0))
    with pytest.raises(WrongArgumentType, match="epsilon"):
        kind(4, 1.0)  # type: ignore[arg-type]


def test_the_chooser_takes_the_least_variance_among_reports_that_are_short() -> None:
    for epsilon in EPSILONS:
        for answers in (2, 4, 16, 64, 1024, 2**20):
            chosen = choose_randomiser(answers, epsilon)
            known = [
                each(answers, epsilon)
                for each in (KaryRandomisedResponse, HadamardResponse, UnaryEncoding, SubsetSelection)
                if each is not SubsetSelection or answers <= 4096
            ]
            assert chosen.octets <= 64
            assert chosen.variance() == min(each.variance() for each in known if each.octets <= 64)
    assert isinstance(choose_randomiser(1024, Fraction(1), max_octets=128), SubsetSelection)
