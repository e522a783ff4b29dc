"""Exit statuses of the command line, for scripts that call it."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """Number with which a command ends. 0, which is not listed, means success."""

    FAULT = 1
    """A bug in this package."""
    USAGE = 2
    """Wrong usage of options; the status of click."""
    BUDGET = 3
    """The budget is exceeded."""
    DATA = 4
    """The data or the ledger cannot be used."""
    OUTPUT = 5
    """The result was computed but not delivered."""
    FLAGGED = 6
    """An audit found a release that loses more privacy than it claims."""
    AWAY = 7
    """Another machine did not answer. The same command can be run again."""
    PARTIAL = 8
    """An audit flagged nothing, and looked at a part of the pairs of data sets only."""
    NO_VERDICT = 9
    """An audit got no answer from the release: every call failed."""
    SIGNALLED = 128
    """Added to the number of the signal that ended the command, as shells do: 130 for Ctrl-C, 143 for SIGTERM."""
    STOPPED = 130
    """Ended by Ctrl-C: SIGNALLED plus SIGINT."""
    UNREAD = 141
    """The program that reads standard output ended first, as ``head`` does: SIGNALLED plus SIGPIPE, which is 13."""


COMPLETION_VARIABLE = "_DPCURVES_COMPLETE"
"""Environment variable that the script of ``dpcurves completion`` sets when Tab is pressed: the program then prints
completions of the typed words and ends."""
