"""Local web app of `dpcurves try`: pages on 127.0.0.1 by which one person asks questions about one table.

    serve_local_table      serves the pages of a table until the process is stopped
    create_local_app       returns the ASGI application
    LocalGuard             access control before all pages: host, origin, token and cookie
    write_opening_page     writes an HTML file that opens the app in a browser

The address that the command prints holds a secret token. The browser that opens it gets a cookie, and only requests
with this cookie are answered, because other users and other web sites can reach a port of this machine too. Requests
with another host name (DNS rebinding) and requests from pages of other sites (CSRF) are refused first. Answers are
charged to the table's privacy budget like answers of the command line.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import uvicorn
from fastapi import Request
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from dpcurves.arguments import InvalidArgument
from dpcurves.cli.table_digest import find_change
from dpcurves_parties.serving.messages import disable_core_dumps

from .authentication import Authenticator
from .forms import Form
from .launch import Workers, create_app
from .local_table import PERSON, LedgerLock, LocalTable
from .middleware import SAFE_METHODS, Receive, Send
from .pages.local_pages import LOCAL_PAGES, LocalSite
from .pages.site import build_routes, preload
from .people import BrowserSession, find_principal
from .principals import MACHINE, Principal
from .queue import WorkerRole
from .services import Services

HOST = "127.0.0.1"
"""Address on which `dpcurves try` listens; other machines cannot reach it."""
NO_TOKEN = (
    "This address works in the browser that `dpcurves try` opened. Copy the whole address that it printed, with its "
    "token, into this browser.\n"
)
"""Refusal of a request to `dpcurves try` without its cookie and without its token: of another program or person."""
WRONG_HOST_MESSAGE = (
    "This address is for pages of `dpcurves try` on this machine alone. Copy the address that it printed.\n"
)
"""Refusal of a request with another host name, or from a page of another site: a defence against DNS rebinding."""


@dataclass(frozen=True, slots=True, repr=False)
class LocalAccess:
    """SECRET. The address of a local app, and the secrets that open it.

    Attributes:
        port: The port on 127.0.0.1.
        token: The secret in the printed address; any browser may be opened with it while the app runs.
        cookie: The secret in the cookie of a browser that had the token.
    """

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    @property
    def origin(self) -> str:
        """The origin of all pages: scheme, host and port, without a path."""
        return f"http://{HOST}:{self.port}"

    @property
    def address(self) -> str:
        """URL at which the user opens the local app, with the secret token."""
        return f"{self.origin}/?token={self.token}"

    @property
    def cookie_name(self) -> str:
        """The name of the cookie. Browsers send cookies to all ports of a host, so it has the port in it."""
        return f"dpcurves-try-{self.port}"


class LocalGuard:
    """ASGI middleware before all pages: host, origin, token and cookie.

    A request is refused unless its host is the host of the app, so that no other name can be bound to 127.0.0.1; unless
    its origin, if any, is the origin of the app, and a request other than GET needs one; and unless it has the
    cookie. The token in the address is exchanged for the cookie, which is sent with requests of these pages only
    (``SameSite=Strict``) and hidden from scripts (``HttpOnly``). A redirection would not send it, where a file opened
    the address; a page that goes on by itself does.
    """

    def __init__(self, app: Any, access: LocalAccess) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Pass a permitted request to the app; answer any other one with a refusal or with the page of the cookie.

        Args:
            scope: ASGI scope of the request.
            receive: ASGI function that returns the next part of the request.
            send: ASGI function that sends a part of the response.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        response = self._find_response(scope)
        if response is None:
            await self._app(scope, receive, send)
        else:
            await response(scope, receive, send)  # type: ignore[arg-type]

    def _find_response(self, scope: Mapping[str, Any]) -> Response | None:
        """Check host, origin, and cookie or token of a request, in this order.

        Args:
            scope: ASGI scope of the request.

        Returns:
            A refusal (403); the page that sets the cookie, for a request of ``/`` with the right token; None for a
            permitted request.
        """
        headers = Headers(scope=scope)  # type: ignore[arg-type]
        if headers.getlist("host") != [self._access.origin.removeprefix("http://")]:
            return _refuse(WRONG_HOST_MESSAGE)
        origin = headers.get("origin")
        is_safe = scope["method"] in SAFE_METHODS
        if (origin is not None or not is_safe) and origin != self._access.origin:
            return _refuse(WRONG_HOST_MESSAGE)
        if self._has_cookie(headers.get("cookie", "")):
            return None
        query = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=None)
        token = query.get("token", [""])[0]
        if scope["method"] != "GET" or scope["path"] != "/" or not _is_equal(token, self._access.token):
            return _refuse(NO_TOKEN)
        response = HTMLResponse(_go_on_to("/"), 200, {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})
        response.set_cookie(self._access.cookie_name, self._access.cookie, httponly=True, samesite="strict", path="/")
        return response

    def _has_cookie(self, header: str) -> bool:
        """Return True if the cookies of a request hold the secret of the app.

        Args:
            header: Value of the header ``Cookie``; empty without cookies.
        """
        try:
            cookie = SimpleCookie(header).get(self._access.cookie_name)
        except CookieError:
            return False
        return cookie is not None and _is_equal(cookie.value, self._access.cookie)


def _go_on_to(address: str) -> str:
    """Return an HTML page that sends the browser on to an address at once, or by a link where refreshes are off."""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>dpcurves</title><link rel="icon" href="data:,">'
        f'<meta http-equiv="refresh" content="0; url={address}"><p><a href="{address}">Continue</a></p></html>\n'
    )


def write_opening_page(table: LocalTable, access: LocalAccess) -> Path:
    """Write an HTML file beside the ledger that opens the app in a browser; only its owner can read it.

    A browser is started with the path of this file. All users of a machine see the arguments of its programs, so the
    address with its token must not be one.

    Args:
        table: The local table; a file left by an earlier process is replaced.
        access: The address and its token.

    Returns:
        Path of the file.

    Raises:
        OSError: The folder of the ledger accepts no file.
    """
    path = table.ledger_path.with_name(f"{table.ledger_path.name}.open.html")
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(_go_on_to(access.address))
    return path


def _refuse(line: str) -> Response:
    """Return a response of status 403 with a line of plain text."""
    return PlainTextResponse(line, 403, {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"})


def _is_equal(text: str, secret: str) -> bool:
    """Return True if a text is the secret, in a time that does not depend on where they differ."""
    return secrets.compare_digest(text.encode(errors="replace"), secret.encode())


@dataclass(frozen=True, slots=True)
class LocalAuthenticator(Authenticator):
    """Authenticator behind `LocalGuard`: each request comes from the local user.

    Attributes:
        csrf: The token in every form, in addition to the checks of the guard.
    """

    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def find_session(self, request: Request) -> BrowserSession:
        """Return the session of the local user. It has no project until the table is registered.

        Args:
            request: The request; without effect.
        """
        principal = self.services.archive.read_snapshot(lambda connection: find_principal(connection, PERSON))
        return BrowserSession("", self.csrf, principal if principal is not None else Principal(PERSON))


def create_local_app(
    services: Services, table: LocalTable, forms: Mapping[str, Form], access: LocalAccess, language: str = ""
) -> Any:
    """Return the ASGI application of a table for one local user, behind `LocalGuard`.

    Args:
        services: The services of the verification server on the table's ledger.
        table: The local table.
        forms: The question forms by command word.
        access: The address, and the secrets that open it.
        language: Language that is proposed for files; empty: the browser's preference.

    Returns:
        An ASGI application. Its pages warn if the table's files changed after they were registered.
    """
    authenticator = LocalAuthenticator(services)
    is_registered = any(dataset.name == table.name for dataset in services.datasets.all(MACHINE))
    is_changed = is_registered and find_change(table.files, table.ledger_url, table.name) is not None
    site = LocalSite(authenticator, forms, language=language, table=table, is_changed=is_changed)
    return LocalGuard(create_app(authenticator, build_routes(site, LOCAL_PAGES, ()), has_api=False), access)


def serve_local_table(
    table: LocalTable,
    forms: Mapping[str, Form],
    port: int,
    ready: Callable[[LocalAccess], object],
    language: str = "",
) -> None:
    """Serve the pages of a table until the process is stopped.

    Args:
        table: The table.
        forms: The question forms by command word.
        port: The port on 127.0.0.1; 0 takes a free one.
        ready: Called with the address and its token when the app listens.
        language: The language that is proposed for files; empty: the browser's preference.

    Raises:
        ValueError: Another process asks this table, its folder accepts no file, or the port is taken.
    """
    lock = LedgerLock(table)
    try:
        _serve_locked(table, forms, port, ready, language)
    finally:
        lock.release()


def _serve_locked(
    table: LocalTable, forms: Mapping[str, Form], port: int, ready: Callable[[LocalAccess], object], language: str
) -> None:
    """Serve the pages of a table until the process is stopped. The caller holds the lock of the ledger.

    Arguments as in `serve_local_table`. A port of 0 takes a free one.

    Args:
        table: The table.
        forms: The question forms by command word.
        port: The port on 127.0.0.1; 0 takes a free one.
        ready: Called with the address and its token when the app listens.
        language: Language that is proposed for files; empty: the browser's preference.

    Raises:
        ValueError: The port is taken.
    """
    # seconds between publication times. The only user owns the table, so no other person sees counting times.
    publish_seconds = 0.2
    patience = 0.5  # seconds: on a busy machine the worker, of low priority, needs long for a picture
    workers = Workers(table.ledger_url, (WorkerRole.ALL,), publish_seconds, patience)
    services = Services(table.ledger_url, workers.notify)
    listening = _open_socket(port)
    access = LocalAccess(listening.getsockname()[1])
    config = uvicorn.Config(
        create_local_app(services, table, forms, access, language), ws="none", lifespan="off", log_level="critical",
        access_log=False, server_header=False, date_header=False, proxy_headers=False,
        timeout_graceful_shutdown=1,  # second for open requests after Ctrl-C
    )  # fmt: skip
    disable_core_dumps()
    preload()
    workers.start()
    services.studio.start()
    try:
        _AnnouncingServer(config, lambda: ready(access)).run(sockets=[listening])
    finally:
        services.studio.stop()
        services.questions.planner.stop()
        workers.stop()
        listening.close()


class _AnnouncingServer(uvicorn.Server):
    """A server that calls `ready` when it listens and ends cleanly on a signal."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the listening sockets as uvicorn does, then call `ready` to announce the address."""
        await super().startup(sockets)
        self._ready()


def _open_socket(port: int) -> socket.socket:
    """Open a listening socket on 127.0.0.1 for the local app.

    Args:
        port: Port number; 0 takes a free one.

    Raises:
        InvalidArgument: The port is taken, not permitted, or not from 0 to 65535.
    """
    try:
        return socket.create_server((HOST, port))
    except (OSError, OverflowError):
        raise InvalidArgument(
            "port", f"{port} is taken, or not from 0 to 65535; leave --port out for a free port"
        ) from None
