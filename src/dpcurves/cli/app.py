"""Typer application with all commands and groups of commands."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any

import typer

from .allowances import ALLOWANCE_COMMANDS
from .commands import Commands, OneCommand
from .comparisons import COMPARE_COMMANDS
from .ledgers import LEDGER_COMMANDS
from .one_table import QUESTIONS
from .option_groups import NOTHING, Command, with_options
from .plans import STANDING, plans_of
from .quantile_plots import QUANTILE_COMMANDS
from .terminal import say_plainly
from .wings import Group, Provided, provided

SETTINGS = {"help_option_names": ["-h", "--help"]}
EXIT_STATUS = "Exit status: 0 done; 2 wrong usage; 3 budget exceeded; 4 unusable data or ledger; 5 not delivered."


OWN = Provided(
    commands={**QUESTIONS, **COMPARE_COMMANDS, **QUANTILE_COMMANDS},
    plans=plans_of(QUESTIONS),
    groups={
        "ledger": Group(
            "Privacy budgets, and what was spent of them.",
            LEDGER_COMMANDS,
            groups={"allowance": Group("What projects and analysts may spend of a budget.", ALLOWANCE_COMMANDS)},
        ),
    },
)
"""Commands of the core."""


def plans() -> dict[str, Command]:
    """Commands that plan a question, of all installed packages."""
    return {name: command for each in (OWN, *provided()) for name, command in each.plans.items()}


def build() -> typer.Typer:
    """Build the application with all commands. Nothing heavy is imported before one of them is run."""
    everything = (OWN, *provided())
    app = _made({name: command for each in everything for name, command in each.commands.items()}, epilog=EXIT_STATUS)
    planned = _made(plans(), standing=STANDING)
    app.add_typer(planned, name="plan", help="The errors a question would have; opens no data.")
    for each in everything:
        _add(app, each.groups)
    app.callback(invoke_without_command=True)(dpcurves)
    return app


def _add(app: typer.Typer, groups: Mapping[str, Group]) -> None:
    for name, group in groups.items():
        made = _made(group.commands, said=group.said)
        _add(made, group.groups)
        app.add_typer(made, name=name, help=group.help)


def dpcurves(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version, and do nothing else.")] = False,
) -> None:
    """Differentially private curves from a CSV or Parquet file, or from a database."""
    if version:
        from importlib.metadata import version as installed

        say_plainly(f"dpcurves {installed('dpcurves')}")
    else:
        show_help(context)


def show_help(context: typer.Context) -> None:
    """Show the help of the group if no command was named."""
    if context.invoked_subcommand is None:
        say_plainly(context.get_help())


def _made(
    commands: Mapping[str, Command], standing: Mapping[str, str] = NOTHING, said: Collection[str] = (), **settings: Any
) -> typer.Typer:
    # Help in boxes and shell completion would each import twice as much before there is an answer.
    plain: dict[str, Any] = {"rich_markup_mode": None, "add_completion": False, "pretty_exceptions_enable": False}
    app = typer.Typer(cls=Commands, context_settings=SETTINGS, **plain, **settings)
    app.callback(invoke_without_command=True)(show_help)
    for name, command in commands.items():
        app.command(name, cls=OneCommand)(with_options(command, standing, said))
    return app
