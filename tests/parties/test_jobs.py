"""The real protocol tells what a plan says: pairs answer through letters or sessions, and two servers a noisy sum."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.arguments import ProtocolError
from dpcurves.ledger import QuestionBudget
from dpcurves.noise import Randomness
from dpcurves_parties.crypto.circuits import evaluate_circuit
from dpcurves_parties.crypto.garbling import reconstruct_bits
from dpcurves_parties.crypto.two_party import evaluate, garble, run_both_parties
from dpcurves_parties.pairs import (
    AGGREGATOR,
    Device,
    FileRunStore,
    FolderMailbox,
    Meeting,
    OutputAggregator,
    PairTerms,
    Person,
    PersonKeys,
    build_answers_job,
    build_sum_job,
    decode_answers,
    decode_sum,
    prepare_answer_inputs,
    prepare_sum_inputs,
    settle_run,
    share_values,
)
from dpcurves_parties.pairs.mechanisms import build_noisy_circuit, plan_response
from dpcurves_parties.pairs.noise_circuits import FiniteLaplace, choose_response
from dpcurves_parties.pairs.queries import PairQuery
from dpcurves_parties.pairs.release import find_sum_noise, release_answers, release_sum
from dpcurves_parties.pairs.statistics import KENDALL, NoisePlacement, Unsigned, pair_statistic

pytest.importorskip("rbcl")
PEOPLE, SEED = 200, bytes(range(32))
KERNEL = KENDALL.with_columns(rooms=Unsigned(3), cleanliness=Unsigned(3))
TABLE = {
    "rooms": np.random.default_rng(1).integers(0, 8, PEOPLE),
    "cleanliness": np.random.default_rng(2).integers(0, 8, PEOPLE),
}
LOSS = dp.PrivacyLoss.pure(Fraction(8))
OTHER = "^device: must be of the agreement's task and number of meetings"


def test_answers_of_all_pairs_are_those_of_the_circuit_and_of_both_parties_coins() -> None:
    made = dp.pairs.plan(KERNEL, people=PEOPLE, pairs_per_person=2, loss=LOSS, seed=SEED)
    assert isinstance(made.query, PairQuery)
    response, pairs = plan_response(made.query, made.loss), made.query.pairing.draw_pairs(PEOPLE, SEED)
    people = [{name: values[pairs[:, place]] for name, values in TABLE.items()} for place in (0, 1)]
    given = [
        prepare_answer_inputs(KERNEL, response, people[party], party, Randomness.from_seed(party)) for party in (0, 1)
    ]
    job = build_answers_job(b"test", KERNEL, response, len(pairs))
    shares = run_both_parties(
        garble(job, given[0], Randomness.from_seed(5)), evaluate(job, given[1], Randomness.from_seed(6))
    )
    answers = decode_answers(response, reconstruct_bits(*shares))
    values = [one if one is not None else other for one, other in zip(*given, strict=True)]
    (wanted,) = evaluate_circuit(build_noisy_circuit(KERNEL, response), *[each for each in values if each is not None])
    first = response.answers.start
    assert np.array_equal(answers, first + (wanted - first) % (1 << response.width))
    allotment = QuestionBudget.from_external_charge("test", made.loss).pay(made.query, Fraction(1))
    found = pair_statistic(release_answers(made, pairs, answers, allotment, seeded=True))
    assert abs(found.value) < 1


def test_two_servers_tell_the_sum_of_all_pairs_with_one_noise(tmp_path: Path) -> None:
    """Neither server has a person's value; the noise has a magnitude of 100 or more with a chance below 1e-9."""
    made = dp.pairs.plan(KERNEL, people=PEOPLE, pairs_per_person=2, loss=LOSS, noise=NoisePlacement.ON_SUM, seed=SEED)
    assert isinstance(made.query, PairQuery)
    pairs, noise = made.query.pairing.draw_pairs(PEOPLE, SEED), find_sum_noise(made)
    shares = share_values(TABLE, dict(made.query.kernel.columns), Randomness.from_seed(1))
    job = build_sum_job(b"test", KERNEL, noise, len(pairs))
    assert job.final_step is not None
    coins = [None] * len(job.final_step.owners)

    def server(number: int) -> Any:
        act, source = (garble, evaluate)[number], Randomness.from_seed(10 + number)
        values = prepare_sum_inputs(KERNEL, shares[number], pairs)
        return settle_run(
            job.digest, lambda: act(job, values, source, coins), FileRunStore(tmp_path / str(number)), source
        )

    first, second = run_both_parties(server(0), server(1))
    noisy = decode_sum(first)
    assert noisy == decode_sum(second)
    one, other = ({name: values[pairs[:, place]] for name, values in TABLE.items()} for place in (0, 1))
    plain = int((KERNEL.evaluate(one, other) - KERNEL.form.minimum).sum())
    assert abs(noise.to_signed(noisy - plain)) < 100
    allotment = QuestionBudget.from_external_charge("test", made.loss).pay(made.query, Fraction(1))
    release = release_sum(made, pairs, noisy, allotment, seeded=True)
    assert abs(release.values[0] - int(KERNEL.evaluate(one, other).sum())) < 100
    assert abs(pair_statistic(release).value) < 1


