"""Streams that are followed: what counts, what does not, and that nothing is told twice."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcurves as dp
from dpcurves.data import Axis
from dpcurves.ledger import Ledger
from dpcurves.models import NumericColumn, Power, Term
from dpcurves_streams.feed import CsvFile, CsvLines, FollowedStream, JsonLines, JsonLinesTuples, Window, follow
from dpcurves_streams.feed.reading import JsonLinesFile, StatesOfNoise, StepReading
from dpcurves_streams.readings import AggregatedCounts, Counts, Groups, Jump, PrunedStates, Smoothing, Totals

SURE = dp.PrivacyLoss.pure(10_000)
"""So large a loss that no noise is drawn: e^-10000 never comes."""
STATES = (dp.Categories("ap", ("a", "b")),)
COUNTS = Counts(STATES, smoothing=Smoothing.PLAIN)
ROWS: tuple[tuple[Any, Any, Any], ...] = (
    ("1970-01-01T00:00:00", "a", "u1"), (9.999999, "a", "u2"), (10, "b", "u1"), ("1970-01-01T00:00:19Z", "b", "u1"),
    ("25.5", "a", "u3"), ("1970-01-01 01:00:29+01:00", "a", "u3"), (29, "b", "u3"),
    ("never", "a", "u1"), (5, "c", "u1"), (-1, "a", "u1"), (30, "a", "u1"), (1e300, "a", "u1"), (None, "a", "u1"),
)  # fmt: skip
TUPLES = [dict(zip(("ts", "ap", "user"), row, strict=True)) for row in ROWS]
PER_TUPLE = [(2, 0), (0, 2), (2, 1)]


def followed(source: Any, counts: Any = COUNTS, **terms: Any) -> FollowedStream:
    given = {"loss": SURE, "store": "sqlite://", "start": 0, "every": 10, "end": 30, "time": "ts", **terms}
    return follow(source, counts, **given)


def values(source: Any, **terms: Any) -> list[tuple[int, ...]]:
    return [reading.values for reading in followed(source, **terms)]


def csv_file(folder: Path, rows: Any = ROWS) -> Path:
    file = folder / "events.csv"
    lines = [",".join("" if value is None else str(value) for value in row) for row in rows]
    file.write_text("\n".join(["ts,ap,user", *lines]) + "\n")
    return file


async def in_time(tuples: list[dict[str, Any]]) -> AsyncIterator[Mapping[str, Any]]:
    for each in tuples:
        await asyncio.sleep(0)
        yield each


def json_lines(broken: str = "") -> JsonLines:
    return JsonLines(io.StringIO("".join(json.dumps(each) + "\n" for each in TUPLES) + broken))


def test_all_sources_count_the_same_tuples(tmp_path: Path) -> None:
    file = csv_file(tmp_path)
    texts = {name: [None if row[at] is None else str(row[at]) for row in ROWS] for at, name in enumerate(TUPLES[0])}
    parquet, engine = str(tmp_path / "events.parquet"), duckdb.connect()
    engine.read_csv(str(file), all_varchar=True).write_parquet(parquet)
    relation = engine.read_parquet(parquet)
    lines = tmp_path / "events.jsonl"
    lines.write_text("".join(json.dumps(each) + "\n" for each in TUPLES) + "[1]\n{")
    semicolons = tmp_path / "semicolons.csv"
    semicolons.write_text(file.read_text().replace(",", ";"))
    with file.open() as text, file.open("rb") as octets:
        for source in (
            file, str(file), parquet, relation, texts, TUPLES, iter(TUPLES), in_time(TUPLES), CsvLines(text),
            CsvLines(octets), json_lines(), lines, JsonLinesTuples(str(lines)), CsvFile(semicolons, ";"),
        ):  # fmt: skip
            assert values(source) == PER_TUPLE, type(source)


def test_a_column_of_moments_or_of_numbers_says_when() -> None:
    moments = np.array(["1970-01-01T00:00:09.999", "1970-01-01T00:00:10", "NaT"], dtype="datetime64[ms]")
    assert values({"ts": moments, "ap": ["a", "a", "a"]}) == [(1, 0), (1, 0), (0, 0)]
    numbers = np.array([9.999, 10.0, np.nan, np.inf, -np.inf, 1e300])
    assert values({"ts": numbers, "ap": ["a"] * 6}) == [(1, 0), (1, 0), (0, 0)]


def test_of_a_user_only_so_many_tuples_of_a_step_count(tmp_path: Path) -> None:
    capped: dict[str, Any] = {"user": "user", "tuples_per_user": 1}
    for source in (csv_file(tmp_path), TUPLES):
        stream = followed(source, **capped)
        assert [sum(reading.values) for reading in stream] == [2, 1, 1]
        assert stream.dropped.counts["beyond what is used of a user"] == 3
        assert str(stream.plan.adjacency.unit) == "user in one step (at most 1 records each)"
    assert values(TUPLES, user="user", tuples_per_user=3) == PER_TUPLE


def test_no_value_of_a_field_makes_a_stream_fail() -> None:
    class Silent:
        def __str__(self) -> str:
            raise RuntimeError("secret")

        __repr__ = __float__ = __hash__ = __str__  # type: ignore[assignment]

    class Number(float):
        __float__ = __hash__ = __str__ = __eq__ = Silent.__str__  # type: ignore[assignment]

    class Text(str):
        __hash__ = __str__ = __eq__ = strip = Silent.__str__  # type: ignore[assignment]

    deep: list[Any] = []
    for _ in range(10**5):
        deep = [deep]
    odd = [
        Silent(), Number(1), Text("a"), 10**5000, -(10**400), float("nan"), b"\xff", [], {}, deep, np.array([1, 2]),
        object(), "\ud800", "9" * 10**5, "1e999", "nan", True, datetime.max, date.min, Fraction(1, 3), Decimal("sNaN"),
        np.float32("inf"), np.datetime64("NaT"), timedelta.max, type, ...,
    ]  # fmt: skip
    tuples = [{"ts": 1, "ap": "a", "user": each} for each in odd]
    tuples += [{"ts": each, "ap": "a", "user": "u"} for each in odd] + [{"ts": 1, "ap": each} for each in odd] + [{}]
    tuples += [Unreadable(), {"ts": 1, "ap": "b"}]
    assert values(tuples, user="user", tuples_per_user=1)[1:] == [(0, 0), (0, 0)]
    stream = followed(tuples)
    assert [reading.values for reading in stream] == [(len(odd) + 1, 1), (0, 0), (0, 0)]  # what is true is 1 second
    assert sum(stream.dropped.counts.values()) == 2 * len(odd) - 1 + 2


class Unreadable(dict[str, Any]):
    def get(self, *_: object) -> Any:
        raise RuntimeError("secret")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(("a", "b", 9, 10)),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=3,
)
lines = st.dictionaries(st.sampled_from(("ts", "ap", "user")), anything) | anything


@settings(max_examples=12, deadline=None)
@given(st.lists(lines, min_size=1, max_size=20))
def test_whatever_lines_hold_the_same_steps_come_and_pipes_count_what_mappings_do(given: list[Any]) -> None:
    terms: dict[str, Any] = {"user": "user", "tuples_per_user": 1}
    counted, piped = values(given, **terms), "".join(json.dumps(each) + "\n" for each in given)
    assert values(JsonLines(io.BytesIO(piped.encode())), **terms) == counted
    table = io.StringIO()
    csv.writer(table).writerows([("ts", "ap", "user"), *((each,) * 3 for each in given)])
    piped_table = CsvLines(io.BytesIO(table.getvalue().encode(errors="replace")))
    assert (len(counted), len(values(piped_table, **terms))) == (3, 3)


def test_what_does_not_count_is_counted_in_confidence(tmp_path: Path) -> None:
    log = tmp_path / "log"
    stream = followed(TUPLES, confidential_log=log)
    assert list(stream)
    expected = {"malformed": 3, "of an unknown state": 1, "before the start or after the end": 2}
    assert {reason: count for reason, count in stream.dropped.counts.items() if count} == expected
    assert log.stat().st_mode & 0o777 == 0o600
    assert json.loads(log.read_text().splitlines()[-1])["malformed"] == 3
    assert "hidden" in repr(stream.dropped) or "object at" in repr(stream.dropped)


def test_a_second_run_repeats_each_number_at_no_cost_whatever_the_source_says_then(tmp_path: Path) -> None:
    url, loss = f"sqlite:///{tmp_path}/s.db", dp.PrivacyLoss.pure("0.1")
    first = values(TUPLES, store=url, loss=loss)
    assert first != PER_TUPLE  # three of four such noises are not 0; six of them never all are
    assert values(TUPLES, store=url, loss=loss) == first
    assert values([], store=url, loss=loss) == first
    ledger = Ledger.open(url)
    assert ledger.balance("stream").spent.digits == "0.1"
    assert ledger.verify().entries == 5  # the account, one charge, three steps


def test_a_file_of_json_lines_that_cannot_be_read_or_has_no_end_is_refused_before_the_charge(tmp_path: Path) -> None:
    url, lines = f"sqlite:///{tmp_path}/s.db", tmp_path / "events.jsonl"
    with pytest.raises(
        ValueError, match=r"^source: '.*events.jsonl' cannot be read \(No such file or directory\); check the path"
    ):
        followed(lines, store=url)
    lines.write_text("")
    with pytest.raises(ValueError, match="^end: is missing: a file or table needs the end of its last step"):
        followed(lines, store=url, end=None)
    assert Ledger.open(url).verify().entries == 0


NONE = np.zeros(4, dtype=np.int64)  # tuples that are not counted, by reason
FOREST = dp.streams.Forest.from_json({"all": {"left": ["a"], "right": ["b"]}})


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (Totals(STATES, windows=(2,)), [(2, 0), (2, 2), (4, 3)]),
        (Totals(STATES, forest=FOREST), [(2, 2, 0, 2, 0), (4, 2, 2, 2, 2), (7, 4, 3, 4, 3)]),
        (Groups(STATES, forest=FOREST), [(2, 2, 0, 2, 0), (2, 0, 2, 0, 2), (3, 2, 1, 2, 1)]),
        (AggregatedCounts("ap", FOREST), [(2, 2, 0, 2, 0), (2, 0, 2, 0, 2), (3, 2, 1, 2, 1)]),
        (PrunedStates("ap", FOREST, 0), [(2, 2, 0, 2, 0), (2, 0, 2, 0, 2), (3, 2, 1, 2, 0)]),  # one is not looked into
    ],
    ids=["windows of totals", "totals", "groups", "aggregated", "pruned"],
)
def test_all_kinds_of_questions_are_followed_and_each_number_has_its_name(
    tmp_path: Path, question: Any, expected: list[tuple[int, ...]]
) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    first, again = (list(followed(TUPLES, question, store=url)) for _ in range(2))
    for readings in (first, again):
        np.testing.assert_allclose([reading.counts for reading in readings], expected, atol=1e-9)
        names = ["a", "b"] if len(expected[0]) == 2 else ["all", "left", "right", "a", "b"]
        assert [line["ap"] for line in readings[1].to_dicts() if "uncounted" not in line] == names
    assert [reading.values for reading in first] == [reading.values for reading in again]


def test_a_field_with_the_name_of_something_else_that_is_written_has_another_one() -> None:
    line, *_ = next(followed([{"ts": 1, "level": "a"}], Counts((dp.Categories("level", ("a",)),)))).to_dicts()
    assert (line["state:level"], line["level"], line["count"]) == ("a", 0.95, 1.0)


def test_scores_of_models_are_no_states_of_a_stream(tmp_path: Path) -> None:
    card = dp.Scorecard("risk", 0.0, (NumericColumn("ap", 0, 1),), (Term(1.0, (Power("ap"),)),))
    for source in (TUPLES, csv_file(tmp_path), {"ts": [1], "ap": [1]}):
        with pytest.raises(ValueError, match="^axes: streams are counted by columns, not by models; name a column$"):
            followed(source, Counts((Axis(card, dp.Grid(0, 1, cells=2)),)))


def test_readings_may_be_chosen_anew_and_cost_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    plain = list(followed(TUPLES, store=url))
    auto = list(followed(TUPLES, Counts(STATES), store=url))
    assert [reading.values for reading in auto] == [reading.values for reading in plain]


@pytest.mark.parametrize(
    ("terms", "argument"),
    [
        ({"loss": dp.PrivacyLoss.pure(1)}, "budget"),
        ({"every": 5}, "name"),
        ({"start": 10, "end": 40}, "name"),
        ({"grace": 5}, "name"),
        ({"user": "user", "tuples_per_user": 2}, "unit"),
        ({"counts": Counts((dp.Categories("ap", ("a", "b", "c")),))}, "name"),
        ({"randomness": dp.Randomness.from_seed(7)}, "randomness"),
    ],
)
def test_another_stream_of_this_name_is_refused_and_nothing_is_lost(
    tmp_path: Path, terms: dict[str, Any], argument: str
) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    assert values(TUPLES, store=url)
    head = Ledger.open(url).head()
    with pytest.raises(ValueError, match=f"^{argument}: ") as refused:
        list(followed(TUPLES, **{"counts": COUNTS, "store": url, **terms}))
    assert "\n" not in str(refused.value)
    assert Ledger.open(url).head() == head
    assert values(TUPLES, store=url)
    assert values(TUPLES, store=url, every=5, name="other")  # under another name it is another stream


@pytest.mark.parametrize(
    ("terms", "argument"),
    [
        ({"end": 35}, "end"), ({"end": None}, "end"), ({"every": 0}, "every"), ({"every": "5 lightyears"}, "every"),
        ({"start": "yesterday"}, "start"), ({"grace": -1}, "grace"), ({"user": "user"}, "tuples_per_user"),
        ({"tuples_per_user": 1}, "tuples_per_user"), ({"time": "when"}, "time"),
        ({"user": "mac", "tuples_per_user": 1}, "user"), ({"confidential_log": "/nowhere/log"}, "confidential_log"),
        ({"counts": Counts((dp.Categories("room", ("a",)),))}, "state"),
    ],
)  # fmt: skip
def test_wrong_terms_are_refused_before_anything_is_charged(
    tmp_path: Path, terms: dict[str, Any], argument: str
) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    with pytest.raises(ValueError, match=f"^{argument}: ") as refused:
        followed(csv_file(tmp_path), **{"counts": COUNTS, "store": url, **terms})
    assert "\n" not in str(refused.value)
    assert Ledger.open(url).verify().entries == 0


def test_a_header_without_a_field_is_refused_and_a_line_without_one_is_dropped() -> None:
    with pytest.raises(
        ValueError,
        match=r"^column: 'ap' must appear once in the header, found 0 times; name a column that the header has once$",
    ):
        followed(CsvLines(io.StringIO("ts,user\n1,u\n")))
    broken = 'ts,ap\n1\n"1,a\n1,a,u\n' + "9" * 2**21 + "\n\xff\n1,a\n"
    stream = followed(CsvLines(io.StringIO(broken)))
    assert [reading.values for reading in stream] == [(1, 0), (0, 0), (0, 0)]
    assert stream.dropped.counts["malformed"] == 5
    deep = "[" * 100_000 + "\n{}\n3\n" + '{"ts": NaN, "ap": []}\n{"ts": 1, "ap": {"a": 1}}\n'
    assert values(json_lines(deep)) == PER_TUPLE


def test_an_error_of_the_source_shows_no_tuple() -> None:
    def failing() -> Iterator[dict[str, Any]]:
        yield TUPLES[0]
        raise RuntimeError(f"bad tuple {TUPLES[0]}")

    stream = followed(failing())
    with pytest.raises(ValueError, match=r"^source: reading failed") as refused:
        list(stream)
    assert refused.value.__context__ is None
    assert "u1" not in str(refused.value)
    assert "u1" not in repr(stream)


class Set:
    """A clock that stands still until it is set."""

    def __init__(self, moment: float) -> None:
        self.moment = moment

    def now(self) -> int:
        return int(self.moment * 1e6)


def scripted(clock: Set, script: Sequence[tuple[float, Any, str]], until: float) -> Iterator[dict[str, Any]]:
    """Tuples, each at the time at which it arrives; then nothing more, until some time."""
    for arrives, when, state in script:
        clock.moment = arrives
        yield {"ts": when, "ap": state}
    clock.moment = until


def test_windows_of_a_live_stream_close_by_the_clock_and_nothing_late_is_folded_in() -> None:
    clock = Set(0.5)
    script = [(1, 1, "a"), (2, 0, "b"), (11, 9, "a"), (12.5, 9, "b"), (13, 1e9, "a"), (13.5, 12, "a"), (14, 2, "a")]
    stream = followed(scripted(clock, script, 33), clock=clock, grace=2)
    assert [reading.values for reading in stream] == [(2, 1), (1, 0), (0, 0)]
    counts = stream.dropped.counts
    assert (counts["late"], counts["before the start or after the end"]) == (2, 1)


def test_clocks_in_the_future_change_nothing() -> None:
    clock = Set(0.5)
    far = [(1, 25, "a"), (1, 601, "a"), (2, 9_999, "a"), (3, 2, "b")]
    stream = followed(scripted(clock, far, 20_001), clock=clock, end=20_000, every=10_000)
    assert [reading.values for reading in stream] == [(2, 1), (0, 0)]
    assert stream.dropped.counts["from the future"] == 1


def test_a_live_stream_without_end_stops_behind_the_last_tuple() -> None:
    clock = Set(0.5)
    script = [(1, 1, "a"), (15, 15, "b"), (19, 19, "b")]
    stream = followed(scripted(clock, script, 21), clock=clock, end=None)
    assert [next(stream).values for _ in range(2)] == [(1, 0), (0, 2)]
    clock.moment = 31
    assert [reading.values for reading in stream] == [(0, 0)]


def test_two_who_follow_one_stream_are_told_the_same(tmp_path: Path) -> None:
    url, loss = f"sqlite:///{tmp_path}/s.db", dp.PrivacyLoss.pure("0.1")
    clocks = [Set(0.5), Set(0.5)]
    one, other = (followed(scripted(clock, [], 31), store=url, loss=loss, clock=clock) for clock in clocks)
    first = next(one).values
    assert next(other).values == first  # it had begun before the first one stored its answer
    rest = [reading.values for reading in other]
    assert [reading.values for reading in one] == rest
    assert values([], store=url, loss=loss) == [first, *rest]


class Counted:
    """Windows that were counted elsewhere, in batches; before the first one something else happens."""

    def __init__(self, batches: Sequence[Sequence[int]], before: Callable[[], object] = lambda: None) -> None:
        self.batches, self.before = batches, before

    def check(self) -> None: ...

    def commit_windows(self, time_step: int) -> None: ...

    def windows_after(self, time_step: int) -> Iterator[Sequence[Window]]:
        self.before()
        for batch in self.batches:
            yield [Window(each, np.array([each, 0]), NONE) for each in batch if each > time_step]


def test_who_comes_second_with_more_windows_goes_on_where_the_first_one_stopped(tmp_path: Path) -> None:
    """The second one has three windows at once, and the first one stores the first of them just before it."""
    url, loss = f"sqlite:///{tmp_path}/s.db", dp.PrivacyLoss.pure("0.1")
    first = followed(Counted([[1], [2], [3]]), store=url, loss=loss)
    begun: list[tuple[int, ...]] = []
    second = followed(Counted([[1, 2, 3]], lambda: begun.append(next(first).values)), store=url, loss=loss)
    told = [reading.values for reading in second]
    assert (told[0], len(told)) == (begun[0], 3)
    assert [reading.values for reading in first] == told[1:]
    assert values(Counted([]), store=url, loss=loss) == told


def test_a_seeded_stream_that_is_gone_on_with_draws_no_noise_again(tmp_path: Path) -> None:
    """Where the runs before it stopped makes no difference, and no step has the noise of another."""
    seeded: dict[str, Any] = {"loss": dp.PrivacyLoss.pure("0.1")}
    told = []
    for stops in ([], [1], [1, 2]):
        seeded["store"] = f"sqlite:///{tmp_path}/{len(stops)}.db"
        for stop in stops:
            stream = followed(Counted([[1], [2], [3]]), randomness=dp.Randomness.from_seed(7), **seeded)
            assert [next(stream).step for _ in range(stop)][-1] == stop
        told.append(values(Counted([[1], [2], [3]]), randomness=dp.Randomness.from_seed(7), **seeded))
    assert told[0] == told[1] == told[2]
    other = values(Counted([[1], [2], [3]]), randomness=dp.Randomness.from_seed(7), name="other", **seeded)
    assert (
        len(
            {
                (first - time_step, second)
                for run in (told[0], other)
                for time_step, (first, second) in enumerate(run, 1)
            }
        )
        == 6
    )


@pytest.mark.parametrize("counts", [[1.5, 0], [[1, 0]], [1], [1, 2, 3], ["a", "b"], [None, 1], [True, False]], ids=str)
def test_windows_of_other_sources_have_one_whole_count_a_cell(counts: Any) -> None:
    stream = followed(Given(np.array(counts)))
    with pytest.raises(ValueError, match="^source: a window must have 2 counts of an integer type;") as error:
        next(stream)
    assert "1.5" not in str(error.value)


def test_counts_beyond_all_ends_are_taken_to_be_the_nearer_one() -> None:
    for question in (COUNTS, Groups(STATES), Totals(STATES)):
        assert next(followed(Given(np.array([-5, 7])), question)).values[:2] == (0, 7)
        assert next(followed(Given(np.array([2**64 - 1, 7], dtype=np.uint64)), question)).values[:2] == (2**60, 7)


class Given(Counted):
    """One window with these counts."""

    def __init__(self, counts: Any) -> None:
        super().__init__([[1]])
        self.counts = counts

    def windows_after(self, time_step: int) -> Iterator[Sequence[Window]]:
        yield [Window(1, self.counts, NONE)]


def test_a_window_that_is_not_the_next_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="^state: step 2 needs the state of step 1"):
        values(Counted([[2, 3]]), store=f"sqlite:///{tmp_path}/s.db")


def test_a_picture_has_a_line_a_state_over_what_was_released_and_says_who_is_protected() -> None:
    pytest.importorskip("matplotlib").use("agg")
    counts = Counts(STATES, events=(Jump(1, 1.0),), smoothing=Smoothing.PLAIN)
    readings = list(followed(TUPLES, counts, user="user", tuples_per_user=3))
    ax = dp.streams.plot(readings)
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    assert [np.asarray(lines[each]).tolist() for each in "ab"] == [[2.0, 0.0, 2.0], [0.0, 2.0, 1.0]]
    note = " ".join(text.get_text().replace("\n", " ") for text in ax.texts)
    assert "epsilon 10000, add-remove; protects each user in one step (at most 3 records)" in note
    assert ax.get_legend_handles_labels()[1] == ["95% intervals for these records", "a", "b"]
    sums = list(followed(TUPLES, Totals(STATES, windows=(2,))))
    for window, said in ((None, "tuples so far"), (2, "tuples in the last 2 steps")):
        assert dp.streams.plot(sums, window=window).get_ylabel() == said
    with pytest.raises(ValueError, match=r"^window: must be one of the question's windows, \[2\]; got 3$"):
        dp.streams.plot(sums, window=3)
    with pytest.raises(ValueError, match=r"^readings: at least one reading is needed, as in "):
        dp.streams.plot([])


def test_a_picture_names_the_states_of_which_next_to_nothing_is_known() -> None:
    """Two tuples drown in noise, 3,000 do not; without tuples the note is for all states."""
    pytest.importorskip("matplotlib").use("agg")
    noise = dp.Randomness.from_key(b"public key of the documentation!", "streams")
    seeded: dict[str, Any] = {"loss": dp.PrivacyLoss.pure("0.1"), "randomness": noise}
    crowd = [{"ts": 1, "ap": "a"}] * 3000
    for tuples, named in (([], "Note: no count"), (crowd, "b: Note: no count")):
        readings = list(followed(tuples, Counts(STATES, windows=(2,)), **seeded))
        for window in (None, 2):
            (note,) = (text.get_text() for text in dp.streams.plot(readings, window=window).texts)
            assert f"{named} is higher than noise alone may give" in note.replace("\n", " ")
    exact = list(followed(crowd + [{"ts": 1, "ap": "b"}] * 3000, Counts(STATES)))
    (note,) = (text.get_text() for text in dp.streams.plot(exact).texts)
    assert "noise alone" not in note


@pytest.mark.parametrize("time_steps", [None, 50])
def test_intervals_of_states_of_noise_miss_0_at_five_per_cent_together(time_steps: int | None) -> None:
    """The fractions of 5 % of all steps add up to at most 5 %, and to 5 % where the stream has an end."""
    asked = list[float]()

    def interval(level: float) -> tuple[list[float], list[float]]:
        if level == 0.95:
            return [1.0, 1.0], [2.0, 2.0]
        asked.append(1 - level)
        return [0.0, 0.0], [3.0, 3.0]

    states = StatesOfNoise(time_steps)
    for step in range(1, 51):
        numbers = SimpleNamespace(has_intervals=True, interval=interval, time_step=step)
        states.add(cast(StepReading, SimpleNamespace(states=[{"ap": "a"}, {"ap": "b"}], reading=numbers, step=step)))
    together = 2 * sum(asked)  # two states
    assert together == pytest.approx(0.05) if time_steps else together < 0.05
    assert states.mask.tolist() == [True, True]


def test_a_file_has_each_step_once_however_often_it_is_written(tmp_path: Path) -> None:
    url, file = f"sqlite:///{tmp_path}/s.db", tmp_path / "out.jsonl"

    def write() -> bytes:
        with JsonLinesFile(file) as sink:
            for reading in followed(TUPLES, store=url):
                sink.write(reading)
        return file.read_bytes()

    whole = write()
    first = json.loads(whole.splitlines()[0])
    head = {"stream": "stream", "step": 1, "start": "1970-01-01T00:00:00+00:00", "ap": "a"}
    numbers = {"count": 2.0, "low": 2.0, "high": 2.0, "unbiased": 2.0}
    assert first == {**head, **numbers, "level": 0.95, "covers": "for these records"}
    assert write() == whole
    for torn in (b"", whole[:50], whole[:-1], whole + b"more", b"something else\n", whole.replace(b"2.0", b"7.5")):
        file.write_bytes(torn)
        assert write()[: len(whole)] == whole
