"""Stairs and areas between stairs, whose limits are read off their corners: they have no curved pieces to look for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_stairs(
    ax: Axes, heights: FloatArray, edges: FloatArray, baseline: FloatArray | float | None, **style: Any
) -> None:
    """Draw what `Axes.stairs` draws. Where there are thousands of steps it takes a small part of the time.

    Args:
        ax: Where.
        heights: Those of the steps.
        edges: One more than there are heights.
        baseline: Where the area begins; None: there is none.
        style: Properties of the patch.
    """
    from matplotlib.patches import StepPatch

    stairs = StepPatch(heights, edges, baseline=baseline, **style)  # type: ignore[arg-type]  # arrays and None, too
    ax.add_artist(stairs)
    ax.update_datalim(stairs.get_path().vertices)
    if baseline is not None:
        lowest = float(np.min(baseline))
        stairs.sticky_edges.y.append(lowest)
        ax.update_datalim([(edges[0], lowest)])
    ax.autoscale_view()
