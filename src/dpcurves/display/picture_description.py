"""A picture described once: its axes, marks, texts and statement as numbers, which any program can draw.

matplotlib draws a result, and `describe_picture` reads the drawn artists, so that a description has the drawn numbers
of every kind of result. R and other programs draw the description and compute no band, density or region of their own.
Imported only after matplotlib.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from html import escape
from io import StringIO
from os import PathLike
from pathlib import Path as FilePath
from typing import Any, Literal, cast

import numpy as np
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import Collection, LineCollection, PathCollection, PolyCollection, QuadMesh
from matplotlib.colors import to_hex, to_rgba
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon, Rectangle, StepPatch
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, ScalarFormatter

from ..translation import current_reader, translate
from .artists import DateFormatter, Footnote, PlainFormatter
from .canvas import (
    EMPTY_METADATA,
    GREY,
    SALT,
    find_title,
    join_text_lines,
    prefix_ids,
    save_figure,
    strip_preamble,
    translate_figure,
)
from .layout import COLORBAR
from .numerals import UTC_SUFFIX, format_number

VERSION = 1
"""Version number in JSON descriptions of pictures, which grows when their form changes."""

MarkType = Literal["line", "region", "intervals", "rectangles", "points", "texts", "cells"]
SHAPES = {"o": "circle", ".": "circle", "s": "square", "v": "triangle down", "^": "triangle", "D": "diamond",
          "<": "arrow left", ">": "arrow right", "|": "tick", "_": "dash", "P": "plus"}  # fmt: skip
"""Words for matplotlib's markers in descriptions of pictures; other markers are written as matplotlib names them."""


@dataclass(frozen=True)
class PictureAxis:
    """An axis of a panel.

    Attributes:
        label: The label, with the unit in parentheses.
        scale: ``linear`` or ``log``.
        limits: The numbers at its left and right end, or at its lower and upper end.
        values: ``numbers``; ``days`` or ``seconds`` since 1970, which are drawn as dates; ``names`` of `ticks`.
        unit_factor: The number that a tick of 1 means, if the label says "in millions".
        ticks: Positions of names; empty on an axis of numbers.
        names: Names at these positions.
    """

    label: str
    scale: str
    limits: tuple[float, float]
    values: str = "numbers"
    unit_factor: float = 1.0
    ticks: Sequence[float] = ()
    names: Sequence[str] = ()


@dataclass(frozen=True)
class PictureMark:
    """A mark of a panel, in the numbers of its axes.

    Straight lines join the points of a line, and both borders of a region; a step has two points at one `x`. `columns`
    has for each type of mark:

    - ``line``: x, y
    - ``region``: x, lower, upper
    - ``intervals``, ``rectangles``: x, y, x_end, y_end of each
    - ``points``: x, y
    - ``texts``: x, y, text
    - ``cells``: x, x_end, y, y_end, value of each cell

    Attributes:
        type: The type of the mark.
        name: Its name in the legend; empty for a mark without a legend entry.
        curve: Name of the curve that it belongs to, by its colour; empty in a picture of one curve.
        color: Colour, as ``#rrggbb``; empty for cells, whose colours mean their values.
        opacity: Opacity, from 0 to 1.
        style: Dash pattern of a line, or shape of points; ``hollow`` before a shape that is not filled.
        width: Points. Width of lines and intervals; 0 for other marks.
        columns: Numbers or texts by name, of equal length; None where a line or region has a gap.
    """

    type: MarkType
    name: str
    curve: str
    color: str
    opacity: float
    style: str
    width: float
    columns: Mapping[str, Sequence[float | str | None]]


