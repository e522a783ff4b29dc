"""Rates and numbers by group: those of the textbook, intervals of all groups and of the largest gap that hold."""

from __future__ import annotations

from itertools import combinations
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from by_hand import answer, both
from click.testing import CliRunner
from sklearn import metrics

import dpcurves as dp
from dpcurves.cli.app import build
from dpcurves.curves.result import result_from_json
from dpcurves.inference.moments import share_intervals
from dpcurves.privacy import PrivacyLoss
from dpcurves_judging import CurvesByGroup, GroupRates

HUGE = PrivacyLoss.pure(10**9)
GROUPS = ("a", "b", "c")
SHARES = (0.3, 0.45, 0.5)
TENTHS = dp.Values(np.arange(1, 10) / 10)


def people(records: int, seed: int) -> dict[str, Any]:
    """Three groups, of which the last is small, and scores of which more are high in the later ones."""
    draw = np.random.default_rng([seed, records])
    place = draw.choice(3, records, p=[0.5, 0.35, 0.15])
    score = np.clip(np.ceil(draw.beta(2, 2 / np.array(SHARES)[place]) * 10), 1, 9) / 10
    label = (draw.random(records) < score).astype(int)
    return {"y": label, "s": score, "g": np.array(GROUPS)[place]}


def asked(records: int, seed: int, loss: PrivacyLoss, adjacency: int = 1, groups: Any = GROUPS) -> GroupRates:
    question = dp.ScoresQuestion("y", "s", TENTHS, by=dp.Categories("g", groups))
    return dp.group_rates(answer(question, people(records, seed), loss, both(records)[adjacency], seed), 0.5)


def truth(given: dict[str, Any], number: str, group: str) -> float:
    own = given["g"] == group
    label, score = given["y"][own], given["s"][own]
    called = score >= 0.5
    return float({
        "flagged": called.mean, "recall": lambda: metrics.recall_score(label, called),
        "false_positive_rate": lambda: 1 - metrics.recall_score(label, called, pos_label=0),
        "accuracy": lambda: metrics.accuracy_score(label, called),
        "auc": lambda: metrics.roc_auc_score(label, score), "brier": lambda: metrics.brier_score_loss(label, score),
    }[number]())  # fmt: skip


def test_at_a_huge_epsilon_all_numbers_and_gaps_are_those_of_scikit_learn() -> None:
    """Those of `fairlearn.metrics.MetricFrame`: by group, and the largest difference between groups."""
    given, found = people(900, 1), asked(900, 1, HUGE)
    for number in ("flagged", "recall", "false_positive_rate", "accuracy", "auc", "brier"):
        exact = [truth(given, number, group) for group in GROUPS]
        assert found.values_of(number) == pytest.approx(exact, abs=1e-9)
        gap = found.largest_gap(number, 0.95)
        assert gap.value == pytest.approx(max(exact) - min(exact), abs=1e-9)
        assert gap.lower - 1e-6 <= gap.value <= gap.upper + 1e-6
    for made in (found, dp.group_curves(found, "roc"), dp.group_curves(found, "calibration")):
        read = result_from_json(made.to_json())
        assert type(read) is type(made)
        assert read.to_json() == made.to_json()


@pytest.mark.reproduction
def test_intervals_hold_all_groups_at_once_and_the_largest_gap() -> None:
    """14 releases at 0.9 within 4 sigma; of some not all hold, so they are not too wide by far."""
    releases, level, held = 14, 0.9, {"groups": 0, "gaps": 0, "largest": 0, "population": 0}
    crowd = people(200_000, 99)
    exact_of_all = [truth(crowd, "recall", group) for group in GROUPS]
    for seed in range(releases):
        given, found = people(1500, seed), asked(1500, seed, PrivacyLoss.pure(2), seed % 2)
        exact = [truth(given, "recall", group) for group in GROUPS]
        for name, values, population in (("groups", exact, False), ("population", exact_of_all, True)):
            low, high = found.intervals_of("recall", level, population=population).T
            held[name] += bool(np.all((low <= values) & (values <= high)))
        pairs = dict(zip(combinations(GROUPS, 2), found.gaps("recall", level).values(), strict=True))
        held["gaps"] += all(
            each.lower <= exact[GROUPS.index(one)] - exact[GROUPS.index(two)] <= each.upper
            for (one, two), each in pairs.items()
        )
        most = found.largest_gap("recall", level)
        held["largest"] += most.lower <= max(exact) - min(exact) <= most.upper
    assert min(held.values()) >= level * releases - 4 * sqrt(level * (1 - level) * releases), held
    assert min(held.values()) < releases, held


