"""Pictures of scores and models: ROC, precision-recall, gain, net benefit, calibration, confusion, residuals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import BoolArray, FloatArray
from ..conversation import PrivacyStatement
from .canvas import (
    GREY,
    LANDSCAPE,
    POPULATION,
    SQUARE,
    LineStyle,
    Place,
    Shade,
    canvas,
    draw_between,
    explain,
    is_blank,
    leave_room,
    next_style,
    once,
    visible,
)
from .numerals import legend_lettering, lettering, numeral, span

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Curves of shares, in their bands: what the pictures of precision, gain and net benefit have in common.


def draw_rates(
    x: ArrayLike,
    y: ArrayLike,
    privacy: PrivacyStatement,
    *,
    words: str,
    edges: ArrayLike,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
    size: tuple[float, float] = SQUARE,
    place: Place = "best",
) -> Axes:
    """Draw one curve over its shaded bands, with a legend, and sign it.

    Args:
        x: Where the points lie.
        y: How high they are.
        privacy: The privacy statement that is written below the picture.
        words: What the legend calls the curve, after its name.
        edges: Between which the shades have their ends.
        shades: Bands, by their lower and upper ends between the edges, the wider ones first.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the curve.
        size: The size of a new figure.
        place: The place of the legend.
    """
    from .canvas import sign
    from .ticks import write_plainly

    ax = canvas(ax, size)
    style = next_style(ax)
    between = np.asarray(edges, dtype=float)
    for shade in shades:
        low, high = np.asarray(shade.lower, dtype=float), np.asarray(shade.upper, dtype=float)
        draw_between(ax, between, low, high, color=style.color, alpha=shade.depth, title=once(ax, shade.words))
    across, upwards = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    seen = visible(across, upwards)
    title = words if name is None else f"{legend_lettering(name)}: {words}"
    ax.plot(across[seen], upwards[seen], color=style.color, linestyle=style.dash, linewidth=1.6, label=title)
    write_plainly(ax)
    explain(ax, place, size=8)
    sign(ax, privacy, name)
    return ax


def frame_shares(ax: Axes, across: str, upwards: str) -> None:
    """Axes from 0 to 1, alike in both directions."""
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_aspect("equal")
    ax.set_xlabel(across)
    ax.set_ylabel(upwards)


# ROC curves as pictures.


CHANCE = "chance level (AUC = 0.5)"
CURVE = "ROC curve"
CLOSEST = 1e-4
"""No digit of an area stands for less than a tenth of this."""


class DrawnArea(NamedTuple):
    """A confidence interval for the area under a curve.

    Attributes:
        lower: Its lower end.
        upper: Its upper end.
        words: Its level, its kind, and whether it is for these records or for the population.
    """

    lower: float
    upper: float
    words: str


class Region(NamedTuple):
    """The band of a ROC curve: lower and upper bounds between each edge and the next.

    Attributes:
        edges: False positive rates, rising from 0 to 1, (steps + 1,).
        shade: Its bounds between them, (steps,), and its label in the legend.
    """

    edges: ArrayLike
    shade: Shade


def draw_roc(
    fpr: ArrayLike,
    tpr: ArrayLike,
    auc: float,
    privacy: PrivacyStatement,
    *,
    title: str = "",
    positive: str = "",
    areas: Sequence[DrawnArea] = (),
    regions: Sequence[Region] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw a ROC curve with its bands, the diagonal of chance, and the area under the curve in the legend.

    Args:
        fpr: Share of negatives above each threshold.
        tpr: Share of positives above each threshold.
        auc: Area under the curve.
        privacy: The privacy statement that is written below the picture.
        title: The title, for a curve without `name`; named curves may share one picture.
        positive: Which label is positive, for the axes.
        areas: Confidence intervals for the area, the one for these records first.
        regions: Bands, the wider ones first.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the curve.
    """
    from .canvas import sign

    ax = canvas(ax, SQUARE)
    style = next_style(ax)
    if is_blank(ax):
        _draw_roc_frame(ax, positive)
    if name is None and not ax.get_title():
        ax.set_title(lettering(title), fontsize=10, parse_math=False)
    for edges, shade in regions:
        sides = (np.asarray(side, dtype=float) for side in (edges, shade.lower, shade.upper))
        draw_between(ax, *sides, color=style.color, alpha=shade.depth, title=once(ax, shade.words))
    _draw_curve(ax, np.asarray(fpr, dtype=float), np.asarray(tpr, dtype=float), style, _words(name, auc, areas))
    explain(ax, "lower right", size=8)
    sign(ax, privacy, name)
    return ax


