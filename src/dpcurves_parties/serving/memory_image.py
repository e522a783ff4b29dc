"""Core dumps of a process that crashes, switched off."""

from __future__ import annotations

from contextlib import suppress


def leave_no_image() -> None:
    """Let the system write no image of this process's memory, which holds keys and shares, should it crash."""
    with suppress(ImportError):  # where there are no such limits
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
