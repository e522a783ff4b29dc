"""SENSITIVE. The connection to PostgreSQL: one read-only snapshot, and the server settings that counting needs.

    one transaction    read-only, so that all counts of a question see one snapshot
    settings           no timeout that would end a long count; functions of ``pg_catalog`` only; TLS except on loopback
    refusals           servers that limit temporary files, or that log parameters (the key that ranks rows is one)

Formal guarantees: texts of the server's errors are never shown, because they may quote a row. No setting may make a
count fail because of rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from dpcurves.arguments import InvalidArgument, MissingPackage
from dpcurves.arrays import FloatArray
from dpcurves.records.source import hide_failure

# SENSITIVE. The connection: encrypted except on loopback, one snapshot, and errors without the server's texts.
FAILED = (
    "PostgreSQL did not answer, and its snapshot is gone (what it says is not shown: it may quote a record); "
    "ask again in a new session"
)
GONE = "the connection to PostgreSQL and its snapshot are gone; ask again in a new session"
STRICT = ("require", "verify-ca", "verify-full")
SECONDS_TO_CONNECT = 20
"""Seconds. Timeout of a connection."""
CONNECTION_SETTINGS = {
    "connect_timeout": SECONDS_TO_CONNECT,
    "keepalives_idle": 60,
    "keepalives_interval": 10,
    "keepalives_count": 6,
}
"""Seconds and counts: libpq's settings of timeouts and keepalives, so that a lost server is noticed within two
minutes."""

# Rows must not be able to cause timeouts, and the environment must not change names or formats.
SETTINGS = {
    "statement_timeout": "0", "idle_in_transaction_session_timeout": "0", "idle_session_timeout": "0",
    # wait at most 10 seconds for the lock on the definition of a table
    "transaction_timeout": "0", "lock_timeout": "10s", "row_security": "off", "timezone": "UTC",
    "datestyle": "ISO", "intervalstyle": "postgres", "extra_float_digits": "1", "jit": "off", "bytea_output": "hex",
}  # fmt: skip
TIMEOUT_VERSIONS = {"idle_session_timeout": 140000, "transaction_timeout": 170000}
"""Version numbers of PostgreSQL from which a timeout setting exists; older servers refuse the setting."""
SAID = (
    ("password authentication failed", "the password or the role is wrong: give them by PGPASSWORD or ~/.pgpass"),
    ("no password supplied", "a password is needed: give PGPASSWORD or a line of ~/.pgpass"),
    ("role", "there is no such role, or it may not log in: name one as in postgresql://reader@host/database"),
    ("permission denied for database", "the role may not connect: GRANT CONNECT ON DATABASE ... TO the role"),
    ("database", "there is no such database: name one as in postgresql://reader@host/database"),
    ("pg_hba.conf", "the server refuses this role, database, address or lack of TLS:"
        " ask its administrator to allow it in pg_hba.conf"),
    ("server does not support SSL", "the server has no TLS, which is required except on loopback: turn ssl on there"),
    ("certificate", "the certificate of the server cannot be verified:"
        " give sslrootcert=FILE, the certificate of its issuer"),
    ("too many", "the server has no connection left: try later, or ask its administrator"),
    ("remaining connection slots", "the server has no connection left: try later, or ask its administrator"),
    ("refused", "no server listens there: start it, or correct host and port"),
    ("No such file", "no server listens there: start it, or correct host and port"),
    ("resolve", "there is no such host: name one as in postgresql://reader@host/database"),
    ("translate host name", "there is no such host: name one as in postgresql://reader@host/database"),
    ("timeout", f"the server did not answer within {SECONDS_TO_CONNECT} seconds: check host, port and firewall"),
)  # fmt: skip
"""Parts of libpq's messages with their replacements; the first match applies."""

Result = TypeVar("Result")


