"""PostgreSQL with TLS and a certificate of one's own: off loopback only a verified server is spoken to."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from free_ports import free_port

import dpcurves as dp
from dpcurves.data import Grid
from dpcurves.data.axis import Axis
from dpcurves.privacy import EACH_RECORD
from dpcurves.records import open_records

psycopg = pytest.importorskip("psycopg")
BIN = Path("/usr/lib/postgresql/15/bin")
NOBODY = 65534
PASSWORD = "very-secret-word"
AGE = Axis("age", Grid(0, 100, cells=4))
USER: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


class Encrypted(NamedTuple):
    """A server with TLS, under a name that is not that of loopback."""

    host: str
    port: int
    authority: Path
    stranger: Path

    def url(self, more: str) -> str:
        return f"postgresql://reader:{PASSWORD}@{self.host}:{self.port}/postgres{more}"


def run(folder: Path, *command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, cwd=folder, **USER)


def certified(folder: Path, host: str) -> None:
    """An authority, a server's certificate that it signed, and an authority that signed nothing."""
    for name in ("authority", "stranger"):
        run(
            folder, "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
            "-keyout", f"{name}.key", "-out", f"{name}.crt",
        )  # fmt: skip
    run(
        folder, "openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={host}", "-keyout", "server.key",
        "-out", "server.csr",
    )  # fmt: skip
    (folder / "names").write_text(f"subjectAltName=DNS:{host}\n", encoding="utf-8")
    run(
        folder, "openssl", "x509", "-req", "-in", "server.csr", "-CA", "authority.crt", "-CAkey", "authority.key",
        "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", "server.crt",
    )  # fmt: skip
    (folder / "server.key").chmod(0o600)


@pytest.fixture(scope="module")
def encrypted() -> Iterator[Encrypted]:
    """Debian's server, for the one of the tests' package is built without TLS."""
    host = socket.gethostname()
    if not (BIN / "initdb").exists() or shutil.which("openssl") is None:
        pytest.skip("Debian's PostgreSQL 15 or openssl is not installed")
    try:
        socket.getaddrinfo(host, None)
    except OSError:
        pytest.skip("this machine does not know its own name")
    folder = Path(tempfile.mkdtemp(prefix="tls", dir="/tmp"))
    if USER:
        os.chown(folder, NOBODY, NOBODY)
    folder.chmod(0o755)
    certified(folder, host)
    port, data = free_port(), folder / "data"
    made = ("-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")
    run(folder, str(BIN / "initdb"), *made)
    allowed = "local all all trust\nhostssl all all all scram-sha-256\n"
    (data / "pg_hba.conf").write_text(allowed, encoding="utf-8")
    settings = (
        f"-c listen_addresses=* -c port={port} -c unix_socket_directories={folder} -c fsync=off -c ssl=on "
        f"-c ssl_cert_file={folder}/server.crt -c ssl_key_file={folder}/server.key"
    )
    control = (str(BIN / "pg_ctl"), "-D", str(data), "-w")
    run(folder, *control, "-l", f"{folder}/log", "-o", settings, "start")
    try:
        with psycopg.connect(f"postgresql://postgres@/postgres?host={folder}&port={port}", autocommit=True) as owner:
            owner.execute("CREATE TABLE visits AS SELECT (10 * i)::float8 AS age FROM generate_series(0, 9) AS of(i)")
            owner.execute(f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'")
            owner.execute("GRANT SELECT ON visits TO reader")
        yield Encrypted(host, port, folder / "authority.crt", folder / "stranger.crt")
    finally:
        run(folder, *control, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("mode", ["", "&sslmode=verify-full"])
def test_a_verified_server_is_counted(encrypted: Encrypted, mode: str) -> None:
    table = dp.postgres(encrypted.url(f"?sslrootcert={encrypted.authority}{mode}"), table="visits")
    with open_records(table, unit=EACH_RECORD, key=b"k") as records:
        assert records.counts((AGE,)).tolist() == [3, 2, 3, 2, 0]
        engine: Any = records._engine
        assert engine._link._connection.pgconn.ssl_in_use


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ("?sslmode=disable", "TLS is required except on loopback: give sslmode=verify-full and sslrootcert=FILE"),
        ("?sslmode=prefer", "TLS is required except on loopback: give sslmode=verify-full and sslrootcert=FILE"),
        ("?sslrootcert={0.stranger}", "PostgreSQL was not reached: the certificate of the server cannot be verified"),
        ("", "PostgreSQL was not reached: the certificate of the server cannot be verified"),
    ],
)  # fmt: skip
def test_who_is_not_verified_is_refused_in_one_line(encrypted: Encrypted, more: str, line: str) -> None:
    table = dp.postgres(encrypted.url(more.format(encrypted)), table="visits")
    with pytest.raises(ValueError, match="data: ") as caught:
        open_records(table, unit=EACH_RECORD, key=b"k")
    assert str(caught.value).startswith(f"data: {line}")
    assert "\n" not in str(caught.value)
    assert PASSWORD not in str(caught.value)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_a_name_that_the_certificate_does_not_bear_is_refused(encrypted: Encrypted) -> None:
    """The machine's address, where it has one that is not loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
        except OSError:
            pytest.skip("this machine has no address but loopback")
        address = str(probe.getsockname()[0])
    url = encrypted._replace(host=address).url(f"?sslrootcert={encrypted.authority}")
    with pytest.raises(ValueError, match="the certificate of the server cannot be verified"):
        open_records(dp.postgres(url, table="visits"), unit=EACH_RECORD, key=b"k")
