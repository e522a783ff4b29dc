"""Questions as SQL statements: ``SELECT dp_cdf(wage, 0, 500000, 1024) FROM people``.

`sql` asks such a question. `SqlQuestion.from_sql` parses it. The grammar is small, and each word of the statement must
be understood; a statement with any other word is refused before anything is charged.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from math import inf, isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from dpcurves.arguments import InvalidArgument, MissingPackage
from dpcurves.curves.question import By
from dpcurves.curves.question_json import list_question_classes, question_from_json
from dpcurves.curves.view import find_view, parse_view_definitions
from dpcurves.data import ALL_RECORDS, Categories, UnlistedCategories
from dpcurves.expressions import Call, ColumnName, Node, find_column_names, format_expression, parse_expression
from dpcurves.expressions import Literal as LiteralNode

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
"""Dialect of SQL in which `sqlglot` splits and parses statements, for every engine."""
STATEMENT_FORM = "SELECT dp_...(column, ...) FROM table [WHERE condition] [GROUP BY column, ...]"
"""Accepted form of a statement; ends the error for each other one."""
VIEW_ADVICE = "create a view for it"
"""Advice in errors for queries, joins and expressions in the place of a table or a column."""


PROBABILITY = "probability"
"""Form of an argument: one probability of a quantile, from 0 to 1."""
PROBABILITIES = "probabilities"
"""Form of an argument: a list of probabilities of quantiles."""
GRID = "lower, upper, cells"
"""Form of three arguments: bounds and number of cells of the grid. Without them the question's default applies, or a
range that is chosen privately."""
BOUNDS = "lower, upper"
"""Form of two arguments: clipping bounds of the column. Without them the bounds are chosen privately."""


class SqlFunction(NamedTuple):
    """An SQL function: its question type, column arguments and further arguments.

    Attributes:
        question_type: The value of `ask`, as in study files.
        columns: Question fields that take the column arguments, in order.
        argument_forms: Forms of the further arguments; the grid is optional if the question has a default or an
            automatic range.
        fixed_fields: Question fields that the function's name determines.
    """

    question_type: str
    columns: tuple[str, ...]
    argument_forms: tuple[str, ...] = ()
    fixed_fields: Mapping[str, Any] = MappingProxyType({})

    def describe_call(self, name: str) -> str:
        """Return the form of a call, for messages: ``dp_cdf(column, lower, upper, cells)``.

        Args:
            name: Name of the function.
        """
        return f"{name}({', '.join((*self.columns, *self.argument_forms))})"


_ONE = ("column",)
"""Question fields of functions of one column."""
_SCORE = ("label", "score")
"""Question fields of functions of two columns, the label and the score."""
FUNCTIONS: Mapping[str, SqlFunction] = MappingProxyType({
    "dp_cdf": SqlFunction("cdf", _ONE, (GRID,)),
    "dp_quantile": SqlFunction("quantiles", _ONE, (PROBABILITY, GRID)),
    "dp_quantiles": SqlFunction("quantiles", _ONE, (PROBABILITIES, GRID)),
    "dp_median": SqlFunction("quantiles", _ONE, (GRID,), {"probabilities": [0.5]}),
    "dp_histogram": SqlFunction("histogram", _ONE, (GRID,)),
    "dp_bar_chart": SqlFunction("bar-chart", ("by",)),
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
"""Functions of the statement's SELECT, by name; another name is refused."""
BY = "by"
"""Field of a question that has the categories of the GROUP BY columns."""
WEIGHT = "weight"
"""Name of the argument for a column of weights, as in ``weight => w``, and of the question's field."""
WEIGHTED_TYPES: Mapping[str, Mapping[str, Any]] = MappingProxyType({
    "cdf": {"ask": "weighted-cdf"},
    "quantiles": {"ask": "weighted-quantiles"},
    "histogram": {"ask": "weighted-histogram"},
    "count": {"ask": "weighted-summary", "statistic": "count", "lower": 0, "upper": 1},
    "sum": {"ask": "weighted-summary", "statistic": "sum"},
    "mean": {"ask": "weighted-summary", "statistic": "mean"},
})  # fmt: skip
"""Fields that replace those of a question if a weight is given, by the question's type without weights. A function of
another type refuses weights."""
AUTOMATIC_RANGE_QUESTIONS = frozenset({"cdf", "quantiles", "histogram", "survival"})
"""Question types with an automatic range, which is paid from the question's loss."""
ENDS = ("lower", "upper")
"""Question fields of the clipping bounds, in the order of the arguments; "auto" has them chosen privately."""


