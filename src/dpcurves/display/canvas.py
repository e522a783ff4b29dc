"""Figures, styles of lines, bands and the making of pictures. matplotlib is imported only when something is drawn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from io import StringIO
from math import floor
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import InvalidArgument, WrongArgumentType, describe_value
from ..arrays import FloatArray
from ..conversation import PrivacyStatement
from .numerals import add_time_zone, format_label, format_legend_label
from .styles import is_dark, require_matplotlib, scale_font_size, scale_line_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend


LANDSCAPE = (5.6, 4.0)
SQUARE = (4.8, 5.4)


def prepare_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """`ax`, or the axes of a new pyplot figure of `size` inches.

    Raises:
        ImportError: matplotlib is not installed.
        TypeError: `ax` is no axes.
    """
    if ax is not None:
        if not hasattr(ax, "texts"):
            raise WrongArgumentType(
                "ax", f"axes of matplotlib are needed, got {describe_value(ax)}; a file: .plot().figure.savefig()"
            )
        return ax
    require_matplotlib()
    import matplotlib.pyplot as plt

    larger = max(1.0, scale_font_size(1.0)) ** 0.5
    return plt.subplots(figsize=(larger * size[0], larger * size[1]), layout="constrained")[1]


def headless_axes(size: tuple[float, float] = LANDSCAPE) -> Axes:
    """The axes of a figure for files and pages, which opens no window and does not touch the state of pyplot.

    Raises:
        ImportError: matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    axes: Axes = Figure(figsize=size, layout="constrained").subplots()
    return axes


def enlarge_figure(ax: Axes, size: tuple[float, float]) -> None:
    """Make a figure for files and pages as large as `size` inches, where `ax` is all that it holds."""
    figure = ax.figure.get_figure(root=True)
    if figure is not None and len(figure.axes) == 1 and figure.canvas.manager is None:
        wide, high = figure.get_size_inches()
        figure.set_size_inches(max(wide, size[0]), max(high, size[1]))


# Colours that the colour-blind can tell apart, dashes for those who print in grey, and the legend.


GREY, FRAME = "#8a8a8a", "#d9d9d9"
BRIGHT = ("#56b4e9", "#ff9e4a", "#2fd0a0", "#e6a1c8", "#f0c040", "#9ec9ff", "#b8b8b8")
"""The palette on dark ground."""
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b6b6b")
"""Okabe and Ito 2008, without the yellow, which is too pale for lines."""
DASHES = ("-", "--", "-.", ":")
CROWD = 8
Place = Literal["above", "best", "lower right", "upper center", "upper right"]


class LineStyle(NamedTuple):
    """The line style of one curve."""

    color: str
    dash: str


def count_curves(ax: Axes) -> int:
    """The number of curves of ours that were drawn on `ax`."""
    from .artists import Footnote

    note = Footnote.from_axes(ax)
    return 0 if note is None else note.curves


def next_style(ax: Axes) -> LineStyle:
    """For the next curve on `ax`: another than those before."""
    return style_of(ax, count_curves(ax))


def style_of(ax: Axes, number: int) -> LineStyle:
    """The line style of the curve of this number on `ax`."""
    palette = BRIGHT if is_dark(ax) else PALETTE
    return LineStyle(palette[number % len(palette)], DASHES[number % len(DASHES)])


LARGE = 13
"""Size of letters from which on a legend stands above a picture."""
NARROW = 4.5
"""Inches below which it does, too."""


def add_legend(ax: Axes, place: Place, size: float = 9) -> None:
    """A legend of all that has a label, at `place`; beside the picture where there are too many.

    Above the picture it hides nothing, if the figure has a layout that makes room for it; else it is set at best. Where
    letters are large, or the picture is narrow, it stands there, too, for inside it would lie on curves.
    """
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    place, size = "above" if scale_font_size(10) >= LARGE or _is_narrow(ax) else place, scale_font_size(size)
    if len(handles) > CROWD:
        small = scale_font_size(8)
        legend = ax.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=small)
    elif place == "above" and ax.figure.get_layout_engine() is not None:
        legend = ax.legend(handles, labels, loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize=size)
        _lift_title(ax)
    else:
        inside = "best" if place == "above" else place
        legend = ax.legend(
            handles, labels, loc=inside, fontsize=size, framealpha=0.85, edgecolor=GREY if is_dark(ax) else FRAME
        )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _lift_title(ax: Axes) -> None:
    figure, title = ax.figure.get_figure(root=True), ax.get_title()
    if title and figure is not None and len(figure.axes) == 1 and not figure.get_suptitle():
        ax.set_title("")
        figure.suptitle(title, fontsize=scale_font_size(10), parse_math=False)


