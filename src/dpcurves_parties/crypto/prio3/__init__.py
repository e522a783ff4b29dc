"""Prio3Histogram of the VDAF draft: secret shares of one-hot vectors with proofs, and their field."""

from .field import MODULUS
from .histogram import OneHotShares, Prio3Histogram, VerifiedCells

__all__ = ["MODULUS", "OneHotShares", "Prio3Histogram", "VerifiedCells"]
