from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcurves.curves import CdfQuestion
from dpcurves.data import Axis, Grid
from dpcurves.ledger import QuestionBudget
from dpcurves.mechanisms import FlatHistogram, LazyTree
from dpcurves.noise import InProcessMemory
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, Neighbours, PrivacyLoss
from dpcurves.queries import CountQuery, CountUse, PartitionQuery, PrefixQuery, SumQuery
from dpcurves.records import Records, open_records
from dpcurves.session import Session
from dpcurves.trust import Central, CountedTable, Curator

QUERY = CountQuery((Axis("x", Grid(0, 1, cells=4)),), CountUse.CELLS)
EACH = AddRemove(EACH_RECORD)


def test_the_curator_counts_and_adds_noise_once() -> None:
    records = open_records({"x": np.array([0.1, 0.1, 0.9, np.nan])}, unit=EACH_RECORD, key=b"k" * 32)
    allotment = QuestionBudget.for_planning(PrivacyLoss.pure(10**6)).pay("counts", Fraction(1))
    model = Central()
    plan = model.plan_query(QUERY, allotment.loss, EACH)
    release = model.run(plan, [Curator(records, InProcessMemory())], allotment, Randomness.from_seed(1))
    assert release.values == (2, 0, 0, 1, 1)
    assert release.seeded
    assert plan.made_by.startswith("one curator: ")


def test_without_the_right_payment_nothing_runs() -> None:
    allotment = QuestionBudget.for_planning(PrivacyLoss.pure(1)).pay("counts", Fraction(1, 2))
    plan = Central(FlatHistogram()).plan_query(QUERY, PrivacyLoss.pure(1), EACH)
    with pytest.raises(ValueError, match=r"the payment is for epsilon 0.5"):
        Central(FlatHistogram()).run(plan, [], allotment, Randomness.from_system())


FINE = PrefixQuery((Axis("x", Grid(0, 1, cells=2**32)),), ())
TABLE = {"x": np.array([0.1, 0.6, 0.9, np.nan])}


def test_the_curator_remembers_what_was_looked_at() -> None:
    records = open_records(TABLE, unit=EACH_RECORD, key=b"k" * 32)
    curator = Curator(records, InProcessMemory())
    allotment = QuestionBudget.for_planning(PrivacyLoss.pure(10**6)).pay(FINE, Fraction(1))
    model, randomness = Central(), Randomness.from_system()

    def look(*at: int) -> tuple[int, ...]:
        plan = model.plan_query(replace(FINE, prefix_lengths=at), allotment.loss, EACH)
        return model.run(plan, [curator], allotment, randomness).values

    assert look() == (1,)
    assert look(2**31, 2**32) == (1, 3, 1)
    records.close()
    assert look(2**32, 2**31) == (3, 1, 1)  # no record is left to be read


def test_a_look_without_memory_is_refused_before_records_are_read() -> None:
    allotment = QuestionBudget.for_planning(PrivacyLoss.pure(1)).pay(FINE, Fraction(1))
    model = Central(LazyTree())
    plan = model.plan_query(replace(FINE, prefix_lengths=(5,)), allotment.loss, EACH)
    records = open_records(TABLE, unit=EACH_RECORD, key=b"k" * 32)
    records.close()
    with pytest.raises(ValueError, match=r"^memory: "):
        model.run(plan, [Curator(records, InProcessMemory())], allotment, Randomness.from_system())


def test_seeded_and_secret_noise_do_not_meet() -> None:
    curator = Curator(open_records(TABLE, unit=EACH_RECORD, key=b"k" * 32), InProcessMemory())
    allotment = QuestionBudget.for_planning(PrivacyLoss.pure(1)).pay(FINE, Fraction(1))
    plan = Central().plan_query(FINE, allotment.loss, EACH)
    assert Central().run(plan, [curator], allotment, Randomness.from_seed(1)).seeded
    with pytest.raises(ValueError, match=r"^randomness: "):
        Central().run(plan, [curator], allotment, Randomness.from_system())


def test_notes_of_one_thing_are_not_gone_on_with_for_another() -> None:
    curator = Curator(open_records({"x": [0.5], "y": [0.1]}, unit=EACH_RECORD, key=b"k" * 32), InProcessMemory())
    for column, refused in (("x", False), ("y", True)):
        query = replace(FINE, axes=(replace(FINE.axes[0], column=column),))
        allotment = QuestionBudget.for_planning(PrivacyLoss.pure(1)).pay(query, Fraction(1))
        plan = Central().plan_query(query, allotment.loss, EACH)
        if refused:
            with pytest.raises(ValueError, match=r"^memory: this request paid for another query"):
                Central().run(plan, [curator], allotment, Randomness.from_system())
        else:
            Central().run(plan, [curator], allotment, Randomness.from_system())