def _is_narrow(ax: Axes) -> bool:
    """Tell whether the figure of a single picture has no room for a legend beside curves."""
    figure = ax.figure
    return len(figure.axes) == 1 and float(figure.bbox.width) / figure.dpi < NARROW


# Long arrays, thinned to what a picture can show.


BLOCKS = 1000


def select_visible_points(x: FloatArray, y: FloatArray, finest: int = BLOCKS) -> NDArray[np.int64]:
    """Numbers of the points to draw: all, or those that move by a thousandth of the picture, and their neighbours.

    A monotone curve keeps at most ``6 * finest`` points, and moves by less than ``1 / finest`` of its height.

    >>> select_visible_points(np.arange(5.0), np.arange(5.0)).tolist()
    [0, 1, 2, 3, 4]
    """
    if len(x) <= 2 * finest:
        return np.arange(len(x))
    moves = np.flatnonzero((np.diff(_pixels(x, finest)) != 0) | (np.diff(_pixels(y, finest)) != 0))
    return np.unique(np.concatenate([[0], moves, moves + 1, [len(x) - 1]]))


def _pixels(values: FloatArray, finest: int) -> FloatArray:
    known = values[np.isfinite(values)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 1.0)
    rows: FloatArray = np.floor((values - low) / (high - low or 1.0) * finest)
    return rows


