"""Exercises: each edit fits today's code, and a new reading is added to a copy of it and answers."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec, resolve_name
from pathlib import Path

import pytest
from exercise import EXERCISES as FOLDER
from exercise import MARKS, Edit, Exercise, ExerciseError, count_edits, edited_texts, read_exercises, run_exercise

EXERCISES = {exercise.kind: exercise for exercise in read_exercises()}


def test_all_kinds_are_exercised() -> None:
    assert list(EXERCISES) == list(MARKS)


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))
def test_every_anchor_occurs_once_in_todays_code(exercise: Exercise) -> None:
    texts = edited_texts(exercise)
    assert sorted(texts) == exercise.edited_files
    for file, text in texts.items():
        if file.endswith(".py"):
            assert find_undefined_names(text) == ""


def find_undefined_names(text: str) -> str:
    """The lint's lines about names that a module uses and nowhere defines, and about text that is no Python."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--quiet", "--select", "F821", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))
def test_what_its_new_files_import_exists(exercise: Exercise) -> None:
    added = {name.removesuffix(".py").replace("/", ".") for name in exercise.new_files}
    for name in (name for name in exercise.new_files if name.endswith(".py")):
        assert find_undefined_names((exercise.folder / name).read_text(encoding="utf-8")) == ""
        package = name.removesuffix(".py").replace("/", ".").rpartition(".")[0]
        for node in ast.walk(ast.parse((exercise.folder / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                source = resolve_name("." * node.level + (node.module or ""), package)
                names = [alias.name for alias in node.names if f"{source}.{alias.name}" not in added]
                assert source in added or [each for each in names if not has_name(source, each)] == [], name


def has_name(module: str, name: str) -> bool:
    """Whether a module has a name, or a module of this name below it."""
    found = import_module(module)
    return hasattr(found, name) or (hasattr(found, "__path__") and find_spec(f"{module}.{name}") is not None)


def test_counts_stand_on_the_page() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    for kind, edited, new, mark in count_edits():
        assert f"| `{kind}` | {edited} | {mark} | {new} |" in page


@pytest.mark.reproduction
def test_a_new_reading_answers() -> None:
    assert run_exercise(EXERCISES["reading"]).startswith("F1 score 0.5")


def test_an_edit_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "distributions.py").write_text("DISTRIBUTIONS = []\nDISTRIBUTIONS = []\n", encoding="utf-8")
    (tmp_path / "new.py").write_text("", encoding="utf-8")
    with pytest.raises(ExerciseError, match="distributions.py: anchor occurs 2 times, not once: 'DISTRIBUTIONS'"):
        edited_texts(Exercise("distribution", (Edit("distributions.py", "DISTRIBUTIONS", after="x"),), ()), tmp_path)
    with pytest.raises(ExerciseError, match="distributions.py: anchor occurs 0 times"):
        edited_texts(Exercise("distribution", (Edit("distributions.py", "NAMES", after="x"),), ()), tmp_path)
    with pytest.raises(ExerciseError, match="no such file"):
        edited_texts(Exercise("distribution", (Edit("names.py", "NAMES", after="x"),), ()), tmp_path)
    with pytest.raises(ExerciseError, match="new.py: exists already"):
        edited_texts(Exercise("distribution", (), ("new.py",)), tmp_path)


def test_a_wrong_answer_fails() -> None:
    """Without its edits, the check of a reading has nothing to ask for."""
    with pytest.raises(ExerciseError, match="check failed"):
        run_exercise(EXERCISES["reading"]._replace(edits=()))
