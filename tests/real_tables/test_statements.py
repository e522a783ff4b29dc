"""Real tables asked in SQL: labels survive, what is wrong costs nothing, and hints are written as SQL."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import dpcurves as dp
from dpcurves import display
from dpcurves.arguments import InvalidArgument
from dpcurves.cli.app import build
from dpcurves.display.result_tables import Bound, ResultTable, TableColumn
from dpcurves.ledger import Ledger

TEAMS = ("@home", "-away", "+1 (US)", "=cmd|'/C'!A0")
PLACES = np.arange(1200)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Parquet file of teams, and a CSV file of the time until an event."""
    made = tmp_path_factory.mktemp("statements")
    table = {"team": np.array(TEAMS)[PLACES % 4], "Δ wage": PLACES % 100, "w": np.where(PLACES % 4 == 0, -1.0, 2.0)}
    pq.write_table(pa.table(table), made / "teams.parquet")
    rows = "\n".join(f"{place % 9},{place % 2},{'AB'[place % 2]}" for place in PLACES)
    (made / "trial.csv").write_text(f"days,died,arm\n{rows}\n")
    return made


def ask(file: Path, statement: str, *more: str) -> Result:
    words = ["sql", str(file), statement, "--adjacency", "add-remove", *more]
    return CliRunner().invoke(build(words), words)


def test_groups_that_look_like_formulas_are_found_and_written(folder: Path) -> None:
    statement = 'SELECT team, dp_mean("Δ wage", 0, 100) FROM teams GROUP BY team'
    more = "--epsilon", "200", "--delta", "1e-6", "--csv", str(folder / "o.csv")
    done = ask(folder / "teams.parquet", statement, *more)
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader((folder / "o.csv").read_text(encoding="utf-8").splitlines()))
    counts = {display.unescape_formula(row["team"]): float(row["value"]) for row in rows if row["statistic"] == "count"}
    assert counts == pytest.approx({**dict.fromkeys(TEAMS, 300), "other": 0}, abs=2)
    assert all(row["team"][0] not in "=+-@" for row in rows)


def test_the_share_of_bad_weights_is_said(folder: Path) -> None:
    statement = 'SELECT dp_mean("Δ wage", 0, 100, weight => w, weight_cap => 4) FROM teams'
    done = ask(folder / "teams.parquet", statement, "--epsilon", "50")
    assert "about 25% of the records are left out, because their weight is missing" in " ".join(done.output.split())


def test_classes_are_named_as_fields_of_the_function(folder: Path) -> None:
    """Before, the hint was of options that this command does not have."""
    hint = "name both classes, as in event_value => 'yes', censored_value => 'no'"
    statement = "SELECT dp_survival(days, died, 0, 9, 9) FROM trial"
    done = ask(folder / "trial.csv", statement, "--epsilon", "1")
    assert done.exit_code == 2
    assert done.output.strip().endswith(hint)
    with pytest.raises(InvalidArgument, match=f"^statement: .*; {hint}$"):
        dp.sql({"trial": folder / "trial.csv"}, statement, loss=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE)
    named = statement.replace("0, 9, 9", "0, 9, 9, event_value => '1', censored_value => '0'")
    assert ask(folder / "trial.csv", named, "--epsilon", "1").exit_code == 0


