"""Deterministic simulation tests of servers and ledgers: run one schedule of processes and faults, and minimise it.

A `Schedule` is a seed, the name of a scenario, and limits on faults (crashes, lost messages and the like). Its seed
decides time, order and faults, so equal schedules give equal runs.

    run_schedule    schedule -> `Outcome`: runs the processes of a `Scenario`, and checks the invariants
    minimise        failing outcome -> outcome of a shorter schedule that fails by the same invariant

An `Outcome` has the violation, if any, the last ten events, and the schedule with the command that repeats it.
"""

from __future__ import annotations

import gc
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

from dpcurves.arguments import ArgumentError
from dpcurves.curves.result import CurveWarning

from .disk import SimulatedDisk, simulate_disk
from .world import Event, ProcessEvent, Schedule, Violation, World


class Scenario(Protocol):
    """Interface of scenarios: simulated processes, such as a server and its clients, and what must hold at the end.

    Attributes:
        INDEPENDENT: Prefixes of the names of processes that no other process waits for.
    """

    INDEPENDENT: ClassVar[tuple[str, ...]]

    def start(self) -> None:
        """Create the scenario's processes in its simulated world; they run once the world runs."""

    def finish(self) -> None:
        """Check the state after all processes have ended.

        Raises:
            Violation: An invariant does not hold.
        """


MODULES = MappingProxyType(
    {"ledger": "ledgers:LedgerScenario", "sites": "sites:SitesScenario", "servers": "servers:ServersScenario"}
)
"""Module and class of each scenario, as ``module:class``, by the name that the command line takes."""


DEADLOCK_PREFIXES = ("no progress", "no answer")
"""Beginnings of the violations in which processes wait for ever."""


def find_scenario(name: str) -> Callable[[World, SimulatedDisk], Scenario]:
    """Return the class of a scenario by its name, a key of `MODULES`. Its module is imported now.

    Args:
        name: Name of the scenario.

    Raises:
        KeyError: There is no scenario of this name.
    """
    module, _, scenario = MODULES[name].partition(":")
    scenario_class: Callable[[World, SimulatedDisk], Scenario] = getattr(
        import_module(f".{module}", __package__), scenario
    )
    return scenario_class


@dataclass(frozen=True)
class Outcome:
    """The result of running a schedule.

    Attributes:
        schedule: The schedule.
        violation: The invariant that does not hold; empty if all held.
        trace: The last ten events, oldest first.
        struck: Events at which a fault occurred.
        processes: Names of the processes, each with the number of its events.
        events: Number of events.
        faults: Number of faults by kind.
    """

    schedule: Schedule
    violation: str
    trace: tuple[Event, ...]
    struck: tuple[ProcessEvent, ...]
    processes: tuple[ProcessEvent, ...]
    events: int
    faults: Counter[str]

    def __str__(self) -> str:
        lines = [f"FAILED: {self.violation}", *map(str, self.trace), f"replay: {self.schedule.command}"]
        return "\n".join(lines)


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Context in which Python's garbage collector is off, because it takes a sixth of the time of a schedule."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@pause_garbage_collection()
def run_schedule(schedule: Schedule) -> Outcome:
    """Run one simulated schedule until its processes end or an invariant does not hold.

    Args:
        schedule: Seed, scenario and limits on faults.

    Returns:
        The outcome. A violation, and an error of the simulated code at the end, are in it, not raised.
    """
    world = World(schedule)
    violation = ""
    with simulate_disk(world) as disk, warnings.catch_warnings():
        warnings.simplefilter("ignore", CurveWarning)
        scenario: Any = find_scenario(schedule.scenario)(world, disk)
        try:
            scenario.start()
            world.run()
            scenario.finish()
        except Violation as error:
            violation = str(error)
        except ArgumentError as error:
            violation = f"refused at the end: {error}"
        finally:
            close = getattr(scenario, "close", None)
            if close is not None:
                close()
    return Outcome(
        schedule, violation, tuple(world.trace), tuple(world.struck), world.count_events(), world.event,
        world.fault_counts,
    )  # fmt: skip


