"""PostgreSQL as an engine: rights, types, one moment, secrets, and what is said when something is wrong."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dpcurves as dp
from dpcurves.data import Categories, Grid, Weights
from dpcurves.data.axis import Axis
from dpcurves.privacy import EACH_RECORD, Unit
from dpcurves.queries import CountUse, SquaredWeightQuery, WeightQuery
from dpcurves.records import Records, open_records, tabulate

psycopg = pytest.importorskip("psycopg")
PASSWORD = "very-secret-word"
AGE = Axis("age", Grid(0, 100, cells=4))
HUGE = 10**400


@pytest.fixture(scope="module")
def admin(postgres_url: str) -> Iterator[Any]:
    """The owner of all that is read here."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE visits (age float8, patient text, secret text)")
        connection.execute("INSERT INTO visits VALUES (30, 'anna', 'hidden'), (60, 'bert', 'hidden'), (70, NULL, '')")
        yield connection


@pytest.fixture
def role(admin: Any) -> Iterator[str]:
    """The name of a new role that may log in, and no more."""
    name = f"reader_{secrets.token_hex(4)}"
    admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
    admin.execute(f"GRANT USAGE ON SCHEMA {schema(admin)} TO {name}")
    yield name
    admin.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")


def schema(admin: Any) -> str:
    return str(admin.execute("SELECT current_schema()").fetchone()[0])


def as_role(url: str, role: str) -> str:
    return url.replace("postgresql://postgres:@", f"postgresql://{role}:{PASSWORD}@")


def opened(url: str, table: str, unit: Unit = EACH_RECORD, ranking: str = "there") -> Records:
    return open_records(dp.postgres(url, table=table, ranking=ranking), unit=unit, key=b"k")


def refused(action: Callable[[], Any]) -> str:
    """The one line of a refusal, which knows of no other error and holds no secret."""
    with pytest.raises((ValueError, TypeError)) as caught:
        action()
    line = str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert caught.value.__cause__ is None
    assert "\n" not in line
    assert not [word for word in (PASSWORD, "hidden", "anna", "ERROR", "FATAL") if word in line], line
    return line


def test_a_reader_needs_the_columns_that_are_asked_and_nothing_else(admin: Any, postgres_url: str, role: str) -> None:
    admin.execute(f"GRANT SELECT (age, patient) ON visits TO {role}")
    with opened(as_role(postgres_url, role), "visits", Unit("patient", 1)) as records:
        assert records.counts((AGE,)).tolist() == [0, 1, 2, 0, 0]
        assert records.units() == 3
        assert "has 'age', 'patient'" in refused(lambda: records.check((Axis("secret", AGE.grid),)))


WRONG_URLS = {
    "postgresql://reader:{word}@127.0.0.1:1/db": "no server listens there",
    "postgresql://reader:{word}@host.invalid/db": "no such host|host, port|no server listens",
    "postgresql://reader:{word}@host.invalid/db?sslmode=prefer": "TLS is required except on loopback",
    "postgresql://reader:{word}@host.invalid/db?sslmode=disable": "TLS is required except on loopback",
    "postgresql://reader:{word}@[/db": "a URL as postgresql://reader@host/database is needed",
    "postgresql://reader:{word}@/db?nonsense=1": "a URL as postgresql://reader@host/database is needed",
}


@pytest.mark.parametrize("url", WRONG_URLS)
def test_a_wrong_connection_is_one_line_that_says_what_to_do(url: str) -> None:
    line = refused(lambda: opened(url.format(word=PASSWORD), "visits"))
    assert re.search(WRONG_URLS[url], line), line


