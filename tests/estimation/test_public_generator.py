from __future__ import annotations

import numpy as np

from dpcurves.inference import public_generator


def test_the_generator_of_the_caller_is_used() -> None:
    own = np.random.default_rng(1)
    assert public_generator(own) is own


def test_without_one_the_same_curve_always_shows_the_same_band() -> None:
    assert public_generator(None).random() == public_generator(None).random()