@dataclass(frozen=True)
class SqlQuestion:
    """A parsed statement.

    Attributes:
        function: The name of the SQL function.
        question_json: The question without groups, as a plain object.
        table: The parts of the table's name.
        where: The values of the GROUP BY columns that WHERE lists.
        groups: The columns of GROUP BY.
        row_filter: The other conditions of WHERE, as SQL; empty: all rows.
    """

    function: str
    question_json: Mapping[str, Any]
    table: tuple[str, ...]
    where: Mapping[str, tuple[Literal, ...]]
    groups: tuple[str, ...]
    row_filter: str = ""

    @classmethod
    def from_sql(cls, text: str) -> SqlQuestion:
        """Parse a statement ``SELECT dp_...(column, ...) FROM table [WHERE condition] [GROUP BY column, ...]``.

        Nothing is sent to an engine here.

        Formal guarantees of the parser: every word of the text is accounted for; a text of which it would ignore a part
        is refused. So a question sends an engine only names of columns and of the table, single values, and expressions
        of the closed language (`dpcurves.expressions`), as for questions from files.

        Args:
            text: The statement.

        Raises:
            ValueError: The text is no statement of the form `STATEMENT_FORM`; the message names the rule, and quotes
            the part
                that broke it where there is one.
            MissingPackage: sqlglot is not installed.
        """
        return _StatementReader(text).read_statement()

    def build_question(self, categories: Mapping[str, Sequence[Literal]], *, partition_selection: bool = False) -> Any:
        """Return the question of the statement.

        Records that do not meet WHERE do not count. Their number is not public. Values that it lists of a GROUP BY
        column declare the groups.

        Args:
            categories: Values of GROUP BY columns that the statement does not list.
            partition_selection: Whether unlisted groups are selected privately, under a delta.

        Raises:
            ValueError: Values of a column are declared twice or not at all, or the question has no groups.
        """
        by = self._build_groups(categories, partition_selection=partition_selection)
        question_json = {**self.question_json, **({"where": self.row_filter} if self.row_filter else {})}
        if by is not None and BY in FUNCTIONS[self.function].columns:
            is_unlisted = isinstance(by, UnlistedCategories)  # records that WHERE leaves out are in no further category
            return question_from_json({"other": is_unlisted, **question_json, BY: _groups_to_json(by)})
        question = question_from_json(question_json)
        if by is None:
            return question
        if self.quantile_levels and "grid" in question_json:  # computed from one distribution function per group
            curve_type = "weighted-cdf" if WEIGHT in question_json else "cdf"
            question_json = {name: value for name, value in question_json.items() if name != "probabilities"}
            question_json["ask"] = curve_type
            question = question_from_json(question_json)
        if BY not in _field_names(type(question)):
            _refuse(self._explain_ungrouped())
        return question_from_json({**question_json, BY: _groups_to_json(by)})

    @property
    def quantile_levels(self) -> tuple[float, ...]:
        """Return the probabilities of the quantiles that are asked for; empty for other functions.

        With GROUP BY, the answer has a distribution function per group, whose `CDF.quantile` gives the quantiles.
        """
        asks_quantiles = self.question_json["ask"] in {"quantiles", "weighted-quantiles"}
        return tuple(self.question_json["probabilities"]) if asks_quantiles else ()

    def _explain_ungrouped(self) -> str:
        """Return the error message for GROUP BY with a function whose question has no groups."""
        word = self.question_json["ask"]
        if word == "quantiles" or BY in _field_names(list_question_classes()[word]):
            return f"{FUNCTIONS[self.function].describe_call(self.function)}: with GROUP BY cells are needed"
        grouped_functions = ", ".join(
            name
            for name, function in FUNCTIONS.items()
            if function.question_type == "quantiles"
            or (BY not in function.columns and BY in _field_names(list_question_classes()[function.question_type]))
        )
        return f"{self.function} takes no GROUP BY; these do: {grouped_functions}"

    def _build_groups(self, categories: Mapping[str, Sequence[Literal]], *, partition_selection: bool) -> By:
        """Return the groups of the question; None without groups.

        Args:
            categories: Declared values of columns, by name.
            partition_selection: If True, values that are not declared are found privately.

        Raises:
            InvalidArgument: the values of a column are declared twice, or not at all.
        """
        if not isinstance(categories, Mapping):
            raise InvalidArgument(
                "categories", 'declare the values of each column, as in {"region": ("north", "south")}'
            )
        for column in categories:
            if column not in self.groups:
                raise InvalidArgument(
                    "categories", f"{column!r} is not a column of GROUP BY; name it there, or leave out its values"
                )
            if column in self.where:
                raise InvalidArgument(
                    "categories", f"values of {column!r} are listed in WHERE already; declare them in one place"
                )

        # A condition such as region IN ('north', 'south') also declares the categories of a group.
        declared = {**self.where, **categories}
        keys: list[Categories] = []
        for column in self.groups:
            if column in declared:
                keys.append(Categories(column, tuple(declared[column])))
            elif partition_selection:
                keys.append(UnlistedCategories(column))
            else:
                _refuse(
                    f"GROUP BY {column}: declare its values, as in WHERE {column} IN ('a', 'b'), or beside the "
                    f"statement (--by {column}=a,b); or give a loss with a delta (--delta), which finds those of many "
                    "units"
                )
        if len(keys) > 1:
            return tuple(keys)
        return keys[0] if keys else None


def _field_names(kind: type[Any]) -> set[str]:
    """Return the names of the fields of a question type.

    Args:
        kind: Question type, a dataclass.
    """
    return {field.name for field in fields(kind)}


def _groups_to_json(groups: Categories | tuple[Categories, ...]) -> Any:
    """Return groups as a question's JSON writes them.

    Args:
        groups: Categories of one column, or of several.

    Returns:
        A mapping for one column, a list of mappings for several; categories that are not listed are marked
        ``unlisted``.
    """
    if isinstance(groups, tuple):
        return [_groups_to_json(group) for group in groups]
    return {
        "column": groups.column,
        **({"unlisted": True} if isinstance(groups, UnlistedCategories) else {"categories": groups.values}),
    }


def _refuse(rule: str) -> NoReturn:
    """Raise the error of an SQL statement that is not accepted: `InvalidArgument` about the argument ``statement``.

    Args:
        rule: The rule that the statement breaks, and what to write instead.
    """
    raise InvalidArgument("statement", rule)


