"""Guarantee and trust assumptions of a task of pairs, in words: shown when it is made and with answers."""

from __future__ import annotations

from .mechanisms import Noise
from .task import PairTask, Trust

ASSUMED = {
    Trust.PEOPLE: (
        "Assumed: parties follow the protocol, and its cryptography is not broken; the loss holds even if the partner"
        " and the aggregator put together what they see",
        "Not checked: whether values are true",
    ),
    Trust.TWO_SERVERS: (
        "Assumed: the two servers do not collude (together they know every value), follow the protocol, and its"
        " cryptography is not broken",
        "Not checked: whether values are true",
    ),
}
SEES = {
    Trust.PEOPLE: "Server: {0} carries letters that it cannot open, and opens each pair's noisy answer",
    Trust.TWO_SERVERS: "Servers: {0} and {1}, each with a share of every value",
}
ADDED = {Noise.EACH: "to each pair's answer", Noise.ON_SUM: "once, to the sum over all pairs"}


def statement(task: PairTask) -> tuple[str, ...]:
    """Lines for people."""
    columns = ", ".join(f"{column} ({bits} bits)" for column, bits in task.columns)
    plan = task.plan(max(task.people, 2))
    return (
        f"Task {task.name!r} asks the mean of {task.kernel_name} over pairs of people, of {columns}; its hash is"
        f" {task.hash}",
        SEES[task.trust].format(*(server.url for server in task.servers)),
        f"Promise: {task.loss} for each person, of all pairs together, under replace-one; how many people there are is"
        f" public, and a person is in at most {task.pairing.each} pairs",
        f"Noise: {ADDED[task.noise]}; pairs are drawn from a seed that is promised as {task.commitment[:16]}...",
        f"Standard error of the mean: at most about {plan.error:.4g}, if all {task.people} people come",
        *ASSUMED[task.trust],
    )
