"""The page of trust models is what the code does today."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
trust_models: Any = import_module("trust_models")


def test_what_the_page_of_trust_models_says_is_so() -> None:
    said, today = (set(text.splitlines()) for text in (trust_models.PAGE.read_text("utf-8"), trust_models.page()))
    assert said <= today, "python docs/trust_models.py"
    assert sum("`CdfQuestion` | yes" in line for line in said) == 1
