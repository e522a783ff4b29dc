"""Histograms of two columns together: the command, its options, and its view."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from typer import Option

from .ask_file import Terms
from .literals import chosen
from .output import Output
from .refusal import named
from .views import Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from ..curves import Histogram2D
    from ..data import Grid
    from ..histograms import TableEstimator
    from .option_groups import Command

SHOWN = 8
"""Most columns and rows of the terminal's table: with more cells, neighbouring ones are merged."""


@dataclass(frozen=True)
class PlaneOptions:
    """Options for two columns, their grids, and the estimator."""

    x: Annotated[str, Option(help="A column of numbers.", metavar="NAME")]
    y: Annotated[str, Option(help="Another column of numbers.", metavar="NAME")]
    x_grid: Annotated[str, Option(help="Public cells of the first column, as for --grid.", metavar="L:U:N")]
    y_grid: Annotated[str, Option(help="Public cells of the second column.", metavar="L:U:N")]
    estimator: Annotated[
        str | None,
        Option(
            help="refined-grid (the default), privtree, dawa, ahp, mwem, hierarchy, privelet, uniform-grid, "
            "adaptive-grid or cells.",
            metavar="WORD",
        ),
    ] = None

    def grids(self) -> tuple[Grid, Grid]:
        """Both grids."""
        from ..data import Grid

        with named("x-grid", "grid"):
            across = Grid.parse(self.x_grid)
        with named("y-grid", "grid"):
            return across, Grid.parse(self.y_grid)

    def estimating(self) -> TableEstimator | None:
        """Estimator of the plane; None: the default."""
        from .. import histograms as room

        known = {
            "refined-grid": room.RefinedGridEstimator, "privtree": room.PrivTreeEstimator, "dawa": room.DawaEstimator,
            "ahp": room.AhpEstimator, "mwem": room.MwemEstimator, "hierarchy": room.HierarchyEstimator,
            "privelet": room.PriveletEstimator, "uniform-grid": room.UniformGridEstimator,
            "adaptive-grid": room.AdaptiveGridEstimator, "cells": room.CellEstimator,
        }  # fmt: skip
        return None if self.estimator is None else chosen("estimator", self.estimator, known)()


@dataclass(frozen=True)
class Histogram2DView:
    """View of a histogram of two columns: merged counts as a table, all counts as a heat map."""

    def tables(self, curve: Histogram2D) -> list[Shown]:
        """Counts of the plane, merged into at most 8 by 8 parts."""
        import numpy as np

        across, upwards = (np.linspace(0, size, min(size, SHOWN) + 1).astype(int) for size in curve.count.shape)
        parts = np.rint(np.add.reduceat(np.add.reduceat(curve.count, across[:-1], axis=0), upwards[:-1], axis=1))
        x, y = curve.x_edges[across], curve.y_edges[upwards]
        ranges = [f"{left:g} to {right:g}" for left, right in pairwise(x.tolist())]
        columns: dict[str, ArrayLike] = {curve.labels[0]: ranges}
        for number, (low, high) in enumerate(pairwise(y.tolist())):
            columns[f"{low:g} to {high:g}"] = parts[:, number]
        return [Shown(f"records; columns: {curve.labels[1]}", columns)]

    def draw(self, curve: Histogram2D) -> Axes:
        """The heat map."""
        from ..display import LANDSCAPE, headless_axes

        return curve.plot(ax=headless_axes(LANDSCAPE))


def table(pair: PlaneOptions, terms: Terms, output: Output) -> None:
    """Counts of two columns together.

    Example: dpcurves table flights.csv --x dep_delay --y arr_delay --x-grid -60:240:64 --y-grid -60:240:64 --epsilon 1
    --adjacency replace-one
    """
    from ..curves import Histogram2DQuestion

    question = Histogram2DQuestion(pair.x, pair.y, *pair.grids(), pair.estimating())
    terms.answer(question, Histogram2DView(), output)


PLANE_COMMANDS: MappingProxyType[str, Command] = MappingProxyType({"table": table})
