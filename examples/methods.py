# %% [markdown]
# # What methods do on one data set
# The default, a tree, one noise in each cell, a grown partition, and cuts at quantiles: on the same heaped records.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dpcurves as dp
from dpcurves.mechanisms import Flat, Tree
from dpcurves.trust import Central

rng = np.random.default_rng(25)
value = np.where(rng.random(20_000) < 0.6, rng.normal(300, 5, 20_000), rng.gamma(2, 150, 20_000)).clip(0, 1023)
grid, loss = dp.Grid(0, 1024, cells=1024), dp.PrivacyLoss.pure(0.1)
ways = {
    "default": (None, None),
    "tree": (None, Central(mechanism=Tree())),
    "cell by cell": (None, Central(mechanism=Flat())),
    "grown partition": (dp.GrownPartition(), None),
    "quantile cuts": (dp.QuantileCuts(pieces=32), None),
}

# %%
figure, axes = plt.subplots(1, len(ways), figsize=(20, 4.4), layout="constrained", sharey=True)
for ax, (name, (method, trust)) in zip(axes, ways.items(), strict=True):
    with dp.Session({"value": value}, budget=loss, adjacency=dp.REPLACE_ONE, trust=trust) as session:
        curve = session.ask(dp.CdfQuestion("value", grid, method=method), loss)
    curve.plot(ax=ax)
    exact = np.searchsorted(np.sort(value), curve.x) / value.size  # only here, where data is made up
    ax.set_title(f"{name}: off by {100 * np.abs(curve.y - exact).max():.1f} points at most")
