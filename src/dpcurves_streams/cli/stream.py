"""Continual counts of streams: the command, its plan, and its output."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from typer import Option

from dpcurves.cli.promise_options import Price
from dpcurves.cli.refusal import Misuse
from dpcurves.cli.terminal import say, say_plainly, terminal

from .options import Asked, Steps, Tuples

if TYPE_CHECKING:
    from dpcurves.cli.option_groups import Command
    from dpcurves.release import Plan

    from ..feed import Following, StepReading

SHOWN_LIVE = 20
ENDS = ("low", "high")
Group = TypeVar("Group", Tuples, Asked, Steps)


@dataclass(frozen=True)
class Shown:
    """Options for the store of a stream's released numbers, and for its outputs."""

    store: Annotated[
        str | None, Option(help="Where the numbers are kept: sqlite:///s.db, or a PostgreSQL server.", metavar="URL")
    ] = None
    name: Annotated[str, Option(help="What tells this stream from others in the store.", metavar="NAME")] = "stream"
    json: Annotated[str | None, Option(help="A file of JSON lines, one a step and state.", metavar="FILE")] = None
    confidential_log: Annotated[
        str | None,
        Option(help="A file for how many tuples were dropped, and why: exact, so secret.", metavar="FILE"),
    ] = None
    live: Annotated[bool, Option("--live", help="Show the newest step on the terminal.")] = False
    example: Annotated[
        bool, Option("--example", help="Follow a made-up day; other options are needed only where they differ.")
    ] = False


def stream(tuples: Tuples, asked: Asked, steps: Steps, price: Price, shown: Shown) -> None:
    """Counts of a stream, step by step, under one privacy loss.

    A second run over the same store repeats each number, and costs nothing.

    Example: dpcurves stream events.csv --time ts --state ap --states cafeteria,gym,library --start 2026-03-02T06:00
    --end 2026-03-02T22:00 --every 10m --epsilon 0.1 --store sqlite:///s.db
    """
    from ..feed import follow

    if shown.example:
        tuples, asked, steps, price, shown = _example(tuples, asked, steps, price, shown)
    if shown.store is None:
        raise Misuse("store", "say with --store where the numbers are kept, as in sqlite:///s.db")
    following = follow(
        _made_up() if shown.example else tuples.source(), asked.question(), loss=price.loss(), store=shown.store,
        time=tuples.time, user=tuples.user, tuples_per_user=tuples.per_user(), name=shown.name,
        confidential_log=shown.confidential_log, **steps.terms(),
    )  # fmt: skip
    _deliver(following, shown)


def plan(asked: Asked, steps: Steps, tuples: Tuples, price: Price) -> None:
    """The error that counts of a stream would have, and the privacy loss of one tuple, of several, and of a whole user.

    Example: dpcurves plan stream --states a,b,c --start 0 --every 5m --epsilon 0.1 --window 12
    """
    from ..feed.follow import planned

    made = planned(
        asked.question(), price.loss(), time=tuples.time, user=tuples.user, tuples_per_user=tuples.per_user(),
        **steps.terms(),
    )  # fmt: skip
    _show_plan(made, steps, tuples, asked)


def _show_plan(made: Plan, steps: Steps, tuples: Tuples, asked: Asked) -> None:
    from rich.table import Table

    screen, loss = terminal(), made.loss
    say(screen, f"{made.made_by}: {loss}, {made.adjacency}, protects {made.adjacency.unit}")
    what = "one total so far, or window," if asked.reading == "totals" else "one count, before smoothing"
    say(screen, f"standard deviation of the noise of {what}: {made.error:.4g}")
    table = Table("protected", "loses", title="What it costs", title_justify="left")
    whose = "all tuples of a user in" if tuples.user else "one tuple in"
    table.add_row(f"{whose} one step", str(loss))
    table.add_row("one tuple that moves to another state or step (one goes, one comes)", str(_times(loss, 2)))
    ticks = getattr(made.query, "ticks", None)
    for width in sorted({int(width) for width in asked.window or ()}) or [12]:
        if ticks is None or width < ticks:
            table.add_row(f"{whose} each of {width} steps in a row", str(_times(loss, width)))
    table.add_row(f"{whose} every step", "without bound: no end" if ticks is None else str(_times(loss, ticks)))
    say(screen, table)


