"""Tick labels and footnotes of plots, as matplotlib artists: plain numbers or dates, and the privacy statement.

    format_axes      gives both axes formatters: plain numbers, powers, or dates, in the language of the reader
    add_statement    writes the privacy statement and the notes of a curve in the `Footnote` below the x axis

A plot has one footnote for all of its curves; equal statements of several curves are written once.

This module imports matplotlib, so it is imported only when a plot is made. Lengths are points (1/72 inch). It draws
released numbers and reads no records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.text import Annotation, Text
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Bbox, IdentityTransform

from ..conversation import PrivacyStatement, select_reader_notes
from ..translation import Reader, translate
from .numerals import UTC_SUFFIX, format_date, format_label, format_number, format_numbers, is_date_axis
from .styles import is_dark, scale_font_size
from .text import describe_size, footer, warns_of_seed

if TYPE_CHECKING:
    from matplotlib.backend_bases import RendererBase

MOST_AXIS_TICKS = 6
"""Largest number of ticks along a linear x axis. A logarithmic axis has at most one more, or three times as many if its
range is small."""
TICK_STEPS = (1, 2, 2.5, 5, 10)
"""Distances of ticks are one of these numbers times a power of ten."""


def format_axes(ax: Axes, across: str = "") -> None:
    """Format the ticks of both axes of `ax` that still have matplotlib's default formatter.

    Args:
        ax: The axes.
        across: Label of the x axis. If its unit is a date, the ticks are dates.
    """
    if is_date_axis(across) and isinstance(ax.xaxis.get_major_formatter(), ticker.ScalarFormatter):
        ax.xaxis.set_major_formatter(DateFormatter(across))
        ax.xaxis.set_major_locator(ticker.MaxNLocator(5))  # ticks: dates are long
    for axis in (ax.xaxis, ax.yaxis):
        if isinstance(axis.get_major_formatter(), ticker.ScalarFormatter):
            axis.set_major_formatter(PlainFormatter())
        elif isinstance(axis.get_major_formatter(), ticker.LogFormatter):
            axis.set_major_locator(_make_log_locator(ax, axis))
            axis.set_major_formatter(PowerFormatter())
            axis.set_minor_formatter(ticker.NullFormatter())
    _shorten_ticks(ax)
    if isinstance(ax.xaxis.get_major_locator(), ticker.AutoLocator):
        ticks = ticker.MaxNLocator(MOST_AXIS_TICKS, steps=TICK_STEPS)  # room for long numbers
        ax.xaxis.set_major_locator(ticker.MaxNLocator(_fit_tick_count(ax, ticks), steps=TICK_STEPS))


class LocalisedFormatter(ticker.Formatter):
    """Tick labels in the reader's language, also if the figure is drawn later."""

    reader: Reader | None = None
    """Who reads the axis; None reads English."""

    def localise(self, text: str) -> str:
        """Return a number or a date as the reader's language writes it.

        Args:
            text: A number or a date as English writes it; returned unchanged without a reader's language.
        """
        return text if self.reader is None else self.reader.format_value(text)


class PowerFormatter(LocalisedFormatter):
    """Tick labels of a logarithmic axis, each with its own digits instead of a power of ten."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of the number `x`: a plain number without a power of ten."""
        return self.localise(format_number(x))


