"""Readings that compare hold as often as they say, in a thinned form of `benchmarks/comparing_readings.py`.

A share of intervals that held is called too small where it would be that small, of intervals that hold with chance 0.9,
with a chance of 3e-5 at most; the fixed seeds draw one such sample each. On the code before, cells with few at risk
moved hazard ratios, and differences of incidences of unequal arms were nearly 0.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tally import FALSE_ALARM, Share

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import alarms_of_notes
import comparing_readings as comparing
from comparing_readings import DECLARED, INSIDE, LEVEL, TO_THE_END, Release, Row, Setting

import dpcurves as dp

RELEASES = 20


def hazard_ratios(kind: str, setting: Setting, monkeypatch: pytest.MonkeyPatch) -> Iterator[comparing.Reading]:
    """Intervals of the log hazard ratio of the second arm over the first, of some releases."""
    monkeypatch.setattr(comparing, "design", lambda: (setting,))
    people, by = comparing.people_of_a_trial(setting, setting.effect), comparing.BY_ARM
    if kind == "survival":
        question = comparing.SurvivalQuestion("t", "e", setting.grid, by=by)
    elif kind == "late entry":
        question = dp.DelayedEntryQuestion("entry", "t", "e", setting.grid, by=by)
    else:
        question = dp.CompetingRisksQuestion("first", "cause", setting.grid, (1, 2), by=by)

    def ratio_of(arms: Any) -> dp.Estimate:
        return arms[1].hazard_ratio(arms[0], 1) if kind == "competing risks" else dp.hazard_ratio(arms[1], arms[0])

    def exact_of(columns: dict[str, np.ndarray]) -> float:
        if kind == "survival":
            return float(comparing.hazard_ratio(columns))
        return float(ratio_of(comparing.noiseless(question, columns)).value)

    whole = exact_of(people)
    for seed in range(RELEASES):
        release = Release(setting, seed)
        sample = release.sample(people)
        ratio = ratio_of(release.answer(question, sample))
        yield from release.interval(kind, ratio.value, ratio.interval, (exact_of(sample), whole), np.log)


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        ("survival", Setting(1_000, 2.4, 0.28, TO_THE_END, DECLARED)),
        pytest.param("competing risks", Setting(1_000, 0.4, 0.2, INSIDE, DECLARED), marks=pytest.mark.reproduction),
        pytest.param(
            "competing risks", Setting(2_800, 2.4, 0.28, TO_THE_END, DECLARED), marks=pytest.mark.reproduction
        ),
        pytest.param("late entry", Setting(2_800, 2.4, 0.28, TO_THE_END, DECLARED), marks=pytest.mark.reproduction),
    ],
)
def test_hazard_ratios_of_unequal_arms_hold(kind: str, setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    """The median error is no more than half of a half width: about three standard errors of the median of 20."""
    readings = list(hazard_ratios(kind, setting, monkeypatch))
    for whom in comparing.WHOM:
        of_whom = [reading for reading in readings if reading.whom == whom]
        share = Share(sum(reading.holds for reading in of_whom), len(of_whom))
        assert not share.is_below(LEVEL), (whom, str(share))
        row = comparing.row_of(of_whom, setting)
        assert abs(row.bias) < 0.5, (whom, row)
        assert row.ratio < 2.5, (whom, row)


def test_a_late_cell_with_few_at_risk_hardly_moves_a_hazard_ratio() -> None:
    """Twenty of the last thirty at risk have an event in one arm, ten thousand before tell that both are alike."""
    from dpcurves_survival.hazard_ratios import ScoredRiskTables
    from dpcurves_survival.inference import RiskTable

    generator = np.random.default_rng(1)
    events, records = np.array([500.0, 450.0, 400.0, 0.0]), np.array([5_000.0, 4_000.0, 3_000.0, 5.0])
    noises = [
        RiskTable(*(generator.laplace(0, 2, (1_000, *shape)) for shape in ((1, 4), (4,), (4,)))) for _ in range(2)
    ]
    ratios = []
    for late in (0.0, 8.0):  # eight events of five records at risk: noise
        tables = [RiskTable((events + np.array([0, 0, 0, more]))[None], records, records) for more in (late, 0.0)]
        groups = ScoredRiskTables.from_tables(tables, noises, np.random.default_rng(2), tied=True, has_only_exits=True)
        ratios.append(groups.log_ratio)
        low, high = groups.interval(LEVEL, population=False)
        assert low < groups.log_ratio < high
    assert abs(ratios[1] - ratios[0]) < 0.001


@pytest.mark.reproduction
def test_differences_of_incidences_of_few_records_are_not_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """They were -0.002 where -0.276 is true. The standard error of the mean of 12 is 0.03: false alarm 1e-3."""
    setting = Setting(300, 0.4, 0.2, TO_THE_END, DECLARED)
    monkeypatch.setattr(comparing, "design", lambda: (setting,))
    question = dp.CompetingRisksQuestion("first", "cause", setting.grid, (1, 2), by=comparing.BY_ARM)
    errors, truths = [], []
    for seed in range(12):
        release = Release(setting, seed)
        sample = release.sample(comparing.people_of_a_trial(setting, setting.effect))
        private, exact = release.answer(question, sample), comparing.noiseless(question, sample)
        # So small an arm is followed up to no known time: what is estimated there is read, not what is shown.
        edge = int(np.searchsorted(private[0].x, 6))
        one, two = (
            found[1].extrapolated_incidence[0, edge] - found[0].extrapolated_incidence[0, edge]
            for found in (private, exact)
        )
        errors.append(one - two)
        truths.append(two)
    assert np.mean(truths) < -0.2
    assert abs(np.mean(errors)) < 0.1


def test_the_difference_of_medians_is_not_known_where_neither_arm_reaches_one_half() -> None:
    """Medians of 1 and 3 differ by -2; where one is not reached, the difference is infinite."""
    early, late, none = (
        comparing.kaplan_meier(np.array([time, time, 9.0]), np.array([1.0, 1.0, 0.0]) if time else np.zeros(3))
        for time in (1.0, 3.0, 0.0)
    )
    assert comparing.difference_of_medians(early, late) == -2
    assert comparing.difference_of_medians(none, early) == np.inf
    assert comparing.difference_of_medians(early, none) == -np.inf
    assert np.isnan(comparing.difference_of_medians(none, none))


def test_an_infinite_truth_is_held_by_an_interval_without_end_alone() -> None:
    setting = comparing.design()[0]

    def reading(upper: float) -> comparing.Reading:
        return comparing.Reading("apart", "records", *(np.asarray(number) for number in (np.nan, 1.0, upper, np.inf)))

    assert reading(np.inf).holds
    assert not reading(9.0).holds
    row = comparing.row_of([reading(np.inf)] * 40, setting)
    assert (row.held, row.ratio, row.verdict) == (40, 1.0, "pass")
    assert comparing.row_of([reading(9.0)] * 40, setting).verdict == "low"


def test_the_design_crosses_what_it_says() -> None:
    settings = comparing.design()
    assert len(set(settings)) == 40
    for records in comparing.RECORDS:
        crossed = {one[1:4] for one in settings if one.records == records and one.values != comparing.SMOOTH}
        assert len(crossed) == 8
        values = [one.values for one in settings if one.records == records]
        assert [values.count(name) for name in (DECLARED, comparing.TIED, comparing.SMOOTH)] == [4, 4, 2]


@pytest.mark.parametrize(
    ("held", "ratio", "verdict"), [(70, 1.0, "low"), (84, 1.0, "pass"), (100, 1.2, "pass"), (100, 1.4, "wide")]
)
def test_a_row_fails_by_two_standard_errors(held: int, ratio: float, verdict: str) -> None:
    assert Row("any", "records", comparing.design()[0], held, 100, ratio, 0.0).verdict == verdict


@pytest.mark.parametrize(("half", "ratio"), [(0.0, 1.0), (0.5, float("inf"))])
def test_an_interval_of_width_zero_is_not_wide_where_nothing_errs(half: float, ratio: float) -> None:
    """Medians of declared values are found exactly in most releases."""
    reading = comparing.Reading("any", "records", *map(np.asarray, (3.0, 3.0 - half, 3.0 + half, 3.0)))
    assert comparing.row_of([reading] * 5, comparing.design()[0]).ratio == ratio


def test_settings_of_one_kind_of_values_are_wide_together() -> None:
    """No share of 40 is above 0.95 by two standard errors; of 160 declared and tied ones each kind has its verdict."""
    rows = [
        Row("any", "records", setting, 40 if setting.values == comparing.TIED else 36, 40, 2.0, 0.0)
        for setting in comparing.design()
    ]
    assert {row.verdict for row in rows} == {"pass"}
    assert comparing.list_wide_values(rows) == comparing.TIED
    assert comparing.list_wide_values([row._replace(ratio=1.2) for row in rows]) == ""
    tests_of_alike = [row._replace(whom=comparing.ALIKE) for row in rows]
    assert comparing.list_wide_values(tests_of_alike) == ""
    page = comparing.to_page({"rows": [{**row._asdict(), "commit": "abc"} for row in rows], "notes": []}, "# Page")
    assert "| any | records | 0.94 / 2.00 | 0.94 / 2.00 | 0.94 / 2.00 | 0.94 / 2.00 | 0 | tied |" in page


def test_a_test_that_has_no_p_value_does_not_reject() -> None:
    """A log-rank test of 300 records with a small arm says in a fifth of the releases that nothing is known."""
    for p_value, holds in ((float("nan"), True), (0.2, True), (0.05, False)):
        numbers = map(np.asarray, (p_value, 0.0, 1.0, 0.5))
        assert comparing.Reading("a test", comparing.ALIKE, *numbers).holds is holds


def test_each_setting_is_stored_when_it_is_measured_and_replaces_its_former_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Releases of a setting are pooled with no other setting, and rows of other settings and readings stay."""
    settings = comparing.design()[:2]
    stored = [Row("truth", "records", setting, 0, 7, 1.0, 0.0) for setting in comparing.design()[1:3]]
    monkeypatch.setattr(comparing, "FAMILIES", {"any": read_seed})
    monkeypatch.setattr(comparing, "ProcessPoolExecutor", ThreadPoolExecutor)  # new processes see no patched names
    file = tmp_path / "rows.json"
    comparing.store(file, stored)
    for rows in comparing.measure(("any",), settings, 3, 1, first=10):
        comparing.store(file, rows)
        assert [json.loads(file.read_text())["rows"][-1]["setting"]] == [list(row.setting) for row in rows]
    found = {Setting(*row["setting"]): (row["held"], row["drawn"]) for row in json.loads(file.read_text())["rows"]}
    # Seeds 10 and 12 are even, and the effect is the same in both settings.
    assert found == {settings[0]: (2, 3), settings[1]: (2, 3), comparing.design()[2]: (0, 7)}


