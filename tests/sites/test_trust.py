"""Secure sums as a trust model: the curator's integers plus the noise that is promised, and nothing on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from numpy.typing import NDArray

import dpcurves as dp
from dpcurves.arguments import InvalidArgument, ProtocolError
from dpcurves.conversation import Plan, Release, UnsupportedQuery
from dpcurves.data import Axis
from dpcurves.distributions import Family, IntervalSums, Noise, Tier
from dpcurves.ledger import Allotment, BudgetExceeded, Ledger, QuestionBudget
from dpcurves.ledger.chain import Database
from dpcurves.noise import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Neighbours, PrivacyLoss, Unit
from dpcurves.queries import CountQuery, CountUse, PrefixQuery
from dpcurves_sites.remote import redact_refusal
from dpcurves_sites.secure_sum import KEYS, MASKED, OPENED, SHARES, SIGNED, RoundMessages, Signer, cut_receipt
from dpcurves_sites.site import Federation, FederationTerms, Site
from dpcurves_sites.trust import LARGEST_SUM, SecureSum, build_release, clip_to_ring, derive_round

AGE, YEARS, UNIT = dp.Grid(0, 100, cells=64), dp.Grid(0, 100, cells=10), dp.Grid(0, 1, cells=4)
ONE, TEN = PrivacyLoss.pure(1), PrivacyLoss.pure(10)


@dataclass
class Made:
    terms: FederationTerms
    sites: list[Site]
    ledgers: list[Ledger]
    tables: list[dict[str, Any]]

    @property
    def federation(self) -> Federation:
        return Federation.from_sites(self.terms, self.sites)


def tables(sites: int, records: int = 400) -> list[dict[str, Any]]:
    generator = np.random.default_rng(7)
    found = []
    for site in range(sites):
        score = generator.beta(2, 3, records)
        table: dict[str, Any] = {
            "age": np.clip(generator.normal(40 + 5 * site, 15, records), 0, 99.9), "score": score,
            "label": (generator.random(records) < score).astype(int), "person": generator.integers(0, 200, records),
        }  # fmt: skip
        third, half = table["person"] % 3, table["person"] % 2
        found.append(table | {"kind": third, "treated_value": half, "rest": 1 - score, "since": score * table["age"]})
    return found


def made(
    model: SecureSum, neighbours: Neighbours = Neighbours.ADD_REMOVE, unit: Unit = EACH_RECORD,
    budget: PrivacyLoss = TEN, ledgers: str = "sqlite://",
) -> Made:  # fmt: skip
    keys = [Ed25519PrivateKey.generate() for _ in range(model.sites)]
    roster = model.build_roster(b"t" * 32, [key.public_key().public_bytes_raw() for key in keys])
    held = tables(model.sites)
    units = tuple(len(one["age"]) for one in held) if neighbours.has_public_units else ()
    terms = FederationTerms(model, roster, neighbours, unit, units, budget)
    opened = [Ledger.open(ledgers.format(site)) for site in range(model.sites)]
    sites = [Site(terms, Signer(n, key), held[n], opened[n], "flights") for n, key in enumerate(keys)]
    return Made(terms, sites, opened, held)


def test_a_site_takes_no_seeded_noise_because_its_sums_have_no_mark_of_it() -> None:
    of = made(SecureSum(3, 1))
    keys = [Ed25519PrivateKey.generate() for _ in range(3)]
    roster = of.terms.model.build_roster(b"t" * 32, [key.public_key().public_bytes_raw() for key in keys])
    terms = replace(of.terms, roster=roster)
    with pytest.raises(InvalidArgument, match="randomness: must not be seeded"):
        Site(terms, Signer(0, keys[0]), {}, of.ledgers[0], "more", randomness=Randomness.from_seed(1))


@pytest.fixture
def without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(self: SecureSum, noise: object, size: int, randomness: object) -> NDArray[np.int64]:
        return np.zeros(size, dtype=np.int64)

    monkeypatch.setattr(SecureSum, "sample_noise_share", nothing)


def pooled(held: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: np.concatenate([one[name] for one in held]) for name in held[0]}


QUESTIONS: list[Callable[[], Any]] = [
    lambda: dp.CdfQuestion("age", AGE),
    lambda: dp.QuantilesQuestion("age", dp.Grid(0, 100, cells=4096), probabilities=(0.25, 0.5)),
    lambda: dp.HistogramQuestion("age", AGE),
    lambda: dp.RocQuestion("label", "score", model=dp.PUBLIC_MODEL.value),
    lambda: dp.CalibrationQuestion("label", "score", model=dp.PUBLIC_MODEL.value),
    lambda: dp.ModelPairQuestion("label", "score", "rest", UNIT),
    lambda: dp.ScoresQuestion("label", "score", by=dp.Categories("kind", (0, 1, 2)), grid=UNIT),
    lambda: dp.ModelComparisonQuestion("label", ("score", "rest", "since"), UNIT),
    lambda: dp.MulticlassQuestion(dp.Categories("kind", (0, 1, 2)), ("score", "rest", "since"), grid=UNIT, groups=UNIT),
    lambda: dp.OrdinalClassesQuestion(dp.Categories("kind", (0, 1, 2)), "score", UNIT),
    lambda: dp.QuantileForecastsQuestion(("score", "rest"), (0.5, 0.9), UNIT),
    lambda: dp.PredictedObservedQuestion("score", "rest", UNIT, UNIT),
    lambda: dp.UpliftQuestion("label", "treated_value", "score", UNIT),
    lambda: dp.PairwiseScorerQuestion("label", (dp.NumericColumn("score", 0, 1), dp.NumericColumn("age", 0, 100))),
    lambda: dp.SurvivalQuestion("age", "label", YEARS, by=dp.Categories("treated_value", (0, 1))),
    lambda: dp.CompetingRisksQuestion("age", "kind", YEARS, causes=(1, 2)),
    lambda: dp.DelayedEntryQuestion("since", "age", "label", YEARS),
    lambda: dp.IntervalCensoredQuestion("since", "age", YEARS),
    lambda: dp.SurvivalModelQuestion("score", "age", "label", YEARS, UNIT, groups=2),
]
"""Curves of the core, and each row of both fields: how models are judged, and times until an event."""


@pytest.mark.quick_share(4)
@pytest.mark.parametrize(("ask", "loss"), [*((ask, ONE) for ask in QUESTIONS), (QUESTIONS[0], PrivacyLoss.zcdp("0.1"))])
@pytest.mark.usefixtures("without_noise")
def test_the_sum_is_the_curators_integers_where_noise_is_off(ask: Callable[[], Any], loss: PrivacyLoss) -> None:
    """Every release of the sites is the exact table that one curator has of all records."""
    of = made(SecureSum(3, 1), budget=loss)  # turns are whole billionths, each: together no more than the loss
    seen: list[tuple[Plan, tuple[int, ...]]] = []
    with_all = Made(of.terms, [], [], [])

    def asked(plan: Plan, allotment: Allotment) -> Release:
        release = of.terms.model.run(plan, of.sites, allotment, Randomness.from_system())
        seen.append((plan, release.values))
        return release

    curve = Federation(with_all.terms, asked).ask(ask(), loss, "r")
    from dpcurves.noise import InProcessMemory
    from dpcurves.records import open_records

    records = open_records(pooled(of.tables), unit=EACH_RECORD, key=bytes(32), delimiter=",")
    for plan, values in seen:
        exact = of.terms.model.build_vector(plan, records, InProcessMemory(), Randomness.from_system()).view(np.int64)
        assert values == tuple(exact.tolist())
    assert seen
    assert "secure sum of 3 sites" in curve.privacy.trust
    spent = [ledger.balance("flights").spent.exact for ledger in of.ledgers]
    whole = loss.epsilon if loss.epsilon is not None else loss.rho
    assert all(whole - Fraction(1, 10**7) <= each <= whole for each in spent)


@pytest.mark.reproduction
@pytest.mark.parametrize("neighbours", Neighbours)
def test_the_error_is_that_of_the_plan(neighbours: Neighbours) -> None:
    """65,536 sums of nothing but noise: their variance is m / (m - c) of the curator's."""
    model = SecureSum(5, 2)
    query = CountQuery((Axis("age", dp.Grid(0, 100, cells=2**14)),), CountUse.CELLS)
    for loss in (PrivacyLoss.pure("0.7"), PrivacyLoss.zcdp("0.02")):
        of = made(model, neighbours, budget=PrivacyLoss.zcdp(5) if loss.epsilon is None else PrivacyLoss.pure(5))
        plan = model.plan_query(query, loss, of.terms.adjacency)
        allotment = QuestionBudget.from_external_charge("noise", loss).pay("it", Fraction(1))
        released = np.array(model.run(plan, of.sites, allotment, Randomness.from_system()).values, dtype=float)
        # 2,000 records are spread over the cells: their part of the mean square is known
        exact = np.histogram(pooled(of.tables)["age"], 2**14, (0, 100))[0]
        noise = released[: 2**14] - exact
        assert noise.std() == pytest.approx(plan.error, rel=0.05)
        curators = dp.plan_question(dp.HistogramQuestion("age", AGE), loss, of.terms.adjacency)[0].error
        ours = of.federation.plan(dp.HistogramQuestion("age", AGE), loss)[0].error
        assert ours / curators == pytest.approx((5 / 3) ** 0.5, rel=0.006)


