"""The spacing of a grid's edges, and the treatment of values outside of it: public choices."""

from __future__ import annotations

from enum import Enum


class Spacing(Enum):
    """The spacing of a grid's edges."""

    LINEAR = "linear"
    GEOMETRIC = "geometric"
    LOGISTIC = "logistic"
    EXPLICIT = "explicit"


class Outside(Enum):
    """The treatment of values outside the grid: a public choice."""

    CLAMPED = "clamped into the first and the last cell"
    APART = "in cells of their own"