@dataclass(frozen=True)
class PicturePanel:
    """A panel of a picture.

    Attributes:
        title: Title of the panel among others; empty in a picture of one panel.
        x: The axis from left to right.
        y: The axis from bottom to top.
        equal_scales: Whether a unit is as long on both axes.
        marks: The marks in the order in which they are drawn.
        remarks: Texts beside the marks, such as numbers at risk, and legend entries without a mark.
    """

    title: str
    x: PictureAxis
    y: PictureAxis
    equal_scales: bool
    marks: tuple[PictureMark, ...]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class PictureDescription:
    """A picture as numbers and texts.

    Attributes:
        title: The title; empty if the picture has none.
        panels: The panels, from top left to bottom right.
        legend_title: Title of the legend, such as the column of the categories that curves are named after.
        statement: The privacy statements and notes below the picture, one line each.
    """

    title: str
    panels: tuple[PicturePanel, ...]
    legend_title: str
    statement: tuple[str, ...]

    def to_json(self) -> str:
        """Return the description as JSON text with a version number; infinite numbers are null."""
        return json.dumps({"picture": VERSION, **_to_plain(asdict(self))}, allow_nan=False)

    def to_text(self) -> str:
        """Return the picture in words for readers who cannot see it: title, axes, and numbers of each curve and band.

        A curve has its numbers at five of its points, a band at three, and other marks at their first six rows. The
        statement is left out, because pages show it as text. The text is in the language of `use_language`.

        >>> import dpcurves as dp
        >>> sizes = dp.bar_chart(["a", "b"] * 500, categories=["a", "b"], epsilon=99, adjacency=dp.REPLACE_ONE)
        >>> sizes.describe_picture(population=False).to_text().partition(" 95%")[0]
        'Records by value. 500 at a; 500 at b; 0 at other.'
        """
        sentences = [self.title]
        headings = {"", self.title.casefold()}
        for panel in self.panels:
            axes = f" {translate('against')} ".join(filter(None, (panel.y.label, panel.x.label)))
            if axes.casefold() in headings:  # as in the panels before, or in the title
                axes = ""
            headings.add(axes.casefold())
            sentences += [panel.title, axes, *_describe_marks(panel, self.legend_title)]
        return " ".join(f"{sentence.rstrip('.')}." for sentence in sentences if sentence)

    def list_curves(self) -> list[str]:
        """Return the names of the curves, in the order in which they are drawn.

        Returns:
            Names without repetition; empty in a picture of one curve.
        """
        return list(dict.fromkeys(mark.curve for panel in self.panels for mark in panel.marks if mark.curve))


def describe_picture(ax: Axes) -> PictureDescription:
    """Return the description of the picture that `ax` is a part of, in the reader's language, without laying it out.

    Raises:
        TypeError: the picture has an artist of a class that descriptions do not have.
    """
    figure = translate_figure(ax).figure.get_figure(root=True)
    drawn = [axes for axes in figure.axes if axes.get_label() != COLORBAR]
    footnotes = [note for note in map(Footnote.from_axes, drawn) if note is not None]
    panels = [axes for axes in drawn if _has_marks(axes)]
    titled = sum(bool(axes.get_title()) for axes in panels)
    legends = [legend for legend in (*figure.legends, *(axes.get_legend() for axes in panels)) if legend is not None]
    legend_titles = [_join_lines(legend.get_title().get_text()) for legend in legends if legend not in figure.legends]
    return PictureDescription(
        find_title(ax),
        # the only title among several panels is the picture's title
        tuple(_describe_panel(axes, join_text_lines(axes, axes.title) if titled > 1 else "") for axes in panels),
        next(filter(None, legend_titles), ""),
        tuple(dict.fromkeys(line for note in footnotes for line in note.list_statements())),
    )


def describe_in_words(ax: Axes) -> str:
    """Return the alternative text of the picture that `ax` is a part of: see `PictureDescription.to_text`.

    Only the labels of the axes describe a picture with artists that this package does not draw.
    """
    try:
        return describe_picture(ax).to_text()
    except TypeError:
        return f"{_join_lines(ax.get_ylabel())} {translate('against')} {_join_lines(ax.get_xlabel())}"


def _describe_marks(panel: PicturePanel, legend_title: str) -> Iterator[str]:
    """Yield sentences with the numbers of the marks of a panel.

    Args:
        panel: The panel; up to eight of its marks are described.
        legend_title: Word before the names of curves; empty: none.
    """
    most_marks = 8  # that a listener can follow
    for mark in _select_marks(panel)[:most_marks]:
        numbers = "; ".join(_list_numbers(panel, mark))
        curve = f"{legend_title} {mark.curve}" if legend_title and mark.curve else mark.curve
        if numbers:
            yield ": ".join(dict.fromkeys(filter(None, (curve, "" if mark.name == mark.curve else mark.name, numbers))))


