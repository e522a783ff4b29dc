"""Who waits for whom in a server: the other server is answered, however many analysts wait for their answers."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest
from fastapi import FastAPI

from dpcurves.aggregator import app as served
from dpcurves.aggregator.desk import Desk

TASK = "0" * 64
CERTIFICATE = b"other"


async def asked(app: FastAPI, path: str) -> bytes:
    """What the app answers to a POST."""
    told: list[bytes] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Any) -> None:
        told.append(message.get("body", b""))

    scope = {
        "type": "http", "method": "POST", "path": f"/tasks/{TASK}/{path}", "query_string": b"", "root_path": "",
        "headers": [], "http_version": "1.1", "scheme": "https", "asgi": {"version": "3.0"}, served.PEER: CERTIFICATE,
    }  # fmt: skip
    await app(cast(Any, scope), receive, cast(Any, send))
    return b"".join(told)


def test_the_other_server_is_answered_while_all_threads_of_analysts_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread for analysts; its question waits until the other server was answered."""
    answered = Event()

    def answer(message: bytes) -> bytes:
        return b"late" if answered.wait(60) else b"never"

    def half(message: bytes) -> bytes:
        answered.set()
        return b"half"

    monkeypatch.setattr(served, "PEM_cert_to_DER_cert", lambda text: CERTIFICATE)
    monkeypatch.setattr(served, "_bearer", lambda desk, request, role: 0)
    task = SimpleNamespace(servers=(SimpleNamespace(certificate=""),) * 2)
    desk = cast(Desk, SimpleNamespace(task=task, party=0, answer=answer, half=half))

    async def both() -> list[bytes]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        app = served.create_app({TASK: desk})
        waiting = asyncio.create_task(asked(app, "answers"))
        await asyncio.sleep(0.05)
        return [await asked(app, "peer/half"), await waiting]

    assert asyncio.run(both()) == [b"half", b"late"]
