"""Expressions for filters and derived columns: a closed, typed subset of SQL in which no row can raise an error.

- `parsing`, `syntax`, `vocabulary`: text to tree, and back to canonical text.
- `builder`: the same trees built in Python, as in ``col("wage") / col("hours")``.
- `checked`: types of all parts, from the schema of the table.
- `evaluation`, `duckdb_sql`, `layers`, `lowering`: values in NumPy, and SQL of engines with equal values.

Each value is a function of one row alone. So filtering and deriving columns map neighbouring tables to neighbouring
tables, and cost no budget.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