def _select_marks(panel: PicturePanel) -> list[PictureMark]:
    """Return the marks that a text describes: curves, points and bars first, then bands with the names of the first
    curve's; no reference lines, outlines, ends of intervals, or sizes of groups, which have a separate scale.

    Args:
        panel: The panel.
    """
    marks = [mark for mark in panel.marks if mark.color != GREY and mark.type != "texts"]
    lines = [mark for mark in marks if mark.type == "line" and (mark.name or len(set(mark.columns["y"])) > 1)]
    bars = [mark for mark in marks if mark.type == "rectangles" and not any(_get_base(panel, mark))]
    cells = [mark for mark in marks if mark.type == "cells"]
    drawn = [_list_points(mark) for mark in lines]
    points = [
        mark for mark in marks
        if mark.type == "points" and not mark.style.endswith(("tick", "dash")) and (mark.name or not bars)
        and not any(_list_points(mark) <= line for line in drawn)
    ]  # fmt: skip
    lowest = min((y for mark in (*lines, *points) for _, y in _list_points(mark)), default=0.0)
    bands = [mark for mark in marks if mark.type in ("region", "intervals") and _is_band(mark, lowest)]
    names = dict[str, list[str]]()
    for number, mark in enumerate(bands):
        names.setdefault(mark.curve, []).append(mark.name)
        place = len(names[mark.curve]) - 1
        first = next(iter(names.values()))
        if not mark.name and place < len(first):
            bands[number] = replace(mark, name=first[place])
    return [*lines, *points, *bars, *cells, *bands]


def _list_points(mark: PictureMark) -> set[tuple[Any, Any]]:
    """Return the points of a line or of points that are not in a gap.

    Args:
        mark: The mark, with columns ``x`` and ``y``.

    Returns:
        (x, y) pairs of finite numbers.
    """
    pairs = zip(mark.columns["x"], mark.columns["y"], strict=True)
    return {(x, y) for x, y in pairs if x is not None and y is not None and np.isfinite([x, y]).all()}


def _is_band(mark: PictureMark, lowest: float) -> bool:
    """Return whether a region or intervals are a confidence band of a curve, and not a display of group sizes.

    Args:
        mark: Region or intervals of the plot.
        lowest: Lowest value of all lines and points.
    """
    if mark.type == "region":
        return bool(mark.name or len(set(mark.columns["lower"])) > 1)
    ends = np.array([mark.columns["y"], mark.columns["y_end"]], dtype=float)
    return bool(mark.name or mark.curve) and not ends.max(initial=-np.inf) < min(lowest, 0.0)


def _get_base(panel: PicturePanel, mark: PictureMark) -> Sequence[Any]:
    """Return the numbers at which the bars of a panel begin: along x if the bars are horizontal, else along y.

    Args:
        panel: The panel; rows with names have horizontal bars.
        mark: The rectangles.

    Returns:
        A number for each bar.
    """
    return mark.columns["x" if panel.y.values == "names" else "y"]


def _list_numbers(panel: PicturePanel, mark: PictureMark) -> Iterator[str]:
    """Yield texts of some numbers of a mark with their positions: five of a line, three of a region, up to six of other
    marks.

    Args:
        panel: The panel.
        mark: A mark of the panel.
    """
    columns = {name: np.array([np.nan if value is None else value for value in values], dtype=float)
               for name, values in mark.columns.items()}  # fmt: skip
    if mark.type == "cells":
        values = columns["value"][np.isfinite(columns["value"])]
        if len(values):
            lowest = format_number(values.min())
            highest = format_number(values.max())
            yield translate(f"{len(values):,} cells, from {lowest} to {highest}")
    elif mark.type == "line" and not panel.y.label and len(set(mark.columns["y"])) == 1:  # an interval of x
        low, high = (_format_position(panel.x, end) for end in (np.nanmin(columns["x"]), np.nanmax(columns["x"])))
        yield translate(f"{low} to {high}")
    elif mark.type in ("line", "region"):
        names = ("lower", "upper") if mark.type == "region" else ("y",)
        for row in _choose_rows(panel.x, columns["x"], columns[names[-1]], 3 if mark.type == "region" else 5):
            shown = [_format_position(panel.y, columns[name][row]) for name in names]
            yield _place_numbers(shown, _format_position(panel.x, columns["x"][row]))
    else:
        is_equal = {name: mark.columns[name] == mark.columns.get(f"{name}_end") for name in ("x", "y")}
        is_upright = mark.type == "intervals" and is_equal["x"] and not is_equal["y"]
        lies_across = _lies_across(panel) and not is_upright
        places, numbers, place_axis, number_axis = ("y", "x", panel.y, panel.x) if lies_across else (
            "x", "y", panel.x, panel.y
        )  # fmt: skip
        for row in range(min(len(columns["x"]), 6)):
            place = np.mean([columns[name][row] for name in (places, f"{places}_end") if name in columns])
            ends = [columns[name][row] for name in (numbers, f"{numbers}_end") if name in columns]
            if mark.type == "rectangles":  # from the axis to the number
                ends = ends[1:]
            if np.isfinite([place, *ends]).all():
                shown = [_format_position(number_axis, end) for end in ends]
                yield _place_numbers(shown, _format_position(place_axis, float(place)))


