"""Plans of questions to pairs of people, on the command line."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from click.testing import Result

Run = Callable[..., Result]

TERMS = ("--kernel", "collision", "--people", "100000", "--epsilon", "8")


def test_a_plan_shows_errors_of_both_noises_and_marks_the_least(run: Run) -> None:
    told = run("plan", "pairs", *TERMS, "--pairs", "1,2,4,8", "--zetas", "0.01,0.2")
    assert told.exit_code == 0, told.output
    assert "0.001485*" in told.stdout, "each pair answers: four pairs for each are best"
    assert "0.000922*" in told.stdout, "one noise on the sum: the more pairs the better"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--kernel", "mean", *TERMS[2:]), "kernel"), ((*TERMS, "--pairs", "0"), "pairs"),
        ((*TERMS, "--bits", "8,8"), "bits"), ((*TERMS, "--zetas", "1"), "zetas"),
        ((*TERMS, "--zetas", "0.2,0.1"), "zetas"), ((*TERMS[:4], "--rho", "1"), "loss"),
        ((*TERMS[:2], "--people", "1", *TERMS[4:]), "people"),
    ],
)  # fmt: skip
def test_what_is_no_plan_is_refused_by_name(run: Run, words: tuple[str, ...], named: str) -> None:
    refused = run("plan", "pairs", *words)
    assert refused.exit_code != 0
    assert named in refused.stderr
