"""Random expressions on engines, compared with NumPy to the last bit: how many ran, and which disagree.

`python benchmarks/random_expressions.py ENGINE [--count 100000] [--first-seed 0] [--at-once 200] [--keep]`, where
ENGINE is duckdb, sail, a URL of PostgreSQL or of Spark Connect. The rows and the generator are those of the tests.
A thousand expressions have one seed; statements evaluate up to 200 of about the same depth, because a planner takes
time for each layer of subqueries times all columns in it. If a statement fails or disagrees, its halves are tried,
down to one expression, which is printed with its seed. With `--keep` the numbers of outcomes are stored in
`random_expressions.json` under the engine's name and version. (Spark's were run with Java 17 on `local[1]`, with
`spark.sql.codegen.wholeStage=false`.)
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version as find_version
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS / "expressions"), str(TESTS / "engines")]
from random_expressions import make_node, make_table  # noqa: E402

from dpcurves.expressions import (  # noqa: E402
    Checked,
    LayeredCompiler,
    Node,
    ValueType,
    check_expression,
    format_expression,
    lower_expression,
)

KINDS = (ValueType.NUMBER, ValueType.TRUTH, ValueType.TEXT, ValueType.DATE)
Nodes = list[tuple[ValueType, Node]]
Compare = Callable[[Nodes], None]
OF_A_SEED = 1000
"""Expressions that are drawn from one seed and sorted by depth."""
MOST_PARTS = 600
"""Parts of the expressions of a statement: PostgreSQL has at most 1,664 columns in a subquery."""
RESULTS = Path(__file__).with_suffix(".json")


def open_engine(engine: str) -> tuple[Compare, str]:
    """Return a function that raises `AssertionError` if an expression has another value in the engine than in NumPy,
    and the engine's name and version.
    """
    if engine == "duckdb":
        import duckdb
        import test_agreement

        held = test_agreement.open_table()
        return lambda nodes: test_agreement.compare(held, nodes), f"DuckDB {duckdb.__version__}"
    import test_engine_expressions as engines

    if engine.startswith("postgres"):
        import psycopg

        with psycopg.connect(engine, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS random_rows")
            table = engines.create_table(connection, "random_rows", make_table())
            version = connection.execute("SHOW server_version").fetchone()[0].split()[0]
        return lambda nodes: engines.compare(engine, "random_rows", table, nodes), f"PostgreSQL {version}"
    return open_spark(engine, engines)


def open_spark(engine: str, engines: Any) -> tuple[Compare, str]:
    """Return the function and the version of `open_engine` for Spark Connect, or for Sail in this process."""
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
    schema = read_schema(table)

    def compare(nodes: Nodes) -> None:
        """Compare the values of expressions in one query."""
        assert server is None or server.running  # the closure keeps it: a server that is collected stops
        checked = [(f"e{index}", check_expression(node, schema, kind)) for index, (kind, node) in enumerate(nodes)]
        evaluated = add_expressions(rows, checked, derived.read_column).toArrow().sort_by("c0")
        engines.compare_values(table, nodes, [evaluated.column(name).to_pylist() for name, _ in checked])

    return compare, f"Spark {session.version}" if server is None else f"Sail {find_version('pysail')}"


def read_schema(table: dict[str, Any]) -> dict[str, ValueType]:
    """Return the types of columns by name."""
    kinds = {"f": ValueType.NUMBER, "O": ValueType.TEXT, "b": ValueType.TRUTH}
    return {
        name: kinds.get(values.dtype.kind, ValueType.DATE if values.dtype == "datetime64[D]" else ValueType.MOMENT)
        for name, values in table.items()
    }


def to_arrow(values: Any) -> pa.Array:
    """Return a column for Spark: NaN stays NaN, timestamps are in UTC."""
    if values.dtype.kind == "M":
        return pa.array(values, pa.date32() if values.dtype == "datetime64[D]" else pa.timestamp("us", "UTC"))
    return pa.array(values, from_pandas=False)


def main() -> None:
    """Compare the requested number of expressions, and print the outcomes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--at-once", type=int, default=200)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # pyspark warns of pandas 3
    compare, version = open_engine(options.engine)
    outcomes = Counter[str]()
    for seed in range(options.first_seed, options.first_seed + options.count // OF_A_SEED):
        for nodes in draw_statements(seed, OF_A_SEED, options.at_once):
            outcomes += compare_halves(compare, nodes, seed)
        print(dict(outcomes), f"{process_time():.0f} s of CPU here", flush=True)
    if options.keep:
        results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        results[version] = {"first seed": options.first_seed, **dict(sorted(outcomes.items()))}
        RESULTS.write_text(json.dumps(dict(sorted(results.items())), indent=1) + "\n")
    os._exit(0)  # Sail's threads would keep the process


def draw_statements(seed: int, number: int, at_once: int) -> Iterator[Nodes]:
    """Yield expressions of a seed in groups of equal depth, as many as a statement evaluates."""
    random = Random(seed)
    nodes = [(kind, make_node(random, kind, random.randint(1, 4))) for kind in random.choices(KINDS, k=number)]
    schema = read_schema(make_table())
    sizes = []
    for kind, node in nodes:
        compiler = LayerCounter(lambda name, kind: name)
        compiler.compile(lower_expression(check_expression(node, schema, kind)))
        sizes.append((len(compiler.layers), sum(map(len, compiler.layers))))
    statement, parts = Nodes(), 0
    for index in sorted(range(number), key=sizes.__getitem__):
        if statement and (len(statement) == at_once or parts + sizes[index][1] > MOST_PARTS):
            yield statement
            statement, parts = Nodes(), 0
        statement.append(nodes[index])
        parts += sizes[index][1]
    yield statement


class LayerCounter(LayeredCompiler):
    """Compiles to no dialect: the layers and parts alone are of use, as if all operations mentioned arguments twice."""

    def write_literal(self, checked: Checked) -> str:
        """Return any text: literals make no layers."""
        return repr(checked.value)

    def write_operation(self, checked: Checked, arguments: Sequence[str]) -> str:
        """Return a text that mentions each argument twice."""
        return f"{checked.function}({', '.join([*arguments, *arguments])})"


def compare_halves(compare: Compare, nodes: Nodes, seed: int) -> Counter[str]:
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
        print(f"seed {seed} {outcome}: {format_expression(nodes[0][1])[:600]}: {str(error)[:200]}", flush=True)
        return Counter({outcome: 1})


if __name__ == "__main__":
    main()
