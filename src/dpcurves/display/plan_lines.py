"""Cost and expected error of a question, turn by turn, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

from ..release import Plan

LEGEND = "error: standard deviation of one reading, in records (of sums: in records that add as much as one can)"
ASKED = MappingProxyType(
    {
        "CountQuery": "counts",
        "PartitionQuery": "counts",
        "TreePartitionQuery": "boxes",
        "PrefixQuery": "thresholds",
        "SumQuery": "sums",
        "SquareQuery": "sums of squares",
        "QuantileCutsQuery": "cuts",
        "MedianQuery": "cuts",
        "ThresholdQuery": "comparisons",
        "CoverageQuery": "bounds",
        "MergePartitionQuery": "merges",
        "RegionQuery": "counts",
        "IntervalPartitionQuery": "buckets",
        "WorstBoxQuery": "boxes",
        "WaveletQuery": "wavelets",
    }
)


class PlanLine(NamedTuple):
    """A paid part of a plan: its turns, its query, its price and error, and its mechanism."""

    turn: str
    asks: str
    price: str
    error: str
    share: str
    mechanism: str


def plan_lines(plans: Sequence[Plan], units: int | None) -> Iterator[PlanLine]:
    """A line for each thing that is paid for. What is paid once may be looked at in many turns: they are one line.

    Arguments:
        plans: The turns of a question.
        units: The public number of units, of which the error is a share; None: it is private.
    """
    turn = 1
    for _, same in groupby(plans, key=lambda plan: (plan.query.paid_as, plan.loss)):
        alike = list(same)
        yield _line(_turns(turn, len(alike)), alike[0], units)
        turn += len(alike)


def _turns(first: int, number: int) -> str:
    return str(first) if number == 1 else f"{first} to {first + number - 1}"


def _line(turns: str, plan: Plan, units: int | None) -> PlanLine:
    # A sum is kept in steps of a lattice; a record adds `per_record_sensitivity` steps at most, and 1 to a count.
    error = plan.error / plan.query.per_record_sensitivity
    share = f"{error / units:.4%}" if units and error else ""
    asked = ASKED.get(type(plan.query).__name__, "answers")
    return PlanLine(turns, asked, str(plan.loss), f"{error:.4g}" if error else "", share, plan.made_by)
