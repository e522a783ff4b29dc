"""Five airlines and five hospitals keep their records, and answer jointly: only noisy sums are revealed.

Run by ``make demo-sites``. Each site is a process with its own table, key and ledger; a coordinator forwards messages.
The airlines answer the questions of `flights.py`, and one of them is killed in the middle; the hospitals share
a real cohort. The coordinator's log is then searched for counts. Everything is written to ``demo/out/sites``.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from curious import ASKED, kept
from flights import DELAY_QUESTIONS, LATE, MODEL_QUESTIONS, flights, is_evaluated, scored, trained
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from size import OUT as OUTPUTS
from size import choose
from sqlalchemy import select

import dpcurves as dp
from dpcurves import display
from dpcurves.privacy import EACH_RECORD, Neighbours, Unit
from dpcurves.records import open_records, tabulate
from dpcurves_parties.serving.identity import Identity
from dpcurves_parties.serving.task_document import Role, Ticket
from dpcurves_sites.remote import RemoteFederation, fetch_status
from dpcurves_sites.secure_sum import MASKED
from dpcurves_sites.site import SUM_VECTOR_TABLE
from dpcurves_sites.task import FederationTask, Member, create_federation_task, read_key
from dpcurves_sites.trust import SecureSum

OUT = OUTPUTS / "sites"
PATIENCE = 120
AIRLINES = choose(("UA", "B6", "EV", "DL", "AA"), ("UA", "B6", "EV"))
NUMBER = choose("five", "three")
"""Number of airlines, and of hospitals, in words."""
AIRCRAFT = Unit("tailnum", 20)
HOSPITALS = tuple(f"hospital {letter}" for letter in "ABCDE"[: len(AIRLINES)])
MODEL = SecureSum(sites=len(AIRLINES), collusion_threshold=1)
LOSSES = {"cdf": "1.2", "quantiles": "0.6", "roc": "1", "calibration": "1"}
ASKED_OF_AIRLINES: dict[str, Any] = {
    name: question for name, question in (DELAY_QUESTIONS | MODEL_QUESTIONS).items() if name in LOSSES
}
KILLED, ON_THE_WAY = 2, "calibration"
YEARS = dp.Grid(0, 14, cells=56, outside=dp.Outside.APART)
CHAINS = dp.Categories("chains", ("high", "other"))
SURVIVAL = dp.SurvivalQuestion("years", "died", YEARS, by=CHAINS)
RUN = 10
"""Distinct numbers in a run of counts that is searched in a log. Runs of four occur by chance now and then, because the
noise of small counts takes few values.
"""
WORD = 2**32
"""Bound far above counts and their noise; a masked word is uniform up to its square."""


def main() -> None:
    """Start two federations, ask them, and stop them; then search their coordinators' logs."""
    console = Console(highlight=False, soft_wrap=True)
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    with ExitStack() as stack:
        cohort = cohort_of_hospitals()
        hospitals = None
        if cohort is None:
            console.print("The hospitals' cohort comes with scikit-survival, which is not here: they are left out.")
        else:
            places = np.random.default_rng(1).integers(len(HOSPITALS), size=len(cohort))
            shares = {name: cohort[places == place] for place, name in enumerate(HOSPITALS)}
            hospitals = stack.enter_context(running(Sites("hospitals", shares, EACH_RECORD, dp.PrivacyLoss.pure(1))))
        with console.status("training on one half of the aircraft; the airlines keep their flights"):
            tables = flights_of_airlines()
        budget = dp.PrivacyLoss.pure(4)
        airlines = stack.enter_context(running(Sites("airlines", tables, AIRCRAFT, budget)))
        with console.status(f"{NUMBER} airlines and a coordinator come up"):
            airlines.wait_for_all()
        console.print(f"{NUMBER.capitalize()} airlines have signed one task: {MODEL}")
        found = asked_of_airlines(console, airlines)
        compare_flights(console, found, pd.concat(tables.values()))
        search(console, airlines, ASKED_OF_AIRLINES["cdf"], LOSSES["cdf"])
        if hospitals is not None and cohort is not None:
            with console.status(f"{NUMBER} hospitals answer"), hospitals.analyst() as analyst:
                hospitals.wait_for_all()
                arms = analyst.ask(SURVIVAL, dp.PrivacyLoss.pure(1), "survival")
            compare_survival(console, arms, cohort)
            search(console, hospitals, SURVIVAL, "1")
    console.print(f"All processes are stopped. Written: {shown(OUT)}")


# Tables: the data of each site.


def flights_of_airlines() -> dict[str, pd.DataFrame]:
    """Return the delays of all flights of an airline; and a model's scores for aircraft outside its training set."""
    evaluated = flights["tailnum"].map(is_evaluated)
    model = trained(flights[~evaluated])
    tables = {}
    for airline in AIRLINES:
        own = flights[flights["carrier"] == airline]
        judged = scored(model, own[own["tailnum"].map(is_evaluated)])
        tables[airline] = own[["tailnum", "arr_delay"]].join(judged[["late", "score"]])
    return tables


