"""Are residuals around zero wherever the model predicts the same? Average residuals of bins of similar predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import display
from ..arrays import FloatArray
from ..data import Axis, Grid
from ..data.axis import Category
from ..data.predictor import Predictor
from ..data.score_grids import SCORES
from ..display.shade import POPULATION, Shade, covering
from ..postprocess import mean_residuals, residual_envelope
from ..privacy import Model, ReplaceOne, declared
from ..queries import MergePartitionQuery
from ..release import ALL, PrivacyStatement, Setting
from ..workloads import Groups, Needs, Shares, needed
from .group_result import OfGroups
from .notes import notes_on_classes, notes_on_dependence
from .question import statement_of
from .turns.labels import labels
from .turns.score_cells import groups_in
from .turns.score_groups import ScoreGroups, groups_of, noise_of_a_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CUTS, MERGES, COUNTS, SUMS = Fraction(3, 20), Fraction(1, 10), Fraction(3, 5), Fraction(3, 20)
SHARES = Shares(CUTS, COUNTS, SUMS, MERGES)
LEVEL = 0.95
"""The default probability that the mean residual of a bin lies within the envelope if the model is right."""
TOLERANCE = 0.05
"""How far noise may move the mean residual of a bin, one standard deviation, before the bin is joined to the next."""


@dataclass(frozen=True, eq=False, repr=False)
class BinnedResiduals(OfGroups):
    """The mean of label minus prediction in each bin (Gelman, Goegebeur, Tuerlinckx and Van Mechelen 2000).

    Attributes:
        prob_pred: Mean prediction of each bin, of shape ``(bins,)``.
        residual: Mean residual, of the same shape.
        count: Records in each bin, never below zero.
        edges: Where the bins lie, of shape ``(bins + 1,)``.
        privacy: The privacy statement, which every picture shows.
        groups: What all this was read from.
    """

    KIND: ClassVar[str] = "binned-residuals"

    prob_pred: FloatArray
    residual: FloatArray
    count: FloatArray
    edges: FloatArray
    privacy: PrivacyStatement
    groups: ScoreGroups

    @classmethod
    def read(cls, groups: ScoreGroups, privacy: PrivacyStatement) -> BinnedResiduals:
        """From released bins."""
        released, privacy = groups.released, privacy.noted(*groups.notes, *notes_on_dependence(privacy))
        count = np.maximum(released.count, 0.0)
        return cls(released.mean, mean_residuals(released), count, groups.grid.edges, privacy, groups)

    @cached_property
    def envelope(self) -> FloatArray:
        """Half the width of a band around zero that holds the mean residual of a bin with probability 0.95.

        That is if the model is right for the population: it accounts for noise and sampling, and takes records as
        independent. It is computed when it is first used.
        """
        return self.envelope_at(LEVEL)

    @property
    def outside(self) -> float:
        """The share of bins whose residual leaves `envelope`: about 0.05 if the model is right."""
        return self.outside_of(self.envelope)

    def outside_of(self, envelope: FloatArray) -> float:
        """The share of bins whose residual leaves this envelope."""
        return float((np.abs(self.residual) > envelope).mean())

    def envelope_at(self, level: float, *, generator: np.random.Generator | None = None) -> FloatArray:
        """The half-width within which each mean residual lies with probability `level` if the model is right.

        Args:
            level: The chance of each bin on its own, between 0 and 1.
            generator: The random numbers of the simulation.

        Raises:
            ValueError: `level` is not between 0 and 1, or is so near to 1 that the simulation has too few draws for it.
        """
        return residual_envelope(self.groups.released, *self.groups.draws(generator), level)

    def plot(self, ax: Axes | None = None, *, level: float | None = LEVEL, name: str | None = None) -> Axes:
        """Draw mean residuals against mean predictions, inside their envelope (`level=None`: without one)."""
        return self._drawn(self.privacy, self._shades(level), ax, name)

    def _shades(self, level: float | None) -> tuple[Shade, ...]:
        if level is None:
            return ()
        within = self.envelope_at(level)
        return (Shade(-within, within, covering(level, "of bins of a right model,", POPULATION)),)

    def to_frame(self, *, level: float = LEVEL) -> Any:
        """Columns ``prob_pred``, ``residual``, ``count`` and ``envelope``, which holds with chance `level`."""
        return display.to_frame({**self._columns(), "envelope": self.envelope_at(level)})

    def _columns(self) -> dict[str, FloatArray]:
        return {
            "prob_pred": self.prob_pred, "residual": self.residual, "count": self.count, "envelope": self.envelope
        }  # fmt: skip

    def _drawn(self, privacy: PrivacyStatement, shaded: Sequence[Shade], ax: Axes | None, name: str | None) -> Axes:
        """Draw mean residuals against mean predictions."""
        return display.draw_binned_residuals(
            self.prob_pred, self.residual, self.count, privacy, shades=shaded, ax=ax, name=name
        )

    def _in_short(self) -> tuple[str, ...]:
        return (f"{len(self.residual)} bins",)

    def _title(self) -> str:
        return "Binned residuals"

    def _summary(self) -> list[tuple[str, str]]:
        return [("bins", str(len(self.count))), ("outside the envelope", f"{self.outside:.0%}")]


@dataclass(frozen=True, slots=True)
class BinnedResidualsQuestion:
    """Mean residuals in groups of similar scores, where a model predicts too much or too little. Four turns (Chen 2018,
    Algorithms 13 and 14, amended).

    Predictions are divided into bins of about equal size by a private choice of edges; from left to right, bins are
    joined until each seems to hold `least` records; positives and negatives in each are counted, and distances of
    predictions from the middle of their bin are summed. A residual is a label minus a prediction, so the sum of
    residuals follows. Where a trust model counts all cells at once, bins of equal size are made of these counts, as
    many as seem to hold `least` records each.

    Attributes:
        label: The column of true labels.
        score: The column of predicted probabilities, or a `Scorecard` or `Trees` that predicts them.
        model: Where the model comes from; it has no default, and it is printed with the result.
        bins: The largest number of bins. Where the number of units is public, never more than twice the number of
            records divided by `least`.
        least: How many records a bin should hold; None: so many that noise moves its mean residual by about 0.05.
        grid: Public cells that edges of bins are chosen from, between 0 and 1; predictions outside are counted
            apart and lie in no bin, whatever the grid says of them.
        pos_label, neg_label: The two classes; records with another label are missing.

    Raises:
        ValueError: there are fewer than 2 bins, over 1000, or less than 1 record to each, or the grid leaves [0, 1].
        TypeError: `model` is not a statement of where the model comes from.
    """

    label: str
    score: str | Predictor
    model: Model
    bins: int = 16
    least: int | None = None
    grid: Grid = SCORES
    pos_label: Category = 1
    neg_label: Category | None = None

    def __post_init__(self) -> None:
        labels(self.label, self.pos_label, self.neg_label)
        declared(self.model)
        object.__setattr__(self, "bins", groups_of(self.bins, self.grid, name="bins"))
        if self.least is not None:
            MergePartitionQuery((Axis(self.score, self.grid),), self.least)

    def steps(self, setting: Setting) -> Needs[BinnedResiduals]:
        """Both classes in bins that are not small."""
        classes = labels(self.label, self.pos_label, self.neg_label)
        least = self.least if self.least is not None else least_records(setting)
        pieces = self._pieces(setting, least)
        found = yield from needed(Groups(classes, Axis(self.score, self.grid), pieces, SHARES, least), ALL)
        privacy = statement_of(found.releases, self.model.value).noted(*notes_on_classes(found.counts, classes))
        return BinnedResiduals.read(groups_in(found, pieces, least), privacy)

    def __str__(self) -> str:
        return f"binned residuals of {self.score} for {self.label}"

    def _pieces(self, setting: Setting, least: int) -> int:
        if not isinstance(setting.adjacency, ReplaceOne):
            return self.bins
        records = setting.adjacency.units * setting.adjacency.unit.records
        return max(2, min(self.bins, 2 * records // least))


def least_records(setting: Setting) -> int:
    """The number of records with which noise moves a mean residual by about `TOLERANCE`, from public facts alone."""
    return max(1, ceil(noise_of_a_count(setting.loss * COUNTS, setting) / TOLERANCE))
