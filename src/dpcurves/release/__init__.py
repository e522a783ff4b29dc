"""The public nouns of a conversation: a step asks, a plan promises, a release answers."""

from .compared import Compared
from .contrasts import Contrasts
from .convolved import Convolved
from .evidence import Evidence
from .face import MISSING_RULE, Face
from .law import Chosen, Family, Grown, Level, Measured, Noise
from .noise_law import NoiseLaw, NoisySums
from .path_noise import Block, PathNoise
from .plan import Plan, UnsupportedQuery
from .release import Release
from .step import ALL, Setting, Step
from .wavelets import Wavelets

__all__ = [
    "ALL", "MISSING_RULE", "Block", "Chosen", "Compared", "Contrasts", "Convolved", "Evidence", "Face", "Family",
    "Grown", "Level", "Measured", "Noise", "NoiseLaw", "NoisySums", "PathNoise", "Plan", "Release", "Setting", "Step",
    "UnsupportedQuery", "Wavelets",
]  # fmt: skip
