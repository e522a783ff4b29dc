"""Statements of SQL that ask one question: a small grammar, of which every word is accounted for; and asking it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from math import inf, isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from dpcurves.arguments import InvalidArgument, MissingPackage
from dpcurves.curves.question import By
from dpcurves.curves.question_json import list_question_classes, question_from_json
from dpcurves.data import Categories, UnlistedCategories

if TYPE_CHECKING:
    from sqlglot import exp
from dpcurves.arguments import WrongArgumentType, require_type
from dpcurves.ledger import Currency, Ledger
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Neighbours, PrivacyLoss
from dpcurves.records.engines import table_from_url
from dpcurves.session import Session

Literal = str | int | float | bool

DIALECT = "duckdb"
LONGEST, DEEPEST = 10_000, 20
"""Characters of a statement, and brackets inside of each other."""
SHOWN = 60
FORM = "SELECT dp_...(column, ...) FROM table [WHERE column = value AND ...] [GROUP BY column, ...]"
A_VIEW = "make a view of it"


P, AT, GRID, BOUNDS = "p", "at", "lower, upper, cells", "lower, upper"


class SqlFunction(NamedTuple):
    """A function of SQL: the word of its question, its columns, and what stands behind them.

    Attributes:
        question_type: The word that asks the question, as in studies.
        columns: Fields of the question that are names of columns, in their order.
        argument_forms: Forms of the arguments behind them; cells may be left out where the question has some of its own, or
            finds them.
        fixed_fields: Fields that the name of the function says.
    """

    question_type: str
    columns: tuple[str, ...]
    argument_forms: tuple[str, ...] = ()
    fixed_fields: Mapping[str, Any] = MappingProxyType({})

    def describe_call(self, name: str) -> str:
        """The form of a call."""
        return f"{name}({', '.join((*self.columns, *self.argument_forms))})"


_ONE, _SCORE = ("column",), ("label", "score")
FUNCTIONS: Mapping[str, SqlFunction] = MappingProxyType({
    "dp_cdf": SqlFunction("cdf", _ONE, (GRID,)),
    "dp_quantile": SqlFunction("quantiles", _ONE, (P, GRID)),
    "dp_quantiles": SqlFunction("quantiles", _ONE, (AT, GRID)),
    "dp_median": SqlFunction("quantiles", _ONE, (GRID,), {"at": [0.5]}),
    "dp_histogram": SqlFunction("histogram", _ONE, (GRID,)),
    "dp_count": SqlFunction("count", _ONE),
    "dp_sum": SqlFunction("sum", _ONE, (BOUNDS,)),
    "dp_mean": SqlFunction("mean", _ONE, (BOUNDS,)),
    "dp_variance": SqlFunction("variance", _ONE, (BOUNDS,)),
    "dp_summary": SqlFunction("summary", _ONE, (BOUNDS,)),
    "dp_survival": SqlFunction("survival", ("time", "event"), (GRID,)),
    "dp_scores": SqlFunction("scores", _SCORE, (GRID,)),
    "dp_roc": SqlFunction("roc", _SCORE, (GRID,)),
    "dp_calibration": SqlFunction("calibration", _SCORE, (GRID,)),
    "dp_hosmer_lemeshow": SqlFunction("hosmer-lemeshow", _SCORE, (GRID,)),
})  # fmt: skip
BY = "by"
FOUND = frozenset({"cdf", "quantiles", "histogram", "survival"})
"""Words of questions that find cells by a part of the loss, where none are given."""
ENDS = ("lower", "upper")


@dataclass(frozen=True)
class SqlQuestion:
    """A statement that was read: nothing of it is SQL any more.

    Attributes:
        function: The name of its function.
        question_json: The question without its groups, as a plain object.
        table: The name of the table, part by part.
        where: Values of columns that records must have.
        groups: Columns by which it is grouped.
    """

    function: str
    question_json: Mapping[str, Any]
    table: tuple[str, ...]
    where: Mapping[str, tuple[Literal, ...]]
    groups: tuple[str, ...]

    @classmethod
    def from_sql(cls, text: str) -> SqlQuestion:
        """The statement that a text is.

        Formal guarantees: every word of the text is a word of what is returned: a text of which the parser would pass
        over a part is refused. Nothing of the text is ever sent to an engine but names of columns, of a table, and
        values, each by itself, in the ways in which questions of files send them.

        Raises:
            ValueError: the text is none of this grammar; the part that is not is named.
            NotInstalled: the parser is not installed.
        """
        return _StatementReader(text).read_statement()

    def build_question(self, categories: Mapping[str, Sequence[Literal]], *, partition_selection: bool = False) -> Any:
        """The question that is asked.

        A condition is no filter of records: records with other values of the column are missing, as those are that lie
        in no declared group. So the number of records that fulfil it is no more public than any other count.

        Args:
            categories: Values of columns of GROUP BY that the statement does not list.
            partition_selection: Whether groups that nobody listed are found, under a delta.

        Raises:
            ValueError: values of a column are declared twice or not at all, or the question is not one by groups.
        """
        by = self._build_groups(categories, partition_selection=partition_selection)
        question = question_from_json(self.question_json)
        if by is None:
            return question
        if BY not in _field_names(type(question)):
            _refuse(self._explain_ungrouped())
        return question_from_json({**self.question_json, BY: _groups_to_json(by)})

    def _explain_ungrouped(self) -> str:
        """Why the question can not be asked by groups."""
        word = self.question_json["ask"]
        if BY in _field_names(list_question_classes()[word]):
            return f"{FUNCTIONS[self.function].describe_call(self.function)}: with WHERE or GROUP BY cells are needed"
        able = ", ".join(
            name for name, each in FUNCTIONS.items() if BY in _field_names(list_question_classes()[each.question_type])
        )
        return f"{self.function} is of all records, and takes neither WHERE nor GROUP BY; these do: {able}"

    def _build_groups(self, categories: Mapping[str, Sequence[Literal]], *, partition_selection: bool) -> By:
        if not isinstance(categories, Mapping):
            raise InvalidArgument("categories", 'values by column are needed, as in {"region": ("north", "south")}')
        for column in categories:
            if column not in self.groups:
                raise InvalidArgument("categories", f"{column!r} is no column of GROUP BY")
            if column in self.where:
                raise InvalidArgument("categories", f"values of {column!r} stand in WHERE; they are declared once")
        for column, values in self.where.items():
            if column not in self.groups and len(values) > 1:
                _refuse(f"WHERE {column} IN of several values: add GROUP BY {column}, or name one value")
        declared = {**self.where, **categories}
        keys: list[Categories] = []
        for column in (*self.groups, *(name for name in self.where if name not in self.groups)):
            if column in declared:
                keys.append(Categories(column, tuple(declared[column])))
            elif partition_selection:
                keys.append(UnlistedCategories(column))
            else:
                _refuse(
                    f"GROUP BY {column}: its values are declared, as in WHERE {column} IN ('a', 'b'), or "
                    "apart from it; or those of many units are found by a loss with a delta"
                )
        return tuple(keys) if len(keys) > 1 else keys[0] if keys else None


def _field_names(kind: type[Any]) -> set[str]:
    return {each.name for each in fields(kind)}


def _groups_to_json(groups: Categories | tuple[Categories, ...]) -> Any:
    if isinstance(groups, tuple):
        return [_groups_to_json(each) for each in groups]
    return {
        "column": groups.column,
        **({"unlisted": True} if isinstance(groups, UnlistedCategories) else {"categories": groups.values}),
    }


def _refuse(rule: str) -> NoReturn:
    raise InvalidArgument("statement", rule)


class _StatementReader:
    """Walks through what the parser made of a text, and writes down each word that was understood."""

    def __init__(self, text: str) -> None:
        try:
            import sqlglot
        except ModuleNotFoundError as error:
            raise MissingPackage("sql", f"it needs more packages; install dpcurves[sql] ({error})") from error
        self.exp = sqlglot.exp
        if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
            _refuse(f"a text of at most {LONGEST:,} characters is needed: {FORM}")
        tokens: list[Any] = []
        with suppress(Exception):
            tokens = sqlglot.tokenize(text, read=DIALECT)
        words = [each.text for each in tokens]
        if words and words[-1] == ";":
            words.pop()
        if not words or words[0].upper() != "SELECT":
            _refuse(f"it begins with SELECT: {FORM}")
        if any(each.comments for each in tokens):
            _refuse("comments and hints are not taken")
        if ";" in words:
            _refuse("one statement is taken at a time")
        if words.count("(") > DEEPEST:
            _refuse(f"more than {DEEPEST} brackets are not taken")
        self.select: Any = None
        with suppress(Exception):  # of any kind that a parser may raise; it quotes the text at length
            (self.select,) = filter(None, sqlglot.parse(text, read=DIALECT))
        if not isinstance(self.select, self.exp.Select):
            _refuse(f"it is no SELECT of this form: {FORM}")
        self.words, self.read = words, list[str]()

    def read_statement(self) -> SqlQuestion:
        parts = self._read_parts(self.select, ("expressions", "from", "where", "group"))
        if "from" not in parts:
            _refuse(f"FROM is missing: {FORM}")
        self._write_down("SELECT")
        named, function, said = self._read_select(parts["expressions"])
        self._write_down("FROM")
        table = self._read_table(parts["from"])
        where = self._read_where(parts["where"]) if "where" in parts else {}
        groups = self._read_groups(parts["group"]) if "group" in parts else ()
        if odd := [name for name in named if name not in groups]:
            _refuse(f"SELECT {odd[0]}: columns beside the function are those of GROUP BY")
        understood, given = (" ".join(words).split() for words in (self.read, self.words))
        if [word.casefold() for word in understood] != [word.casefold() for word in given]:
            pairs = enumerate(zip(understood, given, strict=False))
            place = next((at for at, (one, other) in pairs if one.casefold() != other.casefold()), -1)
            _refuse(f"{_shorten(given[place])}: it is not taken here; the form is {FORM}")
        return SqlQuestion(function, said, table, where, groups)

    # Each of these writes down the words of what it reads, in their order.

    def _write_down(self, *words: str) -> None:
        self.read += words

    def _iterate_list(self, expressions: Sequence[Any]) -> Iterator[Any]:
        """Things, with a comma between them."""
        for place, each in enumerate(expressions):
            if place:
                self._write_down(",")
            yield each

    def _read_select(self, expressions: Sequence[Any]) -> tuple[list[str], str, dict[str, Any]]:
        names, calls = list[str](), list[tuple[str, dict[str, Any]]]()
        for each in self._iterate_list(expressions):
            if isinstance(each, self.exp.Column):
                names.append(self._read_column(each))
            elif isinstance(each, self.exp.Anonymous) and isinstance(each.this, str):
                calls.append(self._read_call(each))
            else:
                _refuse(
                    f"{_format_expression(each)}: a function of a question is needed, one of {', '.join(FUNCTIONS)}"
                )
        if len(calls) != 1:
            _refuse(f"one function of a question is needed, got {len(calls)}: one of {', '.join(FUNCTIONS)}")
        return names, *calls[0]

    def _read_call(self, call: exp.Anonymous) -> tuple[str, dict[str, Any]]:
        name = str(call.this).lower()
        function = FUNCTIONS.get(name)
        if function is None:
            _refuse(f"{_shorten(name)}: there is no such function; there are {', '.join(FUNCTIONS)}")
        self._write_down(name, "(")
        columns, values, options = list[str](), list[Any](), dict[str, Any]()
        for each in self._iterate_list(call.expressions):
            if len(columns) < len(function.columns):
                columns.append(self._read_column(each, f"{function.describe_call(name)}: "))
            elif isinstance(each, self.exp.Kwarg):
                field = each.this.name
                self._write_down(field, "=>")
                if field in {BY, *function.columns, *function.fixed_fields, *options}:
                    _refuse(f"{name}: {field} is not given by name, or twice")
                options[field] = self._read_value(each.expression)
            elif options:
                _refuse(f"{name}: what is given by name stands last")
            else:
                values.append(self._read_value(each))
        self._write_down(")")
        if len(columns) < len(function.columns):
            _refuse(f"{function.describe_call(name)}: a column is missing")
        said = {**dict(zip(function.columns, columns, strict=True)), **function.fixed_fields}
        return name, {
            "ask": function.question_type,
            **self._read_arguments(name, function, values, options),
            **said,
            **options,
        }

    def _read_arguments(
        self, name: str, function: SqlFunction, values: list[Any], options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Fields of a question that stand behind its columns."""
        told, rest, wrong = dict[str, Any](), list(values), f"{name}: the form is {function.describe_call(name)}"
        for form in function.argument_forms:
            if form == GRID and not rest:
                told |= {"grid": "auto"} if function.question_type in FOUND and "grid" not in options else {}
                continue
            if form == BOUNDS and not rest:
                told |= {} if options.keys() & {*ENDS} else dict.fromkeys(ENDS, "auto")
                continue
            taken = [rest.pop(0) for _ in form.split(", ") if rest]
            if len(taken) < len(form.split(", ")) or any(isinstance(each, tuple) for each in taken) != (form == AT):
                _refuse(wrong)
            if any(isinstance(part, str | bool) for each in taken for part in (each if form == AT else [each])):
                _refuse(wrong)
            if form == GRID:
                told["grid"] = ":".join(map(str, taken))
            elif form == BOUNDS:
                told |= dict(zip(ENDS, taken, strict=True))
            else:
                told["at"] = list(taken[0]) if form == AT else taken
        if rest or told.keys() & options.keys():
            _refuse(wrong)
        return told

    def _read_table(self, clause: exp.Expression) -> tuple[str, ...]:
        table = self._read_parts(clause, ("this",))["this"]
        if not isinstance(table, self.exp.Table):
            _refuse(f"FROM {_format_expression(table)}: the name of a table or view is needed; of a query, {A_VIEW}")
        parts = self._read_parts(table, ("this", "db", "catalog"))
        names = [parts[each] for each in ("catalog", "db", "this") if each in parts]
        if not all(isinstance(each, self.exp.Identifier) for each in names):
            _refuse(f"FROM {_format_expression(table)}: the name of a table or view is needed")
        for place, each in enumerate(names):
            self._write_down(*([] if not place else ["."]), str(each.this))
        return tuple(str(each.this) for each in names)

    def _read_where(self, clause: exp.Expression) -> dict[str, tuple[Literal, ...]]:
        self._write_down("WHERE")
        found = dict[str, tuple[Literal, ...]]()
        for column, values in self._read_conditions(self._read_parts(clause, ("this",))["this"]):
            if column in found:
                _refuse(f"WHERE {_shorten(column)}: one condition is taken of each column")
            found[column] = values
        return found

    def _read_conditions(self, expression: exp.Expression) -> Iterator[tuple[str, tuple[Literal, ...]]]:
        exp = self.exp
        if isinstance(expression, exp.And):
            yield from self._read_conditions(expression.this)
            self._write_down("AND")
            yield from self._read_conditions(expression.expression)
        elif isinstance(expression, exp.Paren):
            self._write_down("(")
            yield from self._read_conditions(expression.this)
            self._write_down(")")
        elif isinstance(expression, exp.EQ) and isinstance(expression.this, exp.Column):
            column = self._read_column(expression.this)
            self._write_down("=")
            yield column, (self._read_literal(expression.expression),)
        elif isinstance(expression, exp.In) and isinstance(expression.this, exp.Column):
            parts = self._read_parts(expression, ("this", "expressions"))
            column = self._read_column(expression.this)
            self._write_down("IN", "(")
            if "expressions" not in parts:
                _refuse(f"WHERE {_shorten(column)} IN: a value is needed")
            yield column, tuple(self._read_literal(each) for each in self._iterate_list(parts["expressions"]))
            self._write_down(")")
        else:
            _refuse(
                f"WHERE {_format_expression(expression)}: column = value and column IN (values) are taken, and AND; {A_VIEW}"
            )

    def _read_groups(self, clause: exp.Expression) -> tuple[str, ...]:
        self._write_down("GROUP BY")
        found = [
            self._read_column(each)
            for each in self._iterate_list(self._read_parts(clause, ("expressions",))["expressions"])
        ]
        if len(set(found)) < len(found):
            _refuse("GROUP BY: each column is named once")
        return tuple(found)

    def _read_column(self, expression: exp.Expression, prefix: str = "") -> str:
        if not isinstance(expression, self.exp.Column) or not isinstance(expression.this, self.exp.Identifier):
            _refuse(f"{prefix}{_format_expression(expression)} is no name of a column; of an expression, {A_VIEW}")
        parts = self._read_parts(expression, ("this",))
        self._write_down(str(parts["this"].this))
        return str(parts["this"].this)

    def _read_value(self, expression: exp.Expression) -> Any:
        """A literal, or a tuple of them."""
        if not isinstance(expression, self.exp.Tuple | self.exp.Paren):
            return self._read_literal(expression)
        self._write_down("(")
        members = expression.expressions if isinstance(expression, self.exp.Tuple) else [expression.this]
        found = tuple(self._read_literal(each) for each in self._iterate_list(members))
        self._write_down(")")
        return found

    def _read_literal(self, expression: exp.Expression) -> Literal:
        exp, negative = self.exp, isinstance(expression, self.exp.Neg)
        if negative:
            self._write_down("-")
            expression = expression.this
        if isinstance(expression, exp.Boolean) and not negative:
            self._write_down(str(expression.this))
            return bool(expression.this)
        if not isinstance(expression, exp.Literal) or (negative and expression.is_string):
            _refuse(f"{_format_expression(expression)}: a number, a text in single quotes, TRUE or FALSE is needed")
        self._write_down(text := str(expression.this))
        if expression.is_string:
            return text
        sign = -1 if negative else 1
        return sign * int(text) if re.fullmatch(r"[0-9]+", text) else sign * _parse_number(text)

    def _read_parts(self, expression: exp.Expression, allowed_parts: tuple[str, ...]) -> dict[str, Any]:
        """The text of a part of the statement, which holds nothing but what is known, and the first of that."""
        given = {
            name.rstrip("_"): value for name, value in expression.args.items() if value not in (None, False, [], "")
        }
        odd = next((name for name in given if name not in allowed_parts), None)
        if odd is not None:
            told = CLAUSES.get(odd, odd.replace("_", " ").upper())
            _refuse(f"{told} is not taken; the form is {FORM}" + (f"; {A_VIEW}" if odd in OF_A_VIEW else ""))
        if allowed_parts[0] not in given:
            _refuse(f"it is no SELECT of this form: {FORM}")
        return given


