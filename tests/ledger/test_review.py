"""The review sheet of a ledger: complete, open where nothing is known, and never in a published folder."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.cli.app import build
from dpcurves.foreign_text import escape_for_terminal
from dpcurves.ledger import Account, Allowance, Event, Ledger, Member
from dpcurves.privacy import EACH_RECORD, Neighbours, PrivacyLoss, Unit
from dpcurves.registry import parse_about
from dpcurves.review import REVIEW_FILE, describe_review, mark_open, write_review

NAMES = '<b>a</b> | "x"', "*a* _b_ `c` [l](u)", "- $1. a$ &amp; ~~b~~", "# x", "\\| end"
"""Names that are HTML, Markdown or the end of a cell of a table."""


def hostile_ledger() -> Ledger:
    """A ledger in which dataset, unit, project, analyst, request and question have such names."""
    ledger = Ledger.open("sqlite://")
    dataset, project, analyst, actor, column = NAMES
    ledger.create(Account(dataset, Neighbours.REPLACE_ONE, Unit(column, 3), PrivacyLoss.pure(2)))
    ledger.allow(Allowance(dataset, project, PrivacyLoss.pure(1)))
    ledger.allow(Allowance(dataset, project, PrivacyLoss.pure(1), analyst))
    member = Member(project, analyst)
    for number, loss in enumerate(("0.3", "0.25")):
        ledger.charge_for(
            member, dataset, PrivacyLoss.pure(Fraction(loss)), purpose=f"CDF of {column}\n| {number}",
            binding=f"{number}" * 64, units=1000,
        )  # fmt: skip
    ledger.charge(dataset, PrivacyLoss.pure(1), purpose="a count", request=actor, binding="a" * 64, units=1000)
    ledger.record_event(Event(actor, "approved", column, dataset), lambda connection: None)
    return ledger


def test_all_is_told_and_names_survive() -> None:
    about = parse_about(f"curators = ['{NAMES[0]}']\n[purposes]\n'{NAMES[1]}' = '''report\nto <i>all</i>'''")
    sheet = describe_review(hostile_ledger(), (), about, {})
    html = MarkdownIt("commonmark").enable("table").render(sheet)
    written = set(re.findall(r"<(\w+)", html.partition("<h2>Sources")[0]))
    assert written <= set(
        ["h1", "h2", "h3", "h4", "p", "strong", "ul", "li", "code", "table", "thead", "tbody", "tr", "th", "td"]
    )
    assert html.count("<code>") == 1  # the head of the chain
    text = unescape(re.sub(r"<[^>]*>", "", html.replace("</td>", "\n")))
    for name in (*NAMES, escape_for_terminal(f"CDF of {NAMES[4]}\n| 0"), escape_for_terminal("report\nto <i>all</i>")):
        assert name in text
    (releases, sums, events) = re.findall(r"<tbody>(.*?)</tbody>", html, re.DOTALL)
    assert [len(re.findall("<td", row)) for row in re.findall("<tr>.*?</tr>", releases, re.DOTALL)] == [10, 10, 10]
    assert [cell in unescape(releases) for cell in ("epsilon 0.3", "epsilon 0.25", "not recorded")] == [True] * 3
    assert "epsilon 0.55" in sums
    assert sums.count("<tr>") == 2
    assert "approved" in events
    assert "Loss in all: epsilon 1.55 of epsilon 2; epsilon 0.45 remains" in text
    assert text.count("at most 3 records of each are used") == 2  # in short, and in the answer
    assert "Size of the table: 1,000 units (public)" in text
    assert f"guess about the values of all records of one {NAMES[4]}, by a factor of at most 4.8." in text
    assert "number of units is public: 1,000" in text


def test_what_nobody_knows_is_open_and_what_is_known_is_not() -> None:
    ledger = Ledger.open("sqlite://")
    ledger.create(Account("flights", Neighbours.ADD_REMOVE, EACH_RECORD, PrivacyLoss.zcdp(1)))
    ledger.charge("flights", PrivacyLoss.zcdp(Fraction(1, 3)), purpose="q", request="r", binding="a" * 64, units=None)
    alone = describe_review(ledger, (), parse_about(""), {})
    curve = dp.cdf([3, 5, 8] * 100, grid=dp.Grid(0, 10, cells=8), epsilon=1, adjacency=dp.REPLACE_ONE)
    known = parse_about("security = 'locked'\nactors = 'nobody else'\npreprocessing = 'none'\njustification = 'board'")
    object.__setattr__(curve, "privacy", replace(curve.privacy, grant="r", seeded=True))
    more = describe_review(ledger, ("flights",), known, {"delay": curve})
    assert "Zero-concentrated differential privacy; cap rho 1, spent rho 0.333333334" in alone
    assert "| rho 1/3 |" in alone or "| rho 0.333334 |" in alone
    assert "A person with several records is not protected as a whole" in alone
    open_counts = [int(re.findall(r"reviewers \((\d+) of", sheet)[0]) for sheet in (alone, more)]
    assert open_counts[0] - open_counts[1] == 5
    assert [mark_open() in alone, "SEEDED: NOT PRIVATE" in alone, "SEEDED: NOT PRIVATE" in more] == [True, False, True]
    for words in (
        "locked",
        "nobody else",
        "board",
        "Trust model of the results at hand: a trusted curator",
        "| delay |",
    ):
        assert words in more
        assert words not in alone
    for words in ("Signature", "Reviewer", "10.6028/NIST.SP.800-226", "12 February 2026"):
        assert words in alone


@pytest.mark.parametrize(
    ("neighbours", "loss", "words"),
    [
        (
            Neighbours.ADD_REMOVE,
            PrivacyLoss.pure("0.5"),
            "odds that a record is in the table, by a factor of at most 1.7.",
        ),
        (Neighbours.REPLACE_ONE, PrivacyLoss.pure(3), "the values of one record, by a factor of at most 21."),
        (Neighbours.ADD_REMOVE, PrivacyLoss.pure(1, "1e-6"), "With a probability of at most 1e-06 they reveal more."),
        (Neighbours.ADD_REMOVE, PrivacyLoss.zcdp("0.1"), "at most epsilon 2.15, with a delta of 1e-06."),
        (Neighbours.ADD_REMOVE, PrivacyLoss.pure(20), "above a million: no protection"),
    ],
)
def test_the_loss_in_all_is_said_in_plain_words(neighbours: Neighbours, loss: PrivacyLoss, words: str) -> None:
    ledger = Ledger.open("sqlite://")
    ledger.create(Account("flights", neighbours, EACH_RECORD, loss + loss))
    assert "Nothing was released." in describe_review(ledger, (), parse_about(""), {})
    units = 1000 if neighbours is Neighbours.REPLACE_ONE else None
    ledger.charge("flights", loss, purpose="q", request="r", binding="a" * 64, units=units)
    sheet = describe_review(ledger, (), parse_about(""), {})
    assert words in sheet
    size = "1,000 units (public)" if units else "not released"
    assert f"Asked of this table: q\n- Size of the table: {size}\n" in sheet


@pytest.mark.parametrize("kind", ["all records", "weights", "filtered"])
def test_the_size_of_a_table_is_a_count_of_all_its_records_or_not_released(kind: str) -> None:
    """A sum of weights, and the records that pass a filter, are no size."""
    grid, loss = dp.Grid(0, 10, cells=4), PrivacyLoss.pure(100)
    questions: dict[str, Any] = {
        "all records": dp.HistogramQuestion("x", grid),
        "weights": dp.WeightedHistogramQuestion("x", grid, "w", 4),
        "filtered": dp.HistogramQuestion("x", grid, where="x < 6"),
    }
    ledger, columns = Ledger.open("sqlite://"), {"x": [3.0, 5.0, 8.0] * 100, "w": [3.0] * 300}
    with dp.Session(columns, budget=loss, adjacency=dp.ADD_REMOVE, ledger=ledger) as session:
        result = session.ask(questions[kind], loss, "r")
        sheet = describe_review(ledger, (), parse_about(""), {"delays": result})
    assert ("Size of the table: 300 counted records (released, with noise: delays)" in sheet) is (kind == "all records")
    assert ("Size of the table: not released" in sheet) is (kind != "all records")


def test_a_review_is_never_in_a_published_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> Any:
        """Run a command in this process."""
        return CliRunner().invoke(build([str(words[0])]), [*map(str, words)])

    Ledger.open("sqlite:///b.db").create(Account("a", Neighbours.REPLACE_ONE, EACH_RECORD, PrivacyLoss.pure(1)))
    curve = dp.cdf([3, 5, 8] * 100, grid=dp.Grid(0, 10, cells=8), epsilon=1, adjacency=dp.REPLACE_ONE)
    Path("a.json").write_text(curve.to_json())
    assert run("publish", "a.json", "--out", "web").exit_code == 0
    Path("link").symlink_to("web")
    for folder in ("web", "web/review", "web/deep/er", "link/review", ".", "b.db"):
        refused = run("review", "sqlite:///b.db", "--out", folder)
        assert (refused.exit_code, refused.stderr.startswith("dpcurves: out:")) == (2, True), folder
    assert not list(Path("web").rglob(REVIEW_FILE))
    for _ in range(2):
        assert run("review", "sqlite:///b.db", "a.json", "--out", "review").exit_code == 0
    assert [path.name for path in Path("review").iterdir()] == [REVIEW_FILE]
    assert Path("review", REVIEW_FILE).stat().st_mode & 0o077 == 0
    assert run("publish", "a.json", "--out", "review").exit_code == 2
    assert run("review", "sqlite:///b.db", "--out", "new", "--dataset", "none").exit_code == 2
    assert run("review", "sqlite:///none.db", "--out", "new").exit_code == 2
    with pytest.raises(InvalidArgument, match="^about: the key 'x' is unknown"):
        write_review(Ledger.open("sqlite:///b.db"), "new", about=parse_about("x = 1"))
    assert not Path("new").exists()
