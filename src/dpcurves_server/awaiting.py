"""Waiting for pictures that other processes draw. Who waits holds no thread: pages need those."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future

from fastapi.concurrency import run_in_threadpool

from dpcurves_parties.serving.errors import ProtocolAborted

from .releases import Releases
from .sketches import Drawn
from .studio import NO_PICTURE

PATIENCE, POLL = 60.0, 0.25
"""Seconds that a picture is waited for, and between polls whether it is there."""


async def until_drawn(releases: Releases, id: str) -> None:
    """Wait until the picture of an answer is there, for so long at most. Whoever waits has been let in before."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and not await run_in_threadpool(releases.is_drawn, id):
        await asyncio.sleep(POLL)


async def until_made(coming: Future[Drawn]) -> Drawn:
    """Wait for a sketch or a comparison, for so long at most.

    Raises:
        ProtocolAborted: it was not drawn in time, or can not be, or the same person wanted another one instead.
    """
    try:
        return await asyncio.wait_for(asyncio.wrap_future(coming), PATIENCE)
    except TimeoutError:
        raise ProtocolAborted("picture", NO_PICTURE, 503) from None
    except asyncio.CancelledError:
        if coming.cancelled():
            raise ProtocolAborted("picture", NO_PICTURE, 503) from None
        raise