HONEST = [(m, c, a) for m in range(2, 6) for c in range(m) for a in range(c + 1)]


def losses(distribution: NDArray[np.float64], moved: int) -> float:
    usable = (distribution[moved:] > 1e-200) & (distribution[:-moved] > 1e-200)
    return float(np.abs(np.log(distribution[moved:][usable] / distribution[:-moved][usable])).max())


def summed(one: NDArray[np.float64], times: int) -> NDArray[np.float64]:
    found = np.ones(1)
    for _ in range(times):
        found = np.convolve(found, one)
    return found


def polya_difference(scale: float, shape: float, reach: int = 150) -> NDArray[np.float64]:
    r, distribution = exp(-1 / scale), [1.0]
    for k in range(reach):
        distribution.append(distribution[-1] * (shape + k) / (k + 1) * r)
    return np.asarray(np.convolve(distribution, distribution[::-1]) * (1 - r) ** (2 * shape))


@pytest.mark.parametrize(("m", "c", "absent"), HONEST)
def test_honest_shares_in_every_list_lose_no_more_than_promised(m: int, c: int, absent: int) -> None:
    """The least honest sum that a list may have: `max_dropouts` left out, the rest of the tolerated colluding."""
    try:
        model = SecureSum(m, c, absent)
    except ValueError:
        assert absent > 0  # so few sites could not do without them
        return
    least = m - absent - (c - absent)
    assert least == model.honest_sites
    query = CountQuery((Axis("age", dp.Grid(0, 4, cells=4)),), CountUse.CELLS)
    plan = model.plan_query(query, ONE, AddRemove(EACH_RECORD))
    noise = plan.distribution.levels[0].noise  # type: ignore[attr-defined]
    distribution = summed(polya_difference(float(noise.parameter), 1 / model.honest_sites), least)
    centre = len(distribution) // 2
    assert losses(distribution[centre - 30 : centre + 31], 1) == pytest.approx(1, abs=1e-9)
    plan = model.plan_query(query, PrivacyLoss.zcdp("0.1"), AddRemove(EACH_RECORD))
    noise = plan.distribution.levels[0].noise  # type: ignore[attr-defined]
    assert noise.family is Family.GAUSSIAN
    each = np.exp(-(np.arange(-60, 61) ** 2) / (2 * float(noise.parameter) / model.honest_sites))
    distribution = summed(each / each.sum(), least)
    here, there = distribution[1:], distribution[:-1]
    usable = (here > 1e-250) & (there > 1e-250)
    for order in (1.01, 1.5, 2.0, 4.0):
        moment = float(np.exp(order * np.log(here[usable]) + (1 - order) * np.log(there[usable])).sum())
        assert log(moment) / (order - 1) <= 0.1 * order + 1e-9


