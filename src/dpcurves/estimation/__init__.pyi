from .joint_estimate import shrunken_estimate, smoothed, unbiased

__all__ = ["shrunken_estimate", "smoothed", "unbiased"]
