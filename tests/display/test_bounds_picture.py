"""Private bounds as pictures: how wide, what was tried beside them, and whether they are the widest."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from dpcurves.conversation import PrivacyStatement
from dpcurves.display import draw_bounds, draw_plane_bounds, headless_axes
from dpcurves.display.columns import TWICE_INTERVAL_LABEL

PRIVACY = PrivacyStatement(1.0, 0.5, "replace-one", "", 1, 9, "one curator", "doubling", False, "a")


def legend_of(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def ends_of(ax: Axes) -> list[float]:
    return [float(np.max(np.asarray(line.get_xdata()))) for line in ax.lines[1:]]


def test_an_interval_stands_between_those_that_were_tried_beside_it() -> None:
    ax = draw_bounds(8.0, PRIVACY, label="delay", covers="95%", narrower=4.0, wider=16.0, ax=headless_axes())
    assert ends_of(ax) == [16.0, 8.0, 4.0]
    assert legend_of(ax) == [TWICE_INTERVAL_LABEL, "from -8 to 8\ncovers 95%"]
    assert ax.get_xlabel() == "delay"


def test_beyond_the_widest_interval_nothing_is_drawn() -> None:
    ax = draw_bounds(
        2e20, PRIVACY, label="delay", covers="perhaps less than 95%", narrower=1e20, wider=None, ax=headless_axes()
    )
    assert ends_of(ax) == [2e20, 1e20]
    assert legend_of(ax) == ["from -2e+20 to 2e+20, the widest tried\ncovers perhaps less than 95%"]


def test_a_rectangle_says_which_side_is_the_widest() -> None:
    ax = draw_plane_bounds((8.0, 2.0), PRIVACY, labels=("a", "b"), widest=["b"], ax=headless_axes())
    assert legend_of(ax) == ["± 8 by ± 2, the widest tried for b"]
    ax = draw_plane_bounds((8.0, 2.0), PRIVACY, labels=("a", "b"), ax=headless_axes())
    assert legend_of(ax) == ["± 8 by ± 2"]
