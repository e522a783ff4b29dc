"""Base of results about groups of similar scores: the released groups are their evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from ..release import Evidence
from .covering import EACH
from .result import Covered, Released
from .turns.score_cells import groups_from_json
from .turns.score_groups import ScoreGroups

if TYPE_CHECKING:
    from ..display import Opened
    from ..release import PrivacyStatement


class OfGroups(Released):
    """A result that was read from groups of similar scores, and can be read from them again."""

    if TYPE_CHECKING:

        @property
        def groups(self) -> ScoreGroups: ...

        @classmethod
        def read(cls, groups: ScoreGroups, privacy: PrivacyStatement) -> Self: ...

    @property
    def turns(self) -> Sequence[Evidence]:
        """The releases of the groups."""
        return tuple(Evidence.from_json(turn) for turn in self.evidence_json()["releases"])

    def evidence_json(self) -> dict[str, Any]:
        """The groups as plain objects."""
        return self.groups.to_json()

    def _question(self) -> dict[str, Any]:
        return dict(self.groups.to_json()["question"])

    @classmethod
    def _opened(cls, opened: Opened) -> Self:
        return cls.read(groups_from_json(opened.evidence), opened.privacy)


class CoveredGroups(OfGroups, Covered):
    """A result with an interval for each group, on its own."""

    def _covers(self) -> str:
        return EACH
