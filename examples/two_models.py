# %% [markdown]
# # Two models on the same records
# Which of two models ranks better, and is better calibrated? Both scores of each record are counted together, in one
# table, so that sampling errors of both are known together: intervals of differences are those of paired models.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(31)
health = rng.normal(size=4_000)
table = {
    "ill": (rng.random(4_000) < 1 / (1 + np.exp(-1.5 * health))).astype(int),
    "old": 1 / (1 + np.exp(-(health + rng.normal(0, 1.2, 4_000)))),
    "new": 1 / (1 + np.exp(-(1.4 * health + rng.normal(0, 0.6, 4_000)))),
}

# %%
question = dp.ModelPairQuestion("ill", "new", "old", thresholds=(0.2,))
with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    pair = session.ask(question, dp.PrivacyLoss.pure(1))
pair.plot()

# %%
low, high = pair.interval("auc difference", 0.95, population=True)
print(f"the area of the new model is {pair.difference:.3f} larger, {low:.3f} to {high:.3f}")

# %% [markdown]
# Two releases of one score each give the difference, too. The covariance of their sampling errors is not released, so
# the interval assumes the worst case.

# %%
spent = {"epsilon": "0.5", "adjacency": dp.REPLACE_ONE}
new, old = (dp.scores(table["ill"], table[each], **spent) for each in ("new", "old"))
apart = dp.metric_difference(new, old, "auc", 0.95, population=True)
print(f"of two releases: {apart.value:.3f}, {apart.lower:.3f} to {apart.upper:.3f}")
