"""Routes of every page: public or signed in, and the page that a refusal becomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import parse_qs

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from starlette.routing import BaseRoute
from starlette.routing import Route as Routed

from dpcurves.arguments import Named
from dpcurves.display import headless_axes, svg_text
from dpcurves_parties.serving.messages import ProtocolAborted, Trouble
from dpcurves_parties.serving.task_app import body_of

from ..forms import Given
from ..front import LARGEST_FILE, address_of
from ..studio import until_drawn
from . import asking, entrance
from .visits import ADMITTED, NOT_DRAWN, STATIC, Later, Site, Visit, parts_of, static, templates, to

LARGEST_FORM = 2**20
MOST_FIELDS = 200
NUL = "\x00"
KEPT = "public, max-age=31536000, immutable"


class Page(NamedTuple):
    """A route of a page.

    Attributes:
        method: GET, or POST of a form.
        path: The address, with names of its variable parts.
        work: What makes the answer.
        is_open: Whether strangers may come, too.
    """

    method: str
    path: str
    work: Callable[[Visit], Response]
    is_open: bool = False


PAGES = (
    Page("GET", "/", entrance.first),
    Page("GET", "/sign-in", entrance.asked_in, is_open=True),
    Page("POST", "/sign-in", entrance.sign_in, is_open=True),
    Page("GET", entrance.OUT, entrance.send_out, is_open=True),
    Page("GET", entrance.BACK, entrance.come_back, is_open=True),
    Page("POST", "/sign-out", entrance.sign_out, is_open=True),
    Page("GET", "/account", entrance.account),
    Page("POST", "/account", entrance.change_password),
    Page("GET", "/datasets", entrance.datasets),
    Page("GET", "/datasets/{dataset}", entrance.dataset),
    Page("GET", "/datasets/{dataset}/dummy.csv", entrance.dummy),
    Page("GET", "/datasets/{dataset}/synthetic.csv", entrance.synthetic),
    Page("GET", "/projects/{project}", entrance.project),
    Page("POST", "/projects/{project}/models", entrance.keep_model),
    Page("POST", "/projects/{project}/tokens", entrance.make_token),
    Page("POST", "/projects/{project}/tokens/{token}", entrance.take_token_back),
    Page("GET", "/projects/{project}/ask", asking.kinds),
    Page("GET", "/projects/{project}/ask/{word}", asking.question),
    Page("POST", "/projects/{project}/ask/{word}", asking.plan_or_ask),
    Page("POST", "/projects/{project}/ask/{word}/plan", asking.plan),
    Page("GET", "/projects/{project}/ask/{word}/sketch.svg", asking.sketched),
    Page("GET", "/projects/{project}/together", asking.together),
    Page("GET", "/projects/{project}/together.{ending}", asking.together_picture),
    Page("GET", "/questions/{question}", asking.asked_question),
    Page("GET", "/questions/{question}/progress", asking.progress),
    Page("GET", "/releases/{release}", asking.release),
    Page("GET", "/releases/{release}/figure", asking.figure),
    Page("GET", "/releases/{release}/picture.svg", asking.picture),
    Page("GET", "/releases/{release}/comparison", asking.comparison),
    Page("GET", "/releases/{release}/comparison.svg", asking.compared_picture),
    Page("GET", "/releases/{release}/export.{ending}", asking.export),
    Page("POST", "/releases/{release}/publish", asking.publish),
    Page("GET", "/manage", entrance.first_managed),
    Page("GET", "/manage/{dataset}", entrance.manage),
    Page("POST", "/manage/{dataset}/projects", entrance.make_project),
    Page("POST", "/manage/{dataset}/people", entrance.change_people),
    Page("POST", "/manage/{dataset}/allowances", entrance.set_allowance),
    Page("POST", "/manage/{dataset}/questions", entrance.change_question),
    Page("GET", "/audit", entrance.audit),
    Page("POST", "/audit", entrance.verify),
    Page("GET", "/audit.jsonl", entrance.log),
    Page("GET", "/people", entrance.people),
    Page("POST", "/people/change", entrance.change_person),
)


class Upload(NamedTuple):
    """A route that takes a file. The right to upload is checked before the body is read.

    Attributes:
        path: The address.
        admits: What refuses who may not.
        work: What makes the answer.
    """

    path: str
    admits: Callable[[Visit], Response]
    work: Callable[[Visit], Response]


UPLOADS = (Upload("/manage/{dataset}/synthetic", entrance.may_put_table, entrance.put_table),)


def routes(site: Site) -> list[BaseRoute]:
    """The routes of all pages, and of the files that they ask for."""
    made: list[BaseRoute] = [Routed("/static/{name}", _file, methods=["GET"])]
    for page in PAGES:
        made.append(Routed(page.path, _endpoint(site, page), methods=[page.method]))
    for upload in UPLOADS:
        made.append(Routed(upload.path, _uploaded(site, upload), methods=["POST"]))
    return made


def prepare() -> None:
    """Read all templates, and what draws pictures, before anybody waits for them."""
    for name in templates().list_templates():
        templates().get_template(name)
    svg_text(headless_axes())


def _endpoint(site: Site, page: Page) -> Callable[..., object]:
    async def endpoint(request: Request) -> Response:
        sent = await body_of(request, LARGEST_FORM) if page.method == "POST" else b""
        answer = await run_in_threadpool(_answered, site, page, request, sent.decode(errors="replace"))
        if isinstance(answer, Later):
            return await answer.finished()
        if answer.status_code != NOT_DRAWN:
            return answer
        await until_drawn(site.front.gate.releases, request.path_params["release"])
        return await run_in_threadpool(_answered, site, page, request, "", has_waited=True)

    return endpoint


def _uploaded(site: Site, upload: Upload) -> Callable[..., object]:
    async def endpoint(request: Request) -> Response:
        door = await run_in_threadpool(_answered, site, Page("GET", upload.path, upload.admits), request, "")
        if door.status_code != ADMITTED:
            return door
        sent = await body_of(request, LARGEST_FILE)
        page = Page("POST", upload.path, upload.work)
        return await run_in_threadpool(_answered_with_file, site, page, request, sent)

    return endpoint


def _answered_with_file(site: Site, page: Page, request: Request, sent: bytes) -> Response:
    try:
        typed, file = parts_of(request.headers, sent)
    except ProtocolAborted as error:
        return JSONResponse({"error": str(error)}, error.status)
    return _answered(site, page, request, typed, file)


def _read(text: str) -> Given:
    try:
        found = parse_qs(text, keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        found = {"": [NUL]}
    if any(NUL in each for name, texts in found.items() for each in (name, *texts)):  # no database takes it
        raise ProtocolAborted("form", "it can not be read")
    return found


def _answered(
    site: Site, page: Page, request: Request, sent: str, file: bytes = b"", *, has_waited: bool = False
) -> Response:
    host = f"{request.url.scheme}://{request.url.netloc}"
    errand = request.cookies.get(entrance.ERRAND, "")
    visit = Visit(
        site, request.url.path, request.path_params, {}, {}, None, address_of(request), host, errand, file, has_waited
    )
    try:
        visit = replace(visit, signed=site.front.session(request), query=_read(request.url.query), form=_read(sent))
        if visit.signed is None and not page.is_open:
            return to("sign-in")
        if page.method == "POST":
            visit.require_token()
        return page.work(visit)
    except Trouble:
        raise
    except Named as error:
        return visit.page("refused.html", getattr(error, "status", 400), words=str(error))


async def _file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in STATIC:
        raise ProtocolAborted("file", "there is none of this name", 404)
    return Response(static(name), media_type=STATIC[name], headers={"Cache-Control": KEPT})
