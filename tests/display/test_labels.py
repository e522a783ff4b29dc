"""Names of any kind on pictures of any kind and style: none is cut, none equals another, none is printed over.

Boxes are those of matplotlib's renderer. The suite draws a sample; `make pictures` draws every combination.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, product

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

import dpcurves as dp
from dpcurves.conversation import PrivacyStatement
from dpcurves.display import (
    Shade,
    draw_alarms,
    draw_bars,
    draw_calibration,
    draw_cdf,
    draw_contingency,
    draw_means,
    draw_roc,
    draw_small_multiples,
    headless_axes,
    set_legend_title,
    set_title,
    use_style,
)
from dpcurves.display.artists import Footnote
from dpcurves.display.groups import ForestPanel, draw_forest
from dpcurves.display.layout import TUNING, FittedLayout, covers_data
from dpcurves_survival.pictures import AtRiskRow, FigureGroup, draw_figure, draw_survival

mpl.use("Agg")
pytestmark = pytest.mark.filterwarnings("ignore:Glyph")  # DejaVu has no East Asian letters: boxes are drawn instead

PRIVACY = PrivacyStatement(
    1.0, 0.5, "replace-one", "", 1, 4000, "one curator", "flat", False, "a", notes=("about 2% are missing",)
)
LONG = "persons in households with at least one employed member, living in the northern districts"
ALIKE = "occupation, by the classification of the statistical office, major group"
SETS: dict[str, list[str]] = {
    "short": ["a", "b", "c", "d"],
    "numbers": ["0", "1", "2", "10"],
    "long": [f"{LONG} ({number})" for number in range(4)],
    "equal beginnings": [f"{ALIKE} {number}" for number in range(1, 5)],
    "equal ends": [f"{number} {ALIKE}" for number in range(1, 5)],
    "equal beginnings and ends": [f"{ALIKE} {name} {ALIKE}" for name in ("one", "two", "three", "four")],
    "one word": ["Donaudampfschifffahrtsgesellschaftskapitänswitwenpensionsversicherung" + end for end in "ABCD"],
    "East Asian": [
        "東京都千代田区霞が関一丁目の住民登録者数",
        "大阪府大阪市北区中之島",
        "サッポロ",
        "서울특별시 종로구",
    ],
    "right to left": ["القاهرة الكبرى ومحافظات الدلتا", "الإسكندرية", "תל אביב יפו", "ירושלים"],
    "emoji": ["👩‍🔬 scientists", "👨‍🚒 firefighters", "🧑‍🌾", "🏳️‍🌈 other"],
    "broken lines": ["first\nsecond", "first second third", "tab\tstop", "carriage\r\nreturn"],
    "empty": ["", " ", "\u200b", "none"],
    "mathematics": ["$x_{", "10 % of $5", "a_b^c", "\\frac{1}{2}"],
    "hidden": ["_nolegend_", "_a", "-", "..."],
    "sixty letters": [f"{LONG[:58]} {number}" for number in range(4)],
    "long and short": [LONG, "b", f"{LONG}, aged 65 and more", "d"],
}
STYLES = "paper", "slides", "dark", "narrow"
X, Y = np.linspace(0, 100, 21), np.linspace(0, 1, 21) ** 0.5
BAND = Shade(np.clip(Y - 0.03, 0, 1), np.clip(Y + 0.03, 0, 1), "95% band for these records")


def group_curves(ax: Axes, names: list[str]) -> Axes:
    for number, name in enumerate(names):
        draw_cdf(X, Y ** (1 + number / 3), PRIVACY, label=f"{names[0]} (minutes)", shades=[BAND], ax=ax, name=name)
    set_legend_title(ax, "category")
    return ax


def survival(ax: Axes, names: list[str]) -> Axes:
    risk = AtRiskRow(X, np.linspace(2000, 100, 20), np.full(20, 23.0))
    below = Shade(0 * Y, 1 - Y, "95% band for these records")
    for name in names[:3]:
        draw_survival(X, 1 - Y, PRIVACY, label="months", shades=[below], at_risk=risk, ax=ax, name=name)
    return ax


def lines_apart(ax: Axes, names: list[str]) -> Axes:
    for number, name in enumerate(names):
        low = 1 - X / 500 * (number + 1)
        draw_survival(X, low, PRIVACY, label="months", shades=[Shade(low, low, "95% band")], ax=ax, name=name)
    set_legend_title(ax, names[0])
    return ax


def roc(ax: Axes, names: list[str]) -> Axes:
    for name in names:
        draw_roc(Y**2, Y, 0.7, PRIVACY, ax=ax, name=name)
    return ax


def calibrations(ax: Axes, names: list[str]) -> Axes:
    places = np.linspace(0.1, 0.9, 6)
    shade = Shade(places - 0.05, places + 0.05, "98.3% individual interval for these records")
    for number, name in enumerate(names):
        counts = np.full(6, 400.0 + number)
        draw_calibration(places, places, counts, PRIVACY, shades=[shade], ax=ax, name=name)
    set_legend_title(ax, "category; a band or interval of each of the 4 groups: all hold together at 0.95")
    return ax


def small_multiples(ax: Axes, names: list[str]) -> Axes:
    def fill(panel: Axes) -> Axes:
        return draw_bars(X, 900 * Y[1:], PRIVACY, upwards="records per cell", label=names[0], ax=panel)

    return draw_small_multiples(names, [fill] * len(names), PRIVACY, column=names[1], ax=ax)


def means(ax: Axes, names: list[str]) -> Axes:
    shade = Shade(np.arange(4) - 0.5, np.arange(4) + 0.5, "95% individual interval for these records")
    return draw_means(names, np.arange(4), PRIVACY, label=names[0], column=names[1], shades=[shade], ax=ax)


def contingency(ax: Axes, names: list[str]) -> Axes:
    counts = np.full((4, 4), 1234.0)
    return draw_contingency(counts, counts / 4936, (names, names), (names[0], names[1]), PRIVACY, title="", ax=ax)


def forest(ax: Axes, names: list[str]) -> Axes:
    shade = Shade([0.1] * 8, [0.3] * 8, "95% interval for these records")
    panels = [ForestPanel(names[index], names, [0.2] * 4, range(4 * index, 4 * index + 4), 0.0) for index in range(2)]
    return draw_forest(panels, PRIVACY, shades=[shade], ax=ax)


def alarms(ax: Axes, names: list[str]) -> Axes:
    windows = [f"{name} {part}" for part in ("early", "late") for name in names]
    return draw_alarms(windows, ["stability", "distance"], np.full((2, 8), 1.5), PRIVACY, label="ratio", ax=ax)


def one_window(ax: Axes, names: list[str]) -> Axes:
    return draw_alarms(names[:1], ["stability", "distance"], np.array([[0.5], [40.0]]), PRIVACY, label="ratio", ax=ax)


KINDS: dict[str, Callable[[Axes, list[str]], Axes]] = {
    kind.__name__: kind
    for kind in (
        group_curves,
        survival,
        lines_apart,
        roc,
        calibrations,
        small_multiples,
        means,
        contingency,
        forest,
        alarms,
        one_window,
    )
}


def draw(kind: str, names: list[str], style: str) -> Figure:
    ax = headless_axes((3.6, 3.2)) if style == "narrow" else headless_axes()
    with use_style(None if style == "narrow" else style, ax):
        ax = KINDS[kind](ax, names)
        set_title(ax, f"Numbers by {names[0]}")
    figure = ax.figure
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    return figure


def visible_texts(figure: Figure) -> dict[Text, Bbox]:
    """All texts that are drawn with their boxes, without those of axes that only hold the statement."""
    shown = {tick for ax in figure.axes for axis in (ax.xaxis, ax.yaxis) for tick in visible_ticks(axis)}
    hidden = {tick for ax in figure.axes for tick in (*ax.get_xticklabels(), *ax.get_yticklabels())} - shown
    boxes = dict[Text, Bbox]()
    for text in figure.findobj(Text):
        if not isinstance(text, Text) or not text.get_visible() or not text.get_text().strip() or text in hidden:
            continue
        box = text.get_window_extent()
        assert np.isfinite(box.bounds).all()
        if box.width:
            boxes[text] = box
    return boxes


def visible_ticks(axis: Axis) -> Iterator[Text]:
    """Labels of ticks that are within the limits of an axis that shows labels."""
    low, high = sorted(axis.get_view_interval())
    for major in axis.get_major_ticks():
        if low - 1e-9 <= major.get_loc() <= high + 1e-9 and major.label1.get_visible():
            yield major.label1
        if major.label2.get_visible():
            yield major.label2


def check(kind: str, names: list[str], style: str) -> None:
    figure = draw(kind, names, style)
    texts = visible_texts(figure)
    said = " | ".join((kind, style, *names))
    for text, box in texts.items():
        assert box.x0 >= -1, (said, text.get_text())
        assert box.y0 >= -1, (said, text.get_text())
        assert box.x1 <= figure.bbox.width + 1, (said, text.get_text())
        assert box.y1 <= figure.bbox.height + 1, (said, text.get_text())
    straight = [text for text in texts if text.get_rotation() in (0, 90)]
    inner = {text: texts[text].padded(-0.5) for text in straight}
    for one, other in combinations(straight, 2):
        assert not inner[one].overlaps(inner[other]), (said, one.get_text(), other.get_text())
    legends = [(ax, ax.get_legend()) for ax in figure.axes if ax.get_legend() is not None]
    area = 0.0
    for ax, legend in [*legends, *((None, legend) for legend in figure.legends)]:
        assert legend is not None
        box = legend.get_window_extent()
        area += box.width * box.height
        words = [text.get_text() for text in legend.get_texts()]
        assert len(set(words)) == len(words), (said, words)
        assert ax is None or not covers_data(ax, box), said
    drawn = figure.get_tightbbox()  # what a file shows
    assert area <= (TUNING.legend_share + 0.01) * drawn.width * drawn.height * figure.dpi**2, said
    for ax in figure.axes:
        for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
            words = [text.get_text() for text in labels if text.get_text()]
            assert len(set(words)) == len(words), (said, words)
    assert any(isinstance(text, Footnote) for text in texts), said


EVERY = list(product(KINDS, SETS, STYLES))
SAMPLE = [
    *(("lines_apart", "short", style) for style in ("slides", "dark", "narrow")),
    *(EVERY[number] for number in np.random.default_rng(5).permutation(len(EVERY))[:12]),
    ("calibrations", "equal ends", "slides"),  # each layout moves the names beside a plot of equal scales
    ("calibrations", "short", "dark"),  # a plot of equal scales is narrower than its legend
    ("roc", "sixty letters", "narrow"),
    ("survival", "right to left", "paper"),  # letters of the statement are wider than the estimate
    ("group_curves", "equal beginnings and ends", "slides"),  # the legend needs more than the largest height
]


@pytest.mark.quick_share(24)
@pytest.mark.parametrize(("kind", "labels", "style"), SAMPLE)
def test_names_are_whole_different_and_apart(kind: str, labels: str, style: str) -> None:
    check(kind, SETS[labels], style)
    plt.close("all")


@pytest.mark.reproduction
@pytest.mark.parametrize(("kind", "labels", "style"), EVERY)
def test_all_names_on_all_kinds_in_all_styles_are_whole_different_and_apart(kind: str, labels: str, style: str) -> None:
    check(kind, SETS[labels], style)
    plt.close("all")


def test_a_long_name_is_whole_on_several_lines_before_it_is_shortened() -> None:
    figure = draw("means", SETS["long"], "paper")
    words = " ".join(text.get_text().replace("\n", " ") for text in figure.axes[0].get_yticklabels())
    assert "at least one employed" in words
    assert "..." not in figure.axes[0].get_xlabel()


def test_entries_are_cut_when_the_figure_can_grow_no_more() -> None:
    ax = headless_axes((3.6, 3.2))  # inches: too small for 7 names of two hundred letters at any growth
    with use_style("slides", ax):
        group_curves(ax, [f"{LONG}; {ALIKE}; {number}" for number in range(7)])
    figure = ax.figure
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    legend = ax.get_legend()
    assert legend is not None
    box, texts = legend.get_window_extent(), [text.get_text() for text in legend.get_texts()]
    assert box.width * box.height <= (TUNING.legend_share + 0.02) * figure.bbox.width * figure.bbox.height
    assert len(set(texts)) == len(texts)
    assert box.x1 <= figure.bbox.width + 1


def test_few_lines_that_end_apart_are_named_at_their_ends() -> None:
    ax = lines_apart(headless_axes(), ["a", "b", "c", "d"])
    layout = ax.figure
    assert isinstance(layout, Figure)
    layout.draw_without_rendering()
    named = {text.get_text(): text for text in ax.texts if text.get_text() in list("abcd") and not text.get_gid()}
    assert len(named) == 4
    for line in ax.lines:
        text = named[str(line.get_label())]
        height = ax.transData.transform((0.0, float(np.asarray(line.get_ydata())[-1])))[1]
        box = text.get_window_extent()
        assert box.y0 < height < box.y1
        assert box.x0 > ax.bbox.x1
        assert text.get_color() == line.get_color()
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["95% band"]
    places = [text.get_window_extent().bounds for text in named.values()]
    layout.draw_without_rendering()
    assert np.allclose([text.get_window_extent().bounds for text in named.values()], places)
    draw_survival(X, 1 - X / 490, PRIVACY, label="months", ax=ax, name="e")  # ends beside the first
    layout.draw_without_rendering()
    legend = ax.get_legend()
    assert legend is not None
    assert {text.get_text() for text in legend.get_texts()} == {*"abcde", "95% band"}
    assert not [text for text in ax.texts if text.get_text() in list("abcd")]


def test_the_legend_of_a_journal_figure_names_the_column_once_and_covers_no_curve() -> None:
    names = [f"{arm} in the whole region" for arm in ("placebo", "usual", "treatment A", "treatment B")]
    heights = [1 - X / 100 * share for share in (0.1, 0.4, 0.7, 1.0)]  # no corner is free
    groups = [
        FigureGroup(name, y, (y - 0.1, np.minimum(y + 0.1, 1)), None) for name, y in zip(names, heights, strict=True)
    ]
    ax = draw_figure(
        X, groups, PRIVACY, label="months", upwards="share", column="arm", theme="dark", ax=headless_axes()
    )
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    legend = ax.get_legend()
    assert legend is not None
    assert not covers_data(ax, legend.get_window_extent())
    assert legend.get_title().get_text() == "arm"
    assert [text.get_text() for text in legend.get_texts()] == names


@pytest.mark.parametrize("inches", [3.8, 4.2, 7.0])
def test_numbers_at_risk_stand_apart_also_where_names_at_lines_leave_them_little_room(inches: float) -> None:
    """Columns that a narrow plot has no room for are left out, the same ones in each row."""
    edges = np.linspace(0, 48, 49)
    ax = headless_axes((inches, 3.6))
    for number, name in enumerate(("relapse", "death of another cause")):
        risk = AtRiskRow(edges, np.linspace(5003, 351, 48), np.full(48, 68.0))
        heights = (0.5 + 0.3 * number) * edges / 48
        draw_survival(edges, heights, PRIVACY, label="months", at_risk=risk, ax=ax, name=name)
    ax.figure.canvas.draw()
    numbers = [
        text for text in ax.texts if "±" in text.get_text() and text.get_visible() and "(" not in text.get_text()
    ]
    boxes = [text.get_window_extent() for text in numbers]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    columns = {round(box.x0 + box.x1) for box in boxes}
    assert len(numbers) == 2 * len(columns) >= 4


def test_narrow_small_multiples_keep_the_size_of_their_texts() -> None:
    """A narrow figure of small multiples stays narrow, with one panel above the other."""
    figure = draw("small_multiples", ["north", "south", "east", "west"], "narrow")
    assert figure.get_size_inches()[0] < 4.5
    panels = [ax for ax in figure.axes if ax.get_title()]
    assert len({round(ax.get_position().x0, 3) for ax in panels}) == 1


def test_statements_and_legends_of_plots_side_by_side_stay_in_their_columns() -> None:
    """Statements as wide as the figure would make it grow, and leave its plots small."""
    result = dp.roc_curve([0, 1] * 500, np.linspace(0, 1, 1000), epsilon=1, adjacency=dp.REPLACE_ONE)
    figure = Figure(figsize=(10, 5), layout=FittedLayout())
    panels = figure.subplots(1, 2)
    for ax in panels:
        result.plot(ax=ax)
    figure.draw_without_rendering()
    assert figure.get_size_inches()[0] < 12
    renderer = figure._get_renderer()  # type: ignore[attr-defined]
    second = panels[1].get_tightbbox(renderer).x0
    note = Footnote.from_axes(panels[0])
    assert note is not None
    for part in (note, panels[0].get_legend()):
        assert part.get_window_extent(renderer).x1 < second


@pytest.mark.parametrize(("size", "widest"), [((10, 9.4), 10.0), ((4.2, 8.0), 6.3)])
def test_planes_with_colour_bars_side_by_side_keep_the_size_of_the_figure_and_their_titles_apart(
    size: tuple[float, float], widest: float
) -> None:
    """A statement reaches below the colour bar of its plane, whose room would else be left free twice."""
    rng = np.random.default_rng(3)
    columns = {name: rng.uniform(0, 100, 2000) for name in "xy"}
    grid = dp.Grid(0, 100, cells=8)
    result = dp.histogram2d(columns["x"], columns["y"], x_grid=grid, y_grid=grid, epsilon=1, adjacency=dp.REPLACE_ONE)
    figure = Figure(figsize=size, layout=FittedLayout())
    panels = list(figure.subplots(2, 2).flat)
    for ax in panels:
        result.plot(ax=ax)
        ax.set_title("cell by cell: cells are off by 5.7 records")
    figure.draw_without_rendering()
    width, height = figure.get_size_inches()
    assert width <= widest
    assert height == size[1]
    renderer = figure._get_renderer()  # type: ignore[attr-defined]
    for ax in panels:
        assert ax.title.get_window_extent(renderer).x0 >= 0
        assert ax.get_window_extent().width >= TUNING.panel_width * figure.dpi - 2
        note = Footnote.from_axes(ax)
        assert note is not None
        assert note.get_window_extent(renderer).x1 <= figure.bbox.width
    for left, right in (panels[:2], panels[2:]):
        texts = [
            part.get_window_extent(renderer) for part in (left.title, Footnote.from_axes(left)) if part is not None
        ]
        neighbours = [right.title.get_window_extent(renderer), right.yaxis.label.get_window_extent(renderer)]
        assert all(box.x1 < neighbour.x0 for box, neighbour in zip(texts, neighbours, strict=True))
