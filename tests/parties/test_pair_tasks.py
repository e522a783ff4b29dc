"""The task of pairs: one public document for people and for two servers, and a seed that is kept until closing."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.conversation import UnsupportedQuery
from dpcurves_parties.pairs import OwnChoice, PairTask, Permutations, Trust, WithoutRepetition
from dpcurves_parties.pairs.mechanisms import KERNELS, NoisePlacement, Unsigned
from dpcurves_parties.pairs.queries import commit_to_seed
from dpcurves_parties.pairs.task import describe_guarantee, read_seed, read_values, write_seed
from dpcurves_parties.serving.identity import Identity, Server
from dpcurves_parties.serving.task_document import Role, Ticket, create_task

SEED = bytes(range(32))
TOKENS: dict[Role, tuple[str, ...]] = {Role.OWNER: ("a", "b", "c", "d"), Role.ANALYST: (), Role.COORDINATOR: ()}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Server, Server]:
    folder = tmp_path_factory.mktemp("servers")
    made = [Identity.create(folder / str(port), f"https://127.0.0.1:{port}").public for port in (8701, 8702)]
    return made[0], made[1]


def draft(known_servers: tuple[Server, ...], **facts: Any) -> PairTask:
    known: dict[str, Any] = {
        "name": "ratings", "kernel_name": "kendall", "columns": (("rooms", 3), ("cleanliness", 3)),
        "pairing": Permutations(2), "loss": dp.PrivacyLoss.pure(1), "trust": Trust.PEOPLE, "noise": NoisePlacement.EACH,
        "commitment": commit_to_seed(SEED), "servers": known_servers[:1], "tokens": TOKENS,
    }  # fmt: skip
    return PairTask(**(known | facts))


@pytest.mark.parametrize("pairing", [Permutations(3), WithoutRepetition(1), OwnChoice(2)], ids=str)
@pytest.mark.parametrize("noise", NoisePlacement, ids=lambda noise: noise.name)
def test_a_task_is_its_document(servers: tuple[Server, Server], pairing: Any, noise: NoisePlacement) -> None:
    facts: dict[str, Any] = {"pairing": pairing, "loss": dp.PrivacyLoss.pure(Fraction(1, 3))}
    task = draft(servers, trust=Trust.TWO_SERVERS, servers=servers, noise=noise, reports_per_owner=7, **facts)
    again = PairTask.from_json(task.to_json() + "\n")
    assert (again, again.hash) == (task, task.hash)
    assert again.people == 28
    assert again.kernel.form.columns == (("rooms", 3), ("cleanliness", 3))


def test_people_agree_on_the_document_and_meet_once_the_seed_is_shown(servers: tuple[Server, Server]) -> None:
    task, other = draft(servers), draft(servers, name="others")
    assert task.terms.task_hash != other.terms.task_hash
    agreed = task.build_agreement(SEED)
    assert len(agreed.meetings) == 4
    assert (agreed.max_meetings, agreed.value_count, agreed.task_hash) == (2, 2, task.terms.task_hash)
    with pytest.raises(ValueError, match="^seed: must match the published commitment"):
        task.build_agreement(SEED[::-1])
    assert any("even if the partner and the aggregator collude" in line for line in describe_guarantee(task))


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        ({"kernel_name": "spearman"}, "^kernel: must be one of gini, kendall, auc, collision, got 'spearman'$"),
        ({"columns": (("rooms", 3),)}, "^columns: must be 2 names"),
        ({"columns": (("rooms", 3), ("rooms", 3))}, "^columns: must have different names; rename a column$"),
        (
            {"columns": (("rooms", 3), ("cleanliness", 49))},
            r"^bits: must be from 1 to 48 bits, as in Unsigned\(16\), ",
        ),
        (
            {"loss": dp.PrivacyLoss.zcdp(1)},
            r"must be an epsilon, as in PrivacyLoss.pure\(1\), because the noise of pairs is pure$",
        ),
        ({"noise": NoisePlacement.ON_SUM}, "^trust: must be two-servers for noise on the sum"),
        ({"reports_per_owner": 2}, "^trust: must be two-servers for noise on the sum"),
        ({"trust": Trust.TWO_SERVERS}, "^servers: must be 2 for trust two-servers, got 1$"),
        ({"commitment": "0x"}, "^commitment: must have 64 hexadecimal digits; "),
    ],
    ids=range(9),
)
def test_what_can_not_be_asked_is_refused_in_one_line(
    servers: tuple[Server, Server], facts: dict[str, Any], line: str
) -> None:
    with pytest.raises((ValueError, UnsupportedQuery), match=line):
        draft(servers, **facts)


def test_two_servers_are_two_different_ones(servers: tuple[Server, Server]) -> None:
    with pytest.raises(ValueError, match="^servers: must be two different servers"):
        draft(servers, trust=Trust.TWO_SERVERS, servers=(servers[0], servers[0]))


def test_a_document_that_was_changed_is_refused(servers: tuple[Server, Server]) -> None:
    text = draft(servers).to_json()
    changes: dict[str, Any] = {
        "name": 7, "kernel": {}, "version": 1, "dpcurves": "task", "unit": "one report", "more": 1, "noise": "none",
        "trust": "nobody", "loss": {}, "pairing": {"scheme": "permutations", "each": "2"}, "columns": [["a"]],
    }  # fmt: skip
    for name, value in changes.items():
        with pytest.raises((ValueError, TypeError)):
            PairTask.from_json(json.dumps(json.loads(text) | {name: value}, indent=1, sort_keys=True))
    stored = json.loads(text)
    stored["kernel"]["circuit"] = "0" * 64
    with pytest.raises(ValueError, match="^task: this version of dpcurves has another circuit for the kernel"):
        PairTask.from_json(json.dumps(stored, indent=1, sort_keys=True))


def test_the_seed_lies_beside_the_ticket_of_the_coordinator(servers: tuple[Server, Server], tmp_path: Path) -> None:
    numbers = {Role.OWNER: 3, Role.ANALYST: 1, Role.COORDINATOR: 1}
    task = create_task(draft(servers), numbers, tmp_path / "task.json", tmp_path / "tickets")
    assert PairTask.load(tmp_path / "task.json") == task
    assert task.people == 3
    ticket = tmp_path / "tickets" / "coordinator-1"
    assert Ticket.load(ticket, Role.COORDINATOR).task == task.hash
    path = write_seed(ticket, SEED)
    assert path.stat().st_mode & 0o077 == 0
    assert read_seed(ticket, task) == SEED
    assert SEED.hex() not in (tmp_path / "task.json").read_text()
    for octets in (SEED[:-1], SEED[::-1]):
        path.write_text(octets.hex())
        with pytest.raises(ValueError, match="does not hold the seed of this task") as error:
            read_seed(ticket, task)
        assert octets.hex() not in str(error.value)
    with pytest.raises(ValueError, match="^seed: .* cannot be read"):
        read_seed(tmp_path / "tickets" / "owner-1", task)


def test_a_filter_of_a_task_is_evaluated_by_owners_and_public(servers: tuple[Server, Server]) -> None:
    """At epsilon 60 there is hardly any noise: the mean of all pairs, of which those that do not pass count 0."""
    facts: dict[str, Any] = {
        "columns": (("rooms * 1", 3), ("cleanliness", 3)), "trust": Trust.TWO_SERVERS, "servers": servers,
        "reports_per_owner": 4,
    }  # fmt: skip
    task, unfiltered = (draft(servers, where=where, **facts) for where in ("sex = 'F' and rooms > 1", ""))
    again = PairTask.from_json(task.to_json())
    assert (again, again.where) == (task, "sex = 'F' AND rooms > 1")
    assert (task.hash == unfiltered.hash, "where" in unfiltered.to_json()) == (False, False)
    assert any("of people who both meet sex = 'F' AND rooms > 1" in line for line in describe_guarantee(task))
    assert task.encoding.size == 1
    table = {"rooms": [1.0, 2.0, np.nan, 9.0], "cleanliness": [0, 7, 1, 1000], "sex": ["F", "F", "F", "M"]}
    assert read_values(task, table).tolist() == [[0, 0, 0], [2, 7, 1], [0, 0, 0], [0, 0, 0]]
    with pytest.raises(ValueError, match="^where: there is no column 'sex'; columns: rooms") as refused:
        read_values(task, {name: column for name, column in table.items() if name != "sex"})
    assert "\n" not in str(refused.value)

    drawn = np.random.default_rng(1)
    people = {"rooms": drawn.integers(0, 8, 400), "cleanliness": drawn.integers(0, 8, 400)}
    passes = (people["rooms"] > 1) & (np.arange(400) % 3 > 0)
    kernel = KERNELS["kendall"].with_columns(rooms=Unsigned(3), cleanliness=Unsigned(3)).with_filter("rooms > 1 AND p")
    table = {**people, "p": np.arange(400) % 3 > 0}
    on_sum: Any = {"noise": NoisePlacement.ON_SUM, "loss": dp.PrivacyLoss.pure(60)}
    plan = dp.pairs.plan(kernel, people=400, pairs_per_person=64, **on_sum)
    found = dp.pairs.simulate(kernel, table, plan, randomness=dp.Randomness.from_seed(3), seed=SEED)
    one, other = np.triu_indices(400, 1)
    signs = np.prod([np.sign(column[one] - column[other]) for column in people.values()], axis=0)
    both = passes[one] & passes[other]
    low, high = found.interval(0.9999)
    assert low < (signs * both).mean() < high
    assert found.privacy.where == "rooms > 1 AND p"
    among = dp.pairs.estimate_among_passing(found, 400, int(passes.sum()))
    low, high = among.interval(0.9999)
    assert low < signs[both].mean() < high < low + 0.3
    for people_count, passing, rule in ((400, 1, "^passing: "), (400, 401, "^passing: ")):
        with pytest.raises(ValueError, match=rule):
            dp.pairs.estimate_among_passing(found, people_count, passing)
    with pytest.raises(ValueError, match="^where: the kernel has a filter; join both"):
        kernel.with_filter("rooms < 3")
    with pytest.raises(ValueError, match="^where: "):
        draft(servers, where="rooms > random()")