def hull_in_blocks(
    edges: FloatArray, low: FloatArray, high: FloatArray, finest: int = BLOCKS
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Edges and ends of a band over cells; beyond ``2 * finest`` cells, the hull of neighbouring ones.

    >>> hull_in_blocks(np.arange(4.0), np.zeros(3), np.array([1.0, 5.0, 2.0]), finest=1)
    (array([0., 3.]), array([0.]), array([5.]))
    """
    if len(low) <= 2 * finest:
        return edges, low, high
    starts = np.arange(0, len(low), -(-len(low) // finest))
    return np.append(edges[starts], edges[-1]), np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)


WIDE, EVEN_ENOUGH = 30.0, 3.0


def has_geometric_edges(edges: FloatArray) -> bool:
    """Tell whether edges rise by like ratios, from above zero and far: then they are seen on a logarithmic axis.

    >>> has_geometric_edges(np.geomspace(1, 1e6, 61)), has_geometric_edges(np.linspace(1, 1e6, 61))
    (True, False)
    >>> has_geometric_edges(np.array([1.0, 2, 5, 10, 20, 50, 100])), has_geometric_edges(np.geomspace(1, 2, 9))
    (True, False)
    >>> has_geometric_edges(np.sort(np.append(np.geomspace(1, 1e6, 61), [20, np.nextafter(20, 21)])))
    True
    """
    if len(edges) < 4 or not np.isfinite(edges).all() or edges[0] <= 0 or edges[-1] / edges[0] < WIDE:
        return False
    # Cells of one round number were added to the grid that somebody gave: they do not change its spacing.
    starts_single = np.append(edges[1:] == np.nextafter(edges[:-1], np.inf), False)
    is_added = starts_single | np.append(False, starts_single[:-1])
    is_added[[0, -1]] = False
    edges = edges[~is_added]
    if len(edges) < 4:
        return False
    ratios = np.diff(np.log(edges))
    return bool(ratios.max() <= EVEN_ENOUGH * ratios.min())


# Stairs and areas between stairs, whose limits are read off their corners: they have no curved pieces to look for.


def draw_stairs(
    ax: Axes, heights: FloatArray, edges: FloatArray, baseline: FloatArray | float | None, **style: Any
) -> None:
    """Draw what `Axes.stairs` draws. Where there are thousands of steps it takes a small part of the time.

    Args:
        ax: Where.
        heights: Those of the steps.
        edges: One more than there are heights.
        baseline: Where the area begins; None: there is none.
        style: Properties of the patch.
    """
    from matplotlib.patches import StepPatch

    stairs = StepPatch(heights, edges, baseline=baseline, **style)  # type: ignore[arg-type]  # arrays and None, too
    ax.add_artist(stairs)
    ax.update_datalim(stairs.get_path().vertices)
    if baseline is not None:
        lowest = float(np.min(baseline))
        stairs.sticky_edges.y.append(lowest)
        ax.update_datalim([(edges[0], lowest)])
    ax.autoscale_view()


def draw_between(
    ax: Axes, edges: FloatArray, lower: FloatArray, upper: FloatArray, *, color: str, alpha: float, title: str | None
) -> None:
    """Shade what lies between two ends over each cell."""
    cells, low, high = hull_in_blocks(edges, lower, upper)
    draw_stairs(ax, high, cells, low, fill=True, facecolor=color, alpha=alpha, linewidth=0, label=title)


RECORDS = "for these records"
"""Coverage of an interval by noise alone."""
POPULATION = "for the population"
"""Coverage of an interval by noise and sampling."""
DEEP, PALE = 0.34, 0.15
DENSER = 1.7
UNNAMED = "_nolegend_"


class Shade(NamedTuple):
    """A shaded band of a picture, or an error bar at each of its points.

    Attributes:
        lower: Lower ends, of the shape of the curve.
        upper: Upper ends.
        label: Its label in the legend: level, kind, and whether it is for these records or for the population.
    """

    lower: ArrayLike
    upper: ArrayLike
    label: str

    @property
    def endpoints(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends as arrays."""
        return np.atleast_1d(np.asarray(self.lower, float)), np.atleast_1d(np.asarray(self.upper, float))

    def select_rows(self, rows: Any) -> Shade:
        """Some of the ends, by their index."""
        lower, upper = self.endpoints
        return self._replace(lower=lower[rows], upper=upper[rows])


def shade_opacity(words: str, ax: Axes) -> float:
    """The opacity of a shade: intervals for the population are wider, and paler; on dark ground all are denser."""
    return (PALE if POPULATION in words else DEEP) * (DENSER if is_dark(ax) else 1.0)


def choose_colormap(ax: Axes) -> str:
    """The colour map of cells: the more, the darker, or on dark ground the brighter."""
    return "Blues_r" if is_dark(ax) else "Blues"


def describe_interval(level: float, what: str, whom: str) -> str:
    """The words for a band or for intervals in a legend, a table or an HTML summary; its level rounded down.

    >>> describe_interval(0.95, "band", RECORDS), describe_interval(0.95 ** (1 / 4), "band", RECORDS)
    ('95% band for these records', '98.72% band for these records')
    """
    percent = floor(1e4 * level + 1e-6) / 100 if level < 0.9999 else 100 * level
    return f"{percent:.6g}% {what} {whom}"


def deduplicate_label(ax: Axes, words: str) -> str:
    """The legend entry of a shade: of the shades of several curves, one entry speaks for all."""
    return UNNAMED if words in ax.get_legend_handles_labels()[1] else words


# The making of a picture: layers in the style of its curve; axes, legend and statement are the same for all.


CLOSE = 0.05
UNIT = -0.02, 1.02
"""From below a share of 0 to above a share of 1."""


class DrawingOptions(TypedDict, total=False):
    """The place of a picture, as all functions take it that draw one.

    Attributes:
        ax: Where to draw; None: in a new figure.
        name: What the legend calls what is drawn.
    """

    ax: Axes | None
    name: str | None


class ShadedDrawingOptions(DrawingOptions, total=False):
    """The place of a picture, and what is shaded on it.

    Attributes:
        shades: Bands or intervals, by their lower and upper ends at each point, the wider ones first.
    """

    shades: Sequence[Shade]


class Picture:
    """A curve on its axes: it is drawn in layers, and then explained and signed.

    Attributes:
        ax: Where to draw.
        shades: What is shaded.
        name: What the legend calls the curve.
        before: How many curves were drawn there before.
        style: Colour and dash of this one.
    """

    def __init__(
        self,
        size: tuple[float, float],
        privacy: PrivacyStatement,
        *,
        shades: Sequence[Shade] = (),
        ax: Axes | None = None,
        name: str | None = None,
    ) -> None:
        self.ax, self.privacy, self.shades, self.name = prepare_axes(ax, size), privacy, shades, name
        self.before, self.style = count_curves(self.ax), next_style(self.ax)

    @property
    def is_first(self) -> bool:
        """True where nothing of ours was drawn before."""
        return self.before == 0

    def legend_label(self, words: str = "") -> str | None:
        """The legend entry of the curve: its name, and these words."""
        name = () if self.name is None else (format_legend_label(self.name),)
        return ": ".join((*name, *filter(None, (words,)))) or None

    def shade_band(
        self, edges: ArrayLike, lower: ArrayLike, upper: ArrayLike, words: str, alpha: float | None = None
    ) -> None:
        """Shade what lies between two ends over each cell."""
        ends = (np.asarray(each, dtype=float) for each in (edges, lower, upper))
        dense, title = shade_opacity(words, self.ax) if alpha is None else alpha, deduplicate_label(self.ax, words)
        draw_between(self.ax, *ends, color=self.style.color, alpha=dense, title=title)

    def shade_slopes(
        self, at: ArrayLike, lower: ArrayLike, upper: ArrayLike, words: str, *, alpha: float | None = None
    ) -> None:
        """Shade what lies between two ends at each place, and straight between places."""
        alpha = shade_opacity(words, self.ax) if alpha is None else alpha
        how: Any = {"color": self.style.color, "alpha": alpha, "linewidth": 0}
        self.ax.fill_between(at, lower, upper, label=deduplicate_label(self.ax, words), **how)

    def scale_x_axis(self, edges: ArrayLike) -> Picture:
        """Make the x axis of the first curve logarithmic, where the cells between `edges` grow with their values."""
        if self.is_first and has_geometric_edges(np.asarray(edges, dtype=float)):
            self.ax.set_xscale("log")
        return self

    def draw_bars(
        self, at: ArrayLike, ends: tuple[ArrayLike, ArrayLike], words: str, *, width: float, alpha: float
    ) -> None:
        """Bars along x, as intervals are drawn."""
        label = deduplicate_label(self.ax, words)
        self.ax.hlines(at, *ends, color=self.style.color, alpha=alpha, linewidth=width, label=label)

    def draw_line(self, x: ArrayLike, y: ArrayLike, label: str | None) -> None:
        """A line through as many points as can be seen."""
        across, upwards = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        seen = select_visible_points(across, upwards)
        self.draw_points(across[seen], upwards[seen], self.style.dash, linewidth=scale_line_width(1.6), label=label)

    def draw_steps(self, edges: ArrayLike, heights: ArrayLike, *, width: float) -> None:
        """Steps, each of the height at the edge where it begins."""
        how: Any = {"color": self.style.color, "linestyle": self.style.dash, "linewidth": scale_line_width(width)}
        self.ax.step(edges, heights, where="post", label=self.legend_label(), **how)

    def shades_with_widths(self) -> list[tuple[Shade, float]]:
        """The shades, each with the width of its bars: the last one lies within the others."""
        return [(shade, 7.0) for shade in self.shades[:-1]] + [(shade, 4.0) for shade in self.shades[-1:]]

    def draw_points(self, x: ArrayLike, y: ArrayLike, form: str = "o", **style: Any) -> None:
        """Points or lines in the colour of the curve."""
        self.ax.plot(x, y, form, color=self.style.color, **style)

    def add_legend_note(self, words: str) -> None:
        """A line of the legend that stands for nothing drawn."""
        self.ax.plot([], [], " ", label=words)

    def annotate_point(self, x: float, y: float, words: str, up: float) -> None:
        """Write so many points above a place."""
        self.ax.annotate(words, (x, y), (0, up), textcoords="offset points", ha="center", fontsize=scale_font_size(8))

    def label_axes(
        self, across: str = "", upwards: str = "", *, place: Place = "best", size: float = 9, plainly: bool = True
    ) -> Picture:
        """Name the axes, where they need a name, write their numbers plainly, and set the legend."""
        from .artists import format_axes

        if across:
            self.ax.set_xlabel(format_label(add_time_zone(across)), parse_math=False)
        if upwards:
            self.ax.set_ylabel(upwards, parse_math=False)
        if plainly:
            format_axes(self.ax, across)
        add_legend(self.ax, place, size)
        return self

    def add_statement(self) -> Axes:
        """The axes, with the privacy statement below."""
        from .artists import add_statement

        add_statement(self.ax, self.privacy, self.name)
        return self.ax


def set_title(ax: Axes, title: str) -> Axes:
    """Set a title above a new picture that has none: above its legend, too, where this stands above."""
    figure, legend = ax.figure.get_figure(root=True), ax.get_legend()
    titled = sum(bool(each.get_title()) for each in figure.axes) if figure is not None else 1
    if figure is None or titled == 1 or figure.get_suptitle():
        return ax
    if figure.legends:
        figure.legends[0].set_title(format_label(title))
        words = figure.legends[0].get_title()
        words.set_fontsize(scale_font_size(10))
        words.set_parse_math(False)
    elif titled or (legend is not None and _is_above(ax, legend)):
        figure.suptitle(format_label(title), fontsize=scale_font_size(10), parse_math=False)
    else:
        ax.set_title(format_label(title), fontsize=scale_font_size(10), parse_math=False)
    return ax


def _is_above(ax: Axes, legend: Legend) -> bool:
    """Tell whether a legend stands on an upper corner, as `add_legend` has it above a picture."""
    place = ax.transAxes.inverted().transform(legend.get_bbox_to_anchor().min)
    return any(np.allclose(place, corner, atol=1e-3) for corner in ((0, 1), (1, 1)))


def reserve_legend_room(ax: Axes, room: float) -> None:
    """Leave this part of the height free for the legend, above all that was drawn."""
    ax.autoscale(axis="y")
    ax.margins(y=CLOSE)
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom, top + room * (top - bottom))


