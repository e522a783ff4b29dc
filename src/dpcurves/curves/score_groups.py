"""Groups of similar scores: how many records, how many of them positive, their mean score; bases of their questions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from .. import conversation, display
from ..arguments import Refused, require_kind, whole
from ..arrays import FloatArray, IntArray
from ..data import SCORES, Axis, Categories, Category, Grid, Outside, Predictor
from ..estimation import shrunken_estimate
from ..inference import GroupCounts, GroupNoise, draws_for, noise_of, public_generator
from ..privacy import PrivacyLoss
from .question import labels, read_grid, require_independent, statement_of, written_cells
from .result import EACH, Covered, Released, notes_on_classes

COUNTING = Fraction(1, 50)
"""The part of the loss that counts records where their number is private and the number of groups is left to us."""

Numbers = Sequence[tuple[float, int]]
"""Groups, where there are fewer records than so many standard deviations of the noise of a count; the last for all."""


class GroupNumber(NamedTuple):
    """The number of groups of similar scores, as it was given or chosen from the loss and a noisy number of records.

    Attributes:
        groups: Their number.
        share: What part of the loss is left for them.
        counted: What was released to find out.
        records: About how many records there are; None: the number of groups was asked for.
    """

    groups: int
    share: Fraction
    counted: tuple[conversation.Release, ...]
    records: float | None = None


def group_number(
    asked: int | None, classes: Categories, score: Axis, setting: conversation.Setting, numbers: Numbers
) -> conversation.Needs[GroupNumber]:
    """Take as many as were asked for; else by the number of records, which is counted first where it is private."""
    if asked is not None:
        return GroupNumber(asked, conversation.ALL, ())
    if setting.adjacency.total is not None:
        total = setting.adjacency.total
        return GroupNumber(groups_for(total, setting, numbers), conversation.ALL, (), float(total))
    whole = Axis(score.column, score.grid.cut([]))
    found = yield from conversation.needed(conversation.Cells((classes, whole)), COUNTING)
    records = float(found.counts.unbiased.sum())
    return GroupNumber(groups_for(records, setting, numbers), conversation.ALL - COUNTING, found.releases, records)


def groups_for(records: float, setting: conversation.Setting, numbers: Numbers) -> int:
    """The number of groups for so many records.

    >>> from math import inf
    >>> from dpcurves.conversation import Setting
    >>> from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne
    >>> numbers = (350.0, 4), (1050.0, 5), (inf, 10)
    >>> [groups_for(n, Setting(PrivacyLoss.pure(1), ReplaceOne(EACH_RECORD, n)), numbers) for n in (900, 2900, 10**6)]
    [4, 5, 10]
    """
    signal = records / noise_of_a_count(setting.loss, setting)
    return next(groups for below, groups in numbers if signal < below)


MOST_GROUPS = 1000


class GroupEnds(Protocol):
    """Lower and upper ends for each group, from simulated noise and, for the population, draws for sampling."""

    def __call__(self, groups: GroupCounts, noise: GroupNoise, normal: FloatArray | None, level: float) -> FloatArray:
        """At this level: ``(groups, 2)``."""
        ...


@dataclass(frozen=True, eq=False)
class ScoreGroups(ABC):
    """Released counts of groups of similar scores. Unbiased, so any of them may be below zero.

    Attributes:
        cells: The cells that were counted; scores outside of them are in no group if they are counted apart.
        counts: Evidence of two rows: negatives, positives.
    """

    cells: Grid
    counts: conversation.Evidence

    @property
    @abstractmethod
    def grid(self) -> Grid:
        """The groups as cells."""

    @property
    @abstractmethod
    def released(self) -> GroupCounts:
        """Unbiased counts and sums of the groups."""

    @property
    def outside(self) -> tuple[float, float]:
        """Records with a score below the grid, and above it: unbiased, so perhaps less than none."""
        if self.cells.outside is Outside.CLAMPED:
            return 0.0, 0.0
        below, *_, above = self._counted.sum(axis=0).tolist()
        return below, above

    @cached_property
    def _counted(self) -> FloatArray:
        return self.counts.unbiased

    def _inside(self, cells: FloatArray) -> FloatArray:
        """Without those that are counted apart, (..., slots) to (..., cells)."""
        return cells if self.cells.outside is Outside.CLAMPED else cells[..., 1:-1]

    @property
    def likely_means(self) -> FloatArray:
        """About the mean score of each group; unlike `released.mean`, noisy ones are drawn to the middle."""
        return self.released.mean

    @property
    @abstractmethod
    def noise_of_a_count(self) -> float:
        """Standard deviation of the noise of the records in one group, of both classes together."""

    @property
    @abstractmethod
    def noise_of_surplus(self) -> FloatArray:
        """Variance of the noise of positives less expected ones, for each group."""

    @abstractmethod
    def deviations(self, generator: np.random.Generator | None) -> GroupNoise:
        """Simulated noise of what was released."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain objects, for the evidence of a curve."""

    def draws(self, generator: np.random.Generator | None) -> tuple[GroupNoise, FloatArray]:
        """Simulated noise of what was released, and normal draws of the same shape for sampling."""
        chance = public_generator(generator)
        noise = self.deviations(chance)
        return noise, chance.standard_normal(noise.positive.shape)

    def intervals(
        self,
        ends: GroupEnds,
        level: float,
        privacy: conversation.PrivacyStatement,
        *,
        population: bool,
        generator: np.random.Generator | None,
    ) -> FloatArray:
        """The intervals that `ends` finds for each group, for these records or for the population: ``(groups, 2)``."""
        require_independent(privacy, population)
        noise, normal = self.draws(generator)
        return ends(self.released, noise, normal if population else None, level)


