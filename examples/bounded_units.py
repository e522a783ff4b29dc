# %% [markdown]
# # People with many rows
# The unit is a person, not a row: a keyed hash chooses a few rows of each, and noise is scaled to their number.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dpcurves as dp
from dpcurves.display import FittedLayout

rng = np.random.default_rng(15)
patients = np.repeat(np.arange(8_000), rng.poisson(3, size=8_000))
table = {"patient": patients, "days": rng.gamma(2.0, 3.0, size=patients.size)}
question, loss = dp.CdfQuestion("days", dp.Grid(0, 40, cells=320)), dp.PrivacyLoss.pure("0.1")

# %% [markdown]
# With more rows of each person the curve covers more visits, with more noise. A plan says how much, without data.

# %%
figure, axes = plt.subplots(3, 1, figsize=(5.6, 10), layout=FittedLayout(), sharex=True)
for ax, rows in zip(axes, (1, 3, 9), strict=True):
    with dp.Session(table, budget=loss, adjacency=dp.ADD_REMOVE, unit="patient", rows_per_unit=rows) as session:
        curve = session.ask(question, loss)
    curve.plot(ax=ax)
    lower, upper = curve.band(0.95)
    ax.set_title(f"{rows} of each at most: band {100 * (upper - lower).max():.0f} points wide", fontsize=10)
