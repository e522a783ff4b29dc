"""Others that carry messages for sites: what they run is written to a folder, from files of this package."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from typer import Option

from dpcurves.cli.options import chosen
from dpcurves.cli.terminal import say, terminal

HERE = Path(__file__).parent
FLOWER = "1.42.0"
"""The version of Flower that the app was tested with."""
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
SETTINGS = """[superlink]
default = "local"

[superlink.local]
address = "ADDRESS"
insecure = true
"""
LICENSE = "dpcurves is under the Apache License, version 2.0: https://www.apache.org/licenses/LICENSE-2.0\n"


META = """{"name": "dpcurves-carrier", "resource_spec": {}, "deploy_map": {"app": ["@ALL"]}, "min_clients": 1}
"""
CONTROLLER = """{
  "format_version": 2,
  "workflows": [
    {"id": "carry", "path": "dpcurves_sites.nvflare.CarryingController", "args": {"task": TASK, "patience": 300.0}}
  ],
  "components": []
}
"""
EXECUTOR = """{
  "format_version": 2,
  "executors": [
    {"tasks": ["carry"], "executor": {"path": "dpcurves_sites.nvflare.CarryingExecutor", "args": {}}}
  ],
  "components": []
}
"""


@dataclass(frozen=True)
class Carrying:
    """Options of those who carry."""

    by: Annotated[str, Option(help="Who carries: flower or nvflare.", metavar="WHO")]
    task: Annotated[str, Option(help="The task document, where the coordinator runs.", metavar="FILE")]
    out: Annotated[str, Option(help="A new folder for what they run.", metavar="FOLDER")]
    address: Annotated[str, Option(help="Where Flower's SuperLink is reached.", metavar="HOST:PORT")] = "127.0.0.1:8000"


def carry(carrying: Carrying) -> None:
    """Write what Flower or NVFlare runs to carry the messages of a federation, where sites have one of them anyway.

    Example: dpcurves federation carry --by flower --task task.json --out carrier
    """
    from dpcurves.arguments import ProtocolAborted

    write: Callable[[Carrying, Path], str] = chosen("by", carrying.by, {"flower": flower, "nvflare": nvflare})
    folder = Path(carrying.out)
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise ProtocolAborted("out", f"{str(folder)!r} cannot be made ({error.strerror})") from None
    say(terminal(), f"written: {folder}", write(carrying, folder))


def flower(carrying: Carrying, folder: Path) -> str:
    """Write an app for Flower, its settings, and a script that starts it; what to do with them."""
    task = str(Path(carrying.task).resolve())
    settings = SETTINGS.replace("ADDRESS", carrying.address)
    texts = {
        "app/pyproject.toml": PROJECT.replace("FLOWER", FLOWER).replace("TASK", task), "app/LICENSE": LICENSE,
        "home/config.toml": settings, "launch": LAUNCH,
    }  # fmt: skip
    write(folder, {**texts, **sources("app/dpcurves_carrier", "flower.py")})
    (folder / "launch").chmod(0o755)
    return f"{folder / 'launch'} superlink|supernode|run, with the options of Flower, starts it"


def nvflare(carrying: Carrying, folder: Path) -> str:
    """Write a job for NVFlare; what to do with it."""
    task = json.dumps(str(Path(carrying.task).resolve()))
    texts = {
        "meta.json": META, "app/config/config_fed_server.json": CONTROLLER.replace("TASK", task),
        "app/config/config_fed_client.json": EXECUTOR,
    }  # fmt: skip
    write(folder, texts)
    return "submit it as a job; each site says in DPCURVES_SOCKET where its own process listens"


def sources(package: str, app: str) -> Mapping[str, str]:
    """Files of this package that need no other of it."""
    files = {name: (HERE / name).read_text(encoding="utf-8") for name in ("__init__.py", "carrier.py", app)}
    return MappingProxyType({f"{package}/{name}": text for name, text in files.items()})


def write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files, each into its place."""
    for name, text in texts.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
