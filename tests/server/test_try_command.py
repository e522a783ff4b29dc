"""`dpcurves try`: its guards, its form of columns, questions from their needed fields, and the published answer."""

from __future__ import annotations

import html
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from opened_table import FORMS, Opened
from rich.console import Console

from dpcurves.cli.app import build
from dpcurves.curves.view import View, define_view
from dpcurves.expressions.checked import NO_HEADER
from dpcurves.models.terms import NumericColumn
from dpcurves.privacy import PrivacyLoss
from dpcurves_server import MACHINE
from dpcurves_server.form_inputs import AUTOMATIC_RANGE_QUESTIONS, InputKind, build_inputs, complete_fields
from dpcurves_server.local_app import LocalAccess
from dpcurves_server.local_table import LedgerLock, open_local_table
from dpcurves_server.pages.local_pages import LOCAL_PAGES
from dpcurves_server.worker import Worker

ROWS = 400


NUMBERS = {
    "age": ("0", "100"), "income": ("0", "100000"), "time": ("0", "10"), "entry": ("0", "5"), "later": ("0", "10"),
    "score": ("0", "1"), "second": ("0", "1"), "predicted": ("0", "1"), "residual": ("-1", "1"),
    "error1": ("-1", "1"), "error2": ("-1", "1"),
}  # fmt: skip
CATEGORIES = {"sex": "f,m", "died": "0,1", "treated": "0,1", "cause": "0,1,2", "grade": "a,b,c"}
COLUMNS = {
    **{name: {"use": "numbers", "lower": lower, "upper": upper} for name, (lower, upper) in NUMBERS.items()},
    **{name: {"use": "categories", "values": values} for name, values in CATEGORIES.items()},
}