def read_seed(release: Release) -> Iterator[comparing.Reading]:
    """An interval that holds for even seeds."""
    numbers = 0.0, -1.0, 1.0 - 2 * (release.seed % 2), 0.0
    yield comparing.Reading("truth", "records", *map(np.asarray, numbers))


def test_each_function_that_writes_a_note_has_a_row() -> None:
    sites = alarms_of_notes.SITES
    assert alarms_of_notes.note_sites() == set(sites)
    judged = {name for checks in sites.values() if isinstance(checks, tuple) for name in checks}
    assert judged == set(alarms_of_notes.CHECKS)


def test_a_new_note_is_found(tmp_path: Path) -> None:
    code = (
        "class New:\n    def read(self):\n        return self.privacy.with_notes('lost')\n\n"
        "def note_on_it():\n    ...\n"
    )
    (tmp_path / "new.py").write_text(code, encoding="utf-8")
    assert alarms_of_notes.note_sites(tmp_path) == {"new:New.read", "new:note_on_it"}


@pytest.mark.parametrize(
    "name", ["missing records", "clipped values", "values beyond the declared ones", "few cells", "scores outside"]
)
def test_notes_appear_where_they_must_and_not_on_ordinary_data(name: str) -> None:
    """None of 40 ordinary releases may have the note: of a note that 1 of 10,000 has, 1 in 250 tests fails."""
    alarms = alarms_of_notes.count_alarms(name, 40, 4)
    assert (alarms.ordinary, alarms.alarming) == (0, 4)


