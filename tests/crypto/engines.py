"""The engines that this machine has, for one task."""

from __future__ import annotations

from dpcurves.crypto import Engine, FastEngine, PortableEngine, lanes_here

TASK = b"task of the tests"
PORTABLE = PortableEngine.of_task(TASK)
FAST: tuple[FastEngine, ...] = tuple(
    FastEngine(PORTABLE.keys, lanes, chunk=200) for lanes in range(1, lanes_here() + 1)
)
ENGINES: tuple[Engine, ...] = (PORTABLE, *FAST)
NAMES = ["portable", *(f"fast, {engine.lanes}" for engine in FAST)]