def minimise(outcome: Outcome, most_runs: int = 300) -> Outcome:
    """Minimise a failing schedule: find one that violates the same invariant with fewer events and faults.

    Three steps repeat until none of them helps: faults end as early as possible; faults are left out by delta debugging
    (Zeller and Hildebrandt 2002), until each that remains is needed; and processes are cut off after as few of their
    events as possible.

    Args:
        outcome: Outcome with a violation.
        most_runs: Largest number of schedules that are run.

    Returns:
        The outcome of the shortest schedule that was found; `outcome` itself if no shorter one fails.
    """
    search = _Search(outcome, most_runs)
    while True:
        before = search.outcome.schedule
        search.end_faults_early()
        search.leave_out_faults()
        search.cut_processes()
        if search.outcome.schedule == before or search.runs >= most_runs:
            return search.outcome


class _Search:
    """Search for a shorter schedule that fails by the same invariant.

    Args:
        outcome: Outcome with a violation, from which the search begins.
        most_runs: Largest number of schedules that are run.

    Attributes:
        outcome: Outcome of the shortest failing schedule so far.
        runs: Number of schedules run so far.
    """

    def __init__(self, outcome: Outcome, most_runs: int) -> None:
        """Begin a search for a shorter schedule that fails in the same way.

        Args:
            outcome: Outcome of the failing schedule.
            most_runs: Largest number of schedules that are run.
        """
        self.outcome = outcome
        self.runs = 0
        self._most_runs = most_runs
        self._invariant = name_invariant(outcome.violation)
        self._independent = find_scenario(outcome.schedule.scenario).INDEPENDENT  # type: ignore[attr-defined]

    def fails(self, **changes: Any) -> bool:
        """Run the shortest failing schedule with some fields changed, and return whether it fails in the same way.

        Args:
            **changes: New values by field of `Schedule`.

        Returns:
            True if the same invariant fails; then the outcome is stored. False else, and if no run is left.
        """
        if self.runs >= self._most_runs:
            return False
        self.runs += 1
        candidate = run_schedule(replace(self.outcome.schedule, **changes))
        if name_invariant(candidate.violation) != self._invariant:
            return False
        self.outcome = candidate
        return True

    def _find_least(self, most: int, fails: Callable[[int], bool]) -> None:
        """Find the smallest number with which a schedule still fails: try 0, then doubled numbers, then bisect.

        Args:
            most: Number with which the schedule is known to fail.
            fails: Function that runs the schedule with a number, and returns True (and stores the outcome) if it fails.
        """
        low, high = 0, 1
        if fails(0):
            return
        while high < most and not fails(high):
            low = high
            high = 2 * high
        high = min(high, most)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if fails(middle) else (middle, high)

    def end_faults_early(self) -> None:
        """Shrink the failing schedule by injecting faults only up to as early an event as possible."""
        self._find_least(
            min(self.outcome.schedule.events, self.outcome.events), lambda events: self.fails(events=events)
        )

    def leave_out_faults(self) -> None:
        """Shrink the failing schedule by leaving out faults that it does not need: first groups, then single ones.

        In the end, leaving out any other fault makes the violation vanish.
        """
        parts = 2
        while active := [event for event in self.outcome.struck if event not in self.outcome.schedule.skipped]:
            size = -(-len(active) // parts)
            for start in range(0, len(active), size):
                if self.fails(skipped=self.outcome.schedule.skipped | set(active[start : start + size])):
                    parts = max(parts - 1, 2)
                    break
            else:
                if size == 1:
                    return
                parts = min(2 * parts, len(active))

    def cut_processes(self) -> None:
        """Shrink the failing schedule by ending each process for good after as few events as possible.

        If the schedule fails because it does not end, only processes for which nobody waits are ended: without any
        other, it would not end either.
        """
        for name, number in self.outcome.processes:
            may_be_cut = name.startswith(self._independent) or not self._invariant.startswith(DEADLOCK_PREFIXES)
            if may_be_cut and (name, 0) not in self.outcome.schedule.cut:
                others = frozenset(event for event in self.outcome.schedule.cut if event[0] != name)
                self._find_least(number, lambda events: self.fails(cut=others | {(name, events)}))  # noqa: B023


def name_invariant(violation: str) -> str:
    """Return the text of a violation up to its first colon, without numbers and quoted names.

    The result is the same for all seeds that find one bug, so it tells whether two schedules fail alike.

    Args:
        violation: Text of the violation.

    >>> name_invariant("the acknowledged charge of 'r7' is missing: 12 of 13")
    'the acknowledged charge of  is missing'
    """
    return re.sub(r"[0-9]+|'[^']*'", "", violation.partition(":")[0])
