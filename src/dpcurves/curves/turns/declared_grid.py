"""A grid as plain objects: however fine it is, a few numbers say where its cells lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...arguments import Refused
from ...data import Grid, Outside, Spacing, Values


def grid_to_json(grid: Grid) -> dict[str, Any]:
    """Plain objects: the formula, or the edges where there is none; of declared values, these alone."""
    if isinstance(grid, Values):
        return {"values": list(grid.declared), "outside": grid.outside.name}
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
        if "values" in stored:
            return Values(stored["values"], outside=Outside[stored.get("outside", Outside.CLAMPED.name)])
        outside = Outside[stored["outside"]]
        if Spacing[stored["spacing"]] is Spacing.EXPLICIT:
            return Grid.from_edges(stored["edges"], outside=outside)
        grid = Grid.spaced(Spacing[stored["spacing"]], stored["lower"], stored["upper"], cells=stored["cells"])
        return grid.with_outside(outside)
    except (KeyError, TypeError):
        raise Refused("grid", "the stored grid is damaged") from None


def written_grid(grid: Grid) -> dict[str, object]:
    """The edges of a grid that is laid out, and what becomes of values outside, among other facts of a question."""
    return {**written_cells(grid), "edges": grid.edges.tolist()}


def read_grid(question: Mapping[str, Any]) -> Grid:
    """The inverse of `written_grid`."""
    return read_cells(question, question["edges"])


def written_cells(grid: Grid) -> dict[str, object]:
    """JSON of a grid's treatment of values outside and its declared values, if any, where edges are written beside."""
    return {"outside": grid.outside.name, **declared_values(grid)}


def declared_values(grid: Grid) -> dict[str, object]:
    """Declared values among other facts of a question; nothing of another grid."""
    return {"values": list(grid.declared)} if isinstance(grid, Values) else {}


def read_cells(question: Mapping[str, Any], edges: Sequence[float]) -> Grid:
    """The inverse of `written_cells`, with the edges that were written beside.

    Raises:
        ValueError: they are not those of the declared values.
    """
    outside = Outside[question["outside"]]
    if "values" not in question:
        return Grid.from_edges(edges, outside=outside)
    grid = grid_from_json({"values": question["values"], "outside": outside.name})
    if grid.edges.tolist() != list(edges):
        raise Refused("grid", "the stored edges are not those of the stored values")
    return grid
