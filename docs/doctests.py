"""Doctests of docstrings as blocks of code in the API reference: Markdown takes their prompts for quotations.

And powers as they are written: it takes what stands between two of them for emphasis. And questions in one call with
the arguments that all of them take; and methods that give intervals with those that `Covered` explains for all of them.
"""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

from griffe import Extension, Function, Object, ParameterKind, Parameters

from dpcurves.curves.result import Covered
from dpcurves.shortcuts import PLACES, in_one_call

DOCTEST = re.compile(r"^([ ]*)>>> .*(?:\n[ ]*\S.*)*", re.MULTILINE)
CODE = re.compile(r"(```.*?```|`+[^`]*`+)", re.DOTALL)
POWER = re.compile(r"(?<=[\w)])\*\*(?=[\w(])")


def shown(docstring: str) -> str:
    """A docstring in Markdown that shows what it says.

    >>> shown("k**2, and 2 * k**2 (`k**2`)")
    'k\\\\*\\\\*2, and 2 * k\\\\*\\\\*2 (`k**2`)'
    """
    fenced = DOCTEST.sub(r"\1```pycon\n\g<0>\n\1```", docstring)
    parts = enumerate(CODE.split(fenced))
    return "".join(part if number % 2 else POWER.sub(r"\\*\\*", part) for number, part in parts)


def explained(docstring: str, names: list[str]) -> str:
    """A method's docstring with what `Covered.intervals` says of a level, a population and errors, if it says nothing.

    >>> print(explained("Lower and upper ends.", ["self", "level", "population"])[:55])
    Lower and upper ends.
    <BLANKLINE>
    Args:
        level: The probability
    """
    if not {"level", "population"} <= set(names) or "Args:" in docstring or "Raises:" in docstring:
        return docstring
    arguments, errors = COVERED.split("\n\n")
    drawn = f"\n{GENERATOR}" if "generator" in names else ""
    return f"{docstring.rstrip()}\n\n{arguments}{drawn}\n\n{errors}"


def _of_covered() -> str:
    """The arguments and errors of `Covered.intervals`, which its subclasses have."""
    (kind,) = ast.parse(inspect.getsource(Covered)).body
    (own,) = [each for each in ast.walk(kind) if isinstance(each, ast.FunctionDef) and each.name == "intervals"]
    return (ast.get_docstring(own) or "").partition("\n\n")[2]


COVERED = _of_covered()
GENERATOR = "    generator: The random numbers of the simulation; None: the same numbered draws each time."


class Doctests(Extension):
    """Puts fences around what begins with a prompt and ends before an empty line, and keeps powers."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            names = [each.name for each in obj.parameters] if isinstance(obj, Function) else []
            of_class = obj.parent is not None and obj.parent.is_class
            obj.docstring.value = shown(explained(obj.docstring.value, names) if of_class else obj.docstring.value)

    def on_function(self, *, func: Function, **_: Any) -> None:
        if any(str(each.value) == in_one_call.__name__ for each in func.decorators) and func.parent is not None:
            own = [each for each in func.parameters if each.kind is not ParameterKind.var_keyword]
            shared = [each for each in func.parent["asked"].parameters if each.kind is ParameterKind.keyword_only]
            places = {each.name: PLACES.get(each.name, 0 if each.required else 4) for each in (*own, *shared)}
            func.parameters = Parameters(*sorted([*own, *shared], key=lambda each: places[each.name]))
