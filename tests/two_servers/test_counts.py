"""Two servers count all cells once: whatever counts can answer is read from that, by the questions of one curator."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from federation import Federation, mortal, proving, values

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.cli.app import Commands, build
from dpcurves.conversation import UnsupportedQuery
from dpcurves.data import Axis
from dpcurves.ledger import Ledger
from dpcurves_parties.cli.pair import RenamedColumns
from dpcurves_parties.serving.two_servers.store import Store
from dpcurves_parties.shares import ProtocolError, Task
from dpcurves_parties.shares.analyst import read_record_slots
from dpcurves_parties.shares.function_shares import SHARE_MODULUS, Owners

RUN = CliRunner()
GRID = dp.Grid(0, 1, cells=24)
WARD, LATE = dp.Categories("ward", ("a", "b", "c")), dp.Categories("late", (0, 1))
X = np.asarray(values()["x"])
WARDS = np.array(["a", "b", "c", "elsewhere"])[np.arange(200) % 4]
HUNDRED = dp.PrivacyLoss.pure(100)
TABLE = {
    "x": X, "late": (X > 0.4).astype(int), "ward": WARDS, "kind": np.arange(200) % 3, "near": X**2,
    "mailed": np.arange(200) % 2,
}  # fmt: skip
FEW = {name: each[:40] for name, each in TABLE.items()}
FOUR = dp.Grid(0, 1, cells=4)
APART = FOUR.with_outside(dp.Outside.APART)
WHERE = "ward <> 'a' AND near < 0.8"
TYPED = dp.Categories("late", ("0", "1"))
"""Labels as a command reads them: text, unless they are declared numbers."""
TABLES: dict[str, tuple[dp.Categories | None, tuple[Axis | dp.Categories, ...], dp.Grid]] = {
    "pair": (TYPED, (Axis("near", APART),), APART),
    "order": (dp.Categories("kind", ("0", "1", "2")), (), APART),
    "gain": (dp.Categories("mailed", ("0", "1")), (TYPED,), APART),
    "both": (None, (Axis("near", APART),), APART),
    "looks": (None, (Axis("near", APART),), APART),
    "horizon": (TYPED, (Axis("near", APART),), APART),
    "arms": (WARD, (LATE,), APART),
    "error": (None, (), APART),
}
"""Tables of several columns, of which `x` is the last."""


@cache
def application() -> Commands:
    """Return the commands, made once when a test first needs them: each process that runs tests imports this file."""
    return build()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    """Servers with a task of each kind, closed, with the reports of 200 records."""
    made = Federation(tmp_path_factory.mktemp("counts"))
    made.task("cells", cells=GRID, loss=HUNDRED)
    made.task("wards", WARD, cells=GRID, loss=HUNDRED)
    made.task("classes", LATE, cells=GRID, loss=HUNDRED)
    made.task("apart", LATE, cells=GRID.with_outside(dp.Outside.APART), loss=HUNDRED)
    made.task("kinds", dp.Categories("kind", (0, 1, 2)), cells=GRID.with_outside(dp.Outside.APART), loss=HUNDRED)
    made.task("checked", owners=Owners.CHECKED, cells=GRID, loss=HUNDRED)
    made.task("attacked", owners=Owners.CHECKED, cells=GRID, loss=HUNDRED)
    for name, (label, beside, cells) in TABLES.items():
        made.task(name, label, cells=cells, loss=HUNDRED, beside=beside)
    made.task("attacked thresholds", owners=Owners.CHECKED, loss=HUNDRED)
    made.task("filtered", LATE, cells=GRID, loss=HUNDRED, column="x * x", where=WHERE)
    try:
        for party in (0, 1):
            made.start(party)
        for name in ("cells", "wards", "classes", "apart", "kinds", "filtered", *TABLES):
            made.contribute(made.tasks[name], FEW if name in TABLES else TABLE)
            made.close(made.tasks[name])
        yield made
    finally:
        made.end_all()


@pytest.fixture(autouse=True)
def _connections_end(pair: Federation) -> Iterator[None]:
    yield
    pair.close_connections()


def form(curve: dict[str, Any]) -> object:
    """What an answer is made of."""
    return curve["kind"], curve.keys(), curve["privacy"].keys()


def is_exact(found: object, exact: object) -> bool:
    """At epsilon 100 the noise of a count has scale 1/50 at either server: one of 500 has any with chance 4e-19."""
    return bool(np.allclose(np.asarray(found, dtype=float), np.asarray(exact), rtol=0, atol=1e-9))


def histogram(values: object) -> list[int]:
    counts: list[int] = np.histogram(np.asarray(values), GRID.edges)[0].tolist()
    return counts


def spent(pair: Federation, task: Task) -> list[str]:
    return [Ledger.open_existing(pair.store(party)).statement(task.dataset).spent.digits for party in (0, 1)]


def test_one_charge_answers_every_question_that_counts_can_answer(pair: Federation) -> None:
    task = pair.tasks["cells"]
    first, second = pair.analyst(task), pair.analyst(task, party=1)
    with pytest.raises(UnsupportedQuery, match=r"^question: the task counts all cells at once; ask for whole curves"):
        first.ask(dp.CdfQuestion("x", GRID, edges=(3,)))
    for other in (
        dp.CdfQuestion("y", GRID),
        dp.CdfQuestion("x", dp.Grid(0, 1, cells=25)),
        dp.CdfQuestion("x", GRID, by=WARD),
    ):
        with pytest.raises(UnsupportedQuery, match=r"^question: the task counts another column, grid or label"):
            first.ask(other)
    with pytest.raises(UnsupportedQuery, match=r"^question: counts of two servers cannot answer AucQuery"):
        first.ask(dp.SmoothAucQuestion("late", "x"))
    assert spent(pair, task) == ["0", "0"]
    bars = first.ask(dp.HistogramQuestion("x", GRID))
    assert is_exact(bars.unbiased_counts, histogram(X))
    cdf = second.ask(dp.CdfQuestion("x", GRID, hint=dp.Hint.SPREAD))
    assert is_exact(cdf.y, np.append(0, np.cumsum(histogram(X))) / 200)
    assert cdf.prefixes.evidence == bars.evidence
    assert abs(first.ask(dp.QuantilesQuestion("x", GRID, (0.5,))).x[0] - np.median(X)) < 0.2
    assert spent(pair, task) == ["100", "100"]
    assert bars.privacy.trust.startswith("two servers that do not collude")
    assert (bars.privacy.units, bars.privacy.epsilon) == (200, 100)


def test_categories_are_shared_as_their_places_and_none_is_seen_alone(pair: Federation) -> None:
    by = pair.analyst(pair.tasks["wards"]).ask(dp.HistogramQuestion("x", GRID, by=WARD))
    for ward in WARD.values:
        assert is_exact(by[ward].unbiased_counts, histogram(X[ward == WARDS]))
    curves = pair.analyst(pair.tasks["wards"], party=1).ask(dp.CdfQuestion("x", GRID, by=WARD))
    assert curves["a"].prefixes.evidence == by["a"].evidence


def test_owners_filter_and_derive_and_the_answer_tells_the_filter(pair: Federation, tmp_path: Path) -> None:
    """Records that fail are sent as missing ones, so the public number of reports does not depend on the filter."""
    task, passes = pair.tasks["filtered"], (WARDS != "a") & (X**2 < 0.8)
    analyst, late = pair.analyst(task), X > 0.4
    for where, rule in ((None, "counts the rows with"), ("near < 0.9", "counts the rows with ward <> 'a' AND near")):
        with pytest.raises(UnsupportedQuery, match=rf"^where: the task {rule}"):
            analyst.ask(dp.HistogramQuestion("x * x", GRID, by=LATE, where=where))
    assert spent(pair, task) == ["0", "0"]
    with pytest.raises(UnsupportedQuery, match=r"^where: the task counts all rows, without a filter; ask about these"):
        pair.analyst(pair.tasks["cells"]).ask(dp.HistogramQuestion("x", GRID, where=WHERE))
    bars = analyst.ask(dp.HistogramQuestion("x * x", GRID, by=LATE, where=WHERE))
    for label in LATE.values:
        assert is_exact(bars[label].unbiased_counts, histogram((X * X)[passes & (late == label)]))
    assert bars[1].privacy.units == 200
    written, document = tmp_path / "roc.json", ["--task", str(pair.folder / "filtered.json")]
    result = RUN.invoke(
        application(), ["ask", "roc", *document, "--ticket", str(pair.file(task, "analyst-1")), "--json", str(written)]
    )
    assert result.exit_code == 0, result.output
    assert json.loads(written.read_text())["privacy"]["where"] == WHERE == bars[0].privacy.where
    shown = RUN.invoke(application(), ["task", "show", *document]).stdout
    assert f"of records where {WHERE}" in " ".join(shown.split())


def test_an_owner_with_other_names_of_columns_filters_by_its_own(pair: Federation) -> None:
    task = Task.from_json((pair.folder / "cells.json").read_text())
    task = replace(task, where="x < 0.5 AND ward = 'b'")
    table = {"wert": X, "ward": WARDS}
    slots = read_record_slots(task, table, axes=RenamedColumns(column="wert").rename_axes(task))
    assert slots.tolist() == np.where((X < 0.5) & (WARDS == "b"), GRID.cell_of(X), GRID.cells).tolist()
    with pytest.raises(InvalidArgument, match=r"^where: .*'ward'"):
        read_record_slots(task, {"x": X, "wards": WARDS})
    assert Task.from_json(task.to_json()).axes == task.axes
    assert task.hash not in {pair.tasks["cells"].hash, replace(task, where="x < 0.4").hash}


def test_both_classes_of_a_score_are_counted(pair: Federation) -> None:
    analyst = pair.analyst(pair.tasks["classes"])
    roc = analyst.ask(dp.RocQuestion("late", "x", GRID))
    assert roc.auc > 0.9
    assert len(roc.fpr) == 25


@pytest.mark.reproduction
def test_the_servers_are_asked_all_that_a_file_is_asked_along_a_grid(pair: Federation, tmp_path: Path) -> None:
    """Kind and form of the answer are those of one curator, and each has a picture."""
    file = csv_of(TABLE, tmp_path)
    price, words = (
        ("--epsilon", "10", "--adjacency", "replace-one"),
        {"classes": ("--label", "late", "--neg-label", "0", "--score", "x")},
    )
    ask: Any = application()
    ask, tried = ask.commands["ask"], set()
    for kind, task, said, more in (
        ("cdf", "cells", ("--column", "x"), ("--smooth", "2")),
        ("quantiles", "cells", ("--column", "x"), ("--probabilities", "0.1,0.5")),
        ("histogram", "cells", ("--column", "x"), ()),
        ("cdf", "wards", ("--column", "x", "--by", "ward=a,b,c"), ()),
        ("histogram", "wards", ("--column", "x", "--by", "ward=a,b,c"), ()),
        ("survival", "apart", ("--time", "x", "--event", "late", "--censored-value", "0"), ()),
        ("incidence", "kinds", ("--time", "x", "--event", "kind", "--causes", "1,2"), ()),
        ("scores", "classes", words["classes"], ("--show", "roc")),
        ("roc", "classes", words["classes"], ("--model-note", "ours")),
        ("calibration", "classes", words["classes"], ("--groups", "3")),
        ("hosmer-lemeshow", "classes", words["classes"], ()),
        ("binned-residuals", "classes", words["classes"], ("--model", "public", "--bins", "4")),
    ):
        ticket = ("--ticket", str(pair.file(pair.tasks[task], "analyst-1")))
        asked = ["ask", kind, "--task", str(pair.folder / f"{task}.json"), *ticket, *more]
        curve, theirs = (tmp_path / f"{kind}-{task}-{whom}" for whom in ("servers", "curator"))
        of_file = [kind, str(file), *said, *more, "--grid", "0:1:24", *price, "--json", str(theirs)]
        for arguments in ([*asked, "--json", str(curve), "--plot", f"{curve}.svg"], of_file):
            result = RUN.invoke(application(), arguments)
            assert result.exit_code == 0, (arguments, result.stderr)
        found, expected = (json.loads(each.read_text()) for each in (curve, theirs))
        assert form(found) == form(expected), kind
        assert found["privacy"]["trust"].startswith("two servers that do not collude")
        assert Path(f"{curve}.svg").stat().st_size > 10_000
        tried.add(kind)
    assert tried | {kind for kind, *_ in OF_TABLES} | UNANSWERED.keys() == {*ask.commands} - {"pairs"}


OF_TABLES = (
    ("model-pair", "pair", "--label", "late", "--neg-label", "0", "--first", "near", "--second", "x", "--grid", "0:1:4",
     "--cells", "4"),
    ("ordinal-classes", "order", "--label", "kind", "--classes", "0,1,2", "--score", "x", "--grid", "0:1:4"),
    ("uplift", "gain", "--treatment", "mailed", "--control-value", "0", "--outcome", "late", "--neg-label", "0",
     "--score", "x", "--grid", "0:1:4"),
    ("predicted-observed", "both", "--predicted", "near", "--observed", "x", "--grid", "0:1:4", "--observed-grid",
     "0:1:4"),
    ("interval-censored", "looks", "--last", "near", "--first", "x", "--grid", "0:1:4", "--missing-times", "excluded"),
    ("survival-model", "horizon", "--time", "near", "--event", "late", "--censored-value", "0", "--score", "x",
     "--times", "0:1:4", "--scores", "0:1:4", "--groups", "2"),
    ("quantile-forecasts", "error", "--errors", "x", "--quantiles", "0.5", "--grid", "0:1:4"),
)  # fmt: skip
"""Questions about several columns in the words in which a file is asked, and the tasks that count their tables."""
UNANSWERED = {
    "delayed-entry": (
        (
            "arms",
            "--entry",
            "near",
            "--time",
            "x",
            "--event",
            "late",
            "--censored-value",
            "number:0",
            "--event-value",
            "number:1",
            "--grid",
            "0:1:4",
            "--by",
            "ward=a,b,c",
        ),
        "; the question needs ward (3 categories) by near (4 cells from 0 to 1, values outside apart)\n",
    ),
    "model-comparison": (
        (
            "pair",
            "--label",
            "late",
            "--neg-label",
            "0",
            "--scores",
            "x,near,late",
            "--grid",
            "0:1:4",
            "--releases",
            "scores",
        ),
        "; the question needs late (2 categories) by x (4 cells from 0 to 1, values outside apart)\n",
    ),
    "multiclass": (
        ("order", "--label", "kind", "--classes", "0,1,2", "--scores", "x,near,late", "--grid", "0:1:4"),
        "; the question needs kind (3 categories) by near (4 cells from 0 to 1, values outside apart)\n",
    ),
    "pairwise-scorer": (
        ("both", "--label", "late", "--features=x=0:1", "--features=near=0:1"),
        "; the question needs late (2 categories) by 2 folds (2 cells from 0 to 2)\n",
    ),
}
"""Questions that need more than the counts of one table, each with the line that says so."""


def csv_of(table: dict[str, Any], folder: Path) -> Path:
    file = folder / "table.csv"
    rows = (",".join(map(str, row)) + "\n" for row in zip(*table.values(), strict=True))
    file.write_text(",".join(table) + "\n" + "".join(rows))
    return file


@pytest.mark.parametrize("asked", OF_TABLES, ids=lambda asked: asked[0])
def test_a_table_of_several_columns_answers_a_question_as_one_curator_does(
    pair: Federation, tmp_path: Path, asked: tuple[str, ...]
) -> None:
    """At so large an epsilon neither adds noise, so that all numbers are the same."""
    kind, task, *words = asked
    ticket = ("--ticket", str(pair.file(pair.tasks[task], "analyst-1")))
    file, found = csv_of(FEW, tmp_path), []
    for at in (
        ("ask", kind, "--task", str(pair.folder / f"{task}.json"), *ticket),
        (kind, str(file), "--epsilon", "100", "--adjacency", "replace-one"),
    ):
        result = RUN.invoke(application(), [*at, *words, "--json", str(tmp_path / "curve.json")])
        assert result.exit_code == 0, result.stderr
        found.append(json.loads((tmp_path / "curve.json").read_text()))
    servers, curator = found
    assert form(servers) == form(curator)
    facts = servers.keys() - {"privacy", "evidence", "dpcurves"}
    assert {name: servers[name] for name in facts} == {name: curator[name] for name in facts}


def test_a_table_without_missing_times_says_how_intervals_are_asked_of_it(pair: Federation) -> None:
    ticket = ("--ticket", str(pair.file(pair.tasks["looks"], "analyst-1")))
    words = ("--last", "near", "--first", "x", "--grid", "0:1:4")
    result = RUN.invoke(
        application(), ["ask", "interval-censored", "--task", str(pair.folder / "looks.json"), *ticket, *words]
    )
    assert result.exit_code != 0
    assert "missing-times: the task counts no record with a missing time; ask with" in result.stderr


def test_survival_and_scores_of_each_category_are_read_from_a_table_of_three_columns(pair: Federation) -> None:
    ticket = ("--ticket", str(pair.file(pair.tasks["arms"], "analyst-1")))
    result = RUN.invoke(application(), ["ask", "survival", "--task", str(pair.folder / "arms.json"), *ticket])
    assert (result.exit_code, "ward" in result.stdout) == (0, True)
    people = [int((FEW["ward"] == ward).sum()) for ward in WARD.values]
    curves = pair.analyst(pair.tasks["arms"]).ask(dp.SurvivalQuestion("x", "late", FOUR, by=WARD))
    assert is_exact([curves[ward].at_risk[0] for ward in WARD.values], people)


@pytest.mark.parametrize("kind", UNANSWERED)
def test_a_question_that_needs_more_than_one_table_is_refused_in_one_line(pair: Federation, kind: str) -> None:
    (task, *words), line = UNANSWERED[kind]
    ticket = ("--ticket", str(pair.file(pair.tasks[task], "analyst-1")))
    result = RUN.invoke(application(), ["ask", kind, "--task", str(pair.folder / f"{task}.json"), *ticket, *words])
    assert (result.exit_code != 0, result.stdout, result.stderr.count("\n")) == (True, "", 1), result.output
    assert line in result.stderr


def test_a_label_that_is_text_here_and_a_number_there_is_refused_by_both_names(pair: Federation) -> None:
    """They print alike; so the line says which is declared a number, and how that is typed."""
    typed = UNANSWERED["delayed-entry"][0]
    words = [each.removeprefix("number:") for each in typed[1:]]
    ticket = ("--ticket", str(pair.file(pair.tasks["arms"], "analyst-1")))
    result = RUN.invoke(
        application(), ["ask", "delayed-entry", "--task", str(pair.folder / "arms.json"), *ticket, *words]
    )
    assert result.exit_code != 0
    assert "the task counts another column, grid or label: " in result.stderr
    assert " by late (number:0, number:1) by x " in result.stderr.partition("; the question needs ")[0]
    assert " by late ('0', '1') by x " in result.stderr.partition("; the question needs ")[2]


def test_what_a_task_does_not_count_is_refused_in_one_line(pair: Federation) -> None:
    for kind, task, more, words in (
        ("roc", "cells", (), "task: counts values without two classes"),
        ("survival", "wards", (), "task: counts values without two classes"),
        ("survival", "classes", (), "question: needs values outside the grid counted apart"),
        ("cdf", "cells", ("--cut-points", "0.5"), "question: the task counts all cells at once"),
        ("cdf", "cells", ("--cut-points", "7"), "cut-points: values from 0 to 1 are needed"),
        ("cdf", "cells", ("--column", "y"), "--column: there is no such option"),
        ("calibration", "classes", ("--groups", "1"), "groups: a whole number of at least 2"),
        ("binned-residuals", "classes", (), "model: --model is missing"),
    ):
        ticket = ("--ticket", str(pair.file(pair.tasks[task], "analyst-1")))
        result = RUN.invoke(application(), ["ask", kind, "--task", str(pair.folder / f"{task}.json"), *ticket, *more])
        assert (result.exit_code != 0, result.stdout, result.stderr.count("\n")) == (True, "", 1), result.output
        assert words in result.stderr


def test_a_report_that_fails_anywhere_is_dropped_from_all_cells_and_counts_as_missing(pair: Federation) -> None:
    task = pair.tasks["checked"]
    pair.contribute(task, {"x": X})
    pair.contribute_changed(task, 7, -40)
    assert pair.close(task).reports == 207
    first, second = pair.analyst(task), pair.analyst(task, party=1)
    bars = first.ask(dp.HistogramQuestion("x", GRID))
    assert first.dropped == 7
    assert is_exact(bars.unbiased_counts, histogram(X))
    assert is_exact(bars.missing, 7)
    assert second.ask(dp.HistogramQuestion("x", GRID)).evidence == bars.evidence
    assert second.dropped == 7


@pytest.mark.parametrize("name", ["attacked", "attacked thresholds"])
def test_a_server_that_claims_failures_between_answers_gets_one_half_of_one_set_also_after_a_restart(
    pair: Federation, name: str
) -> None:
    """It plays server 1 with its own identity, and the analyst who opens halves; it wants server 0's share of a report.

    Two halves with one noise, of two sets that differ in a report, would differ by that share. So what it claims before
    the first half is believed, and nothing that it claims later.
    """
    task, at = pair.tasks[name], () if name == "attacked" else (3, 500)
    pair.contribute(task, {"x": X})
    pair.close(task)
    named = Store(pair.store(0)).read_status(task.hash).provenance
    size = -(-len(X) // 8)

    def say(what: str, at: tuple[int, ...], **more: object) -> dict[str, Any]:
        inquiry, message = pair.inquiry(task, at, party=1)
        letter = {"letter": message["letter"]} if what == "half" else {}
        told = pair.channel(0, proving(pair, 1, 0)).post(
            f"/tasks/{task.hash}/peer/{what}", inquiry.question.to_json(**named, **letter, **more)
        )
        heard = dict(inquiry.question.parse_reply(told, "peer"))
        if what == "half":
            heard["numbers"] = [*inquiry.answer_keys[0].open_answer_share(0, heard["half"], inquiry.key).values]
        return heard

    def claimed(check: str, *failed: int) -> str:
        digests = bytearray(b64decode(check))
        for report in failed:
            digests[16 * report] ^= 1
        return b64encode(digests).decode()

    own = say("evaluate", task.checked_at)["check"]
    with pytest.raises(ProtocolError, match="^peer: reports must be checked before the first answer"):
        say("half", at, check=own)
    few = claimed(own, *range(len(X) // 2 + 1))
    with pytest.raises(
        ProtocolError, match=r"^reports: \d+ of 200 pass the servers' check, less than the fraction 1/2"
    ):
        say("settle", task.checked_at, check=few)
    marks = [say("settle", task.checked_at, check=claimed(own, *failed))["dropped"] for failed in ((5,), (6,), ())]
    assert marks == [b64encode(np.packbits(np.arange(8 * size) == 5).tobytes()).decode()] * 3

    def halves() -> list[list[int]]:
        if at:
            with pytest.raises(ProtocolError, match="^thresholds: must be the thresholds at which the task checks"):
                say("evaluate", at)
        told = [say("half", at, **more) for more in ({}, {"check": claimed(own, 5, 6, 7)}, {"seen": "00" * 32})]
        assert len({each.get("seen") for each in told}) == 1
        return [each["numbers"] for each in told]

    first = halves()
    pair.close_connections()
    pair.end(0)
    pair.start(0)
    again = halves()
    assert first + again == [first[0]] * (len(first) + len(again))
    assert len(first[0]) == task.answer_size(at)
    assert all(0 <= number < SHARE_MODULUS for number in first[0])


@pytest.mark.parametrize("killed", [0, 1])
def test_servers_that_are_killed_while_they_count_give_the_same_answer_when_asked_again(
    pair: Federation, killed: int
) -> None:
    task = pair.tasks["cells"]
    question, dies = dp.HistogramQuestion("x", GRID), pair.folder / f"log{killed}.dies"
    before = pair.analyst(task).ask(question).evidence
    pair.close_connections()
    pair.end(killed)
    dies.write_text("before masked")
    pair.start(killed, program=mortal)
    with pytest.raises(ProtocolError):
        pair.analyst(task).ask(question)
    pair.running.pop(killed).join()
    pair.start(killed)
    assert pair.analyst(task, party=killed).ask(question).evidence == before
    assert spent(pair, task) == ["100", "100"]
