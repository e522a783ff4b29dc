"""Signing in by another authority: a real issuer on loopback, honest first, and lying in every way that is refused."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from authority import CLIENT, SUBJECT, Authority, Claims, authority
from click.testing import CliRunner
from httpx2 import Response
from scene import PASSWORD, made
from starlette.testclient import TestClient

from dpcurves.cli.app import build
from dpcurves_parties.serving.messages import ProtocolError
from dpcurves_server import MACHINE, Role
from dpcurves_server.authentication import COOKIE, Authenticator
from dpcurves_server.issuer import AuthorizationRequest, ClientCredentials, Issuer
from dpcurves_server.launch import create_app
from dpcurves_server.pages.account_pages import PENDING_SIGN_IN_COOKIE
from dpcurves_server.pages.page_context import Site
from dpcurves_server.pages.site import build_routes
from dpcurves_server.people import UNKNOWN_IDENTITY, RateLimiter

HERE = "https://flights.example"
NOT_TRUSTED = "did not confirm who you are"


class Gates:
    """The scene behind its door, with an issuer to which ann has a subject."""

    def __init__(self, folder: Path, elsewhere: Authority) -> None:
        self.scene, self.elsewhere = made(folder), elsewhere
        self.scene.gate.people.set_subject(MACHINE, "ann", elsewhere.url, SUBJECT)
        front = Authenticator(self.scene.gate, anonymous_rate=RateLimiter(10_000), principal_rate=RateLimiter(10_000))
        self.app = create_app(front, build_routes(Site(front, {}, Issuer(elsewhere.url, CLIENT))))

    def browser(self) -> TestClient:
        return TestClient(self.app, HERE, follow_redirects=False, client=("192.0.2.1", 1))

    def through(self, browser: TestClient, changed: Callable[[str], str] = str) -> Response:
        """Out to the issuer, and back with what it said; `changed` is what becomes of that on the way."""
        out = browser.get("/oidc")
        assert out.status_code == 303, out.text
        back = changed(followed(out.headers["location"]))
        assert back.startswith(f"{HERE}/oidc/back?")
        return browser.get(back.removeprefix(HERE))


def followed(url: str) -> str:
    """Where the issuer sends a browser on to."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    connection.request("GET", f"{parts.path}?{parts.query}")
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.headers["Location"]


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Authority]:
    with authority() as found:
        yield found


@pytest.fixture(scope="module")
def gates(tmp_path_factory: pytest.TempPathFactory, elsewhere: Authority) -> Gates:
    return Gates(tmp_path_factory.mktemp("issuer"), elsewhere)


@pytest.fixture(autouse=True)
def honest(elsewhere: Authority) -> None:
    elsewhere.be_honest()
    elsewhere.refused.clear()


def test_whom_the_issuer_recognises_has_a_session_as_by_a_password(gates: Gates) -> None:
    browser = gates.browser()
    assert f'<a class="button" href="/oidc">Sign in with {gates.elsewhere.url[7:]}</a>' in browser.get("/sign-in").text
    answer = gates.through(browser)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert gates.elsewhere.refused == []
    cookies = answer.headers.get_list("set-cookie")
    (session,) = (each for each in cookies if each.startswith(f"{COOKIE}="))
    assert all(each in session for each in ("HttpOnly", "Secure", "Path=/", "SameSite=lax"))
    assert any(each.startswith(f'{PENDING_SIGN_IN_COOKIE}=""') for each in cookies)
    assert "/sign-out" in browser.get("/datasets").text
    events = gates.scene.gate.audit.events(MACHINE)
    assert ("ann", "signed in by another authority") in {(each.event.actor, each.event.action) for each in events}


