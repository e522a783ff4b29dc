"""Questions that a hospital, an office, a bank and a platform ask: as JSON, as SQL, and their numbers by pandas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import dpcurves as dp

ROWS = 3000
LOSS = dp.PrivacyLoss.pure(10**7)
Values = Callable[[pd.DataFrame], Any]


def make_frame() -> pd.DataFrame:
    """Return records with missing values, letters beyond ASCII, zeros and dates."""
    generator = np.random.default_rng(11)
    start = np.datetime64("2023-01-01")
    diagnosed = start + generator.integers(0, 500, ROWS).astype("timedelta64[D]")
    frame = pd.DataFrame({
        "age": generator.integers(0, 100, ROWS),
        "sex": generator.choice(["F", "M"], ROWS),
        "region": generator.choice(["north", "south", "Köln", "West"], ROWS),
        "wage": np.round(np.exp(generator.normal(7, 1, ROWS)), 2),
        "hours": generator.integers(0, 60, ROWS),
        "code": generator.choice(["I10", "I11.9", "E11", "e11.5", "J45"], ROWS),
        "diagnosed": diagnosed.astype("datetime64[us]"),
        "admitted": (diagnosed + generator.integers(-5, 90, ROWS).astype("timedelta64[D]")).astype("datetime64[us]"),
        "insured": generator.random(ROWS) < 0.8,
        "price": np.round(generator.random(ROWS) * 200, 2),
        "discount": np.round(generator.random(ROWS), 2),
        "balance": np.round(generator.normal(0, 1000, ROWS), 2),
        "limit amount": generator.choice([0.0, 500.0, 1000.0], ROWS),
        "visits": generator.integers(0, 40, ROWS),
        "clicks": generator.integers(0, 10, ROWS),
    })  # fmt: skip
    frame.loc[generator.random(ROWS) < 0.1, "wage"] = np.nan
    frame.loc[generator.random(ROWS) < 0.1, "region"] = None
    frame.loc[generator.random(ROWS) < 0.1, "admitted"] = pd.NaT
    return frame


def days(frame: pd.DataFrame) -> Any:
    """Return the days from diagnosis to admission."""
    return (frame.admitted - frame.diagnosed).dt.days


QUESTIONS: dict[str, tuple[str, str, str, str, Values]] = {
    # kind, grid or bounds, column, filter, values
    "wages per hour of women over 65 in the north": (
        "histogram", "0:1000:20", "wage / hours", "sex = 'F' AND age > 65 AND region = 'north'",
        lambda t: (t.wage / t.hours.replace(0, np.nan))[(t.sex == "F") & (t.age > 65) & (t.region == "north")],
    ),
    "days from diagnosis to admission": (
        "histogram", "-10:100:22", "date_diff('day', diagnosed, admitted)", "", days,
    ),
    "late admissions": ("count", "", "*", "date_diff('day', diagnosed, admitted) > 30", lambda t: t[days(t) > 30]),
    "admissions of a year": (
        "count", "", "*", "year(admitted) = 2024", lambda t: t[t.admitted.dt.year == 2024],
    ),
    "months of admission": (
        "histogram", "1:13:12", "month(admitted)", "insured", lambda t: t.admitted.dt.month[t.insured],
    ),
    "weekdays of admission": (
        "histogram", "1:8:7", "isodow(admitted)", "", lambda t: t.admitted.dt.day_of_week + 1,
    ),
    "before a day": ("count", "", "*", "diagnosed < DATE '2023-06-01'", lambda t: t[t.diagnosed < "2023-06-01"]),
    "within a quarter": (
        "count", "", "*", "date_trunc('quarter', diagnosed) = DATE '2023-04-01'",
        lambda t: t[t.diagnosed.between("2023-04-01", "2023-06-30")],
    ),
    "hypertension": ("count", "", "*", "code LIKE 'I1%'", lambda t: t[t.code.str.startswith("I1")]),
    "diabetes in any spelling": (
        "count", "", "*", "upper(substr(code, 1, 3)) = 'E11'", lambda t: t[t.code.str[:3].str.upper() == "E11"],
    ),
    "not insured": ("count", "", "*", "NOT insured", lambda t: t[~t.insured]),
    "employed persons": ("mean", "0:60", "hours", "hours > 0 AND age BETWEEN 15 AND 74", lambda t: t.hours[
        (t.hours > 0) & t.age.between(15, 74)]),
    "ten years of age": (
        "histogram", "0:100:10", "floor(age / 10) * 10", "sex = 'M'", lambda t: t.age[t.sex == "M"] // 10 * 10,
    ),
    "outside of the north": (
        "count", "", "wage", "region <> 'north'", lambda t: t.wage[t.region.notna() & (t.region != "north")],
    ),
    "letters beyond ASCII": ("count", "", "*", "region = 'Köln'", lambda t: t[t.region == "Köln"]),
    "several regions": (
        "count", "", "*", "lower(region) IN ('west', 'köln')", lambda t: t[t.region.isin(["West", "Köln"])],
    ),
    "no region": ("count", "", "*", "region IS NULL", lambda t: t[t.region.isna()]),
    "logarithm of wages": ("histogram", "0:12:12", "ln(wage)", "age >= 18", lambda t: np.log(t.wage[t.age >= 18])),
    "low wages": (
        "count", "", "*", "wage < 500 OR wage IS NULL", lambda t: t[(t.wage < 500) | t.wage.isna()],
    ),
    "wage or nothing": ("mean", "0:5000", "coalesce(wage, 0)", "", lambda t: t.wage.fillna(0).clip(0, 5000)),
    "orders above 100 after a discount": (
        "count", "", "*", "price * (1 - discount) > 100", lambda t: t[t.price * (1 - t.discount) > 100],
    ),
    "price after discount": (
        "histogram", "0:200:20", "price * (1 - discount)", "price >= 10", lambda t: (t.price * (1 - t.discount))[
            t.price >= 10],
    ),
    "overdrawn": ("count", "", "*", "balance < -\"limit amount\"", lambda t: t[t.balance < -t["limit amount"]]),
    "used limit": (
        "histogram", "0:2:10", "abs(least(balance, 0)) / \"limit amount\"", "balance < 0",
        lambda t: (t.balance.clip(upper=0).abs() / t["limit amount"].replace(0, np.nan))[t.balance < 0],
    ),
    "rounded balance": (
        "histogram", "-2000:2000:8", "round(balance / 500) * 500", "", lambda t: np.trunc(
            t.balance / 500 + np.copysign(0.5, t.balance)) * 500,
    ),
    "clicks for each visit": (
        "histogram", "0:2:10", "clicks / visits", "visits >= 5", lambda t: (t.clicks / t.visits)[t.visits >= 5],
    ),
    "heavy users": (
        "mean", "0:10", "CASE WHEN visits > 20 THEN clicks ELSE 0 END", "",
        lambda t: t.clicks.where(t.visits > 20, 0),
    ),
    "distribution of visits": (
        "cdf", "0:40:40", "visits", "clicks IN (0, 1, 2)", lambda t: t.visits[t.clicks <= 2],
    ),
    "square roots": ("histogram", "0:7:7", "sqrt(visits)", "visits > 0", lambda t: np.sqrt(t.visits[t.visits > 0])),
    "largest of two": (
        "histogram", "0:40:8", "greatest(visits, clicks)", "age < 50 AND NOT sex = 'F'",
        lambda t: t[["visits", "clicks"]].max(axis=1)[(t.age < 50) & (t.sex != "F")],
    ),
}  # fmt: skip


def make_document(name: str) -> dict[str, Any]:
    """Return a question as the JSON object of files, studies and servers."""
    kind, cells, column, where, _ = QUESTIONS[name]
    options = {"count": {}, "mean": {"bounds": cells}}.get(kind, {"grid": cells})
    return {"ask": kind, "column": column, **options, **({"where": where} if where else {})}


def make_statement(name: str) -> str:
    """Return a question as a statement of SQL."""
    kind, cells, column, where, _ = QUESTIONS[name]
    numbers = "".join(f", {number}" for number in cells.split(":") if number)
    return f"SELECT dp_{kind}({column}{numbers}) FROM people" + (f" WHERE {where}" if where else "")


def read_numbers(curve: Any, kind: str) -> list[float]:
    """Return the numbers of a result that are compared."""
    if kind == "mean":
        return [curve.count, curve.mean]
    return [curve.count, *curve.y] if kind == "cdf" else [*np.atleast_1d(curve.count)]


def compute_numbers(frame: pd.DataFrame, name: str) -> list[float]:
    """Return the exact numbers."""
    kind, cells, _, _, values = QUESTIONS[name]
    passing = values(frame)
    if isinstance(passing, pd.DataFrame):
        return [len(passing)]
    present = np.asarray(passing.dropna(), dtype=float)
    present = present[np.isfinite(present)]
    if kind == "count":
        return [len(present)]
    if kind == "mean":
        return [len(present), float(present.mean())]
    lower, upper, number = (float(part) for part in cells.split(":"))
    clipped = np.clip(present, lower, np.nextafter(upper, -np.inf))
    counts = np.histogram(clipped, dp.Grid(lower, upper, cells=int(number)).edges)[0]
    return [len(present), *np.cumsum([0, *counts]) / len(present)] if kind == "cdf" else counts.tolist()


def require_equal(curve: Any, frame: pd.DataFrame, name: str) -> None:
    """Require that a result has the numbers of pandas, up to what noise of a huge epsilon and rounding may change."""
    kind = make_document(name)["ask"]
    np.testing.assert_allclose(read_numbers(curve, kind), compute_numbers(frame, name), rtol=1e-4, err_msg=name)
