"""What people may do at the gate, and what is remembered of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace

import pytest
from fastapi import Request
from scene import HISTOGRAM, LOSS, PASSWORD, WORK, Scene, made
from sqlalchemy import select

from dpcurves.curves.question_json import question_from_json, question_to_json
from dpcurves.data import Categories
from dpcurves.data.axis import Predictor
from dpcurves.models import Link, NumericColumn, Power, Scorecard, Term, predictor_from_json
from dpcurves.privacy import PrivacyLoss
from dpcurves_parties.serving.messages import ProtocolError
from dpcurves_server import MACHINE, Role, Services, people
from dpcurves_server.authentication import client_address
from dpcurves_server.datasets import Datasets
from dpcurves_server.people import PasswordHasherPool
from dpcurves_server.questions import State
from dpcurves_server.tables import PEOPLE


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return made(tmp_path_factory.mktemp("gate"))


def test_the_same_question_of_one_project_is_one_question_whoever_asks(scene: Scene) -> None:
    first = scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS)
    spelled = question_to_json(question_from_json(HISTOGRAM))
    assert scene.gate.questions.ask(scene.bob, "delays", spelled, LOSS) == first
    assert (first.state, first.person) == (State.QUEUED, "ann")
    assert scene.gate.questions.ask(scene.bob, "delays", HISTOGRAM, PrivacyLoss.pure("0.5")).id != first.id


def test_a_plan_says_what_is_left_and_charges_nothing(scene: Scene) -> None:
    planned = scene.gate.questions.plan(scene.bob, "delays", HISTOGRAM, PrivacyLoss.pure("0.125"))
    assert planned.remaining is not None
    assert (planned.price, planned.remaining.remaining.digits, planned.is_affordable) == ("0.125", "1", True)
    dear = scene.gate.questions.plan(scene.bob, "delays", HISTOGRAM, PrivacyLoss.pure("1.5"))
    assert not dear.is_affordable
    assert scene.gate.datasets.balance(scene.stu, "flights").spent.billionths == 0


def test_a_column_that_is_not_declared_is_refused_before_it_is_paid(scene: Scene) -> None:
    with pytest.raises(ValueError, match="declares no column 'name'"):
        scene.gate.questions.plan(scene.ann, "delays", {**HISTOGRAM, "column": "name"}, LOSS)


def test_numbers_of_a_column_that_is_declared_to_hold_names_are_refused_before_they_are_paid(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = scene.gate.datasets.get(scene.ann, "flights")
    for values, refused in ((("early", "late"), True), ((0, 1), False)):
        declared = replace(dataset, columns=(Categories("delay", values), *dataset.columns[1:]))
        monkeypatch.setattr(Datasets, "get", lambda *_, found=declared: found)
        for ask in ("cdf", "histogram"):
            with pytest.raises(ValueError, match="'delay' is declared with categories") if refused else nullcontext():
                scene.gate.questions.plan(scene.ann, "delays", {**HISTOGRAM, "ask": ask}, LOSS)


def by(*categories: object) -> dict[str, object]:
    return {**HISTOGRAM, "by": {"column": "late", "categories": list(categories)}}


def test_a_category_that_is_not_declared_is_refused_before_it_is_paid(scene: Scene) -> None:
    for categories in (("=1+1", 0), (0, 2)):
        with pytest.raises(ValueError, match="^categories: 'late' declares no category"):
            scene.gate.questions.plan(scene.ann, "delays", by(*categories), LOSS)
    table = {"ask": "contingency", "rows": {"column": "delay", "categories": [0, 1000]}, "columns": by(0, 1)["by"]}
    with pytest.raises(ValueError, match="'delay' declares no category 1000"):
        scene.gate.questions.plan(scene.ann, "delays", table, LOSS)
    for same in ((0, 1), (False, True), ("0", "1"), (1,)):
        assert scene.gate.questions.plan(scene.ann, "delays", by(*same), LOSS).plans


def test_a_project_has_one_model_of_a_name_and_reads_no_other(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def card(name: str, factor: float) -> str:
        term = Term(factor, (Power("delay"),))
        return Scorecard(name, 0.0, (NumericColumn("delay", -60, 600),), (term,), Link.LOGIT).to_json()

    first = scene.gate.models.add(scene.ann, "delays", card("one", 0.1))
    scene.gate.models.add(scene.ann, "delays", card("two", 0.1))
    with pytest.raises(ProtocolError, match="another model of this name"):
        scene.gate.models.add(scene.bob, "delays", card("one", 0.2))
    assert scene.gate.models.add(scene.bob, "delays", card("one", 0.1)) == first
    read: list[str] = []

    def noted(text: str) -> Predictor:
        read.append(text)
        return predictor_from_json(text)

    monkeypatch.setattr("dpcurves_server.releases.predictor_from_json", noted)
    named = scene.gate.models.index_by_name(scene.ann, "delays")
    assert (set(named.names), named.get("there is none")) == ({"one", "two"}, None)
    assert named["one"].digest == first.digest
    assert read == [first.text]


def test_nobody_is_operator_and_steward_in_one_account(scene: Scene) -> None:
    with pytest.raises(ProtocolError, match="both operator and steward"):
        scene.gate.people.give_role(MACHINE, "stu", Role.OPERATOR)
    with pytest.raises(ProtocolError, match="both operator and steward"):
        scene.gate.people.give_role(MACHINE, "oda", Role.STEWARD, "flights")


def test_what_is_not_theirs_looks_as_if_it_were_not_there(scene: Scene) -> None:
    eve, said = scene.principal("eve"), []
    for project in ("delays", "there is none"):
        with pytest.raises(ProtocolError) as error:
            scene.gate.questions.plan(eve, project, HISTOGRAM, LOSS)
        said.append((str(error.value), error.value.status))
    assert said[0] == said[1]


def test_a_wrong_name_and_a_wrong_password_have_the_same_words(scene: Scene) -> None:
    said = set()
    for name, password in (("ann", "wrong"), ("nobody", PASSWORD)):
        with pytest.raises(ProtocolError) as error:
            scene.gate.sessions.sign_in(name, password, "here")
        said.add((str(error.value), error.value.status))
    assert len(said) == 1


def test_a_name_that_nobody_has_costs_the_same_work_as_one_that_somebody_has(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it takes as long: each compares one password with one hash of the same memory and the same passes."""
    compared: list[str] = []
    compare = PasswordHasherPool._verify_hash

    def noted(passwords: PasswordHasherPool, hashed: str, password: str) -> bool:
        compared.append(hashed.rpartition("$")[0].rpartition("$")[0])
        return compare(passwords, hashed, password)

    monkeypatch.setattr(PasswordHasherPool, "_verify_hash", noted)
    scene.gate.people.lock(scene.principal("oda"), "eve")
    for name in ("ann", "nobody", "eve"):
        with pytest.raises(ProtocolError, match="wrong name or password"):
            scene.gate.sessions.sign_in(name, "guess", "elsewhere")
    scene.gate.people.unlock(scene.principal("oda"), "eve")
    assert compared == [f"$argon2id$v=19$m={people.MEMORY_KIBIBYTES},t={people.HASH_PASSES},p=1"] * 3
    assert WORK == (19 * 1024, 2)  # elsewhere than in tests