def test_going_out_shows_the_issuer_hashes_and_the_browser_alone_the_secret(gates: Gates) -> None:
    out = gates.browser().get("/oidc")
    query = {name: texts[0] for name, texts in parse_qs(urlsplit(out.headers["location"]).query).items()}
    errand = AuthorizationRequest(out.cookies[PENDING_SIGN_IN_COOKIE])
    assert (query["state"], query["nonce"], query["code_challenge_method"]) == (errand.state, errand.nonce, "S256")
    assert query["redirect_uri"] == f"{HERE}/oidc/back"
    assert not {errand.secret, errand.verifier, CLIENT.secret} & set(query.values())
    assert "max-age=600" in out.headers["set-cookie"].lower()
    assert repr(errand) != repr(AuthorizationRequest(out.cookies[PENDING_SIGN_IN_COOKIE]))  # it has no repr
    assert CLIENT.secret not in repr(CLIENT)


LIES: dict[str, Callable[[Authority], object]] = {
    "nonce": lambda of: setattr(of, "lie", lambda claims: {**claims, "nonce": "another"}),
    "no nonce": lambda of: setattr(of, "lie", lambda claims: without(claims, "nonce")),
    "audience": lambda of: setattr(of, "lie", lambda claims: {**claims, "aud": "another"}),
    "audiences": lambda of: setattr(of, "lie", lambda claims: {**claims, "aud": [CLIENT.id, "other"], "azp": "other"}),
    "audience of a client": lambda of: setattr(
        of, "lie", lambda claims: {**claims, "aud": "another", "azp": CLIENT.id}
    ),
    "expired": lambda of: setattr(of, "lie", lambda claims: {**claims, "exp": int(time.time()) - 3600}),
    "no end": lambda of: setattr(of, "lie", lambda claims: without(claims, "exp")),
    "issuer": lambda of: setattr(of, "lie", lambda claims: {**claims, "iss": "https://another.example"}),
    "subject of numbers": lambda of: setattr(of, "lie", lambda claims: {**claims, "sub": int(SUBJECT)}),
    "long subject": lambda of: setattr(of, "lie", lambda claims: {**claims, "sub": "s" * 1000}),
    "alg none": lambda of: setattr(of, "sign", of.unsigned),
    "alg of shared keys": lambda of: setattr(of, "sign", of.signed_by_its_public_key),
    "alg of secrets": lambda of: setattr(of, "sign", of.signed_by_the_secret_of_the_client),
    "foreign key": lambda of: setattr(of, "sign", of.signed_by_another),
    "no token": lambda of: setattr(of, "sign", lambda claims: ""),
    "tokens of nothing": lambda of: setattr(of, "sign", lambda claims: "e30.e30.e30"),
    "refused there": lambda of: of.says.update(error="access_denied", code=""),
    "an error, and a code": lambda of: of.says.update(error="<script>alert(1)</script>"),
    "sent by another issuer": lambda of: of.says.update(iss="https://another.example"),
    "no code": lambda of: of.says.update(code=""),
    "a code of nobody": lambda of: of.says.update(code="guessed"),
}


def without(claims: Claims, name: str) -> Claims:
    return {each: value for each, value in claims.items() if each != name}


def refused(answer: Response, words: str, status: int = 403) -> None:
    """One line on the page to sign in, no session, and none of the words of the issuer."""
    assert answer.status_code == status
    (line,) = (each for each in answer.text.splitlines() if 'role="alert"' in each)
    assert words in line
    assert not any(each.startswith(f"{COOKIE}=") for each in answer.headers.get_list("set-cookie"))
    assert "alert(1)" not in answer.text


@pytest.mark.parametrize("lie", sorted(LIES))
def test_what_does_not_prove_who_somebody_is_is_refused_in_one_line(gates: Gates, lie: str) -> None:
    LIES[lie](gates.elsewhere)
    browser = gates.browser()
    refused(gates.through(browser), NOT_TRUSTED)
    assert browser.get("/datasets").status_code == 303


def test_a_state_that_is_none_or_anothers_is_refused_before_the_issuer_is_asked(gates: Gates) -> None:
    browser, other, words = gates.browser(), gates.browser(), "the sign-in began in another browser"
    gates.elsewhere.says.update(state="guessed")
    refused(gates.through(browser), words)
    gates.elsewhere.be_honest()
    asked = gates.elsewhere.asked.count("/token")
    out = browser.get("/oidc")
    back = followed(out.headers["location"]).removeprefix(HERE)
    refused(other.get(back), words)  # a browser that never went out
    other.get("/oidc")
    refused(other.get(back), words)  # and one that did on another errand
    refused(browser.get("/oidc/back"), words)
    refused(browser.get(back), words)  # one answer ends an errand
    refused(gates.through(gates.browser(), lambda url: f"{url}&state=guessed"), words)
    assert gates.elsewhere.asked.count("/token") == asked