CLAUSES: Mapping[str, str] = MappingProxyType({
    "joins": "JOIN", "order": "ORDER BY", "laterals": "LATERAL", "sample": "TABLESAMPLE", "windows": "WINDOW",
    "locks": "FOR UPDATE", "alias": "AS", "query": "a subquery", "table": "the name of a table before that of a column",
    "when": "AT a version", "pivots": "PIVOT", "all": "GROUP BY ALL",
})  # fmt: skip
OF_A_VIEW = frozenset({"joins", "laterals", "with", "query", "pivots"})


def _parse_number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = inf
    if not isfinite(number):
        _refuse(f"{_shorten(text)} is no finite number")
    return number


def _format_expression(expression: exp.Expression) -> str:
    """A part of the statement, as it was read."""
    try:
        return _shorten(expression.sql(dialect=DIALECT))
    except Exception:
        return type(expression).__name__


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}..."


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
    require_type("loss", loss, PrivacyLoss, "a loss, as in PrivacyLoss.pure(0.5),")
    require_type("ledger", ledger, (str, Ledger), "a URL, as sqlite:///budget.db, or a Ledger")
    read = SqlQuestion.from_sql(statement)
    question = read.build_question({} if categories is None else categories, partition_selection=bool(loss.delta))
    table = find_table(connection, read.table)
    kept = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    with Session(
        table, budget=_choose_cap(budget, loss, kept, dataset), adjacency=adjacency, unit=unit, rows_per_unit=rows_per_unit,
        ledger=kept, dataset=dataset, units=units, randomness=randomness,
    ) as session:  # fmt: skip
        return session.ask(question, loss, request)


