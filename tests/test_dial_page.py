"""The dial of the documentation: its half widths are those that plans forecast, and its commands ask what it shows."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dial
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import dpcurves as dp
from dpcurves.cli.app import build

FOUND = json.loads(dial.NUMBERS.read_text(encoding="utf-8"))
LINES = {dial.Setting(*(each[name] for name in dial.Setting._fields)): each for each in FOUND["lines"]}
ROC = dial.Setting("roc", 0, "replace-one", "one positive in fifty")
COMMON = dial.Setting("cdf", 1024, "replace-one", "a third zero, the rest heaped")
TRIED = (
    (COMMON, 3_000), (dial.Setting("cdf", 64, "add-remove", "a hill"), 30_000), (ROC, 10_000),
    (dial.Setting("histogram", 0, "add-remove", "a long tail"), 300),
    (dial.Setting("calibration", 0, "replace-one", "classes far apart"), 3_000),
    (dial.Setting("mean", 0, "replace-one", "a hill"), 1_000),
)  # fmt: skip
RECORDS = 400
GRIDS = ("grid", "lower", "upper", "cells", "groups")


@pytest.mark.quick_share(4)
@pytest.mark.parametrize(("setting", "product"), [*TRIED[:2], TRIED[3], TRIED[5]])
def test_its_half_widths_are_those_of_a_forecast(setting: dial.Setting, product: int) -> None:
    kept = dial.read(LINES[setting], product)
    assert kept == pytest.approx(100 * dial.forecast(setting, *dial.terms(product)), rel=0.02)


def test_between_two_products_it_reads_what_a_forecast_says_there() -> None:
    setting = dial.Setting("cdf", 64, "replace-one", "a hill")
    found = dial.forecast(setting, 5_500, "1")
    assert dial.read(LINES[setting], 5_500) == pytest.approx(100 * found, rel=0.02)


def test_every_setting_has_a_line_that_falls_with_the_product_and_a_band() -> None:
    assert list(LINES) == list(dial.settings())
    for line in LINES.values():
        assert line["products"] == sorted({*dial.PRODUCTS, *line["products"]})
        assert len(line["half"]) == len(line["bands"]) == len(line["products"])
        assert (np.array(line["low"]) <= line["half"]).all()
        assert (np.array(line["half"]) <= line["high"]).all()
        assert (np.array(line["half"][1:]) <= 1.05 * np.array(line["half"][:-1])).all()
        assert line["half"][-1] < 0.3 or line["curve"] == "roc"
        assert {len(line["x"]), len(line["y"])} == {len(band) for band in line["bands"]}
        assert np.max(line["bands"]) <= 1e4


def test_beyond_its_products_an_interval_that_allows_for_ties_stays_as_wide_and_others_fall() -> None:
    tied, cells = dial.Setting("roc", 0, "add-remove", "tied scores"), dial.Setting("cdf", 64, "add-remove", "a hill")
    assert dial.read(LINES[tied], 1e7) == pytest.approx(LINES[tied]["half"][-1], rel=0.1)
    assert dial.read(LINES[cells], 1e7) == pytest.approx(LINES[cells]["half"][-1] / 10, rel=0.1)


def test_it_says_what_three_thousand_records_had_at_epsilon_one() -> None:
    # The mean half width of 200 releases is 4.09 ± 0.08 points (`python benchmarks/dial.py`).
    assert dial.read(LINES[COMMON], 3_000) == pytest.approx(4.09, rel=0.2)


def test_the_table_and_the_program_are_small() -> None:
    assert dial.NUMBERS.stat().st_size + dial.NUMBERS.with_suffix(".js").stat().st_size < 200_000


def filled(words: str, adjacency: str) -> str:
    units = f" --units {RECORDS}" if adjacency == "replace-one" else ""
    python = f"dp.{adjacency.replace('-', '_').upper()}"
    return words.format(cells=64, epsilon="1", records=RECORDS, adjacency=adjacency, units=units, python=python)


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    draw = np.random.default_rng(1)
    bits = np.arange(RECORDS) % 2
    table = {"age": draw.random(RECORDS) * 120, "months": draw.random(RECORDS) * 60, "died": bits, "ill": bits}
    table["risk"] = draw.random(RECORDS)
    file = tmp_path_factory.mktemp("people") / "people.parquet"
    pd.DataFrame(table).to_parquet(file)
    return file, table


@pytest.fixture(scope="module")
def run() -> Callable[[list[str]], Result]:
    app, runner = build(), CliRunner()
    return lambda words: runner.invoke(app, words)


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("curve", dial.CURVES)
def test_its_commands_and_its_line_of_python_ask_what_it_shows(
    curve: str, people: tuple[Path, dict[str, Any]], run: Callable[[list[str]], Result]
) -> None:
    file, table = people
    told, adjacency = FOUND["curves"][curve], "replace-one" if curve < "d" else "add-remove"
    (_, *plan), (_, *ask) = (shlex.split(filled(told[name], adjacency)) for name in ("plan", "ask"))
    planned = run([*plan[:-2], "--where", "age >= 65", "--share-of-rows", "0.1"])  # as the dial writes a filter
    assert plan[-2:] == ["--forecast", str(RECORDS)]
    assert planned.exit_code == 0, planned.output
    asked = run([str(file) if each == file.name else each for each in ask] + ["--json", "-"])
    assert asked.exit_code == 0, asked.output
    answered = eval(filled(told["python"], adjacency), {"dp": dp, "people": table})
    opened, own = json.loads(asked.stdout), json.loads(answered.to_json())
    assert eval(filled(told["filtered"], adjacency), {"dp": dp, "people": table}).privacy.where == "age >= 65"
    assert opened["kind"] == own["kind"]
    facts = ("epsilon", "adjacency", "unit", "trust")
    assert [opened["privacy"][name] for name in facts] == [own["privacy"][name] for name in facts]
    assert opened["privacy"]["epsilon"] == 1
    grids = [{k: v for k, v in each["evidence"]["question"].items() if k in GRIDS} for each in (opened, own)]
    assert grids[0] == grids[1]
