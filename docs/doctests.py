"""Doctests of docstrings as blocks of code in the API reference: Markdown takes their prompts for quotations.

And powers as they are written: it takes what stands between two of them for emphasis. And questions in one call with
the arguments that all of them take; and methods that give intervals with what is said of level and population.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Function, Object, ParameterKind, Parameters

from dpcurves.curves.result import complete_docstring
from dpcurves.shortcuts import ARGUMENT_RANKS, add_privacy_arguments

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


class Doctests(Extension):
    """Puts fences around what begins with a prompt and ends before an empty line, and keeps powers."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            told = obj.docstring.value
            if isinstance(obj, Function) and obj.parent is not None and obj.parent.is_class:
                told = complete_docstring(told, obj.name, [each.name for each in obj.parameters])
            obj.docstring.value = shown(told)

    def on_function(self, *, func: Function, **_: Any) -> None:
        if (
            any(str(each.value) == add_privacy_arguments.__name__ for each in func.decorators)
            and func.parent is not None
        ):
            own = [each for each in func.parameters if each.kind is not ParameterKind.var_keyword]
            shared = [each for each in func.parent["ask_once"].parameters if each.kind is ParameterKind.keyword_only]
            places = {each.name: ARGUMENT_RANKS.get(each.name, 0 if each.required else 4) for each in (*own, *shared)}
            func.parameters = Parameters(*sorted([*own, *shared], key=lambda each: places[each.name]))
