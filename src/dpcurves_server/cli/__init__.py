"""Commands of the verification server, for its operator and for analysts who send it questions."""

from dpcurves.cli.app import Group, PackageCommands
from dpcurves.cli.one_table import commands_for_terms

from .commands import SERVE_COMMANDS, SERVER_STORE_COMMANDS
from .remotes import REMOTE_COMMANDS, PlanTerms, RemoteTerms
from .try_command import TRY_COMMANDS

PACKAGE_COMMANDS = PackageCommands(
    commands={**TRY_COMMANDS, **SERVE_COMMANDS},
    groups={
        "server": Group("What a verification server knows: people, datasets, projects.", SERVER_STORE_COMMANDS),
        "remote": Group(
            "A verification server: what it has, questions, models, releases.",
            REMOTE_COMMANDS,
            groups={
                "ask": Group("Questions that the server charges and answers.", commands_for_terms(RemoteTerms)),
                "plan": Group(
                    "What a question would cost there, and its errors.", commands_for_terms(PlanTerms, plans=True)
                ),
            },
        ),
    },
)
"""Commands and groups of commands that this package adds to `dpcurves`, such as `try`, `serve` and `server`."""
