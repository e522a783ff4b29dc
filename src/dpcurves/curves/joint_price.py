"""By how much errors of one release of scores exceed those of separate questions, as measured."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from math import log
from typing import NamedTuple

from ..privacy import Adjacency, PrivacyLoss
from ..release import Setting

STORED = "joint_price.json"
"""Written by ``benchmarks/scores_or_own_questions.py --write``."""


class MeasuredRatio(NamedTuple):
    """Root mean square errors of the joint release, over those of a question of its own that has all of the loss.

    Attributes:
        records: How many there were.
        currency: ``epsilon`` or ``rho``.
        loss: How much of it.
        area: For the area under the ROC curve, beside a ROC question.
        groups: For the shares of positives in ten groups, beside a calibration question.
    """

    records: int
    currency: str
    loss: float
    area: float
    groups: float


class MeasuredRatios(NamedTuple):
    """The measurements of the benchmark."""

    releases: int
    ratios: tuple[MeasuredRatio, ...]


@cache
def measured() -> MeasuredRatios:
    """The measurements kept beside this file."""
    stored = json.loads(files(__package__).joinpath(STORED).read_text(encoding="utf-8"))
    return MeasuredRatios(stored["releases"], tuple(MeasuredRatio(**row) for row in stored["rows"]))


def notes_on_joint_price(setting: Setting) -> tuple[str, ...]:
    """A note: the measured ratios for the loss and, where it is public, the number of records nearest to these."""
    near = _nearest(setting.loss, setting.adjacency)
    first = near[0]
    records = f"{first.records:,}" if len(near) == 1 else f"{first.records:,} to {near[-1].records:,}"
    areas, groups = ([getattr(each, name) for each in near] for name in ("area", "groups"))
    return (
        f"one release for all readings, beside a question of its own with all of the loss: {_times(areas)} the error "
        f"of the area under the ROC curve, {_times(groups)} that of shares in ten calibration groups (measured on "
        f"{records} calibrated scores at {first.currency} {first.loss:g}, {measured().releases} releases of each)",
    )


def _nearest(loss: PrivacyLoss, adjacency: Adjacency) -> list[MeasuredRatio]:
    """In ratios, not in differences; of each number of records where theirs is private."""
    each, records = adjacency.unit.records, adjacency.total
    currency = "epsilon" if loss.is_pure else "rho"
    amount = float(loss.epsilon) / each if loss.epsilon is not None else float(loss.rho) / each**2
    kept = [row for row in measured().ratios if row.currency == currency]
    at = min((row.loss for row in kept), key=lambda found: abs(log(found / amount)))
    rows = sorted(row for row in kept if row.loss == at)
    return rows if records is None else [min(rows, key=lambda row: abs(log(row.records / max(records, 1))))]


def _times(ratios: list[float]) -> str:
    least, most = f"{min(ratios):.2g}", f"{max(ratios):.2g}"
    return f"{least} times" if least == most else f"{least} to {most} times"
