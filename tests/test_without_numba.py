"""Without numba, which `dpcurves[fast]` brings, everything is answered, and with the same numbers."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dpcurves.curves

FILE = str(Path(__file__).parent / "curves" / "every_question.py")
PAPERS = str(Path(__file__).parents[1] / "papers")

WITHOUT = """
import runpy, sys
sys.modules["numba"] = sys.modules["llvmlite"] = None  # to import them is an ImportError
import warnings
import dpcurves, dpcurves_parties.crypto
warnings.simplefilter("ignore", dpcurves.CurveWarning)
engine = dpcurves_parties.crypto.select_engine(b"task")
assert isinstance(engine, dpcurves_parties.crypto.PortableEngine)
sys.path.append(sys.argv[2])
runpy.run_path(sys.argv[1], run_name="__main__")
"""


@pytest.mark.parametrize("step", [24, pytest.param(1, marks=pytest.mark.reproduction)])
def test_questions_have_the_same_answers_without_numba(step: int) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT, FILE, PAPERS, str(step)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == runpy.run_path(FILE)["answers"](step)


def test_no_question_was_left_out() -> None:
    known = {name for name in dpcurves.__all__ if name.endswith("Question")}
    questions: tuple[Any, ...] = runpy.run_path(FILE)["QUESTIONS"]
    asked = {type(question).__name__ for question in questions}
    assert known - asked == {"Question"}
