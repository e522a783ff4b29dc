# %% [markdown]
# # A mean, a sum and a spread
# Count, sum, mean and variance of one column come from one release. Bounds are public, and what lies beyond is clamped.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(7)
stay = rng.gamma(2.0, 3.0, size=5_000)

# %%
found = dp.summary(stay, bounds=(0, 30), epsilon=1, adjacency=dp.ADD_REMOVE, label="days")
found.plot()

# %% [markdown]
# The interval for these records holds noise alone; the one for the population holds sampling, too.

# %%
print("these records:", found.mean_interval(0.95))
print("the population:", found.mean_interval(0.95, population=True))

# %% [markdown]
# One number alone can be asked, too: a count has the whole loss then, and a sum divides it by its bounds.

# %%
print("how many:", dp.count(stay, epsilon=1, adjacency=dp.ADD_REMOVE).interval(0.95))
print("days in all:", dp.sum(stay, bounds=(0, 30), epsilon=1, adjacency=dp.ADD_REMOVE).interval(0.95))
print("variance:", dp.variance(stay, bounds=(0, 30), epsilon=1, adjacency=dp.ADD_REMOVE).interval(0.95))
