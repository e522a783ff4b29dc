"""Plots of classifier evaluation: ROC, precision-recall, gain, net benefit, calibration, confusion matrix, residuals.

Each function draws one curve, with matplotlib, and returns the `Axes`. Common arguments are

    numbers    arrays of the result, with a value for each threshold, group or bin
    privacy    the privacy statement of the release, written as a footnote below the plot
    on         keyword arguments ``ax`` (axes to draw on; None: a new figure), ``name`` (of the curve in the legend, to
               draw several curves on one `ax`) and, where a function takes them, ``shades`` (bands or intervals)

Rates of a ROC curve are uncertain in both directions. Its band is the union of a box for each threshold, drawn as steps
(`Region`), because between thresholds only this is known: the curve rises. Chance diagonals and treat-all curves are
drawn for comparison, as is usual in the field.

Formal guarantees: all numbers are released ones, with noise. Nothing is computed from records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray
from ..conversation import PrivacyStatement
from .canvas import (
    GREY,
    LANDSCAPE,
    POPULATION,
    SHARE_LIMITS,
    SQUARE,
    UNNAMED,
    DrawingOptions,
    Picture,
    Place,
    Shade,
    ShadedDrawingOptions,
    choose_colormap,
    deduplicate_label,
    format_for,
    reserve_legend_room,
)
from .numerals import format_interval, format_label, format_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Legend entries of the ROC plot.
CHANCE_LEVEL_LABEL = "chance level (AUC = 0.5)"
"""Legend entry of the diagonal of a ROC plot, on which scores tell nothing about the label."""
ROC_CURVE_LABEL = "ROC curve"
"""Legend entry of the curve of a ROC plot, if it has no name."""


def _draw_rates(
    picture: Picture, curve: tuple[ArrayLike, ArrayLike], words: str, *, edges: ArrayLike, place: Place = "best"
) -> Axes:
    """Draw one curve over its bands, whose bounds hold between edges; return the axes.

    Args:
        picture: Plot with its bands.
        curve: Values along the x axis and along the y axis.
        words: Text of the legend's entry.
        edges: Values of x between which the bounds of the bands hold, (bounds + 1,).
        place: Place of the legend.
    """
    for shade in picture.shades:
        picture.shade_band(edges, *shade)
    picture.draw_line(*curve, picture.legend_label(words))
    return picture.label_axes(place=place, size=8).add_statement()


def _frame_shares(picture: Picture, across: str, upwards: str) -> None:
    """Give a plot of two shares (as an ROC curve) equal axes from 0 to 1 with these titles.

    Args:
        picture: Plot to draw on.
        across: Title of the x axis.
        upwards: Title of the y axis.
    """
    picture.ax.set(xlim=SHARE_LIMITS, ylim=SHARE_LIMITS, aspect="equal")
    picture.ax.set_xlabel(across, parse_math=False)
    picture.ax.set_ylabel(upwards, parse_math=False)


def _draw_diagonal(ax: Axes, label: str | None = None) -> None:
    """Draw the dotted diagonal of the unit square, with a legend entry if given.

    Args:
        ax: The axes.
        label: Legend entry; None: no entry.
    """
    ax.plot([0, 1], [0, 1], color=GREY, linestyle=(0, (1, 2)), linewidth=1.2, label=label)


class AreaInterval(NamedTuple):
    """A confidence interval for the area under a curve.

    Attributes:
        lower: Lower endpoint.
        upper: Upper endpoint.
        label: Legend entry: the level, and whether the interval is for the area of these records, or for the population
            that they are a sample of, which adds sampling error.
    """

    lower: float
    upper: float
    label: str


class Region(NamedTuple):
    """The band of a ROC curve, with constant bounds between adjacent edges.

    Attributes:
        edges: False positive rates, rising from 0 to 1, (steps + 1,).
        shade: Bounds between the edges, (steps,), and the legend entry.
    """

    edges: ArrayLike
    shade: Shade


def draw_roc(
    fpr: ArrayLike,
    tpr: ArrayLike,
    auc: float,
    privacy: PrivacyStatement,
    *,
    positive: str = "",
    areas: Sequence[AreaInterval] = (),
    regions: Sequence[Region] = (),
    **on: Unpack[DrawingOptions],
) -> Axes:
    """Draw a ROC curve with its bands, and return the axes.

    The chance diagonal is drawn with the first curve on the axes. The area under the curve and its intervals are in
    the legend.

    Args:
        fpr: False positive rate at each threshold, (thresholds,): share of the negatives with higher scores. It is
            drawn along the x axis, in the order given, usually rising from 0 to 1.
        tpr: True positive rate at each threshold, (thresholds,): share of the positives with higher scores.
        auc: Area under the curve.
        privacy: Privacy statement of the release, written as a footnote.
        positive: Label of the positive class, added to the axis labels; empty: nothing is added.
        areas: Confidence intervals of the area, listed in the legend in this order. The width of the first determines
            how many digits of all are shown: put the interval for these records before that for the population. Empty:
            no intervals.
        regions: Bands of the curve, drawn in this order: put wider ones first, so that they do not cover others.
        **on: ``ax``: axes to draw on; None: a new figure. ``name``: name of the curve in the legend; None: "ROC curve".
    """
    picture = Picture(SQUARE, privacy, **on)
    if picture.is_first:
        _draw_diagonal(picture.ax, CHANCE_LEVEL_LABEL)
        label = f" (positive label: {format_label(positive, 30)})" if positive else ""
        _frame_shares(picture, f"false positive rate{label}", f"true positive rate{label}")
    for edges, shade in regions:
        picture.shade_band(edges, *shade)
    (_, digits), *intervals = area_rows(float(auc), areas)
    # blank names of two curves stay different in quotes
    entry = ROC_CURVE_LABEL if picture.name is None else picture.legend_label() or repr(picture.name)
    first = f"{entry} (AUC = {digits})"
    picture.draw_line(fpr, tpr, "\n".join([first, *(f"{words}: {ends}" for words, ends in intervals)]))
    return picture.label_axes(place="lower right", size=8, plainly=False).add_statement()


def area_rows(auc: float, areas: Sequence[AreaInterval]) -> list[tuple[str, str]]:
    """Return rows of name and text: the area under the curve, and its intervals by their labels.

    Args:
        auc: Area under the curve.
        areas: Intervals. The width of the first determines the digits of all rows; empty: four significant digits.

    >>> area_rows(0.64137, [AreaInterval(0.6311, 0.6519, "95% interval for these records")])
    [('AUC', '0.641'), ('95% interval for these records', '0.631 to 0.652')]
    """
    known = max(areas[0].upper - areas[0].lower, 1e-4) if areas else 0.0  # an area has no digit below 1e-5
    return [
        ("AUC", format_number(auc, width=known)),
        *((area.label, format_interval(area.lower, area.upper, known)) for area in areas),
    ]


def draw_precision_recall(
    recall: ArrayLike,
    precision: ArrayLike,
    average_precision: float,
    privacy: PrivacyStatement,
    *,
    edges: ArrayLike,
    **on: Unpack[ShadedDrawingOptions],
) -> Axes:
    """Draw precision against recall, with the average precision in the legend, and return the axes.

    Args:
        recall: Share of the positives with scores above each threshold, (thresholds,).
        precision: Share of positives among the records with scores above each threshold, (thresholds,).
        average_precision: Area under the curve, for the legend; NaN or infinite: "not known".
        privacy: Privacy statement of the release, written as a footnote.
        edges: Recall values between which the bounds of the shades hold, (bounds + 1,), in order.
        **on: ``ax``, ``name`` and ``shades``, as in `ShadedDrawingOptions`.
    """
    picture = Picture(SQUARE, privacy, **on)
    if picture.is_first:
        _frame_shares(picture, "recall", "precision")
    known = isfinite(average_precision)
    words = f"average precision {format_number(average_precision, width=0.01)}" if known else "not known"
    return _draw_rates(picture, (recall, precision), words, edges=edges)


def draw_gain(
    flagged: ArrayLike,
    gain: ArrayLike,
    privacy: PrivacyStatement,
    *,
    edges: ArrayLike,
    **on: Unpack[ShadedDrawingOptions],
) -> Axes:
    """Draw a cumulative gain curve, with the diagonal of a random order, and return the axes.

    The curve shows the share of all positives that is found if a share of the records is taken, highest scores first.

    Args:
        flagged: Share of all records with scores above each threshold, (thresholds,).
        gain: Share of the positives with scores above each threshold, (thresholds,).
        privacy: Privacy statement of the release, written as a footnote.
        edges: Shares of records between which the bounds of the shades hold, (bounds + 1,), in order.
        **on: ``ax``, ``name`` and ``shades``, as in `ShadedDrawingOptions`.
    """
    picture = Picture(SQUARE, privacy, **on)
    if picture.is_first:
        _frame_shares(picture, "share of records, highest scores first", "share of the positives")
        _draw_diagonal(picture.ax, "in no order")
    return _draw_rates(picture, (flagged, gain), "gain", edges=edges, place="lower right")


CUT_CURVE_NOTE = "not drawn above {}: there the band is wider than 3/4 of the largest net benefit"
"""Note on a decision curve that ends early; the braces take the threshold at which it ends."""


def _informative_limit(thresholds: FloatArray, shades: Sequence[Shade], highest: float) -> float:
    """Return the lowest threshold with a band wider than 3/4 of the highest net benefit, or 1.

    Args:
        thresholds: Thresholds along x, in rising order.
        shades: Bands; only the first is looked at.
        highest: Highest net benefit.
    """
    if not shades:
        return 1.0
    lower, upper = shades[0].endpoints
    # a band as wide as 3/4 of the largest net benefit is uninformative
    is_wide = thresholds[upper - lower > 0.75 * highest]
    return max(float(is_wide[0]), 0.1) if len(is_wide) else 1.0  # a tenth of the thresholds is always drawn


def draw_decision(
    threshold: ArrayLike,
    benefit: ArrayLike,
    all_benefit: ArrayLike,
    privacy: PrivacyStatement,
    **on: Unpack[ShadedDrawingOptions],
) -> Axes:
    """Draw a decision curve: net benefit against the threshold probability; return the axes.

    The net benefits of treating all and of treating none are drawn for comparison. The loss of treating everybody is
    unbounded, so losses above a quarter of the largest benefit are cut off. The x axis ends, with a note, where the
    band becomes wider than 3/4 of the largest net benefit.

    Args:
        threshold: Threshold probabilities, rising, (thresholds,).
        benefit: Net benefit of treating everybody whose score reaches the threshold, (thresholds,). Shades have bounds
            at each threshold.
        all_benefit: Net benefit of treating everybody, (thresholds,).
        privacy: Privacy statement of the release, written as a footnote.
        **on: ``ax``, ``name`` and ``shades``, as in `ShadedDrawingOptions`.
    """
    picture = Picture(LANDSCAPE, privacy, **on)
    at = np.asarray(threshold, dtype=float)
    everybody = np.asarray(all_benefit, dtype=float)
    if picture.is_first:
        picture.ax.plot(at, everybody, color=GREY, linestyle="--", linewidth=1.1, label="acting on everybody")
        picture.ax.axhline(0, color=GREY, linewidth=1.1, label="acting on nobody")
        picture.ax.set(xlabel="threshold probability", ylabel="net benefit", xlim=(0, 1))
    ends = _informative_limit(
        at, picture.shades, max(float(np.nanmax(np.append(benefit, everybody), initial=0.0)), 0.01)
    )
    if picture.is_first and ends < 1:
        picture.ax.set_xlim(0, ends)
        picture.privacy = privacy.with_notes(CUT_CURVE_NOTE.format(format_number(ends, 0.1)))
    ax = _draw_rates(picture, (at, benefit), "acting by the scores", edges=_edges_between(at), place="above")
    highest = max(float(np.nanmax(np.append(benefit, everybody), initial=0.0)), 0.01)
    ax.set_ylim(-0.25 * highest, 1.35 * highest)  # room for losses below, and for the legend above
    return ax


def _edges_between(points: FloatArray) -> FloatArray:
    """Return cell edges around points: the middles between them, and as far beyond the first and the last, (points +
    1,).

    Args:
        points: Increasing points, (points,); fewer than two give edges of [0, 1].
    """
    if len(points) < 2:
        return np.linspace(0, 1, len(points) + 1)
    middles = (points[:-1] + points[1:]) / 2
    return np.concatenate([[2 * points[0] - middles[0]], middles, [2 * points[-1] - middles[-1]]])


def _bar_style(words: str) -> tuple[float, float]:
    """Return line width and opacity of an interval: thin for the population, thick and pale for these records.

    Args:
        words: Legend entry of the interval, which names its scope.

    Returns:
        Line width in points, and opacity from 0 to 1.
    """
    return (1.1, 1.0) if POPULATION in words else (5.0, 0.4)  # line width in points, and opacity


def draw_numbers(values: Mapping[str, float], privacy: PrivacyStatement, **on: Unpack[ShadedDrawingOptions]) -> Axes:
    """Draw each number as a point in its own row, with its name and intervals, and return the axes.

    Args:
        values: Numbers by name, from the top row to the bottom row.
        privacy: Privacy statement of the release, written as a footnote.
        **on: ``ax``, ``name`` and ``shades``; each shade has bounds for every number, in the order of `values`.
    """
    picture = Picture(LANDSCAPE, privacy, **on)
    rows = np.arange(len(values), dtype=np.float64)[::-1]
    if picture.is_first:
        picture.ax.set_yticks(rows, list(values), parse_math=False)
        limits = np.concatenate([list(values.values()), *(np.asarray(shade.upper, float) for shade in picture.shades)])
        # a log loss may exceed 1, and its interval may be unbounded
        beyond = float(limits[np.isfinite(limits)].max(initial=1.0))
        picture.ax.set(
            xlim=(SHARE_LIMITS[0], max(SHARE_LIMITS[1], beyond * SHARE_LIMITS[1])),
            ylim=(-1.0, len(values) - 1 + 0.36 * len(values)),  # share of the rows for the legend
        )
        picture.ax.grid(axis="x", alpha=0.3, linewidth=0.6)
    places = rows - 0.2 * picture.before  # rows between the points of two curves
    for lower, upper, words in picture.shades:
        width, alpha = _bar_style(words)
        picture.draw_bars(places, (lower, upper), words, width=width, alpha=alpha)
    title = picture.legend_label() or "as released"
    picture.draw_points(list(values.values()), places, markersize=4.5, label=title, zorder=3)
    return picture.label_axes(place="upper center", plainly=False).add_statement()


def draw_confusion(
    matrix: ArrayLike,
    threshold: float,
    rates: Mapping[str, float],
    privacy: PrivacyStatement,
    **on: Unpack[ShadedDrawingOptions],
) -> Axes:
    """Draw the rates at one threshold with their intervals, below the counts of the confusion matrix; return the axes.

    Args:
        matrix: Released counts, (2, 2): rows are true labels, columns predicted labels, negatives first. They are shown
            as text, unless `on` has a name.
        threshold: Scores at or above it are classified as positive.
        rates: Rates from 0 to 1, such as precision, by name.
        privacy: Privacy statement of the release, written as a footnote.
        **on: ``ax``, ``name`` and ``shades``; each shade has bounds for every rate, in order.
    """
    ax = draw_numbers(rates, privacy, **on)
    ax.set_xlabel(f"share; a score of {threshold:g} or more is called positive")
    if on.get("name") is None:
        (true_negative, false_positive), (false_negative, true_positive) = np.round(np.asarray(matrix, float)).tolist()
        count_text = (
            f"called positive: {format_number(true_positive)} positives, {format_number(false_positive)} negatives\n"
            f"called negative: {format_number(false_negative)} positives, {format_number(true_negative)} negatives"
        )
        ax.set_title(count_text, fontsize=9)
        ax.set_ylim(-1.0, 1.55 * len(rates) - 1)  # room above for the legend
    return ax


UNKNOWN_RATE_LABEL = "anything from 0 to 1"
"""Legend entry of groups whose share of positives is unknown because of noise."""
COUNT_FLOOR = -0.16
"""Foot of the bars below the axis of a calibration plot that show numbers of records, as a share of the height."""


def draw_calibration(
    prob_pred: ArrayLike,
    prob_true: ArrayLike,
    count: ArrayLike | None,
    privacy: PrivacyStatement,
    **on: Unpack[ShadedDrawingOptions],
) -> Axes:
    """Draw observed against predicted shares of positives, the diagonal of perfect calibration, and bars of group
    sizes.

    A group with an interval from 0 to 1 is uninformative: its point is hollow, the line skips it, and the axes end
    before it if all other groups are below a quarter; the legend then states this.

    Args:
        prob_pred: Mean score of each group of records with similar scores, (groups,), from 0 to 1.
        prob_true: Share of positives in each group, (groups,).
        count: Number of records in each group, (groups,); None: the points are no groups, and no bars are drawn.
        privacy: Privacy statement of the release, written as a footnote.
        **on: ``ax``, ``name`` and ``shades``; each shade has bounds of `prob_true` for every group.
    """
    picture = Picture(SQUARE, privacy, **on)
    ax = picture.ax
    color = picture.style.color
    predicted, observed = (np.asarray(shares, dtype=float) for shares in (prob_pred, prob_true))
    known = np.ones(len(observed), dtype=bool)
    for shade in picture.shades:
        known &= (np.asarray(shade.lower) > 0) | (np.asarray(shade.upper) < 1)
    is_only = picture.is_first and on.get("name") is None
    top = _axis_limit(predicted[known], observed[known], picture) if is_only else 1.0
    if picture.is_first:
        _draw_diagonal(ax)
        ax.axhline(0, color=GREY, linewidth=0.6)
        ax.set_yticks(np.linspace(0, top, 6))
        ax.set(xlabel="mean predicted probability", ylabel="share of positives")
        floor = SHARE_LIMITS[0] if count is None else COUNT_FLOOR
        ax.set(xlim=(SHARE_LIMITS[0] * top, SHARE_LIMITS[1] * top), ylim=(floor * top, 1.02 * top), aspect="equal")
    picture.draw_points(predicted[known], observed[known], picture.style.dash, linewidth=1.4)
    sizes = np.zeros(0) if count is None else np.asarray(count, dtype=float)
    largest = float(np.fmax.reduce(sizes, initial=1.0))
    # a named curve among others has one entry, because an entry for its bars as well would make the legend too large
    with_sizes = f"observed, up to {largest:,.0f} records per group"
    _draw_observed(picture, predicted, observed, "observed" if count is None or picture.name is None else with_sizes)
    for is_outside, words in ((False, UNKNOWN_RATE_LABEL), (True, f"beyond {top:g}: {UNKNOWN_RATE_LABEL}")):
        unknown = ~known & ((predicted > top) == is_outside)
        if unknown.any():
            hollow: Any = {"markerfacecolor": ax.get_facecolor(), "label": deduplicate_label(ax, words)}
            picture.draw_points(predicted[unknown], observed[unknown], markersize=4.5, zorder=4, **hollow)
    if count is not None:
        tops = COUNT_FLOOR + 0.12 * np.clip(sizes, 0, None) / largest  # share of the height: the tallest bar
        words = f"records per group, up to {largest:,.0f}" if picture.name is None else UNNAMED
        width = _bar_width(predicted / top)
        ax.vlines(predicted, COUNT_FLOOR * top, tops * top, color=color, alpha=0.35, linewidth=width, label=words)
    return picture.label_axes(place="above", plainly=False).add_statement()


def _bar_width(places: FloatArray) -> float:
    """Return the width of bars, in points, for bars at positions from 0 to 1 along an axis: narrower if they are
    dense.

    Args:
        places: Positions of the bars, (bars,); NaN is left out.
    """
    gaps = np.diff(np.sort(places[np.isfinite(places)]))
    typical = float(np.median(gaps)) if len(gaps) else 1.0
    # a bar has 0.7 of the distance between bars; the axis is about 250 points long
    return float(np.clip(0.7 * 250.0 * typical, 1.0, 5.0))


def _axis_limit(predicted: FloatArray, observed: FloatArray, picture: Picture) -> float:
    """Return the upper limit of both axes: 1, or less if all points and intervals are below a quarter.

    Args:
        predicted: Predictions, along x.
        observed: Observed shares, along y.
        picture: Plot with the intervals.
    """
    ends = [np.asarray(shade.upper, dtype=float) for shade in picture.shades]
    shares = np.concatenate([predicted, observed, *[end[end < 1] for end in ends]])
    largest = float(np.nanmax(np.append(shares[np.isfinite(shares)], 0.0)))
    if not 0 < largest < 0.25:  # if all shares are below a quarter, they would fill only a corner
        return 1.0
    decade = 10.0 ** np.floor(np.log10(largest))
    return float(next(step * decade for step in (1, 1.25, 1.5, 2, 2.5, 5, 10) if step * decade >= 1.02 * largest))


def _draw_observed(picture: Picture, x: FloatArray, y: FloatArray, words: str = "observed") -> None:
    """Draw observed shares with their intervals, and the legend entry `words`; intervals for the population are thin
    and capped.

    Args:
        picture: Plot with the intervals.
        x: Positions of the groups.
        y: Observed share of each group.
        words: Entry of the legend for the points.
    """
    for lower, upper, kind in picture.shades:
        width, alpha = _bar_style(kind)
        label = deduplicate_label(picture.ax, kind)
        color = picture.style.color
        picture.ax.vlines(x, lower, upper, color=color, linewidth=width, alpha=alpha, label=label)
        for end in (lower, upper) if POPULATION in kind else ():
            picture.draw_points(x, end, "_", markersize=6)
    picture.draw_points(x, y, markersize=4.5, label=picture.legend_label(words), zorder=3)


def draw_hosmer_lemeshow(
    groups: Sequence[Mapping[str, float]],
    statistic: float,
    p_value: float,
    privacy: PrivacyStatement,
    **on: Unpack[ShadedDrawingOptions],
) -> Axes:
    """Draw a Hosmer-Lemeshow test: observed and expected positives of each group of scores; return the axes.

    Args:
        groups: For each group, in order of scores, ``lower`` and ``upper`` score, ``count``, ``positives`` and
            ``expected`` positives.
        statistic: The test statistic.
        p_value: The p-value of the test; NaN: the legend has "not known".
        privacy: Privacy statement of the release, written as a footnote.
        **on: ``ax``, ``name`` and ``shades``; each shade has bounds of the positives of every group.
    """
    picture = Picture(LANDSCAPE, privacy, **on)
    middles = np.arange(0.5, len(groups))
    ax = picture.ax
    if picture.is_first:
        cuts = [group["lower"] for group in groups] + [group["upper"] for group in groups[-1:]]
        every = max(1, -(-len(cuts) // 12))  # at most 12 ticks
        ax.set_xticks(range(0, len(cuts), every), [f"{cut:.2g}" for cut in cuts[::every]], fontsize=8.5)  # points
        ax.set(xlim=(-0.1, len(groups) + 0.1), xlabel="score, cut into groups", ylabel="positives")
        ax.axhline(0, color="0.4", linewidth=0.6)
    _draw_observed(picture, middles, np.array([group["positives"] for group in groups], dtype=float))
    expected = [group["expected"] for group in groups]
    ends = (middles - 0.35, middles + 0.35)
    label = "expected by the model"
    ax.hlines(expected, *ends, color=picture.style.color, linewidth=2.5, alpha=0.45, label=label)
    chance = "p < 0.0001" if p_value < 0.0001 else f"p = {p_value:.2g}"
    picture.add_legend_note(
        "not known" if isnan(p_value) else f"Hosmer-Lemeshow {format_number(statistic)}, {chance} {POPULATION}"
    )
    reserve_legend_room(ax, 0.6)  # share of the height for the legend
    return picture.label_axes().add_statement()


Labels = tuple[str, str]  # of the x axis and the y axis
SYNTHETIC_POINTS_LABEL = "synthetic points, none a record"
"""Legend entry of points that are drawn at random from released counts."""


def draw_binned_residuals(
    prob_pred: ArrayLike,
    residual: ArrayLike,
    count: ArrayLike,
    privacy: PrivacyStatement,
    **on: Unpack[ShadedDrawingOptions],
) -> Axes:
    """Draw a binned residual plot: mean residuals against mean predictions, a point per bin; return the axes.

    Shades are drawn as an envelope, that is bounds which the mean residuals of a correct model keep.

    Args:
        prob_pred: Mean prediction of each bin, (bins,), in nondecreasing order.
        residual: Mean residual of each bin, (bins,): label minus prediction.
        count: Number of records in each bin, (bins,), shown as the area of its point.
        privacy: Privacy statement of the release, written as a footnote.
        **on: ``ax``, ``name`` and ``shades``; each shade has bounds for every bin.
    """
    picture = Picture(LANDSCAPE, privacy, **on)
    ax, style = picture.ax, picture.style
    if picture.is_first:
        ax.axhline(0, color=GREY, linewidth=0.8)
        ax.margins(y=0.25)
        ax.set(xlim=SHARE_LIMITS, xlabel="mean predicted probability", ylabel="mean residual: label minus prediction")
    across, upwards, sizes = (np.asarray(values, dtype=float) for values in (prob_pred, residual, count))
    for lower, upper, words in picture.shades:
        for bound, label in ((upper, picture.legend_label(words)), (lower, "")):
            # A single bin gives a line of length zero, so a marker is drawn.
            picture.draw_points(across, bound, style.dash, linewidth=0.9, marker="_", alpha=0.7, label=label)
    fractions = np.clip(sizes, 0, None) / float(np.fmax.reduce(sizes, initial=1.0))
    smallest_mark = 10.0  # square points: smallest area of a point
    areas = smallest_mark + (90.0 - smallest_mark) * fractions  # square points
    ax.scatter(
        across, upwards, s=areas, color=style.color, label=picture.legend_label("mean residual of a bin"), zorder=3
    )
    return picture.label_axes().add_statement()


def draw_residual_points(
    points: ArrayLike,
    window: tuple[FloatArray, FloatArray],
    labels: Labels,
    privacy: PrivacyStatement,
    *,
    unseen: float,
    **on: Unpack[DrawingOptions],
) -> Axes:
    """Draw a scatter plot of residuals against predictions, of synthetic points; return the axes.

    The points were made from released numbers. None of them is a record; the legend states this.

    Args:
        points: Prediction and residual of each point, ``(n, 2)``.
        window: Edges of the visible cells along the x axis and the y axis, rising; the first and the last one limit the
            axis.
        labels: Labels of the x axis and the y axis.
        privacy: Privacy statement of the release, written as a footnote.
        unseen: Share of the records outside the window, from 0 to 1, for the legend.
        **on: ``ax`` and ``name``, as in `DrawingOptions`.
    """
    picture = Picture(LANDSCAPE, privacy, **on)
    _frame_residuals(picture, window, labels)
    across, upwards = np.asarray(points, dtype=float).reshape(-1, 2).T
    color = picture.style.color
    words = picture.legend_label(SYNTHETIC_POINTS_LABEL)
    picture.ax.scatter(across, upwards, s=5, color=color, alpha=0.5, linewidths=0, label=words)
    return _finish_residuals(picture, unseen)


def draw_residual_density(
    density: ArrayLike,
    edges: tuple[FloatArray, FloatArray],
    labels: Labels,
    privacy: PrivacyStatement,
    *,
    window: tuple[FloatArray, FloatArray],
    unseen: float,
    ax: Axes | None = None,
) -> Axes:
    """Draw the density of records over predictions and residuals as a heat map; return the axes.

    Colours show the square root of the density, so that thin tails stay visible.

    Args:
        density: Share of the records in each cell, of shape ``(cells along x, cells along y)``.
        edges: Edges of the cells along the x axis and the y axis, rising.
        labels: Labels of the x axis and the y axis.
        privacy: Privacy statement of the release, written as a footnote.
        window: Edges of the visible cells along the x axis and the y axis; the first and the last one limit the axis.
        unseen: Share of the records outside the window, from 0 to 1, for the legend.
        ax: Axes to draw on; None: a new figure.
    """
    picture = Picture(LANDSCAPE, privacy, ax=ax)
    _frame_residuals(picture, window, labels)
    height = np.asarray(density, dtype=float) / np.outer(np.diff(edges[0]), np.diff(edges[1]))
    # The square root keeps thin tails visible beside a dense centre.
    picture.ax.pcolormesh(*edges, np.sqrt(height).T, cmap=choose_colormap(picture.ax), rasterized=True, zorder=0)
    return _finish_residuals(picture, unseen)


def _finish_residuals(picture: Picture, unseen: float) -> Axes:
    """Add the share of records outside the window to the legend, label the axes, add the privacy statement, and return
    the axes.

    Args:
        picture: Picture with the drawn residuals.
        unseen: Share of the records outside the window, in [0, 1].
    """
    picture.add_legend_note(f"about {unseen:.1%} of the records lie outside")
    return picture.label_axes().add_statement()


def _frame_residuals(picture: Picture, edges: tuple[FloatArray, FloatArray], labels: Labels) -> None:
    """Draw the zero line and set limits and labels of the axes, for the first curve.

    Args:
        picture: Plot to draw on.
        edges: Edges along both axes.
        labels: Titles of both axes.
    """
    if picture.is_first:
        picture.ax.axhline(0, color=GREY, linewidth=0.8)
        picture.ax.set(xlim=edges[0][[0, -1]], ylim=edges[1][[0, -1]])
        picture.ax.set_xlabel(format_for(picture.ax, labels[0]), parse_math=False)
        picture.ax.set_ylabel(format_for(picture.ax, labels[1]), parse_math=False)
