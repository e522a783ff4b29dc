"""Figure layout for matplotlib: a layout engine that keeps labels and legends from overlapping or being cut off.

matplotlib's constrained layout gives every part its room, but leaves long labels and legends as they are.
`FittedLayout` extends it. Whenever the figure is drawn, it measures the boxes of all parts in pixels, and then

- wraps titles and axis labels that are wider than their room, and turns category names that would overlap;
- places each legend in a free corner of its plot, or above the plot if it would cover data;
- names a few lines at their right ends instead of in a legend, where they end apart;
- enlarges the figure instead of letting the plots become small.

`LegendRequest` describes a legend; `Tuning` holds all sizes. The module is imported only once a plot is
made, because it imports matplotlib.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, cast
from warnings import catch_warnings, filterwarnings
from weakref import WeakKeyDictionary

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import Collection, PathCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.text import Annotation
from matplotlib.ticker import FixedLocator, MaxNLocator
from matplotlib.transforms import Bbox

from ..translation import Reader
from .artists import Footnote, list_colorbars, measure_in
from .numerals import LONGEST_LABEL, break_label, count_columns, cut_middle, distinguish_labels, shorten_entries

if TYPE_CHECKING:
    from matplotlib.backend_bases import RendererBase
    from matplotlib.legend import Legend
    from matplotlib.text import Text


@dataclass(frozen=True)
class Tuning:
    """Numbers that steer `FittedLayout`: sizes of the parts of a figure, and limits of its growth."""

    legend_share: float = 0.25
    """Share of the figure's area that all legends may take."""
    plot_width: float = 0.6
    """Share of the figure's width, as first requested, that the plots keep."""
    plot_height: float = 0.55
    """Share of the figure's height, as first requested, that the plots keep."""
    panel_width: float = 1.2
    """Inches. Least width of each of several plots."""
    panel_height: float = 0.8
    """Inches. Least height of each of several plots."""
    largest_growth: float = 3.0
    """Ratio of the largest width or height to the requested one."""
    passes: int = 8
    """Layouts of a figure at most, each after a change by the one before; two or three are usual."""
    legend_gap: float = 3.0
    """Points between a legend and the data."""
    most_columns: int = 3
    """Columns of a legend above a plot."""
    label_lines: int = 3
    """Lines of a title or an axis label, beside those written below it; longer ones are cut in the middle."""
    turned: float = 40.0
    """Degrees by which category names below an axis are turned if they would overlap."""
    turned_letters: int = 40
    """Characters of a turned category name; longer ones are cut in the middle."""
    row_gap: float = 2.0
    """Points between category names beside an axis."""
    labelled_lines: int = 5
    """Lines. The most lines that are named at their right ends instead of in the legend."""
    label_letters: int = 20
    """Characters of the longest name at the end of a line."""
    label_height: float = 1.25
    """Least distance of names at the ends of lines, as a ratio to the font size."""
    line_reach: float = 0.97
    """Share of the plot's width that a line with a name at its end reaches."""
    label_contrast: float = 3.0
    """Ratio of luminances that all lines need for names in their colours (WCAG 2.2, criterion 1.4.11)."""


TUNING = Tuning()
"""Sizes of the parts of a figure, in shares, inches and points, and limits of its growth, unless a layout gets others.
Effects stand at the fields of `Tuning`."""
LEGEND_PLACES = ("upper right", "upper left", "lower right", "lower left", "center right", "center left")
"""Places of a legend inside a plot, in the order in which they are tried: corners before sides."""
UNWRAPPED_LETTERS = 10_000
"""Characters of a line, more than any legend entry has: legends are laid out unwrapped at first, and wrapped only if
they do not fit."""
BELOW_POSITION = ("data", "axes fraction")
"""Coordinate systems (``xycoords`` of matplotlib) by which texts below positions of the x axis are recognised, so that
the layout leaves room for them."""
LABEL_TITLE = "title of names at lines"
"""Identifier (``gid`` of matplotlib) of the text above the names at the ends of lines, by which the layout tells it
from these names."""
COLORBAR, STATEMENT = "<colorbar>", "<statement>"
"""Labels of axes that are no plots: of a colour bar, by matplotlib, and of the statement below several plots."""


@dataclass
class LegendRequest:
    """Requested place and look of the legend of one plot.

    Attributes:
        place: Place inside the plot in matplotlib's words, such as ``upper right``; ``best``: a free corner.
        is_above: Whether the legend is above the plot. The layout sets this if no corner is free.
        size: Points. Font size.
        title: Title, such as the column of the categories that curves are named after; empty: no title.
        inside_style: Frame of a legend inside the plot, as keyword arguments of `Axes.legend`.
        label_color: Colour of the legend's texts.
    """

    place: str
    is_above: bool
    size: float
    title: str
    inside_style: Mapping[str, Any]
    label_color: str
    title_pad: float = 0.0
    """Points between the plot and its title, above the legend."""
    has_line_labels: bool | None = None
    """Whether lines are named at their ends; None: not decided."""
    line_labels: list[Annotation] = field(default_factory=list)
    """Names at the ends of lines, and the title above them."""
    longest_entry: int = 3 * LONGEST_LABEL
    """Characters. Longer entries are cut in the middle; lowered only when the figure can grow no more."""

    def remove_line_labels(self) -> None:
        """Remove the names at the ends of lines."""
        for label in self.line_labels:
            if label.axes is not None:
                label.remove()
        self.line_labels.clear()


