"""A whole server over TLS, asked by `dp.Remote`, while its workers and it itself are killed."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from http.client import HTTPSConnection
from pathlib import Path
from types import SimpleNamespace

import pytest
from at_once import at_once
from click.testing import CliRunner
from running import SECONDS, Running
from scene import Scene, made

import dpcurves as dp
from dpcurves.arguments import ServiceUnavailable
from dpcurves.cli.app import build
from dpcurves.curves.view import define_view
from dpcurves_parties.serving.channel import Channel, make_ca_context
from dpcurves_parties.serving.identity import CertificatePair
from dpcurves_server import remote
from dpcurves_server.cli import remotes

HISTOGRAM = dp.HistogramQuestion("delay", dp.Grid(-60, 600, cells=66))
CDF = dp.CdfQuestion("delay", dp.Grid(-60, 600, cells=66))
LOSS = dp.PrivacyLoss.pure("0.25")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    scene: Scene = made(tmp_path_factory.mktemp("remote"))
    server = Running(scene)
    server.start()
    yield server
    server.stop()


def test_a_remote_asks_as_a_session_does_and_pays_once(running: Running) -> None:
    with running.remote("ann") as ann, running.remote("bob") as bob:
        assert ann.remaining == dp.PrivacyLoss.pure(1)
        (plan,) = ann.plan(HISTOGRAM, LOSS)
        curve = ann.ask(HISTOGRAM, LOSS)
        assert plan.distribution == curve.evidence.sums
        assert bob.ask(HISTOGRAM, LOSS).to_json() == curve.to_json()
        assert (ann.remaining, bob.remaining) == (dp.PrivacyLoss.pure("0.75"), dp.PrivacyLoss.pure(1))
        with pytest.raises(dp.BudgetExceeded, match=r"0\.75 of 1 is left"):
            ann.ask(HISTOGRAM, dp.PrivacyLoss.pure("0.8"))
        with pytest.raises(ValueError, match="declares no column 'name'"):
            ann.ask(dp.CdfQuestion("name", dp.Grid(0, 1, cells=4)), LOSS)
        for ending in ("json", "svg", "png", "csv", "xlsx", "html"):
            assert _later(partial(ann.export, ann.releases[0]["id"], ending))


def _later(told: Callable[[], object], times: int = 3) -> object:
    """Asked again while a picture is not there yet, as the message says, on a machine that does much else."""
    for _ in range(times - 1):
        with suppress(ServiceUnavailable):
            return told()
    return told()


def test_killed_workers_and_a_killed_server_lose_nothing_and_charge_nothing_twice(running: Running) -> None:
    scene = running.scene
    asked = scene.gate.questions.ask(scene.bob, "delays", {"ask": "cdf", "column": "delay", "grid": "-60:600:66"}, LOSS)
    assert running.kill_workers() >= 2  # who charges, who counts, and, once it has begun, who draws
    running.kill()
    running.start()
    with running.remote("bob") as bob:
        curve = bob.ask(CDF, LOSS)
        assert bob.remaining == dp.PrivacyLoss.pure("0.75")
        assert bob.curve(asked.id).to_json() == curve.to_json()
    assert scene.gate.archive.ledger.verify().entries > 0


def test_a_token_that_is_none_and_another_certificate_are_refused(running: Running) -> None:
    place, ca = f"https://127.0.0.1:{running.port}", running.scene.folder / "cert.pem"
    with pytest.raises(ValueError, match="sign-in: send a token"):
        dp.Remote(place, "no token", ca=ca)
    other = running.scene.folder / "other.pem"
    CertificatePair.generate("127.0.0.1").write(other, running.scene.folder / "other.key")
    with pytest.raises(ValueError, match="another server answers at .* than .* names"):
        dp.Remote(place, "no token", ca=other)


def test_an_older_tls_is_refused(running: Running) -> None:
    def met_by(version: ssl.TLSVersion) -> str | None:
        context = ssl.create_default_context(cafile=running.scene.folder / "cert.pem")
        context.maximum_version = version
        with (
            socket.create_connection(("127.0.0.1", running.port)) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as spoken,
        ):
            return spoken.version()

    assert met_by(ssl.TLSVersion.TLSv1_3) == "TLSv1.3"
    with pytest.raises(ssl.SSLError):
        met_by(ssl.TLSVersion.TLSv1_2)


def test_the_command_line_logs_in_asks_and_exports(running: Running) -> None:
    folder, scene = running.scene.folder, running.scene
    token = scene.gate.tokens.make(scene.ann, "delays", "shell", 1)

    def run(*arguments: str, typed: str = "") -> str:
        environment = {"XDG_CONFIG_HOME": str(folder / "config")}
        done = CliRunner().invoke(app, ["remote", *arguments], input=typed, env=environment)
        assert done.exit_code == 0, done.output
        return done.stdout

    app = build()
    run("login", f"https://127.0.0.1:{running.port}", "--ca", str(folder / "cert.pem"), typed=f"{token}\n")
    assert (folder / "config" / "dpcurves" / "remote.json").stat().st_mode & 0o077 == 0
    asked = ("histogram", "--column", "delay", "--grid=-60:600:66", "--epsilon", "0.25")
    assert "standard error" in run("plan", *asked)
    assert "left: epsilon 0.75" in run("ask", *asked)
    view = dp.View("some", columns={"half": "delay / 2"})
    scene.gate.archive.ledger.change_view("flights", define_view(view))
    halves = ("--column", "half", "--grid=-60:600:66", "--epsilon", "0.25", "--view", "some")
    assert "histogram of delay / 2" in run("plan", "histogram", *halves)
    assert "left: epsilon 0.5" in run("ask", "histogram", *halves)
    with running.remote("ann") as ann:
        assert ann.views == {"some": view}
        assert ann.releases[0]["purpose"] == "histogram of delay / 2"
    release = run("releases").split()[0]
    run("export", release, "--out", str(folder / "answer.json"))
    assert (folder / "answer.json").read_text().startswith("{")


def log_in(number: int, folder: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", folder)
        patch.setattr(remote, "Remote", lambda *_, **__: SimpleNamespace(close=int))  # nobody is asked
        patch.setattr(remotes, "read_secret", lambda secret: f"token {number}")
        for _ in range(20):
            remotes.login(remotes.Server("https://127.0.0.1:8443"))
            assert json.loads((Path(folder) / "dpcurves" / "remote.json").read_text())["url"]


def test_eight_processes_that_log_in_at_once_leave_one_whole_token(tmp_path: Path) -> None:
    at_once(log_in, str(tmp_path))
    assert [file.name for file in (tmp_path / "dpcurves").iterdir()] == ["remote.json"]
    assert (tmp_path / "dpcurves" / "remote.json").stat().st_mode & 0o077 == 0


def test_a_forged_header_gives_nobody_another_address(running: Running) -> None:
    """Wrong passwords are counted by address: five are free, whatever a principal says of the own address.

    The sixth has to wait for a second: on a machine that takes as long for it, the next one, which has to wait for two.
    """
    trusted = ssl.create_default_context(cafile=str(running.scene.folder / "cert.pem"))
    house, statuses = f"127.0.0.1:{running.port}", []
    for number in range(12):
        line = HTTPSConnection(house, context=trusted, timeout=60)
        headers = {
            "Origin": f"https://{house}", "Content-Type": "application/x-www-form-urlencoded",
            "X-Forwarded-For": f"192.0.2.{number}", "X-Forwarded-Proto": "http", "Forwarded": f"for=192.0.2.{number}",
        }  # fmt: skip
        line.request("POST", "/sign-in", "name=eve&password=guess", headers)
        statuses.append(line.getresponse().status)
        line.close()
        if statuses[-1] == 429:
            break
    assert statuses[:5] == [403] * 5
    assert statuses[-1] == 429


@pytest.mark.reproduction
def test_a_burst_of_large_plans_leaves_a_server_small_and_everybody_else_served(running: Running) -> None:
    scene = running.scene
    context, address = make_ca_context(scene.folder / "cert.pem"), f"https://127.0.0.1:{running.port}"
    tokens = {name: scene.gate.tokens.make(scene.principal(name), "delays", "here", 1) for name in ("ann", "bob")}

    def plan(name: str, cells: int) -> int:
        question_json = {"ask": "cdf", "column": "delay", "grid": f"-60:600:{cells}"}
        body = json.dumps({"question": question_json, "epsilon": "0.1"})
        with Channel(address, context, SECONDS) as channel:
            status, _ = channel._send_with_retry(
                "POST", "/api/1/projects/delays/plan", body.encode(),
                {"Authorization": f"Bearer {tokens[name]}", "Content-Type": "application/json"},
            )  # fmt: skip
        return status

    with ThreadPoolExecutor(16) as pool:
        burst = [pool.submit(plan, "ann", 4_000_000 if not number else 70_000 + number) for number in range(15)]
        with Channel(address, context, SECONDS) as channel:
            assert b"it answers" in channel.get("/api/1/health")
        assert plan("bob", 60) == 200
        statuses = [future.result(SECONDS) for future in burst]
    assert set(statuses) == {200, 429}
    assert running.process is not None
    status = Path(f"/proc/{running.process.pid}/status").read_text()
    assert int(status.partition("VmHWM:")[2].split()[0]) < 600 * 1024  # KiB: a plan apart takes 800 MiB
