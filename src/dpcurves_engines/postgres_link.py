"""SENSITIVE. PostgreSQL connection (psycopg 3) for counting confidential tables: one read-only snapshot, TLS, no leaks.

PostgreSQL counts the records, and noise is added to the counts outside of this file. An error or a timeout that depends
on a row would reveal that row without noise. So this file fixes all that could make a query fail:

    transaction    one, read-only and REPEATABLE READ: all counts of a session see the same snapshot of the table
    settings       no timeouts; fixed formats; functions and operators of ``pg_catalog`` only
    encryption     TLS to every server that is not on this machine
    errors         the server's texts, which may quote a row, are replaced by fixed ones
    refusals       servers that limit temporary files (`require_unlimited_sorts`), because the size of a sort depends
                   on rows; servers that log query parameters (`require_no_parameter_log`), because one may be secret

The secret parameter is the key of the hash that chooses which rows of a unit are used if the unit has more rows than
its contribution bound. Whoever knew the key could foresee the choice.

Formal guarantees: no message shown to a user contains text of the server's errors, and no setting that is fixed here
makes a count fail because of rows.
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
QUERY_FAILURE = (
    "PostgreSQL did not answer, and its snapshot is gone (what it says is not shown: it may quote a record); "
    "ask again in a new session"
)
"""Error in place of any error of the server during a query; the connection is then closed."""
LOST_CONNECTION = "the connection to PostgreSQL and its snapshot are gone; ask again in a new session"
"""Error of each query after the connection was closed. It is not opened again, because another snapshot might show
other rows."""
TLS_MODES = ("require", "verify-ca", "verify-full")
"""Values of libpq's `sslmode` that are accepted for servers on other machines: all of them encrypt. Others are
refused."""
SECONDS_TO_CONNECT = 20
"""Seconds within which the server must answer a connection: enough for a distant server, and short for a person. Then
the connection is refused."""
CONNECTION_SETTINGS = {
    "connect_timeout": SECONDS_TO_CONNECT,
    "keepalives_idle": 60,
    "keepalives_interval": 10,
    "keepalives_count": 6,
}
"""Parameters of libpq, in seconds and, for ``keepalives_count``, in packets: after 60 idle seconds, 6 TCP keepalives 10
seconds apart. So a lost server is noticed within two minutes."""

# Rows must not be able to cause timeouts, and the environment must not change names or formats.
SETTINGS = {
    "statement_timeout": "0", "idle_in_transaction_session_timeout": "0", "idle_session_timeout": "0",
    # wait at most 10 seconds for the lock on the definition of a table
    "transaction_timeout": "0", "lock_timeout": "10s", "row_security": "off", "timezone": "UTC",
    "datestyle": "ISO", "intervalstyle": "postgres", "extra_float_digits": "1", "jit": "off", "bytea_output": "hex",
}  # fmt: skip
"""Settings of a session on the server, by name: no time limit that rows could reach, and fixed formats, so that neither
rows nor the environment change an answer."""
TIMEOUT_VERSIONS = {"idle_session_timeout": 140000, "transaction_timeout": 170000}
"""First version of PostgreSQL (14.0 is 140000) that knows a setting of `SETTINGS`; older servers would refuse it."""
CONNECTION_MESSAGES = (
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
"""Pairs of a part of libpq's message, in any case, and the text shown in its place. The first match applies, so
specific parts come before general parts."""

Result = TypeVar("Result")


class SnapshotConnection:
    """A connection to PostgreSQL for one read-only transaction, so that all reads see one snapshot of the tables.

    Creating it connects and sets timeouts and formats; `begin_snapshot` begins the transaction. Any error closes it,
    because the snapshot is then gone, and later reads raise ValueError.

    Args:
        url: ``postgresql://reader@host/database``; never shown, because it may hold a password.

    Attributes:
        version: The server's version as a number, such as 160002 for 16.2.

    Raises:
        ValueError: the server cannot be reached, asks for weaker encryption than TLS, is older than PostgreSQL 13,
            refuses a setting, or its database is not in UTF8.
        ImportError: psycopg is not installed.
    """

    def __init__(self, url: str) -> None:
        """Connect to a PostgreSQL server and apply the settings of a reader; `begin_snapshot` begins to read.

        Args:
            url: ``postgresql://role@host/database``.

        Raises:
            ValueError: the server is not reached, is older than PostgreSQL 13, or its database is not in UTF8.
        """
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
            self._apply_settings,
            "the server refused settings that a session needs; connect to PostgreSQL itself, not to a pooler",
        )

    def __repr__(self) -> str:
        return "Link(hidden)"

    @property
    def name(self) -> str:
        """Product and version of the server as text, such as ``PostgreSQL 16.2``."""
        return f"PostgreSQL {self.version // 10000}.{self.version % 10000}"

    def _apply_settings(self) -> None:
        """Set the session's settings that this server version knows: no timeouts, fixed formats."""
        for name, value in SETTINGS.items():
            if self.version >= TIMEOUT_VERSIONS.get(name, 0):
                self._connection.execute("SELECT set_config($1, $2, false)", (name, value))

    def begin_snapshot(self) -> None:
        """Begin the read-only transaction, which `close` ends.

        All later reads see the tables as they were at the first read. Functions and operators come from
        ``pg_catalog``, so that a user's function of the same name never sees rows.

        Raises:
            ValueError: the server refused; the connection is then closed.
        """

        def start_transaction() -> None:
            """Begin the read-only transaction and fix the search path."""
            self._connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._connection.execute("SET LOCAL search_path = pg_catalog")

        self._run_or_close(start_transaction)

    def fetch_rows(
        self, statement: str, parameters: Sequence[Any] = (), rule: str = QUERY_FAILURE, argument: str = "data"
    ) -> list[tuple[Any, ...]]:
        """Run a statement and return all its rows in memory.

        Args:
            statement: SQL with placeholders $1, $2, ....
            parameters: Values of the placeholders, in order.
            rule: Text of the error that is raised in the place of the server's.
            argument: Name of the argument that the error blames.

        Returns:
            The rows in the server's order, one tuple of Python values each; an empty list without rows.

        Raises:
            ValueError: the statement failed, which closes the connection; or the connection was closed before.
        """
        if self._connection.closed:
            raise InvalidArgument("data", LOST_CONNECTION)
        return self._run_or_close(lambda: self._fetch_all(statement, parameters), rule, argument)

    def _fetch_all(self, statement: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return all rows of a SQL statement, as tuples of Python values.

        Args:
            statement: SQL with ``$1``, ``$2``, ... for parameters.
            parameters: Their values.

        Raises:
            psycopg.Error: the server or the connection failed.
        """
        with self._connection.cursor(binary=True) as cursor:
            rows: list[tuple[Any, ...]] = cursor.execute(statement, parameters, prepare=False).fetchall()
        return rows

    def _run_or_close(self, action: Callable[[], Result], rule: str = QUERY_FAILURE, argument: str = "data") -> Result:
        """Return the result of a function that uses the connection; close the connection after any error.

        Args:
            action: The function, without arguments.
            rule: Text of the error that is raised instead of the server's, which could show data.
            argument: Name of the argument that the error names.

        Raises:
            InvalidArgument: the function failed; interrupts are passed on.
        """
        try:
            return hide_failure(action, rule, argument)
        except BaseException:  # after an interrupt, the next statement could read the answer to this statement
            self.close()
            raise

    def fetch_batches(
        self, statement: str, rows: int, parameters: Sequence[Any] = ()
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of a statement in batches, through a server-side cursor, so that not all are in memory.

        Args:
            statement: SQL with placeholders $1, $2, ....
            rows: Largest number of rows in a batch.
            parameters: Values of the placeholders, in order.

        Yields:
            Batches of 1 to `rows` rows in the server's order, one tuple of Python values each; nothing if there is no
            row.

        Raises:
            ValueError: the statement failed, which closes the connection; or the connection was closed before.
        """
        if self._connection.closed:
            raise InvalidArgument("data", LOST_CONNECTION)
        with self._connection.cursor("streamed", binary=True) as cursor:
            self._run_or_close(lambda: cursor.execute(statement, parameters))
            while batch := self._run_or_close(lambda: cursor.fetchmany(rows)):
                yield batch

    def close(self) -> None:
        """End the transaction and the connection. A closed connection may be closed again."""
        hide_failure(self._connection.close, LOST_CONNECTION)


class Doubles:
    """A query parameter of type ``float8[]``: an array of doubles, whose repr shows the length and hides the values.

    Args:
        values: Numbers, (n,); n may be 0.
    """

    __slots__ = ("values",)

    def __init__(self, values: FloatArray) -> None:
        self.values = np.asarray(values, dtype=np.float64)

    def __repr__(self) -> str:
        return f"Doubles({len(self.values)})"

    def to_bytes(self) -> bytes:
        """Return an array of doubles in PostgreSQL's binary format of ``float8[]``, to be sent as a parameter.

        A header of big-endian 32-bit integers (dimensions, null flag, type 701, and per dimension length and lower
        bound 1) is followed by each double behind its length of 8 bytes. An empty array has no dimension.
        """
        body = np.empty(len(self.values), dtype=[("length", ">i4"), ("value", ">f8")])
        body["length"], body["value"] = 8, self.values
        dimensions = 1 if len(self.values) else 0
        head = np.array([dimensions, 0, 701, *((len(self.values), 1) if dimensions else ())], dtype=">i4")
        return head.tobytes() + body.tobytes()


def _connect(url: str) -> Any:
    """Open a psycopg connection in autocommit mode, encrypted unless the server is on this machine.

    Args:
        url: ``postgresql://role@host/database``, perhaps with further parameters.

    Raises:
        MissingPackage: psycopg is not installed.
        InvalidArgument: the server was not reached. The reason is given in fixed words, because libpq's message may
            quote a password.
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
            """Return the bytes of a parameter, as psycopg asks: an array of doubles in PostgreSQL's binary format.

            Args:
                obj: Array of doubles, as `Doubles`.
            """
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
    replacements = (replacement for pattern, replacement in CONNECTION_MESSAGES if pattern.lower() in message.lower())
    reason = next(replacements, "check host, port, database, role and TLS")
    raise InvalidArgument("data", f"PostgreSQL was not reached: {reason}")


def _parse_url(url: str) -> dict[str, Any]:
    """Return the connection parameters of a URL, by libpq's names such as ``host``.

    Args:
        url: ``postgresql://role@host/database``, perhaps with further parameters.

    Raises:
        InvalidArgument: the URL is invalid. The message does not show it, because it may hold a password.
    """
    from psycopg.conninfo import conninfo_to_dict

    def parse_conninfo() -> dict[str, Any]:
        """Return the parameters of the URL as libpq parses them, by name."""
        return dict(conninfo_to_dict(url))

    return hide_failure(
        parse_conninfo, "a URL as postgresql://reader@host/database is needed (it is not shown: it may hold a password)"
    )


def _require_tls(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return connection parameters that require TLS, unless the server is on this machine.

    Without ``sslmode`` in the parameters or in the environment variable PGSSLMODE, the server's certificate is verified
    (``verify-full``).

    Args:
        parameters: Parameters of libpq by name; returned unchanged for a server on this machine.

    Raises `InvalidArgument` if the URL or PGSSLMODE asks for a weaker mode than ``require``.
    """
    if _is_local(parameters):
        return parameters
    mode = parameters.get("sslmode") or os.environ.get("PGSSLMODE") or "verify-full"
    if mode not in TLS_MODES:
        raise InvalidArgument(
            "data", "TLS is required except on loopback: give sslmode=verify-full and sslrootcert=FILE"
        )
    return {**parameters, "sslmode": mode}


def _is_local(parameters: dict[str, Any]) -> bool:
    """Return True if all hosts of the parameters, or else of libpq's environment variables, are this machine.

    No host means a local socket, which counts as this machine. A service (``service`` or PGSERVICE) counts as remote,
    because its file may name any host.

    Args:
        parameters: Connection parameters by libpq's names.
    """
    if parameters.get("service") or os.environ.get("PGSERVICE"):
        return False
    hosts = (
        parameters.get("hostaddr") or os.environ.get("PGHOSTADDR")
        or parameters.get("host") or os.environ.get("PGHOST") or ""
    )  # fmt: skip
    return all(
        host in ("", "localhost", "::1") or host.startswith(("/", "@", "127.")) for host in str(hosts).split(",")
    )


TEMP_FILE_SETTING = "temp_file_limit"
"""Setting of the server: the most disk space of temporary files. Only -1, no limit, is accepted."""
_SETTING = "SELECT current_setting($1, true)"
"""Query for the value of a setting; NULL if the server does not know it."""
LOGGING_SETTINGS = {
    "log_statement": ("all",), "debug_print_parse": ("on",), "debug_print_rewritten": ("on",),
    "debug_print_plan": ("on",), "pgaudit.log_parameter": ("on",),
}  # fmt: skip
"""Settings of the server that log query parameters, each with its values that do so. With such a value the server is
refused while it ranks rows."""
DURATION_LOG_SETTINGS = ("log_min_duration_statement", "log_min_duration_sample", "auto_explain.log_min_duration")
"""Settings of the server: milliseconds from which a statement is logged, with its parameters; -1: none. A server that
logs some is refused while it ranks rows; see `_LENGTH_LIMITED_SETTINGS`."""
SAMPLED_LOG_SETTING = "log_transaction_sample_rate"
"""Setting of the server: share of transactions whose statements are logged, with their parameters. A share above 0 is
refused while the server ranks rows; see `_LENGTH_LIMITED_SETTINGS`."""
ERROR_LOG_SETTING = "log_parameter_max_length_on_error"
"""Setting of the server: how many bytes of each parameter are logged for a failed statement. Only 0, none, is accepted
while the server ranks rows."""


def require_unlimited_sorts(link: SnapshotConnection) -> None:
    """Require that the server does not limit temporary files for this role.

    The size of a sort depends on rows. With a limit, rows could make a count fail, and the failure would reveal them.

    Args:
        link: An open connection.

    Raises:
        ValueError: `temp_file_limit` is set, so that a sort may fail; or the connection is closed.
    """
    ((limit,),) = link.fetch_rows(_SETTING, (TEMP_FILE_SETTING,))
    if limit not in (None, "-1"):
        raise InvalidArgument(
            "data",
            f"the server limits {TEMP_FILE_SETTING}, so rows could stop a count: ALTER ROLE ... SET "
            f"{TEMP_FILE_SETTING} = -1 for the reader",
        )


def require_no_parameter_log(link: SnapshotConnection) -> None:
    """Require that the server does not write query parameters to its log.

    One parameter is the secret key of the hash that chooses which rows of a unit are used. With the choice made on this
    machine instead (``ranking="here"``), no key is sent and this check is not needed.

    Args:
        link: An open connection.

    Raises:
        ValueError: a setting of the server logs parameters (the message names the first); or the connection is closed.
    """
    settings = {name: link.fetch_rows(_SETTING, (name,))[0][0] for name in _LOG_SETTINGS}
    logging_settings = [name for name, values in LOGGING_SETTINGS.items() if settings[name] in values]
    logging_settings += [name for name in DURATION_LOG_SETTINGS if settings[name] not in (None, "", "-1")]
    if float(settings[SAMPLED_LOG_SETTING] or 0) > 0:
        logging_settings.append(SAMPLED_LOG_SETTING)
    if settings[ERROR_LOG_SETTING] not in (None, "0"):
        logging_settings.append(ERROR_LOG_SETTING)
    if settings["log_parameter_max_length"] == "0":
        logging_settings = [name for name in logging_settings if name not in _LENGTH_LIMITED_SETTINGS]
    for name in logging_settings:
        raise InvalidArgument(
            "data",
            f"the server logs parameters ({name}), and the key that ranks rows is one: turn that off for the reader "
            "(ALTER ROLE), or give ranking='here'",
        )


_LOG_SETTINGS = (
    *LOGGING_SETTINGS,
    *DURATION_LOG_SETTINGS,
    SAMPLED_LOG_SETTING,
    ERROR_LOG_SETTING,
    "log_parameter_max_length",
)
"""Settings whose values are asked for, to refuse a server that logs parameters: one is the secret key that ranks
rows."""
_LENGTH_LIMITED_SETTINGS = {
    "log_statement",
    "log_min_duration_statement",
    "log_min_duration_sample",
    SAMPLED_LOG_SETTING,
}
"""Settings that log at most ``log_parameter_max_length`` bytes of each parameter: if that is 0, they log none, and are
accepted."""
