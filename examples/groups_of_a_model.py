# %% [markdown]
# # A model judged by group
# Selection, true and false positive rates of each group, and how far groups are apart, with intervals that hold at
# once, for the privacy loss of one group. Group D has 60 people: noise hides its rates, and no other's.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(8)
group = rng.choice(["A", "B", "C", "D"], size=6_000, p=[0.5, 0.3, 0.19, 0.01])
score = np.where(group == "B", rng.beta(2, 4, 6_000), rng.beta(2, 3, 6_000))
table = {"repaid": (rng.random(6_000) < score).astype(int), "score": score, "group": group}

# %%
question = dp.ScoresQuestion("repaid", "score", by=dp.Categories("group", ("A", "B", "C", "D")))
with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    scores = session.ask(question, dp.PrivacyLoss.pure(1))
rates = dp.group_rates(scores, threshold=0.5)
rates.plot_gaps("flagged")

# %%
gap = rates.largest_gap("flagged", 0.95, population=True)
print(f"the largest gap of selection rates is {gap.value:.2f}, {gap.lower:.2f} to {gap.upper:.2f}")

# %% [markdown]
# ROC curves, with bands that hold for all groups at once:

# %%
dp.group_curves(scores, "roc").plot(population=False)
