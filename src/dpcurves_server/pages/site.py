"""URL routing of the verification server's HTML pages: which handler serves which path, and the checks before it.

    PAGES, UPLOADS    tables of all routes: method, path, handler
    build_routes      tables of routes -> Starlette routes of an ASGI application

A request of a page that is not public is redirected to the sign-in page if the visitor is not signed in. A POST request
must have the CSRF token of its session. An error of a handler gives an error page, or the form again with the message.
An upload is read only after the right to upload has been checked, so that others cannot fill the server's memory. The
handlers check all other rights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import parse_qs

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute

from dpcurves.arguments import ArgumentError
from dpcurves.display import headless_axes, svg_text
from dpcurves.ledger.chain import LedgerBusy
from dpcurves_parties.serving.database import BUSY_MESSAGE
from dpcurves_parties.serving.messages import ProtocolError, ServerFault
from dpcurves_parties.serving.monitoring import log_operator_message
from dpcurves_parties.serving.task_app import read_body

from ..authentication import client_address
from ..forms import FieldValues
from ..middleware import LARGEST_FILE
from ..planner import respond_when_planned
from ..renderer import wait_until_drawn
from . import account_pages, question_pages
from .page_context import (
    ADMITTED,
    NOT_DRAWN,
    STATIC_FILES,
    PendingResponse,
    Site,
    Visit,
    load_templates,
    parse_multipart,
    read_static,
    redirect_to,
    show_refused,
)

NULL_CHARACTER = "\x00"
"""The null character: databases cannot store it in a text, so a form that contains it is refused."""
STATIC_CACHE_CONTROL = "public, max-age=31536000, immutable"
"""Cache-Control header of static files: browsers may keep them for a year, as templates add a hash of the files to each
address."""


class Page(NamedTuple):
    """A route of a page.

    Attributes:
        method: GET, or POST of a form.
        path: The path, with parameter names in braces.
        handler: Function that returns the response to a request.
        is_public: Whether the page needs no session.
    """

    method: str
    path: str
    handler: Callable[[Visit], Response]
    is_public: bool = False


PAGES = (
    Page("GET", "/", account_pages.redirect_home),
    Page("GET", "/sign-in", account_pages.show_sign_in, is_public=True),
    Page("POST", "/sign-in", account_pages.sign_in, is_public=True),
    Page("GET", account_pages.SIGN_IN_PATH, account_pages.redirect_to_issuer, is_public=True),
    Page("GET", account_pages.REDIRECT_PATH, account_pages.finish_issuer_sign_in, is_public=True),
    Page("POST", "/sign-out", account_pages.sign_out, is_public=True),
    Page("GET", "/account", account_pages.show_account),
    Page("POST", "/account", account_pages.change_password),
    Page("GET", "/datasets", account_pages.show_datasets),
    Page("GET", "/datasets/{dataset}", account_pages.show_dataset),
    Page("GET", "/datasets/{dataset}/dummy.csv", account_pages.send_dummy_table),
    Page("GET", "/datasets/{dataset}/synthetic.csv", account_pages.send_synthetic_table),
    Page("GET", "/projects/{project}", account_pages.show_project),
    Page("POST", "/projects/{project}/models", account_pages.add_model),
    Page("POST", "/projects/{project}/tokens", account_pages.make_token),
    Page("POST", "/projects/{project}/tokens/{token}", account_pages.revoke_token),
    Page("GET", "/projects/{project}/ask", question_pages.show_question_types),
    Page("GET", "/projects/{project}/ask/{word}", question_pages.show_form),
    Page("POST", "/projects/{project}/ask/{word}", question_pages.submit_form),
    Page("POST", "/projects/{project}/ask/{word}/plan", question_pages.show_plan),
    Page("GET", "/projects/{project}/ask/{word}/sketch.svg", question_pages.show_sketch),
    Page("GET", "/projects/{project}/together", question_pages.show_combined),
    Page("GET", "/projects/{project}/together.{ending}", question_pages.send_combined_picture),
    Page("GET", "/questions/{question}", question_pages.show_question),
    Page("GET", "/questions/{question}/progress", question_pages.show_progress),
    Page("GET", "/releases/{release}", question_pages.show_release),
    Page("GET", "/releases/{release}/figure", question_pages.show_figure),
    Page("GET", "/releases/{release}/picture.svg", question_pages.send_picture),
    Page("GET", "/releases/{release}/comparison", question_pages.show_comparison),
    Page("GET", "/releases/{release}/comparison.svg", question_pages.send_comparison_picture),
    Page("GET", "/releases/{release}/export.{ending}", question_pages.export_release),
    Page("POST", "/releases/{release}/publish", question_pages.publish_release),
    Page("GET", "/manage", account_pages.redirect_to_managed),
    Page("GET", "/manage/{dataset}", account_pages.show_managed),
    Page("POST", "/manage/{dataset}/projects", account_pages.make_project),
    Page("POST", "/manage/{dataset}/people", account_pages.change_people),
    Page("POST", "/manage/{dataset}/allowances", account_pages.set_allowance),
    Page("POST", "/manage/{dataset}/questions", account_pages.change_question),
    Page("POST", "/manage/{dataset}/synthetic/confirm", account_pages.confirm_table),
    Page("GET", "/audit", account_pages.show_audit),
    Page("POST", "/audit", account_pages.verify_log),
    Page("GET", "/audit.jsonl", account_pages.download_log),
    Page("GET", "/people", account_pages.show_people),
    Page("POST", "/people/change", account_pages.change_person),
)
"""Routes of all pages of the server: method, path and handler."""


class Upload(NamedTuple):
    """A route that takes a file. The right to upload is checked before the body is read.

    Attributes:
        path: The path, with parameter names in braces.
        access_check: Function that returns a response of status `ADMITTED` if the person may upload, else a refusal.
        handler: Function that returns the response to the upload.
    """

    path: str
    access_check: Callable[[Visit], Response]
    handler: Callable[[Visit], Response]


UPLOADS = (Upload("/manage/{dataset}/synthetic", account_pages.check_upload_right, account_pages.upload_table),)
"""Routes of all uploads (synthetic tables of a dataset), whose bodies are read after the right to upload is checked."""


def build_routes(site: Site, pages: Sequence[Page] = PAGES, uploads: Sequence[Upload] = UPLOADS) -> list[BaseRoute]:
    """Return the routes of pages and uploads, and of the static files.

    Args:
        site: The authenticator, question forms and settings that all handlers use.
        pages: Routes of pages.
        uploads: Routes that take a file.

    Returns:
        Starlette routes; static files first.
    """
    routes: list[BaseRoute] = [StarletteRoute("/static/{name}", _serve_static, methods=["GET"])]
    for page in pages:
        routes.append(StarletteRoute(page.path, _page_endpoint(site, page), methods=[page.method]))
    for upload in uploads:
        routes.append(StarletteRoute(upload.path, _upload_endpoint(site, upload), methods=["POST"]))
    return routes


def preload() -> None:
    """Load all templates and the plotting library in advance, so that the first request does not wait for them."""
    for name in load_templates().list_templates():
        load_templates().get_template(name)
    svg_text(headless_axes())


def _page_endpoint(site: Site, page: Page) -> Callable[..., object]:
    """Return the asynchronous route handler of a page, which runs the page's own handler in a thread pool.

    Args:
        site: The settings of all pages.
        page: The page.

    Returns:
        A function from a request to a response. It reads at most 1 MiB of a form.
    """

    async def serve_page(request: Request) -> Response:
        """Return the response of a page; wait if its picture is still to be drawn.

        Args:
            request: The request of the page.
        """
        # 2**20 bytes: the largest form
        body = await read_body(request, 2**20) if page.method == "POST" else b""
        answer = await respond_when_planned(lambda: _respond(site, page, request, body.decode(errors="replace")))
        if isinstance(answer, PendingResponse):
            return await answer.wait_for_response()
        if answer.status_code != NOT_DRAWN:
            return answer
        await wait_until_drawn(site.authenticator.services.releases, request.path_params["release"])
        return await run_in_threadpool(_respond, site, page, request, "", has_waited=True)

    return serve_page


def _upload_endpoint(site: Site, upload: Upload) -> Callable[..., object]:
    """Return the route handler of a file upload, which checks the right to upload before it reads the body.

    Args:
        site: The settings of all pages.
        upload: The upload.

    Returns:
        A function from a request to a response. It checks the right to upload, then reads at most `LARGEST_FILE` bytes.
    """

    async def serve_upload(request: Request) -> Response:
        """Check the right to upload, then read the body and return the page's response.

        Args:
            request: The request with the uploaded file as its body.
        """
        check = await run_in_threadpool(_respond, site, Page("GET", upload.path, upload.access_check), request, "")
        if check.status_code != ADMITTED:
            return check
        body = await read_body(request, LARGEST_FILE)
        page = Page("POST", upload.path, upload.handler)
        return await run_in_threadpool(_respond_to_upload, site, page, request, body)

    return serve_upload


def _respond_to_upload(site: Site, page: Page, request: Request, body: bytes) -> Response:
    """Return the response to an uploaded file.

    Args:
        site: The settings of all pages.
        page: The page of the upload.
        request: The request.
        body: Body of the request: form fields and a file (multipart/form-data).

    Returns:
        The response of the page; an error as JSON if the body is malformed.
    """
    try:
        typed, file = parse_multipart(request.headers, body)
    except ProtocolError as error:
        return JSONResponse({"error": str(error)}, error.status)
    return _respond(site, page, request, typed, file)


def _parse_fields(text: str) -> FieldValues:
    """Parse the URL-encoded fields of a page's address or of a sent form.

    Args:
        text: Fields as ``name=value&name=value``; a name may occur several times.

    Returns:
        The values of each field in their order, empty values included.

    Raises:
        ProtocolError: The fields are malformed, more than 10,000, or have null characters.
    """
    most_fields = 10_000  # fields of a form: four for each of 2,000 columns of a local table, and some more
    try:
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=most_fields)
    except ValueError:
        fields = {"": [NULL_CHARACTER]}
    if any(
        NULL_CHARACTER in text for name, texts in fields.items() for text in (name, *texts)
    ):  # databases cannot store it
        raise ProtocolError("form", "the form cannot be read; reload the page and send it again")
    return fields


def _respond(
    site: Site, page: Page, request: Request, body: str, file: bytes = b"", *, has_waited: bool = False
) -> Response:
    """Return the response of a page to a request, after finding its session and checking its CSRF token.

    Args:
        site: The settings of all pages.
        page: The page.
        request: The request.
        body: URL-encoded fields of a POST request; else empty.
        file: The uploaded file; empty: none.
        has_waited: Whether the request has waited for a picture already, so that it must not wait again.

    Returns:
        The response of the page's handler; a redirection to the sign-in page; or an error page.

    Raises:
        ServerFault: The server itself failed.
    """
    host = f"{request.url.scheme}://{request.url.netloc}"
    sign_in_secret = request.cookies.get(account_pages.PENDING_SIGN_IN_COOKIE, "")
    visit = Visit(
        site,
        request.url.path,
        request.path_params,
        {},
        {},
        None,
        client_address(request),
        host,
        sign_in_secret,
        file,
        has_waited,
        accepted_languages=request.headers.get("accept-language", "")[:200],
    )
    try:
        visit = replace(
            visit,
            session=site.authenticator.find_session(request),
            query=_parse_fields(request.url.query),
            form=_parse_fields(body),
        )
        if visit.session is None and not page.is_public:
            return redirect_to("sign-in")
        if page.method == "POST":
            visit.require_csrf_token()
        return page.handler(visit)
    except ServerFault as fault:
        if fault.status != 503:
            raise
        log_operator_message(fault.where)
        error: ArgumentError = fault
    except LedgerBusy as busy:
        log_operator_message(busy.rule)
        error = ProtocolError("store", BUSY_MESSAGE, 503)
    except ArgumentError as refusal:
        error = refusal
    return show_refused(visit, account_pages.REFUSABLE_FORMS.get(page.path) if page.method == "POST" else None, error)


async def _serve_static(request: Request) -> Response:
    """Return a static file, such as a style sheet, with a header that lets browsers keep it.

    Args:
        request: The request, whose path names the file.

    Raises:
        ProtocolError: There is no static file of this name (status 404).
    """
    name = request.path_params["name"]
    if name not in STATIC_FILES:
        raise ProtocolError("file", "there is no file of this name; go back to the start page", 404)
    return Response(read_static(name), media_type=STATIC_FILES[name], headers={"Cache-Control": STATIC_CACHE_CONTROL})
