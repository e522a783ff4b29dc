"""Models and residuals of models as JSON: data alone, nothing in it is run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, ClassVar

import numpy as np

from ..arguments import InvalidArgument, describe_value, require_type
from ..arrays import FloatArray
from ..data.axis import MOST_JSON, Input, Predictor
from .linear import Scorecard
from .trees import Trees


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
        require_type("outcome", self.outcome, str, "the name of a column")
        require_type("model", self.model, Predictor, "a Scorecard or Trees")
        if isinstance(self.model, Residual):
            raise InvalidArgument("model", "a Scorecard or Trees is needed")

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name in pictures."""
        return f"{self.outcome} less {self.model.name}"

    @property
    def inputs(self) -> tuple[Input, ...]:
        return (Input(self.outcome), *self.model.inputs)

    def compute_values(self, columns: Sequence[FloatArray]) -> FloatArray:
        with np.errstate(all="ignore"):  # an infinite outcome has an infinite residual, and lies beyond all bounds
            return np.asarray(columns[0] - self.model.compute_values(columns[1:]))

    def facts(self) -> dict[str, Any]:
        return {"outcome": self.outcome, "model": self.model.to_object()}


KINDS: tuple[type[Scorecard | Trees], ...] = (Scorecard, Trees)
GROUP = "dpcurves.predictors"
"""Entry points of other packages: predictors that questions make by themselves; a site reads them in its questions."""


def predictor_from_json(text: str) -> Predictor:
    """The model that `Predictor.to_json` wrote, or somebody by hand.

    Args:
        text: JSON of a model.

    Returns:
        The model, whose `predict` gives scores of shape ``(n,)``.

    Raises:
        ValueError: the text describes none, or is longer than 2**24 characters.

    >>> risk = predictor_from_json('''{"dpcurves": "scorecard", "name": "risk", "link": "logit", "intercept": -5,
    ...   "columns": {"age": {"lower": 18, "upper": 90}, "sex": {"categories": ["f", "m"]}},
    ...   "terms": [{"coefficient": 0.1, "of": ["age"]},
    ...             {"coefficient": -0.02, "of": ["age", {"column": "sex", "is": "m"}]}]}''')
    >>> risk.predict({"age": [50, 50], "sex": ["f", "m"]}).round(3).tolist()
    [0.5, 0.269]
    """
    if not isinstance(text, str) or len(text) > MOST_JSON:
        raise InvalidArgument("model", f"a JSON text of at most {MOST_JSON} characters is needed")
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidArgument("model", "this is no JSON") from None
    return predictor_from_object(stored)


def predictor_from_object(stored: Any) -> Predictor:
    """The model of plain objects.

    Raises:
        ValueError: they describe none.
    """
    kinds = {kind.KIND: kind for kind in KINDS}
    word = stored.get("dpcurves") if isinstance(stored, Mapping) else None
    is_own = isinstance(word, str) and word in {*kinds, Residual.KIND}
    made = [] if is_own else [each.load() for each in entry_points(group=GROUP, name=str(word))]
    if not is_own and not made:
        raise InvalidArgument("model", f"an object whose field dpcurves is one of {', '.join(kinds)} is needed")
    facts = {name: value for name, value in stored.items() if name not in {"dpcurves", "name"}}
    try:
        if word == Residual.KIND:
            return Residual(facts["outcome"], predictor_from_object(facts["model"]))
        if made:
            found: Predictor = made[0].of_facts(facts)
            return found
        return kinds[str(word)].from_facts(stored.get("name", ""), facts)
    except InvalidArgument:
        raise
    except KeyError as error:
        raise InvalidArgument("model", f"a field {describe_value(error.args[0])} is needed, and is not there") from None
    except (TypeError, ValueError, AttributeError, RecursionError):
        raise InvalidArgument("model", "a field is of another form than it should be") from None