def test_groups_that_are_small_or_empty_are_not_known_and_the_others_are() -> None:
    found = asked(900, 3, PrivacyLoss.pure(1), groups=("a", "b", "nobody"))
    assert np.isfinite(found.values_of("flagged")).tolist() == [True, True, False]
    assert found.intervals_of("flagged", 0.9)[2].tolist() == [0.0, 1.0]
    assert list(found.gaps("flagged", 0.9)) == [("a", "b")]
    alone = asked(900, 3, PrivacyLoss.pure(1), groups=("nobody", "nowhere"))
    assert np.isnan(alone.largest_gap("auc", 0.9).value)
    assert alone.largest_gap("auc", 0.9)[1:3] == (0.0, 1.0)
    assert len(found.plot_gaps().get_yticks()) == 2
    assert found.plot().get_title() == "Rates by g; a score of 0.5 or more is called positive"


def test_all_rates_of_a_threshold_share_one_simulation_for_each_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each group searches the endpoints of its rates once: to decide what is known, and at the level of the pairs."""
    found = asked(900, 2, PrivacyLoss.pure(2))
    searched = []

    def count_search(*arguments: Any) -> Any:
        searched.append(arguments[-1])
        return share_intervals(*arguments)

    monkeypatch.setattr("dpcurves.curves.class_table.share_intervals", count_search)
    first = found.gaps("recall", 0.9)
    assert len(searched) == 2 * len(GROUPS)
    assert found.gaps("precision", 0.9).keys() == first.keys()
    assert found.gaps("recall", 0.9) == first
    assert len(searched) == 2 * len(GROUPS)
    found.gaps("recall", 0.9, population=True)
    assert len(searched) == 3 * len(GROUPS)


@pytest.mark.reproduction
def test_a_group_of_one_release_errs_as_it_does_alone() -> None:
    """Five groups of one release: at most 1.3 times the error of each alone at the same loss (parallel composition)."""
    one, alone = [], []
    for seed in range(30):
        draw = np.random.default_rng(seed)
        place, score = np.arange(2000) % 5, np.ceil(draw.random(2000) * 9) / 10
        given = {"y": (draw.random(2000) < score).astype(int), "s": score, "g": place}
        question = dp.ScoresQuestion("y", "s", TENTHS, by=dp.Categories("g", tuple(range(5))))
        loss, own = PrivacyLoss.pure(1), {name: each[place == 0] for name, each in given.items()}
        exact = float((own["s"] >= 0.5).mean())
        together = answer(question, given, loss, both(2000)[1], seed)[0].confusion(0.5)
        apart = answer(dp.ScoresQuestion("y", "s", TENTHS), own, loss, both(400)[1], seed).confusion(0.5)
        one.append(together.rates["flagged"] - exact)
        alone.append(apart.rates["flagged"] - exact)
    assert np.sqrt(np.mean(np.square(one)) / np.mean(np.square(alone))) < 1.3


def test_gaps_are_asked_on_the_command_line(tmp_path: Path) -> None:
    given = people(900, 1)
    rows = "\n".join(f"{label},{score},{group}" for label, score, group in zip(*given.values(), strict=True))
    (tmp_path / "t.csv").write_text(f"y,s,g\n{rows}\n")
    ledger = f"sqlite:///{tmp_path}/l.db"
    asks = f"scores {tmp_path}/t.csv --label y --neg-label 0 --score s --grid 0:1:10 --show gaps"
    asks += " --epsilon 50 --adjacency replace-one"
    split = f"--by g --categories a,b,c --ledger {ledger} --plot {tmp_path}/g.svg"
    app = build()
    for line in (f"ledger create {ledger} --dataset t --epsilon 50 --adjacency replace-one", f"{asks} {split}"):
        done = CliRunner().invoke(app, line.split())
        assert done.exit_code == 0, done.output
    assert "largest gap between two groups" in done.output
    assert (tmp_path / "g.svg").stat().st_size > 1000
    refused = CliRunner().invoke(app, f"{asks} --ledger {ledger}".split())
    assert refused.exit_code != 0


def test_what_is_no_reading_is_refused() -> None:
    found = asked(900, 1, HUGE)
    with pytest.raises(ValueError, match="^number: must be one of"):
        found.values_of("f2")
    with pytest.raises(ValueError, match="^reading: must be one of"):
        dp.group_curves(found, "privacy")
    with pytest.raises(TypeError, match="^scores: scores by category"):
        dp.group_rates({"a": 1})  # type: ignore[arg-type]
    assert isinstance(dp.group_curves(found), CurvesByGroup)