def cohort_of_hospitals() -> pd.DataFrame | None:
    """Return residents of Olmsted County above 50 whose free light chains were measured (Dispenzieri et al. 2012):
    follow-up time, death, and whether their chains were in the highest tenth. None if scikit-survival, which contains
    the file, is not installed.
    """
    found = find_spec("sksurv")
    if found is None or found.origin is None:
        return None
    lines = (Path(found.origin).parent / "datasets" / "data" / "flchain.arff").read_text(encoding="utf-8").splitlines()
    start = lines.index("@data")
    names = [line.split()[1] for line in lines[:start] if line.startswith("@attribute")]
    people = pd.DataFrame([line.split(",") for line in lines[start + 1 :] if line], columns=names)
    return pd.DataFrame(
        {
            "years": people["futime"].astype(float) / 365.25,
            "died": (people["death"] == "dead").astype(int),
            CHAINS.column: np.where(people["flc.grp"] == "10", *CHAINS.values),
        }
    )


# Sites as processes.


@dataclass
class Sites:
    """Sites and their coordinator, each a process with its own folder."""

    name: str
    tables: Mapping[str, pd.DataFrame]
    unit: Unit
    budget: dp.PrivacyLoss
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return OUT / self.name

    @property
    def log(self) -> Path:
        """Log of the coordinator: each message that it forwarded."""
        return self.folder / "coordinator.seen"

    @cached_property
    def task(self) -> FederationTask:
        """Create the task: each site and the coordinator make their keys."""
        self.folder.mkdir()
        coordinator = Identity.create(self.folder / "hub", f"https://127.0.0.1:{free_port()}")
        members = tuple(Member.create(self.place(n), name, None) for n, name in enumerate(self.tables))
        for number, table in enumerate(self.tables.values()):
            table.to_parquet(self.place(number) / "records.parquet", index=False)
        return create_federation_task(
            members, MODEL, self.folder / "task.json", self.folder / "tickets", name=self.name,
            neighbours=Neighbours.ADD_REMOVE, unit=self.unit, budget=self.budget, coordinator=coordinator.public,
            analysts=1,
        )  # fmt: skip

    def place(self, number: int) -> Path:
        return self.folder / f"site-{number + 1}"

    def ledger(self, number: int) -> dp.Ledger:
        return dp.Ledger.open_existing(f"sqlite:///{self.place(number) / 'ledger.db'}")

    def start(self, number: int) -> None:
        """Start a site with `dpcurves federation site`."""
        place = self.place(number)
        options = {
            "task": self.folder / "task.json", "key": place, "ticket": self.folder / "tickets" / f"owner-{number + 1}",
            "ledger": f"sqlite:///{place / 'ledger.db'}",
        }  # fmt: skip
        arguments = ["-m", "dpcurves.cli", "federation", "site", str(place / "records.parquet"), *spelt(options)]
        self._run(f"site-{number + 1}", arguments)

    def start_all(self) -> None:
        """Start the curious coordinator and all sites."""
        self.task  # noqa: B018  # its document is written
        curious = str(Path(__file__).parent / "curious.py")
        options = {"task": self.folder / "task.json", "identity": self.folder / "hub", "timeout": PATIENCE}
        self._run("coordinator", [curious, str(self.log), "federation", "coordinator", *spelt(options)])
        for number in range(len(self.task.members)):
            self.start(number)

    def _run(self, name: str, arguments: list[str]) -> None:
        with (self.folder / f"{name}.log").open("ab") as said:
            environment = os.environ | {"OMP_NUM_THREADS": "1"}
            command = [sys.executable, *arguments]
            self.processes[name] = subprocess.Popen(command, stdout=said, stderr=said, env=environment)

    def wait_for_all(self) -> None:
        """Wait until all sites have signed the task."""
        waited(lambda: self._signed() == len(self.tables), f"the {self.name} did not come up")

    def answered(self, number: int) -> int:
        """Return the number of rounds that a site reports as answered."""
        return (self.folder / f"site-{number + 1}.log").read_text(encoding="utf-8").count("answered:")

    def wait_for_answer(self, number: int, before: int) -> None:
        waited(lambda: self.answered(number) > before, "no round was answered")

    def _signed(self) -> int:
        try:
            return len(fetch_status(self.task)["signed"])
        except ValueError:
            return 0

    def kill(self, number: int) -> None:
        """Kill a site by SIGKILL, so that it cannot clean up."""
        process = self.processes.pop(f"site-{number + 1}")
        process.send_signal(signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def analyst(self) -> RemoteFederation:
        tickets = self.folder / "tickets"
        key = read_key(tickets / "analyst-1.key")
        return RemoteFederation(self.task, Ticket.load(tickets / "analyst-1", Role.ANALYST), key, PATIENCE)


@contextmanager
def running(sites: Sites) -> Iterator[Sites]:
    """Run sites, and stop them at the end."""
    try:
        sites.start_all()
        yield sites
    finally:
        sites.stop()


def spelt(options: Mapping[str, object]) -> list[str]:
    return [text for name, value in options.items() for text in (f"--{name}", str(value))]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def waited(holds: Any, otherwise: str) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(otherwise)
        time.sleep(0.1)


# Questions, and the answers of a single curator.


def asked_of_airlines(console: Console, airlines: Sites) -> dict[str, Any]:
    """Release four curves; in the middle of the last one an airline is killed, and restarted."""
    found: dict[str, Any] = {}
    with airlines.analyst() as analyst, ThreadPoolExecutor(1) as threads:
        for name, question in ASKED_OF_AIRLINES.items():
            start, before = time.monotonic(), airlines.answered(KILLED)
            coming = threads.submit(analyst.ask, question, pure(LOSSES[name]), name)
            if name == ON_THE_WAY:
                airlines.wait_for_answer(KILLED, before)
                airlines.kill(KILLED)
                console.print(f"{AIRLINES[KILLED]} was killed after its first round, by SIGKILL; it is started again")
                airlines.start(KILLED)
            with console.status(f"{NUMBER} airlines answer: {question}"):
                found[name] = coming.result()
            console.print(f"{name}: {time.monotonic() - start:.1f} s")
    table = Table("airline", "flights", "spent", "charges", title="Ledgers of the airlines", title_justify="left")
    for number, (name, records) in enumerate(airlines.tables.items()):
        statement = airlines.ledger(number).statement("data")
        balance = display.BalanceReport.from_statement(statement)
        table.add_row(name, f"{len(records):,}", str(balance.spent), str(len(balance.charges)))
    console.print(table)
    return found


def pure(epsilon: str) -> dp.PrivacyLoss:
    return dp.PrivacyLoss.pure(epsilon)


def compare_flights(console: Console, found: dict[str, Any], records: pd.DataFrame) -> None:
    """Compare with a curator who has the flights of all airlines, at the same price."""
    for name, curve in found.items():
        (OUT / f"{name}.json").write_text(curve.to_json(), encoding="utf-8")
    with dp.Session(
        records, budget=dp.PrivacyLoss.pure(4), adjacency=dp.ADD_REMOVE, unit="tailnum", rows_per_unit=20
    ) as session:
        curator = {name: session.ask(each, pure(LOSSES[name])) for name, each in ASKED_OF_AIRLINES.items()}
    draw_flights(found, curator)
    for who, curves in ((f"{NUMBER} airlines", found), ("one curator", curator)):
        quartiles = ", ".join(f"{x:.0f}" for x in curves["quantiles"].x)
        late, area = 1 - curves["cdf"].cdf(LATE), curves["roc"]
        low, high = area.auc_interval(0.95)
        console.print(
            f"{who}: {late:.1%} of flights are more than {LATE} minutes late; quartiles {quartiles} minutes; "
            f"AUC {area.auc:.3f}, 95% interval {display.format_interval(low, high, high - low)}"
        )


def draw_flights(found: Mapping[str, Any], curator: Mapping[str, Any]) -> None:
    figure = Figure(figsize=(12, 10.5), layout="constrained")
    axes = figure.subplots(2, 2).ravel()
    found["cdf"].plot(axes[0]).set_xlim(-75, 200)
    axes[0].plot(curator["cdf"].x, curator["cdf"].y, **BESIDE)
    found["quantiles"].plot(axes[1])
    axes[1].plot(
        curator["quantiles"].x,
        DELAY_QUESTIONS["quantiles"].probabilities,
        **(BESIDE | {"linestyle": "", "marker": "|"}),
    )
    found["roc"].plot(axes[2])
    axes[2].plot(curator["roc"].fpr, curator["roc"].tpr, **BESIDE)
    found["calibration"].plot(axes[3])
    grouped = curator["calibration"]
    told = np.diff(grouped.intervals(0.95), axis=1).ravel() < 1
    axes[3].plot(grouped.prob_pred[told], grouped.prob_true[told], **BESIDE)
    for each in axes:
        each.legend(fontsize=7)
    display.save_figure(axes[0], OUT / "flights.png")


BESIDE: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 1, "markersize": 14, "label": "one curator"}


