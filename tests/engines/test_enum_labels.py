"""Labels of an ENUM on PostgreSQL are those of its catalogue: other labels are refused before the charge."""

from __future__ import annotations

import psycopg
import pytest

import dpcurves as dp
from dpcurves.data import Categories
from dpcurves.privacy import EACH_RECORD
from dpcurves.records import open_records


def test_labels_that_an_enum_does_not_have_are_refused(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("""CREATE TYPE grade AS ENUM ('low', 'mid', 'it''s "high"')""")
        connection.execute("CREATE DOMAIN graded AS grade")
        connection.execute("CREATE TABLE grades (x float8, e grade, g graded, f float4)")
        connection.execute("""INSERT INTO grades VALUES (1, 'low', 'low', .1), (2, 'it''s "high"', 'mid', .2)""")
    for column in ("e", "g"):
        with open_records(dp.postgres(postgres_url, table="grades"), unit=EACH_RECORD, key=bytes(32)) as records:
            assert records.counts((Categories(column, ("low", 'it\'s "high"')),)).tolist()[0] == 1
            rule = f"column `{column}` is enum in the schema; write one of its labels: 'low', 'mid', "
            with pytest.raises(ValueError, match=f"^categories: 'High': {rule}"):
                records.counts((Categories(column, ("low", "High")),))
            for where in (f"{column} = 'LOW'", f"CASE {column} WHEN 'LOW' THEN 1 ELSE 0 END = 1"):
                with pytest.raises(ValueError, match=rule):
                    records.with_filter(where).counts((Categories(column, ("low",)),))
            only = records.with_filter(f"{column} = 'low' AND f = 0.1")
            assert only.counts((Categories(column, ("low",)),)).tolist()[0] == 1
