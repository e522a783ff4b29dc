"""Tick labels and the footnote of a picture, as artists of matplotlib. Imported only where that is there already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.text import Annotation
from matplotlib.transforms import IdentityTransform

from ..conversation import PrivacyStatement
from .numerals import IN_UTC, format_date, format_label, format_number, format_numbers, is_date_axis
from .styles import is_dark, scale_font_size
from .text import footer

MOST_TICKS, MOST_DATES = 6, 5
SHORT, PARTS = 60.0, (1.0, 2.0, 5.0)
"""A logarithmic axis of fewer than so many times has ticks between powers of ten, too."""
DIGIT = 0.085
"""Inches that a letter of a number needs."""
EACH_TICK = 0.6
"""Inches that the number of a tick needs."""


class PowerFormatter(ticker.Formatter):
    """Tick labels of a logarithmic axis: each with its own digits, and no power of ten."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return format_number(x)


class PlainFormatter(ticker.Formatter):
    """Tick labels with equal decimals, thousands apart, and without a power of ten at the end of the axis."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return format_number(x)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Format the ticks at once."""
        return format_numbers(np.asarray(values, dtype=np.float64))


def _make_log_locator(ax: Axes, axis: Axis) -> ticker.LogLocator:
    """Ticks of a logarithmic axis: as many as have room, and between powers of ten where there are few of these."""
    low, high = sorted(axis.get_view_interval())
    if low > 0 and high / low < SHORT:
        return ticker.LogLocator(subs=PARTS, numticks=3 * MOST_TICKS)
    inches = ax.get_position().width * float(ax.figure.bbox.width) / ax.figure.dpi
    room = int(inches / EACH_TICK) if axis is ax.xaxis else MOST_TICKS + 1
    return ticker.LogLocator(numticks=max(2, min(MOST_TICKS + 1, room)))


