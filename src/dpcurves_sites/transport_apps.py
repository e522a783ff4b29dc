"""Flower and NVFlare as message transport of a federation: a local socket at each site, and the apps to deploy.

A federation is a group of sites that keep their records and reveal only noisy sums of their counts. Its messages
usually go by HTTPS to a coordinator. Where Flower or NVFlare already connects the machines, an app of theirs (the
*carrier*) passes the messages on in batches:

    SocketTransport      at a site: gives its requests to the carrier on the same machine, over a Unix socket
    write_transport      the command `dpcurves federation app`: writes the app into a new folder, prints how to start it
    write_flower_app     writes an app for Flower, its settings and a start script
    write_nvflare_job    writes a job for NVFlare

Formal guarantees: those of the site, even if the carrier is malicious. Sites and coordinator sign their messages, so a
changed message is refused, and counts are masked before they are sent.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Condition, Thread
from types import MappingProxyType

from dpcurves.arguments import ProtocolError
from dpcurves.cli.options import option, parse_choice
from dpcurves.cli.terminal import make_console, print_to_console
from dpcurves_parties.serving.messages import parse_refusal

from .transport import END_OF_EXCHANGE, SITE_SECONDS, pack_parts, receive_part, unpack_parts

EMPTY_ANSWER_PATHS = re.compile(r"/rounds/[0-9a-f]+/([0-9]+|refused)$")
"""Paths of requests whose answer is empty on success; such a request is sent with the next batch, and nobody waits for
it."""
REFUSED_WITHOUT_REASON = "coordinator: refused without a reason"
"""Error message for a refusal of the coordinator that has no text."""
WAITING_PATH = "/waiting"
"""End of the path of a site's request for the next round; if a message in the same batch came too late, it is answered
with no round."""


class SocketTransport:
    """Transport of a site's requests by a local socket instead of a connection to the coordinator.

    The carrier connects, sends the answer to the last batch, and receives the next batch. The socket transfers the same
    bytes as HTTPS: signed messages, masked vectors and the site's ticket (its bearer token). The carrier can read them,
    as a coordinator can. Run the carrier as another user than the site, with access to the socket only, not to records,
    key and ledger.

    Formal guarantees: as `SiteAgent`, for any behaviour of the carrier. Answers are verified by their signatures,
    batches are repeated unchanged, and an answer to another batch is ignored.

    Args:
        socket_path: Path of the socket, created for its user and group only.
        timeout: Seconds for which `fetch_batch` waits for a batch.

    Raises:
        ProtocolError: The socket cannot be created.
    """

    __slots__ = ("_answer", "_batch", "_changed", "_number", "_patience", "_place", "_server", "_waiting")

    def __init__(self, socket_path: Path, timeout: float = SITE_SECONDS / 2) -> None:
        """Listen at a Unix socket, at which an app of Flower or NVFlare fetches this site's requests to the
        coordinator.

        Args:
            socket_path: Path of the socket.
            timeout: Longest wait for the next batch of requests, in seconds.

        Raises:
            ProtocolError: the socket cannot be created.
        """
        self._place = socket_path
        self._patience = timeout
        self._number = secrets.randbits(62)  # differs from an earlier process's numbers
        self._waiting = list[bytes]()
        self._batch = b""
        self._answer = b""
        self._changed = Condition()

        # The socket must never be open to others, not even between its creation and a change of its mode.
        with suppress(FileNotFoundError):
            socket_path.unlink()
        self._server = socket.socket(socket.AF_UNIX)
        old_mask = os.umask(0o117)
        try:
            self._server.bind(str(socket_path))
        except OSError as error:
            raise ProtocolError(
                "carried",
                f"{str(socket_path)!r} cannot be created as a socket ({error.strerror}); name a path in "
                "a folder that you may write to",
            ) from None
        finally:
            os.umask(old_mask)
        self._server.listen()
        Thread(target=self._accept_connections, daemon=True).start()

    def post(self, path: str, body: bytes, token: str = "") -> bytes:
        """Send a request and wait for its answer, without a time limit.

        A request whose answer is empty on success (`EMPTY_ANSWER_PATHS`) returns at once, and is sent with the next
        request.

        Args:
            path: Path below the coordinator's address.
            body: Body of the request.
            token: Bearer token; empty: none.

        Returns:
            Body of the answer; empty for a request that waits for the next one.

        Raises:
            ProtocolError: The request, or an earlier message of its batch, was refused.
        """
        self._waiting += [path.encode(), body]
        if EMPTY_ANSWER_PATHS.search(path):
            return b""

        # One request is under way at a time: its number distinguishes its answer from a late answer.
        with self._changed:
            self._number += 1
            self._batch = pack_parts([str(self._number).encode(), token.encode(), *self._waiting])
            self._waiting = []
            self._answer = b""
            self._changed.notify_all()
            while not self._answer:
                self._changed.wait()
            _, status, unsent_count, body_received = unpack_parts(self._answer)
            self._batch = b""

        if unsent_count != b"0" and path.endswith(WAITING_PATH):
            return b""  # a late message of a round that is over
        if status != b"200":
            raise ProtocolError.from_error_line(parse_refusal(body_received, REFUSED_WITHOUT_REASON), int(status))
        return body_received

    def close(self) -> None:
        """Close the Unix socket and delete its file."""
        self._server.close()
        with suppress(FileNotFoundError):
            self._place.unlink()

    def fetch_batch(self, answer: bytes) -> bytes:
        """Give the site the coordinator's answer, and return the site's next batch of requests; the app's side of
        `post`.

        Args:
            answer: Answer to the current batch. Empty bytes, `END_OF_EXCHANGE`, and answers to other batches are
            ignored.

        Returns:
            The batch that waits for an answer; empty if no batch arrives before the timeout.

        Raises:
            ValueError: The answer is malformed.
        """
        with self._changed:
            if (
                answer not in (b"", END_OF_EXCHANGE)
                and self._batch
                and not self._answer
                and _parse_batch_number(answer) == self._number
            ):
                self._answer = answer
                self._changed.notify_all()
            self._changed.wait_for(lambda: self._batch and not self._answer, self._patience)
            return b"" if self._answer else self._batch

    def _accept_connections(self) -> None:
        """Accept connections of the app that transports messages, each in its own thread, until the socket closes."""
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            Thread(target=self._exchange_batch, args=(connection,), daemon=True).start()

    def _exchange_batch(self, connection: socket.socket) -> None:
        """Receive an answer of the coordinator over one connection, and send the site's next batch of requests.

        A broken connection is dropped.

        Args:
            connection: Connection of the app that transports messages.
        """
        with connection, suppress(OSError, ValueError):
            connection.settimeout(SITE_SECONDS)
            connection.sendall(pack_parts([self.fetch_batch(receive_part(connection))]))


def _parse_batch_number(answer: bytes) -> int:
    """Return the number of the batch of requests that a coordinator's answer belongs to.

    Args:
        answer: Answer of the coordinator.

    Raises:
        ValueError: The answer is malformed.
    """
    number, status, remaining, _ = unpack_parts(answer)
    if not status.isdigit() or not remaining.isdigit():
        raise ValueError("the coordinator's answer has no status")
    return int(number)


# Files of the apps. Words in capitals (TASK, ADDRESS, FLOWER) are replaced by the options of the command.
MODULE_FOLDER = Path(__file__).parent
"""Folder of this package, from which modules are copied into an app that is written."""
FLOWER = "1.42.0"
"""Version of Flower that the written app is tested with, and declares."""
PROJECT = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "dpcurves-carrier"
version = "1.0.0"
description = "Carries signed and masked messages of a dpcurves federation"
license = { file = "LICENSE" }
dependencies = ["flwr>=1.42"]

[tool.hatch.build.targets.wheel]
packages = ["."]

[tool.flwr.app]
publisher = "dpcurves"
fab-format-version = 1
flwr-version-target = "FLOWER"

[tool.flwr.app.components]
serverapp = "dpcurves_carrier.flower:server"
clientapp = "dpcurves_carrier.flower:client"

[tool.flwr.app.config]
task = "TASK"
patience = 300.0
"""
"""Text of the Flower app's `pyproject.toml`; FLOWER and TASK in it are replaced."""
LAUNCH = """#!/bin/sh
# Runs Flower beside a dpcurves federation: launch superlink|supernode|run ARGUMENTS of the command of that name.
# Nothing is told to Flower's makers, nothing is installed at run time, and the settings are those of this folder.
set -e
here=$(cd "$(dirname "$0")" && pwd)
export FLWR_TELEMETRY_ENABLED=0 FLWR_DISABLE_UPDATE_CHECK=1 FLWR_HOME="${FLWR_HOME:-$here/home}"
mkdir -p "$FLWR_HOME"
what=$1
shift
case $what in
superlink) exec flower-superlink --disable-runtime-dependency-installation "$@" ;;
supernode) exec flower-supernode "$@" ;;
run) exec flwr run "$here/app" "$@" ;;
*) exec flwr "$what" "$@" ;;
esac
"""
"""Text of the shell script `launch`, which runs Flower's commands without telemetry to Flower's makers."""
SETTINGS = """[superlink]
default = "local"

[superlink.local]
address = "ADDRESS"
insecure = true
"""
"""Text of Flower's `config.toml`; ADDRESS in it is replaced by the address of the SuperLink."""
LICENSE = "dpcurves is under the Apache License, version 2.0: https://www.apache.org/licenses/LICENSE-2.0\n"
"""Text of the file `LICENSE` of the Flower app."""


