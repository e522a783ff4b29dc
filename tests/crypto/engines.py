"""The engines that this machine has, for one task."""

from __future__ import annotations

from dpcurves_parties.crypto import Engine, FastEngine, PortableEngine, supported_lanes

TASK = b"task of the tests"
CHUNK = 200
PORTABLE = PortableEngine.from_task(TASK)
FAST = [FastEngine(PORTABLE.keys, supported_lanes(), CHUNK)] if supported_lanes() else []
ENGINES: list[Engine] = [PORTABLE, *FAST]
NAMES = ["portable", "fast"][: len(ENGINES)]
