"""The command `dpcurves-sim`: many schedules, or one again."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from time import process_time

import click

from dpcurves.arguments import ArgumentError, InvalidArgument
from dpcurves.cli.status import ExitStatus
from dpcurves.cli.terminal import UnreadOutput, print_to_stdout

from .line_coverage import measure_lines
from .runner import MODULES, minimise, run_schedule
from .world import Schedule

SHARES = (("ledger", 0.8), ("sites", 0.1), ("servers", 0.1))
"""Fraction of the schedules of each scenario."""


def main() -> None:
    """Run the command, and exit with status 1 if a schedule failed, 2 for an invalid argument, 141 if nobody reads."""
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
@click.option("--skip", default="", help="Numbers of events without their fault, as in 12,40.")
@click.option("--schedules", default=2000, show_default=True, help="Number of schedules.")
@click.option("--first", default=0, show_default=True, help="Seed of the first schedule.")
@click.option("--minimise", "is_minimised", is_flag=True, help="Shorten failing schedules before they are printed.")
@click.option("--lines", "has_lines", is_flag=True, help="Print which part of protocol modules was executed.")
def simulate(
    *,
    scenario: str,
    seed: int | None,
    events: int,
    skip: str,
    schedules: int,
    first: int,
    is_minimised: bool,
    has_lines: bool,
) -> None:
    """Run protocols in a simulated world, and replay failing seeds."""
    if seed is not None:
        if scenario == "all":
            raise InvalidArgument("scenario", "must be named with --seed, as in dpcurves-sim ledger --seed 7")
        sys.exit(replay(Schedule(scenario, seed, events, parse_numbers(skip)), is_minimised))
    if schedules < 1:
        raise InvalidArgument("schedules", f"must be at least 1, got {schedules}")
    shares = SHARES if scenario == "all" else ((scenario, 1.0),)
    failures: list[int] = []
    for name, share in shares:
        number = max(1, round(share * schedules))
        if has_lines:
            print_lines(name, lambda: failures.append(run_many(name, first, number, events, is_minimised)))  # noqa: B023
        else:
            failures.append(run_many(name, first, number, events, is_minimised))
    sys.exit(int(any(failures)))


def print_lines(scenario: str, run: Callable[[], object]) -> None:
    """Run schedules of a scenario, and print the executed part of each of its protocol modules, and of all."""
    counts = measure_lines(scenario, run)
    counts["together"] = (sum(hit for hit, _ in counts.values()), sum(total for _, total in counts.values()))
    for module, (hit, total) in counts.items():
        print_to_stdout(f"  {hit / total:4.0%} of {total:4d} lines in functions of {module}")


def parse_numbers(text: str) -> frozenset[int]:
    """Return the numbers of events in a text such as 12,40. Raises `InvalidArgument` for another text."""
    try:
        return frozenset(int(number) for number in text.split(",") if number)
    except ValueError:
        raise InvalidArgument("skip", "must be numbers of events, as in 12,40") from None


def run_many(scenario: str, first: int, schedules: int, events: int, is_minimised: bool) -> int:
    """Run schedules with successive seeds, print each that fails and a line at the end, and return how many failed."""
    start, faults, total, failures = process_time(), Counter[str](), 0, 0
    for seed in range(first, first + schedules):
        outcome = run_schedule(Schedule(scenario, seed, events))
        faults, total = faults + outcome.faults, total + outcome.events
        if outcome.violation:
            failures += 1
            print_to_stdout(str(minimise(outcome) if is_minimised else outcome))
    seconds = process_time() - start
    print_to_stdout(
        f"{scenario}: {schedules} schedules, {total:,} events, {sum(faults.values()):,} faults, {failures} failed,"
        f" {seconds:.0f} CPU seconds"
    )
    return failures


def replay(schedule: Schedule, is_minimised: bool) -> int:
    """Run one schedule, and print its last events. Return 1 if it failed."""
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
