"""Figures and axes, styles of lines, and bands of pictures. matplotlib is imported only when something is drawn."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from io import StringIO
from os import PathLike
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import NotInstalled, Refused
from ..arrays import FloatArray
from ..conversation import PrivacyStatement
from .numerals import lettering
from .text import footer

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Figures and axes of pictures. matplotlib is imported here, and only when something is drawn.


LANDSCAPE = (5.6, 4.0)
SQUARE = (4.8, 5.4)
NO_MATPLOTLIB = "matplotlib is needed for pictures: pip install 'dpcurves[plot]'"


def canvas(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """`ax`, or the axes of a new pyplot figure of `size` inches.

    Raises:
        ImportError: matplotlib is not installed.
    """
    if ax is not None:
        return ax
    _require_matplotlib()
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def headless_axes(size: tuple[float, float] = LANDSCAPE) -> Axes:
    """The axes of a figure for files and pages, which opens no window and does not touch the state of pyplot.

    Raises:
        ImportError: matplotlib is not installed.
    """
    _require_matplotlib()
    from matplotlib.figure import Figure

    axes: Axes = Figure(figsize=size, layout="constrained").subplots()
    return axes


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise NotInstalled("plot", NO_MATPLOTLIB) from None


# Colours that the colour-blind can tell apart, dashes for those who print in grey, and the legend.


GREY, FRAME = "#8a8a8a", "#d9d9d9"
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b6b6b")
"""Okabe and Ito 2008, without the yellow, which is too pale for lines."""
DASHES = ("-", "--", "-.", ":")
CROWD = 8
Place = Literal["above", "best", "lower right", "upper center", "upper right"]


class LineStyle(NamedTuple):
    """The line style of one curve."""

    color: str
    dash: str


def next_style(ax: Axes) -> LineStyle:
    """For the next curve on `ax`: another than those before."""

    note = Footnote.of(ax)
    drawn = 0 if note is None else note.curves
    return LineStyle(PALETTE[drawn % len(PALETTE)], DASHES[drawn % len(DASHES)])


def is_blank(ax: Axes) -> bool:
    """Tell whether nothing of ours was drawn on `ax` yet."""

    return Footnote.of(ax) is None


def explain(ax: Axes, place: Place, size: float = 9) -> None:
    """A legend of all that has a label, at `place`; beside the picture where there are too many.

    Above the picture it hides nothing, if the figure has a layout that makes room for it; else it is set at best.
    """
    handles, labels = ax.get_legend_handles_labels()
    if not handles:
        return
    if len(handles) > CROWD:
        legend = ax.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=8)
    elif place == "above" and ax.figure.get_layout_engine() is not None:
        legend = ax.legend(handles, labels, loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize=size)
    else:
        inside = "best" if place == "above" else place
        legend = ax.legend(handles, labels, loc=inside, fontsize=size, framealpha=0.85, edgecolor=FRAME)
    for text in legend.get_texts():
        text.set_parse_math(False)


# Long arrays, thinned to what a picture can show.


BLOCKS = 1000


def visible(x: FloatArray, y: FloatArray, finest: int = BLOCKS) -> NDArray[np.int64]:
    """Numbers of the points to draw: all, or those that move by a thousandth of the picture, and their neighbours.

    A monotone curve keeps at most ``6 * finest`` points, and moves by less than ``1 / finest`` of its height.

    >>> visible(np.arange(5.0), np.arange(5.0)).tolist()
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


# Shaded areas of a picture: how sure a curve is, at which level, and whom that speaks of.


RECORDS = "for these records"
"""What an interval covers that knows of the noise alone."""
POPULATION = "for the population"
"""What an interval covers that knows of the noise, and of how the records were drawn."""
DEEP, PALE = 0.34, 0.15
UNNAMED = "_nolegend_"


