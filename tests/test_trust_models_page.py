"""The page of questions by trust model is what the code does today."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
trust_models: Any = import_module("trust_models")


ALIKE = ("CalibrationQuestion", "HosmerLemeshowQuestion")
"""Questions whose plan for people at home, which takes long, is that of binned residuals with other shares."""


def test_what_the_page_of_trust_models_says_is_so() -> None:
    text = trust_models.PAGE.read_text("utf-8")
    assert text.startswith(trust_models.HEAD), "python docs/trust_models.py"
    rules = {letter: f"no: {rule}" for letter, rule in re.findall(r"^- (no \(\w\)): (.*)$", text, re.MULTILINE)}
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line.startswith("| `")
    ]
    said = {name.strip("` "): [rules.get(each, each) for each in cells] for name, *cells in rows}
    questions = trust_models.questions()
    assert said.keys() == questions.keys()
    for name, question in questions.items():
        models = list(trust_models.MODELS.values())[: -1 if name in ALIKE else None]
        today = [trust_models.answered(question, model) for model in models]
        assert said[name][: len(models)] == today, "python docs/trust_models.py"
    assert all(said[name][-1] == said["BinnedResidualsQuestion"][-1] for name in ALIKE)
    assert said["CdfQuestion"][0].endswith("turn")