def _lies_across(panel: PicturePanel) -> bool:
    """Return whether the numbers of a panel are along x, as in bars beside names.

    Args:
        panel: The panel.
    """
    flat = [
        mark.columns["y"] == mark.columns["y_end"] for mark in panel.marks
        if mark.type == "intervals" and mark.columns["x"] != mark.columns["x_end"]
    ]  # fmt: skip
    return panel.y.values == "names" or (panel.x.values != "names" and bool(flat) and all(flat))


def _choose_rows(axis: PictureAxis, x: Any, y: Any, positions: int) -> list[int]:
    """Return rows of a line near positions that divide the visible part of an axis evenly, the last of equal `x`.

    Args:
        axis: The x axis, with its limits and scale.
        x: Positions of the line's points.
        y: Heights of the points.
        positions: Number of positions.
    """
    low, high = sorted(axis.limits)
    rows = np.flatnonzero(np.isfinite(y) & (x >= low) & (x <= high))
    if not len(rows):
        return []
    places = np.log(x[rows]) if axis.scale == "log" else x[rows]
    wanted = np.linspace(places.min(), places.max(), positions)
    nearest = np.abs(places[None, :] - wanted[:, None])
    last = len(rows) - 1 - np.argmin(nearest[:, ::-1], axis=1)
    return list(dict.fromkeys(rows[last].tolist()))


def _place_numbers(numbers: Sequence[str], place: str) -> str:
    """Return a text such as "0.2 to 0.4 at 30" in the reader's language: one number, or both endpoints of an interval,
    and the position on the axis.

    Args:
        numbers: A number as text, or both endpoints of an interval; equal endpoints are written once.
        place: Position on the axis, as text.
    """
    interval = " to ".join(dict.fromkeys(numbers))
    return translate(f"{interval} at {place}")


def _format_position(axis: PictureAxis, value: float) -> str:
    """Return a position on an axis as its ticks would show it: a number in the unit of the label, a date, or a name.

    Args:
        axis: The axis; on an axis of names the nearest name is returned.
        value: Position, in the numbers of the axis.
    """
    if axis.values == "names":
        nearest = int(np.argmin(np.abs(np.asarray(axis.ticks) - value)))
        return str(axis.names[nearest])
    if axis.values in ("days", "seconds"):
        seconds = value * (86_400 if axis.values == "days" else 1)
        text = str(np.datetime64(round(seconds), "s")).replace("T", " ")
        return text[:10] if axis.values == "days" else text[:16]
    return format_number(value / axis.unit_factor)


def svg_text(ax: Axes) -> str:
    """Return the figure of `ax` as an inline SVG element: text stays text, and nothing is loaded from elsewhere.

    Its alternative text comes from the description.
    """
    translate_figure(ax)
    buffer = StringIO()
    with rc_context({"svg.hashsalt": SALT, "svg.fonttype": "none"}):
        ax.figure.canvas.figure.savefig(
            buffer, format="svg", metadata=EMPTY_METADATA[".svg"], bbox_inches="tight", pad_inches=0.05
        )
    # Text of other scripts turns no text beside it.
    svg = strip_preamble(buffer.getvalue()).replace("<text ", '<text unicode-bidi="isolate" ')
    svg = prefix_ids(svg, f"p{sha256(svg.encode()).hexdigest()[:8]}")
    words = escape(" ".join(describe_in_words(ax).split()))
    facts = f'role="img" aria-label="{words}" style="stroke-linejoin: round; stroke-linecap: butt"'
    return svg.replace("<svg", f"<svg {facts}", 1)


def save_picture(ax: Axes, path: str | PathLike[str]) -> None:
    """Write the figure of `ax` to `path`, in the format of its suffix; for ``.json`` its description.

    Raises:
        ValueError: the suffix is not .svg, .png, .pdf or .json.
    """
    if FilePath(path).suffix.lower() != ".json":
        return save_figure(ax, path)
    FilePath(path).write_text(describe_picture(ax).to_json() + "\n", encoding="utf-8")


