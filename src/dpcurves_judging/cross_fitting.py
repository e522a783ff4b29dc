"""Cross-fitting: assign records to folds by a public hash, and score each with the model that did not see its fold.

Also called: cross-validated predictions, out-of-fold scores. A model looks better on the records to which it was
fitted.

    Folds      columns of a record -> index of its fold, from 0
    HeldOut    columns of a record -> its score by the model that was fitted to the other folds

The fold of a record is a hash of some of its columns (SplitMix64, chained over the columns), modulo the number of
folds. Records that are equal in these columns are in one fold. If the identifier of a patient is hashed, no model is
evaluated on a patient to whose records it was fitted.

Formal guarantees: fold and score are functions of one record and of public fields, so each record lies in one cell of a
table by fold and score.

References: Steele, Lea and Flood 2014 (SplitMix64); Stone 1974 (cross-validation).

>>> Folds(("patient",), ("patient",), 5).predict({"patient": [7, 7, 8, -0.0, 0.0]}).tolist()
[2.0, 2.0, 1.0, 0.0, 0.0]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dpcurves.arguments import InvalidArgument, convert_to_integers, require_known_fields, require_sequence
from dpcurves.arrays import FloatArray
from dpcurves.data.axis import Input, Predictor
from dpcurves.models import Scorecard

MOST_FOLDS = 20
"""Largest number of folds of a cross-fitted model; more are refused."""
_STEP, _FIRST, _SECOND = (np.uint64(each) for each in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
"""Constants of SplitMix64: the increment of its state, and its two multipliers."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Folds(Predictor):
    """The index of a record's fold, from 0: a public hash of some of its columns.

    Records that are equal in these columns lie in one fold. The hash is SplitMix64 (Steele, Lea and Flood 2014), of the
    bits of one number after another.

    Formal guarantees: as for `Predictor`. The hash is public; privacy does not depend on it.

    Attributes:
        columns: Columns of numbers. A record with a missing value has no fold.
        hashed: The columns that are hashed.
        folds: The number of folds.

    Raises:
        ValueError: `folds` is not from 2 to 20, or no column is hashed.

    >>> Folds(("age",), ("age",), 2).predict({"age": [31, 36, 40, 31, None]}).tolist()
    [1.0, 0.0, 0.0, 1.0, nan]
    """

    KIND: ClassVar[str] = "folds"

    columns: tuple[str, ...]
    hashed: tuple[str, ...]
    folds: int

    def __post_init__(self) -> None:
        convert_to_integers(self, folds="folds")
        for name in ("columns", "hashed"):
            object.__setattr__(self, name, require_sequence(name, getattr(self, name), "names of columns"))
        if not 2 <= self.folds <= MOST_FOLDS:
            raise InvalidArgument(
                "folds", f"must be a number of folds from 2 to {MOST_FOLDS}, as in 5, got {self.folds}"
            )
        if not self.hashed or not set(self.hashed) <= set(self.columns):
            raise InvalidArgument(
                "hashed",
                "at least one column is needed, by whose values records are assigned to folds, as in ('patient',)",
            )

    @property
    def name(self) -> str:  # type: ignore[override]
        """Short text that names the assignment to folds in plots and tables, such as "5 folds"."""
        return f"{self.folds} folds"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The numeric columns whose values are hashed to assign a record to its fold."""
        return tuple(map(Input, self.columns))

    def compute_values(self, columns: Sequence[FloatArray]) -> FloatArray:
        """Return the fold of each record, from 0, shape (records,); NaN where a column is missing.

        Args:
            columns: Values of each of `columns`, shape (records,) each.
        """
        values = dict(zip(self.columns, columns, strict=True))
        state = np.zeros(len(columns[0]), dtype=np.uint64)
        for name in self.hashed:
            state = _mix_bits(state ^ (values[name] + 0.0).view(np.uint64))  # adding 0.0 maps -0.0 to 0.0
        missing = np.isnan(np.stack(columns)).any(axis=0)
        return np.where(missing, np.nan, (state % np.uint64(self.folds)).astype(np.float64))

    def fields(self) -> dict[str, Any]:
        """Return the fields as JSON values, for `from_fields`.

        Returns:
            Columns, hashed numbers and number of folds, by name.
        """
        return {"columns": list(self.columns), "hashed": list(self.hashed), "folds": self.folds}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Return the folds from JSON values.

        Args:
            fields: Values that `fields` returned.

        Raises:
            ValueError: a field is unknown, or its value is not allowed.
            KeyError: a field is missing.
        """
        require_known_fields(fields, ("columns", "hashed", "folds"))
        return cls(tuple(fields["columns"]), tuple(fields["hashed"]), fields["folds"])


def _mix_bits(state: Any) -> Any:
    """Return 64-bit hash states after one more step of SplitMix64, by which records are assigned to folds.

    Sums and products wrap modulo 2**64.

    Args:
        state: 64-bit unsigned integers, of any shape.
    """
    state = state + _STEP
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return state ^ (state >> np.uint64(31))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class HeldOut(Predictor):
    """The score of a record by the model of its fold, which was fitted without this fold.

    Formal guarantees: as for `Predictor`.

    Attributes:
        folds: The assignment of records to folds.
        models: A model for each fold.

    Raises:
        ValueError: the number of models is not the number of folds.
    """

    KIND: ClassVar[str] = "held-out"

    folds: Folds
    models: tuple[Scorecard, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", require_sequence("models", self.models, "a tuple of them"))
        if len(self.models) != self.folds.folds:
            raise InvalidArgument(
                "models", f"{self.folds.folds} models are needed, one for each fold, got {len(self.models)}"
            )

    @property
    def name(self) -> str:  # type: ignore[override]
        """Short text that names these scores in plots and tables: "held-out scores"."""
        return "held-out scores"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """Columns that are needed to score a record: those of the folds, then those of all models, each once."""
        return tuple(dict.fromkeys(column for model in (self.folds, *self.models) for column in model.inputs))

    def compute_values(self, columns: Sequence[FloatArray]) -> FloatArray:
        """Return the score of each record by the model of its fold, shape (records,); NaN where a column is missing.

        Args:
            columns: Values of each of the `inputs`, shape (records,) each.
        """
        values = dict(zip(self.inputs, columns, strict=True))
        fold = self._compute_scores(self.folds, values)
        scores = np.full(len(columns[0]), np.nan)
        for index, model in enumerate(self.models):
            scores = np.where(fold == index, self._compute_scores(model, values), scores)
        return scores

    @staticmethod
    def _compute_scores(model: Predictor, values: Mapping[Input, FloatArray]) -> FloatArray:
        """Return the values of one model, shape (records,).

        Args:
            model: The model.
            values: Values of all inputs, shape (records,) each.
        """
        return model.compute_values([values[column] for column in model.inputs])

    def fields(self) -> dict[str, Any]:
        """Return the fields as JSON values, for `from_fields`.

        Returns:
            Fields of the folds, and an object for each model.
        """
        return {"folds": self.folds.fields(), "models": [model.to_object() for model in self.models]}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Return the held-out scores from JSON values.

        Args:
            fields: Values that `fields` returned.

        Raises:
            ValueError: a field is unknown, or its value is not allowed.
            KeyError: a field is missing.
        """
        require_known_fields(fields, ("folds", "models"))
        models = ({name: value for name, value in model.items() if name != "dpcurves"} for model in fields["models"])
        return cls(
            Folds.from_fields(fields["folds"]),
            tuple(Scorecard.from_fields(value.pop("name"), value) for value in models),
        )
