"""Residuals of a model: an outcome less its prediction, record by record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...arguments import Refused, require_kind
from ...arrays import FloatArray
from ..predictor import Input, Predictor


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Residual(Predictor):
    """A column of numbers less what a model predicts of it; missing where either is.

    Formal guarantees: as for `Predictor`.

    Attributes:
        outcome: The column of numbers.
        model: A `Scorecard` or `Trees`.

    Raises:
        TypeError: they are of another kind.
    """

    KIND: ClassVar[str] = "residual"

    outcome: str
    model: Predictor

    def __post_init__(self) -> None:
        require_kind("outcome", self.outcome, str, "the name of a column")
        require_kind("model", self.model, Predictor, "a Scorecard or Trees")
        if isinstance(self.model, Residual):
            raise Refused("model", "a Scorecard or Trees is needed")

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name in pictures."""
        return f"{self.outcome} less {self.model.name}"

    @property
    def inputs(self) -> tuple[Input, ...]:
        return (Input(self.outcome), *self.model.inputs)

    def values(self, columns: Sequence[FloatArray]) -> FloatArray:
        with np.errstate(all="ignore"):  # an infinite outcome has an infinite residual, and lies beyond all bounds
            return np.asarray(columns[0] - self.model.values(columns[1:]))

    def facts(self) -> dict[str, Any]:
        return {"outcome": self.outcome, "model": self.model.to_object()}
