"""Filters (WHERE conditions) in forecasts: which of the simulated or public records pass the filter of a question.

A forecast simulates a private question on records that are not confidential, to find its expected error. Its number of
records is then the number that passes the filter:

    simulated records     a share of them passes, which the analyst states (`share_of_rows`); a column marks these
    public records        the filter is evaluated on them (`filter_public_records`)

Under replace-one adjacency the number of all rows is public, so rows that fail stay in the table, as records without a
value. Under add-remove they are left out.

Formal guarantees: no confidential record is read; the analyst states the share, it is not counted.

>>> count_rows(1000, 0.1, size_passes=False, most=10**6)
RowShare(passing=100, total=1000, is_filtered=True)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..arguments import InvalidArgument, require_number
from ..data import ALL_RECORDS, Axis, is_expression
from ..expressions import ValueType, evaluate_expression, parse_expression
from ..privacy import EACH_RECORD, Neighbours, PrivacyLoss
from ..session import plan_question

FILTER_COLUMN = "passes the filter"
"""Column that simulated tables get to stand for the question's filter: 1 for rows that pass it, 0 for others."""
NEEDS_SHARE = (
    "the question has a filter: give the share of the rows that you think pass it, as in 0.1; nothing is read from the "
    "table"
)
"""Rule in the error for a forecast of a question with a filter, if nobody states the share of rows that pass."""
EVALUATED_FILTER_RULE = "leave share_of_rows out: the filter is evaluated on the public records of like"
"""Rule in the error for a stated share of passing rows beside public records, which show this share themselves."""


class RowShare(NamedTuple):
    """Numbers of rows of a forecast: of rows that pass the filter, and of all rows.

    Attributes:
        passing: Number of rows that pass.
        total: Number of all rows.
        is_filtered: True if some rows may fail.
    """

    passing: int
    total: int
    is_filtered: bool

    def __str__(self) -> str:
        """Return the numbers in words, such as "100 of 1,000 records"."""
        of_all = f" of {self.total:,}" if self.is_filtered else ""
        return f"{self.passing:,}{of_all} records"

    def add_failing_rows(self, table: Mapping[str, Any], neighbours: Neighbours) -> dict[str, Any]:
        """Return a simulated table with `FILTER_COLUMN` added, and with failing rows if their number is public.

        Args:
            table: Simulated rows that pass: arrays of equal length by column name.
            neighbours: Under replace-one, rows are repeated up to `total`; the first `passing` rows pass. Under
                add-remove there are `passing` rows, and all of them pass.
        """
        total = self.total if neighbours.has_public_units else self.passing
        padded = {name: np.resize(np.asarray(column), total) for name, column in table.items()}
        return padded | {FILTER_COLUMN: (np.arange(total) < self.passing).astype(float)}


def parse_row_share(question: Any, like: Any, share: float | None) -> float | None:
    """Return the share of simulated rows that pass the filter; None if all rows count, or if public rows are filtered.

    Args:
        question: The question, with its filter.
        like: Public records, a released curve, or None.
        share: The share that the analyst states; None if no share is stated.

    Raises:
        ValueError: the share is missing or not above 0 and at most 1, or is given with public records.
    """
    where = getattr(question, "where", None)
    if isinstance(like, Mapping):
        if share is not None:
            raise InvalidArgument("share_of_rows", EVALUATED_FILTER_RULE)
        return None
    if share is None:
        if where:
            raise InvalidArgument("share_of_rows", NEEDS_SHARE)
        return None
    number = require_number("share_of_rows", share)
    if not 0 < number <= 1:
        raise InvalidArgument("share_of_rows", f"must be above 0 and at most 1, as in 0.1, got {share}")
    return number


def count_rows(size: int, share: float | None, *, size_passes: bool, most: int) -> RowShare:
    """Return the numbers of passing and of all rows, at least 1 and at most `most`.

    Args:
        size: Number of rows.
        share: Share of all rows that pass; None: no filter.
        size_passes: Whether `size` counts the rows that pass, as of a released curve.
        most: Largest number of simulated rows.
    """
    if share is None:
        return RowShare(size, size, is_filtered=False)
    total = min(max(round(size / share), size), most) if size_passes else size
    return RowShare(max(round(total * share), 1), total, is_filtered=True)


def stand_for_filter(question: Any, row_share: RowShare) -> Any:
    """Return the question with its filter replaced by a condition on `FILTER_COLUMN`; unchanged without a filter.

    Args:
        question: The question.
        row_share: Numbers of rows of the forecast; `is_filtered` is True if the question has a filter.
    """
    return replace(question, where=f'"{FILTER_COLUMN}" = 1') if row_share.is_filtered else question


def filter_public_records(
    question: Any, table: Mapping[str, Any], loss: PrivacyLoss, neighbours: Neighbours
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Evaluate a question's filter on public records, and return all records and the records that pass.

    Both tables have further columns for the expressions of the question, such as ``wage / hours``, under the text of
    the expression.

    Args:
        question: The question, with its filter.
        table: Public records: arrays of equal length by column name.
        loss: Loss of the question, for planning.
        neighbours: Add-remove or replace-one.

    Returns:
        Two tables, all records and the records that pass; the same object twice if the question has no filter.

    Raises:
        ValueError: a column is missing, or no record passes.
    """
    where = getattr(question, "where", None)
    derived = dict(table)
    rows = len(next(iter(table.values())))
    adjacency = neighbours.to_adjacency(EACH_RECORD, rows if neighbours.has_public_units else None)
    plans = plan_question(question, loss, adjacency)
    for axis in {axis for plan in plans for axis in plan.query.input_axes if is_expression(axis, table)}:
        if axis.column != ALL_RECORDS:
            kind = ValueType.NUMBER if isinstance(axis, Axis) else None
            derived[str(axis.column)] = evaluate_expression(parse_expression(str(axis.column), "like"), table, kind)
    if not where:
        return derived, derived
    mask = evaluate_expression(parse_expression(where), table, ValueType.TRUTH) == 1
    if not mask.any():
        raise InvalidArgument("like", "no public record passes the filter; give other public records")
    return derived, {name: np.asarray(column)[mask] for name, column in derived.items()}
