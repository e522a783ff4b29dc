# %% [markdown]
# # Numbers of two survival curves
# Restricted means, shares at a time, numbers needed to treat and the hazard ratio, with intervals: from one release.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(7)
drug = rng.random(6_000) < 0.5
until, watched = rng.exponential(np.where(drug, 30, 22)), rng.uniform(0, 60, 6_000)
table = {
    "months": np.floor(np.minimum(until, watched)),
    "died": (until <= watched).astype(int),
    "arm": np.where(drug, "drug", "placebo"),
}

# %%
question = dp.SurvivalQuestion("months", "died", dp.Values(range(48)), by=dp.Categories("arm", ("drug", "placebo")))
with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    arms = session.ask(question, dp.PrivacyLoss.pure(1))
numbers = dp.survival_numbers(arms, until=36, times=(12, 24))
numbers.plot()

# %%
print(numbers.to_frame(level=0.95, population=True).round(2).to_string(index=False))
print(dp.log_rank_test(arms["drug"], arms["placebo"], rho=1))