def _has_marks(ax: Axes) -> bool:
    """Return whether `ax` shows a plot, and not only the text of a privacy statement."""
    return ax.axison and bool(ax.lines or ax.patches or ax.collections or ax.images)


def _describe_panel(ax: Axes, title: str) -> PicturePanel:
    """Return the description of one panel of a picture: its title, axes, marks and remarks.

    Args:
        ax: Axes of the panel.
        title: Title of the panel.
    """
    names = _name_colors(ax)
    marks = list[PictureMark]()
    remarks = list[str]()
    texts = [text for text in ax.texts if not isinstance(text, Footnote)]
    artists: list[Artist] = sorted([*ax.images, *ax.collections, *ax.patches, *ax.lines], key=Artist.get_zorder)
    for artist in artists:
        if artist.get_visible():
            marks += _describe_artist(ax, artist, names)
            remarks += _list_legend_notes(artist)
    inside = [text for text in texts if _is_in_data(ax, text)]
    remarks += [_join_lines(text.get_text()) for text in texts if text not in inside and text.get_text().strip()]
    return PicturePanel(
        title,
        _describe_axis(ax.xaxis, ax.get_xlabel(), ax.get_xlim()),
        _describe_axis(ax.yaxis, ax.get_ylabel(), ax.get_ylim()),
        ax.get_aspect() != "auto",
        (*_merge_rectangles(marks), *_describe_texts(inside)),
        tuple(remarks),
    )


def _describe_axis(axis: Axis, label: str, limits: tuple[float, float]) -> PictureAxis:
    """Return the description of an axis of a plot: label, scale, limits, and what its ticks are (numbers, names,
    dates).

    Args:
        axis: Axis of matplotlib.
        label: Its label.
        limits: Its lower and upper end.
    """
    formatter = axis.get_major_formatter()
    values = "numbers"
    ticks = list[float]()
    names = list[str]()
    if isinstance(axis.get_major_locator(), FixedLocator) and not isinstance(formatter, ScalarFormatter):
        ticks = [float(tick) for tick in axis.get_majorticklocs()]
        names = [_join_lines(text) for text in formatter.format_ticks(ticks)]
        reader = current_reader()
        numbers = [f"{tick:g}" if reader is None else reader.format_value(f"{tick:g}") for tick in ticks]
        values = "numbers" if numbers == names else "names"
    elif isinstance(formatter, DateFormatter):
        values = "seconds" if label.endswith(f"{UTC_SUFFIX})") else "days"
    factor = formatter.unit_factor if isinstance(formatter, PlainFormatter) else 1.0
    low, high = (float(limit) for limit in limits)
    return PictureAxis(_join_lines(label), axis.get_scale(), (low, high), values, factor, ticks, names)


def _name_colors(ax: Axes) -> dict[str, str]:
    """Return the names of curves by colour: labelled lines, points and outlines, if there are several.

    Lines in grey are no curves, but references such as the diagonal.

    Args:
        ax: Axes of the panel.

    Returns:
        Name by colour, ``#rrggbb``; empty if there is a single curve.
    """
    labelled = [
        (_color_of(artist), _first_line(str(artist.get_label())))
        for artist in (*ax.lines, *ax.patches)
        if _legend_name(artist) and not _is_filled(artist) and _has_data(artist) and _color_of(artist) != GREY
    ]
    names = dict[str, str]()
    for color, name in labelled:
        names.setdefault(color, name)
    return names if len(names) > 1 else {}


