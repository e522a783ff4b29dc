"""The HTTP application of one of two servers, and its process.

    create_app           routes of one server, with a service for each task, and the resources of the DAP draft
    AggregatorRouter     authorises a request and forwards it; analysts have a limit of questions a minute
    Aggregator           the server before it runs: its services, address and process

Errors of DAP resources are problem details (RFC 9457). Requests of the peer server need its certificate.

Reference: draft-ietf-ppm-dap.
"""

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

from ..blobs import BlobStore
from ..channel import ANSWER_SECONDS
from ..identity import Identity
from ..messages import ProtocolError, parse_object
from ..monitoring import NO_MONITORING, Monitoring
from ..server import (
    DEFAULT_LIMITS,
    PEER_SCOPE_KEY,
    Address,
    Limits,
    PeerConnection,
    ServerSettings,
    make_server_context,
    serve,
)
from ..task_app import (
    Handler,
    RateLimiter,
    TaskRouter,
    authenticate_bearer,
    create_task_app,
    parse_bearer_token,
    read_body,
    respond_from_future,
    respond_from_thread,
    run_logged,
)
from ..task_document import Role
from ..workers import parse_workers
from . import dap
from .collection import LARGEST_QUESTION, Resources, SharedTaskService
from .report_set import LARGEST_BATCH
from .store import Store
from .task_types import SharedTask, load_task_type

# HTTP application of a server: authorised requests and responses. Errors are one line; only faults are logged.
AnyService = SharedTaskService[Any]
QUESTIONS_PER_MINUTE = 1200
"""Questions that one analyst may ask of a task in a minute; more are refused until then. They cost computing time, not
privacy."""


def create_app(services: Mapping[str, AnyService]) -> Starlette:
    """Return the HTTP app of one server, which has one service per task.

    Args:
        services: Services of the tasks, by hash of the task.
    """
    router = AggregatorRouter(services)
    handlers: Mapping[str, Handler] = {
        "reports": router.accept_reports, "enrol": router.enrol, "close": router.close_task,
        "answers": router.answer_question, "peer/{what}": router.answer_peer,
        AGGREGATION.path: router.accept_aggregation_job, COLLECTION.path: router.answer_collection_job,
        AGGREGATE_SHARE.path: router.answer_aggregate_share,
    }  # fmt: skip
    return create_task_app(
        router.show_status, handlers, [Route("/hpke_config", router.list_hpke_configs, methods=["GET"])]
    )


class DapResource(NamedTuple):
    """Resource type of the DAP draft.

    Attributes:
        path: Last part of its path.
        request_type: Media type of the request.
        response_type: Media type of the response.
        max_bytes: Size limit of the request, in bytes.
        respond: Computes the body of the response.
    """

    path: str
    request_type: str
    response_type: str
    max_bytes: int
    respond: Callable[[AnyService, bytes], bytes]


AGGREGATION = DapResource(
    "aggregation_jobs",
    dap.AGGREGATION_JOB_INIT_REQ_TYPE,
    dap.AGGREGATION_JOB_RESP_TYPE,
    LARGEST_BATCH,
    lambda service, message: service.run_aggregation_job(message),
)
"""Requests of the leader to the helper to check a batch of DAP reports and store them."""
COLLECTION = DapResource(
    "collection_jobs",
    dap.COLLECTION_JOB_REQ_TYPE,
    dap.COLLECTION_JOB_RESP_TYPE,
    LARGEST_QUESTION,
    lambda service, message: service.run_collection_job(message),
)
"""Requests of an analyst to the leader for the counts of a closed task (collection jobs of DAP)."""
AGGREGATE_SHARE = DapResource(
    "aggregate_shares",
    dap.AGGREGATE_SHARE_REQ_TYPE,
    dap.AGGREGATE_SHARE_TYPE,
    LARGEST_QUESTION,
    lambda service, message: service.make_aggregate_share(message),
)
"""Requests of the leader to the helper for its encrypted share of the counts of a closed task."""


