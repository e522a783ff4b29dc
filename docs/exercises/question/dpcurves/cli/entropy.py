"""The command that asks for the entropy of a column of categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import options
from .ask_file import make_question_command
from .output import ResultView


@dataclass(frozen=True)
class CategoryColumn(options.QuestionOptions):
    """Options for a column and its categories."""

    column: str = options.option("NAME", "The column of categories.")
    categories: str = options.option("A,B,C", "Its categories, declared in public; other values count as missing.")

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        from ..data import Categories

        return {"column": Categories(self.column, options.parse_labels("categories", self.categories))}


ENTROPY = make_question_command(
    "entropy", "EntropyQuestion", [CategoryColumn], [ResultView],
    title="The entropy of a column of categories, in bits.",
    example="flights.csv --column carrier --categories UA,AA,DL",
)  # fmt: skip
