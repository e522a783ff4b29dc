# %% [markdown]
# # A histogram
# Independent noise in each cell: the right question where single cells matter, rather than their cumulative sums.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(3)
ages = np.clip(rng.normal(45, 18, size=5_000), 0, 110)

# %%
bars = dp.histogram(ages, grid=dp.Grid(0, 110, cells=22), epsilon=1, adjacency=dp.ADD_REMOVE, label="age in years")
bars.plot()

# %% [markdown]
# A count between two edges has an interval, too.

# %%
print(bars.to_frame(level=0.95).head().round(1))