class AggregatorRouter(TaskRouter[AnyService]):
    """Router that authorises requests, and forwards each to the service of the task."""

    def __init__(self, services: Mapping[str, AnyService]) -> None:
        super().__init__(services, LARGEST_QUESTION)
        self._rates = {
            task: RateLimiter(QUESTIONS_PER_MINUTE, "question", "ask again in a minute") for task in services
        }
        # Answers wait for the peer server, so its requests use separate threads from analysts' questions: otherwise
        # both servers could wait for each other.
        # 8: threads reserved for requests of the peer server, so that they never wait for analysts' questions
        self._others = ThreadPoolExecutor(8, "peer")
        # Questions that arrive through the peer server count towards the same rate limit.
        for task, service in services.items():
            service.count_question = self._rates[task].count_requests

    async def accept_reports(self, task: str, request: Request) -> Response:
        """Store a batch of an owner's reports; answer with the numbers of new and of known ones.

        At a path with a task id of the DAP draft, the body is an upload of the draft instead.

        Args:
            task: Hash of the task in the path, or its id in the DAP draft.
            request: The request.
        """
        task_id_length = 43  # characters: 32 bytes in base64url without padding (DAP draft)
        if len(task) == task_id_length:
            return await self._accept_upload(task, request)
        service = self.find_service(task)
        owner = await _authenticate_owner(service, request)
        message = await read_body(request, LARGEST_BATCH)
        return await respond_from_future(service.store_batch_async(owner, message))

    async def accept_aggregation_job(self, task: str, request: Request) -> Response:
        """Store, as the helper, the reports that the leader forwards (DAP); answer with the outcome of each.

        Args:
            task: Id of the task in the path.
            request: The request of the leader.
        """
        return await self._create_resource(AGGREGATION, task, request, _require_peer, self._others)

    async def answer_collection_job(self, task: str, request: Request) -> Response:
        """Answer an analyst's collection job of the DAP draft, as the leader, with both sealed aggregate shares.

        Args:
            task: Id of the task in the path.
            request: The request, with the analyst's bearer token.
        """
        return await self._create_resource(COLLECTION, task, request, self._count_analyst, None)

    async def answer_aggregate_share(self, task: str, request: Request) -> Response:
        """Answer, as the helper of the DAP draft, with the aggregate share that the leader requests for an analyst.

        Args:
            task: Id of the task in the path.
            request: The request of the leader.
        """
        return await self._create_resource(AGGREGATE_SHARE, task, request, _require_peer, self._others)

    async def _create_resource(
        self,
        resource: DapResource,
        task: str,
        request: Request,
        require: Callable[[AnyService, Request], None],
        threads: ThreadPoolExecutor | None,
    ) -> Response:
        """Create a resource of the DAP draft, and return it with its location; or a problem response.

        Args:
            resource: Kind of the resource.
            task: Task id of the draft.
            request: The request.
            require: Refuses a caller without the right.
            threads: Threads that do the work.
        """
        try:
            service = self._find_dap_service(task, request, resource.request_type)
            require(service, request)
            message = await read_body(request, resource.max_bytes)
            answer = await respond_from_thread(lambda: resource.respond(service, message), threads)
        except ProtocolError as error:
            return make_problem_response(error, task)
        headers = {"Location": f"/tasks/{task}/{resource.path}/{dap.derive_job_id(message)}"}
        return Response(answer.body, media_type=resource.response_type, headers=headers)

    def _count_analyst(self, service: AnyService, request: Request) -> None:
        """Authenticate an analyst, and count this question towards the limit of the analyst's questions.

        Args:
            service: Service of the task.
            request: The request, with the analyst's bearer token.

        Raises:
            ProtocolError: the token is not of an analyst of this task, or the analyst asks too often.
        """
        self.count_question(service.task.hash, authenticate_bearer(service.task, request, Role.ANALYST, service.party))

    def _find_dap_service(self, task: str, request: Request, media_type: str) -> AnyService:
        """Return the service of a task for a message of the Distributed Aggregation Protocol (DAP).

        Args:
            task: Task id in base64url, as in the path.
            request: HTTP request.
            media_type: Content type that the message must have.

        Raises:
            UnrecognizedTask: no task has this id.
            ProtocolError: the content type is another one (status 415).
        """
        service = self._services.get(dap.decode_task_id(task))
        if service is None:
            raise dap.UnrecognizedTask
        if request.headers.get("content-type", "").replace(" ", "").lower() != media_type:
            raise ProtocolError("message", f"must have the content type {media_type}; set that header", 415)
        return service

    async def _accept_upload(self, task: str, request: Request) -> Response:
        """Store an owner's upload (DAP); answer with the rejected reports, or with a problem if the request is
        refused.

        Args:
            task: Id of the task in the path.
            request: The request, with the owner's bearer token.
        """
        try:
            service = self._find_dap_service(task, request, dap.UPLOAD_REQ_TYPE)
            owner = await _authenticate_owner(service, request)
            message = await read_body(request, LARGEST_BATCH)
            answer = await respond_from_future(service.store_upload(owner, message))
        except ProtocolError as error:
            return make_problem_response(error, task)
        return Response(answer.body, media_type=dap.UPLOAD_ERRORS_TYPE) if answer.body else Response()

    async def list_hpke_configs(self, request: Request) -> Response:
        """Return the HPKE configurations to which clients of the DAP draft seal; no authorisation is needed.

        Args:
            request: The request; without effect.
        """
        service = next(iter(self._services.values()))
        return Response(
            service.hpke_keys.encode_config_list(),
            media_type=dap.HPKE_CONFIG_LIST_TYPE,
            headers={"Cache-Control": "max-age=86400"},  # seconds: clients fetch the keys at most once a day
        )

    async def enrol(self, task: str, request: Request) -> Response:
        """Store the hash of an owner's own token, for an owner who shows the invitation in its ticket.

        Args:
            task: Identifier of the task in the URL.
            request: HTTP request; its body is the hash.
        """
        service = self.find_service(task)
        owner = authenticate_bearer(service.task, request, Role.OWNER, service.party)
        message = await read_body(request, LARGEST_QUESTION)
        return await respond_from_thread(lambda: service.enrol(owner, message))

    def count_question(self, task: str, analyst: int) -> None:
        """Count one question of an analyst towards the task's limit of questions per minute.

        Args:
            task: Hash of the task.
            analyst: Number of the analyst.

        Raises:
            ProtocolError: the rate limit of the task is exceeded (status 429).
        """
        self._rates[task].count_requests(analyst)

    async def answer_peer(self, task: str, request_name: str, request: Request) -> Response:
        """Answer a request of the peer server, which must show its certificate.

        Args:
            task: Hash of the task.
            request_name: Name of the request, a key of `SharedTaskService.PEER_REQUESTS`.
            request: The request.

        Raises:
            ProtocolError: the task is not served, the certificate is not that of the peer, or the request is unknown.
        """
        service = self.find_service(task)
        _require_peer(service, request)
        if request_name not in service.PEER_REQUESTS:
            raise ProtocolError(
                "peer",
                "the request of the other server is unknown here; use the same version of dpcurves at both servers",
                404,
            )
        work, max_bytes = service.PEER_REQUESTS[request_name]
        message = await read_body(request, max_bytes)
        return await respond_from_thread(lambda: work(service, message), self._others)


