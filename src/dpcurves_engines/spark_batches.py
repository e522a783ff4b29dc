"""SENSITIVE. Histogram counts, sums and row ranks on batches of rows, as functions for Spark's Python workers.

These functions do what SQL cannot: they place numbers on grids without a formula, by binary search.

    build_counter    counts rows, or sums offsets, by cell
    build_placer     returns cell and amount of each row, for conformance checks
    build_ranker     computes the HMAC-SHA256 by which the rows of a unit are ranked

Each returns a function from one iterator of Arrow record batches to another iterator, for ``DataFrame.mapInArrow``.
Workers have no dpcurves, so the functions are sent by value and import NumPy and Arrow only.

Formal guarantees: counts and sums are exact integers without noise, each in two parts of which the low one has 31 bits.
The mechanism that receives them adds the noise; they must not be shown before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

LOW_BITS = 31
"""Bits of the low part of a sum: amounts are summed in two parts, because one sum could exceed 64 bits."""
ROWS_PER_BATCH = 2**17
"""Rows per joined batch: with larger ones fewer partial counts are sent on, and workers need more memory."""
Batches = Iterable[Any]


def build_counter(axes: Sequence[tuple[Any, int]], amounts: Sequence[Any] | None) -> Callable[[Batches], Iterator[Any]]:
    """Return a batch function that counts rows, or sums their offsets from cell middles, by cell.

    Args:
        axes: For each column, its thresholds, or None if it holds indices of cells already; and its number of slots
            (cells, with those below and above the grid).
        amounts: Constants of the offsets, see `collect_offset_constants`; None counts rows.

    Returns:
        A function that yields record batches with columns ``place`` (cell index, -1 if missing), ``high`` and ``low``.
        The count or sum is ``high * 2**31 + low``.
    """

    def count_batches(batches: Batches) -> Iterator[Any]:
        """SENSITIVE: yield, for each group of joined batches, the cells with rows, and the exact count or sum of each,
        split into a high and a low part.

        Args:
            batches: Arrow record batches, one column for each axis.
        """
        import numpy as np
        import pyarrow as pa

        for values in _join_batches(batches):
            # Sorting makes the cell search three times as fast.
            columns = [np.sort(values[0])] if len(values) == 1 and amounts is None else values
            index, slot, missing = _find_places(columns, axes)
            if amounts is None:
                cells, low = np.unique(index, return_counts=True)
                high = np.zeros(len(cells), dtype=np.int64)
            else:
                cells, entries = np.unique(index, return_inverse=True)
                high, low = np.zeros((2, len(cells)), dtype=np.int64)
                row_amounts = _compute_amounts(values[-1], slot, missing, amounts)
                np.add.at(high, entries, row_amounts >> LOW_BITS)
                np.add.at(low, entries, row_amounts & (2**LOW_BITS - 1))
            names = ["place", "high", "low"]
            yield pa.RecordBatch.from_arrays([pa.array(array, pa.int64()) for array in (cells, high, low)], names=names)

    return count_batches


def _join_batches(batches: Batches) -> Iterator[list[Any]]:
    """Join batches to at least `ROWS_PER_BATCH` rows, so that few partial counts are sent on.

    Args:
        batches: Arrow record batches, one column for each axis.

    Yields:
        One array of floats for each column, NaN where a value is missing. The last batch may be shorter.
    """
    import numpy as np

    pending: list[list[Any]] = []
    for batch in batches:
        pending.append([column.to_numpy(zero_copy_only=False).astype(np.float64) for column in batch.columns])
        if sum(len(columns[0]) for columns in pending) >= ROWS_PER_BATCH:
            yield [np.concatenate(column) for column in zip(*pending, strict=True)]
            pending = []
    if pending:
        yield [np.concatenate(column) for column in zip(*pending, strict=True)]


def build_placer(axes: Sequence[tuple[Any, int]], amounts: Sequence[Any] | None) -> Callable[[Batches], Iterator[Any]]:
    """Return a batch function that yields the cell and the amount of each row, for conformance checks on public rows.

    Args:
        axes: For each column after the first, its thresholds or None, and its number of slots; see `build_counter`.
        amounts: Constants of the offsets from cell middles, which are the amounts; None: the amount is the cell index.

    Returns:
        A function that yields record batches with columns ``at`` (the id in the first column), ``place`` (the index of
        the cell) and ``added`` (the amount).
    """

    def place_batches(batches: Batches) -> Iterator[Any]:
        """Yield, for each batch, columns with the id, the cell index and the amount of each row.

        Args:
            batches: Arrow record batches of public rows: ids, then one column for each axis.
        """
        import numpy as np
        import pyarrow as pa

        for batch in batches:
            row_ids, *values = (column.to_numpy(zero_copy_only=False).astype(np.float64) for column in batch.columns)
            index, slot, missing = _find_places(values, axes)
            row_amounts = index if amounts is None else _compute_amounts(values[-1], slot, missing, amounts)
            columns = [pa.array(array.astype(np.int64), pa.int64()) for array in (row_ids, index, row_amounts)]
            yield pa.RecordBatch.from_arrays(columns, names=["at", "place", "added"])

    return place_batches


def _find_places(values: Sequence[Any], axes: Sequence[tuple[Any, int]]) -> tuple[Any, Any, Any]:
    """Return the cell index of each row, its cell on the last axis, and a mask of rows with a missing value.

    Args:
        values: One array per axis, (rows,); NaN if missing.
        axes: For each axis, the thresholds between its cells (None: the values are cells already), and the number of
            its cells.

    Returns:
        Cell index over all axes (-1 if missing), cell on the last axis (0 if missing), and the mask, (rows,) each.
    """
    import numpy as np

    index = np.zeros(len(values[0]), dtype=np.int64)
    missing = np.zeros(len(values[0]), dtype=bool)
    slot = index
    for (thresholds, slots), column in zip(axes, values, strict=True):
        slots_of_column = column if thresholds is None else np.searchsorted(thresholds, column, side="right")
        is_missing = np.isnan(column)
        slot = np.where(is_missing, 0, slots_of_column).astype(np.int64)
        index = index * slots + slot
        missing = missing | is_missing
    return np.where(missing, -1, index), slot, missing


def _compute_amounts(values: Any, slot: Any, missing: Any, amounts: Sequence[Any]) -> Any:
    """Return the offset of each row from the middle of its cell, or its scaled square, as an integer.

    The floating-point operations are those of `Grid.offset_of`. Rows that are missing or outside the cells get the
    amount of offset 0.

    Args:
        values: Number of each row, (rows,).
        slot: Slot of each row on the axis of these numbers, (rows,).
        missing: True for rows with a missing value, (rows,).
        amounts: Middles and widths of cells, half the number of steps in a cell, slots below the first cell, whether
            the square is wanted, and the range to which numbers are clipped; see `collect_offset_constants`.

    Returns:
        Integers from ``-half`` to ``half``; with squares ``2 * offset**2 - half**2``.
    """
    import numpy as np

    middle, width, half, slots_below, squared, lower, upper = amounts
    cell = slot - slots_below
    is_outside = missing | (cell < 0) | (cell >= len(middle))
    cell = np.where(is_outside, 0, cell)
    inside = np.where(is_outside, lower, np.clip(values, lower, upper))
    steps = np.clip(np.floor((inside - middle[cell]) / width[cell] * (2 * half) + 0.5), -half, half)
    offset = np.where(is_outside, 0, steps).astype(np.int64)
    return 2 * offset**2 - half**2 if squared else offset


def build_ranker(inner: bytes, outer: bytes, columns_kept: int) -> Callable[[Batches], Iterator[Any]]:
    """Return a batch function that adds to each row the HMAC-SHA256 of its texts, by which the rows of a unit are
    ranked.

    Args:
        inner: Inner padded key of the HMAC.
        outer: Outer padded key.
        columns_kept: Number of columns that are passed on; the columns after these are hashed and left out.

    Returns:
        A function that yields record batches with the columns passed on, and the digest as column ``rank``.
    """

    def rank_batches(batches: Batches) -> Iterator[Any]:
        """SENSITIVE: yield each batch with the keyed digest of each row's texts as column ``rank``.

        Args:
            batches: Arrow record batches: columns that are passed on, then texts, which are left out.
        """
        from hashlib import sha256

        import pyarrow as pa

        def digest_row(row: Sequence[Any]) -> str:
            """Return the HMAC-SHA256 of a row in hexadecimal.

            The length of each text is hashed before it, so that no two rows give the same bytes.

            Args:
                row: Texts of the row; None where missing.
            """
            encoded = (b"-" if text is None else b"%d:%b" % (len(text), text) for text in row)
            return sha256(outer + sha256(inner + b"".join(encoded)).digest()).hexdigest()

        for batch in batches:
            texts = [column.cast(pa.binary()).to_pylist() for column in batch.columns[columns_kept:]]
            ranks = pa.array([digest_row(row) for row in zip(*texts, strict=True)], pa.string())
            names = [*batch.schema.names[:columns_kept], "rank"]
            yield pa.RecordBatch.from_arrays([*batch.columns[:columns_kept], ranks], names=names)

    return rank_batches
