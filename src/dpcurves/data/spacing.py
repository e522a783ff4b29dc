"""How the edges of a grid are laid, and where values outside of it are counted: public choices."""

from __future__ import annotations

from enum import Enum


class Spacing(Enum):
    """How the edges of a grid are laid."""

    LINEAR = "linear"
    GEOMETRIC = "geometric"
    LOGISTIC = "logistic"
    EXPLICIT = "explicit"


class Outside(Enum):
    """Where values outside the grid are counted: a public choice."""

    CLAMPED = "clamped into the first and the last cell"
    APART = "in cells of their own"
