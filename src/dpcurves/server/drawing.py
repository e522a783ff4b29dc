"""The picture and the table of an answer: post-processing, made once nobody waits for something to be counted."""

from __future__ import annotations

from typing import Any

from .. import display
from ..curves.result import Covered

LEVEL = 0.95


def svg_of(curve: Any) -> str:
    """The picture, by itself."""
    return display.svg_text(curve.plot(ax=display.headless_axes(getattr(curve, "SIZE", display.LANDSCAPE))))


def csv_of(curve: Any) -> str:
    """The numbers, with both ends at level 0.95 where it has intervals or a band."""
    import narwhals as nw

    frame = curve.to_frame(level=LEVEL) if isinstance(curve, Covered) else curve.to_frame()
    return str(nw.from_native(frame).write_csv())
