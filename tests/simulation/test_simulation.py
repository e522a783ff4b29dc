"""Simulated schedules replay, find planted bugs, and are shortened; those of the product hold every invariant."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC
from functools import cache
from pathlib import Path

import pytest
import schedules
from click.testing import CliRunner
from planted_bugs import BUGS, FOUND, PAGE, PlantedBug, format_table, plant, run_with

from dpcurves.ledger import verification
from dpcurves.ledger.chain import Key
from dpcurves_sim import disk, runner
from dpcurves_sim.cli import simulate
from dpcurves_sim.disk import simulate_disk
from dpcurves_sim.event_loop import SimulatedLoop
from dpcurves_sim.runner import Outcome, minimise, name_invariant, run_schedule
from dpcurves_sim.world import POWER_LOST, Schedule, Violation, World

run_once = cache(run_schedule)
KEPT = json.loads(FOUND.read_text())


@pytest.mark.parametrize("scenario", ["ledger", "sites", "servers"])
def test_a_seed_replays_event_by_event(scenario: str) -> None:
    first, again = (run_schedule(Schedule(scenario, 2**64 - 1, 60)) for _ in range(2))
    assert first.violation == ""
    assert (first.trace, first.struck, first.events) == (again.trace, again.struck, again.events)
    assert run_schedule(Schedule(scenario, 2**64 - 2, 60)).trace != first.trace


STOPPED = """
import sys, time
from pathlib import Path
from dpcurves_sim import disk
from dpcurves_sim.world import Schedule, World
disk.MEMORY_FOLDER = Path(sys.argv[1])
with disk.simulate_disk(World(Schedule("ledger", 1))) as simulated:
    (simulated.make_folder("curator") / "budget.db").write_text("charged")
    print(simulated.root, flush=True)
    time.sleep(600)
