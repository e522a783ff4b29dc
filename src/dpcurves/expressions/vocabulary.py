"""Words of the expression language besides those of `syntax`: synonyms, and what to write instead of refused words.

    FUNCTIONS, ALIASES      the functions that a message lists, and other names of them
    SIGNS, CASTS_BY_TYPE    comparisons by sign, conversions by SQL type
    INSTEAD, LIST           advice for what SQL users try: aggregates, windows, the current time, powers

The parser uses them; they touch no records.

>>> ALIASES["ceiling"], SIGNS["!="]
('ceil', 'ne')
"""

from __future__ import annotations

from types import MappingProxyType

from .syntax import CALLS, CASTS, COMPARISONS

FUNCTIONS = f"{' '.join(sorted(CALLS))} date_diff date_trunc"
"""Functions that a message lists."""
ALIASES = MappingProxyType({
    "log": "ln", "ceiling": "ceil", "substring": "substr", "ifnull": "coalesce", "prefix": "starts_with",
    "startswith": "starts_with", "datediff": "date_diff",
})  # fmt: skip
"""Other names of functions."""
CASTS_BY_TYPE = MappingProxyType({
    **{name: cast for cast, name in CASTS.items()}, "TEXT": "to_text", "FLOAT8": "to_number",
})  # fmt: skip
"""Conversions by the SQL type after AS or ``::``."""
SIGNS = MappingProxyType({
    **{sign: name for name, sign in COMPARISONS.items()}, "!=": "ne", "==": "eq",
})  # fmt: skip
"""Comparisons by their signs."""
_OTHER_ROWS = "aggregates read other rows, and an expression reads a single row: leave this out"
_WINDOW = "window functions read other rows, and an expression reads a single row: leave this out"
_QUERY = "queries inside an expression are not allowed: make a view of the query, and name its column"
_RANDOM = "random functions are not allowed, because an expression is a function of its row: leave this out"
_TIME = "the current time is not allowed; write a date, as in DATE '2024-01-31'"
_POWER = "powers differ in their last bits between engines; write products, as in x * x"
_COMMENT = "comments are not allowed"
LIST = (
    "an expression has one value; declare categories once, beside the name of a column, or compare with several values,"
    " as in region IN ('a', 'b')"
)
"""Rule for a list of values where an expression has a single one."""
INSTEAD = MappingProxyType({
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
"""Rules for words that people try."""
