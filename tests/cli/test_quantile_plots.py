"""Quantile-quantile plots of two released distributions, from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import dpcurves as dp

Run = Callable[..., Result]


@pytest.fixture
def curves(run: Run, csv: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two releases of the same column, under different losses."""
    files = tmp_path / "first.json", tmp_path / "second.json"
    for file, epsilon in zip(files, ("1", "2"), strict=True):
        run("cdf", csv, "--column", "delay", "--grid", "-100:300:64", "--epsilon", epsilon, "--adjacency",
            "replace-one", "--json", file)  # fmt: skip
    return files


def test_both_are_shown_written_and_drawn_as_python_does(run: Run, curves: tuple[Path, Path], tmp_path: Path) -> None:
    written, picture = tmp_path / "qq.json", tmp_path / "qq.svg"
    result = run("qq", *curves, "--p", "0.25,0.5", "--json", written, "--plot", picture)
    assert result.exit_code == 0, result.output
    assert picture.stat().st_size > 1000
    first, second = (dp.CDF.from_json(file.read_text()) for file in curves)
    expected = json.loads(first.quantile_quantile(second, [0.25, 0.5]).to_json())
    assert json.loads(written.read_text()) == expected


def test_the_table_has_intervals_for_records_and_population_or_for_records_alone(
    run: Run, curves: tuple[Path, Path]
) -> None:
    both, alone = run("qq", *curves), run("qq", *curves, "--no-population")
    said = [["for these records" in each.stdout, "for the population" in each.stdout] for each in (both, alone)]
    assert said == [[True, True], [True, False]], both.output + alone.output


def test_what_is_no_distribution_function_and_no_share_is_refused(
    run: Run, csv: Path, curves: tuple[Path, Path], tmp_path: Path
) -> None:
    first, second = curves
    wrong = ((csv, second), "first"), ((first, tmp_path / "none"), "second"), ((first, second, "--p", "1.5"), "p")
    lost = (first, second, "--plot", first), "plot"
    for given, argument in (*wrong, lost):
        result = run("qq", *given)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.output
        assert result.stderr.startswith(f"dpcurves: {argument}: ")