class FittedLayout(ConstrainedLayoutEngine):
    """A constrained layout that also wraps labels, keeps legends off the data, and enlarges the figure.

    Every step looks at measured boxes and changes nothing if all fits, so that a second layout equals the first.

    Args:
        tuning: Sizes of the parts of a figure.
    """

    def __init__(self, tuning: Tuning = TUNING) -> None:
        super().__init__()
        self._tuning = tuning
        self._legends: WeakKeyDictionary[Axes, LegendRequest] = WeakKeyDictionary()
        self._whole_texts: WeakKeyDictionary[Text, tuple[str, str]] = WeakKeyDictionary()
        self._requested_size = self._grown_size = (0.0, 0.0)

    def request_legend(self, ax: Axes, request: LegendRequest) -> None:
        """Add a legend of all labelled artists of `ax`, in place of an earlier one.

        The legend gets its final place when the figure is drawn: in a corner where it covers no data, else above the
        plot.

        Args:
            ax: The plot.
            request: Place and look. The layout keeps and changes this object.
        """
        if ax in self._legends:
            self._legends[ax].remove_line_labels()
        self._legends[ax] = request
        _create_legend(ax, request, 1, UNWRAPPED_LETTERS)

    def legend_title(self, ax: Axes) -> str:
        """Return the title of the legend of `ax`; empty if it has none."""
        return self._legends[ax].title if ax in self._legends else ""

    def has_legend(self, ax: Axes) -> bool:
        """Return whether this layout places the legend of `ax`."""
        return ax in self._legends

    def remove_legend(self, ax: Axes) -> None:
        """Remove the legend of `ax`, and the names at its lines, also from later layouts. Without one, do nothing."""
        request = self._legends.pop(ax, None)
        legend = ax.get_legend()
        if request is not None:
            request.remove_line_labels()
        if legend is not None:
            legend.remove()

    def translate_legend(self, ax: Axes, reader: Reader) -> None:
        """Create the legend of `ax` again after its entries were translated, with a title in the reader's language.

        Args:
            ax: A plot whose legend this layout places.
            reader: Translator of texts.

        Raises:
            KeyError: this layout places no legend of `ax`.
        """
        request = self._legends[ax]
        request.title = reader.translate(request.title)
        _create_legend(ax, request, 1, UNWRAPPED_LETTERS)

    def set_legend_title(self, ax: Axes, title: str) -> None:
        """Set the title of the legend of `ax`, whose entries then begin with the named curves. Without a legend, do
        nothing.

        Args:
            title: Name of the column whose categories name the curves.
        """
        request = self._legends.get(ax)
        if request is not None:
            request.title = title
            request.remove_line_labels()
            request.has_line_labels = None
            _create_legend(ax, request, 1, UNWRAPPED_LETTERS)

    def execute(self, fig: Figure) -> None:
        """Lay out `fig`; matplotlib calls this whenever the figure is drawn.

        Steps are repeated until none changes anything, at most `Tuning.passes` times. The figure may become larger, by
        at most `Tuning.largest_growth`; a size that the caller has set since counts as requested.
        """
        size = tuple(fig.get_size_inches().tolist())
        wrapping = self._wrap_labels, self._wrap_notes, self._place_legends
        if size != self._grown_size:  # new, or resized by the caller
            self._requested_size = self._grown_size = size
            for step in wrapping:
                step(fig, fig._get_renderer())  # type: ignore[attr-defined]
        self._apply_constrained_layout(fig)
        steps = *wrapping, self._separate_ticks, self._thin_numbers_below, self._enlarge
        for _ in range(self._tuning.passes):
            renderer = fig._get_renderer()  # type: ignore[attr-defined]  # what constrained layout uses, too
            for ax in fig.axes:
                ax.apply_aspect()
            if not any([step(fig, renderer) for step in steps]):
                return
            self._apply_constrained_layout(fig)

    def _apply_constrained_layout(self, fig: Figure) -> None:
        """Apply matplotlib's constrained layout; enlarge the figure as long as nothing of a plot would be left.

        Args:
            fig: The figure.
        """
        for attempt in range(self._tuning.passes):
            with catch_warnings():
                filterwarnings("error", "constrained_layout not applied", UserWarning)
                try:
                    super().execute(fig)
                    if any(ax.get_label() == COLORBAR for ax in fig.axes):  # its room was computed in the pass before
                        super().execute(fig)
                    elif any(ax.get_aspect() != "auto" for ax in fig.axes):
                        self._fit_equal_scales(fig)
                    return
                except UserWarning:  # mostly the height is missing; the next steps find the right size
                    width, height = fig.get_size_inches()
                    self._resize(fig, *((1.2 * width, height) if attempt % 2 else (width, 1.4 * height)))
                    self._lower_legends(fig)
        super().execute(fig)

    def _fit_equal_scales(self, fig: Figure) -> None:
        """Repeat the constrained layout until all texts are in the figure: a plot with equal scales is smaller than the
        space it gets, so that each layout moves the texts around it.

        Args:
            fig: The figure.
        """
        for _ in range(self._tuning.passes):
            drawn = fig.get_tightbbox(fig._get_renderer())  # type: ignore[attr-defined]
            width, height = fig.get_size_inches()
            if drawn.x0 >= 0 and drawn.x1 <= width and drawn.y0 >= 0 and drawn.y1 <= height:
                return
            super().execute(fig)

    def _resize(self, fig: Figure, width: float, height: float) -> None:
        """Set the size of `fig` in inches; each side is at most `Tuning.largest_growth` times its requested length.

        Args:
            fig: The figure.
            width: Requested width, in inches.
            height: Requested height, in inches.
        """
        limits = (self._tuning.largest_growth * side for side in self._requested_size)
        widest, highest = limits
        fig.set_size_inches(min(width, widest), min(height, highest))
        self._grown_size = tuple(fig.get_size_inches().tolist())

    def _wrap_labels(self, fig: Figure, renderer: RendererBase) -> bool:
        """Wrap titles and axis labels at the size of the figure; return whether a text changed.

        Args:
            fig: The figure.
            renderer: Measures texts in pixels.
        """
        margin = 0.03 * fig.bbox.width  # of the width, left free at both sides
        changed = False
        for text, available in self._list_labels_with_length(fig):
            last, whole = self._whole_texts.get(text, ("", ""))
            if text.get_text() != last:
                whole = text.get_text()
            # Cutting would join lines that were written apart.
            most_lines = self._tuning.label_lines + whole.count("\n")
            lines = fit_text(text, whole, available - margin, most_lines, renderer)
            changed |= lines != text.get_text()
            text.set_text(lines)
            self._whole_texts[text] = lines, whole
        return changed

    def read_unwrapped(self, text: Text) -> str:
        """Return a title or an axis label as it was before the layout wrapped or cut it.

        Args:
            text: Artist with the title or label.
        """
        last, whole = self._whole_texts.get(text, ("", ""))
        return whole if text.get_text() == last else text.get_text()

    def _list_labels_with_length(self, fig: Figure) -> Iterator[tuple[Text, float]]:
        """Yield each title and axis label with text, and the length in pixels that one line of it may have.

        Args:
            fig: The figure.

        Yields:
            Pairs of a text and the pixels for a line, along its direction.
        """
        width, height = fig.bbox.width, fig.bbox.height
        if fig._suptitle is not None and fig._suptitle.get_text():  # type: ignore[attr-defined]
            yield fig._suptitle, width  # type: ignore[attr-defined]
        for ax in fig.axes:
            box = ax.get_window_extent()
            grid = ax.get_subplotspec()
            middle = (box.y0 + box.y1) / 2
            centre = (box.x0 + box.x1) / 2
            columns = 1 if grid is None else grid.get_gridspec().ncols
            across = 2 * min(centre, width - centre)
            if columns > 1:  # neighbours have titles of the same width
                across = min(across, 0.95 * width / columns)
            upwards = 2 * min(middle, height - middle)
            for text, limit in ((ax.title, across), (ax.xaxis.label, across), (ax.yaxis.label, upwards)):
                if text.get_text() and text.get_visible():
                    yield text, limit

    def _place_legends(self, fig: Figure, renderer: RendererBase) -> bool:
        """Move legends that cover data or are too wide; return whether one changed.

        Args:
            fig: The figure.
            renderer: Renderer that measures texts.
        """
        return any([self._place_legend(ax, request, fig, renderer) for ax, request in list(self._legends.items())])

    def _place_legend(self, ax: Axes, request: LegendRequest, fig: Figure, renderer: RendererBase) -> bool:
        """Leave the legend of `ax` where it is, or move it to a free corner or above the plot; return whether it
        changed.

        Args:
            ax: Axes with the legend.
            request: What was asked of the legend, and where it is now.
            fig: Figure of the axes; nothing is done for others.
            renderer: Renderer that measures texts.
        """
        if ax.figure is not fig:
            return False
        if self._label_lines(ax, request, fig, renderer):
            return True
        legend = ax.get_legend()
        if legend is None:
            return False
        before = _describe_legend(legend)
        if not request.is_above:
            if self._find_free_corner(ax, legend, request, fig, renderer):
                return _describe_legend(legend) != before
            request.is_above = True
        available = self._width_from_left_edge(ax, fig)
        self._fit_above(ax, request, available, fig, renderer)
        placed = ax.get_legend() or legend
        pad = placed.get_window_extent(renderer).height * 72 / fig.dpi + 4  # points above the legend
        moved = bool(ax.get_title()) and abs(pad - request.title_pad) > 0.5  # points
        if moved:
            request.title_pad = pad
            ax.set_title(ax.get_title(), fontsize=ax.title.get_fontsize(), color=ax.title.get_color(), pad=pad)
        return moved or _describe_legend(placed) != before

    def _label_lines(self, ax: Axes, request: LegendRequest, fig: Figure, renderer: RendererBase) -> bool:
        """Write the names of a few lines at their right ends in place of a legend; return whether the legend changed.

        If the names come to lie on each other, as the plot becomes lower, all go back into the legend for good.

        Args:
            ax: The plot.
            request: Requested legend of the plot; it stores the choice.
            fig: The figure.
            renderer: Renderer that measures texts.
        """
        if request.has_line_labels is False or (ax.get_legend() is None and not request.line_labels):
            return False

        # Names at the lines and names in the legend exclude each other.
        ends = self._find_line_ends(ax, request, fig)
        if bool(ends) == bool(request.line_labels):
            request.has_line_labels = bool(ends)
            return False
        request.has_line_labels = bool(ends)
        request.remove_line_labels()

        # A name has the colour of its line only where all lines are dark enough to be read as text.
        write = partial(_write_line_label, ax, size=request.size)
        ground = to_rgb(ax.get_facecolor())
        colors = [to_rgb(line.get_color()) for line, _ in ends]
        is_colored = all(_contrast(color, ground) >= self._tuning.label_contrast for color in colors)
        for line, end in ends:
            color = str(line.get_color()) if is_colored else request.label_color
            request.line_labels.append(write(str(line.get_label()), end, color=color))
        if ends and request.title:
            title = cut_middle(" ".join(request.title.split()), self._tuning.label_letters)
            highest = max((end for _, end in ends), key=lambda end: float(ax.transData.transform((0.0, end))[1]))
            up = self._tuning.label_height * request.size
            request.line_labels.append(write(title, highest, color=request.label_color, up=up))
            request.line_labels[-1].set_gid(LABEL_TITLE)

        # The legend keeps entries that no line label has replaced, such as bands.
        if all(any(handle is line for line, _ in ends) for handle in ax.get_legend_handles_labels()[0]):
            legend = ax.get_legend()
            if legend is not None:
                legend.remove()
        else:
            _create_legend(ax, request, 1, UNWRAPPED_LETTERS)
        return True

    def _find_line_ends(self, ax: Axes, request: LegendRequest, fig: Figure) -> list[tuple[Line2D, float]]:
        """Find the curves of a plot that can be labelled at their right ends, in place of a legend.

        Args:
            ax: The plot.
            request: Settings of its legend, such as the size of letters.
            fig: The figure.

        Returns:
            Lines with the heights of their right ends, in data units; empty unless they are few, reach the right side,
            have short names and end apart.
        """
        lines = [
            handle
            for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
            if isinstance(handle, Line2D) and handle.get_linestyle() not in ("None", "", " ") and label.strip()
        ]
        if not 2 <= len(lines) <= self._tuning.labelled_lines or ax.get_label() == STATEMENT:
            return []
        ends = list[tuple[Line2D, float]]()
        left, right = ax.transAxes.transform([(0.0, 0.0), (1.0, 1.0)])[:, 0]
        for line in lines:
            if not all(line.get_transform().contains_branch_seperately(ax.transData)):
                return []  # a line across the plot, as of `axhline`
            points = np.column_stack(line.get_data(orig=False)).astype(float)
            points = points[np.isfinite(points).all(axis=1)]
            name = str(line.get_label())
            if not len(points) or "\n" in name or count_columns(name) > self._tuning.label_letters:
                return []
            across, upwards = ax.transData.transform(points[-1])
            if across < left + self._tuning.line_reach * (right - left) or not ax.bbox.y0 <= upwards <= ax.bbox.y1:
                return []
            ends.append((line, float(points[-1, 1])))
        heights = np.sort(ax.transData.transform([(points_end[1], points_end[1]) for points_end in ends])[:, 1])
        least = self._tuning.label_height * request.size * fig.dpi / 72
        return ends if np.diff(heights).min() >= least else []

    def _width_from_left_edge(self, ax: Axes, fig: Figure) -> float:
        """Return the width in pixels that a legend or footnote of a plot may take, from the left edge of the plot.

        Args:
            ax: The plot.
            fig: The figure.
        """
        bars = list_colorbars(ax)
        if bars:  # without their labels, so that the statement never reaches a neighbour
            return float(max(bar.get_window_extent().x1 for bar in bars) - ax.get_window_extent().x0)
        width = min(fig.bbox.width, self._requested_size[0] * fig.dpi)
        grid = ax.get_subplotspec()
        if grid is not None and Footnote.from_axes(ax) is not None:
            columns = grid.get_gridspec().ncols / len(grid.colspan)
            if columns > 1:
                return float(0.85 * width / columns)  # the remainder is for the labels left of the plot
        # a margin at the right; names beside the plot do not leave less than two thirds
        return float(max(width - max(ax.get_window_extent().x0, 0.0), 0.66 * width) - 0.02 * width)

    def _wrap_notes(self, fig: Figure, renderer: RendererBase) -> bool:
        """Wrap the statements below the plots at the width of the figure; return whether a text changed.

        Args:
            fig: The figure.
            renderer: Renderer that measures texts.
        """
        notes = [(ax, Footnote.from_axes(ax)) for ax in fig.axes]
        return any([note.fit(self._width_from_left_edge(ax, fig), renderer) for ax, note in notes if note is not None])

    def _find_free_corner(
        self, ax: Axes, legend: Legend, request: LegendRequest, fig: Figure, renderer: RendererBase
    ) -> bool:
        """Put a legend where it covers no data; return False if it would everywhere, or is too large for the plot.

        Args:
            ax: Axes with the legend.
            legend: The legend.
            request: Where the legend is now; changed if it moves.
            fig: Figure of the axes.
            renderer: Renderer that measures texts.
        """
        plot = ax.get_window_extent()
        gap = self._tuning.legend_gap * fig.dpi / 72
        places = dict.fromkeys(
            [*([request.place] if request.place in LEGEND_PLACES else []), *LEGEND_PLACES, "upper center"]
        )
        last = request.place if request.place != "best" else None
        for place in [last, *places] if last in places else places:
            legend.set_loc(cast("Any", place))
            box = legend.get_window_extent(renderer)
            too_large = box.width * box.height > self._tuning.legend_share * fig.bbox.width * fig.bbox.height
            if too_large or box.width > 0.7 * plot.width or box.height > 0.7 * plot.height:  # of the plot's sides
                return False
            if not covers_data(ax, box.padded(gap)):
                request.place = str(place)
                return True
        return False

    def _fit_above(
        self, ax: Axes, request: LegendRequest, available: float, fig: Figure, renderer: RendererBase
    ) -> None:
        """Put the legend above the plot, in as many columns as fit into `available` pixels, with wrapped entries.

        Args:
            ax: Axes with the legend.
            request: What was asked of the legend.
            available: Width in pixels.
            fig: Figure of the axes.
            renderer: Renderer that measures texts.
        """
        entries = len(ax.get_legend_handles_labels()[1])
        columns = range(min(self._tuning.most_columns, entries), 0, -1)
        # Characters of a line of a wrapped entry, each about 4/5 of the last.
        wrapped_letters = (90, 75, 60, 50, 40, 32, 26, 20, 14)
        forms = [(number, UNWRAPPED_LETTERS) for number in columns] + [(1, letters) for letters in wrapped_letters]

        def create(form: tuple[int, int]) -> float:
            """Create the legend and return its width in pixels.

            Args:
                form: Number of columns, and characters of a line of an entry.
            """
            return float(_create_legend(ax, request, *form).get_window_extent(renderer).width)

        if create(forms[0]) <= available:
            return
        # Forms are ordered by width and take long to measure, so the first that fits is found by bisection.
        first = bisect_left(forms, True, lo=1, hi=len(forms) - 1, key=lambda form: create(form) <= available)
        create(forms[first])

    def _separate_ticks(self, fig: Figure, renderer: RendererBase) -> bool:
        """Turn category names that overlap along x, and draw fewer numbers; return whether something changed.

        Args:
            fig: The figure.
            renderer: Renderer that measures texts.
        """
        return any([self._separate_ticks_of(ax, fig, renderer) for ax in fig.axes])

    def _separate_ticks_of(self, ax: Axes, fig: Figure, renderer: RendererBase) -> bool:
        """Turn or thin out the tick labels of the x axis of `ax` if they overlap; return whether something changed.

        Args:
            ax: The plot.
            fig: The figure.
            renderer: Renderer that measures texts.
        """
        labels = [text for text in ax.get_xticklabels() if text.get_text() and text.get_visible()]
        if not ax.xaxis.get_visible() or len(labels) < 2 or labels[0].get_rotation() != 0:
            return False
        boxes = sorted((text.get_window_extent(renderer) for text in labels), key=lambda box: box.x0)
        gap = 0.25 * float(labels[0].get_fontsize()) * fig.dpi / 72  # of the letter size
        if all(left.x1 + gap <= right.x0 for left, right in pairwise(boxes)):
            return False
        if isinstance(ax.xaxis.get_major_locator(), FixedLocator):
            self._turn_names(ax, labels, fig)
            return True
        locator = ax.xaxis.get_major_locator()
        bins = getattr(locator, "_nbins", None)
        if isinstance(locator, MaxNLocator) and isinstance(bins, int) and bins > 1:
            locator.set_params(nbins=bins - 1)
            return True
        return False

    def _thin_numbers_below(self, fig: Figure, renderer: RendererBase) -> bool:
        """Hide every second column of a table below an axis, such as numbers at risk, whose texts overlap; return
        whether something changed.

        Args:
            fig: The figure.
            renderer: Renderer that measures texts.
        """
        return any([self._thin_numbers_of(ax, renderer) for ax in fig.axes])

    def _thin_numbers_of(self, ax: Axes, renderer: RendererBase) -> bool:
        """Hide every second column of the table below the x axis of `ax` if texts overlap.

        Args:
            ax: The plot.
            renderer: Renderer that measures texts.

        Returns:
            True if a further call may hide more, as texts overlapped and more than one column is left.
        """
        cells = [
            text for text in ax.texts
            if isinstance(text, Annotation) and text.get_visible() and text.xycoords == BELOW_POSITION
        ]  # fmt: skip
        boxes = [text.get_window_extent(renderer) for text in cells]
        if not any(one.overlaps(other) for one, other in combinations(boxes, 2)):
            return False
        shown = sorted({float(text.xy[0]) for text in cells})[::2]
        for text in cells:
            text.set_visible(float(text.xy[0]) in shown)
        return len(shown) > 1

    def _turn_names(self, ax: Axes, labels: Sequence[Text], fig: Figure) -> None:
        """Turn the category names below an axis, on one line each, as far as their distances need.

        Args:
            ax: Axes of the plot.
            labels: Labels of its x axis.
            fig: Figure of the axes, with its resolution.
        """
        ticks = np.sort(ax.transData.transform([(tick, 0.0) for tick in ax.get_xticks()])[:, 0])
        line = 1.3 * float(labels[0].get_fontsize()) * fig.dpi / 72  # pixels: height of a line over the letter size
        fits = float(np.diff(ticks).min()) * np.sin(np.radians(self._tuning.turned)) > line
        names = distinguish_labels([text.get_text().replace("\n", " ") for text in labels], self._tuning.turned_letters)
        # turned labels need another size: matplotlib makes them anew from the names
        ax.set_xticks(
            ax.get_xticks(), names, rotation=self._tuning.turned if fits else 90, rotation_mode="anchor",
            horizontalalignment="right", verticalalignment="top" if fits else "center", parse_math=False,
            fontsize=float(labels[0].get_fontsize()), color=labels[0].get_color(),
        )  # fmt: skip

    def _enlarge(self, fig: Figure, renderer: RendererBase) -> bool:
        """Enlarge the figure if its plots are too small, its legends too large, or its rows too dense; return
        whether it grew.

        Args:
            fig: The figure.
            renderer: Renderer that measures texts.
        """
        width, height = fig.get_size_inches().tolist()
        plots_of_data = [ax for ax in fig.axes if ax.get_label() not in (COLORBAR, STATEMENT)]
        # the room of a plot, of which one with equal scales may use a part
        boxes = [ax.get_position(original=True).transformed(fig.transFigure) for ax in plots_of_data]
        if not boxes:
            return False
        plots = Bbox.union(boxes)
        wide, high = self._requested_size
        grown = [
            width + max(self._tuning.plot_width * wide - plots.width / fig.dpi, 0.0),
            height + max(self._tuning.plot_height * high - plots.height / fig.dpi, 0.0),
        ]
        if len(boxes) > 1:
            least = self._tuning.panel_width * fig.dpi, self._tuning.panel_height * fig.dpi
            ratios = max(least[0] / box.width for box in boxes), max(least[1] / box.height for box in boxes)
            grown[0] = max(grown[0], width + max(ratios[0] - 1, 0.0) * plots.width / fig.dpi)
            grown[1] = max(grown[1], height + max(ratios[1] - 1, 0.0) * plots.height / fig.dpi)
        row_factor = max(_row_growth(ax, fig, renderer) for ax in fig.axes)
        grown[1] = max(grown[1], height + (row_factor - 1) * plots.height / fig.dpi)
        legends = [legend for legend in (*(ax.get_legend() for ax in fig.axes), *fig.legends) if legend is not None]
        areas = [legend.get_window_extent(renderer) for legend in legends]
        covered = sum(box.width * box.height for box in areas) / fig.dpi**2
        needed = covered / self._tuning.legend_share  # square inches of the figure
        highest = self._tuning.largest_growth * high
        grown[0] = max(grown[0], min(needed / highest, self._tuning.largest_growth * wide))
        grown[1] = max(grown[1], needed / grown[0])
        if needed > 0.5 * width * height:  # a plot with equal scales leaves room at its sides, which files leave out
            drawn = fig.get_tightbbox(renderer)
            lacking = needed - drawn.width * drawn.height  # square inches
            if drawn.height > 0.95 * height:  # else the plot is as wide as it can be, and more height stays empty
                grown[1] = max(grown[1], height + lacking / drawn.width)
            else:
                grown[0] = max(grown[0], width + lacking / drawn.height)
        is_highest = grown[1] > 1.001 * highest and height >= 0.999 * highest  # the figure can grow no more
        if (is_highest or needed > 1.001 * grown[0] * highest) and self._shorten_entries():
            return True
        if grown[0] - width < 0.02 and grown[1] - height < 0.02:  # inches
            return False
        self._resize(fig, *grown)
        return self._grown_size != (width, height)

    def _lower_legends(self, fig: Figure) -> None:
        """Wrap legends at the width of the figure, and shorten their entries while they take half of its largest
        height.

        Args:
            fig: The figure.
        """
        renderer, highest = fig._get_renderer(), self._tuning.largest_growth * self._requested_size[1] * fig.dpi  # type: ignore[attr-defined]
        self._place_legends(fig, renderer)
        while sum(_legend_heights(fig, renderer)) > 0.5 * highest and self._shorten_entries():
            self._place_legends(fig, renderer)

    def _shorten_entries(self) -> bool:
        """Cut the entries of legends above plots to five sixths of their length; return whether one was cut."""
        is_shorter = False
        for request in self._legends.values():
            if request.is_above and request.longest_entry > 30:  # characters that an entry keeps
                request.longest_entry = request.longest_entry * 5 // 6
                is_shorter = True
        return is_shorter


