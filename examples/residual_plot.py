# %% [markdown]
# # A residual plot
# Residuals against predictions, as a heat map: bounds of both are found privately, then cells where many records lie.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(12)
x = rng.uniform(0, 10, size=20_000)
value = 2 * x + rng.normal(0, 0.3 + 0.3 * x)  # the spread grows: a regression on x overlooks that
predicted = 2 * x

# %% [markdown]
# Where the model comes from has to be said: if it was fitted to these records, each of them changes all residuals.

# %%
plot = dp.residual_plot(
    predicted, value - predicted, unit_predicted=0.5, unit_residual=0.5, coverage=0.99,
    model=dp.PUBLIC_MODEL, epsilon=1, adjacency=dp.REPLACE_ONE,
)  # fmt: skip
plot.plot()
