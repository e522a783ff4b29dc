"""What all processes of these tests need, imported and compiled once: each of them begins as a copy of that."""

from __future__ import annotations

import dpcurves.cli.app
import dpcurves.display
import dpcurves.records
import dpcurves_parties.serving.two_servers.app
import dpcurves_parties.serving.two_servers.owner
import dpcurves_parties.shares.analyst
from dpcurves_parties.crypto import engine_of_task
from dpcurves_parties.pairs.session import warm
from dpcurves_parties.shares.shared_records import CheckedEncoding, Encoding

dpcurves_parties.serving.two_servers.app.create_app({})
dpcurves.cli.app.build()

__all__ = ["dpcurves"]

warm()
for kind in (Encoding, CheckedEncoding):
    kind(1000, engine_of_task(b"task of the tests")).warm()