NVFLARE_META = """{"name": "dpcurves-carrier", "resource_spec": {}, "deploy_map": {"app": ["@ALL"]}, "min_clients": 1}
"""
"""Text of the NVFlare app's `meta.json`."""
CONTROLLER = """{
  "format_version": 2,
  "workflows": [
    {"id": "carry", "path": "dpcurves_sites.nvflare.TransportController", "args": {"task": TASK, "patience": 300.0}}
  ],
  "components": []
}
"""
"""Text of the NVFlare app's configuration of the server; TASK in it is replaced."""
EXECUTOR = """{
  "format_version": 2,
  "executors": [
    {"tasks": ["carry"], "executor": {"path": "dpcurves_sites.nvflare.TransportExecutor", "args": {}}}
  ],
  "components": []
}
"""
"""Text of the NVFlare app's configuration of the clients."""


@dataclass(frozen=True)
class TransportOptions:
    """Options of the transport system and of the folder of its app."""

    framework: str = option("WHO", "The transport system: flower or nvflare.")
    task: str = option("FILE", "The path of the task document on the coordinator's machine.")
    out: str = option("FOLDER", "A new folder for the app.")
    address: str = option("HOST:PORT", "The address of Flower's SuperLink.", "127.0.0.1:8000")


def write_transport(options: TransportOptions) -> None:
    """Write an app for Flower or NVFlare that transports the messages of a federation.

    Example: dpcurves federation app --by flower --task task.json --out carrier
    """
    from dpcurves.arguments import ProtocolError

    write: Callable[[TransportOptions, Path], str] = parse_choice(
        "framework", options.framework, {"flower": write_flower_app, "nvflare": write_nvflare_job}
    )
    folder = Path(options.out)
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise ProtocolError("out", f"{str(folder)!r} cannot be made ({error.strerror}); name another folder") from None
    print_to_console(make_console(), f"written: {folder}", write(options, folder))