def compare_survival(console: Console, arms: Any, cohort: pd.DataFrame) -> None:
    """Compare with a curator who has all people of the cohort, at the same price."""
    (OUT / "survival.json").write_text(arms.to_json(), encoding="utf-8")
    with dp.Session(cohort, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE) as session:
        curator = session.ask(SURVIVAL, dp.PrivacyLoss.pure(1))
    figure = Figure(figsize=(9, 6.5), layout="constrained")
    axes = arms.plot(figure.subplots())
    for value in CHAINS.values:
        named = BESIDE if value == CHAINS.values[0] else BESIDE | {"label": None}
        axes.plot(curator[value].x, curator[value].y, drawstyle="steps-post", **named)
    axes.legend()
    display.save_figure(axes, OUT / "survival.png")
    for who, both in ((f"{NUMBER} hospitals", arms), ("one curator", curator)):
        test = dp.log_rank_test(*(both[value] for value in CHAINS.values))
        ten = ", ".join(
            f"{np.interp(10, both[value].x, both[value].y):.1%} of those with {value} chains" for value in CHAINS.values
        )
        console.print(
            f"{who}: alive after ten years: {ten}; log-rank statistic {test.statistic:.0f}, p = {test.p_value:.1g}"
        )


# Search of everything that a curious coordinator sees.


