"""Exit statuses."""

from __future__ import annotations

FAULT = 1
USAGE = 2
BUDGET = 3
DATA = 4
OUTPUT = 5
FLAGGED = 6
"""An audit found that a release loses more than is claimed."""
AWAY = 7
"""Another machine did not answer: the same command may be run again."""
SIGNALLED = 128
"""Added to the number of the signal that ended the command: 130 by Ctrl-C, 143 by SIGTERM."""
STOPPED = 130
UNREAD = SIGNALLED + 13
"""The program that read standard output ended first, as ``head`` does: as if SIGPIPE had ended the command."""

COMPLETING = "_DPCURVES_COMPLETE"
"""The variable by which the script of ``dpcurves completion`` asks for completions."""
