"""The command that follows streams."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from dpcurves.ledger import Ledger

Run = Callable[..., Result]
TERMS = (
    "--time", "ts", "--state", "ap", "--states", "a,b", "--start", "2026-03-02", "--end", "2026-03-02T01:00",
    "--every", "10m", "--epsilon", "1",
)  # fmt: skip


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """Tuples, one of a state with a secret name."""
    file = tmp_path / "events.csv"
    rows = [f"2026-03-02T00:{minute:02}:00,{'ab'[minute % 2]},u{minute % 7}" for minute in range(60)]
    file.write_text("\n".join(["ts,ap,mac", *rows, "2026-03-02,zebrafinch,u1", "zebrafinch,a,u1"]) + "\n")
    return file


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_step_and_state_is_a_line_and_a_second_run_repeats_it(run: Run, events: Path, tmp_path: Path) -> None:
    store, out = f"sqlite:///{tmp_path}/s.db", tmp_path / "out.jsonl"
    first = run("stream", events, *TERMS, "--store", store, "--json", out)
    assert (first.exit_code, first.stdout) == (0, "")
    found = lines(out.read_text())
    counts = [line for line in found if "uncounted" not in line]
    assert [(line["step"], line["ap"]) for line in counts] == [(step, ap) for step in range(1, 7) for ap in "ab"]
    interval = {"low", "high", "unbiased", "level", "covers"}
    assert counts[2].keys() == {"stream", "step", "start", "ap", "count", *interval}
    reasons = [line for line in found if "uncounted" in line]
    assert [line["uncounted"] for line in reasons[:4]] == ["unreadable", "outside the steps", "late", "other state"]
    assert reasons[0].keys() == {"stream", "step", "start", "uncounted", "total", *interval}
    again = run("stream", events, *TERMS, "--store", store)
    assert lines(again.stdout) == found
    assert Ledger.open(store).balance("stream").spent.digits == "1"


def test_the_example_runs_with_windows_and_events_in_every_reading(run: Run, tmp_path: Path) -> None:
    tree = tmp_path / "tree.json"
    tree.write_text(json.dumps({"campus": {"indoors": ["gym", "library"], "food": ["cafeteria"]}}))
    for given, keys in (
        ((), 3),
        (("--reading", "laplace"), 3),
        (("--reading", "pegasus"), 3),
        (("--hierarchy", tree), 6),
        (("--hierarchy", tree, "--reading", "pegasus"), 6),
    ):
        done = run("stream", "--example", "--window", "6", "--event", "jump:3:30", "--event", "low:6:20", *given)
        assert done.exit_code == 0, done.stderr
        found = lines(done.stdout)
        assert len(found) == 96 * (keys + 5)  # four reasons, and users beyond the cap
        assert {"window:6", "jump:3:30", "low:6:20"} < found[0].keys()


def test_totals_so_far_are_shown_with_intervals_for_these_records(run: Run, events: Path) -> None:
    done = run("stream", events, *TERMS, "--store", "sqlite://", "--reading", "totals", "--window", "2")
    assert done.exit_code == 0, done.stderr
    last = [line for line in lines(done.stdout) if "uncounted" not in line][-1]
    assert {"total", "low", "high", "window:2", "window:2:low", "window:2:high"} < last.keys()
    assert (last["level"], last["covers"]) == (0.95, "for these records")
    live = run("stream", events, *TERMS, "--store", "sqlite://", "--reading", "totals", "--live")
    assert "in brackets 95% intervals for these records" in " ".join(live.stdout.split())


def test_files_are_read_as_lines_and_delimiter_say(run: Run, events: Path, tmp_path: Path) -> None:
    terms = [*TERMS[:-1], "1000"]
    plain = run("stream", events, *terms, "--store", "sqlite://").stdout
    other, objects, named = tmp_path / "other.csv", tmp_path / "objects.txt", tmp_path / "objects.jsonl"
    other.write_text(events.read_text().replace(",", "|"))
    rows = [line.split(",") for line in events.read_text().splitlines()]
    for file in (objects, named):
        file.write_text("".join(json.dumps(dict(zip(rows[0], row, strict=True))) + "\n" for row in rows[1:]))
    for file, given in ((other, ("--delimiter", "|")), (objects, ("--format", "json")), (named, ())):
        done = run("stream", file, *terms, "--store", "sqlite://", *given)
        assert (done.exit_code, done.stdout) == (0, plain), done.stderr
    for source, given, refusal in (
        (str(named), ("--delimiter", "|"), "delimiter: JSON lines have no delimiter"),
        ("x.parquet", ("--format", "csv"), "format: Parquet has no lines; leave out this option"),
        ("redis://nowhere/0#events", ("--delimiter", ";"), "delimiter: entries of Redis have no lines"),
        (str(events), ("--format", "xml"), "format: must be csv or json, got 'xml'; write --format csv or "),
    ):  # fmt: skip
        refused = run("stream", source, *terms, "--store", "sqlite://", *given)
        assert (refused.exit_code, refused.stderr.startswith(f"dpcurves: {refusal}")) == (2, True), refused.stderr


@pytest.mark.parametrize(
    "given",
    [("--time", "when"), ("--user", "who"), ("--state", "room"), ("--start", "2026-01-01"), ("--end", "2026-03-03"),
     ("--every", "5m"), ("--format", "json"), ("--delimiter", ";")],
)  # fmt: skip
def test_the_example_replaces_nothing_that_was_given(run: Run, given: tuple[str, str]) -> None:
    done = run("stream", "--example", *given)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"dpcurves: {given[0][2:]}: --example has ")
    assert done.stderr.endswith("; leave out this option\n")
    assert run("stream", "--example", "--user", "mac", "--every", "10m", "--grace", "1m").exit_code == 0


def test_live_shows_the_newest_step(run: Run, events: Path) -> None:
    done = run("stream", events, *TERMS, "--store", "sqlite://", "--live")
    assert done.exit_code == 0
    assert "step 6" in done.stdout


def test_states_that_may_be_noise_alone_are_named_beside_lines_and_in_the_live_table(run: Run, events: Path) -> None:
    """Sixty tuples drown in noise at epsilon 1e-3; at 1e6 only the state without a tuple may be empty."""
    note = "no count is higher than noise alone may give: each may be 0"
    for price, states, expected in (("0.001", "a,b", note), ("1000000", "a,b", ""), ("1000000", "a,c", f"c: {note}")):
        terms = [*TERMS[:5], states, *TERMS[6:-1], price, "--store", "sqlite://"]
        plain = run("stream", events, *terms)
        assert plain.exit_code == 0, plain.stderr
        printed = [line for line in plain.stderr.splitlines() if "noise alone" in line]
        assert [line.removeprefix("dpcurves: ") for line in printed] == ([expected] if expected else [])
        live = run("stream", events, *terms, "--live")
        shown = [line.strip() for line in live.stdout.splitlines() if "noise alone" in line]
        assert shown[-1:] == ([expected] if expected else [])
        assert "noise alone" not in live.stderr


def test_a_plan_says_what_moves_windows_and_users_cost(run: Run) -> None:
    given = ("--start", "0", "--end", "3000", "--every", "300", "--epsilon", "0.1", "--window", "4")
    done = run("plan", "stream", "--states", "a,b", *given, "--user", "mac", "--tuples-per-user", "2")
    assert done.exit_code == 0
    for words in ("mac in one step", "epsilon 0.1", "epsilon 0.2", "epsilon 0.4", "epsilon 1", "each of 4 steps"):
        assert words in done.stdout


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        (("--time", "when"), "time: 'when' is not in the data"), (("--states", "a,a"), "states: "),
        (("--end", "2026-03-02T00:55"), "end: must be a whole number of steps after start"),
        (("--every", "soon"), "every: "), (("--event", "noon"), "event: "), (("--reading", "tea"), "reading: "),
        (("--window", "0"), "window: "), (("--epsilon", "2"), "budget: "), (("--every", "5m"), "name: "),
        (("--reading", "totals"), "name: "), (("--user", "mac"), "tuples-per-user: "),
        (("--hierarchy", "no.json"), "states: "),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_one_line_and_nothing_is_lost(
    run: Run, events: Path, tmp_path: Path, given: tuple[str, str], refusal: str
) -> None:
    store = f"sqlite:///{tmp_path}/s.db"
    assert run("stream", events, *TERMS, "--store", store).exit_code == 0
    head, terms = Ledger.open(store).head(), list(TERMS)
    if given[0] in terms:
        terms[terms.index(given[0]) + 1] = given[1]
    else:
        terms += given
    done = run("stream", events, *terms, "--store", store)
    assert done.exit_code in (2, 3, 4)
    assert done.stderr.startswith(f"dpcurves: {refusal}")
    assert done.stderr.count("\n") == 1
    assert Ledger.open(store).head() == head


def test_drift_since_the_first_weeks_is_told_and_raises_alarms(run: Run, tmp_path: Path) -> None:
    """The first four of ten weeks are the reference; values move up in the last two, by far."""
    rows, out = ["ts,late"], tmp_path / "out.jsonl"
    for week in range(10):
        for each in range(400):
            rows.append(f"{86_400 * 7 * week + each},{(each % 20 + (each % 7 == 0) + 6 * (week >= 8)) % 26}")
    (tmp_path / "e.csv").write_text("\n".join(rows) + "\n")
    terms = (
        "--column", "late", "--grid", "0:26:13", "--start", "0", "--end", str(70 * 86_400), "--every", "7d",
        "--epsilon", "2",
    )  # fmt: skip
    given = ("stream", tmp_path / "e.csv", *terms, "--drift-since", "4", "--json", out)
    uncounted = {f"uncounted: {reason}" for reason in ("unreadable", "outside the steps", "late", "other state")}
    store = f"sqlite:///{tmp_path}/s.db"
    assert run(*given, "--store", store).exit_code == 0
    found = [line for line in lines(out.read_text()) if "drift" in line]
    assert [line["step"] for line in found[::8]] == [5, 6, 7, 8, 9, 10]
    assert {line["drift"] for line in found} == {"psi", "ks", "wasserstein", "auc", *uncounted}
    assert found[0].keys() == {"stream", "step", "start", "drift", "value", "threshold", "pvalue", "alarm"}
    assert {line["step"] for line in found if line["alarm"]} == {9, 10}
    states = ["ts,ap"] + [
        f"{86_400 * 7 * (each // 40)},{'ab'[each % 40 < 35 - 30 * (each >= 320)]}" for each in range(400)
    ]
    (tmp_path / "e.csv").write_text("\n".join(states) + "\n")
    asked = ("stream", tmp_path / "e.csv", "--state", "ap", "--states", "a,b", *terms[4:], "--drift-since", "4")
    assert run(*asked, "--json", out, "--store", f"sqlite:///{tmp_path}/states.db").exit_code == 0
    found = [line for line in lines(out.read_text()) if "drift" in line]
    assert {line["drift"] for line in found} == {"psi", "chi_squared", "tv", *uncounted}
    assert {line["step"] for line in found if line["alarm"]} == {9, 10}
    (tmp_path / "e.csv").write_text("\n".join(rows) + "\n")
    live = run(*given[:-2], "--store", store, "--live")
    assert "drift, psi:" in live.stdout
    for other, refusal in (
        (("--reading", "totals"), "drift-since: drift needs counts of each step"),
        (("--false-alarm-rate", "1e-9"), "false-alarm-rate: alarms are too rare to simulate with 53 windows a year"),
        (("--states", "a"), "column: count either numbers or states"),
        (("--drift-since", "0"), "drift-since: "),
    ):
        refused = run(*given[:-2], *other, "--store", f"sqlite:///{tmp_path}/none.db")
        assert (refused.exit_code, refused.stderr.startswith(f"dpcurves: {refusal}")) == (2, True), refused.stderr
    assert not (tmp_path / "none.db").exists()


def test_a_filter_is_written_with_each_step_and_failing_tuples_count_nowhere(run: Run, tmp_path: Path) -> None:
    rows = [(second, "login" if second % 3 else "logout", second % 50, second % 4) for second in range(0, 3600, 6)]
    text = "\n".join(["ts,kind,bytes,seconds", *(",".join(map(str, row)) for row in rows)])
    (tmp_path / "t.csv").write_text(text + "\n")
    where, out, log = "kind = 'login' AND bytes >= 10", tmp_path / "out.jsonl", tmp_path / "log"
    terms = ("--column", "bytes / seconds", "--grid", "0:50:5", "--start", "0", "--end", "3600", "--every", "1h")
    price = ("--epsilon", "1000000", "--where", where)
    rows = [row for row in rows if row[1] == "login" and row[2] >= 10]
    exact = [sum(bool(seconds) and bytes / seconds // 10 == cell for *_, bytes, seconds in rows) for cell in range(5)]
    for file, source in ((tmp_path / "t.csv", ()), (tmp_path / "t.txt", ("--format", "csv"))):
        (tmp_path / "t.txt").write_text(text)
        result = run("stream", file, *source, *terms, *price, "--store", "sqlite://", "--json", out,
                     "--confidential-log", log)  # fmt: skip
        assert result.exit_code == 0, result.output
        steps = lines(out.read_text())
        assert [line["unbiased"] for line in steps if "uncounted" not in line] == exact
        assert {line["where"] for line in steps} == {where}
        assert lines(log.read_text())[-1]["failing the filter"] == 600 - len(rows)
    assert f"tuples where {where}" in " ".join(run("plan", "stream", *terms, *price).stdout.split())
