"""Questions that judge models, and the question that trains one, on the terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from dpcurves.curves.result import result_from_json

Run = Callable[..., Result]

ONE = ("--epsilon", "1", "--adjacency", "replace-one")


@pytest.mark.quick_share(3)
@pytest.mark.parametrize(
    "case",
    [
        (("pairwise-scorer", "--label", "late", "--features=score=0:1", "--features=delay=-100:300"), "coefficients"),
        (("model-pair", "--label", "late", "--first", "score", "--second", "delay", "--second-grid=-100:300:8",
          "--cells", "4"), "AUC, delay"),
        (("ordinal-classes", "--label", "carrier", "--classes", "UA,AA,DL", "--score", "score"), "volume"),
        (("uplift", "--outcome", "late", "--treatment", "carrier", "--treated-value", "UA", "--control-value", "AA",
          "--score", "score", "--grid", "0:1:8", "--show", "curves"), "Qini area"),
        (("model-comparison", "--label", "late", "--scores", "score,delay,late", "--grid", "0:1:4", "--show", "curves"),
         "AUC, score minus delay"),
        (("multiclass", "--label", "carrier", "--classes", "UA,AA,DL", "--scores", "score,delay,late",
          "--predicted", "carrier", "--grid", "0:1:4", "--show", "curves"), "records by true and predicted class"),
        (("quantile-forecasts", "--errors", "delay", "--quantiles", "0.5", "--grid=-100:300:8"), "PIT histogram"),
        (("predicted-observed", "--predicted", "score", "--observed", "delay", "--grid", "0:1:2",
          "--observed-grid=-100:300:8"), "mean squared error"),
    ],
    ids=lambda case: case[0][0],
)  # fmt: skip
def test_each_question_is_answered_written_and_drawn(
    run: Run, parquet: Path, tmp_path: Path, case: tuple[tuple[str, ...], str]
) -> None:
    (word, *asked), words = case
    file, picture = tmp_path / "curve.json", tmp_path / "curve.svg"
    assert words in run(word, parquet, *asked, *ONE).stdout
    assert run(word, parquet, *asked, *ONE, "--json", file, "--plot", picture).exit_code == 0
    assert word == result_from_json(file.read_text()).KIND
    assert "<svg" in picture.read_text()


@pytest.mark.reproduction
def test_metrics_of_all_groups_share_a_table_and_bands_hold_at_once_where_it_is_said(
    run: Run, parquet: Path, tmp_path: Path
) -> None:
    asked = ("scores", parquet, "--label", "late", "--score", "score", "--by", "carrier=UA,AA", *ONE)
    shown = run(*asked, "--show", "roc", "--bands", "all", "--plot", tmp_path / "roc.svg")
    assert "ROC curve, with bands of all groups that hold together at 0.95" in shown.stdout
    assert "97.46%" in shown.stdout  # of one group
    assert "each of the 2 groups: all hold together at 0.95" in (tmp_path / "roc.svg").read_text()
    by_group = run(*asked, "--show", "calibration").stdout
    metrics, *curves = by_group.split("carrier UA: calibration")
    rows = [line.split("│")[1:3] for line in metrics.splitlines() if line.startswith("│")]
    assert [[cell.strip() for cell in row] for row in rows[:3]] == [
        ["area under the ROC curve", "UA"], ["area under the ROC curve", "AA"], ["average precision", "UA"]
    ]  # fmt: skip
    assert "carrier AA: calibration" in curves[0]
    counts = [line.split("│")[-2].strip() for line in curves[0].splitlines() if line.startswith("│")]
    assert all(count.replace(",", "").isdigit() for count in counts), counts
    refused = run(*asked, "--show", "confusion", "--bands", "all")
    assert (refused.exit_code, refused.stderr.startswith("dpcurves: bands: --bands all needs --by and --show")) == (
        2,
        True,
    )