@dataclass(frozen=True, eq=False)
class MeasuredGroups(ScoreGroups):
    """Groups whose counts and sums were asked for: the groups are the cells.

    Attributes:
        sums: Evidence of two rows: sums of distances from the middle of the group, of negatives and of positives.
    """

    sums: conversation.Evidence

    @property
    def grid(self) -> Grid:
        return self.cells

    @cached_property
    def released(self) -> GroupCounts:
        negative, positive = self._inside(self._counted)
        distances = self._inside(self.sums.unbiased).sum(axis=0) * self._step
        return GroupCounts(positive, negative, distances, self.grid.edges[:-1], self.grid.edges[1:])

    @property
    def noise_of_a_count(self) -> float:
        return sqrt(2 * self.counts.sums.nested.parts[-1].noise.variance)

    @property
    def likely_means(self) -> FloatArray:
        """Means of scores, as far as their noise allows; the rest is the middle of the group.

        Scores lie more or less evenly in a group, so that their mean is taken to be off the middle by an eighth of the
        width, as a standard deviation.
        """
        groups, width = self.released, np.diff(self.grid.edges)
        sums = self._inside(self.sums.sums.noise_by_source(self.sums.total)).sum(axis=1) * self._step
        noise = (sums**2).sum(axis=0) / np.maximum(groups.count, 1.0) ** 2
        kept = (width / 8) ** 2 / ((width / 8) ** 2 + noise)
        return np.asarray(groups.middle + kept * (groups.mean - groups.middle))

    @cached_property
    def noise_of_surplus(self) -> FloatArray:
        counts, sums = (self._inside(each.sums.noise_by_source(each.total)) for each in (self.counts, self.sums))
        middle = self.released.middle
        counted = (1 - middle) * counts[:, 1] - middle * counts[:, 0]
        summed = sums.sum(axis=1) * self._step
        return np.asarray((counted**2).sum(axis=0) + (summed**2).sum(axis=0))

    def deviations(self, generator: np.random.Generator | None) -> GroupNoise:
        chance = public_generator(generator)
        laws = (self.counts.sums, self.counts.total), (self.sums.sums, self.sums.total)
        drawn = (noise_of(law, total, draws_for(law.rows * law.cells), chance) for law, total in laws)
        counts, sums = map(self._inside, drawn)
        return GroupNoise(counts[:, 1], counts[:, 0], sums.sum(axis=1) * self._step)

    @property
    def _step(self) -> FloatArray:
        return np.diff(self.grid.edges) / (2 * conversation.HALF)

    def to_json(self) -> dict[str, Any]:
        question = {"edges": self.grid.edges.tolist(), **written_cells(self.grid)}
        return {"question": question, "releases": [self.counts.to_json(), self.sums.to_json()]}

    @classmethod
    def from_json(cls, evidence: Mapping[str, Any]) -> MeasuredGroups:
        """The inverse of `to_json`."""
        counts, sums = (conversation.Evidence.from_json(release) for release in evidence["releases"])
        question = evidence["question"]
        return cls(read_grid(question), counts, sums)


