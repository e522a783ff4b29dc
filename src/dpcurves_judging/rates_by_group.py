"""Models judged group by group: rates at a threshold and numbers, their gaps, and curves of all groups at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations
from math import erf, nan, sqrt
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpcurves import display
from dpcurves.arguments import InvalidArgument, parse_choice, require_probability, require_type
from dpcurves.arrays import FloatArray
from dpcurves.curves.by_category import ByCategory
from dpcurves.curves.class_curves import RATES
from dpcurves.curves.class_table import Metric, find_discretization_error
from dpcurves.curves.question import Key, format_key, require_independent
from dpcurves.curves.result import IntervalResult, interval_scopes
from dpcurves.curves.scores import Scores, ScoresByCategory
from dpcurves.display.canvas import Shade, describe_interval
from dpcurves.display.numerals import describe_point, distinguish_labels
from dpcurves.inference.known_numbers import KNOWN_AT
from dpcurves.inference.moments import IntervalEstimate, subtract_estimates

from .counted_numbers import LONGEST, draw_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpcurves.conversation import PrivacyStatement


REACH, STEPS, HALVINGS = 8.0, 1601, 40
LARGEST = 12.0


def adjust_level(groups: int, level: float) -> float:
    """The level of an interval of each of so many independent numbers, so that all hold at once (Sidak 1967)."""
    return float(level ** (1 / max(groups, 1)))


def adjust_level_for_pairs(groups: int, level: float) -> float:
    """The level at which one difference is judged, so that those of all pairs of groups hold at once.

    The quantile of the range of so many independent normal numbers, over the root of 2 (Tukey 1953; of unlike
    variances it holds too much rather than too little, Hayter 1984).

    >>> [round(adjust_level_for_pairs(groups, 0.95), 4) for groups in (2, 5)]
    [0.95, 0.9936]
    """
    at = np.linspace(-REACH, REACH, STEPS)
    density, below = np.exp(-(at**2) / 2) / sqrt(2 * np.pi), np.array([(1 + erf(x / sqrt(2))) / 2 for x in at])
    low, high = 0.0, LARGEST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        further = np.array([(1 + erf((x - middle) / sqrt(2))) / 2 for x in at])
        held = groups * float((density * (below - further) ** (groups - 1)).sum()) * (at[1] - at[0])
        low, high = (middle, high) if held < level else (low, middle)
    return erf(high / 2)  # of the range over the root of 2, both sides


def compare_pairs(groups: Sequence[IntervalEstimate]) -> list[tuple[int, int, IntervalEstimate]]:
    """The difference of each pair of groups, with its ends from those of both: see `subtract_estimates`."""
    return [
        (one, two, subtract_estimates(groups[one], groups[two])) for one, two in combinations(range(len(groups)), 2)
    ]


def find_largest_gap(values: FloatArray, pairs: Sequence[IntervalEstimate]) -> IntervalEstimate:
    """The largest difference of two of the numbers, with ends from intervals of all pairs that hold at once.

    >>> find_largest_gap(np.array([0.5, 0.2]), [IntervalEstimate(0.3, 0.1, 0.4)])[:3]
    (0.3, 0.1, 0.4)
    """
    if not pairs:
        return IntervalEstimate(float("nan"), 0.0, 1.0)
    value = float(values.max() - values.min())
    low = max(0.0, *(max(each.lower, -each.upper) for each in pairs))
    high = max(max(each.upper, -each.lower) for each in pairs)
    return IntervalEstimate(value, min(low, value), max(high, value))


DRAWN = "flagged", "recall", "false_positive_rate"
AT_ONCE = "intervals of all groups, at once,"
GAPS = "intervals of all pairs of groups, at once,"


class GroupRates(ScoresByCategory):
    """Rates at a threshold, and numbers such as areas, of each group; and how far groups are apart.

    Rates are those of `Confusion` (``flagged`` is the selection rate, ``recall`` the true positive rate), numbers those
    of `Metric`. For each of them intervals hold for all groups at once; those of gaps for all pairs of groups at once.
    A group of which noise alone may have made what a rate is a share of is *not known*: NaN, from 0 to 1; gaps are of
    the other groups.

    Attributes:
        threshold: A score at or above it is called positive: the edge of the grid that is nearest.

    Formal guarantees: as for `ByCategory`; all is read from what was released, at no further loss.

    Data frame: a row for each group and rate. Pictures show selection, true positive and false positive rates.
    """

    TITLE = "Rates by {column}"
    DISTINGUISHING_FACT = "threshold"
    SIZE = (6.8, 6.0)

    def __init__(self, columns: str | Sequence[str], curves: Mapping[Key, Scores], threshold: float = 0.5) -> None:
        super().__init__(columns, curves)
        self.asked_threshold = threshold
        self.threshold = next(iter(curves.values())).confusion(threshold).threshold if curves else threshold

    @property
    def privacy(self) -> PrivacyStatement:
        """The privacy statement that all groups share; a note says where the threshold was moved to."""
        at = describe_point(self.threshold, self.asked_threshold)
        moved = (
            at != describe_point(self.threshold, self.threshold) and self[next(iter(self))].table.grid.values is None
        )
        return super().privacy.with_notes(*([f"rates are those at a threshold of {at} of the grid"] if moved else []))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Rates, and the numbers that can be computed from these scores."""
        return (*RATES, *(each.key for each in next(iter(self.values())).metrics))

    @cached_property
    def _confusions(self) -> list[Any]:
        return [scores.confusion(self.threshold) for scores in self.values()]

    def values_of(self, number: str) -> FloatArray:
        """A rate or a number of each group, of shape ``(groups,)``."""
        level = adjust_level(len(self), KNOWN_AT)  # that of the intervals which stand beside them
        return np.array([each.value for each in self._measure_number(number, level, population=False)])

    def intervals_of(self, number: str, level: float, *, population: bool = False) -> FloatArray:
        """Ends of a rate or a number of all groups, which hold for all at once with chance `level`: ``(groups, 2)``.

        For the records of each group; with `population`, for the population, which needs independent units of one
        record each.

        Raises:
            ValueError: there is no such number; `level` is not between 0 and 1; or, with `population`, units have
                several records.
        """
        each = adjust_level(len(self), require_probability("level", level))
        return np.array([[one.lower, one.upper] for one in self._measure_number(number, each, population=population)])

    def gaps(self, number: str, level: float, *, population: bool = False) -> dict[tuple[Key, Key], IntervalEstimate]:
        """The difference of each pair of groups, with ends that hold for all pairs at once with chance `level`.

        Each is computed from intervals of both groups, as `ScoresByCategory.difference`, at the level that the range of
        so many independent numbers asks for (Tukey and Kramer). Groups that are not known are left out. Errors are
        those of `intervals_of`.
        """
        keys, known = list(self), self._measure_known(number, level, population=population)
        pairs = compare_pairs([found for _, found in known])
        return {(keys[known[one][0]], keys[known[two][0]]): found for one, two, found in pairs}

    def largest_gap(self, number: str, level: float, *, population: bool = False) -> IntervalEstimate:
        """The largest difference of two groups, and ends that hold with at least the chance `level`.

        Noise and sampling make it too large on average where groups are alike; its interval then begins at 0. Groups
        that are not known are left out; of fewer than two it is NaN, from 0 to 1.
        """
        known = [found for _, found in self._measure_known(number, level, population=population)]
        return find_largest_gap(
            np.array([each.value for each in known]), [found for _, _, found in compare_pairs(known)]
        )

    def plot_gaps(
        self,
        number: str = "flagged",
        ax: Axes | None = None,
        *,
        level: float = 0.95,
        population: bool = True,
        name: str | None = None,
    ) -> Axes:
        """Draw the gap of each pair of groups as a forest plot, the largest one below."""
        privacy, shades, rows = self.privacy, list[Shade](), dict[str, float]()
        for who, asked in interval_scopes(privacy).items():
            if asked and not population:
                continue
            found = self.gaps(number, level, population=asked)
            most = self.largest_gap(number, level, population=asked)
            names = [*(f"{format_key(one)} minus {format_key(two)}" for one, two in found), "largest gap"]
            values = (each.value for each in (*found.values(), most))
            rows = dict(zip(distinguish_labels(names, LONGEST), values, strict=True))
            ends = np.array([[each.lower, each.upper] for each in (*found.values(), most)])
            shades.append(
                Shade(ends[:, 0], ends[:, 1], describe_interval(require_probability("level", level), GAPS, who))
            )
        label = f"difference of {number.replace('_', ' ')} at {self.threshold:g}"
        return draw_intervals(rows, privacy, label=label, null_value=0.0, shades=shades[::-1], ax=ax, name=name)

    def _figure_title(self) -> str:
        return ""

    def _plot_at_level(self, level: float | None, *, population: bool, ax: Axes | None, name: str | None) -> Axes:
        rows = {f"{self.format_category(key)}: {number.replace('_', ' ')}": 0.0 for number in DRAWN for key in self}
        rows = dict(zip(rows, np.concatenate([self.values_of(number) for number in DRAWN]).tolist(), strict=True))
        shades, privacy = list[Shade](), self.privacy
        for who, asked in interval_scopes(privacy).items():
            if level is not None and (population or not asked):
                ends = np.concatenate([self.intervals_of(each, level, population=asked) for each in DRAWN])
                shades.append(
                    Shade(ends[:, 0], ends[:, 1], describe_interval(require_probability("level", level), AT_ONCE, who))
                )
        label = f"share; a score of {self.threshold:g} or more is called positive"
        return draw_intervals(rows, privacy, label=label, null_value=None, shades=shades[::-1], ax=ax, name=name)

    def to_frame(self, *, level: float | None = 0.95, population: bool = False) -> Any:
        """A row for each group and number, with ends at `level` that hold for all groups at once; None: without ends.

        The ends are for these records, or, with `population`, for the population.
        """
        labels = [(column, texts * len(self.numbers)) for column, texts in self.label_columns()]
        columns: dict[str, Any] = {"number": np.repeat(self.numbers, len(self)).tolist()}
        columns["value"] = np.concatenate([self.values_of(each) for each in self.numbers])
        if level is not None:
            ends = np.concatenate([self.intervals_of(each, level, population=population) for each in self.numbers])
            columns |= {"lower": ends[:, 0], "upper": ends[:, 1]}
        return display.to_frame(display.join_columns(labels, columns))

    def _measure_number(self, number: str, level: float, *, population: bool) -> list[IntervalEstimate]:
        require_independent(self.privacy, population)
        if number in RATES:
            rates = self._compute_once(
                (level, population), None, lambda: self._measure_rates(level, population=population)
            )
            return [each[number] for each in rates]
        reading = parse_choice("number", number, Metric, also=f", {', '.join(RATES)}")
        found: list[IntervalEstimate] = self._compute_once(
            (number, level, population), None,
            lambda: [self._measure_reading(each, reading, level, population=population) for each in self.values()],
        )  # fmt: skip
        return found

    def _measure_rates(self, level: float, *, population: bool) -> list[dict[str, IntervalEstimate]]:
        return [
            {
                number: _make_measured(value, *ends)
                for (number, value), ends in zip(
                    each.rates.items(), each.intervals(level, population=population).tolist(), strict=True
                )
            }
            for each in self._confusions
        ]

    def _measure_reading(self, scores: Scores, reading: Metric, level: float, *, population: bool) -> IntervalEstimate:
        low, high = scores.interval(reading, level, population=population)
        if (low, high) == (0.0, reading.value.upper_limit(scores.table)):
            return _make_measured(nan, low, high)
        return _make_measured(scores.value(reading), low, high, *find_discretization_error(scores.table, reading))

    def _measure_known(self, number: str, level: float, *, population: bool) -> list[tuple[int, IntervalEstimate]]:
        each = adjust_level_for_pairs(len(self), require_probability("level", level)) if len(self) > 1 else level
        found = self._measure_number(number, each, population=population)
        return [(place, one) for place, one in enumerate(found) if np.isfinite(one.value)]

    def _question(self) -> Mapping[str, object]:
        return {**super()._question(), "threshold": self.asked_threshold}

    @classmethod
    def _from_document(cls, document: display.CurveDocument, kind: type[Any] | None) -> Self:
        found = super()._from_document(document, kind)
        return cls(found.columns, dict(found), float(document.question["threshold"]))


