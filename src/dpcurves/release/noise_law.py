"""All laws that a release can have."""

from __future__ import annotations

from .contrasts import Contrasts
from .convolved import Convolved
from .law import Chosen, Grown, Measured
from .path_noise import PathNoise
from .wavelets import Wavelets

NoisySums = Measured | Contrasts | Convolved
"""Linear in the counts: they have an unbiased reading, and noise that can be simulated."""

NoiseLaw = NoisySums | PathNoise | Wavelets | Chosen | Grown
