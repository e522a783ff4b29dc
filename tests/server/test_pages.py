"""Pages: who sees which, what forms do, and what is written on them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import Path

import pytest
from scene import COLUMNS, LOSS, Scene, made
from starlette.applications import Starlette
from starlette.testclient import TestClient

from dpcurves.cli.one_table import QUESTIONS
from dpcurves.curves.question_json import question_from_json
from dpcurves.curves.view import View, define_view
from dpcurves.data import Categories
from dpcurves.ledger import Member
from dpcurves.models import Level, Link, NumericColumn, Power, Scorecard, Term
from dpcurves_server.authentication import COOKIE, Authenticator
from dpcurves_server.cli.commands import build_forms
from dpcurves_server.declared_columns import Declared
from dpcurves_server.pages.page_context import STATIC_FILES, Site, load_templates, read_static
from dpcurves_server.pages.question_pages import list_question_groups
from dpcurves_server.pages.site import PAGES, build_routes
from dpcurves_server.questions import question_id, request_id
from dpcurves_server.queue import Queue
from dpcurves_server.worker import Worker

NAMES = ("ann", "eve", "stu", "oda", "aud", "a stranger")
SEES: dict[str, dict[str, int]] = {  # 200 where nothing else is said
    "/account": {"a stranger": 303},
    "/datasets": {"eve": 403, "oda": 403, "a stranger": 303},
    "/datasets/flights": {"eve": 403, "oda": 403, "a stranger": 303},
    "/datasets/flights/dummy.csv": {"eve": 403, "oda": 403, "a stranger": 303},
    "/projects/delays": {"eve": 404, "oda": 404, "a stranger": 303},
    "/projects/delays/ask": {"eve": 404, "stu": 404, "oda": 404, "aud": 404, "a stranger": 303},
    "/projects/delays/ask/roc": {"eve": 404, "stu": 404, "oda": 404, "aud": 404, "a stranger": 303},
    "/manage/flights": {"ann": 404, "eve": 404, "oda": 404, "a stranger": 303},
    "/audit": {"ann": 403, "eve": 403, "stu": 403, "oda": 403, "a stranger": 303},
    "/audit.jsonl": {"ann": 403, "eve": 403, "stu": 403, "oda": 403, "a stranger": 303},
    "/people": {"ann": 403, "eve": 403, "stu": 403, "aud": 403, "a stranger": 303},
}
DOES: dict[str, dict[str, int]] = {  # with nothing typed: 400 or 404 for who may, and in words of the form
    "/manage/flights/projects": {"stu": 400},
    "/manage/flights/questions": {"stu": 404},
    "/manage/flights/people": {"stu": 404},
    "/manage/flights/allowances": {"stu": 404},
    "/projects/delays/models": {"ann": 400},
    "/projects/delays/tokens": {"ann": 400},
    "/people/change": {"oda": 400},
    "/audit": {"aud": 200},
}
TYPED = {
    "/manage/flights/questions": {"do": "take back", "question": "none"},
    "/manage/flights/allowances": {"project": "delays", "most": "1", "analyst": "nobody"},
    "/people/change": {"do": "make"},
}
PLAN = {"column": "delay", "grid": "-60:600:66", "amount": "0.25"}
HERE = "/projects/delays/ask/histogram"
SHARE = "Share of rows that pass: must be a number above 0 and at most 1, as in 0.1"


class Browser:
    """Somebody in front of pages, without scripts."""

    def __init__(self, scene: Scene, app: Starlette, name: str) -> None:
        self._client = TestClient(app, "https://flights.example", follow_redirects=False)
        self.token = ""
        if name != "a stranger":
            signed = scene.gate.sessions.begin_session(name)
            self.token = signed.csrf
            self._client.cookies.set(COOKIE, signed.cookie)

    def get(self, path: str) -> tuple[int, str]:
        answer = self._client.get(path)
        return answer.status_code, answer.text

    def content(self, path: str) -> bytes:
        return self._client.get(path).content

    def post(self, path: str, **typed: str) -> tuple[int, str, str]:
        answer = self._client.post(path, data={"csrf": self.token, **typed})
        return answer.status_code, answer.text, answer.headers.get("location", "")


class Pages:
    """The scene with its pages."""

    def __init__(self, folder: Path, columns: Sequence[Declared] = COLUMNS) -> None:
        self.scene = made(folder, columns=columns)
        self.app = Starlette(routes=build_routes(Site(Authenticator(self.scene.gate), build_forms(QUESTIONS))))

    def browser(self, name: str) -> Browser:
        return Browser(self.scene, self.app, name)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    pages = Pages(tmp_path_factory.mktemp("server"))
    yield pages
    pages.scene.gate.studio.stop()


@pytest.mark.parametrize("name", NAMES)
def test_each_role_sees_its_pages_and_no_other(site: Pages, name: str) -> None:
    browser = site.browser(name)
    found = {path: browser.get(path)[0] for path in SEES}
    assert found == {path: others.get(name, 200) for path, others in SEES.items()}


@pytest.mark.parametrize("name", NAMES)
def test_each_role_sends_its_forms_and_no_other(site: Pages, name: str) -> None:
    browser = site.browser(name)
    for path, mine in DOES.items():
        status, text, place = browser.post(path, **TYPED.get(path, {}))
        if name == "a stranger":
            assert (status, place) == (303, "/sign-in"), path
        elif name in mine:
            assert (status, "role: yours" in text) == (mine[name], False), path
        else:
            assert status in (403, 404, 400), path
            assert re.search("[Yy]our role does not|[Nn]o [a-z]+ of this name exists", text), (path, text)


@pytest.mark.parametrize("name", NAMES)
def test_no_form_is_taken_without_the_token_of_the_session(site: Pages, name: str) -> None:
    browser = site.browser(name)
    signed_in = name != "a stranger"
    for page in PAGES:
        if page.method == "POST" and (signed_in or not page.is_public):
            path = re.sub(
                r"{(\w+)}", lambda found: {"dataset": "flights", "project": "delays"}.get(found[1], "x"), page.path
            )
            assert browser.post(path, csrf="")[0] == (403 if signed_in else 303), path


def test_every_question_is_in_one_group_of_the_page_with_a_title_and_a_picture(site: Pages) -> None:
    groups = list_question_groups(build_forms(QUESTIONS))
    assert sorted(each["form"].command for group in groups for each in group["questions"]) == sorted(
        build_forms(QUESTIONS)
    )
    assert "Other questions" not in [group["title"] for group in groups]
    text = site.browser("ann").get("/projects/delays/ask")[1]
    assert text.count('<svg class="icon"') == text.count("/ask/") == len(build_forms(QUESTIONS))
    assert "How good is a model?" in text


def test_the_bar_of_the_budget_says_what_the_question_adds(site: Pages) -> None:
    text = site.browser("ann").post(HERE, do="plan", **PLAN)[1]
    assert "spent, 0.25 for this question" in text


def test_a_plan_is_shown_before_anything_is_paid(site: Pages) -> None:
    ann = site.browser("ann")
    status, text, _ = ann.post(HERE, do="plan", **PLAN)
    assert status == 200
    assert "histogram of delay: epsilon 0.25" in text
    assert f'src="{HERE}/sketch.svg?column=delay&amp;' in text.replace("&amp;grid=-60%3A600%3A66", "")
    assert not site.scene.gate.questions.all(site.scene.ann, "delays")


JUDGES: dict[str, dict[str, str]] = {
    "pairwise-scorer": {"label": "late", "features": "delay=-60:600"},
    "model-pair": {"label": "late", "first": "delay", "second": "late", "grid": "-60:600:66", "second_grid": "0:1:2"},
    "ordinal-classes": {"label": "delay", "classes": "1,2,3", "score": "late"},
    "uplift": {"outcome": "late", "treatment": "delay", "score": "delay", "grid": "-60:600:66"},
    "quantile-forecasts": {"errors": "delay", "quantiles": "0.5", "grid": "-60:600:66"},
    "predicted-observed": {"predicted": "late", "observed": "delay", "grid": "0:1:2", "observed_grid": "-60:600:66"},
    "incidence": {"time": "delay", "event": "late", "causes": "1", "censored_value": "0", "grid": "0:600:60"},
    "delayed-entry": {"entry": "late", "time": "delay", "event": "late", "grid": "0:600:60"},
    "interval-censored": {"last": "late", "first": "delay", "grid": "0:600:10"},
    "survival-model": {"score": "late", "time": "delay", "event": "late", "times": "0:600:10"},
}


@pytest.mark.parametrize("word", JUDGES)
def test_questions_that_judge_models_and_tell_of_times_are_planned_from_their_forms(site: Pages, word: str) -> None:
    status, text, _ = site.browser("ann").post(f"/projects/delays/ask/{word}", do="plan", amount="0.25", **JUDGES[word])
    assert status == 200, text
    assert ": epsilon 0.25" in text


def test_the_plan_comes_as_one_types_and_says_nothing_before_all_is_there(site: Pages) -> None:
    ann = site.browser("ann")
    status, text, _ = ann.post(f"{HERE}/plan", **{**PLAN, "grid": "", "grid.upper": "far"})
    assert (status, "<html" in text, 'data-wrong="grid-upper"' in text) == (200, False, True)
    assert "To: enter a number, the highest value of the range, got &#39;far&#39;" in text
    assert "Fill in the form" in ann.post(f"{HERE}/plan", grid="0:1:2", amount="0.1")[1]


def test_what_is_more_than_is_left_is_said_before(site: Pages) -> None:
    assert (
        "more than the epsilon 1 that you have left" in site.browser("ann").post(HERE, **{**PLAN, "amount": "1.5"})[1]
    )


def test_a_sketch_is_drawn_from_public_columns_and_says_that_it_is_of_made_up_data(site: Pages) -> None:
    status, text = site.browser("ann").get(f"{HERE}/sketch.svg?column=delay&grid=-60:600:66&amount=0.25")
    assert (status, text[:40]) == (200, '<svg xmlns="http://www.w3.org/2000/svg" ')
    assert ("made-up data" in text, "SEEDED" in text) == (True, False)
    assert re.search(r"95% for these records: ± [\d.]+, each cell, simultaneously", text)
    survival = "/projects/delays/ask/survival/sketch.svg?time=delay&event=late&grid=0:600:60&amount=0.25"
    assert "95% for these records: ± " in site.browser("ann").get(survival)[1]


ASK = r'<button class="main" name="do" value="ask"( disabled)?>([^<]*)</button>'


def test_one_can_ask_only_after_the_price_is_seen_and_only_what_the_purse_holds(site: Pages) -> None:
    ann = site.browser("ann")
    assert re.findall(ASK, ann.get(HERE)[1]) == [(" disabled", "Ask, and pay")]
    for path in (HERE, f"{HERE}/plan"):
        assert re.findall(ASK, ann.post(path, **PLAN)[1]) == [("", "Ask, and pay epsilon 0.25")]
        assert re.findall(ASK, ann.post(path, **{**PLAN, "amount": "1.5"})[1]) == [(" disabled", "Ask, and pay")]


def test_what_was_changed_after_its_plan_was_seen_is_planned_again_and_not_paid(site: Pages) -> None:
    ann, asked = site.browser("ann"), {**PLAN, "amount": "0.0625", "do": "ask"}
    before = len(site.scene.gate.questions.all(site.scene.ann, "delays"))
    status, text, _ = ann.post(HERE, **asked, seen="histogram of delay: epsilon 0.03125")
    assert (status, "histogram of delay: epsilon 0.0625" in text) == (200, True)
    assert len(site.scene.gate.questions.all(site.scene.ann, "delays")) == before
    assert ann.post(HERE, **asked, seen="histogram of delay: epsilon 0.0625")[0] == 303


def test_a_range_that_is_left_out_is_the_declared_one(site: Pages) -> None:
    typed = {"column": "delay", "grid.cells": "66", "amount": "0.25"}
    ann, sketch = site.browser("ann"), r'src="([^"]*sketch[.]svg[^"]*)"'
    for more, lower in (({}, "-60"), ({"grid.lower": "0"}, "0")):
        text = ann.post(f"{HERE}/plan", **typed, **more)[1]
        (place,) = re.findall(sketch, text)
        assert "histogram of delay: epsilon 0.25" in text
        _, asked, _ = ann.post(HERE, do="plan", column="delay", grid=f"{lower}:600:66", amount="0.25")
        assert re.findall(r"<td class=.number.>[^<]*", asked) == re.findall(r"<td class=.number.>[^<]*", text)
        assert ann.get(place.replace("&amp;", "&"))[0] == 200
    assert "To: enter a number above 700" in ann.post(HERE, **{**typed, "grid.lower": "700"})[1]


def test_no_page_of_a_question_names_an_option_of_the_command_line(site: Pages) -> None:
    ann = site.browser("ann")
    for word in build_forms(QUESTIONS):
        path = f"/projects/delays/ask/{word}"
        for text in (ann.get(path)[1], ann.post(path, do="plan", column="delay", weight="delay", amount="0.1")[1]):
            assert not re.search(r"--[a-z]", re.sub(r"<[^>]*>", " ", text)), word
            assert "searches for the" not in "".join(re.findall(r'<p class="lead">.*?</p>', text)), word


def test_columns_and_values_are_chosen_from_those_that_are_declared(tmp_path: Path) -> None:
    site = Pages(tmp_path, (*COLUMNS, Categories("carrier", ("UA", "DL"))))
    ann = site.browser("ann")

    def offered(word: str, name: str) -> list[str]:
        text = ann.get(f"/projects/delays/ask/{word}")[1]
        (list_,) = re.findall(rf'<select id="f-{name}".*?</select>', text, re.DOTALL)
        return re.findall(r'<option value="([^"]+)"', list_)

    assert offered("cdf", "column") == ["delay", "late"]
    assert offered("contingency", "rows") == ["late", "carrier"]
    assert offered("bars", "column") == ["late", "carrier"]
    bars = ann.post("/projects/delays/ask/bars", column="carrier", other="missing", amount="0.25", do="plan")[1]
    assert "bar chart of carrier" in bars
    assert ": epsilon 0.25" in bars
    assert offered("calibration", "pos_label") == ["0", "1", "UA", "DL"]
    typed = {"column": "delay", "grid.cells": "66", "by": "carrier", "amount": "0.25"}
    assert "histogram of delay by carrier" in ann.post(HERE, do="plan", **typed)[1]
    table = {"rows": "late", "columns": "carrier", "amount": "0.25", "do": "plan"}
    assert ": epsilon 0.25" in ann.post("/projects/delays/ask/contingency", **table)[1]
    mean = {"column": "delay", "amount": "0.25", "do": "plan"}
    assert "mean of delay" in ann.post("/projects/delays/ask/mean", **mean)[1]


@pytest.mark.reproduction
def test_releases_are_files_and_several_lie_on_one_picture(tmp_path: Path) -> None:
    site = Pages(tmp_path)
    ann, gate = site.browser("ann"), site.scene.gate
    counting, queue, ids = Worker(site.scene.url, "one"), Queue(gate.archive), []
    for amount, cells in (("0.01", "7"), ("0.02", "7"), ("0.03", "")):
        typed = {"grid.cells": cells} if cells else {"bounds.lower": "-60"}
        place = HERE if cells else "/projects/delays/ask/mean"
        ids.append(ann.post(place, do="ask", column="delay", amount=amount, **typed)[2].removeprefix("/questions/"))
        while counting.work_once():
            pass
    queue.publish_states()
    heads = {"png": b"\x89PNG", "xlsx": b"PK", "svg": b"<svg", "csv": b"left,right,count", "json": b"{"}
    for ending, head in heads.items():
        assert ann.content(f"/releases/{ids[0]}/export.{ending}").startswith(head), ending
    code = unescape(ann.get(f"/releases/{ids[0]}")[1])
    assert 'question = dp.HistogramQuestion("delay", dp.Grid(-60, 600, cells=7))' in code
    assert "curve = remote.ask(question, dp.PrivacyLoss.pure(0.01))" in code
    both = "&".join(f"of={each}" for each in ids[:2])
    assert f"together.svg?{both}".replace("&", "&amp;") in ann.get(f"/projects/delays/together?{both}")[1]
    assert ann.content(f"/projects/delays/together.png?{both}&keep=1").startswith(b"\x89PNG")
    assert ann.get(f"/projects/delays/together.svg?{both}")[1].startswith("<svg")
    assert (
        "Choose releases of the same question type and column"
        in ann.get(f"/projects/delays/together?of={ids[0]}&of={ids[2]}")[1]
    )
    assert site.browser("eve").get(f"/projects/delays/together.svg?{both}")[0] == 404
    gate.studio.stop()


def test_asking_leads_to_a_page_that_waits(site: Pages) -> None:
    ann = site.browser("ann")
    status, _, place = ann.post(HERE, do="ask", **{**PLAN, "amount": "0.125"})
    assert (status, place[:11]) == (303, "/questions/")
    status, text = ann.get(place)
    assert (status, "queued" in text, 'http-equiv="refresh"' in text) == (200, True, True)
    assert site.browser("eve").get(place)[0] == 404


def test_a_model_that_is_handed_in_is_asked_by_its_name(site: Pages) -> None:
    ann = site.browser("ann")
    card = Scorecard("risk", 0.0, (NumericColumn("delay", -60, 600),), (Term(0.1, (Power("delay"),)),), Link.LOGIT)
    assert ann.post("/projects/delays/models", model=card.to_json())[0] == 303
    assert "@risk" in ann.get("/projects/delays")[1]
    typed = {"label": "late", "score": "@risk", "amount": "0.5"}
    assert "ROC curve of risk for late: epsilon 0.5" in ann.post("/projects/delays/ask/roc", **typed)[1]
    status, text, _ = ann.post("/projects/delays/models", model='{"kind": "<b>"}')
    assert (status, "<b>" in text) == (400, False)


def test_a_model_is_kept_in_the_queue_as_it_was_handed_in(site: Pages) -> None:
    """The order of its columns is part of it: workers refuse what is not what was asked."""
    columns = (NumericColumn("delay", -60, 600), Categories("late", (0, 1)))
    terms = (Term(0.1, (Power("delay"),)), Term(0.5, (Level("late", 1),)))
    card = Scorecard("turned", 0.0, columns[::-1], terms, Link.LOGIT)
    ann, dataset = site.browser("ann"), site.scene.gate.datasets.get(site.scene.ann, "flights")
    assert ann.post("/projects/delays/models", model=card.to_json())[0] == 303
    _, _, place = ann.post("/projects/delays/ask/roc", do="ask", label="late", score="@turned", amount="0.25")
    asked = site.scene.gate.questions.get(site.scene.ann, place.removeprefix("/questions/"))
    question = question_from_json(asked.question)
    assert question.score.digest == card.digest
    request = request_id(Member("delays", "ann"), dataset, question, asked.loss)
    assert question_id(request, question) == asked.id


def test_a_token_is_shown_once_and_can_be_taken_back(site: Pages) -> None:
    ann = site.browser("ann")
    _, text, _ = ann.post("/projects/delays/tokens", label="my script", days="9")
    (secret,) = re.findall(r"<pre tabindex=\"0\"><code>([\w-]+)</code>", text)
    assert site.scene.gate.tokens.find(secret) is not None
    assert secret not in ann.get("/projects/delays")[1]
    (kept,) = site.scene.gate.tokens.all(site.scene.ann)
    assert ann.post(f"/projects/delays/tokens/{kept.id}")[0] == 303
    assert site.scene.gate.tokens.find(secret) is None


def test_a_form_that_no_database_takes_is_refused(site: Pages) -> None:
    stu = site.browser("stu")
    assert stu.post("/manage/flights/people", do="admit", project="delays", person="a\x00b")[0] == 400
    assert stu.post("/manage/flights/people", **{f"field{place}": "x" for place in range(10_001)})[0] == 400


def test_a_steward_divides_the_budget(site: Pages) -> None:
    stu = site.browser("stu")
    assert stu.post("/manage/flights/projects", name="fares", description="<i>")[0] == 303
    assert stu.post("/manage/flights/people", do="admit", project="fares", person="eve")[0] == 303
    assert stu.post("/manage/flights/allowances", project="fares", most="2")[0] == 400  # both projects: 4 of 3
    assert stu.post("/manage/flights/allowances", project="fares", most="1")[0] == 303
    assert "&lt;i&gt;" in stu.get("/manage/flights")[1]
    assert stu.post("/manage/flights/people", do="dismiss", project="fares", person="eve")[0] == 303


REFUSED: tuple[tuple[str, str, dict[str, str], str, str], ...] = (  # who, where, what is typed, its field, the message
    ("stu", "/manage/flights/allowances", {"form": "share-1", "project": "delays", "most": "two"}, "most", "At most: "),
    ("stu", "/manage/flights/allowances", {"form": "share-1", "project": "delays", "most": "-1"}, "most", "At most: "),
    ("stu", "/manage/flights/projects", {"form": "new-project", "name": "delays"}, "name", "Name: a project of this"),
    ("stu", "/manage/flights/people", {"form": "admit-1", "do": "admit", "project": "delays", "person": "nobody"},
     "person", "Person: no person of this name exists"),
    ("oda", "/people/change", {"form": "new-account", "do": "make", "name": "ann", "password": "another long one"},
     "name", "Name: this name is in use"),
    ("oda", "/people/change", {"form": "new-account", "do": "make", "name": "zoe", "password": "short"},
     "password", "Password: must have"),
    ("ann", "/projects/delays/tokens", {"form": "token", "label": "my script", "days": "900"},
     "days", "Days: must be 1"),
    ("ann", "/account", {"form": "account", "old": "wrong", "password": "another long one"},
     "old", "Old password: wrong"),
)  # fmt: skip


@pytest.mark.parametrize("refused", REFUSED, ids=lambda refused: refused[4])
def test_a_refused_form_keeps_what_was_typed_and_says_at_the_field_what_to_enter(
    site: Pages, refused: tuple[str, str, dict[str, str], str, str]
) -> None:
    name, path, typed, field, message = refused
    status, text, _ = site.browser(name).post(path, **typed)
    (place,) = re.findall(r'<(?:input|select)[^>]* name="([^"]*)"[^>]* aria-invalid=true autofocus', text)
    assert (400 <= status < 500, place) == (True, field)
    (described,) = re.findall(r'aria-describedby="([^" ]*-wrong)', text)
    assert re.search(rf'<p class="wrong" id="{described}">{message}', text)
    for other, value in typed.items():
        if other in ("most", "name", "person", "label", "days"):
            assert f'value="{value}"' in text
        assert "another long one" not in text  # a password is never shown


def test_an_auditor_reads_what_a_steward_manages(site: Pages) -> None:
    headings = [site.browser(name).get("/manage/flights")[1] for name in ("stu", "aud")]
    assert ["<h1>Managing flights</h1>" in text for text in headings] == [True, False]
    assert "<h1>Budget, queue and log of flights</h1>" in headings[1]


def test_an_operator_keeps_accounts_and_an_auditor_verifies_the_chain(site: Pages) -> None:
    oda, aud = site.browser("oda"), site.browser("aud")
    assert oda.post("/people/change", do="make", name="mia", password="another long one")[0] == 303
    assert oda.post("/people/change", do="lock", name="mia")[0] == 303
    assert oda.post("/people/change", do="give", name="oda", role="steward", dataset="flights")[0] == 403
    assert oda.post("/people/change", do="give", name="mia", role="operator")[0] == 303
    status, text, _ = aud.post("/audit")
    assert (status, "Every seal was computed again" in text) == (200, True)
    assert "made person" in aud.get("/audit")[1]


def test_files_of_pages_are_those_of_the_package_alone(site: Pages) -> None:
    stranger = site.browser("a stranger")
    assert stranger.get("/static/style.css")[0] == 200
    text = read_static("htmx.min.js").decode()
    assert not re.search(
        r"https?://(?!www\.w3\.org)", "".join(read_static(name).decode() for name in ("style.css", "icon.svg"))
    )
    assert len(text) < 40_000
    assert STATIC_FILES.keys() == {"style.css", "htmx.min.js", "form.js", "try.js", "icon.svg", "htmx.LICENSE.txt"}


def test_the_scripts_of_pages_are_what_their_licence_says() -> None:
    from hashlib import sha256

    assert sha256(read_static("htmx.min.js")).hexdigest() in read_static("htmx.LICENSE.txt").decode()


def test_scripts_listen_to_events_that_the_kept_htmx_sends() -> None:
    """Another version has other names of events, and a listener to a former name is never called."""
    library = read_static("htmx.min.js").decode()
    heard = {
        event
        for name in STATIC_FILES
        if name.endswith(".js") and "htmx" not in name
        for event in re.findall(r"\"(htmx:[\w:]+)\"", read_static(name).decode())
    }
    assert heard
    assert [event for event in heard if f'"{event}"' not in library] == []


def test_an_answer_that_is_not_drawn_yet_has_a_place_that_comes_again(tmp_path: Path) -> None:
    site = Pages(tmp_path)
    ann, gate = site.browser("ann"), site.scene.gate
    place = ann.post(HERE, do="ask", column="delay", grid="-60:600:7", amount="0.01")[2]
    counting, queue = Worker(site.scene.url, "one"), Queue(gate.archive)
    assert counting.work_once()
    queue.publish_states()
    release = place.replace("/questions/", "/releases/")
    waits = f'hx-get="{release}/figure"'
    status, page = ann.get(release)
    assert (status, waits in page, 'http-equiv="refresh"' in page, "picture.svg" in page) == (200, True, True, False)
    assert waits in ann.get(f"{release}/figure")[1]
    assert counting.work_once()
    assert f'src="{release}/picture.svg"' in ann.get(f"{release}/figure")[1]
    assert [waits in ann.get(release)[1], ann.get(f"{release}/picture.svg")[0]] == [False, 200]


def test_every_text_of_a_template_is_isolated_and_no_attribute_is() -> None:
    source = (
        '<title>{{ name }}</title>{% set facts %}value="{{ name }}"{% endset %}<a href="/{{ name }}" {{ facts }}>'
        "{{ name|upper }}</a>{% for word in [name] -%} <td>{{- word -}}</td>{% endfor %}<option>{{ name }}</option>"
    )
    name = "\u05d3\u05e0\u05d4<"
    page = load_templates().from_string(source).render(name=name)
    shown = "\u05d3\u05e0\u05d4&lt;"
    assert page == (
        f'<title>{shown}</title><a href="/{shown}" value="{shown}"><bdi>{shown}</bdi></a>'
        f"<td><bdi>{shown}</bdi></td><option>{shown}</option>"
    )


def test_rows_are_chosen_and_columns_derived_in_each_form(site: Pages) -> None:
    """A filter is in the first part of each form; a wrong one is refused at its field, with the nearest column."""
    ann, typed = site.browser("ann"), {**PLAN, "do": "plan", "where": "late = 1 AND delay > 5"}
    for word in build_forms(QUESTIONS):
        page = ann.get(f"/projects/delays/ask/{word}")[1]
        assert "Which rows?" in page.partition("<summary>More options")[0], word
    status, text, _ = ann.post(HERE, **{**typed, "column": "", "column.expression": "delay / 2"})
    assert status == 200
    assert "histogram of delay / 2, where late = 1 AND delay &gt; 5: epsilon 0.25" in text
    assert "<details open><summary>Or an expression</summary>" in text
    (place,) = re.findall(r'src="([^"]*sketch[.]svg[^"]*)"', text)
    status, sketch = ann.get(unescape(place))
    assert (status, "made-up data" in sketch) == (200, True)
    assert "where late = 1" in unescape(re.sub("<[^>]+>", "", sketch))
    status, text, _ = ann.post(HERE, **{**typed, "share_of_rows": "0.25"})
    relative = [re.findall(r'<td class="number">([\d.]+)%</td>', page) for page in (text, ann.post(HERE, **typed)[1])]
    assert status == 200
    assert float(relative[0][0]) == pytest.approx(4 * float(relative[1][0]), abs=1e-3)
    assert "Share of the rows that pass" in text
    (place,) = re.findall(r'src="([^"]*sketch[.]svg[^"]*)"', text)
    sketch = " ".join(re.sub("<[^>]+>", " ", unescape(ann.get(unescape(place))[1])).split())
    assert "where late = 1 AND delay > 5, as if a share of 0.25 of the rows passed" in sketch
    assert "passes the filter" not in sketch
    (place,) = re.findall(r'src="([^"]*sketch[.]svg[^"]*)"', ann.post(HERE, **{**PLAN, "share_of_rows": "0.25"})[1])
    sketch = " ".join(re.sub("<[^>]+>", " ", ann.get(unescape(place))[1]).split())
    assert "where a share of 0.25 of the rows passes" in sketch
    status, text, place = ann.post("/projects/delays/ask/cdf", **{"column.expression": "delay * 2", "amount": "0.25"})
    assert "distribution function of delay * 2" in unescape(text)
    for field, wrong, rule in (
        ("share_of_rows", "1.5", f"{SHARE}, got '1.5'"),
        ("share_of_rows", "a tenth", f"{SHARE}, got 'a tenth'"),
        ("where", "dely > 5", "Which rows?: 'flights' declares no column 'dely'; the nearest is 'delay'"),
        ("where", "late > 'x'", "Which rows?: late > 'x': "),
        ("where", "delay > 5 LIMIT 3", "Which rows?: "),
        ("column-expression", "dely / 2", "Column: 'flights' declares no column 'dely'; the nearest is 'delay'"),
        ("column-expression", "lower(delay)", "Column: delay: "),
        ("column-expression", "delay / (2", "Column: "),
        ("column-expression", "random() * delay", "Column: "),
    ):  # fmt: skip
        status, text, _ = ann.post(f"{HERE}/plan", **{**PLAN, "column": "delay", field.replace("-", "."): wrong})
        message = unescape(re.findall(r'data-wrong="([^"]*)"><p>(.*?)</p>', text)[0][1])
        assert re.findall(r'data-wrong="([^"]*)"', text) == [field], text
        assert re.sub("<[^>]+>|\u2068|\u2069", "", message).startswith(rule), message


def test_a_stored_view_is_read_before_it_is_paid_and_written_into_the_question(site: Pages) -> None:
    """In the form and the API: derived columns are offered, and a view that is replaced later changes no plan."""
    ledger, ann, questions = site.scene.gate.archive.ledger, site.browser("ann"), site.scene.gate.questions
    delayed = View("delayed", "delay > 15")
    doubled = View("doubled", "late = 1", {"twice": "delay * 2", "lost": "carrier"}, delayed)
    assert "f-view" not in ann.get(HERE)[1]
    for view in (delayed, doubled):
        ledger.change_view("flights", define_view(view))
    for path in (HERE, "/datasets/flights"):
        page = unescape(re.sub("</?bdi>|\u2068|\u2069", "", ann.get(path)[1]))
        assert "<dt>doubled, on delayed</dt>" in page
        assert "<code>late = 1</code><br>twice = <code>delay * 2</code>" in page
    form = ann.get(HERE)[1]
    assert ['value="twice"' in form, 'value="lost"' in form] == [True, False]  # the schema declares no carrier
    typed = {"view": "doubled", "column": "twice", "grid": "0:1200:6", "amount": "0.25", "where": "twice < 90"}
    words = "histogram of delay * 2, where delay > 15 AND late = 1 AND delay * 2 < 90: epsilon 0.25"
    status, text, _ = ann.post(HERE, do="plan", **typed)
    assert (status, words in unescape(text)) == (200, True)
    (place,) = re.findall(r'src="([^"]*sketch[.]svg[^"]*)"', text)
    assert ann.get(unescape(place))[0] == 200
    question = {"ask": "histogram", "column": "twice", "grid": "0:1200:6", "where": "twice < 90", "view": "doubled"}
    planned = questions.plan(site.scene.ann, "delays", question, LOSS)
    full_text = {**question, "column": "delay * 2", "where": planned.question.where}
    del full_text["view"]
    assert questions.plan(site.scene.ann, "delays", full_text, LOSS).id == planned.id
    automatic = ann.post(HERE, **{**typed, "grid": ""})[1]
    assert "histogram of delay * 2, no range given, where" in automatic
    for changed, field, rule in (
        ({"view": "other"}, "view", "View: 'other' is not the name of a view; views: delayed, doubled"),
        ({"view": ""}, "view", "View: 'twice' is a column of the view 'doubled'; choose that view"),
        ({"column": "lost"}, "column", "Column: 'flights' declares no column 'carrier'"),
    ):
        text = ann.post(f"{HERE}/plan", **{**typed, **changed})[1]
        ((wrong, message),) = re.findall(r'data-wrong="([^"]*)"><p>(.*?)</p>', text)
        shown = re.sub("<[^>]+>|\u2068|\u2069", "", unescape(message))
        assert (wrong, shown.startswith(rule)) == (field, True), shown
    ledger.change_view("flights", define_view(View("delayed", "delay > 30"), may_replace=True))
    status, text, _ = ann.post(HERE, do="ask", seen=words, **typed)
    assert (status, "where delay &gt; 30 AND" in text) == (200, True)  # planned anew, and not paid
    assert questions.plan(site.scene.ann, "delays", question, LOSS).id != planned.id
