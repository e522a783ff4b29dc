"""The page of questions by trust model is what the code does today."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
trust_models: Any = import_module("trust_models")


SLOW = ("BinnedResidualsQuestion", "CalibrationQuestion", "HosmerLemeshowQuestion", "RocQuestion", "ScoresQuestion")
"""Questions whose plan for people at home, in the last column, takes long."""


@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=pytest.mark.reproduction)])
def test_what_the_page_of_trust_models_says_is_so(slow: bool) -> None:
    text = trust_models.PAGE.read_text("utf-8")
    assert text.startswith(trust_models.HEAD), "python docs/trust_models.py"
    rules = {letter: f"no: {rule}" for letter, rule in re.findall(r"^- (no \(\w\)): (.*)$", text, re.MULTILINE)}
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line.startswith("| `")
    ]
    said = {name.strip("` "): [rules.get(each, each) for each in cells] for name, *cells in rows}
    questions = trust_models.questions()
    assert said.keys() == questions.keys() > set(SLOW)
    for number, (name, question) in enumerate(questions.items()):
        models = list(trust_models.MODELS.values())
        # One model of each question, and each model of many.
        tried = range(len(models)) if slow else [number % (len(models) - (name in SLOW))]
        today = {place: trust_models.answered(question, models[place]) for place in tried}
        assert {place: said[name][place] for place in tried} == today, "python docs/trust_models.py"
    assert said["CdfQuestion"][0] == "1 round"
