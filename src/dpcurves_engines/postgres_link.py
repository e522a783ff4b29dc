"""SENSITIVE. The connection to PostgreSQL, and the settings that must hold while it counts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from dpcurves.arguments import InvalidArgument, MissingPackage
from dpcurves.arrays import FloatArray
from dpcurves.records.source import hide_failure

# SENSITIVE. The connection to PostgreSQL: encrypted off this machine, in one moment, and silent about what fails.
FAILED = (
    "PostgreSQL did not answer, and its snapshot is gone (what it says is not shown: it may quote a record); "
    "ask again in a new session"
)
GONE = "the connection to PostgreSQL and its snapshot are gone; ask again in a new session"
OLDEST = 130000
STRICT = ("require", "verify-ca", "verify-full")
SECONDS_TO_CONNECT = 20
SECONDS_FOR_LOCK = 10
WAITING = {
    "connect_timeout": SECONDS_TO_CONNECT,
    "keepalives_idle": 60,
    "keepalives_interval": 10,
    "keepalives_count": 6,
}

# No row may make the server stop waiting, guess a name, or write a value otherwise.
SETTINGS = {
    "statement_timeout": "0", "idle_in_transaction_session_timeout": "0", "idle_session_timeout": "0",
    "transaction_timeout": "0", "lock_timeout": f"{SECONDS_FOR_LOCK}s", "row_security": "off", "timezone": "UTC",
    "datestyle": "ISO", "intervalstyle": "postgres", "extra_float_digits": "1", "jit": "off", "bytea_output": "hex",
}  # fmt: skip
NEWER = {"idle_session_timeout": 140000, "transaction_timeout": 170000}
SAID = (
    ("password authentication failed", "the password or the role is not right: give PGPASSWORD or a line of ~/.pgpass"),
    ("no password supplied", "a password is needed: give PGPASSWORD or a line of ~/.pgpass"),
    ("role", "there is no such role, or it may not log in: name one as in postgresql://reader@host/database"),
    ("permission denied for database", "the role may not connect: GRANT CONNECT ON DATABASE ... TO it"),
    ("database", "there is no such database: name one as in postgresql://reader@host/database"),
    ("pg_hba.conf", "the server lets this role, database, address or lack of TLS not in: see its pg_hba.conf"),
    ("server does not support SSL", "the server has no TLS, which is demanded off loopback: turn ssl on there"),
    ("certificate", "the certificate of the server is not verified: give sslrootcert=FILE of who signed it"),
    ("too many", "the server has no connection left: ask its administrator, or later"),
    ("remaining connection slots", "the server has no connection left: ask its administrator, or later"),
    ("refused", "nobody listens there: is the server running, and are host and port right?"),
    ("No such file", "nobody listens there: is the server running, and are host and port right?"),
    ("resolve", "there is no such host: name one as in postgresql://reader@host/database"),
    ("translate host name", "there is no such host: name one as in postgresql://reader@host/database"),
    ("timeout", f"it did not answer within {SECONDS_TO_CONNECT} seconds: are host, port and firewall right?"),
)  # fmt: skip
"""Texts of libpq, and the texts that replace them. The first that is found counts."""

Result = TypeVar("Result")


class SnapshotConnection:
    """A connection with one read-only transaction: everything that is read through it is one snapshot."""

    def __init__(self, url: str) -> None:
        self._connection = _connect(url)
        self.version = self._connection.info.server_version
        if self.version < OLDEST:
            self.close()
            raise InvalidArgument("data", f"PostgreSQL {OLDEST // 10000} or newer is needed; this is {self.name}")
        if self._connection.info.parameter_status("server_encoding") != "UTF8":
            self.close()
            raise InvalidArgument("data", "a database in UTF8 is needed; this one writes text in another encoding")
        self._run_or_close(
            self._apply_settings, "it did not take the settings of a reader; is this a pooler, or no PostgreSQL?"
        )

    def __repr__(self) -> str:
        return "Link(hidden)"

    @property
    def name(self) -> str:
        """Product and version, as the server says."""
        return f"PostgreSQL {self.version // 10000}.{self.version % 10000}"

    def _apply_settings(self) -> None:
        for name, value in SETTINGS.items():
            if self.version >= NEWER.get(name, 0):
                self._connection.execute("SELECT set_config($1, $2, false)", (name, value))

    def begin_snapshot(self) -> None:
        """Take the snapshot. Names of functions and operators mean the server's own from now on."""

        def start_transaction() -> None:
            self._connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._connection.execute("SET LOCAL search_path = pg_catalog")

        self._run_or_close(start_transaction)

    def fetch_rows(
        self, statement: str, parameters: Sequence[Any] = (), rule: str = FAILED, argument: str = "data"
    ) -> list[tuple[Any, ...]]:
        """The rows of an answer; if there is none the connection is closed, and `rule` is the refusal of `argument`.

        Raises:
            ValueError: the server did not answer, now or before.
        """
        if self._connection.closed:
            raise InvalidArgument("data", GONE)
        return self._run_or_close(lambda: self._fetch_all(statement, parameters), rule, argument)

    def _fetch_all(self, statement: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._connection.cursor(binary=True) as cursor:
            found: list[tuple[Any, ...]] = cursor.execute(statement, parameters, prepare=False).fetchall()
        return found

    def _run_or_close(self, action: Callable[[], Result], rule: str = FAILED, argument: str = "data") -> Result:
        try:
            return hide_failure(action, rule, argument)
        except BaseException:  # interrupted, the answer to this question would be taken for that to the next
            self.close()
            raise

    def fetch_batches(
        self, statement: str, rows: int, parameters: Sequence[Any] = ()
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Rows of an answer, so many at a time. Raises `ValueError`: the server did not answer, now or before."""
        if self._connection.closed:
            raise InvalidArgument("data", GONE)
        with self._connection.cursor("streamed", binary=True) as cursor:
            self._run_or_close(lambda: cursor.execute(statement, parameters))
            while found := self._run_or_close(lambda: cursor.fetchmany(rows)):
                yield found

    def close(self) -> None:
        """End the transaction and the connection."""
        hide_failure(self._connection.close, GONE)


class Doubles:
    """An array of doubles as a parameter. Shows nothing."""

    __slots__ = ("values",)

    def __init__(self, values: FloatArray) -> None:
        self.values = np.asarray(values, dtype=np.float64)

    def __repr__(self) -> str:
        return f"Doubles({len(self.values)})"

    def to_bytes(self) -> bytes:
        """PostgreSQL's binary form of a float8[]: the head, and before each double its length."""
        body = np.empty(len(self.values), dtype=[("length", ">i4"), ("value", ">f8")])
        body["length"], body["value"] = 8, self.values
        dimensions = 1 if len(self.values) else 0
        head = np.array([dimensions, 0, 701, *((len(self.values), 1) if dimensions else ())], dtype=">i4")
        return head.tobytes() + body.tobytes()


def _connect(url: str) -> Any:
    try:
        import psycopg
        from psycopg.adapt import Dumper
        from psycopg.pq import Format
    except ImportError:
        psycopg = None  # type: ignore[assignment]
    if psycopg is None:
        raise MissingPackage("data", "PostgreSQL needs an extra: pip install 'dpcurves[postgres]'")

    class DoublesDumper(Dumper):
        oid, format = 1022, Format.BINARY

        def dump(self, obj: Any) -> bytes:
            return bytes(obj.to_bytes())

    parameters = _require_tls(_parse_url(url))
    said = ""
    try:
        connection = psycopg.connect(
            **{**WAITING, **parameters, "client_encoding": "utf8"},
            autocommit=True, cursor_factory=psycopg.RawCursor, prepare_threshold=None,
        )  # fmt: skip
        connection.server_cursor_factory = psycopg.RawServerCursor
        connection.adapters.register_dumper(Doubles, DoublesDumper)
        return connection
    except (psycopg.Error, OSError, ValueError) as error:
        said = str(error)
    # A message of our own: that of libpq knows no record yet, but perhaps a password.
    found = (words for part, words in SAID if part.lower() in said.lower())
    wrong = next(found, "are host, port, database, role and TLS right?")
    raise InvalidArgument("data", f"PostgreSQL was not reached: {wrong}")


def _parse_url(url: str) -> dict[str, Any]:
    from psycopg.conninfo import conninfo_to_dict

    def parse_conninfo() -> dict[str, Any]:
        return dict(conninfo_to_dict(url))

    return hide_failure(
        parse_conninfo, "a URL as postgresql://reader@host/database is needed (it is not shown: it may hold a password)"
    )


def _require_tls(parameters: dict[str, Any]) -> dict[str, Any]:
    """Demand TLS for what leaves this machine. Raises `ValueError`: less was asked for."""
    if _is_local(parameters):
        return parameters
    mode = parameters.get("sslmode") or os.environ.get("PGSSLMODE") or "verify-full"
    if mode not in STRICT:
        raise InvalidArgument("data", "TLS is demanded off loopback: give sslmode=verify-full and sslrootcert=FILE")
    return {**parameters, "sslmode": mode}


def _is_local(parameters: dict[str, Any]) -> bool:
    """Tell whether all hosts are this machine. What a service file says is not known, so it is none."""
    if parameters.get("service") or os.environ.get("PGSERVICE"):
        return False
    hosts = (
        parameters.get("hostaddr") or os.environ.get("PGHOSTADDR")
        or parameters.get("host") or os.environ.get("PGHOST") or ""
    )  # fmt: skip
    return all(
        host in ("", "localhost", "::1") or host.startswith(("/", "@", "127.")) for host in str(hosts).split(",")
    )


ROOM = "temp_file_limit"
_SETTING = "SELECT current_setting($1, true)"
LOGGING = {
    "log_statement": ("all",), "debug_print_parse": ("on",), "debug_print_rewritten": ("on",),
    "debug_print_plan": ("on",), "pgaudit.log_parameter": ("on",),
}  # fmt: skip
"""Settings under which a parameter reaches the log."""
TIMED = ("log_min_duration_statement", "log_min_duration_sample", "auto_explain.log_min_duration")
SAMPLED = "log_transaction_sample_rate"
AFTER_ERRORS = "log_parameter_max_length_on_error"
"""Parameters of a statement that was cancelled are logged up to so many bytes."""


def require_unlimited_sorts(link: SnapshotConnection) -> None:
    """Refuse a server that stops a statement when it sorts more than so much: how much it sorts, rows decide.

    Raises:
        ValueError: it has a limit.
    """
    ((limit,),) = link.fetch_rows(_SETTING, (ROOM,))
    if limit not in (None, "-1"):
        raise InvalidArgument(
            "data",
            f"the server limits {ROOM}, so rows could stop a count: ALTER ROLE ... SET {ROOM} = -1 for the reader",
        )


def require_no_parameter_log(link: SnapshotConnection) -> None:
    """Refuse a server that would log the key by which the rows of a unit are ranked: a parameter of a statement.

    Raises:
        ValueError: it logs statements with their parameters.
    """
    found = {name: link.fetch_rows(_SETTING, (name,))[0][0] for name in _ASKED}
    named = [name for name, values in LOGGING.items() if found[name] in values]
    named += [name for name in TIMED if found[name] not in (None, "", "-1")]
    named += [SAMPLED] * (float(found[SAMPLED] or 0) > 0) + [AFTER_ERRORS] * (found[AFTER_ERRORS] not in (None, "0"))
    if found["log_parameter_max_length"] == "0":
        named = [name for name in named if name not in _BY_LENGTH]
    for name in named:
        raise InvalidArgument(
            "data",
            f"the server logs parameters ({name}), and the key that ranks rows is one: turn that off for the reader "
            "(ALTER ROLE), or give ranking='here'",
        )


_ASKED = (*LOGGING, *TIMED, SAMPLED, AFTER_ERRORS, "log_parameter_max_length")
_BY_LENGTH = {"log_statement", "log_min_duration_statement", "log_min_duration_sample", SAMPLED}
"""They write parameters up to the length that is set: none where it is 0."""
