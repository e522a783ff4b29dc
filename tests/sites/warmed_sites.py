"""What all processes of these tests need, imported once: each of them begins as a copy of that."""

from __future__ import annotations

import duckdb
import pyarrow
from scipy import fft, stats

import dpcurves.cli.app
import dpcurves.display
import dpcurves.records

dpcurves.cli.app.build()

__all__ = ["dpcurves", "duckdb", "fft", "pyarrow", "stats"]
