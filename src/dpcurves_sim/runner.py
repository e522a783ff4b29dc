"""Runs schedules, and shortens those that fail."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from types import MappingProxyType
from typing import Any, Protocol

from dpcurves.arguments import ArgumentError
from dpcurves.curves.result import CurveWarning

from .disk import SimulatedDisk, simulate_disk
from .world import Event, Schedule, Violation, World


class Scenario(Protocol):
    """A cast of processes, with what must hold at the end."""

    def start(self) -> None:
        """Start the processes."""

    def finish(self) -> None:
        """Check the final state. Raises `Violation`."""


MODULES = MappingProxyType(
    {"ledger": "ledgers:LedgerScenario", "sites": "sites:SitesScenario", "servers": "servers:ServersScenario"}
)
"""Module and class of each scenario by its name."""


def find_scenario(name: str) -> Callable[[World, SimulatedDisk], Scenario]:
    """Return the scenario of a name. Its module is imported on use."""
    module, _, scenario = MODULES[name].partition(":")
    scenario_class: Callable[[World, SimulatedDisk], Scenario] = getattr(
        import_module(f".{module}", __package__), scenario
    )
    return scenario_class


@dataclass(frozen=True)
class Outcome:
    """What came of a schedule.

    Attributes:
        schedule: The schedule.
        violation: The invariant that does not hold; empty if all held.
        trace: The last ten events.
        struck: Numbers of the events at which faults were drawn.
        events: Number of events.
        faults: Number of faults by kind.
    """

    schedule: Schedule
    violation: str
    trace: tuple[Event, ...]
    struck: tuple[int, ...]
    events: int
    faults: Counter[str]

    def __str__(self) -> str:
        lines = [f"FAILED: {self.violation}", *map(str, self.trace), f"replay: {self.schedule.command}"]
        return "\n".join(lines)


def run_schedule(schedule: Schedule) -> Outcome:
    """Run one schedule, and return what came of it."""
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
    return Outcome(schedule, violation, tuple(world.trace), tuple(world.struck), world.event, world.fault_counts)


def minimise(outcome: Outcome, most_runs: int = 200) -> Outcome:
    """Return a failing schedule with fewer events under faults, and fewer faults.

    The number of events is halved while the schedule still fails; then faults are left out, many at a time and then one
    by one (Zeller and Hildebrandt 2002). A shortened schedule may fail by another invariant.
    """
    runs = 0

    def fails(schedule: Schedule) -> Outcome | None:
        """Return the outcome of a schedule that fails; None if it passes, or too many were run."""
        nonlocal runs
        runs += 1
        if runs > most_runs:
            return None
        candidate = run_schedule(schedule)
        return candidate if candidate.violation else None

    low, high = 0, min(outcome.schedule.events, outcome.events)
    while low < high:
        middle = (low + high) // 2
        shorter = fails(replace(outcome.schedule, events=middle))
        if shorter is None:
            low = middle + 1
        else:
            outcome, high = shorter, middle
    size = max(1, len(outcome.struck))
    while size:
        active = [number for number in outcome.struck if number not in outcome.schedule.skipped]
        for start in range(0, len(active), size):
            fewer = fails(
                replace(outcome.schedule, skipped=outcome.schedule.skipped | set(active[start : start + size]))
            )
            if fewer is not None:
                outcome = fewer
        size //= 2
    return outcome