def _describe_artist(ax: Axes, artist: Artist, names: Mapping[str, str]) -> Iterator[PictureMark]:
    """Yield the marks (line, points, region, ...) that an artist of matplotlib draws, with their numbers.

    Args:
        ax: Plot of the artist.
        artist: The artist.
        names: Names of curves by colour.

    Raises:
        TypeError: descriptions do not have this class of artists.
    """
    if isinstance(artist, Line2D):
        yield from _describe_line(ax, artist, names)
    elif isinstance(artist, PathCollection):
        x, y = np.asarray(artist.get_offsets(), dtype=float).T
        yield _make_mark("points", artist, names, {"x": x, "y": y}, "circle")
    elif isinstance(artist, LineCollection):
        segments = np.array([path.vertices for path in artist.get_paths()], dtype=float).reshape(-1, 2, 2)
        columns = dict(zip(("x", "y", "x_end", "y_end"), segments.reshape(-1, 4).T, strict=True))
        yield _make_mark("intervals", artist, names, columns)
    elif isinstance(artist, PolyCollection):
        for path in artist.get_paths():
            yield _make_mark("region", artist, names, _split_outline(path))
    elif isinstance(artist, QuadMesh | AxesImage):
        yield _make_mark("cells", artist, {}, _describe_cells(artist))
    elif isinstance(artist, StepPatch):
        yield _describe_stairs(artist, names)
    elif isinstance(artist, Rectangle):
        x, y, width, height = *artist.get_xy(), artist.get_width(), artist.get_height()
        if not _is_in_data(ax, artist):  # as of `axvspan`, which is as high as the panel
            y = ax.get_ylim()[0]
            height = float(np.diff(ax.get_ylim())[0])
        numbers = {"x": [x], "y": [y], "x_end": [x + width], "y_end": [y + height]}
        yield _make_mark("rectangles", artist, names, numbers)
    elif isinstance(artist, Polygon) and len(np.unique(artist.get_xy(), axis=0)) == 4:  # a box
        (x, y), (x_end, y_end) = artist.get_xy().min(axis=0), artist.get_xy().max(axis=0)
        yield _make_mark("rectangles", artist, names, {"x": [x], "y": [y], "x_end": [x_end], "y_end": [y_end]})
    else:
        raise TypeError(
            f"{type(artist).__name__} has no description; remove this artist, or write the picture as .svg or .png"
        )


def _describe_line(ax: Axes, line: Line2D, names: Mapping[str, str]) -> Iterator[PictureMark]:
    """Yield the line of a matplotlib line, and its markers; nothing for one without data.

    Args:
        ax: Axes of the plot.
        line: The matplotlib line.
        names: Names of curves by colour.
    """
    if not _has_data(line):
        return
    x, y = (np.asarray(values, dtype=float) for values in line.get_data(orig=False))
    if not _is_in_data(ax, line):  # as of `axhline`, which is as long as the panel
        x, y = (_spread(values, limits) for values, limits in ((x, ax.get_xlim()), (y, ax.get_ylim())))
        is_upright = line.get_transform() == ax.get_xaxis_transform(which="grid")
        x, y = (np.asarray(line.get_xdata(), float), y) if is_upright else (x, np.asarray(line.get_ydata(), float))
    if line.get_linestyle() not in ("None", "", " ") and line.get_linewidth() > 0:
        corners = _find_corners(line) if _is_in_data(ax, line) else {"x": x, "y": y}
        yield _make_mark("line", line, names, corners, _name_dash(line))
    marker = str(line.get_marker())
    if marker not in ("None", "", " "):
        shape = SHAPES.get(marker, marker)
        is_hollow = (
            shape not in ("tick", "dash") and to_rgba(line.get_markerfacecolor())[:3] != to_rgba(line.get_color())[:3]
        )
        yield _make_mark("points", line, names, {"x": x, "y": y}, f"{'hollow ' * is_hollow}{shape}")


def _spread(values: Any, limits: tuple[float, float]) -> Any:
    """Return fractions of an axis as numbers between its limits.

    Args:
        values: Fractions, 0 at the first limit and 1 at the second.
        limits: Numbers at both ends of the axis.

    Returns:
        Array of the shape of `values`.
    """
    low, high = limits
    return low + np.asarray(values, dtype=float) * (high - low)


def _find_corners(line: Line2D) -> dict[str, Any]:
    """Return the corners of a line as columns ``x`` and ``y``; a line of steps has two at each step.

    Args:
        line: Line of matplotlib.
    """
    line.recache()
    path = line.get_path()
    style = line.get_drawstyle()
    if style == "default":
        x, y = np.asarray(path.vertices, dtype=float).T
        return {"x": x, "y": y}
    from matplotlib.cbook import STEP_LOOKUP_MAP

    x, y = STEP_LOOKUP_MAP[style](*np.asarray(path.vertices, dtype=float).T)
    return {"x": x, "y": y}


def _describe_stairs(stairs: StepPatch, names: Mapping[str, str]) -> PictureMark:
    """Return the region below stairs, or between them and their baseline; without a baseline, their line.

    Args:
        stairs: The artist.
        names: Name of each curve by its colour, ``#rrggbb``.
    """
    heights, edges, baseline = stairs.get_data()
    x = np.repeat(np.asarray(edges, float), 2)[1:-1]
    upper = np.repeat(np.asarray(heights, float), 2)
    if baseline is None:
        return _make_mark("line", stairs, names, {"x": x, "y": upper}, _name_dash(stairs))
    lower = np.repeat(np.broadcast_to(np.asarray(baseline, float), np.shape(heights)), 2)
    return _make_mark("region", stairs, names, {"x": x, "lower": lower, "upper": upper})


