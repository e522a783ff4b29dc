# %% [markdown]
# # Many curves from one release
# `scores` counts both classes once. ROC, precision and recall, gain and net benefit are computed from these counts.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dpcurves as dp
from dpcurves.display import FittedLayout

rng = np.random.default_rng(9)
score = rng.beta(1, 4, size=20_000)
ill = (rng.random(20_000) < score).astype(int)

# %%
read = dp.scores(ill, score, epsilon=1, adjacency=dp.REPLACE_ONE)
figure, axes = plt.subplots(2, 2, figsize=(10.5, 10.5), layout=FittedLayout())
curves = read.roc(), read.precision_recall(), read.cumulative_gain(), read.decision_curve()
names = "ROC curve", "Precision-recall curve", "Cumulative gain", "Decision curve"
for ax, curve, name in zip(axes.flat, curves, names, strict=True):
    curve.plot(ax=ax).set_title(name)

# %%
for name in ("auc", "average-precision", "brier", "ks"):
    low, high = read.interval(name, 0.95, population=True)
    print(f"{name}: {read.value(name):.3f}, {low:.3f} to {high:.3f} for the population")
print(read.confusion(0.3).rates)

# %% [markdown]
# Scores of any scale, here points, need no grid either: a part of the loss looks for their range.

# %%
points = {"points": np.round(600 + 50 * np.log(score / (1 - score))), "ill": ill}
with dp.Session(points, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    of_points = session.ask(dp.AutoRangeScoresQuestion("ill", "points"), dp.PrivacyLoss.pure(1))
print(f"area {of_points.value('auc'):.3f}")
