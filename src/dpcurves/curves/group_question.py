"""Base of questions about groups of similar scores: two classes, a score, and the number of groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from ..data import Axis, Grid
from ..data.axis import Category
from ..data.predictor import Predictor
from ..data.score_grids import SCORES
from ..release import PrivacyStatement, Setting
from ..workloads import Groups, Needs, Shares, needed
from .notes import notes_on_classes
from .question import statement_of
from .turns.group_numbers import Numbers, group_number
from .turns.labels import labels
from .turns.score_cells import groups_in
from .turns.score_groups import ScoreGroups, groups_of

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

    _SHARES: ClassVar[Shares]
    """What cuts, counts and sums get of the loss."""
    _NUMBERS: ClassVar[Numbers]
    """How many groups there are, where that was not asked: as many as noise does not hide."""
    _MAY_LOOK: ClassVar[bool] = False
    """Whether groups need not be of equal size, where their number was not asked: see `workloads.Groups`."""

    def __post_init__(self) -> None:
        labels(self.label, self.pos_label, self.neg_label)
        _, most = self._NUMBERS[-1]
        given = groups_of(most if self.groups is None else self.groups, self.grid)
        object.__setattr__(self, "groups", None if self.groups is None else given)

    def _read_by(self, read: Callable[[ScoreGroups, PrivacyStatement], Read], setting: Setting) -> Needs[Read]:
        """Ask for the number of records, if needed; cuts, counts, sums; and read the result from them."""
        classes, score = labels(self.label, self.pos_label, self.neg_label), Axis(self.score, self.grid)
        number = yield from group_number(self.groups, classes, score, setting, self._NUMBERS)
        groups, about = number.groups, number.records if self._MAY_LOOK else None
        found = yield from needed(Groups(classes, score, groups, self._SHARES, about=about), number.share)
        privacy = statement_of((*number.counted, *found.releases), self.model).noted(
            *notes_on_classes(found.counts, classes)
        )
        return read(groups_in(found, groups), privacy)