def _split_outline(path: Path) -> dict[str, Any]:
    """Return both borders of the area of `fill_between`, from its outline.

    The outline starts at one end of a border, follows the other border, and returns along the first; both have a point
    at each position.

    Args:
        path: Outline of the area.

    Returns:
        Arrays ``x``, ``lower`` and ``upper``, (positions,) each.
    """
    vertices = np.asarray(path.vertices, dtype=float)
    size = (len(vertices) - 3) // 2
    first = vertices[1 : size + 1]
    second = vertices[size + 2 : 2 * size + 2][::-1]
    lower = np.minimum(first[:, 1], second[:, 1])
    upper = np.maximum(first[:, 1], second[:, 1])
    return {"x": first[:, 0], "lower": lower, "upper": upper}


def _describe_cells(cells: QuadMesh | AxesImage) -> dict[str, Any]:
    """Return edges and value of each cell of a mesh or an image, row by row.

    Args:
        cells: Mesh or image.

    Returns:
        Arrays ``x``, ``x_end``, ``y``, ``y_end`` and ``value``, (cells,) each.
    """
    if isinstance(cells, QuadMesh):
        corners = np.asarray(cells.get_coordinates(), dtype=float)
        x_edges, y_edges = corners[0, :, 0], corners[:, 0, 1]
    else:
        left, right, bottom, top = cells.get_extent()
        rows, columns = np.shape(np.asarray(cells.get_array()))[:2]
        x_edges = np.linspace(left, right, columns + 1)
        y_edges = np.linspace(top, bottom, rows + 1)
    values: Any = np.ma.filled(np.ma.asarray(cells.get_array(), dtype=float), np.nan)
    y_index, x_index = np.indices((len(y_edges) - 1, len(x_edges) - 1)).reshape(2, -1)
    return {
        "x": x_edges[x_index], "x_end": x_edges[x_index + 1], "y": y_edges[y_index], "y_end": y_edges[y_index + 1],
        "value": values.ravel(),
    }  # fmt: skip


def _describe_texts(texts: Sequence[Text]) -> Iterator[PictureMark]:
    """Yield one mark of all texts at points of a panel.

    Args:
        texts: Texts of matplotlib; blank ones are left out.

    Yields:
        A mark with the columns ``x``, ``y`` and ``text``; nothing without texts.
    """
    shown = [text for text in texts if text.get_text().strip()]
    if shown:
        places = [cast("Any", text).xy if hasattr(text, "xy") else text.get_position() for text in shown]
        columns: dict[str, Any] = {
            "x": [float(x) for x, _ in places], "y": [float(y) for _, y in places],
            "text": [text.get_text() for text in shown],
        }  # fmt: skip
        yield PictureMark("texts", "", "", to_hex(shown[0].get_color()), 1.0, "", 0.0, columns)


def _merge_rectangles(marks: Sequence[PictureMark]) -> Iterator[PictureMark]:
    """Yield the marks; successive rectangles of equal colour and opacity are merged into one mark.

    Args:
        marks: Marks of a panel, in the order in which they are drawn.
    """
    merged: PictureMark | None = None
    for mark in marks:
        if merged is not None and (mark.type, mark.color, mark.opacity) == ("rectangles", merged.color, merged.opacity):
            columns = {name: [*values, *mark.columns[name]] for name, values in merged.columns.items()}
            merged = PictureMark(**{**vars(merged), "columns": columns})
            continue
        if merged is not None:
            yield merged
        merged = mark if mark.type == "rectangles" else None
        if merged is None:
            yield mark
    if merged is not None:
        yield merged


def _make_mark(
    kind: MarkType, artist: Artist, names: Mapping[str, str], columns: Mapping[str, Any], style: str = ""
) -> PictureMark:
    """Return a mark of this type, with colour, line style and legend label read from a matplotlib artist.

    Args:
        kind: Type of the mark.
        artist: Artist that drew it.
        names: Names of curves by colour.
        columns: Numbers of the mark by name of the column.
        style: Line style or form of the markers.
    """
    color = "" if kind == "cells" else _color_of(artist)
    alpha = artist.get_alpha()
    opacity = 1.0 if alpha is None else float(np.max(alpha))
    numbers = {name: [float(value) for value in np.asarray(values, float).tolist()] for name, values in columns.items()}
    return PictureMark(
        kind, _legend_name(artist), names.get(color, ""), color, opacity, style, _width_of(kind, artist), numbers
    )


