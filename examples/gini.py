# %% [markdown]
# # Inequality
# Gini coefficient and Lorenz curve, computed from a released distribution function at no further privacy loss.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(29)
income = rng.lognormal(10, 0.7, size=50_000)
grid = dp.Grid.geometric(500, 1_000_000, cells=512)
curve = dp.cdf(income, grid=grid, epsilon=1, adjacency=dp.REPLACE_ONE, label="income")

# %%
gini = dp.gini_coefficient(curve)
for population in (False, True):
    low, high = gini.interval(0.95, population=population)
    print(f"Gini {gini.value:.3f}, {low:.3f} to {high:.3f} for {'the population' if population else 'these records'}")

# %% [markdown]
# The Lorenz curve: the share of all income that the poorest people have together.

# %%
share = np.diff(curve.y, prepend=0)
middle = np.sqrt(curve.x * np.concatenate([[grid.edges[0]], curve.x[:-1]]))
figure, ax = plt.subplots(figsize=(6.4, 6), layout="constrained")
ax.plot(np.cumsum(share), np.cumsum(share * middle) / (share * middle).sum())
ax.plot([0, 1], [0, 1], color="grey", lw=1)
ax.set(
    xlabel="share of people, from the poorest",
    ylabel="share of all income",
    title=f"Lorenz curve; Gini {gini.value:.3f}",
)
