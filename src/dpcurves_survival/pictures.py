"""Plots of survival analysis: survival curves, cumulative hazards and incidences, tables at risk, forest plots.

    draw_survival     a survival curve as steps at the ends of cells, with its band
    draw_steps        a nondecreasing curve, such as a cumulative hazard or a cumulative incidence
    write_at_risk     a row of numbers at risk below either plot, one for each curve
    draw_estimates    a forest plot with a row for each estimate and its intervals
    draw_figure       several groups in the style of medical journals, with the table of numbers at risk

All functions take released numbers and return matplotlib axes, with the privacy statement below the plot; they read no
records. Lengths are points (1/72 inch) unless stated. A band without an upper limit is cut at four times the height of
the curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import FloatArray
from dpcurves.conversation import PrivacyStatement
from dpcurves.display import canvas
from dpcurves.display.groups import ForestPanel, draw_forest
from dpcurves.display.numerals import distinguish_labels, format_label, format_legend_label, format_number
from dpcurves.display.styles import is_dark, scale_font_size
from dpcurves.display.text import footer, warns_of_seed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


FONT_SIZE = 8.0
"""Points: font size of tables of numbers at risk and of texts below a figure."""
AT_RISK_TITLE = "number at risk"
"""Title of a table of numbers at risk without intervals."""
AT_RISK_INTERVAL_TITLE = "number at risk (±: simultaneous 95% intervals for these records)"
"""Title of a table of numbers at risk with intervals."""
AT_RISK_MARK = "at risk"
"""Matplotlib id (gid) of the last text of each row of the table, by which the rows that are there already are counted;
the next row is written below them."""
DARK_TITLE_COLOUR = "#333333"
"""Colour of the title of a table of numbers at risk on a light background."""
PALE_TITLE_COLOUR = "#cccccc"
"""Colour of the title of a table of numbers at risk on a dark background."""


class AtRiskRow(NamedTuple):
    """One row of a table of numbers at risk.

    Attributes:
        edges: Edges of the grid, shape (cells + 1,).
        records: Records at risk in each cell, shape (cells,).
        error: Distance from each number to the farther end of its interval, shape (cells,); None: no intervals are
            shown. Lower ends are cut at 0, so half widths would be too small.
    """

    edges: FloatArray
    records: FloatArray
    error: FloatArray | None

    @classmethod
    def from_numbers(cls, edges: FloatArray, numbers: FloatArray, intervals: FloatArray | None) -> AtRiskRow:
        """Return the row of numbers at risk of a result.

        Args:
            edges: Edges of the grid, shape (cells + 1,).
            numbers: All records, then records at risk in each cell, shape (cells + 1,).
            intervals: Lower and upper bounds of the numbers, shape (cells + 1, 2); None: no intervals are shown.
        """
        error = None if intervals is None else np.abs(intervals - numbers[:, None]).max(axis=1)[1:]
        return cls(edges, numbers[1:], error)


def write_at_risk(ax: Axes, row: AtRiskRow, name: str | None, color: str) -> None:
    """Write one more row of numbers at risk below `ax`: the number in the cell that starts at each tick of the x axis.

    Call this function before the privacy statement is added. Nothing is written if the axes are narrower than 2.8
    inches.

    Args:
        ax: Axes with the curve.
        row: The numbers.
        name: Name of the curve, written before the row; None: no name.
        color: Colour of the text.
    """
    from dpcurves.display.artists import shrink_axes

    figure = ax.figure.get_figure(root=True)
    # inches, below which there is no room for the table
    if figure is None or ax.get_position().width * figure.get_size_inches()[0] < 2.8:
        return
    rows = sum(text.get_gid() == AT_RISK_MARK for text in ax.texts)
    below_ticks = 22.0  # points: distance of its first row from the axis
    if rows == 0:
        _write_below(
            ax,
            (0.0, scale_font_size(-below_ticks)),
            AT_RISK_TITLE if row.error is None else AT_RISK_INTERVAL_TITLE,
            color=PALE_TITLE_COLOUR if is_dark(ax) else DARK_TITLE_COLOUR,
            horizontalalignment="left",
        )
    row_height = 9.5  # points: height of a row of that table
    down = scale_font_size(-below_ticks - row_height * (rows + 1))
    if name is not None:
        # an underscore keeps the name of the row, which is the text's label, out of the legend
        first = format_number(round(max(float(row.records[0]), 0.0))), "" if row.error is None else "±000"
        beside = -0.3 * scale_font_size(FONT_SIZE) * len("".join(first)) - 4  # points, left of the first number
        _write_below(
            ax, (0.0, down), "", color=color, horizontalalignment="right", label=f"_{name}", left=beside,
        )  # fmt: skip
        named = [text for text in ax.texts if text.get_horizontalalignment() == "right" and text.get_label()]
        whole_names = [str(text.get_label())[1:] for text in named]
        for text, words in zip(named, distinguish_labels(whole_names, 32), strict=True):  # characters of a row's name
            text.set_text(words)
    # Ticks inside the grid, and the number at risk in the cell that starts there.
    inside = [float(tick) for tick in ax.get_xticks() if row.edges[0] <= tick < row.edges[-1]]
    inches = ax.get_position().width * figure.get_size_inches()[0]
    # at most 6 times, of numbers of 9 letters, in 0.85 of the width that is left after the layout
    most = min(6, max(2, int(0.85 * 72 * inches / (9 * 0.55 * scale_font_size(FONT_SIZE)))))
    for time in inside[:: -(-len(inside) // most)] if inside else [float(row.edges[0])]:
        cell = int(np.searchsorted(row.edges, time, side="right")) - 1
        words = format_number(round(max(float(row.records[cell]), 0.0)))
        words += "" if row.error is None else f"±{format_number(np.ceil(row.error[cell]))}"
        _write_below(ax, (time, down), words, "data", color=color, horizontalalignment="center")
    ax.texts[-1].set_gid(AT_RISK_MARK)
    ax.xaxis.labelpad = scale_font_size(below_ticks + row_height * (rows + 2) - 12.0)
    shrink_axes(ax, scale_font_size(row_height * (2 if rows == 0 else 1)))


def _write_below(
    ax: Axes, place: tuple[float, float], text: str, across: str = "axes fraction", *, left: float = 0.0, **style: Any
) -> None:
    """Write a text below the axis.

    Args:
        ax: The axes.
        place: Position along x in units of `across`, and points above the axis (negative: below it).
        text: The text.
        across: Coordinate system of the position along x.
        left: Points by which the text is moved to the right (negative: to the left).
        **style: Further properties of the text, as arguments of `annotate`.
    """
    ax.annotate(
        text, (place[0], 0.0), (left, place[1]), xycoords=(across, "axes fraction"), textcoords="offset points",
        fontsize=scale_font_size(FONT_SIZE), verticalalignment="top", annotation_clip=False, parse_math=False, **style,
    )  # fmt: skip


def draw_survival(
    x: ArrayLike,
    y: ArrayLike,
    privacy: PrivacyStatement,
    *,
    label: str,
    at_risk: AtRiskRow | None = None,
    weighted: bool = False,
    **on: Unpack[canvas.ShadedDrawingOptions],
) -> Axes:
    """Draw a survival curve as steps at the ends of cells, with its bands.

    Args:
        x: Edges of cells, ascending, shape (cells + 1,).
        y: Survival at each edge, from 0 to 1, shape (cells + 1,).
        privacy: The privacy statement, written below.
        label: Label of the x axis.
        at_risk: Numbers at risk, written below the axis if there is room; None: no numbers.
        weighted: Whether records have weights, for the axis label.
        **on: Axes, name and bands (`shades`) of the curve.

    Returns:
        The axes.
    """
    picture = canvas.Picture(canvas.LANDSCAPE, privacy, **on)
    edges = np.asarray(x, dtype=float)
    _fill_bands(picture, edges)
    picture.draw_steps(edges, y, width=1.4)
    picture.ax.set(ylim=canvas.SHARE_LIMITS, xmargin=0.01)
    picture.label_axes(label, "weighted " * weighted + "share without an event")
    if at_risk is not None:
        write_at_risk(picture.ax, at_risk, picture.name, picture.style.color)
    return picture.add_statement()


def _fill_bands(picture: canvas.Picture, edges: FloatArray, max_height: float = np.inf) -> None:
    """Draw the bands of a picture as shaded steps.

    Args:
        picture: The picture, with lower and upper limits at each edge in `shades`.
        edges: Edges of cells, shape (cells + 1,).
        max_height: Height at which the bands are cut, in units of the y axis.
    """
    ax = picture.ax
    for shade in picture.shades:
        lower, upper = (np.minimum(end, max_height) for end in shade.endpoints)
        band_style: Any = {"color": picture.style.color, "alpha": canvas.shade_opacity(shade.label, ax), "linewidth": 0}
        ax.fill_between(edges, lower, upper, step="post", **band_style).set_label(
            canvas.deduplicate_label(ax, shade.label)
        )


def _find_band_limit(picture: canvas.Picture, heights: FloatArray) -> float:
    """Return the height at which the bands of a curve are cut: their largest upper limit, or less.

    Upper limits may be infinite, so the result is at most four times the height of the curve. The limit at the last
    edge does not count: its step has no width, and it is often infinite.

    Args:
        picture: The picture, with the bands in `shades`.
        heights: Height of the curve at each edge, shape (cells + 1,); NaN where it is not known.
    """
    highest = max(float(np.nanmax(np.append(heights, 0.0))), 1e-3)
    limits = [highest, *(float(np.nanmax(np.append(shade.endpoints[1][:-1], 0.0))) for shade in picture.shades)]
    return min(4 * highest, max(limits))


def draw_steps(
    x: ArrayLike,
    y: ArrayLike,
    privacy: PrivacyStatement,
    *,
    label: str,
    upwards: str,
    share: bool,
    at_risk: AtRiskRow | None = None,
    at_risk_name: str | None = None,
    **on: Unpack[canvas.ShadedDrawingOptions],
) -> Axes:
    """Draw a nondecreasing curve as steps at the ends of cells, with its bands.

    Args:
        x: Edges of cells, ascending, shape (cells + 1,).
        y: Height at each edge, shape (cells + 1,).
        privacy: The privacy statement, written below.
        label: Label of the x axis.
        upwards: Label of the y axis.
        share: Whether values lie between 0 and 1.
        at_risk: Numbers at risk, written below the axis if there is room; None: no numbers.
        at_risk_name: Name of the row of these numbers; None: no name.
        **on: Axes, name and bands (`shades`) of the curve.

    Returns:
        The axes.
    """
    picture = canvas.Picture(canvas.LANDSCAPE, privacy, **on)
    edges = np.asarray(x, float)
    heights = np.asarray(y, float)
    _fill_bands(picture, edges, 1.0 if share else _find_band_limit(picture, heights))
    picture.draw_steps(edges, heights, width=1.4)
    picture.ax.autoscale(axis="y")  # an earlier curve on these axes may be higher
    picture.ax.set(ylim=canvas.SHARE_LIMITS if share and not picture.shades else (0.0, None), xmargin=0.01)
    picture.label_axes(label, upwards, place="above")
    if at_risk is not None:
        write_at_risk(picture.ax, at_risk, at_risk_name, picture.style.color)
    return picture.add_statement()


AXES = MappingProxyType({
    "share": "share without an event", "share with an event": "share with an event", "time": "time",
    "difference of shares": "difference of shares",
    "difference of times": "difference of times", "ratio": "hazard ratio (logarithmic)",
    "people": "number needed to treat", "cumulative hazard": "cumulative hazard",
})  # fmt: skip
"""Label of the axis of a forest plot, by the scale of its estimates."""
NO_DIFFERENCE = MappingProxyType({"ratio": 1.0, "difference of shares": 0.0, "difference of times": 0.0})
"""Value that means no difference, by scale: a forest plot has a reference line there; other scales have none."""


def draw_estimates(
    rows: Sequence[tuple[str, float, str]], privacy: PrivacyStatement, **on: Unpack[canvas.ShadedDrawingOptions]
) -> Axes:
    """Draw a forest plot: each estimate in a row with its intervals, one panel per scale.

    Args:
        rows: Name, value and scale (a key of `AXES`) of each estimate.
        privacy: The privacy statement, written below.
        **on: Axes and intervals (`shades`), each with a lower and an upper limit for every row.

    Returns:
        The axes of the first panel.
    """
    panels = []
    for scale in dict.fromkeys(scale for _, _, scale in rows):
        numbers = [number for number, row in enumerate(rows) if row[2] == scale]
        names = [rows[number][0] for number in numbers]
        values = [rows[number][1] for number in numbers]
        panels.append(
            ForestPanel(AXES[scale], names, values, numbers, NO_DIFFERENCE.get(scale), is_ratio=scale == "ratio")
        )
    return draw_forest(panels, privacy, **on)


class Theme(NamedTuple):
    """Colours of a figure.

    Attributes:
        background: Colour behind the plot.
        text: Colour of axes, labels and numbers.
        muted_text: Colour of the lines below the figure.
        colors: Colour of each group; repeated if there are more groups.
        band_alpha: Opacity of bands, from 0 to 1.
    """

    background: str
    text: str
    muted_text: str
    colors: tuple[str, ...]
    band_alpha: float


THEMES = MappingProxyType({
    "light": Theme("#ffffff", "#222222", "#6b6b6b", canvas.PALETTE, 0.18),
    "dark": Theme(
        "#14181d", "#e8e8e8", "#a8adb3", ("#56b4e9", "#e69f00", "#2ec99b", "#e8a5cb", "#f0e442", "#ff8a5c"), 0.24
    ),
    "print": Theme("#ffffff", "#000000", "#444444", ("#000000", "#555555", "#888888", "#333333"), 0.16),
})  # fmt: skip
"""Colours by the name of the theme; other names are refused. Okabe and Ito's (2008), brighter on a dark background; in
print, greys with dashes."""


class FigureGroup(NamedTuple):
    """The curve of one group in a figure.

    Attributes:
        name: Name of the group.
        y: Survival at each edge, from 0 to 1, shape (cells + 1,).
        band: Lower and upper limits of the band at each edge; None: no band.
        at_risk: Numbers at risk; None: no row in the table.
    """

    name: str
    y: FloatArray
    band: tuple[FloatArray, FloatArray] | None
    at_risk: AtRiskRow | None


def draw_figure(
    x: FloatArray,
    groups: Sequence[FigureGroup],
    privacy: PrivacyStatement,
    *,
    label: str,
    upwards: str,
    test: str = "",
    covers: str = "",
    column: str = "",
    theme: str = "light",
    ax: Axes | None = None,
) -> Axes:
    """Draw survival curves of several groups in the style of medical journals, with a table of numbers at risk.

    Args:
        x: Edges of cells, ascending, shape (cells + 1,).
        groups: The curve of each group.
        privacy: The privacy statement, written below.
        label: Label of the x axis.
        upwards: Label of the y axis.
        test: Line about the test of the groups; empty: none.
        covers: Description of the bands, written below; empty: none.
        column: The column whose categories name the groups: the title of the legend; empty: no title.
        theme: ``light``, ``dark`` or ``print``.
        ax: Axes to draw on; None: a new figure.

    Returns:
        The axes.

    Raises:
        ValueError: The theme is another word.
    """
    from dpcurves.display.artists import PALE_WARNING, WARNING

    if theme not in THEMES:
        raise InvalidArgument("theme", f"must be one of {', '.join(THEMES)}")
    warning = PALE_WARNING if theme == "dark" else WARNING
    look = THEMES[theme]._replace(muted_text=warning) if warns_of_seed(privacy) else THEMES[theme]
    axes = canvas.prepare_axes(ax, (6.4, 4.6))  # inches
    axes.figure.set_facecolor(look.background)
    axes.set_facecolor(look.background)
    longest_group_label = 64  # largest number of characters in the label of a row or a group
    names = distinguish_labels([group.name for group in groups], longest_group_label)
    for number, (name, group) in enumerate(zip(names, groups, strict=True)):
        color = look.colors[number % len(look.colors)]
        dash = canvas.DASHES[number % len(canvas.DASHES)] if theme == "print" else "-"
        if group.band is not None:
            axes.fill_between(x, *group.band, step="post", color=color, alpha=look.band_alpha, linewidth=0)
        axes.step(x, group.y, where="post", color=color, linestyle=dash, linewidth=1.6, label=format_legend_label(name))
    axes.set(ylim=(0, 1.02), xlim=(float(x[0]), float(x[-1])))
    axes.set_xlabel(format_label(label), color=look.text, parse_math=False)
    axes.set_ylabel(upwards, color=look.text)
    axes.title.set_color(look.text)  # for a title that is set later, too
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["bottom", "left"]].set_color(look.text)
    axes.tick_params(colors=look.text)
    canvas.add_legend(axes, "best")
    if column:
        canvas.set_legend_title(axes, format_label(column))
    if test:
        axes.text(0.02, 0.04, test, transform=axes.transAxes, fontsize=9, color=look.text, parse_math=False)
    _write_risk_table(axes, groups, look, [covers, *footer(privacy).splitlines()])
    return axes


def _write_risk_table(axes: Axes, groups: Sequence[FigureGroup], theme: Theme, lines: Sequence[str]) -> None:
    """Write the table of numbers at risk below the axes of a figure, and lines of text below it.

    Args:
        axes: The axes with the curves.
        groups: The groups in the order of their colours; those without numbers at risk get no row.
        theme: The colours.
        lines: Texts, wrapped at 100 characters; empty ones are left out.
    """
    from textwrap import wrap

    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 3, 5, 6, 10]))
    risks = [(number, group, group.at_risk) for number, group in enumerate(groups) if group.at_risk is not None]
    down = -32.0
    names = distinguish_labels([group.name for group in groups], 24)
    if risks:
        _write_text(axes, 0.0, down - 4, "Number at risk (± its 95% interval)", theme.text, weight="bold", ha="left")
        down -= 4
    statement_line = 11.0  # points: distance of lines of text below a figure
    for number, _, risk in risks:
        down -= statement_line
        color = theme.colors[number % len(theme.colors)]
        _write_text(axes, -0.02, down, names[number], color, ha="right")
        for time in [float(tick) for tick in axes.get_xticks() if risk.edges[0] <= tick < risk.edges[-1]]:
            cell = int(np.searchsorted(risk.edges, time, side="right")) - 1
            words = format_number(round(max(float(risk.records[cell]), 0.0)))
            words += "" if risk.error is None else f" ±{format_number(np.ceil(risk.error[cell]))}"
            position = (time - risk.edges[0]) / (risk.edges[-1] - risk.edges[0])
            _write_text(axes, float(position), down, words, theme.text, ha="left" if position < 0.02 else "center")
    down -= 1.4 * statement_line if risks else 0.2 * statement_line
    for line in [line_part for text in lines if text for line_part in wrap(text, 100)]:
        _write_text(axes, 0.0, down, line, theme.muted_text, size=7.0, ha="left")
        down -= 9.0


def _write_text(
    axes: Axes, across: float, down: float, words: str, color: str, *, size: float = FONT_SIZE, **how: Any
) -> None:
    """Write a text below the axis.

    Args:
        axes: The axes.
        across: Position along x, as a fraction of the axes' width.
        down: Points above the axis (negative: below it).
        words: The text.
        color: Its colour.
        size: Its font size in points.
        **how: Further arguments of `annotate`.
    """
    axes.annotate(
        words, (across, 0.0), (0.0, down), xycoords="axes fraction", textcoords="offset points", fontsize=size,
        color=color, va="top", annotation_clip=False, parse_math=False, **how,
    )  # fmt: skip
