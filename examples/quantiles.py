# %% [markdown]
# # Quantiles
# Medians, quartiles and percentiles: as many as you like, for the privacy loss of one distribution function.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(2)
pay = rng.lognormal(7.9, 0.5, size=30_000)

# %% [markdown]
# A grid may grow geometrically: cells of 2 % each, from 100 to 100,000.

# %%
grid = dp.Grid.geometric(100, 100_000, cells=350)
found = dp.quantiles(
    pay, [0.1, 0.25, 0.5, 0.75, 0.9], grid=grid, epsilon=1, adjacency=dp.REPLACE_ONE, label="monthly pay"
)
found.plot()

# %%
print(found.to_frame(level=0.95).round(2))
