"""An app asked without a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

HOST = "gate.example:8443"
UNREAD = object()
"""A body that nobody may read."""


class Heard(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


def asked(
    app: Any,
    method: str,
    path: str,
    body: object = None,
    headers: Mapping[str, str] | None = None,
    *,
    origin: bool = True,
    scheme: str = "https",
) -> Heard:
    """Send one request, as a page of the server itself would unless said."""
    message = (
        body
        if isinstance(body, bytes)
        else b""
        if body is UNREAD
        else b""
        if body is None
        else json.dumps(body).encode()
    )
    own = {"host": HOST, "content-type": "application/json", "content-length": str(len(message))}
    own |= {"origin": f"https://{HOST}"} if origin else {}
    raw = [(name.lower().encode(), value.encode()) for name, value in {**own, **(headers or {})}.items()]
    path, _, query = path.partition("?")
    scope = {
        "type": "http", "http_version": "1.1", "method": method, "path": path, "raw_path": path.encode(),
        "query_string": query.encode(), "headers": raw, "scheme": scheme, "client": ("192.0.2.1", 1),
        "server": ("gate.example", 8443), "root_path": "",
    }  # fmt: skip
    return asyncio.run(_sent(app, scope, None if body is UNREAD else message))


async def _sent(app: Any, scope: Mapping[str, Any], message: bytes | None) -> Heard:
    heard: list[Any] = []

    async def receive() -> Mapping[str, Any]:
        assert message is not None, "this body is not read"
        return {"type": "http.request", "body": message, "more_body": False}

    async def send(part: Any) -> None:
        heard.append(part)

    await app(scope, receive, send)
    headers = {name.decode(): value.decode() for name, value in heard[0]["headers"]}
    return Heard(heard[0]["status"], headers, b"".join(part.get("body", b"") for part in heard[1:]))
