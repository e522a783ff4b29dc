"""The group of all commands: whatever goes wrong in one of them ends in one line and an exit status."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from .interruption import remembered
from .refusal import Kept, refusal_of
from .status import STOPPED


class Commands(TyperGroup):
    """A group that shows no traceback and no box."""

    def get_help_option(self, ctx: Any) -> Any:
        """The option that asks for help: False where it is not given, so that nothing is imported to read it."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run the command that `args` name, and leave with its status."""
        sys.exit(self._status(args, {**extra, "standalone_mode": False}))

    def _status(self, args: Sequence[str] | None, extra: dict[str, Any]) -> int:
        with remembered() as is_stopped:
            try:
                return super().main(args, "dpcurves", **extra) or 0
            except typer.Abort:
                return STOPPED
            except Exception as error:
                return _told(_stopped(error) if is_stopped() else error)


def _stopped(error: Exception) -> BaseException:
    """An interruption in the place of what an engine made of it."""
    return Kept(KeyboardInterrupt(), error.request) if isinstance(error, Kept) else KeyboardInterrupt()


def _told(error: BaseException) -> int:
    line, status = refusal_of(error)
    if not isinstance(error, KeyboardInterrupt):
        print(f"dpcurves: {line}", file=sys.stderr)
    return status
