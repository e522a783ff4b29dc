"""Confusion matrices as pictures: the rates that are read from them, and the counts above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray
from ..release import PrivacyStatement
from .numbers_picture import draw_numbers
from .numerals import numeral
from .shade import Shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_confusion(
    matrix: ArrayLike,
    threshold: float,
    rates: Mapping[str, float],
    privacy: PrivacyStatement,
    *,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw the rates at one threshold with their intervals; the four counts of the matrix stand above.

    Args:
        matrix: Counts: rows are the true labels, columns the predicted ones, negatives first.
        threshold: A score at or above it is classified as positive.
        rates: The rates, by name.
        privacy: The privacy statement that is written below the picture.
        shades: Intervals, by the lower and upper end of each rate, the wider ones first.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the model.
    """
    words = {rate.replace("_", " "): value for rate, value in rates.items()}
    ax = draw_numbers(words, privacy, shades=shades, ax=ax, name=name)
    ax.set_xlabel(f"share; a score of {threshold:g} or more is called positive")
    if name is None:
        ax.set_title(_told(np.asarray(matrix, dtype=float)), fontsize=9)
    return ax


def _told(matrix: FloatArray) -> str:
    (true_negative, false_positive), (false_negative, true_positive) = np.round(matrix).tolist()
    return (
        f"called positive: {numeral(true_positive)} positives, {numeral(false_positive)} negatives\n"
        f"called negative: {numeral(false_negative)} positives, {numeral(true_negative)} negatives"
    )
