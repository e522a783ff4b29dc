"""The default number of groups of similar scores: as many as noise does not hide."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from ...data import Axis, Categories
from ...release import ALL, Release, Setting
from ...workloads import Cells, Needs, needed
from .score_groups import noise_of_a_count

COUNTING = Fraction(1, 50)
"""The part of the loss that counts records where their number is private and the number of groups is left to us."""

Numbers = Sequence[tuple[float, int]]
"""Groups, where there are fewer records than so many standard deviations of the noise of a count; the last for all."""


class GroupNumber(NamedTuple):
    """The rule for the number of groups.

    Attributes:
        groups: Their number.
        share: What part of the loss is left for them.
        counted: What was released to find out.
        records: About how many records there are; None: the number of groups was asked for.
    """

    groups: int
    share: Fraction
    counted: tuple[Release, ...]
    records: float | None = None


def group_number(
    asked: int | None, classes: Categories, score: Axis, setting: Setting, numbers: Numbers
) -> Needs[GroupNumber]:
    """Take as many as were asked for; else by the number of records, which is counted first where it is private."""
    if asked is not None:
        return GroupNumber(asked, ALL, ())
    if setting.adjacency.total is not None:
        total = setting.adjacency.total
        return GroupNumber(groups_for(total, setting, numbers), ALL, (), float(total))
    whole = Axis(score.column, score.grid.cut([]))
    found = yield from needed(Cells((classes, whole)), COUNTING)
    records = float(found.counts.unbiased.sum())
    return GroupNumber(groups_for(records, setting, numbers), ALL - COUNTING, found.releases, records)


def groups_for(records: float, setting: Setting, numbers: Numbers) -> int:
    """The number of groups for so many records.

    >>> from math import inf
    >>> from dpcurves.privacy import EACH_RECORD, PrivacyLoss, ReplaceOne
    >>> numbers = (350.0, 4), (1050.0, 5), (inf, 10)
    >>> [groups_for(n, Setting(PrivacyLoss.pure(1), ReplaceOne(EACH_RECORD, n)), numbers) for n in (900, 2900, 10**6)]
    [4, 5, 10]
    """
    signal = records / noise_of_a_count(setting.loss, setting)
    return next(groups for below, groups in numbers if signal < below)
