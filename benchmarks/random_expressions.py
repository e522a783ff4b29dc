"""Random expressions on engines, compared with NumPy to the last bit: how many ran, and which disagree.

`python benchmarks/random_expressions.py ENGINE [--count 100000] [--first-seed 0]`, where ENGINE is duckdb, sail, a URL
of PostgreSQL or of Spark Connect. The rows and the generator are those of the tests; a disagreement is printed with its
seed. An expression that an engine cannot plan, as very deep ones in Spark with Java, is counted apart.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS / "expressions"), str(TESTS / "engines")]
from random_expressions import make_node, make_table  # noqa: E402

from dpcurves.expressions import Node, ValueType, check_expression, format_expression  # noqa: E402

KINDS = (ValueType.NUMBER, ValueType.TRUTH, ValueType.TEXT, ValueType.DATE)
Nodes = list[tuple[ValueType, Node]]
AT_ONCE = 10  # expressions of a query


def open_engine(engine: str) -> Callable[[Nodes], None]:
    """Return a function that raises `AssertionError` if an expression has another value in the engine than in NumPy."""
    if engine == "duckdb":
        import test_agreement

        connection = test_agreement.open_table()
        return lambda nodes: test_agreement.compare(connection, nodes)
    import test_engine_expressions as engines

    if engine.startswith("postgres"):
        import psycopg

        with psycopg.connect(engine, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS random_rows")
            table = engines.create_table(connection, "random_rows", make_table())
        return lambda nodes: engines.compare(engine, "random_rows", table, nodes)
    return open_spark(engine, engines)


def open_spark(engine: str, engines: Any) -> Callable[[Nodes], None]:
    """Return the function of `open_engine` for Spark Connect, or for Sail in this process."""
    from pyspark.sql import SparkSession

    from dpcurves_engines.spark_expressions import SparkDerivedColumns, add_expressions
    from dpcurves_engines.spark_sql import format_type, make_column

    server = None
    if engine == "sail":
        from pysail.spark import SparkConnectServer

        server = SparkConnectServer("127.0.0.1", 0)
        server.start(background=True)
        engine = "sc://{}:{}".format(*server.listening_address)
    table = make_table()
    arrays = {name: to_arrow(values) for name, values in table.items()}
    session = SparkSession.builder.remote(engine).getOrCreate()
    frame = session.createDataFrame(pa.table({"row": np.arange(len(table["x"])), **arrays}))
    fields = frame.schema.fields
    derived = SparkDerivedColumns([make_column(field.name, format_type(field)) for field in fields])
    rows = frame.selectExpr(*(f"`{field.name}` AS c{index}" for index, field in enumerate(fields)))
    kinds = {"f": ValueType.NUMBER, "O": ValueType.TEXT, "b": ValueType.TRUTH}
    schema = {
        name: kinds.get(values.dtype.kind, ValueType.DATE if values.dtype == "datetime64[D]" else ValueType.MOMENT)
        for name, values in table.items()
    }

    def compare(nodes: Nodes) -> None:
        """Compare the values of expressions in one query."""
        assert server is None or server.running  # the closure keeps it: a server that is collected stops
        checked = [(f"e{index}", check_expression(node, schema, kind)) for index, (kind, node) in enumerate(nodes)]
        evaluated = add_expressions(rows, checked, derived.read_column).toArrow().sort_by("c0")
        engines.compare_values(table, nodes, [evaluated.column(name).to_pylist() for name, _ in checked])

    return compare


def to_arrow(values: Any) -> pa.Array:
    """Return a column for Spark: NaN stays NaN, timestamps are in UTC."""
    if values.dtype.kind == "M":
        return pa.array(values, pa.date32() if values.dtype == "datetime64[D]" else pa.timestamp("us", "UTC"))
    return pa.array(values, from_pandas=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--first-seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # pyspark warns of pandas 3
    compare, outcomes = open_engine(options.engine), Counter[str]()
    for seed in range(options.first_seed, options.first_seed + options.count // AT_ONCE):
        random = Random(seed)
        nodes = [(kind, make_node(random, kind, random.randint(1, 4))) for kind in random.choices(KINDS, k=AT_ONCE)]
        try:
            compare(nodes)
            outcomes["equal"] += len(nodes)
        except Exception:
            for pair in nodes:
                outcomes[try_expression(compare, pair, seed)] += 1
        if sum(outcomes.values()) % 1000 == 0:
            print(dict(outcomes), flush=True)
    print(dict(outcomes), flush=True)
    os._exit(0)  # Sail's threads would keep the process


def try_expression(compare: Callable[[Nodes], None], pair: tuple[ValueType, Node], seed: int) -> str:
    """Compare one expression; print it if it disagrees. Return the outcome."""
    try:
        compare([pair])
    except AssertionError as error:
        print(f"seed {seed} differs: {error}"[:500])
        return "different"
    except Exception as error:
        print(f"seed {seed} failed: {format_expression(pair[1])[:300]}: {str(error)[:200]}")
        return "failed"
    return "equal"


if __name__ == "__main__":
    main()
