# %% [markdown]
# # A contingency table
# Pairs of declared categories, shares of each row with intervals, and a test of independence that accounts for noise.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(5)
wards = rng.choice(["north", "south", "west"], size=6_000)
back = np.where(rng.random(6_000) < np.where(wards == "west", 0.30, 0.22), "came back", "did not")

# %%
table = dp.contingency(
    wards, back, row_categories=["north", "south", "west"], column_categories=["came back", "did not"],
    labels=("ward", "patient"), epsilon=1, adjacency=dp.REPLACE_ONE,
)  # fmt: skip
table.plot()

# %%
print(table.row_shares.round(3))
print(f"p = {table.p_value:.3f}, simulated with the noise")
