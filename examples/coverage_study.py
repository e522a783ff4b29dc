# %% [markdown]
# # How often do intervals hold?
# A study of one's own: 100 samples, 100 private medians, and how many of their intervals hold the truth.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(24)
grid = dp.Grid(0, 60, cells=240)
truth = 8.39  # the median of a gamma distribution of shape 3 and scale 3.1376

# %%
intervals = []
for _ in range(100):
    sample = rng.gamma(3.0, 8.39 / 2.674, size=500)
    curve = dp.cdf(sample, grid=grid, epsilon=1, adjacency=dp.REPLACE_ONE)
    intervals.append(curve.quantile_interval(0.5, 0.9, population=True))
low, high = np.array(intervals).T
holds = (low <= truth) & (truth <= high)

# %%
figure, ax = plt.subplots(figsize=(10, 4.6), layout="constrained")
ax.vlines(np.arange(100), low, high, colors=np.where(holds, "tab:blue", "tab:red"))
ax.axhline(truth, color="black", lw=1)
ax.set(xlabel="sample", ylabel="median, with its 90% interval for the population")
ax.set_title(f"{holds.mean():.0%} of 90% intervals hold the population's median")
