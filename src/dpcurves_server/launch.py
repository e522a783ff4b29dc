"""The server as a process: its door over TLS, its workers, and the public clock."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dpcurves.arguments import Refused
from dpcurves_parties.serving.monitoring import UNWATCHED, Monitoring
from dpcurves_parties.serving.server import USUAL, Address, Door, Limits, proving_alone, serve

from .app import create_app
from .forms import Form
from .front import PER_MINUTE, Front
from .gate import Gate
from .issuer import Issuer
from .pages.site import prepare, routes
from .pages.visits import Site
from .sessions import Rate
from .visitors import MACHINE
from .workers import Workers

TURN = 0.0005
"""Seconds that a thread may go on while others wait: a page reads the database twenty times, and waits after each."""


@dataclass(frozen=True, slots=True)
class VerificationServer:
    """A server before it runs.

    Attributes:
        store: The URL of its database, ledger and queue included.
        certificate: The file with what proves it.
        key: The file with the private key of that.
        workers: How many processes count.
        every: Seconds between two strikes of the public clock, at which answers appear.
        limits: What strangers may take up.
        per_minute: How often one person may ask.
        forms: The questions that pages offer, by the word that asks each.
        issuer: Another authority by which people sign in; None: by passwords alone.
        monitoring: How it is watched.

    Raises:
        ValueError: there is no worker, or no time between strikes.
    """

    store: str
    certificate: Path
    key: Path
    workers: int = 2
    every: float = 2.0
    limits: Limits = USUAL
    per_minute: int = PER_MINUTE
    forms: Mapping[str, Form] = field(default_factory=dict)
    issuer: Issuer | None = None
    monitoring: Monitoring = UNWATCHED

    def __post_init__(self) -> None:
        if self.workers < 1 or not self.every > 0 or self.per_minute < 1:
            raise Refused("workers, every", "at least one worker and some time between strikes of the clock are needed")

    def serve(self, address: Address, ready: Callable[[], object]) -> None:
        """Serve until the process is told to stop. `ready` is called once it listens.

        Raises:
            ValueError: the certificate is none, or has expired; or the store or the address can not be had.
        """
        context = proving_alone(self.certificate, self.key)
        prepare()
        sys.setswitchinterval(TURN)
        gc.freeze()  # what was read by now stays: nobody waits while it is looked through for what may go
        workers = Workers(self.store, self.workers, self.every)
        gate = Gate(self.store, workers.call)
        front = Front(gate, people=Rate(self.per_minute))
        workers.start()
        gate.studio.start()
        try:
            app = create_app(front, routes(Site(front, self.forms, self.issuer)))
            serve(app, Door(address, context, self.limits, self.monitoring, lambda: gate.people.all(MACHINE)), ready)
        finally:
            gate.studio.stop()
            workers.stop()
