"""Simulated schedules replay, find planted bugs, and are shortened; those of the product hold every invariant."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from planted_bugs import BUGS, FOUND, PAGE, PlantedBug, format_table, plant, run_with

from dpcurves_sim.cli import simulate
from dpcurves_sim.disk import simulate_disk
from dpcurves_sim.runner import minimise, name_invariant, run_schedule
from dpcurves_sim.world import POWER, Schedule, World

run_once = cache(run_schedule)
KEPT = json.loads(FOUND.read_text())


@pytest.mark.parametrize("scenario", ["ledger", "sites", "servers"])
def test_a_seed_replays_event_by_event(scenario: str) -> None:
    first, again = (run_schedule(Schedule(scenario, 2**64 - 1, 60)) for _ in range(2))
    assert first.violation == ""
    assert (first.trace, first.struck, first.events) == (again.trace, again.struck, again.events)
    assert run_schedule(Schedule(scenario, 2**64 - 2, 60)).trace != first.trace


def test_each_planted_bug_was_found_and_the_page_says_so() -> None:
    assert sorted(bug.name for bug in BUGS) == sorted(KEPT)
    assert format_table(KEPT) in PAGE.read_text()


SHORT = 60
"""Events of a schedule that the tests run each time; longer ones run in `make bench`."""


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
        assert len(faults) == 1  # the commit that fails
        for fault in faults:
            fewer = run_schedule(replace(short.schedule, skipped=short.schedule.skipped | {fault}))
            assert name_invariant(fewer.violation) != invariant
    working = [name for name, events in short.processes if events]
    assert len(working) == 1
    assert len(str(short).splitlines()) <= 12
    assert f"dpcurves-sim ledger --seed {short.schedule.seed} --events {short.schedule.events}" in str(short)


def test_power_takes_what_was_not_flushed_and_nothing_else(tmp_path: Path) -> None:
    taken = 0
    for seed in range(20):
        with simulate_disk(World(Schedule("ledger", seed))) as disk:
            folder = disk.make_folder("m")
            (folder / "flushed").write_text("whole")
            disk.flush_all(folder)
            (folder / "flushed").write_text("whole, and more")
            (folder / "new").write_text("text")
            disk._prepare_loss("m", POWER)()
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
    assert "lines in functions of together" in result.output
    replayed = CliRunner().invoke(simulate, ["ledger", "--seed", "3", "--events", "20", "--minimise"])
    assert replayed.exit_code == 0
    assert "ledger, seed 3:" in replayed.output
