# %% [markdown]
# # Events between two looks
# An infection is found at a yearly visit, so it came since the visit before: Turnbull's estimate from pairs of visits.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(10)
comes = rng.weibull(1.3, 6_000) * 8
visits = np.cumsum(rng.integers(1, 4, (6_000, 6)), axis=1).astype(float)
last = np.where(visits < comes[:, None], visits, 0).max(axis=1)
first = np.where(visits >= comes[:, None], visits, np.inf).min(axis=1)
table = {"seen_without": last, "seen_with": first}

# %%
question = dp.IntervalCensoredQuestion("seen_without", "seen_with", dp.Values(range(1, 13)), measured_in="years")
with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    curve = session.ask(question, dp.PrivacyLoss.pure(1))
curve.plot()

# %%
print(curve.to_frame(level=0.95, population=True).round(3).to_string(index=False))