def test_who_tries_too_often_waits_and_keeps_nobody_else_from_the_account(scene: Scene) -> None:
    for _ in range(6):
        with pytest.raises(ProtocolError):
            scene.gate.sessions.sign_in("bob", "guess", "far away")
    with pytest.raises(ProtocolError, match="too many failed attempts"):
        scene.gate.sessions.sign_in("bob", PASSWORD, "far away")
    assert scene.gate.sessions.sign_in("bob", PASSWORD, "at home").principal.name == "bob"


def test_a_locked_account_loses_its_sessions_and_tokens_at_once(scene: Scene) -> None:
    session = scene.gate.sessions.begin_session("bob")
    token = scene.gate.tokens.make(session.principal, "delays", "notebook", 1)
    assert scene.gate.sessions.find(session.cookie) is not None
    assert scene.gate.tokens.find(token) is not None
    scene.gate.people.lock(scene.principal("oda"), "bob")
    assert scene.gate.sessions.find(session.cookie) is None
    assert scene.gate.tokens.find(token) is None
    scene.gate.people.unlock(scene.principal("oda"), "bob")
    assert scene.gate.sessions.find(session.cookie) is None


def test_a_token_speaks_for_one_project_and_makes_no_other(scene: Scene) -> None:
    token = scene.gate.tokens.make(scene.ann, "delays", "notebook", 1)
    principal = scene.gate.tokens.find(token)
    assert principal is not None
    assert (principal.name, principal.projects, principal.uses_token) == ("ann", frozenset({"delays"}), True)
    with pytest.raises(ProtocolError):
        scene.gate.tokens.make(principal, "delays", "another", 1)


