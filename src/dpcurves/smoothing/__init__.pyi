from .least_change import AtMost, Ceiling, Exactly, smooth_absolute, smooth_squares
from .noise_graph import NoiseGraph, noise_graph, noisy_prefixes, prefix_graph

__all__ = [
    "AtMost", "Ceiling", "Exactly", "NoiseGraph", "noise_graph", "noisy_prefixes", "prefix_graph",
    "smooth_absolute", "smooth_squares",
]  # fmt: skip