def _legend_heights(fig: Figure, renderer: RendererBase) -> list[float]:
    """Return the heights in pixels of the legends of all plots.

    Args:
        fig: The figure.
        renderer: Renderer that measures texts.

    Returns:
        Heights in the order of the plots; plots without a legend are left out.
    """
    legends = (ax.get_legend() for ax in fig.axes)
    return [float(legend.get_window_extent(renderer).height) for legend in legends if legend is not None]


def _row_growth(ax: Axes, fig: Figure, renderer: RendererBase) -> float:
    """Return the factor by which `ax` must be higher for the names of its rows not to overlap; 1 if none do.

    Args:
        ax: The plot.
        fig: The figure.
        renderer: Renderer that measures texts.
    """
    labels = [text for text in ax.get_yticklabels() if text.get_text() and text.get_visible()]
    if len(labels) < 2 or not isinstance(ax.yaxis.get_major_locator(), FixedLocator):
        return 1.0
    boxes = sorted((text.get_window_extent(renderer) for text in labels), key=lambda box: box.y0)
    gap = TUNING.row_gap * fig.dpi / 72
    return max(
        1.0,
        *(
            float(((low.height + high.height) / 2 + gap) / max((high.y0 + high.y1 - low.y0 - low.y1) / 2, 1.0))
            for low, high in pairwise(boxes)
        ),
    )


