# %% [markdown]
# # How often do intervals hold?
# A small simulation: 100 samples, 100 private means, and how many of their 90% intervals contain the population's mean.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dpcurves as dp

rng, truth = np.random.default_rng(24), 9.0

# %%
intervals = []
for _ in range(100):
    sample = rng.gamma(3.0, truth / 3, size=5_000)
    found = dp.summary(sample, bounds=(0, 60), epsilon=1, adjacency=dp.REPLACE_ONE)
    intervals.append(found.mean_interval(0.9, population=True))
low, high = np.array(intervals).T
holds = (low <= truth) & (truth <= high)

# %% [markdown]
# A few more than 90 contain it, because the variance is taken at the upper end of its interval. (Intervals of quantiles
# end at edges of cells that were counted together, and hold more often still.)

# %%
figure, ax = plt.subplots(figsize=(10, 4.6), layout="constrained")
ax.vlines(np.arange(100), low, high, colors=np.where(holds, "tab:blue", "tab:red"))
ax.axhline(truth, color="black", lw=1)
ax.set(xlabel="sample", ylabel="mean, with its 90% interval for the population")
ax.set_title(f"{holds.sum()} of 100 intervals hold the population's mean")
