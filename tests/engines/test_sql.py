"""Statements of SQL: what is read, what is refused, and that the same is asked as by questions of Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dpcurves as dp
from dpcurves.arguments import InvalidArgument

pytest.importorskip("sqlglot", reason="sqlglot is not installed: no statements of SQL")
duckdb = pytest.importorskip("duckdb")
from dpcurves_engines.statement import FUNCTIONS, SqlQuestion  # noqa: E402

LOSS, ROWS = dp.PrivacyLoss.pure(1), 3000
GRID, UNIT = dp.Grid(0, 500_000, cells=64), dp.Grid(0, 1, cells=20)
REGION = dp.Categories("region", ("north", "south"))


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    """A database with people, a view of the grown ones, and a table whose names need quotes."""
    with duckdb.connect() as made:
        made.execute(f"""
            CREATE TABLE people AS SELECT range AS person_id, (range * 37 % 500) * 1000 AS wage, range % 90 AS age,
            CASE WHEN range % 3 = 0 THEN 'north' ELSE 'south' END AS region, range % 2 = 0 AS "is late",
            CASE WHEN range % 5 < 2 THEN 1 ELSE 0 END AS sick, (range * 7 % 100) / 100.0 AS score, range % 60 AS months
            FROM range({ROWS})""")
        made.execute("CREATE VIEW adults AS SELECT * FROM people WHERE age >= 18")
        made.execute('CREATE SCHEMA "of 2026"; CREATE TABLE "of 2026"."My ""Visits" AS SELECT * FROM people')
        yield made


def asked(connection: Any, statement: str, loss: Any = LOSS, **terms: Any) -> Any:
    given: dict[str, Any] = {"adjacency": dp.ADD_REMOVE, "request": "r", "randomness": dp.Randomness.from_seed(7)}
    return dp.sql(connection, statement, loss=loss, **given | terms)


SAME: dict[str, Any] = {
    "SELECT dp_cdf(wage, 0, 500000, 64) FROM people": dp.CdfQuestion("wage", GRID),
    "select DP_CDF(wage, 0, 5e5, 64, measured_in => 'EUR', hint => 'atoms') from main.people;": dp.CdfQuestion(
        "wage", GRID, measured_in="EUR", hint=dp.Hint.ATOMS
    ),
    "SELECT dp_cdf(wage) FROM people": dp.AutoRangeCdfQuestion("wage"),
    "SELECT dp_histogram(wage) FROM people": dp.AutoRangeHistogramQuestion("wage"),
    "SELECT dp_mean(wage) FROM people": dp.AutoRangeMeanQuestion("wage"),
    "SELECT dp_sum(wage, lower => 0, upper => 9) FROM people": dp.SumQuestion("wage", 0, 9),
    "SELECT dp_quantiles(wage, (0.1, 0.9), 0, 500000, 64) FROM people": dp.QuantilesQuestion("wage", GRID, (0.1, 0.9)),
    "SELECT dp_quantile(wage, 0.9, 0, 500000, 64) FROM people": dp.QuantilesQuestion("wage", GRID, (0.9,)),
    "SELECT dp_median(wage, 0, 500000, 64) FROM people": dp.QuantilesQuestion("wage", GRID, (0.5,)),
    "SELECT region, dp_histogram(wage, 0, 500000, 64) FROM people WHERE region IN ('north', 'south') GROUP BY region": (
        dp.HistogramQuestion("wage", GRID, by=REGION)
    ),
    "SELECT dp_count(wage) FROM people WHERE \"is late\" = TRUE": dp.CountQuestion("wage", where='"is late" = TRUE'),
    "SELECT dp_bar_chart(region) FROM people WHERE region IN ('north', 'south')": dp.BarChartQuestion(
        dp.Categories("region", ("north", "south")), other=False
    ),
    "SELECT COUNT(*) FROM people": dp.CountQuestion("*"),
    "SELECT dp_count(*) FROM people WHERE age BETWEEN 18 AND 64 AND region <> 'north'": dp.CountQuestion(
        where="age BETWEEN 18 AND 64 AND region <> 'north'"
    ),
    "SELECT dp_cdf(wage / (age+1), 0, 500000, 64) FROM people WHERE age>=65 OR sick=1": dp.CdfQuestion(
        str(dp.col("wage") / (dp.col("age") + 1)), GRID, where=(dp.col("age") >= 65) | (dp.col("sick") == 1)
    ),
    "SELECT dp_sum(wage, 0, 500000) FROM people WHERE sick = 1 AND (region IN ('south', 'north')) GROUP BY region": (
        dp.SumQuestion("wage", 0, 500_000, by=dp.Categories("region", ("south", "north")), where="sick = 1")
    ),
    "SELECT dp_mean(wage, -0.5, 500000) FROM people": dp.MeanQuestion("wage", -0.5, 500_000),
    "SELECT dp_variance(wage, 0, 500000) FROM people": dp.VarianceQuestion("wage", 0, 500_000),
    "SELECT dp_summary(wage, 0, 500000, moments => 1) FROM people": dp.SummaryQuestion("wage", 0, 500_000, moments=1),
    "SELECT dp_survival(months, sick, 0, 60, 20) FROM people": dp.SurvivalQuestion(
        "months", "sick", dp.Grid(0, 60, cells=20)
    ),
    "SELECT dp_scores(sick, score, 0, 1, 20) FROM people": dp.ScoresQuestion("sick", "score", UNIT),
    "SELECT dp_roc(sick, score, pos_label => 0) FROM people": dp.RocQuestion("sick", "score", pos_label=0),
    "SELECT dp_calibration(sick, score, groups => 4) FROM people": dp.CalibrationQuestion("sick", "score", groups=4),
    "SELECT dp_hosmer_lemeshow(sick, score) FROM people": dp.HosmerLemeshowQuestion("sick", "score"),
    "SELECT dp_count(*, weight => age, weight_cap => 9) FROM people WHERE region = 'south' GROUP BY region": (
        dp.WeightedSummaryQuestion("*", 0, 1, "age", 9, statistic="count", by=dp.Categories("region", ("south",)))
    ),
    "SELECT dp_mean(wage, 0, 9, weight => age, weight_cap => 9) FROM people WHERE sick = 1": dp.WeightedSummaryQuestion(
        "wage", 0, 9, "age", 9, where="sick = 1"
    ),
    "SELECT dp_median(wage, 0, 500000, 64, weight => age, weight_cap => 9) FROM people": dp.WeightedQuantilesQuestion(
        "wage", GRID, (0.5,), "age", 9
    ),
    "SELECT dp_median(wage, 0, 500000, 64, weight => age, weight_cap => 9) FROM people WHERE region IN "
    "('north', 'south') GROUP BY region": dp.WeightedCdfQuestion("wage", GRID, "age", 9, by=REGION),
    "SELECT dp_cdf(wage, weight => age, weight_cap => 9) FROM people": dp.AutoRangeWeightedCdfQuestion(
        "wage", "age", 9
    ),
    "SELECT dp_histogram(wage, weight => age, weight_cap => 9) FROM people WHERE region IN ('north', 'south') GROUP BY "
    "region": dp.AutoRangeWeightedHistogramQuestion("wage", "age", 9, by=REGION),
    "SELECT dp_histogram(wage, 0, 500000, 64, weight => age, weight_cap => 9) FROM people": (
        dp.WeightedHistogramQuestion("wage", GRID, "age", 9)
    ),
    "SELECT dp_sum(wage, weight => age, weight_cap => 9) FROM people": dp.AutoRangeWeightedSummaryQuestion(
        "wage", "age", 9, statistic="sum"
    ),
    "SELECT dp_median(wage, weight => age, weight_cap => 9) FROM people WHERE region IN ('north', 'south') "
    "GROUP BY region": dp.AutoRangeWeightedCdfQuestion("wage", "age", 9, by=REGION),
}  # fmt: skip


@pytest.mark.parametrize("statement", SAME)
def test_a_statement_is_the_question_of_the_python_face(statement: str) -> None:
    assert SqlQuestion.from_sql(statement).build_question({}) == SAME[statement]


def test_each_function_is_among_those_that_were_tried() -> None:
    assert {SqlQuestion.from_sql(each).function for each in SAME} == set(FUNCTIONS)


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("statement", [each for each in SAME if "GROUP" in each])
def test_with_the_noise_fixed_the_answer_is_that_of_a_session(connection: Any, statement: str) -> None:
    terms = {"adjacency": dp.ADD_REMOVE, "unit": "person_id", "rows_per_unit": 1}
    rows = connection.table("people")
    with dp.Session(rows, budget=LOSS, randomness=dp.Randomness.from_seed(7), **terms) as session:  # type: ignore[arg-type]
        by_question = session.ask(SAME[statement], LOSS, "r")
    assert asked(connection, statement, **terms).to_json() == by_question.to_json()


JOIN, ONE = "JOIN is not accepted", "a single function of a question is needed"
NUMBER, COLUMN, TABLE = "TRUE or FALSE is needed", "is not the name of a column", "name a table or view"
REFUSED = {
    "SELECT * FROM t": "a function of a question is needed",
    "SELECT 1": "name the table after FROM|a function of a question",
    "SELECT dp_cdf(x)": "name the table after FROM",
    "SELECT wage FROM t": ONE,
    "SELECT dp_count(x), dp_count(y) FROM t": ONE,
    "SELECT y, dp_cdf(x) FROM t": "SELECT y: columns beside the function must be named in GROUP BY",
    "SELECT count(x) FROM t": "a function of a question is needed",
    "SELECT count(DISTINCT x) FROM t": "a function of a question is needed",
    "SELECT count(*) AS n FROM t": "a function of a question is needed",
    "SELECT count(*) OVER () FROM t": "a function of a question is needed",
    "SELECT count(* EXCLUDE x) FROM t": "not accepted here|write",
    "SELECT count(*, x) FROM t": "a function of a question is needed|not accepted here|write",
    "SELECT dp_most(x) FROM t": "dp_most: there is no such function",
    "SELECT main.dp_cdf(x) FROM t": "a function of a question",
    'SELECT "dp_cdf"(x) FROM t': "a function of a question",
    "SELECT dp_cdf(x) AS y FROM t": "a function of a question",
    "SELECT dp_cdf(x)::INT FROM t": "a function of a question",
    "SELECT dp_cdf(x) + 1 FROM t": "a function of a question",
    "SELECT dp_cdf(x) OVER () FROM t": "a function of a question",
    "SELECT dp_cdf(x) FILTER (WHERE y = 1) FROM t": "a function of a question",
    "SELECT dp_cdf(DISTINCT x) FROM t": "a value, a column or a function is needed",
    "SELECT dp_cdf(x ORDER BY y) FROM t": "a value, a column or a function is needed",
    "SELECT dp_cdf(random()) FROM t": "random functions are not allowed",
    "SELECT dp_cdf((SELECT 1)) FROM t": "queries inside an expression",
    "SELECT dp_cdf('x') FROM t": "is neither a column nor an expression of columns",
    "SELECT dp_cdf() FROM t": "the column is missing; name it first",
    "SELECT dp_cdf(t.x) FROM t": "without its table",
    "SELECT dp_cdf(x, 0, random(), 3) FROM t": NUMBER,
    "SELECT dp_cdf(x, 0, max(x), 3) FROM t": NUMBER,
    "SELECT dp_cdf(x, 0, y, 3) FROM t": NUMBER,
    "SELECT dp_cdf(x, 0, 1 + 1, 3) FROM t": NUMBER,
    "SELECT dp_cdf(x, 0, 1e999, 3) FROM t": "is not a finite number",
    "SELECT dp_cdf(x, 0, '1', 3) FROM t": "the form is dp_cdf",
    "SELECT dp_cdf(x, 0, 1) FROM t": "the form is dp_cdf",
    "SELECT dp_cdf(x, 0, 1, 3, 4) FROM t": "the form is dp_cdf",
    "SELECT dp_cdf(x, 0, 1, 3, grid => '0:1:4') FROM t": "the form is dp_cdf",
    "SELECT dp_cdf(x, grid => '0:1:4', 3) FROM t": "must stand after those without",
    "SELECT dp_cdf(x, by => 'y') FROM t": "by cannot be given by its name",
    "SELECT dp_cdf(x, column => 'y') FROM t": "column cannot be given by its name",
    "SELECT dp_median(x, probabilities => (0.1, 0.2)) FROM t": "probabilities cannot be given by its name",
    "SELECT dp_quantiles(x, 0.5) FROM t": "the form is dp_quantiles",
    "SELECT dp_mean(x, 0) FROM t": "the form is dp_mean",
    "SELECT dp_roc(x, y, weight => w, weight_cap => 5) FROM t": "weight => is for dp_cdf, .*; leave the weights out",
    "SELECT dp_mean(x, 0, 1, weight => 3, weight_cap => 5) FROM t": "weight => 3 is not the name of a column",
    "SELECT dp_cdf(x) FROM (SELECT * FROM t)": TABLE,
    "SELECT dp_cdf(x) FROM (t)": TABLE,
    "SELECT dp_cdf(x) FROM range(3)": TABLE,
    "SELECT dp_cdf(x) FROM read_csv('f.csv')": TABLE,
    "SELECT dp_cdf(x) FROM (VALUES (1)) AS t(x)": TABLE,
    "SELECT dp_cdf(x) FROM t, u": JOIN,
    "SELECT dp_cdf(x) FROM t JOIN u USING (y)": JOIN,
    "SELECT dp_cdf(x) FROM t CROSS JOIN u": JOIN,
    "SELECT dp_cdf(x) FROM t AS u": "AS is not accepted",
    "SELECT dp_cdf(x) FROM t u": "AS is not accepted",
    "SELECT dp_cdf(x) FROM t TABLESAMPLE 10 PERCENT": "TABLESAMPLE is not accepted",
    "SELECT dp_cdf(x) FROM t AT (VERSION => 3)": "AT a version",
    "SELECT dp_cdf(x) FROM t PIVOT (sum(x) FOR y IN (1))": "PIVOT is not accepted",
    "SELECT dp_cdf(x) FROM ONLY t": "ONLY is not accepted",
    "SELECT dp_cdf(x) FROM t LIMIT 3": "LIMIT is not accepted",
    "SELECT dp_cdf(x) FROM t OFFSET 3": "OFFSET is not accepted",
    "SELECT dp_cdf(x) FROM t ORDER BY 1": "ORDER BY is not accepted",
    "SELECT dp_cdf(x) FROM t GROUP BY y HAVING dp_count(x) > 1": "HAVING is not accepted",
    "SELECT dp_cdf(x) FROM t QUALIFY 1 = 1": "QUALIFY is not accepted",
    "SELECT dp_cdf(x) FROM t FOR UPDATE": "FOR UPDATE is not accepted",
    "SELECT dp_cdf(x) INTO u FROM t": "INTO is not accepted",
    "SELECT DISTINCT dp_cdf(x) FROM t": "DISTINCT is not accepted",
    "SELECT ALL dp_cdf(x) FROM t": "ALL: this is not accepted here",
    "SELECT dp_cdf(x) FROM t WHERE EXISTS (SELECT 1)": "queries inside",
    "SELECT dp_cdf(x) FROM t WHERE y = NULL": "write column IS NULL",
    "SELECT dp_cdf(x) FROM t WHERE y = (SELECT 1)": "queries inside",
    "SELECT dp_cdf(x) FROM t WHERE y = $1": "a value, a column or a function is needed",
    "SELECT dp_cdf(x) FROM t WHERE y = 'a' 'b'": "a value, a column or a function is needed",
    "SELECT dp_cdf(x) FROM t WHERE y = 'a' COLLATE nocase": "a value, a column or a function is needed",
    "SELECT dp_cdf(x) FROM t WHERE y IN (SELECT 1)": "queries inside",
    "SELECT dp_cdf(x) FROM t WHERE y IN ()": "IN needs a value",
    "SELECT dp_cdf(x + y, x, 1, 3) FROM t": NUMBER,
    "SELECT dp_cdf(1 + 1, 0, 1, 3) FROM t": "nor an expression of columns",
    "SELECT dp_cdf(sum(x)) FROM t": "aggregates read other rows",
    "SELECT dp_cdf(x OVER ()) FROM t": "window functions",
    "SELECT dp_cdf(x) FROM t WHERE": "a condition is needed",
    "SELECT dp_cdf(x) FROM t WHERE y = 1 LIMIT 3": "LIMIT is not accepted",
    "SELECT dp_cdf(x) FROM t WHERE y = 1 ORDER BY y": "ORDER BY is not accepted",
    "SELECT dp_cdf(x) FROM t WHERE y = 1 WHERE y = 2": "a value, a column or a function is needed",
    "SELECT dp_cdf(x) FROM t WHERE y = now()": "the current time is not allowed",
    "SELECT dp_cdf(x) FROM t WHERE y > random()": "random functions",
    "SELECT dp_cdf(x) FROM t WHERE count(*) > 3": "aggregates read other rows",
    "SELECT dp_cdf(x) FROM t WHERE row_number() OVER () > 3": "window functions",
    "SELECT dp_cdf(x) FROM t WHERE nextval('s') > 3": "not known|no function nextval",
    "SELECT dp_cdf(x) FROM t WHERE y % 2 = 1": "not an operator here",
    "SELECT dp_cdf(x) FROM t WHERE y LIKE '%a'": "LIKE supports prefixes only",
    "SELECT dp_cdf(x) FROM t WHERE CAST(y AS INTEGER) = 1": "casts are to DOUBLE",
    "SELECT dp_cdf(x) FROM t WHERE y IN ('a') AND y IN ('b') GROUP BY y": "list the groups of a column in one",
    "SELECT dp_cdf(x) FROM t GROUP BY 1": COLUMN,
    "SELECT dp_cdf(x) FROM t GROUP BY y, y": "name each column once",
    "SELECT dp_cdf(x) FROM t GROUP BY ALL": "GROUP BY ALL is not accepted",
    "SELECT dp_cdf(x) FROM t GROUP BY ROLLUP (y)": COLUMN,
    "SELECT dp_cdf(x) FROM t GROUP BY GROUPING SETS ((y))": COLUMN,
    "WITH u AS (SELECT 1) SELECT dp_cdf(x) FROM u": "must begin with SELECT",
    "SELECT dp_cdf(x) FROM t UNION ALL SELECT dp_cdf(x) FROM u": "must have this form",
    "SELECT dp_cdf(x) FROM t; DROP TABLE t": "one statement",
    "SELECT dp_cdf(x) FROM t;;": "one statement",
    "SELECT dp_cdf(x) FROM t -- all of it": "comments and hints",
    "SELECT /*+ FULL(t) */ dp_cdf(x) FROM t": "comments and hints",
    "SELECT dp_cdf(x) /* but */ FROM t": "comments and hints",
    "SELECT dp_cdf(x) FROM 'an open quote": "must begin with SELECT|must have this form",
    "SELECT dp_cdf(" + 40 * "(" + "x" + 41 * ")" + " FROM t": "brackets",
    "FROM t SELECT dp_cdf(x)": "must begin with SELECT",
    "(SELECT dp_cdf(x) FROM t)": "must begin with SELECT",
    "DROP TABLE t": "must begin with SELECT",
    "PIVOT t ON y USING dp_cdf(x)": "must begin with SELECT",
    "FROM t": "must begin with SELECT",
    "ATTACH 'x.db'": "must begin with SELECT",
    "COPY (SELECT dp_cdf(x) FROM t) TO 'x.csv'": "must begin with SELECT",
    "EXPLAIN ANALYZE SELECT dp_cdf(x) FROM t": "must begin with SELECT",
    "SELECT dp_cdf(x) FROM t INTO OUTFILE 'x'": "must have this form",
    "SELECT dp_cdf(x) FROM t, LATERAL (SELECT 1) u": JOIN,
    "SELECT dp_cdf(x) FROM UNNEST([1, 2])": TABLE,
    "SELECT dp_cdf(x) FROM $1": TABLE,
    "SELECT dp_cdf(COLUMNS('x')) FROM t": "there is no function columns",
    "SELECT dp_cdf(x) FROM t USING SAMPLE 10%": "TABLESAMPLE is not accepted",
    "SELECT dp_cdf(x) FROM t WHERE y = getenv('HOME')": "there is no function getenv",
    "SELECT dp_cdf(x) FROM t WHERE y = current_user()": "there is no function current_user",
    "SELECT dp_cdf(x) FROM t WHERE x > quantile_cont(x, 0.5)": "there is no function quantile_cont",
    "SELECT dp_cdf(x) FROM t WHERE x = 9007199254740993": "none has this value; the nearest is 9007199254740992",
    "SELECT dp_cdf(x) FROM t FOR SYSTEM_TIME AS OF '2020-01-01'": "VERSION is not accepted",
    "": "a text of at most",
    "SELECT " + 10_000 * " ": "a text of at most",
}


@pytest.mark.parametrize("statement", REFUSED)
def test_all_else_is_refused_by_one_line_before_a_table_is_looked_for(statement: str) -> None:
    with pytest.raises(InvalidArgument, match=REFUSED[statement]) as caught:
        asked(None, statement)
    assert caught.value.argument == "statement"
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None


BASE = "SELECT region , dp_cdf ( wage , 1 , 9 , 4 ) FROM people WHERE region IN ( 'a' , 'b' ) GROUP BY region"
WORDS = re.split(
    " ",
    "SELECT ALL DISTINCT FROM ONLY LATERAL WHERE AND OR NOT IN EXISTS IS NULL LIKE BETWEEN ANY SOME CASE WHEN END "
    "GROUP BY HAVING ORDER LIMIT 1 OFFSET FETCH FOR UPDATE INTO AS ON USING JOIN NATURAL CROSS UNION VALUES WITH "
    "RECURSIVE TABLESAMPLE OVER FILTER WINDOW QUALIFY CAST COLLATE AT INTERVAL DATE DEFAULT TRUE x "
    "'x' \"x\" 2 * - + . , ( ) "
    "[ ] { } ; : :: ? $1 @ # % & | ! ~ ^ = == != < => -> := -- /* \\ `",
)


def test_no_word_is_passed_over() -> None:
    """A word more, or less, or twice, is refused or changes what is read."""
    words, read = BASE.split(), SqlQuestion.from_sql(BASE)
    changed = [[*words[:place], more, *words[place:]] for place in range(len(words) + 1) for more in WORDS]
    changed += [words[:place] + words[place + 1 :] for place in range(len(words))]
    changed += [words[:place] + words[place : place + 1] + words[place:] for place in range(len(words))]
    same, other = [], 0
    for each in changed:
        try:
            found = SqlQuestion.from_sql(" ".join(each))
        except InvalidArgument:
            continue
        other += found != read
        same += [" ".join(each)] if found == read else []
    assert same == [f"{BASE} ;"]
    assert other > 2


def test_values_of_groups_are_declared_once_or_found(connection: Any) -> None:
    grouped, questions = SqlQuestion.from_sql("SELECT dp_count(wage) FROM people GROUP BY region"), []
    questions += [grouped.build_question({"region": ("north", "south")})]
    questions += [
        SqlQuestion.from_sql(
            "SELECT dp_count(wage) FROM t WHERE region IN ('north', 'south') GROUP BY region"
        ).build_question({})
    ]
    assert questions == [dp.CountQuestion("wage", by=REGION)] * 2
    assert grouped.build_question({}, partition_selection=True) == dp.CountQuestion(
        "wage", by=dp.UnlistedCategories("region")
    )
    for text, declared, rule in (
        ("count(wage) FROM people GROUP BY region", {}, "GROUP BY region: declare its values"),
        ("count(wage) FROM people GROUP BY region", {"sex": ("F",)}, "categories: 'sex' is not a column of GROUP BY"),
        ("count(x) FROM t WHERE y = 1 GROUP BY y", {"y": (1,)}, "listed in WHERE already"),
        ("roc(x, s) FROM t GROUP BY y", {"y": (1,)}, "takes no GROUP BY; these do: dp_cdf"),
        ("cdf(x) FROM t GROUP BY y", {"y": (1,)}, "cells are needed"),
    ):
        with pytest.raises(InvalidArgument, match=rule):
            SqlQuestion.from_sql(f"SELECT dp_{text}").build_question(declared)
    found = asked(connection, "SELECT dp_count(wage) FROM people GROUP BY region", dp.PrivacyLoss.pure(4, "1e-6"))
    assert list(found) == ["north", "south", "other"]


def test_a_condition_takes_no_unit_out_of_the_table(connection: Any) -> None:
    """Under replace-one the number of units of the whole table is public, and that of those who fulfil it is not."""
    statement, terms = "SELECT dp_count(wage) FROM people WHERE region = 'north'", {"adjacency": dp.REPLACE_ONE}
    found = asked(connection, statement, **terms, unit="person_id", rows_per_unit=1, units=ROWS)
    assert abs(found.count - ROWS / 3) < 40
    assert found.count != ROWS / 3
    with pytest.raises(ValueError, match="does not have the public number 1000 of units"):
        asked(connection, statement, **terms, unit="person_id", rows_per_unit=1, units=ROWS // 3)


def test_a_table_is_one_of_the_catalogue_by_the_spelling_that_it_has(
    connection: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count(table: str) -> float:
        found: float = asked(connection, f"SELECT dp_count(wage) FROM {table}", dp.PrivacyLoss.pure(50)).count
        return round(found, -1)

    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("wage\n1\n")
    variable = {"wage": [1.0]}  # DuckDB would take it for a table
    assert variable
    assert count("people") == count("main.people") == count("memory.main.people") == ROWS
    assert count('"of 2026"."My ""Visits"') == ROWS
    assert count("adults") == 2390
    for table in ("nowhere", "People", "variable", "'people.csv'", '"people.csv"', "pg_class", "other.people", "a.b.c"):
        with pytest.raises(InvalidArgument, match="FROM .*: there is no such table"):
            count(table)
    connection.execute("CREATE TEMP TABLE people AS SELECT * FROM main.people LIMIT 100")
    assert count("people") == 100
    connection.execute("DROP TABLE temp.people")


def test_what_is_refused_later_costs_nothing_either(connection: Any, tmp_path: Path) -> None:
    ledger = f"sqlite:///{tmp_path}/budget.db"
    terms: dict[str, Any] = {"ledger": ledger, "budget": dp.PrivacyLoss.pure(2), "dataset": "people"}
    first = asked(connection, "SELECT dp_count(wage) FROM people", **terms)
    for statement in (
        "dp_count(salary) FROM people",
        "dp_count(region) FROM people",
        "dp_count(wage) FROM people LIMIT 1",
    ):
        with pytest.raises(ValueError, match="salary|holds text|LIMIT"):
            asked(connection, f"SELECT {statement}", **terms | {"request": "other"})
    again = asked(connection, "SELECT dp_count(wage)  FROM people", **(terms | {"budget": None}))
    assert again.to_json() == first.to_json()
    with pytest.raises(dp.BudgetExceeded):
        asked(connection, "SELECT dp_count(age) FROM people", dp.PrivacyLoss.pure(2), **terms | {"request": "third"})
    assert dp.Ledger.open_existing(ledger).balance("people").remaining.exact == 1


def test_a_connection_of_another_kind_is_refused() -> None:
    statement = "SELECT dp_count(wage) FROM people"
    with pytest.raises(TypeError, match="connection: a connection of DuckDB, .* is needed, got list"):
        asked([1], statement)
    with pytest.raises(InvalidArgument, match="FROM people: there is no such table, .*; FROM can name visits"):
        asked({"visits": {"wage": [1.0]}}, statement)