class Shade(NamedTuple):
    """A shaded band of a picture, or an error bar at each of its points.

    Attributes:
        lower: Lower ends, of the shape of the curve.
        upper: Upper ends.
        words: Its label in the legend: level, kind, and whether it is for these records or for the population.
    """

    lower: ArrayLike
    upper: ArrayLike
    words: str

    @property
    def depth(self) -> float:
        """The opacity: intervals for the population are wider, and drawn paler."""
        return PALE if POPULATION in self.words else DEEP


def covering(level: float, what: str, whom: str) -> str:
    """The words for a band or for intervals in a legend, a table or an HTML summary.

    >>> covering(0.95, "band", RECORDS)
    '95% band for these records'
    """
    return f"{100 * level:.6g}% {what} {whom}"


def once(ax: Axes, words: str) -> str:
    """The legend entry of a shade: of the shades of several curves, one entry speaks for all."""
    return UNNAMED if words in ax.get_legend_handles_labels()[1] else words


def draw_between(
    ax: Axes, edges: FloatArray, lower: FloatArray, upper: FloatArray, *, color: str, alpha: float, title: str | None
) -> None:
    """Shade what lies between two ends over each cell."""
    cells, low, high = hull_in_blocks(edges, lower, upper)
    draw_stairs(ax, high, cells, low, fill=True, facecolor=color, alpha=alpha, linewidth=0, label=title)


# The footer on a picture. Imported only where matplotlib is there already.


try:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation
    from matplotlib.transforms import IdentityTransform
except ImportError:
    raise NotInstalled("plot", NO_MATPLOTLIB) from None

SIZE = 7.0
GAP = 4.0
LINE = 1.25 * SIZE
LETTER = 0.5 * SIZE
LONGEST_NOTE = 300
NOTE_GREY = "#6b6b6b"
WARNING = "#b3261e"


class Footnote(Annotation):
    """The claims of all curves on one axes. It hangs from the label of the x axis, wherever that goes.

    Attributes:
        claims: Each footer, and the names of the curves that it speaks of.
        notes: Each note, and the names of the curves that it was made on.
        curves: How many curves were drawn.
    """

    def __init__(self, ax: Axes) -> None:
        below_label = (ax.transAxes, ax.xaxis.label)
        super().__init__(
            "", xy=(0, 0), xycoords=below_label, xytext=(0, -GAP), textcoords="offset points", annotation_clip=False,
            verticalalignment="top", horizontalalignment="left", fontsize=SIZE, color=NOTE_GREY, parse_math=False,
            linespacing=1.25,
        )  # fmt: skip
        self.claims: dict[str, list[str]] = {}
        self.notes: dict[str, list[str]] = {}
        self.curves = 0
        self._letters = _letters_across(ax)

    @classmethod
    def of(cls, ax: Axes) -> Footnote | None:
        """The one on `ax`, if any."""
        return next((text for text in ax.texts if isinstance(text, cls)), None)

    def add(self, privacy: PrivacyStatement, name: str | None) -> None:
        """Add a curve."""
        self.curves += 1
        own = [] if name is None else [lettering(name)]
        self.claims.setdefault(footer(privacy), []).extend(own)
        for note in privacy.notes:
            self.notes.setdefault(f"Note: {lettering(note, LONGEST_NOTE)}", []).extend(own)
        if privacy.seeded:
            self.set_color(WARNING)
        self.set_text("\n".join(self._lines()))

    @property
    def height(self) -> float:
        """In points."""
        text = self.get_text()
        return GAP + LINE * (text.count("\n") + 1) if text else 0.0

    def _lines(self) -> list[str]:
        return [line for paragraph in self._paragraphs() for line in wrap(paragraph, self._letters)]

    def _paragraphs(self) -> list[str]:
        claims = list(self.claims) if len(self.claims) == 1 else _named(self.claims)
        notes = list(self.notes) if self.curves == 1 else _named(self.notes)
        return [paragraph for text in (*claims, *notes) for paragraph in text.splitlines()]


def _named(texts: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"{', '.join(names)}: {text}" if names else text for text, names in texts.items()]


