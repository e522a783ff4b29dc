"""Filters and derived columns of streams: exact windows of all tiny streams, and every kind of source."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.data import Axis, Categories, Grid
from dpcurves.ledger import Ledger
from dpcurves_streams.feed import CsvLines, JsonLines
from dpcurves_streams.feed.files import TableWindows
from dpcurves_streams.feed.follow import plan_stream
from dpcurves_streams.feed.schedule import Fields, Schedule, SystemClock
from dpcurves_streams.feed.windows import DropCounts, OpenWindows, StreamSpec

SCHEDULE = Schedule(0, 10, 20, 0)
WHERE = "flag = 1"
# One that passes in each state and one in none, two that fail, in a step, outside of all and without a time.
TUPLES: tuple[dict[str, Any], ...] = (
    {"time": 5, "ap": "a", "flag": 1}, {"time": 15, "ap": "b", "flag": 1}, {"time": 5, "ap": "gone", "flag": 1},
    {"time": 5, "ap": "a", "flag": 0}, {"time": 30, "ap": "a", "flag": None}, {"time": None, "ap": "a", "flag": 0},
)  # fmt: skip
OTHERS = [{"time": 5, "ap": "a", "flag": 1, "user": "v"}, {"time": 15, "ap": "a", "flag": 0, "user": "v"}]


def count_live(tuples: Sequence[dict[str, Any]], most: int, where: str) -> NDArray[np.int64]:
    """Return the windows of a live stream in which all tuples arrive in the first step."""
    axes = (Categories("ap", ("a", "b"), where=where),)
    windows = OpenWindows(SCHEDULE, Fields("time", "user", most), axes, DropCounts(), 0)
    for fields in tuples:
        windows.count_tuple(fields, 5)
    return np.array([[*window.counts, *window.uncounted] for window in windows.close_windows(2)])


def count_table(tuples: Sequence[dict[str, Any]], most: int, where: str) -> NDArray[np.int64]:
    """Return the windows of a finished table."""
    axes = (Categories("ap", ("a", "b"), where=where),)
    intake = StreamSpec(SCHEDULE, Fields("time", "user", most), axes, DropCounts(), bytes(32), SystemClock())
    frame = pd.DataFrame(tuples, columns=["time", "ap", "flag", "user"]).astype({"time": float, "flag": float})
    batches = list(TableWindows(frame, intake).windows_after(0))
    return np.array([[*window.counts, *window.uncounted] for windows in batches for window in windows])


@pytest.mark.parametrize(("count", "size"), [(count_live, 4), (count_table, 3)])
def test_windows_are_those_of_the_tuples_that_pass_for_every_tiny_unit(
    count: Callable[..., NDArray[np.int64]], size: int
) -> None:
    """All tuples of one user, up to so many: a filter maps neighbours to neighbours, before the bound per user."""
    for most in (1, 2):
        without = count(OTHERS, most, WHERE)
        holdings = [rows for number in range(1, size) for rows in combinations_with_replacement(TUPLES, number)]
        for holding in holdings if count is count_live else holdings[::3]:
            sent = [{**row, "user": "u"} for row in holding]
            windows = count([*OTHERS, *sent], most, WHERE)
            passing = [row for row in (*OTHERS, *sent) if row["flag"] == 1]
            np.testing.assert_array_equal(windows, count(passing, most, ""))
            moved = windows - without
            assert moved.min() >= 0
            assert moved[:, :-1].sum(axis=1).max() <= most
            assert moved[:, -1].max() <= 1


def make_frame() -> pd.DataFrame:
    """Return an hour of logins."""
    generator = np.random.default_rng(4)
    return pd.DataFrame({
        "ts": np.arange(600) * 6, "kind": generator.choice(["login", "logout"], 600),
        "bytes": generator.integers(0, 4000, 600), "seconds": generator.integers(0, 5, 600),
        "ap": generator.choice(["North-1", "north-2", "south-1"], 600),
    })  # fmt: skip


AXES: dict[str, Axis | Categories] = {
    "state": Categories("lower(substr(ap, 1, 5))", ("north", "south")),
    "numbers": Axis("bytes / seconds", Grid(0, 4000, cells=4)),
    "logarithm": Axis("log2(bytes)", Grid(0, 12, cells=3)),
    "geometric": Axis("bytes", Grid.geometric(1, 4096, cells=7)),
    "apart": Axis("bytes", Grid.from_edges((7, 150, 2000, 3000)).with_outside(dp.Outside.APART)),
}
FILTER = "kind = 'login' AND bytes >= 100"


def compute_counts(name: str, frame: pd.DataFrame) -> list[int]:
    """Return the exact counts of the hour."""
    rows = frame[(frame.kind == "login") & (frame.bytes >= 100)]
    if name == "state":
        places = rows.ap.str[:5].str.lower()
        return [int((places == place).sum()) for place in ("north", "south")]
    numbers = {"numbers": rows.bytes / rows.seconds.replace(0, np.nan), "logarithm": np.log2(rows.bytes)}
    axis = AXES[name]
    assert isinstance(axis, Axis)
    values = numbers.get(name, rows.bytes).dropna()
    counts: list[int] = np.bincount(axis.grid.cell_of(values.to_numpy(dtype=float)), minlength=axis.slots).tolist()
    return counts


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("source", ["frame", "csv", "pipe", "jsonl", "json pipe", "iterable"])
def test_each_source_filters_and_derives_alike(source: str, tmp_path: Path) -> None:
    frame = make_frame()
    lines = frame.to_json(orient="records", lines=True)
    (tmp_path / "t.csv").write_text(frame.to_csv(index=False))
    (tmp_path / "t.jsonl").write_text(lines)
    for name, axis in AXES.items():
        sources: dict[str, Callable[[], Any]] = {
            "frame": lambda: frame, "csv": lambda: str(tmp_path / "t.csv"),
            "pipe": lambda: CsvLines(io.StringIO(frame.to_csv(index=False))),
            "jsonl": lambda: str(tmp_path / "t.jsonl"), "json pipe": lambda: JsonLines(io.StringIO(lines)),
            "iterable": lambda: frame.to_dict("records"),
        }  # fmt: skip
        (step,) = dp.streams.follow(
            sources[source](), dp.streams.Counts((axis,)), loss=dp.PrivacyLoss.pure(10**6), store="sqlite://", start=0,
            every="1h", end=3600, time="ts", where=(dp.col("kind") == "login") & (dp.col("bytes") >= 100),
        )  # fmt: skip
        assert list(step.values) == compute_counts(name, frame)
        assert {line["where"] for line in step.to_dicts()} == {step.privacy.where} == {FILTER}


def test_a_filter_is_part_of_what_a_stream_pays_for(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/s.db"
    terms: dict[str, Any] = {"loss": dp.PrivacyLoss.pure(1), "start": 0, "every": "1h", "end": 3600, "time": "ts"}
    counts = dp.streams.Counts((AXES["state"],))
    first = list(dp.streams.follow(make_frame(), counts, store=store, where=FILTER, **terms))
    again = dp.streams.follow(make_frame(), counts, store=store, where=f"  {FILTER} ", **terms)
    assert [step.values for step in again] == [step.values for step in first]
    with pytest.raises(InvalidArgument, match=r"^name: the store has another stream with this name"):
        dp.streams.follow(make_frame(), counts, store=store, where="bytes >= 100", **terms)
    assert Ledger.open(store).balance("stream").spent.digits == "1"
    loss, plain = plan_stream(counts, where=FILTER, **terms), plan_stream(counts, **terms)
    assert (loss.error, loss.distribution) == (plain.error, plain.distribution)
    assert loss.fingerprint != plain.fingerprint
    with pytest.warns(dp.CurveWarning, match="'ada@example.org' is published"):
        list(dp.streams.follow(make_frame(), counts, store="sqlite://", where="kind = 'ada@example.org'", **terms))


@pytest.mark.parametrize(
    ("source", "axis", "where", "rule"),
    [
        ("frame", AXES["state"], "byte > 3", r"^where: there is no column 'byte'; the nearest is 'bytes'"),
        ("frame", AXES["state"], "kind > 3", r"^where: kind > 3: a? ?number.* text"),
        ("frame", Axis("bytes / second", Grid(0, 1, cells=1)), None, r"^column: .*the nearest is 'seconds'"),
        ("pipe", Axis("bytes / second", Grid(0, 1, cells=1)), None, r"^column: 'second' must .*nearest is 'seconds'"),
        ("pipe", AXES["state"], "byte > 3", r"^column: 'byte' must appear once .*nearest is 'bytes'"),
        ("iterable", AXES["state"], "lower(kind) > 3", r"^where: .*cannot be compared"),
        ("iterable", AXES["state"], "kind = 'x' LIMIT 3", r"^where: "),
        ("iterable", Axis("bytes / nope(seconds)", Grid(0, 1, cells=1)), None, r"^column: "),
        ("frame", Axis("bytes", Grid.geometric(1, 2, cells=5000)), None, r"^grid: must have at most 4096 cells in a "),
        ("iterable", replace(AXES["state"], where="bytes > 1"), "bytes > 2", r"^where: the states have a filter"),
        ("windows", AXES["state"], "bytes > 2", r"^where: this source counts tuples itself and evaluates no filter"),
    ],
)  # fmt: skip
def test_a_wrong_filter_or_column_is_refused_before_the_charge(
    source: str, axis: Any, where: str | None, rule: str, tmp_path: Path
) -> None:
    frame, store = make_frame(), f"sqlite:///{tmp_path}/s.db"

    class Counted:
        """A source that counts by itself."""

        check = windows_after = commit_windows = staticmethod(lambda *_: None)

    opened: Any = {
        "frame": frame, "pipe": CsvLines(io.StringIO(frame.to_csv(index=False))), "windows": Counted(),
        "iterable": frame.to_dict("records"),
    }[source]  # fmt: skip
    with pytest.raises(InvalidArgument, match=rule):
        dp.streams.follow(
            opened, dp.streams.Counts((axis,)), loss=dp.PrivacyLoss.pure(1), store=store, start=0, every="1h",
            end=3600, time="ts", where=where,
        )  # fmt: skip
    assert not Ledger.open(store).accounts()
