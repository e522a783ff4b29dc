"""Table 1: records, share of positives and features of the data sets."""

from __future__ import annotations

from data import Table
from reproduction.measured import Findings, Measured


def findings(name: str, records: Table) -> Findings:
    """The row of one data set."""
    return {
        f"{name}-records": Measured(float(len(records.label))),
        f"{name}-positive": Measured(float(records.label.mean())),
        f"{name}-features": Measured(float(records.features.shape[1])),
    }
