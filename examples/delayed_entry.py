# %% [markdown]
# # Records that enter later
# Age at death of people who joined a study at different ages (left truncation): from counts of entries and of exits.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(9)
dies, joins = 55 + rng.weibull(2.6, 40_000) * 27, rng.uniform(45, 80, 40_000)
seen = dies > joins
dies, joins = dies[seen], joins[seen]
leaves = joins + rng.uniform(1, 25, seen.sum())
table = {
    "joined": np.floor(joins),
    "age": np.floor(np.minimum(dies, leaves)),
    "died": (dies <= leaves).astype(int),
}

# %%
question = dp.DelayedEntryQuestion("joined", "age", "died", dp.Values(range(60, 96)), measured_in="years")
with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    curve = session.ask(question, dp.PrivacyLoss.pure(1))
curve.plot()

# %%
print(curve.median, curve.median_interval(0.95, population=True))
print(dp.survival_at(curve, 80), dp.survival_at(curve, 80, since=70).interval(0.95, population=True))
