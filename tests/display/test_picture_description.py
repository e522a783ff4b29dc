"""A description has the numbers that matplotlib draws, for every kind of result, and those are the result's."""

from __future__ import annotations

import json
from pathlib import Path as FilePath
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.artist import Artist
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import dpcurves as dp
from dpcurves.curves.result import ReleasedResult, result_from_json
from dpcurves.display import PictureDescription, describe_picture, headless_axes, save_picture
from dpcurves.display.layout import COLORBAR, STATEMENT

mpl.use("Agg")
STORED = FilePath(__file__).resolve().parents[1] / "released" / "0.1.0" / "curves.jsonl"
DOCUMENTS = STORED.read_text().splitlines()
ENDS = {"x": ["x", "x_end"], "y": ["y", "y_end", "lower", "upper"]}
DRAW = np.random.default_rng(8)
AGES = DRAW.gamma(4.0, 12.0, 3000).clip(0, 149)


def points_of(artist: Artist) -> Any:
    """All points of an artist in the numbers of its axes, (points, 2), by its own path."""
    if isinstance(artist, QuadMesh):
        return np.asarray(artist.get_coordinates()).reshape(-1, 2)
    if isinstance(artist, AxesImage):
        left, right, bottom, top = artist.get_extent()
        return [(left, bottom), (right, top)]
    if isinstance(artist, PathCollection):
        return np.asarray(artist.get_offsets())
    if isinstance(artist, Line2D):
        return np.column_stack(artist.get_data(orig=False))
    if isinstance(artist, Patch):
        return artist.get_patch_transform().transform(artist.get_path().vertices)
    return np.concatenate([path.vertices for path in artist.get_paths()])  # type: ignore[attr-defined]


def rounded(values: Any) -> set[float]:
    numbers = np.asarray(values, dtype=float)
    return set(np.round(numbers[np.isfinite(numbers)], 9).tolist())


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("number", range(len(DOCUMENTS)), ids=lambda number: json.loads(DOCUMENTS[number])["kind"])
def test_a_description_has_every_drawn_number_of_each_kind_and_no_other(number: int) -> None:
    result = result_from_json(DOCUMENTS[number])
    axes = result.plot_headless(level=0.9)
    panels = [ax for ax in axes.figure.axes if ax.axison and ax.get_label() not in (COLORBAR, STATEMENT)]
    picture = describe_picture(axes)
    assert len(picture.panels) == len(panels)
    for ax, panel in zip(panels, picture.panels, strict=True):
        artists = [*ax.lines, *ax.patches, *ax.collections, *ax.images]
        scattered = [artist for artist in artists if isinstance(artist, PathCollection)]
        free = [artist for artist in artists if all(artist.get_transform().contains_branch_seperately(ax.transData))]
        free += scattered
        for side, (label, limits) in enumerate(((ax.get_xlabel(), ax.get_xlim()), (ax.get_ylabel(), ax.get_ylim()))):
            name = "xy"[side]
            drawn = rounded(np.concatenate([np.asarray(points_of(artist))[:, side] for artist in free]))
            columns = [mark.columns for mark in panel.marks if mark.type != "texts"]
            numbers = [mark[end] for mark in columns for end in ENDS[name] if end in mark]
            described = rounded(np.concatenate([np.asarray(values, dtype=float) for values in numbers]))
            images = rounded(np.concatenate([mark[name] for mark in columns if "value" in mark] or [[]]))
            # a line across the panel has its limits and its place; an image is drawn by its corners, not by its cells
            across = {round(limit, 9) for limit in limits} | rounded(
                [line.get_data()[side] for line in ax.lines if line not in free]
            )
            assert drawn <= described
            assert described - drawn <= across | images, (name, described - drawn)
            axis = getattr(panel, name)
            assert (axis.label, axis.scale) == (" ".join(label.split()), getattr(ax, f"get_{name}scale")())
        assert all(len({len(values) for values in mark.columns.values()}) == 1 for mark in panel.marks)
    parsed = json.loads(picture.to_json())
    assert parsed["picture"] == 1
    assert any("epsilon" in line for line in parsed["statement"])


def marks_of(picture: PictureDescription, kind: str, words: str = "") -> list[Any]:
    return [mark for mark in picture.panels[0].marks if mark.type == kind and words in mark.name]