class PlainFormatter(LocalisedFormatter):
    """Tick labels with equal decimals and grouped thousands, without a factor at the end of the axis."""

    unit_factor = 1.0
    """The number that a tick of 1 means."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of the number `x`; `pos`, the index of the tick, is not used."""
        return self.localise(format_number(x / self.unit_factor))

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return the labels of all ticks, with equal decimals.

        Args:
            values: Positions of the ticks, in units of the data.

        Returns:
            Labels in the order of the ticks, in the unit of the axis label, which may be millions or billions.
        """
        return list(map(self.localise, format_numbers(np.asarray(values, dtype=np.float64) / self.unit_factor)))


LARGE_UNITS = (1e9, "billions"), (1e6, "millions")
"""Units in which ticks along x are written (their factors and names) if fewer than four of the full numbers would fit;
the axis label then names the unit."""


def _shorten_ticks(ax: Axes) -> None:
    """Write the ticks along x in millions or billions, and say so in the axis label, if fewer than four would fit.

    Args:
        ax: The axes. They are changed only if the x axis is linear and has a `PlainFormatter`.
    """
    largest = max(map(abs, ax.get_xlim()))
    locator = ticker.MaxNLocator(MOST_AXIS_TICKS, steps=TICK_STEPS)
    formatter = ax.xaxis.get_major_formatter()
    if type(formatter) is not PlainFormatter or ax.get_xscale() == "log":
        return
    if formatter.unit_factor == 1 and largest >= LARGE_UNITS[-1][0] and _fit_tick_count(ax, locator) < 4:
        formatter.unit_factor = next(factor for factor, _ in LARGE_UNITS if largest >= factor)
    words = f"in {dict(LARGE_UNITS).get(formatter.unit_factor, '')}"
    label = ax.get_xlabel()
    if formatter.unit_factor > 1 and words not in label:
        text = f"{label.removesuffix(')')}, {words})" if label.endswith(")") else f"{label} ({words})"
        ax.set_xlabel(text, parse_math=False)


def _make_log_locator(ax: Axes, axis: Axis) -> ticker.LogLocator:
    """Return ticks of a logarithmic axis: as many as fit, also between powers of ten if the range is small.

    Args:
        ax: The axes, whose width decides how many labels fit.
        axis: Its x or y axis.
    """
    low, high = sorted(axis.get_view_interval())
    if low > 0 and high / low < 60.0:  # below this ratio of the limits, ticks between powers of ten are drawn
        return ticker.LogLocator(subs=(1.0, 2.0, 5.0), numticks=3 * MOST_AXIS_TICKS)
    inches = ax.get_position().width * float(ax.figure.bbox.width) / ax.figure.dpi
    room = int(inches / 0.6) if axis is ax.xaxis else MOST_AXIS_TICKS + 1  # a label is 0.6 inches wide
    return ticker.LogLocator(numticks=max(2, min(MOST_AXIS_TICKS + 1, room)))


class DateFormatter(PlainFormatter):
    """Tick labels of days or seconds since 1970, as dates, with times of day unless all are midnight.

    Args:
        label: Label of the axis, which ends with ``(date)`` for days, ``(moment)`` for seconds.
    """

    def __init__(self, label: str) -> None:
        """Store the label of the axis."""
        self._label = label

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of the number `x` as a date, or as a number beyond the calendar; `pos` is not used."""
        text = (format_date(x, self._label) or format_number(x)).removesuffix(UTC_SUFFIX)  # the axis label has the unit
        return self.localise(text)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return the labels of all ticks as dates or as times without their zone.

        Args:
            values: Positions of the ticks, in days or seconds since the beginning of 1970.

        Returns:
            Labels in the order of the ticks.
        """
        return [self(value) for value in values]


def _fit_tick_count(ax: Axes, ticks: ticker.MaxNLocator) -> int:
    """Return the number of tick labels that fit along the x axis of `ax`, from 2 to `MOST_AXIS_TICKS`.

    Args:
        ax: The axes, with limits and formatter.
        ticks: Locator of the ticks that are wanted.
    """
    low, high = sorted(ax.get_xlim())
    visible = [location for location in ticks.tick_values(low, high) if low <= location <= high]
    factor = getattr(ax.xaxis.get_major_formatter(), "unit_factor", 1.0)
    letters = max((len(text) for text in format_numbers(np.asarray(visible, dtype=np.float64) / factor)), default=1)
    inches = ax.get_position().width * float(ax.figure.bbox.width) / ax.figure.dpi
    if ax.get_aspect() != "auto":
        inches = min(inches, ax.get_position().height * float(ax.figure.bbox.height) / ax.figure.dpi)
    digit_width = 0.085  # inches: width of a digit of a tick label
    if len(visible) * letters * digit_width <= inches:
        return MOST_AXIS_TICKS
    return max(2, int(inches / (letters * digit_width)) - 1)


LETTER_SIZE = 7.0
"""Font size of a footnote, in points; a style may scale it."""
LABEL_GAP = 4.0
"""Distance between the axis label and a footnote, in points."""
LINE_HEIGHT = 1.25 * LETTER_SIZE
"""Height of a line of a footnote, in points, from which its room below the plot follows."""
LETTER_WIDTH = 0.5 * LETTER_SIZE
"""Mean width of a letter of a footnote, in points, from which its line breaks follow. If it is too small, lines stick
out of the figure."""
NOTE_GREY = "#6b6b6b"
"""Colour of the privacy statement below a plot on a light background."""
PALE_NOTE = "#a8adb3"
"""Colour of the privacy statement below a plot on a dark background."""
WARNING = "#b3261e"
"""Colour of a privacy statement that warns of seeded noise, on a light background."""
PALE_WARNING = "#ff8a80"
"""Colour of a privacy statement that warns of seeded noise, on a dark background."""


def measure_in(text: Text, renderer: RendererBase | None = None) -> Callable[[str], float]:
    """Return a function that measures the width in pixels of a line in the font of `text`.

    Args:
        text: The text, on a figure.
        renderer: Measures with its hinting; None: by the outlines of the letters, before a figure is drawn.
    """

    def measure(line: str) -> float:
        """Return the width in pixels of one line of text, in the font of the text artist whose width is asked for.

        Args:
            line: The line of text.
        """
        font = text.get_fontproperties()
        if renderer is not None:
            return float(renderer.get_text_width_height_descent(line, font, ismath=False)[0])
        figure = text.get_figure(root=True)
        points = float(text_to_path.get_text_width_height_descent(line, font, ismath=False)[0])
        return points * (100.0 if figure is None else figure.dpi) / 72

    return measure


class Footnote(Annotation):
    """The privacy statements of all curves on an axes, placed below the label of the x axis.

    Attributes:
        claims: Each footer, with the names of the curves that it applies to.
        notes: Each note, with the names of the curves that it applies to.
        curves: Number of curves drawn.
    """

    def __init__(self, ax: Axes) -> None:
        """Make an empty footnote below the label of the x axis, as wide as the axes.

        Args:
            ax: The axes.
        """
        below_label = (ax.transAxes, ax.xaxis.label)
        grey = PALE_NOTE if is_dark(ax) else NOTE_GREY
        super().__init__(
            "", xy=(0, 0), xycoords=below_label, xytext=(0, -LABEL_GAP), textcoords="offset points",
            annotation_clip=False,
            verticalalignment="top", horizontalalignment="left", fontsize=scale_font_size(LETTER_SIZE), color=grey,
            linespacing=1.25, parse_math=False,
        )  # fmt: skip
        self.claims: dict[str, list[str]] = {}
        self.notes: dict[str, list[str]] = {}
        self.curves = 0
        box = ax.get_position()
        width = box.width * ax.figure.bbox.width
        height = box.height * ax.figure.bbox.height
        across = width if ax.get_aspect() == "auto" else min(width, height)
        # A layout engine narrows the axes for long names along y, as in forest plots, only when the figure is drawn.
        names = max((len(text.get_text()) for text in ax.get_yticklabels()), default=0)
        is_laid_out = ax.figure.get_layout_engine() is not None
        # y tick labels are 8 points large, and 6 characters of them fit by default
        narrowed = max(names - 6, 0) * 8.0 / LETTER_SIZE if is_laid_out else 0
        self._width = across - narrowed * scale_font_size(LETTER_WIDTH) / 72 * ax.figure.dpi
        self._warning = PALE_WARNING if is_dark(ax) else WARNING

    @classmethod
    def from_axes(cls, ax: Axes) -> Footnote | None:
        """Return the footnote that was attached to `ax`, or None without one."""
        return next((text for text in ax.texts if isinstance(text, cls)), None)

    def add(self, privacy: PrivacyStatement, name: str | None) -> None:
        """Add the privacy statement and the notes of a curve to the footnote, and lay it out again.

        Args:
            privacy: Privacy statement of the curve.
            name: Name of the curve; None: it has none.
        """
        self.curves += 1
        names = [] if name is None else [format_label(name)]
        size = describe_size(privacy)
        claim = f"{size}; {footer(privacy)}" if size else footer(privacy)
        self.claims.setdefault(translate(claim), []).extend(names)
        for note in select_reader_notes(privacy.notes):
            # a longer note is cut at 300 characters
            text = format_label(translate(f"Note: {note}"), 306)
            self.notes.setdefault(text, []).extend(names)
        if warns_of_seed(privacy):
            self.set_color(self._warning)
        self._write()

    def _write(self, renderer: RendererBase | None = None) -> None:
        """Write all statements and notes in lines as wide as the footnote.

        Args:
            renderer: Measures lines with its hinting; None: by the outlines of the letters.
        """
        paragraphs = self.list_statements()
        measure = measure_in(self, renderer)
        self.set_text("\n".join(line for paragraph in paragraphs for line in self._break_lines(paragraph, measure)))

    def list_statements(self) -> list[str]:
        """Return all statements and notes, one a line, with the names of their curves unless all curves share them."""
        claims = list(self.claims) if len(self.claims) == 1 else _prefix_names(self.claims)
        names_by_note = {text: [] if len(names) == self.curves else names for text, names in self.notes.items()}
        notes = _prefix_names(names_by_note)
        return [paragraph for text in (*claims, *notes) for paragraph in text.splitlines()]

    def _break_lines(self, paragraph: str, measure: Callable[[str], float]) -> list[str]:
        """Return a paragraph in lines at most as wide as the footnote, or of about 12 letters if it is narrower.

        Args:
            paragraph: Text without line ends.
            measure: Function that returns the width of a line in pixels.
        """
        figure = self.get_figure(root=True)
        letter_width = scale_font_size(LETTER_WIDTH) / 72 * (100.0 if figure is None else figure.dpi)  # pixels
        letters = max(24, int(self._width / letter_width))  # the estimate is the most; no line is below 12 characters
        lines = wrap(paragraph, letters)
        while letters > 12 and any(measure(line) > self._width for line in lines):
            letters -= max(1, letters // 24)
            lines = wrap(paragraph, letters)
        return lines

    def fit(self, width: float, renderer: RendererBase) -> bool:
        """Wrap the lines at another width, and return whether the text changed.

        Args:
            width: Width in pixels.
            renderer: Measures the lines.
        """
        before = self.get_text()
        self._width = width
        self._write(renderer)
        return self.get_text() != before

    def get_tightbbox(self, renderer: RendererBase | None = None) -> Bbox | None:
        """Return the box of the footnote for which a layout leaves space; beside a colour bar it ends at the right edge
        of the axes.

        The footnote lies below the colour bar, too, for which a layout would else leave space twice.

        Args:
            renderer: Renderer of matplotlib; None: the renderer of the figure.
        """
        box = super().get_tightbbox(renderer)
        if box is None or not isinstance(self.axes, Axes) or not list_colorbars(self.axes):
            return box
        return Bbox.from_extents(box.x0, box.y0, max(box.x0, min(box.x1, self.axes.bbox.x1)), box.y1)

    @property
    def height(self) -> float:
        """Height of the footnote in points."""
        text = self.get_text()
        return LABEL_GAP + scale_font_size(LINE_HEIGHT) * (text.count("\n") + 1) if text else 0.0


def _prefix_names(texts: Mapping[str, Sequence[str]]) -> list[str]:
    """Return each text with the names of its curves in front, as in "a, b: text".

    Args:
        texts: Names of curves by text. A text without names is returned unchanged.
    """
    return [f"{', '.join(names)}: {text}" if names else text for text, names in texts.items()]


def list_colorbars(ax: Axes) -> list[Axes]:
    """Return the axes of the colour bars of a plot.

    Args:
        ax: Axes of the plot.
    """
    bars = (getattr(artist, "colorbar", None) for artist in (*ax.collections, *ax.images))
    return [bar.ax for bar in bars if bar is not None]


def add_statement(ax: Axes, privacy: PrivacyStatement, name: str | None) -> None:
    """Write the privacy statement and notes of a curve below `ax`, together with the statements of earlier curves.

    Args:
        ax: The axes. They are shrunk by the height of the new lines.
        privacy: Privacy statement of the curve.
        name: Name of the curve; None: it has none.
    """
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
    """Shrink axes at the bottom, to make room for a footnote, unless a layout engine places them.

    Args:
        ax: The axes.
        points: Height that they lose, at most half of theirs.
    """
    if ax.figure.get_layout_engine() is not None or not points:
        return
    box = ax.get_position(original=True)
    room = min(points * ax.figure.dpi / 72 / ax.figure.bbox.height, 0.5 * box.height)
    ax.set_position((box.x0, box.y0 + room, box.width, box.height - room))
    ax.set_in_layout(True)