def test_the_holder_shows_nothing() -> None:
    assert "0.6" not in repr(Curator(open_records(TABLE, unit=EACH_RECORD, key=b"k" * 32), InProcessMemory()))


def record_reads(monkeypatch: pytest.MonkeyPatch, method: str = "counts") -> list[object]:
    """Return a list that gets the axes of each call of a counting method of records from now on."""
    reads: list[object] = []
    count = getattr(Records, method)

    def count_and_record(records: Records, axes: Sequence[Axis]) -> Any:
        """Record the axes, and return the counts."""
        reads.append(axes)
        return count(records, axes)

    monkeypatch.setattr(Records, method, count_and_record)
    return reads


@pytest.mark.parametrize("other", ["none", "axes", "records", "size"])
def test_rounds_on_the_same_cells_of_the_same_records_read_them_once(
    other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if other == "size":
        monkeypatch.setattr("dpcurves.trust.central.MOST_STORED", 4)  # 4 cells and the missing records are 5 counts
    reads = record_reads(monkeypatch)
    records, again = (open_records(TABLE, unit=EACH_RECORD, key=b"k" * 32) for _ in range(2))
    axis, equal = (Axis("x", Grid(0, 1, cells=4)) for _ in range(2))
    counted = CountedTable()
    first = counted.tabulate(records, CountQuery((axis,), CountUse.CELLS))
    exact = first.tolist()
    first += 1  # what a mechanism does to its table must reach no other round
    later = PartitionQuery((equal if other == "axes" else axis,), (range(4),), round_number=1)
    assert counted.tabulate(again if other == "records" else records, later).tolist() == exact == [1, 0, 1, 1, 1]
    assert len(reads) == (1 if other == "none" else 2)


def test_sums_after_counts_of_the_same_cells_are_read_anew() -> None:
    records = open_records(TABLE, unit=EACH_RECORD, key=b"k" * 32)
    axis, counted = Axis("x", Grid(0, 1, cells=4)), CountedTable()
    counted.tabulate(records, CountQuery((axis,), CountUse.CELLS))
    query = SumQuery((axis,), half=2)
    assert counted.tabulate(records, query).tolist() == records.sums((axis,), 2)


def test_reasons_of_missing_records_are_counted_once_for_the_same_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "x.csv"
    file.write_text("x,y\n0.1,0.1\nnobody,\n,\n")
    reads = record_reads(monkeypatch, "missing_reasons")
    records = open_records(file, unit=EACH_RECORD, key=b"k" * 32)
    axis, other = (Axis(column, Grid(0, 1, cells=4)) for column in "xy")
    counted = CountedTable()
    counts = [
        counted.count_reasons(records, PartitionQuery((column,), (range(4),), round_number=number)).tolist()
        for number, column in enumerate((axis, axis, other, axis))
    ]
    assert reads == [(axis,), (other,), (axis,)]
    assert counts[0] == counts[1] == counts[3] == records.missing_reasons((axis,)).tolist()
    assert sum(counts[0]) == 2
    assert counts[2] != counts[0]


def test_counts_that_wait_for_a_further_round_are_not_shown() -> None:
    counted = CountedTable()
    counted.tabulate(open_records(TABLE, unit=EACH_RECORD, key=b"k" * 32), QUERY)
    assert repr(counted) == "CountedTable(hidden)"


def test_a_question_of_several_rounds_reads_its_column_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = record_reads(monkeypatch)
    table = {"x": np.random.default_rng(1).beta(2, 5, 3_000)}
    question = CdfQuestion("x", Grid(0, 1, cells=1_024))
    with Session(table, budget=PrivacyLoss.pure(2), adjacency=Neighbours.REPLACE_ONE) as session:
        assert len(list(session.plan(question, PrivacyLoss.pure(1)))) > 1
        for request in ("first", "second"):
            session.ask(question, PrivacyLoss.pure(1), request)
        assert len(reads) == 2  # another question reads the records again
        session.ask(question, PrivacyLoss.pure(1), "first")
    assert len(reads) == 2
