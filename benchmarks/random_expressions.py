"""Random expressions on engines, compared with NumPy to the last bit: how many ran, and which disagree.

`python benchmarks/random_expressions.py ENGINE [--count 100000] [--first-seed 0] [--at-once 10]`, where ENGINE is
duckdb, sail, a URL of PostgreSQL or of Spark Connect. The rows and the generator are those of the tests. One statement
evaluates several expressions; if it fails or disagrees, its halves are tried, down to one expression, which is printed
with its seed. An expression that an engine cannot plan, as very deep ones in Spark with Java, is counted apart.
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
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS / "expressions"), str(TESTS / "engines")]
from random_expressions import make_node, make_table  # noqa: E402

from dpcurves.expressions import Node, ValueType, check_expression, format_expression  # noqa: E402

KINDS = (ValueType.NUMBER, ValueType.TRUTH, ValueType.TEXT, ValueType.DATE)
Nodes = list[tuple[ValueType, Node]]
AT_ONCE = 10  # expressions of a statement: the time to plan one grows faster than their number


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
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # pyspark warns of pandas 3
    compare, outcomes = open_engine(options.engine), Counter[str]()
    for number in range(options.count // options.at_once):
        seed = options.first_seed + number
        random = Random(seed)
        kinds = random.choices(KINDS, k=options.at_once)
        nodes = [(kind, make_node(random, kind, random.randint(1, 4))) for kind in kinds]
        outcomes += compare_halves(compare, nodes, seed)
        if number % 100 == 99:
            print(dict(outcomes), f"{process_time():.0f} s of CPU here", flush=True)
    print(dict(outcomes), f"{process_time():.0f} s of CPU here", flush=True)
    print(dict(outcomes), f"{process_time():.0f} s of CPU here", flush=True)
    os._exit(0)  # Sail's threads would keep the process


def compare_halves(compare: Callable[[Nodes], None], nodes: Nodes, seed: int) -> Counter[str]:
    """Compare expressions in one statement, or in the halves of one that fails. Return the number of each outcome, and
    print single expressions that disagree or fail.
    """
    try:
        compare(nodes)
        return Counter(equal=len(nodes))
    except Exception as error:  # what an engine cannot plan has no common type
        if len(nodes) > 1:
            middle = len(nodes) // 2
            return compare_halves(compare, nodes[:middle], seed) + compare_halves(compare, nodes[middle:], seed)
        outcome = "different" if isinstance(error, AssertionError) else "failed"
        print(f"seed {seed} {outcome}: {format_expression(nodes[0][1])[:300]}: {str(error)[:200]}", flush=True)
        return Counter({outcome: 1})


if __name__ == "__main__":
    main()