class DateFormatter(PlainFormatter):
    """Tick labels of an axis of days or seconds since 1970: dates, without times of day where all are midnights."""

    def __init__(self, label: str) -> None:
        self._label = label

    def __call__(self, x: float, pos: int | None = None) -> str:
        return (format_date(x, self._label) or format_number(x)).removesuffix(IN_UTC)  # the label of the axis says it

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Format the ticks at once."""
        return [self(value) for value in values]


def format_axes(ax: Axes, across: str = "") -> None:
    """Both axes of `ax`, where nobody chose other words for their ticks; dates where the one `across` has them."""
    if is_date_axis(across) and isinstance(ax.xaxis.get_major_formatter(), ticker.ScalarFormatter):
        ax.xaxis.set_major_formatter(DateFormatter(across))
        ax.xaxis.set_major_locator(ticker.MaxNLocator(MOST_DATES))
    for axis in (ax.xaxis, ax.yaxis):
        if isinstance(axis.get_major_formatter(), ticker.ScalarFormatter):
            axis.set_major_formatter(PlainFormatter())
        elif isinstance(axis.get_major_formatter(), ticker.LogFormatter):
            axis.set_major_locator(_make_log_locator(ax, axis))
            axis.set_major_formatter(PowerFormatter())
            axis.set_minor_formatter(ticker.NullFormatter())
    if isinstance(ax.xaxis.get_major_locator(), ticker.AutoLocator):
        ticks = ticker.MaxNLocator(MOST_TICKS, steps=[1, 2, 2.5, 5, 10])  # room for long numbers
        ax.xaxis.set_major_locator(ticker.MaxNLocator(_fit_tick_count(ax, ticks), steps=[1, 2, 2.5, 5, 10]))


def _fit_tick_count(ax: Axes, ticks: ticker.MaxNLocator) -> int:
    """So many numbers stand beside each other along x."""
    low, high = sorted(ax.get_xlim())
    shown = [place for place in ticks.tick_values(low, high) if low <= place <= high]
    letters = max((len(text) for text in format_numbers(np.asarray(shown, dtype=np.float64))), default=1)
    inches = ax.get_position().width * float(ax.figure.bbox.width) / ax.figure.dpi
    if ax.get_aspect() != "auto":
        inches = min(inches, ax.get_position().height * float(ax.figure.bbox.height) / ax.figure.dpi)
    return MOST_TICKS if len(shown) * letters * DIGIT <= inches else max(2, int(inches / (letters * DIGIT)) - 1)


SIZE = 7.0
GAP = 4.0
LINE = 1.25 * SIZE
LETTER = 0.5 * SIZE
LEAST_LETTERS = 24  # letters of a line of a footnote, however narrow the axes are
SIZE_OF_NAMES = 8.0  # points, of names along the y axis
USUAL_LETTERS = 6  # letters of numbers along the y axis, for which figures have room
LONGEST_NOTE = 300
NOTE_GREY, PALE_NOTE = "#6b6b6b", "#a8adb3"
WARNING, PALE_WARNING = "#b3261e", "#ff8a80"


class Footnote(Annotation):
    """The claims of all curves on one axes. It hangs from the label of the x axis, wherever that goes.

    Attributes:
        claims: Each footer, and the names of the curves that it speaks of.
        notes: Each note, and the names of the curves that it was made on.
        curves: How many curves were drawn.
    """

    def __init__(self, ax: Axes) -> None:
        below_label, grey = (ax.transAxes, ax.xaxis.label), PALE_NOTE if is_dark(ax) else NOTE_GREY
        super().__init__(
            "", xy=(0, 0), xycoords=below_label, xytext=(0, -GAP), textcoords="offset points", annotation_clip=False,
            verticalalignment="top", horizontalalignment="left", fontsize=scale_font_size(SIZE), color=grey,
            linespacing=1.25, parse_math=False,
        )  # fmt: skip
        self.claims: dict[str, list[str]] = {}
        self.notes: dict[str, list[str]] = {}
        self.curves = 0
        box = ax.get_position()
        width, height = box.width * ax.figure.bbox.width, box.height * ax.figure.bbox.height
        across = width if ax.get_aspect() == "auto" else min(width, height)
        # A layout engine narrows the axes for long names along y, as in a forest plot, only when the figure is drawn.
        names = max((len(text.get_text()) for text in ax.get_yticklabels()), default=0)
        is_laid_out = ax.figure.get_layout_engine() is not None
        narrowed = max(names - USUAL_LETTERS, 0) * SIZE_OF_NAMES / SIZE if is_laid_out else 0
        self._letters = max(LEAST_LETTERS, int(across * 72 / ax.figure.dpi / scale_font_size(LETTER) - narrowed))
        self._warning = PALE_WARNING if is_dark(ax) else WARNING

    @classmethod
    def from_axes(cls, ax: Axes) -> Footnote | None:
        """The one on `ax`, if any."""
        return next((text for text in ax.texts if isinstance(text, cls)), None)

    def add(self, privacy: PrivacyStatement, name: str | None) -> None:
        """Add a curve."""
        self.curves += 1
        own = [] if name is None else [format_label(name)]
        self.claims.setdefault(footer(privacy), []).extend(own)
        for note in privacy.notes:
            self.notes.setdefault(f"Note: {format_label(note, LONGEST_NOTE)}", []).extend(own)
        if privacy.seeded:
            self.set_color(self._warning)
        claims = list(self.claims) if len(self.claims) == 1 else _prefix_names(self.claims)
        notes = list(self.notes) if self.curves == 1 else _prefix_names(self.notes)
        paragraphs = [paragraph for text in (*claims, *notes) for paragraph in text.splitlines()]
        self.set_text("\n".join(line for paragraph in paragraphs for line in wrap(paragraph, self._letters)))

    @property
    def height(self) -> float:
        """In points."""
        text = self.get_text()
        return GAP + scale_font_size(LINE) * (text.count("\n") + 1) if text else 0.0


def _prefix_names(texts: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"{', '.join(names)}: {text}" if names else text for text, names in texts.items()]


def add_statement(ax: Axes, privacy: PrivacyStatement, name: str | None) -> None:
    """Write what `privacy` claims below `ax`, beside what stands there already."""
    note = Footnote.from_axes(ax)
    if note is None:
        note = Footnote(ax)
        note.set_transform(IdentityTransform())
        ax.add_artist(note)
        note.set_clip_on(False)
    before = note.height
    note.add(privacy, name)
    shrink_axes(ax, note.height - before)


def shrink_axes(ax: Axes, points: float) -> None:
    """Shrink `ax` within its place, unless an engine lays the figure out."""
    if ax.figure.get_layout_engine() is not None or not points:
        return
    box = ax.get_position(original=True)
    room = min(points * ax.figure.dpi / 72 / ax.figure.bbox.height, 0.5 * box.height)
    ax.set_position((box.x0, box.y0 + room, box.width, box.height - room))
    ax.set_in_layout(True)
