# %% [markdown]
# # The area under the ROC curve alone
# One number about a model, released by smooth sensitivity. It has no interval; the area from a whole ROC curve has one.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dpcurves as dp
from dpcurves.display import FittedLayout

rng = np.random.default_rng(38)
score = rng.beta(2, 5, size=4_000)
table = {"risk": score, "ill": (rng.random(4_000) < score).astype(int)}
loss = dp.PrivacyLoss.pure("0.5")

# %%
figure, axes = plt.subplots(2, 1, figsize=(4.8, 10.8), layout=FittedLayout())
for ax, question in zip(axes, (dp.SmoothAucQuestion("ill", "risk"), dp.RocQuestion("ill", "risk")), strict=True):
    with dp.Session(table, budget=loss, adjacency=dp.REPLACE_ONE) as session:
        found = session.ask(question, loss)
    found.plot(ax=ax).set_title("the area alone" if ax is axes[0] else "the curve, and its area")
    print(found)

# %% [markdown]
# The upper curve has an assumed shape: the symmetric binormal one that has this area. The lower curve is
# estimated from noisy counts.

# %%
positive, negative = score[table["ill"] == 1], score[table["ill"] == 0]
exact = np.searchsorted(np.sort(negative), positive).mean() / negative.size
print(f"exact, only here, where data is made up: {exact:.3f}")