def _times(loss: Any, events: int) -> Any:
    """Group privacy: the loss of so many events together, epsilon times their number, rho times its square."""
    from dpcurves.privacy import PrivacyLoss

    return PrivacyLoss.pure(loss.epsilon * events) if loss.is_pure else PrivacyLoss.zcdp(loss.rho * events**2)


def _deliver(following: Following, shown: Shown) -> None:
    from ..feed.sinks import JsonLinesFile

    with nullcontext() if shown.json is None else JsonLinesFile(shown.json) as file, _screen(shown) as live:
        for reading in following:
            if file is not None:
                file.write(reading)
            if live is not None:
                live.update(_table(reading, following.plan.error))
            elif file is None:
                say_plainly("\n".join(json.dumps(line) for line in reading.lines()))


def _screen(shown: Shown) -> Any:
    if not shown.live:
        return nullcontext()
    from rich.live import Live

    return Live(console=terminal(), refresh_per_second=4)


def _table(reading: StepReading, error: float) -> Any:
    from rich.console import Group as Together
    from rich.table import Table

    lines = reading.lines()
    stated = {name: lines[0][name] for name in ("level", "covers") if name in lines[0]}
    hidden = ("stream", "step", "start", *stated)
    names = [name for name in lines[0] if name not in hidden and not name.endswith(ENDS)]
    table = Table(*names)
    for line in lines[:SHOWN_LIVE]:
        table.add_row(*(_cell(line, name) for name in names))
    covered = f"; in brackets {100 * stated['level']:g}% intervals {stated['covers']}" if stated else ""
    noise = f"standard deviation of the noise: {error:.4g}{covered}"
    head = f"{reading.stream}: step {reading.step}, {reading.start} ({noise})"
    left = len(lines) - SHOWN_LIVE
    return Together(head, table, *([f"and {left} more"] if left > 0 else []))


def _cell(line: dict[str, Any], name: str) -> str:
    """Text of a number, followed by its interval."""
    low, high = (f"{name}:{end}" if ":" in name else end for end in ENDS)
    is_number = name in ("count", "total") or f"{name}:low" in line
    return f"{line[name]:g} [{line[low]:g}, {line[high]:g}]" if is_number and low in line else str(line[name])


def _example(tuples: Tuples, asked: Asked, steps: Steps, price: Price, shown: Shown) -> Any:
    """Fill options that were not given with those of the synthetic example day. Given options are never replaced."""
    from ..feed.example import END, EVERY, START, STATES

    if tuples.events is not None:
        raise Misuse("events", "--example has tuples of its own; leave the file out")
    tuples.require_plain("--example has tuples of its own")
    tuples = _filled(tuples, Tuples(), time="ts", user="mac")
    tuples = replace(tuples, tuples_per_user=tuples.tuples_per_user or "1")
    asked = _filled(asked, Asked(), state="ap")
    asked = replace(asked, states=asked.states or (None if asked.hierarchy else ",".join(STATES)))
    steps = _filled(steps, Steps(), start=START, end=END, every=EVERY)
    price = price if price.epsilon or price.rho else replace(price, epsilon="0.5")
    return tuples, asked, steps, price, replace(shown, store=shown.store or "sqlite://")


def _filled(given: Group, blank: Group, **needed: Any) -> Group:
    """Set options that the example day requires. Raises `Misuse` where another value was given."""
    for name, value in needed.items():
        if getattr(given, name) not in (getattr(blank, name), value):
            raise Misuse(name, f"--example has {value!r}; leave it out")
    return replace(given, **needed)


def _made_up() -> Any:
    from ..feed.example import example

    return example()


STREAM_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"stream": stream})
STREAM_PLANS: MappingProxyType[str, Command] = MappingProxyType({"stream": plan})
