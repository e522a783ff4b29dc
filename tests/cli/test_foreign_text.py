"""Text of other machines and files on terminals, in logs, on pages and in pictures: a sweep over all that show it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import dpcurves as dp
from dpcurves.arguments import ProtocolError
from dpcurves.cli.terminal import describe_error, make_console, print_to_console, show_spinner
from dpcurves.display import headless_axes, html_summary, svg_text
from dpcurves.foreign_text import LONGEST_LINE, escape_for_terminal, is_hidden
from dpcurves_parties.serving.channel import Channel
from dpcurves_parties.serving.monitoring import JSON, PLAIN, Log

Run = Callable[..., Result]
HOSTILE = {
    "escape": "\x1b[2K\x1b[1A\x1b[30;40mprice: epsilon 0.001",
    "one-byte escape": "\x9b2Jgone",
    "return": "true\rfalse",
    "line": "refused\nprice: epsilon 0.001 in total\nanswer? yes or no: ",
    "line of Unicode": "refused\u2028price: epsilon 0.001\x85more",
    "bell": "\x07\x08\x08\x00\x7f",
    "right to left": "safe\u202egpj.exe\u2066\u200f",
    "zero width": "a\u200bb\u200dc\ufeffd\u2060e\u00adf",
    "ignorable": "a\u3164b\u115fc\u180bd\u034fe\ufe0f",
    "tags": "a\U000e0041\U000e007f",
    "million": "x" * 10**6,
    "million of two cells": "\u200b" * 10**6,
}
NAMES = (
    "\u05d3\u05e0\u05d4",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "\U0001f468\u200d\U0001f469",
    "Zo\u00eb",
)
"""Names that must survive: Hebrew, Persian with a zero-width non-joiner, a joined emoji, Latin with a diaeresis."""


PAGE = Path(__file__).parents[2] / "docs" / "simulation.md"


def format_sweep() -> str:
    """Return the table of docs/simulation.md: each text as a terminal shows it. As a program, this prints it."""
    rows = [f"| {name} | `{escape_for_terminal(text, most=40)}` |\n" for name, text in HOSTILE.items()]
    return "| text | as a terminal shows it |\n|---|---|\n" + "".join(rows)


def test_the_table_of_the_sweep_is_that_of_the_page() -> None:
    assert format_sweep() in PAGE.read_text()


def assert_is_plain(output: str, lines: int | None = None) -> None:
    """Every character of the output is visible, and no line is longer than a screen."""
    assert [character for character in output if character != "\n" and is_hidden(character)] == []
    assert all(len(line) <= 12 * LONGEST_LINE for line in output.split("\n"))
    assert lines is None or output.rstrip("\n").count("\n") + 1 == lines, output[:500]


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
class TestTerminals:
    def test_lines_of_consoles_and_of_errors_are_one_line(self, text: str, capsys: Any) -> None:
        print_to_console(make_console(), f"it says {text}")
        print_to_console(make_console(stderr=True), f"it says {text}")
        with show_spinner(text):
            captured = capsys.readouterr()
        assert_is_plain(captured.out, lines=1)
        assert_is_plain(captured.err, lines=1)
        assert_is_plain(describe_error(ProtocolError.from_error_line(text, 502)).line, lines=1)
        assert len(describe_error(ProtocolError.from_error_line(text, 502)).line) < LONGEST_LINE

    def test_tables_and_progress_are_plain_whatever_their_cells(self, text: str, capsys: Any) -> None:
        from rich.table import Table
        from rich.text import Text

        table = Table("name", title=text[:1000], caption=text[:1000])
        table.add_row(text[:1000])
        table.add_row(Text(text[:1000]))
        print_to_console(make_console(), table)
        assert_is_plain(capsys.readouterr().out)

    @pytest.mark.parametrize("line_format", [PLAIN, JSON])
    def test_logs_of_servers_have_one_line_a_fault(self, text: str, line_format: str, capsys: Any) -> None:
        Log(line_format).log_fault(text)
        assert_is_plain(capsys.readouterr().err, lines=1)

    def test_what_a_peer_says_is_no_line_of_a_site(self, text: str) -> None:
        from dpcurves_sites.remote import RoundOver, SiteAgent

        lines: list[str] = []
        agent = SiteAgent.__new__(SiteAgent)
        agent._tell = lines.append
        agent._task = None  # type: ignore[assignment]

        class Lying:
            def post(self, path: str, body: bytes) -> bytes:
                raise RoundOver("site 'b'", text, 410)

        def fail(*_: object) -> None:
            raise RoundOver("site 'b'", text, 410)

        agent._line = Lying()  # type: ignore[assignment]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dpcurves_sites.remote.RoundRequest.from_signed_bytes", fail)
            patch.setattr("dpcurves_sites.remote.sleep", lambda seconds: None)
            agent._answer_request(b"question")
        assert len(lines) == 1
        assert lines[0].startswith("round over; the coordinator says: ")
        assert_is_plain(lines[0], lines=1)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[int, Any]]:
    """Answers of all servers: a status and a JSON object by the end of a path; a refusal for any other path."""
    replies: dict[str, tuple[int, Any]] = {}

    def send(self: Channel, method: str, path: str, body: bytes, headers: object) -> tuple[int, bytes]:
        matches = [reply for end, reply in replies.items() if path.endswith(end)]
        status, content = matches[0] if matches else replies[""]
        return status, json.dumps(content).encode()

    monkeypatch.setattr(Channel, "_send_with_retry", send)
    return replies


@pytest.fixture
def hostile_files(run: Run, tmp_path: Path) -> Callable[[str], list[tuple[str, ...]]]:
    """Commands that read documents and talk to servers, whose names contain a text."""

    def make(text: str) -> list[tuple[str, ...]]:
        identity = run("task", "identity", tmp_path / "hub", "--url", "https://127.0.0.1:9")
        assert identity.exit_code == 0, identity.output
        sites = []
        for number in range(3):
            folder = tmp_path / f"site-{number}"
            assert run("federation", "join", folder, "--name", "a").exit_code == 0
            facts = json.loads((folder / "site.json").read_text())
            (folder / "site.json").write_text(json.dumps({**facts, "name": f"{text[:50_000]}{number}"}))
            sites.append(str(folder / "site.json"))
        task, tickets = str(tmp_path / "task.json"), tmp_path / "tickets"
        found = run(
            "federation", "create", "--sites", ",".join(sites), "--coordinator", tmp_path / "hub" / "server.json",
            "--out", task, "--tickets", tickets, "--collusion-threshold", 1, "--adjacency", "add-remove",
            "--epsilon", 4,
        )  # fmt: skip
        assert found.exit_code == 0, found.output
        assert_is_plain(found.output)
        asking = ("--column", "age", "--grid", "0:100:4", "--epsilon", "1")
        return [
            ("federation", "status", "--task", task),
            ("federation", "plan", "histogram", "--task", task, *asking),
            ("federation", "ask", "histogram", "--task", task, "--ticket", str(tickets / "analyst-1"), *asking),
        ]

    return make


@pytest.mark.parametrize("name", ["escape", "line", "right to left", "zero width", "million"])
def test_federations_show_names_of_sites_and_refusals_plainly(
    name: str, run: Run, answers: dict[str, tuple[int, Any]], hostile_files: Callable[[str], list[tuple[str, ...]]]
) -> None:
    text = HOSTILE[name]
    commands = hostile_files(text)
    answers[""] = 403, {"error": text}
    for command in commands:
        assert_is_plain(run(*command).output)
    answers[""] = 200, {"signed": [text], "sites": text}
    assert_is_plain(run(*commands[0]).output)


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("name", HOSTILE)
def test_clients_of_a_server_show_its_names_and_refusals_plainly(
    name: str, run: Run, answers: dict[str, tuple[int, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = HOSTILE[name]
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "dpcurves"
    folder.mkdir()
    (folder / "remote.json").write_text(json.dumps({"url": "https://127.0.0.1:9", "token": "t", "ca": None}))
    dataset = {
        "name": text, "version": text, "columns": [{"column": text}], "cap": {"currency": text, "amount": text},
        "unit": text, "rows_per_unit": 1, "adjacency": "add-remove", "units": None,
    }  # fmt: skip
    release = {"id": text, "purpose": text, "loss": {"epsilon": text, "rho": None}, "asked_at": text}
    model = tmp_path / "model.json"
    model.write_text('{"predictor": "scorecard"}')
    asking = ("--column", "age", "--grid", "0:100:4", "--epsilon", "1")
    commands = (
        ("datasets",), ("releases",), ("model", model), ("export", text[:50] or "a", "--out", tmp_path / "a.json"),
        ("plan", "histogram", *asking), ("ask", "histogram", *asking),
    )  # fmt: skip
    answers |= {
        "/me": (200, {"projects": ["p"]}), "/projects/p": (200, {"dataset": "d"}), "/datasets/d": (200, dataset),
        "/datasets": (200, [dataset]), "/releases": (200, [release]), "": (409, {"error": text}),
        "/questions": (200, {"id": "q"}), "/questions/q": (200, {"state": "refused", "refusal": text}),
        "/statement": (200, {"left": {"left": {"currency": "epsilon", "amount": "1"}}}),
    }  # fmt: skip
    for command in commands:
        assert_is_plain(run("remote", *command).output)
    answers.clear()
    answers[""] = 401, {"error": text}
    for command in commands:
        assert_is_plain(run("remote", *command).output)


@pytest.mark.parametrize("name", [name for name in HOSTILE if not name.startswith("million")])
def test_released_files_and_file_names_are_shown_plainly(name: str, run: Run, tmp_path: Path) -> None:
    text = HOSTILE[name].replace("\x00", "").replace("/", "")
    table = tmp_path / "table.csv"
    table.write_text("fare,ward\n" + "1,a\n2,b\n" * 20, encoding="utf-8")
    written = tmp_path / "curve.json"
    asked = run(
        "histogram", table, "--column", "fare", "--by", "ward=a,b", "--grid", "0:4:2", "--adjacency", "add-remove",
        "--epsilon", 1, "--json", written,
    )  # fmt: skip
    assert asked.exit_code == 0, asked.output
    document = json.loads(written.read_text())
    hostile = tmp_path / f"curve{text[:60]}.json"
    hostile.write_text(json.dumps(_replace_texts(document, text)))
    assert_is_plain(run("show", hostile).output)
    assert_is_plain(run("show", tmp_path / f"missing{text[:60]}.json").output)
    assert_is_plain(run("histogram", table, "--column", text, "--grid", "0:4:2", "--epsilon", 1).output)


def _replace_texts(value: Any, text: str) -> Any:
    """Return a document whose label ``a`` and column names are replaced by a text."""
    if isinstance(value, dict):
        return {name: _replace_texts(item, text) for name, item in value.items()}
    if isinstance(value, list):
        return [_replace_texts(item, text) for item in value]
    return text if value in ("a", "ward", "fare") else value


def _texts_in(value: Any) -> list[str]:
    """Return all texts of a JSON document."""
    if isinstance(value, dict):
        return [*value, *(text for item in value.values() for text in _texts_in(item))]
    if isinstance(value, list):
        return [text for item in value for text in _texts_in(item)]
    return [str(value)]


class _TextOutsideIsolation(HTMLParser):
    """Collects the text of a page that no ``<bdi>`` isolates."""

    def __init__(self) -> None:
        super().__init__()
        self.depth, self.outside = 0, ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.depth += tag in ("bdi", "title", "svg")

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag in ("bdi", "title", "svg")

    def handle_data(self, data: str) -> None:
        self.outside += "" if self.depth else data


def text_outside_isolation(page: str) -> str:
    """Return the text of a page that no ``<bdi>`` isolates."""
    parser = _TextOutsideIsolation()
    parser.feed(page)
    return parser.outside


@pytest.mark.filterwarnings("ignore:Glyph")  # the font of pictures has no emoji; the SVG has their text
@pytest.mark.parametrize("name", NAMES)
def test_names_of_all_scripts_survive_in_files_and_are_isolated_on_pages_and_in_pictures(
    name: str, tmp_path: Path
) -> None:
    curve = dp.contingency(
        [name, "b"] * 50, ["c", "d"] * 50, row_categories=(name, "b"), column_categories=("c", "d"), epsilon=10,
        adjacency=dp.ADD_REMOVE,
    )  # fmt: skip
    assert name in "".join(_texts_in(json.loads(curve.to_json())))
    assert name in curve.to_csv_text()
    page, svg = html_summary(name, "", [(name, name)], curve.privacy, name), svg_text(curve.plot(ax=headless_axes()))
    assert name in page
    assert name in svg
    assert all('unicode-bidi="isolate"' in tag for tag in re.findall(r"<text[^>]*>", svg))
    if name != "Zo\u00eb":
        assert page.count(f"<bdi>{name}</bdi>") == 4
        assert name not in text_outside_isolation(page)


def test_an_escape_shows_which_characters_were_hidden() -> None:
    assert escape_for_terminal("a\x1b[0m\r\x07\u202e\u200b\nb") == "a\\x1b[0m\\r\\x07\\u202e\\u200b\\nb"
    assert escape_for_terminal("C:\\new \u4e09\u3000Zo\u00eb") == "C:\\new \u4e09 Zo\u00eb"


if __name__ == "__main__":
    print(format_sweep(), end="")