def _require_peer(service: AnyService, request: Request) -> None:
    """Check that a request comes from the peer server, by the certificate of its connection.

    Args:
        service: Service of the task, which knows the peer's certificate.
        request: The request.

    Raises:
        ProtocolError: the request comes from another client (status 403).
    """
    if request.scope.get(PEER_SCOPE_KEY) != _load_peer_certificate(service):
        raise ProtocolError(
            "peer", "only the other server of this task may send this request, with its certificate", 403
        )


async def _authenticate_owner(service: AnyService, request: Request) -> int:
    """Return the number of the owner whose bearer token a request carries.

    Args:
        service: Service of the task.
        request: The request.

    Raises:
        ProtocolError: the request carries no owner's token.
    """
    bearer_token = parse_bearer_token(request)
    if not service.task.enrols:
        return service.find_owner(bearer_token)
    return await run_in_threadpool(service.find_owner, bearer_token)  # reads the database of enrolled devices


def make_problem_response(error: ProtocolError, task: str) -> Response:
    """Return the DAP draft's response to a refused request: problem details (RFC 9457).

    Args:
        error: Why the request was refused, with its HTTP status.
        task: Identifier of the task.
    """
    problem_type = next((name for error_type, name in _PROBLEM_TYPES.items() if isinstance(error, error_type)), None)
    facts = {
        "type": "about:blank" if problem_type is None else dap.DAP_ERROR_URN + problem_type,
        "status": error.status,
        "detail": str(error),
        "error": str(error),
    }
    return JSONResponse({**facts, "taskid": task}, error.status, media_type=dap.PROBLEM_TYPE)


_PROBLEM_TYPES = {
    dap.InvalidMessage: "invalidMessage", dap.UnrecognizedTask: "unrecognizedTask",
    dap.UnsupportedExtension: "unsupportedExtension", dap.BatchMismatch: "batchMismatch",
}  # fmt: skip
"""Error types of the DAP draft, by exception: the end of the URN in the field type of problem details. Other errors
have the type about:blank."""


