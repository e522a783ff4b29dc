"""The server as others see it. Errors are one line; of those that nobody foresaw, type and place are told to nobody."""

from __future__ import annotations

from collections.abc import Sequence
from traceback import extract_tb

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from dpcurves.arguments import Named
from dpcurves.ledger import BudgetExceeded
from dpcurves_parties.serving.messages import ProtocolAborted, Trouble
from dpcurves_parties.serving.monitoring import tell_operator

from .api import PREFIX, router_of
from .front import Front, Shield

UNFORESEEN = "server: something went wrong here; what was asked was not done"


def create_app(front: Front, pages: Sequence[BaseRoute] = ()) -> Shield:
    """The app of one server.

    Args:
        front: Who may come.
        pages: Routes of people, beside those of programs.
    """
    app = FastAPI(
        title="dpcurves verification server", version="1", openapi_url=f"{PREFIX}/openapi.json", docs_url=None,
        redoc_url=None,
    )  # fmt: skip
    app.state.front = front
    app.include_router(router_of())
    app.router.routes.extend(pages)
    app.add_exception_handler(Named, _refused)
    app.add_exception_handler(RequestValidationError, _misread)
    app.add_exception_handler(HTTPException, _unrouted)
    app.add_exception_handler(Exception, _unforeseen)
    return Shield(app)


async def _refused(request: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, ProtocolAborted) else 409 if isinstance(error, BudgetExceeded) else 400
    if isinstance(error, Trouble):
        tell_operator(error.where)
    return JSONResponse({"error": _text(str(error))}, status)


async def _misread(request: Request, error: Exception) -> Response:
    """The first thing that is wrong with a message, without what was sent."""
    first = error.errors()[0] if isinstance(error, RequestValidationError) else {"loc": (), "msg": "it is none"}
    where = ".".join(str(part) for part in first["loc"] if part != "body") or "message"
    return JSONResponse({"error": _text(f"{where[:100]}: {first['msg']}")}, 400)


async def _unrouted(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    words = {404: "path: there is nothing of this name", 405: "method: this path takes another one"}
    return JSONResponse({"error": words.get(status, "message: it can not be read")}, status)


async def _unforeseen(request: Request, error: Exception) -> Response:
    last = extract_tb(error.__traceback__)[-1]
    tell_operator(f"{type(error).__name__} in {last.name}; nothing was told")
    return JSONResponse({"error": UNFORESEEN}, 500)


def _text(line: str) -> str:
    """A line that can be sent whatever stood in what it quotes."""
    return line.encode(errors="replace").decode()
