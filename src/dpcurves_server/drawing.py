"""The picture and the table of an answer: post-processing, made once nobody waits for something to be counted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from threading import Lock
from typing import Any

from dpcurves import display
from dpcurves.curves.result import Covered

LEVEL = 0.95
FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")  # noqa: RUF001
"""First characters of texts that spreadsheets read as formulas."""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

DRAWING = Lock()
"""Settings of the drawing library are those of the process: one picture at a time."""


def svg_of(curve: Any, title: str = "", **ways: Any) -> str:
    """The picture, by itself, in ways that its `plot` knows; with a title, if there is one."""
    with DRAWING:
        axes = curve.plot(ax=display.headless_axes(getattr(curve, "SIZE", display.LANDSCAPE)), **ways)
        return display.svg_text(display.entitle(axes, title) if title else axes)


def csv_of(curve: Any) -> str:
    """The numbers, with both ends at level 0.95 where it has intervals or a band. No text in it is a formula."""
    import narwhals as nw

    frame = curve.to_frame(level=LEVEL) if isinstance(curve, Covered) else curve.to_frame()
    table = nw.from_native(frame)
    texts = [name for name, kind in table.schema.items() if not kind.is_numeric() and kind != nw.Boolean]
    own = table.implementation
    plain = [nw.new_series(name, _plain(table[name].to_list()), nw.String, backend=own) for name in texts]
    return str(table.with_columns(*plain).rename({name: inert(name) for name in table.columns}).write_csv())


def inert(text: str) -> str:
    """A text that no program works out: an apostrophe stands before it where one might.

    >>> inert("=1+1"), inert("-60"), inert("UA")
    ("'=1+1", '-60', 'UA')
    """
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def _plain(values: Sequence[Any]) -> list[str | None]:
    return [None if each is None else inert(str(each)) for each in values]
