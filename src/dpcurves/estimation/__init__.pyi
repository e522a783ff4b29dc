from .binary_tree import BoxTree, Layout, beginnings, largest_below, undivided
from .empirical_bayes import Splits, estimate, least_squares_total, reestimate, reweighed_total
from .joint_estimate import (
    ConvolvedEstimate,
    JointEstimate,
    layout_of,
    nested_in,
    shrunken_estimate,
    smoothed,
    together,
    unbiased,
)

__all__ = [
    "BoxTree", "ConvolvedEstimate", "JointEstimate", "Layout", "Splits", "beginnings", "estimate", "largest_below",
    "layout_of", "least_squares_total", "nested_in", "reestimate", "reweighed_total", "shrunken_estimate", "smoothed",
    "together", "unbiased", "undivided",
]  # fmt: skip