WRONG = (
    ("trial.csv", "SELECT dp_median(dais, 0, 9, 9) FROM trial", "1", "the nearest is 'days'"),
    ("trial.csv", "SELECT dp_median(days, 0, 9, 9) FROM trails", "1", "FROM can name trial"),
    ("trial.csv", "SELECT dp_median(days, 9, 0, 9) FROM trial", "1", "lower"),
    ("trial.csv", "SELECT dp_median(days, 0, 9, 9) FROM trial", "0", "above zero"),
    ("trial.csv", "SELECT dp_median(days, 0, 9, 9) FROM trial", "1 --level 95", "as in 0.95"),
    ("trial.csv", "SELECT dp_median(days, 0, 9, 9) FROM trial", "1 --delimiter ;", "'days,died,arm'; give ','"),
    ("none.csv", "SELECT dp_median(days, 0, 9, 9) FROM none", "1", "there is no file 'none.csv'"),
    ("teams.parquet", "SELECT dp_count(team) FROM teams", "1", "dpcurves bars"),
    ("teams.parquet", "SELECT dp_roc(team, w) FROM teams", "1", "pos_label => 'yes', neg_label => 'no'"),
    ("teams.parquet", "SELECT team, dp_mean(w, 0, 4) FROM teams GROUP BY team", "1", "(--by team=a,b)"),
)


def test_what_is_wrong_is_said_in_one_line_and_costs_nothing(folder: Path, tmp_path: Path) -> None:
    ledger = f"sqlite:///{tmp_path / 'budget.db'}"
    opened = ["ledger", "create", ledger, "--dataset", "d", "--epsilon", "2", "--adjacency", "add-remove"]
    assert CliRunner().invoke(build(opened), opened).exit_code == 0
    for file, statement, more, rule in WRONG:
        words = ["sql", str(folder / file), statement, "--ledger", ledger, "--epsilon", *more.split()]
        done = CliRunner().invoke(build(words), words)
        assert done.exit_code in {2, 4}, done.output
        assert rule in done.output, done.output
        assert len(done.output.splitlines()) == 1
    assert not Ledger.open_existing(ledger).statement("d").grants


def run(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "160"}).invoke(build(words), words)  # no cell of a table is wrapped


@pytest.mark.parametrize("by", ["python", "command", "SQL"])
def test_a_count_of_labels_in_a_csv_file_says_how_labels_are_counted(folder: Path, by: str) -> None:
    """A header declares no types, so that only records could tell that a column has labels: nothing is refused."""
    if by == "python":
        found = dp.count(folder / "trial.csv", column="arm", epsilon=1, adjacency=dp.ADD_REMOVE)
        notes = " ".join(found.notes)
    elif by == "SQL":
        notes = ask(folder / "trial.csv", "SELECT dp_count(arm) FROM trial", "--epsilon", "1").output
    else:
        words = "--column", "arm", "--epsilon", "1", "--adjacency", "add-remove"
        notes = run("count", str(folder / "trial.csv"), *words).output
    told = " ".join(notes.split())
    assert re.search(r"about (9\d|100)% have text instead of a number", told)
    assert "labels are counted, by declared categories, with dp.bar_chart (dpcurves bars; dp_bar_chart in SQL)" in told


def test_an_interval_of_width_zero_is_printed_as_its_number_is() -> None:
    """Before, 0.5547 was printed as 0.555, beside an interval of 0.554 alone."""
    values, widths = np.array([0.55465, 0.5]), np.array([0.01, 0.05])
    columns = [TableColumn("value", "share", values, widths=widths)]
    for bound, ends in (Bound.LOWER, [0.55465, 0.4711]), (Bound.UPPER, [0.55465, 0.5211]):
        columns.append(TableColumn(bound.name, "ends", np.array(ends), widths=widths, numbers=values, bound=bound))
    texts = ResultTable("", tuple(columns), 2).text_columns()
    assert texts == {"share": ["0.555", "0.500"], "ends": ["0.555", "0.471 to 0.522"]}


def write_trial(folder: Path, records: int) -> Path:
    """Arms of 15, 30 and 55 % of the records with tied times, of which the last arm's are 1.7 times as long."""
    draw = np.random.default_rng(5)
    arm = draw.choice(["new", "mid", "old"], records, p=[0.15, 0.3, 0.55])
    event = np.ceil(draw.exponential(np.where(arm == "old", 6 * 1.7, 6)))
    follow_up = draw.integers(3, 12, records)
    path = folder / f"arms{records}.csv"
    rows = zip(np.minimum(event, follow_up).astype(int), (event <= follow_up).astype(int), arm, strict=True)
    path.write_text("days,died,arm\n" + "".join(f"{day},{died},{name}\n" for day, died, name in rows))
    return path


