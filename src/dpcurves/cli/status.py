"""Exit statuses of the command line."""

from __future__ import annotations

FAULT = 1
"""Exit status: a bug in this package."""
USAGE = 2
"""Exit status: wrong usage of options; the status of click."""
BUDGET = 3
"""Exit status: the budget is exceeded."""
DATA = 4
"""Exit status: the data or the ledger cannot be used."""
OUTPUT = 5
"""Exit status: the result was computed but not delivered."""
FLAGGED = 6
"""Exit status: an audit found a release that loses more privacy than it claims."""
AWAY = 7
"""Exit status: another machine did not answer. The same command can be run again."""
PARTIAL = 8
"""Exit status: an audit flagged nothing, and looked at a part of the pairs of data sets only."""
NO_VERDICT = 9
"""Exit status: an audit got no answer from the release: every call failed."""
SIGNALLED = 128
"""Added to the number of the signal that ended the command, as shells do: 130 for Ctrl-C, 143 for SIGTERM."""
STOPPED = 130
"""Ended by Ctrl-C: SIGNALLED plus SIGINT."""
UNREAD = SIGNALLED + 13
"""The program that reads standard output ended first, as ``head`` does: SIGNALLED plus SIGPIPE."""

COMPLETING = "_DPCURVES_COMPLETE"
"""Environment variable by which the script of ``dpcurves completion`` asks for completions."""
