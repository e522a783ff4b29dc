"""What pictures say: titles, sizes, statements, thresholds, and where groups and differences are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from types import SimpleNamespace
from typing import Any, cast

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

import dpcurves as dp
from dpcurves.conversation import PrivacyStatement
from dpcurves.curves.column_drift import Drift, DriftStatistic
from dpcurves.curves.histogram import is_noise_alone
from dpcurves.curves.result import result_from_json
from dpcurves.display import (
    SEEDED_STATEMENT,
    Shade,
    draw_alarms,
    draw_cdf,
    draw_roc,
    draw_small_multiples,
    headless_axes,
    made_up_data,
    set_legend_title,
    use_style,
)
from dpcurves.display.artists import WARNING, Footnote
from dpcurves.display.groups import ForestPanel, draw_forest, mean_band_width
from dpcurves.translation import use_language

mpl.use("Agg")
PRIVACY = PrivacyStatement(1.0, 0.5, "replace-one", "", 1, 4000, "one curator", "flat", True, "a")
X = np.linspace(0, 1, 5)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


def statement_of(ax: Axes) -> Footnote:
    note = Footnote.from_axes(ax)
    assert note is not None
    return note


def test_made_up_data_is_said_in_grey_and_a_seeded_release_of_a_table_in_red() -> None:
    with made_up_data():
        sketch = statement_of(draw_cdf(X, X, PRIVACY, label="x", ax=headless_axes()))
    release = statement_of(draw_cdf(X, X, PRIVACY, label="x", ax=headless_axes()))
    assert "made-up data" in sketch.get_text()
    assert SEEDED_STATEMENT not in sketch.get_text()
    assert sketch.get_color() != WARNING == release.get_color()
    assert SEEDED_STATEMENT in release.get_text()


@pytest.mark.parametrize(
    ("change", "size"),
    [({}, "4,000 records; "), ({"units": None}, "epsilon 1"), ({"unit": "id"}, "4,000 units (id); "),
     ({"where": "age > 5"}, "4,000 records in the table; ")],
)  # fmt: skip
def test_a_picture_names_the_number_of_records_if_it_is_public(change: dict[str, Any], size: str) -> None:
    note = statement_of(draw_cdf(X, X, replace(PRIVACY, **change), label="x", ax=headless_axes()))
    assert note.get_text().startswith(size)


def test_long_numbers_along_an_axis_are_in_billions_and_so_says_its_label() -> None:
    ax = draw_cdf(2e9 * X, X, PRIVACY, label="revenue (dollars)", ax=headless_axes())
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    assert ax.get_xlabel() == "revenue (dollars, in billions)"
    assert "2.0" in [text.get_text() for text in ax.get_xticklabels()]
    short = draw_cdf(2e3 * X, X, PRIVACY, label="revenue (dollars)", ax=headless_axes())
    assert short.get_xlabel() == "revenue (dollars)"


def test_numbers_of_panels_stand_above_their_panels_and_what_all_share_above_the_figure() -> None:
    draw = [lambda ax, area=area: draw_roc(X, X, area, PRIVACY, ax=ax) for area in (0.6, 0.7)]
    first = draw_small_multiples(["men", "women"], draw, PRIVACY, column="sex", ax=headless_axes())
    figure = cast("Any", first.figure)
    assert [ax.get_title().splitlines()[0] for ax in figure.axes[:2]] == ["men", "women"]
    assert ["0.6" in figure.axes[0].get_title(), "0.7" in figure.axes[1].get_title()] == [True, True]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["chance level (AUC = 0.5)"]
    assert figure.legends[0].get_title().get_text() == "sex"


@pytest.mark.parametrize("style", [None, "dark"])
def test_the_column_of_curves_is_the_visible_title_of_their_legend(style: str | None) -> None:
    ax = headless_axes()
    with use_style(style, ax):
        for name in ("men", "women"):
            draw_cdf(X, X, PRIVACY, label="x", ax=ax, name=name)
        set_legend_title(ax, "sex")
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in (legend.get_title(), *legend.get_texts()[:2])] == ["sex", "men", "women"]
    assert to_rgb(legend.get_title().get_color()) == to_rgb(ax.xaxis.label.get_color())
    assert to_rgb(legend.get_texts()[0].get_color()) == to_rgb(ax.xaxis.label.get_color())


def test_a_band_of_shares_is_wide_by_its_mean_width_and_counts_are_no_shares() -> None:
    assert mean_band_width(Shade(0 * X, 0 * X + 0.4, "band")) == pytest.approx(0.4)
    region = SimpleNamespace(edges=[0, 0.1, 1.0], shade=Shade([0.0, 0.4], [1.0, 0.5], "band"))
    assert mean_band_width(region) == pytest.approx(0.19)
    assert mean_band_width(Shade([0.0], [900.0], "intervals")) == 0


@pytest.mark.parametrize("style", ["paper", "slides"])
def test_a_test_or_counts_above_a_plot_stand_below_its_title_in_lines_of_their_own(style: str) -> None:
    wards, codes = np.tile(["north", "south"], 200), np.repeat([0, 1], 200)
    settings: Any = {"epsilon": 9, "adjacency": dp.REPLACE_ONE, "randomness": dp.Randomness.from_seed(2)}
    table = dp.contingency(
        wards, codes, row_categories=["north", "south"], column_categories=[0, 1], labels=("ward", "sex"), **settings
    )
    scores = dp.scores(codes, np.linspace(0, 1, 400), grid=dp.Grid(0, 1, cells=20), **settings)
    expected = (
        (table, "Records by ward and sex", "chi-squared "),
        (scores.confusion(0.5), "Confusion matrix of y_score for y_true at 0.5", ""),
    )
    for result, title, test in expected:
        axes = result.plot(style=style)
        axes.figure.canvas.draw()
        lines = axes.get_title().splitlines()
        assert lines[0] == title
        assert lines[1].startswith(test)
        assert len(lines) >= 3
        assert "..." not in axes.get_title()


def test_differences_have_an_axis_of_their_own_with_a_line_at_no_difference() -> None:
    panels = [ForestPanel("difference", ["AUC"], [0.05], [0], 0.0), ForestPanel("AUC", ["a", "b"], [0.8, 0.75], [1, 2])]
    shade = Shade([0.04, 0.78, 0.7], [0.06, 0.82, 0.8], "95% interval for these records")
    first = draw_forest(panels, PRIVACY, shades=[shade], ax=headless_axes())
    second = cast("Any", first.figure).axes[1]
    assert first.get_xlim()[0] < 0 < first.get_xlim()[1] < 0.1
    assert second.get_xlim()[0] > 0.6
    assert any(np.allclose(line.get_xdata(), 0) for line in first.lines)
    assert not any(np.allclose(line.get_xdata(), 0) for line in second.lines)


def drift_of(windows: dict[str, float]) -> Drift:
    found = Drift.__new__(Drift)
    found.windows, found.false_alarm_rate = dict.fromkeys(windows), 0.05  # type: ignore[assignment]
    found.reference = cast("Any", SimpleNamespace(label="age (years)", privacy=PRIVACY))
    found.__dict__["statistics"] = {
        (window, name): DriftStatistic(value, 0.1, 0.5) for window, value in windows.items() for name in ("psi", "ks")
    }
    return found


def test_drift_of_one_window_is_a_picture_with_its_threshold_its_words_and_its_alarm() -> None:
    one, many = drift_of({"now": 0.3}), drift_of({"May": 0.3, "June": 0.05})
    assert one._describe_alarms().startswith("alarm in now (population stability index, largest difference")
    assert many._describe_alarms() == "alarm in May (2 of 2 statistics)"
    assert drift_of({"now": 0.05})._describe_alarms() == "no alarm"
    assert one._figure_title() == "Drift of age (years) since the reference"
    ax = draw_alarms(
        ["now"], ["population stability index", "missing"], np.array([[3.0], [0.5]]), PRIVACY, label="ratio",
        ax=headless_axes(),
    )  # fmt: skip
    assert ax.get_ylabel() == "window: now"
    assert any(np.allclose(line.get_xdata(), 1) for line in ax.lines)
    marks = [line for line in ax.lines if line.get_marker() != "None" and np.size(line.get_xdata())]
    assert [str(mark.get_markerfacecolor()) == str(ax.get_facecolor()) for mark in marks] == [False, True]


def test_a_histogram_of_noise_alone_says_so_and_one_of_thin_cells_does_not() -> None:
    rng = np.random.default_rng(8)
    paid: Any = {
        "adjacency": dp.REPLACE_ONE,
        "randomness": dp.Randomness.from_seed(5),
        "grid": dp.Grid(0, 120, cells=24),
    }
    hopeless = dp.histogram(rng.gamma(9, 5, 30), epsilon=0.2, **paid)
    assert any("next to nothing" in note for note in hopeless.notes)
    assert not any("nothing" in note for note in dp.histogram(rng.gamma(9, 5, 3000), epsilon=1, **paid).notes)
    thin = rng.poisson(1, 4096) + rng.laplace(0, 2, 4096)
    assert not is_noise_alone(thin, 2 * np.sqrt(2))


def test_counts_by_category_of_noise_alone_say_so_and_larger_ones_do_not() -> None:
    paid: Any = {"epsilon": 0.2, "randomness": dp.Randomness.from_seed(5)}
    wards, jobs = ("a", "b", "c"), ("x", "y")
    for adjacency in (dp.ADD_REMOVE, dp.REPLACE_ONE):
        for size, is_noise in ((8, True), (0, True), (3000, False)):
            rows, columns = list(np.resize(wards, size)), list(np.resize(jobs, size))
            if not size and adjacency is dp.REPLACE_ONE:
                continue  # no record can be replaced
            chart = dp.bar_chart(rows, categories=wards, adjacency=adjacency, **paid)
            table = dp.contingency(
                rows, columns, row_categories=wards, column_categories=jobs, adjacency=adjacency, **paid
            )
            for result in (chart, table):
                notes = [note for note in result.notes if "next to nothing" in note]
                assert len(notes) == is_noise, (adjacency, size, result)
    empty = dp.bar_chart([], categories=wards, epsilon=100, adjacency=dp.ADD_REMOVE)
    assert not empty.notes  # all counts are known to be 0
    thin = dp.bar_chart(
        list(range(1000)), categories=tuple(range(1000)), epsilon=0.5, adjacency=dp.ADD_REMOVE,
        randomness=dp.Randomness.from_seed(5),
    )  # fmt: skip
    assert thin._has_values
    assert not thin.notes  # the sum is known


def test_quantiles_against_quantiles_name_both_columns_and_quartiles_have_names() -> None:
    paid: Any = {"grid": dp.Grid(0, 9, cells=9), "epsilon": 9, "adjacency": dp.REPLACE_ONE}
    pay, age = (dp.cdf(np.resize(np.arange(9), 900), label=label, **paid) for label in ("pay", "age"))
    assert dp.QuantileQuantile(np.array([0.5]), pay, age)._title() == "Quantiles of age against pay"
    assert dp.QuantileQuantile(np.array([0.5]), pay, pay)._title() == "Quantiles of pay, the second against the first"
    assert [name for name, _ in pay._summary()][:3] == ["lower quartile", "median", "upper quartile"]


@pytest.mark.reproduction
def test_pictures_of_scores_name_the_columns_in_each_language_and_after_they_were_stored() -> None:
    """The title says which score is judged against which label, as that of a ROC curve does."""
    generator = np.random.default_rng(5)
    risk = generator.random(900)
    table = {"risk": risk, "ill": (generator.random(900) < risk).astype(int), "arm": np.resize(["a", "b"], 900)}
    grid, loss, by = dp.Grid(0, 1, cells=8), dp.PrivacyLoss.pure(5), dp.Categories("arm", ("a", "b"))
    with dp.Session(table, budget=dp.PrivacyLoss.pure(30), adjacency=dp.REPLACE_ONE) as session:
        scores = session.ask(dp.ScoresQuestion("ill", "risk", grid), loss)
        groups = session.ask(dp.ScoresQuestion("ill", "risk", grid, by=by), loss)
        questions = (
            dp.CalibrationQuestion("ill", "risk"), dp.HosmerLemeshowQuestion("ill", "risk"),
            dp.BinnedResidualsQuestion("ill", "risk", dp.PUBLIC_MODEL), dp.RocQuestion("ill", "risk"),
        )  # fmt: skip
        asked = [session.ask(question, loss) for question in questions]
    curves = scores.precision_recall(), scores.cumulative_gain(), scores.decision_curve(), scores.calibration()
    for result in (scores, scores.roc(), scores.confusion(0.5), groups, *curves, *asked):
        assert result.describe_picture().title.partition(";")[0].startswith(f"{result._title()}"), result
        assert " of risk for ill" in result._title()
        stored = result_from_json(result.to_json())
        assert (stored._title(), stored.to_json()) == (result._title(), result.to_json())
        with use_language("de"):
            assert " von risk für ill" in stored.describe_picture().title


def test_residuals_are_labels_minus_predictions() -> None:
    score = np.linspace(0.05, 0.95, 400)
    found = dp.binned_residuals(
        (score > 0.5).astype(int), score, model=dp.PUBLIC_MODEL, bins=3, epsilon=5, adjacency=dp.REPLACE_ONE
    )
    ax = found.plot()
    assert ax.get_ylabel() == "mean residual: label minus prediction"
    assert ax.get_title() == "Binned residuals of y_score for y_true"


def test_a_file_has_the_layout_of_the_screen_at_any_dots_per_inch() -> None:
    """Statements are wrapped in inches: at 300 dots per inch a line of three times the letters would be cut."""
    note = PRIVACY.with_notes("a note that takes several lines below the picture " * 5)
    shapes = []
    for dots in (100, 300):
        ax = draw_cdf(X, X, note, label="age", ax=headless_axes())
        figure = ax.figure.get_figure(root=True)
        assert figure is not None
        figure.savefig(BytesIO(), dpi=dots, format="png")
        footnote = Footnote.from_axes(ax)
        assert footnote is not None
        shapes.append((footnote.get_text().count("\n"), *figure.get_size_inches().round(1)))
    assert shapes[0] == shapes[1]
    assert shapes[0][0] >= 3
