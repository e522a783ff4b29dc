"""What a version wrote, kept: a ledger and a result of each kind, by `python tests/released/keeping.py`.

What a release wrote is never written again: later versions have to open it for ever. Files lie beside this one, in a
folder that has the name of the version; the key of such a ledger guards made-up numbers, and is no secret.
"""

from __future__ import annotations

import sqlite3
import sys
import tomllib
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dpcurves as dp
from dpcurves.curves.result import ReleasedResult

HERE = Path(__file__).parent
LOSS = dp.PrivacyLoss.pure(1)
GRID = dp.Grid(0, 1, cells=8)
NUMBERS = [index * 37 % 101 / 101 for index in range(600)]
TABLE = {
    "x": NUMBERS, "z": [4 * number * number - 2 for number in NUMBERS], "y": [index % 7 % 2 for index in range(600)],
    "w": [index % 3 for index in range(600)],
}  # fmt: skip
BY, THIRDS = dp.Categories("y", (0, 1)), dp.Categories("w", (0, 1, 2))
ERRORS = dp.BoundsQuestion("z", 0.25, "0.9")
QUESTIONS: dict[str, dp.Question[ReleasedResult]] = {
    "cdf": dp.CdfQuestion("x", GRID), "cdf by category": dp.CdfQuestion("x", GRID, by=BY),
    "cdf at edges": dp.CdfQuestion("x", dp.Grid(0, 1, cells=2**20), edges=(7, 2**19)),
    "quantiles": dp.QuantilesQuestion("x", GRID, (0.25, 0.5)), "histogram": dp.HistogramQuestion("x", GRID),
    "plane": dp.Histogram2DQuestion("x", "z", GRID, dp.Grid(-3, 3, cells=8)), "roc": dp.RocQuestion("y", "x"),
    "scores": dp.ScoresQuestion("y", "x"), "smooth area": dp.SmoothAucQuestion("y", "x"),
    "calibration": dp.CalibrationQuestion("y", "x", groups=4), "fit": dp.HosmerLemeshowQuestion("y", "x", groups=4),
    "binned residuals": dp.BinnedResidualsQuestion("y", "x", model=dp.PUBLIC_MODEL),
    "contingency": dp.ContingencyQuestion(BY, THIRDS), "survival": dp.SurvivalQuestion("x", "y", GRID),
    "summary": dp.SummaryQuestion("x", 0, 1), "summary by category": dp.SummaryQuestion("x", 0, 1, by=BY),
    "bounds": ERRORS, "bounds of two": dp.PlaneBoundsQuestion(dp.BoundsQuestion("x", 0.25, "0.9"), ERRORS),
    "residuals": dp.ResidualPlotQuestion("x", "z", 0.25, 0.25, "0.9", cells=8, model=dp.PUBLIC_MODEL),
    "verification": dp.VerifyQuestion(BY, (dp.NumericColumn("x", 0, 1),), "x", above=-1e6, subsets=20),
}  # fmt: skip
LATER: tuple[dp.Question[ReleasedResult], ...] = (
    dp.BarChartQuestion(dp.Categories("w", (0, 2))),
    dp.CompetingRisksQuestion("x", "w", GRID, (1, 2)),
    dp.DelayedEntryQuestion("e", "x", "y", GRID),
    dp.IntervalCensoredQuestion("e", "x", GRID),
    dp.SurvivalModelQuestion("e", "x", "y", dp.Grid(0, 1, cells=2), GRID, groups=4),
    dp.ModelPairQuestion("y", "x", "e", cells=8),
    dp.ModelComparisonQuestion("y", ("x", "e", "z"), cells=8),
    dp.MulticlassQuestion(THIRDS, ("x", "e", "z")),
    dp.OrdinalClassesQuestion(THIRDS, "x"),
    dp.UpliftQuestion("y", "w", "x", GRID),
    dp.QuantileForecastsQuestion(("z",), (0.5,), dp.Grid(-3, 3, cells=8)),
    dp.PredictedObservedQuestion("x", "e", GRID, GRID),
    dp.WeightedCdfQuestion("x", GRID, "e", 0.5),
    dp.WeightedQuantilesQuestion("x", GRID, (0.5,), "e", 0.5),
    dp.WeightedSummaryQuestion("x", 0, 1, "e", 0.5),
    dp.WeightedSurvivalQuestion("x", "y", GRID, "e", 0.5),
    dp.PairwiseScorerQuestion("y", (dp.NumericColumn("x", 0, 1), dp.NumericColumn("e", 0, 8))),
)
"""Questions of kinds that came after the ledger was kept: their results alone are."""
CAP = dp.PrivacyLoss.pure(len(QUESTIONS) + 1)


def session(folder: Path) -> dp.Session:
    """The account of these records, in the ledger of a folder."""
    where = f"sqlite:///{folder / 'budget.db'}"
    return dp.Session(TABLE, budget=CAP, adjacency=dp.REPLACE_ONE, dataset="kept", ledger=where)


def keep(out: Path) -> None:
    """Ask all of them, and keep the ledger, its key and what was told."""
    out.mkdir()
    with TemporaryDirectory() as name:
        folder = Path(name)
        with session(folder) as asked:
            told = {request: asked.ask(question, LOSS, request) for request, question in QUESTIONS.items()}
        with closing(sqlite3.connect(folder / "budget.db")) as opened:
            (out / "ledger.sql").write_text("\n".join(opened.iterdump()) + "\n", encoding="utf-8")
        (out / "key.txt").write_bytes((folder / "budget.db.key").read_bytes())
    written = [*told.values(), *read_from(told), *later()]
    (out / "curves.jsonl").write_text("".join(f"{each.to_json()}\n" for each in written), encoding="utf-8")


def read_from(told: dict[str, Any]) -> Iterator[ReleasedResult]:
    """What is read from a result that is there, of kinds that no question asks."""
    scores, groups = told["scores"], told["cdf by category"]
    yield from (scores.precision_recall(), scores.cumulative_gain(), scores.calibration(), scores.decision_curve())
    yield from (
        scores.confusion(0.5),
        told["cdf"].histogram([0, 0.5, 1]),
        groups[0].quantile_quantile(groups[1], [0.25, 0.5]),
    )


def later() -> Iterator[ReleasedResult]:
    """Results of kinds that the kept ledger has not."""
    table = {**TABLE, "e": [number / 2 for number in NUMBERS]}
    with dp.Session(table, budget=dp.PrivacyLoss.pure(len(LATER) + 1), adjacency=dp.REPLACE_ONE) as asked:
        results: list[Any] = [asked.ask(question, LOSS) for question in LATER]
        yield from results
        yield from (each.histogram([0, 0.5, 1]) for each in results if each.KIND == "weighted-cdf")
        yield dp.CumulativeHazard(asked.ask(dp.SurvivalQuestion("x", "y", GRID), LOSS))


if __name__ == "__main__":
    warnings.simplefilter("ignore", dp.CurveWarning)
    project = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if (HERE / project["version"]).exists():
        sys.exit(f"{project['version']} is kept already; before its release its folder may be removed")
    keep(HERE / project["version"])
