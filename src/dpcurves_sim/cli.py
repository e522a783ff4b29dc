"""Command `dpcurves-sim`: run deterministic simulation tests of ledgers, sites and servers, or replay a failing seed.

A schedule is one simulated run of a protocol; its seed decides order, time, network and disk, and which faults strike.

    --schedules, --first        run many seeds
    --seed, --skip, --cut       replay one schedule, without some of its faults or events
    --minimise                  shorten failing schedules while they fail by the same invariant
    --lines                     print which part of the protocol modules was executed

Without a seed, the command prints each failing schedule (the violated invariant, the last events, and the command that
replays it), then one line per scenario: numbers of schedules, events, faults and failures, and CPU seconds. With a
seed, it prints the last events. The exit status is 1 if a schedule failed. All records are made up.

    dpcurves-sim ledger --seed 7
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from multiprocessing import get_context
from time import process_time
from typing import NamedTuple

import click

from dpcurves.arguments import ArgumentError, InvalidArgument
from dpcurves.cli.status import ExitStatus
from dpcurves.cli.terminal import UnreadOutput, print_to_stdout

from .line_coverage import NOT_SIMULATED, measure_lines
from .runner import MODULES, Outcome, minimise, run_schedule
from .world import ProcessEvent, Schedule

SCENARIO_SHARES = (("ledger", 0.9), ("sites", 0.05), ("servers", 0.05))
"""Fraction of the schedules (simulated runs) that each scenario gets, if all are run."""


def main() -> None:
    """Run the command `dpcurves-sim` and end the process.

    The exit status is 0 if all schedules held, 1 if one failed, 2 for an invalid argument, 141 for a closed output
    pipe.
    """
    try:
        simulate()
    except UnreadOutput:
        sys.exit(ExitStatus.UNREAD)
    except ArgumentError as error:
        print(f"dpcurves-sim: {error}", file=sys.stderr)
        sys.exit(2)


@click.command("dpcurves-sim")
@click.argument("scenario", type=click.Choice([*MODULES, "all"]), default="all")
@click.option("--seed", type=int, help="Run this seed alone, and print its last events.")
@click.option("--events", default=150, show_default=True, help="Events after which no fault strikes.")
@click.option("--skip", default="", help="Events without their fault, as in analyst-1:12,session:4.")
@click.option("--cut", default="", help="Events after which a process ends for good, as in analyst-1:0.")
@click.option("--schedules", default=2000, show_default=True, help="Number of schedules.")
@click.option("--first", default=0, show_default=True, help="Seed of the first schedule.")
@click.option("--workers", default=1, show_default=True, help="Processes that share the schedules.")
@click.option("--minimise", "is_minimised", is_flag=True, help="Shorten failing schedules before they are printed.")
@click.option("--lines", "has_lines", is_flag=True, help="Print which part of protocol modules was executed.")
def simulate(
    *,
    scenario: str,
    seed: int | None,
    events: int,
    skip: str,
    cut: str,
    schedules: int,
    first: int,
    workers: int,
    is_minimised: bool,
    has_lines: bool,
) -> None:
    """Run protocols in a simulated world, and replay failing seeds."""
    if seed is not None:
        if scenario == "all":
            raise InvalidArgument("scenario", "must be named with --seed, as in dpcurves-sim ledger --seed 7")
        sys.exit(
            replay(Schedule(scenario, seed, events, parse_events("skip", skip), parse_events("cut", cut)), is_minimised)
        )
    for name, value in (("schedules", schedules), ("workers", workers)):
        if value < 1:
            raise InvalidArgument(name, f"must be at least 1, got {value}")
    shares = SCENARIO_SHARES if scenario == "all" else ((scenario, 1.0),)
    failures: list[int] = []
    for name, share in shares:
        number = max(1, round(share * schedules))
        run = partial(run_many, name, range(first, first + number), events=events, is_minimised=is_minimised)
        if has_lines:
            print_lines(name, lambda: failures.append(run(workers=1)))  # noqa: B023
        else:
            failures.append(run(workers=workers))
    sys.exit(int(any(failures)))


def print_lines(scenario: str, run: Callable[[], object]) -> None:
    """Run schedules of a scenario, and print the line coverage of its protocol modules.

    For each module the executed share of its lines is printed, and the functions with most lines that were not
    executed; at the end the share of all modules, and the functions that do not count, with the reasons.

    Args:
        scenario: Name of the scenario.
        run: Function that runs the schedules.
    """
    modules = measure_lines(scenario, run)
    for module, coverage in modules.items():
        print_to_stdout(f"  {coverage.executed / coverage.lines:4.0%} of {coverage.lines:4d} lines of {module}")
        missed = ", ".join(f"{function} {lines}" for function, lines in Counter(coverage.missed).most_common(6))
        print_to_stdout(f"       not executed: {missed or 'none'}")
    executed = sum(coverage.executed for coverage in modules.values())
    print_to_stdout(f"  {executed / sum(coverage.lines for coverage in modules.values()):4.0%} together; not counted:")
    for reason, functions in NOT_SIMULATED.items():
        print_to_stdout(f"       {reason} ({', '.join(function.rstrip('.') for function in functions)})")


def parse_events(option: str, text: str) -> frozenset[ProcessEvent]:
    """Return the events of processes that an option names.

    Args:
        option: Name of the option, for the error.
        text: Pairs of a process and the number of its event, separated by commas, or an empty text.

    Raises:
        InvalidArgument: The text has another form.

    >>> sorted(parse_events("skip", "analyst-1:12,session:4"))
    [('analyst-1', 12), ('session', 4)]
    """
    try:
        events = (event.rsplit(":", 1) for event in text.split(",") if event)
        return frozenset((name, int(number)) for name, number in events)
    except ValueError:
        raise InvalidArgument(option, "must be events of processes, as in analyst-1:12,session:4") from None


class Summary(NamedTuple):
    """Results of some schedules.

    Attributes:
        failures: Outcomes of the schedules that failed.
        events: Number of events of all schedules.
        faults: Number of faults of all schedules.
        seconds: CPU seconds of this process.
    """

    failures: list[Outcome]
    events: int
    faults: int
    seconds: float


def run_seeds(scenario: str, events: int, seeds: range) -> Summary:
    """Run one schedule per seed in this process.

    Args:
        scenario: Name of the scenario.
        events: Number of events after which no fault strikes.
        seeds: The seeds.

    Returns:
        The failures, and the totals of events, faults and CPU seconds.
    """
    start = process_time()
    outcomes = [run_schedule(Schedule(scenario, seed, events)) for seed in seeds]
    return Summary(
        [outcome for outcome in outcomes if outcome.violation],
        sum(outcome.events for outcome in outcomes),
        sum(sum(outcome.faults.values()) for outcome in outcomes),
        process_time() - start,
    )


def run_many(scenario: str, seeds: range, *, events: int, is_minimised: bool, workers: int) -> int:
    """Run schedules with successive seeds; print each that fails, and a line with the totals at the end.

    Args:
        scenario: Name of the scenario.
        seeds: The seeds.
        events: Number of events after which no fault strikes.
        is_minimised: Whether failing schedules are shortened before they are printed.
        workers: Number of processes that share the seeds; 1: this process alone.

    Returns:
        Number of schedules that failed.
    """
    # 50: schedules that a worker runs at a time; few enough to print failures soon
    parts = [seeds[start : start + 50] for start in range(0, len(seeds), 50)]
    work = partial(run_seeds, scenario, events)
    failures = 0
    total = 0
    faults = 0
    seconds = 0.0
    with ExitStack() as stack:
        if workers > 1:
            pool = stack.enter_context(ProcessPoolExecutor(workers, get_context("spawn")))
            summaries: Iterable[Summary] = pool.map(work, parts)
        else:
            summaries = map(work, parts)
        for summary in summaries:
            for outcome in summary.failures:
                print_to_stdout(str(minimise(outcome) if is_minimised else outcome))
            failures = failures + len(summary.failures)
            total = total + summary.events
            faults = faults + summary.faults
            seconds = seconds + summary.seconds
    print_to_stdout(
        f"{scenario}: {len(seeds)} schedules, {total:,} events, {faults:,} faults, {failures} failed,"
        f" {seconds:.0f} CPU seconds"
    )
    return failures


def replay(schedule: Schedule, is_minimised: bool) -> int:
    """Run one schedule again, and print its last events or its failure.

    Args:
        schedule: The schedule.
        is_minimised: Whether a failing schedule is shortened before it is printed.

    Returns:
        The exit status: 1 after a failure, else 0.
    """
    outcome = run_schedule(schedule)
    if outcome.violation:
        print_to_stdout(str(minimise(outcome) if is_minimised else outcome))
        return 1
    print_to_stdout("\n".join(map(str, outcome.trace)))
    print_to_stdout(
        f"{schedule.scenario}, seed {schedule.seed}: {outcome.events} events, {sum(outcome.faults.values())} faults"
    )
    return 0


if __name__ == "__main__":
    main()
