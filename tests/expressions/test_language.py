"""What the language of expressions refuses, and what its values are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import numpy as np
import pytest

import dpcurves as dp
from dpcurves.arguments import InvalidArgument
from dpcurves.expressions import (
    Expression,
    ValueType,
    check_expression,
    describe_published_names,
    evaluate_expression,
    find_monotone_chain,
    format_expression,
    parse_expression,
    parse_filter,
    when,
)

SCHEMA = {
    "age": ValueType.NUMBER,
    "sex": ValueType.TEXT,
    "insured": ValueType.TRUTH,
    "born": ValueType.DATE,
    "seen": ValueType.MOMENT,
    "code": ValueType.FIELD,
}

REFUSED_TEXTS = [
    "", " ", "age >", "age >= 65; DROP TABLE people", "age >= 65 -- note", "age /* x */ > 1", "random() < 0.5",
    "now() > born", "current_date > born", "age > (SELECT max(age) FROM people)", "age IN (SELECT age FROM people)",
    "EXISTS (SELECT 1)", "sum(age) > 3", "avg(age) OVER () > 3", "row_number() OVER (ORDER BY age)", "count(*) > 1",
    "age % 2 = 0", "age // 2 = 1", "power(age, 2) > 1", "age ^ 2", "age ** 2", "sex || 'x' = 'Fx'", "sex ILIKE 'f%'",
    "sex LIKE '%f'", "sex LIKE 'f_'", "trim(sex) = 'F'", "regexp_matches(sex, 'F')",
    "CAST(age AS INTEGER) = 3", "age::int = 3", "CAST(age AS DECIMAL(10, 2)) = 3", "round(age, 1) > 2",
    "date_trunc('hour', seen) = seen", "date_diff('century', born, born)", "IF(age > 1, 2, 3) > 1",
    "age IS DISTINCT FROM 3", "people.age > 3", "age > 1e400", "nextval('s') > 1", "uuid() = sex", "hash(age) = 1",
    "age > $1", "age > ?", "age COLLATE nocase = 1", "[1, 2][1] = age", "{'a': 1}.a = age", "x -> x > 1",
    "age IN (1, 2) IS TRUE", "getenv('HOME') = sex", "read_csv('x') = 1", "age AS years", "*", "DISTINCT age",
    "age > 1 ORDER BY age", "age > 1 LIMIT 3", "log(3, age) > 1", "INTERVAL 1 DAY > born",
    "TIMESTAMP '2024-01-01' = seen",
    "DATE '2024-02-30' = born", "error('x') = sex", "sleep(1) = 1", "age = ALL (1)", "age BETWEEN SYMMETRIC 1 AND 2",
    "NOT " * 40 + "insured", "(" * 70 + "age" + ")" * 70, " + ".join(["age"] * 150), "sex = '" + "x" * 300 + "'",
    "age = 9007199254740993", "age IN (1, 9223372036854775809)", "age > 1e-400",  # numbers that no double equals
    "sex = 'a\nb'", "code = 01", "code IN (1, 007)", "age > 00", "age > 01.5",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED_TEXTS)
def test_a_text_outside_of_the_language_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_filter("where", text)
    assert str(caught.value).startswith("where: ")
    assert "\n" not in str(caught.value)


MISTYPED = {
    "agee > 3": "nearest is 'age'",
    "lower(age) = 'x'": "age: text is needed here, and this is a number",
    "sex > 3": "a number and text cannot be compared",
    "sex + 1 > 3": "sex: a number is needed here, and this is text; cast it, as in CAST(name AS DOUBLE)",
    "age": "age: true or false is needed here, and this is a number; compare it, as in flag = 1",
    "born > 3": "a date and a number cannot be compared",
    "ln(age) > 3": "compare age itself with a number",
    "exp(age) + 1 > 3": "its last bits differ",
    "code = code": "neither side declares a type",
    "age IN (age, 3)": "IN takes a list of values",
    "substr(sex, age, 2) = 'a'": "arguments after the first must be numbers or texts",
    "substr(sex, 0, 2) = 'a'": "whole numbers from 1 are needed",
    "born = 'tomorrow'": "a date is needed",
    "least(sex, sex) = 'a'": "takes numbers and dates only",
    "insured > FALSE": "true and false have no order",
    "date_diff('hour', code, seen) > 2": "are not timestamps",
    "coalesce(age, sex) = 'x'": "a number and text cannot be compared",
    "CASE WHEN age > 1 THEN sex ELSE age END = 'x'": "a number and text cannot be compared",
}


@pytest.mark.parametrize("text", MISTYPED)
def test_a_wrong_type_is_refused_with_the_column_its_type_and_what_to_write(text: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        check_expression(parse_expression(text), SCHEMA, ValueType.TRUTH, "where")
    assert MISTYPED[text] in str(caught.value)
    assert "\n" not in str(caught.value)


TABLE: dict[str, Any] = {
    "x": [1.0, 2.5, -2.5, np.nan, np.inf, 1e308, 0.0],
    "name": ["Ab", "München", "", None, "12", "1e400", "2024-02-29"],
    "day": np.array([0, -1, 59, 365, 18321, -719162, 11016], dtype="datetime64[D]"),
    "time": np.array([0, -1, 3_599_999_999, 3_600_000_000, 1, -3_600_000_001, 10**15], dtype="datetime64[us]"),
}
NAN = np.nan
VALUES = {
    "round(x)": [1, 3, -3, NAN, NAN, 1e308, 0],
    "x * 10": [10, 25, -25, NAN, NAN, NAN, 0],
    "1 / x": [1, 0.4, -0.4, NAN, 0, 1e-308, NAN],
    "sqrt(x)": [1, np.sqrt(2.5), NAN, NAN, NAN, np.sqrt(1e308), 0],
    "x IS NULL": [0, 0, 0, 1, 0, 0, 0],
    "NOT x > 1": [1, 0, 1, NAN, 0, 0, 1],
    "x > 1 OR x IS NULL": [0, 1, 0, 1, 1, 1, 0],
    "x <> 1": [0, 1, 1, NAN, 1, 1, 1],
    "x IN (1, NULL)": [1, NAN, NAN, NAN, NAN, NAN, NAN],
    "coalesce(x, -7)": [1, 2.5, -2.5, -7, np.inf, 1e308, 0],
    "nullif(x, 0)": [1, 2.5, -2.5, NAN, np.inf, 1e308, NAN],
    "least(x, 2)": [1, 2, -2.5, 2, 2, 2, 0],
    "CASE WHEN x > 1 THEN 1 WHEN x > 0 THEN 2 END": [2, 1, NAN, NAN, 1, 1, NAN],
    "CAST(name AS DOUBLE)": [NAN, NAN, NAN, NAN, 12, NAN, NAN],
    "name LIKE 'M%'": [0, 1, 0, NAN, 0, 0, 0],
    "lower(name) = 'ab'": [1, 0, 0, NAN, 0, 0, 0],
    "substr(name, 2, 1) = 'ü'": [0, 1, 0, NAN, 0, 0, 0],
    "year(day)": [1970, 1969, 1970, 1971, 2020, 1, 2000],
    "month(day)": [1, 12, 3, 1, 2, 1, 2],
    "day(day)": [1, 31, 1, 1, 29, 1, 29],
    "isodow(day)": [4, 3, 7, 5, 6, 1, 2],
    "quarter(day)": [1, 4, 1, 1, 1, 1, 1],
    "day - DATE '1970-01-01'": [0, -1, 59, 365, 18321, -719162, 11016],
    "date_diff('month', DATE '1970-01-01', day)": [0, -1, 2, 12, 601, -23628, 361],
    "date_diff('year', day, DATE '2000-01-01')": [30, 31, 30, 29, -20, 1999, 0],
    "date_diff('hour', time, time)": [0] * 7,
    "date_diff('hour', CAST('1970-01-01' AS DATE), time)": [0, -1, 0, 1, 0, -2, 277777],
    "time < '1970-01-01'": [0, 1, 0, 0, 0, 1, 0],
    "CAST(name AS DATE) = DATE '2024-02-29'": [NAN, NAN, NAN, NAN, NAN, NAN, 1],
    "date_trunc('quarter', day) = DATE '2020-01-01'": [0, 0, 0, 0, 1, 0, 0],
    "CAST(time AS DATE) = '1969-12-31'": [0, 1, 0, 0, 0, 1, 0],
}


@pytest.mark.parametrize("text", VALUES)
def test_values_follow_sql_and_undefined_ones_are_missing(text: str) -> None:
    node = parse_expression(text)
    np.testing.assert_array_equal(evaluate_expression(node, TABLE).astype(float), np.array(VALUES[text], dtype=float))


def test_the_value_of_a_row_does_not_depend_on_other_rows() -> None:
    for text in VALUES:
        whole = evaluate_expression(parse_expression(text), TABLE).astype(float)
        for row in range(7):
            alone = {name: values[row : row + 1] for name, values in TABLE.items()}
            alone["x"] = np.array(alone["x"], dtype=float)
            alone["name"] = np.array(alone["name"], dtype=object)
            np.testing.assert_array_equal(evaluate_expression(parse_expression(text), alone).astype(float), whole[row])


def test_expressions_of_python_print_as_sql_and_parse_back() -> None:
    age, sex, wage = dp.col("age"), dp.col("sex"), dp.col("household wage")
    built = {
        "age >= 65 AND sex = 'F'": (age >= 65) & (sex == "F"),
        '"household wage" / 2': wage / 2,
        "2 / age - (1 - age) * -age": 2 / age - (1 - age) * -age,
        "NOT (age < 3 OR age IS NULL)": ~((age < 3) | age.is_null()),
        "sex IN ('F', 'M')": sex.is_in(["F", "M"]),
        "age BETWEEN 18 AND 64": age.between(18, 64),
        "ln(age)": age.call("ln"),
        "coalesce(age, 0) <> 3": age.coalesce(0) != 3,
        "starts_with(sex, 'F')": sex.starts_with("F"),
        "abs(age - 3) <= np": abs(age - 3) <= dp.col("np"),
        "CASE WHEN age > 0 THEN 1 / age ELSE NULL END": when(age > 0, 1 / age),
        "born = DATE '2024-01-31'": dp.col("born") == date(2024, 1, 31),
        "age IS NOT NULL": age.is_not_null(),
        "1 + (2 - age) + 3 * age": 1 + (2 - age) + 3 * age,
        "it > np": dp.col("it") > dp.col("np"),
        "age > 0.5": age > np.float64(0.5),
    }
    for text, expression in built.items():
        assert str(expression) == text
        assert parse_expression(text) == expression.node
        assert repr(expression) == f"Expression({text!r})"


def test_a_condition_of_python_has_no_truth_value_of_its_own() -> None:
    with pytest.raises(TypeError, match="and, or and not do not work here"):
        bool(dp.col("age") > 3)
    with pytest.raises(TypeError, match="a list of values is needed"):
        dp.col("sex").is_in("F")
    with pytest.raises(TypeError, match="a column, a number"):
        dp.col("sex") == [3]  # noqa: B015
    with pytest.raises(ValueError, match="must be one of abs"):
        dp.col("sex").call("random")
    with pytest.raises(ValueError, match="name of a column"):
        dp.col("")
    x = dp.col("x")
    built: tuple[Callable[[], Expression], ...] = (
        lambda: x == 2**53 + 1, lambda: x.is_in([2**63 + 1]), lambda: x > 10**5000, lambda: x > datetime(2020, 1, 1),
        lambda: x == "\ud800", lambda: dp.col("a\nb") > 1, lambda: x.is_in([]),
    )  # fmt: skip
    for build in built:
        with pytest.raises(InvalidArgument):  # what the parser refuses, a question of Python refuses, too
            dp.CountQuestion(where=build())


def test_increasing_functions_of_a_column_are_found() -> None:
    chain, inner = find_monotone_chain(parse_expression("2 * log(wage / hours) + 1"))
    assert [name for name, _ in chain] == ["add", "mul", "ln"]
    assert format_expression(inner) == "wage / hours"
    for text in ("wage / hours", "-2 * ln(wage)", "ln(wage) * ln(hours)", "1 - ln(wage)"):
        assert find_monotone_chain(parse_expression(text))[0] == ()


@pytest.mark.parametrize("text", ["Ada Lovelace", "Lovelace, Ada", "ada@example.org", "078-05-1120"])
def test_a_text_that_looks_like_a_person_gets_a_note(text: str) -> None:
    assert len(describe_published_names([f"name = '{text}'"])) == 1
    assert len(describe_published_names([f"age > 3 AND lower(\"patientId\") IN ('x', '{text}')"])) == 1


@pytest.mark.parametrize("text", ["north", "F", "type 2 diabetes", "I10.9", "North", "2024-01-31", "A-12"])
def test_an_ordinary_category_gets_no_note(text: str) -> None:
    assert describe_published_names([f"name = '{text}'", "age > 65"]) == ()


@pytest.mark.parametrize("column", ["region", "ward_name", "PRODUCT_NAME", "patientType", "customer_segment", "code"])
def test_a_region_a_ward_or_a_code_gets_no_note(column: str) -> None:
    texts = ("New York", "Intensive Care", "Full Time", "Baden Württemberg", "Not Known", "100200300", "ICD-10 I10")
    listed = ", ".join(f"'{text}'" for text in texts)
    assert (
        describe_published_names([f"{column} IN ({listed}) OR CASE WHEN {column} = 'Los Angeles' THEN TRUE END"]) == ()
    )


def test_an_expression_is_tried_on_a_public_table() -> None:
    assert (dp.col("wage") / dp.col("hours")).evaluate({"wage": [30.0], "hours": [2]}).tolist() == [15.0]


WORDS = [
    "SELECT",
    "ALL",
    "DISTINCT",
    "FROM",
    "WHERE",
    "AND",
    "OR",
    "NOT",
    "IN",
    "EXISTS",
    "IS",
    "NULL",
    "LIKE",
    "BETWEEN",
    "ANY",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "GROUP",
    "BY",
    "AS",
    "ON",
    "OVER",
    "FILTER",
    "CAST",
    "COLLATE",
    "AT",
    "INTERVAL",
    "DATE",
    "TRUE",
    "x",
    "'x'",
    '"x"',
    "2",
    "*",
    "-",
    "+",
    ".",
    ",",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ";",
    ":",
    "::",
    "?",
    "$1",
    "@",
    "#",
    "%",
    "&",
    "|",
    "!",
    "~",
    "^",
    "=",
    "==",
    "!=",
    "<",
    "=>",
    "->",
    ":=",
    "--",
    "/*",
    "\\",
    "`",
    "ESCAPE",
    "ORDER",
    "LIMIT",
    "ASC",
]
BASES = (
    "age >= 65 AND region IN ( 'a' , 'b' )",
    "CASE WHEN a > 1 THEN CAST ( b AS DOUBLE ) ELSE least ( c , 2 ) END < 3",
    "date_diff ( 'day' , born , DATE '2024-01-31' ) BETWEEN 3 AND 5 OR name LIKE 'a%'",
    "coalesce ( - x , substr ( y , 1 , 2 ) ) IS NOT NULL",
    "EXTRACT ( year FROM d ) = 3",
)


def test_no_word_of_an_expression_is_passed_over() -> None:
    """A word more, or less, or twice, is refused or changes what is read; but for brackets in pairs and doubled NOT."""
    for base in BASES:
        words, read = base.split(), parse_expression(base)
        changed = [[*words[:place], more, *words[place:]] for place in range(len(words) + 1) for more in WORDS]
        changed += [words[:place] + words[place + 1 :] for place in range(len(words))]
        changed += [words[:place] + words[place : place + 1] + words[place:] for place in range(len(words))]
        same = []
        for each in changed:
            try:
                found = parse_expression(" ".join(each))
            except InvalidArgument:
                continue
            same += [" ".join(each)] if found == read else []
        assert same == []
