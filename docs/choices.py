"""Standard deviations that `plan` foretells in common settings: the picture of the page on choosing, and a table.

`choices.json` has all numbers, for the test; the picture has some of them, and the table all, as text. Half widths of
bands are those of `dial.py`. `make pictures` runs both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt

import dpcurves as dp
from dpcurves_parties.shares.function_shares import FunctionShares

HERE = Path(__file__).parent
PAGE, NUMBERS, PICTURE = HERE / "one_number.md", HERE / "choices.json", HERE / "images" / "choices.png"
EPSILONS = ("0.1", "0.3", "1", "3", "10")
UNITS = (1_000, 3_000, 10_000, 30_000, 100_000, 1_000_000)
SHOWN = 10_000
MARKED = re.compile(r"(<!-- choices: made by docs/choices.py -->\n).*(<!-- end of choices -->)", re.DOTALL)
TEN = dp.Categories("group", tuple(range(10)))


class Setting(NamedTuple):
    """What is asked, of whom, and how a person would call it; and how many records of one person are counted."""

    name: str
    question: Any
    trust: Callable[[], Any] | None = None
    records: int = 1


def grid(cells: int) -> dp.Grid:
    """Ages, in cells of one width."""
    return dp.Grid(0, 120, cells=cells)


SETTINGS = (
    Setting("Mean of a column", dp.MeanQuestion("age", 0, 120)),
    Setting("Histogram, 24 cells", dp.HistogramQuestion("age", grid(24))),
    Setting("Histogram, 24 cells, in ten groups", dp.HistogramQuestion("age", grid(24), by=TEN)),
    Setting("Bar chart of ten categories", dp.BarChartQuestion(TEN)),
    Setting("Table of 5 by 10 categories", dp.ContingencyQuestion(dp.Categories("ward", tuple(range(5))), TEN)),
    Setting("Calibration curve, ten groups", dp.CalibrationQuestion("ill", "risk", groups=10)),
    Setting("ROC curve", dp.RocQuestion("ill", "risk")),
    Setting("Survival curve, 60 months", dp.SurvivalQuestion("months", "died", dp.Grid(0, 60, cells=60))),
    Setting("Distribution function, 64 cells", dp.CdfQuestion("age", grid(64))),
    Setting("Distribution function, 1,024 cells", dp.CdfQuestion("age", grid(1024))),
    Setting("Distribution function, 1,024 cells, five records a person", dp.CdfQuestion("age", grid(1024)), records=5),
    Setting("Distribution function, 64 cells, by two servers", dp.CdfQuestion("age", grid(64)), FunctionShares),
    Setting("Distribution function, 64 cells, people at home", dp.CdfQuestion("age", grid(64)), dp.Local),
)


def error(setting: Setting, epsilon: str, units: int) -> float:
    """The error that a plan foretells for the turn that has most of the loss, in percent of the units."""
    unit = dp.Unit("person", setting.records) if setting.records > 1 else dp.EACH_RECORD
    adjacency = dp.REPLACE_ONE.to_adjacency(unit, units)
    trust = () if setting.trust is None else (setting.trust(),)
    plans = dp.plan_question(setting.question, dp.PrivacyLoss.pure(epsilon), adjacency, *trust)
    counted = [plan for plan in plans if plan.error == plan.error]  # cuts have none
    main = max(counted, key=lambda plan: plan.loss.epsilon or 0)
    # A sum is kept in steps of a lattice: this is its error in records that add as much as one can.
    return float(f"{100 * main.error / main.query.per_record_sensitivity / units:.3g}")


def numbers() -> dict[str, Any]:
    """All of them: for each setting a row for each epsilon, with a number for each number of units."""
    found = [
        {"name": each.name, "errors": [[error(each, epsilon, units) for units in UNITS] for epsilon in EPSILONS]}
        for each in SETTINGS
    ]
    return {"epsilons": EPSILONS, "units": UNITS, "settings": found}


def table(found: dict[str, Any]) -> str:
    """Table of the numbers as text: a row for each setting and epsilon."""
    head = "| setting | ε | " + " | ".join(f"{units:,}" for units in found["units"]) + " |"
    rule = "|---|---:|" + "---:|" * len(found["units"])
    rows = [
        f"| {each['name']} | {epsilon} | {' | '.join(map(told, errors))} |"
        for each in found["settings"]
        for epsilon, errors in zip(found["epsilons"], each["errors"], strict=True)
    ]
    return "\n".join([head, rule, *rows])


def told(percent: float) -> str:
    """A percentage as people write it; beyond all of the records there is nothing to be read."""
    return "-" if percent >= 100 else f"{percent:.3g}&nbsp;%" if percent >= 0.001 else "<&nbsp;0.001&nbsp;%"


def draw(found: dict[str, Any]) -> None:
    """Draw the settings, one to a line, at three epsilons."""
    figure, axes = plt.subplots(figsize=(9, 5.2), layout="constrained")
    place = found["units"].index(SHOWN)
    names = [each["name"] for each in found["settings"]]
    for epsilon, colour, marker in (("0.1", "#b3261e", "s"), ("1", "#00629b", "o"), ("10", "#2e7d32", "^")):
        row = found["epsilons"].index(epsilon)
        errors = [each["errors"][row][place] for each in found["settings"]]
        axes.plot(errors, range(len(names)), marker, color=colour, label=f"ε = {epsilon}", markersize=7)
    axes.set(xscale="log", xlim=(6e-4, 200), yticks=range(len(names)))
    figure.suptitle(f"Noise of one number of {SHOWN:,} records in {len(names)} settings, by epsilon", fontsize=11)
    axes.set_yticklabels(names)
    ticks = (0.001, 0.01, 0.1, 1, 10, 100)
    axes.set_xticks(ticks, [f"{tick:g} %" for tick in ticks])
    axes.invert_yaxis()
    axes.grid(axis="x", color="#dddddd")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(f"standard deviation of one noisy number, in percent of {SHOWN:,} records")
    axes.legend(frameon=False, ncols=3, loc="lower left", bbox_to_anchor=(0, 1))
    figure.savefig(PICTURE, dpi=110)


def main() -> None:
    """Work all of them out, and write numbers, picture and table."""
    found = json.loads(json.dumps(numbers()))
    NUMBERS.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(MARKED.sub(lambda match: f"{match[1]}\n{table(found)}\n\n{match[2]}", page), encoding="utf-8")
    draw(found)


if __name__ == "__main__":
    main()