def test_a_session_that_was_signed_out_is_none(scene: Scene) -> None:
    session = scene.gate.sessions.begin_session("ann")
    scene.gate.sessions.sign_out(session.cookie)
    assert scene.gate.sessions.find(session.cookie) is None
    assert scene.gate.sessions.find("") is None


def test_secrets_are_kept_as_hashes_alone(scene: Scene) -> None:
    session = scene.gate.sessions.begin_session("ann")
    token = scene.gate.tokens.make(session.principal, "delays", "notebook", 1)
    stored = b"".join(file.read_bytes() for file in scene.folder.glob("server.db*"))
    assert session.csrf.encode() in stored  # what is looked for would be found
    for secret in (session.cookie, token, PASSWORD):
        assert secret.encode() not in stored


def test_the_log_names_who_did_what_and_is_verified(scene: Scene) -> None:
    aud = scene.principal("aud")
    done = {(each.event.actor, each.event.action) for each in scene.gate.audit.events(aud)}
    assert {("stu", "made project"), ("ann", "signed in"), ("ann", "asked")} <= done
    assert scene.gate.audit.verify(aud).entries > len(done)
    assert all(each.event.dataset == "flights" for each in scene.gate.audit.events(scene.stu, dataset="flights"))


def test_an_operator_gets_no_role_that_sees_data_and_no_password_of_those_who_have_one(tmp_path: Path) -> None:
    scene = made(tmp_path)
    oda, people = scene.principal("oda"), scene.gate.people
    people.add(oda, "second", PASSWORD)
    for name in ("oda", "second"):
        for role, dataset in ((Role.STEWARD, "flights"), (Role.AUDITOR, "")):
            for change in (people.give_role, people.remove_role):
                with pytest.raises(ProtocolError, match="appoint stewards and auditors"):
                    change(oda, name, role, dataset)
    for keeper in ("stu", "aud"):
        with pytest.raises(ProtocolError, match="appoint stewards and auditors"):
            people.set_password(oda, keeper, "a password of mine")
        people.set_password(scene.principal(keeper), keeper, "a password of their own", PASSWORD)
        people.set_password(MACHINE, keeper, PASSWORD)
    with pytest.raises(ProtocolError, match="both operator and auditor"):
        people.give_role(MACHINE, "oda", Role.AUDITOR)
    assert scene.principal("second").roles == ()


def test_what_an_operator_still_can_do_stands_in_the_log(tmp_path: Path) -> None:
    scene = made(tmp_path)
    scene.gate.people.set_password(scene.principal("oda"), "ann", "a password of mine")
    scene.gate.people.give_role(scene.principal("oda"), "eve", Role.OPERATOR)
    done = {(one.event.actor, one.event.action, one.event.subject) for one in scene.gate.audit.events(MACHINE)}
    assert {("oda", "gave a new password to", "ann"), ("oda", "gave role operator", "eve")} <= done


def test_of_forty_guesses_at_the_same_time_five_are_looked_at(scene: Scene) -> None:
    begun, said, looked_at, fits = Barrier(40), [], [], PasswordHasherPool.verify_password

    def look(passwords: PasswordHasherPool, hashed: str | None, password: str) -> bool:
        looked_at.append(password)
        return fits(passwords, hashed, password)

    def guess(_: int) -> None:
        begun.wait()
        with pytest.raises(ProtocolError) as error:
            scene.gate.sessions.sign_in("eve", "guess", "everywhere")
        said.append(error.value.status)

    with ThreadPoolExecutor(40) as pool, pytest.MonkeyPatch.context() as patch:
        patch.setattr(PasswordHasherPool, "verify_password", look)
        patch.setattr("dpcurves_server.people.time", SimpleNamespace(monotonic=lambda: 0.0))
        list(pool.map(guess, range(40)))
    assert (len(looked_at), said.count(403), said.count(429)) == (5, 5, 35)


def test_a_right_password_takes_the_tries_before_it_back(scene: Scene) -> None:
    for password in ("guess", "guess", "guess", "guess", PASSWORD) * 2:
        with suppress(ProtocolError):
            signed = scene.gate.sessions.sign_in("eve", password, "at work")
    assert signed.principal.name == "eve"