def write_people(folder: Path, rows: int = ROWS, delimiter: str = ",", name: str = "people.csv") -> Path:
    """Write a CSV table with a column for each field that a question needs."""
    draws = np.random.default_rng(3)
    columns: dict[str, Any] = {
        name: draws.uniform(float(low), float(high), rows) for name, (low, high) in NUMBERS.items()
    }
    columns |= {name: draws.choice(values.split(","), rows) for name, values in CATEGORIES.items()}
    lines = [delimiter.join(columns), *(delimiter.join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """The table of people, registered."""
    opened = Opened(write_people(tmp_path_factory.mktemp("try")))
    assert opened.declare(COLUMNS, "1000,0").status == 303
    yield opened
    opened.services.questions.planner.stop()
    opened.services.studio.stop()


def test_a_question_goes_from_the_form_to_a_published_folder(opened: Opened) -> None:
    answer = opened.ask("cdf", {"column": "age", "grid.cells": "50", "amount": "0,5"})
    assert "distribution function of age" in answer.text
    assert "epsilon 0.5" in answer.text
    release = re.search(r'action="(/releases/[0-9a-f]+)"', answer.text)
    assert release is not None
    published = opened.post(release[1], {"folder": "ages"})
    assert "Published in the folder" in published.text
    assert "in place of" not in published.text
    assert "in place of what was published there before" in opened.post(release[1], {"folder": "ages"}).text
    assert {"index.html", "PRIVACY.txt"} <= {path.name for path in (opened.table.path.parent / "ages").iterdir()}


@pytest.mark.reproduction
def test_files_and_the_published_folder_are_in_the_chosen_language(opened: Opened) -> None:
    answer = opened.ask("cdf", {"column": "age", "grid.cells": "50", "amount": "0.5"})
    release = re.findall(r'action="(/releases/[0-9a-f]+)"', answer.text)[0]
    assert '<option value="en" selected>' in answer.text
    assert '<option value="fr" selected>' in opened.get(release, accept_language="pt;q=0.9, fr-CA, en;q=0.5").text
    for ending, start in (("pdf", b"%PDF"), ("png", b"\x89PNG"), ("xlsx", b"PK"), ("csv", b"x,")):
        assert opened.get(f"{release}/export.{ending}?language=es").body.startswith(start), ending
    words = {"en": "share of records below", "de": "Anteil der Datensätze darunter"}
    for ending in ("svg", "html"):
        for language in words:
            text = opened.get(f"{release}/export.{ending}?language={language}").text
            assert [word in text for word in words.values()] == [code == language for code in words], (ending, language)
    assert opened.get(f"{release}/export.html?language=de").text.startswith('<!doctype html>\n<html lang="de">')
    statement = opened.get(f"{release}/export.txt?language=es").text
    assert statement.startswith("Privacidad de estos resultados")
    assert "0,5" in statement
    assert opened.get(f"{release}/export.txt").text.startswith("Privacy of these results")
    cells = opened.get(f"{release}/notebook.ipynb?language=fr").json["cells"]
    assert "La deuxième cellule" in "".join(cells[0]["source"])
    assert cells[-1]["source"][0] == 'with dp.use_language("fr"):\n'
    published = opened.post(release, {"folder": "alter", "language": "de"})
    assert '<option value="de" selected>' in published.text
    folder = opened.table.path.parent / "alter"
    assert (folder / "PRIVACY.txt").read_text().startswith("Schutz der Privatsphäre bei diesen Ergebnissen")
    for page in ((folder / "index.html").read_text(), opened.get(f"{release}/export.html?language=de").text):
        assert "<title>Verteilungsfunktion von age" in page or "<title>Verteilung von age" in page
    assert "<title>Distribution of age" in opened.get(f"{release}/export.html").text
    opened.post(release, {"folder": "age"})
    assert "<h1>Distribution of age" in (opened.table.path.parent / "age" / "index.html").read_text()
    for path in (f"{release}/export.html?language=tlh", f"{release}/notebook.ipynb?language=../de"):
        refused = opened.get(path)
        assert refused.status == 400
        assert "use one of en, de, fr, es" in refused.text.lower()


def test_the_language_of_the_command_is_proposed_for_all_files(tmp_path: Path) -> None:
    opened = Opened(write_people(tmp_path), language="de")
    assert opened.declare({"age": COLUMNS["age"]}).status == 303
    answer = opened.ask("count", {"amount": "0.5"})
    assert answer.text.count('<option value="de" selected>') == 2
    with pytest.raises(SystemExit) as ending:
        build(["try"]).main(["try", "people.csv", "--language", "tlh"])
    assert ending.value.code == 2


def test_the_token_is_exchanged_for_a_cookie_in_any_browser(opened: Opened) -> None:
    bare = {"cookie": ""}
    for _ in range(2):  # a second browser is let in, too
        answer = opened.get(f"/?token={opened.access.token}", **bare)
        assert (answer.status, 'content="0; url=/"' in answer.text) == (200, True)
        (cookie, *flags) = answer.headers["set-cookie"].split("; ")
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(flags)
        assert opened.get("/", cookie=cookie).status == 200
    assert opened.access.token not in cookie
    for path in ("/", "/?token=", "/?token=wrong", f"/columns?token={opened.access.token}", "/static/style.css"):
        assert opened.get(path, **bare).status == 403
    for cookie in ("", f"{opened.access.cookie_name}=wrong", f"{opened.access.cookie_name}={opened.access.token}"):
        assert opened.get("/", cookie=cookie).status == 403
    assert opened.send("HEAD", f"/?token={opened.access.token}", cookie="", origin="").status == 403


@pytest.mark.parametrize("host", ["localhost:8888", "evil.example:8888", "127.0.0.1", "127.0.0.1:8889", "127.1:8888"])
def test_another_host_is_refused_even_with_the_cookie_and_the_token(opened: Opened, host: str) -> None:
    assert opened.get("/", host=host).status == 403
    answer = opened.get(f"/?token={opened.access.token}", host=host, cookie="")
    assert answer.status == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("origin", [
    "http://evil.example", "http://127.0.0.1:8889", "http://localhost:8888", "https://127.0.0.1:8888", "null", "",
])  # fmt: skip
def test_a_form_of_another_site_is_refused_even_with_the_cookie_and_its_token(opened: Opened, origin: str) -> None:
    before = opened.charges
    question = {"column": "age", "grid.cells": "9", "amount": "0.1", "do": "ask"}
    for extra in ({}, {"sec-fetch-site": "same-origin"}, {"authorization": "Bearer x"}):
        sent = opened.post("/projects/people/ask/cdf", question, origin=origin, **extra)
        assert sent.status == 403
    assert opened.send("POST", "/projects/people/ask/cdf", {**question, "csrf": "wrong"}).status == 403
    if origin:
        assert opened.send("GET", "/", origin=origin).status == 403
    while opened.worker.work_once():
        pass
    assert opened.charges == before


def test_no_address_that_is_read_charges_anything(opened: Opened) -> None:
    answer = opened.ask("count", {"amount": "0.1"})
    release = re.search(r"/releases/([0-9a-f]{64})", answer.text)
    assert release is not None
    before = opened.charges
    values = {"project": "people", "word": "cdf", "question": release[1], "release": release[1], "ending": "json"}
    for page in LOCAL_PAGES:
        path = page.path.format(**values)
        amount = "" if "sketch" in path else "0.3"  # a sketch would be drawn by another process
        query = f"?column=age&grid.cells=9&amount={amount}&do=ask&seen=&of={release[1]}"
        for method in ("GET", "HEAD"):
            assert opened.send(method, path + query, origin="").status in (200, 303, 400, 404, 405), (method, path)
    while opened.worker.work_once():
        pass
    assert opened.charges == before
    assert {page.method for page in LOCAL_PAGES if "plan" not in page.path} == {"GET", "POST"}


def test_the_token_is_no_argument_of_the_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All users of a machine see the arguments of its programs; the page that goes on is its owner's."""
    path, opened, lines = write_people(tmp_path), list[str](), list[str]()

    def look(table: Any, _: Any, __: Any, ready: Any, ____: Any) -> None:
        """Announce the app, look at the page while it runs, and end."""
        access = LocalAccess(8888)
        ready(access)
        page = table.ledger_path.with_name("people.csv.dpcurves-ledger.open.html")
        assert page.stat().st_mode & 0o077 == 0
        lines.append(page.read_text())
        assert access.address in lines[0]
        assert opened == [page.as_uri()]
        raise KeyboardInterrupt

    class Direct:
        """A thread that runs at once."""

        def __init__(self, target: Any, args: Any, daemon: bool) -> None:
            self.start = lambda: target(*args)

    terminal = Console(file=StringIO(), force_terminal=True, highlight=False, width=200)
    monkeypatch.setattr("dpcurves_server.cli.try_command.make_console", lambda: terminal)
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("threading.Thread", Direct)
    monkeypatch.setattr("dpcurves_server.local_app.serve_local_table", look)
    words = ["try", str(path)]
    with pytest.raises(SystemExit) as ending:
        build(words).main(words)
    assert (ending.value.code, len(lines)) == (0, 1)
    assert cast("StringIO", terminal.file).getvalue().startswith("Opening people.csv ...\n")
    assert not list(tmp_path.glob("*.html"))


@contextmanager
def start(path: Path) -> Iterator[tuple[Any, str]]:
    """Start the command in a process, which is killed at the end; yield it with its first line."""
    with subprocess.Popen(
        [sys.executable, "-m", "dpcurves.cli", "try", str(path), "--no-browser"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        try:
            yield process, process.stdout.readline() if process.stdout else ""
        finally:
            process.kill()


HOLD = """
import sys
from dpcurves_server.local_table import LedgerLock, open_local_table
lock = LedgerLock(open_local_table(sys.argv[1]))
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_second_process_is_refused_and_an_ended_or_killed_one_loses_nothing(tmp_path: Path) -> None:
    path = write_people(tmp_path)
    before = Opened(path)
    before.declare({"age": COLUMNS["age"]}, "1")
    before.ask("count", {"amount": "0.25"})
    link = tmp_path / "link.csv"
    link.symlink_to(path)
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        with start(link) as (second, refusal):
            assert "data: another dpcurves try has 'people.csv' open; use its window, or stop it with" in refusal
            assert second.wait(60) == 4
        holder.kill()
    with start(path) as (process, line):
        assert "people.csv is open at http://127.0.0.1:" in line
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        ending = "ended; what was spent stands in people.csv.dpcurves-ledger, for the next start"
        assert process.stdout.read().splitlines() == ["Ctrl-C ends this.", ending]
    after = Opened(path)
    assert after.charges == 1
    assert "epsilon 0.75 is left" in re.sub("<[^>]+>", "", after.get("/").text)


def test_the_copies_of_an_answer_ask_the_same_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python, command and notebook, of a table with semicolons, decimal commas and several rows of a person."""
    path = write_people(tmp_path, delimiter=";", name="rows of people.csv")
    path.write_text(path.read_text().replace(".", ","))
    opened = Opened(path)
    facts = {name: COLUMNS[name] for name in ("age", "sex")}
    assert opened.declare(facts, "5", decimal=",", unit="sex", rows_per_unit="40").status == 303
    ledger, account = opened.services.archive.ledger, opened.table.name
    ledger.change_view(account, define_view(View("women", "sex = 'f'", {"half": "age / 2"})))
    fields = {
        "view": "women", "column": "half", "grid.cells": "9", "grid.lower": "0", "grid.upper": "90", "by": ["sex"],
        "where": "age > 3.5",
    }  # fmt: skip
    answer = opened.ask("cdf", {**fields, "amount": "0.5"})
    codes = {
        name: html.unescape(text) for name, text in re.findall(r'<code id="(\w+)">(.*?)</code>', answer.text, re.S)
    }
    assert 'dp.CdfQuestion(\n    "age / 2",\n    dp.Grid(0, 90, cells=9)' in codes["python"]
    monkeypatch.chdir("/")
    exec(codes["python"], {})
    words = shlex.split(codes["command"].replace("\\\n", ""))[1:]  # as a shell joins lines
    with pytest.raises(SystemExit) as ending:
        build(words).main(words)
    assert ending.value.code == 0
    notebook = opened.get(re.findall(r'"(/releases/[^"]*ipynb)"', answer.text)[0]).json
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    scope: dict[str, Any] = {}
    exec("\n".join(cells), scope)
    assert scope["curve"].privacy.rows_per_unit == 40
    grants = opened.services.archive.ledger.statement(opened.table.name).grants
    assert len({grant.purpose for grant in grants}) == 1
    assert [grant.loss for grant in grants] == [PrivacyLoss.pure("0.5")] * 4
    assert grants[0].purpose.endswith("where sex = 'f' AND age > 3.5")
    release = re.findall(r'action="(/releases/[0-9a-f]+)"', answer.text)[0]
    assert [" --view women" in opened.get(release).text, 'id="command"' in opened.get(release).text] == [True, True]
    ledger.change_view(account, define_view(View("women", "sex = 'm'"), may_replace=True))
    assert 'id="command"' not in opened.get(release).text  # the view means something else now


@pytest.mark.parametrize("typed", ["a;b;c", "a; b", "a|b", ",", "  ,"])
def test_a_list_of_categories_with_other_separators_is_refused(tmp_path: Path, typed: str) -> None:
    """A single category of that name would count all records as other."""
    opened = Opened(write_people(tmp_path))
    refused = opened.declare({"grade": {"use": "categories", "values": typed}})
    assert refused.status == 400
    assert "with commas between them" in refused.text
    assert opened.declare({"grade": {"use": "categories", "values": "a;b,c"}}).status == 303


@pytest.mark.parametrize(("decimal", "typed", "number"), [
    (",", "200.000", None), (",", "1.200.000", None), (".", "1,000", None), (".", "-12,500", None),
    (",", "0.125", 0.125), (",", "1234.5", 1234.5), (",", "0,5", 0.5), (".", "0,125", 0.125), (".", "200.000", 200),
])  # fmt: skip
def test_a_separator_of_thousands_is_no_decimal_sign(
    tmp_path: Path, decimal: str, typed: str, number: float | None
) -> None:
    """A range a thousand times too narrow would clip nearly all values, and no answer would tell."""
    path = tmp_path / "incomes.csv"
    path.write_text("income;age\n" + "1,5;3\n" * 50)
    opened = Opened(path)
    declared = {"income": {"use": "numbers", "lower": "-20000", "upper": typed}}
    heard = opened.declare(declared, decimal=decimal, unit="one row")
    if number is None:
        assert heard.status == 400
        assert 'id="upper-0-wrong"' in heard.text
        assert f"ype {re.sub('[.,]', '', typed)}, with no separator between thousands" in heard.text
    else:
        assert heard.status == 303
        (column,) = opened.services.datasets.get(MACHINE, "incomes").columns
        assert isinstance(column, NumericColumn)
        assert column.upper == number


def test_the_form_asks_what_no_header_can_tell(tmp_path: Path) -> None:
    """How two classes are spelled, and whether a person has several rows; each message stands at its field."""
    path = tmp_path / "stays.csv"
    path.write_text("ward,patientId,Died\n" + "x,1,yes\n" * 200)
    opened = Opened(path)
    page = opened.get("/").text
    field = re.findall(r'<input id="values-2"[^>]*>', page)[0]
    assert 'value=""' in field
    assert 'list="spellings"' in field
    assert {"0,1", "no,yes", "FALSE,TRUE", "N,Y"} <= {*re.findall(r'<option value="([^"]*,[^"]*)">', page)}
    assert re.findall(r'<select id="unit"[^>]* required>', page)
    died = {"Died": {"use": "categories", "values": "no,yes"}}
    for unit, amount, name in (("", "1", "unit"), ("patientId", "", "amount"), ("one row", "x", "amount")):
        refused = opened.declare(died, amount, unit=unit)
        assert refused.status == 400
        assert f'id="{name}-wrong"' in refused.text
        assert not unit or f'<option value="{unit}" selected>' in refused.text
    died["ward"] = {"use": "categories", "values": ""}
    assert opened.declare(died, "1", unit="one row").status == 303
    form = opened.get("/projects/stays/ask/contingency").text
    assert form.count("Not offered, because its categories are not listed: ward.") == 2
    assert "Not offered" not in opened.get("/projects/stays/ask/cdf").text
    answer = opened.ask("bars", {"column": "Died", "amount": "1"})
    assert "protects each record" in answer.text
    assert "unit" not in re.findall(r'<code id="python">(.*?)</code>', answer.text, re.S)[0]


def test_medians_and_shares_are_read_off_an_answer(opened: Opened) -> None:
    """Age is uniform on [0, 100]: at epsilon 100 its quantiles and shares are those of the sample, within 10 of 100."""
    answer = opened.ask("cdf", {"column": "age", "grid.cells": "50", "by": ["sex"], "amount": "100"})
    release = re.findall(r'action="(/releases/[0-9a-f]+)"', answer.text)[0]
    before = opened.charges
    for query, words, expected in (("share=0.5", "median", 50), ("above=30", "share at or above 30", 0.7)):
        facts = re.findall(r'<dl class="facts" id="readings">(.*?)</dl>', opened.get(f"{release}?{query}").text)[0]
        assert re.findall("<dt>(.*?)</dt>", facts) == [f"f: {words}", f"m: {words}"]
        for value in re.findall("<dd>(.*?)</dd>", facts):
            number, lower, upper = map(float, re.findall(r"(?<![a-z%])\d+\.?\d*(?!%)", value.replace("95%", "")))
            assert lower <= number <= upper
            assert abs(number - expected) < expected / 5
    texts = [opened.get(f"{release}?above={typed}").text for typed in ("30,5", "30.5")]
    shares = [re.findall("<dd>(.*?)</dd>", text) for text in texts]
    assert shares[0] == shares[1] != []
    for query in ("share=1", "share=x", "above=x"):
        assert "Type a" in opened.get(f"{release}?{query}").text
    assert "type 1.250 or 1250" in opened.get(f"{release}?above=1,250").text.replace("Type", "type")
    assert opened.charges == before


@pytest.mark.reproduction
def test_columns_are_declared_anew_and_earlier_answers_stay(tmp_path: Path) -> None:
    opened = Opened(write_people(tmp_path))
    wrong = {
        "lower.0": {"use": "numbers", "lower": "x", "upper": "1"},
        "upper.0": {"use": "numbers", "lower": "2", "upper": "1"},
        "values.0": {"use": "categories", "values": ","},
        "columns": {},
        "amount": {"use": "numbers", "lower": "0", "upper": "1"},
        "rows_per_unit": {"use": "numbers", "lower": "0", "upper": "1"},
    }  # fmt: skip
    for field, facts in wrong.items():
        unit = {"unit": "sex", "rows_per_unit": "0"} if field == "rows_per_unit" else {}
        refused = opened.declare({"age": facts}, "0" if field == "amount" else "3", **unit)
        assert refused.status == 400
        assert field == "columns" or f'name="{field}"' in re.findall(r"<input[^>]*aria-invalid[^>]*>", refused.text)[0]
        assert all(f'value="{value}"' in refused.text for key, value in facts.items() if key != "use")
    assert opened.declare({"age": COLUMNS["age"]}, "3").status == 303
    opened.ask("count", {"amount": "0.5"})
    assert 'value="100"' in opened.get("/columns").text
    changed = {"use.0": "numbers", "lower.0": "-0,5", "upper.0": "1e2", "use.11": "categories", "values.11": 'f,"m, x"'}
    for _ in range(2):  # the second time nothing changes
        assert opened.post("/columns", changed).status == 303
    dataset = opened.services.datasets.get(MACHINE, opened.table.name)
    changed_columns: Any = dataset.columns
    assert (dataset.version, changed_columns[0].lower, changed_columns[1].values) == (2, -0.5, ("f", "m, x"))
    assert 'value="f,&#34;m, x&#34;"' in opened.get("/columns").text
    again = opened.ask("count", {"amount": "0.25"})
    assert 'action="/releases/' in again.text
    assert opened.charges == 2
    assert "epsilon 2.25 is left" in re.sub("<[^>]+>", "", opened.get("/").text)


EXCEL, SQLITE = b"PK\x03\x04[Content_Types].xml", b"SQLite format 3\x00"
REFUSED_FILES = {
    "missing.csv": (None, "there is no file 'missing.csv'; check the path"),
    "empty.csv": (b"", "the file 'empty.csv' is empty; give a file with a header and records"),
    "book.csv": (EXCEL, "'book.csv' is an Excel file (.xlsx); export it as CSV in UTF-8"),
    "bare.csv": (b"52,2024-01-31\n61,2024-02-01\n", NO_HEADER),
    "nameless.csv": (b"age,\n1,2\n", "a column has no name; give each column a name in the header line"),
    "twice.csv": (b"age,age\n1,2\n", "two columns have the same name; give them different names in the header line"),
    "a.duckdb": (SQLITE, "'a.duckdb' is no DuckDB database, or another program has it open; close it there"),
    "what?.csv": (
        b"age\n",
        "must be a path without ? and control characters, because the ledger is a file beside the table; rename it",
    ),
}


@pytest.mark.parametrize("name", REFUSED_FILES)
def test_a_file_that_is_no_table_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    content, line = REFUSED_FILES[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"^{re.escape('data: ' + line)}$"):
        open_local_table(str(tmp_path / name))
    assert {path.name for path in tmp_path.iterdir()} <= {name}


def test_a_folder_that_accepts_no_file_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = open_local_table(str(write_people(tmp_path)))

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("dpcurves_server.local_table.os.open", refuse)
    with pytest.raises(
        ValueError, match=r"^data: the ledger is a file beside .* 'people.csv' accepts no file .* copy the"
    ):
        LedgerLock(table)


def test_a_range_that_nobody_knows_is_found_privately_by_each_question_that_can(tmp_path: Path) -> None:
    opened = Opened(write_people(tmp_path))
    numbers = {"use": "numbers", "lower": "", "upper": ""}
    assert opened.declare({"income": numbers, "time": numbers, "died": COLUMNS["died"]}).status == 303
    columns = opened.services.datasets.get(MACHINE, opened.table.name).columns
    typed = {"column": ["income"], "time": ["time"], "score": ["income"], "event": ["died"], "label": ["died"],
             "grid.cells": ["60"]}  # fmt: skip
    ends = {
        f"{name}.{end}": ["0" if end == "lower" else "9"] for name in ("grid", "bounds") for end in ("lower", "upper")
    }
    for word in AUTOMATIC_RANGE_QUESTIONS:
        form = FORMS[word]
        fields = complete_fields(form, typed, columns)
        assert type(form.build_question(fields, {})).__name__.startswith("AutoRange")
        (ranged,) = {"grid", "bounds"} & {field.name for field in form.fields}
        assert complete_fields(form, {**typed, **ends}, columns)[ranged] in (["0:9:60"], ["0:9"])
    answer = opened.ask("cdf", {"column": "income", "grid.cells": "512", "amount": "9"})
    assert "distribution function of income" in answer.text
    assert 'value=""' in re.findall(r'<input id="lower-1"[^>]*>', opened.get("/columns").text)[0]
    refused = opened.ask("roc", {"label": "died", "score": "income", "grid.cells": "9", "amount": "1"})
    assert refused.status == 400


def test_a_table_of_many_columns_is_declared(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{number}" for number in range(600)) + "\n")
    opened = Opened(path)
    columns = {f"c{number}": {"use": "none", "lower": "", "upper": "", "values": ""} for number in range(600)}
    columns["c599"] = {"use": "categories", "lower": "", "upper": "", "values": "a,b"}
    assert opened.declare(columns).status == 303


COLUMN_OF_FIELD = {
    "column": "age", "rows": "sex", "columns": "grade", "time": "time", "event": "died", "entry": "entry",
    "last": "entry", "first": "later", "label": "died", "score": "score", "predicted": "predicted",
    "residual": "residual", "x": "age", "y": "income", "observed": "income", "treatment": "treated",
    "outcome": "died", "explained_by": "age", "coefficient": "age", "second": "second",
    "features": ["age", "income"], "scores": ["score", "second", "predicted"], "errors": ["error1", "error2"],
    "coverage": "0.9", "model": "disjoint", "quantiles": "0.1,0.9",
}  # fmt: skip
FIELDS_OF_WORD: dict[str, dict[str, Any]] = {
    "bars": {"column": "grade"}, "incidence": {"event": "cause"}, "model-pair": {"first": "score"},
    "multiclass": {"label": "grade"}, "ordinal-classes": {"label": "grade"},
}  # fmt: skip


SWIFT = frozenset({"bars", "survival", "contingency", "calibration", "mean"})
"""Questions that each run of the tests asks; `make site-check` asks all, whose plans `test_marked_fields.py` checks."""


WORDS = [pytest.param(word, marks=[] if word in SWIFT else [pytest.mark.reproduction]) for word in FORMS]


def fill_needed_fields(opened: Opened, word: str) -> dict[str, Any]:
    """The fields of a form that are marked as needed, with columns that fit them."""
    columns = opened.services.datasets.get(MACHINE, "people").columns
    needed = [item for item in chain(*build_inputs(FORMS[word], columns, ())) if item.is_required]
    known = {**COLUMN_OF_FIELD, **FIELDS_OF_WORD.get(word, {})}
    chosen = [item.field.name for item in needed if item.kind not in (InputKind.LABEL, InputKind.RANGE)]
    return {name: known.get(name, "") for name in chosen}


@pytest.mark.quick_share(5)
@pytest.mark.parametrize("word", WORDS)
def test_the_copies_of_each_question_ask_it_again(opened: Opened, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python, command and notebook run as they are, from another folder, and charge the same question."""
    monkeypatch.setattr(Worker, "_draw_next", lambda _: False)
    monkeypatch.chdir("/")
    before = opened.charges
    answer = opened.ask(word, {**fill_needed_fields(opened, word), "amount": "2"})
    codes = {
        name: html.unescape(text) for name, text in re.findall(r'<code id="(\w+)">(.*?)</code>', answer.text, re.S)
    }
    exec(codes["python"], {})
    words = shlex.split(codes["command"].replace("\\\n", ""))[1:]  # as a shell joins lines
    with pytest.raises(SystemExit) as ending:
        build(words).main(words)
    assert ending.value.code == 0
    notebook = opened.get(re.findall(r'"(/releases/[^"]*ipynb)"', answer.text)[0]).json
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    exec("\n".join(cells), {})
    grants = opened.services.archive.ledger.statement(opened.table.name).grants[before:]
    assert len(grants) == 4
    assert len({(grant.purpose, grant.loss) for grant in grants}) == 1


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("word", WORDS)
def test_each_question_is_answered_from_its_needed_fields(
    opened: Opened, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plan, charge, count and page; the picture is not drawn."""
    monkeypatch.setattr(Worker, "_draw_next", lambda _: False)
    answer = opened.ask(word, {**fill_needed_fields(opened, word), "amount": "4"})
    said = [html.unescape(line) for line in re.findall(r'class="said bad"[^>]*><p>(.*?)</p>', answer.text)]
    assert (answer.status, said) == (200, [])
    assert 'action="/releases/' in answer.text, re.findall("<p>(.*?)</p>", answer.text)[:3]


@pytest.mark.reproduction
def test_files_of_one_pattern_are_one_table(tmp_path: Path) -> None:
    for part in ("a", "b"):
        (tmp_path / f"visits-{part}.csv").write_text("age;ward\n" + "50;x\n" * 200)
    opened = Opened(tmp_path / "visits-*.csv")
    assert (opened.table.name, opened.table.source.delimiter, len(opened.table.files)) == ("visits", ";", 2)
    assert opened.declare({"age": COLUMNS["age"]}).status == 303
    count = re.findall(r'<td class="number">(\d+)', opened.ask("count", {"amount": "100"}).text)
    assert abs(int(count[0]) - 400) <= 2  # |Laplace noise| at epsilon 100 exceeds 2 with probability below exp(-200)
