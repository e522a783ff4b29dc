"""Reports as jobs in blobs, evaluated by workers that may be killed: the same answers, and noise added once."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from operator import add
from pathlib import Path

import numpy as np
import pytest
from dying import always_die, die_once, doubled
from federation import LONG, Federation, values
from kills import killed

from dpcurves.arguments import MissingPackage
from dpcurves.curves import CdfQuestion
from dpcurves.data import Grid
from dpcurves.noise.randomness import Randomness
from dpcurves_parties.crypto import select_engine
from dpcurves_parties.serving import workers
from dpcurves_parties.serving.blobs import BlobStore
from dpcurves_parties.serving.group_commit import GroupCommit
from dpcurves_parties.serving.messages import ProtocolError
from dpcurves_parties.serving.noise_key import NoiseKey
from dpcurves_parties.serving.workers import Dask, InProcess, Processes, Workers, parse_workers
from dpcurves_parties.shares.function_shares import Owners
from dpcurves_parties.shares.jobs import CheckedJobs, JobContext, JobSet, JobWriter, ReportJobs
from dpcurves_parties.shares.shared_records import (
    CheckedReports,
    CheckedTreeEncoding,
    NodeSumCache,
    SharedReports,
    TreeEncoding,
)
from dpcurves_parties.shares.task import Task

TASK, SLOTS, NOISE = "ab" * 32, 100, NoiseKey(bytes(32))
KEY = b"v" * 32


def shares_of(encoding: TreeEncoding, count: int = 300) -> list[bytes]:
    places = np.random.default_rng(1).integers(0, SLOTS + 1, count)
    return [first for first, _ in encoding.share_records(places, Randomness.from_seed(2))]


def jobs_of(place: str, shares: list[bytes], by: Workers, verification: bytes = b"") -> JobSet:
    """Jobs of 64 reports, and a last one of fewer."""
    form = JobContext(TASK, 0, SLOTS, 0, verification)
    return JobWriter(BlobStore.from_location(place), by).write_jobs(
        form, "set", [shares[at : at + 64] for at in range(0, len(shares), 64)]
    )


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "jobs")
    pytest.importorskip("fsspec")
    return f"memory://{tmp_path.name}"


def test_jobs_count_what_reports_in_memory_count(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, at = select_engine(bytes.fromhex(TASK)), [1, 7, 50, SLOTS]
    plain = TreeEncoding(SLOTS, engine)
    shares = shares_of(plain)
    whole = SharedReports(plain.parse_keys(0, shares), engine, NOISE)
    held = ReportJobs(jobs_of(place, shares, InProcess()), NOISE)
    assert len(held.jobs.jobs) == 5
    for asked in (at, list(range(1, SLOTS + 1))):
        assert held.sum_prefix_shares(asked) == whole.sum_prefix_shares(asked)
    checked = CheckedTreeEncoding(SLOTS, engine)
    shares = shares_of(checked)
    judged = CheckedReports(checked.parse_checked_keys(0, shares), engine, KEY)
    one, other = (
        judged.evaluate_thresholds(at),
        CheckedJobs(jobs_of(f"{place}/c", shares, InProcess(), KEY)).evaluate_thresholds(at),
    )
    assert (one.thresholds, one.sums) == (other.thresholds, other.sums)
    assert np.array_equal(one.digests, other.digests)
    accepted = np.ones(len(shares), dtype=bool)
    accepted[[0, 70, 71, 299]] = False
    assert (
        one.sum_accepted(accepted, NOISE).sums
        == other.sum_accepted(accepted, NOISE).sums
        != dict(zip(at, one.sums, strict=True))
    )
    monkeypatch.setattr("dpcurves_parties.shares.shared_records.SHARES_PER_PAGE", 64)
    looks = [NodeSumCache(each, accepted, checked.domain) for each in (judged, other.reports)]
    for some in ([1, 50], [7, 50, SLOTS]):
        (sums, seen), (of_jobs, seen_by_jobs) = (look.sum_thresholds(some, NOISE) for look in looks)
        assert sums.sums == of_jobs.sums == {slots: one.sum_accepted(accepted, NOISE).sums[slots] for slots in some}
        assert seen == seen_by_jobs


def test_the_next_writer_removes_the_draft_of_a_blob_whose_writer_was_killed(tmp_path: Path) -> None:
    store, name = BlobStore.from_location(str(tmp_path / "jobs")), "task/set/0"
    writer = os.fork()
    if not writer:
        setattr(Path, "replace", lambda *_: os.kill(os.getpid(), signal.SIGKILL))  # noqa: B010
        store.write(name, b"a share")
    os.waitpid(writer, 0)
    assert len(list((tmp_path / "jobs/task/set").iterdir())) == 1
    store.write(name, b"a share")
    assert [path.name for path in (tmp_path / "jobs/task/set").iterdir()] == ["0"]


def test_a_blob_that_is_damaged_or_gone_ends_in_one_line(tmp_path: Path) -> None:
    shares = shares_of(TreeEncoding(SLOTS, select_engine(bytes.fromhex(TASK))))
    held = ReportJobs(jobs_of(str(tmp_path), shares, InProcess()), NOISE)
    file = Path(held.jobs.jobs[3].blob.location)
    assert file.stat().st_mode & 0o077 == 0
    content = bytearray(file.read_bytes())
    content[5] ^= 1
    file.write_bytes(content)
    for _ in range(2):
        with pytest.raises(
            ProtocolError, match="^store: a file of shares for the workers is damaged or missing"
        ) as refused:
            held.sum_prefix_shares([1])
        assert refused.value.status == 500
        file.unlink(missing_ok=True)
    with pytest.raises(ProtocolError, match="^jobs: .* cannot be written"):
        BlobStore(f"{held.jobs.jobs[0].blob.location}/below").write("1", b"")


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13])
def test_results_are_added_in_order_in_whatever_order_they_come(size: int) -> None:
    for seed in range(20):
        sums = workers._TreeSum(add, size)
        for number in np.random.default_rng(seed).permutation(size).tolist():
            sums.add_result(number, doubled(number))
        assert sums.whole == "".join(map(doubled, range(size)))
        assert not sums.missing
        assert not sums._parts


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_process_that_is_killed_is_replaced_and_its_job_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "MOST_RESTARTS", 1)
    pool = Processes(1)
    work = partial(die_once, str(tmp_path / "died"))
    assert pool.map_reduce(work, range(5), add) == "0 1 2 3 4 "
    assert (tmp_path / "died").exists()
    with pytest.raises(ProtocolError, match="^workers: processes were killed again and again"):
        pool.map_reduce(always_die, range(2), add)
    assert pool.map_reduce(doubled, [7], add) == "7 "


def test_workers_of_a_cluster_are_killed_and_the_counts_stay(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    from distributed import LocalCluster

    engine, at = select_engine(bytes.fromhex(TASK)), [1, 7, 50, SLOTS]
    plain = TreeEncoding(SLOTS, engine)
    shares = shares_of(plain)
    cluster = LocalCluster(  # type: ignore[no-untyped-call, unused-ignore]
        n_workers=1, threads_per_worker=1, dashboard_address=None, scheduler_port=0, protocol="tcp://",
        host="127.0.0.1",
    )  # fmt: skip
    with cluster:
        by = parse_workers(cluster.scheduler_address)
        assert isinstance(by, Dask)
        held = ReportJobs(jobs_of(str(tmp_path / "jobs"), shares, by), NOISE)
        assert held.sum_prefix_shares(at) == SharedReports(
            plain.parse_keys(0, shares), engine, NOISE
        ).sum_prefix_shares(at)
        assert by.map_reduce(partial(die_once, str(tmp_path / "died")), range(3), add) == "0 1 2 "
        by._client.close()
    with pytest.raises(ProtocolError, match="^workers: no scheduler answers at tcp"):
        by.map_reduce(doubled, [1], add)


def test_a_server_that_begins_anew_with_jobs_and_workers_answers_the_same(tmp_path: Path) -> None:
    """Noise belongs to the reports: whoever works out the sums, the same numbers are answered, and nothing is paid."""
    pair = Federation(tmp_path)
    tasks = [
        pair.task("cells", cells=Grid(0, 1, cells=20)),
        pair.task("checked", cells=Grid(0, 1, cells=20), owners=Owners.CHECKED),
    ]
    try:
        pair.start(0)
        pair.start(1)
        for task in tasks:
            pair.contribute(task, values(50))
            pair.close(task)
        before = [_counted(pair, task) for task in tasks]
        pair.end_all()
        pair.close_connections()
        pair.start(0, "--jobs", str(tmp_path / "jobs"), "--workers", "1")
        pair.start(1, "--jobs", str(tmp_path / "jobs"))
        assert [_counted(pair, task) for task in tasks] == before
        assert {file.parent.parent.name[64:] for file in (tmp_path / "jobs").glob("*/*/*")} == {"-0", "-1"}
        for file in (tmp_path / "jobs").glob("*/*/*"):
            file.write_bytes(b"")
        assert [_counted(pair, task) for task in tasks] == before  # what was answered is kept
    finally:
        pair.close_connections()
        pair.end_all()


@pytest.mark.skipif(not Path("/proc").exists(), reason="processes of a server are found there")
def test_servers_and_workers_that_are_killed_lose_no_report_and_answer_as_before(tmp_path: Path) -> None:
    killer, wrong = killed(tmp_path, 3, seed=1)
    assert (killer.kills, wrong) == (3, [])


def _counted(pair: Federation, task: Task) -> str:
    return str(pair.analyst(task).ask(CdfQuestion("x", task.grid), "same").to_json())


@pytest.mark.parametrize("wrong", ["two", "-1", "1.5"])
def test_workers_are_a_number_or_an_address(wrong: str) -> None:
    with pytest.raises(ProtocolError, match="^workers: must be a number of processes, or a scheduler as tcp"):
        parse_workers(wrong)
    assert isinstance(parse_workers(""), InProcess)
    assert isinstance(parse_workers("0"), InProcess)
    assert isinstance(parse_workers("3"), Processes)


@pytest.mark.parametrize(
    ("package", "work"),
    [
        ("fsspec", lambda: BlobStore.from_location("s3://bucket")),
        ("distributed", lambda: parse_workers("tcp://127.0.0.1:1")),
    ],
)
def test_a_missing_package_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, package: str, work: Callable[[], object]
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackage, match=r"dpcurves\[scale\]"):
        work()


def test_one_write_that_fails_fails_alone_and_what_waits_is_written_together() -> None:
    groups = list[list[int]]()

    def write(items: Sequence[int]) -> list[int | Exception]:
        groups.append(list(items))
        if 3 in items:
            raise OSError("a full disk")
        return [ValueError("no") if item == 2 else 10 * item for item in items]

    commits: GroupCommit[int, int] = GroupCommit(write, lambda item: 1, 4)
    commits._is_writing = True  # nothing is begun before all have come
    coming = [commits.submit(number) for number in range(1, 8)]
    commits._write_groups()
    outcomes = [future.exception() or future.result() for future in coming]
    assert [str(outcome) for outcome in outcomes] == ["10", "no", "a full disk", "40", "50", "60", "70"]
    assert groups == [[1, 2, 3, 4], [1], [2], [3], [4], [5, 6, 7]]
    assert commits.submit(8).result(LONG) == 80
