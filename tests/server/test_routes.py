"""Who gets through which route, and what stands before all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from asgi import HOST, Heard, asked
from scene import COLUMNS, HISTOGRAM, LOSS, PASSWORD, ROWS, Scene, made

from dpcurves.ledger import Account
from dpcurves.models import Link, NumericColumn, Power, Scorecard, Term
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss
from dpcurves_parties.serving import task_app
from dpcurves_server import MACHINE, Role
from dpcurves_server.api import ERRORS, PREFIX, ROUTER
from dpcurves_server.authentication import COOKIE, CSRF_HEADER, Authenticator
from dpcurves_server.datasets import Relation, Source
from dpcurves_server.launch import create_app
from dpcurves_server.middleware import LARGEST_REQUEST
from dpcurves_server.people import RateLimiter
from dpcurves_server.queue import Queue
from dpcurves_server.worker import Worker

ASKED = {"question": HISTOGRAM, "epsilon": "0.25"}
MODEL = Scorecard("late", -1.0, (NumericColumn("delay", -60, 600),), (Term(0.1, (Power("delay"),)),), Link.LOGIT)
ALL, DATA = {"ann", "stu", "sue", "aud", "oda", "eve"}, {"ann", "stu", "sue", "aud"}
INSIDE: Mapping[str, set[str]] = {
    "GET /me": ALL,
    "GET /datasets": DATA,
    "GET /datasets/{dataset}": DATA,
    "GET /datasets/{dataset}/releases": DATA,
    "GET /datasets/{dataset}/views": DATA,
    "GET /datasets/{dataset}/questions": {"stu", "aud"},
    "GET /datasets/{dataset}/statement": {"stu", "aud"},
    "GET /projects": ALL,
    "GET /projects/{project}": {"ann", "stu", "aud"},
    "GET /projects/{project}/statement": {"ann"},
    "POST /projects/{project}/plan": {"ann"},
    "POST /projects/{project}/questions": {"ann"},
    "GET /projects/{project}/questions": {"ann", "stu", "aud"},
    "GET /questions/{id}": {"ann", "stu", "aud"},
    "GET /projects/{project}/releases": {"ann", "stu", "aud"},
    "GET /releases/{name}": {"ann", "stu", "aud"},
    "POST /releases/{id}/publish": {"stu"},
    "GET /projects/{project}/models": {"ann", "stu", "aud"},
    "POST /projects/{project}/models": {"ann"},
    "GET /projects/{project}/models/{digest}": {"ann", "stu", "aud"},
    "GET /audit": {"aud"},
    "POST /audit/verify": {"aud"},
    "GET /health": ALL | {"stranger"},
}
"""Who is let in: ann is an analyst of the project, eve of none; stu is the dataset's steward, sue another's; aud is an
auditor, and oda an operator."""


class Site:
    """The scene behind its app, with one question answered and one model handed in."""

    def __init__(self, scene: Scene) -> None:
        self.scene, gate = scene, scene.gate
        account = Account("trains", Neighbours.ADD_REMOVE, EACH_RECORD, PrivacyLoss.pure(1))
        gate.people.add(MACHINE, "sue", PASSWORD)
        source = Source(str(scene.folder / "flights.parquet"))
        gate.datasets.add(MACHINE, account, source, COLUMNS, name="trains", relation=Relation.FIRST, units=None)
        gate.people.give_role(MACHINE, "sue", Role.STEWARD, "trains")
        self.front = Authenticator(gate, anonymous_rate=RateLimiter(10_000), principal_rate=RateLimiter(10_000))
        self.app = create_app(self.front)
        self.answer = gate.questions.ask(scene.ann, "delays", HISTOGRAM, LOSS).id
        counting = Worker(scene.url, "here")
        while counting.work_once():  # counted, and drawn
            pass
        Queue(gate.archive).publish_states()
        self.model = gate.models.add(scene.ann, "delays", MODEL.to_json()).digest

    def signed(self, name: str) -> dict[str, str]:
        session = self.scene.gate.sessions.begin_session(name)
        return {"cookie": f"{COOKIE}={session.cookie}", CSRF_HEADER: session.csrf}

    def path(self, path: str) -> str:
        filled = {"dataset": "flights", "project": "delays", "id": self.answer, "digest": self.model}
        return PREFIX + path.format(**filled, name=f"{self.answer}.json")

    def ask(self, who: str, method: str, path: str, body: object = None) -> Heard:
        return asked(self.app, method, path, body, {} if who == "stranger" else self.signed(who))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(made(tmp_path_factory.mktemp("routes")))


def body_of(path: str) -> object:
    if path.endswith(("plan", "questions")):
        return ASKED
    return {"model": json.loads(MODEL.to_json())} if path.endswith("models") else {}


ROUTES = {(method, route.path) for route in ROUTER.routes for method in route.methods}  # type: ignore[attr-defined]


def test_the_matrix_names_every_route() -> None:
    assert set(INSIDE) == {f"{method} {path.removeprefix(PREFIX)}" for method, path in ROUTES}


@pytest.mark.parametrize("who", sorted(ALL | {"stranger"}))
def test_each_role_gets_through_its_own_routes_and_no_others(site: Site, who: str) -> None:
    publish = "POST /releases/{id}/publish"
    for name in sorted(INSIDE, key=lambda each: each == publish):
        method, path = name.split(" ")
        if name == publish and who == "stu":
            continue  # there is no way back: it is published below
        heard = site.ask(who, method, site.path(path), body_of(path) if method == "POST" else None)
        if who in INSIDE[name]:
            assert heard.status < 300, (name, heard)
        else:
            assert heard.status == 401 if who == "stranger" else heard.status in (403, 404), (name, heard)
            assert set(heard.json) == {"error"}


def test_a_published_release_is_seen_by_all_who_see_data(site: Site, tmp_path: Any) -> None:
    other = Site(made(tmp_path))
    place = other.path("/releases/{name}")
    assert other.ask("sue", "GET", place).status == 404
    assert other.ask("stu", "POST", other.path("/releases/{id}/publish")).status == 204
    for who in ("sue", "ann", "aud"):
        assert other.ask(who, "GET", place).status == 200
    for who in ("eve", "oda"):
        assert other.ask(who, "GET", place).status == 404
    for who, named in (("sue", (None, None)), ("aud", ("delays", None)), ("stu", ("delays", "ann"))):
        (listed,) = other.ask(who, "GET", other.path("/datasets/{dataset}/releases")).json
        alone = other.ask(who, "GET", other.path("/questions/{id}")).json
        assert {(each["project"], each["person"]) for each in (listed, alone)} == {named}
    assert '"ann"' not in other.ask("sue", "GET", place).body.decode()
    planned = other.ask("ann", "POST", other.path("/projects/{project}/plan"), {**ASKED, "epsilon": 1})
    assert [each["id"] for each in planned.json["published"]] == [other.answer]


def test_an_auditor_sees_what_was_asked_and_handed_in_and_not_by_whom(site: Site) -> None:
    for path in ("/datasets/{dataset}/questions", "/projects/{project}/questions", "/projects/{project}/models"):
        told = {who: [each["person"] for each in site.ask(who, "GET", site.path(path)).json] for who in ("stu", "aud")}
        assert set(told["stu"]) == {"ann"}
        assert set(told["aud"]) == {None}


def test_a_plan_relates_its_error_to_the_share_of_rows_that_was_typed(site: Site) -> None:
    path, filtered = site.path("/projects/{project}/plan"), {**HISTOGRAM, "where": "late = 1"}
    for share, passing in ((None, ROWS), ("0.1", ROWS / 10), (1, ROWS)):
        message = {**ASKED, "question": filtered} | ({} if share is None else {"share_of_rows": share})
        plan = site.ask("ann", "POST", path, message).json
        assert plan["share_of_rows"] == (None if share is None else float(share))
        (row,) = plan["rounds"]
        assert row["relative_error"] == pytest.approx(row["error"] / passing)
    for wrong in ("0", 1.5, "a tenth", "nan", ""):
        answer = site.ask("ann", "POST", path, {**ASKED, "question": filtered, "share_of_rows": wrong})
        assert answer.status == 400
        assert answer.json["error"].startswith("share_of_rows: must be a number above 0 and at most 1, as in 0.1, got ")
    asking = site.path("/projects/{project}/questions")
    assert site.ask("ann", "POST", asking, {**ASKED, "share_of_rows": "0.1"}).status == 400  # for plans alone


@pytest.mark.parametrize("ending", ["json", "svg", "csv", "html", "txt"])
def test_a_release_is_there_in_each_form_under_a_policy_that_runs_nothing(site: Site, ending: str) -> None:
    heard = site.ask("ann", "GET", f"{PREFIX}/releases/{site.answer}.{ending}")
    assert heard.status == 200
    assert heard.headers["content-security-policy"].startswith("default-src 'none'")
    assert "script-src" not in heard.headers["content-security-policy"]
    assert heard.headers["x-content-type-options"] == "nosniff"
    assert "max-age" in heard.headers["strict-transport-security"]
    assert heard.headers["cache-control"] == "no-store"
    assert len(heard.body) > (200 if ending == "txt" else 1000)


def test_a_page_of_another_origin_changes_nothing(site: Site) -> None:
    path, signed = site.path("/projects/{project}/questions"), site.signed("ann")
    for headers in (
        {"origin": "https://evil.example"}, {"origin": "null"}, {"origin": f"http://{HOST}"},
        {"origin": f"https://{HOST}.evil.example"},
    ):  # fmt: skip
        assert asked(site.app, "POST", path, ASKED, {**signed, **headers}).status == 403
    assert asked(site.app, "POST", path, ASKED, signed, origin=False).status == 403
    del signed[CSRF_HEADER]
    assert asked(site.app, "POST", path, ASKED, signed).status == 403
    assert asked(site.app, "POST", path, ASKED, {**signed, CSRF_HEADER: "guess"}).status == 403


def test_a_token_needs_no_origin_and_is_good_for_its_project_alone(site: Site) -> None:
    scene = site.scene
    bears = {"authorization": f"Bearer {scene.gate.tokens.make(scene.ann, 'delays', 'here', 1)}"}
    path = site.path("/projects/{project}/plan")
    assert asked(site.app, "POST", path, ASKED, bears, origin=False).status == 200
    assert asked(site.app, "POST", f"{PREFIX}/projects/others/plan", ASKED, bears, origin=False).status == 404
    assert asked(site.app, "GET", f"{PREFIX}/audit", headers=bears).status == 403


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"{", b"\xff\xfe", b'{"question": 1, "epsilon": 1}', b'{"question": {}, "epsilon": NaN}',
        b'{"question": {"ask": "cdf"}, "epsilon": 1}', b'{"question": {"ask": "cdf", "column": "\\ud800"}, "rho": 1}',
        b'{"question": {"a": ' + b"[" * 900 + b"]" * 900 + b'}, "epsilon": 1}',
        b'{"question": {"ask": "cdf", "column": "delay", "grid": "0:1:1e999"}, "epsilon": 1}',
        b'{"question": {"ask": "cdf", "column": "delay", "grid": "0:1:4"}, "epsilon": ' + b"9" * 5000 + b"}",
        b'{"question": {"ask": "cdf", "column": "delay", "grid": "0:1:4"}, "epsilon": 1, "rho": 1}',
        b'{"question": {"ask": "cdf", "column": "delay", "grid": "0:1:4"}, "epsilon": true}',
        b'{"question": {"ask": "cdf", "column": "delay", "grid": "0:1:4"}, "epsilon": 1, "more": 1}',
    ],
    ids=range(14),
)  # fmt: skip
def test_what_is_no_question_is_refused_in_one_line(site: Site, body: bytes) -> None:
    heard = asked(site.app, "POST", site.path("/projects/{project}/plan"), body, site.signed("ann"))
    assert heard.status == 400, heard
    assert "\n" not in heard.json["error"]


def test_long_bodies_long_paths_and_strange_paths_are_refused(site: Site) -> None:
    signed, path = site.signed("ann"), site.path("/projects/{project}/plan")
    assert asked(site.app, "POST", path, b" " * (LARGEST_REQUEST + 1), signed).status == 413
    assert asked(site.app, "POST", path, b" " * (LARGEST_REQUEST + 1), {**signed, "content-length": "3"}).status in (
        400,
        413,
    )
    for strange in (f"{PREFIX}/projects/{'a' * 3000}", f"{PREFIX}/projects/a\0b", f"{PREFIX}/nowhere"):
        assert asked(site.app, "GET", strange, headers=signed).status == 404


def test_who_asks_too_often_is_told_to_wait_and_others_are_not(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_app, "time", SimpleNamespace(monotonic=lambda: 0.0))  # no minute ends on the way
    front = Authenticator(site.scene.gate, principal_rate=RateLimiter(3))
    app, ann, bob = create_app(front), site.signed("ann"), site.signed("bob")
    statuses = [asked(app, "GET", f"{PREFIX}/me", headers=ann).status for _ in range(5)]
    assert sorted(statuses) == [200, 200, 200, 429, 429]
    assert asked(app, "GET", f"{PREFIX}/me", headers=bob).status == 200


def test_the_description_of_the_routes_is_public_and_names_them_all(site: Site) -> None:
    heard = asked(site.app, "GET", f"{PREFIX}/openapi.json")
    assert heard.status == 200
    described = {(method.upper(), path) for path, each in heard.json["paths"].items() for method in each}
    assert described == ROUTES
    assert 401 in ERRORS


def test_a_question_is_taken_and_its_place_is_told(site: Site) -> None:
    heard = site.ask("ann", "POST", site.path("/projects/{project}/questions"), {**ASKED, "epsilon": "0.3"})
    assert heard.status == 202
    assert site.ask("ann", "GET", heard.headers["location"]).json["state"] == "queued"
    assert site.scene.gate.datasets.get(MACHINE, "flights").units == ROWS
