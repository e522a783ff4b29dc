"""Two servers count all cells once: whatever counts can answer is read from that, by the questions of one curator."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
from federation import Federation, mortal, values

import dpcurves as dp
from dpcurves.ledger import Ledger
from dpcurves.release import UnsupportedQuery
from dpcurves.trust import Owners
from dpcurves.trust.function_shares import RING
from dpcurves.two_servers import ProtocolAborted, Task
from dpcurves.two_servers.launch import Aggregator
from dpcurves.two_servers.messages import Asked

GRID = dp.Grid(0, 1, cells=24)
WARD, LATE = dp.Categories("ward", ("a", "b", "c")), dp.Categories("late", (0, 1))
X = np.asarray(values()["x"])
WARDS = np.array(["a", "b", "c", "elsewhere"])[np.arange(200) % 4]
TABLE = {"x": X, "late": (X > 0.4).astype(int), "ward": WARDS}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    """Servers with a task of each kind, closed, with the reports of 200 records."""
    made = Federation(tmp_path_factory.mktemp("counts"))
    made.task("cells", cells=GRID)
    made.task("wards", WARD, cells=GRID)
    made.task("classes", LATE, cells=GRID)
    made.task("checked", owners=Owners.CHECKED, cells=GRID)
    try:
        for party in (0, 1):
            made.start(party)
        for name in ("cells", "wards", "classes"):
            made.contribute(made.tasks[name], TABLE)
            made.close(made.tasks[name])
        yield made
    finally:
        made.end_all()


@pytest.fixture(autouse=True)
def _connections_end(pair: Federation) -> Iterator[None]:
    yield
    pair.close_connections()


def near(found: object, exact: object, error: float) -> bool:
    """At epsilon 10 beyond 12 standard deviations once in far more than a million runs."""
    return bool(np.all(np.abs(np.asarray(found) - np.asarray(exact)) <= 12 * error))


def histogram(values: object) -> list[int]:
    counts: list[int] = np.histogram(np.asarray(values), GRID.edges)[0].tolist()
    return counts


def spent(pair: Federation, task: Task) -> list[str]:
    return [Ledger.existing(pair.store(party)).statement(task.dataset).spent.digits for party in (0, 1)]


def test_one_charge_answers_every_question_that_counts_can_answer(pair: Federation) -> None:
    task = pair.tasks["cells"]
    first, second = pair.analyst(task), pair.analyst(task, party=1)
    with pytest.raises(UnsupportedQuery, match=r"^question: the task counts all cells at once: ask for a distribution"):
        first.ask(dp.CdfQuestion("x", GRID, at=(3,)))
    for other in (
        dp.CdfQuestion("y", GRID),
        dp.CdfQuestion("x", dp.Grid(0, 1, cells=25)),
        dp.CdfQuestion("x", GRID, by=WARD),
    ):
        with pytest.raises(UnsupportedQuery, match=r"^question: the task counts another column, grid or label"):
            first.ask(other)
    with pytest.raises(UnsupportedQuery, match=r"^question: two servers count; they cannot answer AucQuery"):
        first.ask(dp.SmoothAucQuestion("late", "x"))
    assert spent(pair, task) == ["0", "0"]
    bars = first.ask(dp.HistogramQuestion("x", GRID))
    assert near(bars.unbiased, histogram(X), bars.error)
    cdf = second.ask(dp.CdfQuestion("x", GRID, hint=dp.Hint.SPREAD))
    assert near(cdf.y, np.append(0, np.cumsum(histogram(X))) / 200, 5 * bars.error / 200)
    assert cdf.prefixes.evidence == bars.evidence
    assert abs(first.ask(dp.QuantilesQuestion("x", GRID, (0.5,))).x[0] - np.median(X)) < 0.2
    assert spent(pair, task) == ["10", "10"]
    assert bars.privacy.trust.startswith("two servers that do not collude")
    assert (bars.privacy.units, bars.privacy.epsilon) == (200, 10)


def test_categories_are_shared_as_their_places_and_none_is_seen_alone(pair: Federation) -> None:
    by = pair.analyst(pair.tasks["wards"]).ask(dp.HistogramQuestion("x", GRID, by=WARD))
    for ward in WARD.values:
        assert near(by[ward].unbiased, histogram(X[ward == WARDS]), by[ward].error)
    curves = pair.analyst(pair.tasks["wards"], party=1).ask(dp.CdfQuestion("x", GRID, by=WARD))
    assert curves["a"].prefixes.evidence == by["a"].evidence


def test_both_classes_of_a_score_are_counted(pair: Federation) -> None:
    analyst = pair.analyst(pair.tasks["classes"])
    roc = analyst.ask(dp.RocQuestion("late", "x", GRID))
    assert roc.auc > 0.9
    assert len(roc.fpr) == 25


def test_a_report_that_fails_anywhere_is_dropped_from_all_cells_and_counts_as_missing(pair: Federation) -> None:
    task = pair.tasks["checked"]
    pair.contribute(task, {"x": X})
    pair.contribute_changed(task, 7, -40)
    assert pair.close(task).reports == 207
    first, second = pair.analyst(task), pair.analyst(task, party=1)
    bars = first.ask(dp.HistogramQuestion("x", GRID))
    assert first.dropped == 7
    assert near(bars.unbiased, histogram(X), bars.error)
    assert near(bars.missing, 7, bars.error)
    assert second.ask(dp.HistogramQuestion("x", GRID)).evidence == bars.evidence
    assert second.dropped == 7


def test_a_half_of_all_cells_is_given_once_whatever_is_claimed_to_have_failed(pair: Federation) -> None:
    """A server that could have an honest report dropped between two halves would see this one's share of it."""
    task = pair.tasks["checked"]
    service = Aggregator(0, [task], pair.identities[0], pair.store(0)).services()[task.hash]
    named = service.store.standing(task.hash).named
    asked = Asked.fresh(task, ())
    check = json.loads(service.look(asked.to_json(**named)))["check"]
    first = json.loads(service.half(asked.to_json(**named, check=check)))
    claimed = {**check, "digests": "A" * len(check["digests"])}
    assert len(first["numbers"]) == task.numbers(())
    assert json.loads(service.half(asked.to_json(**named, check=claimed))) == first
    assert json.loads(service.half(asked.to_json(**named))) == first
    assert all(0 <= number < RING for number in first["numbers"])


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
    with pytest.raises(ProtocolAborted):
        pair.analyst(task).ask(question)
    pair.running.pop(killed).join()
    pair.start(killed)
    assert pair.analyst(task, party=killed).ask(question).evidence == before
    assert spent(pair, task) == ["10", "10"]
