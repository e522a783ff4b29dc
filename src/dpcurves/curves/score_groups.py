"""Binning by score for calibration: groups of similar scores, with the records, positives and mean score of each.

Calibration curves and the tests of predictions need, for each group g of similar scores, noisy numbers

    n_g   records
    O_g   positives
    E_g   sum of scores = n_g * middle of the group + sum of distances from that middle

`MeasuredGroups` have groups that earlier rounds chose, and these three sums as a release; `CountedGroups` form groups
from the counts of both classes in all cells, where the middle of a cell represents its scores. Both are unbiased, so a
number may be negative. More groups show more, and each has relatively more noise: the number of groups is chosen as for
a table of records over the noise of one count (`find_group_number`), and records are counted first if their number is
private.

Formal guarantees: the granted loss. A record lies in one group, for any groups, so each round (edges, counts, sums)
loses its public fraction, and these add up to 1. Groups are functions of earlier noisy answers (adaptive composition).

>>> from dpcurves.conversation import Setting
>>> from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne
>>> setting = Setting(PrivacyLoss.pure(1), ReplaceOne(EACH_RECORD, 1000))
>>> numbers = (350.0, 4), (1050.0, 5), (float("inf"), 10)  # (records over noise, groups)
>>> [find_group_number(records, setting, numbers) for records in (500, 2000, 9000)]
[4, 5, 10]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from .. import conversation, display
from ..arguments import InvalidArgument, require_integer, require_type
from ..arrays import FloatArray, IntArray
from ..data import SCORES, Axis, Categories, Category, Grid, Outside, Predictor
from ..estimation import shrink_estimate
from ..inference import GroupCounts, GroupNoise, choose_draws, public_generator, simulate_cell_noise
from ..privacy import PrivacyLoss
from .question import (
    NO_COLUMNS,
    ScoredColumns,
    TableQuestion,
    build_privacy_statement,
    cells_to_json,
    grid_from_edges,
    parse_class_labels,
    require_independent,
)
from .result import INDIVIDUAL_INTERVAL, IntervalResult, ReleasedResult, notes_on_classes

RECORDS_FRACTION = Fraction(1, 50)
"""Budget fraction of a first count of all records, if their number is private and the number of groups is automatic.
One count needs little, because it is compared only with the wide limits of a table of group numbers."""

Numbers = Sequence[tuple[float, int]]
"""Pairs (signal-to-noise limit, groups): the first pair applies whose limit exceeds the number of records divided by
the noise standard deviation of a count. The last limit is infinite."""


class GroupChoice(NamedTuple):
    """The number of groups of similar scores: as requested, or chosen by loss and noisy number of records.

    Attributes:
        groups: The number of groups.
        budget_fraction: The remaining budget fraction.
        counting_releases: The releases that counted the records.
        records: The approximate number of records; None: the number of groups was requested.
    """

    groups: int
    budget_fraction: Fraction
    counting_releases: tuple[conversation.Release, ...]
    records: float | None = None


def choose_group_number(
    groups: int | None, classes: Categories, score: Axis, setting: conversation.Setting, numbers: Numbers
) -> conversation.Needs[GroupChoice]:
    """Yield a count of all records if it is needed, and return the number of groups with the remaining budget.

    The number is the requested one, or chosen from the number of records over the noise of a count. If the number of
    records is private, a first round counts all records with `RECORDS_FRACTION` of the loss.

    Args:
        groups: Requested number; None: it is chosen.
        classes: Column of both classes.
        score: Column of scores, with its grid.
        setting: Loss and adjacency of the question.
        numbers: Pairs of a signal-to-noise ratio and of the number of groups up to it.
    """
    if groups is not None:
        return GroupChoice(groups, conversation.WHOLE_BUDGET, ())
    if setting.adjacency.public_record_count is not None:
        total = setting.adjacency.public_record_count
        return GroupChoice(find_group_number(total, setting, numbers), conversation.WHOLE_BUDGET, (), float(total))
    single_cell = Axis(score.column, score.grid.merge_cells([]))
    answer = yield from conversation.ask_workload(conversation.CellWorkload((classes, single_cell)), RECORDS_FRACTION)
    records = float(answer.counts.unbiased_cells.sum())
    return GroupChoice(
        find_group_number(records, setting, numbers),
        conversation.WHOLE_BUDGET - RECORDS_FRACTION,
        answer.releases,
        records,
    )


def find_group_number(records: float, setting: conversation.Setting, numbers: Numbers) -> int:
    """Return the automatic number of groups for this number of records.

    Args:
        records: Number of records, public or noisy.
        setting: Loss and adjacency, which give the standard deviation of the noise of a count.
        numbers: Pairs (limit, groups) with increasing limits, the last one infinite. The groups of the first pair are
            returned whose limit exceeds records / standard deviation.

    >>> from math import inf
    >>> from dpcurves.conversation import Setting
    >>> from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne
    >>> numbers = (350.0, 4), (1050.0, 5), (inf, 10)
    >>> settings = {n: Setting(PrivacyLoss.pure(1), ReplaceOne(EACH_RECORD, n)) for n in (900, 2900, 10**6)}
    >>> [find_group_number(n, setting, numbers) for n, setting in settings.items()]
    [4, 5, 10]
    """
    signal = records / count_noise_deviation(setting.loss, setting)
    return next(groups for below, groups in numbers if signal < below)


class GroupIntervals(Protocol):
    """A function that returns limits for each group from simulated noise and, for the population, from standard
    normal draws for sampling."""

    def __call__(self, groups: GroupCounts, noise: GroupNoise, normal: FloatArray | None, level: float) -> FloatArray:
        """Return confidence limits of a statistic of each group, (groups, 2), from counts and simulated noise.

        Args:
            groups: Unbiased counts of the groups.
            noise: Simulated noise of the counts.
            normal: Standard normal draws for sampling; None: limits for these records.
            level: Confidence level, between 0 and 1.
        """
        ...


@dataclass(frozen=True, eq=False)
class ScoreGroups(ABC):
    """Released counts of groups of similar scores. They are unbiased, so any of them may be negative.

    Attributes:
        cells: The counted cells; outside scores are in no group if they are counted apart.
        counts: Evidence of two rows: negatives, positives.
        columns: The columns of scores and labels, for titles.
    """

    cells: Grid
    counts: conversation.Evidence
    columns: ScoredColumns = field(default=NO_COLUMNS, kw_only=True)

    @property
    @abstractmethod
    def grid(self) -> Grid:
        """The groups of scores as cells of a grid."""

    @property
    @abstractmethod
    def group_counts(self) -> GroupCounts:
        """Unbiased counts of both classes, and sums of scores, of the groups."""

    @property
    def outside(self) -> tuple[float, float]:
        """Unbiased numbers of records with a score below and above the grid; they may be negative.

        Both are 0 if values outside are clipped.
        """
        if self.cells.outside is Outside.CLIPPED:
            return 0.0, 0.0
        below, *_, above = self._unbiased_cells.sum(axis=0).tolist()
        return below, above

    @cached_property
    def _unbiased_cells(self) -> FloatArray:
        """Unbiased counts of both classes in each cell, and outside the grid if counted apart, (2, slots)."""
        return self.counts.unbiased_cells

    def _drop_outside(self, cells: FloatArray) -> FloatArray:
        """Return numbers of the cells without those for scores outside the grid, if any: (..., slots) to (..., cells).

        Args:
            cells: Numbers along the last axis: in each cell, and outside the grid if counted apart.
        """
        return cells if self.cells.outside is Outside.CLIPPED else cells[..., 1:-1]

    @property
    def likely_means(self) -> FloatArray:
        """Estimated mean score of each group; noisy means are shrunk towards the middle, unlike `GroupCounts.mean`."""
        return self.group_counts.mean

    @property
    @abstractmethod
    def count_noise_deviation(self) -> float:
        """Standard deviation of the noise of the number of records in one group, both classes together."""

    @property
    @abstractmethod
    def surplus_noise_variance(self) -> FloatArray:
        """Variance of the noise of positives minus expected positives, for each group.

        Shape ``(groups,)``, in squared records.
        """

    @abstractmethod
    def simulate_noise(self, generator: np.random.Generator | None) -> GroupNoise:
        """Return simulated noise of the counts and sums of the groups.

        Args:
            generator: Random numbers of the simulation; None: from a fixed public seed.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return question and releases of the groups as JSON values, the evidence of a result.

        Returns:
            ``question``, an object, and ``releases``, a list.
        """

    def simulate_draws(self, generator: np.random.Generator | None) -> tuple[GroupNoise, FloatArray]:
        """Return simulated noise of the releases, and normal draws of the same shape for sampling.

        Args:
            generator: Random numbers of the simulation; None: from a fixed public seed.
        """
        rng = public_generator(generator)
        noise = self.simulate_noise(rng)
        return noise, rng.standard_normal(noise.positive.shape)

    def intervals(
        self,
        ends: GroupIntervals,
        level: float,
        privacy: conversation.PrivacyStatement,
        *,
        population: bool,
        generator: np.random.Generator | None,
    ) -> FloatArray:
        """Return the intervals of the groups that `ends` computes, for these records or for the population:
        ``(groups, 2)``.

        Args:
            ends: Function that computes the intervals from counts and noise.
            level: Confidence level of one interval.
            privacy: Privacy statement, which states whether units are independent.
            population: Whether they are for the population.
            generator: Random numbers of the simulation; None: a fixed public seed.

        Raises:
            ValueError: for the population, a unit may have several records.
        """
        require_independent(privacy, population)
        noise, normal = self.simulate_draws(generator)
        return ends(self.group_counts, noise, normal if population else None, level)


@dataclass(frozen=True, eq=False)
class MeasuredGroups(ScoreGroups):
    """Groups whose counts and sums were released: each group is a cell.

    Attributes:
        sums: Evidence of two rows: sums of distances from the middle of the group, of negatives and of positives.
    """

    sums: conversation.Evidence

    @property
    def grid(self) -> Grid:
        """Grid whose cells are the score groups."""
        return self.cells

    @cached_property
    def group_counts(self) -> GroupCounts:
        """Unbiased released counts of both classes, and sums of scores, of each cell."""
        negative, positive = self._drop_outside(self._unbiased_cells)
        distances = self._drop_outside(self.sums.unbiased_cells).sum(axis=0) * self._step_widths
        return GroupCounts(positive, negative, distances, self.grid.edges[:-1], self.grid.edges[1:])

    @property
    def count_noise_deviation(self) -> float:
        """Standard deviation of the noise of the number of records in one cell, both classes together."""
        return sqrt(2 * self.counts.sums.nested_distribution.parts[-1].noise.variance)

    @property
    def likely_means(self) -> FloatArray:
        """Estimated means of scores, shrunk towards the middle of the group as their noise requires.

        Scores lie more or less evenly in a group, so the prior standard deviation of the distance of their mean from
        the middle is an eighth of the width.
        """
        groups = self.group_counts
        width = np.diff(self.grid.edges)
        sums = self._drop_outside(self.sums.sums.noise_by_source(self.sums.total)).sum(axis=1) * self._step_widths
        noise = (sums**2).sum(axis=0) / np.maximum(groups.count, 1.0) ** 2
        weight = (width / 8) ** 2 / ((width / 8) ** 2 + noise)
        return np.asarray(groups.middle + weight * (groups.mean - groups.middle))

    @cached_property
    def surplus_noise_variance(self) -> FloatArray:
        """Variance of the noise of positives minus expected positives in each cell, (groups,)."""
        counts, sums = (
            self._drop_outside(release.sums.noise_by_source(release.total)) for release in (self.counts, self.sums)
        )
        middle = self.group_counts.middle
        count_noise = (1 - middle) * counts[:, 1] - middle * counts[:, 0]
        sum_noise = sums.sum(axis=1) * self._step_widths
        return np.asarray((count_noise**2).sum(axis=0) + (sum_noise**2).sum(axis=0))

    def simulate_noise(self, generator: np.random.Generator | None) -> GroupNoise:
        """Return simulated noise of the counts and sums of the cells.

        Args:
            generator: Random numbers of the simulation; None: a fixed public seed.
        """
        rng = public_generator(generator)
        distributions = (self.counts.sums, self.counts.total), (self.sums.sums, self.sums.total)
        simulated = (
            simulate_cell_noise(distribution, total, choose_draws(distribution.rows * distribution.cells), rng)
            for distribution, total in distributions
        )
        counts, sums = map(self._drop_outside, simulated)
        return GroupNoise(counts[:, 1], counts[:, 0], sums.sum(axis=1) * self._step_widths)

    @property
    def _step_widths(self) -> FloatArray:
        """Width of one step of the released sums in each group, in units of the score, (groups,)."""
        return np.diff(self.grid.edges) / (2 * conversation.HALF_WIDTH_STEPS)

    def to_json(self) -> dict[str, Any]:
        """Return the cells, the columns, and the releases of counts and sums, as JSON values.

        Returns:
            ``question``, an object, and ``releases``, the counts and then the sums.
        """
        question = {"edges": self.grid.edges.tolist(), **cells_to_json(self.grid), **self.columns.to_json()}
        return {"question": question, "releases": [self.counts.to_json(), self.sums.to_json()]}

    @classmethod
    def from_json(cls, evidence: Mapping[str, Any]) -> MeasuredGroups:
        """Return the groups that `to_json` wrote.

        Args:
            evidence: JSON values with the fields ``question`` and ``releases``.
        """
        counts, sums = (conversation.Evidence.from_json(release) for release in evidence["releases"])
        question = evidence["question"]
        return cls(grid_from_edges(question), counts, sums, columns=ScoredColumns.from_json(question))


def count_noise_deviation(loss: PrivacyLoss, setting: conversation.Setting) -> float:
    """Return the approximate standard deviation of the noise of a count of disjoint cells at this loss, in records.

    Args:
        loss: Loss that pays for the counts.
        setting: Loss and adjacency of the question; its adjacency gives the sensitivity.
    """
    if loss.epsilon is not None:
        return sqrt(2) * float(setting.adjacency.l1_sensitivity / loss.epsilon)
    return sqrt(setting.adjacency.squared_l2_sensitivity / (2 * loss.rho))


def check_group_number(groups: int, grid: Grid, *, name: str = "groups") -> int:
    """Return a requested number of groups, after checks.

    Args:
        groups: The number.
        grid: Grid of the scores.
        name: Name of the user's argument, for messages.

    Raises:
        ValueError: the number is below 2 or above 1000, or the grid leaves [0, 1].
        TypeError: the grid is no `Grid`, or `groups` no integer.
    """
    require_type("grid", grid, Grid, "a Grid, as in Grid(0, 1, cells=64),")
    groups = require_integer(name, groups)
    if groups < 2:
        raise InvalidArgument(name, f"at least 2 groups are needed, as in 10, got {groups}")
    most_groups = 1000  # groups
    if groups > most_groups:
        raise InvalidArgument(name, f"at most {most_groups} groups are allowed, got {groups}: ask for fewer")
    low, high = grid.endpoints
    if low < 0 or high > 1:
        raise InvalidArgument(
            "grid", f"predicted probabilities lie in [0, 1], got {low:g} to {high:g}: give a grid from 0 to 1"
        )
    return groups


@dataclass(frozen=True, eq=False)
class CountedGroups(ScoreGroups):
    """Groups of about equal size by the released counts of both classes in all cells.

    The middle of a cell represents the scores in it, so a mean score is wrong by at most half a cell. The ends of
    groups depend on the same counts; the counts of a group are unbiased except for the cells next to an end, which
    noise has selected.

    Attributes:
        max_groups: The requested number of groups; tied scores may lead to fewer.
    """

    max_groups: int

    @cached_property
    def starts(self) -> IntArray:
        """Index of the first cell of each group, ``(groups,)``, in increasing order."""
        estimate = shrink_estimate(self.counts.sums, self.counts.values, self.counts.total)
        below = np.cumsum(np.maximum(self._drop_outside(estimate).sum(axis=0), 0.0))
        shares = np.arange(1, self.max_groups) / self.max_groups
        inner = np.searchsorted(below, shares * below[-1]) + 1
        return np.unique(np.concatenate([[0], inner[inner < self.cells.cells]]))

    @cached_property
    def grid(self) -> Grid:
        """Grid whose cells are the score groups, each merged from counted cells."""
        return self.cells.merge_cells(self.starts[1:].tolist())

    @cached_property
    def group_counts(self) -> GroupCounts:
        """Unbiased counts of both classes, and sums of cell middles, of each group."""
        noisy = self._sum_groups(self._drop_outside(self._unbiased_cells)[None])
        (positive,), (negative,), (centred,) = noisy
        return GroupCounts(positive, negative, centred, self.grid.edges[:-1], self.grid.edges[1:])

    @cached_property
    def count_noise_deviation(self) -> float:
        """Average standard deviation of the noise of the number of records in one group, both classes together."""
        noise = self._simulated_noise
        return float(np.sqrt((noise.positive + noise.negative).var(axis=0).mean()))

    @cached_property
    def surplus_noise_variance(self) -> FloatArray:
        """Simulated variance of the noise of positives minus expected positives, for each group.

        Shape ``(groups,)``, in squared records.
        """
        return np.asarray(self._simulated_noise.residual_sum(self.group_counts.middle).var(axis=0))

    def simulate_noise(self, generator: np.random.Generator | None) -> GroupNoise:
        """Return simulated noise of the counts and sums of the groups.

        Args:
            generator: Random numbers of the simulation; None: from a fixed public seed.
        """
        distribution = self.counts.sums
        draws = choose_draws(distribution.rows * distribution.cells)
        chunks = distribution.simulate(self.counts.total, draws, public_generator(generator))
        chunk_sums = [self._sum_groups(self._drop_outside(cells)) for cells, _ in chunks]
        return GroupNoise(*(np.concatenate(chunk) for chunk in zip(*chunk_sums, strict=True)))

    @cached_property
    def _simulated_noise(self) -> GroupNoise:
        """Noise of the groups from a fixed public seed."""
        return self.simulate_noise(None)

    def _sum_groups(self, cells: FloatArray) -> GroupNoise:
        """Return positives, negatives and sums of distances from the middle of the group, each (..., groups), from
        counts (..., 2, cells).

        Args:
            cells: Counts of negatives and positives in the cells, (..., 2, cells).
        """
        edges = self.cells.edges
        ends = np.append(self.starts, self.cells.cells)
        middles = np.repeat((edges[ends[:-1]] + edges[ends[1:]]) / 2, np.diff(ends))
        distances = (edges[:-1] + edges[1:]) / 2 - middles
        summands = cells[..., 1, :], cells[..., 0, :], cells.sum(axis=-2) * distances
        return GroupNoise(*(np.add.reduceat(summand, self.starts, axis=-1) for summand in summands))

    def to_json(self) -> dict[str, Any]:
        """Return the grid, the columns, the number of groups, and the released counts as JSON values."""
        question = {
            "edges": self.cells.edges.tolist(), **cells_to_json(self.cells), **self.columns.to_json(),
            "groups": self.max_groups,
        }  # fmt: skip
        return {"question": question, "releases": [self.counts.to_json()]}


def groups_from_json(evidence: Mapping[str, Any]) -> ScoreGroups:
    """Return score groups from the JSON that `to_json` of either class of score groups wrote.

    Args:
        evidence: JSON values with the fields ``question`` and ``releases``.

    Returns:
        `CountedGroups` if the question has a number of groups, else `MeasuredGroups`.
    """
    question = evidence["question"]
    if "groups" not in question:
        return MeasuredGroups.from_json(evidence)
    cells = grid_from_edges(question)
    (counts,) = evidence["releases"]
    columns = ScoredColumns.from_json(question)
    return CountedGroups(cells, conversation.Evidence.from_json(counts), int(question["groups"]), columns=columns)


def build_score_groups(
    found: conversation.ScoreGroupReleases, columns: ScoredColumns, groups: int, least: int = 0
) -> ScoreGroups:
    """Return the groups as released; if all cells were counted, at most `groups` groups formed from their counts.

    In the latter case their number is also limited so that each seems to hold `least` records. Tied scores stay
    together, so groups next to them may hold fewer.

    Args:
        found: Releases of groups with sums, or of all cells without sums.
        columns: Columns of scores and labels, for titles.
        groups: Largest number of groups formed from cells.
        least: Least number of records of a group formed from cells; 0: no limit.
    """
    counts = conversation.Evidence.from_release(found.counts)
    if found.sums is None:
        group_limit = int(max(float(counts.unbiased_cells.sum()), 0.0) // least) if least else groups
        return CountedGroups(found.grid, counts, max(1, min(groups, group_limit)), columns=columns)
    return MeasuredGroups(found.grid, counts, conversation.Evidence.from_release(found.sums), columns=columns)


Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class GroupQuestion(TableQuestion):
    """A question about groups of about equal size.

    Attributes:
        label, score, groups, grid, pos_label, neg_label, model: See `CalibrationQuestion`.
    """

    label: str
    score: str | Predictor
    groups: int | None = None
    grid: Grid = SCORES
    pos_label: Category = 1
    neg_label: Category | None = None
    model: str = "the model is taken as public"

    _BUDGET_FRACTIONS: ClassVar[conversation.GroupBudgetFractions]
    """Budget fractions of cuts, counts and sums."""
    _GROUP_NUMBERS: ClassVar[Numbers]
    """The automatic number of groups, by signal-to-noise ratio."""
    _ALLOWS_UNEQUAL_GROUPS: ClassVar[bool] = False
    """True if groups may differ in size when their number is automatic: see `conversation.ScoreGroupWorkload`."""

    def __post_init__(self) -> None:
        parse_class_labels(self.label, self.pos_label, self.neg_label)
        _, largest_number = self._GROUP_NUMBERS[-1]
        groups = check_group_number(largest_number if self.groups is None else self.groups, self.grid)
        object.__setattr__(self, "groups", None if self.groups is None else groups)

    def _ask_result(
        self, read: Callable[[ScoreGroups, conversation.PrivacyStatement], Read], setting: conversation.Setting
    ) -> conversation.Needs[Read]:
        """Ask for the number of records, if needed, then for group edges, counts and sums; return the result that
        `read` computes.

        Args:
            read: Function that computes the result.
            setting: Loss of the question, and adjacency, which may have a public number of records.
        """
        classes = parse_class_labels(self.label, self.pos_label, self.neg_label)
        score = Axis(self.score, self.grid)
        number = yield from choose_group_number(self.groups, classes, score, setting, self._GROUP_NUMBERS)
        groups = number.groups
        approximate_records = number.records if self._ALLOWS_UNEQUAL_GROUPS else None
        answer = yield from conversation.ask_workload(
            conversation.ScoreGroupWorkload(
                classes, score, groups, self._BUDGET_FRACTIONS, approximate_records=approximate_records
            ),
            number.budget_fraction,
        )
        privacy = build_privacy_statement((*number.counting_releases, *answer.releases), self.model).with_notes(
            *notes_on_classes(answer.counts, classes)
        )
        columns = ScoredColumns.from_question(self.score, self.label)
        return read(build_score_groups(answer, columns, groups), privacy)


class GroupResult(ReleasedResult):
    """A result that is computed from groups of similar scores, and can be recomputed from them."""

    if TYPE_CHECKING:

        @property
        def groups(self) -> ScoreGroups:
            """The released counts and sums of the groups."""
            ...

        @classmethod
        def from_counts(cls, groups: ScoreGroups, privacy: conversation.PrivacyStatement) -> Self:
            """Return the result from released groups.

            Args:
                groups: Released counts of groups of similar scores.
                privacy: Privacy statement of the release.
            """
            ...

    def _title(self) -> str:
        """Return the title with the columns of scores and labels."""
        return self.groups.columns.add_to_title(super()._title())

    @property
    def rounds(self) -> tuple[conversation.Evidence, ...]:
        """The releases of the groups: counts, and sums if they were released."""
        return tuple(conversation.Evidence.from_json(release) for release in self.evidence_to_json()["releases"])

    def evidence_to_json(self) -> dict[str, Any]:
        """Return question and releases of the groups as JSON values.

        Returns:
            ``question``, an object, and ``releases``, a list in the order of the rounds.
        """
        return self.groups.to_json()

    def _question(self) -> dict[str, Any]:
        """Return the JSON fields of the question about the score groups."""
        return dict(self.groups.to_json()["question"])

    @classmethod
    def _from_json(cls, document: display.CurveDocument) -> Self:
        """Return the result from a parsed JSON document, computed again from its groups.

        Args:
            document: Parsed JSON document, as `to_json` of the result wrote it.
        """
        return cls.from_counts(groups_from_json(document.evidence), document.privacy)


class GroupIntervalResult(GroupResult, IntervalResult):
    """A result with a separate interval for each group."""

    INTERVAL_NAME = INDIVIDUAL_INTERVAL
