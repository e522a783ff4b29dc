"""Models read from files: ``@model.json`` in the place of a column of scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..arguments import Refused
from .refusal import Misuse

if TYPE_CHECKING:
    from ..data.predictor import Predictor

SIGN = "@"


def scores_of(option: str, given: str | Predictor) -> str | Predictor:
    """The column of this name, or for ``@FILE`` the model in that file. A model is returned unchanged.

    Raises:
        Misuse: there is no such file, or it describes no model.
    """
    if not isinstance(given, str):
        return given
    return model_in(option, given[1:]) if given.startswith(SIGN) else given


def model_in(option: str, file: str) -> Predictor:
    """Read a model from a JSON file.

    Raises:
        Misuse: there is no such file, or it describes no model.
    """
    from ..data.models import predictor_from_json

    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise Misuse(option, f"there is no model to be read in {file!r}") from None
    try:
        return predictor_from_json(text)
    except Refused as error:
        raise Misuse(option, f"the model of {Path(file).name!r}: {error}") from None