def test_wrong_databases_roles_tables_types_and_rights_are_one_line_each(
    admin: Any, postgres_url: str, role: str
) -> None:
    reader, there = as_role(postgres_url, role), f"{schema(admin)}.visits"
    admin.execute("CREATE TABLE IF NOT EXISTS odd (at timestamptz, gone interval, doc jsonb, name text)")
    admin.execute(f"GRANT SELECT ON odd TO {role}")
    assert "no such database" in refused(lambda: opened(postgres_url.replace("/postgres?", "/nowhere?"), "visits"))
    assert "no such role" in refused(lambda: opened(postgres_url.replace("//postgres:", "//nobody_here:"), "visits"))
    assert refused(lambda: opened(reader, there)).startswith("table: the role may not read")
    assert refused(lambda: opened(reader, "nowhere.visits")).startswith("table: there is no 'nowhere.visits'")
    assert refused(lambda: opened(reader, "a..b")).startswith("table: ")
    with opened(reader, "odd") as records:
        assert "give days or seconds as numbers" in refused(lambda: records.check((Axis("at", AGE.grid),)))
        assert "holds neither numbers nor text" in refused(lambda: records.check((Axis("doc", AGE.grid),)))
        assert "holds text, a number is needed" in refused(lambda: records.check((Axis("name", AGE.grid),)))
    for column in ("doc", "gone"):
        assert "cannot identify a unit" in refused(lambda column=column: opened(reader, "odd", Unit(column, 1)))  # type: ignore[misc]
    line = refused(lambda: dp.postgres(reader, table="odd", ranking="else"))
    assert line == "ranking: must be 'there' (the server ranks rows) or 'here' (this machine ranks them)"
    assert "is not in the data" in refused(lambda: opened(reader, "odd", Unit("patient", 1)))


@pytest.mark.parametrize(
    "text", ["SELECT age FROM visits", "(SELECT 1 AS age)", "visits WHERE age > 1", "visits; DROP TABLE visits"]
)
def test_a_query_is_no_table(admin: Any, postgres_url: str, text: str) -> None:
    line = refused(lambda: opened(postgres_url, text))
    assert line.startswith("table: ")
    assert line.endswith("create a view for a query")
    assert admin.execute("SELECT count(*) FROM visits").fetchone() == (3,)


def test_policies_that_would_hide_rows_in_silence_are_refused(admin: Any, postgres_url: str, role: str) -> None:
    admin.execute("CREATE TABLE guarded (age float8, owner text)")
    admin.execute("ALTER TABLE guarded ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON guarded USING (owner = 'x')")
    admin.execute(f"GRANT SELECT ON guarded TO {role}")
    assert "does a policy hide rows" in refused(lambda: opened(as_role(postgres_url, role), "guarded"))


@pytest.mark.parametrize(
    ("setting", "value", "line"),
    [
        ("temp_file_limit", "'1MB'", "limits temp_file_limit, so rows could stop a count"),
        ("log_min_duration_statement", "0", "the server logs parameters (log_min_duration_statement)"),
        ("log_statement", "'all'", "the server logs parameters (log_statement)"),
        ("log_transaction_sample_rate", "1", "the server logs parameters (log_transaction_sample_rate)"),
        ("log_parameter_max_length_on_error", "-1", "the server logs parameters (log_parameter_max_length_on_error)"),
    ],
)
def test_servers_that_stop_because_of_rows_or_log_the_key_are_refused(
    admin: Any, postgres_url: str, role: str, *, setting: str, value: str, line: str
) -> None:
    admin.execute(f"GRANT SELECT ON visits TO {role}; ALTER ROLE {role} SET {setting} = {value}")
    url = as_role(postgres_url, role)
    assert line in refused(lambda: opened(url, "visits", Unit("patient", 1)))
    with opened(url, "visits", Unit("patient", 1), ranking="here") as records:
        assert records.counts((AGE,)).tolist() == [0, 1, 2, 0, 0]


def test_time_outs_of_the_role_do_not_stop_a_count(admin: Any, postgres_url: str, role: str) -> None:
    limits = ("statement_timeout", "idle_in_transaction_session_timeout")
    admin.execute(f"GRANT SELECT ON visits TO {role}")
    for limit in limits:  # long enough for what sets it aside
        admin.execute(f"ALTER ROLE {role} SET {limit} = '30s'")
    with opened(as_role(postgres_url, role), "visits") as records:
        engine: Any = records._engine
        assert [engine._link.fetch_rows(f"SELECT current_setting('{limit}')") for limit in limits] == [[("0",)]] * 2
        assert records.counts((AGE,)).sum() == 3


