"""Random expressions of every function and type, and rows with values that are hard to agree on."""

from __future__ import annotations

from datetime import date
from random import Random
from typing import Any

import numpy as np

from dpcurves.expressions import Call, ColumnName, Literal, Node, ValueType
from dpcurves.expressions.syntax import CLOCK_UNITS, COMPARISONS, UNITS

NUMBER, TEXT, TRUTH, DATE, MOMENT, FIELD = ValueType
NUMBERS = (
    0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, 3.0, 7.0, 1e308, -1e308, 5e-324, 2.0**53, 2.0**53 + 2,
    4503599627370497.5, float("inf"), float("-inf"), float("nan"), 0.1, 1 / 3, 65.0,
)  # fmt: skip
TEXTS = (
    None, "", "a", "A", "north", "North", "München", "ÄÖ", "€uro", "12", "-1.5e3", "1e400", "+5", " 5", "5.", "0x10",
    "2024-02-30", "2024-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "nan", "inf", "it's", "a%b", "\U0001f600x",
)  # fmt: skip
DAYS = (0, -1, 18321, -719162, 2932896, -719163, 2932897, 100_000_000, -100_000_000, 365, 58, 59, 60, None)
MOMENTS = (0, -1, 1, 86_400_000_000, -86_400_000_001, 1_700_000_000_123_456, -(2**62), 2**62, None)


def make_table() -> dict[str, Any]:
    """Rows of all types: two columns of each, shuffled against each other."""
    generator, rows = np.random.default_rng(7), 200

    def pick(values: tuple[Any, ...]) -> list[Any]:
        return [values[index] for index in generator.integers(0, len(values), rows)]

    table: dict[str, Any] = {}
    for name in ("x", "y"):
        table[name] = np.array(pick(NUMBERS))
        table[f"{name} text"] = np.array(pick(TEXTS), dtype=object)
        table[f"{name}_flag"] = generator.random(rows) < 0.5
        table[f"{name}_day"] = np.array(
            [np.datetime64("NaT", "D") if day is None else np.datetime64(day, "D") for day in pick(DAYS)]
        )
        table[f"{name}_time"] = np.array(
            [np.datetime64("NaT", "us") if time is None else np.datetime64(time, "us") for time in pick(MOMENTS)]
        )
    return table


OF_NUMBERS = [
    "add",
    "sub",
    "mul",
    "div",
    "neg",
    "abs",
    "round",
    "floor",
    "ceil",
    "sqrt",
    "least",
    "greatest",
    "to_number",
    "year",
    "month",
    "day",
    "quarter",
    "isodow",
    "diff",
    "clock",
    "truth",
]
OF_TRUTH = ["and", "or", "not", "compare", "compare", "in", "between", "is_null", "is_not_null", "prefix"]
NAMES = {NUMBER: "{}", TEXT: "{} text", TRUTH: "{}_flag", DATE: "{}_day", MOMENT: "{}_time"}


def make_node(random: Random, kind: ValueType, depth: int) -> Node:  # noqa: PLR0911
    """A random expression of a type."""
    if depth == 0 or random.random() < 0.15:
        return make_leaf(random, kind)

    def sub(other: ValueType) -> Node:
        return make_node(random, other, depth - 1)

    shared = random.choice(["coalesce", "nullif", "case", "own", "own", "own"])
    if shared == "coalesce":
        return Call("coalesce", (sub(kind), sub(kind)))
    if shared == "nullif" and kind is not TRUTH:
        return Call("nullif", (sub(kind), sub(kind)))
    if shared == "case":
        return Call(
            "case", (sub(TRUTH), sub(kind), *((sub(TRUTH), sub(kind)) if random.random() < 0.3 else ()), sub(kind))
        )
    if kind is NUMBER:
        return make_number(random, depth)
    if kind is TRUTH:
        return make_truth(random, depth)
    if kind is TEXT:
        name = random.choice(["lower", "upper", "substr"])
        if name == "substr":
            length = (Literal(float(random.randint(1, 4))),) if random.random() < 0.7 else ()
            return Call("substr", (sub(TEXT), Literal(float(random.randint(1, 4))), *length))
        return Call(name, (sub(TEXT),))
    if kind is DATE:
        if random.random() < 0.2:
            return Call(random.choice(["least", "greatest"]), (sub(DATE), sub(DATE)))
        if random.random() < 0.4:
            value = sub(random.choice([TEXT, MOMENT]))  # the cast of a literal is parsed into a date
            return Call("to_date", (ColumnName("x text") if isinstance(value, Literal) else value,))
        return Call(f"trunc_{random.choice(UNITS)}", (sub(DATE),))
    return make_leaf(random, kind)


def make_number(random: Random, depth: int) -> Node:  # noqa: PLR0911
    def sub(other: ValueType) -> Node:
        return make_node(random, other, depth - 1)

    name = random.choice(OF_NUMBERS)
    if name in {"add", "sub", "mul", "div", "least", "greatest"}:
        return Call(name, (sub(NUMBER), sub(NUMBER)))
    if name in {"neg", "abs", "round", "floor", "ceil", "sqrt"}:
        node = sub(NUMBER)
        return Call("abs", (node,)) if name == "neg" and isinstance(node, Literal) else Call(name, (node,))
    if name == "to_number":
        return Call(name, (sub(TEXT),))
    if name == "truth":
        return Call("add", (sub(TRUTH), sub(NUMBER)))
    if name == "diff":
        return Call(f"diff_{random.choice(UNITS)}", (sub(DATE), sub(DATE)))
    if name == "clock":
        return Call(f"diff_{random.choice(CLOCK_UNITS)}", (sub(MOMENT), sub(MOMENT)))
    return Call(name, (sub(random.choice([DATE, MOMENT])),))


def make_truth(random: Random, depth: int) -> Node:  # noqa: PLR0911
    def sub(other: ValueType) -> Node:
        return make_node(random, other, depth - 1)

    name = random.choice(OF_TRUTH)
    kind = random.choice([NUMBER, NUMBER, TEXT, DATE, MOMENT])
    if name in {"and", "or"}:
        return Call(name, (sub(TRUTH), sub(TRUTH)))
    if name == "not":
        value = sub(TRUTH)  # NOT (a IS NULL) is parsed into a IS NOT NULL
        is_null = isinstance(value, Call) and value.function == "is_null"
        return value if is_null else Call(name, (value,))
    if name == "compare":
        return Call(random.choice([*COMPARISONS]), (sub(kind), sub(kind)))
    if name == "in":
        kind = random.choice([NUMBER, TEXT, DATE])
        return Call("in", (sub(kind), *(make_literal(random, kind) for _ in range(random.randint(1, 3)))))
    if name == "between":
        return Call(name, (sub(kind), sub(kind), sub(kind)))
    if name == "prefix":
        return Call("starts_with", (sub(TEXT), Literal(random.choice(["", "M", "a", "Ä", "2024"]))))
    return Call(name, (sub(kind),))


def make_leaf(random: Random, kind: ValueType) -> Node:
    if random.random() < 0.25 and kind is not MOMENT:
        return make_literal(random, kind)
    return ColumnName(NAMES[kind].format(random.choice("xy")))


def make_literal(random: Random, kind: ValueType) -> Node:
    if kind is NUMBER:
        return Literal(
            random.choice([value for value in NUMBERS if abs(value) < float("inf") and str(value) != "-0.0"])
        )
    if kind is TEXT:
        return Literal(random.choice([value for value in TEXTS if value is not None]))
    if kind is TRUTH:
        return Literal(random.random() < 0.5)
    return Literal(random.choice([date(1970, 1, 1), date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31)]))
