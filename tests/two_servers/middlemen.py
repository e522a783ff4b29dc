"""Those who stand between two sides, as processes: one without keys, one that has stolen those of a server."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Callable, Mapping
from http.client import HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from secrets import token_hex
from socket import SHUT_RDWR, create_connection, create_server, socket
from threading import Lock, Thread
from time import sleep
from typing import Any

TO_SERVER, TO_CLIENT = 0, 1


def order(file: Path, **told: object) -> None:
    """Tell a middleman what to do from now on: `do`, and for a relay to which `side`, after how many bytes."""
    draft = file.with_suffix(".new")
    draft.write_text(json.dumps({"do": "pass", "order": token_hex(8), **told}))
    draft.rename(file)


# Without keys


def relay(port: int, onward: int, orders: Path) -> None:
    """Pass bytes on between a port and another one, and damage some of them."""
    damage = Damage(orders)
    with create_server(("127.0.0.1", port)) as listening:
        while True:
            near, _ = listening.accept()
            try:
                far = create_connection(("127.0.0.1", onward))
            except OSError:
                near.close()
                continue
            for side, (source, target) in ((TO_SERVER, (near, far)), (TO_CLIENT, (far, near))):
                Thread(target=passed_on, args=(source, target, side, damage), daemon=True).start()


def passed_on(source: socket, target: socket, side: int, damage: Damage) -> None:
    try:
        while chunk := source.recv(2**14):
            target.sendall(damage.done_to(chunk, side))
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(SHUT_RDWR)
        except OSError:
            end.close()


class Damage:
    """What is done to bytes, by the orders of the moment. Bytes are counted from an order on, in all connections."""

    def __init__(self, orders: Path) -> None:
        self._file, self._lock = orders, Lock()
        self._text, self._orders, self._gone = "", dict[str, Any](), [0, 0]

    def done_to(self, chunk: bytes, side: int) -> bytes:
        """Raises `OSError` where the connection is cut."""
        orders, start = self._counted(len(chunk), side)
        if orders.get("do") == "pass" or orders["side"] != side or start + len(chunk) <= orders["after"]:
            return chunk
        place = max(orders["after"] - start, 0)
        if orders["do"] == "flip" or (orders["do"] == "flip once" and start <= orders["after"]):
            return chunk[:place] + bytes([chunk[place] ^ 4]) + chunk[place + 1 :]
        if orders["do"] == "hold":
            self._wait(orders)
            raise OSError("held, and then lost")
        if orders["do"] == "cut":
            raise OSError("cut")
        return chunk

    def _counted(self, size: int, side: int) -> tuple[Mapping[str, Any], int]:
        with self._lock:
            text = self._file.read_text()
            if text != self._text:
                self._text, self._orders, self._gone = text, json.loads(text), [0, 0]
            start, self._gone[side] = self._gone[side], self._gone[side] + size
            return self._orders, start

    def _wait(self, orders: Mapping[str, Any]) -> None:
        while json.loads(self._file.read_text()) == orders:
            sleep(0.02)


# With the keys of a server

Change = Callable[[bytes, bytes], bytes]
"""What is told instead of an answer, by one that was recorded before."""


def changed(**facts: object) -> Change:
    return lambda answer, before: json.dumps({**json.loads(answer), **facts}).encode()


def with_that_of_before(name: str) -> Change:
    return lambda answer, before: json.dumps({**json.loads(answer), name: json.loads(before)[name]}).encode()


def torn(answer: bytes, before: bytes) -> bytes:
    """One letter of the sealed half is another one."""
    half = str(json.loads(answer)["half"])
    return changed(half=half[:90] + ("A" if half[90] != "A" else "B") + half[91:])(answer, before)


CHANGES: Mapping[str, Change] = {
    "pass": lambda answer, before: answer,
    "replay": lambda answer, before: before,
    "cut off": lambda answer, before: answer[:-9],
    "nothing": lambda answer, before: b"[]",
    "no text": lambda answer, before: bytes([255]) + answer[1:],
    "other thresholds": changed(thresholds=[1, 2, 3, 4]),
    "other version": changed(version=1),
    "other task": changed(task="0" * 64),
    "other set": changed(set="0" * 64),
    "fewer reports": changed(reports=199),
    "other noise": changed(commitments=["0" * 64, "1" * 64]),
    "others dropped": changed(dropped=1),
    "no half": changed(half=None),
    "open half": changed(half=[0] * 4, numbers=[0] * 4),
    "torn half": torn,
    "old half": with_that_of_before("half"),
    "old halves": with_that_of_before("halves"),
}


def spy(port: int, onward: int, folders: tuple[str, str], orders: Path) -> None:
    """Answer in the name of the server whose folder is the first, with the second's keys where that is asked for."""
    with ThreadingHTTPServer(("127.0.0.1", port), spying(onward, folders, orders)) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{folders[0]}/tls.pem", f"{folders[0]}/tls.key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.serve_forever()


def spying(onward: int, folders: tuple[str, str], orders: Path) -> type[BaseHTTPRequestHandler]:
    recorded: dict[str, bytes] = {}

    class Spy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            what, told = self.path.rpartition("/")[2], json.loads(orders.read_text())
            status, answer = self.asked(body)
            if told.get("at") == what and told["do"] == "hold":
                while json.loads(orders.read_text()) == told:
                    sleep(0.02)
            elif told.get("at") == what:
                answer = CHANGES[told["do"]](answer, recorded.get(what, b""))
            elif status == 200:
                recorded[what] = answer
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST

        def asked(self, body: bytes) -> tuple[int, bytes]:
            context = ssl.create_default_context(cafile=f"{folders[0]}/tls.pem")
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            if "/peer/" in self.path:
                context.load_cert_chain(f"{folders[1]}/tls.pem", f"{folders[1]}/tls.key")
            connection = HTTPSConnection("127.0.0.1", onward, context=context)
            shown = {name: self.headers[name] for name in ("Authorization",) if name in self.headers}
            connection.request(self.command, self.path, body, shown)
            response = connection.getresponse()
            return response.status, response.read()

        def log_message(self, format: str, *args: object) -> None:
            """Spies are silent."""

    return Spy


def quietly(work: Callable[..., None], *arguments: object) -> None:
    """A middleman prints nothing, also where the other side goes away."""
    with Path(os.devnull).open("w") as nothing:
        for stream in (1, 2):
            os.dup2(nothing.fileno(), stream)
        work(*arguments)
