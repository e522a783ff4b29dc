"""The pruned recursion over frequency oracles: what its messages tell, that it is unbiased, and how it is compared."""

from __future__ import annotations

import sys
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np

from dpcurves.noise import Randomness
from dpcurves.noise.exponential import bound_exp_neg
from dpcurves_local.responses import HadamardResponse

PAPER = Path(__file__).resolve().parents[2] / "papers" / "u_statistics"
sys.path.append(str(PAPER))
figures, pruned = import_module("auc_figures"), import_module("auc_pruned")


LEVELS = 3


def test_a_message_of_a_drawn_level_tells_at_most_epsilon() -> None:
    """Levels and responses are enumerated, exactly, for all 8 cells."""
    for epsilon in (Fraction(1, 3), Fraction(1), Fraction(5)):
        below = Fraction(bound_exp_neg(epsilon, 512)[1], 2**512)
        for level in range(1, LEVELS + 1):
            way = HadamardResponse(2**level, epsilon)
            for report in way.list_reports():
                row = [way.find_probability(cell >> (LEVELS - level), report) / LEVELS for cell in range(2**LEVELS)]
                assert max(row) * below <= min(row)


def test_the_area_is_unbiased_where_nothing_is_left_out_and_queries_agree_with_transforms() -> None:
    """Within 4 standard errors over 200 releases; the seeds are fixed. Ties count one half."""
    high, low = np.repeat([1, 5, 7], 3000), np.repeat([0, 1, 5], 4000)
    exact = float(np.mean([(a > b) + (a == b) / 2 for a in (1, 5, 7) for b in (0, 1, 5)]))
    found = []
    for seed in range(200):
        source = Randomness.from_seed(seed)
        both = [
            pruned.Reported(pruned.reported(each, LEVELS, Fraction(2), source), Fraction(2)) for each in (high, low)
        ]
        found.append(pruned.pruned_area(*both))
    assert abs(np.mean(found) - exact) < 4 * np.std(found) / np.sqrt(200)
    nodes = np.arange(8)
    asked = np.concatenate(
        [pruned.Reported(both[0].reports, Fraction(2)).counts(3, nodes[:1]), both[0].counts(3, nodes)[1:]]
    )
    assert np.allclose(asked, both[0].counts(3, nodes))


def test_the_number_a_is_where_the_bound_is_least() -> None:
    best = pruned.best_a(2 * 10**6, 10**6, 4.7, 16)
    bounds = [
        4 * a * 10**6 + 21 * np.sqrt(4 * 10**6 * 4.7 * 16) / (np.sqrt(a) - 1) for a in (best, best * 0.97, best * 1.03)
    ]
    assert bounds[0] == min(bounds)


def test_all_roads_are_measured_on_the_same_people_and_drawn(tmp_path: Path) -> None:
    found = figures.errors(lambda chance: (chance.beta(4, 3, 900), chance.beta(3, 4, 1100)), LEVELS, 8, 2, seed=1)
    assert set(found) == {"pruned", "zero", "one", "two"}
    assert np.abs([found["one"], found["two"]]).max() < 0.1
    figures.draw({"beta": {LEVELS: found, LEVELS + 1: found}}, tmp_path, "areas")
    assert (tmp_path / "areas.png").stat().st_size > 1000