def test_every_type_that_is_a_number_is_read_whatever_it_holds(admin: Any, postgres_url: str) -> None:
    admin.execute("CREATE DOMAIN share AS numeric CHECK (value IS NULL OR value <> 7)")
    admin.execute("CREATE TYPE size AS ENUM ('small', 'large')")
    admin.execute("CREATE TABLE typed (n numeric, d share, r real, s smallint, b bool, e size, u uuid, c char(3))")
    admin.execute(
        "INSERT INTO typed VALUES (1e400, 1, 'NaN', 1, true, 'small', gen_random_uuid(), 'a'), ('NaN', -1e400, 'inf', "
        "2, false, NULL, NULL, NULL), (1e-400, 1e-400, 1e-40, 3, NULL, 'large', NULL, 'abc'), "
        "(-1e400, 'Infinity', 5, NULL, true, 'small', NULL, ' a')"
    )
    grid, wanted = Grid(0, 4, cells=2), {"n": [2, 1, 1], "d": [3, 1, 0], "r": [1, 2, 1], "s": [1, 2, 1], "b": [3, 0, 1]}
    for ranking in ("there", "here"):
        with opened(postgres_url, "typed", Unit("s", 1), ranking) as records:
            assert {name: records.counts((Axis(name, grid),)).tolist() for name in wanted} == wanted
            assert records.counts((Categories("e", ("large", "small")),)).tolist() == [1, 2, 1]
            assert records.counts((Categories("c", ("a", "abc", " a")),)).tolist() == [1, 1, 1, 1]


def test_units_of_every_type_are_told_apart_and_times_at_infinity_too(admin: Any, postgres_url: str) -> None:
    admin.execute("CREATE TABLE owners (x float8, at timestamptz, day date, n numeric, k int8)")
    admin.execute(
        "INSERT INTO owners VALUES (1, 'infinity', '-infinity', 1.0, 9007199254740993), (1, 'infinity', '2020-01-01', "
        "1.00, 9007199254740992), (1, '-infinity', '2020-01-01', 'NaN', 9007199254740992), (1, NULL, NULL, NULL, NULL)"
    )
    for ranking in ("there", "here"):
        for unit, number in (("at", 3), ("day", 3), ("n", 2), ("k", 3)):
            with opened(postgres_url, "owners", Unit(unit, 1), ranking) as records:
                assert records.units() == number, (unit, ranking)
                assert records.counts((Axis("x", Grid(0, 2, cells=1)),)).tolist() == [number, 0]


def test_all_questions_of_a_session_see_one_moment(admin: Any, postgres_url: str) -> None:
    admin.execute("CREATE TABLE moving AS SELECT 30::float8 AS age FROM generate_series(1, 100)")
    with opened(postgres_url, "moving") as records:
        moment = records.moment
        admin.execute("INSERT INTO moving SELECT 30 FROM generate_series(1, 50)")
        assert records.counts((AGE,)).sum() == records.counts((AGE,)).sum() == 100
    with opened(postgres_url, "moving") as records:
        assert records.counts((AGE,)).sum() == 150
        assert records.moment != moment
        moment = records.moment
    with opened(postgres_url, "moving") as records:
        assert records.moment == moment  # nothing was committed in between


def test_the_state_of_a_table_changes_with_its_own_rows_alone(admin: Any, postgres_url: str, role: str) -> None:
    admin.execute("CREATE TABLE alone AS SELECT 30::float8 AS age FROM generate_series(1, 100)")
    admin.execute("CREATE TABLE neighbour (age float8); CREATE VIEW seen AS SELECT age FROM alone")
    admin.execute(f"GRANT SELECT ON alone TO {role}; CREATE TABLE partly AS SELECT 1::float8 AS age, 2 AS hidden")
    admin.execute(f"GRANT SELECT (age) ON partly TO {role}")
    changes = (
        "INSERT INTO alone VALUES (31)", "UPDATE alone SET age = 32 WHERE age = 31", "DELETE FROM alone WHERE age = 32",
        "UPDATE alone SET age = age",
    )  # fmt: skip

    def states(table: str = "alone", url: str = as_role(postgres_url, role)) -> tuple[int | None, int | None]:
        with opened(url, table) as records:
            return records.moment, records.state()

    for change in changes:
        moment, state = states()
        admin.execute("INSERT INTO neighbour VALUES (1)")
        assert states()[0] != moment
        assert states()[1] == state is not None
        admin.execute(change)
        assert states()[1] != state
    # Who guesses the versions of the rows cannot check that without the key of the data set.
    with open_records(dp.postgres(postgres_url, table="alone"), unit=EACH_RECORD, key=b"another") as records:
        assert states()[1] != records.state() is not None
    # A view has no versions of rows, and who may read some columns alone sees none: the snapshot is compared.
    assert states("seen", postgres_url)[1] is states("partly")[1] is None
    with opened(postgres_url, "alone", Unit("age", 1)) as records:
        other = records.with_unit(Unit("age", 2))
        assert other is not None
        assert records.state() == other.state() is not None


