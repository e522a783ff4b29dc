"""Doors to services with a memory: a request that is repeated, and one that is killed and asked again."""

from __future__ import annotations

import copy
import os
import pickle
import select
import signal
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpcurves.arguments import Refused

from .door import PATIENCE, fork, sendable
from .feature import Failed

Publish = Callable[[Any], None]
Service = Callable[[Any, Path, Publish], Any]
"""Answers one request about data, with its memory in a folder; shows its answer by the function that it is given."""


class KilledDoor:
    """A service that is killed as soon as it shows its answer, and is asked again with the memory that it left.

    All that it showed in all its lives is one outcome. A service that charges, and keeps its answer, before it shows
    it, shows the same answer again, or none: together they cost what one costs.

    Args:
        service: Answers the request. Each life is a forked process: noise has to come from the operating system, for
            a generator of this process would repeat itself.
        lives: Times that it is started.
        spare: The last life is not killed.
    """

    def __init__(self, service: Service, lives: int = 3, *, spare: bool = True) -> None:
        if lives < 1:
            raise Refused("lives", "a service is started at least once")
        self.name = f"{getattr(service, '__name__', 'a service')}, killed when it answers"
        self._service, self._lives, self._spare = service, lives, spare
        self._is_loaded = False

    def draw(self, data: Any, number: int) -> list[Any]:
        if not self._is_loaded:
            self._load(data)
        return [self._story(data) for _ in range(number)]

    def _load(self, data: Any) -> None:
        """Answer once in this process: what a service loads at its first answer, no life has to load again."""
        with tempfile.TemporaryDirectory() as folder, suppress(Exception):
            self._service(copy.deepcopy(data), Path(folder), lambda shown: None)
        self._is_loaded = True

    def _story(self, data: Any) -> list[Any]:
        with tempfile.TemporaryDirectory() as folder:
            return [
                self._life(copy.deepcopy(data), Path(folder), kill=not (self._spare and life == self._lives - 1))
                for life in range(self._lives)
            ]

    def _life(self, data: Any, folder: Path, *, kill: bool) -> Any:
        read, write = os.pipe()
        child = fork()
        if child == 0:
            os.close(read)
            try:
                self._service(data, folder, lambda shown: _send(write, shown))
            except Exception as error:
                _send(write, Failed.by(error))
            finally:
                os._exit(0)
        os.close(write)
        try:
            shown = _received(read)
            if kill:
                os.kill(child, signal.SIGKILL)
        finally:
            os.close(read)
            os.waitpid(child, 0)
        return shown


def _send(pipe: int, shown: Any) -> None:
    text = pickle.dumps((shown.kind, shown.message) if isinstance(shown, Failed) else sendable(shown))
    os.write(pipe, len(text).to_bytes(8) + text)


def _received(pipe: int) -> Any:
    """What was shown first; None: nothing, before the process ended."""
    text = b""
    while len(text) < 8 or len(text) < 8 + int.from_bytes(text[:8]):
        if not select.select([pipe], [], [], PATIENCE)[0]:
            return "hangs"
        piece = os.read(pipe, 65536)
        if not piece:
            return None
        text += piece
    return pickle.loads(text[8:])