def noise_of_a_count(loss: PrivacyLoss, setting: conversation.Setting) -> float:
    """About the standard deviation of the noise of one count of disjoint ones."""
    if loss.epsilon is not None:
        return sqrt(2) * float(setting.adjacency.l1_sensitivity / loss.epsilon)
    return sqrt(setting.adjacency.squared_l2_sensitivity / (2 * loss.rho))


def groups_of(groups: int, grid: Grid, *, name: str = "groups") -> int:
    """The number of groups that can be formed; `name` is the argument to blame.

    Raises:
        ValueError: there are fewer than 2, or more than 1000, or the grid leaves [0, 1].
        TypeError: the grid is no `Grid`, or `groups` no whole number.
    """
    require_kind("grid", grid, Grid, "a Grid, as in Grid(0, 1, cells=64),")
    groups = whole(name, groups)
    if groups < 2:
        raise Refused(name, f"at least 2 are needed, got {groups}")
    if groups > MOST_GROUPS:
        raise Refused(name, f"at most {MOST_GROUPS} are cut, got {groups}")
    low, high = grid.ends
    if low < 0 or high > 1:
        raise Refused("grid", f"predicted probabilities lie in [0, 1], got {low:g} to {high:g}")
    return groups


@dataclass(frozen=True, eq=False)
class CountedGroups(ScoreGroups):
    """Groups of about equal size, as released counts of both classes in all cells tell.

    The middle of its cell stands for a score: a mean score is off by half a cell at most. Where the groups end depends
    on the same counts; what they hold is read without bias, but for the cells beside an end, which noise has chosen.

    Attributes:
        groups: How many groups were asked for; fewer where scores are tied.
    """

    groups: int

    @cached_property
    def starts(self) -> IntArray:
        """The first cell of each group."""
        likely = shrunken_estimate(self.counts.sums, self.counts.values, self.counts.total)
        below = np.cumsum(np.maximum(self._inside(likely).sum(axis=0), 0.0))
        shares = np.arange(1, self.groups) / self.groups
        inner = np.searchsorted(below, shares * below[-1]) + 1
        return np.unique(np.concatenate([[0], inner[inner < self.cells.cells]]))

    @cached_property
    def grid(self) -> Grid:
        return self.cells.cut(self.starts[1:].tolist())

    @cached_property
    def released(self) -> GroupCounts:
        noisy = self._grouped(self._inside(self._counted)[None])
        (positive,), (negative,), (centred,) = noisy
        return GroupCounts(positive, negative, centred, self.grid.edges[:-1], self.grid.edges[1:])

    @cached_property
    def noise_of_a_count(self) -> float:
        """Standard deviation of the noise of the records in one group, of both classes together: on average."""
        noise = self._simulated
        return float(np.sqrt((noise.positive + noise.negative).var(axis=0).mean()))

    @cached_property
    def noise_of_surplus(self) -> FloatArray:
        """Variance of the noise of positives less expected ones, for each group: as simulated."""
        return np.asarray(self._simulated.surplus(self.released.middle).var(axis=0))

    def deviations(self, generator: np.random.Generator | None) -> GroupNoise:
        law = self.counts.sums
        draws = draws_for(law.rows * law.cells)
        chunks = law.simulate(self.counts.total, draws, public_generator(generator))
        parts = [self._grouped(self._inside(cells)) for cells, _ in chunks]
        return GroupNoise(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    @cached_property
    def _simulated(self) -> GroupNoise:
        return self.deviations(None)

    def _grouped(self, cells: FloatArray) -> GroupNoise:
        """Positives, negatives and sums of distances from the middle of each group, of cells (..., 2, cells)."""
        edges, ends = self.cells.edges, np.append(self.starts, self.cells.cells)
        middles = np.repeat((edges[ends[:-1]] + edges[ends[1:]]) / 2, np.diff(ends))
        distances = (edges[:-1] + edges[1:]) / 2 - middles
        kinds = cells[..., 1, :], cells[..., 0, :], cells.sum(axis=-2) * distances
        return GroupNoise(*(np.add.reduceat(kind, self.starts, axis=-1) for kind in kinds))

    def to_json(self) -> dict[str, Any]:
        question = {
            "edges": self.cells.edges.tolist(), **written_cells(self.cells), "groups": self.groups
        }  # fmt: skip
        return {"question": question, "releases": [self.counts.to_json()]}


def groups_from_json(evidence: Mapping[str, Any]) -> ScoreGroups:
    """The groups that `to_json` wrote, of either kind."""
    question = evidence["question"]
    if "groups" not in question:
        return MeasuredGroups.from_json(evidence)
    cells = read_grid(question)
    (counts,) = evidence["releases"]
    return CountedGroups(cells, conversation.Evidence.from_json(counts), int(question["groups"]))


def groups_in(found: conversation.Grouped, groups: int, least: int = 0) -> ScoreGroups:
    """So many groups at most, as they were counted; or as the counts of all cells tell.

    The latter are no more than seem to hold `least` records each. Tied scores stay together, so groups beside them may
    hold fewer.
    """
    counts = conversation.Evidence.of(found.counts)
    if found.sums is None:
        filled = int(max(float(counts.unbiased.sum()), 0.0) // least) if least else groups
        return CountedGroups(found.grid, counts, max(1, min(groups, filled)))
    return MeasuredGroups(found.grid, counts, conversation.Evidence.of(found.sums))


Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class GroupQuestion:
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

    _SHARES: ClassVar[conversation.Shares]
    """Parts of the loss for cuts, counts and sums."""
    _NUMBERS: ClassVar[Numbers]
    """The number of groups, where that was not asked: as many as noise does not hide."""
    _MAY_LOOK: ClassVar[bool] = False
    """True where groups need not be of equal size if their number was not asked: see `conversation.Groups`."""

    def __post_init__(self) -> None:
        labels(self.label, self.pos_label, self.neg_label)
        _, most = self._NUMBERS[-1]
        given = groups_of(most if self.groups is None else self.groups, self.grid)
        object.__setattr__(self, "groups", None if self.groups is None else given)

    def _read_by(
        self, read: Callable[[ScoreGroups, conversation.PrivacyStatement], Read], setting: conversation.Setting
    ) -> conversation.Needs[Read]:
        """Ask for the number of records, if needed; cuts, counts, sums; and read the result from them."""
        classes, score = labels(self.label, self.pos_label, self.neg_label), Axis(self.score, self.grid)
        number = yield from group_number(self.groups, classes, score, setting, self._NUMBERS)
        groups, about = number.groups, number.records if self._MAY_LOOK else None
        found = yield from conversation.needed(
            conversation.Groups(classes, score, groups, self._SHARES, about=about), number.share
        )
        privacy = statement_of((*number.counted, *found.releases), self.model).noted(
            *notes_on_classes(found.counts, classes)
        )
        return read(groups_in(found, groups), privacy)


class OfGroups(Released):
    """A result that was read from groups of similar scores, and can be read from them again."""

    if TYPE_CHECKING:

        @property
        def groups(self) -> ScoreGroups: ...

        @classmethod
        def read(cls, groups: ScoreGroups, privacy: conversation.PrivacyStatement) -> Self: ...

    @property
    def turns(self) -> tuple[conversation.Evidence, ...]:
        """The releases of the groups."""
        return tuple(conversation.Evidence.from_json(turn) for turn in self.evidence_json()["releases"])

    def evidence_json(self) -> dict[str, Any]:
        """The groups as plain objects."""
        return self.groups.to_json()

    def _question(self) -> dict[str, Any]:
        return dict(self.groups.to_json()["question"])

    @classmethod
    def _opened(cls, opened: display.Opened) -> Self:
        return cls.read(groups_from_json(opened.evidence), opened.privacy)


class CoveredGroups(OfGroups, Covered):
    """A result with an interval for each group, on its own."""

    COVERS = EACH
