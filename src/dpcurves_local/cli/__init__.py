"""Commands of the local model."""

from dpcurves.cli.app import Group, PackageCommands

from .serving import LOCAL_PLANS, SERVING_COMMANDS
from .tasks import LOCAL_COMMANDS

PACKAGE_COMMANDS = PackageCommands(
    plans=LOCAL_PLANS,
    groups={"local": Group("The local model: people who trust nobody.", {**LOCAL_COMMANDS, **SERVING_COMMANDS})},
)
"""The group `local` and the command `plan local`, which this package adds to the commands of `dpcurves`."""
