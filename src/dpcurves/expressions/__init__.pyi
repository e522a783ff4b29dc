from .builder import Expression, Operand, col, when
from .checked import Checked, ValueType, check_expression, find_monotone_chain
from .duckdb_sql import build_duckdb_sql
from .evaluation import (
    DECIMAL_NUMBER,
    SAFE_DAYS,
    FieldExpression,
    evaluate_checked,
    evaluate_expression,
    fold_constants,
)
from .layers import LayeredCompiler
from .lowering import lower_expression
from .parsing import parse_expression
from .published import describe_published_names, parse_filter, rename_columns
from .syntax import Call, ColumnName, Literal, Node, find_column_names, find_texts, format_expression

__all__ = [
    "DECIMAL_NUMBER",
    "SAFE_DAYS",
    "Call",
    "Checked",
    "ColumnName",
    "Expression",
    "FieldExpression",
    "LayeredCompiler",
    "Literal",
    "Node",
    "Operand",
    "ValueType",
    "build_duckdb_sql",
    "check_expression",
    "col",
    "describe_published_names",
    "evaluate_checked",
    "evaluate_expression",
    "find_column_names",
    "find_monotone_chain",
    "find_texts",
    "fold_constants",
    "format_expression",
    "lower_expression",
    "parse_expression",
    "parse_filter",
    "rename_columns",
    "when",
]  # fmt: skip