def _create_legend(ax: Axes, request: LegendRequest, columns: int, letters: int) -> Legend:
    """Create the legend of `ax` with entries wrapped at `letters` characters, and return it.

    Args:
        ax: The plot.
        request: Title, place, size and colour of the legend, and lines that are labelled already.
        columns: Columns of a legend above the plot.
        letters: Characters of a line of an entry.
    """
    handles, labels = ax.get_legend_handles_labels()
    named = {label.get_text() for label in request.line_labels if label.get_gid() != LABEL_TITLE}
    unnamed = [place for place, label in enumerate(labels) if label not in named]
    handles = [handles[place] for place in unnamed]
    labels = [labels[place] for place in unnamed]
    if request.title and not named:  # names of curves belong below the column that has these names
        order = sorted(range(len(labels)), key=lambda entry: not isinstance(handles[entry], Line2D))
        handles = [handles[entry] for entry in order]
        labels = [labels[entry] for entry in order]
    words = []
    for label in shorten_entries(labels, request.longest_entry):
        parts = [part for line in label.splitlines() for part in break_label(line, letters)]
        words.append("\n".join(parts))
    where: dict[str, Any] = {"loc": request.place, **request.inside_style}
    if request.is_above:
        where = {
            "loc": "lower left",
            "bbox_to_anchor": (0, 1),
            "frameon": False,
            "ncols": columns,
            "borderaxespad": 0.2,
        }
    legend = ax.legend(handles, words, fontsize=request.size, labelcolor=request.label_color, **where)
    if request.title and not named:
        title = break_label(cut_middle(request.title, request.longest_entry), letters)
        legend.set_title("\n".join(title), prop=cast("Any", {"size": request.size}))
        legend.get_title().set(color=request.label_color, parse_math=False)
        legend.set_alignment("left")
    for text in legend.get_texts():
        text.set_parse_math(False)
    return legend


