"""A table that `dpcurves try` has opened, asked without a socket, with a worker that is called by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from asgi import Heard, asked

from dpcurves.cli.one_table import QUESTIONS
from dpcurves_server import Services
from dpcurves_server.cli.commands import build_forms
from dpcurves_server.local_app import LocalAccess, create_local_app
from dpcurves_server.local_table import open_local_table
from dpcurves_server.queue import Queue
from dpcurves_server.worker import Worker

FORMS = build_forms(QUESTIONS)
FORM_TYPE = {"content-type": "application/x-www-form-urlencoded"}


class Opened:
    """A table that `dpcurves try` has opened, asked without a socket, with a worker that is called by hand."""

    def __init__(self, path: Path, language: str = "", **settings: str) -> None:
        self.table = open_local_table(str(path), **settings)
        self.services = Services(self.table.ledger_url)
        self.access = LocalAccess(8888)
        self.app = create_local_app(self.services, self.table, FORMS, self.access, language)
        self.worker = Worker(self.table.ledger_url, f"worker of {id(self)}")

    def send(self, method: str, path: str, fields: Any = None, **headers: str) -> Heard:
        """Send a request with the cookie, as a page of the app would unless said."""
        own = {"host": "127.0.0.1:8888", "origin": self.access.origin, **FORM_TYPE}
        own["cookie"] = f"{self.access.cookie_name}={self.access.cookie}"
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        body = urlencode(fields or {}, doseq=True).encode()
        return asked(self.app, method, path, body, {key: value for key, value in own.items() if value}, scheme="http",
                     origin=False)  # fmt: skip

    def get(self, path: str, **headers: str) -> Heard:
        return self.send("GET", path, origin="", **headers)

    def post(self, path: str, fields: Any, **headers: str) -> Heard:
        form = self.get(f"/projects/{self.table.name}/ask/count").text + self.get("/").text
        csrf = re.search(r'name="csrf" value="([^"]+)"', form)
        return self.send("POST", path, {**({"csrf": csrf[1]} if csrf else {}), **fields}, **headers)

    def declare(self, columns: dict[str, dict[str, str]], amount: str = "1000", **fields: str) -> Heard:
        """Send the form of the columns."""
        positions = {proposal.name: number for number, proposal in enumerate(self.table.columns)}
        typed = {f"{key}.{positions[name]}": value for name, facts in columns.items() for key, value in facts.items()}
        return self.post("/", {"amount": amount, **typed, **fields})

    def ask(self, word: str, fields: dict[str, Any]) -> Heard:
        """Ask a question, count it, and return the page of its answer, or of its refused form."""
        sent = self.post(f"/projects/{self.table.name}/ask/{word}", {"do": "ask", **fields})
        if sent.status != 303:
            return sent
        while self.worker.work_once():
            pass
        Queue(self.services.archive).publish_states()
        shown = self.get(sent.headers["location"])
        return self.get(shown.headers["location"]) if shown.status == 303 else shown

    @property
    def charges(self) -> int:
        return len(self.services.archive.ledger.statement(self.table.name).grants)
