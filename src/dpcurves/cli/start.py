"""Entry point of the command line.

Other modules are imported inside `main`, so that Ctrl-C ends the program without a traceback during imports, too.
"""

from __future__ import annotations

import os
import sys

from .status import COMPLETION_VARIABLE, ExitStatus


def main() -> None:
    """Run the command in `sys.argv`, and exit with its status."""
    try:
        from .terminal import prepare_streams, silence_stream

        prepare_streams()
        from .app import build

        if COMPLETION_VARIABLE in os.environ:  # the shell may ask to complete any command, so all are built
            build()()
        build(sys.argv[1:])()
    except KeyboardInterrupt:
        raise SystemExit(ExitStatus.STOPPED) from None
    except BrokenPipeError:  # of completions, which click prints
        silence_stream(sys.stdout)
        raise SystemExit(ExitStatus.UNREAD) from None
