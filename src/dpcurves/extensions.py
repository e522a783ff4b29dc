"""Discovery of extension packages by entry points: the core finds their questions and results without importing them.

An extension declares entry points (names in the metadata of an installed package that point to its objects). It is
imported when one of its names is needed.

    find_entry_points    group -> its entry points, read once in a process
    find_packages        all packages of the entry point group `PACKAGE_GROUP`, imported
    load_field_object    name -> the public object of this name in one of these packages
    load_results         kind of a stored result -> its class is imported, so that the result can be parsed

The module imports packages that are installed, and reads no records.

>>> find_entry_points("dpcurves.a_group_that_nobody_declares")
[]
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

PACKAGE_GROUP = "dpcurves.extensions"
"""Group of entry points by which other packages offer their public names (``__all__``) as names of `dpcurves`. The name
of the entry is not used."""
RESULT_GROUP = "dpcurves.results"
"""Group of entry points by which other packages offer result classes. The name of the entry is the kind of the result
in JSON, as in ``cdf``; only the class that a document needs is imported."""


@cache
def _entry_points_of_group(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group, sorted by name; cached, as reading the files of all packages takes 30 ms.

    Args:
        group: Name of the group.
    """
    return tuple(sorted(entry_points(group=group), key=lambda entry: entry.name))


def find_entry_points(group: str, name: str | None = None) -> list[EntryPoint]:
    """Return the entry points of a group, sorted by name. Packages that are installed later are not found.

    Args:
        group: Name of the group, as in `pyproject.toml` of the packages that declare entry points.
        name: The name to find; None for all entry points of the group.

    Returns:
        The entry points, not loaded; empty if no installed package declares one.
    """
    return [entry for entry in _entry_points_of_group(group) if name in {None, entry.name}]


@cache
def find_packages() -> tuple[ModuleType, ...]:
    """Return the installed extension packages, imported, in the order of their entry point names."""
    return tuple(entry.load() for entry in find_entry_points(PACKAGE_GROUP))


def load_field_object(name: str) -> Any:
    """Return the public object of this name from an extension package.

    Args:
        name: Public name, such as ``cdf``.

    Raises:
        AttributeError: no installed package has the name.
    """
    for package in () if name.startswith("_") else find_packages():
        if name in package.__all__:
            return getattr(package, name)
    raise AttributeError(f"no installed package defines {name!r}; install the package of its field")


def load_results(kind: str) -> None:
    """Import the class of a kind of result, which registers the class.

    Most classes are named like their kind without hyphens, ignoring case: such a class is imported alone.

    Args:
        kind: Kind of a stored result. ``curves`` means any kind: all classes are imported.
    """
    class_name = kind.replace("-", "")
    modules = (import_module(f"{__package__}.curves"), *find_packages())
    classes = [(module, name) for module in modules for name in module.__all__ if name[:1].isupper()]
    named = [(module, name) for module, name in classes if name.lower() == class_name]
    entries = [] if named else find_entry_points(RESULT_GROUP, kind)
    for entry in entries:
        entry.load()
    for module, name in named if named or entries else classes:
        getattr(module, name)
