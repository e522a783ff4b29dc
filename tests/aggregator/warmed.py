"""What all processes of these tests need, imported and compiled once: each of them begins as a copy of that."""

from __future__ import annotations

import dpcurves.aggregator.analyst
import dpcurves.aggregator.app
import dpcurves.aggregator.launch
import dpcurves.aggregator.owner
import dpcurves.cli.app
import dpcurves.data.records
import dpcurves.display
from dpcurves.crypto import engine_of_task
from dpcurves.trust.shared_records import CheckedEncoding, Encoding

dpcurves.aggregator.app.create_app({})
dpcurves.cli.app.build()

__all__ = ["dpcurves"]

for kind in (Encoding, CheckedEncoding):
    kind(1000, engine_of_task(b"task of the tests")).warm()
