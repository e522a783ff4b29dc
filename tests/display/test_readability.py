"""Pictures can be read: names do not meet, groups have panels, axes fit their grids, and styles are three."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from matplotlib.transforms import Bbox

import dpcurves as dp
from dpcurves.conversation import PrivacyStatement
from dpcurves.display import Shade, draw_cdf, draw_means, headless_axes, save_figure
from dpcurves.display.columns import draw_contingency
from dpcurves.display.scores import draw_decision

PRIVACY = PrivacyStatement(1.0, 0.5, "replace-one", "", 1, 9, "one curator", "flat", False, "a")
NAMES = [f"occupation of group {number:02d}"[-20:] for number in range(12)]
INCOMES = np.random.default_rng(3).lognormal(10, 1, 2_000)
GEOMETRIC = dp.Grid.geometric(1_000, 3_000_000, cells=64)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


def boxes(ax: Axes, words: list[Text]) -> list[Bbox]:
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    return [each.get_window_extent() for each in words if each.get_text()]


@pytest.mark.parametrize("place", [None, headless_axes])
def test_twelve_names_of_twenty_letters_stand_in_full_and_nothing_is_printed_over(place: object) -> None:
    counts = np.full((12, 12), 1234.0)
    ax = draw_contingency(
        counts, counts / counts.sum(), (NAMES, NAMES), ("a", "b"), PRIVACY, title="", error=counts / 10,
        ax=None if place is None else headless_axes(),
    )  # fmt: skip
    across, down = ax.get_xticklabels(), ax.get_yticklabels()
    assert [each.get_text() for each in (*across, *down)] == NAMES * 2
    cells = boxes(ax, [text for text in ax.texts if "±" in text.get_text()])
    assert len(cells) == 144
    for together in (cells, boxes(ax, list(down))):
        assert not any(one.overlaps(other) for one, other in combinations(together, 2))
    # Slanted lines of letters are apart if neighbours begin further apart than letters are high.
    ends = [each.get_window_extent().x1 for each in across]
    high = float(across[0].get_fontsize()) * ax.figure.dpi / 72 / np.sin(np.radians(across[0].get_rotation()))
    assert np.diff(ends).min() > high


def test_grids_that_grow_with_their_values_have_logarithmic_axes_and_no_others() -> None:
    paid: Any = {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
    for asked in (dp.cdf, dp.histogram):
        ax = asked(INCOMES, grid=GEOMETRIC, **paid).plot(level=None)
        ax.figure.draw_without_rendering()  # type: ignore[union-attr]
        assert ax.get_xscale() == "log"
        assert "100,000" in [label.get_text() for label in ax.get_xticklabels()]
        assert asked(INCOMES, grid=dp.Grid(1, 3_000_000, cells=64), **paid).plot(level=None).get_xscale() == "linear"
    assert ax.get_ylabel() == "records per cell"
    assert dp.quantiles(INCOMES, [0.5, 0.9], grid=GEOMETRIC, **paid).plot().get_xscale() == "log"


def test_histograms_of_groups_have_panels_of_their_own_and_a_common_title() -> None:
    region = np.resize(["north", "south"], len(INCOMES))
    question = dp.HistogramQuestion("pay", dp.Grid(0, 1e5, cells=8), by=dp.Categories("region", ("north", "south")))
    with dp.Session(
        {"pay": INCOMES, "region": region}, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE
    ) as session:
        ax = session.ask(question, dp.PrivacyLoss.pure(1)).plot(style="dark")
    panels = [each for each in ax.figure.axes if each.get_title()]
    assert [each.get_title() for each in panels] == ["north", "south"]
    assert ax.figure.legends[0].get_title().get_text() == "Histogram of pay by region"
    assert [max(to_rgb(each.get_facecolor())) < 0.2 for each in panels] == [True, True]


def test_more_distributions_than_can_be_read_are_medians_by_size_in_one_picture() -> None:
    keys = tuple(f"state {number:02d}" for number in range(24))
    question = dp.CdfQuestion("pay", dp.Grid(0, 48, cells=48), by=dp.Categories("state", keys))
    pay = np.repeat((7 * np.arange(24) % 24) * 2.0 + 1, 400)
    table = {"pay": pay, "state": np.repeat(keys, 400)}
    with dp.Session(table, budget=dp.PrivacyLoss.pure(9), adjacency=dp.REPLACE_ONE) as session:
        ax = session.ask(question, dp.PrivacyLoss.pure(9)).plot()
    assert len(ax.figure.axes) == 1
    order = [keys[number] for number in np.argsort(-(7 * np.arange(24) % 24))]
    assert [label.get_text() for label in ax.get_yticklabels()] == order
    assert ax.get_ylabel() == "state"


def test_a_number_beside_a_mean_has_no_more_digits_than_are_known() -> None:
    shade = Shade([44.0], [46.0], "95% interval")
    ax = draw_means(["all"], [45.1234567], PRIVACY, label="age", shades=[shade], ax=headless_axes())
    assert ax.texts[0].get_text() == "45.1"


def test_net_benefit_ends_where_its_band_says_nothing_and_a_note_says_so() -> None:
    at, benefit = np.linspace(0.1, 0.9, 9), np.full(9, 0.2)
    width = np.where(at > 0.65, 1.0, 0.02)
    shade = Shade(benefit - width, benefit + width, "95% band")
    ax = draw_decision(at, benefit, benefit, PRIVACY, shades=[shade], ax=headless_axes())
    assert ax.get_xlim() == pytest.approx((0.0, 0.7))
    assert any("not drawn above 0.70" in text.get_text() for text in ax.texts)


def test_a_band_of_coarse_cells_joins_what_is_said_at_edges() -> None:
    x, y = np.linspace(0, 1, 5), np.linspace(0, 1, 5)
    ax = draw_cdf(x, y, PRIVACY, label="x", shades=[Shade(y - 0.1, y + 0.1, "95% band")], ax=headless_axes())
    (slope,) = ax.collections
    corners = np.asarray(slope.get_paths()[0].vertices)
    assert {(0.25, 0.15), (0.25, 0.35)} <= {tuple(np.round(corner, 9)) for corner in corners.tolist()}
    assert [patch.get_alpha() for patch in ax.patches] == [0.07]


def test_styles_change_letters_and_grounds_of_one_picture_and_settings_of_none(tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    curve = dp.cdf(INCOMES, grid=GEOMETRIC, epsilon=1, adjacency=dp.REPLACE_ONE)
    letters = {style: float(curve.plot(style=style).xaxis.label.get_fontsize()) for style in (None, "paper", "slides")}
    assert letters["paper"] < letters[None] < letters["slides"]
    place = headless_axes()
    dark = curve.plot(place, style="dark")
    grounds = dark.get_facecolor(), place.figure.get_facecolor()
    inks = dark.xaxis.label.get_color(), dark.lines[0].get_color(), dark.get_legend().get_texts()[0].get_color()  # type: ignore[union-attr]
    assert max(max(to_rgb(each)) for each in grounds) < 0.4 < min(max(to_rgb(each)) for each in inks)
    save_figure(dark, tmp_path / "a.svg")
    assert ">share of records below<" in (tmp_path / "a.svg").read_text("utf-8")
    with pytest.raises(ValueError, match="^style: must be one of paper, slides, dark or None,"):
        curve.plot(style="poster")
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("style", ["paper", "slides", "dark"])
def test_quantiles_whose_interval_has_no_end_are_drawn_in_all_styles(style: str) -> None:
    with pytest.warns(dp.CurveWarning):
        found = dp.quantiles(
            INCOMES, [0.5, 0.9], grid=dp.Grid(0, 30_000, cells=60), epsilon=1, adjacency=dp.REPLACE_ONE
        )
    assert found.plot(style=style) is not None


def test_a_short_logarithmic_axis_has_numbers() -> None:
    found = dp.quantiles(INCOMES, [0.25, 0.5, 0.75], grid=GEOMETRIC, epsilon=10, adjacency=dp.REPLACE_ONE)
    ax = found.plot()
    low, high = ax.get_xlim()
    assert sum(low <= tick <= high for tick in ax.get_xticks()) >= 2


def test_shares_that_are_alike_are_told_apart() -> None:
    counts = np.array([[100.0, 120.0], [110.0, 90.0]])
    ax = draw_contingency(counts, counts / 220, (["a", "b"], ["c", "d"]), ("x", "y"), PRIVACY, title="")
    low, high = ax.images[0].get_clim()
    assert 0 < low < 90 / 220
    assert high == pytest.approx(120 / 220)
