"""What all processes of these tests need, imported and compiled once: each of them begins as a copy of that."""

from __future__ import annotations

import dpcurves.cli.app
import dpcurves.display
import dpcurves.records
import dpcurves_parties.serving.two_servers.app
import dpcurves_parties.serving.two_servers.owner
import dpcurves_parties.shares.analyst
from dpcurves_parties.crypto import select_engine
from dpcurves_parties.pairs.session import compile_loops
from dpcurves_parties.shares.shared_records import CheckedTreeEncoding, TreeEncoding

dpcurves_parties.serving.two_servers.app.create_app({})
dpcurves.cli.app.build()

__all__ = ["dpcurves"]

compile_loops()
for kind in (TreeEncoding, CheckedTreeEncoding):
    kind(1000, select_engine(b"task of the tests")).warm_up()