def test_a_share_and_who_set_it_are_written_together_or_not_at_all(tmp_path: Path) -> None:
    scene = made(tmp_path)
    before = scene.gate.projects.remaining(scene.bob, "delays")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpcurves.ledger.verification.enter_event", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            scene.gate.projects.set_allowance(scene.stu, "delays", PrivacyLoss.pure("0.5"), "bob")
    assert scene.gate.projects.remaining(scene.bob, "delays") == before
    scene.gate.projects.set_allowance(scene.stu, "delays", PrivacyLoss.pure("0.5"), "bob")
    last = scene.gate.audit.events(scene.stu, dataset="flights")[-1].event
    assert (last.actor, last.subject) == ("stu", "bob: delays")
    assert last.action.startswith("set allowance to")


def test_who_has_no_share_asks_nothing_and_enters_nothing(tmp_path: Path) -> None:
    scene = made(tmp_path)
    scene.gate.projects.add_member(scene.stu, "delays", "eve")
    eve, entries = scene.principal("eve"), len(scene.gate.audit.events(MACHINE))
    with pytest.raises(ProtocolError, match="you have no allowance in this project yet"):
        scene.gate.questions.ask(eve, "delays", HISTOGRAM, LOSS)
    assert len(scene.gate.audit.events(MACHINE)) == entries


def test_so_many_questions_of_a_project_wait_and_no_more(tmp_path: Path) -> None:
    scene = made(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpcurves_server.projects.MOST_OPEN", 1)
        first = scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS)
        with pytest.raises(ProtocolError, match="at most 1 questions of a project may wait"):
            scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, PrivacyLoss.pure("0.5"))
        assert scene.gate.questions.ask(scene.bob, "delays", HISTOGRAM, LOSS) == first


def test_a_question_is_told_how_many_of_its_project_wait_before_it(tmp_path: Path) -> None:
    scene = made(tmp_path)
    losses = [PrivacyLoss.pure(text) for text in ("0.1", "0.2", "0.3")]
    asked = [scene.gate.questions.ask(scene.ann, "delays", HISTOGRAM, loss) for loss in losses]
    assert [scene.gate.questions.count_before(scene.ann, each) for each in asked] == [0, 1, 2]
    with pytest.raises(ProtocolError):
        scene.gate.questions.count_before(scene.principal("eve"), asked[0])


@pytest.mark.parametrize(
    ("host", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"), ("::ffff:192.0.2.7", "192.0.2.7"), ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::2", "2001:db8::/64"), ("2001:db8:0:1::", "2001:db8:0:1::/64"), ("::1", "::/64"),
        ("2001:db8::1:0:0:1", "2001:db8::/64"), ("fe80::1%eth0", "fe80::/64"), ("testclient", "testclient"), ("", ""),
    ],
    ids=range(10),
)  # fmt: skip
def test_of_addresses_of_version_6_the_network_is_counted(host: str, counted: str) -> None:
    assert client_address(Request({"type": "http", "client": (host, 1), "headers": []})) == counted


def guess(scene: Scene, name: str, number: int, password: str = "guess") -> str:
    """The refusal of a wrong password from an address of its own."""
    with pytest.raises(ProtocolError) as refused:
        scene.gate.sessions.sign_in(name, password, f"address {number}")
    return str(refused.value)


@pytest.mark.parametrize("name", ["ann", "no such person"])
def test_guesses_for_a_name_from_many_addresses_are_bounded_whether_it_exists_or_not(scene: Scene, name: str) -> None:
    if name == "ann":
        scene.gate.sessions.sign_in(name, PASSWORD, "at home")
    refusals = [guess(scene, name, number) for number in range(60)]
    tried = [line for line in refusals if "wrong name or password" in line]
    assert people.FREE_TRIES_OF_NAME <= len(tried) <= people.FREE_TRIES_OF_NAME + 2
    assert "too many failed attempts; try again in " in refusals[-1]
    if name == "ann":  # strangers do not lock her out where she is known, nor anybody else
        assert scene.gate.sessions.sign_in(name, PASSWORD, "at home").principal.name == name
    assert scene.gate.sessions.sign_in("bob", PASSWORD, "elsewhere").principal.name == "bob"


