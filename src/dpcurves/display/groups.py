"""Plots that compare groups: curves on common axes, means, bars, forest plots and small multiples.

Each function draws released numbers with matplotlib, and returns the `Axes`. A plot has one privacy statement, as a
footnote, and one legend for all groups. Shades are confidence bands or intervals. matplotlib is imported only when a
plot is made. No record is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, sqrt
from textwrap import wrap
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import FloatArray
from ..conversation import PrivacyStatement
from ..translation import current_reader, translate
from .canvas import (
    GREY,
    LANDSCAPE,
    POPULATION,
    SHARE_LIMITS,
    SQUARE,
    Picture,
    Shade,
    add_legend,
    deduplicate_label,
    enlarge_figure,
    format_for,
    prepare_axes,
    set_title,
    shade_opacity,
    style_of,
)
from .numerals import MOST_LABELLED, distinguish_labels, format_number, wrap_labels
from .office import SUPPRESSED
from .styles import scale_font_size, scale_line_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.gridspec import GridSpecBase


NO_BANDS: Mapping[str, Shade] = MappingProxyType({})
"""Default of curves drawn together: without bands."""


def draw_curves(
    curves: Mapping[str, tuple[FloatArray, FloatArray]],
    privacy: PrivacyStatement,
    *,
    labels: tuple[str, str],
    ax: Axes | None = None,
    share: bool = True,
    bands: Mapping[str, Shade] = NO_BANDS,
) -> Axes:
    """Draw curves, by name, on common axes, and return the axes.

    Args:
        curves: x and y of each curve, of one length, by name; at least one curve.
        privacy: Privacy statement of the release, written as a footnote.
        labels: Labels of the x axis and the y axis.
        ax: Axes to draw on; None: a new figure.
        share: True: both axes run from 0 to 1, and the diagonal is drawn. False: axes fit the curves.
        bands: Bands around some of the curves, by the curve's name, with bounds at each of its points.
    """
    for place, (name, (x, y)) in enumerate(curves.items()):
        picture = Picture(SQUARE if share else LANDSCAPE, privacy, ax=ax, name=name)
        ax = picture.ax
        at = picture.before + place
        picture.style = style_of(ax, at)
        if name in bands:
            low, high, words = bands[name]
            color = picture.style.color
            label = deduplicate_label(ax, words)
            ax.fill_between(x, low, high, linewidth=0, color=color, alpha=shade_opacity(words, ax), label=label)
        picture.draw_line(x, y, picture.legend_label())
    if share:
        picture.ax.set(xlim=SHARE_LIMITS, ylim=SHARE_LIMITS, aspect="equal")
        picture.ax.plot(SHARE_LIMITS, SHARE_LIMITS, color=GREY, linestyle=(0, (1, 2)), linewidth=1.2)
    picture.name = None
    return picture.label_axes(*labels, place="above").add_statement()


MIDDLE_HALF_LABEL = "the middle half of the records"
"""Legend entry of the line from the first to the third quartile of a group."""


def draw_means(
    names: Sequence[str],
    means: ArrayLike,
    privacy: PrivacyStatement,
    *,
    label: str,
    column: str = "",
    shades: Sequence[Shade] = (),
    halves: FloatArray | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a point for each group, the first at the top.

    Args:
        names: Names of the groups, from the top.
        means: Means of the groups, (groups,).
        privacy: Privacy statement of the release, written as a footnote.
        label: Label of the x axis.
        column: The column whose categories name the groups, written once beside the rows.
        shades: Intervals of the means, wider ones first.
        halves: First and third quartile of each group, (groups, 2), drawn as thin lines; None: not drawn.
        ax: Axes to draw on; None: a new figure, with room for all groups.
    """
    is_tight = len(names) > MOST_LABELLED
    # inches a group, with and without written means
    size = LANDSCAPE[0], max(LANDSCAPE[1], 1.5 + (0.19 if is_tight else 0.32) * len(names))
    if ax is not None:
        enlarge_figure(ax, size)
    picture = Picture(size, privacy, shades=shades, ax=ax)
    values = np.asarray(means, float)
    rows = range(len(names))
    if halves is not None:
        picture.ax.hlines(rows, *halves.T, color=GREY, linewidth=scale_line_width(0.9), label=MIDDLE_HALF_LABEL)
    for shade, thick in picture.shades_with_widths():
        picture.draw_bars(rows, shade.endpoints, shade.label, width=thick, alpha=shade_opacity(shade.label, picture.ax))
    picture.draw_points(values, rows, markersize=4 if is_tight else 5)
    low, high = shades[-1].endpoints if shades else (values, values)
    for value, row, known in zip(values, rows, high - low, strict=True) if len(rows) <= MOST_LABELLED else ():
        picture.annotate_point(value, row, format_number(float(value), float(known) if np.isfinite(known) else 0.0), 6)
    picture.ax.set_yticks(rows, wrap_labels(names), parse_math=False)
    if is_tight:
        picture.ax.tick_params(axis="y", labelsize=scale_font_size(8))
    above = picture.ax.figure.get_layout_engine() is not None
    # share of the height for the legend
    picture.ax.set(ylim=(len(rows) - 0.4, -0.9 - (0.0 if above else 0.2 * (len(rows) + 1))), xmargin=0.12)
    picture.ax.grid(axis="y", alpha=0.25, linewidth=0.6)
    beside = format_for(picture.ax, column)
    return picture.label_axes(label, beside, place="above" if above else "upper right").add_statement()


