from .isotonic_projection import AtMost, Ceiling, Exactly, project_isotonic_l1, project_isotonic_l2
from .noise_graph import NoiseGraph, build_noise_graph, build_prefix_graph, estimate_prefixes

__all__ = [
    "AtMost",
    "Ceiling",
    "Exactly",
    "NoiseGraph",
    "build_noise_graph",
    "build_prefix_graph",
    "estimate_prefixes",
    "project_isotonic_l1",
    "project_isotonic_l2",
]  # fmt: skip