def make_session_handler(services: Mapping[str, AnyService]) -> Callable[[PeerConnection, bytes], None]:
    """Return the handler of two-party sessions that the peer server opens.

    Args:
        services: Services of the tasks, by hash of the task.

    Returns:
        Function of a connection and the certificate of its sender. It returns when the session ends, and closes the
        connection.
    """

    def run_session(line: PeerConnection, certificate: bytes) -> None:
        """Read the first message of a session, find its task, and take part.

        Args:
            line: Connection to the peer server.
            certificate: Certificate of the sender.

        Raises:
            ProtocolError: the sender is not the peer of a task that is served here (status 403).
        """
        message = line.receive()
        service = services.get(str(parse_object(message, "peer").get("task")))
        if service is None or certificate != _load_peer_certificate(service):
            raise ProtocolError(
                "peer",
                "only the other server of a task that is served here may open a session; serve the "
                "task at both servers",
                403,
            )
        service.follow_session(message, line)

    def handle_connection(line: PeerConnection, certificate: bytes) -> None:
        """Run one session in this thread, log faults, and close the connection.

        Args:
            line: Connection that the peer opened.
            certificate: Certificate that the peer showed, in bytes.
        """
        try:
            run_logged(lambda: run_session(line, certificate))
        finally:
            line.close()

    return handle_connection


def _load_peer_certificate(service: AnyService) -> bytes:
    """Return the certificate of the other server of a service's task, in DER."""
    return PEM_cert_to_DER_cert(service.task.servers[1 - service.party].certificate)


@dataclass(frozen=True, slots=True)
class Aggregator:
    """An aggregator server, before it runs.

    Attributes:
        party: 0 or 1.
        tasks: Tasks to serve.
        identity: Identity of the server.
        store: URL of its database, which includes the ledger.
        peer_url: URL of the peer server; empty: from the task.
        timeout: Timeout of the peer server, in seconds.
        limits: Resource limits of unauthenticated clients.
        monitoring: Monitoring settings.
        job_location: Location of the blobs of jobs; empty: reports are held in memory.
        workers: Workers that evaluate jobs, as `parse_workers` reads them.
    """

    party: int
    tasks: Sequence[SharedTask]
    identity: Identity
    store: str
    peer_url: str = ""
    timeout: float = ANSWER_SECONDS
    limits: Limits = DEFAULT_LIMITS
    monitoring: Monitoring = NO_MONITORING
    job_location: str = ""
    workers: str = ""

    def create_services(self) -> dict[str, AnyService]:
        """Create the service of each task of this server, on its store and ledger.

        Returns:
            Service by hash of the task.

        Raises:
            ValueError: a task names another server as this party, or the ledger cannot be opened.
        """
        identities = self._find_identities()
        ledger = Ledger.open(self.store)
        store = Store(self.store, f"server {self.party}")
        jobs = BlobStore.from_location(self.job_location) if self.job_location else None
        workers = parse_workers(self.workers)
        resources = Resources(
            self.party, self.identity, store, ledger, self.store, self.peer_url, self.timeout, jobs, workers
        )  # fmt: skip
        services = {
            task.hash: load_task_type(task.KIND).create_service(task, replace(resources, identity=identity))
            for task, identity in zip(self.tasks, identities, strict=True)
        }
        for service in services.values():
            service.hpke_keys = dap.HpkeKeys.from_private_keys(identity.hpke_key for identity in identities)
        store.warn_if_unwritable()
        return services

    def _find_identities(self) -> list[Identity]:
        """Return the keys that each task names: current or rotated ones of the folder.

        Raises:
            ProtocolError: a task names another server, or tasks name several certificates, or an expired one.
        """
        identities = []
        for task in self.tasks:
            identity = self.identity.find_identity(task.servers[self.party])
            if identity is None:
                raise ProtocolError(
                    "identity",
                    f"task {task.name!r} names other keys for server {self.party}; check --party and --identity",
                )
            identities.append(identity)
        if len({each_identity.public.certificate for each_identity in identities}) > 1:
            rule = (
                "the tasks name several of its certificates: run a server for each, as with --identity FOLDER/before-1"
            )
            raise ProtocolError("identity", rule)
        identities[0].require_valid()
        return identities

    def serve(self, address: Address, ready: Any) -> None:
        """Serve until the process is stopped; call `ready` once the server listens.

        Raises:
            ValueError: as `create_services`; or the address cannot be used.
        """
        services = self.create_services()
        for service in services.values():
            service.warm_up()
            len(service.task.bearers)  # computed at startup: with a million tickets it takes a second
        peer_certificates = [task.servers[1 - self.party].certificate for task in self.tasks]
        identity = self._find_identities()[0]
        context = make_server_context(identity.certificate_file, identity.private_key_file, peer_certificates)
        door = ServerSettings(
            address, context, self.limits, self.monitoring, lambda: [one.describe_status() for one in services.values()]
        )
        serve(create_app(services), door, ready, make_session_handler(services))
