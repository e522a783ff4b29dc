"""The public nouns of a conversation: a step asks, a plan promises, a release answers."""

from .evidence import Evidence
from .face import MISSING_RULE, Face
from .law import Chosen, Family, Level, Measured, Noise, NoiseLaw
from .plan import Plan, UnsupportedQuery
from .release import Release
from .step import ALL, Step

__all__ = [
    "ALL", "MISSING_RULE", "Chosen", "Evidence", "Face", "Family", "Level", "Measured", "Noise", "NoiseLaw", "Plan",
    "Release", "Step", "UnsupportedQuery",
]  # fmt: skip
