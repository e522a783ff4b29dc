"""The way that is taken unless another is named: three turns where they pay, or one table."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from ...data import Axis
from ...queries import CountQuery, Hint, Read
from ...release import ALL, Evidence, Release, Setting, Step
from ..keys import By, axes_of
from ..turns.adaptive_refinement import is_worth_looking, refining
from .method import Counted


@dataclass(frozen=True, slots=True)
class Default:
    """Look, refine and refine once more, or count one table. This is decided in public.

    Attributes:
        hint: What is known in public about how the records lie; see `CdfQuestion`.
    """

    hint: Hint | None = None

    def turns(self, axis: Axis, by: By, setting: Setting) -> Generator[Step, Release, Counted]:
        """Three turns that are all read, or one."""
        if by is None and is_worth_looking(axis, self.hint, setting):
            releases = yield from refining(axis, setting)
            if isinstance(releases[-1].plan.query, CountQuery):
                return Counted.last_of(releases)
            return Counted(releases, tuple(Evidence.of(release) for release in releases))
        axes = axes_of(by, axis)
        return Counted.last_of(((yield Step(CountQuery(axes, Read.PREFIXES, self.hint), share=ALL)),))
