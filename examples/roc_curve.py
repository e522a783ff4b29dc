# %% [markdown]
# # A ROC curve
# Thresholds are found privately, where the scores lie; the area has intervals for these records and for the population.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(8)
score = rng.beta(2, 5, size=20_000)
ill = (rng.random(20_000) < score).astype(int)

# %%
curve = dp.roc_curve(ill, score, epsilon=1, adjacency=dp.REPLACE_ONE)
curve.plot()

# %%
for population in (False, True):
    low, high = curve.auc_interval(0.95, population=population)
    print(f"AUC {curve.auc:.3f}, {low:.3f} to {high:.3f} for {'the population' if population else 'these records'}")
