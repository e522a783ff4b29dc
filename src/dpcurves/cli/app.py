"""Typer application with all commands and groups of commands."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Annotated, Any

import typer

from .allowances import ALLOWANCE_COMMANDS
from .ask_pairs import ASK_PAIRS
from .ask_servers import SAID, asks_of
from .commands import Commands, OneCommand
from .comparisons import COMPARE_COMMANDS
from .engines import ENGINE_COMMANDS
from .ledgers import LEDGER_COMMANDS
from .local_plans import LOCAL_PLANS
from .local_serving import SERVING_COMMANDS
from .local_tasks import LOCAL_COMMANDS
from .one_table import QUESTIONS
from .option_groups import NOTHING, Command, with_options
from .pair import PAIR_COMMANDS
from .pairs import PAIR_PLANS
from .plans import STANDING, plans_of
from .quantile_plots import QUANTILE_COMMANDS
from .remotes import REMOTE_COMMANDS, Gated, Planned, through
from .servers import SERVER_COMMANDS
from .serving import SERVE_COMMANDS, SERVER_STORE_COMMANDS
from .stream import STREAM_PLANS
from .tasks import TASK_COMMANDS
from .terminal import say_plainly

SETTINGS = {"help_option_names": ["-h", "--help"]}
EXIT_STATUS = "Exit status: 0 done; 2 wrong usage; 3 budget exceeded; 4 unusable data or ledger; 5 not delivered."


PLANS: Mapping[str, Command] = MappingProxyType({**plans_of(QUESTIONS), **STREAM_PLANS, **LOCAL_PLANS, **PAIR_PLANS})


def build() -> typer.Typer:
    """Build the application with all commands. Nothing heavy is imported before one of them is run."""
    first = {
        **QUESTIONS, **COMPARE_COMMANDS, **QUANTILE_COMMANDS, **SERVER_COMMANDS, **PAIR_COMMANDS, **SERVE_COMMANDS
    }  # fmt: skip
    app = _group(first, epilog=EXIT_STATUS)
    ledger = _group(LEDGER_COMMANDS)
    ledger.add_typer(
        _group(ALLOWANCE_COMMANDS), name="allowance", help="What projects and analysts may spend of a budget."
    )
    remote = _group(REMOTE_COMMANDS)
    remote.add_typer(_group(through(Gated)), name="ask", help="Questions that the server charges and answers.")
    remote.add_typer(_group(through(Planned)), name="plan", help="What a question would cost there, and its errors.")
    groups = {
        "plan": (_group(PLANS, standing=STANDING), "The errors a question would have; opens no data."),
        "ledger": (ledger, "Privacy budgets, and what was spent of them."),
        "task": (_group(TASK_COMMANDS), "Tasks for two servers, neither of them trusted alone."),
        "server": (_group(SERVER_STORE_COMMANDS), "What a verification server knows: people, datasets, projects."),
        "remote": (remote, "A verification server: what it has, questions, models, releases."),
        "engine": (_group(ENGINE_COMMANDS), "Databases that count where records lie."),
        "local": (_group({**LOCAL_COMMANDS, **SERVING_COMMANDS}), "The local model: people who trust nobody."),
        "ask": (_group({**asks_of(QUESTIONS), **ASK_PAIRS}, said=SAID),
                "Questions to the two servers of a task. The first answer is paid with all of its loss; others are "
                "free."),
    }  # fmt: skip
    for name, (group, told) in groups.items():
        app.add_typer(group, name=name, help=told)
    app.callback(invoke_without_command=True)(dpcurves)
    return app


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


def _group(
    commands: Mapping[str, Command], standing: Mapping[str, str] = NOTHING, said: Collection[str] = (), **settings: Any
) -> typer.Typer:
    # Help in boxes and shell completion would each import twice as much before there is an answer.
    plain: dict[str, Any] = {"rich_markup_mode": None, "add_completion": False, "pretty_exceptions_enable": False}
    app = typer.Typer(cls=Commands, context_settings=SETTINGS, **plain, **settings)
    app.callback(invoke_without_command=True)(show_help)
    for name, command in commands.items():
        app.command(name, cls=OneCommand)(with_options(command, standing, said))
    return app
