"""Sites that differ: in their columns, their version, their officers, or for having no records; and who asks them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from federated import Federated
from test_processes import spent

import dpcurves as dp
from dpcurves.arguments import ProtocolError
from dpcurves.privacy import PrivacyLoss
from dpcurves_sites.columns import ColumnKind
from dpcurves_sites.remote import fingerprint_question
from dpcurves_sites.trust import SecureSum

ONE = PrivacyLoss.pure(1)
BINS = dp.HistogramQuestion("age", dp.Grid(0, 100, cells=4))
BOTH = dp.PlaneBoundsQuestion(dp.BoundsQuestion("age", 1.0, "0.9", 8), dp.BoundsQuestion("height", 1.0, "0.9", 8))
ASK = ("--column", "age", "--grid", "0:100:4", "--epsilon", "1")


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federated]:
    """One site has a list of what it answers, one calls its columns otherwise, one has no records."""
    folder = tmp_path_factory.mktemp("three")
    approved = folder / "approved.json"
    approved.write_text(json.dumps([
        {"question": {"ask": "histogram", "column": "age", "grid": "0:100:4"}, "epsilon": "1"},
        {"fingerprint": fingerprint_question(BOTH), "epsilon": 400},
    ]))  # fmt: skip
    rows = "\n".join(f"{20 + n % 50},{150 + n % 40}" for n in range(300))
    with Federated(
        folder, SecureSum(3, 1), columns={"age": ColumnKind.NUMBER, "height": ColumnKind.NUMBER},
        tables={0: f"age,height\n{rows}\n", 1: f"alter,groesse\n{rows}\n", 2: "age,height\n"},
        more={
            0: ("--approve", "list", "--approved", str(approved)),
            1: ("--column", "age=alter", "--column", "height=groesse"),
        },
    ).all() as federation:  # fmt: skip
        federation.wait(lambda: "listens" in federation.log("hub"), "the start")
        federation.wait(lambda: len(federation.signed()) == 3, "the signing")
        yield federation


def test_sites_with_other_names_and_without_records_answer_what_the_list_approves(three: Federated) -> None:
    with three.analyst() as analyst:
        assert abs(analyst.ask(BINS, ONE).count.sum() - 600) < 60
        before = spent(three)
        for question, loss in ((BINS, PrivacyLoss.pure("1.01")), (dp.MeanQuestion("age", 0, 100), ONE)):
            with pytest.raises(
                ProtocolError, match="site 'airline 0': question: was not approved by the site's officer"
            ):
                analyst.ask(question, loss)
        with pytest.raises(ValueError, match="'weight' is not a column of the task; use one of age, height"):
            analyst.ask(dp.HistogramQuestion("weight", dp.Grid(0, 100, cells=4)), ONE)
    assert spent(three) == before
    told = three.log("s0")
    assert f"fingerprint {fingerprint_question(BINS)}" in told.replace("\n", " ")
    assert "price: epsilon 1 in total, epsilon 1 for this round" in told
    assert "leaves the site: 5 masked numbers, secure sum of 3 sites" in told
    assert "refused: question: was not approved by the site's officer" in told


def test_a_site_that_could_pay_one_of_two_turns_refuses_the_first(three: Federated) -> None:
    before = spent(three)
    with three.analyst() as analyst:
        analyst.ask(BOTH, PrivacyLoss.pure(400), "dear")
        with pytest.raises(ProtocolError, match="has epsilon 9.* left, and this question needs epsilon 150"):
            analyst.ask(BOTH, PrivacyLoss.pure(150))
    assert spent(three) == [each + 400 for each in before]


def test_analysts_ask_and_plan_with_the_options_of_files(three: Federated) -> None:
    folder = three.folder
    task, ticket = ("--task", str(folder / "task.json")), ("--ticket", str(folder / "tickets" / "analyst-1"))
    assert three.run("plan", ["federation", "plan", "histogram", *ASK, *task]) == 0
    planned = three.log("plan").replace("\n", " ")
    assert fingerprint_question(BINS) in planned
    assert "secure sum of 3 sites" in planned
    files = ("--json", str(folder / "bins.json"), "--plot", str(folder / "bins.svg"), "--request-id", "mine")
    assert three.run("ask", ["federation", "ask", "histogram", *ASK, *task, *ticket, *files]) == 0
    found = dp.Histogram.from_json((folder / "bins.json").read_text())
    assert abs(found.count.sum() - 600) < 60
    assert "<svg" in (folder / "bins.svg").read_text()
    told = three.log("ask")
    for line in ("trust: secure sum of 3 sites", "Assumed: each site", "request: mine", "written: "):
        assert line in told
    with three.analyst() as analyst:
        assert analyst.ask(BINS, ONE, "mine").to_json() == found.to_json()
    assert three.run("shown", ["federation", "ask", "histogram", *ASK, *task, *ticket, "--request-id", "mine"]) == 0
    assert "count" in three.log("shown")
    dear = ("--column", "height", "--grid", "0:300:4", "--epsilon", "1")
    assert three.run("refused", ["federation", "ask", "histogram", *dear, *task, *ticket]) != 0
    refusal = three.log("refused").replace("\n", " ")
    assert (
        "was not approved by the site's officer; ask another question, or ask the officer; the result may be paid for"
        in refusal
    )


def test_a_site_with_another_schema_stops_before_any_question_with_a_clear_line(three: Federated) -> None:
    before = three.log("s2")
    three.kill("s2")
    table = three.folder / "s2.csv"
    kept = table.read_text()
    table.write_text("age,weight\n30,70\n")
    three.site(2)
    process = three.running["s2"]
    three.wait(lambda: process.exitcode is not None, "the end of site 2")
    assert process.exitcode not in (0, None)
    said = three.log("s2")[len(before) :].replace("\n", " ")
    assert (
        "must contain 'height', a number, as the task says, but 'height' is not in the data, which has 'age', 'weight'"
        in said
    )
    assert "waiting for questions" not in said
    table.write_text(kept)
    three.again(2)


def test_a_site_of_another_version_is_found_out_and_nothing_is_shown(three: Federated) -> None:
    before = spent(three)
    three.again(2, version="other")
    with three.analyst() as analyst:
        with pytest.raises(ProtocolError, match="to another task, round, plan or roster"):
            analyst.ask(BINS, ONE)
        three.again(2)
        assert spent(three) == before
        assert abs(analyst.ask(BINS, ONE).count.sum() - 600) < 60
