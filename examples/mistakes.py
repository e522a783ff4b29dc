# %% [markdown]
# # Mistakes that are refused
# Each of these ends with one line that says what to do. Nothing is spent, and no value is shown.

# %%
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import dpcurves as dp

ages = np.random.default_rng(30).gamma(9, 5, size=1_000)
grid, one = dp.Grid(0, 120, cells=120), dp.PrivacyLoss.pure(1)
table = {"age": ages, "name": ["anna"] * 1_000, "patient": np.arange(1_000) // 2}


def asked(question: Any, loss: dp.PrivacyLoss = one, **terms: Any) -> Any:
    """One question of a session of its own."""
    with dp.Session(table, budget=one, adjacency=terms.pop("adjacency", dp.REPLACE_ONE), **terms) as session:
        return session.ask(question, loss)


mistakes: dict[str, Callable[[], Any]] = {
    "no such column": lambda: asked(dp.CdfQuestion("agee", grid)),
    "a grid that ends before it begins": lambda: dp.Grid(120, 0, cells=120),
    "epsilon of nothing": lambda: dp.PrivacyLoss.pure(0),
    "epsilon as a percentage": lambda: dp.PrivacyLoss.pure("100%"),
    "more than the budget": lambda: asked(dp.CdfQuestion("age", grid), dp.PrivacyLoss.pure(2)),
    "a pure budget, spent in rho": lambda: asked(dp.CdfQuestion("age", grid), dp.PrivacyLoss.zcdp(0.1)),
    "a bound on rows without a unit": lambda: asked(dp.CdfQuestion("age", grid), rows_per_unit=2),
    "a category of nobody's": lambda: dp.Categories("ward", ()),
    "a share above one": lambda: dp.QuantilesQuestion("age", grid, [50]),
    "two losses at once": lambda: dp.cdf(ages, grid=grid, epsilon=1, rho=1, adjacency=dp.REPLACE_ONE),
}

# %%
lines: list[str] = []
for name, mistake in mistakes.items():
    try:
        raise AssertionError(f"{name}: {mistake()} was not refused")
    except (ValueError, TypeError, dp.BudgetExceeded) as refusal:
        lines.append(f"{name}\n    {refusal}")
figure, ax = plt.subplots(figsize=(11, 6.5), layout="constrained")
ax.text(0, 1, "\n".join(lines), va="top", family="monospace", fontsize=9)
ax.axis("off")
ax.set_title("Ten mistakes, each with the line that refuses it", loc="left")