def sign(ax: Axes, privacy: PrivacyStatement, name: str | None) -> None:
    """Write what `privacy` claims below `ax`, beside what stands there already."""
    note = Footnote.of(ax)
    if note is None:
        note = Footnote(ax)
        note.set_transform(IdentityTransform())
        ax.add_artist(note)
        note.set_clip_on(False)
    before = note.height
    note.add(privacy, name)
    make_room(ax, note.height - before)


def _letters_across(ax: Axes) -> int:
    box = ax.get_position()
    width, height = box.width * ax.figure.bbox.width, box.height * ax.figure.bbox.height
    across = width if ax.get_aspect() == "auto" else min(width, height)
    return max(24, int(across * 72 / ax.figure.dpi / LETTER))


def make_room(ax: Axes, points: float) -> None:
    """Shrink `ax` within its place, unless an engine lays the figure out."""
    if ax.figure.get_layout_engine() is not None or not points:
        return
    box = ax.get_position(original=True)
    room = min(points * ax.figure.dpi / 72 / ax.figure.bbox.height, 0.5 * box.height)
    ax.set_position((box.x0, box.y0 + room, box.width, box.height - room))
    ax.set_in_layout(True)


# The end of each picture of a column: axes get names, numbers are written plainly, legend and statement are set.


CLOSE = 0.05


def finish(ax: Axes, privacy: PrivacyStatement, *, across: str, upwards: str, name: str | None) -> Axes:
    """Name the axes, by a column and by what is counted, and set what stands on every picture."""
    from .ticks import write_plainly

    ax.set_xlabel(lettering(across), parse_math=False)
    ax.set_ylabel(upwards, parse_math=False)
    write_plainly(ax)
    explain(ax, "best")
    sign(ax, privacy, name)
    return ax


def leave_room(ax: Axes, room: float) -> None:
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
        raise Refused("plot", f"a file that ends in {', '.join(SILENT)} is needed, got {Path(path).name!r}")
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": SALT}):
        ax.figure.canvas.figure.savefig(
            path, format=ending[1:], dpi=SHARP, metadata=SILENT[ending], bbox_inches="tight", pad_inches=0.05
        )


def svg_text(ax: Axes) -> str:
    """The figure of `ax` as an SVG element to stand in a page: text stays text, nothing refers to the outside."""
    from matplotlib import rc_context

    drawn = StringIO()
    with rc_context({"svg.hashsalt": SALT, "svg.fonttype": "none"}):
        ax.figure.canvas.figure.savefig(
            drawn, format="svg", metadata=SILENT[".svg"], bbox_inches="tight", pad_inches=0.05
        )
    svg = _without_preamble(drawn.getvalue())
    mark = sha256(svg.encode()).hexdigest()[:8]
    return _described(renamed(svg, f"p{mark}"), f"{ax.get_ylabel()} against {ax.get_xlabel()}")


def renamed(markup: str, prefix: str) -> str:
    """`markup` with `prefix` before every id, and before every reference to one.

    >>> renamed('<g id="a"/><use href="#a"/><text>id="a"</text>', "b")
    '<g id="b-a"/><use href="#b-a"/><text>id="a"</text>'
    """
    return _in_tags(markup, r'(\sid="|href="#|url\(#)', rf"\g<1>{prefix}-")


def _without_preamble(svg: str) -> str:
    """No XML declaration, no namespaces (pages know SVG), no style sheet that would reach out into the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<defs>\s*</defs>", "", svg)
    svg = _in_tags(svg, r'\sxmlns(:\w+)?="[^"]*"', "")
    return re.sub(r"\n\s*\n", "\n", _in_tags(svg, r"\sxlink:href=", " href=")).strip()


def _in_tags(markup: str, pattern: str, replacement: str) -> str:
    """Only in tags: text may say what it likes. (In text and in attributes, angle brackets are escaped.)"""
    return re.sub(r"<[^>]*>", lambda tag: re.sub(pattern, replacement, tag[0]), markup)


def _described(svg: str, words: str) -> str:
    facts = f'role="img" aria-label="{escape(words)}" style="stroke-linejoin: round; stroke-linecap: butt"'
    return svg.replace("<svg", f"<svg {facts}", 1)
