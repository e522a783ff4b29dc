"""Exact samplers of integer noise, private selection, and the only source of randomness.

- `discrete_laplace`, `discrete_gaussian`: noise for counts, exact for every rational scale or variance.
- `sample_exponential_mechanism`: one candidate of many, exactly, with probability proportional to
  ``exp(-rate * penalty)``.
- `Randomness`: random bits from the operating system, from a secret key, or from a seed for tests.

No sampler uses floating point to decide an outcome, so no rounding weakens a guarantee (Mironov 2012).
"""

from . import discrete_gaussian, discrete_laplace
from .exponential import sample_bernoulli_exp, sample_exponential_mechanism, selection_probabilities
from .randomness import InProcessMemory, Memory, Randomness

__all__ = [
    "InProcessMemory",
    "Memory",
    "Randomness",
    "discrete_gaussian",
    "discrete_laplace",
    "sample_bernoulli_exp",
    "sample_exponential_mechanism",
    "selection_probabilities",
]  # fmt: skip