def test_bands_regions_and_densities_are_those_of_the_result() -> None:
    edges = [0.0, 10.0, 50.0, 70.0, 150.0]
    bars = dp.histogram(AGES, grid=dp.Grid.from_edges(edges), epsilon=1, adjacency=dp.REPLACE_ONE)
    picture = bars.describe_picture(level=0.8)
    (line,) = [mark for mark in marks_of(picture, "line") if len(mark.columns["x"]) > 2]
    assert line.columns["y"][::2] == pytest.approx(np.asarray(bars.count) / np.diff(edges))
    (region,) = marks_of(picture, "region", "for the population")
    lower, upper = bars.intervals(0.8, population=True).T
    assert region.columns["upper"][::2] == pytest.approx(upper / np.diff(edges))
    assert region.columns["lower"][::2] == pytest.approx(lower / np.diff(edges))
    assert picture.panels[0].y.label == "records per unit of value"
    scores, labels = DRAW.random(2000), DRAW.integers(0, 2, 2000)
    roc = dp.roc_curve(labels, scores, epsilon=1, adjacency=dp.REPLACE_ONE)
    (region,) = marks_of(roc.describe_picture(), "region", "for the population")
    rates, lower, upper = roc.band(0.95, population=True).steps()
    assert region.columns["x"] == pytest.approx(np.repeat(rates, 2)[1:-1])
    assert region.columns["lower"][::2] == pytest.approx(lower)
    assert region.columns["upper"][1::2] == pytest.approx(upper)


def test_axes_are_logarithmic_dates_or_names_and_curves_have_their_names() -> None:
    grid = dp.Grid.geometric(1, 10_000, cells=16)
    curve = dp.cdf(AGES * 50 + 1, grid=grid, epsilon=1, adjacency=dp.REPLACE_ONE)
    assert curve.describe_picture().panels[0].x.scale == "log"
    axes = headless_axes()
    for name in ("a", "b"):
        axes = curve.plot(ax=axes, name=name)
    picture = describe_picture(axes)
    assert picture.list_curves() == ["a", "b"]
    assert [mark.name for mark in marks_of(picture, "line")] == ["a", "b"]
    assert len({mark.color for mark in marks_of(picture, "region") if mark.curve == "b"}) == 1
    wards = [f"ward {place}" for place in DRAW.integers(0, 3, 3000)]
    chart = dp.bar_chart(wards, categories=["ward 0", "ward 1", "ward 2"], epsilon=1, adjacency=dp.REPLACE_ONE)
    (rows, (bars,)) = (chart.describe_picture().panels[0].y, marks_of(chart.describe_picture(), "rectangles"))
    assert {"ward 0", "ward 1", "ward 2"} <= set(rows.names)
    assert sorted(bars.columns["x_end"]) == pytest.approx(sorted(np.asarray(chart.count)))


def test_the_only_title_of_several_panels_is_that_of_the_picture_and_intervals_keep_their_widths() -> None:
    document = next(line for line in DOCUMENTS if json.loads(line)["kind"] == "model-pair")
    picture = result_from_json(document).describe_picture()
    assert picture.title == "Two models: x minus e"
    assert [panel.title for panel in picture.panels] == ["", ""]
    wide, narrow = marks_of(picture, "intervals", "these records"), marks_of(picture, "intervals", "the population")
    assert wide[0].width > narrow[0].width > 0


@pytest.mark.parametrize("is_drawn", [False, True])
def test_lines_that_were_written_apart_have_semicolons_and_lines_that_the_layout_wrapped_have_none(
    is_drawn: bool,
) -> None:
    """Titles and legend entries of several lines are read as several statements; a long title stays one."""
    by = [
        dp.Categories(name, ("a", "b"))
        for name in ("district of the registered office of the parent company", "size class of the firm by turnover")
    ]
    table = {axis.column: np.resize(["a", "b", "b"], 900) for axis in by}
    table |= {"score": np.linspace(0, 1, 900), "label": np.resize([0, 1], 900)}
    with dp.Session(table, budget=dp.PrivacyLoss.pure(2), adjacency=dp.REPLACE_ONE) as session:
        counts = session.ask(dp.ContingencyQuestion(*by), dp.PrivacyLoss.pure(1))
        curve = session.ask(dp.RocQuestion("label", "score"), dp.PrivacyLoss.pure(1))
    ax = counts.plot()
    if is_drawn:
        ax.figure.canvas.draw()
        assert ax.get_title().count("\n") > 2  # wrapped
    title, statistic, *_ = describe_picture(ax).title.split("; ")
    assert (
        title
        == "Records by district of the registered office of the parent company and size class of the firm by turnover"
    )
    assert statistic.startswith("chi-squared")
    entries = [mark.name for mark in curve.describe_picture().panels[0].marks]
    assert any("); 95% interval for these records: " in entry for entry in entries)


def test_an_unknown_artist_is_refused_and_not_left_out() -> None:
    axes = headless_axes()
    axes.add_patch(mpl.patches.Ellipse((0.5, 0.5), 0.1, 0.1))
    with pytest.raises(TypeError, match="Ellipse"):
        describe_picture(axes)


def test_a_description_is_a_file_of_the_plot(tmp_path: FilePath) -> None:
    result: ReleasedResult = result_from_json(DOCUMENTS[0])
    save_picture(result.plot_headless(), tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["panels"][0]["x"]["label"] == "x"
