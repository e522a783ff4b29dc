"""Command group with error handling: any exception becomes one line on standard error and an exit status."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from .interruption import remembered
from .refusal import Kept, Misuse, refusal_of
from .standard_streams import tell
from .status import SIGNALLED, STOPPED
from .terminal import say_plainly


class Commands(TyperGroup):
    """A group that shows no traceback and no box."""

    def get_help_option(self, ctx: Any) -> Any:
        """Help option of the group; its default is False, so that no import is needed to parse it."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default, option.callback = False, _show_help
        return option

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run the command that `args` name, and leave with its status."""
        sys.exit(self._status(args, {**extra, "standalone_mode": False}))

    def _status(self, args: Sequence[str] | None, extra: dict[str, Any]) -> int:
        with remembered() as stopped_by:
            try:
                status = super().main(args, "dpcurves", **extra) or 0
            except typer.Abort:
                status = STOPPED
            except Exception as error:
                status = _told(_stopped(error) if stopped_by() else error)
            signal = stopped_by()
        return SIGNALLED + signal if signal and status == STOPPED else int(status)


class OneCommand(TyperCommand):
    """Command that refuses a repeated option, which would otherwise silently take its last value."""

    def get_help_option(self, ctx: Any) -> Any:
        """Help option of the command."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = _show_help
        return option

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse `args`, and return those that are not consumed.

        Raises:
            Misuse: an option was given twice that is given once.
        """
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        once = [each for each in order if not each.is_eager and not getattr(each, "multiple", False)]
        twice = next((each for place, each in enumerate(once) if each in once[:place]), None)
        if twice is not None:
            raise Misuse(str(twice.name).replace("_", "-"), f"{twice.opts[-1]} is given twice; once is enough")
        return super().parse_args(ctx, args)


def _show_help(ctx: Any, param: object, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        say_plainly(ctx.get_help())
        ctx.exit()


def _stopped(error: Exception) -> BaseException:
    """KeyboardInterrupt in place of the exception that an interrupted engine raised instead."""
    return type(error)(KeyboardInterrupt(), error.request) if isinstance(error, Kept) else KeyboardInterrupt()


def _told(error: BaseException) -> int:
    line, status = refusal_of(error)
    if not isinstance(error, KeyboardInterrupt):
        tell(line)
    return status
