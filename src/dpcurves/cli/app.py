"""The command-line application: it finds the command that was typed, runs it, and turns errors into one line.

`build` collects the commands of the core and of other packages (`PackageCommands`). Modules are imported only by the
commands that use them, so that ``--help`` is fast. `Commands` reports an error as one line with an exit status, never
as a traceback, because a traceback may show values of records. `catch_signals` turns Ctrl-C and other signals into an
exception, so that temporary files are removed.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType, MappingProxyType
from typing import Annotated, Any, NoReturn, TypeVar

import click
from click.exceptions import Exit

from ..extensions import find_entry_points
from .accounts import ALLOWANCE_COMMANDS, LEDGER_COMMANDS, VIEW_COMMANDS
from .example_tables import EXAMPLE_COMMANDS
from .one_table import QUESTIONS
from .options import NOTHING, Argument, Command, parameters_in, with_options
from .released import RELEASED_COMMANDS
from .status import COMPLETION_VARIABLE, ExitStatus
from .studies import make_plan_commands
from .terminal import ChargedFailure, Misuse, UnreadOutput, describe_error, print_to_stderr, print_to_stdout

DEFAULT_SIGNAL_HANDLERS: dict[signal.Signals, Callable[[int, FrameType | None], object] | signal.Handlers] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}
"""Python's own handlers of Ctrl-C and of termination. Only these are replaced while a command runs; a handler that a
caller has installed stays."""


@contextmanager
def catch_signals() -> Iterator[Callable[[], int | None]]:
    """Context manager that catches SIGINT and SIGTERM. It gives a function that returns the number of the last signal
    caught, or None.

    Each signal raises KeyboardInterrupt in Python code, so that drafts and temporary files are removed on exit. At the
    end of the block Python's default handlers are restored. Handlers that the caller has installed are kept. In other
    threads than the main thread, where Python allows no handlers, nothing is caught.
    """
    caught: list[int] = []

    def record_signal(number: int, frame: FrameType | None) -> None:
        """Store the number of the signal, and raise `KeyboardInterrupt`.

        Args:
            number: Number of the signal.
            frame: The interrupted frame, if any.

        Raises:
            KeyboardInterrupt: always.
        """
        caught.append(number)
        signal.default_int_handler(number, frame)

    in_main = threading.current_thread() is threading.main_thread()
    replaced = [
        signal_number
        for signal_number, default_handler in DEFAULT_SIGNAL_HANDLERS.items()
        if in_main and signal.getsignal(signal_number) is default_handler
    ]
    for number in replaced:
        signal.signal(number, record_signal)
    try:
        yield lambda: caught[-1] if caught else None
    finally:
        for number in replaced:
            signal.signal(number, DEFAULT_SIGNAL_HANDLERS[number])


# Commands of other packages are found as entry points: the core imports none of them.


COMMAND_ENTRY_POINTS = "dpcurves.commands"
"""Group of entry points by which other packages add commands: each entry loads a `PackageCommands`."""


@dataclass(frozen=True)
class Group:
    """Group of commands.

    Attributes:
        help: Help text.
        commands: Commands by name.
        groups: Nested groups by name.
        excluded_options: Options that a command leaves out, because another part of the group sets them.
    """

    help: str
    commands: Mapping[str, Command]
    groups: Mapping[str, Group] = field(default_factory=dict)
    excluded_options: Mapping[str, Collection[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class PackageCommands:
    """Commands of one package.

    Attributes:
        commands: Top-level commands.
        plans: Commands of the group ``plan``.
        groups: Groups of commands.
    """

    commands: Mapping[str, Command] = field(default_factory=dict)
    plans: Mapping[str, Command] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)


# Command group with error handling: every exception becomes one line on standard error and an exit status.


ALTERNATIVE_OPTIONS = MappingProxyType({
    ("grid", "edges", "values"): "--grid 0:100:64", ("epsilon", "rho"): "--epsilon 1",
    ("adjacency",): "--adjacency add-remove",
})  # fmt: skip
"""Groups of options of which exactly one is required (click cannot express this), each with the example that an error
message about missing options shows."""


SECTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "In the browser": ("try",),
    "One column": ("cdf", "quantiles", "histogram", "bars", "summary", "count", "sum", "mean", "variance", "bounds"),
    "Two columns": ("contingency", "table", "residuals", "verify"),
    "Scores of a model": (
        "scores", "roc", "calibration", "hosmer-lemeshow", "binned-residuals", "model-pair", "model-comparison",
        "multiclass", "ordinal-classes", "uplift", "quantile-forecasts", "predicted-observed", "pairwise-scorer",
    ),
    "Time until an event": ("survival", "incidence", "delayed-entry", "interval-censored", "survival-model"),
    "Many questions": ("study", "sql", "plan"),
    "Stored results": ("show", "make-consistent", "compare", "qq", "drift", "publish"),
    "Budgets": ("ledger", "review", "audit"),
    "Begin": ("example", "completion"),
    "Several machines": ("engine", "serve", "server", "remote", "federation", "task", "aggregator", "contribute",
                         "pair", "ask", "local", "stream"),
})  # fmt: skip
"""Commands of ``dpcurves --help`` by section. Commands in no section stand under More; a group of up to 12 commands has
no sections."""
OPTION_SECTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "Privacy": (
        "epsilon", "rho", "delta", "adjacency", "unit", "rows_per_unit", "units", "ledger", "dataset", "request_id",
    ),
    "Results": (
        "json", "plot", "csv", "csv_raw", "xlsx", "html", "style", "theme", "level", "population", "suppress", "out",
    ),
    "Table": ("where", "delimiter", "table", "encoding", "decimal", "dates", "source"),
})  # fmt: skip
"""Parameters of a command's options by section of its help. All others stand first, under Question; a command with up
to 25 options has no sections."""


NAME = "dpcurves"
"""Name of the program in usage lines and completion scripts."""


class Commands(click.Group):
    """Group of commands that reports errors without a traceback."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands in the order of their declaration.

        Args:
            ctx: Context of click; not used.
        """
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List each command with the first sentence of its help, in sections if there are more than 12.

        Args:
            ctx: Context of click.
            formatter: Formatter of click, which gets the lines.
        """
        listed = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        summaries = {
            # characters: large enough that click never cuts a first sentence
            name: command.get_short_help_str(10_000)
            for name, command in listed.items()
            if command is not None
        }
        in_sections = {name for names in SECTIONS.values() for name in names}
        # commands that a help text lists without sections
        sections = {"Commands": tuple(summaries)} if len(summaries) <= 12 else {
            **SECTIONS, "More": tuple(name for name in summaries if name not in in_sections),
        }  # fmt: skip
        for title, names in sections.items():
            rows = [(name, summaries[name]) for name in names if name in summaries]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def get_help_option(self, ctx: Any) -> Any:
        """Return click's ``--help`` option, which here prints the help as plain text.

        Args:
            ctx: Context of click.
        """
        return _help_option(super().get_help_option(ctx))

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run the command line `args` and exit with its status; if the shell asks for completions, print these
        instead.

        Args:
            args: Words of the command line; None: the words in ``sys.argv``.
            prog_name: Without effect.
            extra: Without effect.
        """
        if os.environ.get(COMPLETION_VARIABLE):
            super().main([], NAME, COMPLETION_VARIABLE)  # prints the completions and exits
        sys.exit(self._run_command(sys.argv[1:] if args is None else list(args)))

    def _run_command(self, args: list[str]) -> int:
        """Run a command; print an error as one line on standard error; return the exit status.

        An interrupt prints nothing. A pipe whose reader has ended, as ``head`` does, is no error and prints nothing,
        unless a result was charged.

        Args:
            args: Words of the command line, after the program's name.
        """
        status = 0
        with catch_signals() as stopped_by:
            try:
                with self.make_context(NAME, args) as context:
                    self.invoke(context)
            except Exit as leaving:
                status = leaving.exit_code
            except (click.Abort, EOFError, KeyboardInterrupt):
                status = ExitStatus.STOPPED
            except Exception as error:
                failure = _to_interrupt(error) if stopped_by() else error
                line, status = describe_error(failure)
                if not isinstance(failure, KeyboardInterrupt | UnreadOutput):
                    print_to_stderr(line)
            signal = stopped_by()
        return ExitStatus.SIGNALLED + signal if signal and status == ExitStatus.STOPPED else int(status)


PLAN = "plan"
"""Name of the command group ``dpcurves plan``, whose commands compute expected errors and open no data."""
LABEL_OPTIONS = MappingProxyType({
    "--rows": "--row-categories", "--columns": "--column-categories", "--label": "--classes", "--event": "--causes",
    "--by": "--categories", "--column": "--categories",
})  # fmt: skip
"""Options that name a column, each with the option that lists its labels: ``--rows NAME=A,B`` is read as ``--rows NAME
--row-categories A,B``. --column has labels only in commands without --by."""
SELECTING_OPTIONS = ("--delta", "--universe")
"""Options by which the categories of a column are found privately. With one of them ``NAME=A,B`` is taken as a column
name and is not split into name and labels."""


class OneCommand(click.Command):
    """Command that refuses a repeated option. Click would silently use its last value."""

    def get_help_option(self, ctx: Any) -> Any:
        """Return click's ``--help`` option, which here prints the help as plain text.

        Args:
            ctx: Context of click.
        """
        return _help_option(super().get_help_option(ctx))

    def format_arguments(self, ctx: Any, formatter: Any) -> None:
        """Write a section of the arguments with their help texts, if there are any.

        Args:
            ctx: Context of click.
            formatter: Formatter of click, which gets the lines.
        """
        rows = [parameter.get_help_record(ctx) for parameter in self.params if isinstance(parameter, click.Argument)]
        if rows:
            with formatter.section("Arguments"):
                formatter.write_dl(rows)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options with their help texts, in sections if there are more than 25.

        Args:
            ctx: Context of click.
            formatter: Formatter of click, to which the sections are written.
        """
        records = {str(option.name): option.get_help_record(ctx) for option in self.get_params(ctx)}
        arguments = {str(parameter.name) for parameter in self.params if isinstance(parameter, click.Argument)}
        rows = {name: row for name, row in records.items() if row is not None and name not in arguments}
        in_sections = {name for names in OPTION_SECTIONS.values() for name in names}
        # options that a help text lists without sections
        sections = {"Options": tuple(rows)} if len(rows) <= 25 else {
            "Question": tuple(name for name in rows if name not in in_sections and name != "help"),
            **OPTION_SECTIONS, "Help": ("help",),
        }  # fmt: skip
        for title, names in sections.items():
            listed = [rows[name] for name in rows if name in names]
            if listed:
                with formatter.section(title):
                    formatter.write_dl(listed)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of a command, after checks whose messages are clearer than Click's messages.

        Args:
            ctx: Context of click, which gets the values.
            args: Words after the command's name.

        Returns:
            Words that were not used.

        Raises:
            Misuse: an option is given twice; or options are missing in a command that asks or plans a question, all of
                which are named in one line. Other commands report the first missing one by Click.
        """
        args = self._split_declared_labels(args)
        values, _, order = self.make_parser(ctx).parse_args(args=list(args))
        single_options = [
            parameter for parameter in order if not parameter.is_eager and not getattr(parameter, "multiple", False)
        ]
        repeated = next(
            (parameter for index, parameter in enumerate(single_options) if parameter in single_options[:index]), None
        )
        if repeated is not None:
            raise Misuse(
                str(repeated.name).replace("_", "-"), f"{repeated.opts[-1]} is given twice; leave one of them out"
            )
        if not any(parameter.is_eager for parameter in order):  # --help is eager and must work without options
            given = {name for name, value in values.items() if isinstance(value, str | bool | list | tuple)}
            self._require_options(ctx, given, args)
        return super().parse_args(ctx, args)

    def _split_declared_labels(self, args: list[str]) -> list[str]:
        """Return the words with ``--rows NAME=A,B,C`` written as ``--rows NAME --row-categories A,B,C``, as --by takes
        them together. A column whose name has an equals sign is named beside the option of its labels.

        Args:
            args: Words after the command's name.

        Raises:
            Misuse: labels are given both ways.
        """
        options = {option for parameter in self.params for option in parameter.opts}
        words = list(args)
        for column_option, label_option in LABEL_OPTIONS.items():
            has_labels = {column_option, label_option} <= options
            if not has_labels or (column_option == "--column" and "--by" in options):
                continue
            joined = next((word for word in words if word.startswith(f"{column_option}=")), None)
            if joined is not None:  # --rows=NAME=A,B,C
                position = words.index(joined)
                words[position : position + 1] = [column_option, joined.removeprefix(f"{column_option}=")]
            if column_option not in words[:-1]:
                continue
            position = words.index(column_option) + 1
            name, equals, labels = words[position].partition("=")
            if _has_option(words, label_option):
                if equals and "," in labels and not name.startswith('"'):
                    rule = (
                        f"{column_option} {words[position]} lists them, too; leave one of both lists out, or write a "
                        "name that has an equals sign and a comma in double quotes"
                    )
                    raise Misuse(label_option.removeprefix("--"), rule)
            elif column_option == "--by" or any(_has_option(words, option) for option in SELECTING_OPTIONS):
                continue  # --by is repeated, and its own parser takes the labels
            elif equals and name and labels:
                words[position : position + 1] = [name, label_option, labels]
        return words

    def _require_options(self, ctx: Any, given: set[str], args: list[str]) -> None:
        """Refuse several missing options with one complete line. Click reports a single one.

        Args:
            ctx: Context of click.
            given: Names of the options that were typed.
            args: Words of the command line.
        """
        parameters = {str(parameter.name): parameter for parameter in self.params}
        asks_a_table = {"data", "ledger"} <= set(parameters) or f" {PLAN} " in ctx.command_path
        if ctx.resilient_parsing or not asks_a_table:
            return
        ordered_names = sorted(
            parameters, key=lambda name: parameters[name].param_type_name != "argument"
        )  # DATA comes first
        missing = {
            name: _example_of(parameters[name])
            for name in ordered_names
            if parameters[name].required and name not in given
        }
        for names, example in ALTERNATIVE_OPTIONS.items():
            applies = set(names) <= set(parameters) and (
                names[0] != "grid" or getattr(self.callback, "needs_grid", False)
            )
            is_set_by_ledger = names == ("adjacency",) and "ledger" in given
            if applies and not is_set_by_ledger and not given & set(names):
                missing[" or ".join(dict.fromkeys(names[:2]))] = example
        if len(missing) < 2:
            return
        *most_options, last_option = (_option_of(parameters, name) for name in missing)
        listing = f"{', '.join(most_options)} and {last_option}"
        positional = {name for name, parameter in parameters.items() if parameter.param_type_name == "argument"}
        examples = list(missing.values())
        typed = list(map(shlex.quote, args))
        leading = 0 if positional & given else len(positional & set(missing))  # arguments keep their order
        line = " ".join([ctx.command_path, *examples[:leading], *typed, *examples[leading:]])
        arguments = ", ".join(name.partition(" or ")[0].replace("_", "-") for name in missing)
        raise Misuse(arguments, f"{listing} are missing; type a complete line such as: {line}")


def _has_option(words: Iterable[str], option: str) -> bool:
    """Return whether an option was typed, with its value as the next word or joined to the option by ``=``.

    Args:
        words: Words of the command line.
        option: Name of the option with its dashes.
    """
    return any(word == option or word.startswith(f"{option}=") for word in words)


def _example_of(parameter: Any) -> str:
    """Return how a missing option or argument is typed, with the placeholder of its value, as in ``--epsilon EPSILON``.

    Args:
        parameter: The option or argument, as click declares it.
    """
    value = str(parameter.metavar or parameter.name.upper())
    return value if parameter.param_type_name == "argument" else f"{parameter.opts[-1]} {value}"


def _option_of(parameters: Mapping[str, Any], name: str) -> str:
    """Return how the user types a parameter of a command: its option, the placeholder of an argument, or
    alternatives joined by "or".

    Args:
        parameters: Parameters of the command as click declares them, by name.
        name: Name of a parameter, or several joined by " or ".
    """
    alternatives = [parameters[alternative] for alternative in name.split(" or ")]
    return " or ".join(
        parameter.metavar if parameter.param_type_name == "argument" else parameter.opts[-1]
        for parameter in alternatives
    )


def _help_option(option: click.Option | None) -> click.Option | None:
    """Return click's help option, made to call `_show_help`; None stays None.

    Args:
        option: Click's help option; None: the command has none.
    """
    if option is not None:
        option.callback = _show_help
    return option


def _show_help(ctx: Any, param: object, value: bool) -> None:
    """Print the help of the command and exit, if ``--help`` was typed.

    Args:
        ctx: Context of click.
        param: The help option; not used.
        value: Whether the option was given.
    """
    if value and not ctx.resilient_parsing:
        print_to_stdout(ctx.get_help())
        ctx.exit()


def _to_interrupt(error: Exception) -> BaseException:
    """Return a KeyboardInterrupt in place of an exception that an interrupted database engine raised.

    Call it only if the user has interrupted the command. An error after the charge (`ChargedFailure`) is replaced by
    one of the same class with the interrupt as its cause, so that its request name is still shown; any other error
    becomes a plain KeyboardInterrupt.

    Args:
        error: The exception that the command ended with. Its text is not used.
    """
    return type(error)(KeyboardInterrupt(), error.request) if isinstance(error, ChargedFailure) else KeyboardInterrupt()


SETTINGS = {"help_option_names": ["-h", "--help"]}
"""Settings of click for all command groups: ``-h`` prints the help, as ``--help`` does."""
EXIT_STATUS = (
    "Exit status: 0 done; 2 wrong usage; 3 budget exceeded; 4 unusable data or ledger; 5 not delivered; 6 flagged by "
    "an audit; 7 another machine did not answer."
)
"""Last lines of ``dpcurves --help``: what the exit status of a command means."""


SHELLS = "bash", "zsh", "fish", "powershell"
"""Shells that click makes completion scripts for; ``dpcurves completion`` refuses another name."""


def completion(*, shell: Annotated[str, Argument(metavar="SHELL", help="bash, zsh, fish or powershell.")]) -> None:
    """Print the script that completes commands and options in a shell, for its start file.

    Example: dpcurves completion bash >> ~/.bashrc
    """
    from click.shell_completion import get_completion_class

    if shell not in SHELLS:
        raise Misuse("shell", f"must be {', '.join(SHELLS[:-1])} or {SHELLS[-1]}, got {shell!r}")
    completion_class = get_completion_class(shell)
    if completion_class is not None:
        print_to_stdout(completion_class(click.get_current_context().command, {}, NAME, COMPLETION_VARIABLE).source())


CORE_COMMANDS = PackageCommands(
    commands={**QUESTIONS, **RELEASED_COMMANDS, **EXAMPLE_COMMANDS, "completion": completion},
    plans=make_plan_commands(QUESTIONS),
    groups={
        "ledger": Group(
            "Privacy budgets and what was spent of them.",
            LEDGER_COMMANDS,
            groups={
                "allowance": Group("Limits on what projects and analysts may spend of a budget.", ALLOWANCE_COMMANDS),
                "view": Group("Named filters and derived columns of a dataset.", VIEW_COMMANDS),
            },
        )
    },
)
"""Commands, plans and command groups of this package; other packages add theirs by `COMMAND_ENTRY_POINTS`."""


def build(typed: Sequence[str] = ()) -> Commands:
    """Build the application. Heavy modules are imported by the commands that use them.

    Args:
        typed: Words of the command line. If the first one names a command or a group, only that is built: building
            all commands takes several times as long as a command that only prints its help.
    """
    first_word, further_words = (typed[0], typed[1:]) if typed else ("", ())
    if first_word == VERSION:
        return _make_application({})
    if first_word in CORE_COMMANDS.commands:
        return _make_application({first_word: CORE_COMMANDS.commands[first_word]})
    packages: tuple[PackageCommands, ...] = (
        CORE_COMMANDS,
        *(entry_point.load() for entry_point in find_entry_points(COMMAND_ENTRY_POINTS)),
    )
    commands = {name: command for package in packages for name, command in package.commands.items()}
    plans = {name: command for package in packages for name, command in package.plans.items()}
    groups = {name: group for package in packages for name, group in package.groups.items()}
    if first_word in commands:
        return _make_application({first_word: commands[first_word]})
    app = _make_application({} if first_word in groups or first_word == PLAN else commands)
    if first_word not in groups:
        selected_plans = _select_typed(further_words, plans) if first_word == PLAN else plans
        app.add_command(
            _make_group(
                selected_plans, metavar_defaults=PLAN_DEFAULTS, help="Expected errors of a question; opens no data."
            ),
            PLAN,
        )
    if first_word != PLAN:
        _add_groups(app, groups, typed)
    return app


VERSION = "--version"
"""Option that prints the version. If it is the first word, no commands are built, so that it answers fast."""
PLAN_DEFAULTS = MappingProxyType({"NAME": "", "U": "1", "P": "0.95", "public|disjoint|private": "public"})
"""Values of options that a question requires but its plan does not depend on, by the placeholder of the option's value
in the help. They make these options optional in ``dpcurves plan``; an empty one means the option's name."""
Named = TypeVar("Named", Command, Group)