def test_each_check_looks_for_words_that_its_note_has() -> None:
    """A note that was reworded is counted as silent: its check would judge nothing. Seeds are fixed."""
    silent = [
        name
        for name, check in alarms_of_notes.CHECKS.items()
        if not any(check.words in note for seed in (0, 1) for note in check.alarming(seed))
    ]
    assert not silent


@pytest.mark.reproduction
@pytest.mark.parametrize("family", comparing.FAMILIES)
def test_no_reading_holds_too_rarely(family: str) -> None:
    """All settings of up to 3,000 records together: a false alarm has the chance 3e-5 for each of about 70 rows."""
    settings = tuple(one for one in comparing.design() if one.records <= 3_000)
    rows = [row for of_setting in comparing.measure((family,), settings, 4, 2) for row in of_setting]
    too_few = [
        (row.name, row.whom, row.share)
        for row in comparing.pool(rows)
        if row.setting == comparing.ALL and row.whom != comparing.DIFFERENT
        if Share(row.held, row.drawn).is_below(comparing.LEAST_HELD)
    ]
    assert FALSE_ALARM < 1e-4
    assert not too_few


@pytest.mark.parametrize(("records", "is_unknown"), [(3_000, False), (12, True)])
def test_differences_of_three_models_that_are_not_known_are_counted_apart(
    records: int, is_unknown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No number, no interval: a whole range would hold every difference, and raise the share that held."""
    setting = Setting(records, 2.5, 0.5, TO_THE_END, DECLARED)
    monkeypatch.setattr(comparing, "design", lambda: (setting,))
    apart, *intervals = (comparing.row_of([one], setting) for one in comparing.models_at_once(Release(setting, 0)))
    assert (apart.whom, apart.held, apart.drawn, apart.verdict) == (comparing.UNKNOWN, int(is_unknown), 1, "")
    assert [row.whom for row in intervals] == ([] if is_unknown else list(comparing.WHOM))