def test_leaving_out_all_that_are_tolerated_while_as_many_collude_would_break_the_promise() -> None:
    """Why `max_dropouts` counts: of five sites two collude and two "have failed"; a third of the noise is left."""
    distribution = summed(polya_difference(1.0, 1 / 3), 1)
    centre = len(distribution) // 2
    assert losses(distribution[centre - 30 : centre + 31], 1) > 1.7


def test_what_is_not_linear_is_refused_before_anything_is_charged() -> None:
    of = made(SecureSum(3, 1))
    claim = dp.VerifyQuestion(dp.NumericColumn("score", 0, 1), (dp.NumericColumn("age", 0, 100),), "age", above=0)
    cut = dp.CdfQuestion("age", AGE, method=dp.QuantilePartition(8))
    for question in (dp.SmoothAucQuestion("label", "score", model="public"), claim, cut):
        with pytest.raises(UnsupportedQuery, match="must be linear in the records"):
            of.federation.ask(question, ONE)
    with pytest.raises(UnsupportedQuery, match="sum of discrete Gaussians"):
        of.terms.model.plan_query(
            CountQuery((Axis("age", AGE),), CountUse.CELLS), PrivacyLoss.zcdp(5), of.terms.adjacency
        )
    assert all(ledger.balance("flights").spent.billionths == 0 for ledger in of.ledgers)


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("neighbours", Neighbours)
def test_bounds_are_read_off_noisy_counts_of_powers_of_two(neighbours: Neighbours) -> None:
    of = made(SecureSum(3, 1), neighbours)
    ages, scores = (np.abs(pooled(of.tables)[name]) for name in ("age", "score"))
    for unit, doublings in ((1.0, 64), (3.0, 6)):
        found = of.federation.ask(dp.BoundsQuestion("age", unit, "0.9", doublings), TEN * Fraction(1, 4))
        below, wider = (int((ages <= end).sum()) for end in (found.bound / 2, found.bound))
        asked = 0.9 * len(ages)
        assert below - found.alpha < asked <= wider + found.alpha
        assert not found.is_capped
        assert 0 < found.alpha < 60
        assert type(found).from_json(found.to_json()).to_json() == found.to_json()
        assert "secure sum" in found.privacy.trust
    few = dp.BoundsQuestion("age", 1.0, "0.9", 2)
    both = of.federation.ask(dp.PlaneBoundsQuestion(few, dp.BoundsQuestion("score", 0.1, 1)), ONE)
    assert both.x.is_capped
    assert both.y.bound >= scores.max() / 2
    plot = of.federation.ask(dp.ResidualPlotQuestion("score", "age", 0.1, 1.0, "0.9", model=dp.PUBLIC_MODEL), ONE)
    assert type(plot).from_json(plot.to_json()).to_json() == plot.to_json()
    assert {str(ledger.balance("flights").spent) for ledger in of.ledgers} == {"epsilon 7"}


