"""HTTP server that relays encrypted messages between people in pairs: routes and process.

The devices of two people compute a function of both values. They need not be online together, because this server keeps
their messages, which it cannot decrypt. The protocol is in `relay`. Here are:

    create_app     relays of tasks -> ASGI application, with the paths ``close``, ``answers`` and ``people/...``
    RelayServer    settings -> the relays of all tasks on one database, and the process that serves them

The log holds faults of the server only, never a request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from dpcurves.ledger import Ledger

from ..serving.identity import Identity
from ..serving.messages import ProtocolError
from ..serving.monitoring import NO_MONITORING, Monitoring
from ..serving.server import DEFAULT_LIMITS, Address, Limits, ServerSettings, make_server_context, serve
from ..serving.task_app import TaskRouter, authenticate_bearer, create_task_app, read_body, respond_from_thread
from ..serving.task_document import Role
from .relay import LARGEST_QUESTION, PERSON_REQUESTS, Relay, RelayStore
from .task import PairTask


def create_app(relays: Mapping[str, Relay]) -> Starlette:
    """Return the ASGI application of a relay server, which passes encrypted messages between people in pairs.

    Args:
        relays: Relay of each task, by the task's hash.

    Returns:
        An application whose paths below ``/tasks/HASH`` are ``close`` (coordinator), ``answers`` (analyst) and
        ``people/WHAT`` (one person).
    """
    router = _RelayRouter(relays, LARGEST_QUESTION)
    return create_task_app(
        router.show_status,
        {"close": router.close_task, "answers": router.answer_question, "people/{what}": router.serve_person},
    )


class _RelayRouter(TaskRouter[Relay]):
    """Authorises requests and forwards them to the relay of their task."""

    async def serve_person(self, task: str, request_name: str, request: Request) -> Response:
        """Serve a person's request: enter the task, fetch a partner's keys, leave a message or fetch one.

        Args:
            task: Hash of the task.
            request_name: Name of the request, a key of `PERSON_REQUESTS`.
            request: The HTTP request, with the person's bearer token.

        Raises:
            ProtocolError: the task or the request is unknown, the token is no person's, or the body is too long.
        """
        relay = self.find_service(task)
        person = authenticate_bearer(relay.task, request, Role.OWNER)
        if request_name not in PERSON_REQUESTS:
            raise ProtocolError("request", "is unknown here; use the version of dpcurves that the server uses", 404)
        handler, size_limit = PERSON_REQUESTS[request_name]
        message = await read_body(request, size_limit(relay))
        return await respond_from_thread(lambda: handler(relay, person, message))


@dataclass(frozen=True, slots=True)
class RelayServer:
    """Settings of a relay server for tasks of people in pairs.

    Attributes:
        tasks: Tasks that it serves.
        identity: Identity of the server.
        database_url: URL of its database.
        limits: Resource limits of unauthenticated clients.
        monitoring: Monitoring of the process.
    """

    tasks: Sequence[PairTask]
    identity: Identity
    database_url: str
    limits: Limits = DEFAULT_LIMITS
    monitoring: Monitoring = NO_MONITORING

    def create_relays(self) -> dict[str, Relay]:
        """Return a relay for each task of this server, by the task's hash, all on one database.

        Raises:
            ValueError: a task names another server, or the database cannot be opened.
        """
        for task in self.tasks:
            if task.servers[0] != self.identity.public:
                raise ProtocolError(
                    "identity", f"task {task.name!r} names another server; give the --identity that the task names"
                )
        self.identity.require_valid()
        Ledger.open(self.database_url)  # creates a missing file
        store = RelayStore(self.database_url)
        return {task.hash: Relay(task, self.identity.hpke_key, store) for task in self.tasks}

    def serve(self, address: Address, ready: Callable[[], object]) -> None:
        """Serve the relay over HTTPS until the process is stopped.

        Args:
            address: Host and port to listen on.
            ready: Called without arguments once the server listens.

        Raises:
            ValueError: a task names another server, the database cannot be opened, or the address is not available.
        """
        relays = self.create_relays()
        context = make_server_context(self.identity.certificate_file, self.identity.private_key_file, ())

        def describe_states() -> list[bytes]:
            """Return the public state of each task of this relay server, for its monitoring.

            Returns:
                A JSON text per task, in the order of the server's relays.
            """
            return [relay.describe_status() for relay in relays.values()]

        serve(
            create_app(relays), ServerSettings(address, context, self.limits, self.monitoring, describe_states), ready
        )
