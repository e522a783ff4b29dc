"""All laws that a release can have."""

from __future__ import annotations

from .contrasts import Contrasts
from .convolved import Convolved
from .law import Chosen, Grown, Measured
from .path_noise import PathNoise

NoisySums = Measured | Contrasts | Convolved
"""Linear in the counts: they have an unbiased reading, and noise that can be simulated."""

NoiseLaw = NoisySums | PathNoise | Chosen | Grown
