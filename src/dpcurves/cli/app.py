"""Typer application: groups of commands, those of packages beside the core, error handling and signals."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from types import FrameType, MappingProxyType
from typing import Annotated, Any, NoReturn, TypeVar

import click
from click.exceptions import Exit

from .accounts import ALLOWANCE_COMMANDS, LEDGER_COMMANDS
from .one_table import QUESTIONS
from .options import NOTHING, Argument, Command, parameters_in, with_options
from .released import RELEASED_COMMANDS
from .status import COMPLETING, SIGNALLED, STOPPED
from .studies import STANDING, make_plan_commands
from .terminal import ChargedFailure, Misuse, describe_error, print_to_stderr, print_to_stdout

DEFAULTS: dict[signal.Signals, Callable[[int, FrameType | None], object] | signal.Handlers] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}


@contextmanager
def catch_signals() -> Iterator[Callable[[], int | None]]:
    """Install signal handlers in the main thread, and yield a function for the last signal caught, or None.

    Each signal raises KeyboardInterrupt in Python code, so that drafts and temporary files are removed on the way out.
    """
    caught: list[int] = []

    def record_signal(number: int, frame: FrameType | None) -> None:
        caught.append(number)
        signal.default_int_handler(number, frame)

    in_main = threading.current_thread() is threading.main_thread()
    ours = [each for each, usual in DEFAULTS.items() if in_main and signal.getsignal(each) is usual]
    for number in ours:
        signal.signal(number, record_signal)
    try:
        yield lambda: caught[-1] if caught else None
    finally:
        for number in ours:
            signal.signal(number, DEFAULTS[number])


# Commands of packages beside the core, which are found as entry points: the core imports none of them.


GROUP = "dpcurves.commands"
"""Entry points of other packages: the name of the package, and where its `PackageCommands` is."""


@dataclass(frozen=True)
class Group:
    """Group of commands.

    Attributes:
        help: Help text.
        commands: Commands, by name.
        groups: Groups below this one.
        excluded_options: Names of options that each command leaves out, because their values are given elsewhere.
    """

    help: str
    commands: Mapping[str, Command]
    groups: Mapping[str, Group] = field(default_factory=dict)
    excluded_options: Mapping[str, Collection[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class PackageCommands:
    """Commands of one package.

    Attributes:
        commands: Commands beside the questions to a file.
        plans: Commands of the group ``plan``.
        groups: Groups of commands.
    """

    commands: Mapping[str, Command] = field(default_factory=dict)
    plans: Mapping[str, Command] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)


# Command group with error handling: any exception becomes one line on standard error and an exit status.


CHOICES = MappingProxyType({
    ("grid", "edges", "values"): "--grid 0:100:64", ("epsilon", "rho"): "--epsilon 1",
    ("adjacency",): "--adjacency add-remove",
})  # fmt: skip
"""Options of which one has to be given, though the parser takes none, and one of them in a line to copy."""


LONGEST, FEW = 10_000, 12
"""Letters of a command's first sentence, and commands that are listed without sections."""
SECTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "One column": ("cdf", "quantiles", "histogram", "summary", "count", "sum", "mean", "variance", "bounds"),
    "Two columns": ("contingency", "table", "residuals", "verify"),
    "Scores of a model": (
        "scores", "roc", "calibration", "hosmer-lemeshow", "binned-residuals", "model-pair", "several-classes",
        "ordered-classes", "uplift", "quantile-forecasts", "predicted-observed", "pairwise-scorer",
    ),
    "Time until an event": ("survival", "incidence", "delayed-entry", "between-looks", "survival-model"),
    "Many questions": ("study", "sql", "plan"),
    "Results that were kept": ("show", "consistent", "compare", "qq", "drift", "publish"),
    "Budgets": ("ledger", "audit"),
    "This terminal": ("completion",),
    "Others count": ("engine", "serve", "server", "remote", "federation", "task", "aggregator", "contribute", "pair",
                     "ask", "local", "stream"),
})  # fmt: skip
"""Commands of a long list, by what they are for."""


