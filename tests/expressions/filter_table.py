"""Where each question takes a filter, as a table: `python tests/expressions/filter_table.py`.

A row is a question. In the first column the filter is compared with a table of the rows that pass; the others say how
many rounds each trust model plans with the filter, or why it refuses the question, with a filter or without.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    ROOT = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(ROOT / name) for name in ("docs", "papers", "tests/curves")]

from every_question import LOSS, QUESTIONS, TABLE
from trust_models import MODELS

import dpcurves as dp
from dpcurves.cli.app import CORE_COMMANDS
from dpcurves.cli.options import FilterOptions, groups_of
from dpcurves.conversation import UnsupportedQuery
from dpcurves.curves.question_json import question_from_json, question_to_json
from dpcurves.privacy import EACH_RECORD

WHERE = "z >= 3"
FILTERED = {**TABLE, "z": np.arange(600) % 7}
PASSING = {name: column[FILTERED["z"] >= 3] for name, column in FILTERED.items()}
ADJACENCY = dp.REPLACE_ONE.to_adjacency(EACH_RECORD, 600)


def ask(question: Any, table: dict[str, Any]) -> Any:
    """Return the releases of a question on a table, with noise of one seed, and the filter that the result states."""
    randomness = dp.Randomness.from_seed(5)
    with dp.Session(table, budget=LOSS, adjacency=dp.ADD_REMOVE, randomness=randomness) as session:
        result = session.ask(question, LOSS, request="once")
    return [(each.values, each.total) for each in result.rounds], result.privacy.where


def compare_with_subset(question: Any) -> str:
    """Return "equal" if a filter gives the integers that a table of the passing rows gives, and is published."""
    filtered = replace(question, where=WHERE)
    counted, published = ask(filtered, FILTERED)
    expected, _ = ask(question, PASSING)
    stored = question_from_json(question_to_json(filtered))
    if stored != filtered:
        return "not stored"
    return "equal" if (counted, published) == (expected, WHERE) else "different"


def plan_rounds(question: Any, model: Any) -> str:
    """Return the number of rounds that a trust model plans for a question, or the argument that it refuses."""
    try:
        return str(len(dp.plan_question(question, LOSS, ADJACENCY, model)))
    except UnsupportedQuery as error:
        return f"refused: {error.argument}"


def list_command_line_questions() -> dict[str, bool]:
    """Return whether each command about a table takes --where, by name; plans of questions included."""
    commands = {**CORE_COMMANDS.commands, **{f"plan {name}": command for name, command in CORE_COMMANDS.plans.items()}}
    groups = {name: groups_of(command) for name, command in commands.items()}
    terms = {name: {"terms"} & found.keys() for name, found in groups.items()}
    return {name: FilterOptions in groups[name].values() for name in commands if terms[name]}


def main() -> None:
    """Print the table, and the commands."""
    print("question", "one table", *MODELS, sep=" | ")
    for question in QUESTIONS:
        filtered = replace(question, where=WHERE)  # type: ignore[type-var]
        plans = [plan_rounds(filtered, model) for model in MODELS.values()]
        print(type(question).__name__, compare_with_subset(question), *plans, sep=" | ", flush=True)
    for name, has_filter in list_command_line_questions().items():
        print(name, "takes --where" if has_filter else "takes no --where", sep=" | ")


if __name__ == "__main__":
    main()