@pytest.mark.parametrize("changed", [False, True])
def test_a_request_of_thresholds_goes_on_after_commits_elsewhere(
    admin: Any, postgres_url: str, tmp_path: Path, *, changed: bool
) -> None:
    table = f"slow_{secrets.token_hex(4)}"
    admin.execute(f"CREATE TABLE {table} AS SELECT g::float8 AS age FROM generate_series(1, 100) AS g")
    admin.execute("CREATE TABLE IF NOT EXISTS elsewhere (age float8)")
    loss, grid = dp.PrivacyLoss.pure(1), Grid(0, 128, cells=128)

    def asked(*at: int) -> Any:
        source = dp.postgres(postgres_url, table=table)
        ledger = f"sqlite:///{tmp_path}/budget.db"
        with dp.Session(source, budget=loss, adjacency=dp.ADD_REMOVE, ledger=ledger) as session:
            return session.ask(dp.CdfQuestion("age", grid, edges=at), loss, "named")

    asked(32)
    admin.execute("INSERT INTO elsewhere VALUES (1)")
    admin.execute(f"INSERT INTO {table} VALUES (5)" if changed else "SELECT 1")
    if not changed:
        assert asked(64) is not None
        return
    with pytest.raises(ValueError, match="may have changed since this request began; ask under a new request"):
        asked(64)


