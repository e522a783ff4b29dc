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


def written_grid(grid: Grid) -> dict[str, object]:
    """The edges of a grid that is laid out, and what becomes of values outside, among other facts of a question."""
    return {"outside": grid.outside.name, "edges": grid.edges.tolist()}


def read_grid(question: Mapping[str, Any]) -> Grid:
    """The inverse of `written_grid`."""
    return Grid.from_edges(question["edges"], outside=Outside[question["outside"]])
