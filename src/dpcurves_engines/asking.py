"""One statement of SQL asks one question: of a table of DuckDB, PostgreSQL or Spark, or of tables by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dpcurves.arguments import Refused, WrongKind, require_kind
from dpcurves.ledger import Currency, Ledger
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Neighbours, PrivacyLoss
from dpcurves.records.engines import table_at
from dpcurves.session import Session

from .statement import Literal, SqlQuestion

PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
"""Names that no engine reads in another way, quoted or not."""
IN_MEMORY = "sqlite://"
CONNECTIONS = (
    "a connection of DuckDB, a session of Spark, the URL of an engine, as postgresql://reader@host/database or "
    "sc://host:port, or a mapping from names to tables"
)
FIND = (
    "SELECT database_name, schema_name, table_name FROM duckdb_tables() WHERE table_name = $1 UNION ALL "
    "SELECT database_name, schema_name, view_name FROM duckdb_views() WHERE view_name = $1 AND NOT internal"
)
HERE = "SELECT current_database(), current_schema()"


def sql(
    connection: Any,
    statement: str,
    *,
    loss: PrivacyLoss,
    adjacency: Neighbours,
    unit: str | None = None,
    rows_per_unit: int | None = None,
    categories: Mapping[str, Sequence[Literal]] | None = None,
    units: int | None = None,
    budget: PrivacyLoss | None = None,
    ledger: str | Ledger = IN_MEMORY,
    dataset: str = "data",
    request: str | None = None,
    randomness: Randomness | None = None,
) -> Any:
    """Ask one question by one statement, ``SELECT dp_cdf(wage, 0, 500000, 1024) FROM people``.

    ``WHERE sex = 'F'`` and ``WHERE region IN ('north', 'south') GROUP BY region`` ask by declared groups: the answer
    is a curve for each, also where there is one group. All other SQL is refused before anything is charged; a query
    can be asked as a view. Names are taken as they are written.

    Args:
        connection: A connection of DuckDB, a session of Spark, the URL of PostgreSQL or of Spark Connect, or a mapping
            from names to tables as `Session` takes them.
        statement: The statement.
        loss: What it may lose; with a delta, groups of GROUP BY that nobody listed are found.
        adjacency: `ADD_REMOVE` (the number of units is private) or `REPLACE_ONE` (it is public).
        unit: The column that says whose record it is; None protects each record on its own.
        rows_per_unit: The largest number of records of one unit that are used; see `Session`.
        categories: Values of columns of GROUP BY, as ``{"region": ("north", "south")}``, in the place of WHERE.
        units: The public number of units, under replace-one.
        budget: The cap of the account; None: that of the account, where the ledger has it, else the loss.
        ledger: Where spending is kept, as of `Session`.
        dataset: The name of the account: the same for all statements, tables and views about the same records.
        request: A name of this request: asked again under it, the same costs nothing.
        randomness: Where noise comes from; anything but the operating system is marked on the curve.

    Returns:
        The result that `Session.ask` gives for the same question.

    Formal guarantees: those of `Session.ask` for that question. A condition takes no record out of the table: records
    that do not fulfil it are missing, so that units, their number and the adjacency are those of the whole table. A
    view stands for its rows: whoever owns it answers for it that each of its rows depends on records of one unit, which
    the column `unit` names, and that it gives the same rows each time.

    Raises:
        ValueError, TypeError: the statement is none of this grammar, there is no such table or column, or an argument
            is wrong; nothing was charged.
        UnsupportedQuery, BudgetExceeded: nothing was charged.
        NotInstalled: sqlglot is not installed.

    >>> import dpcurves as dp
    >>> people = {"wage": [100.0, 300.0] * 500, "region": ["north", "south"] * 500}
    >>> found = dp.sql({"people": people}, "SELECT dp_mean(wage, 0, 500) FROM people WHERE region = 'north'",
    ...                loss=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE)
    >>> bool(abs(found["north"].mean - 100) < 10)
    True
    """
    require_kind("loss", loss, PrivacyLoss, "a loss, as in PrivacyLoss.pure(0.5),")
    require_kind("ledger", ledger, (str, Ledger), "a URL, as sqlite:///budget.db, or a Ledger")
    read = SqlQuestion.read(statement)
    question = read.question({} if categories is None else categories, found=bool(loss.delta))
    table = table_of(connection, read.table)
    kept = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    with Session(
        table, budget=_cap(budget, loss, kept, dataset), adjacency=adjacency, unit=unit, rows_per_unit=rows_per_unit,
        ledger=kept, dataset=dataset, units=units, randomness=randomness,
    ) as session:  # fmt: skip
        return session.ask(question, loss, request)


def _cap(budget: PrivacyLoss | None, loss: PrivacyLoss, ledger: Ledger, dataset: str) -> PrivacyLoss:
    if budget is not None:
        return budget
    known = next((each for each in ledger.accounts() if each.dataset == dataset), None)
    return Currency.of(loss).budget(loss) if known is None else known.cap


def table_of(connection: Any, name: Sequence[str]) -> Any:
    """The table of this name, for a `Session`. Only the catalogue is looked at.

    Raises:
        TypeError: the connection is of no known kind.
        ValueError: there is no such table or view, or several.
    """
    from duckdb import DuckDBPyConnection

    if isinstance(connection, Mapping):
        if len(name) > 1 or name[0] not in connection:
            raise Refused("statement", f"FROM {'.'.join(name)}: there are {', '.join(map(str, connection)) or 'none'}")
        return connection[name[0]]
    if isinstance(connection, DuckDBPyConnection):
        return _relation(connection, name)
    if isinstance(connection, str) and "://" in connection:
        spark = connection.startswith("sc://")
        return table_at(connection, _quoted(name, "`" if spark else '"'))
    if all(hasattr(connection, part) for part in ("table", "createDataFrame", "catalog")):
        from .spark_table import spark as counted_by_spark

        return counted_by_spark(_quoted(name, "`"), spark=connection)
    raise WrongKind("connection", f"{CONNECTIONS} is needed, got {type(connection).__name__}")


def _quoted(name: Sequence[str], sign: str) -> str:
    return ".".join(each if PLAIN.fullmatch(each) else sign + each.replace(sign, 2 * sign) + sign for each in name)


def _relation(connection: Any, name: Sequence[str]) -> Any:
    """The rows of a table or view of the catalogue: no file, and no variable of Python, of the same name."""
    *above, table = name
    here = [*connection.sql(HERE).fetchall()[0], table]
    found = [list(each) for each in connection.sql(FIND, params=[table]).fetchall()]
    fitting = [each for each in found if each[2 - len(above) : 2] == above]
    if not above:  # as DuckDB looks for it: what is temporary first
        fitting = [each for each in found if each[0] == "temp"] or [each for each in found if each == here]
    if len(fitting) > 1:
        fitting = [each for each in fitting if each[0] == here[0]]
    if len(fitting) != 1:
        rule = "there are several of this name" if fitting else "there is no such table or view, by this spelling"
        raise Refused("statement", f"FROM {'.'.join(name)}: {rule}")
    return connection.sql("SELECT * FROM " + ".".join('"' + each.replace('"', '""') + '"' for each in fitting[0]))