"""


def test_disks_of_a_killed_simulation_are_removed_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = [
        subprocess.Popen([sys.executable, "-c", STOPPED, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    dead, alive = (Path(process.stdout.readline().strip()) for process in started if process.stdout)
    monkeypatch.setattr(disk, "MEMORY_FOLDER", tmp_path)
    started[0].kill()
    started[0].wait()
    try:
        assert (dead / "curator" / "budget.db").exists()
        with disk.simulate_disk(World(Schedule("ledger", 1))) as simulated:
            assert tmp_path in simulated.root.parents
            assert not dead.exists()
            assert (alive / "curator" / "budget.db").read_text() == "charged"
    finally:
        started[1].kill()
        started[1].wait()
        for process in started:
            process.communicate()
    assert not simulated.root.exists()


def test_each_planted_bug_was_found_no_other_schedule_failed_and_the_page_says_so() -> None:
    assert sorted(bug.name for bug in BUGS) == sorted(KEPT)
    assert format_table(KEPT) in PAGE.read_text()
    kept = json.loads(schedules.KEPT.read_text())
    assert schedules.format_table(kept) in PAGE.read_text()
    assert {tuple(counts["failed"]) for counts in kept.values()} == {()}


SHORT = 60
"""Events of a schedule that the tests run each time; longer ones run in `make bench`."""


@pytest.mark.quick_share(4)
@pytest.mark.parametrize(
    "bug",
    [
        pytest.param(bug, id=bug.name, marks=[pytest.mark.reproduction] if KEPT[bug.name]["events"] > SHORT else [])
        for bug in BUGS
    ],
)
def test_a_planted_bug_is_found_by_its_seed_which_passes_without_it(bug: PlantedBug) -> None:
    schedule = Schedule(bug.scenario, KEPT[bug.name]["seed"])
    assert run_with(bug, schedule).violation != ""
    assert run_once(schedule).violation == ""


@pytest.mark.reproduction
def test_a_failing_schedule_becomes_minimal() -> None:
    """No fault that is left and no other process is needless: with one fewer, the schedule passes."""
    bug = next(bug for bug in BUGS if bug.name == "a failed commit passes for a success")
    with plant(bug):
        failing = run_schedule(Schedule(bug.scenario, KEPT[bug.name]["seed"]))
        short = minimise(failing)
        invariant = name_invariant(failing.violation)
        assert name_invariant(short.violation) == invariant
        assert short.events < failing.events
        assert run_schedule(short.schedule) == short
        faults = [event for event in short.struck if event not in short.schedule.skipped]
        assert 0 < len(faults) < len(failing.struck)
        for fault in faults:
            fewer = run_schedule(replace(short.schedule, skipped=short.schedule.skipped | {fault}))
            assert name_invariant(fewer.violation) != invariant
    working = [name for name, events in short.processes if events]
    assert len(working) == 1
    assert len(str(short).splitlines()) <= 12
    assert f"dpcurves-sim ledger --seed {short.schedule.seed} --events {short.schedule.events}" in str(short)


@pytest.mark.parametrize(
    ("violation", "cut"),
    [
        ("an answer was shown twice", {("owner-1", 0), ("owner-2", 0), ("coordinator", 0), ("stranger", 0)}),
        ("no progress: analyst did not end", {("stranger", 0)}),
    ],
)
def test_processes_of_all_scenarios_are_cut_unless_others_wait_for_them(
    monkeypatch: pytest.MonkeyPatch, violation: str, cut: set[tuple[str, int]]
) -> None:
    names = ("owner-1", "analyst", "owner-2", "coordinator", "stranger")

    def run(schedule: Schedule) -> Outcome:
        """Fail as long as the analyst may ask three times."""
        fails = all(name != "analyst" or number >= 3 for name, number in schedule.cut)
        return Outcome(schedule, violation * fails, (), (), tuple((name, 5) for name in names), 9, Counter())

    monkeypatch.setattr(runner, "run_schedule", run)
    found = minimise(run(Schedule("servers", 1))).schedule.cut
    assert {event for event in found if event[0] != "analyst"} == cut


def test_the_event_loop_of_a_server_never_waits() -> None:
    """A callback that waits keeps all clients waiting: it is a violation, and work for threads is none."""

    async def wait_in_thread(world: World) -> str:
        await asyncio.get_running_loop().run_in_executor(None, world.sleep, 5.0)
        return f"{await asyncio.wait_for(asyncio.sleep(2.0, 'slept'), 3.0)} until {world.now:.0f}"

    async def wait_on_loop(world: World) -> None:
        world.sleep(5.0)

    world, results = World(Schedule("servers", 1)), list[str]()
    loop = SimulatedLoop(world)  # type: ignore[abstract]
    world.start("server", "machine", lambda: results.append(loop.run(wait_in_thread(world))))
    world.run()
    assert results == ["slept until 7"]
    world = World(Schedule("servers", 1))
    world.start("server", "machine", lambda: SimulatedLoop(world).run(wait_on_loop(world)))  # type: ignore[abstract]
    with pytest.raises(Violation, match="server waits on the event loop, and all other clients with it"):
        world.run()


def test_seals_in_a_simulated_world_are_those_of_the_product_and_entries_are_dated_by_its_clock() -> None:
    """Seals are remembered by their facts, of which 1, 1.0 and True are equal and have different seals."""
    key, facts = Key(bytes(32)), (1, 1.0, True, "1", b"1", None)
    expected = [key.seal("fact", fact) for fact in facts]
    assert len(set(expected)) == len(facts)
    world = World(Schedule("ledger", 1))
    with simulate_disk(world):
        for _ in range(2):
            assert [key.seal("fact", fact) for fact in facts] == expected
        assert Key(bytes([1]) * 32).seal("fact", 1) not in expected
        world.now = 90.0
        assert vars(verification)["datetime"].now(UTC).isoformat() == "2026-01-01T00:01:30+00:00"


def test_power_takes_what_was_not_flushed_and_nothing_else(tmp_path: Path) -> None:
    taken = 0
    for seed in range(20):
        with simulate_disk(World(Schedule("ledger", seed))) as disk:
            folder = disk.make_folder("m")
            (folder / "flushed").write_text("whole")
            disk.flush_all(folder)
            (folder / "flushed").write_text("whole, and more")
            (folder / "new").write_text("text")
            disk._prepare_loss("m", POWER_LOST)()
            assert "whole, and more".startswith((folder / "flushed").read_text())
            new = folder / "new"
            assert not new.exists() or "text".startswith(new.read_text())
            taken += not new.exists()
    assert 0 < taken < 20  # the probability that a name is lost is a half: a false alarm has probability 2e-6


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--seed", "1"], "scenario: must be named with --seed, as in dpcurves-sim ledger --seed 7"),
        (["ledger", "--seed", str(2**64)], f"seed: must be from 0 to 2**64 - 1, got {2**64}"),
        (["ledger", "--seed", "1", "--events", "-1"], "events: must be at least 0, got -1"),
        (["ledger", "--seed", "1", "--skip", "a"], "skip: must be events of processes, as in analyst-1:12,session:4"),
        (["--schedules", "0"], "schedules: must be at least 1, got 0"),
    ],
)
def test_arguments_that_decide_no_schedule_are_refused(arguments: list[str], line: str) -> None:
    assert str(CliRunner().invoke(simulate, arguments).exception) == line


def test_the_command_runs_schedules_and_replays_one() -> None:
    result = CliRunner().invoke(simulate, ["servers", "--schedules", "2", "--events", "20", "--lines"])
    assert result.exit_code == 0
    assert "servers: 2 schedules" in result.output
    assert "together; not counted:" in result.output
    assert "PostgreSQL, which runs in the kill tests (ServerStorage," in result.output
    replayed = CliRunner().invoke(simulate, ["ledger", "--seed", "3", "--events", "20", "--minimise"])
    assert replayed.exit_code == 0
    assert "ledger, seed 3:" in replayed.output
