"""Web forms of the questions of the command line: their fields are made from the declared options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import Parameter
from typing import Any, get_origin

from dpcurves.cli.ask_file import Terms
from dpcurves.cli.option_groups import Command, filled, groups_of, parameters_of
from dpcurves.cli.output import Output
from dpcurves.cli.refusal import OF_COLUMNS, as_typed

from ..forms import Field, Form

COLUMNS = frozenset(
    {*OF_COLUMNS, "rows", "columns", "time", "event", "x", "y", "outcome", "coefficient", "explained_by"}
)
OF_MODELS = "@FILE"
"""Mark in the help of options that take a column or a model's file. On pages the file is a model of the project."""
EXAMPLE = "Example:"


@dataclass
class _Heard:
    """Terms that record the question of a command instead of asking it."""

    question: Any = None

    def answer(self, question: Any, *_: object) -> None:
        self.question = question


def forms_of(questions: Mapping[str, Command]) -> dict[str, Form]:
    """Forms of the questions to one table, by the names of their commands.

    >>> from dpcurves.cli.one_table import QUESTIONS
    >>> form = forms_of(QUESTIONS)["histogram"]
    >>> print(form.question({"column": ["age"], "grid": ["0:90:9"]}, {}))
    histogram of age
    """
    return {word: _form(word, command) for word, command in questions.items() if _asked_of_tables(command)}


def _asked_of_tables(command: Command) -> bool:
    return groups_of(command).get("terms") is Terms


def _form(word: str, command: Command) -> Form:
    groups = {name: group for name, group in groups_of(command).items() if group not in (Terms, Output)}
    fields = tuple(_field(each) for group in groups.values() for each in parameters_of(group))

    def read(values: Mapping[str, Any]) -> Any:
        heard = _Heard()
        with as_typed(values):
            asked = {name: filled(group, values) for name, group in groups.items()}
            command(**asked, terms=heard, output=Output())
        return heard.question

    title, _, told = (command.__doc__ or "").partition(EXAMPLE)[0].partition("\n")
    return Form(word, title.strip().rstrip("."), " ".join(told.split()), fields, read)


def _field(parameter: Parameter) -> Field:
    option, needed = parameter.annotation.__metadata__[0], parameter.default is Parameter.empty
    words, takes = str(option.help), str(option.metavar)
    return Field(
        parameter.name, words.replace(OF_MODELS, "@NAME").replace("a model in JSON", "a model"), takes,
        None if needed else parameter.default, needed, _is_list(parameter.annotation.__origin__),
        tuple(takes.split("|")) if "|" in takes else (), parameter.name in COLUMNS, OF_MODELS in words,
    )  # fmt: skip


def _is_list(hint: Any) -> bool:
    return any(get_origin(each) is list for each in (hint, *getattr(hint, "__args__", ())))
