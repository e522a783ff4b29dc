"""Guarantee and trust assumptions of a task, in words: shown when it is made and with each answer."""

from __future__ import annotations

from dpcurves.release import Plan

from .function_shares import Owners
from .task import Task

ASSUMED = "Assumed: the two servers do not collude (together they know every record), and follow the protocol"
BELIEVED = "Not checked: owners. One dishonest owner can shift a count arbitrarily"
CHECKED = "Checked: a report counts once, or is dropped. Not checked: whether it is true"


def assumed(task: Task) -> tuple[str, ...]:
    """Trust assumptions of a task."""
    return ASSUMED, BELIEVED if task.owners is Owners.UNCHECKED else CHECKED


def statement(task: Task) -> tuple[str, ...]:
    """Lines for people."""
    first, second = task.servers
    return (
        f"Task {task.name!r} counts {_counted(task)}; its hash is {task.hash}",
        f"Servers: {first.url} and {second.url}, each with a share of every report and noise of its own",
        f"Promise: {task.loss} for each report, whatever is asked, under replace-one; how many reports there are is"
        f" public, {_owners(task)}",
        f"Error of a count: {_plan(task).error:.4g} records, twice the variance of one curator's",
        *assumed(task),
    )


def _counted(task: Task) -> str:
    by = "" if task.label is None else f" by {task.label.column}"
    return f"{task.column}{by} on {task.grid.cells} cells from {task.grid.lower:g} to {task.grid.upper:g}"


def _owners(task: Task) -> str:
    most = task.reports_per_owner
    if most == 1:
        return "and an owner sends one"
    # Group privacy: k times a pure loss; k**2 times a zero-concentrated one (Bun and Steinke 2016, Proposition 1.9).
    epsilon = task.loss.epsilon
    loss = f"epsilon {float(epsilon * most):g}" if epsilon is not None else f"rho {float(task.loss.rho * most**2):g}"
    return f"and an owner sends at most {most}: it loses at most {loss} as a whole"


def _plan(task: Task) -> Plan:
    return task.plan((1,), 1)
