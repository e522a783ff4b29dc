"""A model is declared, in one of three words."""

from __future__ import annotations

import pytest

import dpcurves as dp
from dpcurves.privacy import ModelOrigin, require_model_origin


def test_three_things_may_be_said_of_a_model() -> None:
    assert list(ModelOrigin) == [dp.PUBLIC_MODEL, dp.DISJOINT_RECORDS, dp.PRIVATE_MODEL]
    assert require_model_origin(dp.PRIVATE_MODEL) is ModelOrigin.PRIVATE


@pytest.mark.parametrize("said", [None, "public", "the model is fine", 1])
def test_anything_else_is_refused_in_one_line(said: object) -> None:
    with pytest.raises(TypeError, match="^model: say where the model comes from: PUBLIC_MODEL, DISJOINT"):
        require_model_origin(said)
