"""Whether intervals of groups of like scores held, as one curator counts them, and as two servers do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from by_hand import answer, answer_of_two_servers, both
from kinds import Case, FloatArray, labels_of, scores

from dpcurves.curves import (
    BinnedResiduals,
    BinnedResidualsQuestion,
    Calibration,
    CalibrationQuestion,
    HosmerLemeshow,
    HosmerLemeshowQuestion,
    Question,
)
from dpcurves.data import Grid
from dpcurves.privacy import PUBLIC_MODEL, PrivacyLoss

Curve = Calibration | HosmerLemeshow | BinnedResiduals
CELLS = Grid(0, 1, cells=256)
QUESTIONS: Mapping[str, Question[Any]] = {
    "shares": CalibrationQuestion("y", "s"),
    "positives": HosmerLemeshowQuestion("y", "s", groups=10),
    "envelope": BinnedResidualsQuestion("y", "s", PUBLIC_MODEL),
}
OF_CELLS: Mapping[str, Question[Any]] = {
    "shares": CalibrationQuestion("y", "s", grid=CELLS),
    "positives": HosmerLemeshowQuestion("y", "s", groups=10, grid=CELLS),
    "envelope": BinnedResidualsQuestion("y", "s", PUBLIC_MODEL, grid=CELLS),
}


def covered(case: Case, level: float, seed: int) -> Iterator[tuple[str, bool]]:
    """Tell it of all groups of one release of each question that are not empty."""
    columns, loss = table(case, seed), PrivacyLoss.pure(case.epsilon)
    for name, question in QUESTIONS.items():
        yield from held(name, answer(question, columns, loss, both(case.units)[case.adjacency], seed), columns, level)


def covered_of_two_servers(case: Case, level: float, seed: int) -> Iterator[tuple[str, bool]]:
    """Tell it of two servers, who replace reports: one adjacency. Groups of one release are not independent."""
    columns, loss = table(case, seed), PrivacyLoss.pure(case.epsilon)
    for name, question in OF_CELLS.items():
        curve = answer_of_two_servers(question, columns, loss, case.units, seed)
        by_kind = dict[str, list[bool]]()
        for kind, holds in held(name, curve, columns, level):
            by_kind.setdefault(kind, []).append(holds)
        for kind, found in by_kind.items():
            yield kind, found[seed % len(found)]


def table(case: Case, seed: int) -> dict[str, FloatArray]:
    """Records of a model that is right."""
    chance = np.random.default_rng([seed, case.units, case.adjacency])
    score = scores(case.data, case.units, chance)
    return {"y": labels_of(score, chance), "s": score}


def held(name: str, curve: Curve, columns: dict[str, FloatArray], level: float) -> Iterator[tuple[str, bool]]:
    """Whether each group that is not empty holds what is true of these records, and of the population."""
    if isinstance(curve, BinnedResiduals):
        yield from ((name, bool(each)) for each in np.abs(curve.residual) <= curve.envelope_at(level))
        return
    label, score = columns["y"], columns["s"]
    place = np.clip(np.searchsorted(curve.edges, score, side="right") - 1, 0, len(curve.count) - 1)
    count = np.bincount(place, minlength=len(curve.count))
    size = np.maximum(count, 1) if isinstance(curve, Calibration) else np.ones(len(count))
    for whom, each in (("records", label), ("population", score)):
        truth = np.bincount(place, each, minlength=len(count)) / size
        low, high = curve.intervals(level, population=whom == "population").T
        holds = ((low - 1e-9 <= truth) & (truth <= high + 1e-9))[count > 0]
        yield from ((f"{name}, {whom}", bool(one)) for one in holds)