class SimultaneousCurves(ByCategory[IntervalResult]):
    """A curve for each category, whose bands or intervals hold for all categories at once.

    Categories are independent, so each band is drawn at the level whose product over all of them is the level asked for
    (Sidak 1967).

    Formal guarantees: as for `ByCategory`.
    """

    DISTINGUISHING_FACT = "at_once"

    def _plot_at_level(self, level: float | None, *, population: bool, ax: Axes | None, name: str | None) -> Axes:
        found = super()._plot_at_level(self._adjust_level(level), population=population, ax=ax, name=name)
        if level is not None:
            legend, words = found.get_legend(), f"bands of all {len(self)} groups hold at once with chance {level:g}"
            if legend is not None:
                legend.set_title(words)
                legend.get_title().set_fontsize(8)
        return found

    def to_frame(self, *, level: float | None = None, population: bool = False) -> Any:
        """The columns of all curves, one below the other; with a `level`, ends that hold for all groups at once."""
        return super().to_frame(level=self._adjust_level(level), population=population)

    def _adjust_level(self, level: float | None) -> float | None:
        return None if level is None else adjust_level(len(self), require_probability("level", level))

    def _question(self) -> Mapping[str, object]:
        return {**super()._question(), "at_once": True}


def group_rates(scores: ScoresByCategory, threshold: float = 0.5) -> GroupRates:
    """The rates and numbers of each category of released scores, and their gaps: as ``fairlearn.metrics.MetricFrame``.

    Args:
        scores: The scores of several categories, as a `ScoresQuestion` with ``by`` gives them.
        threshold: A score at or above it is called positive, at the nearest edge of the grid.

    Returns:
        Rates, numbers, and gaps.

    Formal guarantees: spends nothing; groups lose in parallel what one of them lost.

    Raises:
        TypeError: `scores` are not of several categories.
        ValueError: `threshold` is no number.

    >>> import dpcurves as dp
    >>> table = {"y": [0, 0, 1, 1] * 500, "s": [0.2, 0.7, 0.4, 0.9] * 500, "g": ["a", "b"] * 1000}
    >>> question = dp.ScoresQuestion("y", "s", by=dp.Categories("g", ("a", "b")))
    >>> with dp.Session(table, budget=dp.PrivacyLoss.pure(10), adjacency=dp.REPLACE_ONE) as session:
    ...     rates = group_rates(session.ask(question, dp.PrivacyLoss.pure(10)))
    >>> abs(rates.largest_gap("flagged", 0.95).value - 1) < 0.05
    True
    """
    return GroupRates(_require_by_category(scores).columns, dict(scores), threshold)


