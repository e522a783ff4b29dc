"""Exact numbers of documents from other machines: parsed in the time of their text, or refused."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dpcurves as dp
from dpcurves.codec import STORED_CODEC, parse_exact_number
from dpcurves.distributions import Family, Noise

HOSTILE = ("1e999999999", "1E-999999999", "9" * 5000, "1/" + "3" * 5000, "1_0", " 1", "1/0", "\u0663", "", "nan", "1.")


@pytest.mark.parametrize("text", HOSTILE)
def test_numbers_that_would_take_hours_or_are_none_are_refused(text: str) -> None:
    """An exponent of nine digits would be multiplied out, before anything is charged or refused."""
    with pytest.raises(ValueError, match="an exact number must be"):
        parse_exact_number(text)
    with pytest.raises(ValueError, match="an exact number must be"):
        STORED_CODEC.decode(Fraction, text)
    with pytest.raises((ValueError, TypeError)):
        STORED_CODEC.decode(dp.PrivacyLoss, {"epsilon": text})
    with pytest.raises((ValueError, TypeError)):
        STORED_CODEC.decode(Noise, {"family": "Laplace", "parameter": text})


@pytest.mark.parametrize("text", ["1/3", "-7", "0.25", "12345678901234567890"])
def test_numbers_that_documents_hold_are_parsed(text: str) -> None:
    assert parse_exact_number(text) == Fraction(text)
    assert STORED_CODEC.decode(Noise, STORED_CODEC.encode(Noise(Family.LAPLACE, Fraction(1, 3)))).parameter == Fraction(
        1, 3
    )