def test_of_300_guesses_at_the_same_time_from_300_addresses_a_name_has_its_free_tries(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The person signs in meanwhile from where she is known, and no guess is logged with what was typed."""
    sessions = scene.gate.sessions
    sessions.sign_in("ann", PASSWORD, "at home")
    monkeypatch.setattr(sessions, "_patience_of_names", people.SignInThrottle(people.FREE_TRIES_OF_NAME))
    monkeypatch.setattr("dpcurves_server.people.time", SimpleNamespace(monotonic=lambda: 0.0, time=lambda: 0.0))
    with ThreadPoolExecutor(30) as pool:
        refusals = pool.map(lambda number: guess(scene, "ann", number, f"secret {number}"), range(300))
        assert scene.gate.sessions.sign_in("ann", PASSWORD, "at home").principal.name == "ann"
        lines = list(refusals)
    assert sum("wrong name or password" in line for line in lines) == people.FREE_TRIES_OF_NAME
    assert sum("too many failed attempts" in line for line in lines) == 300 - people.FREE_TRIES_OF_NAME
    assert "secret" not in repr([entry.event for entry in scene.gate.audit.events(MACHINE)])


def test_a_flood_of_other_names_gives_no_further_guesses_and_takes_bounded_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("dpcurves_server.people.time", SimpleNamespace(monotonic=lambda: clock.now))
    throttle = people.SignInThrottle(people.FREE_TRIES_OF_NAME)

    def count_tries(name: str) -> int:
        """The number of guesses until the name must wait."""
        for tries in range(100):
            try:
                throttle.count_attempt(name)
            except ProtocolError:
                return tries
        raise AssertionError("no guess was refused")

    assert count_tries("ann") == people.FREE_TRIES_OF_NAME
    for number in range(2 * people.THROTTLED_CLIENTS):
        # a name that shares a counter with ann waits, too
        with suppress(ProtocolError):
            throttle.count_attempt(f"name {number}")
    assert count_tries("ann") == 0
    assert len(throttle._failures) <= people.THROTTLED_CLIENTS
    clock.now += 2 + people.HALVING_SECONDS  # 2: seconds of the first wait
    assert 0 < count_tries("ann") <= people.FREE_TRIES_OF_NAME // 2
    throttle.reset("ann")
    assert count_tries("ann") == people.FREE_TRIES_OF_NAME


def test_failed_sign_ins_are_logged_without_what_was_typed_and_a_flood_does_not_fill_the_log(scene: Scene) -> None:
    scene.gate.sessions._failures = people.FailureLog(scene.gate.archive)  # its lines of this minute are not spent
    before = int(scene.gate.archive.ledger.head().partition("-")[0])  # entries so far
    guess(scene, "aud", 1, PASSWORD[:-1])
    guess(scene, PASSWORD, 2)
    events = [entry.event for entry in scene.gate.audit.events(MACHINE, before)]
    assert [(event.actor, event.action) for event in events] == [
        ("aud", "failed to sign in"), (people.UNKNOWN_NAME, "failed to sign in"),
    ]  # fmt: skip
    assert PASSWORD not in repr(events)
    for number in range(people.LOGGED_PER_MINUTE + 20):
        guess(scene, f"name {number}", number)
    assert len(scene.gate.audit.events(MACHINE, before)) <= 2 * people.LOGGED_PER_MINUTE


def test_a_new_password_needs_the_old_one_and_guesses_of_it_wait(scene: Scene) -> None:
    ann, new = scene.ann, "another good password"
    for _ in range(people.FREE_TRIES):
        with pytest.raises(ProtocolError, match="old password: wrong"):
            scene.gate.people.set_password(ann, "ann", new, "guess")
    with pytest.raises(ProtocolError, match="too many failed attempts"):
        scene.gate.people.set_password(ann, "ann", new, PASSWORD)
    bob = scene.bob
    scene.gate.people.set_password(bob, "bob", new, PASSWORD)
    assert scene.gate.sessions.sign_in("bob", new, "here").principal.name == "bob"


def test_a_sign_in_renews_a_hash_of_other_settings_and_ends_no_session(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stored() -> str:
        query = select(PEOPLE.c.password).where(PEOPLE.c.name == "oda")
        return str(scene.gate.archive.read_snapshot(lambda connection: connection.execute(query).scalar_one()))

    signed = scene.gate.sessions.sign_in("oda", PASSWORD, "here")
    before = stored()
    monkeypatch.setattr(people, "MEMORY_KIBIBYTES", 2 * people.MEMORY_KIBIBYTES)
    other = Services(scene.url)
    assert other.sessions.sign_in("oda", PASSWORD, "here").principal.name == "oda"
    assert f"m={people.MEMORY_KIBIBYTES}," in stored() != before
    assert other.sessions.sign_in("oda", PASSWORD, "here").principal.name == "oda"
    assert other.sessions.find(signed.cookie) is not None