def _select_typed(typed: Sequence[str], known: Mapping[str, Named]) -> Mapping[str, Named]:
    """Return the command or group that was typed, or all if no typed word names one.

    Args:
        typed: Words of the command line.
        known: Commands or groups by name.
    """
    return {typed[0]: known[typed[0]]} if typed and typed[0] in known else known


def _make_application(commands: Mapping[str, Command]) -> Commands:
    """Return the top-level group of commands, with its version option and the exit statuses below its help.

    Args:
        commands: Commands by name.
    """
    version = click.Option([VERSION], is_flag=True, help="Print the version and exit.")
    return _make_group(commands, epilog=EXIT_STATUS, help=dpcurves.__doc__, callback=dpcurves, params=[version])


def _add_groups(app: Commands, groups: Mapping[str, Group], typed: Sequence[str]) -> None:
    """Add these groups, nested ones included, to the application; of a typed group only the typed command is built.

    Args:
        app: Application or group that gets them.
        groups: Groups by name.
        typed: Words that were typed; empty: everything is built.
    """
    for name, group in _select_typed(typed, groups).items():
        further_words = typed[1:] if typed and typed[0] == name else ()
        is_group = bool(further_words) and further_words[0] in group.groups
        click_group = _make_group(
            {} if is_group else _select_typed(further_words, group.commands),
            excluded_options=group.excluded_options,
            help=group.help,
        )
        _add_groups(click_group, group.groups, further_words)
        app.add_command(click_group, name)


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
    """Print the help of the group of commands if it was called without a command."""
    if context.invoked_subcommand is None:
        print_to_stdout(context.get_help())


def _make_group(
    commands: Mapping[str, Command],
    metavar_defaults: Mapping[str, str] = NOTHING,
    excluded_options: Mapping[str, Collection[str]] = NOTHING,
    **settings: Any,
) -> Commands:
    """Return a click group with these commands, whose options are made from the dataclasses that their parameters are
    annotated with.

    Args:
        commands: Commands by name.
        metavar_defaults: Defaults of required options by metavar.
        excluded_options: For a command, the fields that become no options.
        settings: Further settings of the click group.
    """
    group_settings = {
        "callback": show_help,
        "context_settings": SETTINGS,
        "subcommand_metavar": "COMMAND [ARGS]...",
        **settings,
    }
    app = Commands(invoke_without_command=True, **group_settings)
    for name, command in commands.items():
        flat_command = with_options(command, metavar_defaults, excluded_options.get(name, ()))
        app.add_command(
            OneCommand(name, callback=flat_command, params=parameters_in(flat_command), help=flat_command.__doc__), name
        )
    return app
