"""Names that the parser of filters knows besides the standard ones: synonyms, and advice for SQL that is not supported.

    ALIASES                 synonyms of functions, such as ``ceiling`` for ``ceil``
    COMPARISON_SIGNS        comparisons by their signs
    CASTS_BY_TYPE           conversions by SQL type
    LISTED_FUNCTIONS        text that lists all functions, for messages
    REPLACEMENT_ADVICE, LIST_RULE
                            what to write instead of aggregates, window functions, the current time, powers and others

Features are refused if they read other rows, differ between engines, or can be written with simpler ones. The tables
hold names alone, and touch no records.

>>> ALIASES["ceiling"], COMPARISON_SIGNS["!="]
('ceil', 'ne')
"""

from __future__ import annotations

from types import MappingProxyType

from .syntax import CALL_FUNCTIONS, CASTS, COMPARISONS

LISTED_FUNCTIONS = f"{' '.join(sorted(CALL_FUNCTIONS))} date_diff date_trunc"
"""Functions that the error for an unknown function lists."""
ALIASES = MappingProxyType({
    "log": "ln", "ceiling": "ceil", "substring": "substr", "ifnull": "coalesce", "prefix": "starts_with",
    "startswith": "starts_with", "datediff": "date_diff",
})  # fmt: skip
"""Other names of functions, which are read as the functions they map to."""
CASTS_BY_TYPE = MappingProxyType({
    **{name: cast for cast, name in CASTS.items()}, "TEXT": "to_text", "FLOAT8": "to_number",
})  # fmt: skip
"""Names of conversions by the SQL type after AS or ``::``. Other types are refused."""
COMPARISON_SIGNS = MappingProxyType({
    **{sign: name for name, sign in COMPARISONS.items()}, "!=": "ne", "==": "eq",
})  # fmt: skip
"""Names of comparisons by their signs; besides SQL's, those of Python and C."""
_OTHER_ROWS = "aggregates read other rows, and an expression reads a single row: leave this out"
"""Advice in the error for aggregates."""
_WINDOW = "window functions read other rows, and an expression reads a single row: leave this out"
"""Advice in the error for window functions."""
_QUERY = "queries inside an expression are not allowed: make a view of the query, and name its column"
"""Advice in the error for subqueries."""
_RANDOM = "random functions are not allowed, because an expression is a function of its row: leave this out"
"""Advice in the error for random functions."""
_TIME = "the current time is not allowed; write a date, as in DATE '2024-01-31'"
"""Advice in the error for the current time."""
_POWER = "powers differ in their last bits between engines; write products, as in x * x"
"""Advice in the error for powers."""
_COMMENT = "comments are not allowed"
"""Advice in the error for comments."""
LIST_RULE = (
    "an expression has one value; declare categories once, beside the name of a column, or compare with several values,"
    " as in region IN ('a', 'b')"
)
"""Rule in the error for a list of values where an expression has a single one."""
REPLACEMENT_ADVICE = MappingProxyType({
    "//": "is not an operator here; write floor(a / b)",
    "%": "is not an operator here; write a - b * floor(a / b)",
    "mod": "is not a function here; write a - b * floor(a / b)",
    **dict.fromkeys(("^", "**", "pow", "power"), _POWER),
    "||": "texts are not joined; compare the columns one by one",
    "ilike": "it is unknown; write lower(name) LIKE 'abc%'",
    "if": "it is unknown; write CASE WHEN condition THEN a ELSE b END",
    "trim": "it is unknown; compare with IN and the spellings that occur",
    ".": "name the column alone, without its table",
    "interval": "it is unknown; write date_diff('day', a, b) > 30",
    "timestamp": "it is unknown; compare with a date, as in DATE '2024-01-31'",
    **dict.fromkeys(("select", "exists", "with", "values", "any", "all", "some"), _QUERY),
    **dict.fromkeys(("over", "row_number", "rank", "dense_rank", "lag", "lead", "ntile", "first_value"), _WINDOW),
    **dict.fromkeys(("count", "sum", "avg", "mean", "min", "max", "median", "stddev", "variance"), _OTHER_ROWS),
    **dict.fromkeys(("random", "rand", "uuid", "gen_random_uuid", "setseed"), _RANDOM),
    **dict.fromkeys(("now", "today", "current_date", "current_timestamp", "current_time", "localtime"), _TIME),
    **dict.fromkeys(("--", "/*"), _COMMENT),
})  # fmt: skip
"""End of the error for a word or sign that users of SQL try and the language does not have, by the word in small
letters."""
