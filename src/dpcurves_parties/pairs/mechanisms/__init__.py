"""Means of a kernel over pairs of people: kernels as circuits, and noise in them."""

from .kernel import AUC, COLLISION, GINI, KENDALL, KERNELS, Kernel, Unsigned, coin_inputs, noisy_circuit, sizes_of_coins
from .planning import SERVERS, Noise, Zetas, noise_of_sum, planned_answers, planned_sum, response_of, worst

__all__ = [
    "AUC",
    "COLLISION",
    "GINI",
    "KENDALL",
    "KERNELS",
    "SERVERS",
    "Kernel",
    "Noise",
    "Unsigned",
    "Zetas",
    "coin_inputs",
    "noise_of_sum",
    "noisy_circuit",
    "planned_answers",
    "planned_sum",
    "response_of",
    "sizes_of_coins",
    "worst",
]  # fmt: skip