@pytest.mark.reproduction
@pytest.mark.parametrize("neighbours", Neighbours)
def test_a_range_is_looked_for_turn_by_turn(neighbours: Neighbours) -> None:
    of = made(SecureSum(3, 1), neighbours)
    curve = of.federation.ask(dp.AutoRangeCdfQuestion("age"), TEN * Fraction(1, 4))
    ages = pooled(of.tables)["age"]
    assert len(curve.rounds) > 1
    assert curve.privacy.trust == str(SecureSum(3, 1))
    for age in (25, 45, 65):
        assert abs(curve.cdf(age) - (ages <= age).mean()) < 0.05
    mean = of.federation.ask(dp.AutoRangeMeanQuestion("age"), TEN * Fraction(1, 4))
    assert mean.lower < ages.mean() < mean.upper
    assert mean.mean == pytest.approx(ages.mean(), rel=0.1)


@pytest.mark.parametrize("family", Family)
def test_combined_noise_exceeds_its_bound_as_rarely_as_promised(family: Family) -> None:
    noises = [
        Noise(family, Fraction(9)).sum_over_parties(Fraction(5, 3)),
        Noise(family, Fraction(4)).sum_over_parties(Fraction(5, 3)),
    ]
    distribution = IntervalSums(1, 4, (Tier(range(0, 4, 2), noises[0]), Tier(range(4), noises[1])), noises[1])
    weights = np.array([[1, 0, 0, 0, 0, 0, 0], [0.3, -0.7, 1, 0.5, 0, 0, -2], [0, 0, 0, 0, 0, 0, 1]])
    drawn = weights @ distribution.simulate_values(400_000, np.random.default_rng(1)).T
    for chance in (0.01, 0.0005):
        bounds = distribution.bound_combined_noise(weights, chance)
        assert ((drawn > bounds[:, None]).mean(axis=1) <= chance).all()
        assert ((drawn > bounds[:, None] / 2).mean(axis=1) > chance).all()


