"""Secret shares of a histogram's cells with proofs, as the VDAF draft has them (Prio3Histogram), and their field."""

from .histogram import OneHotShares, Prio3Histogram, VerifiedCells

__all__ = ["OneHotShares", "Prio3Histogram", "VerifiedCells"]