def draw_category_bars(
    names: Sequence[str],
    counts: ArrayLike,
    privacy: PrivacyStatement,
    *,
    label: str,
    shades: Sequence[Shade] = (),
    shares: ArrayLike,
    suppressed: ArrayLike,
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw a horizontal bar for each category with its intervals, the first at the top, and its numbers beside it.

    At most 60 categories are drawn, the categories with the largest counts; the legend states how many are left out.

    Args:
        names: Names of the categories, from the top.
        counts: Counts of the categories, (categories,); NaN: not known.
        privacy: Privacy statement of the release, written as a footnote.
        label: Label of the x axis.
        shades: Intervals of the counts, wider ones first.
        shares: Shares of the categories, from 0 to 1, (categories,), written behind the counts; NaN: not known.
        suppressed: (categories,): True for counts that are left out on purpose, as their intervals are too wide.
        ax: Axes to draw on; None: a new figure, with room for all bars.
        name: Name of the chart in the legend.
    """
    values = np.asarray(counts, dtype=float)
    # A picture has at most 60 bars, of the categories with the largest counts.
    drawn = np.sort(np.argsort(-np.nan_to_num(values, nan=-1.0), kind="stable")[:60])
    longest_bar_label = 108  # characters: longer names of categories are shortened in the middle
    texts = distinguish_labels([names[index] for index in drawn], longest_bar_label)
    lines = ["\n".join(_balance_lines(text)) for text in texts]
    # inches of a bar with one line, of each further line, and of the widest line at 8 points
    height = 0.24 + 0.14 * max((line.count("\n") for line in lines), default=0)
    widest = 0.068 * max((len(part) for line in lines for part in line.split("\n")), default=0)
    size = LANDSCAPE[0] + max(widest - 1.2, 0.0), max(LANDSCAPE[1], 1.8 + height * len(lines))
    if ax is not None:
        enlarge_figure(ax, size)
    picture = Picture(size, privacy, shades=[shade.select_rows(list(drawn)) for shade in shades], ax=ax, name=name)
    shown = values[drawn]
    rows = np.arange(len(drawn))
    if picture.is_first:
        picture.ax.barh(rows, np.nan_to_num(shown), height=0.62, color=picture.style.color, alpha=0.3, linewidth=0)
    for shade, thick in picture.shades_with_widths():
        picture.draw_bars(rows, shade.endpoints, shade.label, width=thick, alpha=shade_opacity(shade.label, picture.ax))
    picture.draw_points(shown, rows, "|", markersize=7, markeredgewidth=1.6, label=picture.legend_label())
    texts_behind = _describe_counts(
        picture, shown, np.asarray(shares, dtype=float)[drawn], np.asarray(suppressed)[drawn]
    )
    ends = [np.nan_to_num(np.asarray(shade.upper, dtype=float)) for shade in picture.shades]
    reaches = np.max([np.nan_to_num(shown), *ends], axis=0)
    for row, (text, reach) in enumerate(zip(texts_behind, reaches.tolist(), strict=True)):
        how: Any = {"textcoords": "offset points", "va": "center", "fontsize": scale_font_size(8)}
        picture.ax.annotate(text, (reach, row), (4, 0), **how)
    picture.ax.set_yticks(rows, lines, parse_math=False)
    picture.ax.tick_params(axis="y", labelsize=scale_font_size(8), length=0)
    if len(drawn) < len(values):
        picture.add_legend_note(f"{len(values) - len(drawn):,} categories with smaller counts are not drawn")
    above = picture.ax.figure.get_layout_engine() is not None
    # share of the height for the legend
    picture.ax.set(ylim=(len(rows) - 0.4, -0.6 - (0.0 if above else 0.2 * (len(rows) + 1))))
    # room for the texts behind the bars: inches of a letter at 8 points, over those of the plot, which has about 0.6 of
    # the figure
    rooms = [min(0.075 * (len(text) + 1) / (0.6 * size[0]), 0.6) for text in texts_behind]
    picture.ax.set_xlim(
        0.0, max(reach / (1 - room) for reach, room in zip(reaches.tolist(), rooms, strict=True)) or 1.0
    )
    return picture.label_axes(label, place="above" if above else "upper right").add_statement()


def _balance_lines(text: str) -> list[str]:
    """Return a name in as few lines as needed, of about equal length, with breaks between words where possible.

    Args:
        text: The name.

    Returns:
        Lines of at most 36 characters.
    """
    bar_label_line = 36  # characters of a line: longer names of categories are wrapped
    fewest = ceil(len(text) / bar_label_line)
    lines = wrap(text, max(ceil(len(text) / max(fewest, 1)) + 4, 8)) if fewest > 1 else [text]
    return lines if len(lines) <= fewest else wrap(text, bar_label_line) or [text]


def _describe_counts(
    picture: Picture, counts: FloatArray, shares: FloatArray, suppressed: NDArray[np.bool_]
) -> list[str]:
    """Return the text of each bar: its count and share; ``..`` if it is suppressed, or that the count is not known.

    Args:
        picture: Plot, whose last intervals give the digits.
        counts: Counts of the bars, (bars,); NaN: not known.
        shares: Shares of the bars, (bars,); NaN: not known.
        suppressed: True for suppressed bars, (bars,).
    """
    low, high = picture.shades[-1].endpoints if picture.shades else (counts, counts)
    # a width of 10 or more leaves no decimals to a number of records
    widths = np.maximum(np.nan_to_num(np.subtract(high, low)), 10.0).tolist()
    texts = [
        format_number(count if np.isnan(count) else round(count), width)
        for count, width in zip(counts, widths, strict=True)
    ]
    described = [
        text if np.isnan(share) else f"{text} ({share:.1%})" for text, share in zip(texts, shares, strict=True)
    ]
    return [SUPPRESSED if is_suppressed else text for text, is_suppressed in zip(described, suppressed, strict=True)]


PANEL_SIZE = (2.1, 1.6)
"""Least width and height of a panel of small multiples, in inches. The figure grows if more panels need it."""
TITLE_SIZE = 8
"""Font size of the title of a panel of small multiples, in points; a style may scale it."""


def draw_small_multiples(
    names: Sequence[str],
    draw: Sequence[Callable[[Axes], object]],
    privacy: PrivacyStatement,
    *,
    column: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw small multiples in place of `ax`: a panel per name, with equal axes, and one privacy statement and legend.

    Args:
        names: Titles of the panels.
        draw: Draws one panel on given axes.
        privacy: The privacy statement below all panels.
        column: The column whose categories name the panels, written once above them until the figure has a title.
        ax: Axes that the panels replace; None: a new figure. A figure that is narrower than small multiples usually are
            keeps its width, with fewer panels side by side, so that its texts stay as large.

    Returns:
        Axes of the first panel.
    """
    from .artists import Footnote, add_statement

    width = LANDSCAPE[0] if ax is None else min(LANDSCAPE[0], ax.figure.bbox.width / ax.figure.dpi)  # inches
    across = ceil(sqrt(len(draw)))
    if width < LANDSCAPE[0]:
        across = min(across, max(int(width / PANEL_SIZE[0]), 1))
    down = ceil(len(draw) / across)
    size = max(width, across * PANEL_SIZE[0]), max(LANDSCAPE[1], down * PANEL_SIZE[1] + 1.0)
    whole = prepare_axes(ax, size)
    if len(whole.figure.axes) == 1:
        whole.figure.set_size_inches(*size)  # type: ignore[union-attr]
    figure = whole.figure
    small, below = _split_into_panels(whole, down, across, len(draw))
    for panel, fill in zip(small, draw, strict=True):
        fill(panel)
        footnote = Footnote.from_axes(panel)
        if footnote is not None:
            footnote.remove()
    if small[0].get_aspect() != "auto" and len(figure.axes) == len(small) + 1:  # square plots need more height
        figure.set_size_inches(size[0] + 0.4 * across, 1.4 + down * (PANEL_SIZE[0] + 0.6))  # type: ignore[union-attr]
    shared = _find_shared_entries(small)
    facts = [[words for words in _legend_entries(panel) if words not in shared] for panel in small]
    facts, explanation = _shorten_facts(facts)
    titles = ["\n".join([name, *lines]) for name, lines in zip(wrap_labels(names), facts, strict=True)]
    reader = current_reader()
    if reader is not None:  # their parts are translated
        reader.written |= {explanation, *titles}
    for panel, title in zip(small, titles, strict=True):
        _format_panel(panel, title)
    _add_shared_legend(small, shared, explanation)
    set_title(small[0], column)
    add_statement(below, privacy, None)
    return small[0]


def _legend_entries(panel: Axes) -> list[str]:
    """Return the legend entries of a panel.

    Args:
        panel: Axes with labelled curves.
    """
    return list(panel.get_legend_handles_labels()[1])


def _find_shared_entries(panels: Sequence[Axes]) -> list[str]:
    """Return the legend entries that at least two panels have, or the only panel.

    Args:
        panels: Axes of all panels.

    Returns:
        Entries without repetition, in the order of their first appearance.
    """
    entries = [words for panel in panels for words in dict.fromkeys(_legend_entries(panel))]
    return [words for words in dict.fromkeys(entries) if len(panels) == 1 or entries.count(words) > 1]


def _shorten_facts(facts: Sequence[Sequence[str]]) -> tuple[list[list[str]], str]:
    r"""Return the lines below the name of each panel, and the legend entry that explains them.

    Lines of a label and a value below the first line, with the same labels in all panels, become their values in
    brackets: labels are written once in the legend, so that titles of panels stay short.

    Args:
        facts: Legend texts of each panel, perhaps with several lines.

    Returns:
        Lines by panel; and the entry, empty if nothing was shortened.

    >>> _shorten_facts([["AUC 0.7\nfor all: 0.6 to 0.8"], ["AUC 0.8\nfor all: 0.7 to 0.9"]])
    ([['AUC 0.7', '(0.6 to 0.8)'], ['AUC 0.8', '(0.7 to 0.9)']], 'in brackets: for all')
    """
    panels = [
        [line for fact in panel for line in translate(fact).splitlines() if not line.startswith("_")] for panel in facts
    ]
    pairs = [[line.rpartition(": ")[::2] for line in lines[1:]] for lines in panels]
    labels = [[label for label, _ in rows] for rows in pairs]
    if not labels[0] or not all(labels[0]) or any(other != labels[0] for other in labels):
        return panels, ""
    values = ["; ".join(value for _, value in rows) for rows in pairs]
    shortened = [[lines[0], f"({ends})"] for lines, ends in zip(panels, values, strict=True)]
    return shortened, f"{translate('in brackets')}: " + f" {translate('and')}\n".join(labels[0])


def _split_into_panels(whole: Axes, down: int, across: int, many: int) -> tuple[list[Axes], Axes]:
    """Replace axes by a grid of panels, with axes of height 0 below for the privacy statement.

    Args:
        whole: Axes that are replaced.
        down: Number of rows.
        across: Number of columns.
        many: Number of panels.

    Returns:
        The panels, row by row, and the axes below.
    """
    figure = whole.figure
    grid = _make_grid(whole, [1.0] * down, across)
    first = figure.add_subplot(grid[0, 0])
    rest = [figure.add_subplot(grid[divmod(number, across)], sharex=first, sharey=first) for number in range(1, many)]
    for number, axes in enumerate([first, *rest]):
        axes.tick_params(labelbottom=number + across >= many, labelleft=number % across == 0)
    below = figure.add_subplot(grid[down, :])
    _hide_axes(below)
    return [first, *rest], below


def stack_panels(whole: Axes, heights: Sequence[float]) -> tuple[list[Axes], Axes]:
    """Replace axes by panels (axes of their own) one above the other, each with its own x axis.

    The figure is resized if `whole` is its only axes.

    Args:
        whole: The axes to replace.
        heights: Relative heights of the panels, from the top.

    Returns:
        The panels from the top, and empty axes below them, which hold the privacy statement.
    """
    figure = whole.figure
    if len(figure.axes) == 1:
        figure.set_size_inches(LANDSCAPE[0] + 1.8, 1.5 + 0.4 * sum(heights))  # type: ignore[union-attr]
    grid = _make_grid(whole, heights)
    *panels, below = (figure.add_subplot(grid[number, 0]) for number in range(len(heights) + 1))
    _hide_axes(below)
    return panels, below


WARNING_LINE = "#b3261e"
"""Colour of the threshold from which a drift statistic raises an alarm."""
ALARM_MARKS = "osD^v<>P"
"""Markers of drift statistics, in matplotlib's notation, so that they differ without colour; later ones begin again
with the first."""


def draw_alarms(
    windows: Sequence[str],
    statistics: Sequence[str],
    ratios: FloatArray,
    privacy: PrivacyStatement,
    *,
    label: str,
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw statistics over their thresholds: a line for each over the windows, or a row for each of a single window.

    Points above 1 are alarms, and filled; others are hollow.

    Args:
        windows: Names of the time windows, in order.
        statistics: Names of the statistics that are watched.
        ratios: Each statistic divided by its threshold, (statistics, windows); NaN: not known.
        privacy: Privacy statement of the release, written as a footnote.
        label: Label of the axis of these ratios.
        ax: Axes to draw on; None: a new figure.
        name: Name of the release in the statement.
    """
    picture = Picture(LANDSCAPE, privacy, ax=ax, name=name)
    is_single = len(windows) == 1
    ax = picture.ax
    positions = np.arange(len(statistics) if is_single else len(windows))
    background = ax.get_facecolor()
    line: Any = {"color": WARNING_LINE, "linewidth": scale_line_width(1.2), "zorder": 0}
    (ax.axvline if is_single else ax.axhline)(1.0, linestyle=(0, (4, 3)), label="threshold of an alarm", **line)
    for number, (words, values) in enumerate(zip(statistics, ratios, strict=True)):
        color, dash = style_of(ax, number)
        mark: Any = {"marker": ALARM_MARKS[number % len(ALARM_MARKS)], "markersize": 6, "color": color}
        at = np.full(1, number) if is_single else positions
        across, upwards = (values, at) if is_single else (at, values)
        if not is_single:
            ax.plot(across, upwards, dash, label=words, linewidth=scale_line_width(1.0), **mark)
        alarms = values > 1
        ax.plot(across[alarms], upwards[alarms], linestyle="", **mark)
        ax.plot(across[~alarms], upwards[~alarms], linestyle="", markerfacecolor=background, **mark)
    highest = float(np.nanmax(np.append(ratios, 1.0)))
    is_long = highest > 8  # from this ratio on, values near the threshold need a separate scale
    limits = min(0.0, 1.1 * float(np.nanmin(np.append(ratios, 0.0)))), highest * (1.5 if is_long else 1.15)
    if is_long:
        (ax.set_xscale if is_single else ax.set_yscale)("symlog", linthresh=1.0)  # linear below the threshold
    ticks = [tick for tick in (0, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000) if tick <= limits[1]]
    if is_single:
        ax.set(xlim=limits, ylim=(len(statistics) - 0.4, -0.6))
        ax.set_yticks(positions, wrap_labels(statistics), parse_math=False)
        picture.label_axes(label, f"window: {windows[0]}", place="above")
        if is_long:
            ax.set_xticks(ticks, [format_number(tick) for tick in ticks])
        return picture.add_statement()
    ax.set(ylim=limits, xlim=(-0.5, len(windows) - 0.5))
    ax.set_xticks(positions, wrap_labels(windows, 16), parse_math=False)
    if is_long:
        ax.set_yticks(ticks, [format_number(tick) for tick in ticks])
    return picture.label_axes("window", label, place="above").add_statement()


class ForestPanel(NamedTuple):
    """Numbers of one scale, a row for each, in a panel of a forest plot.

    Attributes:
        label: Label of the x axis: what the numbers are, and their unit.
        names: Names of the rows.
        values: The numbers; NaN: not known.
        numbers: Indices of the rows in the bounds of the shades.
        null_value: The value that means no difference, where a line is drawn; None: no line.
        is_ratio: Whether the axis is logarithmic.
        limits: Limits of the x axis that contain all possible values; None: as far as numbers and intervals reach.
    """

    label: str
    names: Sequence[str]
    values: Sequence[float]
    numbers: Sequence[int]
    null_value: float | None = None
    is_ratio: bool = False
    limits: tuple[float, float] | None = None


RATIO_TICKS = (
    (0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10),
    (*np.arange(2, 10) / 10, *np.arange(10, 20) / 10, 2, 2.5, 3),
)
"""Ticks of an axis of ratios, in a coarse and a fine row: the fine one is used if at most two ticks of the coarse one
lie within the axis."""


def draw_forest(
    panels: Sequence[ForestPanel],
    privacy: PrivacyStatement,
    *,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw a forest plot: each number in a row with its intervals, in panels with an axis each; return the first axes.

    Args:
        panels: The panels, from the top.
        privacy: The privacy statement, written below the last panel.
        shades: Intervals of all numbers, wider ones first.
        ax: Axes that the panels replace; None: a new figure.
        name: Name of the release in the statement.
    """
    from .artists import add_statement

    # inches: 1.5 for title and axis, 0.34 for each row, 0.6 for each panel
    size = 7.4, 1.5 + 0.34 * sum(len(panel.names) for panel in panels) + 0.6 * len(panels)
    whole = prepare_axes(ax, size)
    if len(panels) == 1:
        enlarge_figure(whole, size)
        axes = [whole]
        below = whole
    else:
        axes, below = stack_panels(whole, [len(panel.names) + 0.9 for panel in panels])
    for panel_axes, panel in zip(axes, panels, strict=True):
        _draw_rows(panel_axes, panel, shades)
    add_legend(axes[0], "above", 8)
    add_statement(below, privacy, name)
    return axes[0]


def _draw_rows(ax: Axes, panel: ForestPanel, shades: Sequence[Shade]) -> None:
    """Draw the rows of one panel of a forest plot: points, intervals and the line of no difference.

    A row without a finite bound has the text "not known".

    Args:
        ax: Axes of the panel.
        panel: Names and numbers of the rows.
        shades: Intervals of all rows of all panels, wider ones first.
    """
    from .artists import format_axes

    places = np.arange(len(panel.names), dtype=float)[::-1]
    color = style_of(ax, 0).color
    values = np.asarray(panel.values, dtype=float)
    ends = [np.array(shade.select_rows(list(panel.numbers)).endpoints) for shade in shades]
    unknown = ~np.isfinite(values) if not ends else ~np.any([np.isfinite(end).any(axis=0) for end in ends], axis=0)
    values = np.where(unknown, np.nan, values)
    ends = [np.where(unknown, np.nan, end) for end in ends]
    for position in places[unknown]:
        ax.text(
            0.5, position, "not known", transform=ax.get_yaxis_transform(), ha="center", va="center",
            fontsize=scale_font_size(8),
        )  # fmt: skip
    null = () if panel.null_value is None else (panel.null_value,)
    seen = np.concatenate([values, *(bounds.ravel() for bounds in ends), null])
    seen = seen[np.isfinite(seen) & ((seen > 0) if panel.is_ratio else True)]
    low, high = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)
    room = 0.08 * (high - low) or 0.1
    limits = (low / 1.15, high * 1.15) if panel.is_ratio else panel.limits or (low - room, high + room)
    for shade, (lower, upper) in zip(shades, ends, strict=True):
        # points and opacity: a thin line for the population within a thick one for these records
        width, alpha = (1.1, 1.0) if POPULATION in shade.label else (5.0, 0.4)
        drawn = np.clip(lower, *limits), np.clip(upper, *limits)
        ax.hlines(places, *drawn, color=color, linewidth=width, alpha=alpha, label=shade.label)
    ax.plot(values, places, "s", color=color, markersize=5, zorder=3)
    if panel.null_value is not None:
        ax.axvline(panel.null_value, color=GREY, linewidth=0.8, linestyle=":", zorder=0)
    ax.set_yticks(places, wrap_labels(panel.names, 40), parse_math=False, fontsize=scale_font_size(8))
    ax.set(ylim=(-0.6, len(panel.names) - 0.4), xlim=limits)
    if panel.is_ratio:
        ax.set_xscale("log")
        coarse, fine = ([tick for tick in ticks if limits[0] <= tick <= limits[1]] for ticks in RATIO_TICKS)
        ticks = coarse if len(coarse) > 2 else fine
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
    if unknown.all():
        ax.set_xticks([])
    format_axes(ax)
    ax.tick_params(axis="x", labelsize=scale_font_size(8))
    ax.set_xlabel(format_for(ax, panel.label), fontsize=scale_font_size(8), parse_math=False)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _make_grid(whole: Axes, heights: Sequence[float], across: int = 1) -> GridSpecBase:
    """Replace axes by a grid with a row of height 0 below.

    Args:
        whole: Axes that are replaced.
        heights: Relative heights of the rows.
        across: Number of columns.
    """
    position = whole.get_subplotspec()
    figure = whole.figure
    whole.remove()
    grid: Any = figure.add_gridspec if position is None else position.subgridspec
    cells: GridSpecBase = grid(len(heights) + 1, across, height_ratios=[*heights, 0.01])
    return cells


def _hide_axes(below: Axes) -> None:
    """Remove the ticks and the frame of axes that hold only the privacy statement.

    Args:
        below: Axes that hold only the statement.
    """
    from .layout import STATEMENT

    below.set(xticks=[], yticks=[], label=STATEMENT)
    below.spines[:].set_visible(False)


def _format_panel(ax: Axes, title: str) -> None:
    """Set the title of a panel, small labels and few ticks; inner panels have no axis labels.

    Args:
        ax: Axes of the panel.
        title: Name of the panel.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator

    ax.set_title(title, fontsize=scale_font_size(TITLE_SIZE), parse_math=False)
    tick_size = 7  # points: font size of the ticks and axis labels of a panel
    ax.tick_params(labelsize=scale_font_size(tick_size))
    if ax.get_xscale() == "log":
        ax.xaxis.set_major_locator(LogLocator(numticks=4))
    else:
        ax.xaxis.set_major_locator(MaxNLocator(3))
    ax.xaxis.label.set_fontsize(scale_font_size(tick_size))
    ax.yaxis.label.set_fontsize(scale_font_size(tick_size))
    ax.xaxis.label.set_visible(ax.xaxis.get_tick_params()["labelbottom"])
    ax.yaxis.label.set_visible(ax.yaxis.get_tick_params()["labelleft"])


def _add_shared_legend(small: Sequence[Axes], shared: Sequence[str], note: str = "") -> None:
    """Replace the legends of all panels by one legend above the figure.

    Args:
        small: The panels.
        shared: Entries of the legend.
        note: Text without a symbol; empty: none.
    """
    from matplotlib.lines import Line2D

    from .layout import fitted_layout

    handles: dict[str, Any] = {}
    for panel in small:
        layout = fitted_layout(panel)
        legend = panel.get_legend()
        if layout is not None:
            layout.remove_legend(panel)  # a translation would write it anew
        elif legend is not None:
            legend.remove()
        for handle, words in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(words, handle)
    if note:
        handles = {**handles, note: Line2D([], [], linestyle="")}
        shared = [*shared, note]
    if shared:
        figure = small[0].figure
        letters = scale_font_size(TITLE_SIZE)
        longest = [max(map(len, words.splitlines())) for words in shared]  # characters
        inches = letters / 72 * (0.56 * sum(sorted(longest)[-2:]) + 8)  # width of a letter over its height
        ncols = 2 if inches < figure.bbox.width / figure.dpi else 1
        legend = figure.legend(
            [handles[words] for words in shared], shared, loc="outside upper center", ncols=ncols, fontsize=letters,
            frameon=False,
        )  # fmt: skip
        for text in legend.get_texts():
            text.set_parse_math(False)


def mean_band_width(band: object) -> float:
    """Return the mean width of a band of shares: of a `Shade`, or of a ROC `Region` between its edges; 0 of others.

    Args:
        band: A `Shade`, a `Region`, or anything else.

    >>> mean_band_width(Shade([0.25, 0.5], [0.5, 0.75], "95% band")), mean_band_width(Shade([10.0], [90.0], "95% band"))
    (0.25, 0.0)
    """
    shade = getattr(band, "shade", band)
    if not isinstance(shade, Shade):
        return 0.0
    lower, upper = (np.ravel(end) for end in shade.endpoints)
    known = np.isfinite(lower) & np.isfinite(upper)
    if not known.any() or lower[known].min() < 0 or upper[known].max() > 1:  # no shares
        return 0.0
    steps = np.diff(np.asarray(band.edges, dtype=float)) if hasattr(band, "edges") else np.ones(len(lower))
    return float(np.average((upper - lower)[known], weights=steps[known] + 1e-12))  # edges may coincide
