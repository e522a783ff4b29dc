"""Smoothing of released curves: the nearest monotone curve, in the metric of the noise. Post-processing only.

- `noise_graph`: the graph of a curve's noises and steps, with linear equations solved in linear time.
- `isotonic_projection`: isotonic projection in squares or in absolute values of the noises.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