CLAUSES_AFTER_WHERE = frozenset({
    "GROUP_BY", "HAVING", "ORDER_BY", "LIMIT", "OFFSET", "QUALIFY", "WINDOW", "UNION", "EXCEPT", "INTERSECT", "FETCH",
    "FOR", "SEMICOLON", "TABLE_SAMPLE",
})  # fmt: skip
"""Names of the tokens of `sqlglot` before which the condition of WHERE ends."""
PARENTHESIS_DEPTHS = MappingProxyType({"L_PAREN": 1, "R_PAREN": -1})
"""What a token of `sqlglot` adds to the depth of nested parentheses; a clause begins at depth 0 only."""


def _set_expressions_aside(text: str, tokens: Sequence[Any]) -> tuple[str, Node | None]:
    """Return an SQL statement with expressions among arguments replaced by quoted column names, and its WHERE
    condition.

    Formal guarantees: each expression and the condition are parsed by the closed language, which refuses unknown
    syntax. The rest of the statement is accounted for word by word.

    Args:
        text: The statement.
        tokens: Its tokens, with their positions.

    Returns:
        The statement without expressions and WHERE, and the syntax tree of the condition; None without WHERE.

    Raises:
        ValueError: an expression or the condition is not of the language.
    """
    depth = 0
    cuts = list[tuple[int, int, str]]()
    condition = None
    position = 0
    while position < len(tokens):
        token = tokens[position]
        kind = token.token_type.name
        depth += PARENTHESIS_DEPTHS.get(kind, 0)

        # Arguments of a function are expressions of the closed language, not of DuckDB.
        if kind == "L_PAREN" and depth == 1 and position and tokens[position - 1].text.lower() in FUNCTIONS:
            function = FUNCTIONS[tokens[position - 1].text.lower()]
            cuts += _find_expressions(text, tokens, position + 1, len(function.columns))
        if kind == "WHERE" and depth == 0:
            last = position + 1
            inner = 0
            while last < len(tokens) and not (inner == 0 and tokens[last].token_type.name in CLAUSES_AFTER_WHERE):
                inner += PARENTHESIS_DEPTHS.get(tokens[last].token_type.name, 0)
                last += 1
            if last == position + 1:
                _refuse("WHERE: a condition is needed, as in WHERE age >= 65")
            part = text[tokens[position + 1].start : tokens[last - 1].end + 1]
            condition = _parse_part(part, "WHERE ")
            cuts.append((token.start, tokens[last - 1].end + 1, " "))
            break
        position += 1

    # The last cut comes first, so that positions of the others stay valid.
    for start, stop, replacement in sorted(cuts, reverse=True):
        text = text[:start] + replacement + text[stop:]
    return text, condition


def _find_expressions(text: str, tokens: Sequence[Any], start: int, columns: int) -> list[tuple[int, int, str]]:
    """Return the expressions among the first `columns` arguments of a call.

    Each has the positions of its first and last characters in `text`, and the quoted column name that replaces it.

    Args:
        text: The statement.
        tokens: Its tokens.
        start: Index of the first token of the arguments.
        columns: Number of arguments that are columns.

    Returns:
        Triples: first character, character after the last, and quoted name. Plain column names are left out.
    """
    cuts = list[tuple[int, int, str]]()
    first = start
    depth = 0
    for position in range(start, len(tokens)):
        kind = tokens[position].token_type.name
        if depth == 0 and kind in {"COMMA", "R_PAREN"}:
            part_tokens = tokens[first:position]
            is_name = len(part_tokens) == 1 and part_tokens[0].token_type.name in {"VAR", "IDENTIFIER"}
            if part_tokens and not is_name and not any(token.token_type.name == "FARROW" for token in part_tokens):
                part = text[part_tokens[0].start : part_tokens[-1].end + 1]
                name = ALL_RECORDS if part == ALL_RECORDS else _format_part(part)
                cuts.append((part_tokens[0].start, part_tokens[-1].end + 1, '"' + name.replace('"', '""') + '"'))
            columns = columns - 1
            first = position + 1
            if columns == 0 or kind == "R_PAREN":
                break
        depth += (kind in {"L_PAREN", "L_BRACKET"}) - (kind in {"R_PAREN", "R_BRACKET"})
    return cuts


def _format_part(part: str) -> str:
    """Return the canonical text of an expression of columns, so that equal expressions have equal texts.

    Args:
        part: Text of the expression, or the name of a column.

    Raises:
        InvalidArgument: the text is neither.
    """
    node = _parse_part(part, "")
    if not find_column_names(node):
        _refuse(f"{_shorten(part)} is neither a column nor an expression of columns, such as wage / hours")
    return node.name if isinstance(node, ColumnName) else format_expression(node)


def _parse_part(part: str, prefix: str) -> Node:
    """Return the syntax tree of an expression or condition inside a statement.

    Args:
        part: Text of the expression.
        prefix: Beginning of the error message.

    Raises:
        InvalidArgument: the text is no valid expression.
    """
    try:
        return parse_expression(" ".join(part.split()), "statement")
    except InvalidArgument as error:
        raise InvalidArgument("statement", f"{prefix}{error.rule}") from None