def test_a_code_is_good_once(gates: Gates) -> None:
    browser, kept = gates.browser(), gates.browser()
    out = browser.get("/oidc")
    kept.cookies.set(PENDING_SIGN_IN_COOKIE, out.cookies[PENDING_SIGN_IN_COOKIE])
    back = followed(out.headers["location"]).removeprefix(HERE)
    assert browser.get(back).status_code == 303
    refused(kept.get(back), NOT_TRUSTED)


def test_nobody_is_made_by_signing_in_and_who_is_locked_out_stays_out(gates: Gates) -> None:
    people = gates.scene.gate.people
    before = [each.name for each in people.all(MACHINE)]
    for subject in ("somebody", "ann", SUBJECT.swapcase() + "0"):
        gates.elsewhere.subject = subject
        refused(gates.through(gates.browser()), UNKNOWN_IDENTITY.split(":")[0])
    assert [each.name for each in people.all(MACHINE)] == before
    gates.elsewhere.be_honest()
    people.lock(MACHINE, "ann")
    refused(gates.through(gates.browser()), UNKNOWN_IDENTITY.split(":")[0])
    people.unlock(MACHINE, "ann")
    assert gates.through(gates.browser()).status_code == 303


def test_a_subject_counts_with_its_own_issuer_alone(gates: Gates) -> None:
    gates.scene.gate.people.set_subject(MACHINE, "bob", "https://another.example", "of another issuer")
    gates.elsewhere.subject = "of another issuer"
    refused(gates.through(gates.browser()), UNKNOWN_IDENTITY.split(":")[0])


def test_one_gets_back_to_the_first_page_and_nowhere_else(gates: Gates) -> None:
    browser = gates.browser()
    out = browser.get("/oidc?next=https://evil.example&redirect_uri=https://evil.example/")
    assert "evil" not in out.headers["location"]
    assert out.headers["location"].startswith(f"{gates.elsewhere.url}/authorize?")
    answer = gates.through(browser, lambda url: f"{url}&next=https://evil.example&redirect_uri=//evil.example")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_pages_go_on_sending_forms_to_this_server_alone(gates: Gates) -> None:
    for path in ("/sign-in", "/oidc/back"):
        policy = gates.browser().get(path).headers["content-security-policy"]
        assert "form-action 'self'" in policy
        assert gates.elsewhere.url not in policy
    out = gates.browser().get("/oidc")
    assert (out.headers["cache-control"], out.headers["referrer-policy"]) == ("no-store", "same-origin")


def test_an_issuer_with_new_keys_is_asked_for_them(gates: Gates) -> None:
    assert gates.through(gates.browser()).status_code == 303
    asked = gates.elsewhere.asked.count("/keys")
    gates.elsewhere.key = type(gates.elsewhere.key).generate_key("P-256", {"kid": "second"})
    assert gates.through(gates.browser()).status_code == 303
    assert gates.through(gates.browser()).status_code == 303
    assert gates.elsewhere.asked.count("/keys") == asked + 1


def test_an_issuer_that_is_away_or_calls_itself_otherwise_is_one_line_and_passwords_go_on(tmp_path: Path) -> None:
    scene = made(tmp_path)
    with authority() as other:
        url = other.url
        other.url = "https://another.example"
        with pytest.raises(ProtocolError, match=f"{url[7:]} {NOT_TRUSTED}"):
            Issuer(url, CLIENT).authorization_url(AuthorizationRequest.generate(), f"{HERE}/oidc/back")
    front = Authenticator(scene.gate)
    browser = TestClient(
        create_app(front, build_routes(Site(front, {}, Issuer(url, CLIENT)))), HERE, follow_redirects=False
    )
    refused(browser.get("/oidc"), "cannot be reached now", 503)
    typed = {"name": "ann", "password": PASSWORD}
    assert browser.post("/sign-in", data=typed, headers={"origin": HERE}).status_code == 303