@pytest.mark.parametrize("show", [(), ("--show", "numbers", "--until", "9")], ids=["curves", "numbers"])
def test_several_arms_get_their_log_rank_test_on_the_command_line(tmp_path: Path, show: tuple[str, ...]) -> None:
    """At a large epsilon the statistic is that of survdiff and lifelines; two arms alone had a test before."""
    path = write_trial(tmp_path, 900)
    asked = "--time", "days", "--event", "died", "--event-value", "1", "--censored-value", "0", "--values", "0:12"
    terms = "--epsilon", "1000", "--adjacency", "add-remove", "--by", "arm=new,mid,old"
    done = run("survival", str(path), *asked, *terms, *show)
    assert done.exit_code == 0, done.output
    found = re.search(r"log-rank, arm new, arm mid and arm old: chi-squared ([\d.]+), p-value", done.output)
    assert found, done.output
    table = list(csv.DictReader(path.read_text().splitlines()))
    days, died = (np.array([int(row[name]) for row in table]) for name in ("days", "died"))
    arms = np.array([[row["arm"] == name for row in table] for name in ("new", "mid", "old")])
    excess, covariance = np.zeros(3), np.zeros((3, 3))
    for day in np.unique(days[died == 1]):
        risk, events = (arms & (days >= day)).sum(axis=1), (arms & ((days == day) & (died == 1))).sum(axis=1)
        all_risk, all_events, share = risk.sum(), events.sum(), risk / risk.sum()
        excess += events - all_events * share
        factor = all_events * (all_risk - all_events) / max(all_risk - 1, 1)
        covariance += factor * (np.diag(share) - np.outer(share, share))
    expected = excess[:2] @ np.linalg.solve(covariance[:2, :2], excess[:2])
    assert float(found[1]) == pytest.approx(expected, rel=0.01)


def test_a_stream_of_german_dates_and_a_misspelt_state_names_both_reasons(tmp_path: Path) -> None:
    """A third each of 180 tuples with ; between fields is good, has 02.03.2026, and has gmy for gym."""
    kinds = "2026-03-02T06:{0:02};gym\n", "02.03.2026 06:{0:02};gym\n", "2026-03-02T06:{0:02};gmy\n"
    lines = "".join(kind.format(minute) for minute in range(60) for kind in kinds)
    (tmp_path / "events.csv").write_text(f"ts;state\n{lines}")
    steps = "--start", "2026-03-02T06:00", "--end", "2026-03-02T07:00", "--every", "20m", "--states", "gym,library"
    store = "--delimiter", ";", "--epsilon", "50", "--store", f"sqlite:///{tmp_path / 's.db'}"
    done = run("stream", str(tmp_path / "events.csv"), *steps, *store)
    assert done.exit_code == 0, done.output
    assert re.search(r"about 3[2-5] % of the tuples so far are unreadable, or .ts. is neither ISO 8601", done.output)
    assert re.search(r"about 3[2-5] % of the tuples so far have a state that is not listed", done.output)
    assert re.search(r"about (49|5[01]) % of the tuples of the last step have a state that is not listed", done.output)
    released = [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]
    assert [row["count"] for row in released if row.get("state") == "gym"] == pytest.approx([20, 20, 20], abs=1)


PRECISE = "--epsilon", "1000", "--adjacency", "add-remove"
EVENTS = "--time", "t", "--event", "e", "--event-value", "1", "--censored-value", "0", "--values", "1:7"


@pytest.fixture
def late(tmp_path: Path) -> Path:
    """100 records from 0 on, of which 40 have the event at 3 and 60 are censored at 6; 100 from 3 on, events at 6."""
    path = tmp_path / "late.csv"
    path.write_text("from,t,e,last,first\n" + "0,3,1,2,3\n" * 40 + "0,6,0,6,\n" * 60 + "3,6,1,5,6\n" * 100)
    return path


