"""A grid as plain objects: however fine it is, a few numbers say where its cells lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...arguments import Refused
from ...data import Grid, Outside, Spacing


def grid_to_json(grid: Grid) -> dict[str, Any]:
    """Plain objects: the formula, or the edges where there is none."""
    return {
        "lower": grid.lower, "upper": grid.upper, "cells": grid.cells, "spacing": grid.spacing.name,
        "edges": list(grid.explicit), "outside": grid.outside.name,
    }  # fmt: skip


def grid_from_json(stored: Mapping[str, Any]) -> Grid:
    """The inverse of `grid_to_json`.

    Raises:
        ValueError: the object is not what `grid_to_json` writes.
    """
    try:
        outside = Outside[stored["outside"]]
        if Spacing[stored["spacing"]] is Spacing.EXPLICIT:
            return Grid.from_edges(stored["edges"], outside=outside)
        grid = Grid.spaced(Spacing[stored["spacing"]], stored["lower"], stored["upper"], cells=stored["cells"])
        return grid.with_outside(outside)
    except (KeyError, TypeError):
        raise Refused("grid", "the stored grid is damaged") from None