def group_curves(scores: ScoresByCategory, reading: str = "roc") -> SimultaneousCurves:
    """The curve of each category of released scores, with bands that hold for all categories at once.

    Args:
        scores: The scores of several categories.
        reading: The name of a method of `Scores`: roc, cumulative_gain, decision_curve, calibration.

    Returns:
        A curve for each category, whose `plot` and `to_frame` have bands for all at once.

    Formal guarantees: spends nothing.

    Raises:
        TypeError: `scores` are not of several categories.
        ValueError: there is no such curve, or it needs probabilities.

    >>> import dpcurves as dp
    >>> table = {"y": [0, 0, 1, 1] * 500, "s": [0.2, 0.7, 0.4, 0.9] * 500, "g": ["a", "b"] * 1000}
    >>> question = dp.ScoresQuestion("y", "s", by=dp.Categories("g", ("a", "b")))
    >>> with dp.Session(table, budget=dp.PrivacyLoss.pure(10), adjacency=dp.REPLACE_ONE) as session:
    ...     curves = group_curves(session.ask(question, dp.PrivacyLoss.pure(10)), "roc")
    >>> list(curves), curves["a"].auc > 0.9
    (['a', 'b'], True)
    """
    known = "roc", "cumulative_gain", "decision_curve", "calibration"
    if reading not in known:
        raise InvalidArgument("reading", f"one of {', '.join(known)} is needed")
    found = _require_by_category(scores)
    return SimultaneousCurves(found.columns, {key: getattr(each, reading)() for key, each in found.items()})


def _make_measured(value: float, low: float, high: float, *open_: float) -> IntervalEstimate:
    """With its interval around it; not known, where that is everything."""
    if (low, high) == (0.0, 1.0) or not np.isfinite(value):
        return IntervalEstimate(float("nan"), 0.0, 1.0)
    return IntervalEstimate(value, min(low, value), max(high, value), *open_)


def _require_by_category(scores: ScoresByCategory) -> ScoresByCategory:
    require_type("scores", scores, ScoresByCategory, "scores by category, as a ScoresQuestion with by= gives them,")
    return scores