def test_prefixes_that_go_on_are_of_the_sites_of_their_first_sum(tmp_path: Path) -> None:
    """Who was left out of the first is left out of all; were it let in, its blocks would be the difference."""
    of = made(SecureSum(5, 2, max_dropouts=1), ledgers=f"sqlite:///{tmp_path}/{{}}.db")
    everyone, budget = [0, 1, 2, 3, 4], QuestionBudget.from_external_charge("r", ONE)

    def asked(at: tuple[int, ...], sites: list[int]) -> list[int]:
        query = PrefixQuery((Axis("age", AGE),), at)
        plan, allotment = of.terms.plan_query(query, ONE), budget.pay(query.charged_query, Fraction(1))
        sent = list(stages(of, plan, allotment, sites))
        return list(
            build_release(plan, derive_round(of.terms.roster, plan, allotment), RoundMessages(*sent), allotment).values
        )

    first = asked((32, 64), everyone[:4])
    again = asked((16, 32), everyone[:4])
    assert first[0] == again[1]  # the same noise
    for at, others in ((48, everyone), (40, everyone[1:])):
        with pytest.raises(ProtocolError, match="must list the sites of earlier sums under this payment"):
            asked((16, at), others)
    assert {str(ledger.balance("flights").spent) for ledger in of.ledgers} == {"epsilon 1"}


def test_a_unit_at_several_sites_multiplies_the_distance() -> None:
    person = Unit("person", 2)
    one, three = (
        SecureSum(5, 1, sites_per_unit=k).build_adjacency(Neighbours.ADD_REMOVE, person, None) for k in (1, 3)
    )
    assert (one.l1_sensitivity, three.l1_sensitivity) == (2, 6)
    of = made(SecureSum(3, 1, sites_per_unit=2), unit=person)
    curve = of.federation.ask(dp.CdfQuestion("age", AGE), ONE)
    assert curve.privacy.protected_unit == "each person (at most 4 records)"
    assert "units at up to 2 sites" in curve.privacy.trust
    with pytest.raises(ValueError, match="must be 1 unless records belong to units"):
        SecureSum(5, 1, sites_per_unit=2).build_adjacency(Neighbours.ADD_REMOVE, EACH_RECORD, None)


def test_the_same_request_has_the_same_answer_and_is_charged_once(tmp_path: Path) -> None:
    of = made(SecureSum(3, 1), ledgers=f"sqlite:///{tmp_path}/{{}}.db")
    question = dp.CdfQuestion("age", AGE)
    first = of.federation.ask(question, ONE, "r")
    again = of.federation.ask(question, ONE, "r")
    assert again.to_json() == first.to_json()
    assert of.federation.ask(question, ONE, "s").to_json() != first.to_json()
    assert {str(ledger.balance("flights").spent) for ledger in of.ledgers} == {"epsilon 2"}


def test_a_site_without_budget_refuses_before_any_counts() -> None:
    of = made(SecureSum(3, 1), budget=PrivacyLoss.pure("1.5"))
    of.federation.ask(dp.HistogramQuestion("age", AGE), ONE)
    with pytest.raises(BudgetExceeded, match="site 0 has epsilon 0.5 left"):
        of.federation.ask(dp.HistogramQuestion("age", AGE), ONE)
    assert {str(ledger.balance("flights").spent) for ledger in of.ledgers} == {"epsilon 1"}


def stages(of: Made, plan: Plan, allotment: Allotment, sites: Sequence[int] | None = None) -> Iterator[list[bytes]]:
    present = of.sites if sites is None else [of.sites[number] for number in sites]
    given: list[bytes] = []
    for stage in (KEYS, SHARES, MASKED, SIGNED, OPENED):
        seen = [cut_receipt(derive_round(of.terms.roster, plan, allotment), one) for one in given]
        given = [site.answer(plan, allotment, stage, seen if stage == SIGNED else given) for site in present]
        yield given


