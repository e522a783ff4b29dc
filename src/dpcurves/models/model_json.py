"""JSON of prediction models: read a scorecard, a tree ensemble or a residual from a document.

A model (`Predictor`) turns the columns of a record into a number, such as a risk. Questions carry models as JSON, so
that other machines compute the same numbers.

    predictor_from_json      JSON text -> model
    predictor_from_object    parsed JSON -> model
    Residual                 the outcome minus the prediction of another model

The field ``dpcurves`` of a document names its type: ``scorecard``, ``tree-ensemble``, ``residual``, or a type of
another package, which is found by an entry point of the group `PREDICTOR_ENTRY_POINTS`. Documents are data: reading one
executes none of it.

Formal guarantees: this module reads no records. The number that a model gives a record is a function of that record and
of the document alone.

>>> model = predictor_from_object({"dpcurves": "scorecard", "name": "risk", "link": "identity", "intercept": 1,
...     "columns": {"age": {"lower": 0, "upper": 90}}, "terms": [{"coefficient": 2, "of": ["age"]}]})
>>> model.predict({"age": [10, 100]}).tolist()  # 100 is clipped to 90
[21.0, 181.0]
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..arguments import InvalidArgument, describe_value, require_type
from ..arrays import FloatArray
from ..data.axis import MOST_JSON, Input, Predictor
from ..extensions import find_entry_points
from .linear import Scorecard
from .trees import TreeEnsemble

MODEL_CLASSES: tuple[type[Scorecard | TreeEnsemble], ...] = (Scorecard, TreeEnsemble)
"""Types of models of this package, each with its name in JSON as the attribute `KIND`. Another name is looked up in
entry points."""
PREDICTOR_ENTRY_POINTS = "dpcurves.predictors"
"""Entry point group in which other packages register predictors, by their name in JSON; a name that no package has is
refused."""


def predictor_from_json(text: str) -> Predictor:
    """Return the model that a JSON text describes.

    Args:
        text: JSON as `Predictor.to_json` writes it.

    Returns:
        The model. Its `predict` gives scores of shape (n,) for a public table with n rows.

    Raises:
        ValueError: the text is not a model, or is longer than 2**24 characters.

    >>> risk = predictor_from_json('''{"dpcurves": "scorecard", "name": "risk", "link": "logit", "intercept": -5,
    ...   "columns": {"age": {"lower": 18, "upper": 90}, "sex": {"categories": ["f", "m"]}},
    ...   "terms": [{"coefficient": 0.1, "of": ["age"]},
    ...             {"coefficient": -0.02, "of": ["age", {"column": "sex", "is": "m"}]}]}''')
    >>> risk.predict({"age": [50, 50], "sex": ["f", "m"]}).round(3).tolist()
    [0.5, 0.269]
    """
    if not isinstance(text, str) or len(text) > MOST_JSON:
        raise InvalidArgument("model", f"a JSON text of at most {MOST_JSON} characters is needed: fit a smaller model")
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidArgument("model", "the text is not JSON: load the text that to_json of the model wrote") from None
    return predictor_from_object(stored)


def predictor_from_object(stored: Any) -> Predictor:
    """Return the model that the objects of a parsed JSON text describe.

    Args:
        stored: Objects as `Predictor.to_object` returns them.

    Raises:
        ValueError: `stored` is no mapping, names no known type of model, or lacks a field.
    """
    # Models of other packages are found by entry points, so that their documents need no import here.
    kinds = {kind.KIND: kind for kind in MODEL_CLASSES}
    word = stored.get("dpcurves") if isinstance(stored, Mapping) else None
    is_own = isinstance(word, str) and word in {*kinds, Residual.KIND}
    entry_classes = (
        [] if is_own else [entry_point.load() for entry_point in find_entry_points(PREDICTOR_ENTRY_POINTS, str(word))]
    )
    if not is_own and not entry_classes:
        raise InvalidArgument(
            "model",
            f'an object is needed whose field "dpcurves" is one of {", ".join(kinds)}: write it with to_json of the '
            "model",
        )

    fields = {name: value for name, value in stored.items() if name not in {"dpcurves", "name"}}
    try:
        if word == Residual.KIND:
            return Residual(fields["outcome"], predictor_from_object(fields["model"]))
        if entry_classes:
            predictor: Predictor = entry_classes[0].from_fields(fields)
            return predictor
        return kinds[str(word)].from_fields(stored.get("name", ""), fields)
    except InvalidArgument:
        raise
    except KeyError as error:
        raise InvalidArgument(
            "model", f"the field {describe_value(error.args[0])} is missing: add it, or write the model with to_json"
        ) from None
    except (TypeError, ValueError, AttributeError, RecursionError):
        raise InvalidArgument("model", "a field has the wrong form: write the model with to_json") from None


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Residual(Predictor):
    """The residual of a model: the value of a numeric column minus the prediction.

    A residual is a predictor itself, so that questions about scores can be asked of it. It is missing for records
    without an outcome or without a prediction.

    Formal guarantees: as for `Predictor`, the value for a record is a function of that record alone.

    Attributes:
        outcome: The numeric column with the true values.
        model: A `Scorecard` or `TreeEnsemble`.

    Raises:
        TypeError: an attribute has another type.
        ValueError: the model is a residual.
    """

    KIND: ClassVar[str] = "residual"

    outcome: str
    model: Predictor

    def __post_init__(self) -> None:
        require_type("outcome", self.outcome, str, "the name of a column")
        require_type("model", self.model, Predictor, "a Scorecard or TreeEnsemble")
        if isinstance(self.model, Residual):
            raise InvalidArgument("model", "must be a Scorecard or TreeEnsemble, as in Scorecard.from_sklearn(model)")

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name of the residual, from the model's name, for axis labels and legends."""
        return f"{self.outcome} minus {self.model.name}"

    @property
    def inputs(self) -> tuple[Input, ...]:
        """Columns that the residual is computed from: the outcome first, then the inputs of the model."""
        return (Input(self.outcome), *self.model.inputs)

    def compute_values(self, columns: Sequence[FloatArray]) -> FloatArray:
        """Return outcome minus prediction for each record, shape (records,); NaN where a column is missing.

        Args:
            columns: Values of the `inputs`, in their order. Infinite outcomes give infinite residuals.
        """
        with np.errstate(all="ignore"):  # an infinite outcome has an infinite residual, beyond all clipping bounds
            return np.asarray(columns[0] - self.model.compute_values(columns[1:]))

    def fields(self) -> dict[str, Any]:
        """Return the fields as JSON values: the column of the outcome, and the model as an object of its own."""
        return {"outcome": self.outcome, "model": self.model.to_object()}
