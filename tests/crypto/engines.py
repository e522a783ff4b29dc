"""The engines that this machine has, for one task."""

from __future__ import annotations

from dpcurves_parties.crypto import Engine, FastEngine, PortableEngine, lanes_here

TASK = b"task of the tests"
CHUNK = 200
PORTABLE = PortableEngine.of_task(TASK)
FAST = [FastEngine(PORTABLE.keys, lanes_here(), CHUNK)] if lanes_here() else []
ENGINES: list[Engine] = [PORTABLE, *FAST]
NAMES = ["portable", "fast"][: len(ENGINES)]