def test_cells_are_the_same_by_formula(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from dpcurves_engines import check_postgres, postgres_sql

    monkeypatch.setattr(postgres_sql, "MOST_AS_PARAMETER", 0)
    assert [each for each in check_postgres(postgres_url).findings if not each.is_equal] == []


def test_a_password_stands_in_no_repr_statement_log_or_ledger(
    admin: Any, postgres_url: str, role: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    admin.execute(f"GRANT SELECT ON visits TO {role}")
    table = dp.postgres(as_role(postgres_url, role), table="visits")
    ledger = f"sqlite:///{tmp_path}/budget.db"
    session = dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE, ledger=ledger, dataset="visits")
    curve = session.ask(dp.CdfQuestion("age", AGE.grid), dp.PrivacyLoss.pure(1))
    assert curve.privacy.trust == "one curator, who counts in PostgreSQL"
    shown = [repr(each) for each in (table, session, session._records, session.statement, curve, session.plan)]
    assert not [text for text in (*shown, curve.to_json(), caplog.text) if PASSWORD in text]
    session.close()
    kept = [file.read_bytes() for file in tmp_path.iterdir()]
    assert kept
    assert not [held for held in kept if PASSWORD.encode() in held]


def test_the_key_that_ranks_rows_is_not_that_of_the_data_set(admin: Any, postgres_url: str) -> None:
    from dpcurves_engines.postgres_engine import PostgresEngine

    records = opened(postgres_url, "visits", Unit("patient", 1))
    engine = records._engine
    assert isinstance(engine, PostgresEngine)
    assert engine._key != b"k"
    assert (repr(engine), repr(engine._link)) == ("PostgresEngine(hidden)", "Link(hidden)")
    records.close()


def test_each_round_scans_the_table_once_and_a_distribution_function_three_times_at_most(
    admin: Any, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise decides if a further round is asked for, so those that were are counted. Scores lie on no lattice."""
    from dpcurves_engines.postgres_link import SnapshotConnection

    admin.execute("CREATE TABLE scored AS SELECT random() AS s, i % 2 AS y FROM generate_series(1, 2000) AS numbers(i)")
    scans, turns = list[str](), list[object]()
    rows, run = SnapshotConnection.fetch_rows, dp.Session._run

    def noted(self: SnapshotConnection, statement: str, *given: Any) -> Any:
        scans.extend(["scan"] * (statement.count('."scored"') if "LIMIT 0" not in statement else 0))
        return rows(self, statement, *given)

    def turned(self: dp.Session, *given: Any) -> Any:
        turns.append(given)
        return run(self, *given)

    monkeypatch.setattr(SnapshotConnection, "fetch_rows", noted)
    monkeypatch.setattr(dp.Session, "_run", turned)
    loss, grid = dp.PrivacyLoss.pure(1), Grid(0, 1, cells=2**16)
    questions: tuple[tuple[dp.Question[Any], int], ...] = (
        (dp.CdfQuestion("s", grid), 3), (dp.RocQuestion("y", "s"), 4), (dp.CalibrationQuestion("y", "s"), 4),
    )  # fmt: skip
    for question, most in questions:
        table = dp.postgres(postgres_url, table="scored")
        with dp.Session(table, budget=loss, adjacency=dp.ADD_REMOVE) as session:
            session.ask(question, loss)
            assert 1 <= len(scans) <= len(turns) <= most
        scans.clear()
        turns.clear()


def test_survey_weights_are_added_up_as_they_are_elsewhere(admin: Any, postgres_url: str) -> None:
    known = [(10.0, 1.5), (60.0, 9.0), (60.0, -1.0), (70.0, float("nan")), (80.0, float("inf"))]
    rows = [*known, (None, 2.0), (99.0, None)]
    admin.execute("CREATE TABLE weighed (age float8, w float8)")
    with admin.cursor() as cursor:
        cursor.executemany("INSERT INTO weighed VALUES (%s, %s)", rows)
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("age", "w"))}
    for query in (
        WeightQuery((AGE,), Weights("w", 4.0), CountUse.PREFIXES),
        SquaredWeightQuery((AGE,), Weights("w", 4.0)),
    ):
        with opened(postgres_url, f"{schema(admin)}.weighed") as there:
            found = tabulate(there, query).tolist()
        with open_records(columns, unit=EACH_RECORD, key=b"k") as here:
            assert found == tabulate(here, query).tolist()


def test_a_statement_of_sql_is_counted_where_its_table_lies(admin: Any, postgres_url: str) -> None:
    pytest.importorskip("sqlglot", reason="sqlglot is not installed: no statements of SQL")
    admin.execute('CREATE TABLE "Pay ""2026" ("Wage" int, region text, person int)')
    admin.execute("""INSERT INTO "Pay ""2026" SELECT i % 1000, CASE WHEN i % 4 = 0 THEN 'north' ELSE 'south' END, i / 2
        FROM generate_series(0, 3999) AS i""")
    statement = "SELECT dp_cdf({}, 0, 1000, 100) FROM {} WHERE region IN ('south', 'north') GROUP BY region"
    terms: dict[str, Any] = {"loss": dp.PrivacyLoss.pure(20), "adjacency": dp.ADD_REMOVE}
    there = f'"{schema(admin)}"."Pay ""2026"'
    found = dp.sql(postgres_url, statement.format("Wage", there), unit="person", rows_per_unit=2, **terms)
    assert "counts in PostgreSQL" in str(found.privacy)
    assert [round(found[name].count, -2) for name in ("south", "north")] == [3000, 1000]
    assert abs(found["north"].cdf(500.0) - 0.5) < 0.02
    for table, column, rule in (
        (there, "wage", "column: 'wage' is not in the data"),
        (there.replace("P", "p"), "Wage", "table: there is no"),
        ('"Pay ""2026; DROP TABLE visits"', "Wage", "table: there is no"),
        ("a.b.c.d", "Wage", "FROM|must have this form"),
    ):
        assert re.search(rule, refused(lambda t=table, c=column: dp.sql(postgres_url, statement.format(c, t), **terms)))  # type: ignore[misc]
