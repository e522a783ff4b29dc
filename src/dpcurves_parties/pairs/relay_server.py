"""HTTP application and process that relays messages of people who compute in pairs; its log has only faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from dpcurves.ledger import Ledger

from ..serving.identity import Identity
from ..serving.messages import ProtocolError
from ..serving.monitoring import UNWATCHED, Monitoring
from ..serving.server import USUAL, Address, Limits, ServerSettings, make_server_context, serve
from ..serving.task_app import TaskRouter, authenticate_bearer, create_task_app, read_body, respond_from_thread
from ..serving.task_document import Role
from .relay import LARGEST_QUESTION, OF_PERSON, Relay, RelayStore
from .task import PairTask


def create_app(relays: Mapping[str, Relay]) -> Starlette:
    """The app of one server, with a relay for each task: paths are those of two servers, and ``people/...``."""
    front = _RelayRouter(relays, LARGEST_QUESTION)
    return create_task_app(
        front.show_status,
        {"close": front.close_task, "answers": front.answer_question, "people/{what}": front.serve_person},
    )


class _RelayRouter(TaskRouter[Relay]):
    """Router: authorises requests, and forwards each to the relay of the task."""

    async def serve_person(self, task: str, what: str, request: Request) -> Response:
        """Let a person enter, or leave a letter, or take one."""
        relay = self.find_service(task)
        person = authenticate_bearer(relay.task, request, Role.OWNER)
        if what not in OF_PERSON:
            raise ProtocolError("letter", "a person asks what this server does not know", 404)
        work, most = OF_PERSON[what]
        message = await read_body(request, most(relay))
        return await respond_from_thread(lambda: work(relay, person, message))


@dataclass(frozen=True, slots=True)
class RelayServer:
    """The server of tasks of people in pairs, before it runs.

    Attributes:
        tasks: Tasks that it serves.
        identity: Identity of the server.
        database_url: The URL of its database.
        limits: Limits of the resources of unauthenticated clients.
        monitoring: How it is watched.
    """

    tasks: Sequence[PairTask]
    identity: Identity
    database_url: str
    limits: Limits = USUAL
    monitoring: Monitoring = UNWATCHED

    def create_relays(self) -> dict[str, Relay]:
        """A relay for each task.

        Raises:
            ValueError: a task names another server, or the database can not be opened.
        """
        for task in self.tasks:
            if task.servers[0] != self.identity.public:
                raise ProtocolError("identity", f"task {task.name!r} names another server")
        self.identity.require_valid()
        Ledger.open(self.database_url)  # makes the file, where there is none
        store = RelayStore(self.database_url)
        return {task.hash: Relay(task, self.identity.hpke_key, store) for task in self.tasks}

    def serve(self, address: Address, ready: Callable[[], object]) -> None:
        """Serve until stopped. `ready` is called once it listens.

        Raises:
            ValueError: as `create_relays`; or the address can not be had.
        """
        relays, context = (
            self.create_relays(),
            make_server_context(self.identity.certificate_file, self.identity.private_key_file, ()),
        )
        works = lambda: [relay.describe_status() for relay in relays.values()]  # noqa: E731
        serve(create_app(relays), ServerSettings(address, context, self.limits, self.monitoring, works), ready)
