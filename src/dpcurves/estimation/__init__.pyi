from .binary_tree import BoxTree, Layout, find_leaves, first_cells_of_nodes, subtree_maxima
from .empirical_bayes import TreeEstimate, estimate_tree, least_squares_total, reestimate_tree, reweighted_total
from .joint_estimate import (
    ConvolvedEstimate,
    JointEstimate,
    build_layout,
    build_nested_layout,
    combine_rounds,
    estimate_unbiased,
    shrink_estimate,
    smooth_cells,
)

__all__ = [
    "BoxTree",
    "ConvolvedEstimate",
    "JointEstimate",
    "Layout",
    "TreeEstimate",
    "build_layout",
    "build_nested_layout",
    "combine_rounds",
    "estimate_tree",
    "estimate_unbiased",
    "find_leaves",
    "first_cells_of_nodes",
    "least_squares_total",
    "reestimate_tree",
    "reweighted_total",
    "shrink_estimate",
    "smooth_cells",
    "subtree_maxima",
]  # fmt: skip