class Commands(click.Group):
    """A group that shows no traceback and no box."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each command with the whole first sentence of its help, in sections where they are many."""
        listed = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        told = {name: command.get_short_help_str(LONGEST) for name, command in listed.items() if command is not None}
        placed = {name for names in SECTIONS.values() for name in names}
        sections = {"Commands": tuple(told)} if len(told) <= FEW else {
            **SECTIONS, "More": tuple(name for name in told if name not in placed),
        }  # fmt: skip
        for title, names in sections.items():
            rows = [(name, told[name]) for name in names if name in told]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def get_help_option(self, ctx: Any) -> Any:
        return _help_option(super().get_help_option(ctx))

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        if os.environ.get(COMPLETING):
            super().main([], NAME, COMPLETING)  # answers the shell, and leaves
        sys.exit(self._run_command(sys.argv[1:] if args is None else list(args)))

    def _run_command(self, args: list[str]) -> int:
        status = 0
        with catch_signals() as stopped_by:
            try:
                with self.make_context(NAME, args) as context:
                    self.invoke(context)
            except Exit as left:
                status = left.exit_code
            except (click.Abort, EOFError, KeyboardInterrupt):
                status = STOPPED
            except Exception as error:
                failure = _to_interrupt(error) if stopped_by() else error
                line, status = describe_error(failure)
                if not isinstance(failure, KeyboardInterrupt):
                    print_to_stderr(line)
            signal = stopped_by()
        return SIGNALLED + signal if signal and status == STOPPED else int(status)


class OneCommand(click.Command):
    """Command that refuses a repeated option, which would otherwise silently take its last value."""

    def get_help_option(self, ctx: Any) -> Any:
        return _help_option(super().get_help_option(ctx))

    def format_arguments(self, ctx: Any, formatter: Any) -> None:
        rows = [each.get_help_record(ctx) for each in self.params if isinstance(each, click.Argument)]
        if rows:
            with formatter.section("Arguments"):
                formatter.write_dl(rows)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        values, _, order = self.make_parser(ctx).parse_args(args=list(args))
        once = [each for each in order if not each.is_eager and not getattr(each, "multiple", False)]
        twice = next((each for place, each in enumerate(once) if each in once[:place]), None)
        if twice is not None:
            raise Misuse(str(twice.name).replace("_", "-"), f"{twice.opts[-1]} is given twice; once is enough")
        if not any(each.is_eager for each in order):  # of which the request for help is one
            given = {name for name, value in values.items() if isinstance(value, str | bool | list | tuple)}
            self._require_options(ctx, given, args)
        return super().parse_args(ctx, args)

    def _require_options(self, ctx: Any, given: set[str], args: list[str]) -> None:
        """Refuse at once where several options are missing, with a complete line; a single one is told by its rule."""
        known = {str(each.name): each for each in self.params}
        of_table = {"data", "ledger"} <= set(known) or f" {PLAN} " in ctx.command_path
        if ctx.resilient_parsing or not of_table:
            return
        asked = sorted(known, key=lambda name: known[name].param_type_name != "argument")  # DATA stands first
        lacking = {name: _example_of(known[name]) for name in asked if known[name].required and name not in given}
        for names, example in CHOICES.items():
            needed = set(names) <= set(known) and (names[0] != "grid" or getattr(self.callback, "needs_grid", False))
            ledger = names == ("adjacency",) and "ledger" in given
            if needed and not ledger and not given & set(names):
                lacking[" or ".join(dict.fromkeys(names[:2]))] = example
        if len(lacking) < 2:
            return
        *most, last = (_option_of(known, name) for name in lacking)
        told = f"{', '.join(most)} and {last}"
        places = {name for name, each in known.items() if each.param_type_name == "argument"}
        words, typed = list(lacking.values()), list(map(shlex.quote, args))
        first = 0 if places & given else len(places & set(lacking))  # the next argument stands behind what was typed
        line = " ".join([ctx.command_path, *words[:first], *typed, *words[first:]])
        named = ", ".join(name.partition(" or ")[0].replace("_", "-") for name in lacking)
        raise Misuse(named, f"{told} are missing; a complete line: {line}")


def _example_of(parameter: Any) -> str:
    value = str(parameter.metavar or parameter.name.upper())
    return value if parameter.param_type_name == "argument" else f"{parameter.opts[-1]} {value}"


def _option_of(known: Mapping[str, Any], name: str) -> str:
    """The names of a parameter, or of several of which one is needed, as they are typed."""
    found = [known[each] for each in name.split(" or ")]
    return " or ".join(each.metavar if each.param_type_name == "argument" else each.opts[-1] for each in found)


def _help_option(option: click.Option | None) -> click.Option | None:
    if option is not None:
        option.callback = _show_help
    return option


