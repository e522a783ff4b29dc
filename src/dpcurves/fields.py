"""Fields of statistics in packages beside the core, which finds them as entry points and imports none of them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

GROUP = "dpcurves.fields"
"""Entry points of fields: any name, and the package, whose ``__all__`` are names of `dpcurves` as well."""
RESULTS = "dpcurves.results"
"""Entry points of other packages: the kind of a result, and its class."""


@cache
def find_packages() -> tuple[ModuleType, ...]:
    """The packages that are installed, in the order of their names."""
    return tuple(each.load() for each in sorted(entry_points(group=GROUP), key=lambda each: each.name))


def load_field_object(name: str) -> Any:
    """The object of this name in the package that declares it.

    Raises:
        AttributeError: none does.
    """
    for package in () if name.startswith("_") else find_packages():
        if name in package.__all__:
            return getattr(package, name)
    raise AttributeError(f"no package of a field has {name!r}")


def load_results(kind: str) -> None:
    """Import the class that a kind of result is named after; of results that are written together, ``curves``, all."""
    word, found = kind.replace("-", ""), False
    for room in (import_module(f"{__package__}.curves"), *find_packages()):
        for name in room.__all__:
            if name[:1].isupper() and (kind == "curves" or name.lower() == word):
                found = getattr(room, name) is not None
    if not found:
        for each in entry_points(group=RESULTS, name=kind):
            each.load()
