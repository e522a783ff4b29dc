"""Residual plots are drawn as points or as areas."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PathCollection, QuadMesh

from dpcurves.conversation import PrivacyStatement
from dpcurves.display import draw_residual_density, draw_residual_points

PRIVACY = PrivacyStatement(
    0.5, 0.125, "add-remove", "", 1, None, "one curator", "flat", False, "a", "public: fixed before"
)
EDGES = np.array([-2.0, 0.0, 2.0]), np.array([-1.0, 0.0, 0.5, 1.0])
LABELS = ("predicted $_{$", "residual")


@pytest.fixture(autouse=True)
def closed() -> object:
    yield
    plt.close("all")


def test_points_stand_where_they_are_within_the_bounds() -> None:
    points = np.array([[0.5, 0.25], [-1.5, -0.75]])
    ax = draw_residual_points(points, EDGES, LABELS, PRIVACY, unseen=0.031, name="model B")
    (drawn,) = (each for each in ax.collections if isinstance(each, PathCollection))
    assert np.asarray(drawn.get_offsets()) == pytest.approx(points)
    assert ax.get_xlim() == (-2, 2)
    assert ax.get_ylim() == (-1, 1)
    legend = ax.get_legend()
    assert legend is not None
    said = [text.get_text() for text in legend.get_texts()]
    assert said == ["model B: synthetic points, none a record", "about 3.1% of the records lie outside"]
    draw_residual_points(points[:0], EDGES, LABELS, PRIVACY, unseen=0.0, ax=ax)
    assert sum(len(np.asarray(line.get_xdata())) > 0 for line in ax.lines) == 1


def test_areas_are_as_dark_as_the_root_of_their_density() -> None:
    density = np.array([[0.1, 0.2, 0.0], [0.4, 0.2, 0.1]])
    ax = draw_residual_density(density, EDGES, LABELS, PRIVACY, window=(EDGES[0], EDGES[1][1:]), unseen=0.5)
    (mesh,) = (each for each in ax.collections if isinstance(each, QuadMesh))
    values = np.asarray(mesh.get_array()).ravel()
    assert values == pytest.approx(np.sqrt(density / [2, 1, 1]).T.ravel())
    assert ax.get_ylim() == (0, 1)
    ax.figure.canvas.draw()