def _split_condition(condition: Node | None, groups: Sequence[str]) -> tuple[dict[str, tuple[Literal, ...]], str]:
    """Return the values that a condition lists of GROUP BY columns, and the rest of the condition as text.

    Args:
        condition: Condition of WHERE; None without one.
        groups: Columns of GROUP BY.

    Returns:
        Listed values by column of GROUP BY, and the rest of the condition as text; empty if nothing is left.

    Raises:
        InvalidArgument: values of a column are listed twice.
    """
    listed = dict[str, tuple[Literal, ...]]()
    rest = list[Node]()
    for part in _list_conjuncts(condition):
        values = _list_values(part, groups)
        if values is None:
            rest.append(part)
        elif values[0] in listed:
            _refuse(f"WHERE {_shorten(values[0])}: list the groups of a column in one condition only")
        else:
            listed[values[0]] = values[1]
    if not rest:
        return listed, ""
    joined = rest[0]
    for part in rest[1:]:
        joined = Call("and", (joined, part))
    return listed, format_expression(joined)


def _list_conjuncts(condition: Node | None) -> Iterator[Node]:
    """Yield the conditions that are joined by AND at the top of a condition; none if there is no condition.

    Args:
        condition: Syntax tree of a WHERE condition; None without one.
    """
    if isinstance(condition, Call) and condition.function == "and":
        for part in condition.arguments:
            yield from _list_conjuncts(part)
    elif condition is not None:
        yield condition


def _list_values(condition: Node, groups: Sequence[str]) -> tuple[str, tuple[Literal, ...]] | None:
    """Return a GROUP BY column and its values, if a condition lists them; else None.

    Args:
        condition: Condition of WHERE, such as ``region IN ('north', 'south')``.
        groups: Names of the columns of GROUP BY.
    """
    if not isinstance(condition, Call) or condition.function not in {"eq", "in"}:
        return None
    column, *values = condition.arguments
    if not isinstance(column, ColumnName) or column.name not in groups:
        return None
    literals = [value.value for value in values if isinstance(value, LiteralNode)]
    if len(literals) < len(values) or not all(isinstance(value, str | bool | float) for value in literals):
        return None
    return column.name, tuple(
        int(value) if type(value) is float and value.is_integer() else value  # type: ignore[misc]
        for value in literals
    )


