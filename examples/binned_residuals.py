# %% [markdown]
# # Binned residuals
# Mean residuals of bins of similar predictions. A correct model leaves the envelope in about 5 of 100 bins.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(13)
x = rng.uniform(-1, 1, size=20_000)
came = (rng.random(20_000) < 1 / (1 + np.exp(1 - x - 2 * x**2))).astype(int)
straight = 1 / (1 + np.exp(0.4 - x))  # a model without the square

# %%
bins = dp.binned_residuals(came, straight, model=dp.DISJOINT_RECORDS, epsilon=1, adjacency=dp.REPLACE_ONE)
bins.plot()

# %%
print(f"{bins.outside:.0%} of the bins lie outside of the envelope")