def search(console: Console, sites: Sites, question: Any, epsilon: str) -> None:
    """Search the coordinator's log for exact counts, and for vectors of sites before masking."""
    log = kept(sites.log)
    whole = b"".join(octets for _, octets in log)
    made = [vector for number in range(len(sites.tables)) for vector in sent_by(sites, number)]
    # Positive control: the search finds these vectors in a log that has them.
    vectors = [vector for vector in made if has_run(vector.tobytes(), vector)]
    seen = sum(has_run(whole, vector) for vector in vectors)
    exact = [exact_counts(sites, number, question, epsilon) for number in range(len(sites.tables))]
    exact.append(np.sum(exact, axis=0))
    are_found = all(has_run(vector.tobytes(), vector) for vector in exact)
    counts = sum(has_run(whole, vector) for vector in exact)
    masked = np.concatenate([words_of(octets) for kind, octets in log if kind == MASKED])
    small = int(np.sum((masked < WORD) | (masked > -WORD % 2**64)))
    released = sum(b'"answers": [[' in octets for kind, octets in log if kind == ASKED)
    console.print(
        f"The coordinator of the {sites.name} wrote down {len(log)} messages, {len(whole) / 1e3:,.0f} kB: exact counts "
        f"of {counts} of {len(exact)} tables are in them, noisy sums of {seen} of {len(vectors)} that sites made, "
        f"and {small} of {len(masked):,} masked words are small; it read the total's noisy sums {released} times."
    )
    if not (vectors and are_found):
        raise SystemExit("what is looked for has no run of numbers that could be found")
    if counts or seen or small:
        raise SystemExit("what nobody may see was seen")


def sent_by(sites: Sites, number: int) -> list[NDArray[np.uint64]]:
    """Return a site's own counts with its noise share, before masking; they are in its own store only."""
    rows = sites.ledger(number).database.run_read(
        lambda connection: connection.execute(select(SUM_VECTOR_TABLE.c.vector)).all()
    )
    return [np.frombuffer(row.vector, dtype="<u8") for row in rows]


def exact_counts(sites: Sites, number: int, question: Any, epsilon: str) -> NDArray[np.uint64]:
    """Return the exact counts of a site's records in the cells of the question's first round, before noise."""
    key = sites.ledger(number).dataset_key("data")
    adjacency = sites.task.terms.adjacency
    query = dp.plan_question(question, pure(epsilon), adjacency, MODEL)[0].query
    with open_records(str(sites.place(number) / "records.parquet"), unit=sites.unit, key=key) as records:
        return np.asarray(tabulate(records, query)).astype(np.uint64).ravel()


def has_run(log: bytes, vector: NDArray[np.uint64]) -> bool:
    """Search a log for runs of consecutive numbers of a vector, as words or in decimal."""
    for run in runs_of(vector):
        signed = run.view(np.int64).tolist()
        if run.astype("<u8").tobytes() in log or ", ".join(map(str, signed)).encode() in log:
            return True
    return False


def runs_of(vector: NDArray[np.uint64]) -> Iterator[NDArray[np.uint64]]:
    """Cut a vector into runs, each just long enough for `RUN` distinct numbers, because zeros of empty cells prove
    nothing.
    """
    start, distinct = 0, set[int]()
    for place, number in enumerate(vector.tolist(), 1):
        distinct.add(number)
        if len(distinct) == RUN:
            yield vector[start:place]
            start, distinct = place, set()


def words_of(message: bytes) -> NDArray[np.uint64]:
    """Return the words of a masked vector, which follow its receipt with their number."""
    size = int.from_bytes(message[48:56], "little")
    return np.frombuffer(message[len(message) - 8 * size :], dtype="<u8")


def shown(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


if __name__ == "__main__":
    main()
