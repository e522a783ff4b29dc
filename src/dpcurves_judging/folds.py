"""Folds of records by a public hash, and out-of-fold scores: each by a model that was not fitted to its fold."""

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
_STEP, _FIRST, _SECOND = (np.uint64(each) for each in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Folds(Predictor):
    """The number of a record's fold, from 0 on: a public hash of some of its columns.

    Records that are alike in these columns lie in one fold. It is SplitMix64 (Steele, Lea and Flood 2014), of the bits
    of one number after the other.

    Formal guarantees: as for `Predictor`. The hash is public and has no part in privacy.

    Attributes:
        columns: Columns of numbers. A record that lacks one of them has no fold.
        hashed: Those that decide.
        folds: Their number.

    Raises:
        ValueError: `folds` is not from 2 to 20, or no column decides.

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
            raise InvalidArgument("folds", f"a number from 2 to {MOST_FOLDS} is needed, got {self.folds}")
        if not self.hashed or not set(self.hashed) <= set(self.columns):
            raise InvalidArgument("hashed", "at least one of the columns is needed")

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name in pictures."""
        return f"{self.folds} folds"

    @property
    def inputs(self) -> tuple[Input, ...]:
        return tuple(map(Input, self.columns))

    def compute_values(self, columns: Sequence[FloatArray]) -> FloatArray:
        given = dict(zip(self.columns, columns, strict=True))
        state = np.zeros(len(columns[0]), dtype=np.uint64)
        for name in self.hashed:
            state = _mix_bits(state ^ (given[name] + 0.0).view(np.uint64))  # -0.0 and 0.0 are one number
        missing = np.isnan(np.stack(columns)).any(axis=0)
        return np.where(missing, np.nan, (state % np.uint64(self.folds)).astype(np.float64))

    def facts(self) -> dict[str, Any]:
        return {"columns": list(self.columns), "hashed": list(self.hashed), "folds": self.folds}

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> Self:
        """The inverse of `facts`."""
        require_known_fields(facts, ("columns", "hashed", "folds"))
        return cls(tuple(facts["columns"]), tuple(facts["hashed"]), facts["folds"])


def _mix_bits(state: Any) -> Any:
    state = state + _STEP
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return state ^ (state >> np.uint64(31))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class HeldOut(Predictor):
    """The score of a record by the model of its fold, which was fitted without this fold.

    Formal guarantees: as for `Predictor`.

    Attributes:
        folds: How records are put into folds.
        models: One for each fold.

    Raises:
        ValueError: there are not as many models as folds.
    """

    KIND: ClassVar[str] = "held-out"

    folds: Folds
    models: tuple[Scorecard, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", require_sequence("models", self.models, "a tuple of them"))
        if len(self.models) != self.folds.folds:
            raise InvalidArgument(
                "models", f"one for each of {self.folds.folds} folds is needed, got {len(self.models)}"
            )

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name in pictures."""
        return "held-out scores"

    @property
    def inputs(self) -> tuple[Input, ...]:
        return tuple(dict.fromkeys(each for model in (self.folds, *self.models) for each in model.inputs))

    def compute_values(self, columns: Sequence[FloatArray]) -> FloatArray:
        given = dict(zip(self.inputs, columns, strict=True))
        fold, found = self._compute_scores(self.folds, given), np.full(len(columns[0]), np.nan)
        for number, model in enumerate(self.models):
            found = np.where(fold == number, self._compute_scores(model, given), found)
        return found

    @staticmethod
    def _compute_scores(model: Predictor, given: Mapping[Input, FloatArray]) -> FloatArray:
        return model.compute_values([given[each] for each in model.inputs])

    def facts(self) -> dict[str, Any]:
        return {"folds": self.folds.facts(), "models": [each.to_object() for each in self.models]}

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> Self:
        """The inverse of `facts`."""
        require_known_fields(facts, ("folds", "models"))
        models = ({name: each for name, each in model.items() if name != "dpcurves"} for model in facts["models"])
        return cls(
            Folds.of_facts(facts["folds"]), tuple(Scorecard.from_facts(each.pop("name"), each) for each in models)
        )
