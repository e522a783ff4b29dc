"""Noise laws of aggregated reports: the server's half of a frequency oracle, level by level of a tree of tilings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import FloatArray, IntArray
from dpcurves.codec import STORED, Natural, Rule
from dpcurves.laws.interval_sums import IntervalSums, Tier
from dpcurves.laws.law import VALUES_AT_ONCE, Family, Noise, NoisySums, Part, sum_over_intervals
from dpcurves.queries.query import Places, places_to_array

from .reported_pairs import DebiasedReports

# The law of randomised reports about one tiling: public chances of the answers that a report supports.
MOST_REPORTS = 2**50


@dataclass(frozen=True, slots=True)
class LevelReports:
    """Reports of so many people about which interval of a tiling they are in, or that their value is missing.

    Attributes:
        starts: The first cells of the intervals.
        reports: How many people reported.
        randomiser: The name of the randomiser that they reported by.
        p_true: The probability that a report supports the true answer.
        p_other: The probability that it supports a given other answer.
        p_true_and_other: The probability that it supports the true answer and a given other one.
        p_two_others: The probability that it supports two given other answers.

    Raises:
        ValueError: there is a negative number of reports, or these are no chances that tell answers apart.
    """

    starts: Places
    reports: Natural
    randomiser: str
    p_true: Fraction
    p_other: Fraction
    p_true_and_other: Fraction
    p_two_others: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.reports <= MOST_REPORTS:
            raise InvalidArgument("reports", f"from 0 to {MOST_REPORTS} are counted")
        if not 0 <= self.p_other < self.p_true <= 1 or not all(0 <= chance <= 1 for chance in self.joint_probabilities):
            raise InvalidArgument("responses", "the true answer is supported with a larger chance than others")
        if not (self.p_two_others < self.p_other and self.p_true_and_other <= self.p_other):
            raise InvalidArgument("responses", "another answer is sometimes supported, and sometimes alone of two")

    @property
    def joint_probabilities(self) -> tuple[Fraction, Fraction]:
        """The probabilities that two answers are both supported."""
        return self.p_true_and_other, self.p_two_others

    @property
    def gain(self) -> Fraction:
        """The difference of the chances that a report supports the true answer and another one."""
        return self.p_true - self.p_other

    @property
    def first_cells(self) -> IntArray:
        """The first cells of the intervals."""
        return places_to_array(self.starts)

    @property
    def expected_false_support(self) -> float:
        """The expected number of reports that support an answer that nobody has."""
        return float(self.reports * self.p_other)

    def find_debiased_variance(self, share: Any, *, sum_is_known: bool) -> Any:
        """The variance, per report, of the debiased count of an answer of this share: array to array, or a number.

        True answers are given; what sampling adds is not in it. With `sum_is_known`, where all answers stand side by side
        and their sum is known: *then debiased counts scatter as if they were independent, with this variance, and their
        sum were made right.* Proof. Given the true answers c, supports of u and w have the covariance
        ``n two + (c_u + c_w) more``, for two numbers, and u itself has a variance that is larger by d_u. Sums over
        answers with weights that add up to 0 see neither the constant nor what depends on u or on w alone; least
        squares under a known sum has such weights. So the variance less ``n two + 2 c_u more`` is all that counts.
        """
        own, other, two, more, gain = _compute_covariances(self.p_true, self.p_other, *self.joint_probabilities)
        variance = share * own + (1 - share) * other
        if sum_is_known:
            variance = variance - two - 2 * share * more
        return variance / gain**2

    def debias_tallies(self, tallies: FloatArray) -> DebiasedReports:
        """The answers that tallies of support tell: their covariance is that of `find_debiased_variance`, with the same proof."""
        counts = (tallies - self.expected_false_support) / float(self.gain)
        common, with_own = (float(self.find_debiased_variance(share, sum_is_known=True)) for share in (0.0, 1.0))
        return DebiasedReports(
            counts + (self.reports - counts.sum()) / len(counts), self.reports, common, with_own - common
        )


@lru_cache(maxsize=256)  # a pure function of public chances
def _compute_covariances(
    own: Fraction, other: Fraction, own_and_other: Fraction, two_others: Fraction
) -> tuple[float, ...]:
    """Variances of the support of the true answer and of another one, the terms of `scatter`, and the gain."""
    two = two_others - other**2
    more = own_and_other - own * other - two
    exact = own * (1 - own), other * (1 - other), two, more, own - other
    return tuple(float(each) for each in exact)


MANY = 1000
"""Reports that support an answer by chance: a binomial number of so many is nearly normal, its skewness below 0.04."""
MOST_DRAWN = 10**9
"""People of whom a sample is drawn without replacement; a limit of NumPy."""


def simulate_errors(law: AggregatedReports, draws: int, generator: np.random.Generator) -> FloatArray:
    """Errors of `AggregatedReports.debias`, given the shares that the law knows: (draws, values).

    Where few reports are false, their numbers are binomial and far from normal: the whole release is drawn afresh then.
    Else each error is a sum over many people, and drawn from a normal law with its exact covariances.
    """
    few = any(level.reports * level.p_other < MANY for level in law.reported_levels)
    drawn = _simulate_reports if few and law.whole and law.people < MOST_DRAWN else _simulate_normal_errors
    return drawn(law, draws, generator)


def _simulate_reports(law: AggregatedReports, draws: int, generator: np.random.Generator) -> FloatArray:
    """Errors of releases about as many people in each cell as is likely: levels ask some, and reports are drawn."""
    people = apportion_people(law.people, law.cell_shares)
    tallies, last = [], []
    for level, asked in zip(law.reported_levels, _sample_people_by_level(law, people, draws, generator), strict=True):
        drawn = _sample_tallies(level, law.sum_over_answers(level, asked), generator)
        tallies.append(drawn[:, :-1])
        last.append(drawn[:, -1:])
    truths = [law.sum_over_answers(level, people)[:-1] for level in law.reported_levels]
    truth = np.concatenate([*truths, people[-1:]])
    return np.asarray(law.debias_levels(tallies, last) - truth)


def apportion_people(people: int, shares: FloatArray) -> IntArray:
    """Whole numbers of people in proportion to shares, which add up to all of them.

    >>> apportion_people(10, np.array([0.25, 0.25, 0.5])).tolist()
    [3, 2, 5]
    """
    ends = np.cumsum(shares) / shares.sum() * people
    return np.asarray(np.diff(np.floor(ends + 0.5), prepend=0)).astype(np.int64)


def _sample_people_by_level(
    law: AggregatedReports, people: IntArray, draws: int, generator: np.random.Generator
) -> list[IntArray]:
    """The number of people of each cell that every level asked, (draws, cells): samples without replacement, or all."""
    if law.about_all:
        return [np.repeat(people[None], draws, axis=0) for _ in law.reported_levels]
    there = np.flatnonzero(people)
    asked = np.zeros((len(law.reported_levels), draws, len(there)), dtype=np.int64)
    asked[-1] = people[there]
    for number, level in enumerate(law.reported_levels[:-1]):
        left = asked[-1, :1] if number == 0 else asked[-1]
        asked[number] = np.concatenate(
            [_sample_hypergeometric(each, level.reports, draws // len(left), generator) for each in left]
        )
        asked[-1] -= asked[number]
    whole = np.zeros((*asked.shape[:-1], len(people)), dtype=np.int64)
    whole[..., there] = asked
    return list(whole)


def _sample_hypergeometric(people: IntArray, many: int, draws: int, generator: np.random.Generator) -> IntArray:
    return np.asarray(generator.multivariate_hypergeometric(people, many, size=draws, method="marginals"))


def _sample_tallies(level: LevelReports, answers: IntArray, generator: np.random.Generator) -> FloatArray:
    """Tallies of reports about these true answers: (draws, answers)."""
    if level.p_two_others == level.p_true_and_other == 0:
        # Each report is one answer: the true one is kept with the chance of the gain, or any is drawn, evenly.
        kept, even = generator.binomial(answers, float(level.gain)), np.full(answers.shape[-1], 1 / answers.shape[-1])
        return np.asarray(kept + generator.multinomial(level.reports - kept.sum(axis=-1), even), float)
    own, other = float(level.p_true), float(level.p_other)
    others = level.reports - answers
    drawn = generator.binomial(answers, own) + generator.binomial(others, other)
    about = answers * own + others * other
    return np.asarray(about + (drawn - about) * _compute_narrowing(level, answers))


def _compute_narrowing(level: LevelReports, answers: IntArray) -> FloatArray:
    """Independent tallies become so much narrower that they scatter as those of one report do; see `scatter`."""
    shares = answers / level.reports
    together, alone = (np.asarray(level.find_debiased_variance(shares, sum_is_known=each)) for each in (True, False))
    return np.asarray(np.sqrt(np.maximum(together, 0.0) / alone))


def _simulate_normal_errors(law: AggregatedReports, draws: int, generator: np.random.Generator) -> FloatArray:
    """Errors of normal laws with the exact covariances of false reports and of samples without replacement."""
    sampled = _simulate_sampling_errors(law, draws, generator)
    counts, apart = [], []
    for place, level in enumerate(law.reported_levels):
        shares = law.sum_over_answers(level, law.cell_shares)
        spread = np.sqrt(np.maximum(level.find_debiased_variance(shares, sum_is_known=law.whole), 0.0) / level.reports)
        drawn = law.people * spread * generator.standard_normal((draws, len(shares)))
        if sampled:
            drawn += sampled[place]
        counts.append(drawn[:, :-1])
        apart.append(drawn[:, -1:])
    return law.combine_levels(counts, apart)


def _simulate_sampling_errors(law: AggregatedReports, draws: int, generator: np.random.Generator) -> list[FloatArray]:
    """Deviations of the answers of each level from those of all people, as counts of all: none if all were asked.

    Each level asked some of those whom finer levels left, a sample without replacement. Where n of m people are drawn,
    and those m are off by d, the n are off by ``n / m * d``, and by noise of ``n * (1 - n / m)`` times the covariance
    ``diag(f) - f f'`` of one person. That begins with the finest level, so none needs numbers finer than its answers.
    """
    if len(law.reported_levels) == 1 or law.about_all:
        return []
    people, apart = law.people, []
    off: FloatArray | None = None
    for finer, level in zip([None, *law.reported_levels[:0:-1]], law.reported_levels[::-1], strict=True):
        shares, part = law.sum_over_answers(level, law.cell_shares), level.reports / people
        drawn = np.sqrt(shares * level.reports * (1 - part)) * generator.standard_normal((draws, len(shares)))
        if law.whole:
            drawn -= shares * drawn.sum(axis=-1, keepdims=True)
        if finer is not None and off is not None:
            table = off[:, :-1].reshape(len(off), law.rows, -1)
            sums = np.add.reduceat(table, np.searchsorted(finer.first_cells, level.first_cells), axis=-1)
            off = np.concatenate([sums.reshape(len(off), -1), off[:, -1:]], axis=-1)
            drawn += part * off
        apart.append(law.people / level.reports * drawn)
        off, people = (-drawn if off is None else off - drawn), people - level.reports
    return apart[::-1]


@dataclass(frozen=True, slots=True)
class AggregatedReports(NoisySums):
    """Counts of reports that support each answer. Each person is asked about one level, in whose intervals all cells
    lie.

    Or about all of them, each report with a share of the person's loss: then no level asked a sample.

    The answers of a level are its intervals in all rows, and that the value is missing. From the tally of an answer,
    ``(tally - reports * other) / gain`` people of the level have it, without bias, and as many times more of all people
    as there are of the level. Least squares puts the levels together; the number of all people is known.

    What the counts are off by has two parts. Reports are randomised, as `LevelReports` says. And each level asked some of
    the people, drawn without regard to their values: a sample without replacement, whose error at one level is made
    good by the others.

    The order of values: level by level, in it row by row, in it from left to right; then the tallies of missing values,
    level by level.

    Attributes:
        rows: How many cells the axes before the last have together.
        cells: How many cells the last axis has.
        levels: From coarse to fine. Every interval is a union of intervals of the next level.
        whole: Whether all answers are included. If not, the tallies are those of some rows of a larger table.
        shares: The share of the people in each cell, and of those whose value is missing, as far as they are known:
            only through these does the simulation depend on what was released. None: not known, and taken to be the
            same in all cells.
        about_all: Whether each person reported about all levels, and not about one.

    Raises:
        ValueError: there is no report.
    """

    KEY: ClassVar[str] = "tallied"
    FIELDS: ClassVar[Mapping[str, str]] = {KEY: "levels", "whole": "whole", "about_all": "about_all"}
    is_nested = True  # once they are debiased

    rows: int
    cells: int
    levels: Annotated[tuple[LevelReports, ...], ("minItems", 1)]
    whole: bool = True
    shares: tuple[float, ...] | None = None
    about_all: bool = False

    def __post_init__(self) -> None:
        if self.people < 1:
            raise InvalidArgument("reports", "there is none: nothing can be read")

    @property
    def people(self) -> int:
        """The number of people who reported, at all levels together."""
        reports = [level.reports for level in self.levels]
        return max(reports) if self.about_all else sum(reports)

    @property
    def reported_levels(self) -> tuple[LevelReports, ...]:
        """The levels that at least one person reported about."""
        return tuple(level for level in self.levels if level.reports)

    @property
    def size(self) -> int:
        return self.rows * sum(len(level.starts) for level in self.levels) + self.whole * len(self.levels)

    def blank_values(self) -> tuple[int, ...]:
        """Tallies of answers that nobody has."""
        tallies = [np.full(self.rows * len(level.starts), round(level.expected_false_support)) for level in self.levels]
        missing = [round(level.expected_false_support) for level in self.levels] if self.whole else []
        return (*np.concatenate(tallies).tolist(), *missing)

    @property
    def missing(self) -> Noise | None:
        """The approximate noise of the count of people whose value is missing."""
        if not self.whole:
            return None
        return Noise(Family.GAUSSIAN, Fraction(1 / sum(self._precisions)))

    @property
    def nested_law(self) -> IntervalSums:
        """The law of debiased counts of all people: sums over intervals, as if noises were independent and Gaussian.

        Their variances are those of intervals that are all equally frequent, and of values that are never missing. The
        largest part of them is that of reports that support an answer by chance, which depends on no frequency.
        """
        shares = [1 / (self.rows * len(level.starts)) for level in self.reported_levels]
        variances = [
            self._find_count_variance(level, share) for level, share in zip(self.reported_levels, shares, strict=True)
        ]
        noises = [Noise(Family.GAUSSIAN, Fraction(variance)) for variance in variances]
        levels = tuple(Tier(level.starts, noise) for level, noise in zip(self.reported_levels, noises, strict=True))
        return IntervalSums(self.rows, self.cells, levels, self.missing)

    def debias(self, values: FloatArray) -> FloatArray:
        """Unbiased counts of all people, in the order of `nested_law`: (..., size) to (..., nested.size)."""
        if values.shape[-1:] != (self.size,):
            raise InvalidArgument(
                "values", f"{self.size} are needed to fit the law, got an array of shape {values.shape}"
            )
        ends = np.cumsum([self.rows * len(level.starts) for level in self.levels])
        *parts, last = np.split(np.asarray(values, dtype=np.float64), ends, axis=-1)
        missing = np.split(last, last.shape[-1], axis=-1) if self.whole else [last] * len(parts)
        told = [place for place, level in enumerate(self.levels) if level.reports]
        return self.debias_levels([parts[place] for place in told], [missing[place] for place in told])

    def debias_levels(self, tallies: Sequence[FloatArray], missing: Sequence[FloatArray]) -> FloatArray:
        """Unbiased counts of all people from the tallies of the levels that anybody reported about."""
        scales = [self.people / level.reports / float(level.gain) for level in self.reported_levels]
        counts, apart = (
            [
                (part - level.expected_false_support) * scale
                for level, part, scale in zip(self.reported_levels, parts, scales, strict=True)
            ]
            for parts in (tallies, missing)
        )
        return self.combine_levels(counts, apart)

    def combine_levels(self, counts: Sequence[FloatArray], missing: Sequence[FloatArray]) -> FloatArray:
        """Counts of all levels, and the best count of missing values from those of all levels: as `nested_law` has them."""
        if not self.whole:
            return np.concatenate(list(counts), axis=-1)
        precisions = self._precisions
        best = sum(part * each for part, each in zip(precisions, missing, strict=True)) / sum(precisions)
        return np.concatenate([*counts, np.asarray(best)], axis=-1)

    def reconstruct(self, values: FloatArray, total: int | None) -> tuple[FloatArray, FloatArray]:
        """Least squares of debiased counts. The number of people is that of the reports, whatever `total` is."""
        return self.nested_law.reconstruct(self.debias(values), self._known_total)

    def prefix_variances(self, total_is_public: bool) -> FloatArray:
        """Variances where people are spread evenly over all cells.

        Levels that asked samples *with* replacement would have independent errors. What they asked is a sample without,
        of all people together, so whatever weights make the estimate unbiased, it is better by the variance of a sample
        of all people.
        """
        row = self.nested_law.prefix_variances(self.whole)
        if not self.whole or self.about_all:
            return row
        share = np.arange(self.cells + 1) / (self.cells * self.rows)
        return np.maximum(row - self.people * share * (1 - share), 0.0)

    def mean_prefix_variance(self, total_is_public: bool) -> float:
        """The mean of `prefix_variances`, which is quick where there are few kinds of intervals."""
        mean = self.nested_law.mean_prefix_variance(self.whole)
        share = np.arange(1, self.cells) / (self.cells * self.rows)
        known = self.whole and not self.about_all and self.cells > 1
        sampled = self.people * float((share * (1 - share)).mean()) if known else 0.0
        return max(mean - sampled, 0.0)

    def area_variance(self) -> float:
        """The variance of the mean of the prefixes of a row, given its total, where people are spread evenly.

        Least squares of nested sums of equal intervals has the eigenvectors that are constant on the intervals of one
        level and add up to 0 in those of the level above; on them its precision is that of all levels from this one on,
        each the size of its intervals over their variance. So the variance is a sum over levels: of what the places
        of cells differ by between the intervals of a level, within those above: a twelfth of ``1 - sum(width**3)``
        between all of one level, in parts of the row. (The last interval of a level
        may be smaller; it is taken for one as large as the others.) What levels asked together is no sample: see
        `prefix_variances`.
        """
        shared = [
            1.0,
            *(_compute_same_interval_probability(level.starts, self.cells) for level in self.reported_levels),
        ]
        noises = (float(level.noise.variance) for level in self.nested_law.levels)
        precision = [
            self.cells / len(level.starts) / noise for level, noise in zip(self.reported_levels, noises, strict=True)
        ]
        from_here = np.cumsum(precision[::-1])[::-1]
        found = self.cells * float((-np.diff(shared) / 12 / from_here).sum())
        known = self.whole and not self.about_all
        return max(found - (self.people / self.rows * (1 - shared[-1]) / 12 if known else 0.0), 0.0)

    def condition_on(self, values: Sequence[int]) -> AggregatedReports:
        """This law with the shares of cells that the values tell: none is negative, and parts add up to their whole."""
        if not self.whole or self.shares is not None:
            return self
        cells, missing = self.reconstruct(np.asarray(values, dtype=np.float64), None)
        apart = min(max(float(missing), 0.0), float(self.people)) / self.people
        known, begin = np.array([1 - apart]), np.zeros(1, dtype=np.int64)
        for level in self.reported_levels:
            first = (np.arange(self.rows)[:, None] * self.cells + level.first_cells).ravel()
            known = _divide_shares(
                known, sum_over_intervals(cells, level.first_cells).ravel(), np.searchsorted(first, begin)
            )
            begin = first
        width = np.diff(np.append(self.reported_levels[-1].first_cells, self.cells))
        even = np.repeat(known.reshape(self.rows, -1) / width, width, axis=-1)
        return replace(self, shares=(*even.ravel().tolist(), apart))

    def simulate(
        self, total: int | None, draws: int, generator: np.random.Generator
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Errors of the unbiased estimate: of false reports, and of levels that asked some of the people."""
        nested, chunk = self.nested_law, max(1, VALUES_AT_ONCE // (2 * max(self.size, self.rows * self.cells)))
        for start in range(0, draws, chunk):
            errors = simulate_errors(self, min(chunk, draws - start), generator)
            yield nested.reconstruct(errors, None if self._known_total is None else 0)

    @property
    def _precisions(self) -> list[float]:
        """Reciprocal variances of the counts of missing values, where there are none."""
        return [1 / self._find_count_variance(level, 0.0) for level in self.reported_levels]

    @property
    def cell_shares(self) -> FloatArray:
        """The share of each cell, and of missing values, which come last; those of some rows need not add up to 1."""
        if self.shares is not None:
            return np.array(self.shares)
        cells = self.rows * self.cells
        return np.append(np.full(cells, 1 / cells), 0.0)

    def sum_over_answers(self, level: LevelReports, cells: Any) -> Any:
        """Sums over the answers of a level: (..., all cells, missing) to (..., answers)."""
        table = cells[..., :-1].reshape(*cells.shape[:-1], self.rows, self.cells)
        sums = np.add.reduceat(table, level.first_cells, axis=-1)
        return np.concatenate([sums.reshape(*cells.shape[:-1], -1), cells[..., -1:]], axis=-1)

    def _find_count_variance(self, level: LevelReports, share: float) -> float:
        """The variance of a debiased count of all people, from a sample with replacement, or from all of them."""
        sampled = 0.0 if self.about_all else share
        return (
            self.people**2
            / level.reports
            * (float(level.find_debiased_variance(share, sum_is_known=self.whole)) + sampled)
        )

    @property
    def _known_total(self) -> int | None:
        return self.people if self.whole else None

    @property
    def parts(self) -> tuple[Part, ...]:
        """The levels, with the noise of a debiased count."""
        noises = iter(self.nested_law.levels)
        none = Noise(Family.GAUSSIAN, Fraction(0))
        return tuple(Part(len(level.starts), next(noises).noise if level.reports else none) for level in self.levels)

    @property
    def bounds(self) -> IntArray:
        """The ends of the intervals of the finest level that anybody reported about."""
        return self.nested_law.bounds

    def apply_strategy(self, cells: Any) -> list[Any]:
        """Sums over the intervals of each level."""
        return [sum_over_intervals(cells, level.first_cells) for level in self.levels]

    def with_rows(self, rows: int) -> AggregatedReports:
        return replace(self, rows=rows, whole=False, shares=None)

    def noise_by_source(self, total: int | None) -> FloatArray:
        """The noise by source if debiased counts were independent; see `nested_law`."""
        return self.nested_law.noise_by_source(self._known_total)

    def randomised_answers(self, values: Sequence[int]) -> DebiasedReports | None:
        """The answers, where all reported about one level, whose intervals are the cells of one row, and may have been
        missing.
        """
        told = self.levels[0]
        if len(self.levels) > 1 or not self.whole or self.rows > 1 or len(told.starts) < self.cells:
            return None
        return told.debias_tallies(np.asarray(values, dtype=np.float64))

    def count_missing_and_present(self, values: Sequence[int], total: int | None) -> tuple[float, float] | None:
        if not self.whole:
            return None
        missing = float(self.reconstruct(np.asarray(values, dtype=np.float64), None)[1])
        return missing, self.people - missing

    def to_json(self, values: Sequence[int], total: int | None) -> dict[str, Any]:
        """A release under this law as plain objects: of missing values the levels say all."""
        return {**NoisySums.to_json(self, values, total), "missing": None}

    def _fields_to_json(self) -> dict[str, Any]:
        told = {"tallied": STORED.encode(self.levels), "whole": self.whole}
        return {**told, "about_all": True} if self.about_all else told

    @classmethod
    def json_schema(cls) -> Rule:
        rule = super(AggregatedReports, cls).json_schema()
        return {**rule, "required": [*rule["required"], "whole"]}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        levels = STORED.decode(tuple[LevelReports, ...], stored["tallied"])
        rows, cells, whole = int(stored["rows"]), int(stored["cells"]), bool(stored["whole"])
        return cls(rows, cells, levels, whole, about_all=bool(stored.get("about_all", False)))


def _compute_same_interval_probability(starts: range | tuple[int, ...], cells: int) -> float:
    """The chance that three evenly spread places lie in one interval."""
    if isinstance(starts, range):
        return ((len(starts) - 1) * starts.step**3 + (cells - starts[-1]) ** 3) / cells**3
    return float(((np.diff(np.append(starts, cells)) / cells) ** 3).sum())


def _divide_shares(known: FloatArray, counts: FloatArray, first: IntArray) -> FloatArray:
    """Shares of parts, in proportion to their counts where any is above zero: else all parts of an interval are alike.

    Args:
        known: Shares of the intervals that are divided.
        counts: Unbiased counts of all parts, in their order.
        first: The number of the first part of each interval.
    """
    positive, parts = np.maximum(counts, 0.0), np.diff(np.append(first, len(counts)))
    sums = np.repeat(np.add.reduceat(positive, first), parts)
    even = np.repeat(1 / parts, parts)
    return np.asarray(np.repeat(known, parts) * np.divide(positive, sums, out=even, where=sums > 0))
