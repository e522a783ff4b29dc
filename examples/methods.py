# %% [markdown]
# # Five methods on one data set
# The default, a tree, independent noise in each cell, an adaptive partition, and cuts at quantiles: the same records.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dpcurves as dp
from dpcurves.mechanisms import FlatHistogram, TreeSums
from dpcurves.trust import Central

rng = np.random.default_rng(25)
value = np.where(rng.random(20_000) < 0.6, rng.normal(300, 5, 20_000), rng.gamma(2, 150, 20_000)).clip(0, 1023)
grid, loss = dp.Grid(0, 1024, cells=1024), dp.PrivacyLoss.pure(0.1)
ways = {
    "default": (None, None),
    "tree": (None, Central(mechanism=TreeSums())),
    "cell by cell": (None, Central(mechanism=FlatHistogram())),
    "adaptive partition": (dp.AdaptivePartition(), None),
    "quantile cuts": (dp.QuantilePartition(pieces=32), None),
}

# %%
figure, axes = plt.subplots(2, 3, figsize=(11, 7.6), layout="constrained", sharex=True, sharey=True)
for ax, (name, (method, trust)) in zip(axes.flat, ways.items(), strict=False):
    with dp.Session({"value": value}, budget=loss, adjacency=dp.REPLACE_ONE, trust=trust) as session:
        curve = session.ask(dp.CdfQuestion("value", grid, method=method), loss)
    curve.plot(ax=ax).get_legend().remove()
    exact = np.searchsorted(np.sort(value), curve.x) / value.size  # only here, where data is made up
    ax.set_title(f"{name}: off by {100 * np.abs(curve.y - exact).max():.1f} points at most", fontsize=10)
axes[1, 2].set_axis_off()
axes[1, 2].legend(*axes[0, 0].get_legend_handles_labels(), loc="center", frameon=False)