def _width_of(kind: MarkType, artist: Artist) -> float:
    """Return the width in points of a line or of intervals; 0 for other marks.

    Args:
        kind: Type of the mark.
        artist: Artist that draws the mark.
    """
    if kind not in ("line", "intervals"):
        return 0.0
    return float(np.max(cast("Line2D", artist).get_linewidth()))


def _legend_name(artist: Artist) -> str:
    """Return the legend entry of an artist in one line; empty if it has none.

    Args:
        artist: Artist of matplotlib.
    """
    label = artist.get_label()
    if label is None or str(label).startswith("_"):
        return ""
    return "; ".join(filter(None, map(_join_lines, str(label).splitlines())))


def _list_legend_notes(artist: Artist) -> list[str]:
    """Return the legend entry of an artist that draws nothing, as a list.

    Args:
        artist: Any artist of the plot.

    Returns:
        A list of one entry; empty if the artist draws something or has no entry.
    """
    is_note = isinstance(artist, Line2D) and not _has_data(artist)
    return [_legend_name(artist)] if is_note and _legend_name(artist) else []


def _has_data(artist: Artist) -> bool:
    """Return whether an artist draws anything: a line without points is the symbol of a legend entry.

    Args:
        artist: Artist of matplotlib.
    """
    return not isinstance(artist, Line2D) or len(np.atleast_1d(artist.get_xdata())) > 0


def _is_filled(artist: Artist) -> bool:
    """Return whether an artist is an area.

    Args:
        artist: Artist of matplotlib.
    """
    return isinstance(artist, Patch) and bool(artist.get_fill())


def _is_in_data(ax: Axes, artist: Artist) -> bool:
    """Return whether an artist is placed by numbers of the axes, not by fractions of the figure or by pixels.

    Args:
        ax: Axes of the plot.
        artist: Artist of matplotlib.
    """
    if isinstance(artist, Text):
        coordinates = getattr(artist, "xycoords", None)
        return coordinates == "data" if coordinates is not None else artist.get_transform() == ax.transData
    return bool(all(artist.get_transform().contains_branch_seperately(ax.transData)))


def _color_of(artist: Artist) -> str:
    """Return the colour of an artist as ``#rrggbb``.

    Args:
        artist: Artist of matplotlib.
    """
    if isinstance(artist, Line2D):
        return to_hex(artist.get_color())
    if isinstance(artist, Patch):
        return to_hex(artist.get_facecolor() if artist.get_fill() else artist.get_edgecolor())
    if isinstance(artist, LineCollection):
        return to_hex(np.asarray(artist.get_edgecolor())[0])
    return to_hex(np.asarray(cast("Collection", artist).get_facecolor())[0])


def _name_dash(artist: Line2D | Patch) -> str:
    """Return the name of a dash pattern: solid, dashed, dashdot or dotted.

    Args:
        artist: A line or an outline; any other pattern counts as dotted.
    """
    style = artist.get_linestyle()
    named = {"-": "solid", "--": "dashed", "-.": "dashdot", ":": "dotted"}.get(str(style), str(style))
    if named in ("solid", "dashed", "dashdot", "dotted"):
        is_solid = named == "solid" and getattr(artist, "is_dashed", lambda: False)()
        return "dashed" if is_solid else named
    return "dotted"


def _first_line(label: str) -> str:
    """Return the first line of a legend entry, which has the name of the curve.

    Args:
        label: Legend entry of one or several lines.
    """
    return label.partition("\n")[0].strip()


def _join_lines(text: object) -> str:
    """Return the text in one line, with single spaces between words.

    Args:
        text: Text, perhaps of several lines.
    """
    return " ".join(str(text).split())


def _to_plain(value: Any) -> Any:
    """Return a value of JSON types, without infinite numbers and NaN.

    Args:
        value: JSON value whose numbers may be infinite or NaN.

    Returns:
        The value with lists in place of tuples, and None in place of infinite numbers and NaN.
    """
    if isinstance(value, Mapping):
        return {name: _to_plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(entry) for entry in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