class _StatementReader:
    """Walks the syntax tree of a statement, and records each word that it has interpreted."""

    def __init__(self, text: str) -> None:
        """Parse the text of an SQL statement into a syntax tree, which `read_statement` interprets.

        Args:
            text: The statement.

        Raises:
            MissingPackage: sqlglot is not installed.
            InvalidArgument: the text is not one SELECT statement of the supported form, has comments, or is too long.
        """
        try:
            import sqlglot
        except ModuleNotFoundError as error:
            raise MissingPackage("sql", f"SQL needs more packages; install dpcurves[sql] ({error})") from error
        self.exp = sqlglot.exp
        self.condition: Node | None = None
        longest_statement = 10_000  # characters of a statement; a longer one is refused
        if not isinstance(text, str) or not text.strip() or len(text) > longest_statement:
            _refuse(f"a text of at most {longest_statement:,} characters is needed: {STATEMENT_FORM}")
        tokens: list[Any] = []
        with suppress(Exception):
            tokens = sqlglot.tokenize(text, read=DIALECT)
        words = [token.text for token in tokens]
        if words and words[-1] == ";":
            words.pop()
        if not words or words[0].upper() != "SELECT":
            _refuse(f"the statement must begin with SELECT: {STATEMENT_FORM}")
        if any(token.comments for token in tokens):
            _refuse("comments and hints are not accepted; leave them out")
        if ";" in words:
            _refuse("only one statement is accepted at a time; run each by itself")
        most_brackets = 20  # brackets in a statement, which bound the nesting that the parser meets
        if words.count("(") > most_brackets:
            _refuse(f"more than {most_brackets} brackets are not accepted; use fewer")
        text, self.condition = _set_expressions_aside(text, tokens)
        with suppress(Exception):
            tokens = sqlglot.tokenize(text, read=DIALECT)
        words = [token.text for token in tokens]
        if words and words[-1] == ";":
            words.pop()
        self.select: Any = None
        with suppress(Exception):  # parser errors of any type, which quote the whole text
            (self.select,) = filter(None, sqlglot.parse(text, read=DIALECT))
        if not isinstance(self.select, self.exp.Select):
            _refuse(f"the statement must have this form: {STATEMENT_FORM}")
        self.words = words
        self.read = list[str]()

    def read_statement(self) -> SqlQuestion:
        """Return the question of the SQL statement, with its groups and its condition.

        Raises:
            InvalidArgument: the statement is not of the supported form, or a word of it was not interpreted.
        """
        clauses = self._read_parts(self.select, ("expressions", "from", "group"))
        if "from" not in clauses:
            _refuse(f"name the table after FROM: {STATEMENT_FORM}")
        self._write_down("SELECT")
        columns, function, question_json = self._read_select(clauses["expressions"])
        self._write_down("FROM")
        table = self._read_table(clauses["from"])
        groups = self._read_groups(clauses["group"]) if "group" in clauses else ()
        if BY in question_json:  # the column of the function has the groups
            column = question_json.pop(BY)
            if groups not in ((), (column,)):
                _refuse(f"{function} takes no GROUP BY but {column}; for two columns count with dp_count(*) by both")
            groups = (column,)
        if ungrouped := [name for name in columns if name not in groups]:
            _refuse(f"SELECT {ungrouped[0]}: columns beside the function must be named in GROUP BY")
        understood, words = (" ".join(words).split() for words in (self.read, self.words))
        if [word.casefold() for word in understood] != [word.casefold() for word in words]:
            word_pairs = enumerate(zip(understood, words, strict=False))
            position = next(
                (
                    probabilities
                    for probabilities, (read_word, word_of_text) in word_pairs
                    if read_word.casefold() != word_of_text.casefold()
                ),
                -1,
            )
            _refuse(f"{_shorten(words[position])}: this is not accepted here; write {STATEMENT_FORM}")
        where, row_filter = _split_condition(self.condition, groups)
        return SqlQuestion(function, question_json, table, where, groups, row_filter)

    # Each method below records the words that it reads, in order.

    def _write_down(self, *words: str) -> None:
        """Record words of the SQL text as interpreted, so that words which were ignored can be found and refused.

        Args:
            words: The words, in the order of the text.
        """
        self.read += words

    def _iterate_list(self, expressions: Sequence[Any]) -> Iterator[Any]:
        """Yield the expressions of an SQL list, and record the commas between them as interpreted.

        Args:
            expressions: Expressions of the list, in order.
        """
        for index, expression in enumerate(expressions):
            if index:
                self._write_down(",")
            yield expression

    def _read_select(self, expressions: Sequence[Any]) -> tuple[list[str], str, dict[str, Any]]:
        """Return the column names of SELECT, and the name and question of its only function.

        Args:
            expressions: Items of the SELECT list.

        Returns:
            Column names, name of the function, and fields of its question by name.

        Raises:
            InvalidArgument: an item is neither, or there is not exactly one function.
        """
        names = list[str]()
        calls = list[tuple[str, dict[str, Any]]]()
        for item in self._iterate_list(expressions):
            if isinstance(item, self.exp.Column):
                names.append(self._read_column(item))
            elif isinstance(item, self.exp.Anonymous) and isinstance(item.this, str):
                calls.append(self._read_call(item))
            elif isinstance(item, self.exp.Count) and isinstance(item.this, self.exp.Star):  # as people write it
                self._write_down("count", "(", ALL_RECORDS, ")")
                calls.append(("dp_count", {"ask": "count", "column": ALL_RECORDS}))
            else:
                _refuse(
                    f"{_format_expression(item)}: a function of a question is needed, one of {', '.join(FUNCTIONS)}"
                )
        if len(calls) != 1:
            _refuse(f"a single function of a question is needed, got {len(calls)}; use one of {', '.join(FUNCTIONS)}")
        return names, *calls[0]

    def _read_call(self, call: exp.Anonymous) -> tuple[str, dict[str, Any]]:
        """Return the name of a called function and its question as a plain object.

        Args:
            call: Call in the SELECT list.

        Returns:
            Name in lower case, and fields of the question by name.

        Raises:
            InvalidArgument: the function is unknown, or the arguments do not fit it.
        """
        name = str(call.this).lower()
        function = FUNCTIONS.get(name)
        if function is None:
            _refuse(f"{_shorten(name)}: there is no such function; use one of {', '.join(FUNCTIONS)}")
        self._write_down(name, "(")

        # Columns come first, then values by position, then arguments by name.
        columns = list[str]()
        values = list[Any]()
        options = dict[str, Any]()
        for argument in self._iterate_list(call.expressions):
            if len(columns) < len(function.columns):
                columns.append(self._read_column(argument, f"{function.describe_call(name)}: "))
            elif isinstance(argument, self.exp.Kwarg):
                field = argument.this.name
                self._write_down(field, "=>")
                if field in {BY, *function.columns, *function.fixed_fields, *options}:
                    _refuse(f"{name}: {field} cannot be given by its name, or is given twice; give it once")
                if field == WEIGHT:
                    options[field] = self._read_column(argument.expression, f"{name}: weight => ")
                else:
                    options[field] = self._read_value(argument.expression)
            elif options:
                _refuse(f"{name}: arguments with names must stand after those without")
            else:
                values.append(self._read_value(argument))
        self._write_down(")")
        if len(columns) < len(function.columns):
            _refuse(f"{function.describe_call(name)}: the column is missing; name it first, in the brackets")

        column_fields = {**dict(zip(function.columns, columns, strict=True)), **function.fixed_fields}
        question_json = {
            "ask": function.question_type,
            **self._read_arguments(name, function, values, options),
            **column_fields,
            **options,
        }
        if WEIGHT in options:
            question_json |= self._find_weighted_fields(name, function)
        return name, question_json

    @staticmethod
    def _find_weighted_fields(name: str, function: SqlFunction) -> Mapping[str, Any]:
        """Return the fields that make a function's question weighted.

        Args:
            name: Name of the function, for the message.
            function: The function.

        Raises:
            InvalidArgument: the function has no weighted form.
        """
        if function.question_type not in WEIGHTED_TYPES:
            names = [other for other, called in FUNCTIONS.items() if called.question_type in WEIGHTED_TYPES]
            _refuse(f"{name}: weight => is for {', '.join(names)}; leave the weights out")
        return WEIGHTED_TYPES[function.question_type]

    def _read_arguments(
        self, name: str, function: SqlFunction, values: list[Any], options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the fields of the question that the arguments of an SQL function call state: grid, bounds,
        probabilities and others.

        Args:
            name: Name of the function, for the message.
            function: The function, which has the forms of its arguments.
            values: Literals after the columns, in order.
            options: Arguments by name, which must not be given twice.

        Raises:
            InvalidArgument: the values do not fit the forms.
        """
        arguments = dict[str, Any]()
        remaining = list(values)
        message = f"{name}: the form is {function.describe_call(name)}"
        for form in function.argument_forms:
            if form == GRID and not remaining:
                arguments |= (
                    {"grid": "auto"}
                    if function.question_type in AUTOMATIC_RANGE_QUESTIONS and "grid" not in options
                    else {}
                )
                continue
            if form == BOUNDS and not remaining:
                arguments |= {} if options.keys() & {*ENDS} else dict.fromkeys(ENDS, "auto")
                continue
            group = [remaining.pop(0) for _ in form.split(", ") if remaining]
            if len(group) < len(form.split(", ")) or any(isinstance(value, tuple) for value in group) != (
                form == PROBABILITIES
            ):
                _refuse(message)
            if any(
                isinstance(literal, str | bool)
                for value in group
                for literal in (value if form == PROBABILITIES else [value])
            ):
                _refuse(message)
            if form == GRID:
                arguments["grid"] = ":".join(map(str, group))
            elif form == BOUNDS:
                arguments |= dict(zip(ENDS, group, strict=True))
            else:
                arguments["probabilities"] = list(group[0]) if form == PROBABILITIES else group
        if remaining or arguments.keys() & options.keys():
            _refuse(message)
        return arguments

    def _read_table(self, clause: exp.Expression) -> tuple[str, ...]:
        """Return the parts of the table's name in a FROM clause: catalog and schema if stated, then the table.

        Args:
            clause: Syntax tree of the FROM clause.
        """
        table = self._read_parts(clause, ("this",))["this"]
        if not isinstance(table, self.exp.Table):
            _refuse(f"FROM {_format_expression(table)}: name a table or view; for a query, {VIEW_ADVICE}")
        qualifiers = self._read_parts(table, ("this", "db", "catalog"))
        names = [qualifiers[identifier] for identifier in ("catalog", "db", "this") if identifier in qualifiers]
        if not all(isinstance(identifier, self.exp.Identifier) for identifier in names):
            _refuse(f"FROM {_format_expression(table)}: name a table or view")
        for position, identifier in enumerate(names):
            self._write_down(*([] if not position else ["."]), str(identifier.this))
        return tuple(str(identifier.this) for identifier in names)

    def _read_groups(self, clause: exp.Expression) -> tuple[str, ...]:
        """Return the names of the columns that a GROUP BY clause lists, none of them twice.

        Args:
            clause: The clause in the syntax tree.

        Raises:
            InvalidArgument: a column is named twice, or is no plain column.
        """
        self._write_down("GROUP BY")
        columns = [
            self._read_column(column)
            for column in self._iterate_list(self._read_parts(clause, ("expressions",))["expressions"])
        ]
        if len(set(columns)) < len(columns):
            _refuse("GROUP BY: name each column once")
        return tuple(columns)

    def _read_column(self, expression: exp.Expression, prefix: str = "") -> str:
        """Return the name of a column.

        Args:
            expression: Parsed expression.
            prefix: Beginning of the message.

        Raises:
            InvalidArgument: the expression is not a plain column name.
        """
        if not isinstance(expression, self.exp.Column) or not isinstance(expression.this, self.exp.Identifier):
            words = f"{prefix}{_format_expression(expression)}"
            _refuse(f"{words} is not the name of a column; for an expression, {VIEW_ADVICE}")
        operands = self._read_parts(expression, ("this",))
        self._write_down(str(operands["this"].this))
        return str(operands["this"].this)

    def _read_value(self, expression: exp.Expression) -> Any:
        """Return a literal, or a tuple of the literals in brackets.

        Args:
            expression: Syntax tree of an argument of a function.

        Raises:
            InvalidArgument: the expression is something else.
        """
        if not isinstance(expression, self.exp.Tuple | self.exp.Paren):
            return self._read_literal(expression)
        self._write_down("(")
        members = expression.expressions if isinstance(expression, self.exp.Tuple) else [expression.this]
        values = tuple(self._read_literal(member) for member in self._iterate_list(members))
        self._write_down(")")
        return values

    def _read_literal(self, expression: exp.Expression) -> Literal:
        """Return the value of a number, text or truth value.

        Args:
            expression: Parsed expression; a number may have a minus sign.

        Raises:
            InvalidArgument: the expression is something else.
        """
        exp = self.exp
        negative = isinstance(expression, self.exp.Neg)
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
        """Return the clauses or operands of a parsed SQL expression by name, and refuse all that are not allowed.

        Args:
            expression: Expression of the parser.
            allowed_parts: Names of the clauses or operands that are accepted; the first is required.

        Returns:
            Syntax trees by name, without empty ones.

        Raises:
            InvalidArgument: another clause is present, or the first is missing.
        """
        operands = {
            name.rstrip("_"): value for name, value in expression.args.items() if value not in (None, False, [], "")
        }
        unexpected = next((name for name in operands if name not in allowed_parts), None)
        if unexpected is not None:
            clause = CLAUSES.get(unexpected, unexpected.replace("_", " ").upper())
            _refuse(
                f"{clause} is not accepted; write {STATEMENT_FORM}"
                + (f"; {VIEW_ADVICE}" if unexpected in VIEW_CLAUSES else "")
            )
        if allowed_parts[0] not in operands:
            _refuse(f"the statement must have this form: {STATEMENT_FORM}")
        return operands


CLAUSES: Mapping[str, str] = MappingProxyType({
    "joins": "JOIN", "order": "ORDER BY", "laterals": "LATERAL", "sample": "TABLESAMPLE", "windows": "WINDOW",
    "locks": "FOR UPDATE", "alias": "AS", "query": "a subquery", "table": "the name of a table before that of a column",
    "when": "AT a version", "pivots": "PIVOT", "all": "GROUP BY ALL",
})  # fmt: skip
"""Names of refused clauses for the error, by their names in syntax trees of `sqlglot`. A clause without an entry is
called by its name there, in capital letters."""
VIEW_CLAUSES = frozenset({"joins", "laterals", "with", "query", "pivots"})
"""Refused clauses, by their names in syntax trees of `sqlglot`, for which the error advises to create a view."""


def _parse_number(text: str) -> float:
    """Return the finite double that a text states.

    Args:
        text: Text of a number in the statement.

    Raises:
        InvalidArgument: the text states none.
    """
    try:
        number = float(text)
    except ValueError:
        number = inf
    if not isfinite(number):
        _refuse(f"{_shorten(text)} is not a finite number; write one such as 1.5")
    return number


def _format_expression(expression: exp.Expression) -> str:
    """Return the SQL of an expression, shortened for messages.

    Args:
        expression: Syntax tree of the expression.
    """
    try:
        return _shorten(expression.sql(dialect=DIALECT))
    except Exception:
        return type(expression).__name__


def _shorten(text: str) -> str:
    """Return a text in one line, cut to 60 characters.

    Args:
        text: Text that a message quotes.
    """
    line = " ".join(text.split())
    shown_characters = 60  # characters of a statement that a message quotes
    return line if len(line) <= shown_characters else f"{line[:shown_characters]}..."


PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")
"""Names that all engines read alike, quoted or not; other names are quoted."""
IN_MEMORY_LEDGER = "sqlite://"
"""URL of the default ledger, which is kept in memory: what was spent is forgotten when the process ends."""
CONNECTION_RULE = (
    "a connection of DuckDB, a session of Spark, the URL of an engine, as postgresql://reader@host/database or "
    "sc://host:port, or a mapping from names to tables"
)
"""Connections that `sql` accepts, for the error about another object."""
FIND_TABLE_SQL = (
    "SELECT database_name, schema_name, table_name FROM duckdb_tables() WHERE table_name = $1 UNION ALL "
    "SELECT database_name, schema_name, view_name FROM duckdb_views() WHERE view_name = $1 AND NOT internal"
)
"""DuckDB query for the tables and views of a name in all catalogues and schemas."""
CURRENT_SCHEMA_SQL = "SELECT current_database(), current_schema()"
"""DuckDB query for the catalogue and schema that a name without them belongs to."""


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
    ledger: str | Ledger = IN_MEMORY_LEDGER,
    dataset: str = "data",
    request: str | None = None,
    randomness: Randomness | None = None,
    view: str | None = None,
) -> Any:
    """Ask a question in SQL: ``SELECT dp_cdf(wage, 0, 500000, 1024) FROM people``.

    Columns may be expressions, as ``wage / hours``; ``dp_count(*)`` counts records. ``WHERE age >= 65`` selects the
    records; ``WHERE region IN ('north', 'south') GROUP BY region`` declares groups, and the result then has a curve per
    group. All other SQL is refused before anything is charged; wrap a query in a view. Names are case-sensitive.

    Args:
        connection: A connection of DuckDB, a session of Spark, the URL of PostgreSQL or of Spark Connect, or a mapping
            from names to tables as `Session` takes them.
        statement: The statement.
        loss: The privacy loss; with a delta, unlisted groups of GROUP BY are selected privately.
        adjacency: `ADD_REMOVE` (the number of units is private) or `REPLACE_ONE` (it is public).
        unit: The column that identifies the protected unit; None protects single records.
        rows_per_unit: The contribution bound; see `Session`.
        categories: Values of GROUP BY columns, as ``{"region": ("north", "south")}``, instead of WHERE.
        units: The public number of units, under replace-one.
        budget: The cap of the account; None takes the cap of an existing account, else the loss.
        ledger: The ledger; see `Session`.
        dataset: The account, shared by all statements, tables and views on the same records.
        request: A request id; repeating the same request is free.
        randomness: Source of noise; sources other than the operating system are marked on the curve.
        view: A view that is stored with the account: only its rows count, and its derived columns can be named. If
            `connection` is a mapping with a single table, FROM can name the view.

    Returns:
        The result that `Session.ask` gives for the same question.

    Formal guarantees: as `Session.ask` for the same question. Units, their number and the adjacency refer to the whole
    table; for the records that fail a condition see `TableQuestion`. The owner of a view
    must ensure that each row depends on the records of one unit, named by the column `unit`, and that the view is
    deterministic.

    Raises:
        ValueError, TypeError: The statement does not match the grammar, the table or a column does not exist, or an
            argument is invalid; nothing was charged.
        UnsupportedQuery, BudgetExceeded: Nothing was charged.
        MissingPackage: sqlglot is not installed.

    >>> import dpcurves as dp
    >>> people = {"wage": [100.0, 300.0] * 500, "region": ["north", "south"] * 500}
    >>> found = dp.sql({"people": people}, "SELECT dp_mean(wage, 0, 500) FROM people WHERE region = 'north'",
    ...                loss=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE)
    >>> bool(abs(found.mean - 100) < 10)
    True
    """
    require_type("loss", loss, PrivacyLoss, "a loss, as in PrivacyLoss.pure(0.5),")
    require_type("ledger", ledger, (str, Ledger), "a URL, as sqlite:///budget.db, or a Ledger")
    parsed = SqlQuestion.from_sql(statement)
    question = parsed.build_question({} if categories is None else categories, partition_selection=bool(loss.delta))
    open_ledger = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    has_account = any(account.dataset == dataset for account in open_ledger.accounts())
    views = parse_view_definitions(open_ledger.view_definitions(dataset)) if has_account else {}
    table_name = parsed.table
    if view is None and isinstance(connection, Mapping) and is_view_of_single_table(table_name, connection, views):
        view = table_name[0]
        table_name = tuple(connection)
    if view is not None:
        question = find_view(view, views).apply(question)
    table = find_table(connection, table_name)
    session = Session(
        table, budget=_choose_cap(budget, loss, open_ledger, dataset), adjacency=adjacency, unit=unit,
        rows_per_unit=rows_per_unit, ledger=open_ledger, dataset=dataset, units=units, randomness=randomness,
    )  # fmt: skip
    with session, write_hints_as_fields():
        return session.ask(question, loss, request)


@contextmanager
def write_hints_as_fields() -> Iterator[None]:
    """Context in which hints of errors are written as SQL arguments, ``event_value => 'yes'``, not as Python or
    options.

    Raises:
        InvalidArgument: the error that was raised inside, about ``statement``, if its hint was rewritten.
    """
    try:
        yield
    except InvalidArgument as error:
        rule, suggested = re.subn(r'(\w+)="(\w+)"', r"\1 => '\2'", re.sub(r" \(--[^()]+\)$", "", error.rule))
        if not suggested:
            raise
        raise InvalidArgument("statement", rule) from None


def is_view_of_single_table(name: Sequence[str], tables: Collection[str], views: Collection[str]) -> bool:
    """Return True if the name after FROM names a stored view, not the only table.

    Args:
        name: Parts of the name.
        tables: Names of the tables.
        views: Names of the stored views.
    """
    return len(name) == len(tables) == 1 and name[0] not in tables and name[0] in views


def _choose_cap(budget: PrivacyLoss | None, loss: PrivacyLoss, ledger: Ledger, dataset: str) -> PrivacyLoss:
    """Return the cap of the account.

    It is the stated cap, or the cap of an existing account, or the loss rounded up to what a ledger can store.

    Args:
        budget: Stated cap; None: none is stated.
        loss: Loss of the statement.
        ledger: Ledger that may have an account of the data set.
        dataset: Name of the data set.
    """
    if budget is not None:
        return budget
    stored = next((account for account in ledger.accounts() if account.dataset == dataset), None)
    return Currency.from_loss(loss).smallest_cap(loss) if stored is None else stored.cap


def find_table(connection: Any, name: Sequence[str]) -> Any:
    """Return the table that a name after FROM means. Only the catalogue (names and types) is read.

    Args:
        connection: Connection of DuckDB, session of Spark, URL of PostgreSQL or Spark Connect, or a mapping from names
            to tables.
        name: Parts of the name, such as schema and table.

    Returns:
        The table, in a form that `Session` takes.

    Raises:
        TypeError: The connection has an unsupported type.
        ValueError: The table or view does not exist, or is ambiguous.
    """
    from duckdb import DuckDBPyConnection

    if isinstance(connection, Mapping):
        if len(name) > 1 or name[0] not in connection:
            raise InvalidArgument(
                "statement",
                f"FROM {'.'.join(name)}: there is no such table, by this spelling; FROM can name "
                f"{', '.join(map(str, connection)) or 'none'}",
            )
        return connection[name[0]]
    if isinstance(connection, DuckDBPyConnection):
        return _find_relation(connection, name)
    if isinstance(connection, str) and "://" in connection:
        spark = connection.startswith("sc://")
        return table_from_url(connection, _quote_name(name, "`" if spark else '"'))
    if all(hasattr(connection, attribute) for attribute in ("table", "createDataFrame", "catalog")):
        from .spark_table import spark as counted_by_spark

        return counted_by_spark(_quote_name(name, "`"), spark=connection)
    raise WrongArgumentType("connection", f"{CONNECTION_RULE} is needed, got {type(connection).__name__}")


def _quote_name(name: Sequence[str], quote: str) -> str:
    """Return a qualified name, with quotes around parts that are not plain names.

    Args:
        name: Parts of the name, such as schema and table.
        quote: Quotation mark of the database.
    """
    return ".".join(
        word if PLAIN_NAME.fullmatch(word) else quote + word.replace(quote, 2 * quote) + quote for word in name
    )


def _find_relation(connection: Any, name: Sequence[str]) -> Any:
    """Return a table or view of the catalogue, never a file or a Python variable of the same name.

    Args:
        connection: Connection of DuckDB.
        name: Name of the table, perhaps after its catalogue and schema.

    Raises:
        InvalidArgument: no table or view has this name, or several have.
    """
    *qualifiers, table = name
    current = [*connection.sql(CURRENT_SCHEMA_SQL).fetchall()[0], table]
    candidates = [list(candidate) for candidate in connection.sql(FIND_TABLE_SQL, params=[table]).fetchall()]
    matches = [candidate for candidate in candidates if candidate[2 - len(qualifiers) : 2] == qualifiers]
    if not qualifiers:  # as DuckDB resolves names: temporary tables first
        matches = [candidate for candidate in candidates if candidate[0] == "temp"] or [
            candidate for candidate in candidates if candidate == current
        ]
    if len(matches) > 1:
        matches = [candidate for candidate in matches if candidate[0] == current[0]]
    if len(matches) != 1:
        rule = "there are several of this name" if matches else "there is no such table or view, by this spelling"
        raise InvalidArgument("statement", f"FROM {'.'.join(name)}: {rule}")
    return connection.sql(
        "SELECT * FROM " + ".".join('"' + candidate.replace('"', '""') + '"' for candidate in matches[0])
    )