def write_flower_app(options: TransportOptions, folder: Path) -> str:
    """Write an app for Flower that transports the messages of a federation, with its settings and a start script.

    Args:
        options: Path of the task document, and address of Flower's SuperLink.
        folder: An existing folder, in which ``app``, ``launch`` and, in ``home``, ``config.toml`` are written.

    Returns:
        Usage instructions, one line.
    """
    task = str(Path(options.task).resolve())
    settings = SETTINGS.replace("ADDRESS", options.address)
    texts = {
        "app/pyproject.toml": PROJECT.replace("FLOWER", FLOWER).replace("TASK", task), "app/LICENSE": LICENSE,
        "home/config.toml": settings, "launch": LAUNCH,
    }  # fmt: skip
    write_files(folder, {**texts, **read_sources("app/dpcurves_carrier", "flower.py")})
    (folder / "launch").chmod(0o755)
    return f"{folder / 'launch'} superlink|supernode|run, with the options of Flower, starts it"


def write_nvflare_job(options: TransportOptions, folder: Path) -> str:
    """Write a job for NVFlare that transports the messages of a federation.

    Args:
        options: Path of the task document.
        folder: An existing folder, in which ``meta.json`` and ``app/config`` are written.

    Returns:
        Usage instructions, one line.
    """
    task = json.dumps(str(Path(options.task).resolve()))
    texts = {
        "meta.json": NVFLARE_META, "app/config/config_fed_server.json": CONTROLLER.replace("TASK", task),
        "app/config/config_fed_client.json": EXECUTOR,
    }  # fmt: skip
    write_files(folder, texts)
    return "submit it as a job; set DPCURVES_SOCKET at each site to the socket of its process"


def read_sources(package: str, app: str) -> Mapping[str, str]:
    """Return the source files that a copied app needs; they import nothing else of dpcurves.

    Args:
        package: Folder of the app's Python package, such as ``app/dpcurves_carrier``.
        app: Name of the file of this package that has the app, such as ``flower.py``.

    Returns:
        Source texts by path below the app's folder.
    """
    files = {name: (MODULE_FOLDER / name).read_text(encoding="utf-8") for name in ("__init__.py", "transport.py", app)}
    return MappingProxyType({f"{package}/{name}": text for name, text in files.items()})


def write_files(folder: Path, texts: Mapping[str, str]) -> None:
    """Write text files below a folder, in UTF-8; missing folders are created and old files replaced.

    Args:
        folder: The folder.
        texts: Texts by relative path.
    """
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
