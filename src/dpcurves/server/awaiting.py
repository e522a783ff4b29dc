"""Waiting for pictures that workers draw. Who waits holds no thread: pages need those."""

from __future__ import annotations

import asyncio
import time

from fastapi.concurrency import run_in_threadpool

from .releases import Releases

PATIENCE, LOOK = 60.0, 0.25
"""Seconds that a picture is waited for, and between looks whether it is there."""


async def until_drawn(releases: Releases, id: str) -> None:
    """Wait until the picture of an answer is there, for so long at most. Whoever waits has been let in before."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and not await run_in_threadpool(releases.is_drawn, id):
        await asyncio.sleep(LOOK)