def area_rows(auc: float, areas: Sequence[DrawnArea]) -> list[tuple[str, str]]:
    """The area under the curve with as many digits as are known, and its intervals: a name and a text for each.

    >>> area_rows(0.64137, [DrawnArea(0.6311, 0.6519, "95% interval for these records")])
    [('AUC', '0.641'), ('95% interval for these records', '0.631 to 0.652')]
    """
    known = max(areas[0].upper - areas[0].lower, CLOSEST) if areas else 0.0
    return [("AUC", numeral(auc, width=known)), *((area.words, span(area.lower, area.upper, known)) for area in areas)]


def _words(name: str | None, auc: float, areas: Sequence[DrawnArea]) -> str:
    (_, digits), *intervals = area_rows(float(auc), areas)
    first = f"{CURVE if name is None else legend_lettering(name)} (AUC = {digits})"
    return "\n".join([first, *(f"{words}: {ends}" for words, ends in intervals)])


def _draw_curve(ax: Axes, across: np.ndarray, upwards: np.ndarray, style: LineStyle, words: str) -> None:
    seen = visible(across, upwards)
    ax.plot(across[seen], upwards[seen], color=style.color, linestyle=style.dash, linewidth=1.6, label=words)


def _draw_roc_frame(ax: Axes, positive: str) -> None:
    ax.plot([0, 1], [0, 1], color=GREY, linestyle=(0, (1, 2)), linewidth=1.2, label=CHANCE)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_aspect("equal")
    label = f" (positive label: {lettering(positive, 30)})" if positive else ""
    ax.set_xlabel(f"false positive rate{label}", parse_math=False)
    ax.set_ylabel(f"true positive rate{label}", parse_math=False)


# Precision-recall curves as pictures.


