# %% [markdown]
# # A distribution function
# How a quantity is spread, with a band that holds the curve of all records, and quantiles with intervals.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(1)
days = np.floor(rng.gamma(2.0, 3.0, size=20_000))  # whole days in hospital
grid = dp.Grid(0, 60, cells=60)  # public: chosen from what the column means

# %% [markdown]
# `replace-one`: how many patients there are is public, what each of them brings is not.

# %%
curve = dp.cdf(days, grid=grid, epsilon=1, adjacency=dp.REPLACE_ONE, label="days in hospital")
curve.plot()

# %% [markdown]
# The interval of a quantile ends at edges of the grid, so it holds however days are tied.

# %%
for share in (0.5, 0.9):
    low, high = curve.quantile_interval(share, 0.95)
    print(f"{share:.0%} of these patients left after {curve.quantile(share):.1f} days (95%: {low:g} to {high:g})")
