# %% [markdown]
# # A calibration curve
# Do predicted chances come true? Groups of about equal size are found privately, and each share has an interval.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(10)
truth = rng.beta(2, 3, size=20_000)
came = (rng.random(20_000) < truth).astype(int)
too_bold = np.clip(0.5 + 1.35 * (truth - 0.5), 0, 1)  # a model that is too sure of itself

# %%
curve = dp.calibration_curve(came, too_bold, epsilon=1, adjacency=dp.REPLACE_ONE)
curve.plot()

# %%
print(curve.to_frame(level=0.95).round(3))
