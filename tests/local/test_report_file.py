"""Files of reports: written and read, and whatever else may come in their place."""

from __future__ import annotations

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.noise import Randomness
from dpcurves_local import Collection, Task
from dpcurves_local.aggregator import SortedNameSet
from dpcurves_local.report_file import MAGIC, MOST_RECORDS_AT_ONCE, PSEUDONYM_SIZE, ReportFormat, encode_count

GRID = dp.Grid(0, 1, cells=16)
TASK = Task(dp.CdfQuestion("x", GRID), dp.PrivacyLoss.pure(1), people=500)
OTHER = Task(dp.CdfQuestion("x", GRID), dp.PrivacyLoss.pure(2), people=500)


def sent(people: int, task: Task = TASK, start: int = 0) -> list[bytes]:
    values = np.random.default_rng(start).random(people)
    names = (f"person {start + number}" for number in range(people))
    source = Randomness.from_seed(start)
    return [task.randomize(value, person=name, randomness=source) for value, name in zip(values, names, strict=True)]


def counts(data: bytes, task: Task = TASK) -> tuple[int, int, int]:
    collection = Collection(task)
    collection.add(data)
    return collection.reports, collection.repeated, collection.refused


def test_reports_are_counted_one_by_one_or_as_one_part() -> None:
    reports = sent(300)
    whole = Collection(TASK)
    whole.add_each(reports)
    records = [record for report in reports for record in TASK.report_format.parse_reports(report)]
    names, messages = (np.concatenate([getattr(each, of) for each in records]) for of in ("names", "messages"))
    part = TASK.report_format.encode_reports(names, messages)
    assert counts(part) == counts(b"".join(reports)) == (300, 0, 0)
    assert counts(part + b"".join(reports)) == (300, 300, 0)
    assert whole.reports == 300
    assert len(part) < sum(map(len, reports))


def test_a_person_is_counted_once_in_a_part_and_later() -> None:
    reports = sent(50)
    assert counts(b"".join(reports[:30] + reports[10:40] + reports[:50])) == (50, 60, 0)
    seen, chance = SortedNameSet(), np.random.default_rng(2)
    known: set[int] = set()
    for size in (1, 3, 1, 40, 7, 0, 100, 2):
        names = chance.integers(0, 120, size).astype("<u8")
        first = seen.mark_new(names.view(np.uint8).reshape(-1, PSEUDONYM_SIZE))
        expected = []
        for name in names.tolist():
            expected.append(name not in known)
            known.add(name)
        assert first.tolist() == expected


def test_what_is_foreign_cut_off_or_between_reports_is_refused_and_counted() -> None:
    reports, other = sent(20), sent(5, OTHER, start=100)
    assert counts(other[0]) == (0, 0, 1)
    assert counts(b"".join([*reports[:10], *other, *reports[10:]])) == (20, 0, 1), "what lies between is one part"
    assert counts(b"".join(reports)[:-3]) == (19, 0, 1)
    assert counts(b"junk" + b"".join(reports[:10]) + b"junk" + b"".join(reports[10:])) == (20, 0, 2)
    assert counts(b"") == (0, 0, 0)
    assert counts(MAGIC) == (0, 0, 1)
    newer = bytearray(reports[0])
    newer[4] += 1
    assert counts(bytes(newer) + reports[1]) == (1, 0, 1)


def test_one_changed_octet_in_a_record_is_always_found() -> None:
    report, head = sent(1)[0], len(TASK.report_format.header_prefix)
    for place in range(head, len(report)):
        for change in (1, 128, 255):
            damaged = bytearray(report)
            damaged[place] ^= change
            assert counts(bytes(damaged)) == (0, 0, 1)


@pytest.mark.parametrize("files", [2_000, pytest.param(10_000, marks=pytest.mark.reproduction)])
def test_mutated_files_raise_nothing_and_lose_nothing_else(files: int) -> None:
    """Each file has 12 reports; but for those that were touched or torn all are counted, and what is not, is told."""
    small = Task(dp.CdfQuestion("x", dp.Grid(0, 1, cells=2)), dp.PrivacyLoss.pure(1), people=50)
    reports, chance = sent(12, small), np.random.default_rng(1)
    data = b"".join(reports)
    length = len(reports[0])
    for _ in range(files):
        mutated, touched = bytearray(data), set()
        for _ in range(chance.integers(1, 5)):
            place = int(chance.integers(0, len(data)))
            new = int(chance.integers(0, 256))
            if mutated[place] != new:
                mutated[place] = new
                touched.add(place // length)
        cut = int(chance.integers(0, len(data) + 1)) if chance.random() < 0.3 else len(data)
        right, repeated, refused = counts(bytes(mutated[:cut]), small)
        whole = set(range(cut // length)) - touched
        assert len(whole) <= right <= len(whole) + undone(touched, mutated, data, length)
        assert repeated == 0
        assert (refused > 0) == (right < -(-cut // length))
        assert refused <= len(touched) + 1


def undone(touched: set[int], mutated: bytearray, data: bytes, length: int) -> int:
    """How many reports were touched and are what they were."""
    return sum(mutated[place * length :][:length] == data[place * length :][:length] for place in touched)


def test_counts_of_records_that_are_not_there_are_no_harm() -> None:
    reports = b"".join(sent(3))
    for said in (0, 2, 7, 2**32 - 1):
        right, repeated, refused = counts(TASK.report_format.header_prefix + encode_count(said) + reports)
        assert right <= 3
        assert repeated == 0
        assert refused <= 3 + len(reports) // TASK.report_format.record_size
        assert counts(TASK.report_format.header_prefix + said.to_bytes(4, "little") + bytes(4) + reports) == (3, 0, 1)
    assert counts(TASK.report_format.header_prefix + encode_count(0) + reports) == (3, 0, 0)


def test_a_part_of_many_records_is_read_some_at_a_time() -> None:
    form = ReportFormat(1, bytes(16), 3)
    many = MOST_RECORDS_AT_ONCE + 5
    names = np.arange(many, dtype="<u8").view(np.uint8).reshape(-1, PSEUDONYM_SIZE)
    messages = np.ones((many, 3), dtype=np.uint8)
    read = list(form.parse_reports(form.encode_reports(names, messages)))
    assert [len(part.names) for part in read] == [MOST_RECORDS_AT_ONCE, 5]
    assert np.array_equal(np.concatenate([part.names for part in read]), names)
    cut = list(form.parse_reports(form.encode_reports(names, messages)[:-1]))
    assert sum(len(part.names) for part in cut) == many - 1
    assert sum(part.damaged_count for part in cut) == 1


@pytest.mark.parametrize("name", ["missing.bin", "."])
def test_a_file_that_can_not_be_read_is_refused(name: str, tmp_path: object) -> None:
    with pytest.raises(ValueError, match="^reports: the file cannot be read"):
        Collection(TASK).add_file(f"{tmp_path}/{name}")
