"""Commands of packages beside the core, which are found as entry points: the core imports none of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points

from .option_groups import Command

GROUP = "dpcurves.commands"
"""Entry points of other packages: the name of the package, and where its `Provided` is."""


@dataclass(frozen=True)
class Group:
    """Group of commands.

    Attributes:
        help: Help text.
        commands: Commands, by name.
        groups: Groups below this one.
        said: Names of options that are left out, because their values are given elsewhere.
    """

    help: str
    commands: Mapping[str, Command]
    groups: Mapping[str, Group] = field(default_factory=dict)
    said: Collection[str] = ()


@dataclass(frozen=True)
class Provided:
    """Commands of one package.

    Attributes:
        commands: Commands beside the questions to a file.
        plans: Commands of the group ``plan``.
        groups: Groups of commands.
    """

    commands: Mapping[str, Command] = field(default_factory=dict)
    plans: Mapping[str, Command] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)


def provided() -> list[Provided]:
    """Commands of all installed packages, in the order of the packages' names."""
    return [each.load() for each in sorted(entry_points(group=GROUP), key=lambda each: each.name)]