def _show_help(ctx: Any, param: object, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        print_to_stdout(ctx.get_help())
        ctx.exit()


def _to_interrupt(error: Exception) -> BaseException:
    """KeyboardInterrupt in place of the exception that an interrupted engine raised instead."""
    return type(error)(KeyboardInterrupt(), error.request) if isinstance(error, ChargedFailure) else KeyboardInterrupt()


NAME = "dpcurves"
SETTINGS = {"help_option_names": ["-h", "--help"]}
EXIT_STATUS = (
    "Exit status: 0 done; 2 wrong usage; 3 budget exceeded; 4 unusable data or ledger; 5 not delivered; 6 flagged by "
    "an audit; 7 another machine did not answer."
)


SHELLS = "bash", "zsh", "fish", "powershell"


def completion(*, shell: Annotated[str, Argument(metavar="SHELL", help="bash, zsh, fish or powershell.")]) -> None:
    """The script that lets a shell complete commands and options, for its start file.

    Example: dpcurves completion bash >> ~/.bashrc
    """
    from click.shell_completion import get_completion_class

    if shell not in SHELLS:
        raise Misuse("shell", f"{', '.join(SHELLS[:-1])} or {SHELLS[-1]} is needed, got {shell!r}")
    made = get_completion_class(shell)
    if made is not None:
        print_to_stdout(made(click.get_current_context().command, {}, NAME, COMPLETING).source())


OWN = PackageCommands(
    commands={**QUESTIONS, **RELEASED_COMMANDS, "completion": completion},
    plans=make_plan_commands(QUESTIONS),
    groups={
        "ledger": Group(
            "Privacy budgets, and what was spent of them.",
            LEDGER_COMMANDS,
            groups={"allowance": Group("What projects and analysts may spend of a budget.", ALLOWANCE_COMMANDS)},
        )
    },
)
"""Commands of the core."""


def build(typed: Sequence[str] = ()) -> Commands:
    """Build the application. Nothing heavy is imported before a command of it is run.

    Args:
        typed: The words of a command line: where they begin with the name of a command, it alone is built, and of a
            group what they name. All commands together take several times as long as a command that only asks for help.
    """
    word, rest = (typed[0], typed[1:]) if typed else ("", ())
    if word == VERSION:
        return _make_application({})
    if word in OWN.commands:
        return _make_application({word: OWN.commands[word]})
    found = sorted(entry_points(group=GROUP), key=lambda each: each.name)
    everything: tuple[PackageCommands, ...] = (OWN, *(each.load() for each in found))
    commands = {name: command for each in everything for name, command in each.commands.items()}
    plans = {name: command for each in everything for name, command in each.plans.items()}
    groups = {name: group for each in everything for name, group in each.groups.items()}
    if word in commands:
        return _make_application({word: commands[word]})
    app = _make_application({} if word in groups or word == PLAN else commands)
    if word not in groups:
        chosen = _select_typed(rest, plans) if word == PLAN else plans
        app.add_command(
            _make_group(chosen, metavar_defaults=STANDING, help="The errors a question would have; opens no data."),
            PLAN,
        )
    if word != PLAN:
        _add_groups(app, groups, typed)
    return app


VERSION = "--version"
PLAN = "plan"
"""The group of plans."""
Named = TypeVar("Named", Command, Group)


def _select_typed(typed: Sequence[str], known: Mapping[str, Named]) -> Mapping[str, Named]:
    """The one that is typed; all, if none of them is."""
    return {typed[0]: known[typed[0]]} if typed and typed[0] in known else known


def _make_application(commands: Mapping[str, Command]) -> Commands:
    version = click.Option([VERSION], is_flag=True, help="Show the version, and do nothing else.")
    return _make_group(commands, epilog=EXIT_STATUS, help=dpcurves.__doc__, callback=dpcurves, params=[version])


def _add_groups(app: Commands, groups: Mapping[str, Group], typed: Sequence[str]) -> None:
    for name, group in _select_typed(typed, groups).items():
        rest = typed[1:] if typed and typed[0] == name else ()
        is_group = bool(rest) and rest[0] in group.groups
        made = _make_group(
            {} if is_group else _select_typed(rest, group.commands),
            excluded_options=group.excluded_options,
            help=group.help,
        )
        _add_groups(made, group.groups, rest)
        app.add_command(made, name)


@click.pass_context
def dpcurves(context: click.Context, version: bool) -> None:
    """Differentially private curves from a CSV or Parquet file, or from a database."""
    if version:
        from importlib.metadata import version as installed

        print_to_stdout(f"dpcurves {installed('dpcurves')}")
    else:
        context.invoke(show_help)


@click.pass_context
def show_help(context: click.Context) -> None:
    """Show the help of the group if no command was named."""
    if context.invoked_subcommand is None:
        print_to_stdout(context.get_help())


def _make_group(
    commands: Mapping[str, Command],
    metavar_defaults: Mapping[str, str] = NOTHING,
    excluded_options: Mapping[str, Collection[str]] = NOTHING,
    **settings: Any,
) -> Commands:
    made = {"callback": show_help, "context_settings": SETTINGS, "subcommand_metavar": "COMMAND [ARGS]...", **settings}
    app = Commands(invoke_without_command=True, **made)
    for name, command in commands.items():
        flat = with_options(command, metavar_defaults, excluded_options.get(name, ()))
        app.add_command(OneCommand(name, callback=flat, params=parameters_in(flat), help=flat.__doc__), name)
    return app
