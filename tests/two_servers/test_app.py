"""Who waits for whom in a server: the other server is answered, however many analysts wait for their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.applications import Starlette

from dpcurves_parties.serving import task_app as replies
from dpcurves_parties.serving.server import PEER_SCOPE_KEY
from dpcurves_parties.serving.two_servers import app as served
from dpcurves_parties.shares.aggregation import TaskService

TASK = "0" * 64
CERTIFICATE = b"other"


async def short() -> dict[str, Any]:
    return {"type": "http.request", "body": b"{}", "more_body": False}


async def asked(app: Starlette, path: str, receive: Callable[[], Awaitable[dict[str, Any]]] = short) -> bytes:
    """What the app answers to a POST."""
    told: list[bytes] = []

    async def send(message: Any) -> None:
        told.append(message.get("body", b""))

    scope = {
        "type": "http", "method": "POST", "path": f"/tasks/{TASK}/{path}", "query_string": b"", "root_path": "",
        "headers": [], "http_version": "1.1", "scheme": "https", "asgi": {"version": "3.0"},
        PEER_SCOPE_KEY: CERTIFICATE,
    }  # fmt: skip
    await app(cast(Any, scope), receive, cast(Any, send))
    return b"".join(told)


def test_a_message_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "PEM_cert_to_DER_cert", lambda text: CERTIFICATE)
    monkeypatch.setattr(replies, "BODY_BASE_SECONDS", 0.01)
    monkeypatch.setattr(replies, "LEAST_BYTES_PER_SECOND", 2**40)
    task = SimpleNamespace(servers=(SimpleNamespace(certificate=""),) * 2)
    app = served.create_app(
        {TASK: cast(TaskService, SimpleNamespace(task=task, party=0, PEER_REQUESTS=TaskService.PEER_REQUESTS))}
    )
    line = b"message: must arrive within 0 seconds; send it again over a faster connection"
    assert asyncio.run(asked(app, "peer/half", silent)) == b'{"error":"%b"}' % line


async def silent() -> dict[str, Any]:
    await asyncio.sleep(60)
    return {}


def test_the_other_server_is_answered_while_all_threads_of_analysts_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread for analysts; its question waits until the other server was answered."""
    answered = Event()

    def answer(message: bytes, analyst: int) -> bytes:
        return b"late" if answered.wait(60) else b"never"

    def half(message: bytes) -> bytes:
        answered.set()
        return b"half"

    monkeypatch.setattr(served, "PEM_cert_to_DER_cert", lambda text: CERTIFICATE)
    monkeypatch.setattr(replies, "authenticate_bearer", lambda task, request, role, party: 0)
    task = SimpleNamespace(servers=(SimpleNamespace(certificate=""),) * 2)
    service = cast(
        TaskService,
        SimpleNamespace(
            task=task, party=0, PEER_REQUESTS=TaskService.PEER_REQUESTS, answer=answer, make_answer_share=half
        ),
    )

    async def both() -> list[bytes]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        app = served.create_app({TASK: service})
        waiting = asyncio.create_task(asked(app, "answers"))
        await asyncio.sleep(0.05)
        return [await asked(app, "peer/half"), await waiting]

    assert asyncio.run(both()) == [b"half", b"late"]
