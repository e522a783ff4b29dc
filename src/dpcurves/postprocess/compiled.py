"""Loops as machine code; for post-processing as for all other rooms."""

from ..compiled import compiled

__all__ = ["compiled"]
