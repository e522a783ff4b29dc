# %% [markdown]
# # A distribution function
# How a quantity is distributed, with a band that contains the curve of all records, and quantiles with intervals.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(1)
days = np.floor(rng.gamma(2.0, 3.0, size=20_000))  # whole days in hospital
grid = dp.Grid(0, 60, cells=60)  # public: chosen from what the column means

# %% [markdown]
# `replace-one`: the number of patients is public, and what each record says is protected.

# %%
curve = dp.cdf(days, grid=grid, epsilon=1, adjacency=dp.REPLACE_ONE, label="days in hospital")
curve.plot()

# %% [markdown]
# The interval of a quantile ends at edges of the grid, so it holds however many days are tied.

# %%
for share in (0.5, 0.9):
    low, high = curve.quantile_interval(share, 0.95)
    print(f"{share:.0%} of these patients left after {curve.quantile(share):.1f} days (95%: {low:g} to {high:g})")

# %% [markdown]
# Without a grid, a part of the loss looks for the range first.

# %%
with dp.Session({"days": days}, budget=dp.PrivacyLoss.pure(2), adjacency=dp.REPLACE_ONE) as session:
    found = session.ask(dp.AutoRangeCdfQuestion("days"), dp.PrivacyLoss.pure(1))
    median = session.ask(dp.AutoRangeQuantilesQuestion("days", (0.5,)), dp.PrivacyLoss.pure(1))
print(f"half left after {found.quantile(0.5):.1f} days; asked alone, {median.x[0]:.1f}")
