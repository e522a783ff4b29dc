"""Models in files, where a column of scores is named: ``@model.json``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..arguments import Refused
from .refusal import Misuse

if TYPE_CHECKING:
    from ..data.predictor import Predictor

SIGN = "@"


def scores_of(option: str, given: str | Predictor) -> str | Predictor:
    """The column of this name; of ``@FILE``, the model that stands in the file. A model is one already.

    Raises:
        Misuse: there is no such file, or it describes no model.
    """
    if not isinstance(given, str):
        return given
    return model_in(option, given[1:]) if given.startswith(SIGN) else given


def model_in(option: str, file: str) -> Predictor:
    """The model that stands in a file.

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
