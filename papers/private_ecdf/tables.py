"""Table 1: records, share of positives and features of the data sets."""

from __future__ import annotations

from data import Table
from reproduction.measured import Findings, IntervalSums


def findings(name: str, records: Table) -> Findings:
    """The row of one data set."""
    return {
        f"{name}-records": IntervalSums(float(len(records.label))),
        f"{name}-positive": IntervalSums(float(records.label.mean())),
        f"{name}-features": IntervalSums(float(records.features.shape[1])),
    }
