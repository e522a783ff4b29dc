"""Each mutant of the trials of the auditor changes code of today, and no docstring alone."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "benchmarks"))

audited_mutants: Any = import_module("audited_mutants")


def dump_code(text: str) -> str:
    """The syntax tree of a file, in which all texts that are statements of their own are empty."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = ""
    return ast.dump(tree)


@pytest.mark.parametrize("mutant", audited_mutants.MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_changes_one_place_of_the_code(mutant: Any) -> None:
    text = (REPOSITORY / "src" / mutant.file).read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1
    assert dump_code(text.replace(mutant.old, mutant.new)) != dump_code(text)
