"""Discovery of extension packages by entry points: the core finds their questions and results without importing them.

An extension declares entry points (names in the metadata of an installed package that point to its objects). It is
imported when one of its names is needed.

    find_packages        all packages of the entry point group `PACKAGE_GROUP`, imported
    load_field_object    name -> the public object of this name in one of these packages
    load_results         kind of a stored result -> its class is imported, so that the result can be parsed

>>> load_field_object("a_name_that_nobody_has")
Traceback (most recent call last):
AttributeError: no package of a field has 'a_name_that_nobody_has'
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

PACKAGE_GROUP = "dpcurves.extensions"
"""Entry point group of packages whose ``__all__`` is also available from `dpcurves`. The entry's name is not used."""
RESULT_GROUP = "dpcurves.results"
"""Entry point group of single result classes; the entry's name is the kind of the result."""


@cache
def find_packages() -> tuple[ModuleType, ...]:
    """Return the installed extension packages, imported, in the order of their entry point names."""
    entries = sorted(entry_points(group=PACKAGE_GROUP), key=lambda entry: entry.name)
    return tuple(entry.load() for entry in entries)


def load_field_object(name: str) -> Any:
    """Return the public object of this name from an extension package.

    Raises:
        AttributeError: no installed package has the name.
    """
    for package in () if name.startswith("_") else find_packages():
        if name in package.__all__:
            return getattr(package, name)
    raise AttributeError(f"no package of a field has {name!r}")


def load_results(kind: str) -> None:
    """Import the class of a kind of result, which registers the class.

    Most classes are named like their kind without hyphens, ignoring case: such a class is imported alone.

    Args:
        kind: Kind of a stored result. ``curves`` stands for any kind: all classes are imported.
    """
    class_name = kind.replace("-", "")
    modules = (import_module(f"{__package__}.curves"), *find_packages())
    classes = [(module, name) for module in modules for name in module.__all__ if name[:1].isupper()]
    named = [(module, name) for module, name in classes if name.lower() == class_name]
    entries = [] if named else list(entry_points(group=RESULT_GROUP, name=kind))
    for entry in entries:
        entry.load()
    for module, name in named if named or entries else classes:
        getattr(module, name)