def _write_line_label(ax: Axes, text: str, end: float, *, color: str, size: float, up: float = 0.0) -> Annotation:
    """Write text right of the end of a line at the height `end`, and `up` points above it.

    Args:
        ax: Axes of the plot.
        text: The text.
        end: Height in units of the y axis.
        color: Colour of the text.
        size: Size of the letters in points.
        up: Points above `end`.
    """
    return ax.annotate(
        text, (1.0, end), (4.0, up), xycoords=("axes fraction", "data"), textcoords="offset points",
        fontsize=size, color=color, verticalalignment="center", annotation_clip=False, parse_math=False,
    )  # fmt: skip


def _contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Return the ratio of the relative luminances of two colours, from 1 to 21 (WCAG 2.2).

    Args:
        one: Red, green and blue, from 0 to 1.
        other: The other colour; the order does not matter.
    """

    def luminance(color: tuple[float, ...]) -> float:
        """Return the relative luminance of a colour of the sRGB space.

        Args:
            color: Red, green and blue, from 0 to 1.

        Returns:
            Luminance, from 0 (black) to 1 (white).
        """
        parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color]
        return float(np.dot(parts, (0.2126, 0.7152, 0.0722)))

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _describe_legend(legend: Legend) -> tuple[Any, ...]:
    """Return a key of everything that the size and position of a legend depend on, to detect changes.

    Args:
        legend: A legend of matplotlib.

    Returns:
        Position, number of columns and texts; equal tuples mean that nothing changed.
    """
    return legend._loc, legend._ncols, tuple(text.get_text() for text in legend.get_texts())  # type: ignore[attr-defined]


def fit_text(text: Text, whole: str, available: float, most_lines: int, renderer: RendererBase) -> str:
    """Return `whole` in lines of at most `available` pixels; if there would be too many lines, cut in the middle.

    Args:
        text: The text object, with its font.
        whole: The words to write.
        available: Width in pixels.
        most_lines: Largest number of lines.
        renderer: The renderer that measures widths.
    """
    measure = measure_in(text, renderer)
    if all(measure(line) <= available for line in whole.splitlines()):
        return whole
    for longest in (len(whole), 240, 200, 160, 130, 100, 80, 60, 40, 24):  # characters
        lines = _wrap_measured(cut_middle(whole, longest), available, measure)
        if len(lines) <= most_lines:
            return "\n".join(lines)
    return "\n".join(lines)


def _wrap_measured(text: str, available: float, measure: Callable[[str], float]) -> list[str]:
    """Return a text wrapped into lines of a given width, broken at spaces, or within a word that is wider than a line.

    Args:
        text: Text, perhaps with line breaks, which stay.
        available: Width of a line, in the unit of `measure`.
        measure: Function that returns the width of a text.
    """
    width = sum(measure(line) for line in text.splitlines())  # fonts have no sign for the end of a line
    letters = max(int(len(text) * available / max(width, 1.0)), 1)
    while letters > 1:
        lines = [part for line in text.splitlines() for part in break_label(line, letters)]
        if all(measure(line) <= available for line in lines):
            return lines
        letters -= max(letters // 12, 1)
    return list(text)


def covers_data(ax: Axes, box: Bbox) -> bool:
    """Return whether a box, in pixels, covers a part of a line, an area, a point or a text of a plot.

    Args:
        ax: Axes of the plot; an image counts as covering everything.
        box: The box, in pixels of the figure.
    """
    texts = (text for text in ax.texts if not isinstance(text, Footnote) and text.get_text())
    if ax.images or any(_covers_line(line, box) for line in ax.lines):
        return True
    for patch in ax.patches:
        outline = patch.get_transform().transform_path(patch.get_path())
        if outline.intersects_bbox(box, filled=bool(patch.get_fill())):
            return True
    if any(_covers_collection(collection, box) for collection in ax.collections):
        return True
    return any(text.get_window_extent().overlaps(box) for text in texts)


def _covers_line(line: Line2D, box: Bbox) -> bool:
    """Return whether a box covers a part of a line or one of its markers.

    Args:
        line: Line of matplotlib.
        box: The box, in pixels.
    """
    path = line.get_transform().transform_path(line.get_path())
    has_line, has_marker = (style not in ("", " ", "None", None) for style in (line.get_linestyle(), line.get_marker()))
    radius = line.get_markersize() / 2 * _pixels_per_point(line)
    if has_line and path.intersects_bbox(box, filled=False):
        return True
    return has_marker and _contains_any(box.padded(radius), path.vertices)


def _covers_collection(collection: Collection, box: Bbox) -> bool:
    """Return whether a box covers one of the points, lines or areas of a collection, or a part of a mesh.

    Args:
        collection: Points, lines, areas or mesh of matplotlib.
        box: The box, in pixels.
    """
    if isinstance(collection, PathCollection):  # points
        radius = float(np.sqrt(np.max(collection.get_sizes(), initial=0.0))) / 2 * _pixels_per_point(collection)
        places = collection.get_offset_transform().transform(np.asarray(collection.get_offsets(), dtype=float))
        return _contains_any(box.padded(radius), places)
    paths = collection.get_paths()
    transform = collection.get_transform()
    is_filled = bool(len(collection.get_facecolor()))
    return not paths or any(transform.transform_path(path).intersects_bbox(box, filled=is_filled) for path in paths)


def _pixels_per_point(artist: Artist) -> float:
    """Return how many pixels one typographic point (1/72 inch) takes on the artist's figure.

    Args:
        artist: Artist of matplotlib.
    """
    figure = artist.get_figure(root=True)
    return 1.0 if figure is None else figure.dpi / 72


def _contains_any(box: Bbox, places: Any) -> bool:
    """Return whether a box contains one of these points, (points, 2).

    Args:
        box: The box; points on its edge count as inside.
        places: Points in the units of the box, x first.
    """
    across, upwards = np.asarray(places, dtype=float).reshape(-1, 2).T
    return bool(np.any((across >= box.x0) & (across <= box.x1) & (upwards >= box.y0) & (upwards <= box.y1)))


def fitted_layout(ax: Axes) -> FittedLayout | None:
    """Return the layout of the figure of `ax` if this package created the figure, else None."""
    engine: object = ax.figure.get_figure(root=True).get_layout_engine()
    return engine if isinstance(engine, FittedLayout) else None
