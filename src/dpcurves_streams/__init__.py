"""Streams under differential privacy (continual observation): a release at every time step.

A `StreamQuestion` asks for counts per time step, running totals or window sums. `follow` reads tuples, releases each
step and yields its reading; `plot` draws the readings over time.

Formal guarantees: all time steps of a stream together lose at most the loss of its plan (`CentralStream`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .feed import CsvFile as CsvFile
    from .feed import CsvLines as CsvLines
    from .feed import JsonLines as JsonLines
    from .feed import JsonLinesTuples as JsonLinesTuples
    from .feed import RedisSink as RedisSink
    from .feed import RedisStream as RedisStream
    from .feed import plot as plot
    from .feed.follow import follow as follow
    from .queries import Forest as Forest
    from .readings import *  # noqa: F403
    from .trust import CentralStream as CentralStream
    from .trust import StreamMechanismState as StreamMechanismState

_FEED_NAMES = ("CsvFile", "CsvLines", "JsonLines", "JsonLinesTuples", "RedisSink", "RedisStream", "follow", "plot")
"""Names that `dpcurves_streams.feed` has, imported when they are first used."""
_MODULE_OF_NAME = {name: ".feed" for name in _FEED_NAMES} | {
    "CentralStream": ".trust", "Forest": ".queries", "StreamMechanismState": ".trust",
}  # fmt: skip
"""Submodule of each name of this package that is imported when first used; names of `readings` are found there."""


def __getattr__(name: str) -> Any:
    """Import a name where it is used; all public names of readings are found here."""
    if name in _MODULE_OF_NAME:
        return getattr(import_module(_MODULE_OF_NAME[name], __name__), name)
    if name == "__all__":
        return __dir__()
    readings = None if name.startswith("_") or name in ("feed", "readings") else import_module(".readings", __name__)
    if readings is not None and name in readings.__all__:
        return getattr(readings, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_MODULE_OF_NAME, *import_module(".readings", __name__).__all__])