def test_without_an_issuer_there_is_no_other_way_in(tmp_path: Path) -> None:
    front = Authenticator(made(tmp_path).gate)
    browser = TestClient(create_app(front, build_routes(Site(front, {}))), HERE, follow_redirects=False)
    assert "/oidc" not in browser.get("/sign-in").text
    assert {browser.get(path).status_code for path in ("/oidc", "/oidc/back?code=a&state=b")} == {404}


@pytest.mark.parametrize(
    "url", ["http://issuer.example", "ftp://127.0.0.1", "https://", "https://a@b", "https://a?b", "x"]
)
def test_an_issuer_is_asked_over_https_or_on_this_machine(url: str) -> None:
    with pytest.raises(ValueError, match="^oidc: "):
        Issuer(url, ClientCredentials("gate", "secret"))


def test_operators_say_who_goes_by_which_subject_and_of_keepers_the_machine_alone(gates: Gates) -> None:
    scene = gates.scene
    people, oda = scene.gate.people, scene.principal("oda")
    people.set_subject(oda, "eve", gates.elsewhere.url, "of eve")
    with pytest.raises(ProtocolError, match="another account has this subject"):
        people.set_subject(oda, "bob", gates.elsewhere.url, "of eve")
    for keeper in ("stu", "aud"):
        with pytest.raises(ProtocolError, match="appoint stewards and auditors"):
            people.set_subject(oda, keeper, gates.elsewhere.url, f"of {keeper}")
    for name in ("ann", "stu", "aud"):
        with pytest.raises(ProtocolError, match="your role does not"):
            people.set_subject(scene.principal(name), "eve", gates.elsewhere.url, "mine")
    begun = scene.gate.sessions.begin_for_subject(gates.elsewhere.url, "of eve")
    people.set_subject(oda, "eve", gates.elsewhere.url, "")
    assert scene.gate.sessions.find(begun.cookie) is None
    with pytest.raises(ProtocolError, match=UNKNOWN_IDENTITY.split(":")[0]):
        scene.gate.sessions.begin_for_subject(gates.elsewhere.url, "of eve")


def test_the_command_line_makes_a_person_who_signs_in_elsewhere_alone(tmp_path: Path, elsewhere: Authority) -> None:
    scene = made(tmp_path)
    typed = ["server", "person", "mia", "--store", scene.url, "--issuer", elsewhere.url, "--subject", "of mia"]
    assert CliRunner().invoke(build(typed), typed).exit_code == 0
    assert scene.gate.sessions.begin_for_subject(elsewhere.url, "of mia").principal.name == "mia"
    with pytest.raises(ProtocolError):
        scene.gate.sessions.sign_in("mia", "", "192.0.2.1")
    scene.gate.people.give_role(MACHINE, "mia", Role.AUDITOR)
    assert CliRunner().invoke(build(typed), typed[:-2]).exit_code != 0


def test_what_proves_the_server_comes_from_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpcurves.cli.terminal import Misuse
    from dpcurves_server.cli.commands import ID, SECRET, IssuerOptions

    url, file = "https://issuer.example", tmp_path / "client.json"
    with pytest.raises(Misuse, match=ID):
        IssuerOptions(url).open_issuer()
    file.write_text(json.dumps({"client_id": "gate", "client_secret": "secret"}))
    monkeypatch.setenv(ID, "gate")
    monkeypatch.setenv(SECRET, "secret")
    found: Any = [IssuerOptions(url, str(file)).open_issuer(), IssuerOptions(url).open_issuer()]
    assert [each.url for each in found] == [url, url]
    assert IssuerOptions().open_issuer() is None
    file.write_text("[1]")
    for wrong in (
        IssuerOptions(url, str(file)),
        IssuerOptions(None, str(file)),
        IssuerOptions(url, str(tmp_path / "nowhere")),
    ):
        with pytest.raises(Misuse, match="oidc-client"):
            wrong.open_issuer()
