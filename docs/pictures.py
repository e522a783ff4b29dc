"""Pictures of the README and of the page on numbers, from today's code: `make pictures`.

Data of the page on numbers is made up, as each picture says, and its noise comes from a fixed key. The picture of
flights is that of `demo/flights.py`: real flights, asked anew from a ledger of its own, with noise from the operating
system.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import dpcurves as dp
from dpcurves import display

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
RECORDS = 4000
CHANCE = np.random.default_rng(11)
AGES = np.floor(np.clip(CHANCE.gamma(9, 5, RECORDS), 0, 119))
SCORES = CHANCE.beta(2, 3, RECORDS)
LABELS = (CHANCE.random(RECORDS) < SCORES).astype(int)
ERRORS = CHANCE.standard_t(3, RECORDS)
UNTIL_EVENT, UNTIL_LEFT = CHANCE.exponential(60, RECORDS), CHANCE.uniform(0, 150, RECORDS)
TIMES, EVENTS = np.floor(np.minimum(UNTIL_EVENT, UNTIL_LEFT)), (UNTIL_EVENT <= UNTIL_LEFT).astype(int)
OLD, STATES = ("up to 34", "35 to 49", "50 and more"), ("ill", "well")
TERMS: dict[str, Any] = {"epsilon": "0.5", "adjacency": dp.REPLACE_ONE}


def seeded() -> dict[str, Any]:
    """Return the terms of a release whose noise is the same each time."""
    return {**TERMS, "randomness": fixed_noise(3)}


def fixed_noise(number: int) -> dp.Randomness:
    """Return noise from a public key: the records are made up, which each picture says, and need no protection."""
    return dp.Randomness.from_key(b"public key of the documentation!", f"picture {number}")


def band() -> Any:
    """Draw intervals of a distribution function."""
    return dp.cdf(AGES, grid=dp.Grid(0, 120, cells=120), label="age in years", **seeded()).plot()


def quantiles() -> Any:
    """Draw intervals of quantiles of whole numbers, all at once."""
    found = dp.quantiles(
        AGES, probabilities=(0.25, 0.5, 0.75), grid=dp.Grid(0, 120, cells=120), label="age in years", **seeded()
    )
    return found.plot()


def clipped() -> Any:
    """Draw intervals of quantiles on a grid that ends at 50, where a third of the values lie beyond."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dp.CurveWarning)  # it stands on the picture
        found = dp.quantiles(AGES, (0.25, 0.5, 0.9), grid=dp.Grid(0, 50, cells=50), label="age in years", **seeded())
    return found.plot()


def histogram() -> Any:
    """Draw intervals of counts in cells."""
    return dp.histogram(AGES, grid=dp.Grid(0, 120, cells=24), label="age in years", **seeded()).plot()


def area_of_records() -> Any:
    """Draw a ROC curve in the band that knows of the noise alone."""
    return dp.roc_curve(LABELS, SCORES, **seeded()).plot(population=False)


def area() -> Any:
    """Draw a ROC curve in its bands, with intervals of its area."""
    return dp.roc_curve(LABELS, SCORES, **seeded()).plot()


def calibration() -> Any:
    """Draw intervals of the shares of groups."""
    return dp.calibration_curve(LABELS, SCORES, groups=8, **seeded()).plot()


def groups() -> Any:
    """Draw intervals of observed and expected counts."""
    return dp.hosmer_lemeshow(LABELS, SCORES, groups=8, **seeded()).plot()


def envelope() -> Any:
    """Draw intervals of mean residuals."""
    return dp.binned_residuals(LABELS, SCORES, model=dp.PUBLIC_MODEL, bins=8, **seeded()).plot()


def precision() -> Any:
    """Draw a precision-recall curve in its bands, read from what was paid for once."""
    return dp.scores(LABELS, SCORES, **seeded()).precision_recall().plot()


def survival() -> Any:
    """Draw a Kaplan-Meier curve in its bands."""
    return dp.survival(TIMES, EVENTS, grid=dp.Grid(0, 100, cells=50), **seeded()).plot()


def arms() -> Any:
    """Ask for survival curves of two groups."""
    columns = {"months": TIMES, "died": EVENTS, "state": np.array(STATES)[np.arange(len(TIMES)) % 2]}
    columns["months"] = np.where(columns["state"] == STATES[0], columns["months"], columns["months"] * 1.25)
    by = dp.Categories("state", tuple(STATES))
    asked = dp.SurvivalQuestion("months", "died", dp.Grid(0, 100, cells=50), by=by)
    loss = dp.PrivacyLoss.pure(1)
    with dp.Session(columns, budget=loss, adjacency=dp.REPLACE_ONE, randomness=fixed_noise(4)) as session:
        return session.ask(asked, loss)


def survival_figure() -> Any:
    """Draw survival curves of two groups as journals print them."""
    return dp.survival_figure(arms())


def survival_numbers() -> Any:
    """Draw numbers of two survival curves as a forest plot."""
    return dp.survival_numbers(arms(), until=80, times=(24, 60)).plot()


def table() -> Any:
    """Draw counts of two columns with intervals."""
    rows, columns = np.array(OLD)[np.digitize(AGES, [35, 50])], np.array(STATES)[1 - LABELS]
    words = {"row_categories": OLD, "column_categories": STATES, "labels": ("age", "state")}
    return dp.contingency(rows, columns, **words, **seeded()).plot()


def mean() -> Any:
    """Draw intervals of a mean."""
    return dp.summary(AGES, bounds=(0, 120), label="age in years", **seeded()).plot()


def bounds() -> Any:
    """Draw intervals of a share that is covered."""
    return dp.bounds(ERRORS, unit=0.25, coverage="0.95", label="residual", **seeded()).plot()


NUMBERS: MappingProxyType[str, Callable[[], Any]] = MappingProxyType(
    {
        "band": band, "quantiles": quantiles, "clipped": clipped, "histogram": histogram,
        "area_of_records": area_of_records, "area": area,
        "calibration": calibration, "groups": groups, "envelope": envelope, "bounds": bounds,
        "precision": precision, "survival": survival, "survival_figure": survival_figure,
        "survival_numbers": survival_numbers, "table": table, "mean": mean,
    }
)  # fmt: skip


def flights() -> None:
    """The picture on top of the README."""
    sys.path.insert(0, str(ROOT / "demo"))
    import flights as demo

    with TemporaryDirectory() as folder:
        demo.OUT = Path(folder)
        demo.main()
        (IMAGES / "flights.png").write_bytes((demo.OUT / "flights.png").read_bytes())


def main() -> None:
    """Draw them all; with `--numbers` only those of the page on numbers, which take seconds."""
    (IMAGES / "numbers").mkdir(exist_ok=True)
    for name, draw in NUMBERS.items():
        with display.made_up_data():
            ax = draw()
        display.save_figure(ax, IMAGES / "numbers" / f"{name}.png")
        figure: Figure = ax.figure
        figure.clear()
    if "--numbers" not in sys.argv:
        flights()


if __name__ == "__main__":
    main()
