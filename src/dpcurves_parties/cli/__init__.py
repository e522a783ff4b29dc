"""Commands of two servers, of people in pairs, and of their analysts."""

from dpcurves.cli.app import Group, PackageCommands
from dpcurves.cli.one_table import QUESTIONS

from .pair import ASK_PAIRS, PAIR_COMMANDS, SERVER_COMMANDS, create_ask_commands, find_declared_options
from .pair_tasks import PAIR_PLANS
from .tasks import TASK_COMMANDS

PACKAGE_COMMANDS = PackageCommands(
    commands={**SERVER_COMMANDS, **PAIR_COMMANDS},
    plans=PAIR_PLANS,
    groups={
        "task": Group("Tasks for two servers, neither of which is trusted alone.", TASK_COMMANDS),
        "ask": Group(
            "Questions to the two servers of a task. The first answer costs the task's whole loss, later ones nothing.",
            {**create_ask_commands(QUESTIONS), **ASK_PAIRS},
            excluded_options=find_declared_options(QUESTIONS),
        ),
    },
)
"""What this package adds to the command line dpcurves: commands, plans (dpcurves plan), and the groups task and ask. An
entry point names it."""
