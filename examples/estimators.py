# %% [markdown]
# # DAWA, HB and the default on one plane
# Four estimators of a two-way histogram, on the same records and with the same privacy loss: their errors differ much.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dpcurves as dp
from dpcurves.display import FittedLayout
from dpcurves.histograms import CellEstimator, DawaEstimator, HierarchyEstimator

rng = np.random.default_rng(36)
where = rng.choice(3, p=[0.6, 0.3, 0.1], size=20_000)
centres, spread = np.array([[20.0, 30.0], [60.0, 65.0], [75.0, 20.0]]), np.array([[6.0], [12.0], [1.5]])
x, y = (centres[where] + spread[where] * rng.normal(size=(20_000, 2))).clip(0, 99.9).T
grid, loss = dp.Grid(0, 100, cells=64), dp.PrivacyLoss.pure("0.2")
exact, _, _ = np.histogram2d(x, y, bins=grid.edges)

# %% [markdown]
# `CellEstimator` adds noise to each cell. HB combines a hierarchy of counts, DAWA first finds cells with similar
# counts, and the default counts blocks and divides those where that lowers the error.

# %%
ways = {
    "cell by cell": {"estimator": CellEstimator()},
    "HB": {"estimator": HierarchyEstimator()},
    "DAWA": {"estimator": DawaEstimator()},
    "default": {},
}
figure, axes = plt.subplots(2, 2, figsize=(10, 9.4), layout=FittedLayout())
for ax, (name, way) in zip(axes.flat, ways.items(), strict=True):
    with dp.Session({"x": x, "y": y}, budget=loss, adjacency=dp.REPLACE_ONE) as session:
        found = session.ask(dp.Histogram2DQuestion("x", "y", grid, grid, **way), loss)
    found.plot(ax=ax)
    error = np.abs(found.count - exact).mean()  # only here, where data is made up
    ax.set_title(f"{name}: cells are off by {error:.1f} records")
