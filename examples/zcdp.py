# %% [markdown]
# # Gaussian noise: zero-concentrated privacy
# Where many questions share a budget, losses in rho add up more slowly than epsilons do.

# %%
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np

import dpcurves as dp
from dpcurves.display import FittedLayout

rng = np.random.default_rng(16)
table = {f"item {number}": rng.normal(number, 3, size=4_000) for number in range(8)}

# %% [markdown]
# Eight curves under one budget: each has an eighth of epsilon 1, or of a rho that gives epsilon 1 at delta 1e-6.

# %%
pure = dp.PrivacyLoss.pure(1)
rho = next(rho for rho in np.arange(0.04, 0, -0.0005) if dp.PrivacyLoss.zcdp(float(rho)).epsilon_at(1e-6) <= 1)
budgets = {"epsilon 1": pure, f"rho {rho:.4f}": dp.PrivacyLoss.zcdp(float(rho))}
question = dp.CdfQuestion("item 0", dp.Grid(-12, 20, cells=256))
figure, axes = plt.subplots(2, 1, figsize=(5.6, 8.6), layout=FittedLayout(), sharex=True)
for ax, (name, budget) in zip(axes, budgets.items(), strict=True):
    with dp.Session(table, budget=budget, adjacency=dp.REPLACE_ONE) as session:
        curve = session.ask(question, budget * Fraction(1, 8))
    curve.plot(ax=ax)
    lower, upper = curve.band(0.95)
    ax.set_title(f"an eighth of {name}: band {100 * (upper - lower).max():.0f} points wide")