def draw_precision_recall(
    recall: ArrayLike,
    precision: ArrayLike,
    average_precision: float,
    privacy: PrivacyStatement,
    *,
    edges: ArrayLike,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw precision against recall, with the average precision in the legend.

    Args:
        recall: Share of positives above each threshold.
        precision: Share of positives among those above it.
        average_precision: For the legend.
        privacy: The privacy statement that is written below the picture.
        edges: Values of recall between which the shades have their ends.
        shades: Bands of precision, the wider ones first.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the curve.
    """
    ax = canvas(ax, SQUARE)
    if is_blank(ax):
        frame_shares(ax, "recall", "precision")
    known = isfinite(average_precision)
    words = f"average precision {numeral(average_precision, width=0.01)}" if known else "not known"
    return draw_rates(recall, precision, privacy, words=words, edges=edges, shades=shades, ax=ax, name=name)


# Cumulative gain as a picture.


def draw_gain(
    flagged: ArrayLike,
    gain: ArrayLike,
    privacy: PrivacyStatement,
    *,
    edges: ArrayLike,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw the share of the positives among the highest scores, with the diagonal of a random order.

    Args:
        flagged: Share of all records above each threshold.
        gain: Share of the positives above it.
        privacy: The privacy statement that is written below the picture.
        edges: Shares of records between which the shades have their ends.
        shades: Bands of the gain, the wider ones first.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the curve.
    """
    ax = canvas(ax, SQUARE)
    if is_blank(ax):
        frame_shares(ax, "share of records, highest scores first", "share of the positives")
        ax.plot([0, 1], [0, 1], color=GREY, linestyle=(0, (1, 2)), linewidth=1.2, label="in no order")
    return draw_rates(
        flagged, gain, privacy, words="gain", edges=edges, shades=shades, ax=ax, name=name, place="lower right"
    )


# Decision curves as pictures.


DECISION_ROOM, DEPTH = 1.35, 0.25


def draw_decision(
    threshold: ArrayLike,
    benefit: ArrayLike,
    all_benefit: ArrayLike,
    privacy: PrivacyStatement,
    *,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw net benefit against the threshold probability, with those of treating everybody and of treating nobody.

    Losses much larger than the greatest possible benefit are cut off: the loss of treating everybody is unbounded.

    Args:
        threshold: Rising probabilities.
        benefit: The net benefit of treating by the scores.
        all_benefit: The net benefit of treating everybody.
        privacy: The privacy statement that is written below the picture.
        shades: Bands of `benefit`, by their ends at each threshold, the wider ones first.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the curve.
    """
    ax = canvas(ax, LANDSCAPE)
    at, everybody = np.asarray(threshold, dtype=float), np.asarray(all_benefit, dtype=float)
    if is_blank(ax):
        ax.plot(at, everybody, color=GREY, linestyle="--", linewidth=1.1, label="acting on everybody")
        ax.axhline(0, color=GREY, linewidth=1.1, label="acting on nobody")
        ax.set_xlabel("threshold probability")
        ax.set_ylabel("net benefit")
        ax.set_xlim(0, 1)
    draw_rates(
        at, benefit, privacy, words="acting by the scores", edges=_between(at), shades=shades, ax=ax, name=name,
        size=LANDSCAPE, place="best",
    )  # fmt: skip
    highest = max(float(np.nanmax(np.append(benefit, everybody), initial=0.0)), 0.01)
    ax.set_ylim(-DEPTH * highest, DECISION_ROOM * highest)
    return ax


def _between(at: np.ndarray) -> np.ndarray:
    """Edges half way between neighbours: so much is shaded for each."""
    if len(at) < 2:
        return np.linspace(0, 1, len(at) + 1)
    middles = (at[:-1] + at[1:]) / 2
    return np.concatenate([[2 * at[0] - middles[0]], middles, [2 * at[-1] - middles[-1]]])


# Single numbers between 0 and 1 below each other, with their intervals.


THIN, THICK, WITHIN = 1.1, 5.0, 0.4
"""Widths of the bars of intervals for the population and for these records, and how pale the latter are."""
APART = 0.2
NUMBERS_ROOM = 0.36
"""What part of the rows is left free above all numbers, for the legend."""


def draw_numbers(
    values: Mapping[str, float],
    privacy: PrivacyStatement,
    *,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw each number as a point in a row of its own, with its intervals.

    Args:
        values: The numbers, by name.
        privacy: The privacy statement that is written below the picture.
        shades: Intervals, by the lower and upper end of each number, the wider ones first.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls them.
    """
    from .canvas import sign

    ax = canvas(ax, LANDSCAPE)
    style, rows = next_style(ax), np.arange(len(values), dtype=np.float64)[::-1]
    if is_blank(ax):
        _draw_numbers_frame(ax, list(values), rows)
    places = rows - APART * _drawn_before(ax)
    for shade in shades:
        _draw_ends(ax, places, shade, style)
    title = "as released" if name is None else legend_lettering(name)
    ax.plot(list(values.values()), places, "o", color=style.color, markersize=4.5, label=title, zorder=3)
    explain(ax, "upper center")
    sign(ax, privacy, name)
    return ax


def _draw_numbers_frame(ax: Axes, names: Sequence[str], rows: FloatArray) -> None:
    ax.set_yticks(rows, list(names))
    ax.set_ylim(-1.0, len(names) - 1 + NUMBERS_ROOM * len(names))
    ax.set_xlim(-0.02, 1.02)
    ax.grid(axis="x", alpha=0.3, linewidth=0.6)


def _drawn_before(ax: Axes) -> int:
    from .canvas import Footnote

    note = Footnote.of(ax)
    return 0 if note is None else note.curves


def _draw_ends(ax: Axes, places: FloatArray, shade: Shade, style: LineStyle) -> None:
    """For the population thin, for these records thick, and within."""
    thickness, alpha = (THIN, 1.0) if POPULATION in shade.words else (THICK, WITHIN)
    title = once(ax, shade.words)
    ax.hlines(places, shade.lower, shade.upper, color=style.color, linewidth=thickness, alpha=alpha, label=title)


# Confusion matrices as pictures: the rates that are read from them, and the counts above.


def draw_confusion(
    matrix: ArrayLike,
    threshold: float,
    rates: Mapping[str, float],
    privacy: PrivacyStatement,
    *,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw the rates at one threshold with their intervals; the four counts of the matrix stand above.

    Args:
        matrix: Counts: rows are the true labels, columns the predicted ones, negatives first.
        threshold: A score at or above it is classified as positive.
        rates: The rates, by name.
        privacy: The privacy statement that is written below the picture.
        shades: Intervals, by the lower and upper end of each rate, the wider ones first.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the model.
    """
    words = {rate.replace("_", " "): value for rate, value in rates.items()}
    ax = draw_numbers(words, privacy, shades=shades, ax=ax, name=name)
    ax.set_xlabel(f"share; a score of {threshold:g} or more is called positive")
    if name is None:
        ax.set_title(_told(np.asarray(matrix, dtype=float)), fontsize=9)
    return ax


def _told(matrix: FloatArray) -> str:
    (true_negative, false_positive), (false_negative, true_positive) = np.round(matrix).tolist()
    return (
        f"called positive: {numeral(true_positive)} positives, {numeral(false_positive)} negatives\n"
        f"called negative: {numeral(false_negative)} positives, {numeral(true_negative)} negatives"
    )


# Calibration curves and Hosmer-Lemeshow groups as pictures.


UNKNOWN = "anything from 0 to 1"
FLOOR = -0.16
TALLEST = 0.12
MOST_TICKS = 12
TICK = 8.5
CALIBRATION_ROOM = 0.6


def draw_calibration(
    prob_pred: ArrayLike,
    prob_true: ArrayLike,
    count: ArrayLike,
    privacy: PrivacyStatement,
    *,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw observed against predicted shares of positives, the diagonal of perfect calibration and bars of group sizes.

    A group whose interval reaches from 0 to 1, and so says nothing, is a hollow point that the line leaves out.

    Args:
        prob_pred: Mean score of each group.
        prob_true: Share of positives in each group.
        count: Records in each group.
        privacy: The privacy statement that is written below the picture.
        shades: Intervals, by the lower and upper end of each group, the wider ones first.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the curve.
    """
    from .canvas import sign

    ax = canvas(ax, SQUARE)
    style = next_style(ax)
    if is_blank(ax):
        _draw_calibration_frame(ax)
    predicted, observed = np.asarray(prob_pred, dtype=float), np.asarray(prob_true, dtype=float)
    known = _known(shades, len(observed))
    ax.plot(predicted[known], observed[known], color=style.color, linestyle=style.dash, linewidth=1.4)
    _draw_observed(ax, predicted, observed, style, shades=shades, name=name)
    if not known.all():
        (hollow,) = ax.plot(predicted[~known], observed[~known], "o", color=style.color, markersize=4.5, zorder=4)
        hollow.set(markerfacecolor="white", label=once(ax, UNKNOWN))
    _draw_sizes(ax, predicted, np.asarray(count, dtype=float), style)
    explain(ax, "above")
    sign(ax, privacy, name)
    return ax


def _known(shades: Sequence[Shade], groups: int) -> BoolArray:
    known = np.ones(groups, dtype=bool)
    for shade in shades:
        known &= (np.asarray(shade.lower) > 0) | (np.asarray(shade.upper) < 1)
    return known


def _draw_calibration_frame(ax: Axes) -> None:
    ax.plot([0, 1], [0, 1], color=GREY, linestyle=(0, (1, 2)), linewidth=1.2)
    ax.axhline(0, color=GREY, linewidth=0.6)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(FLOOR, 1.02)
    ax.set_yticks(np.linspace(0, 1, 6))
    ax.set_aspect("equal")
    ax.set_xlabel("mean predicted probability")
    ax.set_ylabel("share of positives")


def _draw_observed(
    ax: Axes, x: FloatArray, y: FloatArray, style: LineStyle, *, shades: Sequence[Shade], name: str | None
) -> None:
    for shade in shades:
        _draw_intervals(ax, x, shade, style)
    words = "observed" if name is None else f"{legend_lettering(name)}: observed"
    ax.plot(x, y, "o", color=style.color, markersize=4.5, label=words, zorder=3)


def _draw_intervals(ax: Axes, x: FloatArray, shade: Shade, style: LineStyle) -> None:
    """For the population thin, with caps; for these records thick, and within."""
    ends, title = np.asarray(shade.lower), once(ax, shade.words)
    wide = POPULATION in shade.words
    thickness, alpha = (THIN, 1.0) if wide else (THICK, WITHIN)
    ax.vlines(x, ends, shade.upper, color=style.color, linewidth=thickness, alpha=alpha, label=title)
    if wide:
        for end in (shade.lower, shade.upper):
            ax.plot(x, end, "_", color=style.color, markersize=6)


def _draw_sizes(ax: Axes, predicted: FloatArray, count: FloatArray, style: LineStyle) -> None:
    largest = np.fmax.reduce(count, initial=1.0)
    tops = FLOOR + TALLEST * np.clip(count, 0, None) / largest
    words = f"records per group, up to {largest:,.0f}"
    ax.vlines(predicted, FLOOR, tops, color=style.color, alpha=0.35, linewidth=5, label=words)


def draw_hosmer_lemeshow(
    groups: Sequence[Mapping[str, float]],
    statistic: float,
    p_value: float,
    privacy: PrivacyStatement,
    *,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw observed and expected positives, group by group.

    Args:
        groups: What each has: ``lower`` and ``upper`` score, ``count``, ``positives`` and ``expected`` positives.
        statistic: The statistic of the test.
        p_value: The p-value of the test.
        privacy: The privacy statement that is written below the picture.
        shades: Intervals, by the lower and upper end of each group, the wider ones first.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the model.
    """
    from .canvas import sign
    from .ticks import write_plainly

    ax = canvas(ax, LANDSCAPE)
    style = next_style(ax)
    middles = np.arange(0.5, len(groups))
    if is_blank(ax):
        _mark_groups(ax, groups)
    observed = np.array([group["positives"] for group in groups], dtype=float)
    _draw_observed(ax, middles, observed, style, shades=shades, name=name)
    _draw_expected(ax, middles, groups, style)
    ax.plot([], [], " ", label=f"Hosmer-Lemeshow {numeral(statistic)}, {_chance(p_value)} {POPULATION}")
    leave_room(ax, CALIBRATION_ROOM)
    write_plainly(ax)
    explain(ax, "best")
    sign(ax, privacy, name)
    return ax


def _draw_expected(ax: Axes, middles: FloatArray, groups: Sequence[Mapping[str, float]], style: LineStyle) -> None:
    expected = [group["expected"] for group in groups]
    left, right = middles - 0.35, middles + 0.35
    ax.hlines(expected, left, right, color=style.color, linewidth=2.5, alpha=0.45, label="expected by the model")


def _mark_groups(ax: Axes, groups: Sequence[Mapping[str, float]]) -> None:
    cuts = [group["lower"] for group in groups] + [group["upper"] for group in groups[-1:]]
    every = max(1, -(-len(cuts) // MOST_TICKS))
    ax.set_xticks(range(0, len(cuts), every), [f"{cut:.2g}" for cut in cuts[::every]], fontsize=TICK)
    ax.set_xlim(-0.1, len(groups) + 0.1)
    ax.set_xlabel("score, cut into groups")
    ax.set_ylabel("positives")
    ax.axhline(0, color="0.4", linewidth=0.6)


def _chance(p_value: float) -> str:
    return "p < 0.0001" if p_value < 0.0001 else f"p = {p_value:.2g}"


# Binned residuals as pictures.


SMALLEST_MARK, LARGEST_MARK = 10.0, 90.0


def draw_binned_residuals(
    prob_pred: ArrayLike,
    residual: ArrayLike,
    count: ArrayLike,
    privacy: PrivacyStatement,
    *,
    shades: Sequence[Shade] = (),
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw mean residuals against mean predictions, a point for each bin, within the envelope.

    Args:
        prob_pred: Mean prediction of each bin, in nondecreasing order.
        residual: Mean residual of each bin.
        count: Records in each bin: the area of its point.
        privacy: The privacy statement that is written below the picture.
        shades: Envelopes: the lower and upper ends between which mean residuals stay if the model is right.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the model.
    """
    from .canvas import sign
    from .ticks import write_plainly

    ax = canvas(ax, LANDSCAPE)
    style = next_style(ax)
    if is_blank(ax):
        _draw_binned_frame(ax)
    across, upwards, sizes = (np.asarray(each, dtype=float) for each in (prob_pred, residual, count))
    title = "" if name is None else f"{legend_lettering(name)}: "
    for shade in shades:
        _draw_envelope(ax, across, shade, style, title)
    parts = np.clip(sizes, 0, None) / np.fmax.reduce(sizes, initial=1.0)
    areas = SMALLEST_MARK + (LARGEST_MARK - SMALLEST_MARK) * parts
    words = f"{title}mean residual of a bin"
    ax.scatter(across, upwards, s=areas, color=style.color, label=words, zorder=3)
    write_plainly(ax)
    explain(ax, "best")
    sign(ax, privacy, name)
    return ax


def _draw_binned_frame(ax: Axes) -> None:
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.margins(y=0.25)
    ax.set_xlim(-0.02, 1.02)
    ax.set_xlabel("mean predicted probability")
    ax.set_ylabel("mean residual: label less prediction")


def _draw_envelope(ax: Axes, across: FloatArray, shade: Shade, style: LineStyle, title: str) -> None:
    for bound, label in ((shade.upper, f"{title}{shade.words}"), (shade.lower, "")):
        # A single bin has a line of no length: a mark shows where it would begin.
        ax.plot(
            across, bound, color=style.color, linestyle=style.dash, linewidth=0.9, marker="_", alpha=0.7, label=label
        )


# Residual plots as pictures: a scatter, or a heat map.


Labels = tuple[str, str]
SYNTHETIC = "synthetic points, none a record"


def draw_residual_points(
    points: ArrayLike,
    window: tuple[FloatArray, FloatArray],
    labels: Labels,
    privacy: PrivacyStatement,
    *,
    unseen: float,
    ax: Axes | None = None,
    name: str | None = None,
) -> Axes:
    """Draw a synthetic scatter of residuals against predictions.

    Args:
        points: An array ``(n, 2)``: a prediction and a residual each.
        window: Edges of the cells that are shown, along either axis.
        labels: What the axes show.
        privacy: The privacy statement that is written below the picture.
        unseen: The share of the records that lie elsewhere.
        ax: Where to draw; None: in a new figure.
        name: What the legend calls the model.
    """
    from .canvas import sign
    from .ticks import write_plainly

    ax = canvas(ax, LANDSCAPE)
    style = next_style(ax)
    _frame(ax, window, labels)
    across, upwards = np.asarray(points, dtype=float).reshape(-1, 2).T
    words = SYNTHETIC if name is None else f"{legend_lettering(name)}: {SYNTHETIC}"
    ax.scatter(across, upwards, s=5, color=style.color, alpha=0.5, linewidths=0, label=words)
    _tell(ax, unseen)
    write_plainly(ax)
    sign(ax, privacy, name)
    return ax


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
    """Draw how records are spread over predictions and residuals as a heat map.

    Args:
        density: Share of the records in each cell, of shape ``(cells along x, cells along y)``.
        edges: The edges of the cells, along either axis.
        labels: What the axes show.
        privacy: The privacy statement that is written below the picture.
        window: Edges of the cells that are shown.
        unseen: The share of the records that lie elsewhere.
        ax: Where to draw; None: in a new figure.
    """
    from .canvas import sign
    from .ticks import write_plainly

    ax = canvas(ax, LANDSCAPE)
    _frame(ax, window, labels)
    areas = np.outer(np.diff(edges[0]), np.diff(edges[1]))
    height = np.asarray(density, dtype=float) / areas
    # The root shows thin tails beside a dense middle.
    ax.pcolormesh(*edges, np.sqrt(height).T, cmap="Blues", rasterized=True, zorder=0)
    _tell(ax, unseen)
    write_plainly(ax)
    sign(ax, privacy, None)
    return ax


def _tell(ax: Axes, unseen: float) -> None:
    """Say in the legend how many records lie outside of the picture."""
    ax.plot([], [], " ", label=f"about {unseen:.1%} of the records lie outside")
    explain(ax, "best")


def _frame(ax: Axes, edges: tuple[FloatArray, FloatArray], labels: Labels) -> None:
    if is_blank(ax):
        ax.axhline(0, color=GREY, linewidth=0.8)
        ax.set_xlim(edges[0][0], edges[0][-1])
        ax.set_ylim(edges[1][0], edges[1][-1])
        ax.set_xlabel(lettering(labels[0], 60))
        ax.set_ylabel(lettering(labels[1], 60))
