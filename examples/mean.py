# %% [markdown]
# # A mean, a sum and a variance
# Count, sum, mean and variance of one column come from one release. Bounds are public; values beyond them are clipped.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(7)
stay = rng.gamma(2.0, 3.0, size=5_000)

# %%
found = dp.summary(stay, bounds=(0, 30), epsilon=1, adjacency=dp.ADD_REMOVE, label="days")
found.plot()

# %% [markdown]
# The interval for these records covers the noise alone; the one for the population covers sampling, too.

# %%
print("these records:", found.mean_interval(0.95))
print("the population:", found.mean_interval(0.95, population=True))

# %% [markdown]
# One number alone can be asked for, too. A count then has the whole loss; a sum divides it between a count and a sum.

# %%
print("how many:", dp.count(stay, epsilon=1, adjacency=dp.ADD_REMOVE).interval(0.95))
print("days in all:", dp.sum(stay, bounds=(0, 30), epsilon=1, adjacency=dp.ADD_REMOVE).interval(0.95))
print("mean:", dp.mean(stay, bounds=(0, 30), epsilon=1, adjacency=dp.ADD_REMOVE).interval(0.95, population=True))
print("variance:", dp.variance(stay, bounds=(0, 30), epsilon=1, adjacency=dp.ADD_REMOVE).interval(0.95))