def _choose_cap(budget: PrivacyLoss | None, loss: PrivacyLoss, ledger: Ledger, dataset: str) -> PrivacyLoss:
    if budget is not None:
        return budget
    known = next((each for each in ledger.accounts() if each.dataset == dataset), None)
    return Currency.from_loss(loss).smallest_cap(loss) if known is None else known.cap


def find_table(connection: Any, name: Sequence[str]) -> Any:
    """The table of this name, for a `Session`. Only the catalogue is looked at.

    Raises:
        TypeError: the connection is of no known kind.
        ValueError: there is no such table or view, or several.
    """
    from duckdb import DuckDBPyConnection

    if isinstance(connection, Mapping):
        if len(name) > 1 or name[0] not in connection:
            raise InvalidArgument(
                "statement", f"FROM {'.'.join(name)}: there are {', '.join(map(str, connection)) or 'none'}"
            )
        return connection[name[0]]
    if isinstance(connection, DuckDBPyConnection):
        return _find_relation(connection, name)
    if isinstance(connection, str) and "://" in connection:
        spark = connection.startswith("sc://")
        return table_from_url(connection, _quote_name(name, "`" if spark else '"'))
    if all(hasattr(connection, part) for part in ("table", "createDataFrame", "catalog")):
        from .spark_table import spark as counted_by_spark

        return counted_by_spark(_quote_name(name, "`"), spark=connection)
    raise WrongArgumentType("connection", f"{CONNECTIONS} is needed, got {type(connection).__name__}")


def _quote_name(name: Sequence[str], quote: str) -> str:
    return ".".join(each if PLAIN.fullmatch(each) else quote + each.replace(quote, 2 * quote) + quote for each in name)


def _find_relation(connection: Any, name: Sequence[str]) -> Any:
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
        raise InvalidArgument("statement", f"FROM {'.'.join(name)}: {rule}")
    return connection.sql("SELECT * FROM " + ".".join('"' + each.replace('"', '""') + '"' for each in fitting[0]))