# Pictures as files and as inline SVG: the same picture gives the same bytes, and tells no date and no name.


SILENT: dict[str, dict[str, None]] = {
    ".svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
SALT = "dpcurves"
SHARP = 200


def save_figure(ax: Axes, path: str | PathLike[str]) -> None:
    """Write the figure of `ax` to `path`, in the format that its ending names.

    Raises:
        ValueError: the ending is not .svg, .png or .pdf.
    """
    ending = Path(path).suffix.lower()
    if ending not in SILENT:
        raise InvalidArgument("plot", f"a file that ends in {', '.join(SILENT)} is needed, got {Path(path).name!r}")
    save_axes(ax, path, ending)


def save_axes(ax: Axes, place: str | PathLike[str] | IO[bytes], ending: str, dots: int = SHARP) -> None:
    """Write the figure of `ax` to a file, in the format of an ending, with no date and no name of a program.

    Args:
        ax: The axes.
        place: The file.
        ending: ``.svg``, ``.png`` or ``.pdf``.
        dots: Dots per inch.
    """
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": SALT, "svg.fonttype": "none"}):
        ax.figure.canvas.figure.savefig(
            place, format=ending[1:], dpi=dots, metadata=SILENT[ending], bbox_inches="tight", pad_inches=0.05
        )


def svg_text(ax: Axes) -> str:
    """The figure of `ax` as an SVG element to stand in a page: text stays text, nothing refers to the outside."""
    from matplotlib import rc_context

    drawn = StringIO()
    with rc_context({"svg.hashsalt": SALT, "svg.fonttype": "none"}):
        ax.figure.canvas.figure.savefig(
            drawn, format="svg", metadata=SILENT[".svg"], bbox_inches="tight", pad_inches=0.05
        )
    svg = _strip_preamble(drawn.getvalue())
    svg = prefix_ids(svg, f"p{sha256(svg.encode()).hexdigest()[:8]}")
    words = escape(f"{ax.get_ylabel()} against {ax.get_xlabel()}")
    facts = f'role="img" aria-label="{words}" style="stroke-linejoin: round; stroke-linecap: butt"'
    return svg.replace("<svg", f"<svg {facts}", 1)


def prefix_ids(markup: str, prefix: str) -> str:
    """`markup` with `prefix` before every id, and before every reference to one.

    >>> prefix_ids('<g id="a"/><use href="#a"/><text>id="a"</text>', "b")
    '<g id="b-a"/><use href="#b-a"/><text>id="a"</text>'
    """
    return _replace_in_tags(markup, r'(\sid="|href="#|url\(#)', rf"\g<1>{prefix}-")


def _strip_preamble(svg: str) -> str:
    """No XML declaration, no namespaces (pages know SVG), no style sheet that would reach out into the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<defs>\s*</defs>", "", svg)
    svg = _replace_in_tags(svg, r'\sxmlns(:\w+)?="[^"]*"', "")
    return re.sub(r"\n\s*\n", "\n", _replace_in_tags(svg, r"\sxlink:href=", " href=")).strip()


def _replace_in_tags(markup: str, pattern: str, replacement: str) -> str:
    """Only in tags: text may say what it likes. (In text and in attributes, angle brackets are escaped.)"""
    return re.sub(r"<[^>]*>", lambda tag: re.sub(pattern, replacement, tag[0]), markup)
