"""Secret shares of a histogram's cells with proofs, as the VDAF draft has them (Prio3Histogram), and their field."""

from .field import MODULUS
from .histogram import OneHotShares, Prio3Histogram, VerifiedCells

__all__ = ["MODULUS", "OneHotShares", "Prio3Histogram", "VerifiedCells"]
