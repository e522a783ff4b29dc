"""The HTTP application of one of two servers, and its process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from ssl import PEM_cert_to_DER_cert
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dpcurves.ledger import Ledger

from ..blobs import Blobs
from ..channel import PATIENCE
from ..identity import Identity
from ..messages import ProtocolAborted, opened
from ..monitoring import UNWATCHED, Monitoring
from ..server import PEER, USUAL, Address, Door, Limits, Line, proving, serve
from ..task_app import Front as TaskFront
from ..task_app import Handler, Rate, bearer_of, body_of, shown_in, task_app, tell_of, told, told_soon
from ..task_document import Role
from ..workers import workers_at
from . import dap
from .collection import LARGEST_QUESTION, Collection, Resources
from .kinds import SharedTask, kind_named
from .report_set import LARGEST_BATCH
from .store import Store

# HTTP application of a server: authorised requests and responses. Errors are one line; only faults are logged.
AnyService = Collection[Any]
FOR_PEER = 8
"""Threads that work for the other server alone."""
PER_MINUTE = 1200
"""Questions that one analyst may ask in a minute: answers cost time, not privacy."""


def create_app(services: Mapping[str, AnyService]) -> Starlette:
    """The app of one server, with a service for each task."""
    front = ServerFront(services)
    handlers: Mapping[str, Handler] = {
        "reports": front.reports, "enrol": front.enrol, "close": front.close, "answers": front.answers,
        "peer/{what}": front.of_peer, AGGREGATION.path: front.jobs, COLLECTION.path: front.collections,
        AGGREGATE_SHARE.path: front.aggregate_shares,
    }  # fmt: skip
    return task_app(front.standing, handlers, [Route("/hpke_config", front.configs, methods=["GET"])])


class Resource(NamedTuple):
    """Kind of resource of the DAP draft.

    Attributes:
        path: The last part of its path.
        asked: Media type of the message that asks for it.
        told: Media type of the response.
        most: Bytes that the message may have.
        work: Makes the body of the response.
    """

    path: str
    asked: str
    told: str
    most: int
    work: Callable[[AnyService, bytes], bytes]


AGGREGATION = Resource(
    "aggregation_jobs", dap.JOB, dap.JOB_TOLD, LARGEST_BATCH, lambda service, message: service.job(message)
)
COLLECTION = Resource(
    "collection_jobs", dap.COLLECT, dap.COLLECTED, LARGEST_QUESTION, lambda service, message: service.collect(message)
)
AGGREGATE_SHARE = Resource(
    "aggregate_shares",
    dap.SHARE,
    dap.SHARE_TOLD,
    LARGEST_QUESTION,
    lambda service, message: service.aggregate_share(message),
)


class ServerFront(TaskFront[AnyService]):
    """Router: authorises requests, and forwards each to the service of the task."""

    def __init__(self, services: Mapping[str, AnyService]) -> None:
        super().__init__(services, LARGEST_QUESTION)
        self._rates = {task: Rate(PER_MINUTE, "question", "ask again in a minute") for task in services}
        # Answers wait for the other server, so its threads are no analyst's: else both servers could wait for each
        # other.
        self._others = ThreadPoolExecutor(FOR_PEER, "peer")
        # Questions that reach this server by way of the other one count as those that are asked here.
        for task, service in services.items():
            service.count = self._rates[task].count

    async def reports(self, task: str, request: Request) -> Response:
        """Accept a batch from an owner; of a task that is named as in the DAP draft, an upload."""
        if len(task) == dap.TASK_ID:
            return await self._uploads(task, request)
        service = self.service(task)
        owner = await _owner_of(service, request)
        message = await body_of(request, LARGEST_BATCH)
        return await told_soon(service.received(owner, message))

    async def jobs(self, task: str, request: Request) -> Response:
        """Respond to the other server, which hands on reports as a leader of the DAP draft."""
        return await self._made(AGGREGATION, task, request, _require_peer, self._others)

    async def collections(self, task: str, request: Request) -> Response:
        """Respond to an analyst who collects as in the DAP draft."""
        return await self._made(COLLECTION, task, request, self._count_analyst, None)

    async def aggregate_shares(self, task: str, request: Request) -> Response:
        """Respond to the leader of the DAP draft, for which an analyst collects."""
        return await self._made(AGGREGATE_SHARE, task, request, _require_peer, self._others)

    async def _made(
        self,
        resource: Resource,
        task: str,
        request: Request,
        require: Callable[[AnyService, Request], None],
        threads: ThreadPoolExecutor | None,
    ) -> Response:
        """Make a resource of the draft for whom `require` lets in: respond with it and its place, or with a problem."""
        try:
            service = self._of_draft(task, request, resource.asked)
            require(service, request)
            message = await body_of(request, resource.most)
            answer = await told(lambda: resource.work(service, message), threads)
        except ProtocolAborted as error:
            return problem(error, task)
        place = {"Location": f"/tasks/{task}/{resource.path}/{dap.job_id(message)}"}
        return Response(answer.body, media_type=resource.told, headers=place)

    def _count_analyst(self, service: AnyService, request: Request) -> None:
        self.count(service.task.hash, bearer_of(service.task, request, Role.ANALYST, service.party))

    def _of_draft(self, task: str, request: Request, kind: str) -> AnyService:
        """The service of the task that is so named in the draft, for a message of a kind."""
        service = self._services.get(dap.named_by(task))
        if service is None:
            raise dap.Unrecognized
        if request.headers.get("content-type", "").replace(" ", "").lower() != kind:
            raise ProtocolAborted("message", f"one of {kind} is needed", 415)
        return service

    async def _uploads(self, task: str, request: Request) -> Response:
        try:
            service = self._of_draft(task, request, dap.UPLOAD)
            owner = await _owner_of(service, request)
            message = await body_of(request, LARGEST_BATCH)
            answer = await told_soon(service.uploaded(owner, message))
        except ProtocolAborted as error:
            return problem(error, task)
        return Response(answer.body, media_type=dap.ERRORS) if answer.body else Response()

    async def configs(self, request: Request) -> Response:
        """Respond to anybody with the keys to which clients of the DAP draft seal."""
        service = next(iter(self._services.values()))
        return Response(
            service.keys.configs(), media_type=dap.CONFIGS, headers={"Cache-Control": f"max-age={dap.CACHED}"}
        )

    async def enrol(self, task: str, request: Request) -> Response:
        """Enrol the token of an owner, who shows its invitation."""
        service = self.service(task)
        owner = bearer_of(service.task, request, Role.OWNER, service.party)
        message = await body_of(request, LARGEST_QUESTION)
        return await told(lambda: service.enrol(owner, message))

    def count(self, task: str, analyst: int) -> None:
        """Count a question. Raises `ProtocolAborted`: there were too many."""
        self._rates[task].count(analyst)

    async def of_peer(self, task: str, what: str, request: Request) -> Response:
        """Respond to the other server."""
        service = self.service(task)
        _require_peer(service, request)
        if what not in service.OF_PEER:
            raise ProtocolAborted("peer", "it asks what this server does not know", 404)
        work, most = service.OF_PEER[what]
        message = await body_of(request, most)
        return await told(lambda: work(service, message), self._others)


def _require_peer(service: AnyService, request: Request) -> None:
    """Refuse a request that is not of the other server. Raises `ProtocolAborted`."""
    if request.scope.get(PEER) != _other(service):
        raise ProtocolAborted("peer", "the other server of this task alone may ask this", 403)


async def _owner_of(service: AnyService, request: Request) -> int:
    """The number of the owner whose ticket a request shows. Raises `ProtocolAborted`: it shows none."""
    shown = shown_in(request)
    return await run_in_threadpool(service.owner_shown, shown) if service.task.enrols else service.owner_shown(shown)


def problem(error: ProtocolAborted, task: str) -> Response:
    """The response of the DAP draft to a request that is refused: details of a problem (RFC 9457)."""
    kind = next((name for each, name in _PROBLEMS.items() if isinstance(error, each)), None)
    facts = {
        "type": "about:blank" if kind is None else dap.URN + kind,
        "status": error.status,
        "detail": str(error),
        "error": str(error),
    }
    return JSONResponse({**facts, "taskid": task}, error.status, media_type=dap.PROBLEM)


_PROBLEMS = {
    dap.Malformed: "invalidMessage", dap.Unrecognized: "unrecognizedTask", dap.Unsupported: "unsupportedExtension",
    dap.Mismatched: "batchMismatch",
}  # fmt: skip


def sessions_of(services: Mapping[str, AnyService]) -> Callable[[Line, bytes], None]:
    """Handler of two-party sessions that the other server opens."""

    def talk(line: Line, certificate: bytes) -> None:
        message = line.receive()
        service = services.get(str(opened(message, "peer").get("task")))
        if service is None or certificate != _other(service):
            raise ProtocolAborted("peer", "the other server of a task that it serves alone may talk", 403)
        service.follow(message, line)

    def heard(line: Line, certificate: bytes) -> None:
        try:
            tell_of(lambda: talk(line, certificate))
        finally:
            line.close()

    return heard


def _other(service: AnyService) -> bytes:
    return PEM_cert_to_DER_cert(service.task.servers[1 - service.party].certificate)


@dataclass(frozen=True, slots=True)
class Aggregator:
    """Aggregator server, before it runs.

    Attributes:
        party: 0 or 1.
        tasks: Tasks that it serves.
        identity: Identity of the server.
        store: The URL of its database, ledger included.
        peer: URL of the other server; empty: that in the task.
        patience: Seconds that the other server may take.
        limits: Limits of the resources of unauthenticated clients.
        monitoring: How it is watched.
        jobs: Place of the blobs of its jobs; empty: reports are held in memory.
        workers: Workers that evaluate jobs, as `workers_at` reads them.
    """

    party: int
    tasks: Sequence[SharedTask]
    identity: Identity
    store: str
    peer: str = ""
    patience: float = PATIENCE
    limits: Limits = USUAL
    monitoring: Monitoring = UNWATCHED
    jobs: str = ""
    workers: str = ""

    def services(self) -> dict[str, AnyService]:
        """A service for each task.

        Raises:
            ValueError: a task names another server in this place, or the ledger can not be opened.
        """
        identities = self._identities()
        ledger = Ledger.open(self.store)
        store = Store(self.store, f"server {self.party}")
        jobs, workers = Blobs.at(self.jobs) if self.jobs else None, workers_at(self.workers)
        place = Resources(
            self.party, self.identity, store, ledger, self.store, self.peer, self.patience, jobs, workers
        )  # fmt: skip
        made = {
            task.hash: kind_named(task.KIND).service(task, replace(place, identity=own))
            for task, own in zip(self.tasks, identities, strict=True)
        }
        for service in made.values():
            service.keys = dap.Keys.of(own.sealing for own in identities)
        return made

    def _identities(self) -> list[Identity]:
        """The keys that each task names: those of the folder now, or earlier ones.

        Raises:
            ProtocolAborted: a task names another server, or they have several certificates, or one that has expired.
        """
        found = []
        for task in self.tasks:
            own = self.identity.of(task.servers[self.party])
            if own is None:
                raise ProtocolAborted("identity", f"task {task.name!r} names another server as party {self.party}")
            found.append(own)
        if len({each.public.certificate for each in found}) > 1:
            rule = "these tasks name several certificates of it: run a server for each, with --identity FOLDER/before-1"
            raise ProtocolAborted("identity", rule)
        found[0].require_valid()
        return found

    def serve(self, address: Address, ready: Any) -> None:
        """Serve until stopped. `ready` is called once it listens.

        Raises:
            ValueError: as `services`; or the address can not be had.
        """
        services = self.services()
        for service in services.values():
            service.warm()
            len(service.task.bearers)  # worked out here: of a million tickets it takes a second, which nobody waits for
        others = [task.servers[1 - self.party].certificate for task in self.tasks]
        own = self._identities()[0]
        context = proving(own.certificate, own.proof, others)
        door = Door(
            address, context, self.limits, self.monitoring, lambda: [one.standing() for one in services.values()]
        )
        serve(create_app(services), door, ready, sessions_of(services))