def read_share(done: Result, time: float) -> float:
    assert done.exit_code == 0, done.output
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in done.output.splitlines() if "│" in line]
    return next(float(row[1].removesuffix("%")) / 100 for row in rows if row[0] == str(time))


@pytest.mark.parametrize(("ties", "shares"), [("after", (0.6, 0.225)), ("before", (0.8, 0.3))])
def test_who_enters_at_the_time_of_an_event_is_at_risk_for_later_ones_alone(
    late: Path, ties: str, shares: tuple[float, float]
) -> None:
    """R's intervals are (start, stop]: 40 of 100 have the event at 3, and 100 of 160 at 6."""
    done = run("delayed-entry", str(late), "--entry", "from", *EVENTS, "--entry-ties", ties, *PRECISE)
    assert [read_share(done, time) for time in (3.5, 6.5)] == pytest.approx(shares, abs=0.006)


def test_an_empty_second_look_is_an_event_not_yet_seen_on_the_command_line(late: Path) -> None:
    done = run("interval-censored", str(late), "--last", "last", "--first", "first", *EVENTS[-2:], *PRECISE)
    assert [read_share(done, time) for time in (3.5, 6.5)] == pytest.approx([0.8, 0.3], abs=0.006)


def test_a_hazard_ratio_of_unequal_arms_with_tied_times_is_the_one_of_breslow(tmp_path: Path) -> None:
    """The arms have 15 and 55 % of the records, and the score equation of Cox is solved by halving."""
    path = write_trial(tmp_path, 3000)
    asked = "--time", "days", "--event", "died", "--event-value", "1", "--censored-value", "0", "--values", "0:12"
    done = run("survival", str(path), *asked, "--by", "arm=new,old", "--show", "numbers", "--until", "9", *PRECISE)
    assert done.exit_code == 0, done.output
    found = re.search(r"hazard ratio │ +([\d.]+) ", done.output)
    assert found, done.output
    rows = [row for row in csv.DictReader(path.read_text().splitlines()) if row["arm"] != "mid"]
    days, died = (np.array([int(row[name]) for row in rows]) for name in ("days", "died"))
    is_new = np.array([row["arm"] == "new" for row in rows])
    low, high = 0.2, 9.0
    for _ in range(40):
        ratio, score = np.sqrt(low * high), 0.0
        for day in np.unique(days[died == 1]):
            events = (days == day) & (died == 1)
            new, old = ((days >= day) & is_new).sum() * ratio, ((days >= day) & ~is_new).sum()
            score += (events & is_new).sum() - events.sum() * new / (new + old)
        low, high = (ratio, high) if score > 0 else (low, ratio)
    assert 1.3 < ratio < 2.2
    assert float(found[1]) == pytest.approx(ratio, rel=0.01)


def test_times_between_cells_and_out_of_order_are_answered_in_their_order_at_named_edges(late: Path) -> None:
    grid = *EVENTS[:-2], "--grid", "0:8:4"
    done = run("survival", str(late), *grid, "--show", "numbers", "--until", "7.5", "--times", "5.5,1.5,4", *PRECISE)
    assert done.exit_code == 0, done.output
    assert re.findall(r"share without an event at (.*?) +│", done.output) == [
        "6 (the edge nearest to 5.5)", "2 (the edge nearest to 1.5)", "4",
    ]  # fmt: skip
    assert "restricted mean up to 8 (the edge nearest to 7.5)" in done.output


def test_a_count_of_numbers_has_no_advice_on_labels(folder: Path) -> None:
    done = run("count", str(folder / "trial.csv"), "--column", "days", "--epsilon", "1", "--adjacency", "add-remove")
    assert done.exit_code == 0, done.output
    assert "labels are counted" not in done.output
