"""What the shell is told."""

from __future__ import annotations

FAULT = 1
USAGE = 2
BUDGET = 3
DATA = 4
STOPPED = 130
