# %% [markdown]
# # A page for the web
# Curves, privacy losses, what is left and what was refused, in one HTML file without scripts or links to other hosts.

# %%
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

import dpcurves as dp
from dpcurves import display

rng = np.random.default_rng(35)
table = {"age": rng.gamma(9, 5, size=20_000), "days": rng.gamma(2.0, 3.0, size=20_000)}
with dp.Session(table, budget=dp.PrivacyLoss.pure(2), adjacency=dp.REPLACE_ONE) as session:
    age = session.ask(dp.CdfQuestion("age", dp.Grid(0, 120, cells=480)), dp.PrivacyLoss.pure(1))
    days = session.ask(dp.HistogramQuestion("days", dp.Grid(0, 40, cells=40)), dp.PrivacyLoss.pure("0.5"))

# %%
page = Path(mkdtemp()) / "patients.html"
page.write_text(
    display.render_report(
        "Patients of 2026", "Ages and days in hospital.", [age._repr_html_(), days._repr_html_()], []
    ),
    encoding="utf-8",
)
print(f"{page.stat().st_size / 1000:.0f} kB")
days.plot()
