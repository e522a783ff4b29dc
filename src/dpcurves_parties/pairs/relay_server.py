"""HTTP application and process that relays messages of people who compute in pairs; its log has only faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from dpcurves.ledger import Ledger

from ..serving.identity import Identity
from ..serving.messages import ProtocolAborted
from ..serving.monitoring import UNWATCHED, Monitoring
from ..serving.server import USUAL, Address, Door, Limits, proving, serve
from ..serving.task_app import Front, bearer_of, body_of, task_app, told
from ..serving.task_document import Role
from .relay import LARGEST_QUESTION, OF_PERSON, Relay, RelayStore
from .task import PairTask


def create_app(relays: Mapping[str, Relay]) -> Starlette:
    """The app of one server, with a relay for each task: paths are those of two servers, and ``people/...``."""
    front = _Front(relays, LARGEST_QUESTION)
    return task_app(front.standing, {"close": front.close, "answers": front.answers, "people/{what}": front.people})


class _Front(Front[Relay]):
    """Router: authorises requests, and forwards each to the relay of the task."""

    async def people(self, task: str, what: str, request: Request) -> Response:
        """Let a person enter, or leave a letter, or take one."""
        relay = self.service(task)
        person = bearer_of(relay.task, request, Role.OWNER)
        if what not in OF_PERSON:
            raise ProtocolAborted("letter", "a person asks what this server does not know", 404)
        work, most = OF_PERSON[what]
        message = await body_of(request, most(relay))
        return await told(lambda: work(relay, person, message))


@dataclass(frozen=True, slots=True)
class RelayServer:
    """The server of tasks of people in pairs, before it runs.

    Attributes:
        tasks: Tasks that it serves.
        identity: Identity of the server.
        store: The URL of its database.
        limits: Limits of the resources of unauthenticated clients.
        monitoring: How it is watched.
    """

    tasks: Sequence[PairTask]
    identity: Identity
    store: str
    limits: Limits = USUAL
    monitoring: Monitoring = UNWATCHED

    def relays(self) -> dict[str, Relay]:
        """A relay for each task.

        Raises:
            ValueError: a task names another server, or the database can not be opened.
        """
        for task in self.tasks:
            if task.servers[0] != self.identity.public:
                raise ProtocolAborted("identity", f"task {task.name!r} names another server")
        self.identity.require_valid()
        Ledger.open(self.store)  # makes the file, where there is none
        store = RelayStore(self.store)
        return {task.hash: Relay(task, self.identity.sealing, store) for task in self.tasks}

    def serve(self, address: Address, ready: Callable[[], object]) -> None:
        """Serve until stopped. `ready` is called once it listens.

        Raises:
            ValueError: as `relays`; or the address can not be had.
        """
        relays, context = self.relays(), proving(self.identity.certificate, self.identity.proof, ())
        works = lambda: [relay.standing() for relay in relays.values()]  # noqa: E731
        serve(create_app(relays), Door(address, context, self.limits, self.monitoring, works), ready)