class SnapshotConnection:
    """A connection with a single read-only transaction, so that all reads see one snapshot.

    Args:
        url: ``postgresql://reader@host/database``; never shown, because it may hold a password.

    Raises:
        ValueError: the server cannot be reached, is older than PostgreSQL 13, or its database is not in UTF8.
    """

    def __init__(self, url: str) -> None:
        self._connection = _connect(url)
        self.version = self._connection.info.server_version
        oldest = 130000  # version number: oldest supported server version, as PostgreSQL numbers it: 13.0
        if self.version < oldest:
            self.close()
            raise InvalidArgument(
                "data", f"PostgreSQL {oldest // 10000} or newer is needed; this is {self.name}: upgrade the server"
            )
        if self._connection.info.parameter_status("server_encoding") != "UTF8":
            self.close()
            raise InvalidArgument(
                "data",
                "only databases in UTF8 are read, and this one has another encoding;"
                " copy the table to a database in UTF8",
            )
        self._run_or_close(
            self._apply_settings, "it did not take the settings of a reader; is this a pooler, or no PostgreSQL?"
        )

    def __repr__(self) -> str:
        return "Link(hidden)"

    @property
    def name(self) -> str:
        """Product and version of the server."""
        return f"PostgreSQL {self.version // 10000}.{self.version % 10000}"

    def _apply_settings(self) -> None:
        """Set the session's settings that this server version knows: no timeouts, fixed formats."""
        for name, value in SETTINGS.items():
            if self.version >= TIMEOUT_VERSIONS.get(name, 0):
                self._connection.execute("SELECT set_config($1, $2, false)", (name, value))

    def begin_snapshot(self) -> None:
        """Begin the read-only transaction, in which functions and operators are those of ``pg_catalog``."""

        def start_transaction() -> None:
            """Begin the read-only transaction and fix the search path."""
            self._connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._connection.execute("SET LOCAL search_path = pg_catalog")

        self._run_or_close(start_transaction)

    def fetch_rows(
        self, statement: str, parameters: Sequence[Any] = (), rule: str = FAILED, argument: str = "data"
    ) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows. A failure closes the connection.

        Args:
            statement: SQL with placeholders $1, $2, ...
            parameters: Their values.
            rule: Text of the error, in the place of the server's.
            argument: Name of the argument at fault, for the error.

        Raises:
            ValueError: the statement failed, or the connection is closed.
        """
        if self._connection.closed:
            raise InvalidArgument("data", GONE)
        return self._run_or_close(lambda: self._fetch_all(statement, parameters), rule, argument)

    def _fetch_all(self, statement: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return all rows of a statement, in binary format."""
        with self._connection.cursor(binary=True) as cursor:
            rows: list[tuple[Any, ...]] = cursor.execute(statement, parameters, prepare=False).fetchall()
        return rows

    def _run_or_close(self, action: Callable[[], Result], rule: str = FAILED, argument: str = "data") -> Result:
        """Return the result of `action`. After any error, close the connection and raise `rule` without the server's
        text.
        """
        try:
            return hide_failure(action, rule, argument)
        except BaseException:  # after an interrupt, the next statement could read the answer to this statement
            self.close()
            raise

    def fetch_batches(
        self, statement: str, rows: int, parameters: Sequence[Any] = ()
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of a statement in batches, through a server-side cursor.

        Args:
            statement: SQL with placeholders $1, $2, ...
            rows: Largest number of rows in a batch.
            parameters: Values of the placeholders.

        Raises:
            ValueError: the statement failed, or the connection is closed.
        """
        if self._connection.closed:
            raise InvalidArgument("data", GONE)
        with self._connection.cursor("streamed", binary=True) as cursor:
            self._run_or_close(lambda: cursor.execute(statement, parameters))
            while batch := self._run_or_close(lambda: cursor.fetchmany(rows)):
                yield batch

    def close(self) -> None:
        """End the transaction and the connection."""
        hide_failure(self._connection.close, GONE)


class Doubles:
    """A parameter that is an array of doubles; its repr hides the values."""

    __slots__ = ("values",)

    def __init__(self, values: FloatArray) -> None:
        self.values = np.asarray(values, dtype=np.float64)

    def __repr__(self) -> str:
        return f"Doubles({len(self.values)})"

    def to_bytes(self) -> bytes:
        """Return PostgreSQL's binary format of a float8[]: a header, then each double behind its length."""
        body = np.empty(len(self.values), dtype=[("length", ">i4"), ("value", ">f8")])
        body["length"], body["value"] = 8, self.values
        dimensions = 1 if len(self.values) else 0
        head = np.array([dimensions, 0, 701, *((len(self.values), 1) if dimensions else ())], dtype=">i4")
        return head.tobytes() + body.tobytes()


def _connect(url: str) -> Any:
    """Open a connection to PostgreSQL, encrypted except on loopback.

    Raises `MissingPackage`; or `InvalidArgument` with a reason in our words, because libpq's may quote a password.
    """
    try:
        import psycopg
        from psycopg.adapt import Dumper
        from psycopg.pq import Format
    except ImportError:
        psycopg = None  # type: ignore[assignment]
    if psycopg is None:
        raise MissingPackage("data", "PostgreSQL needs an extra: pip install 'dpcurves[postgres]'")

    class DoublesDumper(Dumper):
        oid = 1022
        format = Format.BINARY

        def dump(self, obj: Any) -> bytes:
            """Return the binary format of an array of doubles."""
            return bytes(obj.to_bytes())

    parameters = _require_tls(_parse_url(url))
    message = ""
    try:
        connection = psycopg.connect(
            **{**CONNECTION_SETTINGS, **parameters, "client_encoding": "utf8"},
            autocommit=True, cursor_factory=psycopg.RawCursor, prepare_threshold=None,
        )  # fmt: skip
        connection.server_cursor_factory = psycopg.RawServerCursor
        connection.adapters.register_dumper(Doubles, DoublesDumper)
        return connection
    except (psycopg.Error, OSError, ValueError) as error:
        message = str(error)
    # libpq's message may quote a password, so it is replaced.
    replacements = (replacement for pattern, replacement in SAID if pattern.lower() in message.lower())
    reason = next(replacements, "check host, port, database, role and TLS")
    raise InvalidArgument("data", f"PostgreSQL was not reached: {reason}")


def _parse_url(url: str) -> dict[str, Any]:
    """Return the connection parameters of a URL. Raises `InvalidArgument` without showing the URL."""
    from psycopg.conninfo import conninfo_to_dict

    def parse_conninfo() -> dict[str, Any]:
        """Return the parameters as libpq parses them."""
        return dict(conninfo_to_dict(url))

    return hide_failure(
        parse_conninfo, "a URL as postgresql://reader@host/database is needed (it is not shown: it may hold a password)"
    )


def _require_tls(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return connection parameters that require TLS, except on loopback.

    Raises `InvalidArgument` if the URL or PGSSLMODE asks for weaker encryption.
    """
    if _is_local(parameters):
        return parameters
    mode = parameters.get("sslmode") or os.environ.get("PGSSLMODE") or "verify-full"
    if mode not in STRICT:
        raise InvalidArgument(
            "data", "TLS is required except on loopback: give sslmode=verify-full and sslrootcert=FILE"
        )
    return {**parameters, "sslmode": mode}


def _is_local(parameters: dict[str, Any]) -> bool:
    """Return True if all hosts are this machine; a service file is treated as remote."""
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
"""Settings that log parameters."""
TIMED = ("log_min_duration_statement", "log_min_duration_sample", "auto_explain.log_min_duration")
SAMPLED = "log_transaction_sample_rate"
AFTER_ERRORS = "log_parameter_max_length_on_error"
"""Bytes of parameters that are logged for failed statements."""


def require_unlimited_sorts(link: SnapshotConnection) -> None:
    """Refuse a server that limits temporary files, as the size of a sort depends on rows.

    Raises:
        ValueError: The server limits temporary files.
    """
    ((limit,),) = link.fetch_rows(_SETTING, (ROOM,))
    if limit not in (None, "-1"):
        raise InvalidArgument(
            "data",
            f"the server limits {ROOM}, so rows could stop a count: ALTER ROLE ... SET {ROOM} = -1 for the reader",
        )


def require_no_parameter_log(link: SnapshotConnection) -> None:
    """Refuse a server that logs parameters, as the key that ranks rows is one.

    Raises:
        ValueError: The server logs parameters.
    """
    settings = {name: link.fetch_rows(_SETTING, (name,))[0][0] for name in _ASKED}
    logging_settings = [name for name, values in LOGGING.items() if settings[name] in values]
    logging_settings += [name for name in TIMED if settings[name] not in (None, "", "-1")]
    if float(settings[SAMPLED] or 0) > 0:
        logging_settings.append(SAMPLED)
    if settings[AFTER_ERRORS] not in (None, "0"):
        logging_settings.append(AFTER_ERRORS)
    if settings["log_parameter_max_length"] == "0":
        logging_settings = [name for name in logging_settings if name not in _BY_LENGTH]
    for name in logging_settings:
        raise InvalidArgument(
            "data",
            f"the server logs parameters ({name}), and the key that ranks rows is one: turn that off for the reader "
            "(ALTER ROLE), or give ranking='here'",
        )


_ASKED = (*LOGGING, *TIMED, SAMPLED, AFTER_ERRORS, "log_parameter_max_length")
_BY_LENGTH = {"log_statement", "log_min_duration_statement", "log_min_duration_sample", SAMPLED}
"""Settings that log parameters up to `log_parameter_max_length`, so none if that is 0."""