def test_two_people_answer_by_letters_with_coins_of_their_devices(tmp_path: Path) -> None:
    """At an epsilon of 40 an answer is another one than the kernel's with a chance below 2**-12: so of six, none is."""
    plan = dp.pairs.plan(KERNEL, people=2, pairs_per_person=1, loss=dp.PrivacyLoss.pure(40), seed=SEED)
    agreed = PairTerms.from_plan(KERNEL, plan).build_agreement(SEED)
    (meeting,) = agreed.meetings
    for number, both in enumerate([((1, 2), (3, 4)), ((1, 4), (3, 2)), ((1, 2), (1, 5))] * 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        devices = [
            Device.open_file(folder / f"{who}", agreed.task_hash, 1, Randomness.from_seed(who + number))
            for who in (0, 1)
        ]
        aggregator = PersonKeys.from_secret(b"aggregator")
        writers = {0: devices[0].keys, 1: devices[1].keys, AGGREGATOR: aggregator}
        bundles = {person: writer.create_bundle(agreed.task_hash, person) for person, writer in writers.items()}
        people = [Person(each, agreed, devices[each], FolderMailbox(folder), bundles.__getitem__) for each in (0, 1)]
        while not all([person.advance_meeting(meeting, both[person.number]) for person in people]):
            pass
        response = agreed.terms.response
        bits = OutputAggregator(
            aggregator.hpke_key, FolderMailbox(folder).get_message, bundles.__getitem__
        ).open_output(meeting, response.width)
        assert bits is not None
        wanted = np.sign(both[0][0] - both[1][0]) * np.sign(both[0][1] - both[1][1])
        assert decode_answers(response, [bit[None] for bit in bits]).tolist() == [wanted]


def test_a_person_takes_part_in_what_was_agreed_on_alone_and_else_spends_nothing(tmp_path: Path) -> None:
    plan = dp.pairs.plan(KERNEL, people=5, pairs_per_person=2, loss=dp.PrivacyLoss.pure(2), seed=SEED)
    promise = PairTerms.from_plan(KERNEL, plan)
    with pytest.raises(ProtocolError, match="^seed: must match the published commitment"):
        promise.build_agreement(SEED[::-1])
    agreed, other = (
        promise.build_agreement(SEED),
        PairTerms.from_plan(KERNEL, replace(plan, loss=dp.PrivacyLoss.pure(3))).build_agreement(SEED),
    )
    assert agreed.task_hash != other.task_hash
    mine = agreed.meetings[0]
    number = mine.people[0]
    stranger = next(each for each in range(5) if each not in mine.people)
    device = Device.open_file(tmp_path / "device", agreed.task_hash, 2, Randomness.from_system())
    mailbox, nobody = FolderMailbox(tmp_path), {}.__getitem__  # type: ignore[var-annotated]
    person = Person(number, agreed, device, mailbox, nobody)
    wrong = Meeting(agreed.task_hash, 999, (number, 31337)), replace(mine, people=mine.people[::-1]), other.meetings[0]
    for meeting in wrong:
        with pytest.raises(ProtocolError, match="^meeting: must be one of this person's agreed meetings; "):
            person.advance_meeting(meeting, (1, 2))
    with pytest.raises(ProtocolError, match="^meeting: must be one of this person's agreed meetings; "):
        replace(person, number=stranger).advance_meeting(mine, (1, 2))
    for values in ((), (1,), (1, 2, 3)):
        with pytest.raises(
            ProtocolError,
            match="^device: must be of the agreement's task and number of meetings",
        ):
            person.advance_meeting(mine, values)
    with pytest.raises(ProtocolError, match=OTHER):
        replace(person, agreement=other).advance_meeting(other.meetings[0], (1, 2))
    assert device.meeting_count == 0
    with pytest.raises(ProtocolError, match="^plan: must be a plan of this kernel, made with a seed; "):
        PairTerms.from_plan(KERNEL, dp.pairs.plan(KERNEL, people=5, pairs_per_person=2, loss=dp.PrivacyLoss.pure(2)))


def test_each_server_s_share_is_even_whatever_the_values_are() -> None:
    """One half of the bits of 200 shares are ones within 4 sigma, whatever is shared; what is no number counts as 0."""
    wanted = {0: 0, 7: 7, -5: 0, 2**40 + 3: 7, float("nan"): 0, "secret": 0, None: 0, 2.0: 2}
    for number, (value, counted) in enumerate(wanted.items()):
        shares = share_values({"rooms": [value] * 200}, {"rooms": 3}, Randomness.from_seed(number))
        assert set((shares[0]["rooms"] ^ shares[1]["rooms"]).tolist()) == {counted}
        for share in shares:
            assert share["rooms"].max() < 8
            ones = int(np.bitwise_count(share["rooms"]).sum())
            assert abs(ones - 300) < 4 * np.sqrt(600 / 4)


def test_coins_that_a_person_throws_differ_from_meeting_to_meeting(tmp_path: Path) -> None:
    """Two of 64 meetings have the same coins of some 17 places or more with chance 64**2 / 2**18, for each person."""
    response, task = choose_response(-1, 1, Fraction(1, 4)), bytes(32)
    devices = [Device.open_file(tmp_path / f"{person}", task, 64, Randomness.from_seed(person)) for person in (0, 1)]
    drawn = []
    for number in range(64):
        meeting = Meeting(task, number, (0, 1))
        job = build_answers_job(meeting.name, KERNEL, response, 1)
        drawn.append(tuple(devices[person].sample_inputs(meeting, job, person, 2) for person in (0, 1)))
    assert len({first for first, _ in drawn}) == len({second for _, second in drawn}) == 64


def test_noise_on_a_sum_is_that_of_the_coins_that_both_threw() -> None:
    """A sum of nothing but noise, whose coins are given: the circuit says what the distribution says, place by
    place."""
    noise, generator = FiniteLaplace(Fraction(1), 2, 14), np.random.default_rng(3)
    job = build_sum_job(b"test", KERNEL, noise, 5)
    assert job.final_step is not None
    ending = job.final_step.circuit
    for _ in range(50):
        drawn = [
            int.from_bytes(generator.bytes(places + 7 >> 3), "little") % (1 << places) for places in noise.random_widths
        ]
        bits = [
            coin >> place & 1
            for coin, places in zip(drawn, noise.random_widths, strict=True)
            for place in range(places)
        ]
        numbers, start = [], 0
        for size in ending.inputs[1:]:
            numbers.append(
                np.array([sum(bit << place for place, bit in enumerate(bits[start : start + size]))], np.uint64)
            )
            start += size
        total = int(generator.integers(0, 11))
        (found,) = evaluate_circuit(ending, np.array([total + job.total_offset - 5], np.uint64), *numbers)
        assert int(found[0]) == (total + noise.compute_noise(drawn)) % 2**14
