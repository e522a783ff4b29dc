# %% [markdown]
# # The Hosmer-Lemeshow test
# Is a model calibrated? The p-value is simulated with the noise: a chi-squared distribution would reject every model.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dpcurves as dp
from dpcurves.display import FittedLayout

rng = np.random.default_rng(11)
chance = rng.beta(2, 3, size=10_000)
came = (rng.random(10_000) < chance).astype(int)

# %%
right = dp.hosmer_lemeshow(came, chance, epsilon=1, adjacency=dp.REPLACE_ONE)
wrong = dp.hosmer_lemeshow(came, chance**1.4, epsilon=1, adjacency=dp.REPLACE_ONE)
print(f"the model that is right: p = {right.p_value:.3f}; one that is too low: p = {wrong.p_value:.3f}")

# %%
figure, axes = plt.subplots(2, 1, figsize=(5.6, 9), layout=FittedLayout())
for ax, test, words in zip(axes, (right, wrong), ("a right model", "a model that is too low"), strict=True):
    test.plot(ax=ax).set_title(f"Hosmer-Lemeshow test of {words}")