def test_a_site_that_comes_back_sends_the_same_bytes_and_refuses_a_second_list(tmp_path: Path) -> None:
    of = made(SecureSum(4, 2, max_dropouts=1), ledgers=f"sqlite:///{tmp_path}/{{}}.db")
    plan = of.terms.model.plan_query(CountQuery((Axis("age", AGE),), CountUse.CELLS), ONE, of.terms.adjacency)
    allotment = QuestionBudget.from_external_charge("r", ONE).pay("it", Fraction(1))
    sent = list(stages(of, plan, allotment))
    released = build_release(plan, derive_round(of.terms.roster, plan, allotment), RoundMessages(*sent), allotment)
    signer = of.sites[1]._round_store._signer
    back = Site(of.terms, signer, {**of.tables[1], "age": of.tables[1]["age"] * 0}, of.ledgers[1], "flights")
    turn = derive_round(of.terms.roster, plan, allotment)
    for stage, given in ((KEYS, []), (SHARES, sent[0]), (MASKED, sent[1])):
        assert back.answer(plan, allotment, stage, given) == sent[stage - 1][1]
    receipts = [cut_receipt(turn, one) for one in sent[2]]
    assert back.answer(plan, allotment, SIGNED, receipts) == sent[3][1]
    for stage, fewer in ((SHARES, sent[0][:3]), (MASKED, sent[1][:3]), (SIGNED, receipts[:3])):
        with pytest.raises(ProtocolError, match="has answered this stage already, to other messages"):
            back.answer(plan, allotment, stage, fewer)
    assert released.plan == plan
    other = of.terms.model.plan_query(plan.query, PrivacyLoss.pure(2), of.terms.adjacency)
    with pytest.raises(ValueError, match="differs from this site's plan"):
        back.answer(other, allotment, KEYS, [])


@pytest.mark.parametrize("sites", [2, 3, 100])
@pytest.mark.parametrize("step", [1, 2**31, 2**70])
def test_sums_that_are_cut_off_move_no_further_and_their_total_never_wraps(sites: int, step: int) -> None:
    """Around both ends, around 0 and far outside: what a record of weight `step` adds, and what all sites have."""
    room = LARGEST_SUM // sites
    around = [end + near for end in (-room, 0, room, 10**30, -(10**30)) for near in range(-3, 4)]
    before = np.array(around, dtype=object)
    cut, moved = clip_to_ring(before, sites), clip_to_ring(before + step, sites)
    assert np.all(np.abs(moved - cut) <= step)
    assert max(int(np.abs(cut).max()), int(np.abs(moved).max())) * sites <= LARGEST_SUM <= 2**63 - LARGEST_SUM
    inside = np.abs(before) <= room
    assert np.array_equal(cut[inside], before[inside].astype(np.int64))


def test_sites_whose_stores_cannot_be_written_repeat_their_answers_and_charge_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    of = made(SecureSum(3, 1, 0), ledgers=f"sqlite:///{tmp_path}/{{}}.db")
    question = dp.HistogramQuestion("age", dp.Grid(0, 100, cells=4))
    first = of.federation.ask(question, ONE, "r")
    assert [site.find_write_trouble() for site in of.sites] == [""] * 3
    spent = [ledger.balance("flights").spent for ledger in of.ledgers]

    def refuse_write(self: Database, work: object) -> None:
        raise InvalidArgument("ledger", "'0.db': the disk is full and nothing was written")

    monkeypatch.setattr(Database, "run_write", refuse_write)
    again = [
        Site(
            of.terms, site._round_store._signer, table, Ledger.open_existing(f"sqlite:///{tmp_path}/{n}.db"), "flights"
        )
        for n, (site, table) in enumerate(zip(of.sites, of.tables, strict=True))
    ]
    assert Federation.from_sites(of.terms, again).ask(question, ONE, "r").to_json() == first.to_json()
    with pytest.raises(InvalidArgument, match="the disk is full"):
        Federation.from_sites(of.terms, again).ask(question, ONE, "another")
    assert [ledger.balance("flights").spent for ledger in of.ledgers] == spent
    assert ["the disk is full" in site.find_write_trouble() for site in again] == [True] * 3
    line = redact_refusal(InvalidArgument("ledger", "'/var/lib/airline/0.db': the disk is full"))[1]
    assert line == "ledger: cannot be used at this site now; repeat the request later, which is charged once"
